//! Template contexts: a struct per template set. The fields are the contract between Rust and the templates.

use heck::ToUpperCamelCase as _;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::project::name::{ControllerName, Namespace};
use crate::project::webhook::ProjectWebhooks;
use crate::project::{Project, Resource, ResourceApi, ident};
use crate::runtime;
use crate::scaffold::edition;

/// `init`, and part of every other context.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ProjectContext {
    /// `memcached-operator`: the prefix of all objects.
    pub(crate) project_name: String,
    /// `memcached-operator`: the Cargo package and the binary. Differs from the project name if Cargo rejects it.
    pub(crate) package_name: String,
    /// The name of the program: that of the package, except in some crates that existed before their project.
    pub(crate) program_name: String,
    /// `memcached_operator`: the crate in `use`.
    pub(crate) crate_name: String,
    pub(crate) domain: String,
    /// A URL, or empty.
    pub(crate) repo: String,
    pub(crate) owner: String,
    pub(crate) license: String,
    /// The comment lines at the start of every Rust file, or empty.
    pub(crate) header: String,
    pub(crate) multigroup: bool,
    /// Restricted to its own namespace, or to some.
    pub(crate) namespaced: bool,
    /// Restricted to its own namespace.
    pub(crate) own_namespace: bool,
    /// The Service of the metrics, without the prefix.
    pub(crate) metrics_service: &'static str,
    /// The namespaces that a namespaced operator watches outside of the cluster, comma-separated.
    pub(crate) watched: String,
    /// The PROJECT keys of enabled parts.
    pub(crate) parts: Vec<&'static str>,
    /// The name of the leader election Lease.
    pub(crate) leader_election_id: String,
    /// The version whose scaffold the project has: that of this program, unless PROJECT names an earlier one.
    pub(crate) cli_version: String,
    /// The keys of the dependency on the runtime: `path = "manager"`.
    pub(crate) manager_dependency: String,
    /// The keys of the dependency on the explorer: `path = "explorer"`.
    pub(crate) explorer_dependency: String,
    /// `vendored`, `registry`, `git`, `path` or `none`.
    pub(crate) manager_source: &'static str,
    /// The folder of the runtime in the build context of the image.
    pub(crate) manager_inside: String,
    /// The folder of a runtime outside of the build context, relative to the project.
    pub(crate) manager_outside: String,
    /// The folder of a runtime outside of the build context, relative to its root.
    pub(crate) manager_target: String,
    /// Like `manager_inside`, of the explorer.
    pub(crate) explorer_inside: String,
    /// Like `manager_outside`, of the explorer.
    pub(crate) explorer_outside: String,
    /// Like `manager_target`, of the explorer.
    pub(crate) explorer_target: String,
    /// The relative path from the project to its cargo workspace root, `../../`; empty if it is the root.
    pub(crate) workspace: String,
    /// The ignore file of the image build.
    pub(crate) ignore_file: &'static str,
}

impl ProjectContext {
    pub(crate) fn new(project: &Project) -> Self {
        let package_name = project.package();
        let workspace = project.workspace.as_ref().map(|up| format!("{up}/")).unwrap_or_default();
        let (manager_inside, manager_outside, manager_target) =
            places(project.manager.folder().unwrap_or_default(), &workspace);
        let explorer = project.manager.explorer_folder().unwrap_or_default();
        let (explorer_inside, explorer_outside, explorer_target) = places(&explorer, &workspace);
        Self {
            project_name: project.name.to_string(),
            crate_name: ident::crate_name(&package_name),
            program_name: package_name.clone(),
            package_name,
            domain: project.domain.as_ref().map(ToString::to_string).unwrap_or_default(),
            repo: project.repo.clone().unwrap_or_default(),
            owner: project.owner.clone().unwrap_or_default(),
            license: project.license.clone().unwrap_or_default(),
            header: header(project),
            multigroup: project.multigroup,
            namespaced: project.namespaced,
            own_namespace: project.namespaced && project.namespaces.is_empty(),
            metrics_service: project.name.metrics_service(),
            watched: watched(project),
            parts: project.parts.on.iter().map(|switch| switch.key()).collect(),
            leader_election_id: project.leader_election_id(),
            cli_version: edition::of(project),
            manager_dependency: project.manager.dependency(runtime::VERSION),
            manager_source: project.manager.name(),
            explorer_dependency: project.manager.explorer_dependency(runtime::VERSION),
            manager_inside,
            manager_outside,
            manager_target,
            explorer_inside,
            explorer_outside,
            explorer_target,
            ignore_file: if workspace.is_empty() { ".dockerignore" } else { "Dockerfile.dockerignore" },
            workspace,
        }
    }
}

