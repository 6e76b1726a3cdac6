//! Compares the CRDs that are read from source with the compiler's answers.
//! The answers are checked in for the current pair of kube and schemars releases and for older pairs, so the comparison
//! takes seconds.
//!
//! `tests/fixtures/releases` has a folder for each pair. The folder of the current pair holds complete answers, one
//! file for each file of types. The folder of an older pair holds its manifest, its lock file, the difference of its
//! answers from the next newer pair, and `absent.txt`, the list of files that do not compile. `refused.txt` lists the
//! CRDs that the source cannot decide. `make answers` runs the compiler again; see `oracle::releases`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use memcached_sdk::yaml;
use semver::Version;
use serde_json::Value;
use similar::TextDiff;
use snapbox::data::DataFormat;
use snapbox::{Assert, Data};

use crate::generated;
use crate::projects::oracle::{self, Crds, Module};

type Answer = BTreeMap<String, String>;

/// A kube release and a schemars release.
pub(crate) struct Pair {
    pub(crate) name: String,
    kube: Version,
    schemars: Version,
}

/// A crate of fixtures: its modules and its other files.
pub(crate) type Crate = (Vec<Module>, Vec<(&'static str, String)>);

pub(crate) fn overwrite() -> bool {
    std::env::var("SNAPSHOTS").is_ok_and(|action| action == "overwrite")
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

pub(crate) fn pairs() -> Vec<Pair> {
    let entries = fixtures().join("releases").read_dir().unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut pairs: Vec<Pair> = names
        .filter_map(|name| {
            let (kube, schemars) = name.strip_prefix("kube-")?.split_once("-schemars-")?;
            let version = |text: &str| Version::parse(text).unwrap();
            Some(Pair { kube: version(kube), schemars: version(schemars), name })
        })
        .collect();
    pairs.sort_by(|one, other| (&other.kube, &other.schemars).cmp(&(&one.kube, &one.schemars)));
    pairs
}

/// The pair that is linked here and that the samples are locked at.
pub(crate) fn present() -> Pair {
    pairs().into_iter().next().unwrap()
}

impl Pair {
    /// Returns the modules of the crate with all fixtures that are meant for this pair.
    pub(crate) fn modules(&self) -> Vec<Module> {
        let folders = ["types", "releases/types"].map(|folder| fixtures().join(folder).read_dir().unwrap());
        let mut files: Vec<PathBuf> = folders.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let named = |file: &PathBuf| file.file_stem().unwrap().to_str().unwrap().to_owned();
        let modules = files.iter().map(|file| Module::new(&named(file), std::fs::read_to_string(file).unwrap()));
        let sample = Module::new("sample", oracle::sample());
        modules.filter(|module| module.kube.matches(&self.kube)).chain([sample]).collect()
    }

    fn folder(&self) -> PathBuf {
        fixtures().join("releases").join(&self.name)
    }

    pub(crate) fn is_present(&self) -> bool {
        !self.folder().join("Cargo.toml").exists()
    }

    /// The base of this pair's differences: the oldest pair that is newer.
    fn base(&self) -> Option<Pair> {
        let newer =
            |other: &Pair| other.kube >= self.kube && other.schemars >= self.schemars && other.name != self.name;
        pairs().into_iter().rfind(newer)
    }

    pub(crate) fn crates(&self) -> Vec<Crate> {
        if self.is_present() {
            let [manifest, lock] = oracle::like_the_sample("oracle");
            self.assert_locked(&lock.1);
            return vec![(self.modules(), vec![manifest, lock]), oracle::foreign_crate()];
        }
        let [manifest, lock] =
            ["Cargo.toml", "Cargo.lock"].map(|path| (path, std::fs::read_to_string(self.folder().join(path)).unwrap()));
        self.assert_locked(&lock.1);
        vec![(self.modules(), vec![manifest, lock])]
    }

    fn assert_locked(&self, lock: &str) {
        let packages = [("kube", &self.kube), ("kube-core", &self.kube), ("kube-derive", &self.kube)];
        for (package, version) in packages.into_iter().chain([("schemars", &self.schemars)]) {
            let entry = format!("name = \"{package}\"\nversion = \"{version}\"\n");
            assert!(lock.contains(&entry), "{}: the lock file has another release of {package}", self.name);
        }
    }

    /// Files that this pair does not compile, each with the reason.
    pub(crate) fn absent(&self) -> BTreeMap<String, String> {
        let text = std::fs::read_to_string(self.folder().join("absent.txt")).unwrap_or_default();
        text.lines()
            .map(|line| line.split_once(": ").unwrap())
            .map(|(file, why)| (file.to_owned(), why.to_owned()))
            .collect()
    }

    /// The checked-in answers by file name.
    fn texts(&self) -> BTreeMap<String, String> {
        let folder = self.folder();
        let mut texts = self.base().map(|base| base.texts()).unwrap_or_default();
        // A fixture may be meant for newer pairs only.
        let modules = self.modules();
        texts.retain(|name, _| modules.iter().any(|module| module.name == *name));
        for name in self.absent().keys() {
            texts.remove(name);
        }
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = || std::fs::read_to_string(&path).unwrap();
            match path.extension().unwrap().to_str().unwrap() {
                "yaml" => texts.insert(name, text()),
                "diff" => {
                    let base =
                        texts.get(&name).unwrap_or_else(|| panic!("{}: the base has no answers", path.display()));
                    let applied = apply(base, &text());
                    texts.insert(name, applied)
                }
                _ => None,
            };
        }
        texts
    }

    fn write(&self, compiled: &Compiled) {
        let folder = self.folder();
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| ["yaml", "diff"].iter().any(|name| extension == *name)) {
                std::fs::remove_file(path).unwrap();
            }
        }
        let base = self.base().map(|base| base.texts()).unwrap_or_default();
        for (name, text) in &compiled.texts {
            let (extension, text) = match base.get(name) {
                Some(base) if base == text => continue,
                Some(base) => ("diff", difference(base, text)),
                None => ("yaml", text.clone()),
            };
            std::fs::write(folder.join(format!("{name}.{extension}")), text).unwrap();
        }
        let absent: String = compiled.absent.iter().map(|(name, why)| format!("{name}: {why}\n")).collect();
        let _ = std::fs::remove_file(folder.join("absent.txt"));
        if !absent.is_empty() {
            std::fs::write(folder.join("absent.txt"), absent).unwrap();
        }
    }
}

