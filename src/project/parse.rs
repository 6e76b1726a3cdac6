//! Parses and serializes a [`Project`]. Errors name the field and, if it is unique in the text, the line.

use serde_json::{Map, Value, json};

use super::crd_place::CrdPlace;
use super::manager::ManagerSource;
use super::name::{ControllerName, Domain, Group, Kind, Namespace, Plural, ProjectName, ShortName, Version};
use super::parts::{LeaderElection, ProjectParts, ProjectSwitch};
use super::{Controllers, LAYOUT, Project, Resource, ResourceApi};
use crate::diagnostic::{Problem, conflict};
use crate::yaml;

const FORMAT: &str = "3";

/// The tool that wrote a PROJECT file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProjectTool {
    Own,
    /// kubebuilder or operator-sdk, for an operator in Go.
    Go,
}

impl ProjectTool {
    fn check(self, layout: &[String], top: &ProjectFields<'_>) -> Result<(), Problem> {
        let shown = layout.join(",");
        match self {
            Self::Own if layout == [LAYOUT] => Ok(()),
            Self::Own => Err(top
                .wrong("layout", &format!("the layout `{shown}` belongs to another tool"))
                .help(format!("use the tool that created the project; memcached-sdk requires the layout `{LAYOUT}`"))),
            Self::Go if layout.iter().any(|plugin| plugin.starts_with("go.kubebuilder.io/")) => Ok(()),
            Self::Go => {
                Err(top.wrong("layout", &format!("the layout `{shown}` is not the one of an operator in Go")).help(
                    "pass a project that kubebuilder or operator-sdk has made, with the layout `go.kubebuilder.io/v4`",
                ))
            }
        }
    }
}

pub(super) fn parse(text: &str, tool: ProjectTool) -> Result<Project, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = serde_yaml::from_str(text).map_err(|error| {
        if let Some(problem) = conflict::problem("PROJECT", text) {
            return problem;
        }
        Problem::new(yaml::invalid("PROJECT", 0, &error)).help(RESTORE)
    })?;
    let mut top = match value {
        Value::Object(map) => ProjectFields { text, path: String::new(), map },
        Value::Null => return Err(Problem::new("`PROJECT` is empty").help(RESTORE)),
        _ => return Err(Problem::new("`PROJECT` must be a YAML mapping").help(RESTORE)),
    };
    check_format(&mut top, tool)?;

    let mut project = Project::new(top.required("projectName", ProjectName::parse)?, None);
    project.cli_version = top.string("cliVersion")?;
    project.domain = top.parsed("domain", Domain::parse)?;
    project.multigroup = top.bool("multigroup")?.unwrap_or_default();
    project.namespaced = top.bool("namespaced")?.unwrap_or_default();
    project.repo = top.string("repo")?;
    // A copy is not recorded, independent of the default for new projects.
    project.manager = ManagerSource::Vendored;
    if let Some(mut plugins) = top.fields("plugins")? {
        if let Some(mut own) = plugins.fields(LAYOUT)? {
            project.owner = own.string("owner")?;
            project.license = own.string("license")?;
            project.manager = own.parsed("manager", ManagerSource::parse)?.unwrap_or(project.manager);
            project.workspace = own.string("workspace")?;
            project.crds = own.parsed("crds", CrdPlace::parse)?;
            project.parts.leader_election = own.parsed("leaderElection", LeaderElection::parse)?.unwrap_or_default();
            for switch in ProjectSwitch::ALL {
                if own.bool(switch.key())?.unwrap_or_default() {
                    project.parts.on.insert(switch);
                }
            }
            for namespace in own.strings("namespaces", Namespace::parse)? {
                if !project.namespaces.contains(&namespace) {
                    project.namespaces.push(namespace);
                }
            }
            if !project.namespaced && !project.namespaces.is_empty() {
                let wrong = own.wrong("namespaces", "it requires `namespaced: true`");
                return Err(wrong.help("add `namespaced: true` at the top level, or remove the list"));
            }
            if !own.map.is_empty() {
                plugins.map.insert(LAYOUT.to_owned(), Value::Object(own.map));
            }
        }
        project.plugins = plugins.map;
    }
    for mut entry in top.list("resources")? {
        let resource = resource(&mut entry)?;
        if project.find(&resource).is_some() {
            return Err(entry.wrong("kind", &format!("`{}` already exists in the list", resource.display())));
        }
        project.resources.push(resource);
    }
    project.unknown = top.map;
    Ok(project)
}

