//! `tests/samples` is the current output of the commands. `SNAPSHOTS=overwrite` refreshes it; review the diff.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use memcached_sdk::runtime::{LIBRARIES, Library};

use crate::sandbox::{OFFLINE, Sandbox, files, join};

pub(crate) const MULTI_GROUP: [&str; 8] = [
    "init --multigroup --domain example.org --project-name multi-group --owner The_Authors",
    "create api --group ship --version v1beta1 --kind Frigate",
    "create api --group ship --version v1 --kind Frigate",
    "create api --group sea-creatures --version v1alpha1 --kind HumpbackWhaleMigrationObservation --namespaced=false --short-name hwmo",
    "create api --group apps --version v1 --kind ReplicaSet --resource=false",
    "create api --group ship --version v1 --kind Frigate --resource=false --controller-name frigate-backup",
    "create webhook --group ship --version v1beta1 --kind Frigate --conversion --spoke v1",
    "create webhook --group ship --version v1beta1 --kind Frigate --defaulting --programmatic-validation",
];

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name)
}

/// The crates that projects contain: the manager and the explorer.
pub(crate) fn libraries() -> BTreeMap<String, String> {
    let of_library = |library: &Library| {
        let folder = library.folder;
        library.copy().unwrap().into_iter().map(move |(path, text)| (format!("{folder}/{path}"), text))
    };
    LIBRARIES.iter().flat_map(of_library).collect()
}

/// Returns true for a file of these crates in a project.
pub(crate) fn is_of_library(path: &str) -> bool {
    LIBRARIES.iter().any(|library| path.split('/').next() == Some(library.folder))
}

/// A sample with these crates, which the checked-in samples omit.
pub(crate) fn whole(name: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in files(&sample(name)).into_iter().chain(libraries()) {
        sandbox.file(&path, &text);
    }
    sandbox
}

/// Compares complete trees, except Cargo.lock, which cargo writes, and the libraries, which are equal in all samples.
fn check(name: &str, actual: &BTreeMap<String, String>) {
    let (shipped, actual): (BTreeMap<_, _>, BTreeMap<_, _>) =
        actual.clone().into_iter().partition(|(path, _)| is_of_library(path));
    assert!(join(&shipped) == join(&libraries()), "{name} has other libraries than those that are shipped");
    let actual = &actual;
    let folder = sample(name);
    if std::env::var("SNAPSHOTS").is_ok_and(|action| action == "overwrite") {
        let kept = std::fs::read(folder.join("Cargo.lock")).ok();
        if folder.exists() {
            for path in files(&folder).keys() {
                std::fs::remove_file(folder.join(path)).unwrap();
            }
        }
        for (path, text) in actual {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        if let Some(lock) = kept {
            std::fs::write(folder.join("Cargo.lock"), lock).unwrap();
        }
    }
    let mut expected = files(&folder);
    expected.remove("Cargo.lock");
    let names = |files: &BTreeMap<String, String>| files.keys().map(|path| format!("{path}\n")).collect::<String>();
    let help = "run `SNAPSHOTS=overwrite cargo test --test it samples` and read the diff";
    assert_eq!(names(actual), names(&expected), "{name}: {help}");
    for (path, text) in actual {
        assert!(
            *text == expected[path],
            "{name}/{path} differs: {help}\n{}",
            join(&[(path.clone(), text.clone())].into())
        );
    }
}

#[test]
fn memcached_operator() {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("new memcached-operator --sample memcached --skip-git-init {OFFLINE}")).success();
    check("memcached-operator", &files(&sandbox.path("memcached-operator")));
}

#[test]
fn the_memcached_operator_step_by_step_is_the_same() {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("init --project-name memcached-operator --domain example.com {OFFLINE}")).success();
    sandbox
        .run(
            "create api --group cache --version v1alpha1 --kind Memcached --short-name mc --make=false \
             --image memcached:1.6-alpine --image-container-port 11211 --run-as-user 1001",
        )
        .success();
    sandbox.lock().run("generate").success();
    std::fs::remove_file(sandbox.path("Cargo.lock")).unwrap();
    let at_once = Sandbox::new();
    at_once.run(&format!("new memcached-operator --sample memcached --skip-git-init {OFFLINE}")).success();
    assert_eq!(join(&sandbox.files()), join(&files(&at_once.path("memcached-operator"))));
}

#[test]
fn multi_group() {
    let sandbox = Sandbox::new();
    let [init, apis @ ..] = MULTI_GROUP;
    sandbox.run(&format!("{init} {OFFLINE}")).success();
    for command in apis {
        sandbox.run(command).success();
    }
    check("multi-group", &sandbox.files());
}
