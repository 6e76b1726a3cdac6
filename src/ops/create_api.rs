//! `create api`: a group, version and kind → types, a controller, and their files in config/.

use anyhow::Result;
use serde_json::{Value, json};

use super::external::{self, ExternalOptions};
use super::kind_source::{self, least};
use super::known::{self, ExistingKind};
use super::{Findings, UsageError, copied, manifests};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem};
use crate::plan::{Draft, IfExists, RECORD, RelPath};
use crate::project::builtin::{self, Builtin};
use crate::project::name::{ControllerName, Domain, Group, Kind, Plural, ShortName, Version};
use crate::project::resource::without_domain;
use crate::project::{Controllers, DEPLOY_IMAGE, Project, Resource, ResourceApi};
use crate::scaffold::context::{BuiltinContext, ControllerContext, DeployImageContext, ResourceContext};
use crate::scaffold::{self, ApiFiles, Controller};
use crate::types::VersionTypes;

/// An API to add to a project.
#[derive(Debug, Clone, Default)]
pub(crate) struct CreateApiOptions {
    /// The API group without the domain of the project.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    /// Takes a group that ends in the domain as the whole group; see [`ApiQuestion::Group`].
    pub(crate) whole_group: Option<bool>,
    /// Scaffold the custom resource type; see [`ApiQuestion::Resource`].
    pub(crate) resource: Option<bool>,
    /// Scaffold the controller; see [`ApiQuestion::Controller`].
    pub(crate) controller: Option<bool>,
    pub(crate) namespaced: bool,
    /// The plural; `None` follows the rules of English.
    pub(crate) plural: Option<String>,
    pub(crate) short_names: Vec<String>,
    pub(crate) external: ExternalOptions,
    pub(crate) controller_name: Option<String>,
    /// The image that the controller deploys.
    pub(crate) image: Option<ImageOptions>,
    /// The types, if they come from a CRD.
    pub(crate) types: Option<VersionTypes>,
    /// Plans the generated manifests as well.
    pub(crate) generate: bool,
    /// Overwrites files that exist with different content.
    pub(crate) force: bool,
}

/// A container image and how to run it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ImageOptions {
    pub(crate) name: String,
    pub(crate) container_port: Option<u16>,
    pub(crate) container_command: Vec<String>,
    pub(crate) run_as_user: Option<u32>,
}

/// A decision that the options leave open.
#[derive(Debug)]
pub(crate) enum ApiQuestion {
    /// Take the group as it is? It already ends in the domain of the project, which is otherwise appended.
    Group { group: Group, domain: Domain },
    /// Scaffold the custom resource type. The default for a kind of Kubernetes is no; `note` explains the consequence.
    Resource { note: Option<String> },
    /// Scaffold the controller.
    Controller,
}

impl ApiQuestion {
    /// The text to show.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Group { group, domain } => format!(
                "The domain `{domain}` is added to the group. Is the group `{group}`, and not `{group}.{domain}`?"
            ),
            Self::Resource { .. } => "Scaffold the resource?".to_owned(),
            Self::Controller => "Scaffold the controller?".to_owned(),
        }
    }

    /// The answer that the return key confirms.
    pub(crate) fn default(&self) -> bool {
        match self {
            Self::Group { .. } | Self::Controller => true,
            Self::Resource { note } => note.is_none(),
        }
    }

    /// The answer without a terminal. A group that may be a mistake is then an error.
    pub(crate) fn unattended(&self) -> bool {
        self.default() && !matches!(self, Self::Group { .. })
    }

    /// Stores the answer in the options. Returns a note about its effect.
    pub(crate) fn answer(self, answer: bool, options: &mut CreateApiOptions) -> Option<String> {
        match self {
            Self::Group { .. } => options.whole_group = Some(answer),
            Self::Resource { note } => {
                options.resource = Some(answer);
                return note.filter(|_| !answer);
            }
            Self::Controller => options.controller = Some(answer),
        }
        None
    }
}

/// The API is already in PROJECT.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct Recorded(#[from] pub(crate) Problem);

/// Returns the next decision that the options leave open.
pub(crate) fn question(draft: &Draft, options: &CreateApiOptions) -> Result<Option<ApiQuestion>> {
    Ok(match wanted(&Project::recorded(draft)?, options)? {
        ApiResolution::Open(question) => Some(question),
        ApiResolution::Decided(_) => None,
    })
}

