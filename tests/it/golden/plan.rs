//! A plan is applied completely or not at all; after an interruption, a second run completes it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use memcached_sdk::edit::EditError;
use memcached_sdk::plan::apply::{ApplyError, FileChange, Mode, apply, differs};
use memcached_sdk::plan::{Draft, IfExists, Plan, RelPath};

use crate::random::Random;

fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

fn write(root: &Path, mode: Mode, plan: &Plan) -> Result<Vec<FileChange>, ApplyError> {
    apply(plan, root, mode, &mut |_| Ok(()))
}

fn tree(root: &Path) -> BTreeMap<String, String> {
    fn walk(root: &Path, folder: &Path, tree: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_symlink() {
                tree.insert(name, format!("-> {}", fs::read_link(&path).unwrap().display()));
            } else if path.is_dir() {
                tree.insert(name + "/", String::new());
                walk(root, &path, tree);
            } else {
                tree.insert(name, String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned());
            }
        }
    }
    let mut result = BTreeMap::new();
    if root.exists() {
        walk(root, root, &mut result);
    }
    result
}

/// Drops empty folders: a run that stops after removing the last file leaves its folder.
fn filled(mut tree: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let names: Vec<String> = tree.keys().cloned().collect();
    tree.retain(|name, _| !name.ends_with('/') || names.iter().any(|other| other != name && other.starts_with(name)));
    tree
}

fn append(line: &'static str) -> impl Fn(&str) -> Result<String, EditError> {
    move |text| {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        Ok(if text.lines().any(|l| l == line) { text.to_owned() } else { format!("{text}{end}{line}\n") })
    }
}

/// A small `create api`: new files, edits, a generated file, a removal, and PROJECT.
fn command(root: &Path) -> Plan {
    let mut draft = Draft::open(root);
    draft.scaffold(path("src/api/v1/a.rs"), "struct A;\n", IfExists::Refuse);
    draft.scaffold(path("config/crd/kustomization.yaml"), "resources:\n", IfExists::Skip);
    draft.edit(&path("config/crd/kustomization.yaml"), append("- a.yaml")).unwrap();
    draft.generate(path("config/rbac/role.yaml"), "rules: []\n");
    draft.edit(&path("src/main.rs"), append("mod a;")).unwrap();
    draft.remove(path("config/crd/bases/old.yaml"));
    draft.edit(&path("PROJECT"), append("- a")).unwrap();
    draft.finish()
}

fn project() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("PROJECT", "resources:\n"),
        ("src/main.rs", "fn main() {}\r\n"),
        ("config/rbac/role.yaml", "old\n"),
        ("config/crd/bases/old.yaml", "old\n"),
    ] {
        let file = root.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    root
}

#[test]
fn the_plan_becomes_true_and_a_second_run_changes_nothing() {
    let root = project();
    let plan = command(root.path());
    let shown = |changes: Vec<FileChange>| -> Vec<String> {
        changes.iter().map(|change| format!("{} {}", change.kind.as_str(), change.path)).collect()
    };
    let expected = [
        "update PROJECT",
        "remove config/crd/bases/old.yaml",
        "create config/crd/kustomization.yaml",
        "update config/rbac/role.yaml",
        "create src/api/v1/a.rs",
        "update src/main.rs",
    ];
    let before = tree(root.path());
    assert_eq!(shown(write(root.path(), Mode::DryRun, &plan).unwrap()), expected);
    assert_eq!(shown(write(root.path(), Mode::Check, &plan).unwrap()), expected);
    assert_eq!(tree(root.path()), before, "only Mode::Write writes");
    assert_eq!(shown(write(root.path(), Mode::Write, &plan).unwrap()), expected);

    let after = tree(root.path());
    let expected: BTreeMap<String, String> = [
        ("PROJECT", "resources:\n- a\n"),
        ("config/", ""),
        ("config/crd/", ""),
        ("config/crd/kustomization.yaml", "resources:\n- a.yaml\n"),
        ("config/rbac/", ""),
        ("config/rbac/role.yaml", "rules: []\n"),
        ("src/", ""),
        ("src/api/", ""),
        ("src/api/v1/", ""),
        ("src/api/v1/a.rs", "struct A;\n"),
        ("src/main.rs", "fn main() {}\r\nmod a;\r\n"),
    ]
    .map(|(name, text)| (name.to_owned(), text.to_owned()))
    .into();
    assert_eq!(after, expected);

    let again = write(root.path(), Mode::Write, &command(root.path())).unwrap();
    assert!(!differs(&again), "{:?}", shown(again));
    assert_eq!(tree(root.path()), after);
}

