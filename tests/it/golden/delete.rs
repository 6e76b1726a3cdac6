//! `delete` is the inverse of `create`, for each thing that can be created, also between others and beside edits.

use std::collections::BTreeMap;

use snapbox::str;

use crate::sandbox::Sandbox;

/// Each part that can be created: its name, the commands before it, its creation, its deletion.
const PARTS: [(&str, &[&str], &str, &str); 20] = [
    (
        "a kind",
        &[],
        "create api --group cache --version v1 --kind Memcached",
        "delete api --group cache --version v1 --kind Memcached",
    ),
    (
        "a kind without a controller",
        &[],
        "create api --group cache --version v1 --kind Memcached --controller=false",
        "delete api --group cache --version v1 --kind Memcached",
    ),
    (
        "a kind that runs an image",
        &[],
        "create api --group cache --version v1 --kind Memcached --image memcached:1.6 --image-container-port 11211",
        "delete api --version v1 --kind Memcached",
    ),
    (
        "a cluster-wide kind with names",
        &[],
        "create api --group cache --version v1 --kind Memcached --namespaced=false --plural caches --short-name mc",
        "delete api --group cache --version v1 --kind Memcached",
    ),
    (
        "a controller of Kubernetes' kind",
        &[],
        "create api --group apps --version v1 --kind Deployment",
        "delete api --group apps --version v1 --kind Deployment",
    ),
    (
        "a controller alone",
        &["create api --group cache --version v1 --kind Memcached --controller=false"],
        "create api --group cache --version v1 --kind Memcached --resource=false --controller",
        "delete controller --group cache --version v1 --kind Memcached",
    ),
    (
        "another controller",
        &["create api --group cache --version v1 --kind Memcached"],
        "create api --group cache --version v1 --kind Memcached --resource=false --controller --controller-name second",
        "delete controller --version v1 --kind Memcached --controller-name second",
    ),
    (
        "another version",
        &["create api --group cache --version v1 --kind Memcached"],
        "create api --group cache --version v2 --kind Memcached --controller=false",
        "delete version --group cache --version v2 --kind Memcached",
    ),
    (
        "defaulting",
        &["create api --group cache --version v1 --kind Memcached"],
        "create webhook --version v1 --kind Memcached --defaulting",
        "delete webhook --version v1 --kind Memcached",
    ),
    (
        "validation beside defaulting",
        &[
            "create api --group cache --version v1 --kind Memcached",
            "create webhook --version v1 --kind Memcached --defaulting",
        ],
        "create webhook --version v1 --kind Memcached --programmatic-validation",
        "delete webhook --version v1 --kind Memcached --programmatic-validation",
    ),
    (
        "the conversion",
        &[
            "create api --group cache --version v1 --kind Memcached",
            "create api --group cache --version v2 --kind Memcached --controller=false",
        ],
        "create webhook --version v2 --kind Memcached --conversion --spoke v1",
        "delete webhook --version v2 --kind Memcached --conversion",
    ),
    (
        "all webhooks at once",
        &[
            "create api --group cache --version v1 --kind Memcached",
            "create api --group cache --version v2 --kind Memcached --controller=false",
        ],
        "create webhook --version v2 --kind Memcached --conversion --spoke v1 --defaulting --programmatic-validation",
        "delete webhook --version v2 --kind Memcached",
    ),
    (
        "webhooks of Kubernetes' kind",
        &[],
        "create webhook --group core --version v1 --kind ConfigMap --defaulting --programmatic-validation",
        "delete webhook --group core --version v1 --kind ConfigMap",
    ),
    (
        "a kind of another crate",
        &[],
        "create api --group ship --version v1 --kind Frigate --resource=false --controller --external-api-path ships::v1::Frigate --external-api-domain example.org --external-api-module ships@1",
        "delete api --group ship --version v1 --kind Frigate",
    ),
    (
        "a webhook of a kind of another crate",
        &[],
        "create webhook --group ship --version v1 --kind Frigate --defaulting --external-api-path ships::v1::Frigate --external-api-domain example.org --external-api-module ships@1",
        "delete webhook --group ship --version v1 --kind Frigate",
    ),
    (
        "a kind of a CRD",
        &[],
        "create api --from-crd pond.yaml",
        "delete api --group cache --version v1 --kind Pond --discard",
    ),
    (
        "a second controller of a kind of a CRD",
        &["create api --from-crd pond.yaml"],
        "create api --version v1 --kind Pond --resource=false --controller --controller-name second",
        "delete controller --version v1 --kind Pond --controller-name second --discard",
    ),
    (
        "the types of another project's kind",
        &[],
        "create api --external --from-crd pond.yaml",
        "delete api --version v1 --kind Pond --discard",
    ),
    (
        "a controller of another project's kind",
        &["create api --external --from-crd pond.yaml"],
        "create api --group cache --version v1 --kind Pond --resource=false --controller",
        "delete controller --version v1 --kind Pond --discard",
    ),
    (
        "a webhook of another project's kind",
        &["create api --external --from-crd pond.yaml"],
        "create webhook --group cache --version v1 --kind Pond --programmatic-validation",
        "delete webhook --version v1 --kind Pond --discard",
    ),
];

