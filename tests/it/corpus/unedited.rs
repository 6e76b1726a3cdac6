//! Public operators at a fixed commit: the CRDs of both engines, compared with the committed YAML.
//!
//! `unedited.toml` is the list. Equal means the same JSON value; the format of numbers and the order of keys, versions
//! and files do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use memcached_sdk::api;
use memcached_sdk::crd;
use memcached_sdk::k8s;
use serde_json::Value;
use toml_edit::{DocumentMut, TableLike};

const LIST: &str = include_str!("unedited.toml");

struct Repository {
    name: String,
    commit: String,
    /// Packages that declare custom resources.
    packages: Vec<String>,
    /// Paths of committed CRDs.
    yaml: Vec<String>,
    /// CRDs whose committed YAML differs from `crd()`, each with the reason.
    different: BTreeMap<String, String>,
    /// Fields that the project's own recipe removes from `crd()`.
    removed: BTreeMap<String, String>,
    /// The reason to skip the compiled engine.
    unbuilt: Option<String>,
    /// Number of equal CRDs of the compiled engine, if it runs.
    compiled: Option<usize>,
}

fn repositories() -> Vec<Repository> {
    let document: DocumentMut = LIST.parse().unwrap();
    let list = document["repository"].as_array_of_tables().unwrap();
    list.iter().map(|table| repository(table)).collect()
}

fn repository(table: &dyn TableLike) -> Repository {
    let known = ["name", "commit", "packages", "yaml", "different", "removed", "unbuilt", "compiled"];
    let unknown = table.iter().find(|(key, _)| !known.contains(key));
    assert!(unknown.is_none(), "{unknown:?}");
    let text = |key: &str| table.get(key).map(|item| item.as_str().unwrap().to_owned());
    let list = |key: &str| -> Vec<String> {
        let array = table.get(key).map(|item| item.as_array().unwrap().iter());
        array.into_iter().flatten().map(|value| value.as_str().unwrap().to_owned()).collect()
    };
    let reasons = |key: &str| -> BTreeMap<String, String> {
        let pairs = table.get(key).map(|item| item.as_table_like().unwrap().iter());
        pairs.into_iter().flatten().map(|(key, why)| (key.to_owned(), why.as_str().unwrap().to_owned())).collect()
    };
    Repository {
        name: text("name").unwrap(),
        commit: text("commit").unwrap(),
        packages: if table.contains_key("packages") { list("packages") } else { vec![".".to_owned()] },
        yaml: list("yaml"),
        different: reasons("different"),
        removed: reasons("removed"),
        unbuilt: text("unbuilt"),
        compiled: table.get("compiled").map(|item| item.as_integer().unwrap().try_into().unwrap()),
    }
}

/// The CRDs of an engine for a repository, compared with the committed ones.
#[derive(Default)]
struct Judged {
    equal: BTreeSet<String>,
    /// Known differences.
    different: BTreeSet<String>,
    /// Committed CRDs that the engine does not print.
    absent: BTreeSet<String>,
    /// CRDs that are not committed, mostly of foreign APIs.
    others: usize,
    codes: BTreeMap<String, usize>,
    /// Unknown differences, and entries of the list that no longer apply.
    wrong: Vec<String>,
}

impl Judged {
    fn of(repository: &Repository, checkout: &Path, engine: &str, target: &Path) -> Self {
        let mut judged = Self::default();
        let committed = committed(repository, checkout);
        let mut given = BTreeSet::new();
        for package in &repository.packages {
            let (crds, errors) = run(&checkout.join(package), engine, target);
            for line in errors.lines() {
                if let Some((code, _)) = line.strip_prefix("error[").and_then(|rest| rest.split_once(']')) {
                    *judged.codes.entry(code.to_owned()).or_default() += 1;
                }
            }
            for crd in crds {
                judged.compare(repository, &crd, &committed);
                given.insert(key(&crd));
            }
        }
        judged.absent = committed.keys().filter(|key| !given.contains(*key)).cloned().collect();
        judged
    }

    fn compare(&mut self, repository: &Repository, crd: &Value, committed: &BTreeMap<String, Vec<Value>>) {
        let key = key(crd);
        let Some(committed) = committed.get(&key) else {
            self.others += 1;
            return;
        };
        let mut given = sorted(crd.clone());
        repository.removed.keys().for_each(|pointer| remove_empty(&mut given, pointer));
        let equal = committed.iter().all(|committed| *committed == given);
        match (equal, repository.different.contains_key(&key)) {
            (true, false) => drop(self.equal.insert(key)),
            (false, true) => drop(self.different.insert(key)),
            (true, true) => self.wrong.push(format!("{}: {key} is equal, the list says it is not\n", repository.name)),
            (false, false) => {
                let lines = |value: &Value| serde_json::to_string_pretty(value).unwrap();
                let other = committed.iter().find(|committed| **committed != given).unwrap();
                let (committed, given) = (lines(other), lines(&given));
                let diff = similar::TextDiff::from_lines(&committed, &given).unified_diff().to_string();
                self.wrong.push(format!("{}: {key}: committed - and given + differ\n{diff}", repository.name));
            }
        }
    }
}