const RESTORE: &str = "restore the file from version control";

fn check_format(top: &mut ProjectFields<'_>, tool: ProjectTool) -> Result<(), Problem> {
    let layout = match top.map.remove("layout") {
        Some(Value::String(layout)) => vec![layout],
        Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(_) => return Err(top.wrong("layout", "it must be a list of strings")),
        None => Vec::new(),
    };
    let version = match top.map.remove("version") {
        Some(Value::String(version)) => Some(version),
        Some(Value::Number(version)) => Some(version.to_string()),
        Some(_) => return Err(top.wrong("version", "it must be a string")),
        None => None,
    };
    if !layout.is_empty() {
        tool.check(&layout, top)?;
    }
    match version.as_deref() {
        Some(FORMAT) if layout.is_empty() => Err(Problem::new("`PROJECT` has no `layout`").help(RESTORE)),
        Some(FORMAT) => Ok(()),
        Some(version) => Err(top
            .wrong("version", &format!("unsupported format version `{version}`: only `{FORMAT}` is supported"))
            .help("use the tool that created the project, or a newer memcached-sdk")),
        None => Err(Problem::new("`PROJECT` has no `version`").help(RESTORE)),
    }
}

fn resource(entry: &mut ProjectFields<'_>) -> Result<Resource, Problem> {
    let group = entry.parsed("group", Group::parse)?.unwrap_or_else(Group::empty);
    let domain = entry.parsed("domain", Domain::parse)?;
    let version = entry.required("version", Version::parse)?;
    let kind = entry.required("kind", Kind::parse)?;
    let mut resource =
        Resource::new(group, domain, version, kind).map_err(|problem| entry.wrong("group", &problem.message))?;
    if let Some(plural) = entry.parsed("plural", Plural::parse)? {
        resource.plural = plural;
    }
    resource.core = entry.bool("core")?.unwrap_or_default();
    if resource.core
        && let Ok(Some(builtin)) =
            super::builtin::find(&resource.qualified_group(), resource.version.as_str(), resource.kind.as_str())
    {
        resource.plural = Plural::parse(builtin.plural)?;
    }
    resource.external = entry.bool("external")?.unwrap_or_default();
    resource.module = entry.string("module")?;
    resource.path = entry.string("path")?;
    resource.namespaced = entry.bool("namespaced")?.unwrap_or(true);
    if let Some(mut api) = entry.fields("api")? {
        resource.api = Some(ResourceApi {
            crd_version: api.string("crdVersion")?.unwrap_or_else(|| "v1".to_owned()),
            namespaced: api.bool("namespaced")?.unwrap_or_default(),
            short_names: api.strings("shortNames", ShortName::parse)?,
            unknown: api.map,
        });
    }
    let named: Vec<ControllerName> = entry
        .list("controllers")?
        .into_iter()
        .map(|mut controller| controller.required("name", ControllerName::parse))
        .collect::<Result<_, _>>()?;
    let default = entry.bool("controller")?.unwrap_or_default();
    resource.controllers = match (named.is_empty(), default) {
        (false, _) => Controllers::Named(named),
        (true, true) => Controllers::Default,
        (true, false) => Controllers::None,
    };
    resource.webhooks = entry.map.remove("webhooks");
    resource.unknown = std::mem::take(&mut entry.map);
    Ok(resource)
}

/// A mapping with the known fields removed one by one; the remainder is unknown.
struct ProjectFields<'a> {
    text: &'a str,
    /// The path: empty at the top, otherwise such as `resources[1].api.`.
    path: String,
    map: Map<String, Value>,
}

impl<'a> ProjectFields<'a> {
    fn take(&mut self, key: &str) -> Option<Value> {
        self.map.remove(key).filter(|value| !value.is_null())
    }

