//! Scaffolds webhooks: the handlers of a kind, and the common files in config/.

use anyhow::Result;

use super::context::{ResourceContext, SpokeContext, WebhookContext};
use super::template::{self, Rendered};
use super::{API_DEPENDENCIES, TEST_DEPENDENCIES, depend, dependency, formatted_as, marker, module, put, registration};
use crate::diagnostic::Diagnostics;
use crate::edit::cargo_toml::{self, DependencyEdit, Section};
use crate::edit::{EditError, kustomization, rust, scaffold_marker};
use crate::plan::{Draft, IfExists, RelPath};
use crate::project::webhook::{CertMode, ProjectWebhooks};
use crate::project::{Resource, ident};

const DEFAULT: &str = "config/default/kustomization.yaml";

/// Scaffolds the Service, its certificate, and the patches that give it to the operator's pod.
pub(crate) fn config(
    draft: &mut Draft,
    context: &WebhookContext,
    webhooks: &ProjectWebhooks,
    mode: CertMode,
) -> Result<Diagnostics> {
    let mut found = put(draft, template::render("webhook-config", context)?, IfExists::Skip)?;
    match mode {
        CertMode::Own => found.extend(put(draft, template::render("webhook-self", context)?, IfExists::Skip)?),
        CertMode::CertManager => {
            found.extend(put(draft, template::render("webhook-certmanager", context)?, IfExists::Skip)?);
        }
        CertMode::Files => {}
    }
    let mut confinement = String::new();
    if context.resource.project.own_namespace {
        let (block, files): (Vec<_>, _) =
            template::render("webhook-confined", context)?.into_iter().partition(|file| file.path == "replacements");
        found.extend(put(draft, files, IfExists::Skip)?);
        confinement.extend(block.into_iter().map(|file| file.text));
        draft.edit(&RelPath::new("config/webhook/kustomization.yaml")?, |text| {
            kustomization::add_entry(text, "configurations", "kustomizeconfig.yaml")
        })?;
    }
    // The DNS names of the certificate, and the objects into which cert-manager injects its CA.
    let replacements: String =
        template::render("webhook-replacements", context)?.into_iter().map(|file| file.text).collect();
    draft.edit(&RelPath::new(DEFAULT)?, |text| {
        let text = kustomization::add_below(
            text,
            "resources",
            "# [WEBHOOK] Admission and conversion webhooks are added below this line.",
            "../webhook",
        )?;
        let text =
            if confinement.is_empty() { text } else { kustomization::add_block(&text, "replacements", &confinement)? };
        match mode {
            CertMode::Own => {
                let text = patch(&text, "path: manager_webhook_patch.yaml\n  target:\n    kind: Deployment")?;
                let text = patch(&text, "path: manager_webhook_names_patch.yaml")?;
                kustomization::add_entry(&text, "configurations", "kustomizeconfig.yaml")
            }
            CertMode::CertManager => {
                let text = kustomization::add_below(
                    &text,
                    "resources",
                    "# [CERTMANAGER] Certificates are added below this line.",
                    "../certmanager",
                )?;
                let text = patch(&text, "path: manager_webhook_patch.yaml\n  target:\n    kind: Deployment")?;
                kustomization::add_block(&text, "replacements", &replacements)
            }
            CertMode::Files => Ok(text),
        }
    })?;
    if mode == CertMode::Own {
        let kinds = [(webhooks.defaulting, "mutating"), (webhooks.validation, "validating")];
        for (_, kind) in kinds.into_iter().filter(|(wanted, _)| *wanted) {
            let name = format!("{kind}-webhook-configuration");
            let variable = format!("{}_WEBHOOKS", kind.to_uppercase());
            let value = format!("--webhook-configurations={kind}:$({variable})");
            let argument = format!("- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: {value}");
            let variable = format!("- name: {variable}\n  value: {name}");
            let rule = rule("admissionregistration.k8s.io", &format!("{kind}webhookconfigurations"), &name);
            for (path, marker, is_there, entry) in [
                ("config/default/manager_webhook_patch.yaml", "webhookconfigurations", &value, &argument),
                ("config/default/manager_webhook_names_patch.yaml", "webhooknames", &name, &variable),
                ("config/rbac/webhook_cert_role.yaml", "webhookrules", &name, &rule),
            ] {
                draft.edit(&RelPath::new(path)?, |text| {
                    if text.contains(is_there.as_str()) {
                        return Ok(text.to_owned());
                    }
                    scaffold_marker::insert_sorted(text, marker, entry)
                })?;
            }
        }
        draft.edit(&RelPath::new("config/rbac/kustomization.yaml")?, |text| {
            let below = "- leader_election_role_binding.yaml";
            let text = kustomization::add_below(text, "resources", below, "webhook_cert_role_binding.yaml")?;
            kustomization::add_below(&text, "resources", below, "webhook_cert_role.yaml")
        })?;
    }
    draft.edit(&RelPath::new("config/network-policy/kustomization.yaml")?, |text| {
        kustomization::add_entry(text, "resources", "allow-webhook-traffic.yaml")
    })?;
    Ok(found)
}

