//! A project whose groups, versions, kinds and controllers use every reserved name of Rust, cargo and the scaffold. It
//! must compile.

use std::collections::{BTreeMap, BTreeSet};

use memcached_sdk::project::taken;

use super::{cargo, place};
use crate::generated;
use crate::sandbox::{OFFLINE, Sandbox};

/// Controllers whose tests compile. The others differ only in names, and each test is a program of its own.
const TESTED: [&str; 5] = ["api", "http", "kube", "self", "std"];

/// Kinds with a word of the tables.
fn kinds() -> BTreeMap<String, String> {
    let lists: [&[&str]; 5] =
        [&taken::KEYWORDS, &taken::DEVICES, &taken::CONTROLLER_CRATES, &taken::TESTS, &taken::PACKAGES];
    let words: BTreeSet<String> = lists.into_iter().flatten().map(|word| word.replace('_', "-")).collect();
    let upper = |part: &str| part[..1].to_uppercase() + &part[1..];
    let words = words.into_iter().map(|word| (word.split('-').map(upper).collect(), word));
    let types = taken::TYPES.iter().map(|name| ((*name).to_owned(), format!("of-{}", name.to_lowercase())));
    types.chain(words).collect()
}

#[test]
fn all_of_them_compile() {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("init --multigroup --domain example.com --project-name http {OFFLINE}")).success();
    for (kind, word) in kinds() {
        let gvk = format!("--group {word} --version {word} --kind {kind} --make=false");
        sandbox.run(&format!("create api {gvk} --controller-name {word}")).success();
        // Modules with a trailing `_` add no new case.
        if !taken::KEYWORDS.contains(&word.as_str()) && !taken::DEVICES.contains(&word.as_str()) {
            sandbox.run(&format!("create webhook {gvk} --defaulting --programmatic-validation")).success();
        }
    }
    sandbox.lock().run("generate").success();
    let folder = place("names", sandbox.root());
    for file in std::fs::read_dir(folder.join("tests")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_tested = TESTED.iter().any(|word| name.split('_').any(|part| part == *word));
        if path.is_file() && name != "crds" && !is_tested {
            std::fs::remove_file(path).unwrap();
        }
    }
    let _building = generated::building();
    cargo(&folder, &["check", "--tests"]);
}
