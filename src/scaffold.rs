//! Scaffolds projects and resources: renders templates and edits existing files.
//!
//! Input: a template context, derived from PROJECT and flags. Output: files and edits in a [`Draft`], and findings.
//! Must stay true: only this room knows the templates, and the disk is only read.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::{Map, Value};

use self::context::{
    BuiltinContext, ChartContext, ControllerContext, DeployImageContext, ProjectContext, ResourceContext,
};
use self::rustfmt::Formatted;
use self::template::Rendered;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::edit::cargo_toml::{self, DependencyEdit, Section};
use crate::edit::{container, kustomization, rust, scaffold_marker};
use crate::plan::{Draft, IfExists, RelPath};
use crate::project::parts::{LeaderElection, ProjectSwitch};
use crate::project::{Project, Resource};
use crate::source::CargoManifest;
use crate::yaml;

pub(crate) mod context;
pub(crate) mod edition;
pub(crate) mod manager;
mod rustfmt;
mod template;
pub(crate) mod webhook;

/// Scaffolds a project without APIs, except for its PROJECT file and the manager.
pub(crate) fn project(draft: &mut Draft, context: &ProjectContext, if_exists: IfExists) -> Result<Diagnostics> {
    let mut found = put(draft, template::render("init", context)?, if_exists)?;
    for (set, part) in [("grafana", ProjectSwitch::Grafana), ("helm", ProjectSwitch::Helm)] {
        if context.parts.contains(&part.key()) {
            found.extend(put(draft, template::render(set, context)?, if_exists)?);
        }
    }
    if context.manager_source == "vendored" {
        found.extend(put(draft, template::render("vendored", context)?, if_exists)?);
    }
    found.extend(put(draft, licenses(context)?, IfExists::Skip)?);
    Ok(found)
}

/// Scaffolds the manifests of a crate that existed before the project.
pub(crate) fn adopted(draft: &mut Draft, context: &ProjectContext, if_exists: IfExists) -> Result<Diagnostics> {
    // Once `create api` has written the root of the types, it stays: the crate declares it.
    let root = |path: &str| path == API_ROOT && draft.is_imagined();
    let shared = only(template::render("init", context)?, |path| OF_EVERY_OPERATOR.contains(&path) || root(path));
    put(draft, overlay(shared, template::render("adopt", context)?), if_exists)
}

/// The module of the types.
const API_ROOT: &str = "src/api.rs";

/// The module of the types of other projects' kinds.
const EXTERNAL: &str = "external";

/// A part of the scaffold that an existing crate gets on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AdoptedPart {
    Makefile,
    Dockerfile,
    Workflows,
}

/// Scaffolds parts of an existing crate. The name of its package is in the context.
pub(crate) fn adopted_parts(draft: &mut Draft, context: &ProjectContext, parts: &BTreeSet<AdoptedPart>) -> Result<()> {
    let of_part = |path: &str| {
        let part = match path {
            "Makefile" => AdoptedPart::Makefile,
            path if path == "Dockerfile" || path == context.ignore_file => AdoptedPart::Dockerfile,
            _ => return false,
        };
        parts.contains(&part)
    };
    let mut files = only(template::render("init", context)?, of_part);
    if parts.contains(&AdoptedPart::Workflows) {
        files.extend(template::render("adopt-workflows", context)?);
    }
    // No Rust file is written, so there is nothing to format.
    let _unformatted = put(draft, files, IfExists::Skip)?;
    Ok(())
}

/// The manifests of a project that do not depend on the runtime.
const OF_EVERY_OPERATOR: [&str; 3] =
    ["config/manager/kustomization.yaml", "config/rbac/role_binding.yaml", "config/rbac/service_account.yaml"];

