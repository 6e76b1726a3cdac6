//! `delete`: PROJECT without an API, a version, a controller or webhooks → the difference that it makes in the files.
//!
//! Takes [`DeleteOptions`], plans in the draft. Must stay true: creating and deleting leaves every byte as it was, and no
//! line of the author is lost.

use anyhow::Result;

use super::edit::{self, Edited};
use super::known::{self, ExistingKind};
use super::{Findings, UsageError, copied, create_api, files_in, manifests, whole_word};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin, Problem};
use crate::plan::Draft;
use crate::project::name::{ControllerName, Group, Kind, Version};
use crate::project::webhook::{CertMode, ProjectWebhooks};
use crate::project::{Controllers, Project, Resource};
use crate::scaffold;
use crate::scaffold::context::ProjectContext;

/// A part of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// The types of a version of a kind, and its controllers.
    Api,
    /// One of several versions of a kind, with its webhooks.
    Version,
    /// The controller of this name, or all controllers of the kind.
    Controller(Option<String>),
    /// Webhooks of these types; all, if none is chosen.
    Webhook { defaulting: bool, validation: bool, conversion: bool },
}

/// Options of `delete`.
#[derive(Debug, Clone)]
pub(crate) struct DeleteOptions {
    pub(crate) deletion: Deletion,
    /// The API group without the domain of the project; empty if only one group has the kind.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    /// Deletes files that the author has changed.
    pub(crate) discard: bool,
    /// Plans the generated manifests as well.
    pub(crate) generate: bool,
}

/// Takes the part out of the project of the draft. The value says what is left to do in clusters.
pub(crate) fn run(draft: &mut Draft, options: &DeleteOptions) -> Result<Findings<String>> {
    let recorded = Project::recorded(draft)?;
    let resource = find(&recorded, options)?;
    if let Some(path) = resource.path.as_ref().filter(|_| recorded.is_adopted() && !resource.has_local_types()) {
        let problem =
            Problem::new(format!("the types of `{}` were in the crate before the project", resource.display()));
        return Err(problem
            .help(format!(
                "delete them in `{path}`, and run `memcached-sdk init` again: it updates PROJECT and config/"
            ))
            .into());
    }
    let mut project = recorded.clone();
    match &options.deletion {
        Deletion::Api => delete_api(draft, &mut project, &resource)?,
        Deletion::Version => delete_version(draft, &mut project, &resource)?,
        Deletion::Controller(name) => delete_controller(&mut project, &resource, name.as_deref())?,
        Deletion::Webhook { defaulting, validation, conversion } => {
            let all = !(*defaulting || *validation || *conversion);
            let chosen = [*defaulting || all, *validation || all, *conversion || all];
            delete_webhooks(&mut project, &resource, chosen)?;
        }
    }
    prune(&mut project);
    if matches!(options.deletion, Deletion::Api | Deletion::Version) {
        remove_copies(draft, &recorded, &resource)?;
    }
    let edited = if options.discard { Edited::Discard } else { Edited::Refuse };
    let mut found = edit::change(draft, &project, edited)?;
    if found.has_errors() {
        return Ok(Findings { value: String::new(), diagnostics: found });
    }
    if project.is_adopted() {
        scaffold::retract_from_crate(draft, &ProjectContext::new(&project))?;
    }
    if options.generate {
        found.extend(manifests::manifests(draft, &project)?);
    }
    if project.find(&resource).is_none_or(|left| left.api.is_none()) && resource.api.is_some() {
        found.extend(still_named(draft, &resource, project.multigroup)?);
    }
    Ok(Findings { value: in_clusters(&options.deletion, &project, &resource), diagnostics: found })
}

/// Removes the files of a version that are as they were copied from another one.
fn remove_copies(draft: &mut Draft, project: &Project, resource: &Resource) -> Result<()> {
    let others: Vec<&Resource> = project.other_versions(resource).filter(|other| other.api.is_some()).collect();
    for other in others {
        for (path, text) in copied::files(draft, project, other, resource)? {
            if draft.read(&path)?.is_some_and(|there| there.replace("\r\n", "\n") == text.replace("\r\n", "\n")) {
                draft.remove(path);
            }
        }
    }
    Ok(())
}

/// The entry of PROJECT.
fn find(project: &Project, options: &DeleteOptions) -> Result<Resource> {
    let group = Group::parse(&options.group).map_err(UsageError)?;
    let version = Version::parse(&options.version).map_err(UsageError)?;
    let kind = Kind::parse(&options.kind).map_err(UsageError)?;
    let is_meant = |entry: &&Resource| {
        let groups = [entry.group.to_string(), entry.qualified_group()];
        entry.version == version && entry.kind == kind && (group.is_empty() || groups.contains(&options.group))
    };
    let mut entries = project.resources.iter().filter(is_meant);
    if let (Some(entry), None) = (entries.next(), entries.next()) {
        return Ok(entry.clone());
    }
    let wanted = Resource::new(group, project.domain.clone(), version, kind).map_err(UsageError)?;
    match known::find(project, &wanted, &options.group)? {
        ExistingKind::Recorded(entry) => Ok(*entry),
        ExistingKind::Builtin(_) => {
            let problem = Problem::new(format!(
                "the project has no API, controller or webhook for `{} {}`",
                options.version, options.kind
            ));
            Err(problem.help("see `resources` in `PROJECT`").into())
        }
    }
}

