//! `create api --from-go`: a project of kubebuilder in Go → the same APIs, controllers, webhooks and markers in Rust.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::create_api::{self, CreateApiOptions};
use super::create_webhook::{self, CreateWebhookOptions};
use super::{UsageError, from_crd, manifests, rendered};
use crate::diagnostic::{Diagnostics, Problem};
use crate::edit::rust;
use crate::plan::{Draft, RECORD, RelPath};
use crate::project::name::ControllerName;
use crate::project::webhook::ProjectWebhooks;
use crate::project::{Controllers, Project, Resource};

const MANIFESTS: &str = "run `make manifests` in the project in Go";

/// Folders of Go code that is not part of the operator.
const OTHER_GO: [&str; 3] = ["vendor/", "test/", "hack/"];

/// The comment that starts a permission.
const RBAC: &str = "+kubebuilder:rbac:";

/// The comment that starts a webhook.
const WEBHOOK: &str = "+kubebuilder:webhook:";

/// A project in Go, as far as it is read.
struct GoProject {
    project: Project,
    /// The CRDs in `config/crd`, by group and kind.
    crds: BTreeMap<(String, String), Value>,
    /// The markers by file, in the order of the files.
    markers: Vec<(String, Vec<String>)>,
}

/// Adds everything that the project in a folder records to the project of the draft.
pub(crate) fn run(draft: &mut Draft, folder: &Path, given: &CreateApiOptions) -> Result<Diagnostics> {
    let mut project = Project::recorded(draft)?;
    let go = read(folder)?;
    if go.project.multigroup && !project.multigroup {
        let problem = Problem::new("the project in Go has a folder for each API group");
        return Err(problem.help("run `memcached-sdk edit --multigroup` first").into());
    }
    refuse_unknown_types(&project, &go)?;
    let mut found = Diagnostics::default();
    for resource in &go.project.resources {
        for options in apis(&project, &go, resource, given)? {
            let planned = create_api::run(draft, &options).with_context(|| resource.display())?;
            let _next_step_of_one_kind = planned.report(&mut found);
        }
        project = Project::recorded(draft)?;
    }
    for resource in &go.project.resources {
        if let Some(options) = webhooks(&go.project, resource, given)? {
            found.extend(create_webhook::run(draft, &options).with_context(|| resource.display())?);
        }
    }
    keep_markers(draft, &Project::recorded(draft)?, &go)?;
    if given.generate {
        found.extend(manifests::manifests(draft, &Project::recorded(draft)?)?);
    }
    Ok(found)
}

fn read(folder: &Path) -> Result<GoProject> {
    let text = rendered::read(&folder.join(RECORD), "pass the folder of a project that kubebuilder has made")?;
    let project = Project::parse_of_go(&text)?;
    let mut crds = BTreeMap::new();
    for crd in rendered::documents(&folder.join("config/crd"), MANIFESTS)? {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if crd["kind"] == "CustomResourceDefinition" && crd["spec"]["versions"].is_array() {
            crds.insert((text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["kind"])), crd);
        }
    }
    let mut markers = Vec::new();
    for path in rendered::files(folder)? {
        let is_other = OTHER_GO.iter().any(|other| path.starts_with(other)) || path.ends_with("_test.go");
        if is_other || Path::new(&path).extension().is_none_or(|extension| extension != "go") {
            continue;
        }
        let text = rendered::read(&folder.join(&path), "make the file readable")?;
        let comments = text.lines().filter_map(|line| line.trim().strip_prefix("//"));
        let own =
            comments.map(str::trim).filter(|comment| [RBAC, WEBHOOK].iter().any(|name| comment.starts_with(name)));
        let own: Vec<String> = own.map(|comment| format!("// {comment}")).collect();
        if !own.is_empty() {
            markers.push((path, own));
        }
    }
    Ok(GoProject { project, crds, markers })
}

/// Returns true for a kind of Kubernetes. Earlier releases of kubebuilder record only its package.
fn is_builtin(resource: &Resource) -> bool {
    resource.core || resource.path.as_ref().is_some_and(|path| path.starts_with("k8s.io/api/"))
}

fn crd<'a>(go: &'a GoProject, resource: &Resource) -> Option<&'a Value> {
    go.crds.get(&(resource.qualified_group(), resource.kind.to_string()))
}

