//! `create api`: a group, version and kind → types, a controller, and what belongs to them in config/.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use super::known::{self, Known};
use super::outcome::{Outcome, Usage, apply};
use super::{external, init, manifests};
use crate::cli::CreateApiArgs;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem};
use crate::plan::{Draft, RECORD, RelPath};
use crate::project::builtin::{self, Builtin};
use crate::project::name::{ControllerName, Group, Kind, Plural, ShortName, Version};
use crate::project::resource::without_domain;
use crate::project::{Controllers, DEPLOY_IMAGE, Project, Resource, ResourceApi};
use crate::scaffold::context::{BuiltinContext, ControllerContext, DeployImageContext, ResourceContext};
use crate::scaffold::{self, Controller};
use crate::source::CargoManifest;
use crate::term::Term;

pub(super) fn run(args: &CreateApiArgs, term: &mut Term) -> Result<Outcome> {
    term.statuses(args.peers.notes());
    let root = Project::find_root(Path::new("."))?;
    run_in(Draft::open(&root), Diagnostics::default(), args, term)
}

/// The same in a draft in which there may be changes already, and what was found of these.
pub(super) fn run_in(mut draft: Draft, earlier: Diagnostics, args: &CreateApiArgs, term: &mut Term) -> Result<Outcome> {
    let root = draft.root().to_path_buf();
    let planned: Result<Diagnostics> = plan(&mut draft, args, term).or_else(|error| {
        let Recorded(problem) = error.downcast()?;
        if !args.write.is_preview() && CargoManifest::is_ahead_of_its_lock(&root) {
            // A run that was interrupted after the last file has left it so.
            let found = init::fetch_dependencies(&root, term);
            term.diagnostics(&found);
        }
        Err(problem.into())
    });
    let mut found = planned?;
    found.extend(earlier);
    found.sort();
    let mut report = apply(draft, found, &args.write)?;
    // A lock file behind its manifest fails every build that is `--locked`, the container's among them.
    if report.is_written(&args.write) && CargoManifest::is_ahead_of_its_lock(&root) {
        report.diagnostics.extend(init::fetch_dependencies(&root, term));
    }
    report.next = if args.make {
        "\nNext, write the types and the controller; `memcached-sdk generate` brings config/ up to date.".to_owned()
    } else {
        "\nNext, run `memcached-sdk generate`: it writes the CRD and the manager's role.".to_owned()
    };
    report.show(&args.write, term)
}

/// PROJECT has it already.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Recorded(#[from] Problem);

/// Adds the API to the project of the draft.
pub(super) fn plan(draft: &mut Draft, args: &CreateApiArgs, term: &mut Term) -> Result<Diagnostics> {
    let mut project = Project::recorded(draft)?;
    let mut found = Diagnostics::default();

    let Wanted { mut resource, builtin, api, controller } = wanted(&project, args, term)?;
    if api && !resource.version.is_conventional() {
        let message = format!("version `{}` does not look like `v1`, `v1beta1` or `v1alpha1`", resource.version);
        let help = "other versions work, but sort behind all of these, and nobody sees how stable they are";
        found.push(Diagnostic::new(Code::UnusualVersion, message).help(help));
    }
    let controller_name = args.controller_name.as_deref().map(ControllerName::parse).transpose().map_err(Usage)?;
    if controller {
        resource.controllers =
            controller_name.clone().map_or(Controllers::Default, |name| Controllers::Named(vec![name]));
    }
    let storage = !earlier_versions(&project, &resource).any(|other| other.api.is_some());
    project.add(resource.clone(), args.write.force).map_err(Recorded)?;
    // What is scaffolded is what the record says, also where this command adds to an entry.
    let recorded = project.find(&resource).and_then(|entry| entry.api.clone());
    let namespaced = builtin.as_ref().map_or(resource.namespaced, |builtin| builtin.namespaced);
    let shape = recorded.unwrap_or_else(|| ResourceApi::new(namespaced));

    let context = ResourceContext::new(&project, &resource, &shape, storage);
    let control = ControllerContext::new(context.clone(), &resource, controller_name.as_ref());
    let deploy_image = deploy_image(args, &resource, &control)?;
    if let Some(deploy_image) = &deploy_image {
        record_image(&mut project, &resource, deploy_image, &args.image_container_command);
    }
    if api {
        found.extend(scaffold::api(draft, &context, deploy_image.as_ref(), args.write.force)?);
    }
    if controller {
        let builtin = builtin
            .map(|builtin| BuiltinContext::new(&control, builtin.module, false))
            .or_else(|| resource.path.as_ref().map(|path| BuiltinContext::new(&control, path, true)));
        external::depend(draft, &resource)?;
        let controller = match (&deploy_image, &builtin) {
            (Some(context), _) => Controller::DeployImage(context),
            (None, Some(context)) => Controller::Builtin(context),
            (None, None) => Controller::Plain(&control),
        };
        found.extend(scaffold::controller(draft, &controller, args.write.force)?);
    }
    draft.edit(&RelPath::new(RECORD)?, |before| Ok(project.to_yaml_over(before)))?;
    if args.make {
        found.extend(manifests::manifests(draft, &project)?);
    }
    Ok(found)
}

