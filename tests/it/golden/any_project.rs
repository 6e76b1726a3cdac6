//! `generate` in packages and workspaces that `init` did not create.

use snapbox::str;

use crate::sandbox::Sandbox;

const DEPENDENCIES: &str = "[dependencies]\nkube = { version = \"5\", default-features = false, features = [\"derive\"] }\n\
                            schemars = \"1\"\nserde = { version = \"1\", features = [\"derive\"] }\n";

fn package(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n\n{DEPENDENCIES}\n{rest}")
}

fn kind(kind: &str) -> String {
    format!(
        "/// A thing. It has a size.\n#[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]\n\
         #[kube(group = \"example.com\", version = \"v1\", kind = \"{kind}\")]\npub struct {kind}Spec {{\n    \
         /// The size. In metres, up to\n    /// a limit\n    pub size: i32,\n}}\n"
    )
}

/// A virtual workspace: the library `types`, the crate `operator` with a kind of its own, and an excluded crate.
fn workspace() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .file("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\nexclude = [\"crates/old\"]\n")
        .file("crates/types/Cargo.toml", &package("types", "[features]\nextra = []\n"))
        .file("crates/types/src/lib.rs", &format!("{}#[cfg(feature = \"extra\")]\npub mod extra;\n", kind("Apple")))
        .file("crates/types/src/extra.rs", &kind("Extra"))
        .file("crates/operator/Cargo.toml", &package("operator", "types = { path = \"../types\" }\n"))
        .file(
            "crates/operator/src/main.rs",
            &format!(
                "{}// +kubebuilder:rbac:groups=example.com,resources=pears,verbs=get\nfn main() {{}}\n",
                kind("Pear")
            ),
        )
        .file("crates/old/Cargo.toml", &package("old", ""))
        .file("crates/old/src/lib.rs", "no rust")
        .lock();
    sandbox
}

fn created(sandbox: &Sandbox) -> Vec<String> {
    let files = sandbox.files().into_keys();
    files.filter(|path| path.ends_with(".yaml")).collect()
}

const APPLE: &str = "config/crd/bases/example.com_apples.yaml";
const EXTRA: &str = "config/crd/bases/example.com_extras.yaml";
const PEAR: &str = "config/crd/bases/example.com_pears.yaml";
const ROLE: &str = "config/rbac/role.yaml";

#[test]
fn packages_are_chosen_as_cargo_chooses_them() {
    for (folder, flags, expected) in [
        ("", "", vec![APPLE, PEAR, ROLE]),
        ("", "crds", vec![APPLE, PEAR]),
        ("", "crds -p types", vec![APPLE]),
        ("", "crds --package types --package operator", vec![APPLE, PEAR]),
        ("", "crds --features extra", vec![APPLE, EXTRA, PEAR]),
        ("", "crds --features types/extra", vec![APPLE, EXTRA, PEAR]),
        ("", "crds --all-features -p operator", vec![PEAR]),
        ("", "crds --paths crates/types", vec![APPLE]),
        ("", "crds --all-features --paths crates/types/src/extra.rs,crates/operator", vec![EXTRA, PEAR]),
        ("", "rbac --paths crates/operator", vec![ROLE]),
        ("", "rbac --paths crates/types", vec![]),
        ("crates/operator/src", "--manifest-path ../../../Cargo.toml crds", vec![APPLE, PEAR]),
        ("", "crds --single-file deploy/crds.yaml", vec!["deploy/crds.yaml"]),
        (
            "",
            "--output-dir deploy",
            vec!["deploy/example.com_apples.yaml", "deploy/example.com_pears.yaml", "deploy/role.yaml"],
        ),
        ("crates/types", "crds --output-dir ../../../out", vec![]),
    ] {
        let sandbox = workspace();
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("workspace");
        let root = if flags.contains("../out") {
            copy(&sandbox, &inner);
            inner.clone()
        } else {
            sandbox.root().to_path_buf()
        };
        let mut command = sandbox.command(&format!("generate {flags}"));
        sandbox.finish(flags, command.current_dir(root.join(folder))).success();
        assert_eq!(created(&sandbox), expected, "generate {flags}");
        if root == inner {
            assert!(outer.path().join("out/example.com_apples.yaml").exists());
        }
    }
}

