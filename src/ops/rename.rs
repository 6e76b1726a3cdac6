//! `rename`: PROJECT with other names → the files of the author under these names.
//!
//! Moves and rewrites what follows from the syntax; the difference between both scaffolds is the rest. Must stay true:
//! renaming a project gives the project that would have been created with the new names, and no line of the author is
//! lost.

mod like;
mod moved;

use anyhow::Result;

use super::edit::{Edited, MergeRules};
use super::moves::Moves;
use super::replay::{Scaffold, replay};
use super::{Findings, UsageError, bundle, crd_place, manifests};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin, Problem};
use crate::edit::cargo_lock;
use crate::plan::{Draft, IfExists, RECORD, RelPath};
use crate::project::name::{ControllerName, Domain, Group, Kind, Plural, ProjectName, ShortName, Version};
use crate::project::webhook::ProjectWebhooks;
use crate::project::{Controllers, DEPLOY_IMAGE, Project, Resource};
use crate::source::identifier;

/// Options of `rename api`. `None` keeps a name.
#[derive(Debug, Clone, Default)]
pub(crate) struct RenameApiOptions {
    /// The API group without the domain of the project; empty if only one group has the kind.
    pub(crate) group: String,
    /// The version to rename; `None` for all versions of the kind.
    pub(crate) version: Option<String>,
    /// The kind; `None` for all kinds of the group.
    pub(crate) kind: Option<String>,
    pub(crate) to_group: Option<String>,
    pub(crate) to_version: Option<String>,
    pub(crate) to_kind: Option<String>,
    pub(crate) to_plural: Option<String>,
    /// `Some` with an empty list removes all short names.
    pub(crate) to_short_names: Option<Vec<String>>,
    /// Plans the generated manifests as well.
    pub(crate) generate: bool,
}

/// Renames kinds. The value says what is left to do in clusters.
pub(crate) fn api(draft: &mut Draft, options: &RenameApiOptions) -> Result<Findings<String>> {
    let recorded = Project::recorded(draft)?;
    let wanted = renamed_kinds(&recorded, options)?;
    let mut found = apply(draft, &recorded, &wanted)?;
    if options.generate && !found.has_errors() {
        found.extend(manifests::manifests(draft, &wanted)?);
    }
    let pairs = recorded.resources.iter().zip(&wanted.resources);
    let next: Vec<String> = pairs.filter_map(|(old, new)| in_clusters(old, new)).collect();
    Ok(Findings { value: next.concat(), diagnostics: found })
}

/// Renames the project, its package and the objects of its deployment. The value says what is left to do in clusters.
pub(crate) fn project(draft: &mut Draft, name: &str, generate: bool) -> Result<Findings<String>> {
    let recorded = Project::recorded(draft)?;
    let wanted = Project { name: ProjectName::parse(name).map_err(UsageError)?, ..recorded.clone() };
    if wanted.name == recorded.name {
        return Err(Problem::new(format!("the project already has the name `{name}`")).into());
    }
    bundle::rename_base(draft, &recorded.name, &wanted.name)?;
    let mut found = apply(draft, &recorded, &wanted)?;
    let lock = RelPath::new("Cargo.lock")?;
    if draft.read(&lock)?.is_some() {
        draft.edit(&lock, |text| Ok(cargo_lock::rename(text, &recorded.package(), &wanted.package())))?;
    }
    if generate && !found.has_errors() {
        found.extend(manifests::manifests(draft, &wanted)?);
    }
    let (old, namespace) = (&recorded.name, recorded.namespace());
    let next = format!(
        "\nClusters keep the old operator beside the new one. Delete its Deployment before you deploy, and the rest of its \
         namespace later:\n  kubectl delete deployment --namespace {namespace} {old}-controller-manager\n  kubectl delete namespace \
         {namespace}\nIts ClusterRoles and bindings begin with `{old}-`. The field manager is `{}` now: fields that the operator no \
         longer applies stay in objects as `{old}` set them.",
        wanted.name
    );
    Ok(Findings { value: next, diagnostics: found })
}

