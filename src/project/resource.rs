//! An entry of `resources` in PROJECT: group, version and kind, the scaffolded parts, and every derived name.

use serde_json::{Map, Value};

use super::builtin::Builtin;
use super::crd_place::CrdFileNames;
use super::name::{ControllerName, Domain, Group, Kind, Plural, SUBDOMAIN_MAX, ShortName, Version};
use super::{crd_names, ident};
use crate::diagnostic::Problem;

/// A resource that the project defines or watches.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// The group without the domain; `core` for the group that Kubernetes writes as empty.
    pub group: Group,
    /// The domain of the group; `None` for built-in groups such as `apps`.
    pub domain: Option<Domain>,
    /// The version.
    pub version: Version,
    /// The kind.
    pub kind: Kind,
    /// The plural. PROJECT omits the default one.
    pub plural: Plural,
    /// The types in this project; `None` for foreign types.
    pub api: Option<ResourceApi>,
    /// The controllers in this project.
    pub controllers: Controllers,
    /// True for a built-in Kubernetes type.
    pub core: bool,
    /// True if the types are in another crate.
    pub external: bool,
    /// `crate@version` of external types.
    pub module: Option<String>,
    /// The Rust path of the types.
    pub path: Option<String>,
    /// True if objects of an external kind live in namespaces.
    pub namespaced: bool,
    /// The `webhooks` entry of PROJECT, unparsed.
    pub webhooks: Option<Value>,
    /// Unknown fields, preserved.
    pub unknown: Map<String, Value>,
}

/// A custom resource that the project defines.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceApi {
    /// The version of the CRD format.
    pub crd_version: String,
    /// True if objects live in a namespace.
    pub namespaced: bool,
    /// Short names for kubectl.
    pub short_names: Vec<ShortName>,
    /// Unknown fields, preserved.
    pub unknown: Map<String, Value>,
}

impl ResourceApi {
    /// A CRD of format v1 without short names.
    pub fn new(namespaced: bool) -> Self {
        Self { crd_version: "v1".to_owned(), namespaced, short_names: Vec::new(), unknown: Map::new() }
    }
}

/// The controllers of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Controllers {
    /// No controller in this project.
    #[default]
    None,
    /// A controller named after the kind: `controller: true`.
    Default,
    /// Named controllers, in creation order.
    Named(Vec<ControllerName>),
}

/// The group without the suffix `domain`; empty if the group is the domain, `None` if it has another suffix.
pub(crate) fn without_domain<'a>(group: &'a Group, domain: &Domain) -> Option<&'a str> {
    let rest = group.as_str().strip_suffix(domain.as_str())?;
    if rest.is_empty() { Some(rest) } else { rest.strip_suffix('.') }
}

impl Resource {
    /// A custom resource without types and controllers. Requires a group or a domain.
    pub fn new(group: Group, domain: Option<Domain>, version: Version, kind: Kind) -> Result<Self, Problem> {
        if group.is_empty() && domain.is_none() {
            return Err(
                Problem::new("the group must not be empty, because the project has no domain").help("pass `--group`")
            );
        }
        let plural = kind.default_plural();
        let resource = Self {
            group,
            domain,
            version,
            kind,
            plural,
            api: None,
            controllers: Controllers::None,
            core: false,
            external: false,
            module: None,
            path: None,
            namespaced: true,
            webhooks: None,
            unknown: Map::new(),
        };
        let full = resource.qualified_group();
        if full.len() > 253 {
            return Err(Problem::new(format!("the API group `{full}` is longer than 253 characters")));
        }
        Ok(resource)
    }

    /// A built-in type, for a controller without its own types.
    pub fn builtin(builtin: &Builtin) -> Result<Self, Problem> {
        let (group, domain) = builtin.project_group();
        let mut resource = Self::new(
            Group::parse(group)?,
            domain.map(Domain::parse).transpose()?,
            Version::parse(builtin.version)?,
            Kind::parse(builtin.kind)?,
        )?;
        resource.plural = Plural::parse(builtin.plural)?;
        resource.core = true;
        resource.path = Some(builtin.module.to_owned());
        Ok(resource)
    }