/// The place of a library for the build of the image: inside of the build context; or outside of it, relative to the project
/// and to the root of the context.
fn places(folder: &str, workspace: &str) -> (String, String, String) {
    match folder.strip_prefix(workspace).filter(|rest| rest.starts_with("../")) {
        Some(target) => (String::new(), folder.to_owned(), target.to_owned()),
        None => (folder.to_owned(), String::new(), String::new()),
    }
}

/// An operator outside of the cluster has no namespace of its own.
fn watched(project: &Project) -> String {
    let names: Vec<&str> = project.namespaces.iter().map(Namespace::as_str).collect();
    if names.is_empty() { "default".to_owned() } else { names.join(",") }
}

/// The owner and the license in the format of the [REUSE specification](https://reuse.software/spec/); empty without an
/// owner.
fn header(project: &Project) -> String {
    let Some(owner) = &project.owner else { return String::new() };
    let license = project.license.iter().map(|license| format!("// SPDX-License-Identifier: {license}\n"));
    let lines: Vec<_> = [format!("// SPDX-FileCopyrightText: {owner}\n")].into_iter().chain(license).collect();
    lines.concat()
}

/// `api`, and part of every controller's context.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ResourceContext {
    #[serde(flatten)]
    pub(crate) project: ProjectContext,
    pub(crate) group: String,
    pub(crate) group_snake: String,
    /// `cache_example_com`
    pub(crate) external_group: String,
    /// `cache.example.com`
    pub(crate) qualified_group: String,
    pub(crate) version: String,
    pub(crate) version_snake: String,
    pub(crate) kind: String,
    pub(crate) kind_type: String,
    pub(crate) kind_snake: String,
    pub(crate) conversion_snake: String,
    pub(crate) kind_lower: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    /// `["mc"]`
    pub(crate) short_names: Vec<String>,
    /// Namespaced.
    pub(crate) api_namespaced: bool,
    /// True for the storage version, false for a further version of a kind.
    pub(crate) storage: bool,
    /// `v1alpha1`, multi-group `cache/v1alpha1`: below `src/api`.
    pub(crate) api_dir: String,
    /// `crate::api::v1alpha1::memcached`
    pub(crate) api_mod: String,
    /// `memcached_operator::api::v1alpha1::memcached`
    pub(crate) api_use: String,
    /// `memcached`, multi-group `cache-memcached`: in object names.
    pub(crate) role_prefix: String,
    /// `memcached`, multi-group `cache_memcached`: in file names.
    pub(crate) role_file_prefix: String,
    /// `memcached-sample`
    pub(crate) sample_name: String,
    /// `cache_v1alpha1_memcached.yaml`
    pub(crate) sample_file: String,
    /// `cache.example.com_memcacheds.yaml`
    pub(crate) crd_file: String,
}

