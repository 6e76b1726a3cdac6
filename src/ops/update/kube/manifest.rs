//! kube and the crates of its release in a Cargo.toml. Comments, order and layout stay.

use std::ops::Range;

use semver::{Version, VersionReq};
use toml_edit::{Array, Document, DocumentMut, Item, TableLike, Value};

use super::release::{KubeRelease, LOCKSTEP, LockstepPackage, OLDEST_KUBERNETES, RUST, TARGET};
use crate::edit::EditError;
use crate::source::get;

/// The release with a choice between `ring` and `aws-lc-rs`; earlier ones always have `ring`.
const CHOICE_OF_CRYPTO: KubeRelease = KubeRelease(0, 99);

const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// A place of a manifest that the author has to change.
#[derive(Debug)]
pub(super) struct ManifestFinding {
    pub(super) message: String,
    pub(super) help: String,
    pub(super) range: Range<usize>,
}

/// Returns the lowest release of kube that the requirements in a manifest allow. `None` without such a requirement.
pub(super) fn release(text: &str) -> Option<KubeRelease> {
    let document = Document::parse(text).ok()?;
    let root = document.as_item();
    let all = tables(root).into_iter().filter_map(|path| get(root, &path)?.as_table_like()).flat_map(TableLike::iter);
    let all = all.filter(|(key, item)| lockstep(key, item).is_some_and(|package| package.name.starts_with("kube")));
    let versions = all.filter_map(|(_, item)| lowest(requirement(item)?));
    versions.map(|version| KubeRelease(number(version.major), number(version.minor))).min()
}

/// Moves the requirements and features to the target.
pub(super) fn moved(text: &str, from: KubeRelease) -> Result<String, EditError> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        EditError::new(format!("the file is not valid TOML: {}", error.message())).help("correct the file")
    })?;
    let before = document.clone();
    let names = names(before.as_item());
    for path in tables(before.as_item()) {
        let Some(table) = get_mut(document.as_item_mut(), &path).and_then(Item::as_table_like_mut) else { continue };
        for (key, item) in table.iter_mut() {
            if let Some(package) = lockstep(&key, item) {
                move_dependency(item, package, from);
            }
        }
    }
    // `[features]` may enable features of a dependency.
    let features = document.get_mut("features").and_then(Item::as_table_like_mut);
    for (_, item) in features.into_iter().flat_map(TableLike::iter_mut) {
        let Some(array) = item.as_array_mut() else { continue };
        replace(array, |text| {
            let (name, feature) = text.split_once('/')?;
            let (_, package) = names.iter().find(|(key, _)| key == name.trim_end_matches('?'))?;
            Some(format!("{name}/{}", renamed(package, feature)?))
        });
    }
    Ok(document.to_string())
}

/// Returns the problems of a manifest after the move. `text` is the moved manifest.
pub(super) fn left(text: &str) -> Vec<ManifestFinding> {
    let Ok(document) = Document::parse(text) else { return Vec::new() };
    let root = document.as_item();
    let mut found = Vec::new();
    for path in tables(root) {
        let Some(table) = get(root, &path).and_then(Item::as_table_like) else { continue };
        for (key, item) in table.iter() {
            let Some(package) = lockstep(key, item) else { continue };
            let name = package.name;
            let range = item.span().unwrap_or_default();
            if let Some(source) = ["git", "path"].into_iter().find(|source| item.get(source).is_some()) {
                found.push(ManifestFinding {
                    message: format!("`{name}` has the source `{source}`; its release is not changed"),
                    help: format!(
                        "write `version = \"{}\"` instead, or take a revision of that release",
                        short(package)
                    ),
                    range: range.clone(),
                });
            }
            let features = item.get("features").and_then(Item::as_array);
            for value in features.into_iter().flatten().filter(|_| !package.features.is_empty()) {
                let Some(feature) = value.as_str().filter(|feature| !package.features.contains(feature)) else {
                    continue;
                };
                found.push(ManifestFinding {
                    message: format!("{name} {} does not have the feature `{feature}`", short(package)),
                    help: "remove it, or choose another feature of the crate".to_owned(),
                    range: value.span().unwrap_or_else(|| range.clone()),
                });
            }
        }
    }
    for path in [["package", "rust-version"].as_slice(), &["workspace", "package", "rust-version"]] {
        let Some(item) = get(root, path) else { continue };
        if item.as_str().is_some_and(is_old_rust) {
            found.push(ManifestFinding {
                message: format!("kube {TARGET} requires Rust {}.{}", RUST.0, RUST.1),
                help: format!(
                    "write `rust-version = \"{}.{}\"`, and raise the toolchain of CI and of the image",
                    RUST.0, RUST.1
                ),
                range: item.span().unwrap_or_default(),
            });
        }
    }
    found
}

