//! `create api` in projects with edits of their authors.

use std::collections::BTreeSet;
use std::path::Path;

use memcached_sdk::project::ident;
use snapbox::str;

use crate::golden::delete::POND;
use crate::sandbox::{OFFLINE, Sandbox, files};

const CREATE: &str = "create api --group cache --version v1alpha1 --kind Memcached";

#[test]
fn a_missing_insertion_point_prints_the_snippet_and_nothing_is_written() {
    for (path, marker, snippet) in [
        ("src/main.rs", "    // +kubebuilder:scaffold:controllers\n", ".with(demo::controller::memcached::register)"),
        ("src/api.rs", "// +kubebuilder:scaffold:modules\n", "pub mod v1alpha1;"),
        ("src/controller.rs", "// +kubebuilder:scaffold:modules\n", "pub mod memcached;"),
        ("config/rbac/kustomization.yaml", "# +kubebuilder:scaffold:userroles\n", "- memcached_admin_role.yaml"),
        ("config/default/kustomization.yaml", "#- ../crd\n", "- ../crd"),
    ] {
        let sandbox = Sandbox::project("");
        sandbox.replace(path, marker, "");
        let before = sandbox.files();
        let message = sandbox.run(CREATE).code(1).err();
        assert!(message.contains(path) && message.contains("help: ") && message.contains(snippet), "{message}");
        assert_eq!(sandbox.files(), before, "{path}");
    }
}

#[test]
fn an_api_that_exists_is_refused_unless_forced() {
    let sandbox = Sandbox::project("");
    sandbox.run(CREATE).success();
    sandbox.file("src/api/v1alpha1/memcached.rs", "// all mine\n");
    let before = sandbox.files();
    let message = sandbox.run(CREATE).code(1).err();
    assert!(message.contains("API resource already exists") && message.contains("--force"), "{message}");
    assert_eq!(sandbox.files(), before);
    sandbox.run(&format!("{CREATE} --force")).success();
    assert!(sandbox.read("src/api/v1alpha1/memcached.rs").contains("struct MemcachedSpec"));
}

#[test]
fn the_image_of_a_kind_that_is_made_anew_is_the_new_one() {
    let sandbox = Sandbox::project("");
    sandbox.run(CREATE).success();
    sandbox.run(&format!("{CREATE} --image memcached:1 --force")).success();
    let before = sandbox.read("config/manager/manager.yaml");
    assert!(before.contains("- name: MEMCACHED_IMAGE\n          value: memcached:1\n"), "{before}");
    sandbox.run(&format!("{CREATE} --image memcached:2 --force")).success();
    assert_eq!(sandbox.read("config/manager/manager.yaml"), before.replace("memcached:1\n", "memcached:2\n"));
}

#[test]
fn a_second_group_needs_multigroup() {
    let sandbox = Sandbox::project("");
    sandbox.run(CREATE).success();
    let message = sandbox.run("create api --group web --version v1 --kind Site").code(1).err();
    assert!(message.contains("multiple groups are not allowed by default"), "{message}");
}

#[test]
fn a_second_version_is_served_and_not_stored_and_keeps_the_controller() {
    let sandbox = Sandbox::project("");
    sandbox.run(CREATE).success();
    let controller = sandbox.read("src/controller/memcached.rs");
    sandbox.run("create api --group cache --version v1 --kind Memcached").success();
    assert_eq!(sandbox.read("src/controller/memcached.rs"), controller);
    let crd = sandbox.read("config/crd/bases/cache.example.com_memcacheds.yaml");
    let crd: serde_json::Value = serde_yaml::from_str(&crd).unwrap();
    let versions: Vec<_> =
        crd["spec"]["versions"].as_array().unwrap().iter().map(|v| (&v["name"], &v["storage"])).collect();
    assert_eq!(versions, [(&"v1".into(), &false.into()), (&"v1alpha1".into(), &true.into())]);
}

