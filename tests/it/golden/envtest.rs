//! `envtest`: downloads from lists and archives on this disk.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use sha2::{Digest as _, Sha512};

use crate::sandbox::{Run, Sandbox, files};

const PLATFORM: &str = if cfg!(target_os = "macos") {
    if cfg!(target_arch = "aarch64") { "darwin-arm64" } else { "darwin-amd64" }
} else if cfg!(target_arch = "aarch64") {
    "linux-arm64"
} else {
    "linux-amd64"
};

/// A list of two releases and a prerelease, each with its archive.
fn index() -> Sandbox {
    let sandbox = Sandbox::new();
    for program in ["etcd", "kube-apiserver", "kubectl"] {
        sandbox.file(&format!("content/controller-tools/envtest/{program}"), program);
    }
    let archive = sandbox.path("archive.tar.gz");
    let status = Command::new("tar")
        .args(["-czf", archive.to_str().unwrap(), "-C", sandbox.path("content").to_str().unwrap(), "controller-tools"])
        .status();
    assert!(status.unwrap().success());
    write_index(&sandbox, &archive);
    sandbox
}

fn write_index(sandbox: &Sandbox, archive: &Path) {
    let mut hash = String::new();
    for byte in Sha512::digest(std::fs::read(archive).unwrap()) {
        write!(hash, "{byte:02x}").unwrap();
    }
    let mut text = "releases:\n".to_owned();
    for version in ["v1.36.0", "v1.35.1", "v1.37.0-rc.1"] {
        let url = format!("file://{}", archive.display());
        let name = format!("envtest-{version}-{PLATFORM}.tar.gz");
        writeln!(text, "  {version}:\n    {name}:\n      hash: {hash}\n      selfLink: {url}").unwrap();
    }
    sandbox.file("index.yaml", &text);
}

fn envtest(sandbox: &Sandbox, arguments: &str) -> Run {
    sandbox.run(&format!("envtest --dir store --index index.yaml {arguments}"))
}

/// Everything below the store, by path.
fn stored(sandbox: &Sandbox) -> Vec<String> {
    let store = sandbox.path("store");
    if store.exists() { files(&store).into_keys().collect() } else { Vec::new() }
}

#[test]
fn a_release_is_downloaded_once() {
    let sandbox = index();
    let folder = |version: &str| format!("[ROOT]/store/k8s/{version}-{PLATFORM}");
    let run = envtest(&sandbox, "--version 1.35 --print path").success();
    assert_eq!(run.out(), format!("{}\n", folder("1.35.1")));
    assert_eq!(run.err(), "downloaded Kubernetes 1.35.1\n");
    let programs = ["etcd", "kube-apiserver", "kubectl"].map(|name| format!("k8s/1.35.1-{PLATFORM}/{name}"));
    assert_eq!(stored(&sandbox), programs);

    // An installed release needs no list.
    let installed = sandbox.run("envtest --dir store --index none.yaml").success();
    assert_eq!(installed.out(), format!("export KUBEBUILDER_ASSETS='{}'\n", folder("1.35.1")));
    assert_eq!(installed.err(), "");
    let missing = sandbox.run("envtest --dir store --index none.yaml --version 1.36").code(1);
    assert!(missing.err().contains("cannot read `none.yaml`"), "{}", missing.err());

    assert_eq!(envtest(&sandbox, "--version 1.36.x -p path").success().out(), format!("{}\n", folder("1.36.0")));
    let prerelease = envtest(&sandbox, "--version 1.37.0-rc.1 -p path").success();
    assert_eq!(prerelease.out(), format!("{}\n", folder("1.37.0-rc.1")));
    let newest = sandbox.run("envtest --dir store -p path").success();
    assert_eq!(newest.out(), format!("{}\n", folder("1.36.0")));
}

/// An incomplete folder of another program is replaced.
#[test]
fn an_incomplete_release_is_downloaded_again() {
    let sandbox = index();
    sandbox.file(&format!("store/k8s/1.36.0-{PLATFORM}/etcd"), "");
    envtest(&sandbox, "").success();
    assert_eq!(sandbox.read(&format!("store/k8s/1.36.0-{PLATFORM}/etcd")), "etcd");
    assert_eq!(stored(&sandbox).len(), 3);
}

