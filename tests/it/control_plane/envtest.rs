//! The API server tests of a new project, run by `cargo test` with `KUBEBUILDER_ASSETS`.

use std::path::PathBuf;
use std::process::Output;
use std::time::{Duration, Instant};

use crate::control_plane::assets::Assets;
use crate::generated;
use crate::sandbox::{OFFLINE, Sandbox};

const CRD: &str = "config/crd/bases/cache.example.com_memcacheds.yaml";

fn test(project: &Sandbox, test: &str, assets: &str) -> Output {
    let mut cargo = generated::cargo(project.root(), &["test", "--test", test]);
    cargo.env("KUBEBUILDER_ASSETS", assets).env("XDG_DATA_HOME", "/none").env_remove("CI").output().unwrap()
}

pub(crate) fn assets() -> String {
    let etcd = Assets::find().etcd;
    etcd.parent().unwrap().to_str().unwrap().to_owned()
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

/// Runs a test of the project that these commands create, in a folder that is built once.
fn check(name: &str, tested: &str, commands: &[&str]) -> Sandbox {
    let project = Sandbox::lasting(name, &[]);
    std::fs::create_dir_all(project.root()).unwrap();
    project.run(&format!("init --domain example.com --project-name {name} {OFFLINE}")).success();
    for command in commands {
        project.run(&format!("create {command} --group cache --version v1alpha1 --kind Memcached")).success();
    }
    project.lock().run("generate").success();
    std::fs::copy(generated::lock(), project.path("Cargo.lock")).unwrap();

    let _building = generated::building();
    let output = test(&project, tested, "");
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("run `memcached-sdk envtest`"), "{}", said(&output));

    let output = test(&project, tested, &assets());
    assert!(output.status.success(), "{}", said(&output));
    assert!(!said(&output).contains("SKIPPED"), "{}", said(&output));

    ends(|| running(tested).is_empty() && folders(tested).is_empty());
    project
}

/// Fails unless the test fails with this reason.
#[track_caller]
fn fails(project: &Sandbox, tested: &str, why: &str) {
    let _building = generated::building();
    let output = test(project, tested, &assets());
    assert!(!output.status.success() && said(&output).contains(why), "{}", said(&output));
    ends(|| running(tested).is_empty() && folders(tested).iter().all(|folder| !folder.join("etcd").exists()));
    let folders = folders(tested);
    assert!(folders.iter().any(|folder| folder.join("kube-apiserver.log").exists()), "{folders:?}");
    folders.iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
}

/// Fails if a server, or its data, outlives its test by more than some seconds.
#[track_caller]
fn ends(ended: impl Fn() -> bool) {
    let started = Instant::now();
    while !ended() {
        assert!(started.elapsed() < Duration::from_secs(20), "a server or its data is left");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The folders of servers that are still running.
fn running(tested: &str) -> Vec<String> {
    let folder = tmp().join(tested).display().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let folders = processes.filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok());
    folders.map(|cwd| cwd.display().to_string()).filter(|cwd| cwd.starts_with(&folder)).collect()
}

/// The folders that servers of a test have left.
fn folders(tested: &str) -> Vec<PathBuf> {
    let is_of = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(&format!("{tested}-"));
    let entries = std::fs::read_dir(tmp()).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).filter(is_of).collect()
}

fn tmp() -> PathBuf {
    generated::target().canonicalize().unwrap().join("tmp")
}

#[test]
fn a_controller_that_runs_an_image_is_tested_on_a_server() {
    let api = "api --image memcached:1.6-alpine --image-container-port 11211";
    check("envtest-image", "envtest_memcached", &[api]);
}

#[test]
fn a_controller_that_is_not_written_is_tested_on_a_server() {
    let project = check("envtest-plain", "envtest_memcached", &["api"]);
    // The controller has the generated role alone.
    let role = project.read("config/rbac/role.yaml");
    project.file("config/rbac/role.yaml", &role.replace("  - watch\n", ""));
    fails(
        &project,
        "envtest_memcached",
        "// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=watch",
    );
    project.file("config/rbac/role.yaml", &role);
    // The server decides: without a CRD it does not serve the kind.
    std::fs::remove_file(project.path(CRD)).unwrap();
    fails(&project, "envtest_memcached", "is not served by the cluster");
}

#[test]
fn webhooks_are_tested_on_a_server() {
    let tested = "envtest_webhook_v1alpha1_memcached";
    let webhooks = "webhook --defaulting --programmatic-validation";
    let project = check("envtest-webhook", tested, &["api --controller=false", webhooks]);
    // The server calls the webhook.
    let errors = "let errors = FieldErrors::new();";
    let refused = "let mut errors = FieldErrors::new();\n        errors.forbidden(\"spec\", \"not today\");";
    project.replace("src/webhook/v1alpha1/memcached.rs", errors, refused);
    fails(&project, tested, "spec: Forbidden: not today");
}
