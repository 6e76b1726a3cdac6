//! Both engines on random types: the CRDs are equal, or both panic. A refusal is a failure.
//!
//! A seed determines a file of types. One crate holds many files and is compiled once. If the engines disagree on a
//! file, the test shrinks it in a bounded number of rounds and prints it with its seed.
//!
//! `PROPERTY_SEED` is the first seed and `PROPERTY_RESOURCES` the number of files. `PROPERTY_RESULTS` names a file of
//! completed seeds. `make differential` is the long run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use self::declare::resource;
use self::tree::Node;
use crate::projects::oracle::{self, Module};

mod attribute;
mod declare;
mod tree;
mod ty;
mod world;

/// Resources in one crate.
const RESOURCES: u64 = 500;
/// Rounds of shrinking; each compiles one crate with all candidates.
const ROUNDS: usize = 12;
/// Candidates in one crate.
const CANDIDATES: usize = 60;

/// File name while shrinking. Names in the file derive from it.
const FILE: &str = "shrunk";

type Files = BTreeMap<String, String>;

/// Differing answers by file.
type Disagreements = BTreeMap<String, String>;

struct Crate {
    folder: PathBuf,
}

impl Crate {
    fn new(name: &str) -> Self {
        Self { folder: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name) }
    }

    fn write(&self, files: &Files) {
        let [(toml, manifest), lock] = oracle::like_foreign("property");
        let profile = "debug = \"line-tables-only\"\n";
        let light = "\n[profile.dev.package.property]\ndebug = false\ndebug-assertions = false\nincremental = false\noverflow-checks = false\n";
        let manifest = manifest.replacen(profile, &format!("{profile}{light}"), 1)
            + "\n[features]\ndefault = [\"on\", \"both\"]\non = []\noff = []\nboth = [\"deep\"]\ndeep = []\n";
        let modules: Vec<Module> = files.iter().map(|(name, text)| Module::new(name, text.clone())).collect();
        if self.folder.join("src").exists() {
            std::fs::remove_dir_all(self.folder.join("src")).unwrap();
        }
        oracle::write(&self.folder, &modules, &[(toml, manifest), lock]);
    }

    /// Compiles and reads. Returns the disagreements and the number of equal CRDs, or the compiler's errors.
    fn compare(&self, files: &Files) -> Result<(Disagreements, u64), String> {
        self.write(files);
        let compiled = oracle::compile(&self.folder)?;
        assert_eq!(compiled.len(), files.len(), "one resource in a file");
        let (read, _, findings) = oracle::read(&self.folder);
        let mut disagreements = Disagreements::new();
        let mut equal = 0;
        for (key, compiled) in &compiled {
            let file = key.split(' ').next().unwrap();
            let said = lines_about(file, &findings);
            let why = match read.get(key) {
                Some(read) if compiled == read => {
                    equal += u64::from(compiled.is_some());
                    continue;
                }
                Some(read) => {
                    let difference = oracle::difference(compiled.as_ref(), read.as_ref());
                    format!("compiled - and read + differ\n{difference}{said}")
                }
                None => format!("refused\n{said}"),
            };
            disagreements.insert(file.to_owned(), why);
        }
        Ok((disagreements, equal))
    }

    /// Like [`Self::compare`], but tolerates a few files that do not compile, and returns their number.
    fn compare_most(&self, files: &mut Files) -> (Disagreements, u64, u64) {
        let whole = files.len();
        loop {
            let errors = match self.compare(files) {
                Ok((disagreements, equal)) => return (disagreements, equal, (whole - files.len()) as u64),
                Err(errors) => errors,
            };
            let wrong = files_named(&errors);
            println!("{} do not compile:\n{errors}", wrong.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
            files.retain(|name, _| !wrong.contains(name));
            assert!((whole - files.len()) * 100 <= whole && !wrong.is_empty(), "files do not compile");
        }
    }

    /// Like [`Self::compare`], without files that do not compile.
    fn compare_compiling(&self, mut files: Files) -> Disagreements {
        // Name errors hide type errors.
        for _ in 0..6 {
            match self.compare(&files) {
                Ok((disagreements, _)) => return disagreements,
                Err(errors) => {
                    let wrong = files_named(&errors);
                    let before = files.len();
                    files.retain(|name, _| !wrong.contains(name));
                    if files.is_empty() || files.len() == before {
                        break;
                    }
                }
            }
        }
        Disagreements::new()
    }

    /// Returns the smallest text with the same kind of disagreement, and the disagreement.
    fn shrink(&self, tree: &Node, refused: bool) -> (String, String) {
        let mut without = BTreeSet::new();
        let mut smallest = (tree.print(&without), String::new());
        for _ in 0..ROUNDS {
            let parts = tree.optional(&without);
            let half = parts.len() / 2;
            let mut first: Vec<BTreeSet<usize>> = parts.iter().map(|part| BTreeSet::from([*part])).collect();
            first.truncate(CANDIDATES);
            first.push(parts[half..].iter().copied().collect());
            let disagree = self.disagreeing(tree, &without, &first, refused);
            if disagree.is_empty() {
                break;
            }
            // Remove all single candidates together, then half and a quarter of them, then the longest one.
            let alone: Vec<usize> = disagree.keys().copied().collect();
            let together = |count: usize| alone[..count].iter().flat_map(|index| first[*index].clone()).collect();
            let counts = [alone.len(), alone.len().div_ceil(2), alone.len().div_ceil(4)];
            let candidates: Vec<BTreeSet<usize>> = counts.map(together).to_vec();
            let disagree_together = self.disagreeing(tree, &without, &candidates, refused);
            let (gone, why) = match disagree_together.first_key_value() {
                Some((index, why)) => (candidates[*index].clone(), why.clone()),
                None => {
                    let (longest, why) = disagree.first_key_value().unwrap();
                    (first[*longest].clone(), why.clone())
                }
            };
            without.extend(gone);
            smallest = (tree.print(&without), why);
        }
        smallest
    }

    /// The candidates whose removal keeps the disagreement.
    fn disagreeing(
        &self,
        tree: &Node,
        without: &BTreeSet<usize>,
        candidates: &[BTreeSet<usize>],
        refused: bool,
    ) -> BTreeMap<usize, String> {
        let files = candidates.iter().enumerate().map(|(index, parts)| {
            let without = without.union(parts).copied().collect();
            let name = format!("s{index:03}");
            let text = tree.print(&without).replace(&format!("crate::{FILE}::"), &format!("crate::{name}::"));
            (name, text)
        });
        let disagreements = self.compare_compiling(files.filter(|(_, text)| text.contains("#[kube(group")).collect());
        let same = disagreements.into_iter().filter(|(_, why)| why.starts_with("refused") == refused);
        same.map(|(name, why)| (name[1..].parse().unwrap(), why)).collect()
    }
}

