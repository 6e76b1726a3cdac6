//! `create webhook`: handlers for a kind of the project, of Kubernetes, or of another crate, and their manifests.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Map, json};

use super::create_api::without_runtime;
use super::external::{self, ExternalOptions};
use super::known::{self, ExistingKind};
use super::{UsageError, kind_source, manifests, moves};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem};
use crate::plan::{Draft, RECORD, RelPath};
use crate::project::name::{Group, Kind, Plural, SUBDOMAIN_MAX, Version};
use crate::project::webhook::{CertMode, ProjectWebhooks};
use crate::project::{Project, Resource, ResourceApi};
use crate::scaffold::context::{ResourceContext, WebhookContext, WebhookSample};
use crate::scaffold::webhook;

/// The kinds of the operator's own objects.
const OWN: [&str; 9] =
    ["Deployment", "Event", "Lease", "Namespace", "Pod", "ReplicaSet", "Secret", "Service", "ServiceAccount"];

/// Webhooks to add to a kind.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command")]
pub(crate) struct CreateWebhookOptions {
    /// The API group without the domain of the project; empty if only one group has the kind.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: Option<String>,
    pub(crate) defaulting: bool,
    pub(crate) validation: bool,
    pub(crate) conversion: bool,
    /// The versions that convert to the hub, which is `version`.
    pub(crate) spokes: Vec<String>,
    pub(crate) defaulting_path: Option<String>,
    pub(crate) validation_path: Option<String>,
    pub(crate) external: ExternalOptions,
    /// The source of the certificates; `None` keeps that of the project.
    pub(crate) cert_mode: Option<CertMode>,
    /// Plans the generated manifests as well.
    pub(crate) generate: bool,
    /// Overwrites files that exist with different content.
    pub(crate) force: bool,
}

/// Adds the webhooks to the project of the draft.
pub(crate) fn run(draft: &mut Draft, options: &CreateWebhookOptions) -> Result<Diagnostics> {
    let mut project = Project::recorded(draft)?;
    if project.is_adopted() {
        return Err(UsageError(without_runtime("a webhook")).into());
    }
    let mut resource = wanted(&project, options)?;
    let requested = requested(&project, &resource, options)?;
    let before = project.find(&resource).map(ProjectWebhooks::of).transpose()?.unwrap_or_default();
    let after = before.with(&requested, &resource.display(), options.force)?;
    refuse_same_path(&project, &resource, &after)?;
    resource.webhooks = Some(after.to_value());
    let mode = options.cert_mode.unwrap_or_else(|| CertMode::of(&project).unwrap_or_default());
    if let Some(recorded) = CertMode::of(&project)
        && recorded != mode
    {
        let message = format!("the project has `--webhook-cert-mode={}`", recorded.as_str());
        let help = format!(
            "all webhooks share one certificate: leave the flag out, or run `memcached-sdk edit \
                --webhook-cert-mode={}` first",
            mode.as_str()
        );
        return Err(Problem::new(message).help(help).into());
    }
    project.add_webhooks(resource.clone());
    mode.record(&mut project);

    let mut found = Diagnostics::default();
    if resource.core && OWN.contains(&resource.kind.as_str()) && after.admits() {
        let message = format!("webhooks for `{}` are also called for the operator's own objects", resource.display());
        let help =
            "with `failurePolicy=ignore`, or a `namespaceSelector` in `patch`, the operator can start when it is down";
        found.push(Diagnostic::new(Code::WebhookDeadlock, message).help(help));
    }
    let shape = resource.api.clone().unwrap_or_else(|| ResourceApi::new(resource.namespaced));
    let context = ResourceContext::new(&project, &resource, &shape, true);
    let spokes = requested.spoke.iter().filter_map(|version| {
        let mut others = project.other_versions(&resource);
        others.find(|other| other.version.as_str() == version).and_then(|other| Some((other, other.api.as_ref()?)))
    });
    let spokes: Vec<_> = spokes.map(|(spoke, api)| ResourceContext::new(&project, spoke, api, false)).collect();
    let sample = RelPath::new(format!("config/samples/{}", context.sample_file))?;
    let sample = if resource.api.is_some() && draft.read(&sample)?.is_some() {
        WebhookSample::File
    } else {
        let fields = kind_source::fields(draft, &project, &resource)?;
        WebhookSample::Fields(fields.unwrap_or_else(|| Map::from_iter([("spec".to_owned(), json!({}))])))
    };
    let context = WebhookContext::new(context, &resource, &after, sample);
    for name in [&context.defaulting_name, &context.validating_name] {
        if after.admits() && name.len() > SUBDOMAIN_MAX {
            let problem =
                Problem::new(format!("the name of the webhook, `{name}`, is longer than {SUBDOMAIN_MAX} characters"));
            return Err(problem.help("the name consists of group, version and kind: shorten one of them").into());
        }
    }
    found.extend(webhook::config(draft, &context, &after, mode)?);
    if requested.conversion {
        let mut versions =
            project.resources.iter().filter(|other| other.same_group_kind(&resource) && other.api.is_some());
        versions.try_for_each(|version| project.check_conversion(version, &project.resources))?;
        found.extend(webhook::conversion(draft, &context, &spokes, mode)?);
    }
    found.extend(webhook::handlers(draft, &context, &requested, &after, options.force)?);
    let tests = moves::controllers(&resource, |name| resource.test_module(project.multigroup, name));
    webhook::explored(draft, &resource, &context.resource, &tests)?;
    external::depend(draft, &resource)?;
    draft.edit(&RelPath::new(RECORD)?, |before| Ok(project.to_yaml_over(before)))?;
    if options.generate {
        found.extend(manifests::manifests(draft, &project)?);
    }
    Ok(found)
}

