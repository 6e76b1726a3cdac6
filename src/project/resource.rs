//! One entry of `resources` in PROJECT: a group, version and kind, what was scaffolded for it, and every name that is
//! derived from it.

use serde_json::{Map, Value};

use super::builtin::Builtin;
use super::name::{ControllerName, Domain, Group, Kind, Plural, SUBDOMAIN_MAX, ShortName, Version};
use super::{crd_names, ident};
use crate::diagnostic::Problem;

/// A resource of the project, or one that it watches.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// The group without the domain; `core` for the group that Kubernetes itself writes as nothing.
    pub group: Group,
    /// The domain of the group; `None` for built-in groups such as `apps`.
    pub domain: Option<Domain>,
    /// The version.
    pub version: Version,
    /// The kind.
    pub kind: Kind,
    /// The plural; PROJECT has it only where it is not the usual one.
    pub plural: Plural,
    /// The types in this project, `None` for types from elsewhere.
    pub api: Option<ResourceApi>,
    /// The controllers in this project.
    pub controllers: Controllers,
    /// Whether it is a type of Kubernetes itself.
    pub core: bool,
    /// Whether the types are from another crate.
    pub external: bool,
    /// `crate@version` of the types, when they are external.
    pub module: Option<String>,
    /// Where the types are: a Rust path.
    pub path: Option<String>,
    /// Whether objects of a kind of another crate live in namespaces.
    pub namespaced: bool,
    /// What PROJECT says about webhooks, kept as it is.
    pub webhooks: Option<Value>,
    /// Fields that we don't know, kept.
    pub unknown: Map<String, Value>,
}

/// The custom resource that the project defines.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceApi {
    /// The version of the CRD format.
    pub crd_version: String,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Names for kubectl.
    pub short_names: Vec<ShortName>,
    /// Fields that we don't know, kept.
    pub unknown: Map<String, Value>,
}

impl ResourceApi {
    /// A CRD of format v1 without short names.
    pub fn new(namespaced: bool) -> Self {
        Self { crd_version: "v1".to_owned(), namespaced, short_names: Vec::new(), unknown: Map::new() }
    }
}

/// Which controllers a resource has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Controllers {
    /// None in this project.
    #[default]
    None,
    /// One, named after the kind: `controller: true`.
    Default,
    /// One or several with names of their own, in the order in which they were made.
    Named(Vec<ControllerName>),
}

/// What is in front of the domain in a group that ends in it; nothing when the group is the domain.
pub(crate) fn without_domain<'a>(group: &'a Group, domain: &Domain) -> Option<&'a str> {
    let rest = group.as_str().strip_suffix(domain.as_str())?;
    if rest.is_empty() { Some(rest) } else { rest.strip_suffix('.') }
}

impl Resource {
    /// A custom resource without types and controllers so far. A group or a domain is needed.
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

    /// A type of Kubernetes itself, for a controller without types of its own.
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

    /// The API group as Kubernetes writes it: `cache.example.com`, `apps`, or nothing for the core group.
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

    /// Whether both are the same group, version and kind.
    pub(crate) fn same_gvk(&self, other: &Resource) -> bool {
        self.version == other.version && self.same_group_kind(other)
    }

    /// Whether both are versions of one kind.
    pub(crate) fn same_group_kind(&self, other: &Resource) -> bool {
        self.kind == other.kind && self.group == other.group && self.domain == other.domain
    }

    /// For messages: `cache.example.com/v1alpha1 Memcached`.
    pub fn display(&self) -> String {
        format!("{} {}", self.api_version(), self.kind)
    }

    /// The kind in lower case, also the singular: `memcached`.
    pub(crate) fn kind_lower(&self) -> String {
        self.kind.lower()
    }

    /// The Rust type of the kind: `Memcached`.
    pub(crate) fn kind_type(&self) -> String {
        ident::kind_type(self.kind.as_str())
    }

    /// The module of the kind: `memcached_cluster`.
    pub(crate) fn kind_module(&self) -> String {
        ident::kind_module(self.kind.as_str())
    }

