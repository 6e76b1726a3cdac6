//! Dependencies between the rooms (top-level modules) of `src`, and the crates that each room uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;

use crate::sandbox::files;

/// The rooms with their dependencies. A room only uses rooms above it, so there is no cycle.
const ROOMS: &[(&str, &[&str])] = &[
    ("diagnostic", &[]),
    ("parallel", &[]),
    ("runtime", &[]),
    ("yaml", &[]),
    ("term", &["diagnostic"]),
    ("edit", &["diagnostic"]),
    ("plan", &["diagnostic", "edit"]),
    ("project", &["diagnostic", "plan", "yaml"]),
    ("schema", &["diagnostic"]),
    ("source", &["diagnostic", "parallel", "runtime"]),
    ("k8s", &["diagnostic", "runtime", "schema", "source"]),
    ("types", &["diagnostic", "project", "schema", "yaml"]),
    ("scaffold", &["diagnostic", "edit", "plan", "project", "runtime", "source", "yaml"]),
    ("api", &["diagnostic", "k8s", "schema", "source"]),
    ("crd", &["api", "diagnostic", "k8s", "parallel", "project", "schema", "source"]),
    ("rbac", &["api", "diagnostic", "edit", "k8s", "project", "runtime", "source", "yaml"]),
    ("webhook", &["diagnostic", "source"]),
    ("ship", &["diagnostic", "project", "yaml"]),
    ("engine", &["api", "crd", "diagnostic", "k8s", "project", "source", "yaml"]),
    ("explore", &["diagnostic"]),
    (
        "ops",
        &[
            "api",
            "crd",
            "diagnostic",
            "edit",
            "engine",
            "explore",
            "k8s",
            "parallel",
            "plan",
            "project",
            "rbac",
            "runtime",
            "scaffold",
            "ship",
            "source",
            "types",
            "webhook",
            "yaml",
        ],
    ),
    ("cli", &["crd", "engine", "explore", "project", "rbac"]),
    (
        "command",
        &[
            "cli",
            "crd",
            "diagnostic",
            "engine",
            "ops",
            "plan",
            "project",
            "rbac",
            "schema",
            "ship",
            "source",
            "term",
            "yaml",
        ],
    ),
    ("main", &[]),
];

/// Crates that any room may use.
const EVERYWHERE: [&str; 4] = ["anyhow", "serde", "serde_json", "thiserror"];

/// The other crates, each with the rooms that use it; see `docs/decisions/0003-dependencies.md`.
const CRATES: &[(&str, &[&str])] = &[
    ("annotate_snippets", &["diagnostic"]),
    ("base64", &["ops", "ship"]),
    ("chrono", &["schema"]),
    ("clap", &["cli", "command"]),
    ("clap_complete", &["cli", "command"]),
    ("darling", &["api"]),
    ("glob", &["source"]),
    ("heck", &["project", "scaffold", "types"]),
    ("http_body_util", &["explore"]),
    ("hyper", &["explore"]),
    ("hyper_util", &["explore"]),
    ("icu_normalizer", &["source"]),
    ("include_dir", &["runtime", "scaffold"]),
    ("indexmap", &["schema"]),
    ("jiff", &["ops", "schema"]),
    ("json_patch", &["ops"]),
    ("k8s_openapi", &["api", "crd", "project", "schema"]),
    ("kube", &["api", "crd", "schema"]),
    ("mimalloc", &["main"]),
    ("memchr", &["source"]),
    ("proc_macro2", &["api", "edit", "engine", "k8s", "rbac", "source"]),
    ("quote", &["api", "edit", "rbac", "source"]),
    ("regex_syntax", &["crd"]),
    ("rust_decimal", &["schema"]),
    ("rustix", &["explore", "plan"]),
    ("schemars", &["api", "schema"]),
    ("semver", &["api", "cli", "command", "engine", "k8s", "ops", "schema", "ship", "source"]),
    ("serde_derive_internals", &["api"]),
    ("serde_yaml", &["edit", "engine", "ops", "project", "rbac", "ship", "types", "yaml"]),
    ("sha2", &["ops"]),
    ("similar", &["edit", "engine", "ops", "plan"]),
    ("strsim", &["rbac", "source"]),
    ("syn", &["api", "edit", "engine", "k8s", "ops", "rbac", "source"]),
    ("tempfile", &["explore"]),
    ("tera", &["scaffold"]),
    ("tokio", &["explore"]),
    ("explorer", &["explore", "runtime"]),
    ("manager_library", &["runtime"]),
    ("toml", &["edit", "source"]),
    ("toml_edit", &["edit", "engine", "ops", "runtime", "source"]),
    ("url", &["schema", "ship"]),
    ("uuid", &["api", "schema"]),
    ("walkdir", &["ops"]),
];

/// Each file below a folder of the repository, without unit tests. Paths are relative to the folder.
pub(crate) fn sources(folder: &str) -> BTreeMap<String, syn::File> {
    // `tests.rs` and `tests/` belong to `#[cfg(test)] mod tests;`.
    let is_code = |path: &str| path.ends_with(".rs") && !path.ends_with("/tests.rs") && !path.contains("/tests/");
    let mut sources = BTreeMap::new();
    for (path, text) in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)) {
        if is_code(&path) {
            let mut file = syn::parse_file(&text).unwrap();
            file.items.retain(|item| !is_test(item));
            sources.insert(path, file);
        }
    }
    assert!(sources.len() > 15, "{folder} was not read");
    sources
}

