//! Texts and comments of the author that have an old name: they may mean something else, so they stay and are listed.

use std::collections::BTreeSet;

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::ops::replay::Scaffold;
use crate::ops::{files_in, whole_word};
use crate::plan::{Draft, RelPath};
use crate::project::{Project, Resource};

const PLACES: [&str; 9] =
    ["Dockerfile", "Makefile", "README.md", "benches", "config", "docs", "examples", "src", "tests"];
/// Files that `generate` writes.
const GENERATED: [&str; 3] = ["config/crd/bases/", "config/rbac/role.yaml", "config/webhook/manifests.yaml"];

/// One warning for each file of the draft that has old names in lines of the author.
pub(super) fn places(draft: &Draft, from: &Project, to: &Project, after: &Scaffold) -> Diagnostics {
    let words = old_names(from, to);
    let there = files_in(draft.root(), &PLACES).filter_map(Result::ok);
    let mut paths: BTreeSet<RelPath> = there.chain(draft.paths().cloned()).collect();
    for resource in to.resources.iter().filter(|resource| resource.api.is_some()) {
        if let Some(Ok(crd)) = to.crds.as_ref().map(|place| place.path(&resource.crd_file_names())) {
            paths.remove(&crd);
        }
    }
    let mut found = Diagnostics::default();
    for path in paths.into_iter().filter(|path| !GENERATED.iter().any(|generated| path.as_str().starts_with(generated)))
    {
        // Other bytes than text have no names.
        let Some(text) = draft.read(&path).ok().flatten() else { continue };
        if !words.iter().any(|word| text.contains(word.as_str())) {
            continue;
        }
        let ours: BTreeSet<&str> = after.get(&path).iter().flat_map(|text| text.lines()).map(str::trim).collect();
        let mut first = None;
        let (mut names, mut lines) = (BTreeSet::new(), Vec::new());
        let mut at = 0;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            if !ours.contains(line.trim()) {
                for word in &words {
                    if let Some(place) = whole_word(line, word, is_part) {
                        first.get_or_insert(at + place..at + place + word.len());
                        names.insert(format!("`{word}`"));
                        if lines.last() != Some(&(number + 1)) {
                            lines.push(number + 1);
                        }
                    }
                }
            }
            at += line.len();
        }
        let Some(range) = first else { continue };
        let names: Vec<String> = names.into_iter().collect();
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let of = if lines.len() == 1 { "line" } else { "lines" };
        let message = format!("`{path}` still has {} in {of} {}", names.join(", "), lines.join(", "));
        let origin = Origin { path: path.as_str().into(), range, text: text.into() };
        let help = "change these lines if they mean what you have renamed";
        found.push(Diagnostic::new(Code::OldName, message).at(origin).help(help));
    }
    found
}

/// The names that are no longer those of the project or of a kind.
fn old_names(from: &Project, to: &Project) -> BTreeSet<String> {
    let names = |project: &Project| -> BTreeSet<String> {
        let own = project.resources.iter().filter(|resource| resource.api.is_some());
        let of_kind = |resource: &Resource| {
            [resource.kind.to_string(), resource.plural.to_string(), resource.qualified_group(), resource.api_version()]
        };
        own.flat_map(of_kind).chain([project.name.to_string()]).collect()
    };
    names(from).difference(&names(to)).cloned().collect()
}

/// Names may contain `-`.
fn is_part(char: char) -> bool {
    char == '_' || char == '-' || char.is_alphanumeric()
}
