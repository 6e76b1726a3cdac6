//! `generate`: written, removed and unchanged files.

use snapbox::str;

use crate::lock;
use crate::sandbox::Sandbox;

const CRD: &str = "config/crd/bases/cache.example.com_memcacheds.yaml";

fn project() -> Sandbox {
    let sandbox = Sandbox::project("");
    sandbox.run("create api --group cache --version v1alpha1 --kind Memcached").success();
    sandbox.lock();
    sandbox
}

#[test]
fn check_tells_of_a_changed_byte() {
    let sandbox = project();
    sandbox.run("generate --check").success();
    sandbox.replace(CRD, "kind: Memcached", "kind: Memcache");
    let before = sandbox.files();
    sandbox.run("generate --check").code(3);
    sandbox.run("generate rbac --check").success();
    assert_eq!(sandbox.files(), before);
    sandbox.run("generate crd").success();
    sandbox.run("generate --check").success();
}

#[test]
fn a_crd_without_a_type_goes_and_foreign_files_stay() {
    let sandbox = project();
    let crd = sandbox.read(CRD);
    let other = |name: &str| crd.replace("memcached", name).replace("Memcached", "Old");
    sandbox.file("config/crd/bases/cache.example.com_olds.yaml", &other("old"));
    sandbox.file("config/crd/bases/cache.other.io_olds.yaml", &other("old").replace("example.com", "other.io"));
    sandbox.file("config/crd/bases/notes.yaml", "kind: Notes\n");
    sandbox.run("generate").success();
    assert!(!sandbox.path("config/crd/bases/cache.example.com_olds.yaml").exists());
    assert!(sandbox.path("config/crd/bases/cache.other.io_olds.yaml").exists());
    assert!(sandbox.path("config/crd/bases/notes.yaml").exists());
}

#[test]
fn no_file_is_written_when_the_source_has_an_error() {
    let sandbox = project();
    sandbox.replace("src/controller/memcached.rs", "verbs=", "verbs=delete;");
    sandbox.file("src/api/v1alpha1/memcached.rs", "pub struct Broken {\n");
    let before = sandbox.files();
    let message = sandbox.run("generate").code(1).err();
    assert!(message.contains("src/api/v1alpha1/memcached.rs:"), "{message}");
    assert_eq!(sandbox.files(), before);
}

/// The compiler cannot be asked: the new API is not written yet.
#[test]
fn an_api_for_a_project_that_the_source_does_not_decide() {
    let sandbox = project();
    sandbox.replace("src/api/v1alpha1/memcached.rs", "    /// ", "    #[schemars(transform = note)]\n    /// ");
    let before = sandbox.files();
    let api = "create api --group cache --version v1 --kind Other";
    let message = sandbox.run(api).code(1).err();
    assert!(
        message
            .starts_with("error[command-failed]: the CRDs of this project cannot be generated without compiling it\n")
    );
    assert!(message.contains("`transform = …` runs code") && message.contains("pass `--make=false`"), "{message}");
    assert_eq!(sandbox.files(), before);
    sandbox.run(&format!("{api} --make=false")).success();
}

#[test]
fn a_header_is_put_on_top() {
    let sandbox = project();
    sandbox.file("header.txt", "# Copyright The Authors\n");
    sandbox.run("generate --header-file header.txt").success();
    for path in [CRD, "config/rbac/role.yaml"] {
        assert!(sandbox.read(path).starts_with("# Copyright The Authors\n---\n"), "{path}");
    }
}

#[test]
fn without_markers_the_role_allows_nothing() {
    let sandbox = Sandbox::project("");
    assert!(
        sandbox
            .read("config/rbac/role.yaml")
            .ends_with("kind: ClusterRole\nmetadata:\n  name: manager-role\nrules: []\n")
    );
    let sandbox = Sandbox::project("--namespaced");
    let role = sandbox.read("config/rbac/role.yaml");
    assert!(
        role.ends_with("kind: Role\nmetadata:\n  name: manager-role\n  namespace: demo-system\nrules: []\n"),
        "{role}"
    );
}

