//! Public operators: how many of their custom resources are read, and why the others are not.
//!
//! Nothing of theirs is here and nothing is fetched: `CORPUS` names a folder with a checkout or a bare repository of
//! each, as `owner+name` or `owner+name/repo`. Their dependencies are read as if they had moved to kube 5 and
//! schemars 1, which is what the schemas are those of.

mod adapt;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use memcached_sdk::api;
use memcached_sdk::diagnostic::Code;
use memcached_sdk::manifest::crd;
use memcached_sdk::source::{FeatureSelection, Pending, SourceTree};
use proc_macro2::{TokenStream, TokenTree};
use toml_edit::{DocumentMut, Item};

/// What was found in one repository.
#[derive(Default)]
struct Found {
    /// It is on schemars 1 by itself.
    current: bool,
    /// Derives of `CustomResource` in active code, counted in the text.
    derives: usize,
    /// Those that were found by reading.
    seen: usize,
    accepted: usize,
    /// Why the others are refused, by code.
    reasons: BTreeMap<&'static str, usize>,
    /// One is declared where it is not read, and that was said.
    hidden: bool,
}

/// The checkouts by the name of their repository.
fn checkouts(work: &str) -> Vec<(String, PathBuf)> {
    let Some(folder) = std::env::var_os("CORPUS").map(PathBuf::from) else { panic!("corpus absent: set CORPUS") };
    let work = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(work);
    let mut repositories: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    repositories.sort();
    let named = repositories.iter().filter(|path| path.is_dir()).filter_map(|repository| {
        let checkout = checkout(repository, &work)?;
        Some((repository.file_name().unwrap().to_string_lossy().replace('+', "/"), checkout))
    });
    let found: Vec<_> = named.collect();
    assert!(!found.is_empty(), "corpus absent: no repository in {}", folder.display());
    found
}

/// The declarations of all packages as one crate: what the compiler says of them, and what is read.
#[test]
#[ignore = "needs CORPUS, a folder of repositories: make corpus"]
fn public_operators_equal_the_compiled() {
    let mut modules = Vec::new();
    let mut names = Vec::new();
    for (name, checkout) in checkouts("corpus-compiled") {
        for package in packages(&checkout) {
            let pending = pending(&checkout).0;
            let Ok((mut tree, _)) = SourceTree::load_with(&package, &FeatureSelection::default(), &pending) else {
                continue;
            };
            let _ = tree.read_all();
            if in_text(&tree) > 0 {
                modules.push(adapt::Module::new(&format!("c{}", modules.len()), &tree));
                names.push(name.clone());
            }
        }
    }
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/foreign");
    let text = |path: &str| std::fs::read_to_string(fixture.join(path)).unwrap();
    let manifest: String =
        text("Cargo.toml").lines().filter(|line| !line.starts_with("parts")).map(|line| format!("{line}\n")).collect();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("corpus-crate");
    let compiled = adapt::compile(&folder, &manifest, &text("Cargo.lock"), &mut modules);

    let loaded = SourceTree::load_with(&folder, &FeatureSelection::default(), &Pending::default());
    let (mut tree, _) = loaded.unwrap();
    let ((apis, diagnostics), _) = tree.settle(api::all);
    let mut table: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let mut wrong = String::new();
    let mut read = BTreeSet::new();
    for api in &apis {
        let module = api.origin.path.trim_start_matches("src/").trim_end_matches(".rs");
        let row = table.entry(&names[module[1..].parse::<usize>().unwrap()]).or_default();
        let same = |key: &str| key.starts_with(&format!("{module}::")) && key.ends_with(&format!("::{}", api.root));
        let candidates: Vec<_> = compiled.iter().filter(|(key, _)| same(key)).collect();
        read.extend(candidates.iter().map(|(key, _)| (*key).clone()));
        let said = crd::single(api);
        let equal = candidates.iter().any(|(_, value)| match &said {
            Ok(said) => !value.is_null() && crd::canonical((*value).clone()) == *said,
            Err(_) => value.is_null(),
        });
        match (equal, &said) {
            (true, Ok(_)) => row[0] += 1,
            (true, Err(_)) => row[1] += 1,
            (false, said) => {
                row[3] += 1;
                writeln!(wrong, "{module} {}: {:?}\n{:?}", api.root, said, candidates).unwrap();
            }
        }
    }
    for key in compiled.keys().filter(|key| !read.contains(*key)) {
        let module = key.split("::").next().unwrap();
        table.entry(&names[module[1..].parse::<usize>().unwrap()]).or_default()[2] += 1;
        println!("refused: {} {key}", names[module[1..].parse::<usize>().unwrap()]);
    }
    println!("| repository | equal | both panic | refused | wrong |\n|---|---|---|---|---|");
    for (name, [equal, panic, refused, wrong]) in &table {
        println!("| {name} | {equal} | {panic} | {refused} | {wrong} |");
    }
    for diagnostic in &diagnostics {
        let origin = diagnostic.origin.as_ref().map(|origin| origin.path.to_string()).unwrap_or_default();
        println!("{origin}: {} [{}]", diagnostic.message, diagnostic.code);
    }
    assert!(wrong.is_empty(), "{wrong}");
    let equal: usize = table.values().map(|row| row[0]).sum();
    assert!(equal >= 60, "only {equal} CRDs were compared");
}

