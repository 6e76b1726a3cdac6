//! The PROJECT file: what was scaffolded, with every input needed to do it again.
//!
//! The format is version 3 of kubebuilder's with a layout of our own, so that no other tool takes the project for one
//! of its own. Fields that we don't know are kept wherever they stand.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::diagnostic::Problem;
use crate::plan::{Draft, RECORD, RelPath};
use crate::yaml;

pub mod builtin;
mod comments;
pub mod crd_names;
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
use manager::ManagerSource;
use name::{ControllerName, Domain, Namespace, ProjectName};
use parts::Parts;

/// The layout of the projects that we write.
pub(crate) const LAYOUT: &str = "rust.memcached-sdk.dev/v1";
/// The key below `plugins` that keeps the options of `create api --image`.
pub(crate) const DEPLOY_IMAGE: &str = "deploy-image.rust.memcached-sdk.dev/v1";

const HEADER: &str = "\
# What this project was made from, written by memcached-sdk. Its commands read this file and keep it up to date;
# fields of other tools and comments are kept.
";

/// The content of PROJECT.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// The version of the tool that made the project.
    pub cli_version: Option<String>,
    /// What the API groups end in.
    pub domain: Option<Domain>,
    /// Whether each group has a folder of its own.
    pub multigroup: bool,
    /// Whether the operator works in its own namespace only, or in [`Self::namespaces`].
    pub namespaced: bool,
    /// The namespaces that a namespaced operator works in; empty for its own. Kept below `plugins`.
    pub namespaces: Vec<Namespace>,
    /// Options of optional parts by their key, see [`DEPLOY_IMAGE`].
    pub plugins: Map<String, Value>,
    /// The name.
    pub name: ProjectName,
    /// The URL of the repository.
    pub repo: Option<String>,
    /// The copyright holder, kept below `plugins`.
    pub owner: Option<String>,
    /// The SPDX expression of the licence, kept below `plugins`.
    pub license: Option<String>,
    /// Where the runtime comes from, kept below `plugins` unless it is a copy.
    pub manager: ManagerSource,
    /// The root of the cargo workspace that the project is a member of, relative to the project; kept below `plugins`. Without it the
    /// project is a workspace of its own.
    pub workspace: Option<String>,
    /// What is switched on of what every project has, kept below `plugins`.
    pub parts: Parts,
    /// The resources in the order in which they were made.
    pub resources: Vec<Resource>,
    /// Fields that we don't know, kept.
    pub unknown: Map<String, Value>,
}

