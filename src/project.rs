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
pub mod name;
mod parse;
pub mod parts;
mod plural;
pub mod resource;
pub mod taken;
pub mod webhook;

pub use resource::{Controllers, Resource, ResourceApi};

use crd_names::CrdNames;
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
mod tests {
    use super::name::{Group, Kind, Version};
    use super::*;

    const TEXT: &str = "\
# a comment
cliVersion: 0.1.0
domain: example.com
layout:
- rust.memcached-sdk.dev/v1
multigroup: true
plugins:
  deploy-image.rust.memcached-sdk.dev/v1:
    resources:
    - image: memcached:1.6-alpine
  rust.memcached-sdk.dev/v1:
    license: Apache-2.0
    other: 1
    owner: The Authors
projectName: memcached-operator
repo: https://github.com/example/memcached-operator
resources:
- api:
    crdVersion: v1
    namespaced: true
    shortNames:
    - mc
    ssa: true
  controller: true
  domain: example.com
  group: cache
  kind: Memcached
  path: memcached_operator::api::v1alpha1
  someday: [1, 2]
  version: v1alpha1
  webhooks:
    validation: true
    webhookVersion: v1
- api:
    crdVersion: v1
  controllers:
  - name: captain
  - name: captain-backup
  domain: example.com
  group: ship
  kind: Captain
  plural: crew
  version: v1
- controller: true
  core: true
  group: apps
  kind: ReplicaSet
  path: k8s_openapi::api::apps::v1
  version: v1
someone: else
version: \"3\"
";

    #[test]
    fn everything_is_read_and_written_again() {
        let project = Project::parse(TEXT).unwrap();
        assert_eq!(project.name.as_str(), "memcached-operator");
        assert_eq!(project.license.as_deref(), Some("Apache-2.0"));
        assert_eq!(project.resources[1].plural.as_str(), "crew");
        let written = TEXT.replace(" [1, 2]", "\n  - 1\n  - 2");
        assert_eq!(project.to_yaml(), written.replace("# a comment\n", HEADER));
        for text in [project.to_yaml(), TEXT.replace('\n', "\r\n"), format!("\u{feff}{TEXT}")] {
            assert_eq!(Project::parse(&text).unwrap(), project);
        }
        assert_eq!(project.to_yaml_over(&project.to_yaml()), project.to_yaml());
    }

    #[test]
    fn a_bad_file_is_refused_with_the_place_and_the_reason() {
        let replaced = |from: &str, to: &str| {
            assert!(TEXT.contains(from), "{from}");
            TEXT.replace(from, to)
        };
        for (text, expected) in [
            (String::new(), "`PROJECT` is empty"),
            ("- a\n".to_owned(), "`PROJECT` is not a mapping"),
            (TEXT[..TEXT.len() - 13].to_owned(), "`PROJECT` has no `version`: it is incomplete"),
            (
                replaced("- rust.memcached-sdk.dev/v1", "- go.kubebuilder.io/v4"),
                "`PROJECT:4`: `layout`: the project has layout `go.kubebuilder.io/v4`, which is of another tool",
            ),
            (
                replaced("version: \"3\"", "version: \"2\""),
                "`PROJECT:51`: `version`: format version `2` is not known, only `3` is",
            ),
            (
                replaced("projectName: memcached-operator", "projectName: My_Op"),
                "`PROJECT:15`: `projectName`: invalid project name `My_Op`: it must be a DNS-1123 label: lower-case letters, digits and `-`, with a letter or digit at both ends, at most 63 characters",
            ),
            (
                replaced("multigroup: true", "multigroup: maybe"),
                "`PROJECT:6`: `multigroup`: it must be `true` or `false`",
            ),
            (replaced("  kind: Captain\n", ""), "`PROJECT` has no `resources[1].kind`: it is incomplete"),
            (
                replaced("kind: Captain", "kind: captain"),
                "`PROJECT:41`: `resources[1].kind`: invalid kind `captain`: it must be a Rust type name: an upper-case letter, then letters and digits, at most 63 characters",
            ),
            (
                replaced("  kind: Captain\n", "  kind: Captain\n  kind: Captain\n"),
                "`PROJECT:42` is not valid YAML: duplicate mapping key: kind",
            ),
            (replaced("    - mc\n", "    mc\n"), "`PROJECT:22` is not valid YAML: simple key expected ':'"),
            ("a: [\n".to_owned(), "`PROJECT:1` is not valid YAML: unclosed bracket '['"),
            ("a: \"\n".to_owned(), "`PROJECT:2` is not valid YAML: invalid indentation in multiline quoted scalar"),
        ] {
            let problem = Project::parse(&text).unwrap_err();
            assert_eq!(problem.message, expected, "{text}");
            assert!(problem.help.is_some(), "{problem}");
        }
    }

