//! Compares the CRDs that are read from source with the compiled `crd()` of the same files.
//!
//! A crate holds each file of `fixtures/types` and `fixtures/releases/types`, and seeded edits of the sample's types.
//! Its program prints all CRDs. In a file, `//! crds: …` lists its resources. `//! refused: Kind code` lists resources
//! that compile but are refused. Both lists must be complete and exact. `//! kube: …` limits a file to some kube
//! releases.

mod edits;
mod releases;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use memcached_sdk::api;
use memcached_sdk::crd;
use memcached_sdk::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use memcached_sdk::k8s;
use memcached_sdk::source::{FeatureSelection, Pending};
use serde_json::Value;

use crate::generated;
use crate::golden::answers;

const SEED: u64 = 0x006d_656d_6361_6368;
const EDITS: usize = 48;

/// CRDs by `module kind`; `None` if `crd()` panics.
pub(crate) type Crds = BTreeMap<String, Option<Value>>;

#[derive(Clone)]
pub(crate) struct Module {
    pub(crate) name: String,
    text: String,
    /// Paths of the root types in the module.
    types: Vec<String>,
    refused: BTreeMap<String, String>,
    /// Supported kube releases.
    pub(crate) kube: semver::VersionReq,
}

impl Module {
    pub(crate) fn new(name: &str, text: String) -> Self {
        let list = |key: &str| -> Vec<String> {
            text.lines().filter_map(|line| line.strip_prefix(key)).map(str::to_owned).collect()
        };
        let types: Vec<String> =
            list("//! crds: ").iter().flat_map(|line| line.split_whitespace()).map(str::to_owned).collect();
        let declared = text
            .lines()
            .filter(|line| line.trim_start().starts_with("#[derive("))
            .filter(|line| ["CustomResource", "(CR,"].iter().any(|name| line.contains(name)));
        assert_eq!(declared.count(), types.len(), "`{name}.rs` names all its resources in `//! crds: …`");
        let refused = list("//! refused: ")
            .iter()
            .map(|line| line.split_once(' ').expect("kind and code"))
            .map(|(kind, code)| (kind.to_owned(), code.to_owned()))
            .collect();
        let kube = list("//! kube: ").first().map_or(semver::VersionReq::STAR, |releases| releases.parse().unwrap());
        Module { name: name.to_owned(), text, types, refused, kube }
    }

    /// Returns true for a description in this file or from kube.
    pub(crate) fn says(&self, description: &str) -> bool {
        description.starts_with("Auto-generated derived type for ")
            || description.lines().all(|line| self.text.contains(line.trim()))
    }

    /// `module kind` of each root type.
    pub(crate) fn keys(&self) -> BTreeSet<String> {
        self.types.iter().map(|path| format!("{} {}", self.name, path.rsplit("::").next().unwrap())).collect()
    }
}

struct Oracle {
    modules: Vec<Module>,
    compiled: Crds,
    read: Crds,
    /// `module code` of each finding.
    findings: BTreeSet<String>,
    rendered: String,
}

fn seed() -> u64 {
    std::env::var("ORACLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED)
}

fn oracle() -> &'static Oracle {
    static ORACLE: OnceLock<Oracle> = OnceLock::new();
    ORACLE.get_or_init(|| {
        let mut modules = answers::present().modules();
        // A copy with CRLF line endings, which git might normalize in a checked-in file.
        let lines = modules.iter().find(|module| module.name == "lines").unwrap().text.replace('\n', "\r\n");
        modules.push(Module::new("crlf", lines));
        let files = like_the_sample("oracle");
        for (index, text) in edits::many(&sample(), seed(), EDITS).into_iter().enumerate() {
            modules.push(Module::new(&format!("edit_{index:02}"), text));
        }
        Oracle::ask("oracle", modules, &files)
    })
}