impl ResourceContext {
    /// The names of a resource; for a built-in one, those that apply.
    pub(crate) fn new(project: &Project, resource: &Resource, api: &ResourceApi, storage: bool) -> Self {
        let multigroup = project.multigroup;
        let modules = resource.api_modules(multigroup);
        let project = ProjectContext::new(project);
        Self {
            group: resource.group.to_string(),
            group_snake: resource.group_module(),
            external_group: ident::module(&resource.qualified_group()),
            qualified_group: resource.qualified_group(),
            version: resource.version.to_string(),
            version_snake: resource.version_module(),
            kind: resource.kind.to_string(),
            kind_type: resource.kind_type(),
            kind_snake: resource.kind_module(),
            conversion_snake: resource.conversion_module(),
            kind_lower: resource.kind_lower(),
            plural: resource.plural.to_string(),
            singular: resource.kind_lower(),
            short_names: api.short_names.iter().map(ToString::to_string).collect(),
            api_namespaced: api.namespaced,
            storage,
            api_dir: modules[1..modules.len() - 1].join("/"),
            api_mod: format!("crate::{}", modules.join("::")),
            api_use: format!("{}::{}", project.crate_name, modules.join("::")),
            role_prefix: resource.object_prefix(multigroup),
            role_file_prefix: resource.file_prefix(multigroup),
            sample_name: resource.sample_name(),
            sample_file: resource.sample_file(),
            crd_file: resource.crd_file(),
            project,
        }
    }
}

/// `controller`, and part of the other controllers' contexts.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ControllerContext {
    #[serde(flatten)]
    pub(crate) resource: ResourceContext,
    /// `memcached`, multi-group `cache-memcached`
    pub(crate) controller_name: String,
    /// `memcached`: the file and module.
    pub(crate) controller_snake: String,
    /// Empty, multi-group `cache/`: below `src/controller`.
    pub(crate) controller_dir: String,
    /// `crate::controller::memcached`
    pub(crate) controller_mod: String,
    /// `memcached`: the file of its tests.
    pub(crate) test_file: String,
    /// `memcacheds.cache.example.com`, with `-NAME` for a named controller: the folder of recorded releases.
    pub(crate) releases: String,
    /// `memcached-operator`; for a named controller `memcached-operator-NAME`.
    pub(crate) field_manager: String,
    /// `Ready`; for a named controller `NameReady`.
    pub(crate) condition_type: String,
}

impl ControllerContext {
    pub(crate) fn new(resource: ResourceContext, of: &Resource, name: Option<&ControllerName>) -> Self {
        let multigroup = resource.project.multigroup;
        let modules = of.controller_modules(multigroup, name);
        let controller_name = name.map_or_else(|| of.default_controller_name(multigroup), ToString::to_string);
        let project = &resource.project.project_name;
        // Several controllers may write the status of the same kind.
        let (field_manager, condition_type) = match name {
            Some(name) => (format!("{project}-{name}"), format!("{}Ready", name.as_str().to_upper_camel_case())),
            None => (project.clone(), "Ready".to_owned()),
        };
        let suffix = name.map(|name| format!("-{name}")).unwrap_or_default();
        Self {
            test_file: of.test_module(multigroup, name),
            releases: format!("{}.{}{suffix}", resource.plural, resource.qualified_group),
            field_manager,
            condition_type,
            controller_name,
            controller_snake: modules[modules.len() - 1].clone(),
            // `/` at the end, or empty.
            controller_dir: modules[1..modules.len() - 1].iter().flat_map(|module| [module.as_str(), "/"]).collect(),
            controller_mod: format!("crate::{}", modules.join("::")),
            resource,
        }
    }
}

/// `builtin`: a kind of Kubernetes or of another crate.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct BuiltinContext {
    #[serde(flatten)]
    pub(crate) controller: ControllerContext,
    /// `k8s_openapi::api::apps::v1::ReplicaSet`, or with ` as …`.
    pub(crate) rust_use: String,
    pub(crate) rust_type: String,
    /// Defined in another crate, or from a CRD.
    pub(crate) external: bool,
    /// The fields of an object in its tests, as JSON.
    pub(crate) fields: String,
}

/// Names that the file of such a controller imports or declares, except the kind.
const BUILTIN_NAMES: [&str; 6] = ["Action", "Arc", "Context", "Manager", "Objects", "Result"];

