//! Checks that the compiler still gives the checked-in answers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use super::{Crds, Module, compile, difference, oracle, write_locked};
use crate::golden::answers::{self, Compiled, Pair};

/// Returns the compiler's answers of an older pair, and the differences to the source. Files that do not compile are
/// left out until the rest compiles.
fn ask(pair: &Pair) -> (Compiled, String) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("releases").join(&pair.name);
    let (mut compiled, mut different) = (Compiled::default(), String::new());
    for (mut modules, files) in pair.crates() {
        if !answers::overwrite() {
            // Known from the last update of the answers.
            compiled.absent = pair.absent();
            modules.retain(|module| !compiled.absent.contains_key(&module.name));
        }
        let crds = loop {
            write_locked(&folder, &modules, &files);
            let errors = match compile(&folder) {
                Ok(crds) => break crds,
                Err(text) => errors(&text),
            };
            modules.retain(|module| !errors.contains_key(&module.name));
            compiled.absent.extend(errors);
        };
        compiled.add(&modules, &crds);
        different += &differences(&crds, &super::ask(&folder).0);
    }
    (compiled, different)
}

/// Compares complete answers; the checked-in ones contain digests.
fn differences(compiled: &Crds, read: &Crds) -> String {
    let mut problems = String::new();
    for (key, compiled) in compiled {
        if let Some(read) = read.get(key).filter(|read| *read != compiled) {
            let diff = difference(compiled.as_ref(), read.as_ref());
            writeln!(problems, "{key}: compiled - and read + differ\n{diff}").unwrap();
        }
    }
    problems
}

fn errors(text: &str) -> BTreeMap<String, String> {
    let mut errors = BTreeMap::new();
    let mut said = None;
    for line in text.lines() {
        if let Some((_, message)) = line.split_once(": ").filter(|(start, _)| start.starts_with("error")) {
            said = Some(message);
        } else if let Some(place) = line.trim_start().strip_prefix("--> ")
            && let Some(message) = said
            && let Some((file, _)) = place.strip_prefix("src/").and_then(|place| place.split_once(".rs:"))
        {
            assert_ne!(file, "main", "{text}");
            errors.entry(file.to_owned()).or_insert_with(|| message.to_owned());
            said = None;
        }
    }
    assert!(!errors.is_empty(), "{text}");
    errors
}

/// `RELEASES` names a pair or is `all`. By default, the commit selects a pair.
fn asked() -> Vec<Pair> {
    let mut pairs = answers::pairs();
    pairs.retain(|pair| !pair.is_present());
    match std::env::var("RELEASES") {
        Ok(name) if name == "all" => {}
        Ok(name) => pairs.retain(|pair| pair.name == name),
        Err(_) => {
            let output = std::process::Command::new("git")
                .args(["rev-parse", "HEAD"])
                .current_dir(env!("CARGO_MANIFEST_DIR"))
                .output()
                .unwrap();
            // Without a repository, use the first pair.
            let digit = |byte: u8| usize::from(byte);
            let number = output.stdout.iter().copied().map(digit).sum::<usize>() % pairs.len();
            pairs = vec![pairs.swap_remove(number)];
        }
    }
    assert!(!pairs.is_empty(), "`RELEASES` is `all` or a folder of tests/fixtures/releases");
    pairs
}

#[test]
fn this_release_still_answers_what_is_checked_in() {
    let mut compiled = Compiled::default();
    for oracle in [oracle(), super::foreign()] {
        let fixtures = |module: &&Module| module.name != "crlf" && !module.name.starts_with("edit_");
        let modules: Vec<Module> = oracle.modules.iter().filter(fixtures).cloned().collect();
        compiled.add(&modules, &oracle.compiled);
    }
    compiled.check(&answers::present());
}

#[test]
fn an_older_release_still_answers_what_is_checked_in() {
    for pair in asked() {
        println!("RELEASES={}", pair.name);
        let (compiled, different) = ask(&pair);
        compiled.check(&pair);
        assert!(different.is_empty(), "{}:\n{different}", pair.name);
    }
}