/// The sample's types without the manager, which has no older release.
pub(crate) fn sample() -> String {
    let path = "tests/samples/memcached-operator/src/api/v1alpha1/memcached.rs";
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let merged_by_type = "extend(\"x-kubernetes-list-type\" = \"map\", \"x-kubernetes-list-map-keys\" = [\"type\"])";
    let text = text.replacen("schema_with = \"manager::condition::schema\"", merged_by_type, 1);
    text.replacen("//! ", "//! crds: Memcached\n//! ", 1)
}

/// The sample's manifest and lock file under another name, to share its build.
pub(crate) fn like_the_sample(name: &str) -> [(&'static str, String); 2] {
    let manifest = generated::manifest(name).to_string();
    let lock = std::fs::read_to_string(generated::lock()).unwrap();
    let lock = lock.replacen("\"memcached-operator\"", &format!("\"{name}\""), 1);
    [("Cargo.toml", manifest), ("Cargo.lock", lock)]
}

/// Manifest and lock file of the crate with foreign types, under another name.
pub(crate) fn like_foreign(name: &str) -> [(&'static str, String); 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/foreign");
    let [manifest, lock] = ["Cargo.toml", "Cargo.lock"].map(|path| std::fs::read_to_string(root.join(path)).unwrap());
    let lines = manifest.split_inclusive('\n').filter(|line| !line.starts_with("parts = "));
    let manifest = lines.collect::<String>().replacen("\"foreign\"", &format!("\"{name}\""), 1);
    [("Cargo.toml", manifest), ("Cargo.lock", lock)]
}

/// Types of other crates and of another Kubernetes version, with dependencies of their own.
fn foreign() -> &'static Oracle {
    static ORACLE: OnceLock<Oracle> = OnceLock::new();
    ORACLE.get_or_init(|| {
        let (modules, files) = foreign_crate();
        Oracle::ask("foreign", modules, &files)
    })
}

pub(crate) fn foreign_crate() -> answers::Crate {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/foreign");
    let text = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let module = Module::new("foreign", text("types/foreign.rs"));
    let files = ["Cargo.toml", "Cargo.lock", "parts/Cargo.toml", "parts/src/lib.rs"];
    (vec![module], files.map(|path| (path, text(path))).to_vec())
}

impl Oracle {
    fn ask(name: &str, modules: Vec<Module>, files: &[(&str, String)]) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        write(&folder, &modules, files);
        let compiled = compile(&folder).unwrap_or_else(|error| panic!("{error}"));
        let (read, findings, rendered) = read(&folder);
        Oracle { modules, compiled, read, findings, rendered }
    }
}

/// Like [`write`], but always replaces the lock file.
pub(crate) fn write_locked(folder: &Path, modules: &[Module], given: &[(&str, String)]) {
    let lock = given.iter().find(|(path, _)| *path == "Cargo.lock").map(|(path, text)| (folder.join(path), text));
    if let Some((path, text)) = lock
        && std::fs::read_to_string(&path).ok().as_ref() != Some(text)
    {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(path, text).unwrap();
    }
    write(folder, modules, given);
}

/// Writes a crate whose program prints all CRDs.
pub(crate) fn write(folder: &Path, modules: &[Module], given: &[(&str, String)]) {
    let mut main = String::from("#![allow(deprecated, non_camel_case_types, unused)]\n");
    for module in modules {
        writeln!(main, "mod {};", module.name).unwrap();
    }
    main.push_str(
        "\nfn main() {\n    std::panic::set_hook(Box::new(|_| {}));\n    let mut crds = serde_json::Map::new();\n    \
         macro_rules! add {\n        ($($key:literal $ty:ty;)*) => {$(\n            \
         let crd = std::panic::catch_unwind(|| serde_json::to_value(<$ty as kube::CustomResourceExt>::crd()).unwrap());\n            \
         crds.insert($key.to_owned(), crd.unwrap_or_default());\n        )*};\n    }\n    add! {\n",
    );
    for module in modules {
        for ty in &module.types {
            let kind = ty.rsplit("::").next().unwrap();
            writeln!(main, "        \"{name} {kind}\" {name}::{ty};", name = module.name).unwrap();
        }
    }
    main.push_str("    }\n    println!(\"{}\", serde_json::to_string(&crds).unwrap());\n}\n");
    let mut files = BTreeMap::from([(PathBuf::from("src/main.rs"), main)]);
    files.extend(given.iter().map(|(path, text)| (PathBuf::from(path), text.clone())));
    // Keep a lock file that cargo updated.
    files.retain(|path, _| path != Path::new("Cargo.lock") || !folder.join(path).exists());
    for module in modules {
        files.insert(format!("src/{}.rs", module.name).into(), module.text.clone());
    }
    for (path, text) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // An unchanged file keeps its mtime, so that cargo does not rebuild it.
        if std::fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            std::fs::write(path, text).unwrap();
        }
    }
}