/// Returns true if a locked version of a crate belongs to an older release of kube.
pub(super) fn is_older(name: &str, version: &Version) -> bool {
    LOCKSTEP.iter().find(|package| package.name == name).is_some_and(|package| {
        let [major, minor, _] = package.version;
        (version.major, if major == 0 { version.minor } else { 0 }) < (major, if major == 0 { minor } else { 0 })
    })
}

/// Returns the channel in a file `rust-toolchain.toml` or `rust-toolchain`, if kube cannot be built with it.
pub(super) fn old_toolchain(text: &str) -> Option<ManifestFinding> {
    let all = text.split(['"', '\n']).map(str::trim);
    let channel = all.into_iter().find(|word| word.starts_with("1.") && is_old_rust(word))?;
    let start = text.find(channel)?;
    Some(ManifestFinding {
        message: format!("kube {TARGET} requires Rust {}.{}", RUST.0, RUST.1),
        help: format!("write the channel `{}.{}` or a newer one", RUST.0, RUST.1),
        range: start..start + channel.len(),
    })
}

fn is_old_rust(version: &str) -> bool {
    let numbers: Option<Vec<u16>> = version.split('.').map(|part| part.parse().ok()).collect();
    numbers.is_some_and(|numbers| numbers.as_slice() < [RUST.0, RUST.1].as_slice())
}

/// The local names and packages of the dependencies that move with kube.
fn names(root: &Item) -> Vec<(String, &'static LockstepPackage)> {
    let all = tables(root).into_iter().filter_map(|path| get(root, &path)?.as_table_like()).flat_map(TableLike::iter);
    all.filter_map(|(key, item)| Some((key.to_owned(), lockstep(key, item)?))).collect()
}

/// The paths of all tables of dependencies.
fn tables(root: &Item) -> Vec<Vec<&str>> {
    let targets = get(root, &["target"]).and_then(Item::as_table_like);
    let targets: Vec<&str> = targets.into_iter().flat_map(TableLike::iter).map(|(name, _)| name).collect();
    let of_targets = targets.iter().flat_map(|target| SECTIONS.map(|section| vec!["target", *target, section]));
    SECTIONS.iter().map(|section| vec![*section]).chain(of_targets).chain([vec!["workspace", "dependencies"]]).collect()
}

fn get_mut<'a>(item: &'a mut Item, path: &[&str]) -> Option<&'a mut Item> {
    path.iter().try_fold(item, |item, key| item.as_table_like_mut()?.get_mut(key))
}

fn lockstep(key: &str, item: &Item) -> Option<&'static LockstepPackage> {
    let name = item.get("package").and_then(Item::as_str).unwrap_or(key);
    LOCKSTEP.iter().find(|package| package.name == name)
}

fn requirement(item: &Item) -> Option<&str> {
    item.as_str().or_else(|| item.get("version")?.as_str())
}

fn lowest(requirement: &str) -> Option<Version> {
    let all = VersionReq::parse(requirement).ok()?.comparators;
    let versions = all.iter().map(|one| Version::new(one.major, one.minor.unwrap_or(0), one.patch.unwrap_or(0)));
    versions.min()
}