/// Enables the project's optional parts, which the scaffold leaves commented out.
pub(crate) fn parts(draft: &mut Draft, project: &Project) -> Result<()> {
    let parts = &project.parts;
    let default = "config/default/kustomization.yaml";
    let mut uncomment =
        |path: &str, block: &str| draft.edit(&RelPath::new(path)?, |text| kustomization::uncomment(text, block));
    if parts.on.contains(&ProjectSwitch::Prometheus) {
        uncomment(default, "- ../prometheus")?;
    }
    if parts.on.contains(&ProjectSwitch::NetworkPolicy) {
        uncomment(default, "- ../network-policy")?;
    }
    if parts.on.contains(&ProjectSwitch::MetricsCert) {
        uncomment(default, "- path: cert_metrics_manager_patch.yaml\n  target:\n    kind: Deployment")?;
        let check = "patches:\n- path: monitor_tls_patch.yaml\n  target:\n    kind: ServiceMonitor";
        uncomment("config/prometheus/kustomization.yaml", check)?;
    }
    if parts.leader_election == LeaderElection::Life {
        uncomment(default, "components:\n- ../components/leader-for-life")?;
    }
    if parts.on.contains(&ProjectSwitch::MetricsCert) {
        // The server name that Prometheus verifies follows the Service's name and namespace.
        for Rendered { text: block, .. } in template::render("metrics-replacements", &ProjectContext::new(project))? {
            draft.edit(&RelPath::new(default)?, |text| kustomization::add_block(text, "replacements", &block))?;
        }
    }
    if parts.leader_election == LeaderElection::Life {
        draft.edit(&RelPath::new("Cargo.toml")?, |text| {
            cargo_toml::add_feature(text, Section::Dependencies, "manager", "leader-for-life")
        })?;
    }
    Ok(())
}

/// Scaffolds the files of a Helm chart, except for templates and values.
pub(crate) fn chart(draft: &mut Draft, folder: &str, context: &ChartContext, if_exists: IfExists) -> Result<()> {
    for Rendered { path, text } in template::render("chart", context)? {
        draft.scaffold(RelPath::new(format!("{folder}/{path}"))?, text, if_exists);
    }
    Ok(())
}

/// Scaffolds the kustomize files for a bundle, except for the base of the CSV.
pub(crate) fn bundle(draft: &mut Draft, context: &ProjectContext, if_exists: IfExists) -> Result<Diagnostics> {
    put(draft, template::render("olm", context)?, if_exists)
}

/// Formats a Rust file, if rustfmt is available.
pub(crate) fn formatted(path: &RelPath, text: &str) -> String {
    match path.is_rust().then(|| rustfmt::format(text)) {
        Some(Formatted::Yes(text)) => text,
        Some(Formatted::No) | None => text.to_owned(),
    }
}

/// Formats the edited text of a file that was formatted before. The author's own format stays.
pub(crate) fn formatted_as(path: &RelPath, before: &str, edited: String) -> String {
    let is_formatted = edited != before && formatted(path, before) == before;
    if is_formatted { formatted(path, &edited) } else { edited }
}

fn licenses(context: &ProjectContext) -> Result<Vec<Rendered>> {
    let files = match context.license.as_str() {
        "Apache-2.0" => &[("LICENSE-APACHE", "LICENSE")] as &[_],
        "MIT" => &[("LICENSE-MIT", "LICENSE")],
        "MIT OR Apache-2.0" => &[("LICENSE-APACHE", "LICENSE-APACHE"), ("LICENSE-MIT", "LICENSE-MIT")],
        _ => &[],
    };
    let texts = template::render("license", context)?.into_iter();
    Ok(texts
        .filter_map(|text| {
            let (_, path) = files.iter().find(|(name, _)| *name == text.path)?;
            Some(Rendered { path: (*path).to_owned(), ..text })
        })
        .collect())
}

/// The types of an API and its sample.
pub(crate) enum ApiFiles<'a> {
    /// A spec with an example field.
    Example,
    DeployImage(&'a DeployImageContext),
    /// The text of the types, and the fields of the sample.
    Types {
        types: &'a str,
        fields: Map<String, Value>,
    },
}

