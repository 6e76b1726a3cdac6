//! The PROJECT file: the record of a scaffolded project, with every input that is needed to scaffold it again.
//!
//! Takes the YAML text, gives a [`Project`] with validated names, and writes it back. The format is version 3 of
//! kubebuilder's with a separate layout, so that other tools do not claim the project. Must stay true: unknown fields
//! and comments survive every write, and [`Project::add`] rejects name collisions.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::diagnostic::Problem;
use crate::plan::{Draft, RECORD, RelPath};
use crate::yaml;

pub mod builtin;
mod comments;
pub mod crd_names;
pub mod crd_place;
pub mod ident;
pub mod manager;
pub mod name;
mod parse;
pub mod parts;
mod plural;
pub mod resource;
pub mod taken;
pub mod webhook;

pub use resource::{Controllers, Resource, ResourceApi};

use crd_names::CrdNames;
use crd_place::CrdPlace;
use manager::ManagerSource;
use name::{ControllerName, Domain, Namespace, ProjectName};
use parse::ProjectTool;
use parts::ProjectParts;

pub(crate) const LAYOUT: &str = "rust.memcached-sdk.dev/v1";
/// The key below `plugins` with the options of `create api --image`.
pub(crate) const DEPLOY_IMAGE: &str = "deploy-image.rust.memcached-sdk.dev/v1";

const HEADER: &str = "\
# What this project was made from, written by memcached-sdk. Its commands read this file and keep it up to date;
# fields of other tools and comments are kept.
";

/// The content of PROJECT.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// The version of the tool that created the project.
    pub cli_version: Option<String>,
    /// The suffix of the API groups.
    pub domain: Option<Domain>,
    /// True if each group has a folder of its own.
    pub multigroup: bool,
    /// True if the operator watches only its own namespace, or [`Self::namespaces`].
    pub namespaced: bool,
    /// The namespaces of a namespaced operator; empty for its own. Stored below `plugins`.
    pub namespaces: Vec<Namespace>,
    /// Options of optional parts, by key, see [`DEPLOY_IMAGE`].
    pub plugins: Map<String, Value>,
    /// The project name.
    pub name: ProjectName,
    /// The repository URL.
    pub repo: Option<String>,
    /// The copyright holder, stored below `plugins`.
    pub owner: Option<String>,
    /// The SPDX expression of the licence, stored below `plugins`.
    pub license: Option<String>,
    /// The source of the runtime, stored below `plugins` unless it is a copy.
    pub manager: ManagerSource,
    /// The relative path to the root of the cargo workspace that the project is a member of, stored below `plugins`.
    /// `None` means that the project is its own workspace.
    pub workspace: Option<String>,
    /// The place of CRDs beside `config/crd/bases`, stored below `plugins`.
    pub crds: Option<CrdPlace>,
    /// The optional parts that are enabled, stored below `plugins`.
    pub parts: ProjectParts,
    /// The resources in creation order.
    pub resources: Vec<Resource>,
    /// Unknown fields, preserved.
    pub unknown: Map<String, Value>,
}

impl Project {
    /// Creates a project without resources.
    pub fn new(name: ProjectName, domain: Option<Domain>) -> Self {
        Self {
            cli_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            domain,
            multigroup: false,
            namespaced: false,
            namespaces: Vec::new(),
            plugins: Map::new(),
            name,
            repo: None,
            owner: None,
            license: None,
            manager: ManagerSource::DEFAULT,
            workspace: None,
            crds: None,
            parts: ProjectParts::default(),
            resources: Vec::new(),
            unknown: Map::new(),
        }
    }

    /// The root of the project around `start`: the nearest folder upwards with a PROJECT file.
    pub(crate) fn find_root(start: &Path) -> Result<PathBuf, Problem> {
        let start = std::path::absolute(start).unwrap_or_else(|_| start.to_path_buf());
        start.ancestors().find(|folder| folder.join(RECORD).is_file()).map(Path::to_path_buf).ok_or_else(|| {
            Problem::new("not in a project: could not find `PROJECT` in this folder or any parent folder")
                .help("change to the folder of the project, or create a project with `memcached-sdk init`")
        })
    }

