//! Every name of `project::taken` in every position. The scaffold parses, and no name in it shadows another one.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;

use super::*;
use crate::project::name::{Domain, Group, Kind, ProjectName, Version};
use crate::project::{ResourceApi, ident, taken};

/// The prelude names that code uses. `Result` is missing, because controllers shadow it on purpose.
const PRELUDE: [&str; 18] = [
    "Box",
    "Clone",
    "Default",
    "Drop",
    "Err",
    "Extend",
    "From",
    "Into",
    "IntoIterator",
    "Iterator",
    "None",
    "Ok",
    "Option",
    "Some",
    "String",
    "ToOwned",
    "ToString",
    "Vec",
];

/// All words of the table that are valid names of groups, versions, controllers and projects.
fn words() -> BTreeSet<String> {
    let lists: [&[&str]; 5] =
        [&taken::KEYWORDS, &taken::DEVICES, &taken::CONTROLLER_CRATES, &taken::TESTS, &taken::PACKAGES];
    let more = ["controller", "webhook", "desired", "status", "v1", "envtest-memcached", "explore-memcached", "op"];
    // One numbered device name stands for all.
    let different = |word: &&&str| !word.ends_with(['2', '3', '4', '5', '6', '7', '8', '9']);
    lists.into_iter().flatten().chain(&more).filter(different).map(|word| word.replace('_', "-")).collect()
}

/// Returns `ProcMacro` for `proc-macro`.
fn kind(word: &str) -> String {
    let upper = |part: &str| part[..1].to_uppercase() + &part[1..];
    word.split('-').map(upper).collect()
}

fn resource(group: &str, version: &str, kind: &str, controller: &str) -> Resource {
    let [domain, group] = ["example.com", group];
    let (version, kind) = (Version::parse(version).unwrap(), Kind::parse(kind).unwrap());
    let domain = Some(Domain::parse(domain).unwrap());
    let mut resource = Resource::new(Group::parse(group).unwrap(), domain, version, kind).unwrap();
    resource.api = Some(ResourceApi::new(true));
    resource.controllers = Controllers::Named(vec![ControllerName::parse(controller).unwrap()]);
    resource.webhooks =
        Some(ProjectWebhooks { defaulting: true, validation: true, ..ProjectWebhooks::default() }.to_value());
    resource
}

fn project(name: &str, resources: impl IntoIterator<Item = Resource>, multigroup: bool) -> Project {
    let mut project = Project::new(ProjectName::parse(name).unwrap(), Some(Domain::parse("example.com").unwrap()));
    project.multigroup = multigroup;
    for resource in resources {
        project.add(resource, false).unwrap();
    }
    project
}

/// Kinds named after all words and types of the table, each with a word of its own.
fn kinds() -> BTreeMap<String, String> {
    let words = words().into_iter().map(|word| (kind(&word), word));
    let types = taken::TYPES.iter().map(|name| ((*name).to_owned(), format!("of-{}", name.to_lowercase())));
    types.chain(words).collect()
}

fn files(project: &Project) -> Scaffold {
    replay(project).unwrap()
}

/// The crates in scope of a file: the dependencies in the manifest and, outside of the library, the package's own crate.
fn crates(files: &Scaffold, path: &RelPath) -> BTreeSet<String> {
    let manifest: toml_edit::DocumentMut = files[&RelPath::new("Cargo.toml").unwrap()].parse().unwrap();
    let dependencies = ["dependencies", "dev-dependencies"].map(|section| manifest[section].as_table().unwrap());
    let names: Vec<&str> = dependencies.iter().flat_map(|table| table.iter().map(|(name, _)| name)).collect();
    let package = manifest["package"]["name"].as_str().unwrap();
    assert!(!names.contains(&package), "{package} depends on {names:?}");
    let is_library = path.as_str().starts_with("src/") && path.as_str() != "src/main.rs";
    let own = Some(package).filter(|_| !is_library);
    names.into_iter().chain(own).chain(["std"]).map(ident::crate_name).collect()
}