/// All versions share the CRD's names. `generate` uses those of the stored version, and `tests/crds.rs` compares them.
#[test]
fn a_further_version_has_the_names_of_the_first() {
    let sandbox = Sandbox::project("");
    sandbox.run(&format!("{CREATE} --short-name mc,mcd --plural memcachedes")).success();
    let second = "create api --group cache --version v1 --kind Memcached";
    for (flags, says) in [
        ("--short-name other", "differ in short names: all versions of a kind must have the same short names"),
        ("--plural others", "pass `--plural memcachedes`"),
        ("--namespaced=false", "pass `--namespaced=true`"),
    ] {
        let before = sandbox.files();
        let message = sandbox.run(&format!("{second} {flags}")).code(1).err();
        assert!(message.contains(says), "{message}");
        assert!(sandbox.files() == before, "{flags}");
    }
    sandbox.run(second).success();
    let names = |version: &str| -> Vec<String> {
        let text = sandbox.read(&format!("src/api/{version}/memcached.rs"));
        let is_name = |line: &&str| ["plural =", "shortname =", "namespaced,"].iter().any(|key| line.contains(key));
        text.lines().filter(is_name).map(str::to_owned).collect()
    };
    assert_eq!(names("v1").len(), 4, "{:?}", names("v1"));
    assert_eq!(names("v1"), names("v1alpha1"));
    let record: serde_json::Value = serde_yaml::from_str(&sandbox.read("PROJECT")).unwrap();
    assert_eq!(record["resources"][1]["api"]["shortNames"], record["resources"][0]["api"]["shortNames"]);
}

#[test]
fn project_files_of_all_sorts() {
    let text = Sandbox::project("").read("PROJECT");
    for (name, project) in [
        ("CRLF", text.replace('\n', "\r\n")),
        (
            "reordered",
            text.lines()
                .rev()
                .map(|line| format!("{line}\n"))
                .collect::<String>()
                .replace("- rust.memcached-sdk.dev/v1\nlayout:\n", "layout:\n- rust.memcached-sdk.dev/v1\n")
                .replace(
                    "    license: Apache-2.0\n  rust.memcached-sdk.dev/v1:\nplugins:\n",
                    "plugins:\n  rust.memcached-sdk.dev/v1:\n    license: Apache-2.0\n",
                ),
        ),
        ("unknown fields", format!("{text}someday:\n  deep: [1, two]\n")),
    ] {
        let sandbox = Sandbox::project("");
        sandbox.file("PROJECT", &project);
        sandbox.run(CREATE).success();
        let after = sandbox.read("PROJECT");
        assert!(after.contains("kind: Memcached"), "{name}:\n{after}");
        assert_eq!(after.contains("someday:"), project.contains("someday:"), "{name}:\n{after}");
        assert_eq!(after.matches("\r\n").count() == after.matches('\n').count(), name == "CRLF", "{name}");
    }
    for (name, project) in [
        ("empty", String::new()),
        ("no YAML", "{{".to_owned()),
        ("truncated", text[..text.find("projectName").unwrap()].to_owned()),
        ("a list", "- 1\n".to_owned()),
    ] {
        let sandbox = Sandbox::project("");
        sandbox.file("PROJECT", &project);
        let before = sandbox.files();
        let message = sandbox.run(CREATE).code(1).err();
        assert!(message.contains("PROJECT"), "{name}: {message}");
        assert_eq!(sandbox.files(), before, "{name}");
    }
}

#[test]
fn every_command_twice_changes_nothing() {
    let sandbox = Sandbox::new();
    let init = format!("init --domain example.com --project-name demo {OFFLINE}");
    for (command, again) in
        [(init.as_str(), 0), (CREATE, 1), ("generate", 0), ("generate rbac", 0), ("generate crd", 0)]
    {
        sandbox.run(command).success();
        let before = sandbox.files();
        sandbox.run(command).code(again);
        assert_eq!(sandbox.files(), before, "{command}");
        if command == CREATE {
            sandbox.lock();
        }
    }
}

#[test]
fn dry_run_and_check_write_nothing() {
    let sandbox = Sandbox::project("");
    let before = sandbox.files();
    sandbox.run(&format!("{CREATE} --dry-run")).success();
    let diff = sandbox.run(&format!("{CREATE} --dry-run --diff")).success().out();
    assert!(diff.contains("+++ b/config/crd/bases/cache.example.com_memcacheds.yaml\n"), "{diff}");
    sandbox.run(&format!("{CREATE} --check")).code(3);
    let json = sandbox.run(&format!("{CREATE} --dry-run -o json")).success().out();
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let changed = |path: &str| report["changes"].as_array().unwrap().iter().any(|change| change["path"] == path);
    assert!(changed("PROJECT") && changed("src/api/v1alpha1/memcached.rs"), "{json}");
    assert_eq!(sandbox.files(), before);
}