/// Scaffolds the type of a resource or of a further version, with its files in config/.
pub(crate) fn api(draft: &mut Draft, api: &ResourceContext, body: &ApiFiles<'_>, force: bool) -> Result<Diagnostics> {
    let mut files = template::render("api", api)?;
    match body {
        ApiFiles::Example => {}
        ApiFiles::DeployImage(deploy_image) => {
            files = overlay(files, only(template::render("deploy-image", deploy_image)?, |path| !is_controller(path)));
        }
        ApiFiles::Types { types, fields } => {
            for file in &mut files {
                if template::is_rust(&file.path) {
                    (*types).clone_into(&mut file.text);
                } else {
                    let fields =
                        if fields.is_empty() { String::new() } else { yaml::document(&Value::Object(fields.clone())) };
                    file.text = file.text.replace("spec: {}\n", &fields);
                }
            }
        }
    }
    let mut found = put(draft, files, if force { IfExists::Overwrite } else { IfExists::Refuse })?;
    found.extend(manifests(draft, api, force)?);
    let is_adopted = api.project.manager_source == "none";
    let is_list = |path: &str| is_code(path) && !(is_adopted && path.starts_with("tests/"));
    found.extend(put(draft, only(template::render("api-lists", api)?, is_list), IfExists::Skip)?);
    if is_adopted {
        let root = only(template::render("init", &api.project)?, |path| path == API_ROOT);
        found.extend(put(draft, root, IfExists::Skip)?);
    }

    let ResourceContext { group_snake, version_snake, kind_snake, api_dir, .. } = api;
    if api.project.multigroup {
        found.extend(put(draft, template::render("api-group", api)?, IfExists::Skip)?);
        module(draft, "src/api.rs", group_snake)?;
        module(draft, &format!("src/api/{group_snake}.rs"), version_snake)?;
    } else {
        module(draft, "src/api.rs", version_snake)?;
    }
    module(draft, &format!("src/api/{api_dir}.rs"), kind_snake)?;

    if is_adopted {
        declare_in_crate(draft, "api")?;
        return Ok(found);
    }
    let ResourceContext { kind_type, api_use, .. } = api;
    let test = format!("{api_use}::{kind_type}::crd(),");
    marker(draft, "tests/crds.rs", "crds", &test)?;
    depend(draft, &API_DEPENDENCIES)?;
    Ok(found)
}

/// Declares a module of types in a crate that was there before its project, and adds the dependencies of types.
fn declare_in_crate(draft: &mut Draft, name: &str) -> Result<()> {
    if draft.is_imagined() {
        return Ok(());
    }
    if let Some(root) = crate_root(draft)? {
        draft.edit(&root, |text| rust::declare_module(text, name))?;
    }
    let is_old = uses_old_schemars(draft);
    let dependencies = API_DEPENDENCIES.map(|(section, dependency)| match dependency.name {
        "schemars" if is_old => (section, DependencyEdit { version: "0.8", ..dependency }),
        _ => (section, dependency),
    });
    depend(draft, &dependencies)
}

/// The file in which an existing crate declares modules that all its programs may use.
fn crate_root(draft: &Draft) -> Result<Option<RelPath>> {
    for root in ["src/lib.rs", "src/main.rs"] {
        let root = RelPath::new(root)?;
        if draft.read(&root)?.is_some() {
            return Ok(Some(root));
        }
    }
    Ok(None)
}

/// Returns true if the crate is on a kube before version 2, which uses schemars 0.8.
pub(crate) fn uses_old_schemars(draft: &Draft) -> bool {
    let manifest = CargoManifest::of(draft.root());
    let kube = manifest.as_ref().and_then(|manifest| manifest.dependency_on("kube").next());
    let required = kube.and_then(|kube| kube.requirement.as_deref()).unwrap_or_default();
    let major = required.trim_start_matches(|c: char| !c.is_ascii_digit()).split('.').next();
    matches!(major, Some("0" | "1"))
}

