//! A further version of a kind begins with the types and the sample of another version.

use anyhow::Result;

use super::moves::{Moves, names_of};
use crate::plan::{Draft, RelPath};
use crate::project::{Project, Resource};
use crate::source::{Regroup, declares_modules, with_kube_arguments};

/// Arguments of `#[kube]` that belong to one version.
const OF_A_VERSION: [&str; 3] = ["deprecated", "served", "storage"];

/// The files of `to`, made of those of another version on disk. Empty if its types are in several files.
pub(crate) fn files(
    draft: &Draft,
    project: &Project,
    from: &Resource,
    to: &Resource,
) -> Result<Vec<(RelPath, String)>> {
    let [old, new] = [from, to].map(|resource| resource.api_modules(project.multigroup));
    let [types, copy] = [&old, &new].map(|modules| RelPath::new(format!("src/{}.rs", modules.join("/"))));
    let types = types?;
    let Some(text) = draft.read(&types)?.filter(|text| !declares_modules(text)) else { return Ok(Vec::new()) };
    let mut moves = Moves::new(&project.package());
    let version = old.len() - 2;
    moves.paths.push(Regroup::Rename { path: old, names: vec![(version, new[version].clone())] });
    moves.names.apis.push((names_of(from), names_of(to)));
    let text = with_kube_arguments(&text, &OF_A_VERSION, "storage = false");
    let mut files = vec![(copy?, moves.formatted_text(&types, &text))];
    let [sample, copy] = [from, to].map(|resource| RelPath::new(format!("config/samples/{}", resource.sample_file())));
    if let Some(text) = draft.read(&sample?)? {
        let line = |resource: &Resource| format!("apiVersion: {}\n", resource.api_version());
        files.push((copy?, text.replace(&line(from), &line(to))));
    }
    Ok(files)
}