/// Adds the API to the project of the draft. Open questions get the answer [`ApiQuestion::unattended`]. The value is the next step
/// of a further version.
pub(crate) fn run(draft: &mut Draft, options: &CreateApiOptions) -> Result<Findings<String>> {
    let mut options = options.clone();
    let mut project = Project::recorded(draft)?;
    let mut found = Diagnostics::default();

    let WantedApi { mut resource, builtin, api, controller } = loop {
        match wanted(&project, &options)? {
            ApiResolution::Decided(wanted) => break *wanted,
            ApiResolution::Open(question) => {
                let answer = question.unattended();
                let _of_interest_to_people = question.answer(answer, &mut options);
            }
        }
    };
    if options.types.is_some() && project.is_adopted() && scaffold::uses_old_schemars(draft) {
        let problem = Problem::new("types from a CRD need schemars 1, and the kube of this crate uses schemars 0.8");
        return Err(problem.help("run `memcached-sdk update --kube` first").into());
    }
    if api && !resource.version.is_conventional() {
        let message = format!("version `{}` does not look like `v1`, `v1beta1` or `v1alpha1`", resource.version);
        let help = "other names work, but sort after all of these and do not show how stable the version is";
        found.push(Diagnostic::new(Code::UnusualVersion, message).help(help));
    }
    let controller_name =
        options.controller_name.as_deref().map(ControllerName::parse).transpose().map_err(UsageError)?;
    if controller {
        resource.controllers =
            controller_name.clone().map_or(Controllers::Default, |name| Controllers::Named(vec![name]));
    }
    let storage = !earlier_versions(&project, &resource).any(|other| other.api.is_some());
    project.add(resource.clone(), options.force).map_err(Recorded)?;
    // The record decides what is scaffolded, also if this command extends an entry.
    let recorded = project.find(&resource).and_then(|entry| entry.api.clone());
    let namespaced = builtin.as_ref().map_or(resource.namespaced, |builtin| builtin.namespaced);
    let shape = recorded.unwrap_or_else(|| ResourceApi::new(namespaced));

    let context = ResourceContext::new(&project, &resource, &shape, storage);
    let control = ControllerContext::new(context.clone(), &resource, controller_name.as_ref());
    let deploy_image = deploy_image(options.image.as_ref(), &resource, &control)?;
    if let (Some(deploy_image), Some(image)) = (&deploy_image, &options.image) {
        record_image(&mut project, &resource, deploy_image, &image.container_command);
    }
    let mut next = String::new();
    if resource.has_local_types() && (options.types.is_some() || draft.is_imagined()) {
        // PROJECT does not record the types, which are the author's from here on.
        let types = options.types.as_ref().map_or("", |types| &types.text);
        found.extend(scaffold::external(draft, &context, &resource.local_modules(), types, options.force)?);
        found.extend(not_typed(&resource, &options));
        next = format!(
            "\nNext, use the type: `use {}::{};`. `memcached-sdk rbac lint --fix` adds the permissions that the code needs.",
            resource.local_path(),
            resource.kind_type()
        );
    }
    if api {
        let files = match (&deploy_image, &options.types) {
            (Some(context), _) => ApiFiles::DeployImage(context),
            (None, Some(types)) => ApiFiles::Types { types: &types.text, fields: least(&types.schema) },
            (None, None) => ApiFiles::Example,
        };
        found.extend(scaffold::api(draft, &context, &files, options.force)?);
        found.extend(not_typed(&resource, &options));
    }
    if api && options.types.is_none() && deploy_image.is_none() && !draft.is_imagined() && !project.is_adopted() {
        next = copy_version(draft, &project, &resource, options.force)?;
    }
    if controller {
        let has_conditions = match &options.types {
            Some(types) => types.has_conditions,
            None => kind_source::has_conditions(draft, &project, &resource)?,
        };
        let builtin = builtin
            .map(|builtin| BuiltinContext::new(&control, builtin.module, false))
            .or_else(|| {
                let path = resource.path.as_ref()?;
                let context = BuiltinContext::new(&control, path, true);
                let own = resource.has_local_types().then(|| BuiltinContext::own(&control, path));
                Some(own.unwrap_or(context))
            })
            // The controller of an API of the project writes conditions.
            .or_else(|| (!has_conditions).then(|| BuiltinContext::own(&control, &context.api_mod)));
        let fields = match (&options.types, &builtin) {
            (Some(types), _) => Some(least(&types.schema)),
            (None, Some(_)) => kind_source::fields(draft, &project, &resource)?,
            (None, None) => None,
        };
        let builtin = match fields {
            Some(fields) => {
                builtin.map(|context| BuiltinContext { fields: Value::Object(fields).to_string(), ..context })
            }
            None => builtin,
        };
        external::depend(draft, &resource)?;
        let controller = match (&deploy_image, &builtin) {
            (Some(context), _) => Controller::DeployImage(context),
            (None, Some(context)) => Controller::Builtin(context),
            (None, None) => Controller::Plain(&control),
        };
        // The API server in memory may not support all of a given CRD.
        let explored = project.find(&resource).filter(|_| options.types.is_none());
        found.extend(scaffold::controller(draft, &controller, explored, options.force)?);
    }
    draft.edit(&RelPath::new(RECORD)?, |before| Ok(project.to_yaml_over(before)))?;
    if options.generate {
        found.extend(manifests::manifests(draft, &project)?);
    }
    Ok(Findings { value: next, diagnostics: found })
}

