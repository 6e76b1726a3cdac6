//! `make fixtures` and `make rollback` in a project with a git tag.

use std::process::{Command, Output};

use crate::generated::{self, Project};

const TAG: &str = "operator/v1.0.0";

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

#[test]
fn an_upgrade_and_a_roll_back_are_explored() {
    let project = Project::generate("fixtures");
    // Both checkouts share the libraries.
    let manifest = project.path("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let shared = ["manager", "explorer"].into_iter().fold(text, |text, library| {
        let path = generated::manager().with_file_name(library);
        text.replace(&format!("path = \"{library}\""), &format!("path = {path:?}"))
    });
    std::fs::write(&manifest, shared.replacen("members = [\"explorer\", \"manager\"]", "", 1)).unwrap();
    for arguments in [
        &["init", "--quiet"] as &[&str],
        &["add", "--all"],
        &["-c", "user.name=author", "-c", "user.email=author@example.com", "commit", "--quiet", "--message=release"],
        &["tag", TAG],
    ] {
        let output = Command::new("git").args(arguments).current_dir(project.path("")).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }
    let _building = generated::building();
    let make = |target: &str| {
        // The variables of a project's build, and none of the `make` that runs the tests.
        let mut command = Command::new("make");
        for (name, value) in project.cargo(&[]).get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.args([target, &format!("TAG={TAG}"), "EXPLORE=10s"]).current_dir(project.path(""));
        command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").output().unwrap()
    };
    let explore = || {
        let mut command = project.cargo(&["test", "--test", "explore_memcached", "--", "--nocapture"]);
        command.env("EXPLORE", "10s").output().unwrap()
    };

    let recorded = make("fixtures");
    assert!(recorded.status.success(), "{}", said(&recorded));
    assert!(project.path("tests/fixtures/memcacheds.cache.example.com/v1.0.0.json").exists(), "{}", said(&recorded));
    for output in [explore(), make("rollback")] {
        assert!(output.status.success(), "{}", said(&output));
        assert!(said(&output).contains(" release)"), "no release was explored: {}", said(&output));
    }

    // The next release names its Services in another way, and neither release deletes those of the other one.
    let desired = project.path("src/controller/memcached/desired.rs");
    let text = std::fs::read_to_string(&desired).unwrap();
    let place = "metadata: metadata(object),\n        spec: Some(core::ServiceSpec {";
    let renamed = "metadata: {\n            let mut metadata = metadata(object);\n            metadata.name = metadata.name.map(|name| name + \
                   \"-headless\");\n            metadata\n        },\n        spec: Some(core::ServiceSpec {";
    let changed = text.replacen(place, renamed, 1);
    assert_ne!(changed, text);
    std::fs::write(&desired, changed).unwrap();
    for (output, schedule, left) in [
        (explore(), "keep: release v1.0.0", "+ services default/memcached-sample"),
        (make("rollback"), "keep: release this-version", "+ services default/memcached-sample-headless"),
    ] {
        assert!(!output.status.success(), "{}", said(&output));
        for expected in [format!("Schedule\n  {schedule}\n"), format!("  {left}\n")] {
            assert!(said(&output).contains(&expected), "{expected}: {}", said(&output));
        }
    }
    let worktrees = Command::new("git").args(["worktree", "list"]).current_dir(project.path("")).output().unwrap();
    assert_eq!(said(&worktrees).lines().count(), 1, "{}", said(&worktrees));
}
