//! `--manager` of `init` and `edit`: the source of the runtime.

use snapbox::str;
use std::collections::BTreeMap;

use crate::golden::samples;
use crate::sandbox::{OFFLINE, Run, Sandbox, files};

const SOURCES: [&str; 5] =
    ["vendored", "registry", "git=https://example.com/sdk", "git=https://example.com/sdk#v1", "path=../runtime"];

/// Folders with the runtime and the explorer, and the sample in `op` beside it.
fn sample(source: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in samples::libraries() {
        sandbox.file(&path.replacen("manager/", "runtime/", 1), &text);
    }
    sandbox.run(&format!("new op --sample memcached --skip-git-init {OFFLINE} --manager {source}")).success();
    sandbox
}

fn in_op(sandbox: &Sandbox, arguments: &str) -> Run {
    let mut command = sandbox.command(arguments);
    sandbox.finish(arguments, command.current_dir(sandbox.path("op"))).success()
}

fn copied(files: &BTreeMap<String, String>) -> bool {
    let [manager, explorer] = ["manager/", "explorer/"].map(|folder| files.keys().any(|path| path.starts_with(folder)));
    assert_eq!(manager, explorer);
    manager
}

/// Lines about the runtime in the project's files.
fn lines(files: &BTreeMap<String, String>) -> String {
    let mut shown = String::new();
    for (path, mark) in [
        ("PROJECT", "manager: "),
        ("Cargo.toml", "members = "),
        ("Cargo.toml", "manager = "),
        ("Cargo.toml", "explorer = "),
        (".dockerignore", "er/**"),
        (".gitattributes", "linguist-vendored"),
        ("Dockerfile", "COPY manager"),
        ("Dockerfile", "COPY explorer"),
        ("Dockerfile", "--from=runtime"),
        ("Dockerfile", "--from=explorer"),
        ("Makefile", "--build-context"),
    ] {
        let found = files.get(path).into_iter().flat_map(|text| text.lines()).filter(|line| line.contains(mark));
        found.for_each(|line| shown.push_str(&format!("{path}: {}\n", line.trim())));
    }
    shown
}

