//! Running an interrupted command again gives the same bytes as an uninterrupted run, for any point of interruption.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::golden::adopt;
use crate::sandbox::{OFFLINE, Sandbox, files};

const CREATE: &str = "create api --group cache --version v1alpha1 --kind Memcached --image memcached:1.6-alpine";
const ABORT: &str = "MEMCACHED_SDK_ABORT_AT_FILE_OPERATION";

/// Files before and after the command.
fn states() -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let sandbox = Sandbox::project("");
    let before = sandbox.files();
    sandbox.run(CREATE).success();
    (before, sandbox.files())
}

fn restore(sandbox: &Sandbox, tree: &BTreeMap<String, String>) {
    for entry in std::fs::read_dir(sandbox.root()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
    }
    for (path, text) in tree {
        sandbox.file(path, text);
    }
}

/// Runs the command again after an interruption. It may refuse only if all files are complete.
fn repair(sandbox: &Sandbox, after: &BTreeMap<String, String>, when: &str) {
    let complete = sandbox.files() == *after;
    let run = sandbox.run(CREATE);
    if complete {
        assert!(run.exit_code() == Some(1) && run.err().contains("API resource already exists"), "{when}: {run}");
    } else {
        assert_eq!(run.exit_code(), Some(0), "{when}: {run}");
    }
    let repaired = sandbox.files();
    let names = |tree: &BTreeMap<String, String>| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&repaired), names(after), "{when}");
    for (path, text) in after {
        assert_eq!(&repaired[path], text, "{when}: {path}");
    }
}

#[test]
fn create_api_aborted_at_every_file_operation() {
    let (before, after) = states();
    let sandbox = Sandbox::new();
    let mut interrupted = 0;
    loop {
        restore(&sandbox, &before);
        let operation = interrupted + 1;
        let mut command = sandbox.command(CREATE);
        command.env(ABORT, operation.to_string()).stderr(Stdio::null()).stdout(Stdio::null());
        if command.status().unwrap().success() {
            break;
        }
        interrupted = operation;
        let left = sandbox.files();
        assert!(left.get("PROJECT") != after.get("PROJECT") || left == after, "PROJECT is not the last file");
        repair(&sandbox, &after, &format!("aborted at operation {operation}"));
        sandbox.run("undo").success();
        assert_eq!(sandbox.files(), before, "undone after an abort at operation {operation}");
    }
    // Each new file takes at least two operations: stage and rename.
    let new = after.len() - before.len();
    assert!(interrupted >= 2 * new, "{interrupted} operations for {new} new files");
}

/// `init` in an existing crate is not one rename of a new folder.
#[test]
fn init_in_a_crate_aborted_at_every_file_operation() {
    let sandbox = Sandbox::new();
    adopt::crate_in(&sandbox, "");
    sandbox.lock();
    let before = sandbox.files();
    sandbox.run("init").success();
    let after = sandbox.files();
    for operation in 1.. {
        restore(&sandbox, &before);
        let mut command = sandbox.command("init");
        command.env(ABORT, operation.to_string()).stderr(Stdio::null()).stdout(Stdio::null());
        if command.status().unwrap().success() {
            assert!(operation > 2 * (after.len() - before.len()));
            break;
        }
        let left = sandbox.files();
        assert!(!left.contains_key("PROJECT") || left == after, "PROJECT is not the last file");
        sandbox.run("init").success();
        assert_eq!(sandbox.files(), after, "aborted at operation {operation}");
        sandbox.run("undo").success();
        assert_eq!(sandbox.files(), before, "undone after an abort at operation {operation}");
    }
}

#[test]
fn undo_aborted_at_every_file_operation() {
    let sandbox = Sandbox::project("");
    let before = sandbox.files();
    sandbox.run(CREATE).success();
    let after = sandbox.files();
    for operation in 1.. {
        let mut command = sandbox.command("undo");
        command.env(ABORT, operation.to_string()).stderr(Stdio::null()).stdout(Stdio::null());
        if command.status().unwrap().success() {
            assert_eq!(sandbox.files(), before);
            assert!(operation > after.len() - before.len());
            break;
        }
        sandbox.run("undo").success();
        assert_eq!(sandbox.files(), before, "aborted at operation {operation}");
        sandbox.run("undo").success();
        assert_eq!(sandbox.files(), after, "undone twice after an abort at operation {operation}");
    }
}

#[test]
fn an_aborted_command_is_undone() {
    let sandbox = Sandbox::project("");
    let before = sandbox.files();
    for operation in (40..).step_by(7) {
        let mut command = sandbox.command(CREATE);
        command.env(ABORT, operation.to_string()).stderr(Stdio::null()).stdout(Stdio::null());
        if command.status().unwrap().success() {
            break;
        }
        if sandbox.files().keys().filter(|path| !path.contains("memcached-sdk-staging")).ne(before.keys()) {
            sandbox.run("undo").success();
            assert_eq!(sandbox.files(), before, "aborted at operation {operation}");
        }
    }
}