    fn string(&mut self, key: &str) -> Result<Option<String>, Problem> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(self.wrong(key, "it must be a string")),
        }
    }

    fn bool(&mut self, key: &str) -> Result<Option<bool>, Problem> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(_) => Err(self.wrong(key, "it must be `true` or `false`")),
        }
    }

    fn parsed<T>(&mut self, key: &str, parse: fn(&str) -> Result<T, Problem>) -> Result<Option<T>, Problem> {
        let Some(text) = self.string(key)? else { return Ok(None) };
        parse(&text).map(Some).map_err(|problem| {
            let mut wrong = self.wrong(key, &problem.message);
            wrong.help = problem.help.or(wrong.help);
            wrong
        })
    }

    fn required<T>(&mut self, key: &str, parse: fn(&str) -> Result<T, Problem>) -> Result<T, Problem> {
        self.parsed(key, parse)?
            .ok_or_else(|| Problem::new(format!("`PROJECT` has no `{}{key}`", self.path)).help(RESTORE))
    }

    fn fields(&mut self, key: &str) -> Result<Option<ProjectFields<'a>>, Problem> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Object(map)) => {
                Ok(Some(ProjectFields { text: self.text, path: format!("{}{key}.", self.path), map }))
            }
            Some(_) => Err(self.wrong(key, "it must be a mapping")),
        }
    }

    fn list(&mut self, key: &str) -> Result<Vec<ProjectFields<'a>>, Problem> {
        let Some(value) = self.take(key) else { return Ok(Vec::new()) };
        let Value::Array(items) = value else { return Err(self.wrong(key, "it must be a list")) };
        let entry = |(index, item)| match item {
            Value::Object(map) => {
                Ok(ProjectFields { text: self.text, path: format!("{}{key}[{index}].", self.path), map })
            }
            _ => Err(self.wrong(key, &format!("entry {index} must be a mapping"))),
        };
        items.into_iter().enumerate().map(entry).collect()
    }

    fn strings<T>(&mut self, key: &str, parse: fn(&str) -> Result<T, Problem>) -> Result<Vec<T>, Problem> {
        let Some(value) = self.take(key) else { return Ok(Vec::new()) };
        let Value::Array(items) = value else { return Err(self.wrong(key, "it must be a list of strings")) };
        let entry = |item: &Value| match item.as_str() {
            Some(text) => parse(text).map_err(|problem| self.wrong(key, &problem.message)),
            None => Err(self.wrong(key, "it must be a list of strings")),
        };
        items.iter().map(entry).collect()
    }

    fn wrong(&self, key: &str, why: &str) -> Problem {
        let line = self.line(key).map(|line| format!(":{line}")).unwrap_or_default();
        Problem::new(format!("`PROJECT{line}`: `{}{key}`: {why}", self.path)).help("correct the file")
    }

    fn line(&self, key: &str) -> Option<usize> {
        let lines = (1..).zip(self.text.lines());
        let found: Vec<usize> = if self.path.is_empty() {
            lines.filter(|(_, line)| is_key(line, key)).map(|(number, _)| number).collect()
        } else {
            let inside = lines.skip_while(|(_, line)| !is_key(line, self.section())).skip(1);
            let mut entry = 0;
            inside
                .take_while(|(_, line)| line.starts_with([' ', '-', '#']))
                .filter(|(_, line)| {
                    entry += usize::from(line.starts_with("- "));
                    let key_line = line.trim_start_matches([' ', '-']);
                    self.index().is_none_or(|index| entry == index + 1) && is_key(key_line, key)
                })
                .map(|(number, _)| number)
                .collect()
        };
        match found.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// The top-level key of the path: `resources` in `resources[1].api.`.
    fn section(&self) -> &str {
        self.path.split(['[', '.']).next().unwrap_or_default()
    }

    /// The index below the top-level key: 1 in `resources[1].api.`.
    fn index(&self) -> Option<usize> {
        self.path.split_once('[')?.1.split_once(']')?.0.parse().ok()
    }
}

fn is_key(line: &str, key: &str) -> bool {
    line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
}