#[test]
#[ignore = "needs CORPUS, a folder of repositories: make corpus"]
fn public_operators_are_read() {
    let mut table = BTreeMap::new();
    for (name, checkout) in checkouts("corpus") {
        let mut found = Found::default();
        for package in packages(&checkout) {
            read(&package, &checkout, &mut found);
        }
        if found.derives > 0 {
            table.insert(name, found);
        }
    }
    print(&table);
    let current = table.values().filter(|found| found.current);
    let (accepted, all) = current.fold((0, 0), |(accepted, all), found| (accepted + found.accepted, all + found.seen));
    println!("on schemars 1: {accepted} of {all} accepted");
    for (name, found) in &table {
        let same = found.seen == found.derives || (found.hidden && found.seen < found.derives);
        assert!(same, "{name}: {} resources are found, the text derives {}", found.seen, found.derives);
    }
    assert!(accepted * 10 >= all * 9, "{accepted} of {all} types on schemars 1 are accepted, less than 90 %");
}

fn print(table: &BTreeMap<String, Found>) {
    println!("| repository | schemars 1 | derives | found | accepted | findings |\n|---|---|---|---|---|---|");
    for (name, found) in table {
        let reasons: Vec<String> = found.reasons.iter().map(|(code, count)| format!("{code} {count}")).collect();
        let Found { derives, seen, accepted, .. } = found;
        let current = if found.current { "yes" } else { "" };
        println!("| {name} | {current} | {derives} | {seen} | {accepted} | {} |", reasons.join(", "));
    }
}

/// The Rust files and manifests of a repository, without its lock files.
fn checkout(repository: &Path, work: &Path) -> Option<PathBuf> {
    let bare = [repository.join("repo"), repository.to_path_buf()].into_iter().find(|path| path.join("HEAD").is_file());
    let Some(bare) = bare else { return Some(repository.to_path_buf()) };
    let target = work.join(repository.file_name().unwrap());
    if target.exists() {
        std::fs::remove_dir_all(&target).unwrap();
    }
    std::fs::create_dir_all(&target).unwrap();
    // Large files of a snapshot may be missing: only these are asked for.
    let script = "cd \"$1\" && git ls-tree -rz --name-only HEAD | grep -zE '([.]rs|Cargo[.]toml)$' \\
                  | xargs -0r git --literal-pathspecs archive HEAD -- | tar xi -C \"$2\"; true";
    let status = Command::new("sh").args(["-c", script, "sh"]).arg(&bare).arg(&target).status().unwrap();
    assert!(status.success());
    // A folder without a manifest is no repository of Rust.
    (!packages(&target).is_empty()).then_some(target)
}

fn packages(checkout: &Path) -> Vec<PathBuf> {
    let manifests = walkdir::WalkDir::new(checkout).sort_by_file_name().into_iter().flatten();
    let manifests = manifests.filter(|entry| entry.file_name() == "Cargo.toml");
    manifests
        .filter(|entry| std::fs::read_to_string(entry.path()).is_ok_and(|text| text.contains("[package]")))
        .map(|entry| entry.path().parent().unwrap().to_path_buf())
        .collect()
}

fn read(package: &Path, checkout: &Path, found: &mut Found) {
    let (pending, current) = pending(checkout);
    found.current |= current;
    let Ok((mut tree, _)) = SourceTree::load_with(package, &FeatureSelection::default(), &pending) else { return };
    count_kinds(&mut tree, found);
}