/// The parts of the CRD that the types do not express.
fn not_typed(resource: &Resource, options: &CreateApiOptions) -> Diagnostics {
    let findings = options.types.iter().flat_map(|types| &types.findings).map(|finding| {
        let path = if finding.path.is_empty() { "the CRD" } else { &format!("`{}`", finding.path) };
        let message = format!("{path} in version `{}`: {}", resource.version, finding.message);
        let found = Diagnostic::new(Code::NotTyped, message);
        if resource.external { found } else { found.help("compare the generated CRD with yours") }
    });
    findings.collect()
}

/// Scaffolds the manifests of a kind whose types were in the crate before the project, and records it.
pub(crate) fn adopted_kind(draft: &mut Draft, resource: &Resource) -> Result<()> {
    let mut project = Project::recorded(draft)?;
    let shape = resource.api.clone().unwrap_or_else(|| ResourceApi::new(resource.namespaced));
    let storage = earlier_versions(&project, resource).next().is_none();
    let context = ResourceContext::new(&project, resource, &shape, storage);
    // No Rust file is written, so there is nothing to format.
    let _unformatted = scaffold::adopted_kind(draft, &context)?;
    project.resources.push(resource.clone());
    draft.edit(&RelPath::new(RECORD)?, |before| Ok(project.to_yaml_over(before)))
}

/// Lets a further version of a kind begin with the types of the last one. Returns the next step.
fn copy_version(draft: &mut Draft, project: &Project, resource: &Resource, force: bool) -> Result<String> {
    let earlier: Vec<&Resource> = earlier_versions(project, resource).filter(|other| other.api.is_some()).collect();
    let (Some(first), Some(last)) = (earlier.first(), earlier.last()) else { return Ok(String::new()) };
    let if_exists = if force { IfExists::Overwrite } else { IfExists::Refuse };
    let files = copied::files(draft, project, last, resource)?;
    let from = if files.is_empty() { String::new() } else { format!(" of `{}`", last.version) };
    for (path, text) in files {
        draft.scaffold(path, text, if_exists);
    }
    Ok(format!(
        "\nNext, change the types{from} in `src/{}.rs`. Clusters store objects as `{}`. As soon as the versions differ, they need a \
         conversion:\n  memcached-sdk create webhook --version {} --kind {} --conversion --spoke {}",
        resource.api_modules(project.multigroup).join("/"),
        first.version,
        resource.version,
        resource.kind,
        last.version
    ))
}

/// The result of reading the options: an open question, or every decision.
enum ApiResolution {
    Open(ApiQuestion),
    Decided(Box<WantedApi>),
}

/// The decisions of a run.
struct WantedApi {
    resource: Resource,
    /// The built-in type, if the resource is a kind of Kubernetes.
    builtin: Option<Builtin>,
    /// Scaffold the types.
    api: bool,
    /// Scaffold a controller.
    controller: bool,
}

