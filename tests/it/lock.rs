//! Writes lock files without cargo. A dependency has its version from this repository's lock file, or the lowest
//! matching version if another one is requested.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use semver::{Version, VersionReq};
use toml_edit::{DocumentMut, Item, TableLike};

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The lock file of packages with these manifests.
pub(crate) fn text<'a>(manifests: impl IntoIterator<Item = &'a str>) -> String {
    let repository = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock")).unwrap();
    let mut packages: Vec<String> =
        repository.split("[[package]]\n").skip(1).map(|text| text.trim_end().to_owned()).collect();
    packages.retain(|text| text.contains("\nsource = "));
    let version = |name: &str| {
        let found =
            packages.iter().rev().find_map(|text| text.strip_prefix(&format!("name = \"{name}\"\nversion = \"")));
        found.and_then(|text| text.split('"').next()).map(str::to_owned)
    };
    let (mut lock, mut features, mut others) = ("version = 4\n".to_owned(), BTreeSet::new(), BTreeSet::new());
    for manifest in manifests {
        let document: DocumentMut = manifest.parse().unwrap();
        let mut dependencies = BTreeSet::new();
        each_dependency(document.as_table(), &mut |name, item| {
            let package = item.get("package").and_then(Item::as_str).unwrap_or(name);
            let asked = item.as_str().or_else(|| item.get("version")?.as_str()).unwrap_or("*");
            let first = asked.trim_start_matches(['=', '^']).to_owned();
            let admits =
                |version: &String| VersionReq::parse(asked).unwrap().matches(&Version::parse(version).unwrap());
            let found = version(package).map(|version| if admits(&version) { version } else { format!("{first}.0.0") });
            let found = found.map(|version| version.splitn(4, '.').take(3).collect::<Vec<_>>().join("."));
            if let Some(version) = &found {
                others.insert((package.to_owned(), version.clone()));
            }
            match found {
                Some(version) => dependencies.insert(format!(" \"{package} {version}\",\n")),
                None => item.get("path").is_some() && dependencies.insert(format!(" \"{package}\",\n")),
            };
            if package == "schemars" {
                let all = item.get("features").and_then(Item::as_array).into_iter().flatten();
                features
                    .extend(all.filter_map(|name| Some(name.as_str()?.trim_end_matches(char::is_numeric).to_owned())));
            }
        });
        let Some(name) = document.get("package").and_then(|package| package.get("name")?.as_str()) else { continue };
        let dependencies: String = dependencies.into_iter().collect();
        write!(lock, "\n[[package]]\nname = \"{name}\"\nversion = \"0.0.0\"\ndependencies = [\n{dependencies}]\n")
            .unwrap();
    }
    for (name, version) in others {
        let head = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        if !packages.iter().any(|package| package.starts_with(&head)) {
            // Remove the repository's version, so that the lookup finds the requested one.
            packages.retain(|package| !package.starts_with(&format!("name = \"{name}\"\n")));
            packages.push(format!("{head}source = \"{REGISTRY}\""));
        }
    }
    for package in &packages {
        let is_schemars = package.starts_with("name = \"schemars\"\n");
        let lines = package.lines().filter(|line| {
            let name = line.trim_matches([' ', '"', ',']);
            // Optional dependencies need their feature.
            let always = ["dyn-clone", "ref-cast", "schemars_derive", "serde", "serde_json"].contains(&name);
            !is_schemars || !line.starts_with(" \"") || always || features.contains(name)
        });
        write!(lock, "\n[[package]]\n{}\n", lines.collect::<Vec<_>>().join("\n")).unwrap();
    }
    lock
}

/// Runs on each entry of all dependency tables.
fn each_dependency(table: &dyn TableLike, run: &mut dyn FnMut(&str, &Item)) {
    for (key, item) in table.iter() {
        let Some(inner) = item.as_table_like() else { continue };
        match key {
            "dependencies" | "dev-dependencies" | "build-dependencies" => {
                inner.iter().for_each(|(name, item)| run(name, item))
            }
            "target" | "workspace" => each_dependency(inner, run),
            _ if key.starts_with("cfg(") => each_dependency(inner, run),
            _ => {}
        }
    }
}