fn patch(text: &str, entry: &str) -> Result<String, EditError> {
    kustomization::add_below(
        text,
        "patches",
        "# [WEBHOOK] Patches for the webhook server are added below this line.",
        entry,
    )
}

/// Scaffolds the requested handlers in a new file or in the existing one, of which everything else stays.
pub(crate) fn handlers(
    draft: &mut Draft,
    context: &WebhookContext,
    asked: &ProjectWebhooks,
    all: &ProjectWebhooks,
    force: bool,
) -> Result<Diagnostics> {
    let api = &context.resource;
    draft.edit(&RelPath::new("src/lib.rs")?, |text| rust::add_module(text, "webhook"))?;
    let mut found = put(draft, template::render("webhook-version", context)?, IfExists::Skip)?;
    if api.project.multigroup {
        found.extend(put(draft, template::render("webhook-group", context)?, IfExists::Skip)?);
        module(draft, "src/webhook.rs", &api.group_snake)?;
        module(draft, &format!("src/webhook/{}.rs", api.group_snake), &api.version_snake)?;
    } else {
        module(draft, "src/webhook.rs", &api.version_snake)?;
    }
    module(draft, &format!("src/webhook/{}.rs", api.api_dir), &api.kind_snake)?;

    let path = RelPath::new(format!("src/webhook/{}.rs", context.webhook_file))?;
    if draft.read(&path)?.is_none() || force {
        let (mut files, blocks) = (template::render("webhook", context)?, Blocks::of(context, all)?);
        for file in &mut files {
            file.text = blocks.insert(&file.text)?;
        }
        found.extend(put(draft, files, if force { IfExists::Overwrite } else { IfExists::Refuse })?);
    } else {
        let blocks = Blocks::of(context, asked)?;
        draft.edit(&path, |text| {
            let edited = blocks.insert(text)?;
            Ok(formatted_as(&path, text, edited))
        })?;
    }
    if context.own {
        found.extend(put(draft, template::render("webhook-envtest", context)?, IfExists::Skip)?);
        depend(draft, &TEST_DEPENDENCIES)?;
    }
    let function = format!("{}::{}::register", api.project.crate_name, context.webhook_mod);
    marker(draft, "src/main.rs", "controllers", &registration(&function))?;
    let manifest = RelPath::new("Cargo.toml")?;
    draft.edit(&manifest, |text| cargo_toml::add_feature(text, Section::Dependencies, "manager", "webhook"))?;
    depend(draft, &[(Section::DevDependencies, dependency("serde_json", "1"))])?;
    Ok(found)
}

