//! `update`, and what `generate --check` says about the manager.

use std::collections::{BTreeMap, BTreeSet};

use snapbox::str;

use crate::sandbox::{Sandbox, files};

const MODULE: &str = "src/manager/mod.rs";

/// A project that an older version has made, with everything that can be wrong in the folder of the manager.
fn outdated() -> Sandbox {
    let sandbox = Sandbox::project("");
    sandbox.replace("PROJECT", concat!("cliVersion: ", env!("CARGO_PKG_VERSION")), "cliVersion: 0.0.9");
    let text = sandbox.read(MODULE);
    sandbox.file(MODULE, &text.replacen("//! ", "//! edited: ", 1));
    std::fs::remove_file(sandbox.path("src/manager/queue.rs")).unwrap();
    sandbox.file("src/manager/extra.rs", "// mine\n").file("src/manager/old/deep.rs", "// older\n");
    sandbox
}

/// The paths of what is not in both, with the same text.
fn differing<'a>(one: &'a BTreeMap<String, String>, other: &'a BTreeMap<String, String>) -> Vec<&'a str> {
    let paths: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    paths.into_iter().filter(|path| one.get(*path) != other.get(*path)).map(String::as_str).collect()
}

#[test]
fn the_folder_of_the_manager_is_made_what_this_version_writes() {
    let sandbox = outdated();
    let before = sandbox.files();
    sandbox.run("update").success().stdout(str![[r#"
update    PROJECT
remove    src/manager/extra.rs
update    src/manager/mod.rs
remove    src/manager/old/deep.rs
create    src/manager/queue.rs

"#]]);

    let after = sandbox.files();
    assert_eq!(differing(&after, &Sandbox::project("").files()), [""; 0]);
    let touched = differing(&before, &after);
    assert!(touched.iter().all(|path| *path == "PROJECT" || path.starts_with("src/manager/")), "{touched:?}");
    let shipped = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/manager");
    assert_eq!(differing(&files(&sandbox.path("src/manager")), &files(&shipped)), [""; 0]);

    sandbox.run("update").success().stdout("");
    assert_eq!(differing(&sandbox.files(), &after), [""; 0], "twice is the same as once");
}

#[test]
fn every_mode_but_the_usual_one_writes_nothing() {
    let sandbox = outdated();
    let before = sandbox.files();
    sandbox.run("update --dry-run").success();
    sandbox.run("update --check").code(3);
    let diff = sandbox.run("update --dry-run --diff").success().out();
    assert!(diff.contains("\n-//! edited: ") && diff.contains("\n-// mine\n"), "{diff}");
    let json = sandbox.run("update --check -o json").code(3).out();
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        report["changes"].as_array().unwrap().iter().filter(|change| change["change"] != "unchanged").count(),
        5
    );
    assert_eq!(differing(&sandbox.files(), &before), [""; 0]);
    sandbox.run("update").success();
    sandbox.run("update --check").success();
}

#[test]
fn crates_and_features_that_the_manager_needs_are_added_and_choices_stay() {
    let sandbox = Sandbox::project("");
    let manifest = sandbox.read("Cargo.toml");
    let line = |name: &str| manifest.lines().find(|line| line.starts_with(name)).unwrap().to_owned() + "\n";
    let fork = |features: &str| format!("kube = {{ git = \"https://example.com/kube\"{features} }} # a fork\n");
    let mut expected = manifest.clone();
    for (name, before, after) in [
        ("futures", "futures = { version = \"0.3\", default-features = false }\n".to_owned(), line("futures")),
        (
            "k8s-openapi",
            line("k8s-openapi").replace("v1_36", "v1_31").replace("\"schemars\", ", ""),
            line("k8s-openapi").replace("v1_36", "v1_31"),
        ),
        ("kube", fork(""), fork(", features = [\"client\", \"derive\", \"runtime\"]")),
        ("serde_json", String::new(), line("serde_json")),
    ] {
        sandbox.replace("Cargo.toml", &line(name), &before);
        expected = expected.replace(&line(name), &after);
    }
    let linux = manifest.lines().skip_while(|line| !line.starts_with("[target")).take(3).collect::<Vec<_>>().join("\n");
    sandbox.replace("Cargo.toml", &format!("{linux}\n"), "");
    sandbox.run("update").success().stdout("update    Cargo.toml\n");
    assert_eq!(sandbox.read("Cargo.toml"), expected);
}

#[test]
fn only_inside_a_project_and_not_back_to_an_older_version() {
    let sandbox = Sandbox::new();
    sandbox.run("update").code(1).stderr(str![[r#"
error: not in a project: there is no `PROJECT` file here or in a folder above
help: change to the project's folder, or make a project with `memcached-sdk init`

"#]]);

    let sandbox = Sandbox::project("");
    sandbox.replace("PROJECT", concat!("cliVersion: ", env!("CARGO_PKG_VERSION")), "cliVersion: 99.0.0");
    sandbox.file("src/manager/extra.rs", "// newer\n");
    let before = sandbox.files();
    let message = sandbox.run("update").code(1).err();
    assert!(message.contains("the project is of memcached-sdk 99.0.0") && message.contains("--force"), "{message}");
    let message = sandbox.run("generate --check").code(3).err();
    assert!(message.contains("install memcached-sdk 99.0.0"), "{message}");
    assert_eq!(differing(&sandbox.files(), &before), [""; 0]);
    sandbox.run("update --force").success();
    sandbox.run("generate --check").success();
    assert!(sandbox.read("PROJECT").contains(concat!("cliVersion: ", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn generate_checks_the_manager_and_never_writes_it() {
    let sandbox = outdated();
    // Without a file of a module the source can't be read at all.
    let queue = Sandbox::project("").read("src/manager/queue.rs");
    sandbox.file("src/manager/queue.rs", &queue);
    let before = sandbox.files();
    let run = sandbox.run("generate --check").code(3).stdout(str![[r#"
remove    src/manager/extra.rs
update    src/manager/mod.rs
remove    src/manager/old/deep.rs

"#]]);
    let message = run.err();
    assert!(
        message.contains("warning[manager-differs]: `src/manager` is of memcached-sdk 0.0.9, and this is ")
            && message.contains("help: run `memcached-sdk update`")
            && !message.contains("without `--check`"),
        "{message}"
    );
    sandbox.run("generate crds --check").success();
    sandbox.run("generate rbac --check").success();
    sandbox.run("generate").success();
    assert_eq!(differing(&sandbox.files(), &before), [""; 0]);

    let sandbox = Sandbox::project("");
    sandbox.run("generate --check").success();
    sandbox.file(MODULE, &(sandbox.read(MODULE) + "// mine\n"));
    let message = sandbox.run("generate --check").code(3).err();
    assert!(message.contains("it was edited") && message.contains("run `memcached-sdk update`"), "{message}");
}
