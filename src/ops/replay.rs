//! PROJECT → the scaffold of its recorded commands: `init`, each `create api`, each `create webhook`.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::create_api::{self, CreateApiOptions, ImageOptions};
use super::create_webhook::{self, CreateWebhookOptions};
use super::external::ExternalOptions;
use super::init;
use crate::plan::{Draft, IfExists, RECORD, RelPath};
use crate::project::name::ControllerName;
use crate::project::webhook::ProjectWebhooks;
use crate::project::{Controllers, DEPLOY_IMAGE, Project, Resource};

/// The scaffolded files, without PROJECT and generated files. Rust files are not formatted.
pub(crate) type Scaffold = BTreeMap<RelPath, String>;

pub(crate) fn replay(project: &Project) -> Result<Scaffold> {
    scaffold(project).context("cannot scaffold the project again from `PROJECT`")
}

fn scaffold(project: &Project) -> Result<Scaffold> {
    let mut draft = Draft::imagined();
    let mut bare = Project { resources: Vec::new(), ..project.clone() };
    bare.plugins.remove(DEPLOY_IMAGE);
    let _reported_before = init::scaffold(&mut draft, &bare, IfExists::Overwrite)?;
    for resource in &project.resources {
        if resource.is_adopted() {
            create_api::adopted_kind(&mut draft, resource)?;
            continue;
        }
        for options in apis(project, resource) {
            let _reported_before = create_api::run(&mut draft, &options)?;
        }
    }
    for resource in project.resources.iter().filter(|_| !project.is_adopted()) {
        if let Some(options) = webhooks(project, resource)? {
            let _reported_before = create_webhook::run(&mut draft, &options)?;
        }
    }
    let paths: Vec<RelPath> = draft.paths().filter(|path| path.as_str() != RECORD).cloned().collect();
    let mut files = Scaffold::new();
    for path in paths {
        if let Some(text) = draft.read(&path)? {
            files.insert(path, text);
        }
    }
    Ok(files)
}

/// The group as `create api` takes it.
fn group(resource: &Resource) -> String {
    match resource.qualified_group() {
        _ if !resource.core => resource.group.to_string(),
        group if group.is_empty() => "core".to_owned(),
        group => group,
    }
}

/// The runs of `create api` for a resource.
fn apis(project: &Project, resource: &Resource) -> Vec<CreateApiOptions> {
    let Resource { version, kind, plural, api, controllers, core, namespaced, .. } = resource;
    let default = resource.default_controller_name(project.multigroup);
    let names: Vec<Option<&ControllerName>> = match controllers {
        Controllers::None => Vec::new(),
        Controllers::Default => vec![None],
        // Among several controllers, the default name stands for the controller without a name of its own.
        Controllers::Named(names) => {
            names.iter().map(|name| Some(name).filter(|name| name.as_str() != default)).collect()
        }
    };
    let own = CreateApiOptions {
        group: group(resource),
        version: version.to_string(),
        kind: kind.to_string(),
        resource: Some(api.is_some()),
        controller: Some(!names.is_empty()),
        namespaced: api.as_ref().map_or(*namespaced, |api| api.namespaced),
        external: external(project, resource),
        plural: Some(plural.to_string()).filter(|_| !core),
        short_names: api.iter().flat_map(|api| &api.short_names).map(ToString::to_string).collect(),
        controller_name: names.first().copied().flatten().map(ToString::to_string),
        image: image(project, resource),
        ..CreateApiOptions::default()
    };
    if api.is_none() && names.is_empty() && !resource.has_local_types() {
        return Vec::new();
    }
    let more = names.iter().skip(1).map(|name| CreateApiOptions {
        resource: Some(false),
        controller_name: name.map(ToString::to_string),
        image: None,
        ..own.clone()
    });
    let more: Vec<CreateApiOptions> = more.collect();
    [own].into_iter().chain(more).collect()
}

/// The location of a resource's type.
fn external(project: &Project, resource: &Resource) -> ExternalOptions {
    let domain = resource.domain.as_ref().map(ToString::to_string);
    match (resource.external, resource.core || resource.domain == project.domain) {
        (true, _) => ExternalOptions { path: resource.path.clone(), domain, module: resource.module.clone() },
        (false, true) => ExternalOptions::default(),
        (false, false) => ExternalOptions { domain, ..ExternalOptions::default() },
    }
}

/// The image that the controller of a resource deploys.
fn image(project: &Project, resource: &Resource) -> Option<ImageOptions> {
    let entries = project.plugins.get(DEPLOY_IMAGE)?.get("resources")?.as_array()?;
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let entry = entries.iter().find(|entry| {
        text(entry, "group") == resource.group.as_str()
            && text(entry, "version") == resource.version.as_str()
            && text(entry, "kind") == resource.kind.as_str()
    })?;
    let options = entry["options"].as_object()?;
    let option = |key: &str| options.get(key).and_then(Value::as_str);
    Some(ImageOptions {
        name: option("image")?.to_owned(),
        container_port: option("containerPort").and_then(|port| port.parse().ok()),
        container_command: option("containerCommand")
            .map(|parts| parts.split(',').map(str::to_owned).collect())
            .unwrap_or_default(),
        run_as_user: option("runAsUser").and_then(|user| user.parse().ok()),
    })
}

/// One run of `create webhook` that adds all webhooks of a resource.
fn webhooks(project: &Project, resource: &Resource) -> Result<Option<CreateWebhookOptions>> {
    let ProjectWebhooks { conversion, defaulting, defaulting_path, spoke, validation, validation_path, .. } =
        ProjectWebhooks::of(resource).with_context(|| resource.display())?;
    if !(conversion || defaulting || validation) {
        return Ok(None);
    }
    Ok(Some(CreateWebhookOptions {
        group: group(resource),
        version: resource.version.to_string(),
        kind: resource.kind.to_string(),
        plural: Some(resource.plural.to_string()).filter(|_| resource.external),
        defaulting,
        validation,
        conversion,
        spokes: spoke,
        defaulting_path,
        validation_path,
        external: external(project, resource),
        ..CreateWebhookOptions::default()
    }))
}

#[cfg(test)]
mod tests;
