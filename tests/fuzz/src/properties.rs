//! Fuzz properties: from any text, the pipeline from crate to manifests terminates, and a second run gives the same
//! result.

use std::path::Path;

use memcached_sdk::crd::{self, Crd, description, structural};
use memcached_sdk::diagnostic::{Code, Diagnostic, Diagnostics, sarif};
use memcached_sdk::engine::{self, Engine};
use memcached_sdk::k8s;
use memcached_sdk::rbac::PolicyRule;
use memcached_sdk::rbac::derive::{self, propose};
use memcached_sdk::rbac::marker::RbacMarker;
use memcached_sdk::rbac::role::{self, Roles};
use memcached_sdk::rbac::scope::OperatorScope;
use memcached_sdk::source::{FeatureSelection, Pending, SourceTree, marker};
use memcached_sdk::yaml;
use serde_json::Value;

/// A folder that does not exist: all files are in memory.
const ROOT: &str = "/fuzz";

const MANIFEST: &str = r#"[package]
name = "x"
edition = "2024"
[features]
on = []
default = ["on"]
off = []
[dependencies]
chrono = "0.4"
k8s-openapi = { version = "0.29", features = ["schemars", "v1_36"] }
kube = { version = "5", default-features = false, features = ["derive"] }
schemars = { version = "1", features = ["chrono04"] }
serde = { version = "1", features = ["derive"] }
serde_json = "1"
serde_with = "3"
"#;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The text is valid Rust.
    pub parsed: bool,
    /// The result has a CRD, or a role with a rule.
    pub generated: bool,
    /// The result has an error.
    pub refused: bool,
}

/// A crate in one text gives CRDs or findings. `src/lib.rs` comes first, then each file after a line `//- path`.
pub fn sources(text: &str) -> Outcome {
    let files = package(text);
    let Some((mut tree, mut found)) = load(&files) else { return Outcome::default() };
    let request = engine::EngineRequest { engine: Engine::Static, ..engine::EngineRequest::default() };
    let crds = engine::crds(&mut tree, &request, &mut found, &mut |_| {}).crds;
    for crd in &crds {
        found.extend(structural::check(crd));
    }
    show(&mut found);
    for crd in &crds {
        let mut short = crd.value.clone();
        description::limit(&mut short, 10);
        assert!(yaml::document(&short).len() <= yaml::document(&crd.value).len());
    }
    if is_read_twice(text) {
        assert_eq!(answer(tree), answer(load_all(&files)), "the answer depends on what was parsed before");
    }
    Outcome { parsed: is_rust(&found), generated: !crds.is_empty(), refused: found.has_errors() }
}

/// A crate in one text gives a role or findings, and YAML readers read the role unchanged.
pub fn markers(text: &str) -> Outcome {
    let files = package(text);
    let Some((mut tree, mut found)) = load(&files) else { return Outcome::default() };
    let ((roles, findings), read) = tree.settle(|tree| role::roles(tree, "role"));
    for role in &roles {
        assert_eq!(*role, read_again(role), "{text}");
    }
    if is_read_twice(text) {
        let (again, _) = load_all(&files).settle(|tree| role::roles(tree, "role"));
        assert_eq!((&roles, &findings), (&again.0, &again.1), "the answer depends on what was parsed before");
    }
    found.extend(findings);
    found.extend(read);
    show(&mut found);
    let allows = roles.iter().any(|role| role["rules"].as_array().is_some_and(|rules| !rules.is_empty()));
    Outcome { parsed: is_rust(&found), generated: allows, refused: found.has_errors() }
}

/// A comment is a marker or gives a finding. The marker's rules survive printing as a role and as markers.
pub fn marker(text: &str) -> Outcome {
    let marker = match marker::parse(text) {
        Ok(marker) => RbacMarker::from(&marker),
        Err(finding) => {
            show(&mut [finding].into_iter().collect());
            return Outcome { refused: true, ..Outcome::default() };
        }
    };
    let how = Roles { default_name: "role", fold: false };
    let roles = role::documents(std::slice::from_ref(&marker), &how);
    for role in &roles {
        assert_eq!(*role, read_again(role), "{text}");
    }
    let rules: Vec<PolicyRule> = marker.rules().collect();
    for rule in &rules {
        let printed = rule.to_marker(&marker.namespace);
        let again = marker::parse(&printed).map(|marker| RbacMarker::from(&marker));
        let again = again.unwrap_or_else(|finding| panic!("{printed}: {finding:?}"));
        assert_eq!(
            (vec![rule], &marker.namespace),
            (again.rules().collect::<Vec<_>>().iter().collect(), &again.namespace),
            "{printed}"
        );
    }
    Outcome { parsed: true, generated: !rules.is_empty(), refused: false }
}