/// Collects the names that items add to the type namespace of their module.
fn introduced(items: &[syn::Item], found: &mut Vec<String>) {
    fn imported(tree: &syn::UseTree, found: &mut Vec<String>) {
        match tree {
            syn::UseTree::Path(path) => imported(&path.tree, found),
            syn::UseTree::Name(name) if name.ident != "self" => found.push(name.ident.to_string()),
            syn::UseTree::Rename(rename) => found.push(rename.rename.to_string()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| imported(tree, found)),
            syn::UseTree::Name(_) | syn::UseTree::Glob(_) => {}
        }
    }
    for item in items {
        match item {
            syn::Item::Use(item) => imported(&item.tree, found),
            syn::Item::Mod(item) => found.push(item.ident.to_string()),
            syn::Item::Enum(item) => found.push(item.ident.to_string()),
            syn::Item::Type(item) => found.push(item.ident.to_string()),
            syn::Item::Struct(item) => {
                found.push(item.ident.to_string());
                let of_kube = item.attrs.iter().find(|attribute| attribute.path().is_ident("kube"));
                let Some(of_kube) = of_kube else { continue };
                let text = of_kube.to_token_stream().to_string();
                let value = |key: &str| {
                    let rest = text.split_once(&format!("{key} = \""))?.1;
                    rest.split('"').next().map(str::to_owned)
                };
                found.extend(value("root").or_else(|| value("kind")));
            }
            _ => {}
        }
    }
}

/// Collects the first segments of paths: identifiers before `::`, and not after it.
fn heads(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let is_colon = |at: usize| matches!(all.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    for (at, token) in all.iter().enumerate() {
        match token {
            TokenTree::Group(group) => heads(group.stream(), found),
            TokenTree::Ident(ident)
                if is_colon(at + 1) && is_colon(at + 2) && !(at > 1 && is_colon(at - 1) && is_colon(at - 2)) =>
            {
                found.insert(ident.to_string());
            }
            _ => {}
        }
    }
}

fn check(what: &str, files: &Scaffold) {
    let mut wrong = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| path.as_str().strip_suffix(".rs").is_some()) {
        let stem = path.as_str().rsplit('/').next().unwrap().trim_end_matches(".rs");
        if stem.contains("__") {
            wrong.push(format!("{path} is not snake case"));
        }
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{what}: {path}: {error}\n{text}"));
        let crates = crates(files, path);
        let mut found = BTreeSet::new();
        heads(file.to_token_stream(), &mut found);
        let inner = file.items.iter().filter_map(|item| match item {
            syn::Item::Mod(item) => item.content.as_ref().map(|(_, items)| items.as_slice()),
            _ => None,
        });
        for items in inner.chain([file.items.as_slice()]) {
            let mut names = Vec::new();
            introduced(items, &mut names);
            let unique: BTreeSet<&String> = names.iter().collect();
            if unique.len() < names.len() {
                wrong.push(format!("{path} has a name twice: {names:?}"));
            }
            let shadowed = unique.iter().filter(|name| crates.contains(**name) && found.contains(**name));
            wrong.extend(shadowed.map(|name| format!("{path}: `{name}` shadows a crate")));
            let prelude = unique.iter().filter(|name| PRELUDE.contains(&name.as_str()));
            wrong.extend(prelude.map(|name| format!("{path}: `{name}` shadows the prelude")));
        }
        for item in &file.items {
            let syn::Item::Mod(syn::ItemMod { ident, content: None, .. }) = item else { continue };
            let folder = match path.as_str().rsplit_once('/').unwrap() {
                (folder, "lib.rs" | "main.rs") | (folder @ "tests", _) => folder.to_owned(),
                _ => path.as_str().trim_end_matches(".rs").to_owned(),
            };
            let places = [format!("{folder}/{ident}.rs"), format!("{folder}/{ident}/mod.rs")];
            if !places.iter().any(|place| files.contains_key(&RelPath::new(place.as_str()).unwrap())) {
                wrong.push(format!("{path}: there is no file of `mod {ident}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
}

/// Counts the tests of controllers and webhooks, each in a file of its own.
fn tests_of(files: &Scaffold) -> usize {
    let names = files.keys().filter_map(|path| path.as_str().strip_prefix("tests/")?.strip_suffix(".rs"));
    names.filter(|name| !name.contains('/') && !["crds", "e2e"].contains(name)).count()
}

#[test]
fn every_name_is_served_as_kind_controller_group_and_version() {
    let kinds = kinds();
    assert!(kinds.len() > 140, "{}", kinds.len());
    // In one project, each API would edit the shared files again.
    for part in kinds.into_iter().collect::<Vec<_>>().chunks(20) {
        let one_group = part.iter().map(|(kind, word)| resource("cache", "v1", kind, word));
        let several = part.iter().map(|(kind, word)| resource(word, word, kind, word));
        for project in [project("op", one_group, false), project("op", several, true)] {
            let files = files(&project);
            check(project.resources[0].group.as_str(), &files);
            // Three tests of the controller and one of its webhooks.
            assert_eq!(tests_of(&files), 4 * part.len());
        }
    }
}

#[test]
fn every_name_is_served_as_project() {
    for word in words() {
        let resource = resource("cache", "v1", &kind(&word), &word);
        check(&word, &files(&project(&word, [resource], false)));
    }
}