/// Commands that change a project, each with the commands before it.
const CHANGES: [(&[&str], &str); 5] = [
    (&[CREATE], "rename api --kind Memcached --to-kind Store"),
    (&[CREATE], "rename project another"),
    (&[CREATE], "edit --domain acme.org"),
    (&[CREATE], "edit --multigroup"),
    (&[CREATE], "delete api --group cache --version v1alpha1 --kind Memcached"),
];

#[test]
fn a_change_that_was_interrupted_is_completed_by_the_same_command() {
    for (commands, change) in CHANGES {
        let sandbox = Sandbox::project("");
        for command in commands {
            sandbox.run(command).success();
        }
        let before = sandbox.files();
        sandbox.run(change).success();
        let after = sandbox.files();
        let mut interrupted = 0;
        for operation in (1..).step_by(13) {
            restore(&sandbox, &before);
            let mut command = sandbox.command(change);
            command.env(ABORT, operation.to_string()).stderr(Stdio::null()).stdout(Stdio::null());
            if command.status().unwrap().success() {
                break;
            }
            interrupted += 1;
            if sandbox.files() != after {
                let run = sandbox.run(change);
                assert_eq!(run.exit_code(), Some(0), "{change}, aborted at operation {operation}: {run}");
            }
            let (found, paths) =
                (sandbox.files(), |tree: &BTreeMap<String, String>| tree.keys().cloned().collect::<Vec<_>>());
            assert_eq!(paths(&found), paths(&after), "{change}, aborted at operation {operation}");
            for (path, text) in &after {
                assert_eq!(&found[path], text, "{change}, aborted at operation {operation}: {path}");
            }
        }
        assert!(interrupted > 1, "{change}: {interrupted}");
    }
}

