//! The compiled engine on projects of every layout: its answers and messages, and that it changes no file.
//!
//! All projects except one share the sample's dependencies.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::MutexGuard;
use std::time::Duration;

use snapbox::{assert_data_eq, str};
use toml_edit::{DocumentMut, Item, Table, value};

use crate::generated;
use crate::sandbox::{self, Run, Sandbox};
use crate::wait::until;

const CRD: &str = "config/crd/bases/example.com_things.yaml";
const ENGINES: [&str; 2] = ["static", "compiled"];

/// A project, and the build lock. Taking the lock here keeps cargo's messages about waiting out of the output.
struct Project {
    sandbox: Sandbox,
    _building: MutexGuard<'static, ()>,
}

impl Project {
    /// Each project needs a unique name in the shared target folder.
    fn at(name: &str, files: &[(&str, &str)]) -> Self {
        Self { sandbox: Sandbox::lasting(name, files), _building: generated::building() }
    }

    /// A project with the sample's dependencies.
    fn new(name: &str, change: impl FnOnce(&mut DocumentMut), files: &[(&str, &str)]) -> Self {
        let project = Self::unlocked(name, change, files);
        project.lock();
        project
    }

    /// Like [`Self::new`], with the sample's lock file unchanged, including its other members.
    fn unlocked(name: &str, change: impl FnOnce(&mut DocumentMut), files: &[(&str, &str)]) -> Self {
        let project = Self::at(name, files);
        let mut manifest = generated::manifest(name);
        change(&mut manifest);
        let lock = std::fs::read_to_string(generated::lock()).unwrap();
        project.sandbox.file("Cargo.toml", &manifest.to_string());
        project.sandbox.file("Cargo.lock", &lock.replace("\"memcached-operator\"", &format!("\"{name}\"")));
        project
    }

    /// The manager is not a member here, so dev-dependencies of its tests leave the lock file.
    fn lock(&self) {
        let update = ["update", "--workspace", "--offline", "--quiet"];
        let output = generated::cargo(self.sandbox.root(), &update).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = self.sandbox.command(&format!("generate crds {arguments}"));
        // Other flags would rebuild every dependency.
        command.env("CARGO_TARGET_DIR", generated::target()).env_remove("RUSTFLAGS").env("CARGO_TERM_COLOR", "never");
        command
    }

    fn generate(&self, arguments: &str) -> Run {
        self.sandbox.finish(arguments, &mut self.command(arguments))
    }

    /// Both engines write the same files, and change no others.
    fn agree(&self, arguments: &str) -> String {
        let mut before = self.sandbox.files();
        let texts = ENGINES.map(|engine| {
            self.generate(&format!("--engine {engine} {arguments}")).success();
            let mut after = self.sandbox.files();
            let text = after.remove(CRD).unwrap();
            before.remove(CRD);
            assert_eq!(after, before, "{engine}");
            text
        });
        assert_data_eq!(&texts[1], texts[0].clone());
        texts[1].clone()
    }
}

/// A custom resource of the group `example.com`.
fn resource(kind: &str, fields: &str) -> String {
    format!(
        "#[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]\n\
         #[kube(group = \"example.com\", version = \"v1\", kind = \"{kind}\")]\npub struct {kind}Spec {{\n{fields}}}\n"
    )
}