/// Returns the compiler's answers, or its errors.
pub(crate) fn compile(folder: &Path) -> Result<Crds, String> {
    let output = generated::cargo(folder, &["run", "--quiet"]).output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let crds: BTreeMap<String, Value> = serde_json::from_slice(&output.stdout).unwrap();
    Ok(crds.into_iter().map(|(key, crd)| (key, (!crd.is_null()).then(|| crd::canonical(crd)))).collect())
}

/// Returns the CRDs that are read, without refused ones, and all findings.
pub(crate) fn ask(folder: &Path) -> (Crds, Diagnostics) {
    let loaded = k8s::load_with(folder, &FeatureSelection::default(), &Pending::default());
    let (mut tree, mut diagnostics) = loaded.unwrap();
    let ((apis, found), read) = tree.settle(api::all);
    diagnostics.extend(found);
    diagnostics.extend(read);
    let mut crds = Crds::new();
    for api in &apis {
        let key = format!("{} {}", file_stem(&api.origin.path), api.root);
        let crd = crd::single(api);
        if !matches!(&crd, Err(diagnostic) if diagnostic.code != Code::NotStructural) {
            assert!(crds.insert(key, crd.as_ref().ok().cloned()).is_none(), "one resource of a kind in a file");
        }
        crd.map_err(|diagnostic| diagnostics.push(diagnostic)).ok();
    }
    // An error in the project affects every resource.
    let project = |it: &Diagnostic| it.origin.as_ref().is_none_or(|origin| !origin.path.ends_with(".rs"));
    if diagnostics.iter().any(|it| it.code.severity() == Severity::Error && project(it)) {
        crds.clear();
    }
    (crds, diagnostics)
}

fn file_stem(path: &str) -> &str {
    path.trim_start_matches("src/").trim_end_matches(".rs")
}

/// Returns the CRDs that are read, `module code` of each finding, and the findings as text.
pub(crate) fn read(folder: &Path) -> (Crds, BTreeSet<String>, String) {
    let (crds, diagnostics) = ask(folder);
    let mut findings = BTreeSet::new();
    let mut rendered = String::new();
    for diagnostic in &diagnostics {
        let origin = diagnostic.origin.as_ref().expect("every finding says where");
        findings.insert(format!("{} {}", file_stem(&origin.path), diagnostic.code));
        writeln!(rendered, "{}:{:?}: {} [{}]", origin.path, origin.line_column(), diagnostic.message, diagnostic.code)
            .unwrap();
    }
    (crds, findings, rendered)
}

/// A line diff of two answers.
pub(crate) fn difference(compiled: Option<&Value>, read: Option<&Value>) -> String {
    let text = |crd: Option<&Value>| {
        crd.map_or_else(|| "panics\n".to_owned(), |crd| serde_json::to_string_pretty(crd).unwrap())
    };
    similar::TextDiff::from_lines(text(compiled), text(read)).unified_diff().to_string()
}