#[test]
fn neither_cargo_nor_rustc_is_needed() {
    let sandbox = project();
    sandbox.file(CRD, "stale\n");
    let status = sandbox.command("generate -q").env("PATH", "").status().unwrap();
    assert!(status.success());
    assert!(sandbox.read(CRD).contains("kind: Memcached"));
}

#[test]
fn a_folder_inside_the_crate_will_do() {
    let sandbox = project();
    sandbox.file(CRD, "stale\n");
    let output = sandbox.command("generate").current_dir(sandbox.path("src/controller")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("update    {CRD}\n"));
    assert!(!sandbox.path("src/controller/config").exists());
}

const SAMPLE: &str = "config/samples/cache_v1alpha1_memcached.yaml";

/// Adds two required fields and an optional one to the type of `project()`.
fn require(sandbox: &Sandbox) {
    let types = "src/api/v1alpha1/memcached.rs";
    let text = sandbox.read(types);
    let (before, after) = text.split_once("    /// An example field").unwrap();
    let (_, after) = after.split_once("pub foo: Option<String>,\n").unwrap();
    let fields = "    pub from: String,\n    #[schemars(range(min = 1, max = 10))]\n    pub number: i32,\n    pub to: Option<String>,\n";
    sandbox.file(types, &format!("{before}{fields}{after}"));
}

#[test]
fn an_empty_sample_gets_what_its_type_requires() {
    let sandbox = project();
    let before = sandbox.read(SAMPLE);
    assert!(before.ends_with("\nspec: {}\n"), "{before}");
    sandbox.run("generate --check").success();
    require(&sandbox);
    assert!(sandbox.run("generate --check").code(3).out().contains(SAMPLE));
    sandbox.run("generate").success().stderr("2 updated, 1 unchanged\n");
    assert_eq!(sandbox.read(SAMPLE), before.replace("spec: {}", "spec:\n  from: example\n  number: 1"));
    sandbox.run("generate").success().stderr("2 unchanged\n");
}

#[test]
fn a_sample_that_does_not_fit_is_told_of() {
    let sandbox = project();
    require(&sandbox);
    sandbox.run("generate").success();
    for (from, to, expected) in [
        (
            "number: 1",
            "number: 11",
            "warning[invalid-sample]: the sample is not valid, it is out of range: `spec.number` of cache.example.com/v1alpha1 Memcached
  --> config/samples/cache_v1alpha1_memcached.yaml:10:3
   |
10 |   number: 11
   |   ^^^^^^^^^^
   |
   = help: change it; a minimal valid object is
           spec:
             from: example
             number: 1
2 unchanged
",
        ),
        (
            "  from: example\n",
            "",
            "warning[invalid-sample]: the sample is not valid, it lacks the required field `from`: `spec` of cache.example.com/v1alpha1 Memcached
",
        ),
        ("from: example", "from: 3", "it is not a valid string: `spec.from`"),
        ("from: example", "form: example", "it lacks the required field `from`: `spec`"),
        ("spec:", "{{ template }}", "the sample is not valid YAML: "),
    ] {
        let fine = sandbox.read(SAMPLE);
        sandbox.replace(SAMPLE, from, to);
        let message = sandbox.run("generate --check").err();
        assert!(message.contains(expected), "{to}:\n{message}");
        sandbox.file(SAMPLE, &fine);
    }
    // So are the objects in `examples`, among files that are no objects.
    let example = sandbox.read(SAMPLE).replace("number: 1", "number: 11");
    sandbox
        .file("examples/many/store.yaml", &format!("a: 1\n---\n{{{{ x }}}}\n---\n{example}"))
        .file("examples/run.rs", "fn f() {}");
    let message = sandbox.run("generate --check").err();
    assert!(
        message.contains("`spec.number` of cache.example.com") && message.contains("examples/many/store.yaml:"),
        "{message}"
    );
    std::fs::remove_file(sandbox.path("examples/many/store.yaml")).unwrap();
    // Samples of foreign kinds and files of other formats are ignored.
    sandbox.file("config/samples/other.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {}\n");
    sandbox.file("config/samples/README.md", "{{");
    sandbox.run("generate").success().stderr("2 unchanged\n");
}