/// The file of a CRD whose status has no conditions, and whose spec has no default.
pub(crate) const POND: (&str, &str) = (
    "pond.yaml",
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ponds.cache.example.com}\nspec:\n  \
     group: cache.example.com\n  names: {kind: Pond, plural: ponds}\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: \
     true\n    storage: true\n    subresources: {status: {}}\n    schema:\n      openAPIV3Schema:\n        type: object\n        \
     properties:\n          spec: {type: object, required: [mode], properties: {mode: {type: string, enum: [Wild, Tame]}}}\n          \
     status: {type: object, properties: {level: {type: string}}}\n",
);

/// Another kind beside those of the table.
const OTHER: &str = "create api --group cache --version v1 --kind Other";

fn project(flags: &str, commands: &[&str]) -> Sandbox {
    let sandbox = Sandbox::project(flags);
    sandbox.file(POND.0, POND.1);
    for command in commands {
        sandbox.run(command).success();
    }
    sandbox
}

/// Brings the manifests up to date without compiling.
pub(super) fn generate(sandbox: &Sandbox) {
    sandbox.lock().run("generate --engine static").success();
    std::fs::remove_file(sandbox.path("Cargo.lock")).unwrap();
}

#[track_caller]
pub(crate) fn assert_same(name: &str, found: &BTreeMap<String, String>, expected: &BTreeMap<String, String>) {
    let paths: std::collections::BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    let mut text = String::new();
    for path in paths {
        let [found, expected] = [found, expected].map(|files| files.get(path).map_or("", String::as_str));
        if found != expected {
            text += &format!("{path}\n{}", similar::TextDiff::from_lines(expected, found).unified_diff());
        }
    }
    assert!(text.is_empty(), "{name}: this is different:\n{text}");
}

#[test]
fn creating_and_deleting_changes_no_byte() {
    for flags in ["", "--multigroup --namespaced"] {
        for (name, before, create, delete) in PARTS {
            let sandbox = project(flags, before);
            let expected = sandbox.files();
            sandbox.run(create).success();
            let created = sandbox.files();
            sandbox.run("undo").success();
            assert_same(&format!("{name}, init {flags}, undone"), &sandbox.files(), &expected);
            sandbox.run("undo").success();
            assert_same(&format!("{name}, init {flags}, undone twice"), &sandbox.files(), &created);
            sandbox.run(delete).success();
            assert_same(&format!("{name}, init {flags}"), &sandbox.files(), &expected);
        }
    }
}

/// The group of the last kind need not end in the domain of the project.
#[test]
fn the_crd_of_another_domain_is_deleted() {
    let sandbox = Sandbox::project("");
    sandbox.file(POND.0, &POND.1.replace("example.com", "example.org"));
    let expected = sandbox.files();
    sandbox.run("create api --from-crd pond.yaml").success();
    sandbox.run("delete api --version v1 --kind Pond --discard").success();
    assert_same("example.org", &sandbox.files(), &expected);
}

/// Edits of an author, next to lines of the scaffold.
fn edit(sandbox: &Sandbox) {
    sandbox.replace("Makefile", ".PHONY: all\n", "# mine\n.PHONY: all\n");
    sandbox.replace("src/main.rs", "    manager\n", "    // mine\n    manager\n");
    sandbox.replace(
        "src/api/v1/other.rs",
        "pub struct OtherSpec {\n",
        "pub struct OtherSpec {\n    /// Mine\n    pub mine: String,\n\n",
    );
    sandbox.replace("Cargo.toml", "[dependencies]\n", "[dependencies]\nanyhow = \"1\" # mine\n");
    sandbox.replace("config/samples/kustomization.yaml", "resources:\n", "# mine\nresources:\n");
    generate(sandbox);
}