/// Removes the module of types without any, and the declarations of modules that are gone, from a crate that was there before its
/// project. The dependencies stay: other code may use them.
pub(crate) fn retract_from_crate(draft: &mut Draft, context: &ProjectContext) -> Result<()> {
    let Some(root) = crate_root(draft)? else { return Ok(()) };
    for name in ["api", EXTERNAL] {
        let path = RelPath::new(format!("src/{name}.rs"))?;
        if let Some(text) = draft.read(&path)? {
            let empty = only(template::render("init", context)?, |file| file == path.as_str()).pop();
            if empty.is_none_or(|empty| formatted(&path, &empty.text) != text.replace("\r\n", "\n")) {
                continue;
            }
        }
        let before = draft.read(&root)?;
        draft.edit(&root, |text| rust::retract_module(text, name))?;
        if draft.read(&root)? != before && draft.read(&path)?.is_some() {
            draft.remove(path);
        }
    }
    Ok(())
}

/// Scaffolds the manifests of a kind whose types exist already.
pub(crate) fn adopted_kind(draft: &mut Draft, api: &ResourceContext) -> Result<Diagnostics> {
    let sample = only(template::render("api", api)?, |path| !is_code(path));
    let mut found = put(draft, sample, IfExists::Skip)?;
    found.extend(manifests(draft, api, false)?);
    Ok(found)
}

/// Scaffolds the roles of a kind, and the lists with its CRD and its sample.
fn manifests(draft: &mut Draft, api: &ResourceContext, force: bool) -> Result<Diagnostics> {
    let roles = if force { IfExists::Overwrite } else { IfExists::Skip };
    let mut found = put(draft, template::render("roles", api)?, roles)?;
    found.extend(put(draft, only(template::render("api-lists", api)?, |path| !is_code(path)), IfExists::Skip)?);
    let ResourceContext { role_file_prefix, sample_file, crd_file, .. } = api;
    if api.project.manager_source == "none" && !draft.is_imagined() {
        list(draft, "config/crd/kustomization.yaml", &[format!("bases/{crd_file}")])?;
        list(draft, "config/samples/kustomization.yaml", std::slice::from_ref(sample_file))?;
        let roles = ["admin", "editor", "viewer"].map(|who| format!("{role_file_prefix}_{who}_role.yaml"));
        list(draft, "config/rbac/kustomization.yaml", &roles)?;
        list(draft, "config/default/kustomization.yaml", &["../crd".to_owned()])?;
        return Ok(found);
    }
    marker(draft, "config/crd/kustomization.yaml", "crdkustomizeresource", &format!("- bases/{crd_file}"))?;
    marker(draft, "config/samples/kustomization.yaml", "manifestskustomizesamples", &format!("- {sample_file}"))?;
    let roles: Vec<_> = ["admin", "editor", "viewer"].map(|who| format!("- {role_file_prefix}_{who}_role.yaml")).into();
    marker(draft, "config/rbac/kustomization.yaml", "userroles", &roles.join("\n"))?;
    let default = RelPath::new("config/default/kustomization.yaml")?;
    draft.edit(&default, |text| kustomization::uncomment(text, "- ../crd"))?;
    Ok(found)
}

/// Scaffolds the types of a kind of another project. `modules` lead to their file.
pub(crate) fn external(
    draft: &mut Draft,
    api: &ResourceContext,
    modules: &[String; 4],
    types: &str,
    force: bool,
) -> Result<Diagnostics> {
    let [external, group, version, kind] = modules;
    let mut found = put(draft, template::render("external", api)?, IfExists::Skip)?;
    let file = Rendered { path: format!("src/{}.rs", modules.join("/")), text: types.to_owned() };
    found.extend(put(draft, vec![file], if force { IfExists::Overwrite } else { IfExists::Refuse })?);
    module(draft, &format!("src/{external}.rs"), group)?;
    module(draft, &format!("src/{external}/{group}.rs"), version)?;
    module(draft, &format!("src/{external}/{group}/{version}.rs"), kind)?;
    if api.project.manager_source == "none" {
        declare_in_crate(draft, external)?;
    } else {
        draft.edit(&RelPath::new("src/lib.rs")?, |text| rust::add_module(text, external))?;
        depend(draft, &API_DEPENDENCIES)?;
    }
    Ok(found)
}

