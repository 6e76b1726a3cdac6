//! `generate`: what is written, what goes, what stays.

use crate::sandbox::Sandbox;

const CRD: &str = "config/crd/bases/cache.example.com_memcacheds.yaml";

fn project() -> Sandbox {
    let sandbox = Sandbox::project("");
    sandbox.run("create api --group cache --version v1alpha1 --kind Memcached").success();
    sandbox.lock();
    sandbox
}

#[test]
fn check_tells_of_a_changed_byte() {
    let sandbox = project();
    sandbox.run("generate --check").success();
    sandbox.replace(CRD, "kind: Memcached", "kind: Memcache");
    let before = sandbox.files();
    sandbox.run("generate --check").code(3);
    sandbox.run("generate rbac --check").success();
    assert_eq!(sandbox.files(), before);
    sandbox.run("generate crd").success();
    sandbox.run("generate --check").success();
}

#[test]
fn a_crd_without_a_type_goes_and_foreign_files_stay() {
    let sandbox = project();
    let crd = sandbox.read(CRD);
    let other = |name: &str| crd.replace("memcached", name).replace("Memcached", "Old");
    sandbox.file("config/crd/bases/cache.example.com_olds.yaml", &other("old"));
    sandbox.file("config/crd/bases/cache.other.io_olds.yaml", &other("old").replace("example.com", "other.io"));
    sandbox.file("config/crd/bases/notes.yaml", "kind: Notes\n");
    sandbox.run("generate").success();
    assert!(!sandbox.path("config/crd/bases/cache.example.com_olds.yaml").exists());
    assert!(sandbox.path("config/crd/bases/cache.other.io_olds.yaml").exists());
    assert!(sandbox.path("config/crd/bases/notes.yaml").exists());
}

#[test]
fn no_file_is_written_when_the_source_has_an_error() {
    let sandbox = project();
    sandbox.replace("src/controller/memcached.rs", "verbs=", "verbs=delete;");
    sandbox.file("src/api/v1alpha1/memcached.rs", "pub struct Broken {\n");
    let before = sandbox.files();
    let message = sandbox.run("generate").code(1).err();
    assert!(message.contains("src/api/v1alpha1/memcached.rs:"), "{message}");
    assert_eq!(sandbox.files(), before);
}

/// What is not written yet can't be compiled.
#[test]
fn an_api_for_a_project_that_the_source_does_not_decide() {
    let sandbox = project();
    sandbox.replace("src/api/v1alpha1/memcached.rs", "    /// ", "    #[schemars(transform = note)]\n    /// ");
    let before = sandbox.files();
    let api = "create api --group cache --version v1 --kind Other";
    let message = sandbox.run(api).code(1).err();
    assert!(
        message.starts_with("error[command-failed]: the CRDs of this project can't be written without compiling it\n")
    );
    assert!(message.contains("`transform = …` runs code") && message.contains("pass `--make=false`"), "{message}");
    assert_eq!(sandbox.files(), before);
    sandbox.run(&format!("{api} --make=false")).success();
}

#[test]
fn a_header_is_put_on_top() {
    let sandbox = project();
    sandbox.file("header.txt", "# Copyright The Authors\n");
    sandbox.run("generate --header-file header.txt").success();
    for path in [CRD, "config/rbac/role.yaml"] {
        assert!(sandbox.read(path).starts_with("# Copyright The Authors\n---\n"), "{path}");
    }
}

#[test]
fn without_markers_the_role_allows_nothing() {
    let sandbox = Sandbox::project("");
    assert!(
        sandbox
            .read("config/rbac/role.yaml")
            .ends_with("kind: ClusterRole\nmetadata:\n  name: manager-role\nrules: []\n")
    );
    let sandbox = Sandbox::project("--namespaced");
    let role = sandbox.read("config/rbac/role.yaml");
    assert!(
        role.ends_with("kind: Role\nmetadata:\n  name: manager-role\n  namespace: demo-system\nrules: []\n"),
        "{role}"
    );
}

#[test]
fn neither_cargo_nor_rustc_is_needed() {
    let sandbox = project();
    sandbox.file(CRD, "stale\n");
    let status = sandbox.command("generate -q").env("PATH", "").status().unwrap();
    assert!(status.success());
    assert!(sandbox.read(CRD).contains("kind: Memcached"));
}

#[test]
fn a_folder_inside_the_crate_will_do() {
    let sandbox = project();
    sandbox.file(CRD, "stale\n");
    let output = sandbox.command("generate --force").current_dir(sandbox.path("src/controller")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("update    {CRD}\n"));
    assert!(!sandbox.path("src/controller/config").exists());
}
