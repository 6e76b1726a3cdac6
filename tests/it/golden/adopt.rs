//! `init` in an existing crate.

use snapbox::str;

use crate::golden::delete::{POND, assert_same};
use crate::sandbox::{OFFLINE, Sandbox};

pub(crate) const MANIFEST: &str = "[package]\nname = \"pond_operator\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
                        kube = { version = \"5\", default-features = false, features = [\"client\", \"derive\", \"runtime\"] }\n\
                        k8s-openapi = { version = \"0.29\", features = [\"schemars\", \"v1_36\"] }\n\
                        schemars = \"1\"\nserde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\n";

pub(crate) const MAIN: &str = r#"//! Feeds ducks.

mod birds;

use birds::Duck;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::Controller;
use kube::{Api, Client};

async fn run(client: Client) {
    let ducks = Api::<Duck>::all(client.clone());
    let pods = Api::<Pod>::namespaced(client, "pond");
    pods.delete("a", &Default::default()).await;
    Controller::new(ducks, Default::default()).run(reconcile, error, context).await;
}

fn main() {}
"#;

/// The custom resource `kind` of `group`.
pub(crate) fn kind(kind: &str, group: &str) -> String {
    format!(
        "/// {kind}.\n#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]\n\
         #[kube(group = \"{group}\", version = \"v1\", kind = \"{kind}\", namespaced, shortname = \"{}\")]\n\
         pub struct {kind}Spec {{\n    pub size: i32,\n}}\n",
        kind[..2].to_lowercase()
    )
}

pub(crate) const IMPORTS: &str =
    "use kube::CustomResource;\nuse schemars::JsonSchema;\nuse serde::{Deserialize, Serialize};\n\n";

/// A crate with the custom resource `Duck` and its controller, in a folder of the sandbox.
pub(crate) fn crate_in(sandbox: &Sandbox, folder: &str) {
    sandbox
        .file(&format!("{folder}Cargo.toml"), MANIFEST)
        .file(&format!("{folder}src/main.rs"), MAIN)
        .file(&format!("{folder}src/birds.rs"), &(IMPORTS.to_owned() + &kind("Duck", "birds.example.com")));
}

fn operator() -> Sandbox {
    let sandbox = Sandbox::new();
    crate_in(&sandbox, "");
    sandbox.lock();
    sandbox
}

#[test]
fn a_crate_becomes_a_project() {
    let sandbox = operator();
    let before = sandbox.files();
    sandbox
        .run("init")
        .success()
        .stdout(str![[r#"
create    PROJECT
create    config/crd/bases/birds.example.com_ducks.yaml
create    config/crd/kustomization.yaml
create    config/default/kustomization.yaml
create    config/manager/kustomization.yaml
create    config/manager/manager.yaml
create    config/namespaces/kustomization.yaml
create    config/namespaces/role.yaml
create    config/namespaces/role_binding.yaml
create    config/rbac/duck_admin_role.yaml
create    config/rbac/duck_editor_role.yaml
create    config/rbac/duck_viewer_role.yaml
create    config/rbac/kustomization.yaml
create    config/rbac/role.yaml
create    config/rbac/role_binding.yaml
create    config/rbac/service_account.yaml
create    config/samples/birds_v1_duck.yaml
create    config/samples/kustomization.yaml

"#]])
        .stderr(str![[r#"
18 created

PROJECT records 1 kind, 1 controller.

Next:
  kubectl kustomize config/namespaces # everything that is deployed; give config/manager what your program needs
  memcached-sdk generate              # after each change of the types, and of markers

"#]]);
    sandbox.run("init --check").success();
    for (path, text) in &before {
        assert_eq!(&sandbox.read(path), text, "{path}");
    }
    snapbox::assert_data_eq!(
        sandbox.read("PROJECT"),
        str![[r##"
# What this project was made from, written by memcached-sdk. Its commands read this file and keep it up to date;
# fields of other tools and comments are kept.
cliVersion: 0.1.0
domain: example.com
layout:
- rust.memcached-sdk.dev/v1
plugins:
  rust.memcached-sdk.dev/v1:
    manager: none
projectName: pond-operator
resources:
- api:
    crdVersion: v1
    namespaced: true
    shortNames:
    - du
  controller: true
  domain: example.com
  group: birds
  kind: Duck
  path: crate::birds
  version: v1
version: "3"

"##]]
    );
    snapbox::assert_data_eq!(
        sandbox.read("config/rbac/role.yaml"),
        str![[r#"
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: manager-role
rules:
- apiGroups:
  - birds.example.com
  resources:
  - ducks
  verbs:
  - list
  - watch

"#]]
    );
    snapbox::assert_data_eq!(
        sandbox.read("config/samples/birds_v1_duck.yaml"),
        str![[r#"
apiVersion: birds.example.com/v1
kind: Duck
metadata:
  labels:
    app.kubernetes.io/name: pond-operator
    app.kubernetes.io/managed-by: kustomize
  name: duck-sample
spec:
  size: 1

"#]]
    );
    let adopted = sandbox.files();
    sandbox.run("init").success().stdout(str![]).stderr(str![[r#"
1 unchanged

PROJECT records 1 kind, 1 controller.

"#]]);
    sandbox.run("generate --check").success();
    sandbox.run("rbac lint").success().stderr(str![[r#"
the declared permissions are those that the code uses

"#]]);
    sandbox.run("update --check").success();
    assert_eq!(sandbox.files(), adopted);
    sandbox.run("undo").success();
    assert_eq!(sandbox.files(), before);
}

#[test]
fn files_that_exist_stay() {
    let sandbox = operator();
    for path in [
        "Makefile",
        "Dockerfile",
        ".dockerignore",
        "config/crd/bases/birds.example.com_ducks.yaml",
        "config/crd/kustomization.yaml",
        "config/default/kustomization.yaml",
        "config/manager/manager.yaml",
        "config/rbac/role.yaml",
        "config/samples/birds_v1_duck.yaml",
    ] {
        sandbox.file(path, "# mine\n");
    }
    let before = sandbox.files();
    let out = sandbox.run("init --force --with makefile,dockerfile,workflows").success().out();
    let skipped: Vec<&str> = out.lines().filter(|line| !line.starts_with("create ")).collect();
    snapbox::assert_data_eq!(
        skipped.join("\n"),
        str![[r#"
skip      .dockerignore (exists with different content and is kept)
skip      Dockerfile (exists with different content and is kept)
skip      Makefile (exists with different content and is kept)
skip      config/crd/bases/birds.example.com_ducks.yaml (exists with different content and is kept)
skip      config/crd/kustomization.yaml (exists with different content and is kept)
skip      config/default/kustomization.yaml (exists with different content and is kept)
skip      config/manager/manager.yaml (exists with different content and is kept)
skip      config/rbac/role.yaml (exists with different content and is kept)
skip      config/samples/birds_v1_duck.yaml (exists with different content and is kept)
"#]]
    );
    for (path, text) in &before {
        assert_eq!(&sandbox.read(path), text, "{path}");
    }
    sandbox.run("undo").success();
    assert_eq!(sandbox.files(), before);
}

#[test]
fn parts_are_written_on_request() {
    let sandbox = operator();
    sandbox.run("init --with makefile,dockerfile,workflows").success();
    for (path, has, lacks) in [
        ("Makefile", "target}/release/pond_operator\" bin/manager", "ENABLE_WEBHOOKS"),
        ("Dockerfile", "cargo build --release --locked --package pond_operator", "COPY manager"),
        (".dockerignore", "target", "manager"),
        (".github/workflows/manifests.yml", "memcached-sdk generate --check", "make"),
    ] {
        let text = sandbox.read(path);
        assert!(text.contains(has) && !text.contains(lacks), "{path}:\n{text}");
    }
}

/// The image and the CRDs of shipped manifests are told.
#[test]
fn shipped_manifests_are_listed() {
    let sandbox = operator();
    let deployment = |image: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: op\nspec:\n  template:\n    spec:\n      \
             containers:\n      - image: {image}\n"
        )
    };
    sandbox
        .file("charts/pond/Chart.yaml", "apiVersion: v2\nname: pond\n")
        .file("charts/pond/templates/all.yaml", &deployment("\"{{ .Values.image }}:1\""))
        .file(
            "charts/pond/templates/account.yaml",
            "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {{ .Release.Name }}\n---\n\
               apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n",
        )
        .file(
            "deploy/all.yaml",
            &(deployment("registry.example.com/pond:1.2")
                + "---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: a\n"),
        )
        .file("tests/all.yaml", &deployment("other:1"));
    sandbox.run("generate crds --output-dir deploy/crds").success();
    sandbox.run("init").success().stderr(str![[r#"
18 created

PROJECT records 1 kind, 1 controller.

Manifests that were there stay as they are:
  charts/pond (chart): config/ has Deployment, ServiceAccount too; it lacks Service
  deploy (files): config/ has Deployment, ServiceAccount too
  deploy/crds (files): config/ has CustomResourceDefinition too
The image `registry.example.com/pond:1.2` is from `deploy/all.yaml`.
Compare their CRDs with the types: memcached-sdk generate crds --compare deploy/crds
`generate` keeps the CRDs in `deploy/crds/{group}_{plural}.yaml` up to date too; `memcached-sdk edit --crds` chooses another place.

Next:
  kubectl kustomize config/namespaces # everything that is deployed; give config/manager what your program needs
  memcached-sdk generate              # after each change of the types, and of markers

"#]]);
    assert!(
        sandbox
            .read("config/manager/kustomization.yaml")
            .contains("newName: registry.example.com/pond\n  newTag: \"1.2\"")
    );
    sandbox.run("generate crds --compare deploy/crds").success();
}

/// A place that no pattern gives is told, and CRDs do not get there a second time.
#[test]
fn crds_in_files_of_other_names_are_told() {
    let sandbox = operator();
    sandbox.file("src/birds.rs", &(sandbox.read("src/birds.rs") + &kind("Goose", "birds.example.com")));
    sandbox.run("generate crds --output-dir deploy").success();
    for (from, to) in [("ducks", "a"), ("gooses", "b")] {
        let path = |name: &str| sandbox.path(&format!("deploy/{name}.yaml"));
        std::fs::rename(path(&format!("birds.example.com_{from}")), path(to)).unwrap();
    }
    let said = sandbox.run("init").success().err();
    let told = said.lines().find(|line| line.starts_with("`generate` cannot keep")).unwrap();
    snapbox::assert_data_eq!(
        told,
        str![
            "`generate` cannot keep these CRDs up to date: the names of the files, such as `deploy/a.yaml`, do not follow from the kinds. Rename them after `{group}`, `{plural}`, `{singular}` or `{kind}`, and run memcached-sdk edit --crds PATTERN"
        ]
    );
    sandbox.run("edit --crds deploy").code(1).stderr(str![[r#"
error[crd-place]: `ducks.birds.example.com` is in `deploy/a.yaml`, but the place of PROJECT is `deploy/birds.example.com_ducks.yaml`
--> deploy/a.yaml
 = help: rename the file, or choose another place with `memcached-sdk edit --crds`

error[crd-place]: `gooses.birds.example.com` is in `deploy/b.yaml`, but the place of PROJECT is `deploy/birds.example.com_gooses.yaml`
--> deploy/b.yaml
 = help: rename the file, or choose another place with `memcached-sdk edit --crds`

"#]]);
    let deploy = |files: std::collections::BTreeMap<String, String>| -> Vec<String> {
        files.into_keys().filter(|path| path.starts_with("deploy/")).collect()
    };
    assert_eq!(deploy(sandbox.files()), ["deploy/a.yaml", "deploy/b.yaml"]);
}

#[test]
fn kinds_of_other_projects_are_marked() {
    let sandbox = operator();
    let text = MANIFEST.to_owned() + "\n[package.metadata.memcached-sdk]\nexternal = [\"gateway.io\"]\n";
    let kinds = sandbox.read("src/birds.rs") + &kind("Route", "gateway.io") + &kind("Fish", "fishes.example.com");
    sandbox.file("Cargo.toml", &text).file("src/birds.rs", &kinds).lock();
    sandbox.run("init --domain example.com").success().stderr(str![[r#"
23 created

PROJECT records 2 kinds, 1 controller, 1 kind of other projects, which are never written.

Next:
  kubectl kustomize config/namespaces # everything that is deployed; give config/manager what your program needs
  memcached-sdk generate              # after each change of the types, and of markers

"#]]);
    snapbox::assert_data_eq!(
        sandbox.read("PROJECT").split_once("  path: crate::birds\n  version: v1\n").unwrap().1,
        str![[r##"
- external: true
  group: gateway.io
  kind: Route
  path: crate::birds
  version: v1
- api:
    crdVersion: v1
    namespaced: true
    shortNames:
    - fi
  domain: example.com
  group: fishes
  kind: Fish
  path: crate::birds
  plural: fishes
  version: v1
version: "3"

"##]]
    );
    // PROJECT decides from now on.
    sandbox.file("Cargo.toml", MANIFEST);
    sandbox.run("generate --check").success();
    assert!(!sandbox.path("config/crd/bases/gateway.io_routes.yaml").exists());
}

#[test]
fn kinds_that_come_and_go_are_recorded_again() {
    let sandbox = operator();
    sandbox.run("init").success();
    let before = sandbox.files();
    sandbox.replace("src/birds.rs", "Duck", "Goose").replace("src/main.rs", "Duck", "Goose");
    sandbox.run("init").success().stdout(str![[r#"
update    PROJECT
update    config/crd/kustomization.yaml
remove    config/rbac/duck_admin_role.yaml
remove    config/rbac/duck_editor_role.yaml
remove    config/rbac/duck_viewer_role.yaml
create    config/rbac/goose_admin_role.yaml
create    config/rbac/goose_editor_role.yaml
create    config/rbac/goose_viewer_role.yaml
update    config/rbac/kustomization.yaml
create    config/samples/birds_v1_goose.yaml
update    config/samples/kustomization.yaml

"#]]).stderr(str![[r#"
warning[edit-kept]: `config/samples/birds_v1_duck.yaml` is no longer part of the scaffold and stays, since you have changed it
help: remove it if you don't need it
4 created, 4 updated, 3 removed

PROJECT records 1 kind, 1 controller.

"#]]);
    sandbox.run("generate").success().stdout(str![[r#"
remove    config/crd/bases/birds.example.com_ducks.yaml
create    config/crd/bases/birds.example.com_gooses.yaml
update    config/samples/birds_v1_goose.yaml

"#]]);
    sandbox.replace("src/birds.rs", "Goose", "Duck").replace("src/main.rs", "Goose", "Duck");
    sandbox.run("init").success();
    sandbox.run("generate").success();
    assert_eq!(sandbox.read("PROJECT"), before["PROJECT"]);
}

#[test]
fn a_member_of_a_workspace() {
    let sandbox = Sandbox::new();
    sandbox.file("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"3\"\n");
    crate_in(&sandbox, "crates/op/");
    sandbox.lock();
    sandbox.run(&format!("init {OFFLINE}")).code(1).stderr(str![[r#"
error: `.` has a `Cargo.toml` that is not one of a package
help: run it in the folder of an operator: `memcached-sdk init crates/op`; or create the project in a separate folder: `memcached-sdk init FOLDER`

"#]]);
    sandbox.run("init crates/op --with workflows").code(2);
    sandbox.run("init crates/op --with makefile").success().stderr(str![[r#"
19 created

PROJECT records 1 kind, 1 controller.

Next:
  cd crates/op
  kubectl kustomize config/namespaces # everything that is deployed; give config/manager what your program needs
  memcached-sdk generate              # after each change of the types, and of markers

"#]]);
    assert!(sandbox.read("crates/op/PROJECT").contains("workspace: ../.."));
    assert!(sandbox.read("crates/op/Makefile").contains("../../target}/release/pond_operator"));
}

#[test]
fn an_api_is_added_and_deleted() {
    let sandbox = operator();
    sandbox.run("init").success();
    let before = sandbox.files();
    sandbox
        .run("create api --group birds --version v1 --kind Goose")
        .success()
        .stdout(str![[r#"
update    PROJECT
create    config/crd/bases/birds.example.com_geese.yaml
update    config/crd/kustomization.yaml
create    config/rbac/goose_admin_role.yaml
create    config/rbac/goose_editor_role.yaml
create    config/rbac/goose_viewer_role.yaml
update    config/rbac/kustomization.yaml
create    config/samples/birds_v1_goose.yaml
update    config/samples/kustomization.yaml
create    src/api.rs
create    src/api/v1.rs
create    src/api/v1/goose.rs
update    src/main.rs

"#]])
        .stderr(str![[r#"
8 created, 5 updated, 3 unchanged

Next, write the types and the controller; `memcached-sdk generate` brings config/ up to date.

"#]]);
    snapbox::assert_data_eq!(
        sandbox.read("src/api/v1/goose.rs"),
        str![[r#"
//! The kind `Goose`.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The desired state.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "birds.example.com",
    version = "v1",
    kind = "Goose",
    plural = "geese",
    namespaced,
    doc = "Goose is the schema of the geese API",
    derive = "PartialEq",
    status = "GooseStatus"
)]
#[serde(rename_all = "camelCase")]
pub struct GooseSpec {
    /// An example field. Replace it with your own fields and run `memcached-sdk generate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// The observed state.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GooseStatus {
    /// The generation of the object that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

"#]]
    );
    assert_eq!(sandbox.read("src/main.rs"), MAIN.replace("mod birds;\n", "mod birds;\npub mod api;\n"));
    sandbox.run("generate --check").success();
    sandbox.run("delete api --group birds --version v1 --kind Goose").success();
    assert_same("example", &sandbox.files(), &before);
}

/// Types that are created and deleted leave the crate as it was, with each root that a crate may have.
#[test]
fn creating_and_deleting_changes_no_byte() {
    let pond = POND.1.replace("cache", "birds");
    for (name, root, text) in [
        ("modules in a program", "src/main.rs", MAIN.to_owned()),
        ("a library", "src/lib.rs", "//! Birds.\n\nmod birds;\n".to_owned()),
        ("no module", "src/lib.rs", format!("//! Birds.\n\n{IMPORTS}{}", kind("Duck", "birds.example.com"))),
    ] {
        let sandbox = operator();
        if root == "src/lib.rs" {
            sandbox.file("src/main.rs", "fn main() {}\n");
        }
        sandbox.file(root, &text).file(POND.0, &pond).run("init").success();
        let before = sandbox.files();
        for (create, discard) in [
            ("create api --group birds --version v1 --kind Pond", ""),
            ("create api --from-crd pond.yaml", "--discard"),
            ("create api --external --from-crd pond.yaml", "--discard"),
        ] {
            sandbox.run(create).success();
            assert_ne!(sandbox.files(), before, "{name}: {create}");
            sandbox.run("generate --check").success();
            sandbox.run(&format!("delete api --version v1 --kind Pond {discard}")).success();
            assert_same(&format!("{name}: {create}"), &sandbox.files(), &before);
        }
        // The author's modules stay.
        sandbox.run("create api --group birds --version v1 --kind Pond").success();
        sandbox.replace("src/api.rs", "pub mod v1;\n", "pub mod v1;\npub mod mine;\n").file("src/api/mine.rs", "");
        sandbox.run("delete api --version v1 --kind Pond").success();
        assert!(sandbox.read(root).contains("pub mod api;\n"), "{name}");
    }
}

#[test]
fn types_of_a_crd_need_schemars_1() {
    let sandbox = operator();
    sandbox.run("init").success();
    sandbox.file("Cargo.toml", &MANIFEST.replace("version = \"5\"", "version = \"0.98\"")).file(POND.0, POND.1);
    sandbox.run("create api --from-crd pond.yaml").code(1).stderr(str![[r#"
error: types from a CRD need schemars 1, and the kube of this crate uses schemars 0.8
help: run `memcached-sdk update --kube` first

"#]]);
}

#[test]
fn an_adopted_crate_has_no_runtime() {
    let sandbox = operator();
    sandbox.run("init --leader-election life").code(2).stderr(str![[r#"
error: `--leader-election=life` is about the runtime, which an existing crate does not get
help: leave it out

"#]]);
    sandbox.run("init").success();
    let before = sandbox.files();
    for (command, code, message) in [
        (
            "create api --group birds --version v1 --kind Goose --controller",
            2,
            "a controller of the scaffold needs the runtime",
        ),
        (
            "create api --group birds --version v1 --kind Goose --image a:1",
            2,
            "a controller of the scaffold needs the runtime",
        ),
        (
            "create api --group apps --version v1 --kind Deployment --resource=false",
            2,
            "a controller of the scaffold needs the runtime",
        ),
        (
            "create webhook --group birds --version v1 --kind Duck --defaulting",
            2,
            "a webhook of the scaffold needs the runtime",
        ),
        ("edit --prometheus", 2, "`--prometheus` is about the runtime"),
        ("edit --manager vendored", 2, "`memcached-sdk init FOLDER`, there `memcached-sdk create api --from-crd FILE`"),
        ("edit --domain example.org", 1, "the code of this project was there before"),
        ("rename api --group birds --kind Duck --to-kind Goose", 1, "the code of this project was there before"),
        ("rename project other", 1, "the code of this project was there before"),
        (
            "delete api --group birds --version v1 --kind Duck",
            1,
            "the types of `birds.example.com/v1 Duck` were in the crate",
        ),
        ("init --project-name other", 1, "already contains the project `pond-operator`"),
    ] {
        let said = sandbox.run(command).code(code).err();
        assert!(said.contains(message), "{command}: {said}");
        assert_eq!(sandbox.files(), before, "{command}");
    }
    let new = Sandbox::new();
    for flags in ["--manager none", "--with makefile"] {
        new.run(&format!("init --project-name demo {OFFLINE} {flags}")).code(2);
    }
    Sandbox::project("").run("edit --manager none").code(2).stderr(str![[r#"
error: `--manager=none` is for a crate that was there before its project
help: leave it out

"#]]);
}