fn run(package: &Path, engine: &str, target: &Path) -> (Vec<Value>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memcached-sdk"));
    command.args(["generate", "crds", "--stdout", "--keep-going", "--engine", engine]).current_dir(package);
    command.env("NO_COLOR", "1").env("CARGO_TARGET_DIR", target).stdin(Stdio::null());
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    print!("{errors}");
    let documents: Vec<Value> = serde_yaml::from_multiple(&String::from_utf8(output.stdout).unwrap()).unwrap();
    (documents, errors)
}

/// Committed CRDs, each from all its files.
fn committed(repository: &Repository, checkout: &Path) -> BTreeMap<String, Vec<Value>> {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for pattern in &repository.yaml {
        let pattern = checkout.join(pattern);
        let files: Vec<PathBuf> = glob::glob(pattern.to_str().unwrap()).unwrap().map(Result::unwrap).collect();
        assert!(!files.is_empty(), "{}: no file is {}", repository.name, pattern.display());
        for file in files {
            let text = untemplated(&std::fs::read_to_string(&file).unwrap());
            let documents: Vec<Value> =
                serde_yaml::from_multiple(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let documents = documents.into_iter().filter(|document| document["kind"] == "CustomResourceDefinition");
            documents.for_each(|crd| found.entry(key(&crd)).or_default().push(sorted(crd)));
        }
    }
    found
}

/// A Helm template with a placeholder for each action.
fn untemplated(text: &str) -> String {
    let mut made = String::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("{{")) {
        let (mut rest, mut plain) = (line, String::new());
        while let Some((before, (_, after))) =
            rest.split_once("{{").and_then(|(before, rest)| Some((before, rest.split_once("}}")?)))
        {
            plain += before;
            plain += "action";
            rest = after;
        }
        made += &format!("{plain}{rest}\n");
    }
    made
}

fn key(crd: &Value) -> String {
    format!("{}/{}", crd::group(crd), crd["spec"]["names"]["kind"].as_str().unwrap_or_default())
}

fn sorted(crd: Value) -> Value {
    let mut crd = crd::canonical(crd);
    whole(&mut crd);
    let name = |version: &Value| version["name"].as_str().unwrap_or_default().to_owned();
    crd["spec"]["versions"].as_array_mut().unwrap().sort_by_key(name);
    crd
}

/// Converts `1.0` to `1`: YAML does not distinguish them here.
fn whole(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(whole),
        Value::Object(values) => values.values_mut().for_each(whole),
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e15) {
                *value = Value::from(float as i64);
            }
        }
        _ => {}
    }
}

fn remove_empty(crd: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let Some(parent) = crd.pointer_mut(parent).and_then(Value::as_object_mut) else { return };
    if parent.get(key).and_then(Value::as_array).is_some_and(Vec::is_empty) {
        parent.remove(key);
    }
}

/// Checks out all files at a commit that the snapshot has.
fn checkout(corpus: &Path, repository: &Repository) -> PathBuf {
    let folder = corpus.join(repository.name.replace('/', "+"));
    let git = ["repo/.git", "repo", ".git", ""].iter().map(|path| folder.join(path));
    let git = git.into_iter().find(|path| path.join("HEAD").is_file());
    let git = git.unwrap_or_else(|| panic!("corpus absent: {} is not in CORPUS", repository.name));
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("corpus-unedited").join(folder.file_name().unwrap());
    let (mark, commit) = (target.with_extension("commit"), &repository.commit);
    // Keep an existing checkout: its build is expensive.
    if std::fs::read_to_string(&mark).is_ok_and(|there| there == *commit) {
        return target;
    }
    if target.exists() {
        std::fs::remove_dir_all(&target).unwrap();
    }
    std::fs::create_dir_all(&target).unwrap();
    let script = "export GIT_INDEX_FILE=\"$3\"; rm -f \"$3\"; git --git-dir=\"$1\" read-tree \"$2\" || exit; \
                  git --git-dir=\"$1\" checkout-index --all --force --prefix=\"$4\"/ 2>/dev/null; rm -f \"$3\"";
    let arguments: [&Path; 4] = [&git, Path::new(commit), &target.with_extension("index"), &target];
    let status = Command::new("sh").args(["-c", script, "sh"]).args(arguments).status().unwrap();
    assert!(status.success(), "{}: no commit {commit}", repository.name);
    std::fs::write(mark, commit).unwrap();
    target
}