/// Checks the modules with selected names. Returns the number of equal CRDs.
fn check(oracle: &Oracle, select: impl Fn(&str) -> bool) -> usize {
    let Oracle { modules, compiled, read, findings, rendered } = oracle;
    let mut problems = String::new();
    let mut equal = 0;
    for module in modules.iter().filter(|module| select(&module.name)) {
        let mut expected_findings = BTreeSet::new();
        for key in module.keys() {
            let kind = key.split(' ').nth(1).unwrap();
            if let Some(code) = module.refused.get(kind) {
                expected_findings.insert(format!("{} {code}", module.name));
                if matches!(read.get(&key), Some(Some(_))) {
                    writeln!(problems, "{key}: expected to be refused").unwrap();
                }
                continue;
            }
            match (&compiled[&key], read.get(&key)) {
                (Some(compiled), Some(Some(read))) if compiled == read => equal += 1,
                (None, Some(None)) => {
                    expected_findings.insert(format!("{} not-structural", module.name));
                }
                (_, None) => writeln!(problems, "{key}: refused or not found").unwrap(),
                (compiled, Some(read)) => {
                    let diff = difference(compiled.as_ref(), read.as_ref());
                    writeln!(problems, "{key}: compiled - and read + differ\n{diff}").unwrap();
                }
            }
        }
        let found: BTreeSet<String> =
            findings.iter().filter(|finding| finding.split(' ').next() == Some(&module.name)).cloned().collect();
        if found != expected_findings {
            writeln!(problems, "{}: findings {found:?}, expected {expected_findings:?}", module.name).unwrap();
        }
    }
    assert!(problems.is_empty(), "{problems}\nfindings:\n{rendered}");
    equal
}

#[test]
fn crds_of_all_constructs_equal_the_compiled_ones() {
    let equal = check(oracle(), |name| !name.starts_with("edit_"));
    assert!(equal >= 20, "only {equal} CRDs were compared");
}

#[test]
fn crds_of_types_of_other_crates_equal_the_compiled_ones() {
    assert_eq!(check(foreign(), |_| true), 4);
}

/// The compiler rejects types with wrong generic arguments, so they must have no CRD.
#[test]
fn wrong_arguments_are_refused() {
    let types = [
        "u8<String>",
        "String<u8>",
        "Vec<u8, u8>",
        "Vec<3>",
        "std::collections::BTreeMap<String, u8, u8>",
        "k8s_openapi::api::core::v1::PodSpec<u8>",
        "Plain<u8>",
        "Inner<u8, u8>",
        "Inner<3>",
        "Fixed<u8>",
        "Alias<u8, u8>",
        "std::vec::<u8>::Vec<u8>",
    ];
    let modules = types.iter().enumerate().map(|(position, ty)| {
        let text = format!(
            "//! crds: Wrong\nuse schemars::JsonSchema;\n\
             #[derive(kube::CustomResource, JsonSchema)] #[kube(group = \"g.io\", version = \"v1\", kind = \"Wrong\")]\n\
             pub struct WrongSpec {{ field: {ty} }}\n\
             #[derive(JsonSchema)] pub struct Plain {{}}\n\
             #[derive(JsonSchema)] pub struct Inner<T> {{ inner: T }}\n\
             #[derive(JsonSchema)] pub struct Fixed<const N: usize> {{ fixed: [u8; N] }}\n\
             type Alias<T> = Vec<T>;\n"
        );
        Module::new(&format!("wrong_{position:02}"), text)
    });
    let modules: Vec<Module> = modules.collect();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("wrong-arguments");
    write(&folder, &modules, &like_the_sample("wrong"));
    let (read, findings, rendered) = read(&folder);
    assert!(read.is_empty(), "{read:?}");
    let expected: BTreeSet<String> = modules.iter().map(|module| format!("{} unsupported-type", module.name)).collect();
    assert_eq!(findings, expected, "{rendered}");
}

#[test]
fn crds_equal_the_compiled_ones_after_every_edit() {
    println!("ORACLE_SEED={}", seed());
    let equal = check(oracle(), |name| name.starts_with("edit_"));
    assert_eq!(equal, EDITS, "ORACLE_SEED={}", seed());
    let texts: BTreeSet<&str> = oracle().modules.iter().map(|module| module.text.as_str()).collect();
    assert_eq!(texts.len(), oracle().modules.len(), "the edits differ");
}