/// Refuses kinds without a CRD, since their types in Go cannot be read.
fn refuse_unknown_types(project: &Project, go: &GoProject) -> Result<()> {
    let is_unknown = |resource: &&Resource| {
        let is_here = |other: &Resource| {
            other.qualified_group() == resource.qualified_group() && other.kind == resource.kind && other.external
        };
        !is_builtin(resource) && crd(go, resource).is_none() && !project.resources.iter().any(is_here)
    };
    let unknown: Vec<&Resource> = go.project.resources.iter().filter(is_unknown).collect();
    let Some(first) = unknown.first() else { return Ok(()) };
    let names: Vec<String> = unknown.iter().map(|resource| format!("`{}`", resource.display())).collect();
    let problem = Problem::new(format!("`config/crd` has no CRD of {}", names.join(", ")));
    let help = if first.api.is_some() {
        MANIFESTS.to_owned()
    } else {
        let name = first.crd_name();
        format!(
            "write the types of another project's kind first: `kubectl get crd {name} --output yaml | memcached-sdk create api \
             --external --from-crd -`"
        )
    };
    Err(UsageError(problem.help(help)).into())
}

/// The runs of `create api` for an entry of PROJECT. The first version of a kind stands for all that the CRD has.
fn apis(
    project: &Project,
    go: &GoProject,
    resource: &Resource,
    given: &CreateApiOptions,
) -> Result<Vec<CreateApiOptions>> {
    let of_kind: Vec<&Resource> =
        go.project.resources.iter().filter(|other| other.same_group_kind(resource) && other.api.is_some()).collect();
    let names: Vec<Option<String>> = match of_kind.first() {
        Some(first) if !first.same_gvk(resource) => return Ok(Vec::new()),
        Some(_) => of_kind.iter().flat_map(|version| controllers(&go.project, version)).collect(),
        None => controllers(&go.project, resource),
    };
    let own = CreateApiOptions {
        group: group(resource),
        whole_group: Some(true),
        version: resource.version.to_string(),
        kind: resource.kind.to_string(),
        resource: Some(false),
        controller: Some(!names.is_empty()),
        controller_name: names.first().cloned().flatten(),
        namespaced: true,
        force: given.force,
        ..CreateApiOptions::default()
    };
    let is_here = |other: &&Resource| {
        other.qualified_group() == resource.qualified_group() && other.kind == resource.kind && !other.core
    };
    let here = project.resources.iter().find(is_here);
    let first = match (crd(go, resource), here) {
        (Some(crd), _) if resource.api.is_some() => {
            let own = CreateApiOptions {
                version: String::new(),
                whole_group: None,
                resource: None,
                namespaced: is_namespaced(crd),
                ..own.clone()
            };
            from_crd::own_options(project, crd.clone(), &own)?
        }
        (Some(crd), None) if !is_builtin(resource) => {
            let own = CreateApiOptions { resource: None, namespaced: is_namespaced(crd), ..own.clone() };
            vec![from_crd::external_options(crd.clone(), &own)?]
        }
        _ if names.is_empty() => Vec::new(),
        _ => vec![own.clone()],
    };
    // All controllers of a kind use the version that is stored, and its status.
    let version = first.first().map_or_else(|| own.version.clone(), |first| first.version.clone());
    let types = first.first().filter(|_| resource.api.is_some()).and_then(|first| first.types.clone());
    let more = names.into_iter().skip(1).map(|controller_name| CreateApiOptions {
        controller_name,
        version: version.clone(),
        types: types.clone(),
        ..own.clone()
    });
    let more: Vec<CreateApiOptions> = more.collect();
    Ok(first.into_iter().chain(more).collect())
}

fn is_namespaced(crd: &Value) -> bool {
    crd["spec"]["scope"] == "Namespaced"
}

/// The group as the commands take it.
fn group(resource: &Resource) -> String {
    match resource.qualified_group() {
        group if group.is_empty() => "core".to_owned(),
        group => group,
    }
}