/// Gives the webhooks of a kind to the tests that explore its controllers, if these tests are there and have the marker.
pub(crate) fn explored(
    draft: &mut Draft,
    kind: &Resource,
    context: &ResourceContext,
    controllers: &[String],
) -> Result<()> {
    const MARKER: &str = "webhooks";
    if !ProjectWebhooks::of(kind)?.admits() {
        return Ok(());
    }
    let module = format!("{}::webhook::{}::{}", context.project.crate_name, context.api_dir, context.kind_snake);
    let webhooks = format!("operator_webhooks({}::register", module.replace('/', "::"));
    for controller in controllers {
        let path = RelPath::new(format!("tests/explore_{controller}.rs"))?;
        let Some(text) = draft.read(&path)? else { continue };
        let has_webhooks = text.split_whitespace().collect::<String>().contains(&webhooks);
        if has_webhooks || !scaffold_marker::is_in(&text, MARKER) {
            continue;
        }
        draft.edit(&path, |text| {
            let edited = scaffold_marker::insert(text, MARKER, &format!(".webhooks({webhooks}))"))?;
            let edited = rust::add_names(&edited, "manager::testing", &["operator_webhooks"])?;
            Ok(formatted_as(&path, text, edited))
        })?;
    }
    Ok(())
}

/// Inserts items before a marker, after a blank line.
fn block(text: &str, name: &str, items: &str) -> Result<String, EditError> {
    let text = scaffold_marker::insert(text, name, items)?;
    let marker = format!("// +kubebuilder:scaffold:{name}");
    Ok(text
        .replace(&format!("}}\n{marker}"), &format!("}}\n\n{marker}"))
        .replace(&format!("}}\n    {marker}"), &format!("}}\n\n    {marker}")))
}

/// Scaffolds the conversions of a kind; `context` is that of the hub.
pub(crate) fn conversion(
    draft: &mut Draft,
    context: &WebhookContext,
    spokes: &[ResourceContext],
    mode: CertMode,
) -> Result<Diagnostics> {
    let mut found = put(draft, template::render("webhook-hub", context)?, IfExists::Skip)?;
    let hub = &context.resource;
    let module_of = |api: &ResourceContext| (format!("src/api/{}.rs", api.api_dir), api.conversion_snake.clone());
    let (file, name) = module_of(hub);
    module(draft, &file, &name)?;
    found.extend(put(draft, template::render("webhook-round-trip", context)?, IfExists::Skip)?);
    for spoke in spokes {
        let (hub_version, hub_mod) = (hub.version.clone(), hub.api_mod.clone());
        let context = SpokeContext { spoke: spoke.clone(), hub_version, hub_mod };
        found.extend(put(draft, template::render("webhook-spoke", &context)?, IfExists::Skip)?);
        let (file, name) = module_of(spoke);
        module(draft, &file, &name)?;
        let ResourceContext { role_file_prefix, version_snake, api_use, kind_type, .. } = spoke;
        let name = format!("{}_{version_snake}", role_file_prefix.replace(['.', '-'], "_"));
        let test = format!("#[test]\nfn {name}() {{\n    round_trip::<{api_use}::{kind_type}>();\n}}");
        draft.edit(&RelPath::new("tests/conversions.rs")?, |text| block(text, "conversions", &test))?;
    }
    let crds = RelPath::new("config/crd/kustomization.yaml")?;
    let patch = format!("- path: patches/webhook_in_{}.yaml", context.webhook_crd);
    draft.edit(&crds, |text| {
        let text = scaffold_marker::insert(text, "crdkustomizewebhookpatch", &patch)?;
        kustomization::add_entry(&text, "configurations", "kustomizeconfig.yaml")
    })?;
    let crd = format!("{}.{}", hub.plural, hub.qualified_group);
    match mode {
        CertMode::Own => {
            let rule = rule("apiextensions.k8s.io", "customresourcedefinitions", &crd);
            sorted(draft, "config/rbac/webhook_cert_role.yaml", "webhookrules", &rule)?;
        }
        CertMode::CertManager => {
            for (name, index) in [("crdkustomizecainjectionns", 0), ("crdkustomizecainjectionname", 1)] {
                sorted(draft, DEFAULT, name, &injection(&crd, index))?;
            }
        }
        CertMode::Files => {}
    }
    let proptest = DependencyEdit { default_features: false, features: &["std"], ..dependency("proptest", "1") };
    depend(draft, &API_DEPENDENCIES)?;
    depend(draft, &[(Section::DevDependencies, proptest)])?;
    Ok(found)
}

