//! Name resolution in random crates, compared with rustc.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use memcached_sdk::k8s;
use memcached_sdk::source::{ModuleId, Resolution, SourceTree};
use syn::Item;

use crate::random::Random;

/// Random modules, structs and all forms of `use`. Imports that rustc rejects are removed first.
#[test]
fn rustc_finds_the_same_names() {
    let (mut found, mut missing) = (0, 0);
    for seed in 1..=16_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut krate = Crate::new(&mut random);
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..20 {
            let refused = refused(dir.path(), &krate.text(&BTreeMap::new()));
            if refused.is_empty() {
                break;
            }
            krate.imports.retain(|(_, line)| !refused.contains_key(line));
        }
        let (mut good, bad) = krate.probes(dir.path(), &mut random);
        // Ignore privacy errors: rustc reports them after resolution, and the resolver does not check them.
        let private = refused(dir.path(), &krate.text(&good));
        for lines in good.values_mut() {
            lines.retain(|line| private.get(line).is_none_or(|code| code != "E0603"));
        }
        assert_eq!(refused(dir.path(), &krate.text(&good)), BTreeMap::new(), "seed {seed}: {}", krate.text(&good));
        let refused_bad: BTreeSet<_> = refused(dir.path(), &krate.text(&bad)).into_keys().collect();
        let wanted: BTreeSet<String> = bad.values().flatten().cloned().collect();
        assert_eq!(refused_bad, wanted, "seed {seed}: {}", krate.text(&bad));
        found += good.values().flatten().count();
        missing += wanted.len();
    }
    assert!(found > 300 && missing > 300, "{found} names found, {missing} not");
}

type Place = Vec<usize>;

struct Crate {
    modules: BTreeSet<Place>,
    structs: BTreeMap<Place, Vec<(usize, bool)>>,
    /// Import lines. Each has a number in a comment, which makes it unique.
    imports: Vec<(Place, String)>,
}

impl Crate {
    fn new(random: &mut Random) -> Self {
        let mut modules = BTreeSet::from([vec![]]);
        for _ in 0..7 {
            let all: Vec<Place> = modules.iter().cloned().collect();
            let mut place = all[random.below(all.len())].clone();
            if place.len() < 3 {
                place.push(random.below(4));
                modules.insert(place);
            }
        }
        let structs = modules.iter().map(|place| {
            let names: BTreeSet<usize> = (0..=random.below(4)).map(|_| random.below(6)).collect();
            (place.clone(), names.into_iter().map(|name| (name, random.below(5) > 0)).collect())
        });
        let structs = structs.collect();
        let mut imports = Vec::new();
        for place in &modules {
            for _ in 0..random.below(6) {
                let public = ["", "pub ", "pub ", "pub(crate) ", "pub(super) "][random.below(5)];
                let path = random.path();
                let what = match random.below(6) {
                    0 | 1 => format!("{path}::*"),
                    2 => format!("{path} as S{}", random.below(7)),
                    3 => format!("{path}::{{self as m{}, S{}}}", random.below(5), random.below(5)),
                    _ => format!("{path}::S{}", random.below(6)),
                };
                imports.push((place.clone(), format!("{public}use {what}; // {}", imports.len())));
            }
        }
        Self { modules, structs, imports }
    }

    fn text(&self, extra: &BTreeMap<Place, Vec<String>>) -> String {
        let mut text = "pub trait Id { const ID: usize; }\n".to_string();
        self.module(&vec![], extra, &mut text);
        text
    }

    fn module(&self, place: &Place, extra: &BTreeMap<Place, Vec<String>>, text: &mut String) {
        for (name, public) in &self.structs[place] {
            let vis = if *public { "pub " } else { "" };
            let id = id(place, *name);
            writeln!(text, "{vis}struct S{name}; impl crate::Id for self::S{name} {{ const ID: usize = {id}; }}")
                .unwrap();
        }
        for (_, line) in self.imports.iter().filter(|(of, _)| of == place) {
            writeln!(text, "{line}").unwrap();
        }
        for line in extra.get(place).into_iter().flatten() {
            writeln!(text, "{line}").unwrap();
        }
        for child in self.modules.iter().filter(|child| child.len() == place.len() + 1 && child.starts_with(place)) {
            writeln!(text, "pub mod m{} {{", child[child.len() - 1]).unwrap();
            self.module(child, extra, text);
            text.push_str("}\n");
        }
    }