fn flags(resource: &Resource) -> String {
    let group = match resource.group.as_str() {
        "" => String::new(),
        group => format!("--group {group} "),
    };
    format!("{group}--version {} --kind {}", resource.version, resource.kind)
}

fn delete_api(draft: &Draft, project: &mut Project, resource: &Resource) -> Result<()> {
    if resource.api.is_none() && resource.controllers == Controllers::None && !resource.has_local_types() {
        let problem =
            Problem::new(format!("the project has neither types nor a controller for `{}`", resource.display()));
        return Err(problem.help(format!("run `memcached-sdk delete webhook {}`", flags(resource))).into());
    }
    if resource.webhooks.is_some() {
        let problem = Problem::new(format!("`{}` has webhooks", resource.display()));
        let help = format!("run `memcached-sdk delete webhook {}` first", flags(resource));
        return Err(problem.help(help).into());
    }
    if let Some(hub) = hub_of(project, resource)? {
        let problem = Problem::new(format!("`{}` converts objects of `{}`", hub.display(), resource.display()));
        let help = format!("`memcached-sdk delete version {}` also takes it out of the conversion", flags(resource));
        return Err(problem.help(help).into());
    }
    refuse_stored(draft, project, resource)?;
    project.resources.retain(|entry| !entry.same_gvk(resource));
    Ok(())
}

fn delete_version(draft: &Draft, project: &mut Project, resource: &Resource) -> Result<()> {
    if resource.api.is_none() || !project.other_versions(resource).any(|other| other.api.is_some()) {
        let problem = Problem::new(format!("`{}` is the only version of its kind in the project", resource.display()));
        return Err(problem.help(format!("run `memcached-sdk delete api {}`", flags(resource))).into());
    }
    if ProjectWebhooks::of(resource)?.conversion {
        let problem = Problem::new(format!("`{}` is the hub of the conversion", resource.display()));
        let help = format!(
            "run `memcached-sdk delete webhook --conversion {}`, and create the conversion with another hub if other versions stay",
            flags(resource)
        );
        return Err(problem.help(help).into());
    }
    refuse_stored(draft, project, resource)?;
    if let Some(hub) = hub_of(project, resource)? {
        let mut webhooks = ProjectWebhooks::of(&hub)?;
        webhooks.spoke.retain(|spoke| spoke != resource.version.as_str());
        webhooks.conversion = !webhooks.spoke.is_empty();
        set_webhooks(project, &hub, &webhooks);
    }
    project.resources.retain(|entry| !entry.same_gvk(resource));
    Ok(())
}

/// The version whose conversion has this one as a spoke.
fn hub_of(project: &Project, resource: &Resource) -> Result<Option<Resource>> {
    for other in project.other_versions(resource) {
        if ProjectWebhooks::of(other)?.spoke.iter().any(|spoke| spoke == resource.version.as_str()) {
            return Ok(Some(other.clone()));
        }
    }
    Ok(None)
}

/// Refuses the stored version of a kind that has others: objects in clusters are in it.
fn refuse_stored(draft: &Draft, project: &Project, resource: &Resource) -> Result<()> {
    let Some(other) = project.other_versions(resource).find(|other| other.api.is_some()) else { return Ok(()) };
    if resource.api.is_none() || !manifests::is_stored(draft, project, resource)? {
        return Ok(());
    }
    let name = resource.crd_name();
    let problem = Problem::new(format!("`{}` is the version in which clusters store the objects", resource.display()));
    let help = format!(
        "release a version that stores `{}`, run `memcached-sdk migrate storage`, and delete this one when `kubectl get crd \
         {name} --output jsonpath='{{.status.storedVersions}}'` no longer shows it",
        other.version
    );
    Err(problem.help(help).into())
}