/// The tokens of each room, without its unit tests.
fn rooms() -> BTreeMap<String, Vec<TokenTree>> {
    let mut rooms: BTreeMap<String, Vec<TokenTree>> = BTreeMap::new();
    for (path, mut file) in sources("src") {
        let room = path.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
        if room != "lib" {
            file.attrs.clear();
            flatten(file.into_token_stream(), rooms.entry(room).or_default());
        }
    }
    rooms
}

fn is_test(item: &syn::Item) -> bool {
    let attributes = match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| attribute.to_token_stream().to_string().contains("cfg (test)"))
}

/// All tokens in sequence, with opening delimiters, but without closing ones.
fn flatten(tokens: TokenStream, flat: &mut Vec<TokenTree>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                flat.push(TokenTree::Group(proc_macro2::Group::new(group.delimiter(), TokenStream::new())));
                flatten(group.stream(), flat);
            }
            token => flat.push(token),
        }
    }
}

fn is_colon(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ':')
}

fn used_rooms(tokens: &[TokenTree]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_crate = matches!(token, TokenTree::Ident(name) if name == "crate");
        if is_crate && is_colon(tokens.get(at + 1)) {
            match tokens.get(at + 3) {
                Some(TokenTree::Ident(name)) => names.extend([name.to_string()]),
                found => panic!("`crate::` is followed by {found:?}: import each room by itself"),
            }
        }
    }
    names
}

/// The first segments of paths and imports.
fn first_names(tokens: &[TokenTree]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Ident(name) = token else { continue };
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let is_path = is_colon(tokens.get(at + 1)) && is_colon(tokens.get(at + 2)) && !is_colon(before);
        let is_import = matches!(before, Some(TokenTree::Ident(before)) if before == "use");
        if is_path || is_import {
            names.insert(name.to_string());
        }
    }
    names
}

#[test]
fn no_room_uses_one_below_it_and_the_list_is_true() {
    let rooms = rooms();
    let mut wrong = String::new();
    let listed: Vec<&str> = ROOMS.iter().map(|(room, _)| *room).collect();
    assert_eq!(rooms.keys().map(String::as_str).collect::<BTreeSet<_>>(), listed.iter().copied().collect());
    for (at, (room, uses)) in ROOMS.iter().enumerate() {
        for used in *uses {
            assert!(listed[..at].contains(used), "{room} uses {used}, which stands below it");
        }
        let mut found = used_rooms(&rooms[*room]);
        found.remove(*room);
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        if found != *uses {
            writeln!(wrong, "{room} uses {found:?}, the list says {uses:?}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn operations_know_no_command_line_and_no_terminal() {
    let rooms = rooms();
    let (used, crates) = (used_rooms(&rooms["ops"]), first_names(&rooms["ops"]));
    for room in ["cli", "command", "term"] {
        assert!(!used.contains(room), "ops uses {room}");
    }
    for name in ["clap", "clap_complete"] {
        assert!(!crates.contains(name), "ops uses {name}");
    }
}

#[test]
fn every_crate_is_known_to_its_rooms_alone() {
    let manifest: toml_edit::DocumentMut = include_str!("../../../Cargo.toml").parse().unwrap();
    let targets =
        manifest["target"].as_table().into_iter().flat_map(|targets| targets.iter().map(|(_, target)| target));
    let tables = targets.map(|target| target["dependencies"].as_table()).chain([manifest["dependencies"].as_table()]);
    let names = tables.flatten().flat_map(|table| table.iter().map(|(name, _)| name.replace('-', "_")));
    let mut found: BTreeMap<String, Vec<String>> =
        names.filter(|name| !EVERYWHERE.contains(&name.as_str())).map(|name| (name, Vec::new())).collect();
    for (room, tokens) in rooms() {
        for name in first_names(&tokens) {
            if let Some(rooms) = found.get_mut(&name) {
                rooms.push(room.clone());
            }
        }
    }
    let listed: BTreeMap<String, Vec<String>> = CRATES
        .iter()
        .map(|(name, rooms)| ((*name).to_owned(), rooms.iter().map(|room| (*room).to_owned()).collect()))
        .collect();
    let mut wrong = String::new();
    for (name, rooms) in &found {
        if listed.get(name) != Some(rooms) {
            writeln!(wrong, "    (\"{name}\", &{rooms:?}),").unwrap();
        }
    }
    assert!(wrong.is_empty() && listed.len() == found.len(), "not so in the list:\n{wrong}");
}

/// The types that a file defines outside functions and unit tests.
fn types(items: &[syn::Item], found: &mut Vec<String>) {
    for item in items.iter().filter(|item| !is_test(item)) {
        let name = match item {
            syn::Item::Struct(item) => &item.ident,
            syn::Item::Enum(item) => &item.ident,
            syn::Item::Trait(item) => &item.ident,
            syn::Item::Type(item) => &item.ident,
            syn::Item::Union(item) => &item.ident,
            syn::Item::Mod(syn::ItemMod { content: Some((_, items)), .. }) => {
                types(items, found);
                continue;
            }
            _ => continue,
        };
        found.push(name.to_string());
    }
}

/// Types of one name in a file are for different systems.
#[test]
fn a_type_has_a_name_of_its_own_in_its_crate() {
    for folder in ["src", "manager/src", "explorer/src"] {
        let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (path, file) in sources(folder) {
            let mut found = Vec::new();
            types(&file.items, &mut found);
            for name in found {
                places.entry(name).or_default().insert(path.clone());
            }
        }
        let shared: Vec<_> = places.iter().filter(|(_, files)| files.len() > 1).collect();
        assert!(shared.is_empty(), "several types of {folder} have one name: {shared:?}");
    }
}