fn lines_about(file: &str, findings: &str) -> String {
    let start = format!("src/{file}.rs:");
    findings.lines().filter(|line| line.starts_with(&start)).map(|line| format!("{line}\n")).collect()
}

fn files_named(errors: &str) -> BTreeSet<String> {
    let places = errors.lines().filter_map(|line| line.trim_start().strip_prefix("--> src/")?.split_once(".rs:"));
    places.map(|(name, _)| name.to_owned()).collect()
}

/// A crate without a disagreement.
#[derive(Debug, Serialize, Deserialize)]
struct Outcome {
    /// First seed; the others follow.
    seed: u64,
    resources: u64,
    /// Equal CRDs. For the others, both engines report that `crd()` panics.
    equal: u64,
    /// Files that do not compile: a defect of the generator.
    #[serde(default)]
    broken: u64,
    lines: usize,
    seconds: u64,
}

fn check(seeds: Range<u64>) -> Outcome {
    let start = Instant::now();
    let (seed, resources) = (seeds.start, seeds.end - seeds.start);
    println!("seeds {seeds:?}; one alone: PROPERTY_SEED=… PROPERTY_RESOURCES=1 cargo test --test it property::random");
    let seeds: BTreeMap<String, u64> = seeds.map(|seed| (format!("c{seed}"), seed)).collect();
    let text = |(file, seed): (&String, &u64)| (file.clone(), resource(*seed, file).print(&BTreeSet::new()));
    let mut files: Files = seeds.iter().map(text).collect();
    let (disagreements, equal, broken) = Crate::new("property").compare_most(&mut files);
    let mut report = String::new();
    for (shown, (file, why)) in disagreements.iter().enumerate() {
        let seed = seeds[file];
        report += &format!("seed {seed}: {why}\n");
        if shown < 2 {
            let (text, why) = Crate::new("property-shrunk").shrink(&resource(seed, FILE), why.starts_with("refused"));
            report += &format!("seed {seed}, made smaller:\n{text}\n{why}\n");
        }
    }
    assert!(report.is_empty(), "{report}\n{} of {} disagree", disagreements.len(), files.len());
    let lines = files.values().map(|text| text.lines().count()).sum();
    Outcome { seed, resources: resources - broken, equal, broken, lines, seconds: start.elapsed().as_secs() }
}

#[test]
fn random_types_equal_the_compiled() {
    let number = |variable: &str| std::env::var(variable).ok().map(|text| text.parse::<u64>().unwrap());
    let first = number("PROPERTY_SEED").unwrap_or(1);
    let end = first + number("PROPERTY_RESOURCES").unwrap_or(RESOURCES);
    let file = std::env::var_os("PROPERTY_RESULTS").map(PathBuf::from);
    let text = file.as_deref().map(|file| std::fs::read_to_string(file).unwrap_or_default()).unwrap_or_default();
    let mut outcomes: Vec<Outcome> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for seed in (first..end).step_by(usize::try_from(RESOURCES).unwrap()) {
        let seeds = seed..end.min(seed + RESOURCES);
        if outcomes.iter().any(|done| done.seed == seed && done.resources + done.broken == seeds.end - seed) {
            continue;
        }
        let outcome = check(seeds);
        println!("{outcome:?}");
        if let Some(file) = &file {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
            writeln!(file, "{}", serde_json::to_string(&outcome).unwrap()).unwrap();
        }
        outcomes.push(outcome);
    }
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    let (resources, equal) = (sum(|it| it.resources), sum(|it| it.equal));
    println!("{resources} custom resources: {equal} equal, {} that both engines say panic", resources - equal);
    assert!(
        file.is_some() || outcomes.iter().all(|outcome| outcome.broken == 0),
        "the generator writes what does not compile"
    );
    assert!(resources < 100 || equal * 100 > resources * 80, "most types have a CRD");
}
