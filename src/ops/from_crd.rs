//! `create api --from-crd`: a CRD → the options of `create api` for each of its versions.

use std::path::Path;

use anyhow::Result;

use super::UsageError;
use super::create_api::CreateApiOptions;
use super::rendered;
use crate::diagnostic::Problem;
use crate::plan::Draft;
use crate::project::Project;
use crate::project::name::Group;
use crate::project::resource::without_domain;
use crate::types::{self, CrdTypes};

const HELP: &str =
    "pass the file of a CRD, or pipe one: `kubectl get crd NAME --output yaml | memcached-sdk create api --from-crd -`";

/// The options for each version of the CRD in a file; `-` is stdin. The stored version is the first one. `given` has the flags, which
/// must not contradict the CRD.
pub(crate) fn options(draft: &Draft, path: &Path, given: &CreateApiOptions) -> Result<Vec<CreateApiOptions>> {
    let project = Project::recorded(draft)?;
    let text = rendered::read(path, HELP)?;
    let kind = Some(given.kind.as_str()).filter(|kind| !kind.is_empty());
    let mut crd = types::of_crd(&path.display().to_string(), &text, kind)?;
    let group = group(&project, &crd, given)?;
    check(&crd, given)?;
    crd.versions.retain(|version| given.version.is_empty() || version.name == given.version);
    if crd.versions.is_empty() {
        return Err(contradiction("--version", &given.version, "the CRD has no such version"));
    }
    crd.versions.sort_by_key(|version| !version.storage);
    let last = crd.versions.len() - 1;
    let each = crd.versions.into_iter().enumerate().map(|(at, version)| CreateApiOptions {
        group: group.clone(),
        version: version.name.clone(),
        kind: crd.kind.clone(),
        resource: Some(true),
        // The versions of a kind share a controller.
        controller: if at == 0 { given.controller } else { Some(false) },
        namespaced: crd.namespaced,
        plural: Some(crd.plural.clone()),
        short_names: crd.short_names.clone(),
        types: Some(version),
        generate: given.generate && at == last,
        ..given.clone()
    });
    Ok(each.collect())
}

/// The group of the CRD without the domain of the project.
fn group(project: &Project, crd: &CrdTypes, given: &CreateApiOptions) -> Result<String> {
    let whole = Group::parse(&crd.group).map_err(UsageError)?;
    let Some(domain) = &project.domain else { return Ok(crd.group.clone()) };
    let Some(short) = without_domain(&whole, domain) else {
        let rest = crd.group.split_once('.').map_or(crd.group.as_str(), |(_, rest)| rest);
        let problem =
            Problem::new(format!("the group `{whole}` does not end in the domain of the project, `{domain}`"));
        let help = format!("make a project of that domain with `memcached-sdk init --domain {rest}`");
        return Err(UsageError(problem.help(help)).into());
    };
    if ![short, whole.as_str(), ""].contains(&given.group.as_str()) {
        return Err(contradiction("--group", &given.group, &format!("the group of the CRD is `{whole}`")));
    }
    Ok(short.to_owned())
}

/// Returns an error if a flag contradicts the CRD.
fn check(crd: &CrdTypes, given: &CreateApiOptions) -> Result<()> {
    if let Some(plural) = given.plural.as_ref().filter(|plural| **plural != crd.plural) {
        return Err(contradiction("--plural", plural, &format!("the plural of the CRD is `{}`", crd.plural)));
    }
    if let Some(name) = given.short_names.iter().find(|name| !crd.short_names.contains(name)) {
        return Err(contradiction("--short-name", name, "the CRD has no such short name"));
    }
    if crd.namespaced && !given.namespaced {
        return Err(contradiction("--namespaced", "false", "the scope of the CRD is `Namespaced`"));
    }
    if given.resource == Some(false) {
        return Err(contradiction("--resource", "false", "the types are those of the CRD"));
    }
    Ok(())
}

fn contradiction(flag: &str, value: &str, why: &str) -> anyhow::Error {
    let problem = Problem::new(format!("`{flag} {value}` contradicts `--from-crd`: {why}"));
    UsageError(problem.help(format!("leave out `{flag}`"))).into()
}