fn copy(sandbox: &Sandbox, to: &std::path::Path) {
    for (path, text) in sandbox.files() {
        let path = to.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn a_member_has_a_folder_of_its_own_when_the_command_starts_there() {
    let sandbox = workspace();
    sandbox.run("generate crds --manifest-path crates/operator/Cargo.toml").success();
    assert_eq!(created(&sandbox), [format!("crates/operator/{PEAR}")]);
    assert!(sandbox.read(&format!("crates/operator/{PEAR}")).contains("A thing. It has a size."));
    let sandbox = workspace();
    sandbox.run("generate crds --workspace --manifest-path crates/operator/Cargo.toml").success();
    assert_eq!(created(&sandbox), [APPLE, PEAR].map(|path| format!("crates/operator/{path}")));
}

#[test]
fn the_kinds_are_listed_on_request() {
    let sandbox = workspace();
    sandbox.run("generate crds --dry-run -v").success().stderr(str![[r#"
example.com/v1 Apple: crates/types/src/lib.rs:4:12
example.com/v1 Pear: crates/operator/src/main.rs:4:12
note[list-kind]: the CRD has no `listKind`; the API server sets it: `Pear`
 --> crates/operator/src/main.rs:4:12
  |
4 | pub struct PearSpec {
  |            ^^^^^^^^
  |
  = help: pass `--fix list-kind` if the file is compared with what the server has stored

note[list-kind]: the CRD has no `listKind`; the API server sets it: `Apple`
 --> crates/types/src/lib.rs:4:12
  |
4 | pub struct AppleSpec {
  |            ^^^^^^^^^
  |
  = help: pass `--fix list-kind` if the file is compared with what the server has stored
2 created: nothing was written

"#]]);
}

/// The API server would store the second CRD without ever serving it.
#[test]
fn a_name_that_two_kinds_of_a_group_want_is_an_error() {
    let sandbox = workspace();
    sandbox.file("crates/types/src/lib.rs", &kind("PearList"));
    sandbox.run("generate crds").code(1).stderr(str![[r#"
error[invalid-name]: `PearList.example.com` and `Pear.example.com` share the name `PearList`; the API server accepts it for one of them only, the first in crates/operator/src/main.rs on line 4
 --> crates/types/src/lib.rs:4:12
  |
4 | pub struct PearListSpec {
  |            ^^^^^^^^^^^^
  |
  = help: kind, list kind, plural, singular and short names must be unique within a group

"#]]);
    sandbox.replace("crates/types/src/lib.rs", "example.com", "other.example.com");
    sandbox.run("generate crds").success();
}

#[test]
fn a_crd_of_two_packages_is_an_error_with_both_places() {
    let sandbox = workspace();
    sandbox.replace("crates/operator/src/main.rs", "Pear", "Apple");
    sandbox.run("generate crds").code(1).stderr(str![[r#"
error[duplicate-resource]: two packages declare the CRD of `example.com_apples.yaml`, the first in crates/operator/src/main.rs on line 4
 --> crates/types/src/lib.rs:4:12
  |
4 | pub struct AppleSpec {
  |            ^^^^^^^^^
  |
  = help: keep the types of a kind in one package, or choose packages with `--package`

"#]]);
    assert_eq!(created(&sandbox), [""; 0]);
}

#[test]
fn what_can_not_be_chosen() {
    for (flags, code, expected) in [
        ("--package none", 1, "package `none` not found in the workspace\nhelp: the packages are `operator`, `types`"),
        ("--manifest-path crates/types", 1, "is not the path of a `Cargo.toml`\nhelp: write `"),
        ("--manifest-path none/Cargo.toml", 1, "is not the path of a `Cargo.toml`"),
        ("--features none", 2, "the packages have no feature `none`\nhelp: they have `extra`"),
        ("-p types --features none", 2, "`types` has no feature `none`\nhelp: it has `extra`"),
        ("--paths crates/old", 1, "no source file of the package is in `"),
        ("--stdout --check", 2, "cannot be used with"),
        ("--stdout --single-file x", 2, "cannot be used with"),
        ("--stdout -o json", 2, "`--stdout` prints manifests"),
        ("--year 2026", 2, "--header-file"),
        ("--max-desc-len few", 2, "invalid value 'few'"),
        ("--header-file crates/old/src/lib.rs", 1, "line 1 is not a comment\nhelp: start each line with `#`"),
    ] {
        let sandbox = workspace();
        let run = sandbox.run(&format!("generate {flags}")).code(code);
        let message = run.err() + &run.out();
        assert!(message.contains(expected), "generate {flags}: {message}");
        assert_eq!(created(&sandbox), [""; 0], "{flags}");
    }
}

#[test]
fn stdout_has_documents_and_nothing_else() {
    let sandbox = workspace();
    let run = sandbox.run("generate --stdout -v --max-desc-len 10").success();
    assert_eq!(created(&sandbox), [""; 0]);
    sandbox.run("generate --single-file all.yaml --max-desc-len 10").success();
    let all = sandbox.read("all.yaml");
    assert_eq!(run.out(), all);
    let starts: Vec<&str> = all.lines().filter(|line| line.starts_with("---") || line.starts_with("kind:")).collect();
    let crd = "kind: CustomResourceDefinition";
    assert_eq!(starts, ["---", crd, "---", crd, "---", "kind: ClusterRole"]);
    let descriptions: Vec<&str> = all.lines().filter(|line| line.contains("description:")).map(str::trim).collect();
    assert_eq!(
        descriptions[..3],
        ["description: Auto-gener...", "description: A thing.", "description: The size."][..]
    );
}

/// The other tool owns `config/`. Below the project's root its PROJECT file does not apply.
#[test]
fn beside_a_project_of_another_tool() {
    let sandbox = workspace();
    let crds = sandbox.run("generate crds --stdout").success().out();
    sandbox.file("PROJECT", "layout:\n- go.kubebuilder.io/v4\nversion: \"3\"\n");
    sandbox.run("generate crds").code(1).stderr(str![[r#"
error: `PROJECT:1`: `layout`: the layout `go.kubebuilder.io/v4` belongs to another tool
help: `config/` may have files of that tool: say where to write with `--stdout`, `--output-dir` or `--single-file`

"#]]);
    assert_eq!(created(&sandbox), [""; 0]);
    sandbox.run("generate crds --stdout").success().stdout(crds);
    sandbox.run("generate crds --output-dir crds").success();
    assert_eq!(created(&sandbox), ["crds/example.com_apples.yaml", "crds/example.com_pears.yaml"]);
}

#[test]
fn what_is_wrong_goes_to_stderr_when_stdout_has_manifests() {
    let sandbox = workspace();
    sandbox.file("crates/types/src/lib.rs", "#[derive(kube::CustomResource)]\nstruct {");
    let run = sandbox.run("generate --stdout").code(1);
    assert_eq!(run.out(), "");
    assert!(run.err().contains("error[rust-syntax]"));
}

/// `--fix` is off by default; the fixes are listed on request.
#[test]
fn what_is_fixed() {
    let sandbox = workspace();
    sandbox.replace("crates/types/src/lib.rs", "i32", "u32");
    sandbox.replace(
        "crates/types/src/lib.rs",
        "kind = \"Apple\"",
        "kind = \"Apple\", scale(spec_replicas_path = \".spec.size\", status_replicas_path = \".status.size\")",
    );
    sandbox.run("generate crds -p types").success().stderr(str![[r#"
warning[dropped-scale]: kube omits the scale subresource of a kind without a status: `Apple`, version `v1`
 --> crates/types/src/lib.rs:4:12
  |
4 | pub struct AppleSpec {
  |            ^^^^^^^^^
  |
  = help: give it a status that has the field of `status_replicas_path`, and name that by `status = "…"`; or pass `--fix scale`

warning[unknown-format]: the API server does not know the format `uint32`: `spec.size` in `Apple`, version `v1`
 --> crates/types/src/lib.rs:7:9
  |
7 |     pub size: u32,
  |         ^^^^^^^^^
  |
  = help: use `i32` or `i64`, or describe the field with `#[schemars(with = "i64", range(min = 0))]`; or pass `--fix formats`
1 created

"#]]);
    let exact = sandbox.read(APPLE);
    sandbox.run("generate crds -p types --check --fix all").code(3);
    sandbox.run("generate crds -p types --fix formats,list-kind,scale -v").success().stderr(str![[r#"
example.com/v1 Apple: crates/types/src/lib.rs:4:12
note[fixed]: added the scale subresource: `Apple`, version `v1`
 --> crates/types/src/lib.rs:4:12
  |
4 | pub struct AppleSpec {
  |            ^^^^^^^^^

note[fixed]: set `listKind` to `AppleList`: `Apple`
 --> crates/types/src/lib.rs:4:12
  |
4 | pub struct AppleSpec {
  |            ^^^^^^^^^

note[fixed]: changed the format `uint32` to `int64`: `spec.size` in `Apple`, version `v1`
 --> crates/types/src/lib.rs:7:9
  |
7 |     pub size: u32,
  |         ^^^^^^^^^
1 updated

"#]]);
    let fixed = sandbox.read(APPLE);
    let diff = similar::TextDiff::from_lines(&exact, &fixed).unified_diff().context_radius(1).to_string();
    snapbox::assert_data_eq!(
        diff,
        str![[r#"
@@ -9,2 +9,3 @@
     kind: Apple
+    listKind: AppleList
     plural: apples
@@ -25,3 +26,3 @@
                   a limit
-                format: uint32
+                format: int64
                 minimum: 0
@@ -37 +38,5 @@
     storage: true
+    subresources:
+      scale:
+        specReplicasPath: .spec.size
+        statusReplicasPath: .status.size

"#]]
    );
    sandbox.run("generate crds -p types --check --fix all").success().stderr(str![[r#"
1 unchanged

"#]]);
    let report: serde_json::Value =
        serde_json::from_str(&sandbox.run("generate crds -p types --fix formats -o json").success().out()).unwrap();
    let told: Vec<_> = report["diagnostics"].as_array().unwrap().iter().map(|found| found["code"].clone()).collect();
    assert_eq!(told, ["dropped-scale", "list-kind", "fixed"]);
}

#[test]
fn a_header_has_the_year() {
    let sandbox = workspace();
    sandbox.file("header.txt", "# Copyright YEAR The Authors\n\n# MYYEAR");
    sandbox.run("generate crds --header-file header.txt --year 2026").success();
    assert!(sandbox.read(APPLE).starts_with("# Copyright 2026 The Authors\n\n# MYYEAR\n---\napiVersion"));
    sandbox.run("generate crds --header-file header.txt --year 2026 --check").success();
    sandbox.run("generate crds --header-file header.txt --year 2027 --check").code(3);
}

#[test]
fn stale_files_go_unless_only_a_part_was_read() {
    for (flags, stays) in [("", false), ("-p types", true), ("--paths crates/types", true)] {
        let sandbox = workspace();
        sandbox.run("generate crds").success();
        sandbox.file("crates/operator/src/main.rs", "fn main() {}\n");
        sandbox.run(&format!("generate crds {flags}")).success();
        assert_eq!(sandbox.path(PEAR).exists(), stays, "{flags}");
    }
    let sandbox = workspace();
    sandbox.run("generate --output-dir deploy").success();
    sandbox.file("crates/operator/src/main.rs", "fn main() {}\n");
    sandbox.run("generate --output-dir deploy").success();
    assert_eq!(created(&sandbox), ["deploy/example.com_apples.yaml", "deploy/role.yaml"]);
}

/// Code for an older schemars is refused once, with the name of that release.
#[test]
fn a_release_of_the_compiler_is_named_once() {
    let sandbox = Sandbox::new();
    let lib = kind("Apple").replace("pub size", "#[schemars(schema_with = \"size\")]\n    pub size")
        + "fn size(_: &mut schemars::gen::SchemaGenerator) -> schemars::schema::Schema {\n    todo!()\n}\n";
    sandbox.file("Cargo.toml", &package("old", "").replace("schemars = \"1\"", "schemars = \"0.8\""));
    sandbox.file("src/lib.rs", &lib).lock();
    sandbox.run("generate crds --engine static").code(1).stderr(str![[r#"
error[dependency-version]: schemars is locked at 0.8.0, whose CRDs only the compiler can generate
 --> Cargo.toml:7:1
  |
7 | schemars = "0.8"
  | ^^^^^^^^^^^^^^^^
  |
  = help: move to schemars 1.0.0 or newer, or describe the resources with `--engine compiled`

"#]]);
}

/// One refused kind, one kind with several errors, one kind with a warning.
#[test]
fn all_findings_of_all_crds_are_told_at_once_in_every_format() {
    let sandbox = workspace();
    let bad = kind("Bad")
        .replace("kind = \"Bad\"", "kind = \"Bad\", shortname = \"B\", selectable = \".spec.none\"")
        .replace(
            "    pub size: i32,\n",
            "    pub pair: (i32, u32),\n    #[schemars(regex(pattern = \"(?=a)\"))]\n    pub name: String,\n",
        );
    let refused = kind("Refused").replace("pub size", "#[schemars(transform = note)]\n    pub size");
    sandbox.replace("crates/types/src/lib.rs", &kind("Apple"), &format!("{bad}{refused}"));
    sandbox.replace("crates/operator/src/main.rs", "i32", "u32");
    let expected = [
        ("unknown-format", "crates/operator/src/main.rs", 7),
        ("invalid-name", "crates/types/src/lib.rs", 4),
        ("selectable-field", "crates/types/src/lib.rs", 4),
        ("array-items", "crates/types/src/lib.rs", 7),
        ("pattern", "crates/types/src/lib.rs", 9),
        ("schema-code", "crates/types/src/lib.rs", 17),
    ]
    .map(|(code, file, line)| format!("{code} {file}:{line}"));
    let run = |flags: &str| sandbox.run(&format!("generate crds --engine static {flags}")).code(1);

    let text = run("").err();
    let findings = text.split("\n\n").map(|finding| {
        let code = finding.split(['[', ']']).nth(1).unwrap();
        let place = finding.split("--> ").nth(1).unwrap().lines().next().unwrap();
        format!("{code} {}", place.rsplit_once(':').unwrap().0)
    });
    assert_eq!(findings.collect::<Vec<_>>(), expected, "{text}");

    let string = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let report: serde_json::Value = serde_json::from_str(&run("-o json").out()).unwrap();
    let findings = report["diagnostics"].as_array().unwrap().iter().filter(|found| found["severity"] != "note");
    let findings =
        findings.map(|found| format!("{} {}:{}", string(&found["code"]), string(&found["file"]), found["line"]));
    assert_eq!(findings.collect::<Vec<_>>(), expected);

    let log: serde_json::Value = serde_json::from_str(&run("-o sarif").out()).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let findings = log["runs"][0]["results"].as_array().unwrap().iter().map(|result| {
        let place = &result["locations"][0]["physicalLocation"];
        let file = string(&place["artifactLocation"]["uri"]);
        format!("{} {file}:{}", string(&result["ruleId"]), place["region"]["startLine"])
    });
    assert_eq!(findings.collect::<Vec<_>>(), expected);
    assert_eq!(created(&sandbox), [""; 0]);
}

#[test]
fn a_macro_of_the_project_that_derives_resources_is_not_passed_over() {
    for (code, hidden) in [
        ("#[made::resource(kind = \"A\")]\npub struct ASpec;", true),
        ("use made::resource as marked;\n#[marked]\npub struct ASpec;", true),
        ("made::make! { A }", true),
        ("#[derive(made::Resource)]\npub struct ASpec;", true),
        ("#[derive(Clone)]\npub struct ASpec;", false),
    ] {
        let sandbox = Sandbox::new();
        let derive = "#[derive(kube::CustomResource)]";
        sandbox
            .file("Cargo.toml", &package("operator", "made = { path = \"made\" }\n"))
            .file("src/lib.rs", code)
            .file("made/Cargo.toml", "[package]\nname = \"made\"\nedition = \"2024\"\n[lib]\nproc-macro = true\n")
            .file(
                "made/src/lib.rs",
                "mod code;\n#[proc_macro_attribute]\npub fn resource(_: T, of: T) -> T { code::of(of) }\n#[proc_macro]\n\
                 pub fn make(of: T) -> T { code::of(of) }\n#[proc_macro_derive(Resource, attributes(a))]\n\
                 pub fn derive(of: T) -> T { code::of(of) }\n",
            )
            .file("made/src/code.rs", &format!("pub fn of(of: T) -> T {{ quote! {{ {derive} struct #of; }} }}\n"));
        let run = sandbox.run("generate crds --engine static");
        assert_eq!(
            (run.exit_code(), run.err().contains("hidden-resource")),
            (Some(i32::from(hidden)), hidden),
            "{code}"
        );
    }
}

/// The calling file mentions neither the derive nor kube.
#[test]
fn a_rule_of_another_package_of_the_project_may_expand_to_the_derive() {
    for (rule, hidden) in [(kind("A"), true), ("fn f() {}".to_owned(), false)] {
        let sandbox = Sandbox::new();
        sandbox
            .file("Cargo.toml", &package("operator", "made = { path = \"made\" }\n"))
            .file("src/lib.rs", "mod a;\n")
            .file("src/a.rs", "made::make!();\n")
            .file("made/Cargo.toml", &package("made", ""))
            .file("made/src/lib.rs", &format!("#[macro_export]\nmacro_rules! make {{ () => {{ {rule} }} }}\n"))
            .lock();
        let run = sandbox.run("generate crds --engine static --stdout");
        assert_eq!(
            (run.exit_code(), run.err().contains("hidden-resource")),
            (Some(i32::from(hidden)), hidden),
            "{}",
            run.err()
        );
    }
}

/// kube may be a package of the project, and schemars may have any source.
#[test]
fn releases_count_wherever_they_come_from() {
    let package_of = |name: &str, version: &str, source: &str, below: &str| {
        format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{source}dependencies = [\n{below}]\n\n")
    };
    let registry = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    let of = |text: &str| {
        text.replace("kube = { version = \"5\", default-features = false, features = [\"derive\"] }\n", "")
    };
    let resource = kind("A");
    for (manifest, base, kube, schemars, message) in [
        (
            of(&package("op", "base = { path = \"base\" }\n")),
            "kube = \"1\"\n",
            "1.1.0",
            "1.2.3",
            "kube is locked at 1.1.0",
        ),
        (of(&package("op", "base = { path = \"base\" }\n")), "kube = \"5\"\n", "5.0.0", "1.2.3", ""),
        (package("op", "base = { path = \"base\" }\n"), "", "5.0.0", "1.2.3", ""),
        (
            package("op", "base = { path = \"base\" }\n").replace("schemars = \"1\"\n", ""),
            "",
            "5.0.0",
            "1.2.4",
            "schemars 1.2.4 is newer",
        ),
        (package("op", "base = { path = \"base\" }\n").replace("schemars = \"1\"\n", ""), "", "5.0.0", "1.2.3", ""),
    ] {
        let sandbox = Sandbox::new();
        let lock = [
            "version = 4\n\n".to_owned(),
            package_of("op", "0.0.0", "", " \"base\",\n \"kube\",\n \"schemars\",\n \"serde\",\n"),
            package_of("base", "0.0.0", "", " \"kube\",\n"),
            package_of("kube", kube, registry, " \"schemars\",\n"),
            package_of("schemars", schemars, registry, ""),
            package_of("serde", "1.0.200", registry, ""),
        ];
        let derive = if manifest.contains("kube =") { "kube" } else { "base::kube" };
        let named = if manifest.contains("schemars =") { "schemars" } else { "base::schemars" };
        sandbox
            .file("Cargo.toml", &manifest)
            .file("Cargo.lock", &lock.concat())
            .file(
                "src/lib.rs",
                &resource
                    .replace("kube::Cust", &format!("{derive}::Cust"))
                    .replace("schemars::J", &format!("{named}::J")),
            )
            .file("base/Cargo.toml", &format!("[package]\nname = \"base\"\nedition = \"2024\"\n[dependencies]\n{base}"))
            .file("base/src/lib.rs", "pub extern crate kube; pub extern crate schemars;");
        let run = sandbox.run("generate crds --engine static");
        assert_eq!(run.exit_code(), Some(i32::from(!message.is_empty())), "{manifest}{}", run.err());
        assert!(run.err().contains(message), "{}", run.err());
    }
}

#[test]
fn kube_of_another_source_is_another_kube() {
    let sandbox = Sandbox::new();
    let git = "source = \"git+https://github.com/kube-rs/kube#0123456789abcdef0123456789abcdef01234567\"";
    let lock = format!(
        "version = 4\n\n[[package]]\nname = \"op\"\nversion = \"0.0.0\"\ndependencies = [\n \"kube\",\n]\n\n\
         [[package]]\nname = \"kube\"\nversion = \"5.0.0\"\n{git}\n"
    );
    sandbox.file("Cargo.toml", &package("op", "")).file("Cargo.lock", &lock).file("src/lib.rs", &kind("A"));
    let run = sandbox.run("generate crds --engine static").code(1);
    assert!(run.err().contains("kube does not come from a registry"), "{}", run.err());
}