/// Dependencies of the types of an API.
const API_DEPENDENCIES: [(Section, DependencyEdit); 3] = [
    (Section::Dependencies, dependency("schemars", "1")),
    (Section::Dependencies, DependencyEdit { features: &["derive"], ..dependency("serde", "1") }),
    (Section::Dependencies, dependency("serde_json", "1")),
];

/// Dependencies of the tests of a controller.
const TEST_DEPENDENCIES: [(Section, DependencyEdit); 2] = [
    (Section::DevDependencies, dependency("serde_json", "1")),
    (Section::DevDependencies, DependencyEdit { features: &["macros"], ..dependency("tokio", "1") }),
];

const fn dependency<'a>(name: &'a str, version: &'a str) -> DependencyEdit<'a> {
    DependencyEdit { name, version, default_features: true, features: &[] }
}

fn depend(draft: &mut Draft, dependencies: &[(Section, DependencyEdit)]) -> Result<()> {
    let manifest = RelPath::new("Cargo.toml")?;
    for (section, dependency) in dependencies {
        draft.edit(&manifest, |text| cargo_toml::add_dependency(text, *section, dependency))?;
    }
    Ok(())
}

pub(crate) fn depend_on(draft: &mut Draft, name: &str, version: &str) -> Result<()> {
    depend(draft, &[(Section::Dependencies, dependency(name, version))])
}