/// The manifests of a repository after its move, and whether it is on schemars 1 by itself.
fn pending(checkout: &Path) -> (Pending, bool) {
    let (mut pending, mut any) = (Pending::default(), false);
    for entry in walkdir::WalkDir::new(checkout).into_iter().flatten().filter(|entry| entry.file_name() == "Cargo.toml")
    {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        let (text, current) = adapted(&text);
        any |= current;
        pending.insert(entry.path(), text);
    }
    (pending, any)
}

fn count_kinds(tree: &mut SourceTree, found: &mut Found) {
    let ((apis, diagnostics), _) = tree.settle(api::all);
    let seen = api::declared(tree).0.len();
    found.derives += in_text(tree);
    found.seen += seen;
    let mut good = 0;
    let mut reasons: Vec<_> =
        diagnostics.iter().filter(|diagnostic| diagnostic.code != Code::DependencyVersion).cloned().collect();
    for api in &apis {
        match crd::single(api) {
            Ok(_) => good += 1,
            // `crd()` panics, too.
            Err(diagnostic) if diagnostic.code == Code::NotStructural => good += 1,
            Err(diagnostic) => reasons.push(diagnostic),
        }
    }
    found.accepted += good;
    for diagnostic in reasons {
        let origin = diagnostic.origin.as_ref();
        let place = origin.map(|origin| format!("{}:{}", origin.path, origin.line_column().0)).unwrap_or_default();
        found.hidden |= diagnostic.code == Code::HiddenResource;
        if seen > good || diagnostic.code == Code::HiddenResource {
            *found.reasons.entry(diagnostic.code.as_str()).or_default() += 1;
            println!("{place}: {} [{}]", diagnostic.message, diagnostic.code);
        }
    }
}

/// The derives of `CustomResource` in the package's files that are part of it, counted in their tokens.
fn in_text(tree: &SourceTree) -> usize {
    let texts = tree.own_files().map(|file| std::fs::read_to_string(file).unwrap_or_default());
    texts.filter_map(|text| text.parse::<TokenStream>().ok()).map(count).sum()
}

/// `derive(… CustomResource …)`, outside of modules for tests.
fn count(tokens: TokenStream) -> usize {
    let (mut found, mut derive, mut test) = (0, false, false);
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let says = |name: &str| {
                    group.stream().into_iter().any(|token| matches!(token, TokenTree::Ident(ident) if ident == name))
                };
                if std::mem::take(&mut derive) {
                    found += usize::from(says("CustomResource"));
                } else if group.stream().to_string() == "cfg (test)" {
                    test = true;
                } else if group.delimiter() != proc_macro2::Delimiter::Brace || !std::mem::take(&mut test) {
                    found += count(group.stream());
                }
            }
            TokenTree::Ident(ident) => derive = ident == "derive",
            TokenTree::Punct(punct) if punct.as_char() == ';' => test = false,
            _ => {}
        }
    }
    found
}

/// A manifest that has moved to the releases which are read, and whether it asks for schemars 1 by itself.
fn adapted(text: &str) -> (String, bool) {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return (text.to_owned(), false) };
    let mut current = false;
    let versions = [
        ("kube", "5", &["derive"][..]),
        ("k8s-openapi", "0.29", &["schemars", "v1_36"]),
        ("schemars", "=1.2.3", &["chrono04", "url2", "uuid1", "semver1", "indexmap2", "jiff02", "either1", "bytes1"]),
    ];
    let mut adapt = |table: Option<&mut Item>| {
        let Some(table) = table.and_then(Item::as_table_like_mut) else { return };
        for (name, version, features) in versions {
            let Some(item) = table.get(name) else { continue };
            let asked = item.as_str().or_else(|| item.get("version").and_then(Item::as_str)).unwrap_or_default();
            current |= name == "schemars" && asked.trim_start_matches(['^', '=', '~']).starts_with('1');
            if item.get("workspace").is_some() {
                continue;
            }
            let mut value = toml_edit::InlineTable::new();
            value.insert("version", version.into());
            value.insert("features", features.iter().copied().collect::<toml_edit::Array>().into());
            table.insert(name, value.into());
        }
    };
    for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
        adapt(document.get_mut(table));
    }
    adapt(document.get_mut("workspace").and_then(|workspace| workspace.get_mut("dependencies")));
    (document.to_string(), current)
}