/// Patches of `config/crd` are checked against the generated CRD.
#[test]
fn a_patch_that_does_not_fit_is_told_of() {
    let sandbox = project();
    let kustomization = "config/crd/kustomization.yaml";
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    let rule = format!(
        "- op: add\n  path: {schema}/x-kubernetes-validations\n  value:\n  - rule: size(self.foo) > 2\n    message: foo is short\n- op: \
         add\n  path: /spec/names/categories\n  value: [all]\n"
    );
    let lists = "patches:\n- path: patches/rules.yaml\n  target:\n    name: memcacheds.cache.example.com\n";
    sandbox.replace(kustomization, "patches:\n", lists).file("config/crd/patches/rules.yaml", &rule);
    sandbox.run("generate").success().stderr("2 unchanged\n");
    // The comparison is of the patched CRD.
    let shipped = sandbox.read(CRD);
    sandbox.file("shipped/crd.yaml", &shipped.replace("  names:\n", "  names:\n    categories:\n    - all\n"));
    let out = sandbox.run("generate crds --compare shipped").code(3).out();
    assert!(out.contains("x-kubernetes-validations") && !out.contains("categories"), "{out}");

    let mut told = String::new();
    for (from, to) in [
        ("/spec/names/categories", "/spec/categories/0"),
        ("op: add", "op: replace"),
        ("op: add", "op: put"),
        (
            "value: [all]",
            "value: all\n- op: add\n  path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/foo/type\n  value: text",
        ),
        (
            rule.as_str(),
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: others.example.com\n",
        ),
    ] {
        sandbox.file("config/crd/patches/rules.yaml", &rule.replacen(from, to, 1));
        told += &sandbox.run("generate --check").success().err();
    }
    snapbox::assert_data_eq!(
        told,
        str![[r#"
warning[crd-patch]: `add /spec/categories/0` does not fit `memcacheds.cache.example.com`: the CRD has no such place
 --> config/crd/patches/rules.yaml:7:9
  |
7 |   path: /spec/categories/0
  |         ^^^^^^^^^^^^^^^^^^
  |
  = help: adapt the patch to the generated CRD
2 unchanged
warning[crd-patch]: `replace /spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations` does not fit `memcacheds.cache.example.com`: the CRD has no such place
 --> config/crd/patches/rules.yaml:2:9
  |
2 |   path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations
  |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: adapt the patch to the generated CRD
2 unchanged
warning[crd-patch]: `put /spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations` does not fit `memcacheds.cache.example.com`: it is not an operation of a JSON patch
 --> config/crd/patches/rules.yaml:2:9
  |
2 |   path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations
  |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: adapt the patch to the generated CRD
2 unchanged
warning[crd-patch]: with the patches of `config/crd/kustomization.yaml`: `text` is not a valid type in a CRD: `spec.foo` in `Memcached`, version `v1alpha1`
--> config/crd/kustomization.yaml
 = help: use `nullable` instead of a type `null`, and one of the types of OpenAPI v3
2 unchanged
warning[crd-patch]: no CRD has the name `others.example.com`
 --> config/crd/patches/rules.yaml:4:9
  |
4 |   name: others.example.com
  |         ^^^^^^^^^^^^^^^^^^
  |
  = help: correct the name, or remove the patch
2 unchanged

"#]]
    );
}

/// A package outside a project with these files in `src`.
fn package(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    let manifest = "[package]\nname = \"op\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\nkube = \"5\"\n\
                    schemars = \"1\"\nserde = \"1\"\n";
    sandbox.file("Cargo.toml", manifest).file("Cargo.lock", &lock::text([manifest]));
    for (path, text) in files {
        sandbox.file(&format!("src/{path}"), text);
    }
    sandbox
}

fn kind(group: &str, kind: &str) -> String {
    format!(
        "#[derive(kube::CustomResource, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]\n\
         #[kube(group = \"{group}\", version = \"v1\", kind = \"{kind}\")]\npub struct {kind}Spec {{\n    a: i32,\n}}\n"
    )
}

#[test]
fn without_markers_there_is_no_role_and_it_is_said() {
    let code = kind("example.com", "Pond");
    let sandbox = package(&[("lib.rs", &code)]);
    sandbox.run("generate").success().stderr(str![[r#"
the role is not changed, since the source has no `+kubebuilder:rbac` marker: `memcached-sdk rbac lint --fix` adds the markers that the code needs
1 created

"#]]);
    assert!(!sandbox.path("config/rbac/role.yaml").exists());
    let report = sandbox.run("generate -o json").success().out();
    assert!(report.contains(r#""code": "role-kept""#), "{report}");
    let all = sandbox.run("generate --stdout").success().out();
    assert!(!all.contains("ClusterRole"), "{all}");
    sandbox.file("config/rbac/role.yaml", "mine\n");
    sandbox.run("generate").success();
    assert_eq!(sandbox.read("config/rbac/role.yaml"), "mine\n");
    sandbox.file("src/lib.rs", &format!("// +kubebuilder:rbac:groups=\"\",resources=pods,verbs=get\n\n{code}"));
    sandbox.run("generate").success();
    assert!(sandbox.read("config/rbac/role.yaml").contains("- pods\n"));
}

#[test]
fn a_package_that_has_nothing_names_the_members_that_may() {
    let sandbox = package(&[("lib.rs", "")]);
    let manifest = sandbox.read("Cargo.toml").replace("\"op\"", "\"pond\"");
    let plain = manifest.split("kube").next().unwrap();
    sandbox
        .file("Cargo.toml", &format!("[workspace]\nmembers = [\"pond\", \"plain\"]\n\n{}", sandbox.read("Cargo.toml")));
    sandbox.file("pond/Cargo.toml", &manifest).file("pond/src/lib.rs", &kind("example.com", "Pond"));
    sandbox.file("plain/Cargo.toml", &plain.replace("\"pond\"", "\"plain\"")).file("plain/src/lib.rs", "");
    let members =
        "in this workspace `pond` uses kube and was not read: pass `-p pond`, or `--workspace` for all packages\n";
    for (command, what) in [
        ("generate crds", "nothing to generate was found"),
        ("generate", "nothing to generate was found"),
        ("rbac derive", "no request was found"),
        ("rbac lint", "no request was found"),
    ] {
        let told = sandbox.run(command).success().err();
        assert!(told.contains(&format!("{what}; {members}")), "{command}: {told}");
        let report = sandbox.run(&format!("{command} -o json")).success().out();
        let (message, help) = members.trim_end().split_once(": ").unwrap();
        for text in [r#""code": "elsewhere""#, &format!("{what}; {message}\""), &format!("\"{help}\"")] {
            assert!(report.contains(text), "{command}: {report}");
        }
    }
    assert!(!sandbox.path("config").exists());
}

#[test]
fn kinds_of_others_that_are_written_are_warned_of() {
    for (groups, called, warned) in [
        (["ponds.example.com", "monitoring.coreos.com"], "A::crd()", true),
        (["ponds.example.com", "monitoring.coreos.com"], "1", false),
        (["ponds.example.com", "monitoring.coreos.com"], "(A::crd(), B::crd())", false),
        (["ponds.example.com", "lakes.example.com"], "A::crd()", false),
        (["example.com", "lakes.example.com"], "A::crd()", false),
        (["example.com", "example.com"], "A::crd()", false),
        (["ponds.x-k8s.io", "lakes.x-k8s.io"], "A::crd()", true),
    ] {
        let code =
            format!("{}{}fn print() {{\n    let _ = {called};\n}}\n", kind(groups[0], "A"), kind(groups[1], "B"));
        let told = package(&[("lib.rs", &code)]).run("generate crds").success().err();
        let warning = format!("leave out what is only read: `--exclude B.{}`", groups[1]);
        assert_eq!(told.contains(&warning), warned, "{groups:?} {called}: {told}");
    }
}

#[test]
fn a_crd_that_another_member_declares_stays() {
    let sandbox = package(&[("lib.rs", &kind("example.com", "Gamma"))]);
    let manifest = sandbox.read("Cargo.toml");
    let beta = manifest.replace("\"op\"", "\"beta\"");
    sandbox.file("Cargo.lock", &lock::text([&*manifest, &*beta]));
    sandbox.file("Cargo.toml", &format!("[workspace]\nmembers = [\"beta\"]\n\n{manifest}"));
    sandbox.file("beta/Cargo.toml", &beta);
    sandbox.file("beta/src/lib.rs", &kind("example.com", "Beta"));
    sandbox.run("generate crds --workspace").success();
    let before = sandbox.files();
    for (folder, command) in [(".", "generate crds"), ("beta", "generate crds --output-dir ../config/crd/bases")] {
        let mut in_folder = sandbox.command(command);
        in_folder.current_dir(sandbox.path(folder));
        sandbox.finish(command, &mut in_folder).success();
        assert_eq!(sandbox.files(), before, "{folder}");
    }
    // A CRD without a type is removed, unless a member of the workspace could not be read.
    sandbox.file("beta/src/lib.rs", "struct Broken {");
    sandbox.run("generate crds").success();
    assert_eq!(
        sandbox.read("config/crd/bases/example.com_betas.yaml"),
        before["config/crd/bases/example.com_betas.yaml"]
    );
    sandbox.file("beta/src/lib.rs", "");
    sandbox.run("generate crds").success();
    assert!(!sandbox.path("config/crd/bases/example.com_betas.yaml").exists());
}

#[test]
fn a_kustomization_follows_the_crds_of_a_project() {
    let sandbox = project();
    let listed = |name: &str| format!("- bases/cache.example.com_{name}.yaml\n");
    sandbox.replace("src/api/v1alpha1/memcached.rs", "plural = \"memcacheds\"", "plural = \"caches\"");
    let told = sandbox.run("generate").success().out();
    assert!(told.contains("update    config/crd/kustomization.yaml"), "{told}");
    let kustomization = sandbox.read("config/crd/kustomization.yaml");
    assert!(
        !kustomization.contains(&listed("memcacheds")) && kustomization.contains(&listed("caches")),
        "{kustomization}"
    );
    sandbox.run("generate --check").success();
}

/// kustomize accepts an empty list, but not a key without a value.
#[test]
fn the_kustomization_of_the_last_kind_has_an_empty_list_and_the_next_kind_opens_it() {
    let sandbox = project();
    let path = "config/crd/kustomization.yaml";
    let before = sandbox.read(path);
    sandbox.replace("src/api/v1alpha1/memcached.rs", "CustomResource, ", "");
    let kube = sandbox.read("src/api/v1alpha1/memcached.rs");
    let (start, rest) = kube.split_once("#[kube(").unwrap();
    let plain = format!("{start}{}", rest.split_once(")]\n").unwrap().1);
    sandbox.file("src/api/v1alpha1/memcached.rs", &plain);
    let told = sandbox.run("generate crds").success().err();
    assert!(!told.contains("dangling"), "{told}");
    assert!(!sandbox.path(CRD).exists());
    let empty = before.replace("resources:\n- bases/cache.example.com_memcacheds.yaml\n", "resources: []\n");
    assert_eq!(sandbox.read(path), empty);
    sandbox.run("create api --group cache --version v1alpha1 --kind Pond --make=false").success();
    let entry = "resources:\n- bases/cache.example.com_ponds.yaml\n";
    assert!(sandbox.read(path).contains(entry), "{}", sandbox.read(path));
}

#[test]
fn a_crd_behind_a_feature_that_is_off_stays() {
    let gated = format!("#[cfg(feature = \"lakes\")]\nmod lakes {{\n{}}}\n", kind("example.com", "Lake"));
    let sandbox = package(&[("lib.rs", &format!("{}{gated}", kind("example.com", "Pond")))]);
    sandbox.replace("Cargo.toml", "[dependencies]", "[features]\nlakes = []\n\n[dependencies]");
    sandbox.run("generate crds --all-features").success();
    let before = sandbox.files();
    sandbox.run("generate crds").success().stderr(str![[r#"
`config/crd/bases/example.com_lakes.yaml` is kept, since `Lake.example.com` requires a feature that is not enabled in this run: pass `--features` or `--all-features` to update it, or delete the file
1 unchanged

"#]]);
    assert_eq!(sandbox.files(), before);
    let report = sandbox.run("generate crds -o json --check").success().out();
    assert!(report.contains(r#""code": "crd-kept""#) && report.contains(r#""severity": "note""#), "{report}");
    // A CRD whose type is no longer declared at all is removed.
    sandbox.file("src/lib.rs", &kind("example.com", "Pond"));
    sandbox.run("generate crds").success();
    assert!(!sandbox.path("config/crd/bases/example.com_lakes.yaml").exists());
}

#[test]
fn external_kinds_are_not_written_and_nothing_is_said_of_them() {
    let code = format!(
        "{}{}fn print() {{\n    let _ = A::crd();\n}}\n",
        kind("ponds.example.com", "A"),
        kind("monitoring.coreos.com", "B")
    );
    let crd = "config/crd/bases/monitoring.coreos.com_bs.yaml";
    for external in ["B.monitoring.coreos.com", "monitoring.coreos.com"] {
        let sandbox = package(&[("lib.rs", &code)]);
        let told = sandbox.run("generate crds --stdout").success().err();
        let setting = "`external = [\"B.monitoring.coreos.com\"]` below `[package.metadata.memcached-sdk]`";
        assert!(told.contains(setting), "{told}");
        sandbox.replace(
            "Cargo.toml",
            "[dependencies]",
            &format!("[package.metadata.memcached-sdk]\nexternal = [\"{external}\"]\n\n[dependencies]"),
        );
        let told = sandbox.run("generate crds").success().err();
        assert!(!told.contains("only-read") && !sandbox.path(crd).exists(), "{told}");
        sandbox.run("generate crds --kind B").success();
        assert!(sandbox.path(crd).exists(), "who names a kind wants it");
    }
}

/// A warning names the edit that is left to the author.
#[test]
fn a_kustomization_that_can_not_be_built_any_more_is_named() {
    let kustomization = "config/crd/kustomization.yaml";
    for (text, warned) in [
        ("resources:\n- bases/example.com_ponds.yaml\n- bases/other.yaml\n", ""),
        (
            "resources: [bases/example.com_ponds.yaml]\n",
            "warning[dangling-kustomization]: `config/crd/kustomization.yaml` lists `bases/example.com_ponds.yaml`, which is removed\n",
        ),
    ] {
        let sandbox = package(&[("lib.rs", &kind("example.com", "Pond"))]);
        sandbox.run("generate crds").success();
        sandbox.file(kustomization, text).file("src/lib.rs", &kind("example.com", "Lake"));
        let told = sandbox.run("generate crds").success().err();
        assert_eq!(told.contains("dangling-kustomization"), !warned.is_empty(), "{told}");
        assert!(told.contains(warned), "{told}");
    }
}

/// The plural changed, but the marker did not.
#[test]
fn a_webhook_for_a_resource_that_nobody_serves_is_warned_of() {
    let webhook = |resources: &str| {
        format!(
            "// +kubebuilder:webhook:path=/a,mutating=false,failurePolicy=fail,sideEffects=None,groups=example.com,\
             resources={resources},verbs=create,versions=v1,name=a.example.com,admissionReviewVersions=v1\n\n"
        )
    };
    for (resources, warned) in
        [("ponds", false), ("ponds/status", false), ("*", false), ("lakes", true), ("ponds;lakes/status", true)]
    {
        let code = format!("{}{}", webhook(resources), kind("example.com", "Pond"));
        let told = package(&[("lib.rs", &code)]).run("generate").success().err();
        let warning = "warning[webhook-resource]: resource `lakes` not found in group `example.com`; the API server never \
                       calls this webhook\n";
        assert_eq!(told.contains(warning), warned, "{resources}: {told}");
        assert_eq!(told.contains("use a resource of the group: `ponds`"), warned, "{resources}: {told}");
    }
}
