//! The paths and identifiers that follow the names in PROJECT.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::ops::moves::{Moves, controllers, files_of, names_of};
use crate::ops::replay::Scaffold;
use crate::plan::RelPath;
use crate::project::{Project, Resource};
use crate::source::{Regroup, changed_words, crate_name, identifier};

/// The moves between two projects with the same resources in the same order.
pub(super) fn moves(from: &Project, to: &Project, before: &Scaffold, after: &Scaffold) -> Result<Moves> {
    let mut moves = Moves::new(&from.package());
    let resources: Vec<(&Resource, &Resource)> = from.resources.iter().zip(&to.resources).collect();
    let multigroup = from.multigroup;
    let pairs: Vec<_> = resources
        .iter()
        .flat_map(|(old, new)| modules(old, multigroup).into_iter().zip(modules(new, multigroup)))
        .collect();
    add_modules(&mut moves, &pairs);
    for (old, new) in &resources {
        let files = files_of(old, multigroup).into_iter().zip(files_of(new, multigroup));
        moves.files.extend(files.filter(|(old, new)| old != new));
    }
    let renamed = || resources.iter().filter(|(old, new)| old.api.is_some() && old != new);
    let names = &mut moves.names;
    names.apis = renamed().map(|(old, new)| (names_of(old), names_of(new))).collect();
    names.modules = renamed().map(|(old, _)| old.api_modules(multigroup)).collect();
    let is_renamed = |resource: &Resource| renamed().any(|(old, _)| old.same_gvk(resource));
    names.shared = from.resources.iter().any(|other| {
        other.api.is_some() && !is_renamed(other) && renamed().any(|(old, _)| old.kind_type() == other.kind_type())
    });
    let crates = [from, to].map(|project| crate_name(&project.package()));
    if crates[0] != crates[1] {
        let [old, new] = crates;
        names.roots.insert(old, new);
    }
    add_identifiers(&mut moves, before, after)?;
    Ok(moves)
}

/// The module paths of a resource from the crate's root, in a fixed order.
fn modules(resource: &Resource, multigroup: bool) -> Vec<Vec<String>> {
    let api = resource.api_modules(multigroup);
    let sibling = |name: String| api.iter().take(api.len() - 1).cloned().chain([name]).collect();
    let mut webhook = api.clone();
    "webhook".clone_into(&mut webhook[0]);
    let conversion = sibling(resource.conversion_module());
    let controllers = controllers(resource, |name| resource.controller_modules(multigroup, name));
    [api, conversion, webhook].into_iter().chain(controllers).collect()
}

/// Adds the new names of modules. A module that others keep, or that joins an existing one, is renamed in whole paths only.
fn add_modules(moves: &mut Moves, pairs: &[(Vec<String>, Vec<String>)]) {
    let mut prefixes: BTreeMap<&[String], BTreeSet<&[String]>> = BTreeMap::new();
    for (old, new) in pairs {
        for length in 1..=old.len() {
            prefixes.entry(&old[..length]).or_default().insert(&new[..length]);
        }
    }
    let is_split = |path: &[String]| {
        let joins = |new: &&[String]| *new != path && prefixes.contains_key(new);
        prefixes.get(path).is_some_and(|all| all.len() > 1 || all.iter().any(joins))
    };
    for (old, all) in prefixes.iter().filter(|(old, _)| !is_split(old)) {
        let Some(new) = all.first().filter(|new| *new != old) else { continue };
        moves.files.insert(format!("src/{}", old.join("/")), format!("src/{}", new.join("/")));
        let last = old.len() - 1;
        let differs = |at: &usize| old[*at] != new[*at] && (*at == last || is_split(&old[..=*at]));
        let names: Vec<_> = (0..old.len()).filter(differs).map(|at| (at, new[at].clone())).collect();
        if !names.is_empty() {
            moves.paths.push(Regroup::Rename { path: old.to_vec(), names });
        }
    }
}

/// Adds the identifiers that differ between both scaffolds: types of the project, and words of single files.
fn add_identifiers(moves: &mut Moves, before: &Scaffold, after: &Scaffold) -> Result<()> {
    let mut words: BTreeMap<RelPath, BTreeMap<String, String>> = BTreeMap::new();
    for (path, text) in before.iter().filter(|(path, _)| path.is_rust()) {
        let changed = after.get(&moves.path(path)?).map(|new| changed_words(text, new));
        words.insert(path.clone(), changed.unwrap_or_default());
    }
    let is_type = |word: &str| word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase);
    let all: BTreeSet<(&String, &String)> = words.values().flatten().filter(|(old, _)| is_type(old)).collect();
    for (old, new) in all {
        // Files with another meaning of the word keep it.
        let is_everywhere = words.iter().all(|(path, words)| {
            words.get(old).map_or_else(|| identifier(&before[path], old).is_none(), |to| to == new)
        });
        if is_everywhere {
            moves.names.types.insert(old.clone(), new.clone());
        }
    }
    moves.names.words = words;
    Ok(())
}