fn wanted(project: &Project, options: &CreateApiOptions) -> Result<ApiResolution> {
    let group = Group::parse(&options.group).map_err(UsageError)?;
    let group = match (short_group(project, &group, options), options.whole_group) {
        (None, _) => group,
        (Some((domain, _)), None) => {
            let domain = domain.clone();
            return Ok(ApiResolution::Open(ApiQuestion::Group { group, domain }));
        }
        (Some((_, short)), Some(true)) => Group::parse(short).map_err(UsageError)?,
        (Some((domain, short)), Some(false)) => return Err(UsageError(doubled(&group, domain, short, options)).into()),
    };
    let version = Version::parse(&options.version).map_err(UsageError)?;
    let kind = Kind::parse(&options.kind).map_err(UsageError)?;
    let mut resource =
        Resource::new(group, external::domain(&options.external, project)?, version, kind).map_err(UsageError)?;
    external::domain_of_kind(&options.external, project, &mut resource);
    external::name(&options.external, "memcached-sdk create api --resource=false", &mut resource)?;
    if resource.external && options.resource == Some(true) {
        let problem = Problem::new("a type of another crate cannot be scaffolded in this project");
        return Err(UsageError(problem.help("pass `--resource=false` with `--external-api-path`")).into());
    }
    let api = match options.resource {
        Some(api) => api,
        None if resource.external => false,
        None => return Ok(ApiResolution::Open(about_resource(project, &resource, options))),
    };
    let mut builtin = None;
    if resource.external {
        resource.namespaced = options.namespaced;
        if let Some(plural) = &options.plural {
            resource.plural = Plural::parse(plural).map_err(UsageError)?;
        }
    } else if !api {
        match known::find(project, &resource, &options.group)? {
            ExistingKind::Recorded(entry) if entry.core => {
                builtin = builtin::find(entry.group.as_str(), &options.version, &options.kind)?;
                resource = Resource { controllers: Controllers::None, ..*entry };
            }
            ExistingKind::Recorded(entry) if entry.external => {
                resource = Resource { controllers: Controllers::None, ..*entry };
            }
            // The record lists the controllers of the kind; the flags name the new one.
            ExistingKind::Recorded(entry) => (resource.group, resource.domain) = (entry.group, entry.domain),
            ExistingKind::Builtin(found) => {
                resource = Resource::builtin(&found)?;
                builtin = Some(found);
            }
        }
    }
    let other = project.other_versions(&resource).next();
    if api {
        name_type(&mut resource, other, options)?;
    } else if let Some(entry) = project.find(&resource).filter(|_| !resource.external) {
        resource.plural = entry.plural.clone();
    }
    // A kind has one controller, not one per version.
    let has_controller = |resource: &Resource| resource.controllers != Controllers::None;
    let has_already = options.controller_name.is_none() && project.other_versions(&resource).any(has_controller);
    let controller = match options.controller {
        _ if project.is_adopted() => without_controller(options, api || resource.has_local_types())?,
        Some(wanted) => wanted,
        None if has_already => false,
        None => return Ok(ApiResolution::Open(ApiQuestion::Controller)),
    };
    let usage = |message: &str, help: &str| Err(UsageError(Problem::new(message).help(help)).into());
    if !api && !controller && !resource.has_local_types() {
        return usage(
            "nothing to do: neither a resource nor a controller is requested",
            "leave out `--controller=false`",
        );
    }
    if !controller && options.controller_name.is_some() {
        return usage("`--controller-name` requires a controller", "leave out `--controller=false`");
    }
    if options.image.is_some() && !(api && controller) {
        return usage(
            "`--image` scaffolds both a resource and its controller",
            "leave out `--resource` and `--controller`",
        );
    }
    if options.image.is_some() && !options.namespaced {
        return usage(
            "`--image` requires a namespaced kind: its objects own a Deployment in their namespace",
            "leave out `--namespaced=false`",
        );
    }
    Ok(ApiResolution::Decided(Box::new(WantedApi { resource, builtin, api, controller })))
}

/// Sets the names of a kind that gets a type. The versions of a kind share them.
fn name_type(resource: &mut Resource, other: Option<&Resource>, options: &CreateApiOptions) -> Result<()> {
    let mut shape = ResourceApi::new(options.namespaced);
    shape.short_names =
        options.short_names.iter().map(|name| ShortName::parse(name)).collect::<Result<_, _>>().map_err(UsageError)?;
    if let Some(other) = other.and_then(|other| other.api.as_ref())
        && shape.short_names.is_empty()
    {
        shape.short_names.clone_from(&other.short_names);
    }
    resource.api = Some(shape);
    match (&options.plural, other) {
        (Some(plural), _) => resource.plural = Plural::parse(plural).map_err(UsageError)?,
        (None, Some(other)) => resource.plural = other.plural.clone(),
        (None, None) => {}
    }
    Ok(())
}

/// Decides against a controller. Fails if the options ask for one.
fn without_controller(options: &CreateApiOptions, has_types: bool) -> Result<bool, UsageError> {
    let asks = options.controller == Some(true) || options.controller_name.is_some() || options.image.is_some();
    if asks || !has_types { Err(UsageError(without_runtime("a controller"))) } else { Ok(false) }
}

/// The error for a part of the scaffold that an adopted crate cannot have.
pub(crate) fn without_runtime(part: &str) -> Problem {
    let message = format!(
        "{part} of the scaffold needs the runtime, which this project does not have: its crate was there before"
    );
    Problem::new(message).help("write it with kube, and add it where your program starts the others")
}

