//! Compiles the adapted declarations, one crate for each target. Units that do not compile without their project or
//! with kube 5 are removed, until the workspace compiles. The next run starts with the removed units of the same text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::adapt::{self, Declarations, Place};
use crate::generated;

/// Four times the largest number of rounds so far.
const ROUNDS: usize = 60;

const DEPENDENCIES: &str = include_str!("dependencies.toml");

/// The compiler's answers for a workspace.
pub(super) struct Compiled {
    /// Custom resources of each crate by type path; `null` for a panic.
    pub(super) crds: Vec<BTreeMap<String, Value>>,
    /// Removed units of each crate with the compiler's error.
    pub(super) gone: Vec<Vec<(String, String)>>,
}

/// Writes the workspace, removes units that do not compile, and prints the CRD of each remaining resource.
pub(super) fn all(workspace: &Path, crates: &mut [Declarations]) -> Compiled {
    frame(workspace, crates);
    let memory = workspace.join("gone.json");
    let known = std::fs::read(&memory).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let mut known: BTreeMap<String, String> = known.unwrap_or_default();
    let mut gone: Vec<Vec<(String, String)>> = Vec::new();
    for declarations in &mut *crates {
        let mut found = Vec::new();
        for (module, unit) in
            declarations.units.iter_mut().flat_map(|(module, units)| units.iter_mut().map(move |unit| (module, unit)))
        {
            if let Some(why) = known.get(&memorable(&declarations.name, module, &unit.text)) {
                found.push((unit.name.clone(), why.clone()));
                unit.text.clear();
            }
        }
        gone.push(found);
    }
    for round in 1.. {
        assert!(round <= ROUNDS, "the declarations do not compile after {ROUNDS} rounds");
        let places: Vec<_> = crates.iter().map(|found| write(workspace, found)).collect();
        let arguments = ["check", "--workspace", "--exclude=dump", "--keep-going", "--message-format=json", "--quiet"];
        let output = generated::cargo(workspace, &arguments).output().unwrap();
        let messages = String::from_utf8_lossy(&output.stdout);
        let messages = messages.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let errors: Vec<Value> = messages
            .filter(|line| line["message"]["level"] == "error")
            .map(|mut line| line["message"].take())
            .collect();
        if output.status.success() {
            break;
        }
        let blamed = blame(&errors, crates, &places);
        println!("round {round}: {} items are taken out", blamed.len());
        assert!(!blamed.is_empty(), "{}\n{errors:#?}", String::from_utf8_lossy(&output.stderr));
        for ((position, place), why) in blamed {
            let Place { module, index, .. } = &places[position][place];
            let name = crates[position].name.clone();
            let unit = &mut crates[position].units.get_mut(module).unwrap()[*index];
            known.insert(memorable(&name, module, &unit.text), why.clone());
            gone[position].push((unit.name.clone(), why));
            unit.text.clear();
        }
        std::fs::write(&memory, serde_json::to_string_pretty(&known).unwrap()).unwrap();
    }
    let output = generated::cargo(workspace, &["run", "--quiet", "--package=dump"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Code that builds a schema may print, so take the last line.
    let text = String::from_utf8_lossy(&output.stdout);
    Compiled { crds: serde_json::from_str(text.lines().last().unwrap()).unwrap(), gone }
}

fn memorable(krate: &str, module: &[String], text: &str) -> String {
    format!("{krate}::{}: {text}", module.join("::"))
}

/// Writes the manifests, and the program that prints all CRDs.
fn frame(workspace: &Path, crates: &[Declarations]) {
    let mut members = String::from("[workspace]\nresolver = \"3\"\nmembers = [\"dump\"");
    let mut manifest = "[package]\nname = \"dump\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
                        serde_json.workspace = true\n"
        .to_owned();
    let mut main =
        "fn main() {\n    std::panic::set_hook(Box::new(|_| {}));\n    let mut all = Vec::new();\n".to_owned();
    for found in crates {
        let name = &found.name;
        write!(members, ", {name:?}").unwrap();
        writeln!(manifest, "{name} = {{ path = \"../{name}\" }}").unwrap();
        writeln!(
            main,
            "    let mut crds = serde_json::Map::new();\n    {name}::crds_of_module(&mut |key, crd| {{\n        \
             crds.insert(key.to_owned(), std::panic::catch_unwind(crd).unwrap_or_default());\n    }});\n    \
             all.push(crds);"
        )
        .unwrap();
        let mut own =
            format!("[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\n");
        for (dependency, _) in dependencies() {
            writeln!(own, "{dependency}.workspace = true").unwrap();
        }
        replace(&workspace.join(name).join("Cargo.toml"), &format!("{own}\n{}", found.features));
    }
    main.push_str("    println!(\"{}\", serde_json::to_string(&all).unwrap());\n}\n");
    replace(&workspace.join("dump/Cargo.toml"), &manifest);
    replace(&workspace.join("dump/src/main.rs"), &main);
    replace(&workspace.join("Cargo.toml"), &format!("{members}]\n\n{DEPENDENCIES}"));
}

fn dependencies() -> impl Iterator<Item = (&'static str, &'static str)> {
    let table = DEPENDENCIES.split_once("[workspace.dependencies]\n").unwrap().1.split_once("\n\n").unwrap().0;
    table.lines().filter_map(|line| line.split_once(" = "))
}

fn write(workspace: &Path, declarations: &Declarations) -> Vec<Place> {
    let (text, places) = declarations.write();
    replace(&workspace.join(&declarations.name).join("src/lib.rs"), &text);
    places
}

/// Writes a file. An unchanged file keeps its mtime, so that cargo does not rebuild it.
fn replace(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    if std::fs::read_to_string(path).ok().as_deref() != Some(text) {
        std::fs::write(path, text).unwrap();
    }
}

type Blamed = BTreeMap<(usize, usize), String>;

/// Maps errors to units, by crate and position. Import errors come first: while a crate has any, other errors may
/// follow from them.
fn blame(errors: &[Value], crates: &[Declarations], places: &[Vec<Place>]) -> Blamed {
    let mut all = Blamed::new();
    for error in errors {
        let mut found = BTreeSet::new();
        spans(error, crates, places, &mut found);
        let words = error["message"].as_str().unwrap_or_default();
        let code = error["code"]["code"].as_str().unwrap_or_default();
        for at in found {
            all.entry(at).or_insert_with(|| format!("{words} {code}").trim_end().to_owned());
        }
    }
    let import = |(position, place): (usize, usize)| {
        let Place { module, index, .. } = &places[position][place];
        crates[position].units[module][*index].import
    };
    let bad: BTreeSet<usize> = all.keys().filter(|at| import(**at)).map(|(position, _)| *position).collect();
    all.retain(|at, _| !bad.contains(&at.0) || import(*at));
    all
}

/// Adds the units at the primary spans of an error, or else at those of its notes.
fn spans(message: &Value, crates: &[Declarations], places: &[Vec<Place>], found: &mut BTreeSet<(usize, usize)>) {
    let before = found.len();
    for span in message["spans"].as_array().into_iter().flatten().filter(|span| span["is_primary"] == true) {
        let mut span = span;
        loop {
            if let Some(at) = unit(span, crates, places) {
                found.insert(at);
                break;
            }
            span = &span["expansion"]["span"];
            if span.is_null() {
                break;
            }
        }
    }
    if found.len() == before {
        for child in message["children"].as_array().into_iter().flatten() {
            spans(child, crates, places, found);
        }
    }
}

fn unit(span: &Value, crates: &[Declarations], places: &[Vec<Place>]) -> Option<(usize, usize)> {
    let krate = span["file_name"].as_str()?.strip_suffix("/src/lib.rs")?;
    let position = crates.iter().position(|found| found.name == krate)?;
    let at = usize::try_from(span["byte_start"].as_u64()?).unwrap();
    let place = places[position].iter().position(|place| place.range.contains(&at))?;
    Some((position, place))
}

/// The custom resource that is declared at this byte offset.
pub(super) fn resource(declarations: &Declarations, places: &[Place], at: usize) -> Option<String> {
    let place = places.iter().find(|place| place.range.contains(&at))?;
    let root = declarations.units[&place.module][place.index].root.as_ref()?;
    Some(adapt::key(&place.module, root))
}