#[test]
fn the_type_of_a_kind_has_no_name_that_scaffolded_code_uses() {
    fn imported(tree: &syn::UseTree, names: &mut BTreeSet<String>) {
        match tree {
            syn::UseTree::Path(path) => imported(&path.tree, names),
            syn::UseTree::Name(name) => _ = names.insert(name.ident.to_string()),
            syn::UseTree::Rename(rename) => _ = names.insert(rename.rename.to_string()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| imported(tree, names)),
            syn::UseTree::Glob(_) => {}
        }
    }
    fn named(items: &[syn::Item], names: &mut BTreeSet<String>) {
        for item in items {
            match item {
                syn::Item::Use(item) => imported(&item.tree, names),
                syn::Item::Struct(item) => _ = names.insert(item.ident.to_string()),
                syn::Item::Enum(item) => _ = names.insert(item.ident.to_string()),
                syn::Item::Type(item) => _ = names.insert(item.ident.to_string()),
                syn::Item::Mod(item) => named(item.content.as_ref().map_or(&[], |(_, items)| items), names),
                _ => {}
            }
        }
    }
    let mut names = BTreeSet::new();
    for (sample, kinds) in
        [("memcached-operator", vec!["Memcached"]), ("multi-group", vec!["Frigate", "Humpback", "ReplicaSet"])]
    {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(sample);
        for (path, text) in files(&folder) {
            let scaffolded = ["src/api", "src/controller", "src/webhook"].iter().any(|folder| path.starts_with(folder));
            if scaffolded && Path::new(&path).extension().is_some_and(|extension| extension == "rs") {
                let mut found = BTreeSet::new();
                named(&syn::parse_file(&text).unwrap().items, &mut found);
                found.retain(|name| {
                    name.starts_with(char::is_uppercase) && !kinds.iter().any(|kind| name.starts_with(kind))
                });
                names.extend(found);
            }
        }
    }
    assert!(names.len() > 20, "{names:?}");
    names.retain(|name| ident::kind_type(name) == *name);
    assert_eq!(names, BTreeSet::new(), "kinds of these names need another Rust type: put them into `project::taken`");
}