/// Makes the project of the draft one with other names, with the same resources in the same order.
pub(crate) fn apply(draft: &mut Draft, recorded: &Project, wanted: &Project) -> Result<Diagnostics> {
    if recorded.is_adopted() {
        let problem =
            Problem::new("the code of this project was there before, and does not follow the names of PROJECT");
        return Err(problem.help("rename the kind in the source, and run `memcached-sdk init` again").into());
    }
    let [before, after] = [replay(recorded)?, replay(wanted)?];
    let moves = moved::moves(recorded, wanted, &before, &after)?;
    let mut found = taken_names(draft, &moves, &before)?;
    if found.has_errors() {
        return Ok(found);
    }
    let rules = MergeRules::new(IfExists::Refuse, Edited::Refuse);
    found.extend(moves.apply(draft, &moves.scaffold(&before)?, &after, rules)?);
    draft.edit(&RelPath::new(RECORD)?, |before| Ok(wanted.to_yaml_over(before)))?;
    for resource in recorded.resources.iter().filter(|resource| resource.api.is_some()) {
        let crd = RelPath::new(format!("config/crd/bases/{}", resource.crd_file()))?;
        let is_left = wanted.resources.iter().any(|other| other.crd_file() == resource.crd_file());
        if !is_left && draft.read(&crd)?.is_some() {
            draft.remove(crd);
        }
    }
    if let Some(place) = &wanted.crds {
        for (old, new) in recorded.resources.iter().zip(&wanted.resources).filter(|(old, _)| old.api.is_some()) {
            if old.crd_name() != new.crd_name() {
                found.extend(crd_place::rename(draft, place, &old.crd_file_names(), &new.crd_file_names())?);
            }
        }
    }
    if !found.has_errors() {
        found.extend(like::places(draft, recorded, wanted, &after));
    }
    Ok(found)
}

/// Reports identifiers of the author that would get the name of another one.
fn taken_names(draft: &Draft, moves: &Moves, before: &Scaffold) -> Result<Diagnostics> {
    let mut found = Diagnostics::default();
    for (path, words) in &moves.names.words {
        let (Some(text), Some(scaffolded)) = (draft.read(path)?, before.get(path)) else { continue };
        for (old, new) in words {
            let is_taken = identifier(scaffolded, new).is_none() && identifier(&text, old).is_some();
            let Some(at) = identifier(&text, new).filter(|_| is_taken) else { continue };
            let message = format!("`{old}` becomes `{new}` in `{path}`, which already has a `{new}`");
            let origin = Origin { path: path.as_str().into(), range: at..at + new.len(), text: text.clone().into() };
            let help = format!("rename this `{new}` first");
            found.push(Diagnostic::new(Code::EditConflict, message).at(origin).help(help));
        }
    }
    Ok(found)
}

/// The project with the new names of some kinds.
fn renamed_kinds(recorded: &Project, options: &RenameApiOptions) -> Result<Project> {
    let chosen = chosen(recorded, options)?;
    let mut wanted = Project { resources: Vec::new(), ..recorded.clone() };
    for (old, is_meant) in recorded.resources.iter().zip(&chosen) {
        let new = if *is_meant { renamed_kind(old, options)? } else { old.clone() };
        let new = with_spokes(new, recorded, &chosen, options)?;
        rename_image(&mut wanted, old, &new);
        wanted.resources.push(new);
    }
    if wanted == *recorded {
        return Err(Problem::new("the kind already has these names").into());
    }
    rename_default_controllers(recorded, &mut wanted)?;
    // Adding the resources one by one finds collisions.
    let mut checked = Project { resources: Vec::new(), ..wanted.clone() };
    for resource in &wanted.resources {
        if checked.find(resource).is_some() {
            let problem = Problem::new(format!("the project already has `{}`", resource.display()));
            return Err(problem.help("use another name, or delete it first").into());
        }
        if resource.api.is_none() && resource.controllers == Controllers::None {
            checked.resources.push(resource.clone());
        } else {
            checked.add(resource.clone(), false)?;
        }
    }
    Ok(wanted)
}

