//! Generated projects, as their owners build them: format, clippy without warnings, their own tests. One shared target
//! folder and the one lock file of the Memcached sample; this takes minutes, so `make test-fast` leaves it out.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::samples::MULTI_GROUP;
use crate::sandbox::{OFFLINE, Sandbox};

/// Cargo locks the target folder anyway; waiting here keeps its messages out of the output.
static BUILDING: Mutex<()> = Mutex::new(());

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn target() -> PathBuf {
    std::env::var_os("PROJECTS_TARGET_DIR").map_or_else(|| root().join("target/projects"), PathBuf::from)
}

fn cargo(folder: &Path, arguments: &[&str]) {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target())
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?} in {}\n{text}", folder.display());
}

/// Runs the tests of a package with the versions of the Memcached sample.
pub fn test_with_the_lock_file(folder: &Path) {
    std::fs::copy(root().join("tests/samples/memcached-operator/Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let _building = BUILDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    cargo(folder, &["test", "--quiet"]);
}

fn check(folder: &Path) {
    std::fs::copy(root().join("tests/samples/memcached-operator/Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let _building = BUILDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    cargo(folder, &["fmt", "--check"]);
    cargo(folder, &["clippy", "--all-targets", "--quiet", "--", "-D", "warnings"]);
    cargo(folder, &["test", "--quiet"]);
}

#[test]
fn bare() {
    let sandbox = Sandbox::project("");
    check(sandbox.root());
}

#[test]
fn namespaced_with_one_api() {
    let sandbox = Sandbox::project("--namespaced");
    sandbox.run("create api --group cache --version v1alpha1 --kind Memcached").success();
    check(sandbox.root());
}

#[test]
fn multi_group() {
    let sandbox = Sandbox::new();
    let [init, apis @ ..] = MULTI_GROUP;
    sandbox.run(&format!("{init} {OFFLINE}")).success();
    for command in apis {
        sandbox.run(command).success();
    }
    check(sandbox.root());
}

#[test]
fn memcached_operator() {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("new memcached-operator --sample memcached {OFFLINE}")).success();
    check(&sandbox.path("memcached-operator"));
}