/// Interrupts `make()` before the n-th file system change, for every n, and runs it again.
fn interrupt_everywhere(setup: impl Fn() -> tempfile::TempDir, folder: &str, make: impl Fn(&Path) -> Plan) -> usize {
    let whole = setup();
    write(&whole.path().join(folder), Mode::Write, &make(&whole.path().join(folder))).unwrap();
    let expected = tree(whole.path());

    for stop_at in 1.. {
        let dir = setup();
        let root = dir.path().join(folder);
        let mut count = 0;
        let result = apply(&make(&root), &root, Mode::Write, &mut |_| {
            count += 1;
            if count >= stop_at { Err(io::Error::other("interrupted")) } else { Ok(()) }
        });
        if result.is_ok() {
            assert_eq!(tree(dir.path()), expected);
            return stop_at - 1;
        }
        if let Ok(record) = fs::read_to_string(root.join("PROJECT")) {
            assert!(!record.contains("- a"), "recorded before it was done, at {stop_at}");
        }
        write(&root, Mode::Write, &make(&root)).unwrap_or_else(|error| panic!("at {stop_at}: {error}"));
        assert_eq!(filled(tree(dir.path())), filled(expected.clone()), "interrupted at {stop_at}");
    }
    unreachable!()
}

#[test]
fn a_run_interrupted_anywhere_is_completed_by_the_same_command() {
    let operations = interrupt_everywhere(project, "", command);
    assert!(operations > 15, "only {operations} operations were seen");
}

#[test]
fn a_new_project_appears_at_once_or_not_at_all() {
    let make = |root: &Path| {
        let mut draft = Draft::open(root);
        draft.scaffold(path("PROJECT"), "- a\n", IfExists::Refuse);
        draft.scaffold(path("src/main.rs"), "fn main() {}\n", IfExists::Refuse);
        draft.scaffold(path("src/lib.rs"), "", IfExists::Refuse);
        draft.finish()
    };
    let operations = interrupt_everywhere(|| tempfile::tempdir().unwrap(), "deep/new-operator", make);
    assert_eq!(operations, 7, "deep, the staging folder, src, three files, one rename");
}

type Setup = fn(&Path);
type Make = fn(&mut Draft);

