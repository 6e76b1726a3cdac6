//! `create api --from-crd`: a CRD → the options of `create api` for each of its versions.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::UsageError;
use super::create_api::CreateApiOptions;
use super::external::ExternalOptions;
use super::rendered;
use crate::diagnostic::Problem;
use crate::plan::Draft;
use crate::project::name::{Domain, Group, Kind, Version};
use crate::project::resource::without_domain;
use crate::project::{Project, Resource};
use crate::types::{self, CrdTypes};

const HELP: &str =
    "pass the file of a CRD, or pipe one: `kubectl get crd NAME --output yaml | memcached-sdk create api --from-crd -`";

/// The options for each version of the CRD in a file; `-` is stdin. The stored version is the first one. `given` has the flags, which
/// must not contradict the CRD. If `external`, the kind belongs to another project, and one version is enough.
pub(crate) fn options(
    draft: &Draft,
    path: &Path,
    given: &CreateApiOptions,
    external: bool,
) -> Result<Vec<CreateApiOptions>> {
    let project = Project::recorded(draft)?;
    let text = rendered::read(path, HELP)?;
    let kind = Some(given.kind.as_str()).filter(|kind| !kind.is_empty());
    let crd = types::read(&path.display().to_string(), &text, kind)?;
    if external { Ok(vec![external_options(crd, given)?]) } else { own_options(&project, crd, given) }
}

/// The options for each version of a CRD of the project.
pub(crate) fn own_options(
    project: &Project,
    mut crd: Value,
    given: &CreateApiOptions,
) -> Result<Vec<CreateApiOptions>> {
    let mut types = types::of_value(&crd)?;
    let ApiGroup { group, domain } = group(project, &types, given)?;
    check(&types, given)?;
    if !given.version.is_empty() {
        // The first version of a kind in the project is the stored one.
        let is_further = project.resources.iter().any(|other| {
            other.api.is_some() && other.kind.as_str() == types.kind && other.qualified_group() == types.group
        });
        types = version(&mut crd, &given.version, !is_further)?;
    }
    types.versions.sort_by_key(|version| !version.storage);
    let last = types.versions.len() - 1;
    let each = types.versions.into_iter().enumerate().map(|(at, version)| CreateApiOptions {
        group: group.clone(),
        version: version.name.clone(),
        kind: types.kind.clone(),
        resource: Some(true),
        // The versions of a kind share a controller.
        controller: if at == 0 { given.controller } else { Some(false) },
        namespaced: types.namespaced,
        plural: Some(types.plural.clone()),
        short_names: types.short_names.clone(),
        external: ExternalOptions { domain: domain.clone(), ..ExternalOptions::default() },
        types: Some(version),
        generate: given.generate && at == last,
        ..given.clone()
    });
    Ok(each.collect())
}

/// The options for a kind of another project: its types are in this project, its CRD is not.
pub(crate) fn external_options(mut crd: Value, given: &CreateApiOptions) -> Result<CreateApiOptions> {
    let types = types::of_value(&crd)?;
    let ApiGroup { group, domain } = ApiGroup::split(&types.group);
    if ![group.as_str(), types.group.as_str(), ""].contains(&given.group.as_str()) {
        return Err(contradiction("--group", &given.group, &format!("the group of the CRD is `{}`", types.group)));
    }
    check(&types, given)?;
    let stored = types.versions.iter().find(|version| version.storage).or(types.versions.first());
    let name = match (given.version.as_str(), stored) {
        ("", Some(stored)) => stored.name.clone(),
        (name, _) => name.to_owned(),
    };
    let types = version(&mut crd, &name, true)?;
    let resource = Resource::new(
        Group::parse(&group).map_err(UsageError)?,
        domain.as_deref().map(Domain::parse).transpose().map_err(UsageError)?,
        Version::parse(&name).map_err(UsageError)?,
        Kind::parse(&types.kind).map_err(UsageError)?,
    )?;
    Ok(CreateApiOptions {
        external: ExternalOptions { path: Some(resource.local_path()), domain, module: None },
        group,
        version: name,
        kind: types.kind,
        resource: Some(false),
        controller: Some(given.controller.unwrap_or(false)),
        namespaced: types.namespaced,
        plural: Some(types.plural),
        types: types.versions.into_iter().next(),
        ..given.clone()
    })
}

/// The types of one version of a CRD.
fn version(crd: &mut Value, name: &str, storage: bool) -> Result<CrdTypes> {
    if !types::keep_version(crd, name, storage) {
        return Err(contradiction("--version", name, "the CRD has no such version"));
    }
    Ok(types::of_value(crd)?)
}

/// A group as `PROJECT` records it.
struct ApiGroup {
    /// The group without the domain.
    group: String,
    /// The domain, unless it is the one of the project.
    domain: Option<String>,
}

impl ApiGroup {
    /// Takes the first label as the group, and the rest as the domain.
    fn split(whole: &str) -> Self {
        match whole.split_once('.') {
            Some((group, domain)) => Self { group: group.to_owned(), domain: Some(domain.to_owned()) },
            None => Self { group: whole.to_owned(), domain: None },
        }
    }
}

/// The group of the CRD without the domain of the project. A group outside of it keeps its own domain.
fn group(project: &Project, crd: &CrdTypes, given: &CreateApiOptions) -> Result<ApiGroup> {
    let whole = Group::parse(&crd.group).map_err(UsageError)?;
    let recorded = project.resources.iter().find(|other| other.api.is_some() && other.qualified_group() == crd.group);
    let found = match (recorded, &project.domain) {
        (Some(other), domain) => ApiGroup {
            group: other.group.to_string(),
            domain: other.domain.as_ref().filter(|own| Some(*own) != domain.as_ref()).map(ToString::to_string),
        },
        (None, None) => ApiGroup { group: crd.group.clone(), domain: None },
        (None, Some(domain)) => match without_domain(&whole, domain) {
            Some(short) => ApiGroup { group: short.to_owned(), domain: None },
            None => ApiGroup::split(&crd.group),
        },
    };
    if ![found.group.as_str(), whole.as_str(), ""].contains(&given.group.as_str()) {
        return Err(contradiction("--group", &given.group, &format!("the group of the CRD is `{whole}`")));
    }
    Ok(found)
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