/// Cargo compiles each file in `tests` as a crate, so the file name must be a crate name.
#[test]
fn files_of_tests_have_names_of_crates() {
    let tests = |flags: &str, apis: &[&str]| {
        let sandbox = Sandbox::project(flags);
        for api in apis {
            sandbox.run(&format!("create api {api}")).success();
        }
        let files = sandbox.files().into_keys();
        files.filter_map(|path| path.strip_prefix("tests/").map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(
        tests(
            "--multigroup",
            &[
                "--group example.org --version v1 --kind Memcached",
                "--group example.org --version v1 --kind Memcached --resource=false --controller-name cache-warmer",
                "--group apps --version v1 --kind ReplicaSet --resource=false",
            ]
        ),
        [
            "apps_replica_set.rs",
            "crds.rs",
            "e2e.rs",
            "envtest_example_org_cache_warmer.rs",
            "envtest_example_org_memcached.rs",
            "example_org_cache_warmer.rs",
            "example_org_memcached.rs",
            "explore_example_org_cache_warmer.rs",
            "explore_example_org_memcached.rs"
        ]
    );
    assert_eq!(
        tests(
            "",
            &[
                "--group a --version v1 --kind E2e",
                "--group a --version v1 --kind Crds",
                "--group a --version v1 --kind Type --image memcached",
            ]
        ),
        [
            "crds.rs",
            "crds_controller.rs",
            "e2e.rs",
            "e2e_controller.rs",
            "envtest_crds_controller.rs",
            "envtest_e2e_controller.rs",
            "envtest_type_.rs",
            "explore_crds_controller.rs",
            "explore_e2e_controller.rs",
            "explore_type_.rs",
            "type_.rs"
        ]
    );
}

#[test]
fn every_dependency_is_used() {
    let builtin = "create api --group apps --version v1 --kind ReplicaSet --resource=false";
    for create in ["version", CREATE, &format!("{CREATE} --image memcached"), builtin] {
        let sandbox = Sandbox::project("");
        sandbox.run(create).success();
        let files = sandbox.files();
        let used = |name: &str, folders: &[&str]| {
            let name = format!("{}::", name.replace('-', "_"));
            let code = |path: &str| folders.iter().any(|folder| path.starts_with(folder)) && !path.ends_with(".md");
            files.iter().any(|(path, text)| code(path) && text.contains(&name))
        };
        let manifest: toml_edit::DocumentMut = sandbox.read("Cargo.toml").parse().unwrap();
        // `k8s-openapi` selects the manager's Kubernetes version; kube's derive expands to `serde_json`. The first controller
        // of a kind of the project uses `explorer`.
        let others = ["explorer", "k8s-openapi", "serde_json"];
        for (table, folders) in [("dependencies", &["src/"][..]), ("dev-dependencies", &["src/", "tests/"])] {
            for (name, _) in manifest.get(table).and_then(toml_edit::Item::as_table).into_iter().flatten() {
                assert!(others.contains(&name) || used(name, folders), "`{name}` is in [{table}] after `{create}`");
            }
        }
    }
}

#[test]
fn a_lock_file_follows_its_manifest() {
    for (has_lock, asks_cargo) in [(true, true), (false, false)] {
        let sandbox = Sandbox::project("");
        if has_lock {
            sandbox.lock();
        }
        let output = sandbox.command(CREATE).env("CARGO", "/nonexistent/cargo").output().unwrap();
        assert!(output.status.success());
        let asked = String::from_utf8_lossy(&output.stderr).contains("warning[not-fetched]");
        assert_eq!(asked, asks_cargo, "lock file: {has_lock}");
    }
}

#[test]
fn a_type_of_another_crate() {
    let sandbox = Sandbox::project("");
    let square = "create api --group shapes --version v1 --kind Square --external-api-path shapes::v1 \
                  --external-api-domain example.org --external-api-module shapes@1.2";
    sandbox.run(&format!("{square} --resource")).code(2).stderr(str![[r#"
error: a type of another crate cannot be scaffolded in this project
help: pass `--resource=false` with `--external-api-path`

"#]]);
    sandbox.run(&format!("{square} --namespaced=false")).success().stdout(str![[r#"
update    Cargo.toml
update    PROJECT
update    config/rbac/role.yaml
update    src/controller.rs
create    src/controller/square.rs
update    src/main.rs
create    tests/square.rs

"#]]);
    sandbox.run(square).code(1).stderr(str![[r#"
error: controller already exists: `shapes.example.org/v1 Square` has one already
help: pass `--force` to scaffold it again, or `--controller-name` to add another one

"#]]);
    let text = sandbox.read("src/controller/square.rs");
    assert!(text.contains("use shapes::v1::Square;\n"), "{text}");
    assert!(text.contains("groups=shapes.example.org,resources=squares,verbs=list;watch\n"), "{text}");
    assert!(sandbox.read("Cargo.toml").contains("\nshapes = \"1.2\"\n"));
    let project = sandbox.read("PROJECT");
    snapbox::assert_data_eq!(
        project.split_once("resources:\n").unwrap().1,
        str![[r#"
- controller: true
  domain: example.org
  external: true
  group: shapes
  kind: Square
  module: shapes@1.2
  namespaced: false
  path: shapes::v1
  version: v1
version: "3"

"#]]
    );
    sandbox.run(&format!("{square} --controller-name other --make=false")).success();
    assert!(sandbox.read("PROJECT").contains("  - name: square\n  - name: other\n"));
}

const CRD: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.sea.example.com
spec:
  group: sea.example.com
  names: {kind: Boat, listKind: BoatList, plural: boats, singular: boat, shortNames: [bt]}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    schema:
      openAPIV3Schema:
        description: A boat.
        type: object
        required: [spec]
        properties:
          spec:
            description: The boat to build.
            type: object
            required: [size]
            properties:
              size: {description: In feet., type: integer, format: int32, minimum: 1}
              sail: {type: string, enum: [Red, dark-blue], default: Red}
              type: {type: string}
          status:
            type: object
            properties:
              afloat: {type: boolean}
"#;

#[test]
fn the_controller_of_a_crd_has_the_type_of_its_file() {
    let sandbox = Sandbox::project("");
    sandbox.file("managers.yaml", &CRD.replace("Boat", "Manager").replace("boat", "manager"));
    sandbox.run("create api --from-crd managers.yaml").success();
    let types = sandbox.read("src/api/v1/manager_.rs");
    let controller = sandbox.read("src/controller/manager_.rs");
    assert!(types.contains("root = \"ManagerResource\""), "{types}");
    assert!(controller.contains("use crate::api::v1::manager_::ManagerResource;"), "{controller}");
    assert!(controller.contains("Objects<ManagerResource>"), "{controller}");
}

#[test]
fn types_of_a_crd_give_the_crd() {
    let sandbox = Sandbox::project("");
    sandbox.file("boats.yaml", CRD);
    sandbox.run("create api --from-crd boats.yaml").success();
    let types = sandbox.read("src/api/v1/boat.rs");
    for expected in [
        "pub struct BoatSpec {",
        "pub size: i32,",
        "pub sail: BoatSail,",
        "pub type_: Option<String>,",
        "range(min = 1)",
    ] {
        assert!(types.contains(expected), "{expected}:\n{types}");
    }
    let project = sandbox.read("PROJECT");
    assert!(project.contains("version: v1\n") && project.contains("version: v1beta1\n"), "{project}");
    assert!(sandbox.read("config/samples/sea_v1_boat.yaml").ends_with("spec:\n  size: 1\n"));
    // The status has no conditions, so the controller has no status.
    assert!(!sandbox.read("src/controller/boat.rs").contains("status"));
    let crd = |text: &str| -> serde_json::Value { serde_yaml::from_str(text).unwrap() };
    let (own, generated) = (crd(CRD), crd(&sandbox.read("config/crd/bases/sea.example.com_boats.yaml")));
    let of = |crd: &serde_json::Value, name: &str| {
        let versions = crd["spec"]["versions"].as_array().unwrap().iter();
        versions.clone().find(|version| version["name"] == name).unwrap().clone()
    };
    for name in ["v1", "v1beta1"] {
        let (own, generated) = (of(&own, name), of(&generated, name));
        for part in ["spec", "status"] {
            let schema = |version: &serde_json::Value| {
                let mut schema = version["schema"]["openAPIV3Schema"]["properties"][part].clone();
                schema.as_object_mut().map(|schema| schema.remove("nullable"));
                schema
            };
            assert_eq!(schema(&own), schema(&generated), "{name}");
        }
        assert_eq!(own["additionalPrinterColumns"], generated["additionalPrinterColumns"]);
    }
    let again = sandbox.run("create api --from-crd boats.yaml").code(1).err();
    assert!(again.contains("API resource already exists"), "{again}");
    sandbox.run("edit --prometheus").success();
    assert_eq!(sandbox.read("src/api/v1/boat.rs"), types);
}

#[test]
fn a_flag_that_contradicts_the_crd_is_refused() {
    let sandbox = Sandbox::project("");
    let before = sandbox.files();
    for (flags, expected) in [
        ("--group=land", "`--group land` contradicts `--from-crd`"),
        ("--version=v2", "`--version v2` contradicts `--from-crd`"),
        ("--kind=Ship", "has no CRD of the kind `Ship`"),
        ("--plural=boaties", "`--plural boaties` contradicts `--from-crd`"),
        ("--short-name=b", "`--short-name b` contradicts `--from-crd`"),
        ("--namespaced=false", "`--namespaced false` contradicts `--from-crd`"),
        ("--resource=false", "`--resource false` contradicts `--from-crd`"),
    ] {
        let run = sandbox.pipe(&format!("create api --from-crd - {flags}"), CRD);
        assert_ne!(run.exit_code(), Some(0), "{flags}");
        let message = run.err();
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(sandbox.files(), before);
    sandbox.pipe("create api --from-crd - --group=sea --kind=Boat --version=v1 --plural=boats", CRD).success();
}

#[test]
fn a_group_outside_of_the_domain_keeps_its_own() {
    let sandbox = Sandbox::project("");
    sandbox.pipe("create api --from-crd -", &CRD.replace("sea.example.com", "sea.example.org")).success();
    let project = sandbox.read("PROJECT");
    assert_eq!(project.matches("  domain: example.org\n  group: sea\n").count(), 2, "{project}");
    assert!(sandbox.read("config/crd/bases/sea.example.org_boats.yaml").contains("name: boats.sea.example.org"));
    // Each command finds the kind by either name of its group, and PROJECT gives the same files again.
    sandbox.run("create webhook --group sea --version v1 --kind Boat --defaulting").success();
    sandbox.run("create webhook --group sea.example.org --version v1beta1 --kind Boat --defaulting").success();
    sandbox.run("create api --group sea --version v2 --kind Boat --resource --controller=false --make=false").success();
    assert!(sandbox.read("src/api/v2/boat.rs").contains("group = \"sea.example.org\""));
    let types = sandbox.read("src/api/v1/boat.rs");
    sandbox.run("edit --prometheus").success();
    assert_eq!(sandbox.read("src/api/v1/boat.rs"), types);
    sandbox.run("delete webhook --group sea --version v1beta1 --kind Boat").success();
}

#[test]
fn the_first_version_in_a_project_is_the_stored_one() {
    let versions = |sandbox: &Sandbox| -> Vec<(String, bool)> {
        let crd = sandbox.read("config/crd/bases/sea.example.com_boats.yaml");
        let crd: serde_json::Value = serde_yaml::from_str(&crd).unwrap();
        let versions = crd["spec"]["versions"].as_array().unwrap().iter();
        let of =
            |version: &serde_json::Value| (version["name"].as_str().unwrap().to_owned(), version["storage"] == true);
        versions.map(of).collect()
    };
    for (first, then) in [("v1beta1", "v1"), ("v1", "v1beta1")] {
        let sandbox = Sandbox::project("");
        sandbox.pipe(&format!("create api --from-crd - --version {first}"), CRD).success();
        assert_eq!(versions(&sandbox), [(first.to_owned(), true)]);
        sandbox.pipe(&format!("create api --from-crd - --version {then}"), CRD).success();
        let mut both = versions(&sandbox);
        both.sort_by_key(|(_, storage)| !storage);
        assert_eq!(both, [(first.to_owned(), true), (then.to_owned(), false)]);
    }
}

#[test]
fn the_types_of_a_kind_of_another_project() {
    let sandbox = Sandbox::project("");
    sandbox.file("boats.yaml", &CRD.replace("sea.example.com", "sea.example.org"));
    let create = "create api --external --from-crd boats.yaml";
    sandbox.run(create).success().stdout(str![[r#"
update    Cargo.toml
update    PROJECT
create    src/external.rs
create    src/external/sea_example_org.rs
create    src/external/sea_example_org/v1.rs
create    src/external/sea_example_org/v1/boat.rs
update    src/lib.rs

"#]]);
    snapbox::assert_data_eq!(
        sandbox.read("PROJECT").split_once("resources:\n").unwrap().1,
        str![[r#"
- domain: example.org
  external: true
  group: sea
  kind: Boat
  path: crate::external::sea_example_org::v1::boat
  version: v1
version: "3"

"#]]
    );
    let files = sandbox.files();
    sandbox.run(create).success();
    assert_eq!(sandbox.files(), files);
    // Its CRD is written by the other project.
    sandbox.run("generate").success();
    assert!(!sandbox.path("config/crd").exists());
    sandbox.run("generate crds --kind Boat").code(2).stderr(str![[r#"
error: custom resource `Boat` not found
help: the package declares no custom resource

"#]]);
    sandbox.run("create api --group sea --version v1 --kind Boat --resource=false --controller").success();
    let controller = sandbox.read("src/controller/boat.rs");
    for expected in [
        "use crate::external::sea_example_org::v1::boat::Boat;\n",
        "// +kubebuilder:rbac:groups=sea.example.org,resources=boats,verbs=list;watch\n",
    ] {
        assert!(controller.contains(expected), "{controller}");
    }
    sandbox.run("rbac lint").success();
    sandbox.run("edit --prometheus").success();
    let types = sandbox.read("src/external/sea_example_org/v1/boat.rs");
    assert_eq!(types, files["src/external/sea_example_org/v1/boat.rs"]);
    sandbox.run("delete api --group sea --version v1 --kind Boat --discard").success();
    assert!(!sandbox.path("src/external").exists() && !sandbox.read("src/lib.rs").contains("external"));
    sandbox.run(&format!("{create} --version v1beta1 --controller")).success();
    assert!(sandbox.read("tests/boat.rs").contains("json!({\"spec\":{}})"));
    for (flags, expected) in [
        ("--group=land", "`--group land` contradicts"),
        ("--version=v2", "`--version v2` contradicts"),
        ("--external-api-path=a::b", "cannot be used with"),
    ] {
        let message = sandbox.run(&format!("{create} {flags}")).err();
        assert!(message.contains(expected), "{message}");
    }
    assert!(sandbox.run("create api --external --group a --version v1 --kind B").err().contains("--from-crd"));
}

/// Code for types without a default or conditions does not ask for them.
#[test]
fn code_for_the_types_of_a_crd_uses_their_fields_only() {
    for (flags, controller) in [("", "src/controller/second.rs"), ("--external", "src/controller/pond.rs")] {
        let sandbox = Sandbox::project("");
        sandbox.file(POND.0, POND.1);
        sandbox.run(&format!("create api --from-crd pond.yaml {flags}")).success();
        let name = if flags.is_empty() { "--controller-name second" } else { "" };
        sandbox.run(&format!("create api --version v1 --kind Pond --resource=false --controller {name}")).success();
        let tests = controller.replace("src/controller", "tests");
        assert!(sandbox.read(controller).contains("objects: Objects<Pond>"), "{flags}");
        assert!(sandbox.read(&tests).contains("json!({\"spec\":{\"mode\":\"Wild\"}})"), "{flags}");
        if flags.is_empty() {
            std::fs::remove_file(sandbox.path("config/samples/cache_v1_pond.yaml")).unwrap();
        }
        sandbox
            .run("create webhook --version v1 --kind Pond --defaulting --programmatic-validation --make=false")
            .success();
        let webhook = sandbox.read("src/webhook/v1/pond.rs");
        let sample = webhook.split_once("mod tests {\n    use super::*;\n\n").unwrap().1.split_once("\n\n").unwrap().0;
        snapbox::assert_data_eq!(
            sample,
            str![[r#"
    /// An object with the required fields of the type.
    fn sample() -> Pond {
        let object = serde_json::json!({
          "apiVersion": "cache.example.com/v1",
          "kind": "Pond",
          "metadata": {
            "name": "sample"
          },
          "spec": {
            "mode": "Wild"
          }
        });
        serde_json::from_value(object).expect("it has the required fields")
    }
"#]]
        );
        for (path, text) in sandbox.files() {
            let is_ours = path.starts_with("src/") || (path.starts_with("tests/") && path != "tests/crds.rs");
            let asks = ["Default::default()", "status.conditions"].iter().any(|part| text.contains(part));
            assert!(!(is_ours && asks), "{flags} {path}\n{text}");
        }
    }
    // The author decides about the status too.
    let sandbox = Sandbox::project("");
    sandbox.run("create api --group cache --version v1 --kind Pond").success();
    sandbox.replace("src/api/v1/pond.rs", "pub conditions: Vec<Condition>", "pub conditions: Option<Vec<Condition>>");
    let create = "create api --version v1 --kind Pond --resource=false --controller --make=false --controller-name";
    sandbox.run(&format!("{create} second")).success();
    assert!(!sandbox.path("src/controller/second").exists());
    sandbox.replace("src/api/v1/pond.rs", "pub conditions: Option<Vec<Condition>>", "pub conditions: Vec<Condition>");
    sandbox.run(&format!("{create} third")).success();
    assert!(sandbox.path("src/controller/third/status.rs").exists());
}
