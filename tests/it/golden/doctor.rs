//! `doctor` on machines that lack a program, and in projects with one fault each.

use std::os::unix::fs::PermissionsExt as _;

use snapbox::str;

use crate::sandbox::{Run, Sandbox};

/// The output of each program of a healthy machine.
const PROGRAMS: [(&str, &str); 6] = [
    ("rustc", "rustc 1.95.0 (abc 2026-04-14)\nhost: x86_64-unknown-linux-gnu"),
    ("cargo", "tool 1.9.0 (abc 2026-04-14)"),
    ("cc", "cc 15"),
    ("kubectl", "Client Version: v1.36.0"),
    ("docker", "Docker version 28.2.2, build e6534b4"),
    ("memcached-sdk", concat!("memcached-sdk ", env!("CARGO_PKG_VERSION"))),
];

/// Runs `doctor` on a machine that has these programs only, and an API server.
fn doctor<'a>(sandbox: &Sandbox, flags: &str, programs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Run {
    let machine = Sandbox::new();
    for (name, text) in programs {
        machine.file(&format!("bin/{name}"), &format!("#!/bin/sh\necho '{text}'\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(machine.path(&format!("bin/{name}")), mode).unwrap();
    }
    sandbox.file("target/assets/etcd", "").file("target/assets/kube-apiserver", "");
    let mut command = sandbox.command(&format!("doctor {flags}"));
    command.env("PATH", machine.path("bin")).env("KUBEBUILDER_ASSETS", "target/assets");
    for variable in ["RUSTC", "CONTAINER_TOOL", "KUBECTL", "MEMCACHED_SDK"] {
        command.env_remove(variable);
    }
    sandbox.finish("doctor", &mut command)
}

/// The lines of a run that are not `ok`.
fn faults(run: &Run) -> String {
    let out = run.out();
    let lines: Vec<&str> = out.lines().filter(|line| !line.starts_with("ok")).map(str::trim_end).collect();
    lines.join("\n")
}

fn project() -> Sandbox {
    let sandbox = Sandbox::project("");
    sandbox.run("create api --group cache --version v1 --kind Memcached").success();
    sandbox.lock();
    sandbox
}

#[test]
fn a_healthy_machine_and_project() {
    let run = doctor(&project(), "", PROGRAMS).success();
    run.stdout(str![[r#"
ok       rust            rustc 1.95.0
ok       cargo           tool 1.9.0
ok       c-compiler      cc
ok       rustfmt         tool 1.9.0
ok       clippy          tool 1.9.0
ok       kubectl         Client Version: v1.36.0
ok       container-tool  Docker version 28.2.2, build e6534b4
ok       envtest         target/assets
ok       memcached-sdk   memcached-sdk 0.1.0
ok       project         demo, by memcached-sdk 0.1.0
ok       releases        kube 5.0.0, k8s-openapi 0.29.0, schemars 1.2.3
ok       controllers     1 of 1 controllers found
ok       source          1 of 1 kinds found
ok       manifests       2 files are up to date

"#]])
        .stderr(str![[r#"
14 ok, 0 warnings, 0 errors

"#]]);
}

#[test]
fn a_machine_without_programs_outside_of_a_project() {
    let run = doctor(&Sandbox::new(), "", []).code(1);
    run.stdout(str![[r#"
error    rust            missing a Rust toolchain: cannot run `rustc`
                         help: install Rust 1.95 or newer from https://rustup.rs
error    cargo           `cargo` cannot be run
                         help: install Rust from https://rustup.rs
error    c-compiler      missing a C compiler, which links Rust programs and builds `ring` for TLS: cannot run `cc`
                         help: install it: `apt install gcc`, `dnf install gcc` or `apk add gcc musl-dev`
warning  rustfmt         `cargo fmt` cannot be run; `make lint` needs it
                         help: run `rustup component add rustfmt`
warning  clippy          `cargo clippy` cannot be run; `make lint` needs it
                         help: run `rustup component add clippy`
warning  kubectl         `kubectl` cannot be run; `make install` and `make deploy` need it
                         help: install it from https://kubernetes.io/docs/tasks/tools, or set KUBECTL
warning  container-tool  `docker` cannot be run; `make docker-build` needs it
                         help: install docker or podman, and set CONTAINER_TOOL if it is not docker
ok       envtest         target/assets
warning  memcached-sdk   `memcached-sdk` cannot be run; `make` calls it before each build
                         help: add its folder to PATH, or set MEMCACHED_SDK to its path
warning  project         not in a project: could not find `PROJECT` in this folder or any parent folder
                         help: change to the folder of the project, or create a project with `memcached-sdk init`

"#]])
        .stderr(str![[r#"
1 ok, 6 warnings, 3 errors

"#]]);
}

#[test]
fn each_fault_of_the_machine_is_one_finding() {
    let sandbox = project();
    let mut found = String::new();
    let changed = [
        ("rustc", "rustc 1.94.0"),
        ("rustc", ""),
        ("cc", ""),
        ("kubectl", ""),
        ("docker", ""),
        ("docker", "podman"),
        ("memcached-sdk", "memcached-sdk 0.0.9"),
    ];
    for (name, instead) in changed {
        let programs = PROGRAMS.into_iter().filter_map(|(program, text)| match (program == name, instead) {
            (false, _) => Some((program, text)),
            (true, "") => None,
            (true, "podman") => Some(("podman", "podman version 5.5.2")),
            (true, other) => Some((program, other)),
        });
        let run = doctor(&sandbox, "", programs);
        found += &format!("# {name}: {instead:?}, exit code {}\n{}\n", run.exit_code().unwrap(), faults(&run));
    }
    snapbox::assert_data_eq!(
        found,
        str![[r##"
# rustc: "rustc 1.94.0", exit code 1
error    rust            missing a newer Rust: found 1.94, expected 1.95 or newer
                         help: run `rustup update stable`
# rustc: "", exit code 1
error    rust            missing a Rust toolchain: cannot run `rustc`
                         help: install Rust 1.95 or newer from https://rustup.rs
# cc: "", exit code 1
error    c-compiler      missing a C compiler, which links Rust programs and builds `ring` for TLS: cannot run `cc`
                         help: install it: `apt install gcc`, `dnf install gcc` or `apk add gcc musl-dev`
# kubectl: "", exit code 0
warning  kubectl         `kubectl` cannot be run; `make install` and `make deploy` need it
                         help: install it from https://kubernetes.io/docs/tasks/tools, or set KUBECTL
# docker: "", exit code 0
warning  container-tool  `docker` cannot be run; `make docker-build` needs it
                         help: install docker or podman, and set CONTAINER_TOOL if it is not docker
# docker: "podman", exit code 0
warning  container-tool  `docker` cannot be run; `make docker-build` needs it
                         help: run `make docker-build CONTAINER_TOOL=podman`, or set CONTAINER_TOOL
# memcached-sdk: "memcached-sdk 0.0.9", exit code 0
warning  memcached-sdk   `make` runs memcached-sdk 0.0.9; this is memcached-sdk 0.1.0
                         help: install one version of both

"##]]
    );
}

#[test]
fn each_fault_of_a_project_is_one_finding() {
    let mut found = String::new();
    let mut case = |name: &str, spoil: &dyn Fn(&Sandbox)| {
        let sandbox = project();
        spoil(&sandbox);
        let run = doctor(&sandbox, "", PROGRAMS);
        found += &format!("# {name}, exit code {}\n{}\n", run.exit_code().unwrap(), faults(&run));
    };
    let old = concat!("cliVersion: ", env!("CARGO_PKG_VERSION"));
    case("made by another version", &|sandbox| _ = sandbox.replace("PROJECT", old, "cliVersion: 0.0.9"));
    case("a broken PROJECT", &|sandbox| _ = sandbox.file("PROJECT", "version: ["));
    case("no lock file", &|sandbox| std::fs::remove_file(sandbox.path("Cargo.lock")).unwrap());
    case("two releases of kube", &|sandbox| {
        let lock = sandbox.read("Cargo.lock") + "\n[[package]]\nname = \"kube\"\nversion = \"4.0.0\"\n";
        sandbox.file("Cargo.lock", &lock);
    });
    case("an error in the source", &|sandbox| {
        _ = sandbox.replace("src/api/v1/memcached.rs", "pub struct", "pub strukt")
    });
    case("a type that is gone", &|sandbox| {
        sandbox.file("src/api/v1/memcached.rs", "");
    });
    case("a controller that is gone", &|sandbox| {
        std::fs::remove_file(sandbox.path("src/controller/memcached.rs")).unwrap();
        sandbox.file("src/controller.rs", "");
    });
    case("another field", &|sandbox| {
        sandbox.replace(
            "src/api/v1/memcached.rs",
            "pub struct MemcachedSpec {",
            "pub struct MemcachedSpec {\n    pub more: i32,",
        );
    });
    snapbox::assert_data_eq!(
        found,
        str![[r#"
# made by another version, exit code 0
warning  project         demo was written by memcached-sdk 0.0.9; this is 0.1.0
                         help: run `memcached-sdk update`
# a broken PROJECT, exit code 1
error    project         `PROJECT:1` is not valid YAML: unclosed bracket '['
                         help: restore the file from version control
# no lock file, exit code 1
warning  releases        `Cargo.toml` or `Cargo.lock` is missing or cannot be read
                         help: run `cargo fetch`
error    source          `Cargo.toml:1`: without a `Cargo.lock` the releases of kube and schemars are unknown
                         help: run `memcached-sdk generate --check`
# two releases of kube, exit code 0
warning  releases        the program links kube 4.0.0 and 5.0.0, whose types are incompatible
                         help: find who needs the older one with `cargo tree --invert kube@4.0.0`
# an error in the source, exit code 1
error    source          `src/api/v1/memcached.rs:21`: expected one of: `fn`, `extern`, `use`, `static`, `const`, `unsafe`, `mod`, `type`, `struct`, `enum`, `union`, `impl`, `trait`, `auto`, `macro`
                         help: run `memcached-sdk generate --check`
# a type that is gone, exit code 1
error    source          `PROJECT` lists `cache.example.com/v1 Memcached`, but the source has no such type
                         help: restore the type from version control, or remove the entry from `PROJECT`
error    manifests       `config/crd/bases/cache.example.com_memcacheds.yaml` and 1 more files are not up to date with the source
                         help: run `memcached-sdk generate`
# a controller that is gone, exit code 1
warning  controllers     `PROJECT` lists a controller for `cache.example.com/v1 Memcached`, but `src/controller/memcached.rs` is missing
                         help: restore the file from version control; if you moved it, nothing is wrong
error    manifests       `config/rbac/role.yaml` is not up to date with the source
                         help: run `memcached-sdk generate`
# another field, exit code 1
error    manifests       `config/crd/bases/cache.example.com_memcacheds.yaml` and 1 more files are not up to date with the source
                         help: run `memcached-sdk generate`

"#]]
    );
}

#[test]
fn programs_read_json() {
    let run = doctor(&Sandbox::new(), "-o json", PROGRAMS).success();
    let checks: serde_json::Value = serde_json::from_str(&run.out()).unwrap();
    let expected = serde_json::json!({
        "name": "project",
        "health": "warning",
        "message": "not in a project: could not find `PROJECT` in this folder or any parent folder",
        "help": "change to the folder of the project, or create a project with `memcached-sdk init`",
    });
    assert_eq!(checks["checks"].as_array().unwrap().last(), Some(&expected));
    assert_eq!(run.err(), "");
}
