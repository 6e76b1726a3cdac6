//! Future releases of dependencies: a local registry with today's crates under other versions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Value, json};
use snapbox::str;

use crate::generated;
use crate::sandbox::{OFFLINE, Run, Sandbox};

const LOCK: &str = include_str!("../../samples/memcached-operator/Cargo.lock");

/// The sample's lock file after `cargo update`.
fn updated(name: &str) -> String {
    let mut lock = LOCK.replace("\"memcached-operator\"", &format!("\"{name}\""));
    for (package, from, to) in [
        ("schemars", "1.2.3", "1.2.4"),
        ("kube", "5.0.0", "5.1.0"),
        ("kube-core", "5.0.0", "5.1.0"),
        ("kube-derive", "5.0.0", "5.1.0"),
    ] {
        let entry = |version: &str| format!("name = \"{package}\"\nversion = \"{version}\"\n");
        assert!(lock.contains(&entry(from)), "{package}");
        lock = lock.replace(&entry(from), &entry(to));
    }
    lock
}

const VERIFIED: &str = "\n[package.metadata.memcached-sdk]\nverified = [\"schemars 1.2.4\", \"kube 5.1.0\", \"kube-core 5.1.0\", \
                        \"kube-derive 5.1.0\"]\n";

/// `create api` never compiles, so it warns until `generate` has verified the release.
#[test]
fn an_api_for_a_project_on_a_new_release() {
    let crd = "config/crd/bases/cache.example.com_memcacheds.yaml";
    let api = "create api --group cache --version v1alpha1 --kind Memcached";
    let sandbox = Sandbox::project("");
    sandbox.file("Cargo.lock", &updated("demo"));
    let said = sandbox.run(api).success().err();
    let warning = said.split("\n\n").next().unwrap().to_owned() + "\n";
    snapbox::assert_data_eq!(
        warning,
        str![[r#"
warning[not-generated]: the CRDs are not written, since schemars 1.2.4 is newer than this program and may generate other CRDs
help: run `memcached-sdk generate`: it compiles once
15 created, 9 updated

"#]]
    );
    assert!(!sandbox.path(crd).exists());
    sandbox.run("generate --engine static").code(1).stderr(str![[r#"
error[new-release]: schemars 1.2.4 is newer than this program and may generate other CRDs
 --> Cargo.toml:1:1
  |
1 | [workspace]
  | ^
  |
  = help: run `memcached-sdk generate --verify`, which compiles once, compares, and records that they are equal

"#]]);
    let manifest = sandbox.read("Cargo.toml") + VERIFIED;
    sandbox.file("Cargo.toml", &manifest);
    sandbox.run("generate --engine static").success();
    assert!(sandbox.path(crd).exists());

    let sandbox = Sandbox::new();
    sandbox.run(&format!("init --domain example.com --project-name demo {OFFLINE}")).success();
    sandbox.run(api).success();
    assert!(sandbox.path(crd).exists(), "a project without a lock file has the releases that its manifest asks for");
}

/// A local registry with the dependencies of `manifest`, linked from cargo's cache.
struct Registry {
    root: PathBuf,
    /// Folder and checksum by name and version.
    crates: BTreeMap<(String, String), (PathBuf, String)>,
}

impl Registry {
    fn new(root: PathBuf, project: &Path) -> Self {
        let output = generated::cargo(project, &["metadata", "--offline", "--format-version=1"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let lock: toml_edit::DocumentMut =
            std::fs::read_to_string(project.join("Cargo.lock")).unwrap().parse().unwrap();
        let mut crates = BTreeMap::new();
        for package in lock["package"].as_array_of_tables().unwrap() {
            let text = |key: &str| package.get(key).and_then(toml_edit::Item::as_str).unwrap().to_owned();
            if package.contains_key("checksum") {
                let (name, version) = (text("name"), text("version"));
                let mut all = metadata["packages"].as_array().unwrap().iter();
                let found = all.find(|found| found["name"] == *name && found["version"] == *version).unwrap();
                let manifest = Path::new(found["manifest_path"].as_str().unwrap());
                crates.insert((name, version), (manifest.parent().unwrap().to_path_buf(), text("checksum")));
            }
        }
        if root.exists() {
            std::fs::remove_dir_all(&root).unwrap();
        }
        Self { root, crates }
    }

    fn links(&self) {
        for ((name, version), (folder, checksum)) in &self.crates {
            self.publish(name, version, folder, checksum, &|_, text| text);
        }
    }

    /// Adds a release: a copy with another version, and optionally other code.
    fn release(&self, name: &str, from: &str, to: &str, change: &dyn Fn(&str, String) -> String) {
        let (folder, checksum) = &self.crates[&(name.to_owned(), from.to_owned())];
        let number = |path: &str, text: String| {
            let text = change(path, text);
            if path == "Cargo.toml" {
                text.replacen(&format!("version = \"{from}\""), &format!("version = \"{to}\""), 1)
            } else {
                text
            }
        };
        self.publish(name, to, folder, &checksum.chars().rev().collect::<String>(), &number);
    }

    #[cfg(unix)]
    fn publish(&self, name: &str, version: &str, from: &Path, checksum: &str, change: &dyn Fn(&str, String) -> String) {
        let to = self.root.join(format!("{name}-{version}"));
        for entry in
            walkdir::WalkDir::new(from).into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file())
        {
            let path = entry.path().strip_prefix(from).unwrap();
            let target = to.join(path);
            std::fs::create_dir_all(target.parent().unwrap()).unwrap();
            let old = std::fs::read_to_string(entry.path()).unwrap_or_default();
            let new = change(path.to_str().unwrap(), old.clone());
            if new == old {
                std::os::unix::fs::symlink(entry.path(), target).unwrap();
            } else {
                std::fs::write(target, new).unwrap();
            }
        }
        let json = json!({ "files": {}, "package": checksum }).to_string();
        std::fs::write(to.join(".cargo-checksum.json"), json).unwrap();
    }
}

const MANIFEST: &str = "[package]\nname = \"new-release\"\nedition = \"2024\"\n\n[dependencies]\n\
    k8s-openapi = { version = \"0.29\", features = [\"v1_36\"] }\n\
    kube = { version = \"5\", default-features = false, features = [\"derive\"] }\nschemars = \"1\"\n\
    serde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\n";

fn kind(kind: &str, fields: &str) -> String {
    format!(
        "#[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]\n\
         #[kube(group = \"example.com\", version = \"v1\", kind = \"{kind}\")]\npub struct {kind}Spec {{\n{fields}}}\n"
    )
}

const THING: &str = "config/crd/bases/example.com_things.yaml";

/// Drops the output of cargo.
fn said(run: &Run) -> String {
    let ours = |line: &&str| {
        !line.trim_start().starts_with(|first: char| first.is_ascii_uppercase()) || line.contains("Cargo.toml")
    };
    run.err().lines().filter(ours).fold(String::new(), |text, line| text + line + "\n")
}

/// The releases of tomorrow: `same` generates the same CRDs, `other` a different description.
#[cfg(unix)]
fn registries(project: &Path) -> &'static [PathBuf; 2] {
    static PUBLISHED: OnceLock<[PathBuf; 2]> = OnceLock::new();
    PUBLISHED.get_or_init(|| {
        let folders = ["same", "other"].map(|name| generated::target().with_file_name(format!("new-release-{name}")));
        let registries = folders.each_ref().map(|folder| Registry::new(folder.clone(), project));
        for registry in &registries {
            registry.links();
            registry.release("schemars", "1.2.3", "1.2.4", &|_, text| text);
            registry.release("kube-core", "5.0.0", "5.1.0", &|_, text| text);
            registry.release("kube-derive", "5.0.0", "5.1.0", &|_, text| text);
            registry.release("kube", "5.0.0", "5.1.0", &|_, text| text.replace("\"=5.0.0\"", "\"=5.1.0\""));
        }
        registries[1].release("kube-derive", "5.0.0", "5.2.0", &|_, text| {
            text.replace("Auto-generated derived type", "Derived type")
        });
        registries[1].release("kube", "5.0.0", "5.2.0", &|path, text| {
            if path != "Cargo.toml" {
                return text;
            }
            let mut manifest: toml_edit::DocumentMut = text.replace("\"=5.0.0\"", "\"=5.1.0\"").parse().unwrap();
            manifest["dependencies"]["kube-derive"]["version"] = toml_edit::value("=5.2.0");
            manifest.to_string()
        });
        folders
    })
}

/// A package with one kind after `cargo update`. The tests share its folder, so that cargo builds the dependencies once.
#[cfg(unix)]
struct Updated {
    sandbox: Sandbox,
    target: PathBuf,
    /// The CRD before the update.
    known: String,
    _one_at_a_time: MutexGuard<'static, ()>,
}

#[cfg(unix)]
impl Updated {
    fn to(registry: usize) -> Self {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let one_at_a_time = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let sandbox = Sandbox::lasting("new-release", &[("src/lib.rs", &kind("Thing", "    pub size: u8,\n"))]);
        sandbox.file("Cargo.toml", MANIFEST);
        sandbox.file("Cargo.lock", &LOCK.replace("\"memcached-operator\"", "\"new-release\""));
        let target = generated::target().with_file_name("new-release");
        let mut project = Self { sandbox, target, known: String::new(), _one_at_a_time: one_at_a_time };
        project.known = project.generate("--engine static --stdout").success().out();
        let folder = &registries(project.sandbox.root())[registry];
        let config = format!(
            "[source.crates-io]\nreplace-with = \"tomorrow\"\n\n[source.tomorrow]\ndirectory = {:?}\n",
            folder.display().to_string()
        );
        project.sandbox.file(".cargo/config.toml", &config);
        let output = generated::cargo(project.sandbox.root(), &["update", "--offline"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        project
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = self.sandbox.command(&format!("generate crds {arguments}"));
        command.env("CARGO_TARGET_DIR", &self.target).env_remove("RUSTFLAGS").env("CARGO_TERM_COLOR", "never");
        command
    }

    fn generate(&self, arguments: &str) -> Run {
        self.sandbox.finish(arguments, &mut self.command(arguments))
    }
}

#[cfg(unix)]
#[test]
fn the_static_engine_refuses_a_new_release() {
    let project = Updated::to(0);
    project.generate("--engine static").code(1).stderr(str![[r#"
error[new-release]: schemars 1.2.4 is newer than this program and may generate other CRDs
 --> Cargo.toml:1:1
  |
1 | [package]
  | ^
  |
  = help: run `memcached-sdk generate --verify`, which compiles once, compares, and records that they are equal

warning[unknown-format]: the API server does not know the format `uint8`: `spec.size` in `Thing`, version `v1`
 --> src/lib.rs:4:9
  |
4 |     pub size: u8,
  |         ^^^^^^^^
  |
  = help: use `i32` or `i64`, or describe the field with `#[schemars(with = "i64", range(min = 0))]`; or pass `--fix formats`

"#]]);
}

#[cfg(unix)]
#[test]
fn a_preview_verifies_and_records_nothing() {
    let project = Updated::to(0);
    let before = project.sandbox.files();
    let run = project.generate("--dry-run --diff").success();
    snapbox::assert_data_eq!(
        said(&run),
        str![[r#"
compiling `new-release`: 1 finding needs the compiler:
  Cargo.toml:1:1: schemars 1.2.4 is newer than this program and may generate other CRDs [new-release]
the first time may take minutes; `--engine static` fails instead
compared 1 of 1 CRD versions: no difference
warning[not-recorded]: not recorded with `--dry-run`, but verified: `schemars 1.2.4`, `kube 5.1.0`, `kube-core 5.1.0`, `kube-derive 5.1.0`
help: run `memcached-sdk generate crds`, or write `verified = ["schemars 1.2.4", "kube 5.1.0", "kube-core 5.1.0", "kube-derive 5.1.0"]` below `[package.metadata.memcached-sdk]` in `Cargo.toml`

warning[unknown-format]: the API server does not know the format `uint8`: `spec.size` in `Thing`, version `v1`
 --> src/lib.rs:4:9
  |
4 |     pub size: u8,
  |         ^^^^^^^^
  |
  = help: use `i32` or `i64`, or describe the field with `#[schemars(with = "i64", range(min = 0))]`; or pass `--fix formats`
1 created, 1 updated: nothing was written

"#]]
    );
    assert!(run.out().contains("+[package.metadata.memcached-sdk]\n+verified = ["), "{}", run.out());
    snapbox::assert_data_eq!(
        said(&project.generate("--check").code(3)),
        str![[r#"
compiling `new-release`: 1 finding needs the compiler:
  Cargo.toml:1:1: schemars 1.2.4 is newer than this program and may generate other CRDs [new-release]
the first time may take minutes; `--engine static` fails instead
compared 1 of 1 CRD versions: no difference
warning[not-recorded]: not recorded with `--check`, but verified: `schemars 1.2.4`, `kube 5.1.0`, `kube-core 5.1.0`, `kube-derive 5.1.0`
help: run `memcached-sdk generate crds`, or write `verified = ["schemars 1.2.4", "kube 5.1.0", "kube-core 5.1.0", "kube-derive 5.1.0"]` below `[package.metadata.memcached-sdk]` in `Cargo.toml`

warning[unknown-format]: the API server does not know the format `uint8`: `spec.size` in `Thing`, version `v1`
 --> src/lib.rs:4:9
  |
4 |     pub size: u8,
  |         ^^^^^^^^
  |
  = help: use `i32` or `i64`, or describe the field with `#[schemars(with = "i64", range(min = 0))]`; or pass `--fix formats`
1 created: run the command without `--check` to write them

"#]]
    );
    let run = project.generate("--stdout").success();
    snapbox::assert_data_eq!(
        said(&run),
        str![[r#"
compiling `new-release`: 1 finding needs the compiler:
  Cargo.toml:1:1: schemars 1.2.4 is newer than this program and may generate other CRDs [new-release]
the first time may take minutes; `--engine static` fails instead
compared 1 of 1 CRD versions: no difference
warning[not-recorded]: not recorded with `--stdout`, but verified: `schemars 1.2.4`, `kube 5.1.0`, `kube-core 5.1.0`, `kube-derive 5.1.0`
help: run `memcached-sdk generate crds`, or write `verified = ["schemars 1.2.4", "kube 5.1.0", "kube-core 5.1.0", "kube-derive 5.1.0"]` below `[package.metadata.memcached-sdk]` in `Cargo.toml`

warning[unknown-format]: the API server does not know the format `uint8`: `spec.size` in `Thing`, version `v1`
 --> src/lib.rs:4:9
  |
4 |     pub size: u8,
  |         ^^^^^^^^
  |
  = help: use `i32` or `i64`, or describe the field with `#[schemars(with = "i64", range(min = 0))]`; or pass `--fix formats`

"#]]
    );
    assert_eq!(run.out(), project.known);
    assert_eq!(project.sandbox.files(), before);
}

#[cfg(unix)]
#[test]
fn a_release_is_not_verified_by_a_part_of_the_kinds() {
    let project = Updated::to(0);
    // A run for one kind does not verify the release.
    snapbox::assert_data_eq!(
        said(&project.generate("--kind Thing").success()),
        str![[r#"
compiling `new-release`: 1 finding needs the compiler:
  Cargo.toml:1:1: schemars 1.2.4 is newer than this program and may generate other CRDs [new-release]
the first time may take minutes; `--engine static` fails instead
compared 1 of 1 CRD versions: no difference
not recorded as verified, because only some of the kinds were compared: `schemars 1.2.4`, `kube 5.1.0`, `kube-core 5.1.0`, `kube-derive 5.1.0`
warning[unknown-format]: the API server does not know the format `uint8`: `spec.size` in `Thing`, version `v1`
 --> src/lib.rs:4:9
  |
4 |     pub size: u8,
  |         ^^^^^^^^
  |
  = help: use `i32` or `i64`, or describe the field with `#[schemars(with = "i64", range(min = 0))]`; or pass `--fix formats`
1 created

"#]]
    );
    let hard = kind("Hard", "    #[serde(default = \"size\")]\n    pub size: usize,\n")
        + "fn size() -> usize {\n    std::env::args().count()\n}\n";
    let lib = project.sandbox.read("src/lib.rs");
    project.sandbox.file("src/lib.rs", &(lib + &hard));
    snapbox::assert_data_eq!(
        said(&project.generate("").success()),
        str![[r#"
compiling `new-release`: 2 findings need the compiler:
  Cargo.toml:1:1: schemars 1.2.4 is newer than this program and may generate other CRDs [new-release]
  src/lib.rs:13:5: default value: cannot evaluate `std::env::args()` without running code, in `Hard.spec.size` [default-value]
the first time may take minutes; `--engine static` fails instead
compared 1 of 2 CRD versions: no difference
not recorded as verified, because the static engine cannot decide `Hard.example.com`: `schemars 1.2.4`, `kube 5.1.0`, `kube-core 5.1.0`, `kube-derive 5.1.0`
warning[unknown-format]: the API server does not know the format `uint8`: `spec.size` in `Thing`, version `v1`
 --> src/lib.rs:4:9
  |
4 |     pub size: u8,
  |         ^^^^^^^^
  |
  = help: use `i32` or `i64`, or describe the field with `#[schemars(with = "i64", range(min = 0))]`; or pass `--fix formats`

warning[unknown-format]: the API server does not know the format `uint`: `spec.size` in `Hard`, version `v1`
 --> src/lib.rs:8:12
  |
8 | pub struct HardSpec {
  |            ^^^^^^^^
  |
  = help: use `i32` or `i64`, or describe the field with `#[schemars(with = "i64", range(min = 0))]`; or pass `--fix formats`
1 created, 1 unchanged

"#]]
    );
    assert_eq!(project.sandbox.read("Cargo.toml"), MANIFEST);
}

/// After `cargo update`, the first run compiles and compares. Then the source answers again.
#[cfg(unix)]
#[test]
fn a_release_is_verified_and_recorded_once() {
    let project = Updated::to(0);
    let run = project.generate("").success();
    snapbox::assert_data_eq!(
        said(&run),
        str![[r#"
compiling `new-release`: 1 finding needs the compiler:
  Cargo.toml:1:1: schemars 1.2.4 is newer than this program and may generate other CRDs [new-release]
the first time may take minutes; `--engine static` fails instead
compared 1 of 1 CRD versions: no difference
warning[unknown-format]: the API server does not know the format `uint8`: `spec.size` in `Thing`, version `v1`
 --> src/lib.rs:4:9
  |
4 |     pub size: u8,
  |         ^^^^^^^^
  |
  = help: use `i32` or `i64`, or describe the field with `#[schemars(with = "i64", range(min = 0))]`; or pass `--fix formats`
1 created, 1 updated
`Cargo.toml` records as verified: `schemars 1.2.4`, `kube 5.1.0`, `kube-core 5.1.0`, `kube-derive 5.1.0`; from now on the source answers

"#]]
    );
    snapbox::assert_data_eq!(
        run.out(),
        str![[r#"
update    Cargo.toml
create    config/crd/bases/example.com_things.yaml

"#]]
    );
    let recorded = project.sandbox.read("Cargo.toml");
    snapbox::assert_data_eq!(
        recorded.clone(),
        str![[r#"
[package]
name = "new-release"
edition = "2024"

[package.metadata.memcached-sdk]
verified = ["schemars 1.2.4", "kube 5.1.0", "kube-core 5.1.0", "kube-derive 5.1.0"]

[dependencies]
k8s-openapi = { version = "0.29", features = ["v1_36"] }
kube = { version = "5", default-features = false, features = ["derive"] }
schemars = "1"
serde = { version = "1", features = ["derive"] }
serde_json = "1"

"#]]
    );
    assert_eq!(project.sandbox.read(THING), project.known);
    // Cargo is not needed.
    project.sandbox.finish("", project.command("--check").env("PATH", "").env_remove("CARGO")).success();
    let run = project.generate("--verify --check").success();
    assert!(!run.err().contains("not-recorded"), "{}", run.err());

    // `--verify` compiles on request.
    project.sandbox.file("Cargo.toml", MANIFEST);
    project.generate("--verify").success();
    assert_eq!(project.sandbox.read("Cargo.toml"), recorded);
}

#[cfg(unix)]
#[test]
fn a_release_that_differs_is_reported() {
    let project = Updated::to(1);
    let recorded = MANIFEST.replacen("\n[dependencies]", &format!("{VERIFIED}\n[dependencies]"), 1);
    project.sandbox.file("Cargo.toml", &recorded);
    let run = project.generate("").success();
    snapbox::assert_data_eq!(
        said(&run),
        str![[r#"
compiling `new-release`: 1 finding needs the compiler:
  Cargo.toml:1:1: kube 5.2.0 is newer than this program and may generate other CRDs [new-release]
the first time may take minutes; `--engine static` fails instead
warning[release-differs]: the compiler generates a different CRD for `Thing`, version `v1` of `example.com`:
                          --- read
                          +++ compiled
                          @@ -14,7 +14,7 @@
                             - name: v1
                               schema:
                                 openAPIV3Schema:
                          -        description: Auto-generated derived type for ThingSpec via `CustomResource`
                          +        description: Derived type for ThingSpec via `CustomResource`
                                   properties:
                                     spec:
                                       properties:
 --> src/lib.rs:3:12
  |
3 | pub struct ThingSpec {
  |            ^^^^^^^^^
  |
  = help: the CRDs of the compiler were used; a newer memcached-sdk may support the release

warning[unknown-format]: the API server does not know the format `uint8`: `spec.size` in `Thing`, version `v1`
 --> src/lib.rs:4:9
  |
4 |     pub size: u8,
  |         ^^^^^^^^
  |
  = help: use `i32` or `i64`, or describe the field with `#[schemars(with = "i64", range(min = 0))]`; or pass `--fix formats`
1 created

"#]]
    );
    assert_eq!(project.sandbox.read("Cargo.toml"), recorded);
    assert_eq!(project.sandbox.read(THING), project.known.replace("Auto-generated derived type", "Derived type"));
    let before = project.sandbox.files();
    let run = project.generate("--verify").code(1);
    assert!(run.err().contains("error[engines-differ]"), "{}", run.err());
    assert_eq!(project.sandbox.files(), before);
}