    /// Returns lines that compile only if the path resolves to our result, and lines that must not compile.
    fn probes(&self, dir: &Path, random: &mut Random) -> (BTreeMap<Place, Vec<String>>, BTreeMap<Place, Vec<String>>) {
        write(dir, &self.text(&BTreeMap::new()));
        let (tree, diagnostics) = k8s::load(dir).unwrap();
        assert_eq!(diagnostics.iter().count(), 0);
        let (mut good, mut bad) = (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, Vec<_>>::new());
        for (place, module) in places(&tree) {
            let mut paths: Vec<String> = (0..7).map(|name| format!("S{name}")).collect();
            paths.extend((0..12).map(|_| format!("{}::S{}", random.path(), random.below(6))));
            for (number, path) in paths.into_iter().enumerate() {
                match tree.resolve(module, &syn::parse_str(&path).unwrap()) {
                    Resolution::Local(item) if matches!(tree.item(item), Item::Struct(_)) => {
                        let of = place_of(&tree, tree.module(item));
                        let name = tree.path(item).pop().unwrap()[1..].parse().unwrap();
                        let id = id(&of, name);
                        let line = format!("const _: [(); <{path} as crate::Id>::ID] = [(); {id}]; // {number}");
                        good.entry(place.clone()).or_default().push(line);
                    }
                    Resolution::Unresolved(_) => {
                        let line = format!("fn probe{number}(_: {path}) {{}} // {place:?}");
                        bad.entry(place.clone()).or_default().push(line);
                    }
                    _ => {}
                }
            }
        }
        (good, bad)
    }
}

fn id(place: &Place, name: usize) -> usize {
    place.iter().fold(1, |id, part| id * 10 + part + 1) * 10 + name
}

fn places(tree: &SourceTree) -> Vec<(Place, ModuleId)> {
    let modules: BTreeSet<ModuleId> = tree.items().map(|item| tree.module(item)).collect();
    modules.into_iter().map(|module| (place_of(tree, module), module)).collect()
}

fn place_of(tree: &SourceTree, module: ModuleId) -> Place {
    tree.module_path(module)[1..].iter().map(|name| name[1..].parse().unwrap()).collect()
}

fn write(dir: &Path, text: &str) {
    std::fs::create_dir_all(dir.join("src")).unwrap();
    std::fs::write(dir.join("Cargo.toml"), "package = { name = \"op\", edition = \"2024\" }").unwrap();
    std::fs::write(dir.join("src/lib.rs"), text).unwrap();
}

/// Lines with an error of rustc, each with its code.
fn refused(dir: &Path, text: &str) -> BTreeMap<String, String> {
    write(dir, text);
    let output = Command::new("rustc")
        .args(["--crate-type=lib", "--edition=2024", "--emit=metadata", "--error-format=json", "--cap-lints=allow"])
        .args(["--crate-name=op", "-o"])
        .args([dir.join("op.rmeta"), dir.join("src/lib.rs")])
        .output()
        .unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut refused = BTreeMap::new();
    for message in String::from_utf8(output.stderr).unwrap().lines() {
        let message: serde_json::Value = serde_json::from_str(message).unwrap();
        if message["level"] != "error" {
            continue;
        }
        let code = message["code"]["code"].as_str().unwrap_or_default();
        let spans = message["spans"].as_array().unwrap().iter();
        // For a duplicate definition, the import may be the other span.
        for span in spans.filter(|span| span["is_primary"] == true || code == "E0255") {
            let line = usize::try_from(span["line_start"].as_u64().unwrap()).unwrap();
            refused.insert(lines[line - 1].to_string(), code.to_string());
        }
    }
    assert_eq!(output.status.success(), refused.is_empty());
    refused
}

impl Random {
    /// A random path that may name a module.
    fn path(&mut self) -> String {
        let mut path = ["crate", "crate", "self", "super", "super::super"][self.below(5)].to_string();
        for _ in 0..self.below(3) {
            write!(path, "::m{}", self.below(4)).unwrap();
        }
        path
    }
}