impl Project {
    /// A project without resources.
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
            parts: Parts::default(),
            resources: Vec::new(),
            unknown: Map::new(),
        }
    }

    /// The folder of the project that `start` is in: the nearest one upwards that has a PROJECT file.
    pub(crate) fn find_root(start: &Path) -> Result<PathBuf, Problem> {
        let start = std::path::absolute(start).unwrap_or_else(|_| start.to_path_buf());
        start.ancestors().find(|folder| folder.join(RECORD).is_file()).map(Path::to_path_buf).ok_or_else(|| {
            Problem::new("not in a project: there is no `PROJECT` file here or in a folder above")
                .help("change to the project's folder, or make a project with `memcached-sdk init`")
        })
    }

    /// The record of the project that the draft is of.
    pub(crate) fn recorded(draft: &Draft) -> anyhow::Result<Self> {
        let text = draft.read(&RelPath::new(RECORD)?)?;
        let text = text.ok_or_else(|| Problem::new("not in a project: there is no `PROJECT` file"))?;
        Ok(Self::parse(&text)?)
    }

    /// Whether a PROJECT file is one of kubebuilder, operator-sdk or the like.
    pub(crate) fn is_of_another_tool(text: &str) -> bool {
        let Ok(value) = serde_yaml::from_str::<serde_json::Value>(text) else { return false };
        let layout = &value["layout"];
        let names = layout.as_array().into_iter().flatten().chain([layout]).filter_map(serde_json::Value::as_str);
        let names: Vec<&str> = names.collect();
        !names.is_empty() && !names.contains(&LAYOUT)
    }

    /// Reads the text of a PROJECT file.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        parse::parse(text)
    }

    /// The text of a new file.
    pub(crate) fn to_yaml(&self) -> String {
        format!("{HEADER}{}", yaml::document(&parse::to_value(self)))
    }

    /// The text that replaces `before`, with its comments.
    pub(crate) fn to_yaml_over(&self, before: &str) -> String {
        comments::carry_over(before, &yaml::document(&parse::to_value(self)))
    }

    /// The lock name of leader election.
    pub(crate) fn leader_election_id(&self) -> String {
        let domain = self.domain.as_ref().map_or("", Domain::as_str);
        name::leader_election_id(self.repo.as_deref().unwrap_or_default(), &self.name, domain)
    }

    /// The namespace that the operator is deployed to, unless `config/default` says another one.
    pub fn namespace(&self) -> String {
        format!("{}-system", self.name)
    }

    /// The name of the Cargo package.
    pub fn package(&self) -> String {
        ident::package(self.name.as_str())
    }

    /// The resource with the same group, version and kind.
    pub fn find(&self, resource: &Resource) -> Option<&Resource> {
        self.resources.iter().find(|other| other.same_gvk(resource))
    }

    /// The entries that are other versions of the same kind.
    pub(crate) fn other_versions(&self, resource: &Resource) -> impl Iterator<Item = &Resource> {
        self.resources.iter().filter(move |other| other.same_group_kind(resource) && !other.same_gvk(resource))
    }

    /// Adds `resource`, or what is new in it to the entry that is there already. Whatever would give two things one
    /// name is refused. `force` permits to scaffold the same API or controller again.
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

    /// The same project for several API groups, or for one.
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

    /// Records the webhooks of a resource, which need not have types or controllers here.
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
                    .help("pass `--force` to scaffold it again, or choose another version or kind"));
            }
            if let Some(twice) = old.controllers.common(&new.controllers) {
                return Err(Problem::new(format!("controller already exists: `{shown}` has {twice}"))
                    .help("pass `--force` to scaffold it again, or `--controller-name` for another one"));
            }
        }
        // A built-in type brings no group of its own into the project.
        if new.api.is_some()
            && !self.multigroup
            && let Some(other) = self.resources.iter().find(|old| old.api.is_some() && old.group != new.group)
        {
            return Err(Problem::new(format!(
                "multiple groups are not allowed by default: the project has group `{}`, and `{}` is another",
                other.group, new.group
            ))
            .help(
                "run `memcached-sdk edit --multigroup`, which moves files to folders per group; or use the same group",
            ));
        }
        for old in self.resources.iter().filter(|old| !old.same_gvk(new)) {
            let old_shown = old.display();
            if old.api.is_some() && new.api.is_some() {
                if old.api_modules(self.multigroup) == new.api_modules(self.multigroup) {
                    return Err(Problem::new(format!(
                        "`{shown}` and `{old_shown}` would be the same Rust module `{}`",
                        new.api_modules(self.multigroup).join("::")
                    ))
                    .help("choose another name"));
                }
                if old.same_group_kind(new) {
                    if old.plural != new.plural {
                        return Err(Problem::new(format!(
                            "`{shown}` has plural `{}`, but `{old_shown}` has `{}`: versions of a kind share it",
                            new.plural, old.plural
                        ))
                        .help(format!("pass `--plural {}`", old.plural)));
                    }
                    if let (Some(old_api), Some(new_api)) = (&old.api, &new.api)
                        && old_api.namespaced != new_api.namespaced
                    {
                        return Err(Problem::new(format!(
                            "`{shown}` and `{old_shown}` differ in scope: versions of a kind share it"
                        ))
                        .help(format!("pass `--namespaced={}`", old_api.namespaced)));
                    }
                    if let (Some(old_api), Some(new_api)) = (&old.api, &new.api)
                        && old_api.short_names != new_api.short_names
                    {
                        return Err(Problem::new(format!(
                            "`{shown}` and `{old_shown}` differ in short names: versions of a kind share them"
                        ))
                        .help("leave out `--short-name`, which takes those of the other version"));
                    }
                } else if old.kind_lower() == new.kind_lower() && old.qualified_group() == new.qualified_group() {
                    return Err(Problem::new(format!(
                        "`{shown}` and `{old_shown}` differ in upper and lower case only"
                    ))
                    .help("choose another kind"));
                } else if old.crd_name() == new.crd_name() {
                    return Err(Problem::new(format!(
                        "`{shown}` and `{old_shown}` have the same plural `{}`",
                        new.plural
                    ))
                    .help("pass another `--plural`"));
                } else if let Some(name) =
                    CrdNames::of_resource(old).common(&CrdNames::of_resource(new)).map(ToOwned::to_owned)
                {
                    return Err(Problem::new(format!(
                        "`{shown}` and `{old_shown}` would both have the name `{name}`, and the API server gives it to one"
                    ))
                    .help("kind, kind of lists, plural, singular and short names must differ: pass another `--kind`, `--plural` or `--short-name`"));
                }
            }
        }
        self.check_controllers(new)
    }

    /// Checks that the conversions of a kind have a module of their own: those of `Foo` are where a kind `FooConversion` would be.
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
                "the conversions of `{}` and the kind `{}` would be the same Rust module `{}`",
                kind.display(),
                other.display(),
                kind.conversion_module()
            ))
            .help(
                "give the kind another name, or write its conversions without `create webhook`: see docs/conversion.md",
            )),
        }
    }

    /// Controllers of different resources must differ in what remains without punctuation, the name of their module.
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
                "the controller of `{}` would be called `{label}`, which is too long for a label: {} characters",
                new.display(),
                label.len()
            ))
            .help(format!("pass `--controller-name` with at most {} characters", name::LABEL_MAX)));
        }
        let new_modules = modules(new);
        for old in self.resources.iter().filter(|old| !old.same_gvk(new)) {
            // A second version of a kind has the controller of the first.
            if modules(old).iter().any(|module| new_modules.contains(module)) {
                return Err(Problem::new(format!(
                    "the controllers of `{}` and `{}` would have the same name",
                    new.display(),
                    old.display()
                ))
                .help("pass `--controller-name`, or `--controller=false` for another version of the same kind"));
            }
        }
        Ok(())
    }
}

impl Controllers {
    /// Both together. Beside a named controller the default one is recorded by its name.
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