/// Asks for the type. A note explains that a kind of Kubernetes only gets a controller.
fn about_resource(project: &Project, resource: &Resource, options: &CreateApiOptions) -> ApiQuestion {
    let note = meant_builtin(project, resource, options).map(|builtin| {
        let name = format!("{}/{}", builtin.group, builtin.version);
        format!(
            "`{}` is the built-in kind `{}`: it gets a controller; `--resource` makes your own API `{}`",
            builtin.kind,
            name.trim_start_matches('/'),
            resource.display()
        )
    });
    ApiQuestion::Resource { note }
}

/// Returns the kind of Kubernetes that the flags name. Flags that only apply to an API of the project rule it out. An empty group
/// stands for the domain of the project.
fn meant_builtin(project: &Project, resource: &Resource, options: &CreateApiOptions) -> Option<Builtin> {
    let is_own = options.image.is_some()
        || options.plural.is_some()
        || !options.short_names.is_empty()
        || !options.namespaced
        || options.controller == Some(false)
        || project.find(resource).is_some()
        || project.other_versions(resource).next().is_some();
    if is_own || options.group.is_empty() {
        return None;
    }
    builtin::find(&options.group, &options.version, &options.kind).ok().flatten()
}

/// Splits a group that already ends in the domain of the project. Returns the domain and the rest of the group.
fn short_group<'a>(
    project: &'a Project,
    group: &'a Group,
    options: &CreateApiOptions,
) -> Option<(&'a Domain, &'a str)> {
    let domain =
        project.domain.as_ref().filter(|_| options.external.path.is_none() && options.external.domain.is_none())?;
    Some((domain, without_domain(group, domain)?))
}

/// The error for a group that would end in the domain twice.
fn doubled(group: &Group, domain: &Domain, short: &str, options: &CreateApiOptions) -> Problem {
    let shown = if short.is_empty() { "\"\"" } else { short };
    let command =
        format!("memcached-sdk create api --group {shown} --version {} --kind {}", options.version, options.kind);
    let problem =
        Problem::new(format!("the domain `{domain}` is added to the group, and `{group}` ends in it already"));
    problem.help(format!(
        "for `{group}` run `{command}`; `{group}.{domain}` is the same in a project of `memcached-sdk init --domain {domain}.{domain}`"
    ))
}

/// The versions of the same kind that were added before this one.
fn earlier_versions<'a>(project: &'a Project, resource: &'a Resource) -> impl Iterator<Item = &'a Resource> {
    let earlier = project.resources.iter().take_while(|other| !other.same_gvk(resource));
    earlier.filter(|other| other.same_group_kind(resource))
}

fn deploy_image(
    image: Option<&ImageOptions>,
    resource: &Resource,
    control: &ControllerContext,
) -> Result<Option<DeployImageContext>> {
    let Some(ImageOptions { name: image, container_port, container_command, run_as_user }) = image else {
        return Ok(None);
    };
    let is_image = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | ':' | '@' | '_' | '-');
    if image.is_empty() || !image.starts_with(|c: char| c.is_ascii_alphanumeric()) || !image.chars().all(is_image) {
        let problem = Problem::new(format!("invalid image `{}`", image.escape_debug()));
        return Err(UsageError(problem.help("name it as in `docker run`: `memcached:1.6-alpine`")).into());
    }
    let unprintable = |part: &String| part.is_empty() || part.chars().any(char::is_control);
    if container_command.iter().any(unprintable) {
        let problem = Problem::new("invalid `--image-container-command`: a part is empty or has control characters");
        return Err(UsageError(problem.help("separate the parts with commas: `memcached,-m=64`")).into());
    }
    Ok(Some(DeployImageContext {
        controller: control.clone(),
        image: image.clone(),
        container_port: *container_port,
        container_command: container_command.iter().map(|part| part.escape_default().to_string()).collect(),
        run_as_user: *run_as_user,
        image_env: format!("{}_IMAGE", resource.kind.as_str().to_ascii_uppercase()),
        finalizer: resource.finalizer(),
    }))
}

/// Removes the records of images of controllers that the project no longer has.
pub(crate) fn forget_images(project: &mut Project) {
    let Some(plugin) = project.plugins.get_mut(DEPLOY_IMAGE).and_then(Value::as_object_mut) else { return };
    let Some(entries) = plugin.get_mut("resources").and_then(Value::as_array_mut) else { return };
    entries.retain(|entry| {
        let is = |field: &str, value: &str| entry[field].as_str().unwrap_or_default() == value;
        project.resources.iter().any(|resource| {
            is("group", resource.group.as_str())
                && is("version", resource.version.as_str())
                && is("kind", resource.kind.as_str())
                && resource.controllers != Controllers::None
        })
    });
    if entries.is_empty() {
        project.plugins.remove(DEPLOY_IMAGE);
    }
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