/// The kube and schemars releases in the nearest lock file of a package.
fn releases(checkout: &Path, package: &str) -> String {
    let folder = checkout.join(package);
    let lock = folder.ancestors().map(|folder| folder.join("Cargo.lock")).find(|lock| lock.is_file());
    let Some(lock) = lock else { return "no lock".to_owned() };
    let document: DocumentMut = std::fs::read_to_string(lock).unwrap().parse().unwrap();
    let release = |name: &str, is_it: &dyn Fn(&str) -> bool| {
        let packages = document["package"].as_array_of_tables().unwrap().iter();
        let versions = packages.filter(|package| package["name"].as_str() == Some(name));
        let version = versions.map(|package| package["version"].as_str().unwrap()).find(|version| is_it(version));
        version.unwrap_or("none").to_owned()
    };
    let kube = release("kube-core", &|_| true);
    // Dependencies may lock another schemars.
    let old = kube.starts_with("0.") || kube.starts_with("1.");
    let schemars = release("schemars", &|version| version.starts_with("0.") == old);
    format!("{kube}, {schemars}")
}

fn note(repository: &Repository) -> String {
    let mut notes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, why) in &repository.different {
        notes.entry(why).or_default().push(key.rsplit('/').next().unwrap());
    }
    let different = notes.iter().map(|(why, kinds)| format!("{}: {why}", kinds.join(", ")));
    different.chain(repository.removed.values().cloned()).collect::<Vec<_>>().join("; ")
}

#[test]
#[ignore = "needs CORPUS, a folder of repositories: make corpus"]
fn the_read_equal_what_is_committed() {
    let corpus = PathBuf::from(std::env::var_os("CORPUS").expect("corpus absent: set CORPUS"));
    let mut table =
        "| repository | commit | kube, schemars | CRDs | read: equal | refused | compiled: equal | note |\n\
                     |---|---|---|---|---|---|---|---|\n"
            .to_owned();
    let mut wrong = String::new();
    for repository in repositories() {
        let checkout = checkout(&corpus, &repository);
        println!("== {}", repository.name);
        let judged = Judged::of(&repository, &checkout, "static", Path::new("target"));
        judged.wrong.iter().for_each(|difference| wrong.push_str(difference));
        for package in repository.packages.iter().filter(|_| !judged.codes.contains_key("hidden-resource")) {
            let tree = k8s::load(&checkout.join(package)).unwrap().0;
            let (derives, seen) = (super::in_text(&tree), api::declared(&tree).0.len());
            if seen != derives {
                writeln!(wrong, "{}: {seen} resources are found, the text derives {derives}", repository.name).unwrap();
            }
        }
        let crds = judged.equal.len() + judged.different.len() + judged.absent.len() + judged.wrong.len();
        let refused = judged.absent.len();
        let codes: Vec<&str> = judged.codes.keys().map(String::as_str).collect();
        let refused = if refused == 0 { String::new() } else { format!("{refused}: {}", codes.join(", ")) };
        let Repository { name, commit, packages, compiled, unbuilt, .. } = &repository;
        let compiled = compiled.map(|equal| equal.to_string()).or(unbuilt.clone()).unwrap();
        let cells = [
            name.as_str(),
            &commit[..7],
            &releases(&checkout, &packages[0]),
            &crds.to_string(),
            &judged.equal.len().to_string(),
            &refused,
            &compiled,
            &note(&repository),
        ];
        writeln!(table, "| {} |", cells.join(" | ")).unwrap();
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{wrong}");
    super::documented("docs/crds.md", "unedited", &table);
}

#[test]
#[ignore = "needs CORPUS, a folder of repositories, and an hour: make corpus-compiled"]
fn the_compiled_equal_what_is_committed() {
    let corpus = PathBuf::from(std::env::var_os("CORPUS").expect("corpus absent: set CORPUS"));
    let only = std::env::var("CORPUS_ONLY").ok();
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("corpus-target");
    let mut table = "| repository | CRDs | equal | first run | second run |\n|---|---|---|---|---|\n".to_owned();
    let mut wrong = String::new();
    for repository in repositories() {
        let Some(expected) = repository.compiled else { continue };
        if only.as_ref().is_some_and(|only| *only != repository.name) {
            continue;
        }
        let checkout = checkout(&corpus, &repository);
        let mut times = Vec::new();
        let mut last = Judged::default();
        for _ in 0..2 {
            let start = Instant::now();
            last = Judged::of(&repository, &checkout, "compiled", &target);
            times.push(format!("{:.1} s", start.elapsed().as_secs_f64()));
        }
        let Judged { equal, different, absent, others, .. } = &last;
        let crds = equal.len() + different.len() + absent.len();
        writeln!(table, "| {} | {crds} and {others} | {} | {} |", repository.name, equal.len(), times.join(" | "))
            .unwrap();
        last.wrong.iter().for_each(|difference| wrong.push_str(difference));
        if equal.len() != expected {
            writeln!(wrong, "{}: {} are equal, not {expected}", repository.name, equal.len()).unwrap();
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{wrong}");
}