/// The compiler's answers for the fixtures.
#[derive(Default)]
pub(crate) struct Compiled {
    texts: BTreeMap<String, String>,
    /// Files that do not compile, each with the reason.
    pub(crate) absent: BTreeMap<String, String>,
}

impl Compiled {
    pub(crate) fn add(&mut self, modules: &[Module], crds: &Crds) {
        for module in modules {
            let text = module.keys().iter().map(|key| document(module, kind(key), crds[key].as_ref())).collect();
            self.texts.insert(module.name.clone(), text);
        }
    }

    pub(crate) fn check(&self, pair: &Pair) {
        if overwrite() {
            pair.write(self);
        }
        let mut problems = String::new();
        let checked_in = pair.texts();
        for name in self.texts.keys().chain(checked_in.keys()).collect::<BTreeSet<_>>() {
            let [now, then] = [&self.texts, &checked_in].map(|texts| texts.get(name).map_or("", String::as_str));
            if now != then {
                writeln!(problems, "{name}:\n{}", difference(then, now)).unwrap();
            }
        }
        assert!(problems.is_empty(), "{}: checked in - and compiled + differ, `make answers`\n{problems}", pair.name);
        assert_eq!(self.absent, pair.absent(), "{}: files that do not compile, `make answers`", pair.name);
    }
}

fn kind(key: &str) -> &str {
    key.split(' ').nth(1).unwrap()
}