/// The names of the controllers; `None` for the one that is named after the kind.
fn controllers(project: &Project, resource: &Resource) -> Vec<Option<String>> {
    let usual = [resource.kind_lower(), resource.default_controller_name(project.multigroup)];
    let name = |name: &ControllerName| Some(name.to_string()).filter(|name| !usual.contains(name));
    match &resource.controllers {
        Controllers::None => Vec::new(),
        Controllers::Default => vec![None],
        Controllers::Named(names) => names.iter().map(name).collect(),
    }
}

/// The run of `create webhook` for an entry of PROJECT.
fn webhooks(go: &Project, resource: &Resource, given: &CreateApiOptions) -> Result<Option<CreateWebhookOptions>> {
    let ProjectWebhooks { conversion, defaulting, defaulting_path, mut spoke, validation, validation_path, .. } =
        ProjectWebhooks::of(resource)?;
    // Earlier releases of kubebuilder do not record the spokes, and record the conversion with each version.
    let others = || go.other_versions(resource).filter(|other| other.api.is_some());
    let is_hub_elsewhere = others().any(|other| {
        let all = go.resources.iter();
        let before = all.take_while(|entry| !entry.same_gvk(resource)).any(|entry| entry.same_gvk(other));
        before && other.webhooks.as_ref().is_some_and(|webhooks| webhooks["conversion"] == true)
    });
    if conversion && spoke.is_empty() {
        spoke = others().map(|other| other.version.to_string()).collect();
    }
    let conversion = conversion && !spoke.is_empty() && !is_hub_elsewhere;
    if !(conversion || defaulting || validation) {
        return Ok(None);
    }
    Ok(Some(CreateWebhookOptions {
        group: group(resource),
        version: resource.version.to_string(),
        kind: resource.kind.to_string(),
        defaulting,
        validation,
        conversion,
        spokes: if conversion { spoke } else { Vec::new() },
        defaulting_path: defaulting_path.filter(|_| defaulting),
        validation_path: validation_path.filter(|_| validation),
        force: given.force,
        ..CreateWebhookOptions::default()
    }))
}

/// Replaces the scaffolded markers of webhooks by those in Go, and adds the permissions: to the controller of the same name, else
/// to `src/main.rs`.
fn keep_markers(draft: &mut Draft, project: &Project, go: &GoProject) -> Result<()> {
    let paths: Vec<RelPath> = draft.paths().filter(|path| path.is_rust()).cloned().collect();
    for (file, markers) in &go.markers {
        let (permissions, webhooks): (Vec<&String>, Vec<&String>) =
            markers.iter().partition(|marker| marker.contains(RBAC));
        for marker in webhooks {
            let Some(served) = path_of(marker) else { continue };
            for path in paths.iter().filter(|path| path.as_str().starts_with("src/webhook/")) {
                draft.edit(path, |text| {
                    let is_same = |line: &str| line.contains(WEBHOOK) && path_of(line) == Some(served);
                    rust::replace_lines(text, is_same, marker)
                })?;
            }
        }
        if !permissions.is_empty() {
            let path = controller_file(project, &paths, file).unwrap_or(RelPath::new("src/main.rs")?);
            draft.edit(&path, |text| rust::add_comments(text, RBAC, &permissions))?;
        }
    }
    Ok(())
}

/// The path at which a webhook is served.
fn path_of(marker: &str) -> Option<&str> {
    let arguments = marker.split_once(WEBHOOK)?.1;
    arguments.split(',').find_map(|argument| argument.trim().strip_prefix("path="))
}

/// The controller in Rust of a file in Go: `captain_controller.go` and `crew/captain_controller.go` are `captain.rs`.
fn controller_file(project: &Project, paths: &[RelPath], file: &str) -> Option<RelPath> {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let plain = |text: &str| text.replace(['_', '-', '.'], "");
    let name = plain(name.strip_suffix(".go")?.trim_end_matches("_controller").trim_end_matches("_reconciler"));
    let group = plain(folder.rsplit('/').next().unwrap_or_default());
    let is_meant = |path: &&RelPath| {
        let Some(rest) = path.as_str().strip_prefix("src/controller/") else { return false };
        let parts: Vec<String> = rest.trim_end_matches(".rs").split('/').map(plain).collect();
        match parts.as_slice() {
            [controller] => !project.multigroup && *controller == name,
            [folder, controller] => project.multigroup && *folder == group && *controller == name,
            _ => false,
        }
    };
    paths.iter().find(is_meant).cloned()
}