impl BuiltinContext {
    /// For a kind with types in this project whose status has no conditions, or is not written here.
    pub(crate) fn own(controller: &ControllerContext, module: &str) -> Self {
        let kind_type = &controller.resource.kind_type;
        Self {
            rust_use: format!("{module}::{kind_type}"),
            rust_type: kind_type.clone(),
            ..Self::new(controller, module, true)
        }
    }

    pub(crate) fn new(controller: &ControllerContext, module: &str, external: bool) -> Self {
        let (rust_use, rust_type) = used(module, &controller.resource.kind, &BUILTIN_NAMES);
        let fields = "{ \"spec\": {} }".to_owned();
        Self { controller: controller.clone(), rust_use, rust_type, external, fields }
    }
}

/// The import of a type, and its local name.
fn used(module: &str, kind: &str, taken: &[&str]) -> (String, String) {
    if taken.contains(&kind) || ident::is_taken_type(kind) {
        (format!("{module}::{kind} as {kind}Object"), format!("{kind}Object"))
    } else {
        (format!("{module}::{kind}"), kind.to_owned())
    }
}

/// `deploy-image`
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DeployImageContext {
    #[serde(flatten)]
    pub(crate) controller: ControllerContext,
    pub(crate) image: String,
    pub(crate) container_port: Option<u16>,
    /// The command and its arguments, escaped for a Rust string; empty for the image's default.
    pub(crate) container_command: Vec<String>,
    pub(crate) run_as_user: Option<u32>,
    /// `MEMCACHED_IMAGE`
    pub(crate) image_env: String,
    /// `cache.example.com/finalizer`
    pub(crate) finalizer: String,
}

/// The object in the tests of webhooks.
#[derive(Debug, Clone)]
pub(crate) enum WebhookSample {
    /// The sample in `config/samples`.
    File,
    /// An object with these fields beside the general ones.
    Fields(Map<String, Value>),
}

/// `webhook`: the handlers of a kind.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct WebhookContext {
    #[serde(flatten)]
    pub(crate) resource: ResourceContext,
    /// `v1alpha1/memcached`, multi-group `cache/v1alpha1/memcached`: below `src/webhook`.
    pub(crate) webhook_file: String,
    /// `webhook::v1alpha1::memcached`
    pub(crate) webhook_mod: String,
    /// `v1alpha1_memcached`, multi-group `cache_v1alpha1_memcached`: in the file of its tests.
    pub(crate) webhook_test: String,
    /// `cache.example.com`; `core` for the core group.
    pub(crate) webhook_group: String,
    /// The group in a marker.
    pub(crate) marker_group: String,
    /// `memcacheds`, multi-group `cache_memcacheds`: in the name of the CRD's patch.
    pub(crate) webhook_crd: String,
    /// `crate::api::v1alpha1::memcached::Memcached`, or with ` as …`.
    pub(crate) rust_use: String,
    pub(crate) rust_type: String,
    /// Defined in this project, with its schema.
    pub(crate) own: bool,
    /// An expression for a test object.
    pub(crate) sample: String,
    /// The function that makes it; `None` for a kind of Kubernetes.
    pub(crate) sample_item: Option<String>,
    /// `/mutate-cache-example-com-v1alpha1-memcached`
    pub(crate) defaulting_path: String,
    /// `/validate-cache-example-com-v1alpha1-memcached`
    pub(crate) validating_path: String,
    /// `mmemcached-v1alpha1.cache.example.com`
    pub(crate) defaulting_name: String,
    /// `vmemcached-v1alpha1.cache.example.com`
    pub(crate) validating_name: String,
}

/// Names that the handler file imports or declares, except the kind.
const WEBHOOK_NAMES: [&str; 8] =
    ["Context", "Defaulting", "Denied", "FieldErrors", "Manager", "Request", "Validating", "Warnings"];

