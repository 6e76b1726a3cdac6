//! Runs the workflows of a project step by step, with replacements for GitHub, a registry and kind.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::image::{container_tool, said};
use super::{CLUSTER, memcached_image};
use crate::cluster::{current_context, permitted};
use crate::control_plane::envtest::assets;
use crate::generated::{self, Project};
use crate::sandbox::files;

enum Step {
    Run,
    /// Runs this command instead.
    Instead(&'static str),
    /// Skips the step for this reason.
    Not(&'static str),
}

/// The action for each step with a command.
const STEPS: &[(&str, Step)] = &[
    ("rustup component add rustfmt clippy", Step::Run),
    ("make lint", Step::Run),
    ("make setup-memcached-sdk", Step::Instead("memcached-sdk --version")),
    ("memcached-sdk generate --check --diff", Step::Run),
    ("make setup-envtest", Step::Not("downloads from GitHub; KUBEBUILDER_ASSETS is what it would download")),
    ("make test", Step::Run),
    ("make rbac-lint", Step::Run),
    ("make docker-build", Step::Run),
    ("cargo install cargo-sbom --version 0.10.0 --locked", Step::Run),
    ("make sbom", Step::Run),
    (
        "docker login ghcr.io --username \"$GITHUB_ACTOR\" --password-stdin <<< \"$TOKEN\"",
        Step::Not("there is no registry to log in to"),
    ),
    (
        "make docker-buildx IMG=\"ghcr.io/${GITHUB_REPOSITORY,,}:$GITHUB_REF_NAME\"",
        Step::Not("there is no registry to push to"),
    ),
    ("kind create cluster", Step::Not("the node of this test is the cluster")),
    ("kind load docker-image \"$IMG\"", Step::Instead("$TESTS/load \"$IMG\"")),
    ("make test-e2e", Step::Run),
];

#[test]
#[ignore = "needs a cluster, and buildah as root: make test-e2e"]
fn every_step_runs() {
    permitted(&current_context(), std::env::var("E2E_CONTEXT").ok().as_deref()).unwrap();
    let _alone = CLUSTER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let _building = generated::building();
    let project = Project::generate("workflows");
    // Stop rustfmt's upward search before it finds this repository's settings.
    std::fs::write(project.path("../rustfmt.toml"), "").unwrap();
    let manager = project.path("config/manager/manager.yaml");
    let text = std::fs::read_to_string(&manager).unwrap();
    std::fs::write(&manager, text.replace("memcached:1.6-alpine", &memcached_image())).unwrap();

    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/node");
    let tools = generated::target().with_file_name("tools");
    let programs = Path::new(env!("CARGO_BIN_EXE_memcached-sdk")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let paths = [programs.to_owned(), tools.join("bin")].into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(paths).unwrap();
    let mut done = Vec::new();
    for (file, text) in files(&project.path(".github/workflows")) {
        let workflow: Value = serde_yaml::from_str(&text).unwrap();
        let variables = workflow["env"].as_object().into_iter().flatten();
        let variables: Vec<_> = variables.map(|(name, value)| (name, value.as_str().unwrap())).collect();
        for (job, steps) in workflow["jobs"].as_object().unwrap() {
            for command in steps["steps"].as_array().unwrap().iter().filter_map(|step| step["run"].as_str()) {
                let command = command.trim_end();
                let known = STEPS.iter().find(|(step, _)| *step == command);
                let (step, how) = known.unwrap_or_else(|| panic!("{file}: {job}: what is done for `{command}`?"));
                done.push(*step);
                let command = match how {
                    Step::Run => step,
                    Step::Instead(command) => command,
                    Step::Not(reason) => {
                        println!("{file}: {job}: not run: {step}: {reason}");
                        continue;
                    }
                };
                let mut bash = Command::new("bash");
                bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", command])
                    .current_dir(project.path(""))
                    .envs(variables.iter().copied())
                    .env("CARGO_TARGET_DIR", generated::target())
                    .env("CARGO_PROFILE_DEV_DEBUG", "none")
                    .env("CARGO_INSTALL_ROOT", &tools)
                    .env("CONTAINERS", generated::target().with_file_name("node"))
                    .env("CONTAINER_TOOL", container_tool())
                    .env("KUBEBUILDER_ASSETS", assets())
                    .env("PATH", &path)
                    .env("TESTS", &tests)
                    .env_remove("RUSTFLAGS");
                if let Err(error) = said(&mut bash) {
                    panic!("{file}: {job}: {error}");
                }
            }
        }
    }
    let unknown: Vec<_> = STEPS.iter().map(|(step, _)| *step).filter(|step| !done.contains(step)).collect();
    assert_eq!(unknown, Vec::<&str>::new(), "no workflow has these steps");
}
