//! Public operators: their CRDs as read from source, compared with the compiler's answers and with the committed YAML.
//!
//! This repository contains none of their code, and the tests download nothing. `CORPUS` names a folder with a checkout
//! or a bare repository of each, as `owner+name` or `owner+name/repo`.

mod adapt;
mod compile;
mod derived;
mod shipped;
mod unedited;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use memcached_sdk::api;
use memcached_sdk::crd;
use memcached_sdk::diagnostic::{Code, Diagnostic};
use memcached_sdk::k8s;
use memcached_sdk::source::{FeatureSelection, Pending, SourceTree};
use proc_macro2::{TokenStream, TokenTree};
use serde_json::Value;
use toml_edit::{DocumentMut, Item};

use adapt::Declarations;

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

/// Compares the declarations of all packages, moved to kube 5 and schemars 1, with the compiler's answers.
#[test]
#[ignore = "needs CORPUS, a folder of repositories: make corpus"]
fn public_operators_equal_the_compiled() {
    let (mut crates, mut names) = (Vec::new(), Vec::new());
    for (name, checkout) in checkouts("corpus-compiled") {
        let pending = pending(&checkout);
        for package in packages(&checkout) {
            let loaded = k8s::load_with(&package, &FeatureSelection::default(), &pending);
            let Ok((mut tree, _)) = loaded else { continue };
            if in_text(&tree) == 0 {
                continue;
            }
            let _ = tree.read_all();
            for declarations in Declarations::of(&tree, &name) {
                println!("{} has {} resources", declarations.name, declarations.resources());
                crates.push(declarations);
                names.push(name.clone());
            }
        }
    }
    let workspace = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("corpus-workspace");
    let compiled = compile::all(&workspace, &mut crates);
    let mut table: BTreeMap<&str, Judged> = BTreeMap::new();
    for (position, declarations) in crates.iter().enumerate() {
        for (what, why) in &compiled.gone[position] {
            println!("{}: without `{what}`: {why}", declarations.name);
        }
        let judged = table.entry(&names[position]).or_default();
        judge(&workspace.join(&declarations.name), declarations, &compiled.crds[position], judged);
    }
    println!("{}", table_of_compiled(&table));
    let wrong: String = table.values().flat_map(|judged| judged.wrong.iter().map(String::as_str)).collect();
    assert!(wrong.is_empty(), "{wrong}");
    let equal: usize = table.values().map(|judged| judged.equal).sum();
    assert!(equal >= 60, "only {equal} CRDs were compared");
    documented("docs/static-crds.md", "compiled", &table_of_compiled(&table));
}

fn table_of_compiled(table: &BTreeMap<&str, Judged>) -> String {
    let mut text = "| repository | compile | equal | both panic | refused |\n|---|---|---|---|---|\n".to_owned();
    for (name, Judged { compiled, equal, panic, reasons, .. }) in table {
        let list = listed(reasons.iter().map(|(code, all)| (*code, all.len())));
        writeln!(text, "| {name} | {compiled} | {equal} | {panic} | {list} |").unwrap();
    }
    text
}

#[derive(Default)]
struct Judged {
    equal: usize,
    /// `crd()` panics, as predicted.
    panic: usize,
    /// Resources that compile.
    compiled: usize,
    /// Refused resources by code.
    reasons: BTreeMap<&'static str, BTreeSet<String>>,
    wrong: Vec<String>,
}

impl Judged {
    fn refuse(&mut self, key: &str, diagnostic: &Diagnostic) {
        println!("{key}: {} [{}]", diagnostic.message, diagnostic.code);
        self.reasons.entry(diagnostic.code.as_str()).or_default().insert(key.to_owned());
    }
}

/// Reads a crate of adapted declarations, and compares each accepted resource.
fn judge(folder: &Path, declarations: &Declarations, compiled: &BTreeMap<String, Value>, judged: &mut Judged) {
    let (_, places) = declarations.write();
    let loaded = k8s::load_with(folder, &FeatureSelection::default(), &Pending::default());
    let (mut tree, _) = loaded.unwrap();
    let ((apis, diagnostics), _) = tree.settle(api::all);
    let mut read = BTreeSet::new();
    for api in &apis {
        let key = compile::resource(declarations, &places, api.origin.range.start).unwrap();
        let said = crd::single(api);
        match (&compiled[&key], &said) {
            (Value::Null, Err(diagnostic)) if diagnostic.code == Code::NotStructural => judged.panic += 1,
            (_, Err(diagnostic)) if diagnostic.code != Code::NotStructural => {
                judged.refuse(&key, diagnostic);
                continue;
            }
            (value, Ok(said)) if !value.is_null() && crd::canonical(value.clone()) == *said => judged.equal += 1,
            (value, said) => {
                let lines = |value: &Value| serde_json::to_string_pretty(value).unwrap();
                let compiled =
                    if value.is_null() { "panics".to_owned() } else { lines(&crd::canonical(value.clone())) };
                let read = said.as_ref().map_or_else(|diagnostic| diagnostic.message.clone(), lines);
                let diff = similar::TextDiff::from_lines(&compiled, &read).unified_diff().to_string();
                judged.wrong.push(format!("{key}: compiled - and read + differ\n{diff}"));
            }
        }
        read.insert(key);
    }
    judged.compiled += compiled.len();
    for key in compiled.keys().filter(|key| !read.contains(*key)) {
        let kind = key.rsplit("::").next().unwrap();
        let of = |found: &&Diagnostic| resource(&found.message).is_none_or(|named| named == kind);
        let of: Vec<_> = diagnostics.iter().filter(of).collect();
        assert!(!of.is_empty(), "{key} is left out in silence: {}", diagnostics.render(false));
        of.into_iter().for_each(|diagnostic| judged.refuse(key, diagnostic));
    }
}