/// A CRD below a line with its kind.
fn document(module: &Module, kind: &str, crd: Option<&Value>) -> String {
    let Some(mut crd) = crd.cloned() else { return format!("# {kind}: crd() panics\n") };
    shorten(&mut crd, module);
    format!("# {kind}\n{}", yaml::document(&crd))
}

/// A type of another crate with more lines is shown as a digest.
const LINES: usize = 150;

/// Replaces descriptions from outside the fixture, and large types with such descriptions, by a digest.
fn shorten(value: &mut Value, module: &Module) {
    match value {
        Value::Object(object) => {
            let description = object.get("description").and_then(Value::as_str);
            let foreign = description.filter(|text| !module.says(text)).map(digest);
            if let Some(digest_of_description) = foreign {
                let text = serde_json::to_string_pretty(object).unwrap();
                if text.lines().count() > LINES {
                    *value = digest(&text).into();
                    return;
                }
                object.insert("description".to_owned(), digest_of_description.into());
            }
            object.values_mut().for_each(|value| shorten(value, module));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| shorten(value, module)),
        _ => {}
    }
}

/// FNV-1a: stable across platforms and releases, unlike the hasher of std.
fn digest(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("({} bytes, {hash:016x})", text.len())
}

/// Splits a file of answers into documents by kind.
fn documents(text: &str) -> Answer {
    let mut answer = Answer::new();
    let mut last = None;
    for line in text.split_inclusive('\n') {
        if let Some(header) = line.strip_prefix("# ") {
            last = Some(header.trim_end().split(':').next().unwrap().to_owned());
        }
        answer.entry(last.clone().expect("begins with a kind")).or_default().push_str(line);
    }
    answer
}

/// Context lines of a difference. One is enough, because most differences are of one line.
const CONTEXT: usize = 1;

/// A unified diff with the kind in each hunk header.
fn difference(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after).unified_diff().context_radius(CONTEXT).to_string();
    let kinds: Vec<&str> = before
        .lines()
        .scan("", |kind, line| {
            *kind = line.strip_prefix("# ").unwrap_or(kind);
            Some(*kind)
        })
        .collect();
    let mut out = String::new();
    for line in diff.split_inclusive('\n') {
        match hunk(line) {
            // Use the first changed line, not the first context line.
            Some((start, _)) => {
                let kind = kinds.get(start + CONTEXT).or(kinds.last()).unwrap_or(&"");
                writeln!(out, "{} {kind}", line.trim_end()).unwrap();
            }
            None => out.push_str(line),
        }
    }
    out
}

fn hunk(line: &str) -> Option<(usize, usize)> {
    let range = line.strip_prefix("@@ -")?.split(' ').next()?;
    let (start, count) = range.split_once(',').unwrap_or((range, "1"));
    let [start, count]: [usize; 2] = [start, count].map(|number| number.parse().unwrap());
    // An empty range names the line before it.
    Some((if count == 0 { start } else { start - 1 }, count))
}

fn apply(before: &str, diff: &str) -> String {
    let before: Vec<&str> = before.split_inclusive('\n').collect();
    let (mut out, mut at) = (String::new(), 0);
    for line in diff.split_inclusive('\n') {
        if let Some((start, _)) = hunk(line) {
            out.extend(before[at..start].iter().copied());
            at = start;
            continue;
        }
        let (sign, text) = line.split_at(1);
        if sign != "+" {
            assert_eq!(before[at], text, "the difference is not one from this text");
            at += 1;
        }
        if sign != "-" {
            out.push_str(text);
        }
    }
    out.extend(before[at..].iter().copied());
    out
}

