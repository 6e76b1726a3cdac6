//! Problems of a fresh clone: missing dependencies, CRLF line endings, commands in the vendored manager.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use snapbox::str;

use crate::lock;
use crate::sandbox::{Run, Sandbox};

const MANIFEST: &str = "[package]\nname = \"op\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
                        kube = \"5\"\nschemars = \"1\"\nserde = \"1\"\nwater = \"1\"\n";
const SOURCE: &str = "
#[derive(kube::CustomResource, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[kube(group = \"example.com\", version = \"v1\", kind = \"Pond\")]
struct PondSpec {
    depth: water::Depth,
    level: water::Depth,
}

fn main() {}
";
const WATER: [(&str, &str); 2] = [
    (
        "Cargo.toml",
        "[package]\nname = \"water\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\n[dependencies]\nschemars = \"1\"\nserde = \"1\"\n",
    ),
    (
        "src/lib.rs",
        "#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]\npub struct Depth {\n    pub metres: i32,\n}\n",
    ),
];

/// A package with dependencies that are not downloaded, and a cargo that is online or offline.
fn fresh(is_online: bool) -> Sandbox {
    let water = "[[package]]\nname = \"water\"\nversion = \"1.0.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    let lock = lock::text([MANIFEST]).replacen("dependencies = [\n", "dependencies = [\n \"water 1.0.0\",\n", 1);
    let sandbox = Sandbox::new();
    sandbox.file("Cargo.toml", MANIFEST).file("src/main.rs", SOURCE).file("Cargo.lock", &format!("{lock}\n{water}"));
    for (path, text) in WATER {
        sandbox.file(&format!("online/registry/src/index/water-1.0.0/{path}"), text);
    }
    let fetch = if is_online { "mkdir home && cp -r online/registry home" } else { "exit 101" };
    let cargo = format!(
        "#!/bin/sh\ncase $1 in\n  fetch) {fetch} ;;\n  metadata) echo '{{\"target_directory\": \"target\"}}' ;;\n  \
         *) echo \"cargo $1\" >&2; exit 101 ;;\nesac\n"
    );
    sandbox.file("cargo", &cargo);
    fs::set_permissions(sandbox.path("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    sandbox
}

fn generate(sandbox: &Sandbox, flags: &str) -> Run {
    let arguments = format!("generate crds --dry-run {flags}");
    let mut command = sandbox.command(&arguments);
    command.env("CARGO", sandbox.path("cargo")).env("CARGO_HOME", sandbox.path("home"));
    sandbox.finish(&arguments, &mut command)
}

#[test]
fn dependencies_that_are_not_downloaded_are_one_error() {
    let sandbox = fresh(true);
    generate(&sandbox, "--engine static").code(1).stderr(str![[r#"
error[not-downloaded]: the sources of `water 1.0.0` are not downloaded: missing dependencies of `op`
 --> src/main.rs:5:12
  |
5 |     depth: water::Depth,
  |            ^^^^^^^^^^^^
  |
  = help: run `cargo fetch`

"#]]);
}

#[test]
fn dependencies_are_downloaded_before_anything_is_compiled() {
    let sandbox = fresh(true);
    generate(&sandbox, "")
        .success()
        .stdout(str![[r#"
create    config/crd/bases/example.com_ponds.yaml

"#]])
        .stderr(str![[r#"
running `cargo fetch`: the sources of `water 1.0.0` are not downloaded
1 created: nothing was written

"#]]);
}

/// The compiler runs next, and it fails for the same reason.
#[test]
fn a_download_that_fails_is_no_end() {
    let sandbox = fresh(false);
    let told = generate(&sandbox, "").code(1).err();
    assert!(told.contains("running `cargo fetch`") && told.contains("\ncargo rustc\n"), "{told}");
}

/// Git writes CRLF with `core.autocrlf`.
#[test]
fn line_endings_of_windows_are_no_difference_and_stay() {
    let sandbox = Sandbox::project("");
    sandbox.run("create api --group cache --version v1 --kind Memcached").success();
    sandbox.lock();
    let windows = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
    for (path, text) in sandbox.files() {
        sandbox.file(&path, &windows(&text));
    }
    let before = sandbox.files();
    for check in ["generate --check", "update --check", "edit --namespaced=false --check"] {
        sandbox.run(check).success();
    }
    sandbox.run("generate").success();
    sandbox.run("update").success();
    assert_eq!(sandbox.files(), before);

    // A rewritten file keeps its line endings.
    let crd = "config/crd/bases/cache.example.com_memcacheds.yaml";
    sandbox.replace(crd, "kind: Memcached", "kind: Memcache");
    sandbox.run("generate --check").code(3);
    sandbox.run("generate").success();
    assert_eq!(sandbox.files(), before);
}

#[test]
fn commands_in_the_folders_of_libraries_are_about_the_project() {
    let sandbox = Sandbox::project("");
    sandbox.run("create api --group cache --version v1 --kind Memcached").success();
    sandbox.lock();
    let before = sandbox.files();
    for folder in ["manager/src", "explorer/src"] {
        for command in ["generate", "generate --check", "rbac lint"] {
            let mut command_there = sandbox.command(command);
            command_there.current_dir(sandbox.path(folder));
            sandbox.finish(command, &mut command_there).success();
        }
    }
    assert_eq!(sandbox.files(), before);
}
