//! `undo` takes back the last command that wrote, and nothing that was written since.

use std::path::Path;
use std::process::Command;

use snapbox::str;

use crate::sandbox::{OFFLINE, Sandbox};

const CREATE: &str = "create api --group cache --version v1 --kind Memcached";

#[test]
fn a_project_without_a_record_has_nothing_to_undo() {
    Sandbox::project("").run("undo").code(1).stdout("").stderr(str![[r#"
error: nothing to undo: no command has changed this project
help: to take back `init` or `new`, delete the folder

"#]]);
}

#[test]
fn a_file_that_has_changed_since_stays() {
    let sandbox = Sandbox::project("");
    let before = sandbox.files();
    sandbox.run(CREATE).success();
    // Neither changes a file.
    sandbox.run(&format!("{CREATE} --force")).success();
    sandbox.run(&format!("{CREATE} --kind Other --dry-run"));
    let created = sandbox.files();
    sandbox.run("undo --dry-run").success();
    assert_eq!(sandbox.files(), created);
    sandbox.file("src/api/v1/memcached.rs", "// mine\n");
    let edited = sandbox.files();
    sandbox.run("undo").code(1).stdout("").stderr(str![[r#"
error[file-conflict]: `src/api/v1/memcached.rs` has changed since `memcached-sdk create api --group cache --version v1 --kind Memcached`
--> src/api/v1/memcached.rs
 = help: revert your changes to the file first, or revert the command manually

"#]]);
    assert_eq!(sandbox.files(), edited);
    sandbox.file("src/api/v1/memcached.rs", &created["src/api/v1/memcached.rs"]);
    let run = sandbox.run("undo").success();
    assert!(run.err().contains("This took back `memcached-sdk create api --group"), "{run}");
    assert_eq!(sandbox.files(), before);
    assert!(!sandbox.path("src/api").exists());
}

fn git(folder: &Path, arguments: &str) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(arguments.split(' '));
    assert!(command.current_dir(folder).output().unwrap().status.success(), "{arguments}");
}

#[test]
fn the_record_is_in_the_git_directory_for_each_project() {
    let sandbox = Sandbox::new();
    git(sandbox.root(), "init --quiet main");
    git(&sandbox.path("main"), "commit --quiet --allow-empty --message a");
    git(&sandbox.path("main"), "worktree add --quiet ../linked");
    let run = |folder: &str, arguments: &str| {
        sandbox.finish(arguments, sandbox.command(arguments).current_dir(sandbox.path(folder))).success()
    };
    for folder in ["main/operators/a", "main/operators/b", "linked"] {
        std::fs::create_dir_all(sandbox.path(folder)).unwrap();
        let init = format!("init --domain example.com --project-name demo {OFFLINE}");
        run(folder, &init);
    }
    let before = sandbox.files();
    for folder in ["main/operators/a", "main/operators/b", "linked"] {
        run(folder, CREATE);
        assert!(!sandbox.path(folder).join("target").exists());
    }
    for record in ["operators/a", "operators/b"] {
        assert!(sandbox.path("main/.git/memcached-sdk").join(record).join("undo.json").is_file(), "{record}");
    }
    assert!(sandbox.path("main/.git/worktrees/linked/memcached-sdk/undo.json").is_file());
    for folder in ["main/operators/a", "main/operators/b", "linked"] {
        run(folder, "undo");
    }
    assert_eq!(sandbox.files(), before);
}

#[cfg(unix)]
#[test]
fn a_deleted_file_comes_back_with_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::project("");
    sandbox.run(CREATE).success();
    let file = sandbox.path("tests/memcached.rs");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o750)).unwrap();
    sandbox.run("delete api --version v1 --kind Memcached").success();
    assert!(!file.exists());
    sandbox.run("undo").success();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o750);
}