pub(crate) enum Controller<'a> {
    /// Watches an API of the project; the user writes the reconciler.
    Plain(&'a ControllerContext),
    /// Watches a built-in or external type; the user writes the reconciler.
    Builtin(&'a BuiltinContext),
    DeployImage(&'a DeployImageContext),
}

/// Scaffolds a controller and its registration in `main`. With its recorded kind in `explored`, a controller that acts on a
/// kind of the project gets a test that explores it.
pub(crate) fn controller(
    draft: &mut Draft,
    controller: &Controller,
    explored: Option<&Resource>,
    force: bool,
) -> Result<Diagnostics> {
    let (mut files, context) = match controller {
        Controller::Plain(context) => (template::render("controller", context)?, *context),
        Controller::Builtin(context) => (template::render("builtin", context)?, &context.controller),
        Controller::DeployImage(context) => {
            (only(template::render("deploy-image", context)?, is_controller), &context.controller)
        }
    };
    // The CRD of another version than the stored one cannot be installed on its own.
    let explored = explored.filter(|_| context.resource.storage && !matches!(controller, Controller::Builtin(_)));
    if explored.is_some() {
        files.extend(template::render("explore", context)?);
    }
    let mut found = put(draft, files, if force { IfExists::Overwrite } else { IfExists::Refuse })?;
    if let Some(kind) = explored {
        webhook::explored(draft, kind, &context.resource, std::slice::from_ref(&context.test_file))?;
    }
    depend(draft, &TEST_DEPENDENCIES)?;
    let ControllerContext { resource, controller_snake, controller_dir, controller_mod, .. } = context;
    if controller_dir.is_empty() {
        module(draft, "src/controller.rs", controller_snake)?;
    } else {
        found.extend(put(draft, template::render("controller-group", resource)?, IfExists::Skip)?);
        module(draft, "src/controller.rs", &resource.group_snake)?;
        module(draft, &format!("src/controller/{}.rs", resource.group_snake), controller_snake)?;
    }
    let path = controller_mod.replacen("crate", &resource.project.crate_name, 1);
    marker(draft, "src/main.rs", "controllers", &registration(&format!("{path}::register")))?;
    let told = match controller {
        Controller::Plain(_) => "jsonpath={.status.conditions}",
        Controller::Builtin(_) => return Ok(found),
        Controller::DeployImage(context) => {
            image_env(draft, context, force)?;
            "condition=Available"
        }
    };
    found.extend(put(draft, only(template::render("init", &resource.project)?, |path| path == E2E), IfExists::Skip)?);
    marker(draft, E2E, "e2e-samples", &format!("(\"{}\", \"{told}\"),", resource.sample_file))?;
    Ok(found)
}

/// The end-to-end test, which lists the samples of kinds with a controller.
const E2E: &str = "tests/e2e.rs";

/// The call in `main`, with rustfmt's line breaks: of 100 columns, the indentation takes 8 and `.with()` 7.
fn registration(function: &str) -> String {
    if function.len() > 85 { format!(".with(\n    {function},\n)") } else { format!(".with({function})") }
}

/// Adds the image to the environment of the manager's container. An existing entry stays, unless `force`.
fn image_env(draft: &mut Draft, context: &DeployImageContext, force: bool) -> Result<()> {
    let DeployImageContext { image, image_env, .. } = context;
    let entry = format!("- name: {image_env}\n  value: {image}");
    draft.edit(&RelPath::new("config/manager/manager.yaml")?, |text| {
        if text.lines().any(|line| line.trim() == format!("- name: {image_env}")) {
            return Ok(if force { container::set_env(text, image_env, image) } else { text.to_owned() });
        }
        let key = if text.lines().any(|line| line.trim() == "env:") { "" } else { "env:\n" };
        scaffold_marker::insert(text, "env", &format!("{key}{entry}"))
    })
}

fn is_code(path: &str) -> bool {
    template::is_rust(path)
}

fn is_controller(path: &str) -> bool {
    path.starts_with("src/controller/") || path.starts_with("tests/")
}

fn only(files: Vec<Rendered>, wanted: impl Fn(&str) -> bool) -> Vec<Rendered> {
    files.into_iter().filter(|file| wanted(&file.path)).collect()
}

/// Merges the files of both; `upper` wins.
fn overlay(lower: Vec<Rendered>, upper: Vec<Rendered>) -> Vec<Rendered> {
    let files: BTreeMap<_, _> = lower.into_iter().chain(upper).map(|file| (file.path, file.text)).collect();
    files.into_iter().map(|(path, text)| Rendered { path, text }).collect()
}

fn put(draft: &mut Draft, files: Vec<Rendered>, if_exists: IfExists) -> Result<Diagnostics> {
    let is_imagined = draft.is_imagined();
    let is_formatted = |file: &Rendered| template::is_rust(&file.path) && !is_imagined;
    let mut formatted =
        rustfmt::format_all(files.iter().filter(|file| is_formatted(file)).map(|file| &*file.text)).into_iter();
    let mut unformatted = Vec::new();
    for file in files {
        let formatted = if is_formatted(&file) { formatted.next() } else { None };
        let path = RelPath::new(file.path)?;
        let text = match formatted {
            Some(Formatted::Yes(text)) => text,
            Some(Formatted::No) => {
                unformatted.push(format!("`{path}`"));
                file.text
            }
            None => file.text,
        };
        draft.scaffold(path, text, if_exists);
    }
    let mut found = Diagnostics::default();
    if !unformatted.is_empty() {
        let message = format!("cannot run rustfmt: {} may not be formatted", unformatted.join(", "));
        found.push(
            Diagnostic::new(Code::Unformatted, message).help("run `rustup component add rustfmt`, then `cargo fmt`"),
        );
    }
    Ok(found)
}

fn module(draft: &mut Draft, path: &str, name: &str) -> Result<()> {
    draft.edit(&RelPath::new(path)?, |text| scaffold_marker::insert_module(text, &format!("pub mod {name};")))
}

/// Adds entries to a kustomization that need not have the markers of the scaffold. A missing one does not install the project.
fn list(draft: &mut Draft, path: &str, entries: &[String]) -> Result<()> {
    let path = RelPath::new(path)?;
    if draft.read(&path)?.is_none() {
        return Ok(());
    }
    for entry in entries {
        draft.edit(&path, |text| kustomization::add_entry(text, "resources", entry))?;
    }
    Ok(())
}

fn marker(draft: &mut Draft, path: &str, name: &str, snippet: &str) -> Result<()> {
    draft.edit(&RelPath::new(path)?, |text| scaffold_marker::insert(text, name, snippet))
}