/// Fails unless each CRD equals the compiler's answer or is listed in `refused.txt`. The list of an older pair omits
/// the CRDs that the current pair refuses, too.
fn check(pair: &Pair) {
    let texts = pair.texts();
    let present = std::fs::read_to_string(present().folder().join("refused.txt")).unwrap();
    let known: BTreeSet<&str> = if pair.is_present() { BTreeSet::new() } else { present.lines().collect() };
    let (mut problems, mut equal) = (String::new(), 0);
    let (mut refused, mut findings) = (BTreeSet::new(), BTreeSet::new());
    for (position, (mut modules, files)) in pair.crates().into_iter().enumerate() {
        modules.retain(|module| texts.contains_key(&module.name));
        let folder =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("answers").join(format!("{}-{position}", pair.name));
        oracle::write_locked(&folder, &modules, &files);
        if !pair.is_present() || position > 0 {
            fetch(&folder);
        }
        let (read, diagnostics) = oracle::ask(&folder);
        for module in &modules {
            let answer = documents(&texts[&module.name]);
            let keys = module.keys();
            let kinds: Vec<&str> = keys.iter().map(|key| kind(key)).collect();
            assert_eq!(kinds, answer.keys().collect::<Vec<_>>(), "{}: {}: `make answers`", pair.name, module.name);
            for key in keys {
                let kind = kind(&key);
                match read.get(&key).map(|crd| document(module, kind, crd.as_ref())) {
                    None => drop(refused.insert(key)),
                    Some(read) if read == answer[kind] => equal += 1,
                    Some(read) => {
                        let diff = difference(&answer[kind], &read);
                        writeln!(problems, "{key}: compiled - and read + differ\n{diff}").unwrap();
                    }
                }
            }
        }
        findings.extend(diagnostics.iter().map(|diagnostic| {
            let path = &diagnostic.origin.as_ref().unwrap().path;
            format!("{path}: {} [{}]", diagnostic.message, diagnostic.code)
        }));
    }
    assert!(problems.is_empty(), "{}:\n{problems}", pair.name);
    let mut table = format!("{equal} resources are read, equal to the compiled ones.\n");
    for lines in [refused, findings] {
        table.push('\n');
        for line in lines.iter().filter(|line| !known.contains(line.as_str())) {
            writeln!(table, "{line}").unwrap();
        }
    }
    let file = pair.folder().join("refused.txt");
    Assert::new().action_env("SNAPSHOTS").eq(table, Data::read_from(&file, Some(DataFormat::Text)).raw());
}

/// Downloads the packages of a lock file, including the Kubernetes types.
fn fetch(folder: &Path) {
    let output = generated::cargo(folder, &["fetch", "--locked", "--quiet"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_source_says_what_the_compiler_said() {
    let pairs = pairs();
    assert!(
        pairs[0].is_present() && pairs[1..].iter().all(|pair| !pair.is_present()),
        "the present release is the newest"
    );
    let asked = std::env::var("ANSWERS").ok();
    let asked = |pair: &&Pair| asked.as_ref().is_none_or(|name| *name == pair.name);
    // Check the current pair first: its table is the base of the others.
    pairs[..1].iter().filter(asked).for_each(check);
    std::thread::scope(|scope| {
        let threads: Vec<_> = pairs[1..].iter().filter(asked).map(|pair| scope.spawn(move || check(pair))).collect();
        let failed: Vec<String> = threads
            .into_iter()
            .filter_map(|thread| thread.join().err())
            .map(|error| error.downcast_ref::<String>().cloned().unwrap_or_else(|| "panicked".to_owned()))
            .collect();
        assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    });
}

#[test]
fn a_difference_makes_of_a_text_what_it_was_made_from() {
    let base: String = (0..40).map(|line| format!("{line}\n")).collect();
    let texts = [
        base.clone(),
        base.replacen("7\n", "", 1),
        base.replacen("7\n", "seven\nand more\n", 1).replacen("31\n", "-31\n", 1),
        format!("before\n{base}after\n"),
        String::new(),
    ];
    for text in &texts {
        for other in &texts {
            assert_eq!(apply(other, &difference(other, text)), *text, "{other:?}");
        }
    }
}