    #[test]
    fn any_truncation_is_an_error_and_never_a_panic() {
        for end in (0..TEXT.len()).filter(|end| TEXT.is_char_boundary(*end) && *end + 3 < TEXT.len()) {
            assert!(Project::parse(&TEXT[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn the_lock_name_is_the_one_of_kubebuilder() {
        let mut project =
            Project::new(ProjectName::parse("p").unwrap(), Some(Domain::parse("testproject.org").unwrap()));
        project.repo = Some("sigs.k8s.io/kubebuilder/testdata/project-v4".to_owned());
        assert_eq!(project.leader_election_id(), "da1d9c86.testproject.org");
    }

    /// `group/version kind`, with an API and a default controller.
    fn resource(gvk: (&str, &str, &str)) -> Resource {
        let (group, version, kind) = gvk;
        let domain = Domain::parse("example.com").unwrap();
        let mut resource = Resource::new(
            Group::parse(group).unwrap(),
            Some(domain),
            Version::parse(version).unwrap(),
            Kind::parse(kind).unwrap(),
        )
        .unwrap();
        resource.api = Some(ResourceApi::new(true));
        resource
    }

    #[test]
    fn what_would_share_a_name_is_refused() {
        type Change = fn(&mut Resource);
        type Case = ((&'static str, &'static str, &'static str), bool, Change, Option<&'static str>);
        let none: Change = |_| {};
        let cases: [Case; 9] = [
            (("cache", "v1", "Redis"), false, none, None),
            (
                ("cache", "v1alpha1", "Memcached"),
                false,
                none,
                Some("API resource already exists: `cache.example.com/v1alpha1 Memcached`"),
            ),
            (
                ("ship", "v1", "Frigate"),
                false,
                none,
                Some(
                    "multiple groups are not allowed by default: the project has group `cache`, and `ship` is another",
                ),
            ),
            (("ship", "v1", "Frigate"), true, none, None),
            (
                ("cache", "v1", "Memcached"),
                false,
                |r| r.plural = name::Plural::parse("mcs").unwrap(),
                Some(
                    "`cache.example.com/v1 Memcached` has plural `mcs`, but `cache.example.com/v1alpha1 Memcached` has `memcacheds`: versions of a kind share it",
                ),
            ),
            (
                ("cache", "v1", "Memcached"),
                false,
                |r| r.api = Some(ResourceApi::new(false)),
                Some(
                    "`cache.example.com/v1 Memcached` and `cache.example.com/v1alpha1 Memcached` differ in scope: versions of a kind share it",
                ),
            ),
            (
                ("cache", "v1", "Memcached"),
                false,
                |r| r.controllers = Controllers::Default,
                Some(
                    "the controllers of `cache.example.com/v1 Memcached` and `cache.example.com/v1alpha1 Memcached` would have the same name",
                ),
            ),
            (
                ("cache", "v1", "Cluster"),
                false,
                |r| r.plural = name::Plural::parse("memcacheds").unwrap(),
                Some(
                    "`cache.example.com/v1 Cluster` and `cache.example.com/v1alpha1 Memcached` have the same plural `memcacheds`",
                ),
            ),
            (
                ("cache", "v1alpha1", "MemCached"),
                false,
                |r| r.plural = name::Plural::parse("others").unwrap(),
                Some(
                    "`cache.example.com/v1alpha1 MemCached` and `cache.example.com/v1alpha1 Memcached` differ in upper and lower case only",
                ),
            ),
        ];
        for (gvk, multigroup, change, expected) in cases {
            let mut project = Project::new(ProjectName::parse("p").unwrap(), None);
            let mut first = resource(("cache", "v1alpha1", "Memcached"));
            first.controllers = Controllers::Default;
            project.add(first, false).unwrap();
            project.multigroup = multigroup;
            let mut new = resource(gvk);
            change(&mut new);
            let result = project.add(new, false).map_err(|problem| problem.message);
            assert_eq!(result.err().as_deref(), expected, "{gvk:?}");
        }
    }

    #[test]
    fn a_second_controller_makes_the_first_one_named() {
        let mut project = Project::new(ProjectName::parse("p").unwrap(), None);
        let mut new = resource(("cache", "v1", "MemcachedCluster"));
        new.controllers = Controllers::Default;
        project.add(new.clone(), false).unwrap();
        let backup = ControllerName::parse("backup").unwrap();
        let mut second = Resource { api: None, controllers: Controllers::Named(vec![backup.clone()]), ..new.clone() };
        project.add(second.clone(), false).unwrap();
        let default = ControllerName::parse("memcachedcluster").unwrap();
        let entry = &project.resources[0];
        assert_eq!(entry.controllers, Controllers::Named(vec![default.clone(), backup.clone()]));
        assert!(entry.api.is_some());
        assert_eq!(entry.controller_modules(false, Some(&default)), ["controller", "memcached_cluster"]);
        assert_eq!(entry.controller_modules(false, Some(&backup)), ["controller", "backup"]);

        second.controllers = Controllers::Named(vec![backup]);
        let problem = project.add(second, false).unwrap_err();
        assert_eq!(problem.message, "controller already exists: `cache.example.com/v1 MemcachedCluster` has `backup`");
    }
}