fn listed<'a>(counts: impl Iterator<Item = (&'a str, usize)>) -> String {
    counts.map(|(code, count)| format!("{code} {count}")).collect::<Vec<_>>().join(", ")
}

/// Extracts the kind from `…, in `Kind.spec.field``.
fn resource(message: &str) -> Option<String> {
    let path = message.rsplit_once(", in `")?.1.strip_suffix('`')?;
    Some(path.split('.').next()?.to_owned())
}

/// Compares a table of a page. `SNAPSHOTS=overwrite` replaces it.
#[allow(clippy::disallowed_methods)]
fn documented(page: &str, name: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let begin = format!("<!-- {name} -->\n");
    let (before, rest) = text.split_once(&begin).unwrap();
    let (_, after) = rest.split_once("<!-- end -->").unwrap();
    let made = format!("{before}{begin}{table}<!-- end -->{after}");
    if std::env::var("SNAPSHOTS").is_ok_and(|action| action == "overwrite") {
        std::fs::write(path, made).unwrap();
    } else {
        assert_eq!(text, made, "`SNAPSHOTS=overwrite make corpus` writes the table of this corpus");
    }
}

/// Checks out the Rust files and manifests of a repository, without lock files.
fn checkout(repository: &Path, work: &Path) -> Option<PathBuf> {
    let bare = [repository.join("repo"), repository.to_path_buf()].into_iter().find(|path| path.join("HEAD").is_file());
    let Some(bare) = bare else { return Some(repository.to_path_buf()) };
    let target = work.join(repository.file_name().unwrap());
    if target.exists() {
        std::fs::remove_dir_all(&target).unwrap();
    }
    std::fs::create_dir_all(&target).unwrap();
    // A snapshot may lack large files, so request these only.
    let script = "cd \"$1\" && git ls-tree -rz --name-only HEAD | grep -zE '([.]rs|Cargo[.]toml)$' \\
                  | xargs -0r git --literal-pathspecs archive HEAD -- | tar xi -C \"$2\"; true";
    let status = Command::new("sh").args(["-c", script, "sh"]).arg(&bare).arg(&target).status().unwrap();
    assert!(status.success());
    // Without a manifest, the repository is not a Rust project.
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

/// The files that change when a repository moves to the current releases.
fn pending(checkout: &Path) -> Pending {
    let mut pending = Pending::default();
    for entry in walkdir::WalkDir::new(checkout).into_iter().flatten().filter(|entry| entry.file_type().is_file()) {
        let name = entry.file_name().to_string_lossy();
        let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
        if name == "Cargo.toml" {
            pending.insert(entry.path(), adapted(&text));
        } else if name.ends_with(".rs") && text.contains("schemars") {
            pending.insert(entry.path(), moved(&text));
        }
    }
    pending
}

/// Replaces the moved paths of schemars 0.8 by those of schemars 1.
fn moved(text: &str) -> String {
    let old = ["gen::", "r#gen::", "schema::"];
    let mut made = String::new();
    let mut parts = text.split("schemars::");
    made.push_str(parts.next().unwrap_or_default());
    for part in parts {
        made.push_str("schemars::");
        if let Some(rest) = old.iter().find_map(|name| part.strip_prefix(name)) {
            made.push_str(rest);
        } else if let Some((group, rest)) = part.strip_prefix('{').and_then(|part| part.split_once(';')) {
            let words = old.iter().fold(group.to_owned(), |group, name| {
                group.replace(&format!(" {name}"), " ").replace(&format!("{{{name}"), "{")
            });
            made.push_str(&format!("{{{};{rest}", words.strip_prefix(old[0]).unwrap_or(&words)));
        } else {
            made.push_str(part);
        }
    }
    made
}

/// Counts the derives of `CustomResource` in the tokens of the package's own files.
fn in_text(tree: &SourceTree) -> usize {
    let texts = tree.own_files().map(|file| std::fs::read_to_string(file).unwrap_or_default());
    texts.filter_map(|text| text.parse::<TokenStream>().ok()).map(count).sum()
}

/// Counts `derive(… CustomResource …)` outside test modules and functions.
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
                } else if ["cfg (test)", "test"].contains(&group.stream().to_string().as_str()) {
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

/// Moves a manifest to the releases that the engine reproduces.
fn adapted(text: &str) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return text.to_owned() };
    let versions = [
        ("kube", "5", &["derive"][..]),
        ("k8s-openapi", "0.29", &["schemars", "v1_36"]),
        ("schemars", "=1.2.3", &["chrono04", "url2", "uuid1", "semver1", "indexmap2", "jiff02", "either1", "bytes1"]),
    ];
    let adapt = |table: Option<&mut Item>| {
        let Some(table) = table.and_then(Item::as_table_like_mut) else { return };
        for (name, version, features) in versions {
            let Some(item) = table.get(name) else { continue };
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
    document.to_string()
}