#[test]
fn a_library() {
    let fields = "    pub size: i32,\n    #[cfg(feature = \"extra\")]\n    pub extra: Option<String>,\n";
    let features = |manifest: &mut DocumentMut| {
        manifest["features"] = Item::Table(Table::from_iter([("extra", toml_edit::Array::new())]));
    };
    let files = [("src/lib.rs", "pub mod api;\n"), ("src/api.rs", &resource("Thing", fields))];
    let project = Project::new("engine-lib", features, &files);
    assert!(!project.agree("").contains("extra:"));
    assert!(project.agree("--features extra").contains("extra:"));
    project.generate("--engine compiled --check").code(3);
    let said = project.generate("--verify --all-features").success().err();
    assert!(said.contains("compared 1 of 1 CRD versions: no difference\n"), "{said}");
    project.generate("-F nonsense").code(2).stderr(str![[r#"
error: `engine-lib` has no feature `nonsense`
help: it has `extra`

"#]]);
}

const TRANSFORMED: &str = "    #[schemars(transform = note)]\n    size: i32,\n";
const NOTE: &str =
    "fn note(schema: &mut schemars::Schema) {\n    schema.insert(\"description\".to_owned(), \"noted\".into());\n}\n";

/// Private types in private modules, in files and inline, in a program with an attribute macro on `main`.
#[test]
fn a_program_that_the_source_does_not_decide() {
    let main = format!(
        "mod api;\nmod r#type {{\n    mod deeper {{\n{}    }}\n}}\n\n#[tokio::main]\nasync fn main() -> Result<(), String> \
         {{\n    Ok(())\n}}\n",
        resource("Other", "    list: Vec<String>,\n").replace("pub struct", "struct")
    );
    let thing = resource("Thing", TRANSFORMED).replace("pub struct", "struct") + NOTE;
    let files = [("src/main.rs", main.as_str()), ("src/api.rs", "mod v1;\n"), ("src/api/v1.rs", &thing)];
    let project = Project::new("engine-bin", |_| {}, &files);
    let refused = project.generate("--engine static").code(1).err();
    assert_data_eq!(
        &refused,
        str![[r#"
error[schema-code]: `transform = …` runs code, in `Thing.spec.size`
 --> src/api/v1.rs:4:28
  |
4 |     #[schemars(transform = note)]
  |                            ^^^^
  |
  = help: use `extend(…)` instead
1 of 2 kinds cannot be written: `--exclude Thing.example.com` leaves them out, `--keep-going` writes the others

"#]]
    );

    let said = project.generate("").success().err();
    assert!(
        said.starts_with(
            "compiling `engine-bin`: 1 of 2 kinds needs the compiler, `Thing.example.com`:\n  \
             src/api/v1.rs:4:28: `transform = …` runs code, in `Thing.spec.size` [schema-code]\n\
             the first time may take minutes; `--engine static` fails instead\n"
        ),
        "{said}"
    );
    assert!(project.sandbox.read(CRD).contains("description: noted\n"));
    project.generate("--engine compiled --check").success();

    // The engine links the files, so cargo sees later edits.
    project.sandbox.replace("src/api/v1.rs", "\"noted\"", "\"changed\"");
    project.generate("").success();
    assert!(project.sandbox.read(CRD).contains("description: changed\n"));

    project.sandbox.replace("src/api/v1.rs", "fn note", "fn broken() -> u8 {\n    \"\"\n}\n\nfn note");
    let before = project.sandbox.files();
    let said = project.generate("-q").code(1).err();
    assert_data_eq!(
        &said,
        str![[r#"
error[E0308]: mismatched types
 --> src/api/v1.rs:8:5
...
error: could not compile `engine-bin` (bin "engine-bin-memcached-sdk-crdgen") due to 1 previous error
error[compile-failed]: cargo failed to build `engine-bin`; see its output above

error[schema-code]: `transform = …` runs code, in `Thing.spec.size`
 --> src/api/v1.rs:4:28
  |
4 |     #[schemars(transform = note)]
  |                            ^^^^
  |
  = help: use `extend(…)` instead

"#]]
    );
    assert_eq!(project.sandbox.files(), before);
}

/// A member with private types in its program and library, an inherited and renamed kube, and a field type of another
/// member.
#[test]
fn a_member_of_a_workspace() {
    let mut workspace = DocumentMut::new();
    let change = |manifest: &mut DocumentMut| {
        workspace["workspace"]["members"] = value(toml_edit::Array::from_iter(["op", "common"]));
        workspace["workspace"]["resolver"] = value("3");
        let mut kube = manifest["dependencies"].as_table_mut().unwrap().remove("kube").unwrap();
        kube["package"] = value("kube");
        workspace["workspace"]["dependencies"]["k"] = kube;
        workspace["profile"] = manifest.remove("profile").unwrap();
        manifest.remove("workspace");
        manifest["dependencies"]["k"]["workspace"] = value(true);
        manifest["dependencies"]["common"]["path"] = value("../common");
    };
    let project = Project::unlocked("engine-member", change, &[]);
    let manifest = project.sandbox.read("Cargo.toml");
    let member = "crates(kube_core = \"::k::core\")";
    let thing = resource("Thing", "    pub size: common::Size,\n    pub doc: String,\n")
        .replace("kube::CustomResource", "k::CustomResource")
        .replace("kind = \"Thing\"", &format!("kind = \"Thing\", {member}"));
    let lib = resource("Other", "    pub size: u8,\n")
        .replace("kube::CustomResource", "k::CustomResource")
        .replace("kind = \"Other\"", &format!("kind = \"Other\", {member}"));
    let lib = format!("pub const HELLO: &str = \"hello\";\n\nmod private {{\n{lib}}}\n");
    let size = "/// How big.\n#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]\n\
                pub struct Size(pub u8);\n";
    let common = "[package]\nname = \"common\"\nedition = \"2024\"\n\n[dependencies]\nschemars = \"1\"\n\
                  serde = { version = \"1\", features = [\"derive\"] }\n";
    let main =
        "mod api;\n\nfn main() {\n    print!(\"{}{}\", engine_member::HELLO, include_str!(\"../../README.md\"));\n}\n";
    project.sandbox.file("Cargo.toml", &workspace.to_string()).file("README.md", "# Hello\n");
    project.sandbox.file("common/Cargo.toml", common).file("common/src/lib.rs", size);
    project.sandbox.file("op/Cargo.toml", &manifest).file("op/src/main.rs", main);
    project.sandbox.file("op/src/api.rs", &thing).file("op/src/lib.rs", &lib);
    project.lock();
    let build = || {
        let output = generated::cargo(&project.sandbox.path("op"), &["build"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stderr).unwrap()
    };
    build();
    let generate = |engine: &str| {
        let arguments = format!("--engine {engine}");
        let mut command = project.command(&arguments);
        project.sandbox.finish(&arguments, command.current_dir(project.sandbox.path("op"))).success();
        let crd = project.sandbox.read(&format!("op/{CRD}"))
            + &project.sandbox.read("op/config/crd/bases/example.com_others.yaml");
        std::fs::remove_dir_all(project.sandbox.path("op/config")).unwrap();
        crd
    };
    let before = project.sandbox.files();
    let [read, compiled] = ENGINES.map(generate);
    assert!(compiled.contains("description: How big.\n"), "{compiled}");
    assert_data_eq!(compiled, read);
    assert_eq!(project.sandbox.files(), before);
    let built = build();
    assert!(!built.contains("Compiling"), "what the user has built is not built again:\n{built}");
}

/// A macro generates the type, so Cargo.toml lists its path.
#[test]
fn a_listed_type() {
    let thing = format!(
        "macro_rules! things {{\n    () => {{\n{}    }};\n}}\nthings!();\n",
        resource("Thing", "    size: u8,\n")
    );
    let lib = "mod api;\npub use api::*;\n";
    let project = Project::new("engine-listed", |_| {}, &[("src/lib.rs", lib), ("src/api.rs", &thing)]);
    let said = project.generate("").code(1).err();
    assert_data_eq!(
        &said,
        str![[r#"
error[hidden-resource]: a macro derives `CustomResource`, but its items are not read
 --> src/api.rs:1:1
  |
1 | / macro_rules! things {
2 | |     () => {
3 | | #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
4 | | #[kube(group = "example.com", version = "v1", kind = "Thing")]
... |
8 | |     };
9 | | }
  | |_^
  |
  = help: declare the type in a module, or list its path in `crds` of `[package.metadata.memcached-sdk]`

"#]]
    );
    let list = |path: &str| {
        let mut manifest = generated::manifest("engine-listed");
        manifest["package"]["metadata"]["memcached-sdk"]["crds"] = value(toml_edit::Array::from_iter([path]));
        project.sandbox.file("Cargo.toml", &manifest.to_string());
    };
    for path in ["api::Thing", "crate::Thing"] {
        list(path);
        project.generate("").success();
        assert!(project.sandbox.read(CRD).contains("format: uint8\n"));
        std::fs::remove_file(project.sandbox.path(CRD)).unwrap();
    }
    list("api::Thing");
    for (paths, count) in [("src/lib.rs", 0), ("src/api.rs", 1)] {
        let out = project.generate(&format!("--engine compiled --stdout --paths {paths}")).success().out();
        assert_eq!(out.matches("kind: CustomResourceDefinition").count(), count, "{out}");
    }
    list("not a path");
    let said = project.generate("--engine compiled").code(1).err();
    assert_data_eq!(
        said,
        str![[r#"
error[compile-failed]: `not a path` is not a valid path of a type
  --> Cargo.toml:10:40
   |
10 | metadata = { memcached-sdk = { crds = ["not a path"] } }
   |                                        ^^^^^^^^^^^^
   |
   = help: use a path from the crate root, such as `api::v1::Foo`

"#]]
    );
}

/// One module for each reason of refusal. The static engine gives the reason, the compiled one answers, and `auto` uses
/// that answer.
#[test]
fn what_the_source_refuses_the_compiler_answers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/refused");
    let mut modules: Vec<(String, String)> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(path).unwrap()))
        .collect();
    modules.sort();
    let lib: String = modules.iter().map(|(name, _)| format!("pub mod {name};\n")).collect();
    let paths: Vec<String> = modules.iter().map(|(name, _)| format!("src/{name}.rs")).collect();
    let rewriter = "[package]\nname = \"rewriter\"\nedition = \"2024\"\n\n[lib]\nproc-macro = true\n";
    let rewrite = "use proc_macro::TokenStream;\n\n#[proc_macro_attribute]\npub fn rewrite(_: TokenStream, item: TokenStream) -> \
                   TokenStream {\n    item.to_string().replace(\"Option < String >\", \"Option<i32>\").replace(\"Option<String>\", \
                   \"Option<i32>\").parse().unwrap()\n}\n";
    let mut files =
        vec![("src/lib.rs", lib.as_str()), ("rewriter/Cargo.toml", rewriter), ("rewriter/src/lib.rs", rewrite)];
    files.extend(paths.iter().map(String::as_str).zip(modules.iter().map(|(_, text)| text.as_str())));
    let depend = |manifest: &mut DocumentMut| manifest["dependencies"]["rewriter"]["path"] = value("rewriter");
    let project = Project::new("engine-refused", depend, &files);

    let report: serde_json::Value =
        serde_json::from_str(&project.generate("--engine static -o json").code(1).out()).unwrap();
    let errors = report["diagnostics"].as_array().unwrap().iter().filter(|found| found["severity"] == "error");
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let mut refused: Vec<(String, String)> =
        errors.clone().map(|found| (text(&found["file"]), text(&found["code"]))).collect();
    refused.sort();
    refused.dedup();
    let expected: Vec<_> = modules.iter().map(|(name, _)| (format!("src/{name}.rs"), name.replace('_', "-"))).collect();
    assert_eq!(refused, expected);

    let auto = project.generate("--stdout").success();
    let compiled = project.generate("--stdout --engine compiled").success();
    assert_data_eq!(auto.out(), compiled.out());
    assert_eq!(auto.out().matches("kind: CustomResourceDefinition").count(), modules.len());
    // Only the compiler knows this format.
    assert!(auto.out().contains("format: int32\n                    nullable: true\n"), "{}", auto.out());
    let why = auto.err();
    assert!(why.contains(&format!(": {} findings need the compiler:\n", errors.clone().count())), "{why}");
    for error in errors.take(5) {
        let reason = format!("{} [{}]\n", text(&error["message"]), text(&error["code"]));
        assert!(why.contains(&reason), "{why}");
    }
}

/// Two workspaces share a target folder and a package name. cargo compares mtimes, so both sources are written first.
#[test]
fn packages_of_one_name_are_told_apart() {
    let file = |field: &str| resource("Thing", &format!("{TRANSFORMED}    {field}: i32,\n")) + NOTE + "fn main() {}\n";
    let files = ["first", "second"].map(file);
    let first = Project::new("engine-twin", |_| {}, &[("src/main.rs", &files[0])]);
    let second = Sandbox::lasting("engine-twin-elsewhere", &[("src/main.rs", &files[1])]);
    for name in ["Cargo.toml", "Cargo.lock"] {
        second.file(name, &first.sandbox.read(name));
    }
    let ask = |sandbox: &Sandbox| {
        let mut command = sandbox.command("generate crds --stdout");
        command.env("CARGO_TARGET_DIR", generated::target()).env_remove("RUSTFLAGS").env("CARGO_TERM_COLOR", "never");
        sandbox.finish("", &mut command).success().out()
    };
    for _ in 0..2 {
        for (sandbox, field) in [(&first.sandbox, "first"), (&second, "second")] {
            let out = ask(sandbox);
            assert!(out.contains(&format!("- {field}\n")), "{out}");
        }
    }
}

#[test]
fn the_crdgen_of_the_project() {
    let crdgen = "use engine_own::Thing;\nuse kube::CustomResourceExt as _;\n\nfn main() {\n    \
                  println!(\"{}\", serde_json::to_string(&[Thing::crd()]).unwrap());\n}\n";
    let lib = format!("mod hidden {{\n{}}}\npub use hidden::*;\n", resource("Thing", "    pub size: u8,\n"));
    let own = |manifest: &mut DocumentMut| {
        manifest["package"]["metadata"]["memcached-sdk"]["crdgen"] = value("crdgen");
    };
    let project = Project::new("engine-own", own, &[("src/lib.rs", &lib), ("src/bin/crdgen.rs", crdgen)]);
    project.agree("");
    project.sandbox.file("src/lib.rs", &(lib + &resource("Other", "    pub size: u8,\n")));
    let left_out = project.generate("--engine compiled -o json").code(1).out();
    assert_data_eq!(
        left_out,
        str![[r#"
{
  "changes": [],
  "diagnostics": [
    {
      "code": "only-read",
      "severity": "warning",
      "message": "nothing calls `crd()` of `Other.example.com`, as is done for other kinds: it may be an API of others that is only read",
      "help": "leave out what is only read: `--exclude Other.example.com`, or once for all `external = [/"Other.example.com/"]` below `[package.metadata.memcached-sdk]` in `Cargo.toml`",
      "kinds": [
        "Other.example.com"
      ]
    },
    {
      "code": "list-kind",
      "severity": "note",
      "message": "the CRD has no `listKind`; the API server sets it: `Thing`",
      "file": "src/lib.rs",
      "line": 4,
      "column": 12,
      "help": "pass `--fix list-kind` if the file is compared with what the server has stored",
      "kinds": [
        "Thing.example.com"
      ]
    },
    {
      "code": "unknown-format",
      "severity": "warning",
      "message": "the API server does not know the format `uint8`: `spec.size` in `Thing`, version `v1`",
      "file": "src/lib.rs",
      "line": 5,
      "column": 9,
      "help": "use `i32` or `i64`, or describe the field with `#[schemars(with = /"i64/", range(min = 0))]`; or pass `--fix formats`",
      "kinds": [
        "Thing.example.com"
      ]
    },
    {
      "code": "missing-crd",
      "severity": "error",
      "message": "`crdgen` does not print the CRD of `Other`, version `v1` of `example.com`",
      "file": "src/lib.rs",
      "line": 11,
      "column": 12,
      "help": "print every CRD, or remove `crdgen` from `[package.metadata.memcached-sdk]`",
      "kinds": [
        "Other.example.com"
      ]
    }
  ]
}

"#]]
    );
}

#[test]
fn types_that_can_not_answer() {
    let choice = "#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]\n\
                  #[serde(tag = \"type\")]\npub enum Choice {\n    One { a: String },\n    Two { b: String },\n}\n";
    let functions =
        "fn size() -> u8 {\n    panic!(\"no size is known\")\n}\n\nfn gone() -> u8 {\n    std::process::exit(7)\n}\n";
    let lib = resource("Bare", "    pub size: u8,\n")
        + &resource("Chosen", "    pub choice: Choice,\n")
        + choice
        + &resource("Sized", "    #[serde(default = \"size\")]\n    pub size: u8,\n")
        + &resource("Gone", "    #[serde(default = \"gone\")]\n    pub size: u8,\n")
        + functions;
    let project = Project::new("engine-panics", |_| {}, &[("src/lib.rs", &lib)]);
    let before = project.sandbox.files();
    let said = project.generate("--engine compiled -o json").code(1).out();
    assert_data_eq!(
        said,
        str![[r#"
{
  "changes": [],
  "diagnostics": [
    {
      "code": "list-kind",
      "severity": "note",
      "message": "the CRD has no `listKind`; the API server sets it: `Bare`",
      "file": "src/lib.rs",
      "line": 3,
      "column": 12,
      "help": "pass `--fix list-kind` if the file is compared with what the server has stored",
      "kinds": [
        "Bare.example.com"
      ]
    },
    {
      "code": "unknown-format",
      "severity": "warning",
      "message": "the API server does not know the format `uint8`: `spec.size` in `Bare`, version `v1`",
      "file": "src/lib.rs",
      "line": 4,
      "column": 9,
      "help": "use `i32` or `i64`, or describe the field with `#[schemars(with = /"i64/", range(min = 0))]`; or pass `--fix formats`",
      "kinds": [
        "Bare.example.com"
      ]
    },
    {
      "code": "not-structural",
      "severity": "error",
      "message": "kube cannot build a structural schema for `Choice`: its variants give the property `type` different schemas",
      "file": "src/lib.rs",
      "line": 13,
      "column": 10,
      "help": "leave the enum externally tagged (no `tag = …`), and give equal fields of its variants equal types",
      "kinds": [
        "Chosen.example.com"
      ]
    },
    {
      "code": "crd-panic",
      "severity": "error",
      "message": "`crd()` of `Sized` panics at src/lib.rs:30:5: no size is known",
      "file": "src/lib.rs",
      "line": 19,
      "column": 12,
      "kinds": [
        "Sized.example.com"
      ]
    },
    {
      "code": "crd-panic",
      "severity": "error",
      "message": "`crd()` of `Gone` exits the process: exit status: 7",
      "file": "src/lib.rs",
      "line": 25,
      "column": 12,
      "kinds": [
        "Gone.example.com"
      ]
    }
  ]
}

"#]]
    );
    assert_eq!(project.sandbox.files(), before);
}

/// Only the compiler sees features that a build script enables.
#[test]
fn engines_that_differ() {
    let lib = resource("Thing", "    pub size: u8,\n    #[cfg(feature = \"extra\")]\n    pub extra: bool,\n");
    let build = "fn main() {\n    println!(\"cargo::rustc-cfg=feature=\\\"extra\\\"\");\n}\n";
    let project = Project::new("engine-differs", |_| {}, &[("src/lib.rs", &lib), ("build.rs", build)]);
    let before = project.sandbox.files();
    let said = project.generate("--verify -q").code(1).err();
    assert_data_eq!(
        said,
        str![[r#"
...
error[engines-differ]: the compiler generates a different CRD for `Thing`, version `v1` of `example.com`:
                       --- read
                       +++ compiled
                       @@ -18,12 +18,15 @@
                                properties:
                                  spec:
                                    properties:
                       +              extra:
                       +                type: boolean
                                      size:
                                        format: uint8
                                        maximum: 255
                                        minimum: 0
                                        type: integer
                                    required:
                       +            - extra
                                    - size
                                    type: object
                                required:
 --> src/lib.rs:3:12
  |
3 | pub struct ThingSpec {
  |            ^^^^^^^^^
  |
  = help: use `--engine compiled`, and please report the difference

warning[unknown-format]: the API server does not know the format `uint8`: `spec.size` in `Thing`, version `v1`
 --> src/lib.rs:4:9
  |
4 |     pub size: u8,
  |         ^^^^^^^^
  |
  = help: use `i32` or `i64`, or describe the field with `#[schemars(with = "i64", range(min = 0))]`; or pass `--fix formats`

"#]]
    );
    assert_eq!(project.sandbox.files(), before);
    project.generate("--verify --engine auto").code(2);
}

/// A fake `cargo` that records its calls.
#[cfg(unix)]
fn with_cargo(script: &str, lib: &str) -> (Sandbox, impl Fn(&str) -> Command + use<>) {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    sandbox.file("src/lib.rs", lib).file("Cargo.toml", &generated::manifest("op").to_string()).lock();
    sandbox.file("bin/cargo", &format!("#!/bin/sh\n{script}\n"));
    let program = sandbox.path("bin/cargo");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let root = sandbox.root().to_owned();
    let command = move |arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memcached-sdk"));
        command.args(["generate", "crds"]).args(arguments.split_whitespace()).current_dir(&root);
        command.env("CARGO", &program).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    };
    (sandbox, command)
}

#[cfg(unix)]
#[test]
fn cargo_is_not_asked_when_it_would_only_say_the_same() {
    for lib in [
        resource("Thing", "    size: u8,\n") + "pub struct Broken {\n",
        "mod missing;\n".to_owned(),
        resource("Thing", "    #[serde(renam = \"x\")]\n    size: u8,\n"),
        resource("Thing", TRANSFORMED) + &resource("Other", "    #[serde(renam = \"x\")]\n    size: i32,\n"),
    ] {
        for arguments in ["", "--verify"] {
            let (sandbox, command) = with_cargo("touch asked\nexit 1", &lib);
            let run = sandbox.finish(arguments, &mut command(arguments)).code(1);
            assert!(!sandbox.path("asked").exists(), "{lib}\n{run}");
        }
    }
    let lib = resource("Thing", TRANSFORMED) + &resource("Other", "    #[serde(renam = \"x\")]\n    size: i32,\n");
    let (sandbox, command) = with_cargo("exit 1", &lib);
    sandbox.finish("", &mut command("")).code(1).stderr(str![[r#"
`op` is not compiled until this is fixed: src/lib.rs:10:13: unknown serde field attribute `renam`, in `Other.spec` [serde-attribute]
error[schema-code]: `transform = …` runs code, in `Thing.spec.size`
 --> src/lib.rs:4:28
  |
4 |     #[schemars(transform = note)]
  |                            ^^^^
  |
  = help: use `extend(…)` instead

error[serde-attribute]: unknown serde field attribute `renam`, in `Other.spec`
  --> src/lib.rs:10:13
   |
10 |     #[serde(renam = "x")]
   |             ^^^^^

"#]]);
}

/// Without a lock file, only cargo knows the versions.
#[cfg(unix)]
#[test]
fn without_a_lock_file_cargo_chooses() {
    let (sandbox, command) = with_cargo("exit 1", &resource("Thing", "    size: i32,\n"));
    sandbox.finish("", &mut command("--check")).code(3);
    std::fs::remove_file(sandbox.path("Cargo.lock")).unwrap();
    sandbox.finish("", &mut command("")).code(1).stderr(str![[r#"
compiling `op`: 1 finding needs the compiler:
  Cargo.toml:1:1: without a `Cargo.lock` the releases of kube and schemars are unknown [no-lock]
  run `cargo generate-lockfile`, and the source may be sufficient
the first time may take minutes; `--engine static` fails instead
error[compile-failed]: cargo cannot read the manifest of `op`; see its output above

error[no-lock]: without a `Cargo.lock` the releases of kube and schemars are unknown
 --> Cargo.toml:1:1
  |
1 | [workspace]
  | ^
  |
  = help: run `cargo generate-lockfile`

"#]]);
    let lines = sandbox.finish("", &mut command("--engine static")).code(1).err();
    assert!(lines.contains("error[no-lock]") && lines.contains("help: run `cargo generate-lockfile`"), "{lines}");
}

#[cfg(unix)]
#[test]
fn cargo_that_fails_or_is_not_there() {
    let (sandbox, command) = with_cargo("echo 'error: of cargo' >&2\nexit 101", &resource("Thing", TRANSFORMED));
    let run = sandbox.finish("", &mut command("--engine compiled"));
    run.code(1).stderr(str![[r#"
compiling `op`; the first time may take minutes
error: of cargo
error[compile-failed]: cargo cannot read the manifest of `op`; see its output above

"#]]);
    let mut command = command("");
    command.env_remove("CARGO").env("PATH", "");
    sandbox.finish("", &mut command).code(1).stderr(str![[r#"
compiling `op`: 1 finding needs the compiler:
  src/lib.rs:4:28: `transform = …` runs code, in `Thing.spec.size` [schema-code]
the first time may take minutes; `--engine static` fails instead
error[compile-failed]: cannot run `cargo`: No such file or directory (os error 2)
help: install Rust from https://rustup.rs, or pass `--engine static`, which needs no compiler

error[schema-code]: `transform = …` runs code, in `Thing.spec.size`
 --> src/lib.rs:4:28
  |
4 |     #[schemars(transform = note)]
  |                            ^^^^
  |
  = help: use `extend(…)` instead

"#]]);
}

/// The oldest kube in use, with schemars 0.8. The output of `crd()` is written unchanged.
#[test]
fn a_project_on_an_older_kube() {
    let fixture = sandbox::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kube-1"));
    let files: Vec<(&str, &str)> = fixture.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let project = Project::at("engine-kube-1", &files);
    project.generate("--engine static").code(1);
    project.generate("").success();
    let said = project.generate("--verify --check").success().err();
    assert!(said.contains("compared 0 of 1 CRD versions: no difference\n"), "{said}");
    assert_data_eq!(
        project.sandbox.read(CRD),
        str![[r#"
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.example.com
spec:
  group: example.com
  names:
    categories: []
    kind: Thing
    plural: things
    shortNames: []
    singular: thing
  scope: Namespaced
  versions:
  - additionalPrinterColumns: []
    name: v1
    schema:
      openAPIV3Schema:
        description: Auto-generated derived type for ThingSpec via `CustomResource`
        properties:
          spec:
            description: What the user wants.
            properties:
              mode:
                enum:
                - Fast
                - Slow
                type: string
              size:
                description: How many.
                format: uint8
                minimum: 1
                nullable: true
                type: integer
            required:
            - mode
            type: object
          status:
            nullable: true
            properties:
              ready:
                type: boolean
            required:
            - ready
            type: object
        required:
        - spec
        title: Thingy
        type: object
    served: true
    storage: true
    subresources:
      status: {}

"#]]
    );
}

fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    until(Duration::from_secs(60), || if condition() { Ok(()) } else { Err(what.to_owned()) }).unwrap();
}

/// Ctrl-C signals each process of the group. The test sends another signal, because a background shell ignores Ctrl-C.
#[cfg(unix)]
#[test]
fn it_can_be_ended() {
    use std::os::unix::process::ExitStatusExt as _;
    let script = "echo $$ >pid.new\nmv pid.new pid\nexec sleep 1000";
    let (sandbox, command) = with_cargo(script, &resource("Thing", TRANSFORMED));
    let before = sandbox.files();
    let mut child = command("").stderr(Stdio::null()).spawn().unwrap();
    eventually("cargo runs", || sandbox.path("pid").exists());
    let cargo: u32 = sandbox.read("pid").trim().parse().unwrap();
    let kill = |signal: &str, process: u32| {
        Command::new("kill")
            .args(["-s", signal, &process.to_string()])
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    };
    assert!(kill("TERM", child.id()));
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert!(kill("TERM", cargo));
    eventually("cargo ends", || !kill("0", cargo));
    std::fs::remove_file(sandbox.path("pid")).unwrap();
    assert_eq!(sandbox.files(), before);
}