fn number(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// `5`, `0.29`
fn short(package: &LockstepPackage) -> String {
    match package.version {
        [0, minor, _] => format!("0.{minor}"),
        [major, ..] => major.to_string(),
    }
}

/// The new requirement in the form of the old one; `None` if the old one already requires the target or later.
fn raised(old: &str, package: &LockstepPackage) -> Option<String> {
    let [major, minor, patch] = package.version;
    let target = Version::new(major, minor, patch);
    let is_there = if major == 0 { (0, minor) } else { (major, 0) };
    if lowest(old).is_none_or(|old| (old.major, if major == 0 { old.minor } else { 0 }) >= is_there) {
        return None;
    }
    let numbers = old.trim().trim_start_matches(['^', '=', '~']).trim_start();
    let operator = old.trim().strip_suffix(numbers).unwrap_or_default();
    let is_simple = numbers.chars().all(|char| char == '.' || char.is_ascii_digit());
    Some(match numbers.matches('.').count() {
        2 if is_simple => format!("{operator}{target}"),
        _ if is_simple => format!("{operator}{}", short(package)),
        _ => short(package),
    })
}

fn move_dependency(item: &mut Item, package: &LockstepPackage, from: KubeRelease) {
    let is_of_registry = item.get("git").or(item.get("path")).is_none();
    let new = requirement(item).filter(|_| is_of_registry).and_then(|old| raised(old, package));
    let is_raised = new.is_some();
    if let Some(new) = new {
        let value = if item.is_str() { Some(&mut *item) } else { item.get_mut("version") };
        if let Some(value) = value.and_then(Item::as_value_mut) {
            set(value, &new);
        }
    }
    let is_bare =
        ["default-features", "default_features"].iter().any(|key| item.get(key).and_then(Item::as_bool) == Some(false));
    let Some(array) = item.get_mut("features").and_then(Item::as_array_mut) else { return };
    replace(array, |feature| Some(renamed(package, feature)?.to_owned()));
    let gone = |value: &Value| {
        let old = value.as_str().unwrap_or_default();
        package.renamed.iter().any(|(name, new)| *name == old && new.is_none())
    };
    array.retain(|value| !gone(value));
    let has = |array: &Array, name: &str| array.iter().any(|value| value.as_str() == Some(name));
    let needs_ring = is_raised && is_bare && from < CHOICE_OF_CRYPTO && matches!(package.name, "kube" | "kube-client");
    if needs_ring && has(array, "rustls-tls") && !has(array, "ring") && !has(array, "aws-lc-rs") {
        let mut value = Value::from("ring");
        let at = array.iter().position(|value| value.as_str() == Some("rustls-tls")).map_or(array.len(), |at| at + 1);
        if let Some(before) = array.get(at - 1) {
            let prefix = before.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
            let prefix = if prefix.trim().is_empty() && !prefix.is_empty() { prefix } else { " " };
            value.decor_mut().set_prefix(prefix.to_owned());
        }
        array.insert_formatted(at, value);
    }
}

/// The new name of a feature; `None` if it has not got another one.
fn renamed(package: &LockstepPackage, feature: &str) -> Option<&'static str> {
    if let Some((_, new)) = package.renamed.iter().find(|(old, _)| *old == feature) {
        return *new;
    }
    let minor = |feature: &str| feature.strip_prefix("v1_").and_then(|minor| minor.parse::<u16>().ok());
    let is_old = package.name == "k8s-openapi" && minor(feature)? < minor(OLDEST_KUBERNETES)?;
    is_old.then_some(OLDEST_KUBERNETES)
}

/// Replaces texts of an array; a text that is there already goes.
fn replace(array: &mut Array, new: impl Fn(&str) -> Option<String>) {
    let mut at = 0;
    while let Some(value) = array.get_mut(at) {
        let replacement = value.as_str().and_then(&new);
        if let Some(replacement) = replacement {
            if array.iter().any(|value| value.as_str() == Some(&replacement)) {
                array.remove(at);
                continue;
            }
            if let Some(value) = array.get_mut(at) {
                set(value, &replacement);
            }
        }
        at += 1;
    }
}

fn set(value: &mut Value, new: &str) {
    let decor = value.decor().clone();
    *value = new.into();
    *value.decor_mut() = decor;
}
