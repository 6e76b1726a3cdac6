//! The published package, as `cargo install` gets it.

use std::path::Path;
use std::process::Command;

use crate::sandbox::OFFLINE;

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{command:?}\n{out}{err}");
}

#[test]
fn it_is_installed_and_makes_a_project() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir().unwrap();
    let packaged = dir.path().join("target");
    let mut package = Command::new(env!("CARGO"));
    package.args(["package", "--no-verify", "--allow-dirty", "--offline", "--target-dir"]).arg(&packaged);
    run(package.current_dir(root));

    let name = concat!("memcached-sdk-", env!("CARGO_PKG_VERSION"));
    let archive = packaged.join(format!("package/{name}.crate"));
    run(Command::new("tar").arg("-xzf").arg(archive).current_dir(dir.path()));
    let mut install = Command::new(env!("CARGO"));
    // The dependencies are those that are built already; the program of the tests stays where it is.
    let built = Path::new(env!("CARGO_BIN_EXE_memcached-sdk")).ancestors().nth(2).unwrap();
    install.args(["install", "--debug", "--locked", "--offline", "--no-track", "--path", "."]);
    install.arg("--root").arg(dir.path()).arg("--target-dir").arg(&packaged).env("CARGO_BUILD_BUILD_DIR", built);
    run(install.current_dir(dir.path().join(name)));

    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let mut new = Command::new(dir.path().join("bin/memcached-sdk"));
    new.args(["new", "demo", "--sample", "memcached"]).args(OFFLINE.split(' ')).current_dir(&empty);
    run(&mut new);
    let mut check = Command::new(dir.path().join("bin/memcached-sdk"));
    run(check.args(["generate", "--check"]).current_dir(empty.join("demo")));
}