    pub(crate) fn recorded(draft: &Draft) -> anyhow::Result<Self> {
        let text = draft.read(&RelPath::new(RECORD)?)?;
        let text = text.ok_or_else(|| Problem::new("not in a project: could not find `PROJECT`"))?;
        Ok(Self::parse(&text)?)
    }

    /// Returns true if kubebuilder, operator-sdk or another tool wrote the PROJECT file.
    pub(crate) fn is_of_another_tool(text: &str) -> bool {
        let Ok(value) = serde_yaml::from_str::<serde_json::Value>(text) else { return false };
        let layout = &value["layout"];
        let names = layout.as_array().into_iter().flatten().chain([layout]).filter_map(serde_json::Value::as_str);
        let names: Vec<&str> = names.collect();
        !names.is_empty() && !names.contains(&LAYOUT)
    }

    /// Parses a PROJECT file.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        parse::parse(text, ProjectTool::Own)
    }

    /// Parses the PROJECT file of an operator in Go.
    pub(crate) fn parse_of_go(text: &str) -> Result<Self, Problem> {
        parse::parse(text, ProjectTool::Go)
    }

    pub(crate) fn to_yaml(&self) -> String {
        format!("{HEADER}{}", yaml::document(&parse::to_value(self)))
    }

    /// The text that replaces `before`, including its comments.
    pub(crate) fn to_yaml_over(&self, before: &str) -> String {
        comments::carry_over(before, &yaml::document(&parse::to_value(self)))
    }

    pub(crate) fn leader_election_id(&self) -> String {
        let domain = self.domain.as_ref().map_or("", Domain::as_str);
        name::leader_election_id(self.repo.as_deref().unwrap_or_default(), &self.name, domain)
    }

    /// The namespace of the deployed operator, unless `config/default` sets another one.
    pub fn namespace(&self) -> String {
        format!("{}-system", self.name)
    }

    /// Returns true if the crate existed before the project. Its code is the author's: the project has only manifests of it.
    pub(crate) fn is_adopted(&self) -> bool {
        self.manager == ManagerSource::None
    }

    /// The name of the Cargo package.
    pub fn package(&self) -> String {
        ident::package(self.name.as_str())
    }

    /// The resource with the same group, version and kind.
    pub fn find(&self, resource: &Resource) -> Option<&Resource> {
        self.resources.iter().find(|other| other.same_gvk(resource))
    }

    pub(crate) fn other_versions(&self, resource: &Resource) -> impl Iterator<Item = &Resource> {
        self.resources.iter().filter(move |other| other.same_group_kind(resource) && !other.same_gvk(resource))
    }

    /// Adds `resource`, or merges it into the existing entry. Rejects name collisions. `force` allows to scaffold the
    /// same API or controller again.
    pub fn add(&mut self, resource: Resource, force: bool) -> Result<(), Problem> {
        self.check(&resource, force)?;
        let Some(entry) = self.resources.iter_mut().find(|other| other.same_gvk(&resource)) else {
            self.resources.push(resource);
            return Ok(());
        };
        let Resource {
            group: _,
            domain: _,
            version: _,
            kind: _,
            plural,
            api,
            controllers,
            core: _,
            external: _,
            module,
            path,
            namespaced,
            webhooks,
            unknown,
        } = resource;
        entry.namespaced = namespaced;
        entry.plural = plural;
        entry.api = api.or(entry.api.take());
        let default_name = entry.default_controller_name(self.multigroup);
        entry.controllers = std::mem::take(&mut entry.controllers).with(controllers, &default_name)?;
        entry.module = module.or(entry.module.take());
        entry.path = path.or(entry.path.take());
        entry.webhooks = webhooks.or(entry.webhooks.take());
        entry.unknown.extend(unknown);
        Ok(())
    }

    /// Converts the project to multiple API groups, or to one.
    pub(crate) fn regrouped(&self, multigroup: bool) -> Result<Self, Problem> {
        let mut project = Self { multigroup, resources: Vec::new(), ..self.clone() };
        for mut resource in self.resources.iter().cloned() {
            let [old, new] =
                [self.multigroup, multigroup].map(|multigroup| resource.default_controller_name(multigroup));
            if let Controllers::Named(names) = &mut resource.controllers {
                for name in names.iter_mut().filter(|name| name.as_str() == old) {
                    *name = ControllerName::parse(&new)?;
                }
            }
            if resource.api.is_none() && resource.controllers == Controllers::None {
                project.resources.push(resource);
            } else {
                project.add(resource, false)?;
            }
        }
        Ok(project)
    }

    /// Records the webhooks of a resource, which may have no types or controllers here.
    pub(crate) fn add_webhooks(&mut self, resource: Resource) {
        match self.resources.iter_mut().find(|other| other.same_gvk(&resource)) {
            Some(entry) => entry.webhooks = resource.webhooks,
            None => self.resources.push(resource),
        }
    }

    fn check(&self, new: &Resource, force: bool) -> Result<(), Problem> {
        let shown = new.display();
        if new.api.is_some() {
            new.check_lengths()?;
            let hub =
                |other: &&Resource| other.webhooks.as_ref().is_some_and(|webhooks| webhooks["conversion"] == true);
            for hub in self.resources.iter().filter(hub) {
                let mut versions = self.resources.iter().filter(|old| old.same_group_kind(hub));
                versions.try_for_each(|old| self.check_conversion(old, [new]))?;
            }
        }
        if let Some(old) = self.find(new)
            && !force
        {
            if old.api.is_some() && new.api.is_some() {
                return Err(Problem::new(format!("API resource already exists: `{shown}`"))
                    .help("pass `--force` to scaffold it again, or use another `--version` or `--kind`"));
            }
            if let Some(twice) = old.controllers.common(&new.controllers) {
                return Err(Problem::new(format!("controller already exists: `{shown}` has {twice}"))
                    .help("pass `--force` to scaffold it again, or `--controller-name` to add another one"));
            }
        }
        // A built-in type adds no group to the project.
        if new.api.is_some()
            && !self.multigroup
            && let Some(other) = self.resources.iter().find(|old| old.api.is_some() && old.group != new.group)
        {
            return Err(Problem::new(format!(
                "multiple groups are not allowed by default: the project has the group `{}`, found `{}`",
                other.group, new.group
            ))
            .help(
                "run `memcached-sdk edit --multigroup`, which moves the files to one folder per group, or use the \
                 same group",
            ));
        }
        for old in self.resources.iter().filter(|old| !old.same_gvk(new)) {
            let old_shown = old.display();
            if old.api.is_some() && new.api.is_some() {
                if old.api_modules(self.multigroup) == new.api_modules(self.multigroup) {
                    return Err(Problem::new(format!(
                        "`{shown}` and `{old_shown}` cannot both have the Rust module `{}`",
                        new.api_modules(self.multigroup).join("::")
                    ))
                    .help("use another name"));
                }
                if old.same_group_kind(new) {
                    if old.plural != new.plural {
                        return Err(Problem::new(format!(
                            "`{shown}` has the plural `{}`, but `{old_shown}` has `{}`: all versions of a kind must \
                             have the same plural",
                            new.plural, old.plural
                        ))
                        .help(format!("pass `--plural {}`", old.plural)));
                    }
                    if let (Some(old_api), Some(new_api)) = (&old.api, &new.api)
                        && old_api.namespaced != new_api.namespaced
                    {
                        return Err(Problem::new(format!(
                            "`{shown}` and `{old_shown}` differ in scope: all versions of a kind must have the same \
                             scope"
                        ))
                        .help(format!("pass `--namespaced={}`", old_api.namespaced)));
                    }
                    if let (Some(old_api), Some(new_api)) = (&old.api, &new.api)
                        && old_api.short_names != new_api.short_names
                    {
                        return Err(Problem::new(format!(
                            "`{shown}` and `{old_shown}` differ in short names: all versions of a kind must have the \
                             same short names"
                        ))
                        .help("omit `--short-name` to use the short names of the other version"));
                    }
                } else if old.kind_lower() == new.kind_lower() && old.qualified_group() == new.qualified_group() {
                    return Err(Problem::new(format!(
                        "`{shown}` and `{old_shown}` differ only in upper and lower case"
                    ))
                    .help("use another `--kind`"));
                } else if old.crd_name() == new.crd_name() {
                    return Err(Problem::new(format!(
                        "`{shown}` and `{old_shown}` have the same plural `{}`",
                        new.plural
                    ))
                    .help("use another `--plural`"));
                } else if let Some(name) =
                    CrdNames::of_resource(old).common(&CrdNames::of_resource(new)).map(ToOwned::to_owned)
                {
                    return Err(Problem::new(format!(
                        "`{shown}` and `{old_shown}` have the same name `{name}`, but the API server accepts it only \
                         once"
                    ))
                    .help(
                        "kind, list kind, plural, singular and short names must be unique in a group: use another \
                         `--kind`, `--plural` or `--short-name`",
                    ));
                }
            }
        }
        self.check_controllers(new)
    }

    /// Rejects collisions of conversion modules: those of `Foo` are at the path of a kind `FooConversion`.
    pub(crate) fn check_conversion<'a>(
        &self,
        kind: &Resource,
        others: impl IntoIterator<Item = &'a Resource>,
    ) -> Result<(), Problem> {
        let folder = |resource: &Resource| {
            let mut modules = resource.api_modules(self.multigroup);
            let last = modules.pop();
            (modules, last)
        };
        let conversion = (folder(kind).0, Some(kind.conversion_module()));
        match others.into_iter().find(|other| other.api.is_some() && folder(other) == conversion) {
            None => Ok(()),
            Some(other) => Err(Problem::new(format!(
                "the conversions of `{}` and the kind `{}` cannot both have the Rust module `{}`",
                kind.display(),
                other.display(),
                kind.conversion_module()
            ))
            .help(
                "use another name for the kind, or write its conversions without `create webhook`: see \
                 docs/conversion.md",
            )),
        }
    }

    /// Controllers of different resources must differ after punctuation is removed, because that is their module name.
    fn check_controllers(&self, new: &Resource) -> Result<(), Problem> {
        let modules = |resource: &Resource| -> Vec<String> {
            let name = |name| resource.controller_modules(self.multigroup, name).concat().replace('_', "");
            match &resource.controllers {
                Controllers::None => Vec::new(),
                Controllers::Default => vec![name(None)],
                Controllers::Named(names) => names.iter().map(Some).map(name).collect(),
            }
        };
        let label = new.default_controller_name(self.multigroup);
        if new.controllers == Controllers::Default && label.len() > name::LABEL_MAX {
            return Err(Problem::new(format!(
                "the controller name `{label}` of `{}` is too long for a label: {} characters",
                new.display(),
                label.len()
            ))
            .help(format!("pass `--controller-name` with at most {} characters", name::LABEL_MAX)));
        }
        let new_modules = modules(new);
        for old in self.resources.iter().filter(|old| !old.same_gvk(new)) {
            // A second version of a kind shares the controller of the first.
            if modules(old).iter().any(|module| new_modules.contains(module)) {
                return Err(Problem::new(format!(
                    "the controllers of `{}` and `{}` have the same name",
                    new.display(),
                    old.display()
                ))
                .help("pass `--controller-name`, or pass `--controller=false` for another version of the same kind"));
            }
        }
        Ok(())
    }
}

impl Controllers {
    /// Merges both. Beside a named controller, the default one is recorded by its name.
    fn with(self, other: Controllers, default_name: &str) -> Result<Controllers, Problem> {
        let names = |controllers| match controllers {
            Controllers::None => Ok(Vec::new()),
            Controllers::Default => Ok(vec![ControllerName::parse(default_name)?]),
            Controllers::Named(names) => Ok(names),
        };
        Ok(match (self, other) {
            (Controllers::None, one) | (one, Controllers::None) => one,
            (Controllers::Default, Controllers::Default) => Controllers::Default,
            (own, other) => {
                let mut all: Vec<ControllerName> = names(own)?;
                for name in names(other)? {
                    if !all.contains(&name) {
                        all.push(name);
                    }
                }
                Controllers::Named(all)
            }
        })
    }

    fn common(&self, other: &Controllers) -> Option<String> {
        match (self, other) {
            (Controllers::Default, Controllers::Default) => Some("one already".to_owned()),
            (Controllers::Named(own), Controllers::Named(other)) => {
                own.iter().find(|name| other.contains(name)).map(|name| format!("`{name}`"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
