//! Permissions derived from public operators, compared with manual audits.
//!
//! An audit `tests/fixtures/rbac-derive/OWNER+NAME.tsv` was written before the tool ran on the operator. It has facts,
//! but none of the operator's code. The kind `?` is not in the source; the tool must report it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use memcached_sdk::k8s;
use memcached_sdk::rbac::derive::{self, DerivationQuestion, Doubt};
use memcached_sdk::rbac::environment::Environment;
use memcached_sdk::rbac::{RbacTarget, RbacUsage, RequestScope};
use memcached_sdk::source::{FeatureSelection, Pending};

/// Verb, resource, scope, `file:line`.
type Row = [String; 4];

#[test]
#[ignore = "needs CORPUS, a folder of repositories: make corpus"]
fn permissions_of_public_operators_are_derived() {
    let checkouts = super::checkouts("corpus-derived");
    let mut table =
        "| operator | needed | found | wider | elsewhere | invented | not in the source | said | other doubts |\n|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    let mut wrong = String::new();
    let (mut needed, mut found, mut invented, mut operators) = (0, 0, 0, 0);
    for path in truths() {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().replace('+', "/");
        let (_, checkout) = checkouts
            .iter()
            .find(|(repository, _)| *repository == name)
            .unwrap_or_else(|| panic!("corpus absent: {name} is not in CORPUS"));
        let package = text.lines().find_map(|line| line.strip_prefix("# package\t")).unwrap();
        let (truth, open): (BTreeSet<Row>, BTreeSet<Row>) = rows(&text).partition(|row| row[1] != "?");
        let (usages, doubts) = read(checkout, &checkout.join(package));
        let derived: BTreeSet<Row> = usages.iter().map(row).collect();
        let doubts: BTreeSet<String> = doubts.iter().map(|doubt| place(&doubt.origin)).collect();
        let said = open.iter().filter(|row| doubts.contains(&row[3])).count();
        // Derived for all namespaces instead of the operator's own.
        let wider: BTreeSet<Row> =
            truth.difference(&derived).filter(|row| derived.contains(&everywhere(row))).cloned().collect();
        let wide: BTreeSet<Row> = wider.iter().map(everywhere).collect();
        let missing: Vec<_> = truth.difference(&derived).filter(|row| !wider.contains(*row)).collect();
        // The operator needs the permission for another call.
        let needed_somewhere = |row: &&Row| truth.iter().any(|known| known[..2] == row[..2]);
        let (elsewhere, extra): (Vec<_>, Vec<_>) =
            derived.difference(&truth).filter(|row| !wide.contains(*row)).partition(needed_somewhere);
        let other: Vec<_> = doubts.iter().filter(|doubt| !open.iter().any(|row| row[3] == **doubt)).collect();
        for (what, rows) in [("missing", &missing), ("elsewhere", &elsewhere), ("invented", &extra)] {
            for row in rows {
                writeln!(wrong, "{name}: {what} {}", row.join(" ")).unwrap();
            }
        }
        for doubt in &other {
            writeln!(wrong, "{name}: doubt at {doubt}").unwrap();
        }
        let share = (truth.len() - missing.len()) * 100 / truth.len();
        writeln!(
            table,
            "| {name} | {} | {share} % | {} | {} | {} | {} | {said} | {} |",
            truth.len(),
            wider.len(),
            elsewhere.len(),
            extra.len(),
            open.len(),
            other.len()
        )
        .unwrap();
        assert_eq!(said, open.len(), "{name}: a kind that is not in the source is passed over\n{wrong}");
        needed += truth.len();
        found += truth.len() - missing.len();
        invented += extra.len();
        operators += 1;
    }
    println!("{table}\n{wrong}");
    assert!(operators >= 8, "only {operators} operators");
    assert_eq!(invented, 0, "permissions that are not needed");
    assert!(found * 100 >= needed * 95, "{found} of {needed}");
}

/// The row in a scope that is known only at run time.
fn everywhere(row: &Row) -> Row {
    let [verb, resource, scope, place] = row.clone();
    let scope = if ["own", "namespace"].contains(&scope.as_str()) { "namespaced".to_owned() } else { scope };
    [verb, resource, scope, place]
}

fn truths() -> Vec<std::path::PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rbac-derive");
    let mut paths: Vec<_> = dir.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "tsv"));
    paths.sort();
    paths
}

fn rows(text: &str) -> impl Iterator<Item = Row> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let parts: Vec<String> = line.split('\t').map(str::to_owned).collect();
        parts.try_into().unwrap_or_else(|parts| panic!("{parts:?}"))
    })
}

fn row(usage: &RbacUsage) -> Row {
    let target = match &usage.permission.target {
        RbacTarget::Resource { group, resource, .. } if group.is_empty() => resource.clone(),
        RbacTarget::Resource { group, resource, .. } => format!("{group}/{resource}"),
        RbacTarget::Url(url) => url.clone(),
    };
    let scope = match usage.scope {
        RequestScope::Cluster => "cluster",
        RequestScope::Own => "own",
        RequestScope::Namespace(_) => "namespace",
        RequestScope::Namespaced | RequestScope::OfObject => "namespaced",
    };
    [usage.permission.verb.clone(), target, scope.to_owned(), place(&usage.origin)]
}

fn place(origin: &memcached_sdk::diagnostic::Origin) -> String {
    format!("{}:{}", origin.path, origin.line_column().0)
}

fn read(root: &Path, package: &Path) -> (Vec<RbacUsage>, Vec<Doubt>) {
    let (mut tree, _) = k8s::load_below(root, package, &FeatureSelection::default(), &Pending::default()).unwrap();
    let question = DerivationQuestion { environment: Environment::below(root), ..DerivationQuestion::default() };
    let ((usages, doubts), _) = tree.settle(|tree| derive::uses_of(tree, &question));
    (usages, doubts)
}