    /// The API group in Kubernetes: `cache.example.com`, `apps`, or empty for the core group.
    pub(crate) fn qualified_group(&self) -> String {
        match &self.domain {
            None if self.core && self.group.as_str() == "core" => String::new(),
            None => self.group.to_string(),
            Some(domain) if self.group.is_empty() => domain.to_string(),
            Some(domain) => format!("{}.{domain}", self.group),
        }
    }

    /// `cache.example.com/v1alpha1`, or `v1` in the core group.
    pub fn api_version(&self) -> String {
        match self.qualified_group() {
            group if group.is_empty() => self.version.to_string(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Returns true for a kind whose types were in the crate before the project.
    pub(crate) fn is_adopted(&self) -> bool {
        self.api.is_some() && self.path.is_some() && !self.external
    }

    pub(crate) fn same_gvk(&self, other: &Resource) -> bool {
        self.version == other.version && self.same_group_kind(other)
    }

    /// Returns true if both are versions of the same kind.
    pub(crate) fn same_group_kind(&self, other: &Resource) -> bool {
        self.kind == other.kind && self.group == other.group && self.domain == other.domain
    }

    /// The text for messages: `cache.example.com/v1alpha1 Memcached`.
    pub fn display(&self) -> String {
        format!("{} {}", self.api_version(), self.kind)
    }

    pub(crate) fn kind_lower(&self) -> String {
        self.kind.lower()
    }

    pub(crate) fn kind_type(&self) -> String {
        ident::kind_type(self.kind.as_str())
    }

    pub(crate) fn kind_module(&self) -> String {
        ident::kind_module(self.kind.as_str())
    }

    /// The module for conversions of the kind: `memcached_cluster_conversion`.
    pub(crate) fn conversion_module(&self) -> String {
        ident::joined([&*self.kind_module(), "conversion"])
    }

    /// The module of the group, or of the domain if the group is empty: `sea_creatures`.
    pub(crate) fn group_module(&self) -> String {
        match (&self.domain, self.group.is_empty()) {
            (Some(domain), true) => ident::module(domain.as_str()),
            _ => ident::module(self.group.as_str()),
        }
    }

    pub(crate) fn version_module(&self) -> String {
        ident::module(self.version.as_str())
    }

    /// The module path to the types from the crate root: `api`, the group in a multi-group project, the version, the
    /// kind.
    pub(crate) fn api_modules(&self, multigroup: bool) -> Vec<String> {
        let group = multigroup.then(|| self.group_module());
        ["api".to_owned()].into_iter().chain(group).chain([self.version_module(), self.kind_module()]).collect()
    }

    /// The modules of the types of an external kind, if this project has them: `external`, the whole group, the version, the kind.
    pub(crate) fn local_modules(&self) -> [String; 4] {
        let group = ident::module(&self.qualified_group());
        ["external".to_owned(), group, self.version_module(), self.kind_module()]
    }

    /// The Rust path of these types, as PROJECT records it: `crate::external::cert_manager_io::v1::certificate`.
    pub(crate) fn local_path(&self) -> String {
        format!("crate::{}", self.local_modules().join("::"))
    }

    /// Returns true for a kind of another project whose types are in this one.
    pub(crate) fn has_local_types(&self) -> bool {
        self.external && self.path == Some(self.local_path())
    }

    /// The module path to a controller: `controller`, the group in a multi-group project, the controller.
    pub(crate) fn controller_modules(&self, multigroup: bool, name: Option<&ControllerName>) -> Vec<String> {
        let group = multigroup.then(|| self.group_module());
        let named = name.filter(|name| name.as_str() != self.default_controller_name(multigroup));
        let last = named.map_or_else(|| self.kind_module(), |name| ident::module(name.as_str()));
        ["controller".to_owned()].into_iter().chain(group).chain([last]).collect()
    }

    /// The test file of a controller in `tests`, without `.rs`: `memcached`, or `cache_memcached` in a multi-group
    /// project. Cargo compiles it to a crate of this name.
    pub(crate) fn test_module(&self, multigroup: bool, name: Option<&ControllerName>) -> String {
        let modules = self.controller_modules(multigroup, name);
        ident::test_module(&ident::joined(modules[1..].iter().map(String::as_str)))
    }

    /// Part of the test file name of its webhooks: `v1alpha1_memcached`, or `cache_v1alpha1_memcached` in a multi-group
    /// project.
    pub(crate) fn webhook_test(&self, multigroup: bool) -> String {
        ident::joined(self.api_modules(multigroup)[1..].iter().map(String::as_str))
    }

    /// The default controller name: `memcached`, with the group as a prefix in a multi-group project. Always a DNS-1035
    /// label, even if the group has dots.
    pub(crate) fn default_controller_name(&self, multigroup: bool) -> String {
        self.object_prefix(multigroup).replace('.', "-")
    }

    /// The prefix of user role names: `memcached`, or `cache-memcached` in a multi-group project.
    pub(crate) fn object_prefix(&self, multigroup: bool) -> String {
        self.prefixed(multigroup, '-')
    }

    /// The prefix of user role files: `memcached`, or `cache_memcached` in a multi-group project.
    pub(crate) fn file_prefix(&self, multigroup: bool) -> String {
        self.prefixed(multigroup, '_')
    }

    fn prefixed(&self, multigroup: bool, separator: char) -> String {
        if multigroup && !self.group.is_empty() {
            format!("{}{separator}{}", self.group, self.kind_lower())
        } else {
            self.kind_lower()
        }
    }

    /// The name of the CRD: `memcacheds.cache.example.com`.
    pub(crate) fn crd_name(&self) -> String {
        format!("{}.{}", self.plural, self.qualified_group())
    }

    /// The names of its file at the place of CRDs.
    pub(crate) fn crd_file_names(&self) -> CrdFileNames {
        let (plural, kind) = (self.plural.to_string(), self.kind.to_string());
        CrdFileNames { group: self.qualified_group(), plural, kind }
    }

    pub(super) fn check_lengths(&self) -> Result<(), Problem> {
        crd_names::list_kind_of(self.kind.as_str())?;
        let crd = self.crd_name();
        if crd.len() > SUBDOMAIN_MAX {
            let problem =
                Problem::new(format!("the name of the CRD, `{crd}`, is longer than {SUBDOMAIN_MAX} characters"));
            return Err(problem.help("use a shorter `--group` or `--plural`"));
        }
        Ok(())
    }

    /// The CRD file in `config/crd/bases`: `cache.example.com_memcacheds.yaml`.
    pub(crate) fn crd_file(&self) -> String {
        format!("{}_{}.yaml", self.qualified_group(), self.plural)
    }

    /// Part of the name of the CRD's webhook patch: `memcacheds`, or `cache_memcacheds` in a multi-group project.
    pub(crate) fn webhook_crd(&self, multigroup: bool) -> String {
        if multigroup { format!("{}_{}", self.group, self.plural) } else { self.plural.to_string() }
    }

    /// The name of the sample object: `memcached-sample`.
    pub(crate) fn sample_name(&self) -> String {
        format!("{}-sample", self.kind_lower())
    }

    /// The sample file in `config/samples`: `cache_v1alpha1_memcached.yaml`.
    pub(crate) fn sample_file(&self) -> String {
        let group = if self.group.is_empty() { self.qualified_group() } else { self.group.to_string() };
        format!("{group}_{}_{}.yaml", self.version, self.kind_lower())
    }

    /// The finalizer of the kind's controller: `cache.example.com/finalizer`.
    pub fn finalizer(&self) -> String {
        format!("{}/finalizer", self.qualified_group())
    }
}