    /// The module of the conversions of the kind: `memcached_cluster_conversion`.
    pub(crate) fn conversion_module(&self) -> String {
        ident::joined([&*self.kind_module(), "conversion"])
    }

    /// The module of the group, taken from the domain when the group is empty: `sea_creatures`.
    pub(crate) fn group_module(&self) -> String {
        match (&self.domain, self.group.is_empty()) {
            (Some(domain), true) => ident::module(domain.as_str()),
            _ => ident::module(self.group.as_str()),
        }
    }

    /// The module of the version.
    pub(crate) fn version_module(&self) -> String {
        ident::module(self.version.as_str())
    }

    /// The modules down to the types, from the crate's root: `api`, the group in a multi-group project, the version,
    /// the kind.
    pub(crate) fn api_modules(&self, multigroup: bool) -> Vec<String> {
        let group = multigroup.then(|| self.group_module());
        ["api".to_owned()].into_iter().chain(group).chain([self.version_module(), self.kind_module()]).collect()
    }

    /// The modules down to a controller: `controller`, the group in a multi-group project, the controller's.
    pub(crate) fn controller_modules(&self, multigroup: bool, name: Option<&ControllerName>) -> Vec<String> {
        let group = multigroup.then(|| self.group_module());
        let named = name.filter(|name| name.as_str() != self.default_controller_name(multigroup));
        let last = named.map_or_else(|| self.kind_module(), |name| ident::module(name.as_str()));
        ["controller".to_owned()].into_iter().chain(group).chain([last]).collect()
    }

    /// The file of a controller's tests below `tests`, without `.rs`: `memcached`, or `cache_memcached` in a multi-group
    /// project. Cargo makes a crate of this name.
    pub(crate) fn test_module(&self, multigroup: bool, name: Option<&ControllerName>) -> String {
        let modules = self.controller_modules(multigroup, name);
        ident::test_module(&ident::joined(modules[1..].iter().map(String::as_str)))
    }

    /// Part of the file of its webhooks' tests: `v1alpha1_memcached`, or `cache_v1alpha1_memcached` in a multi-group project.
    pub(crate) fn webhook_test(&self, multigroup: bool) -> String {
        ident::joined(self.api_modules(multigroup)[1..].iter().map(String::as_str))
    }

    /// The controller's name when none was chosen: `memcached`, with the group in front in a multi-group project. It
    /// is a DNS-1035 label also where the group has dots.
    pub(crate) fn default_controller_name(&self, multigroup: bool) -> String {
        self.object_prefix(multigroup).replace('.', "-")
    }

    /// What the names of the user roles begin with: `memcached`, or `cache-memcached` in a multi-group project.
    pub(crate) fn object_prefix(&self, multigroup: bool) -> String {
        self.prefixed(multigroup, '-')
    }

    /// What the files of the user roles begin with: `memcached`, or `cache_memcached` in a multi-group project.
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

    /// Checks what is derived from the names of a custom resource.
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

    /// The file of the CRD below `config/crd/bases`: `cache.example.com_memcacheds.yaml`.
    pub(crate) fn crd_file(&self) -> String {
        format!("{}_{}.yaml", self.qualified_group(), self.plural)
    }

    /// Part of the name of the CRD's patch for webhooks: `memcacheds`, or `cache_memcacheds` in a multi-group project.
    pub(crate) fn webhook_crd(&self, multigroup: bool) -> String {
        if multigroup { format!("{}_{}", self.group, self.plural) } else { self.plural.to_string() }
    }

    /// The name of the sample object: `memcached-sample`.
    pub(crate) fn sample_name(&self) -> String {
        format!("{}-sample", self.kind_lower())
    }

    /// The file of the sample below `config/samples`: `cache_v1alpha1_memcached.yaml`.
    pub(crate) fn sample_file(&self) -> String {
        let group = if self.group.is_empty() { self.qualified_group() } else { self.group.to_string() };
        format!("{group}_{}_{}.yaml", self.version, self.kind_lower())
    }

    /// The finalizer of the kind's controller: `cache.example.com/finalizer`.
    pub fn finalizer(&self) -> String {
        format!("{}/finalizer", self.qualified_group())
    }
}