fn delete_controller(project: &mut Project, resource: &Resource, name: Option<&str>) -> Result<()> {
    let default = resource.default_controller_name(project.multigroup);
    let names: Vec<String> = match &resource.controllers {
        Controllers::None => Vec::new(),
        Controllers::Default => vec![default.clone()],
        Controllers::Named(names) => names.iter().map(ToString::to_string).collect(),
    };
    let shown = resource.display();
    let left: Vec<&String> = names.iter().filter(|there| name.is_some_and(|name| name != *there)).collect();
    if left.len() == names.len() {
        let problem = match name {
            Some(name) => Problem::new(format!("`{shown}` has no controller `{name}`")),
            None => Problem::new(format!("`{shown}` has no controller")),
        };
        return Err(match names.as_slice() {
            [] => problem.help("`PROJECT` lists the controllers of the project"),
            names => problem.help(format!("it has `{}`", names.join("`, `"))),
        }
        .into());
    }
    let controllers = if left.is_empty() {
        Controllers::None
    } else if left == [&default] {
        Controllers::Default
    } else {
        Controllers::Named(left.into_iter().map(|name| ControllerName::parse(name)).collect::<Result<_, _>>()?)
    };
    for entry in project.resources.iter_mut().filter(|entry| entry.same_gvk(resource)) {
        entry.controllers = controllers.clone();
    }
    Ok(())
}

/// Deletes the webhooks for defaulting, validation and conversion that are chosen, in this order.
fn delete_webhooks(project: &mut Project, resource: &Resource, chosen: [bool; 3]) -> Result<()> {
    let mut webhooks = ProjectWebhooks::of(resource)?;
    let there = [webhooks.defaulting, webhooks.validation, webhooks.conversion];
    if !there.iter().zip(chosen).any(|(there, chosen)| *there && chosen) {
        let problem = Problem::new(format!("`{}` has no such webhook", resource.display()));
        return Err(problem.help("`PROJECT` lists the webhooks of the project").into());
    }
    let [defaulting, validation, conversion] = chosen;
    if defaulting {
        webhooks.defaulting = false;
        webhooks.defaulting_path = None;
    }
    if validation {
        webhooks.validation = false;
        webhooks.validation_path = None;
    }
    if conversion {
        webhooks.conversion = false;
        webhooks.spoke.clear();
    }
    set_webhooks(project, resource, &webhooks);
    Ok(())
}

fn set_webhooks(project: &mut Project, resource: &Resource, webhooks: &ProjectWebhooks) {
    let is_empty = !(webhooks.defaulting || webhooks.validation || webhooks.conversion);
    for entry in project.resources.iter_mut().filter(|entry| entry.same_gvk(resource)) {
        entry.webhooks = Some(webhooks.to_value()).filter(|_| !is_empty);
    }
}

/// Takes entries out of PROJECT that say nothing any more.
fn prune(project: &mut Project) {
    project.resources.retain(|entry| {
        entry.api.is_some()
            || entry.has_local_types()
            || entry.controllers != Controllers::None
            || entry.webhooks.is_some()
    });
    create_api::forget_images(project);
    if let Some(mode) = CertMode::of(project) {
        mode.record(project);
    }
}

/// Warns of files that name the deleted type: they do not compile.
fn still_named(draft: &Draft, resource: &Resource, multigroup: bool) -> Result<Diagnostics> {
    let mut found = Diagnostics::default();
    let name = resource.kind_type();
    let mut modules = resource.api_modules(multigroup);
    // Paths may go through the module of the kind or not.
    modules.pop();
    let module = format!("{}::", modules.join("::"));
    let is_part = |char: char| char == '_' || char.is_alphanumeric();
    for path in files_in(draft.root(), &["src", "tests", "examples", "benches"]) {
        let path = path?;
        if !path.is_rust() {
            continue;
        }
        let Some(text) = draft.read(&path)? else { continue };
        // A path through the module of the version.
        let Some(path_at) = text.find(&module) else { continue };
        let Some(at) = whole_word(&text[path_at..], &name, is_part).map(|at| path_at + at) else { continue };
        let origin = Origin { path: path.as_str().into(), range: at..at + name.len(), text: text.into() };
        let message = format!("`{path}` still names `{name}`");
        found.push(Diagnostic::new(Code::StillNamed, message).at(origin).help("remove or change this code"));
    }
    Ok(found)
}

/// The steps left to do in clusters that have objects of the kind.
fn in_clusters(deletion: &Deletion, project: &Project, resource: &Resource) -> String {
    let name = resource.crd_name();
    match deletion {
        Deletion::Api if project.other_versions(resource).next().is_none() && resource.api.is_some() => format!(
            "\nClusters keep their objects and the CRD. Delete the objects while the old operator runs, since it removes their \
             finalizers, and then the CRD:\n  kubectl get {name} --all-namespaces\n  kubectl delete crd {name}"
        ),
        Deletion::Api | Deletion::Version => format!(
            "\nClusters may store objects in this version; `[\"{}\"]` must not be in:\n  kubectl get crd {name} --output \
             jsonpath='{{.status.storedVersions}}'",
            resource.version
        ),
        Deletion::Controller(_) => format!(
            "\nObjects with a finalizer of the controller cannot be deleted without it:\n  kubectl get {name} --all-namespaces"
        ),
        Deletion::Webhook { .. } => String::new(),
    }
}