pub(super) fn to_value(project: &Project) -> Value {
    let Project {
        cli_version,
        domain,
        multigroup,
        namespaced,
        namespaces,
        plugins,
        name,
        repo,
        owner,
        license,
        manager,
        workspace,
        crds,
        parts,
        resources,
        unknown,
    } = project;
    let mut plugins = plugins.clone();
    let mut own = match plugins.remove(LAYOUT) {
        Some(Value::Object(own)) => own,
        _ => Map::new(),
    };
    put(&mut own, "owner", owner.as_deref());
    put(&mut own, "license", license.as_deref());
    put(&mut own, "manager", (*manager != ManagerSource::Vendored).then(|| manager.to_string()));
    put(&mut own, "workspace", workspace.as_deref());
    put(&mut own, "crds", crds.as_ref().map(CrdPlace::as_str));
    let ProjectParts { leader_election, on } = parts;
    let elected = *leader_election != LeaderElection::default();
    put(&mut own, "leaderElection", elected.then_some(leader_election.as_str()));
    for switch in on {
        put(&mut own, switch.key(), Some(true));
    }
    let namespaces: Vec<&str> = namespaces.iter().map(Namespace::as_str).collect();
    put(&mut own, "namespaces", (!namespaces.is_empty()).then_some(namespaces));
    if !own.is_empty() {
        plugins.insert(LAYOUT.to_owned(), Value::Object(own));
    }
    let mut map = unknown.clone();
    put(&mut map, "cliVersion", cli_version.as_deref());
    put(&mut map, "domain", domain.as_ref().map(Domain::as_str));
    map.insert("layout".to_owned(), json!([LAYOUT]));
    put(&mut map, "multigroup", multigroup.then_some(true));
    put(&mut map, "namespaced", namespaced.then_some(true));
    put(&mut map, "plugins", (!plugins.is_empty()).then_some(Value::Object(plugins)));
    put(&mut map, "projectName", Some(name.as_str()));
    put(&mut map, "repo", repo.as_deref());
    let resources: Vec<Value> = resources.iter().map(resource_value).collect();
    put(&mut map, "resources", (!resources.is_empty()).then_some(resources));
    put(&mut map, "version", Some(FORMAT));
    Value::Object(map)
}

fn resource_value(resource: &Resource) -> Value {
    let Resource {
        group,
        domain,
        version,
        kind,
        plural,
        api,
        controllers,
        core,
        external,
        module,
        path,
        namespaced,
        webhooks,
        unknown,
    } = resource;
    let mut map = unknown.clone();
    if let Some(ResourceApi { crd_version, namespaced, short_names, unknown }) = api {
        let mut api = unknown.clone();
        put(&mut api, "crdVersion", Some(crd_version.as_str()));
        put(&mut api, "namespaced", namespaced.then_some(true));
        let short_names: Vec<&str> = short_names.iter().map(ShortName::as_str).collect();
        put(&mut api, "shortNames", (!short_names.is_empty()).then_some(short_names));
        map.insert("api".to_owned(), Value::Object(api));
    }
    match controllers {
        Controllers::None => {}
        Controllers::Default => put(&mut map, "controller", Some(true)),
        Controllers::Named(names) => {
            let names: Vec<Value> = names.iter().map(|name| json!({ "name": name.as_str() })).collect();
            put(&mut map, "controllers", Some(names));
        }
    }
    put(&mut map, "core", core.then_some(true));
    put(&mut map, "domain", domain.as_ref().map(Domain::as_str));
    put(&mut map, "external", external.then_some(true));
    put(&mut map, "group", (!group.is_empty()).then_some(group.as_str()));
    put(&mut map, "kind", Some(kind.as_str()));
    put(&mut map, "module", module.as_deref());
    put(&mut map, "namespaced", (!namespaced).then_some(false));
    put(&mut map, "path", path.as_deref());
    put(&mut map, "plural", (!core && *plural != kind.default_plural()).then_some(plural.as_str()));
    put(&mut map, "version", Some(version.as_str()));
    put(&mut map, "webhooks", webhooks.clone());
    Value::Object(map)
}

fn put(map: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value.into());
    }
}
