//! What templates may name: one struct per template set. The fields are the contract between Rust and the templates.

use heck::ToUpperCamelCase as _;
use serde::Serialize;

use crate::project::name::ControllerName;
use crate::project::{Project, Resource, ResourceApi, ident};

/// `init`, and part of every other context.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ProjectContext {
    /// `memcached-operator`: the prefix of all objects.
    pub(crate) project_name: String,
    /// `memcached-operator`: the Cargo package and the binary. Not the project's name where Cargo refuses that.
    pub(crate) package_name: String,
    /// `memcached_operator`: the crate in `use`.
    pub(crate) crate_name: String,
    /// `example.com`
    pub(crate) domain: String,
    /// A URL, or empty.
    pub(crate) repo: String,
    /// The copyright holder, or empty.
    pub(crate) owner: String,
    /// An SPDX expression, or empty.
    pub(crate) license: String,
    /// Several API groups.
    pub(crate) multigroup: bool,
    /// Watches and is allowed only its own namespace, or some.
    pub(crate) namespaced: bool,
    /// The same, and it is its own.
    pub(crate) own_namespace: bool,
    /// The name of the leader election Lease.
    pub(crate) leader_election_id: String,
    /// Of this program.
    pub(crate) cli_version: String,
}

impl ProjectContext {
    pub(crate) fn new(project: &Project) -> Self {
        let package_name = project.package();
        Self {
            project_name: project.name.to_string(),
            crate_name: ident::crate_name(&package_name),
            package_name,
            domain: project.domain.as_ref().map(ToString::to_string).unwrap_or_default(),
            repo: project.repo.clone().unwrap_or_default(),
            owner: project.owner.clone().unwrap_or_default(),
            license: project.license.clone().unwrap_or_default(),
            multigroup: project.multigroup,
            namespaced: project.namespaced,
            own_namespace: project.namespaced && project.namespaces.is_empty(),
            leader_election_id: project.leader_election_id(),
            cli_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// `api`, and part of every controller's context.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ResourceContext {
    #[serde(flatten)]
    pub(crate) project: ProjectContext,
    /// `cache`
    pub(crate) group: String,
    /// `cache`: as a Rust module.
    pub(crate) group_snake: String,
    /// `cache.example.com`
    pub(crate) qualified_group: String,
    /// `v1alpha1`
    pub(crate) version: String,
    /// `v1alpha1`: as a Rust module.
    pub(crate) version_snake: String,
    /// `Memcached`
    pub(crate) kind: String,
    /// `memcached`: as a Rust module.
    pub(crate) kind_snake: String,
    /// `memcached`
    pub(crate) kind_lower: String,
    /// `memcacheds`
    pub(crate) plural: String,
    /// `memcached`
    pub(crate) singular: String,
    /// `["mc"]`
    pub(crate) short_names: Vec<String>,
    /// Objects of the kind live in namespaces.
    pub(crate) api_namespaced: bool,
    /// The version that is stored; false for a further version of a kind.
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
    /// The names of a resource; of a built-in one, what makes sense for it.
    pub(crate) fn new(project: &Project, resource: &Resource, api: &ResourceApi, storage: bool) -> Self {
        let multigroup = project.multigroup;
        let modules = resource.api_modules(multigroup);
        let project = ProjectContext::new(project);
        Self {
            group: resource.group.to_string(),
            group_snake: resource.group_module(),
            qualified_group: resource.qualified_group(),
            version: resource.version.to_string(),
            version_snake: resource.version_module(),
            kind: resource.kind.to_string(),
            kind_snake: resource.kind_module(),
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
    /// `memcached-operator`, of a controller with a name of its own `memcached-operator-NAME`.
    pub(crate) field_manager: String,
    /// `Ready`, of a controller with a name of its own `NameReady`.
    pub(crate) condition_type: String,
}

impl ControllerContext {
    pub(crate) fn new(resource: ResourceContext, of: &Resource, name: Option<&ControllerName>) -> Self {
        let multigroup = resource.project.multigroup;
        let modules = of.controller_modules(multigroup, name);
        let controller_name = name.map_or_else(|| of.default_controller_name(multigroup), ToString::to_string);
        let project = &resource.project.project_name;
        // Several controllers may write the status of one kind.
        let (field_manager, condition_type) = match name {
            Some(name) => (format!("{project}-{name}"), format!("{}Ready", name.as_str().to_upper_camel_case())),
            None => (project.clone(), "Ready".to_owned()),
        };
        Self {
            test_file: of.test_module(multigroup, name),
            field_manager,
            condition_type,
            controller_name,
            controller_snake: modules[modules.len() - 1].clone(),
            // `/` at the end, or nothing at all.
            controller_dir: modules[1..modules.len() - 1].iter().flat_map(|module| [module.as_str(), "/"]).collect(),
            controller_mod: format!("crate::{}", modules.join("::")),
            resource,
        }
    }
}

/// `builtin`
#[derive(Debug, Clone, Serialize)]
pub(crate) struct BuiltinContext {
    #[serde(flatten)]
    pub(crate) controller: ControllerContext,
    /// `k8s_openapi::api::apps::v1::ReplicaSet`
    pub(crate) rust_type: String,
    /// `k8s_openapi::api::apps::v1`
    pub(crate) rust_module: String,
}

/// `deploy-image`
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DeployImageContext {
    #[serde(flatten)]
    pub(crate) controller: ControllerContext,
    /// `memcached:1.6-alpine`
    pub(crate) image: String,
    pub(crate) container_port: Option<u16>,
    /// The command and its arguments, escaped as in a Rust string; empty for the image's own.
    pub(crate) container_command: Vec<String>,
    pub(crate) run_as_user: Option<u32>,
    /// `MEMCACHED_IMAGE`
    pub(crate) image_env: String,
    /// `cache.example.com/finalizer`
    pub(crate) finalizer: String,
}