impl WebhookContext {
    /// `sample` is the object of the tests.
    pub(crate) fn new(
        resource: ResourceContext,
        of: &Resource,
        webhooks: &ProjectWebhooks,
        sample: WebhookSample,
    ) -> Self {
        let ResourceContext { qualified_group, version_snake, kind, kind_snake, kind_lower, .. } = &resource;
        let modules: Vec<&str> = resource.api_dir.split('/').chain([kind_snake.as_str()]).collect();
        let (rust_use, rust_type) = match of.path.as_deref().filter(|_| of.core || of.external) {
            Some(path) if of.has_local_types() => {
                (format!("{path}::{}", resource.kind_type), resource.kind_type.clone())
            }
            Some(path) => used(path, kind, &WEBHOOK_NAMES),
            None => (format!("{}::{}", resource.api_mod, resource.kind_type), resource.kind_type.clone()),
        };
        let own = !of.core && !of.external;
        let sample_item = match sample {
            _ if of.core => None,
            WebhookSample::File => Some(format!(
                "/// The object of `config/samples`.\nfn sample() -> {rust_type} {{\n    let sample = \
                 include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/config/samples/{}\"));\n    \
                 manager::testing::object_from_yaml(sample)\n}}",
                resource.sample_file
            )),
            WebhookSample::Fields(fields) => {
                let mut object = Map::from_iter([
                    ("apiVersion".to_owned(), json!(of.api_version())),
                    ("kind".to_owned(), json!(kind)),
                    ("metadata".to_owned(), json!({ "name": "sample" })),
                ]);
                object.extend(fields);
                let object = format!("{:#}", Value::Object(object)).replace('\n', "\n    ");
                Some(format!(
                    "/// An object with the required fields of the type.\nfn sample() -> {rust_type} {{\n    let object = \
                     serde_json::json!({object});\n    serde_json::from_value(object).expect(\"it has the required \
                     fields\")\n}}"
                ))
            }
        };
        let sample = if of.core { format!("<{rust_type} as Default>::default()") } else { "sample()".to_owned() };
        let group = if qualified_group.is_empty() { "core" } else { qualified_group };
        // The API server requires at least three parts.
        let domain = match (group.contains('.'), of.core) {
            (true, _) => group.to_owned(),
            (false, true) => format!("{group}.k8s.io"),
            (false, false) => format!("{group}.webhook"),
        };
        let name = |letter: char| format!("{letter}{kind_lower}-{}.{domain}", version_snake.replace('_', "-"));
        let [defaulting_path, validating_path] = webhooks.paths(of).map(Option::unwrap_or_default);
        Self {
            webhook_file: modules.join("/"),
            webhook_mod: format!("webhook::{}", modules.join("::")),
            webhook_test: of.webhook_test(resource.project.multigroup),
            webhook_group: group.to_owned(),
            webhook_crd: of.webhook_crd(resource.project.multigroup),
            marker_group: if qualified_group.is_empty() { "\"\"".to_owned() } else { qualified_group.clone() },
            own,
            rust_use,
            sample,
            sample_item,
            defaulting_path,
            validating_path,
            defaulting_name: name('m'),
            validating_name: name('v'),
            rust_type,
            resource,
        }
    }
}

/// `webhook-spoke`: a version with conversions to the hub.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SpokeContext {
    #[serde(flatten)]
    pub(crate) spoke: ResourceContext,
    pub(crate) hub_version: String,
    /// `crate::api::v1::memcached`
    pub(crate) hub_mod: String,
}

/// `generate helm`
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ChartContext {
    /// `memcached-operator`: the chart, and the prefix of its objects' names.
    pub(crate) name: String,
    /// The maximum length of that prefix in a release, in characters.
    pub(crate) longest: usize,
    /// `-controller-manager`: the suffix of the service account's name, if the chart creates it.
    pub(crate) account_suffix: Option<String>,
    pub(crate) has_crds: bool,
}