fn sorted(draft: &mut Draft, path: &str, name: &str, snippet: &str) -> Result<()> {
    draft.edit(&RelPath::new(path)?, |text| scaffold_marker::insert_sorted(text, name, snippet))
}

/// The permission for the operator to keep the CA in a cluster object.
fn rule(group: &str, resource: &str, name: &str) -> String {
    format!(
        "- apiGroups:\n  - {group}\n  resourceNames:\n  - {name}\n  resources:\n  - {resource}\n  \
         verbs:\n  - get\n  - list\n  - patch\n  - watch"
    )
}

/// The kustomize replacement target that makes cert-manager inject the CA into a CRD with a conversion.
fn injection(crd: &str, index: u8) -> String {
    format!(
        "- select:\n    kind: CustomResourceDefinition\n    name: {crd}\n  fieldPaths:\n  - \
         .metadata.annotations.[cert-manager.io/inject-ca-from]\n  options:\n    create: true\n    delimiter: /\n    index: {index}"
    )
}

/// Insertions into the file of a kind.
#[derive(Default)]
struct Blocks {
    /// Calls after `.webhooks(…)`.
    calls: Vec<String>,
    /// Names to import from `manager::webhook`.
    names: Vec<&'static str>,
    handlers: Vec<String>,
    tests: Vec<String>,
    /// The function `sample` of the tests.
    sample: Option<String>,
}

impl Blocks {
    fn of(context: &WebhookContext, webhooks: &ProjectWebhooks) -> Result<Self> {
        let mut blocks = Self { sample: context.sample_item.clone(), ..Self::default() };
        let WebhookContext { rust_type, defaulting_path, validating_path, .. } = context;
        if webhooks.defaulting {
            blocks.calls.push(format!(".defaulting::<{rust_type}>(\"{defaulting_path}\")"));
            blocks.names.extend(["Defaulting", "Denied", "Request"]);
            blocks.add(template::render("webhook-defaulting", context)?);
        }
        if webhooks.validation {
            blocks.calls.push(format!(".validating::<{rust_type}>(\"{validating_path}\")"));
            blocks.names.extend(["Denied", "FieldErrors", "Request", "Validating", "Warnings"]);
            blocks.add(template::render("webhook-validating", context)?);
        }
        if webhooks.conversion {
            blocks.calls.push(format!(".conversion::<{rust_type}>()"));
            let hub = &context.resource;
            for spoke in &webhooks.spoke {
                // The version's module is the second to last segment.
                let (modules, kind) = hub.api_mod.rsplit_once("::").unwrap_or_default();
                let (folder, _) = modules.rsplit_once("::").unwrap_or_default();
                blocks.calls.push(format!(".spoke::<{folder}::{}::{kind}::{}>()", ident::module(spoke), hub.kind_type));
            }
        }
        Ok(blocks)
    }

    fn add(&mut self, rendered: Vec<Rendered>) {
        for Rendered { path, text } in rendered {
            if path == "test" { &mut self.tests } else { &mut self.handlers }.push(text);
        }
    }

    fn insert(&self, text: &str) -> Result<String, EditError> {
        let mut text = text.to_owned();
        for call in &self.calls {
            text = rust::add_call(&text, ".webhooks(", call)?;
        }
        text = rust::add_names(&text, "manager::webhook", &self.names)?;
        for handler in &self.handlers {
            text = block(&text, "handlers", handler)?;
        }
        for test in &self.tests {
            if !text.contains("+kubebuilder:scaffold:tests") {
                text += "\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    // +kubebuilder:scaffold:tests\n}\n";
            }
            if let Some(sample) = self.sample.as_ref().filter(|_| !text.contains("fn sample()")) {
                text = block(&text, "tests", sample)?;
            }
            text = block(&text, "tests", test)?;
        }
        Ok(text)
    }
}