/// Refuses a path that already has a handler.
fn refuse_same_path(project: &Project, resource: &Resource, webhooks: &ProjectWebhooks) -> Result<()> {
    let mut taken = BTreeMap::from([("/convert".to_owned(), "conversions".to_owned())]);
    let others = project.resources.iter().filter(|other| !other.same_gvk(resource));
    for other in others {
        taken.extend(
            ProjectWebhooks::of(other)?
                .paths(other)
                .into_iter()
                .flatten()
                .map(|path| (path, format!("`{}`", other.display()))),
        );
    }
    for path in webhooks.paths(resource).into_iter().flatten() {
        if let Some(of) = taken.get(&path) {
            let problem = Problem::new(format!("the path `{path}` is already used by {of}"));
            return Err(problem.help("pass another `--defaulting-path` or `--validation-path`").into());
        }
        taken.insert(path, format!("`{}`", resource.display()));
    }
    Ok(())
}

/// Returns the kind as PROJECT records it, or as PROJECT will record it.
fn wanted(project: &Project, options: &CreateWebhookOptions) -> Result<Resource> {
    let group = Group::parse(&options.group).map_err(UsageError)?;
    let version = Version::parse(&options.version).map_err(UsageError)?;
    let kind = Kind::parse(&options.kind).map_err(UsageError)?;
    let domain = external::domain(&options.external, project)?;
    let mut resource = Resource::new(group, domain, version, kind).map_err(UsageError)?;
    if options.external.path.is_some() {
        let flags = [(options.defaulting, " --defaulting"), (options.validation, " --programmatic-validation")];
        let flags: String = flags.iter().filter(|(given, _)| *given).map(|(_, flag)| *flag).collect();
        external::name(&options.external, &format!("memcached-sdk create webhook{flags}"), &mut resource)?;
        if let Some(entry) = project.find(&resource).filter(|entry| entry.external) {
            resource.namespaced = entry.namespaced;
        }
    } else {
        resource = match known::find(project, &resource, &options.group)? {
            ExistingKind::Recorded(entry) => *entry,
            ExistingKind::Builtin(builtin) => Resource::builtin(&builtin)?,
        };
    }
    if let Some(plural) = &options.plural {
        resource.plural = Plural::parse(plural).map_err(UsageError)?;
    }
    Ok(resource)
}

/// Returns the webhooks that the flags request.
fn requested(project: &Project, resource: &Resource, options: &CreateWebhookOptions) -> Result<ProjectWebhooks> {
    let usage = |message: &str, help: &str| Err(UsageError(Problem::new(message).help(help)).into());
    if !(options.defaulting || options.validation || options.conversion) {
        return usage(
            "no webhook is requested",
            "pass at least one of `--defaulting`, `--programmatic-validation` and `--conversion`",
        );
    }
    for (path, given, flag) in [
        (&options.defaulting_path, options.defaulting, "`--defaulting-path` needs `--defaulting`"),
        (&options.validation_path, options.validation, "`--validation-path` needs `--programmatic-validation`"),
    ] {
        let Some(path) = path else { continue };
        if !given {
            return usage(flag, "pass both");
        }
        let is_path_char = |char: char| char.is_ascii_alphanumeric() || matches!(char, '/' | '-' | '.');
        if !path.starts_with('/') || path.len() < 2 || !path.chars().all(is_path_char) {
            return usage(
                "a path must start with `/` and consist of letters, digits, `-`, `.` and `/`",
                "for example `/validate`",
            );
        }
    }
    if !options.spokes.is_empty() && !options.conversion {
        return usage("`--spoke` needs `--conversion`", "pass both");
    }
    if options.conversion {
        if resource.api.is_none() {
            return usage("only kinds of this project can be converted", "leave `--conversion` out");
        }
        if options.spokes.is_empty() {
            return usage(
                "`--conversion` needs `--spoke`: the versions that are converted to the hub",
                "for example `--spoke v1alpha1`",
            );
        }
        for other in project.other_versions(resource) {
            if ProjectWebhooks::of(other)?.conversion {
                let problem = Problem::new(format!("`{}` is already the hub of `{}`", other.display(), resource.kind));
                let help =
                    format!("pass `--version {} --spoke {}`: a kind has one hub", other.version, resource.version);
                return Err(problem.help(help).into());
            }
        }
    }
    let mut spokes = Vec::new();
    for spoke in &options.spokes {
        let version = Version::parse(spoke).map_err(UsageError)?;
        if version == resource.version {
            return usage(
                "a version cannot be a spoke of itself",
                "`--version` names the hub, the newest version; `--spoke` the others",
            );
        }
        let known = project.other_versions(resource).any(|other| other.version == version && other.api.is_some());
        if !known {
            let problem = Problem::new(format!("`{}` has no version `{version}`", resource.kind));
            return Err(problem.help(format!("make it with `memcached-sdk create api --version {version}`")).into());
        }
        spokes.push(version.to_string());
    }
    Ok(ProjectWebhooks {
        defaulting: options.defaulting,
        validation: options.validation,
        conversion: options.conversion,
        spoke: spokes,
        defaulting_path: options.defaulting_path.clone(),
        validation_path: options.validation_path.clone(),
        ..ProjectWebhooks::default()
    })
}