#[test]
fn what_was_created_or_edited_elsewhere_stays() {
    for (name, before, create, delete) in PARTS {
        let created_after = project("", &[before, &[create, OTHER]].concat());
        created_after.run(delete).success();
        let expected = project("", &[before, &[OTHER]].concat());
        assert_same(&format!("{name}, created before"), &created_after.files(), &expected.files());

        let edited = project("", &[before, &[OTHER, create]].concat());
        edit(&edited);
        edited.run(delete).success();
        edit(&expected);
        assert_same(&format!("{name}, created after, with edits"), &edited.files(), &expected.files());
    }
}

#[test]
fn an_edited_file_is_deleted_on_request_only() {
    let sandbox = project("", &["create api --group cache --version v1 --kind Memcached"]);
    sandbox.replace(
        "src/api/v1/memcached.rs",
        "pub struct MemcachedSpec {\n",
        "pub struct MemcachedSpec {\n    pub mine: String,\n",
    );
    let before = sandbox.files();
    sandbox.run("delete api --version v1 --kind Memcached").code(1).stdout("").stderr(str![[r#"
error[edit-discarded]: `src/api/v1/memcached.rs` has changes of yours that would be lost
help: pass `--discard` to delete them, or move them to another file:
      @@ -21,0 +22 @@
      +    pub mine: String,

"#]]);
    assert_same("refused", &sandbox.files(), &before);
    sandbox.run("delete api --version v1 --kind Memcached --discard --dry-run").success();
    assert_same("dry run", &sandbox.files(), &before);
    sandbox
        .run("delete api --version v1 --kind Memcached --discard")
        .success()
        .stdout(str![[r#"
update    Cargo.toml
update    PROJECT
remove    config/crd/bases/cache.example.com_memcacheds.yaml
remove    config/crd/kustomization.yaml
update    config/default/kustomization.yaml
update    config/rbac/kustomization.yaml
remove    config/rbac/memcached_admin_role.yaml
remove    config/rbac/memcached_editor_role.yaml
remove    config/rbac/memcached_viewer_role.yaml
update    config/rbac/role.yaml
remove    config/samples/cache_v1_memcached.yaml
remove    config/samples/kustomization.yaml
update    src/api.rs
remove    src/api/v1.rs
remove    src/api/v1/memcached.rs
update    src/controller.rs
remove    src/controller/memcached.rs
remove    src/controller/memcached/desired.rs
remove    src/controller/memcached/status.rs
update    src/main.rs
remove    tests/crds.rs
update    tests/e2e.rs
remove    tests/envtest_memcached.rs
remove    tests/explore_memcached.rs
remove    tests/memcached.rs

"#]])
        .stderr(str![[r#"
9 updated, 16 removed

Clusters keep their objects and the CRD. Delete the objects while the old operator runs, since it removes their finalizers, and then the CRD:
  kubectl get memcacheds.cache.example.com --all-namespaces
  kubectl delete crd memcacheds.cache.example.com

"#]]);
    assert_same("discarded", &sandbox.files(), &project("", &[]).files());
}

#[test]
fn a_file_that_names_the_type_is_told() {
    let sandbox = project("", &["create api --group cache --version v1 --kind Memcached", OTHER]);
    sandbox.replace(
        "src/controller/other.rs",
        "use crate::api::v1::",
        "use crate::api::v1::memcached::Memcached;\nuse crate::api::v1::",
    );
    sandbox.run("delete api --version v1 --kind Memcached").success().stderr(str![[r#"
warning[still-named]: `src/controller/other.rs` still names `Memcached`
 --> src/controller/other.rs:8:32
  |
8 | use crate::api::v1::memcached::Memcached;
  |                                ^^^^^^^^^
  |
  = help: remove or change this code
10 updated, 12 removed, 1 unchanged

Clusters keep their objects and the CRD. Delete the objects while the old operator runs, since it removes their finalizers, and then the CRD:
  kubectl get memcacheds.cache.example.com --all-namespaces
  kubectl delete crd memcacheds.cache.example.com

"#]]);
}

#[test]
fn a_deletion_that_breaks_others_is_refused() {
    let sandbox = project(
        "",
        &[
            "create api --group cache --version v1 --kind Memcached",
            "create api --group cache --version v2 --kind Memcached --controller=false",
            "create webhook --version v2 --kind Memcached --conversion --spoke v1 --defaulting",
            OTHER,
        ],
    );
    let before = sandbox.files();
    let mut found = String::new();
    for arguments in [
        "api --version v3 --kind Memcached",
        "api --group apps --version v1 --kind Deployment",
        "api --version v2 --kind Memcached",
        "api --version v1 --kind Memcached",
        "version --version v1 --kind Memcached",
        "version --version v2 --kind Memcached",
        "version --version v1 --kind Other",
        "controller --version v2 --kind Memcached",
        "controller --version v1 --kind Memcached --controller-name second",
        "webhook --version v1 --kind Other",
        "webhook --version v2 --kind Memcached --programmatic-validation",
        "api --version 1 --kind Memcached",
    ] {
        let run = sandbox.run(&format!("delete {arguments}"));
        found += &format!("# {arguments}, exit code {}\n{}", run.exit_code().unwrap(), run.err());
        assert_same(arguments, &sandbox.files(), &before);
    }
    snapbox::assert_data_eq!(
        found,
        str![[r#"
# api --version v3 --kind Memcached, exit code 1
error: `example.com/v3 Memcached` is neither an API of this project nor a built-in kind
help: the project has `--group cache --version v1 --kind Memcached`, `--group cache --version v2 --kind Memcached`; make an API with `memcached-sdk create api`, or name the type of another crate by `--external-api-path`
# api --group apps --version v1 --kind Deployment, exit code 1
error: the project has no API, controller or webhook for `v1 Deployment`
help: see `resources` in `PROJECT`
# api --version v2 --kind Memcached, exit code 1
error: `cache.example.com/v2 Memcached` has webhooks
help: run `memcached-sdk delete webhook --group cache --version v2 --kind Memcached` first
# api --version v1 --kind Memcached, exit code 1
error: `cache.example.com/v2 Memcached` converts objects of `cache.example.com/v1 Memcached`
help: `memcached-sdk delete version --group cache --version v1 --kind Memcached` also takes it out of the conversion
# version --version v1 --kind Memcached, exit code 1
error: `cache.example.com/v1 Memcached` is the version in which clusters store the objects
help: release a version that stores `v2`, run `memcached-sdk migrate storage`, and delete this one when `kubectl get crd memcacheds.cache.example.com --output jsonpath='{.status.storedVersions}'` no longer shows it
# version --version v2 --kind Memcached, exit code 1
error: `cache.example.com/v2 Memcached` is the hub of the conversion
help: run `memcached-sdk delete webhook --conversion --group cache --version v2 --kind Memcached`, and create the conversion with another hub if other versions stay
# version --version v1 --kind Other, exit code 1
error: `cache.example.com/v1 Other` is the only version of its kind in the project
help: run `memcached-sdk delete api --group cache --version v1 --kind Other`
# controller --version v2 --kind Memcached, exit code 1
error: `cache.example.com/v2 Memcached` has no controller
help: `PROJECT` lists the controllers of the project
# controller --version v1 --kind Memcached --controller-name second, exit code 1
error: `cache.example.com/v1 Memcached` has no controller `second`
help: it has `memcached`
# webhook --version v1 --kind Other, exit code 1
error: `cache.example.com/v1 Other` has no such webhook
help: `PROJECT` lists the webhooks of the project
# webhook --version v2 --kind Memcached --programmatic-validation, exit code 1
error: `cache.example.com/v2 Memcached` has no such webhook
help: `PROJECT` lists the webhooks of the project
# api --version 1 --kind Memcached, exit code 2
error: invalid version `1`: it must be a DNS-1035 label: lower-case letters, digits and `-`, starting with a letter and ending with a letter or digit, at most 63 characters

"#]]
    );
}

#[test]
fn a_version_that_is_no_longer_stored_goes_with_its_conversion() {
    let sandbox = project(
        "",
        &[
            "create api --group cache --version v1 --kind Memcached",
            "create api --group cache --version v2 --kind Memcached --controller=false",
            "create webhook --version v2 --kind Memcached --conversion --spoke v1",
        ],
    );
    sandbox.replace("src/api/v2/memcached.rs", "    storage = false,\n", "");
    sandbox.replace("src/api/v1/memcached.rs", "    namespaced,\n", "    namespaced,\n    storage = false,\n");
    generate(&sandbox);
    sandbox.run("delete version --version v1 --kind Memcached").code(1);
    sandbox.run("delete version --version v1 --kind Memcached --discard").success().stderr(str![[r#"
16 updated, 27 removed, 1 unchanged

Clusters may store objects in this version; `["v1"]` must not be in:
  kubectl get crd memcacheds.cache.example.com --output jsonpath='{.status.storedVersions}'

"#]]);
    let crd = sandbox.read("config/crd/bases/cache.example.com_memcacheds.yaml");
    assert!(!crd.contains("name: v1\n") && !crd.contains("conversion:"), "{crd}");
}