/// Returns for each resource of the project, whether the options mean it.
fn chosen(project: &Project, options: &RenameApiOptions) -> Result<Vec<bool>> {
    let group = Group::parse(&options.group).map_err(UsageError)?;
    let version = options.version.as_deref().map(Version::parse).transpose().map_err(UsageError)?;
    let kind = options.kind.as_deref().map(Kind::parse).transpose().map_err(UsageError)?;
    if options.to_version.is_some() && (version.is_none() || kind.is_none()) {
        return Err(UsageError(
            Problem::new("`--to-version` renames one version").help("pass `--version` and `--kind`"),
        )
        .into());
    }
    let of_kind = options.to_kind.is_some() || options.to_plural.is_some() || options.to_short_names.is_some();
    if kind.is_none() && of_kind {
        return Err(UsageError(Problem::new("the options do not choose a kind").help("pass `--kind`")).into());
    }
    if version.is_some() && options.to_version.is_none() {
        let problem = Problem::new("the versions of a kind have its names in common");
        return Err(UsageError(problem.help("leave out `--version`, or pass `--to-version`")).into());
    }
    let is_meant = |entry: &Resource| {
        let groups = [entry.group.to_string(), entry.qualified_group()];
        let is_own = entry.api.is_some();
        is_own
            && version.as_ref().is_none_or(|version| entry.version == *version)
            && kind.as_ref().is_none_or(|kind| entry.kind == *kind)
            && (group.is_empty() || groups.contains(&options.group))
    };
    let all: Vec<bool> = project.resources.iter().map(is_meant).collect();
    let meant = || project.resources.iter().zip(&all).filter(|(_, is_meant)| **is_meant).map(|(entry, _)| entry);
    let Some(first) = meant().next() else {
        let problem = Problem::new("the project has no such type");
        return Err(problem.help("`PROJECT` lists the types of the project, as `resources` with `api`").into());
    };
    if let Some(other) = meant().find(|other| other.group != first.group) {
        let problem = Problem::new(format!("both `{}` and `{}` are meant", first.display(), other.display()));
        return Err(UsageError(problem.help("pass `--group`")).into());
    }
    Ok(all)
}

fn renamed_kind(old: &Resource, options: &RenameApiOptions) -> Result<Resource> {
    let mut new = old.clone();
    if let Some(group) = &options.to_group {
        new.group = Group::parse(group).map_err(UsageError)?;
    }
    if let Some(version) = &options.to_version {
        new.version = Version::parse(version).map_err(UsageError)?;
    }
    if let Some(kind) = &options.to_kind {
        new.kind = Kind::parse(kind).map_err(UsageError)?;
        if old.plural == old.kind.default_plural() {
            new.plural = new.kind.default_plural();
        }
    }
    if let Some(plural) = &options.to_plural {
        new.plural = Plural::parse(plural).map_err(UsageError)?;
    }
    if let (Some(names), Some(api)) = (&options.to_short_names, &mut new.api) {
        let names = names.iter().map(|name| ShortName::parse(name)).collect::<Result<_, _>>();
        api.short_names = names.map_err(UsageError)?;
    }
    // Checks the length of the group.
    Resource::new(new.group.clone(), new.domain.clone(), new.version.clone(), new.kind.clone()).map_err(UsageError)?;
    Ok(new)
}

