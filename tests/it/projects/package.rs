//! Builds the program from its published package, and a project from the packages of its libraries.

use std::path::Path;
use std::process::Command;

use crate::generated;
use crate::projects::place;
use crate::sandbox::OFFLINE;

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{command:?}\n{out}{err}");
}

#[test]
fn the_packages_make_a_program_and_a_project() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir().unwrap();
    let packaged = dir.path().join("target");
    let mut package = Command::new(env!("CARGO"));
    package
        .args(["package", "--workspace", "--no-verify", "--allow-dirty", "--offline", "--target-dir"])
        .arg(&packaged);
    run(package.current_dir(root));
    let [program, runtime, explorer] =
        ["memcached-sdk", "memcached-sdk-manager", "memcached-sdk-explorer"].map(|name| {
            let name = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
            let archive = packaged.join(format!("package/{name}.crate"));
            run(Command::new("tar").arg("-xzf").arg(archive).current_dir(dir.path()));
            dir.path().join(name)
        });
    // Use the local packages instead of the registry.
    let patches = [("manager", &runtime), ("explorer", &explorer)].map(|(library, folder)| {
        format!("patch.crates-io.memcached-sdk-{library}.path = {:?}", folder.to_str().unwrap())
    });
    let patches = patches.each_ref().map(|patch| ["--config", patch]);
    let patches = patches.as_flattened();

    let mut build = Command::new(env!("CARGO"));
    // Reuse built dependencies, but keep the program of the tests.
    let built = Path::new(env!("CARGO_BIN_EXE_memcached-sdk")).ancestors().nth(2).unwrap();
    build.args(["build", "--offline"]).args(patches).arg("--target-dir").arg(&packaged);
    run(build.env("CARGO_BUILD_BUILD_DIR", built).current_dir(&program));
    let program = packaged.join("debug/memcached-sdk");

    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let sdk =
        |arguments: &str, folder: &Path| run(Command::new(&program).args(arguments.split(' ')).current_dir(folder));
    sdk(&format!("new from-registry --sample memcached --manager registry {OFFLINE}"), &empty);
    let _building = generated::building();
    let project = place("from-registry", &empty.join("from-registry"));
    run(generated::cargo(&project, &["test", "--quiet", "--offline"]).args(patches).current_dir(&project));
    sdk("generate --check", &project);
    sdk("rbac lint", &project);
    // The copied runtime is equal, although `cargo package` rewrites the manifest.
    sdk("edit --manager vendored", &project);
    run(Command::new(env!("CARGO_BIN_EXE_memcached-sdk")).args(["generate", "--check"]).current_dir(&project));
}