/// What the flags, the project and the answers come to.
struct Wanted {
    resource: Resource,
    /// When the resource is a type of Kubernetes itself.
    builtin: Option<Builtin>,
    /// Scaffold the types.
    api: bool,
    /// Scaffold a controller.
    controller: bool,
}

fn wanted(project: &Project, args: &CreateApiArgs, term: &mut Term) -> Result<Wanted> {
    let group = group(project, args, term)?;
    let version = Version::parse(&args.version).map_err(Usage)?;
    let kind = Kind::parse(&args.kind).map_err(Usage)?;
    let mut resource =
        Resource::new(group, external::domain(&args.external, project)?, version, kind).map_err(Usage)?;
    external::name(&args.external, "memcached-sdk create api --resource=false", &mut resource)?;
    if resource.external && args.resource == Some(true) {
        let problem = Problem::new("a type of another crate is not one of this project");
        return Err(Usage(problem.help("pass `--resource=false` with `--external-api-path`")).into());
    }
    let api = match args.resource {
        Some(api) => api,
        None if resource.external => false,
        None => asks_for_api(project, &resource, args, term)?,
    };
    let mut builtin = None;
    if resource.external {
        resource.namespaced = args.namespaced;
        if let Some(plural) = &args.plural {
            resource.plural = Plural::parse(plural).map_err(Usage)?;
        }
    } else if !api {
        match known::find(project, &resource, &args.group)? {
            Known::Recorded(entry) if entry.core => {
                builtin = builtin::find(entry.group.as_str(), &args.version, &args.kind)?;
                resource = Resource { controllers: Controllers::None, ..*entry };
            }
            Known::Recorded(entry) if entry.external => {
                resource = Resource { controllers: Controllers::None, ..*entry };
            }
            // The record has the controllers of the kind; the flags say which one is new.
            Known::Recorded(entry) => (resource.group, resource.domain) = (entry.group, entry.domain),
            Known::Builtin(found) => {
                resource = Resource::builtin(&found)?;
                builtin = Some(found);
            }
        }
    }
    let other = project.other_versions(&resource).next();
    if api {
        let mut shape = ResourceApi::new(args.namespaced);
        shape.short_names =
            args.short_name.iter().map(|name| ShortName::parse(name)).collect::<Result<_, _>>().map_err(Usage)?;
        // The versions of a kind share its names.
        if let Some(other) = other.and_then(|other| other.api.as_ref())
            && shape.short_names.is_empty()
        {
            shape.short_names.clone_from(&other.short_names);
        }
        resource.api = Some(shape);
        match (&args.plural, other) {
            (Some(plural), _) => resource.plural = Plural::parse(plural).map_err(Usage)?,
            (None, Some(other)) => resource.plural = other.plural.clone(),
            (None, None) => {}
        }
    } else if let Some(entry) = project.find(&resource).filter(|_| !resource.external) {
        resource.plural = entry.plural.clone();
    }
    // A kind has one controller, for whichever version is stored.
    let has_controller = |resource: &Resource| resource.controllers != Controllers::None;
    let has_already = args.controller_name.is_none() && project.other_versions(&resource).any(has_controller);
    let controller = match args.controller {
        Some(wanted) => wanted,
        None if has_already => false,
        None => term.confirm("Scaffold the controller?", true)?,
    };
    let usage = |message: &str, help: &str| Err(Usage(Problem::new(message).help(help)).into());
    if !api && !controller {
        return usage("nothing to do: neither a resource nor a controller is wanted", "leave out `--controller=false`");
    }
    if !controller && args.controller_name.is_some() {
        return usage("`--controller-name` names a controller that is not wanted", "leave out `--controller=false`");
    }
    if args.peers.deploys_image() && args.image.is_none() {
        return usage("the plugin `deploy-image` needs `--image`", "for example `--image memcached:1.6-alpine`");
    }
    if args.image.is_some() && !(api && controller) {
        return usage(
            "`--image` makes both a resource and its controller",
            "leave out `--resource` and `--controller`",
        );
    }
    if args.image.is_some() && !args.namespaced {
        return usage(
            "`--image` makes a namespaced kind: its objects own a Deployment in their namespace",
            "leave out `--namespaced=false`",
        );
    }
    Ok(Wanted { resource, builtin, api, controller })
}

/// Whether the kind is one of the project, where no flag says it. A kind of Kubernetes gets a controller alone, and that is said.
fn asks_for_api(project: &Project, resource: &Resource, args: &CreateApiArgs, term: &mut Term) -> Result<bool> {
    let builtin = meant_builtin(project, resource, args);
    let api = term.confirm("Scaffold the resource?", builtin.is_none())?;
    if let Some(builtin) = builtin.filter(|_| !api) {
        let name = format!("{}/{}", builtin.group, builtin.version);
        term.status(&format!(
            "`{}` is a kind of Kubernetes, `{}`: it gets a controller; `--resource` makes an API `{}` of your own",
            builtin.kind,
            name.trim_start_matches('/'),
            resource.display()
        ));
    }
    Ok(api)
}