/// The resource with the new name of a version among the versions that convert to it.
fn with_spokes(
    mut resource: Resource,
    recorded: &Project,
    chosen: &[bool],
    options: &RenameApiOptions,
) -> Result<Resource> {
    let (Some(to), Some(_)) = (&options.to_version, &resource.webhooks) else { return Ok(resource) };
    let mut webhooks = ProjectWebhooks::of(&resource)?;
    let mut meant = recorded.resources.iter().zip(chosen).filter(|(_, is_meant)| **is_meant);
    if let Some((old, _)) = meant.find(|(old, _)| old.kind == resource.kind && old.group == resource.group) {
        for spoke in webhooks.spoke.iter_mut().filter(|spoke| *spoke == old.version.as_str()) {
            spoke.clone_from(to);
        }
        resource.webhooks = Some(webhooks.to_value());
    }
    Ok(resource)
}

/// Moves the record of an image to the new names.
fn rename_image(project: &mut Project, old: &Resource, new: &Resource) {
    let entries = project.plugins.get_mut(DEPLOY_IMAGE).and_then(|plugin| plugin["resources"].as_array_mut());
    for entry in entries.into_iter().flatten() {
        let is_meant = entry["group"] == old.group.as_str()
            && entry["version"] == old.version.as_str()
            && entry["kind"] == old.kind.as_str();
        if is_meant {
            entry["group"] = new.group.as_str().into();
            entry["version"] = new.version.as_str().into();
            entry["kind"] = new.kind.as_str().into();
            if let (Some(domain), Some(entry)) = (&new.domain, entry.as_object_mut())
                && entry.contains_key("domain")
            {
                entry.insert("domain".to_owned(), domain.as_str().into());
            }
        }
    }
}

/// Among several controllers of a kind, one may have the name of the kind.
fn rename_default_controllers(recorded: &Project, wanted: &mut Project) -> Result<()> {
    for (old, new) in recorded.resources.iter().zip(&mut wanted.resources) {
        let [before, after] = [old, &*new].map(|resource| resource.default_controller_name(recorded.multigroup));
        if let Controllers::Named(names) = &mut new.controllers {
            for name in names.iter_mut().filter(|name| name.as_str() == before) {
                *name = ControllerName::parse(&after)?;
            }
        }
    }
    Ok(())
}

/// The project with another domain.
pub(crate) fn with_domain(project: &Project, domain: &Domain) -> Project {
    let mut wanted = Project { domain: Some(domain.clone()), resources: Vec::new(), ..project.clone() };
    for old in &project.resources {
        let mut new = old.clone();
        if old.domain == project.domain && !old.core && !old.external {
            new.domain = Some(domain.clone());
        }
        rename_image(&mut wanted, old, &new);
        wanted.resources.push(new);
    }
    wanted
}

/// The steps left to do in clusters that have objects of a kind.
pub(crate) fn in_clusters(old: &Resource, new: &Resource) -> Option<String> {
    old.api.as_ref()?;
    let [before, after] = [old, new].map(Resource::crd_name);
    if before != after {
        return Some(format!(
            "\nClusters keep the objects of `{before}`, which the renamed operator does not read. In each of them, while the old \
             operator runs:\n  kubectl get {before} --all-namespaces --output yaml > old.yaml\n  kubectl delete {before} --all \
             --all-namespaces\n  kubectl delete crd {before}\nThen deploy this operator, and create the objects of old.yaml again with \
             `apiVersion: {}` and `kind: {}`, without `status`, `metadata.finalizers`, `metadata.uid` and \
             `metadata.resourceVersion`. To have no gap, create them first, with other names.",
            new.api_version(),
            new.kind
        ));
    }
    if old.version != new.version {
        return Some(format!(
            "\nClusters that have stored objects in `{old}` refuse a CRD without this version. For them, undo this, add the version \
             with `memcached-sdk create api --version {new} --kind {kind}`, and delete `{old}` when it is no longer in:\n  kubectl \
             get crd {before} --output jsonpath='{{.status.storedVersions}}'",
            old = old.version,
            new = new.version,
            kind = new.kind
        ));
    }
    (old.kind != new.kind).then(|| {
        format!("\nObjects of `{before}` stay, and have the kind `{}` as soon as the CRD is applied.", new.kind)
    })
}
