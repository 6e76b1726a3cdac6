//! Images of the project's Dockerfile. buildah builds them as root, without Docker and without a registry.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::generated::Project;
use crate::golden::samples::is_of_library;
use crate::sandbox::Sandbox;

/// The value of `CONTAINER_TOOL` in Makefiles.
pub(super) fn container_tool() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/node/container-tool")
}

/// Returns the output of a command on both streams, as an error if it fails.
pub(super) fn said(command: &mut Command) -> Result<String, String> {
    let output = command.output().unwrap();
    let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat();
    if output.status.success() { Ok(text) } else { Err(format!("{command:?}: {}\n{text}", output.status)) }
}

fn make(project: &Path, args: &[&str]) -> Result<String, String> {
    said(Command::new("make").args(args).current_dir(project).env("CONTAINER_TOOL", container_tool()))
}

const BUILT: &str = "localhost/memcached-operator:built";

/// Builds the sample's image on the node.
pub(super) fn built() -> &'static str {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        let told = make(&Project::sample().path(""), &["docker-build", &format!("IMG={BUILT}")]).unwrap();
        let size = told.lines().rev().find(|line| line.contains("memcached-operator")).expect("a line with the size");
        println!("{size}");
        let load = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/node/load");
        said(Command::new(load).arg(BUILT)).unwrap();
    });
    BUILT
}

/// Other files are secrets or unnecessary.
#[test]
#[ignore = "needs buildah, as root: make test-e2e"]
fn the_context_has_what_the_dockerfile_copies() {
    let project = Sandbox::project("");
    project.lock();
    for path in
        ["target/debug/demo", ".env", "id_rsa", "prod.kubeconfig", "bin/manager", "dist/install.yaml", "src.bak/a"]
    {
        project.file(path, "secret");
    }
    let listing = "FROM localhost/rust:1.95-slim-bookworm\nCOPY . /context\nRUN cd /context && find . -type f\n";
    let list = || {
        project.file("Listing", listing);
        let mut build = Command::new(container_tool());
        build.args(["build", "--no-cache", "-f", "Listing", "."]).current_dir(project.root());
        let told = said(&mut build).unwrap();
        let mut files: Vec<_> = told.lines().filter_map(|line| line.strip_prefix("./")).map(str::to_owned).collect();
        files.sort_unstable();
        files
    };
    let needed =
        |path: &str| matches!(path, "Cargo.toml" | "Cargo.lock") || path.starts_with("src/") || is_of_library(path);
    let wanted: Vec<_> = project.files().into_keys().filter(|path| needed(path)).collect();
    assert_eq!(list(), wanted);

    // Counter-check: without `.dockerignore` all files are in the context.
    std::fs::remove_file(project.path(".dockerignore")).unwrap();
    assert!(list().contains(&"id_rsa".to_owned()));
}

/// Cross-compiles a static program with C code, without emulation.
#[test]
#[ignore = "needs buildah, as root: make test-e2e"]
fn the_other_platform_is_cross_compiled() {
    let project = Sandbox::project("");
    // `ring` has C code; the operator's other dependencies add nothing new.
    let package = "version = \"0.1.0\"\nedition = \"2024\"\n";
    let lock = std::fs::read_to_string(crate::generated::lock()).unwrap();
    project
        .file("Cargo.toml", &format!("[workspace]\nmembers = [\"manager\"]\n\n[package]\nname = \"demo\"\n{package}\n[dependencies]\nring = \"0.17\"\n"))
        .file("src/main.rs", "fn main() {\n    println!(\"{:?}\", ring::digest::digest(&ring::digest::SHA256, b\"\"));\n}\n")
        .file("src/lib.rs", "")
        .file("Cargo.lock", &lock);
    std::fs::remove_dir_all(project.path("manager")).unwrap();
    project
        .file("manager/Cargo.toml", &format!("[package]\nname = \"manager\"\n{package}"))
        .file("manager/src/lib.rs", "");
    let locked = crate::generated::cargo(project.root(), &["update", "--workspace"]).output().unwrap();
    assert!(locked.status.success(), "{}", String::from_utf8_lossy(&locked.stderr));

    let image = "localhost/demo:cross";
    said(
        Command::new(container_tool())
            .args(["build", "--platform=linux/arm64", "-t", image, "."])
            .current_dir(project.root()),
    )
    .unwrap();
    let inspected = said(Command::new(container_tool()).args(["inspect", "--type=image", image])).unwrap();
    let inspected: serde_json::Value = serde_json::from_str(&inspected).unwrap();
    assert_eq!(inspected["OCIv1"]["architecture"], "arm64");
    assert_eq!(inspected["OCIv1"]["config"]["User"], "65532:65532");
    let program = program(image);
    // ELF header: 64-bit little-endian, and the machine.
    assert_eq!((&program[..6], &program[18..20]), (&b"\x7fELF\x02\x01"[..], &[0xb7, 0][..]));
    assert!(!has_interpreter(&program));
}

/// The manager's binary in an image.
fn program(image: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let copy = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/node/program");
    let file = folder.path().join("manager");
    said(Command::new(copy).arg(image).arg(&file)).unwrap();
    std::fs::read(file).unwrap()
}

/// Returns true if a program needs a dynamic linker.
fn has_interpreter(program: &[u8]) -> bool {
    let number = |at: usize, length: usize| {
        program[at..at + length].iter().rev().fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
    };
    let (table, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    (0..count).any(|header| number(table + header * size, 4) == 3)
}

/// Folders and mtimes differ, and the operator's own build artifacts are removed between the builds.
#[test]
#[ignore = "needs buildah, as root: make test-e2e"]
fn two_builds_are_the_same() {
    built();
    let first = program(BUILT);
    assert!(!has_interpreter(&first));
    let again = |edit: &dyn Fn(&Project)| {
        let project = Project::generate("image-again");
        edit(&project);
        let clean = "find target/node/target -path '*-musl/release/*' -name '*memcached*' -prune -exec rm -r {} +";
        said(Command::new("sh").args(["-c", clean]).current_dir(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let image = "localhost/memcached-operator:again";
        make(&project.path(""), &["docker-build", &format!("IMG={image}")]).unwrap();
        program(image)
    };
    assert!(first == again(&|project| drop(std::fs::write(project.path("src/new.rs"), ""))), "the programs differ");
    // Counter-check: an edit changes the program.
    let other = again(&|project| {
        let path = project.path("src/main.rs");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, text.replace("the operator can't run", "the operator cannot run")).unwrap();
    });
    assert!(first != other);
}