#[test]
fn what_fails_installs_nothing() {
    let fails = |change: &dyn Fn(&Sandbox), arguments: &str, expected: &[&str]| {
        let sandbox = index();
        change(&sandbox);
        let run = envtest(&sandbox, arguments).code(1);
        let err = run.err();
        assert!(expected.iter().all(|text| err.contains(text)), "{expected:?}\n{err}");
        assert!(err.contains("\nhelp: ") && run.out().is_empty(), "{err}");
        assert_eq!(stored(&sandbox), [""; 0]);
    };
    let nothing = |_: &Sandbox| ();
    fails(&nothing, "--version 1.34", &["release `1.34`", "not found", "`1.37.0-rc.1`, `1.36.0`, `1.35.1`"]);
    fails(&nothing, "--version newest", &["`newest` is not a valid Kubernetes version"]);
    fails(&|sandbox| _ = sandbox.file("index.yaml", "a: 1\n"), "", &["`index.yaml` is not a list of releases"]);
    let no_archive = |sandbox: &Sandbox| std::fs::remove_file(sandbox.path("archive.tar.gz")).unwrap();
    fails(&no_archive, "", &["cannot download `file://"]);
    let other = |sandbox: &Sandbox| _ = sandbox.file("archive.tar.gz", "another archive");
    fails(&other, "", &["has the wrong SHA-512: expected ", "…, found "]);
    let broken = |sandbox: &Sandbox| {
        sandbox.file("archive.tar.gz", "not an archive");
        write_index(sandbox, &sandbox.path("archive.tar.gz"));
    };
    fails(&broken, "", &["cannot unpack `file://"]);
    let cut = |sandbox: &Sandbox| {
        let bytes = std::fs::read(sandbox.path("archive.tar.gz")).unwrap();
        std::fs::write(sandbox.path("archive.tar.gz"), &bytes[..bytes.len() / 2]).unwrap();
        write_index(sandbox, &sandbox.path("archive.tar.gz"));
    };
    fails(&cut, "", &["cannot unpack `file://"]);
    let empty = |sandbox: &Sandbox| {
        let archive = sandbox.path("archive.tar.gz");
        std::fs::remove_file(sandbox.path("content/controller-tools/envtest/etcd")).unwrap();
        let content = sandbox.path("content");
        let arguments = ["-czf", archive.to_str().unwrap(), "-C", content.to_str().unwrap(), "."];
        assert!(Command::new("tar").args(arguments).status().unwrap().success());
        write_index(sandbox, &archive);
    };
    fails(&empty, "", &["has no etcd and kube-apiserver"]);
}

/// Killed in the middle of a download, it leaves no release, and the next run completes.
#[test]
fn an_interrupted_download_is_no_release() {
    let sandbox = index();
    let curl = sandbox.file(
        "bin/curl",
        "#!/bin/sh\nwhile [ \"$1\" != --output ]; do shift; done\necho half > \"$2\"\nkill -9 $PPID\n",
    );
    let program = curl.path("bin/curl");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", sandbox.path("bin").display(), std::env::var("PATH").unwrap());
    let arguments = "envtest --dir store --index index.yaml";
    let killed = sandbox.command(arguments).env("PATH", path).output().unwrap();
    assert_eq!(killed.status.code(), None);
    let left: Vec<_> =
        std::fs::read_dir(sandbox.path("store/k8s")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name.to_str().unwrap().starts_with(".download-")), "{left:?}");
    envtest(&sandbox, "").success();
    assert_eq!(sandbox.read(&format!("store/k8s/1.36.0-{PLATFORM}/etcd")), "etcd");
}

#[test]
fn a_missing_program_is_named() {
    let sandbox = index();
    let run = sandbox.finish("envtest", sandbox.command("envtest --dir store --index index.yaml").env("PATH", "/none"));
    assert!(run.code(1).err().contains("`curl` cannot be run"));
}