/// A crate in one text gives its permissions, with a finding for each unresolved call.
pub fn permissions(text: &str) -> Outcome {
    let files = package(text);
    let Some((mut tree, mut found)) = load(&files) else { return Outcome::default() };
    let ((uses, doubts), read) = tree.settle(derive::uses);
    if is_read_twice(text) {
        let (again, _) = load_all(&files).settle(derive::uses);
        assert_eq!(
            format!("{uses:?} {doubts:?}"),
            format!("{:?} {:?}", again.0, again.1),
            "the answer depends on order"
        );
    }
    let home = OperatorScope { own: "x".to_owned(), ..OperatorScope::default() };
    for role in propose::roles(&uses, "role", &home).0 {
        assert!(!yaml::document(&role).is_empty());
    }
    found.extend(doubts.iter().map(Diagnostic::from).collect());
    found.extend(read);
    show(&mut found);
    Outcome { parsed: is_rust(&found), generated: !uses.is_empty(), refused: !found.is_empty() }
}

/// Selects inputs whose result is compared with that of eager parsing. This takes as long as the rest, so the fuzzer
/// does it for some.
fn is_read_twice(text: &str) -> bool {
    cfg!(test) || text.len().is_multiple_of(8)
}

/// A lock file with the linked releases.
fn lock() -> String {
    let registry = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    let package = |name: &str, version: &str, source: &str, dependencies: &[&str]| {
        let dependencies: String = dependencies.iter().map(|name| format!(" \"{name}\",\n")).collect();
        format!(
            "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{source}dependencies = [\n{dependencies}]\n\n"
        )
    };
    let all = ["chrono", "k8s-openapi", "kube", "schemars", "serde", "serde_json"];
    [
        package("x", "0.0.0", "", &all),
        package("chrono", "0.4.45", registry, &[]),
        package("k8s-openapi", "0.29.0", registry, &[]),
        package("kube", "5.0.0", registry, &[]),
        package("schemars", "1.2.3", registry, &["chrono"]),
        package("serde", "1.0.229", registry, &[]),
        package("serde_json", "1.0.145", registry, &[]),
    ]
    .concat()
}

fn package(text: &str) -> Pending {
    let mut files = vec![("Cargo.toml", MANIFEST.to_owned()), ("Cargo.lock", lock()), ("src/lib.rs", String::new())];
    for line in text.split_inclusive('\n') {
        match line.strip_prefix("//- ") {
            Some(path) => files.push((path.trim_end(), String::new())),
            None => files.last_mut().unwrap().1.push_str(line),
        }
    }
    let mut pending = Pending::default();
    for (path, text) in files {
        pending.insert(&Path::new(ROOT).join(path), text);
    }
    pending
}

fn load(files: &Pending) -> Option<(SourceTree, Diagnostics)> {
    let root = Path::new(ROOT);
    k8s::load_below(root, root, &FeatureSelection::default(), files).ok()
}

fn load_all(files: &Pending) -> SourceTree {
    let (mut tree, _) = load(files).unwrap();
    let _ = tree.read_all();
    tree
}

fn answer(mut tree: SourceTree) -> (Vec<Crd>, Diagnostics) {
    let ((definitions, mut found), _) = crd::read_definitions(&mut tree);
    let (crds, contradictions) = crd::merge(definitions);
    found.extend(contradictions);
    found.sort();
    (crds, found)
}

/// Parses the emitted document with a YAML reader.
fn read_again(document: &Value) -> Value {
    let text = yaml::document(document);
    serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn is_rust(found: &Diagnostics) -> bool {
    found.iter().all(|diagnostic| !matches!(diagnostic.code, Code::Syntax | Code::MissingModule))
}

/// Renders the findings, which must not panic.
fn show(found: &mut Diagnostics) {
    found.sort();
    let (text, document) = (found.render(false), sarif::document(found));
    assert!(found.is_empty() || !text.is_empty() && !document.is_empty());
}
