//! A plan is applied wholly, or not at all, or can be completed by applying it again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use memcached_sdk::edit::EditError;
use memcached_sdk::plan::apply::{ApplyError, Change, Mode, apply, differs};
use memcached_sdk::plan::{Draft, IfExists, Plan, RelPath};

fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

fn write(root: &Path, mode: Mode, plan: &Plan) -> Result<Vec<Change>, ApplyError> {
    apply(plan, root, mode, &mut |_| Ok(()))
}

/// Every file and folder (with a trailing `/`) below `root`.
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
                tree.insert(name, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned());
            }
        }
    }
    let mut result = BTreeMap::new();
    if root.exists() {
        walk(root, root, &mut result);
    }
    result
}

fn append(line: &'static str) -> impl Fn(&str) -> Result<String, EditError> {
    move |text| Ok(if text.lines().any(|l| l == line) { text.to_owned() } else { format!("{text}{line}\n") })
}

/// What `create api` does, in small: new files, edits, a generated file, a removal, and the record.
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
    let shown = |changes: Vec<Change>| -> Vec<String> {
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
        ("config/crd/bases/", ""),
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

/// Stops `make()`'s run at the n-th change of the file system, for every n, and runs it again each time.
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
        assert_eq!(tree(dir.path()), expected, "interrupted at {stop_at}");
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