/// Kills at random moments, and aborts at random file operations. CRASH_ROUNDS and CRASH_SEED change the run.
#[test]
fn a_change_killed_at_random_is_completed_by_the_same_command() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let rounds = number("CRASH_ROUNDS").unwrap_or(6);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = number("CRASH_SEED").unwrap_or_else(|| u64::from(now.subsec_nanos())) | 1;
    println!("CRASH_SEED={seed}");
    let history = Sandbox::new();
    for (template, from, to) in [
        ("init/Makefile.tera", "TIMEOUT ?= 5m\n", "TIMEOUT ?= 3m\n"),
        ("init/README.md.tera", "## Run it\n", "## Start it\n"),
        ("init/config/manager/manager.yaml.tera", "replicas: 1\n", "replicas: 2\n"),
        ("init/src/main.rs.tera", "//! Runs the operator", "//! Starts the operator"),
    ] {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("templates").join(template));
        let text = text.unwrap();
        assert!(text.contains(from), "{template} has no {from:?}");
        history.file(&format!("0.0.1/{template}"), &text.replacen(from, to, 1));
    }
    history.file("0.0.1/init/clippy.toml.tera.absent", "");
    let command = |sandbox: &Sandbox, arguments: &str| {
        let mut command = sandbox.command(arguments);
        command.env("MEMCACHED_SDK_HISTORY", history.root()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let sandbox = Sandbox::project("");
    sandbox.run(CREATE).success();
    let project = sandbox.files();
    // A project of the earlier version.
    let version = format!("cliVersion: {}", env!("CARGO_PKG_VERSION"));
    sandbox.replace("PROJECT", &version, "cliVersion: 0.0.1");
    for (path, from, to) in
        [("Makefile", "TIMEOUT ?= 5m\n", "TIMEOUT ?= 3m\n"), ("README.md", "## Run it\n", "## Start it\n")]
    {
        sandbox.replace(path, from, to);
    }
    sandbox.replace("config/manager/manager.yaml", "replicas: 1\n", "replicas: 2\n");
    sandbox.replace("src/main.rs", "//! Runs the operator", "//! Starts the operator");
    std::fs::remove_file(sandbox.path("clippy.toml")).unwrap();
    let earlier = sandbox.files();
    let changes = [
        ("update", &earlier),
        ("rename api --kind Memcached --to-kind Store", &project),
        ("rename project another", &project),
        ("delete api --group cache --version v1alpha1 --kind Memcached", &project),
        ("edit --domain acme.org", &project),
    ];
    let whole = changes.map(|(change, before)| {
        restore(&sandbox, before);
        let started = Instant::now();
        assert!(command(&sandbox, change).status().unwrap().success(), "{change}");
        let after = sandbox.files();
        let paths = after.keys().chain(before.keys()).collect::<std::collections::BTreeSet<_>>();
        let changed = paths.into_iter().filter(|path| after.get(*path) != before.get(*path)).count();
        assert!(changed > 3, "{change}: {changed}");
        (after, started.elapsed(), u64::try_from(changed).unwrap())
    });
    let mut random = seed;
    let mut midway = 0;
    for round in 0..rounds {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let at = usize::try_from(round).unwrap() % changes.len();
        let ((change, before), (after, whole, changed)) = (changes[at], &whole[at]);
        restore(&sandbox, before);
        let when = if (round / 5) % 2 == 0 {
            let delay = whole.mul_f64(f64::from(u32::try_from(random % 1000).unwrap()) / 1000.0);
            let mut child = command(&sandbox, change).spawn().unwrap();
            wait_busily(delay);
            child.kill().unwrap();
            child.wait().unwrap();
            format!("CRASH_SEED={seed}, round {round}: {change}, killed after {delay:?}")
        } else {
            // A changed file is at least staged and renamed.
            let operation = 1 + random % (2 * changed);
            command(&sandbox, change).env(ABORT, operation.to_string()).status().unwrap();
            format!("CRASH_SEED={seed}, round {round}: {change}, aborted at operation {operation}")
        };
        let left = sandbox.files();
        midway += u32::from(left != *before && left != *after);
        if left != *after {
            assert!(command(&sandbox, change).status().unwrap().success(), "{when}");
        }
        let found = sandbox.files();
        assert_eq!(found.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "{when}");
        for (path, text) in after {
            assert_eq!(&found[path], text, "{when}: {path}");
        }
        println!("{when}: completed, {midway} of {} in the middle of the writing", round + 1);
    }
}

#[test]
fn a_lock_file_that_was_left_behind_is_brought_up_to_date() {
    let sandbox = Sandbox::project("");
    let cargo = |arguments: &str| {
        let mut command = Command::new("cargo");
        command.args(arguments.split(' ')).current_dir(sandbox.root()).stdin(Stdio::null());
        command.output().unwrap()
    };
    let locked = || cargo("metadata --locked --format-version=1").status.success();
    assert!(cargo("generate-lockfile").status.success());
    assert!(locked());
    // Like a kill before cargo ends.
    let mut command = sandbox.command(CREATE);
    assert!(command.env("CARGO", "/nonexistent/cargo").output().unwrap().status.success());
    assert!(!locked());
    for mode in ["--dry-run", "--check"] {
        sandbox.run(&format!("{CREATE} {mode}")).code(1);
        assert!(!locked(), "{mode}");
    }
    let message = sandbox.run(CREATE).code(1).err();
    assert!(message.contains("API resource already exists"), "{message}");
    assert!(locked(), "{message}");
    let message = sandbox.run(CREATE).code(1).err();
    assert!(!message.contains("fetching"), "{message}");
}

#[test]
fn a_new_project_is_there_wholly_or_not_at_all() {
    let new = format!("new demo --sample memcached --skip-git-init {OFFLINE}");
    let whole = Sandbox::new();
    whole.run(&new).success();
    // All operations before the final rename are alike, so try only some.
    let mut operation = 1;
    loop {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command(&new);
        command.env(ABORT, operation.to_string()).stderr(Stdio::null()).stdout(Stdio::null());
        if command.status().unwrap().success() {
            break;
        }
        assert!(!sandbox.path("demo").exists(), "operation {operation}");
        sandbox.run(&new).success();
        assert_eq!(sandbox.files(), whole.files(), "operation {operation}");
        operation += 17;
    }
    assert!(operation > whole.files().len());
}

#[test]
fn create_api_killed_100_times() {
    let (before, after) = states();
    let sandbox = Sandbox::new();
    let started = Instant::now();
    sandbox_run(&sandbox, &before);
    let whole = started.elapsed();

    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    let mut random = u64::from(seed) | 1;
    let mut midway = 0;
    for kill in 0..100 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let delay = whole.mul_f64(f64::from(u32::try_from(random % 1000).unwrap()) / 1000.0);
        restore(&sandbox, &before);
        let mut child = sandbox.command(CREATE).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_busily(delay);
        child.kill().unwrap();
        child.wait().unwrap();
        let left = files(sandbox.root());
        midway += u32::from(left != before && left != after);
        repair(&sandbox, &after, &format!("seed {seed}, kill {kill} after {delay:?}"));
    }
    println!("seed {seed}: {midway} of 100 kills hit the writing");
}

fn sandbox_run(sandbox: &Sandbox, before: &BTreeMap<String, String>) {
    restore(sandbox, before);
    sandbox.run(CREATE).success();
}

/// A sleep is too coarse to hit the moment of a kill.
fn wait_busily(delay: Duration) {
    let started = Instant::now();
    while started.elapsed() < delay {
        std::hint::spin_loop();
    }
}

/// The hook must not break an ordinary run.
#[test]
fn the_abort_hook_counts_from_one_and_ignores_what_is_no_number() {
    for value in ["", "x", "-1", "999999999"] {
        let sandbox = Sandbox::new();
        let status =
            sandbox.command(&format!("init --project-name demo {OFFLINE} -q")).env(ABORT, value).status().unwrap();
        assert!(status.success(), "{value:?}");
        assert!(Path::new(&sandbox.path("PROJECT")).is_file());
    }
}
