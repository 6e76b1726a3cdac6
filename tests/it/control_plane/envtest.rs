//! The tests on an API server that a new project has, as its owner runs them: `cargo test` with `KUBEBUILDER_ASSETS`.

use std::process::Output;

use crate::control_plane::assets::Assets;
use crate::generated;
use crate::sandbox::{OFFLINE, Sandbox};

const CRD: &str = "config/crd/bases/cache.example.com_memcacheds.yaml";

fn test(project: &Sandbox, assets: &str) -> Output {
    let arguments = ["test", "--test", "envtest_memcached"];
    generated::cargo(project.root(), &arguments).env("KUBEBUILDER_ASSETS", assets).output().unwrap()
}

fn assets() -> String {
    let etcd = Assets::find().etcd;
    etcd.parent().unwrap().to_str().unwrap().to_owned()
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

/// Tests the project of a `create api`, in a folder that cargo builds once.
fn check(name: &str, flags: &str) -> Sandbox {
    let project = Sandbox::lasting(name, &[]);
    std::fs::create_dir_all(project.root()).unwrap();
    project.run(&format!("init --domain example.com --project-name {name} {OFFLINE}")).success();
    project.run(&format!("create api --group cache --version v1alpha1 --kind Memcached {flags}")).success();
    project.lock().run("generate").success();
    std::fs::copy(generated::lock(), project.path("Cargo.lock")).unwrap();

    let _building = generated::building();
    let output = test(&project, "");
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("SKIPPED: run `make setup-envtest`"), "{}", said(&output));

    let output = test(&project, &assets());
    assert!(output.status.success(), "{}", said(&output));
    assert!(!said(&output).contains("SKIPPED"), "{}", said(&output));

    assert_eq!(running(), [""; 0]);
    project
}

/// The folders of servers that still run, though the test has failed; its own with the logs is there.
fn running() -> Vec<String> {
    let folder = generated::target().join("tmp/envtest_memcached").canonicalize().unwrap();
    assert!(folder.join("kube-apiserver.log").exists());
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let folders = processes.filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok());
    folders.filter(|cwd| cwd.starts_with(&folder)).map(|cwd| cwd.display().to_string()).collect()
}

#[test]
fn a_controller_that_runs_an_image_is_tested_on_a_server() {
    check("envtest-image", "--image memcached:1.6-alpine --image-container-port 11211");
}

#[test]
fn a_controller_that_is_not_written_is_tested_on_a_server() {
    let project = check("envtest-plain", "");
    // The server has judged it: without a CRD it serves no such kind.
    std::fs::remove_file(project.path(CRD)).unwrap();
    let _building = generated::building();
    let output = test(&project, &assets());
    assert!(!output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("is not served by the cluster"), "{}", said(&output));
    assert_eq!(running(), [""; 0]);
}
