//! `init` and `new`: output, and steps that are left to later commands.

use std::path::{Path, PathBuf};
use std::process::Command;

use snapbox::str;

use crate::sandbox::{OFFLINE, Sandbox};

#[test]
fn what_is_said() {
    let sandbox = Sandbox::new();
    let init = format!("init --project-name demo {OFFLINE}");
    sandbox.run(&init).success().stderr(str![[r#"
184 created

Next, define an API:
  memcached-sdk create api --group GROUP --version v1alpha1 --kind KIND

"#]]);
    sandbox.run(&init).success().stdout(str![]).stderr(str![[r#"
184 unchanged

Next, define an API:
  memcached-sdk create api --group GROUP --version v1alpha1 --kind KIND

"#]]);
    sandbox.run(&format!("{init} -q")).success().stdout(str![]).stderr(str![]);
    sandbox.run(&format!("{init} --check")).success().stdout(str![]);
    sandbox.replace("Makefile", "##@ General", "##@ Mine");
    sandbox
        .run(&format!("{init} --check"))
        .code(3)
        .stdout(str![[r#"
update    Makefile

"#]])
        .stderr(str![[r#"
1 updated, 183 unchanged: run the command without `--check` to write them

"#]]);
    sandbox.run(&init).code(1).stdout(str![]).stderr(str![[r#"
error[file-conflict]: `Makefile` already exists with different content
--> Makefile
 = help: move it, or pass `--force` to overwrite it

"#]]);
    sandbox
        .run(&format!("{init} -o json"))
        .code(1)
        .stdout(str![[r#"
{
  "changes": [],
  "diagnostics": [
    {
      "code": "file-conflict",
      "severity": "error",
      "message": "`Makefile` already exists with different content",
      "file": "Makefile",
      "help": "move it, or pass `--force` to overwrite it"
    }
  ]
}

"#]])
        .stderr(str![]);
    sandbox.run(&format!("{init} --force --diff")).success().stdout(str![[r#"
diff --git a/Makefile b/Makefile
--- a/Makefile
+++ b/Makefile
@@ -64,7 +64,7 @@
 .PHONY: all
 all: build
 
-##@ Mine
+##@ General
 
 .PHONY: help
 help: ## Show this list.

"#]]);
}

#[test]
fn the_answers_are_recorded() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&format!(
            "init op --domain a.b --owner Me --license mit-apache2 --repo https://example.com/op --namespaced --multigroup {OFFLINE}"
        ))
        .success();
    snapbox::assert_data_eq!(
        sandbox.read("op/PROJECT"),
        str![[r##"
# What this project was made from, written by memcached-sdk. Its commands read this file and keep it up to date;
# fields of other tools and comments are kept.
cliVersion: 0.1.0
domain: a.b
layout:
- rust.memcached-sdk.dev/v1
multigroup: true
namespaced: true
plugins:
  rust.memcached-sdk.dev/v1:
    license: MIT OR Apache-2.0
    owner: Me
projectName: op
repo: https://example.com/op
version: "3"

"##]]
    );
}

#[test]
fn licenses_and_headers() {
    let spdx = "// SPDX-FileCopyrightText: Me\n";
    for (flags, files, header) in [
        ("", &[("LICENSE", "Apache License")] as &[_], "//! Runs"),
        (
            "--owner Me",
            &[("LICENSE", "Apache License")],
            &format!("{spdx}// SPDX-License-Identifier: Apache-2.0\n\n//! Runs"),
        ),
        (
            "--owner Me --license mit",
            &[("LICENSE", "(c) Me\n")],
            &format!("{spdx}// SPDX-License-Identifier: MIT\n\n//! Runs"),
        ),
        ("--license mit", &[("LICENSE", "(c) The op Authors\n")], "//! Runs"),
        ("--license mit-apache2", &[("LICENSE-APACHE", "Apache License"), ("LICENSE-MIT", "MIT License")], "//! Runs"),
        ("--owner Me --license none", &[], &format!("{spdx}\n//! Runs")),
    ] {
        let sandbox = Sandbox::new();
        sandbox.run(&format!("init op {flags} {OFFLINE}")).success();
        let names = ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT"];
        let written: Vec<_> = names.iter().filter(|name| sandbox.path(&format!("op/{name}")).exists()).collect();
        assert_eq!(written, files.iter().map(|(name, _)| name).collect::<Vec<_>>(), "{flags}");
        for (name, text) in files {
            assert!(sandbox.read(&format!("op/{name}")).contains(text), "{flags}: {name}");
        }
        assert!(sandbox.read("op/src/main.rs").starts_with(header), "{flags}");
    }
}

#[test]
fn a_license_that_is_there_stays() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("LICENSE"), "Mine.\n").unwrap();
    sandbox.run(&format!("init --project-name demo --force {OFFLINE}")).success();
    assert_eq!(sandbox.read("LICENSE"), "Mine.\n");
}

#[test]
fn new_makes_a_repository_or_says_why_not() {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("new one {OFFLINE}")).success();
    assert!(sandbox.path("one/.git").is_dir());
    let output = sandbox.command(&format!("new two {OFFLINE}")).env("PATH", "").output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("warning[no-git]"));
    assert!(sandbox.path("two/PROJECT").is_file() && !sandbox.path("two/.git").exists());
}

#[test]
fn a_missing_toolchain_is_told_before_anything_is_written() {
    let sandbox = Sandbox::new();
    let output = sandbox.command("init --project-name demo --fetch-deps=false").env("PATH", "").output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("cannot run `rustc`") && message.contains("cannot run `cc`"), "{message}");
    assert!(message.contains("--skip-toolchain-check"), "{message}");
    assert!(sandbox.files().is_empty());
}

#[test]
fn dependencies_that_cannot_be_fetched_are_a_warning() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("init --project-name demo --skip-toolchain-check");
    let output = command.env("CARGO", "/nonexistent/cargo").output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("warning[not-fetched]"));
    assert!(sandbox.path("PROJECT").is_file());
}

#[test]
fn force_overwrites_what_is_in_the_way() {
    let sandbox = Sandbox::new();
    sandbox.file("one/Makefile", "all:\n");
    let refused = sandbox.run(&format!("new one {OFFLINE}")).code(1).err();
    assert!(refused.contains("one/Makefile") || refused.contains("`Makefile`"), "{refused}");
    assert!(!sandbox.path("one/PROJECT").exists());
    sandbox.run(&format!("new one --force {OFFLINE}")).success();
    assert!(sandbox.read("one/Makefile").contains("manifests"));
}

/// Cargo does not support nested workspaces: the outer one would no longer load.
#[test]
fn a_folder_that_a_workspace_takes_for_a_member_becomes_one() {
    for (workspace, folder, is_member) in [
        ("members = [\"crates/*\"]", "crates/operator", true),
        ("members = [\"./crates/*\"]", "crates/operator", true),
        ("members = [\"operator\"]", "operator", true),
        ("members = [\"a/*/*\"]", "a/b/operator", true),
        ("members = [\"crates/*\"]\nexclude = [\"crates/operator\"]", "crates/operator", false),
        ("members = [\"crates/*\"]\nexclude = [\"crates\"]", "crates/operator", false),
        ("members = [\"crates/*\"]", "crates/a/operator", false),
        ("members = [\"crates/*\"]", "operator", false),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file("Cargo.toml", &format!("[workspace]\nresolver = \"3\"\n{workspace}\n"));
        sandbox.run(&format!("init {OFFLINE} {folder}")).success();
        let root = if is_member { sandbox.path("") } else { sandbox.path(folder) };
        assert_eq!(workspace_root(&sandbox.path(folder)), root, "{workspace}: {folder}");
        let up = "../".repeat(folder.matches('/').count() + 1);
        let makefile = sandbox.read(&format!("{folder}/Makefile"));
        assert_eq!(makefile.contains(&format!("-t $(IMG) -f Dockerfile {up}\n")), is_member, "{folder}");
    }
}

/// The workspace root that cargo reports for a package. Fails unless cargo can read every member.
fn workspace_root(folder: &Path) -> PathBuf {
    let mut metadata = Command::new(env!("CARGO"));
    metadata.args(["metadata", "--no-deps", "--offline", "--format-version=1"]).current_dir(folder);
    let output = metadata.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["workspace_root"].as_str().unwrap().into()
}

#[test]
fn two_operators_of_a_workspace_share_the_runtime() {
    // The second list names a member that does not exist before the second `init`.
    for members in ["\"crates/*\"", "\"crates/one\", \"crates/two\""] {
        let sandbox = Sandbox::new();
        sandbox.file("Cargo.toml", &format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n"));
        sandbox.run(&format!("init {OFFLINE} crates/one")).success();
        sandbox.run(&format!("init {OFFLINE} crates/two")).code(1).stderr(str![[r#"
error: the cargo workspace `[ROOT]/Cargo.toml` already has a package `memcached-sdk-manager`, in `crates/one/manager`
help: share it: pass `--manager path=../../crates/one/manager`

"#]]);
        sandbox.run(&format!("init {OFFLINE} crates/two --manager path=../../crates/one/manager")).success();
        assert!(!sandbox.path("crates/two/manager").exists());
        assert_eq!(workspace_root(&sandbox.path("crates/two")), sandbox.path(""));
    }
}

/// The image copies the runtime from any distance; `make docker-build` passes its path.
#[test]
fn the_image_of_a_member_has_a_runtime_outside_of_the_workspace() {
    for (workspace, up) in [("workspace", "../"), ("a/workspace", "../../"), ("a/b/c/workspace", "../../../../")] {
        let sandbox = Sandbox::new();
        sandbox.file("runtime/Cargo.toml", "[package]\nname = \"memcached-sdk-manager\"\n");
        sandbox.file("explorer/Cargo.toml", "[package]\nname = \"memcached-sdk-explorer\"\n");
        sandbox.file(&format!("{workspace}/Cargo.toml"), "[workspace]\nmembers = [\"crates/*\"]\n");
        let folder = format!("{workspace}/crates/operator");
        sandbox.run(&format!("init {OFFLINE} {folder} --manager path=../../{up}runtime")).success();
        let copies = format!("COPY --from=runtime . {up}runtime\nCOPY --from=explorer . {up}explorer\n");
        assert!(sandbox.read(&format!("{folder}/Dockerfile")).contains(&copies));
        let flag = format!("--build-context runtime=../../{up}runtime --build-context explorer=../../{up}explorer -t");
        assert!(sandbox.read(&format!("{folder}/Makefile")).contains(&flag));
    }
}