fn put(root: &Path, name: &str, text: &str) {
    let file = root.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

#[test]
fn every_conflict_is_found_and_nothing_is_written() {
    use std::os::unix::fs::symlink;
    let cases: [(Setup, Make, &[&str]); 9] = [
        (
            |root| put(root, "Makefile", "mine"),
            |draft| draft.scaffold(path("Makefile"), "ours", IfExists::Refuse),
            &["`Makefile` already exists with different content"],
        ),
        (
            |root| put(root, "config/x", "mine"),
            |draft| draft.generate(path("config"), "ours"),
            &["`config` is a folder"],
        ),
        (
            |root| put(root, "config", "mine"),
            |draft| draft.generate(path("config/crd/a.yaml"), "ours"),
            &["`config/crd/a.yaml` cannot be written: `config` is a file, not a folder"],
        ),
        (
            |root| {
                symlink("/etc/hostname", root.join("a")).unwrap();
                symlink("/etc", root.join("b")).unwrap();
                symlink("nowhere", root.join("c")).unwrap();
            },
            |draft| {
                draft.generate(path("a"), "ours");
                draft.generate(path("b/passwd"), "ours");
                draft.generate(path("b/new/file"), "ours");
                draft.generate(path("c"), "ours");
            },
            &[
                "`a` is behind a symbolic link to a path outside of the project",
                "`b/new/file` is behind a symbolic link to a path outside of the project",
                "`b/passwd` is behind a symbolic link to a path outside of the project",
                "`c` is behind a dangling symbolic link",
            ],
        ),
        (
            |root| {
                put(root, "a", "one");
                symlink("a", root.join("b")).unwrap();
            },
            |draft| {
                draft.generate(path("a"), "two");
                draft.generate(path("b"), "three");
            },
            &["`b` is the same file as `a`"],
        ),
        (
            |_| {},
            |draft| {
                draft.generate(path("a"), "ours");
                draft.generate(path("a/b/c"), "ours");
            },
            &["`a/b/c` cannot be written: `a` is a file of the same command"],
        ),
        (
            |root| drop(std::os::unix::net::UnixListener::bind(root.join("a")).unwrap()),
            |draft| draft.generate(path("a"), "ours"),
            &["`a` is neither a file nor a folder"],
        ),
        (
            |root| put(root, "a", "mine"),
            |draft| {
                draft.edit(&path("a"), append("line")).unwrap();
                fs::write(draft.root().join("a"), "changed").unwrap();
            },
            &["`a` was changed while the command ran"],
        ),
        (
            |root| put(root, "a", "mine"),
            |draft| {
                draft.edit(&path("a"), append("line")).unwrap();
                fs::remove_file(draft.root().join("a")).unwrap();
            },
            &["`a` was removed while the command ran"],
        ),
    ];
    for (setup, make, expected) in cases {
        let root = tempfile::tempdir().unwrap();
        setup(root.path());
        let mut draft = Draft::open(root.path());
        make(&mut draft);
        draft.generate(path("innocent"), "text");
        let before = tree(root.path());
        let plan = draft.finish();
        for mode in [Mode::Write, Mode::DryRun] {
            let mut touched = false;
            let result = apply(&plan, root.path(), mode, &mut |_| {
                touched = true;
                Ok(())
            });
            let Err(error @ ApplyError::Conflicts(_)) = result else { panic!("{expected:?}: {result:?}") };
            let found: Vec<String> = error.diagnostics().iter().map(|found| found.message.clone()).collect();
            assert_eq!(found, expected);
            assert!(error.diagnostics().iter().all(|found| found.help.is_some()));
            assert!(!touched);
        }
        assert_eq!(tree(root.path()), before);
    }
}

#[test]
fn what_is_on_disk_decides_over_a_scaffolded_file() {
    use memcached_sdk::plan::apply::ChangeKind::{Create, Skip, Unchanged, Update};
    for (disk, if_exists, mode, expected) in [
        (None, IfExists::Refuse, Mode::Write, Create),
        (Some("ours"), IfExists::Refuse, Mode::Write, Unchanged),
        (Some("ours"), IfExists::Skip, Mode::Write, Unchanged),
        (Some("ours"), IfExists::Overwrite, Mode::Write, Unchanged),
        (Some("mine"), IfExists::Skip, Mode::Write, Skip),
        (Some("mine"), IfExists::Overwrite, Mode::Write, Update),
        (Some("mine"), IfExists::Refuse, Mode::Check, Update),
    ] {
        let root = tempfile::tempdir().unwrap();
        if let Some(text) = disk {
            put(root.path(), "a", text);
        }
        let mut draft = Draft::open(root.path());
        draft.scaffold(path("a"), "ours", if_exists);
        let changes = write(root.path(), mode, &draft.finish()).unwrap();
        assert_eq!(changes[0].kind, expected, "{disk:?} {if_exists:?}");
    }
}

#[test]
fn a_draft_reads_what_is_pending_and_edits_compose() {
    let root = tempfile::tempdir().unwrap();
    put(root.path(), "kept", "mine\n");
    put(root.path(), "same", "ours\n");
    fs::write(root.path().join("binary"), [0xff, 0xfe]).unwrap();
    let mut draft = Draft::open(root.path());
    let read = |draft: &Draft, name: &str| draft.read(&path(name)).unwrap();
    assert_eq!(read(&draft, "kept").as_deref(), Some("mine\n"));
    assert_eq!(read(&draft, "none"), None);
    assert_eq!(read(&draft, "kept/below"), None);
    for name in ["kept", "same", "new"] {
        draft.scaffold(path(name), "ours\n", IfExists::Skip);
        draft.edit(&path(name), append("1")).unwrap();
        draft.edit(&path(name), append("2")).unwrap();
        draft.scaffold(path(name), "again\n", IfExists::Skip);
    }
    assert_eq!(read(&draft, "kept").as_deref(), Some("mine\n1\n2\n"));
    assert_eq!(read(&draft, "same").as_deref(), Some("ours\n1\n2\n"));
    assert_eq!(read(&draft, "new").as_deref(), Some("ours\n1\n2\n"));
    draft.generate(path("gen"), "a\n");
    draft.edit(&path("gen"), append("1")).unwrap();
    assert_eq!(read(&draft, "gen").as_deref(), Some("a\n1\n"));
    draft.remove(path("gen"));
    assert_eq!(read(&draft, "gen"), None);

    for (name, expected) in [
        ("gen", "cannot edit `gen`: file not found"),
        ("none", "cannot edit `none`: file not found"),
        ("binary", "`binary` is not UTF-8 text"),
    ] {
        let error = draft.edit(&path(name), append("1")).unwrap_err();
        assert_eq!(format!("{error:#}"), expected);
    }
    let error = draft.edit(&path("kept"), |_| Err(EditError::new("no"))).unwrap_err();
    assert_eq!(format!("{error:#}"), "cannot edit `kept`: no");

    write(root.path(), Mode::Write, &draft.finish()).unwrap();
    assert_eq!(tree(root.path())["kept"], "mine\n1\n2\n");
    assert_eq!(tree(root.path())["same"], "ours\n1\n2\n");
}

#[test]
fn mode_bits_and_links_stay_and_a_removed_link_is_only_the_link() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let root = tempfile::tempdir().unwrap();
    put(root.path(), "real/run.sh", "old\n");
    put(root.path(), "real/kept.yaml", "kept\n");
    fs::set_permissions(root.path().join("real/run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("real/run.sh", root.path().join("run.sh")).unwrap();
    symlink("real", root.path().join("linked")).unwrap();
    symlink("real/kept.yaml", root.path().join("old.yaml")).unwrap();
    let mut draft = Draft::open(root.path());
    draft.generate(path("run.sh"), "new\n");
    draft.generate(path("linked/deep/new.yaml"), "new\n");
    draft.remove(path("old.yaml"));
    write(root.path(), Mode::Write, &draft.finish()).unwrap();
    let expected: BTreeMap<String, String> = [
        ("linked", "-> real"),
        ("real/", ""),
        ("real/deep/", ""),
        ("real/deep/new.yaml", "new\n"),
        ("real/kept.yaml", "kept\n"),
        ("real/run.sh", "new\n"),
        ("run.sh", "-> real/run.sh"),
    ]
    .map(|(name, text)| (name.to_owned(), text.to_owned()))
    .into();
    assert_eq!(tree(root.path()), expected);
    let mode = fs::metadata(root.path().join("real/run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
}

#[test]
fn leftovers_are_swept_also_when_nothing_else_is_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("p");
    for name in
        ["p/.memcached-sdk-staging/3", "p/.PROJECT.memcached-sdk-staging", ".p.memcached-sdk-staging/src/a", "p/a"]
    {
        put(dir.path(), name, "a");
    }
    let mut draft = Draft::open(&root);
    draft.generate(path("a"), "a");
    let plan = draft.finish();
    write(&root, Mode::DryRun, &plan).unwrap();
    assert!(root.join(".memcached-sdk-staging").exists(), "only Mode::Write changes the disk");
    write(&root, Mode::Write, &plan).unwrap();
    assert_eq!(tree(dir.path()).into_keys().collect::<Vec<_>>(), ["p/", "p/a"]);
}

#[test]
fn two_runs_do_not_write_at_the_same_time() {
    let root = project();
    let plan = command(root.path());
    let mut inner = None;
    apply(&plan, root.path(), Mode::Write, &mut |_| {
        inner.get_or_insert_with(|| write(root.path(), Mode::Write, &plan));
        Ok(())
    })
    .unwrap();
    assert!(matches!(inner, Some(Err(ApplyError::Busy(_)))), "{inner:?}");
}

#[test]
fn the_diff_is_one_that_git_applies() {
    use memcached_sdk::plan::report;
    let root = project();
    put(root.path(), "README.md", "no newline at the end");
    let mut draft = Draft::open(root.path());
    draft.edit(&path("README.md"), append("!")).unwrap();
    draft.generate(path("empty"), "");
    draft.edit(&path("src/main.rs"), append("mod a;")).unwrap();
    draft.remove(path("config/crd/bases/old.yaml"));
    let plan = draft.finish();
    let patch = root.path().join("patch");
    let changes = write(root.path(), Mode::DryRun, &plan).unwrap();
    fs::write(&patch, report::diff(&changes)).unwrap();
    let git = std::process::Command::new("git").args(["apply", "patch"]).current_dir(root.path()).output().unwrap();
    assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
    for change in changes {
        let now = fs::read_to_string(root.path().join(change.path.as_str())).ok();
        assert_eq!(now, change.after, "{}", change.path);
    }
}

const PATHS: [&str; 8] = ["PROJECT", "a", "b/c", "b/d", "b/e/f", "g/h/i", "j", "b"];
const TEXTS: [&str; 5] = ["", "x\n", "x\r\ny\r\n", "- a\n", "no newline"];

/// The command depends on the seed only, not on the files.
fn random_command(root: &Path, seed: u64) -> anyhow::Result<Plan> {
    let mut random = Random(seed);
    let mut draft = Draft::open(root);
    for name in PATHS {
        let target = path(name);
        let (text, then_edited) = (random.pick(&TEXTS), random.below(2) == 0);
        let if_exists = random.pick(&[IfExists::Skip, IfExists::Skip, IfExists::Overwrite, IfExists::Refuse]);
        match random.below(6) {
            1 => draft.generate(target, text),
            2 => draft.remove(target),
            3 if root.join(name).is_file() => draft.edit(&target, append("line"))?,
            0 | 3 => {}
            _ => {
                draft.scaffold(target.clone(), text, if_exists);
                if then_edited {
                    draft.edit(&target, append("line"))?;
                }
            }
        }
    }
    Ok(draft.finish())
}

#[test]
fn random_commands_on_random_trees_are_all_or_nothing_and_can_be_run_again() {
    let (mut applied, mut refused) = (0, 0);
    for seed in 0..120 {
        let setup = || {
            let mut random = Random(seed ^ 0x5eed);
            let root = tempfile::tempdir().unwrap();
            for name in &PATHS[..PATHS.len() - 1] {
                if random.below(2) == 0 {
                    put(root.path(), name, random.pick(&TEXTS));
                }
            }
            root
        };
        let whole = setup();
        let before = tree(whole.path());
        let Ok(plan) = random_command(whole.path(), seed) else { continue };
        if write(whole.path(), Mode::Write, &plan).is_err() {
            assert_eq!(tree(whole.path()), before, "seed {seed}");
            refused += 1;
            continue;
        }
        applied += 1;
        let after = tree(whole.path());
        assert!(after.keys().all(|name| !name.contains("staging")), "seed {seed}");

        let part = setup();
        let mut left = Random(seed).below(25_usize);
        let result = apply(&random_command(part.path(), seed).unwrap(), part.path(), Mode::Write, &mut |_| {
            left = left.checked_sub(1).ok_or_else(|| io::Error::other("interrupted"))?;
            Ok(())
        });
        if matches!(result, Err(ApplyError::Stage { .. })) {
            let mut now = tree(part.path());
            now.retain(|name, _| !name.contains("staging") && before.contains_key(name));
            assert_eq!(now, before, "seed {seed}");
        }
        let again = random_command(part.path(), seed).unwrap_or_else(|error| panic!("seed {seed}: {error:#}"));
        write(part.path(), Mode::Write, &again).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(tree(part.path()), after, "seed {seed}");
    }
    assert!(applied > 25 && refused > 25, "{applied} applied, {refused} refused");
}

#[test]
fn a_folder_that_can_not_be_written_is_found_before_anything_is_written() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    const NOBODY: u32 = 65534;
    // The build folder may be unreadable for other users.
    let bin = tempfile::tempdir().unwrap();
    fs::set_permissions(bin.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = bin.path().join("memcached-sdk");
    fs::copy(env!("CARGO_BIN_EXE_memcached-sdk"), &program).unwrap();
    for (locked, expected) in [
        ("", "`.dockerignore` cannot be written: the project folder is not writable"),
        ("config/rbac", "cannot be written: folder `config/rbac` is not writable"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("memcached-operator");
        fs::create_dir_all(root.join(locked)).unwrap();
        let is_root = fs::metadata(&root).unwrap().uid() == 0;
        for folder in [dir.path(), &root, &root.join("config"), &root.join(locked)] {
            if folder.exists() {
                let mode = if folder == root.join(locked) { 0o555 } else { 0o777 };
                fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        let before = tree(dir.path());
        let mut command = std::process::Command::new(&program);
        command.current_dir(dir.path());
        command.args(["init", "--domain=example.com", "--skip-toolchain-check", "--fetch-deps=false"]).arg(&root);
        if is_root {
            // Root ignores file permissions.
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = loop {
            match command.output() {
                // A concurrent fork may still hold the copy open for writing.
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {}
                result => break result.unwrap(),
            }
        };
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
        assert_eq!(stderr.matches("cannot be written").count(), 1, "{stderr}");
        assert_eq!(tree(dir.path()), before);
        fs::set_permissions(root.join(locked), fs::Permissions::from_mode(0o755)).unwrap();
    }
}