#[test]
fn each_source_has_its_lines() {
    let shown: String =
        SOURCES.iter().map(|source| format!("── {source}\n{}", lines(&files(&sample(source).path("op"))))).collect();
    snapbox::assert_data_eq!(
        shown,
        str![[r#"
── vendored
Cargo.toml: members = ["explorer", "manager"]
Cargo.toml: manager = { package = "memcached-sdk-manager", path = "manager" }
Cargo.toml: manager = { package = "memcached-sdk-manager", path = "manager", features = ["testing"] }
Cargo.toml: explorer = { package = "memcached-sdk-explorer", path = "explorer" }
.dockerignore: !manager/**
.dockerignore: !explorer/**
.gitattributes: explorer/** linguist-vendored
.gitattributes: manager/** linguist-vendored
Dockerfile: COPY manager manager
Dockerfile: COPY explorer explorer
── registry
PROJECT: manager: registry
Cargo.toml: manager = { package = "memcached-sdk-manager", version = "0.1.0" }
Cargo.toml: manager = { package = "memcached-sdk-manager", version = "0.1.0", features = ["testing"] }
Cargo.toml: explorer = { package = "memcached-sdk-explorer", version = "0.1.0" }
── git=https://example.com/sdk
PROJECT: manager: git=https://example.com/sdk
Cargo.toml: manager = { package = "memcached-sdk-manager", git = "https://example.com/sdk" }
Cargo.toml: manager = { package = "memcached-sdk-manager", git = "https://example.com/sdk", features = ["testing"] }
Cargo.toml: explorer = { package = "memcached-sdk-explorer", git = "https://example.com/sdk" }
── git=https://example.com/sdk#v1
PROJECT: manager: git=https://example.com/sdk#v1
Cargo.toml: manager = { package = "memcached-sdk-manager", git = "https://example.com/sdk", rev = "v1" }
Cargo.toml: manager = { package = "memcached-sdk-manager", git = "https://example.com/sdk", rev = "v1", features = ["testing"] }
Cargo.toml: explorer = { package = "memcached-sdk-explorer", git = "https://example.com/sdk", rev = "v1" }
── path=../runtime
PROJECT: manager: path=../runtime
Cargo.toml: manager = { package = "memcached-sdk-manager", path = "../runtime" }
Cargo.toml: manager = { package = "memcached-sdk-manager", path = "../runtime", features = ["testing"] }
Cargo.toml: explorer = { package = "memcached-sdk-explorer", path = "../explorer" }
Dockerfile: COPY --from=runtime . ../runtime
Dockerfile: COPY --from=explorer . ../explorer
Makefile: $(CONTAINER_TOOL) build $(if $(BASE_IMAGE),--build-arg BASE_IMAGE=$(BASE_IMAGE)) $(if $(RUNTIME_IMAGE),--build-arg RUNTIME_IMAGE=$(RUNTIME_IMAGE)) --build-context runtime=../runtime --build-context explorer=../explorer -t $(IMG) .
Makefile: $(CONTAINER_TOOL) buildx build --builder op-builder --push --platform=$(PLATFORMS) $(if $(BASE_IMAGE),--build-arg BASE_IMAGE=$(BASE_IMAGE)) $(if $(RUNTIME_IMAGE),--build-arg RUNTIME_IMAGE=$(RUNTIME_IMAGE)) --build-context runtime=../runtime --build-context explorer=../explorer -t $(IMG) .

"#]]
    );
}

/// Derivation works with every source, without the files of a release.
#[test]
fn permissions_are_derived_from_each() {
    let derived = SOURCES.map(|source| in_op(&sample(source), "rbac derive").out());
    assert!(derived[0].contains("memcacheds/status"), "{}", derived[0]);
    derived.iter().for_each(|other| assert_eq!(*other, derived[0]));
}

#[test]
fn edit_changes_each_into_each_and_back() {
    let expected = SOURCES.map(|source| lines(&files(&sample(source).path("op"))));
    for from in SOURCES {
        let sandbox = sample(from);
        let before = files(&sandbox.path("op"));
        assert_eq!(copied(&before), from == "vendored");
        for (to, expected) in SOURCES.iter().zip(&expected) {
            in_op(&sandbox, &format!("edit --make=false --manager {to}"));
            let between = files(&sandbox.path("op"));
            assert_eq!(copied(&between), *to == "vendored", "{from} {to}");
            assert_eq!(lines(&between), *expected, "{from} {to}");
            in_op(&sandbox, &format!("edit --make=false --manager {from}"));
            assert!(files(&sandbox.path("op")) == before, "{from} {to}");
        }
    }
}

#[test]
fn update_asks_the_registry_for_the_release_of_the_program() {
    let sandbox = sample("registry");
    let manifest = sandbox.read("op/Cargo.toml");
    sandbox.file("op/Cargo.toml", &manifest.replace("version = \"0.1.0\" }", "version = \"0.0.9\" }"));
    assert_eq!(sandbox.read("op/Cargo.toml").matches("0.0.9").count(), 2);
    in_op(&sandbox, "update");
    assert_eq!(sandbox.read("op/Cargo.toml"), manifest);
}

#[test]
fn what_is_no_source_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("init op {OFFLINE} --manager copy")).code(2).stderr(str![[r#"
error: invalid value 'copy' for '--manager <SOURCE>': `copy` is not a valid source of the runtime; use `vendored`, `registry`, `git=URL[#REV]` or `path=DIR`

For more information, try '--help'.

"#]]);
    sandbox.run(&format!("init op {OFFLINE} --manager path=../x")).code(1).stderr(str![[r#"
error: package `memcached-sdk-manager` not found in `../x`
help: check `--manager path=DIR`: the path is relative to the project

"#]]);
    assert!(!sandbox.path("op").exists());
    sandbox.run(&format!("new op --skip-git-init {OFFLINE} --manager registry")).success();
    let before = files(&sandbox.path("op"));
    let mut edit = sandbox.command("edit --manager path=../x");
    sandbox.finish("edit", edit.current_dir(sandbox.path("op"))).code(1).stderr(str![[r#"
error: package `memcached-sdk-manager` not found in `../x`
help: check `--manager path=DIR`: the path is relative to the project

"#]]);
    assert!(files(&sandbox.path("op")) == before);

    // The runtime alone is not enough.
    sandbox.file("x/Cargo.toml", "[package]\nname = \"memcached-sdk-manager\"\n");
    let mut edit = sandbox.command("edit --manager path=../x");
    sandbox.finish("edit", edit.current_dir(sandbox.path("op"))).code(1).stderr(str![[r#"
error: package `memcached-sdk-explorer` not found in `../explorer`
help: put it beside `../x`: the tests of the project need it

"#]]);
    assert!(files(&sandbox.path("op")) == before);
}
