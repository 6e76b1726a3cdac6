//! Permissions derived from code: a fixture for each construct, and the sample operator.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use memcached_sdk::diagnostic::Diagnostics;
use memcached_sdk::manifest::yaml;
use memcached_sdk::rbac::derive::{self, propose};
use memcached_sdk::rbac::{Scope, Target, Usage};
use memcached_sdk::source::SourceTree;

/// Each `tests/fixtures/rbac-derive/<case>.rs` uses what `<case>.txt` says.
#[test]
fn fixtures() {
    let mut count = 0;
    for path in cases() {
        let (usages, diagnostics) = derived(&std::fs::read_to_string(&path).unwrap());
        let expected = snapbox::Data::read_from(&path.with_extension("txt"), None).raw();
        snapbox::assert_data_eq!(show(&usages, &diagnostics), expected);
        count += 1;
    }
    assert!(count >= 1, "only {count} fixtures");
}

fn cases() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rbac-derive");
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    paths.sort();
    paths
}

const MANIFEST: &str = "\
[package]
name = \"op\"
version = \"0.1.0\"
edition = \"2024\"
[dependencies]
kube = { version = \"5\", features = [\"runtime\", \"derive\"] }
k8s-openapi = { version = \"0.29\", features = [\"v1_36\"] }
http = \"1\"
helper = \"1\"
tokio = \"1\"
";

const LOCK: &str = "\
version = 4
[[package]]
name = \"helper\"
version = \"1.0.0\"
source = \"registry+https://github.com/rust-lang/crates.io-index\"
dependencies = [\"kube\"]
[[package]]
name = \"kube\"
version = \"5.0.0\"
source = \"registry+https://github.com/rust-lang/crates.io-index\"
[[package]]
name = \"k8s-openapi\"
version = \"0.29.0\"
source = \"registry+https://github.com/rust-lang/crates.io-index\"
[[package]]
name = \"op\"
version = \"0.1.0\"
dependencies = [\"helper\", \"k8s-openapi\", \"kube\"]
";

fn derived(text: &str) -> (Vec<Usage>, Diagnostics) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("src")).unwrap();
    std::fs::write(dir.path().join("Cargo.toml"), MANIFEST).unwrap();
    std::fs::write(dir.path().join("Cargo.lock"), LOCK).unwrap();
    std::fs::write(dir.path().join("src/main.rs"), text).unwrap();
    read(dir.path())
}

fn read(dir: &Path) -> (Vec<Usage>, Diagnostics) {
    let (mut tree, mut diagnostics) = SourceTree::load_with(dir, &Default::default(), &Default::default()).unwrap();
    let ((usages, found), read) = tree.settle(derive::uses);
    diagnostics.extend(found);
    diagnostics.extend(read);
    diagnostics.sort();
    (usages, diagnostics)
}

fn show(usages: &[Usage], diagnostics: &Diagnostics) -> String {
    let mut out = String::new();
    for usage in usages {
        let (line, column) = usage.origin.line_column();
        let target = match &usage.permission.target {
            Target::Resource { group, resource, .. } if group.is_empty() => resource.clone(),
            Target::Resource { group, resource, .. } => format!("{group}/{resource}"),
            Target::Url(url) => url.clone(),
        };
        let scope = match &usage.scope {
            Scope::Cluster => "cluster".to_owned(),
            Scope::Own => "own".to_owned(),
            Scope::Namespace(name) => format!("namespace {name}"),
            Scope::Namespaced => "namespaced".to_owned(),
        };
        let verb = &usage.permission.verb;
        writeln!(out, "{line}:{column} {verb} {target} {scope}: {}", usage.call).unwrap();
    }
    for diagnostic in diagnostics {
        let (line, column) = diagnostic.origin.as_ref().unwrap().line_column();
        writeln!(out, "{line}:{column} {}: {}", diagnostic.code, diagnostic.message).unwrap();
    }
    out
}

/// What the sample's audited end-to-end test proves to be needed is what is derived: its markers, and the roles of
/// the manager.
#[test]
fn the_sample_uses_what_its_roles_allow() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/memcached-operator");
    let (usages, diagnostics) = read(&dir);
    assert!(diagnostics.is_empty(), "{}", diagnostics.render(false));
    let [own, metrics, election] = ["manager-role", "metrics-auth-role", "leader-election-role"].map(|name| {
        let roles = propose::roles(&usages, "manager-role", "system");
        roles.into_iter().find(|role| role["metadata"]["name"] == name).unwrap()
    });
    let file = |name: &str| std::fs::read_to_string(dir.join("config/rbac").join(name)).unwrap();
    assert_eq!(yaml::file(None, &[own]), file("role.yaml"));
    for (role, name) in [(metrics, "metrics_auth_role.yaml"), (election, "leader_election_role.yaml")] {
        let text = file(name);
        let mut verbs: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  - ")).collect();
        let mut derived: Vec<String> = Vec::new();
        for rule in role["rules"].as_array().unwrap() {
            for list in ["apiGroups", "resources", "verbs"] {
                derived.extend(rule[list].as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()));
            }
        }
        verbs.sort_unstable();
        verbs.dedup();
        derived.sort();
        derived.dedup();
        assert_eq!(verbs, derived, "{name}");
    }
}