/// The kind of Kubernetes that the flags name, when they say nothing that only an API of the project has. An empty group is the
/// domain of the project.
fn meant_builtin(project: &Project, resource: &Resource, args: &CreateApiArgs) -> Option<Builtin> {
    let is_own = args.image.is_some()
        || args.plural.is_some()
        || !args.short_name.is_empty()
        || !args.namespaced
        || args.controller == Some(false)
        || project.find(resource).is_some()
        || project.other_versions(resource).next().is_some();
    if is_own || args.group.is_empty() {
        return None;
    }
    builtin::find(&args.group, &args.version, &args.kind).ok().flatten()
}

/// The group that the domain of the project is added to. One that ends in it already is asked about.
fn group(project: &Project, args: &CreateApiArgs, term: &mut Term) -> Result<Group> {
    let group = Group::parse(&args.group).map_err(Usage)?;
    let Some(domain) = project.domain.as_ref().filter(|_| args.external.external_api_path.is_none()) else {
        return Ok(group);
    };
    let Some(short) = without_domain(&group, domain) else { return Ok(group) };
    let question =
        format!("The domain `{domain}` is added to the group. Is the group `{group}`, and not `{group}.{domain}`?");
    if term.is_interactive() && term.confirm(&question, true)? {
        return Ok(Group::parse(short).map_err(Usage)?);
    }
    let shown = if short.is_empty() { "\"\"" } else { short };
    let command = format!("memcached-sdk create api --group {shown} --version {} --kind {}", args.version, args.kind);
    let problem =
        Problem::new(format!("the domain `{domain}` is added to the group, and `{group}` ends in it already"));
    let help = format!(
        "for `{group}` run `{command}`; `{group}.{domain}` is the same in a project of `memcached-sdk init --domain {domain}.{domain}`"
    );
    Err(Usage(problem.help(help)).into())
}

/// The versions of the same kind that were made before this one.
fn earlier_versions<'a>(project: &'a Project, resource: &'a Resource) -> impl Iterator<Item = &'a Resource> {
    let earlier = project.resources.iter().take_while(|other| !other.same_gvk(resource));
    earlier.filter(|other| other.same_group_kind(resource))
}

fn deploy_image(
    args: &CreateApiArgs,
    resource: &Resource,
    control: &ControllerContext,
) -> Result<Option<DeployImageContext>> {
    let Some(image) = &args.image else { return Ok(None) };
    let is_image = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | ':' | '@' | '_' | '-');
    if image.is_empty() || !image.starts_with(|c: char| c.is_ascii_alphanumeric()) || !image.chars().all(is_image) {
        let problem = Problem::new(format!("invalid image `{}`", image.escape_debug()));
        return Err(Usage(problem.help("name it as in `docker run`: `memcached:1.6-alpine`")).into());
    }
    let unprintable = |part: &String| part.is_empty() || part.chars().any(char::is_control);
    if args.image_container_command.iter().any(unprintable) {
        let problem = Problem::new("invalid `--image-container-command`: a part is empty or has control characters");
        return Err(Usage(problem.help("write the parts with commas between them: `memcached,-m=64`")).into());
    }
    Ok(Some(DeployImageContext {
        controller: control.clone(),
        image: image.clone(),
        container_port: args.image_container_port,
        container_command: args.image_container_command.iter().map(|part| part.escape_default().to_string()).collect(),
        run_as_user: args.run_as_user,
        image_env: format!("{}_IMAGE", resource.kind.as_str().to_ascii_uppercase()),
        finalizer: resource.finalizer(),
    }))
}

/// Keeps the flags of `--image` in PROJECT, in place of those of an earlier run.
fn record_image(project: &mut Project, resource: &Resource, context: &DeployImageContext, command: &[String]) {
    let key = json!({
        "domain": resource.domain.as_ref().map(ToString::to_string).unwrap_or_default(),
        "group": resource.group.as_str(),
        "kind": resource.kind.as_str(),
        "version": resource.version.as_str(),
    });
    let mut options = json!({ "image": context.image });
    if let Some(port) = context.container_port {
        options["containerPort"] = json!(port.to_string());
    }
    if !command.is_empty() {
        options["containerCommand"] = json!(command.join(","));
    }
    if let Some(user) = context.run_as_user {
        options["runAsUser"] = json!(user.to_string());
    }
    let mut entry = key.clone();
    entry["options"] = options;

    let plugin = project.plugins.entry(DEPLOY_IMAGE).or_insert_with(|| json!({}));
    let entries = plugin.get("resources").and_then(Value::as_array).cloned().unwrap_or_default();
    let same = |other: &Value| ["domain", "group", "kind", "version"].iter().all(|field| other[*field] == key[*field]);
    let kept = entries.into_iter().filter(|other| !same(other)).chain([entry]);
    let resources = kept.collect();
    if let Some(plugin) = plugin.as_object_mut() {
        plugin.insert("resources".to_owned(), Value::Array(resources));
    }
}
