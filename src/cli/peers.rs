//! Flags and plugins of kubebuilder and operator-sdk. The program accepts those that every project already satisfies. `--help`
//! hides them. A note explains each one that is given.

use clap::Args;

use crate::project::parts::ProjectSwitch;

mod commands;

pub(crate) use commands::answer;
pub use commands::{COMMANDS, FLAGS};

/// A name that `--plugins` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plugin {
    /// A part of the project, switched on or off.
    Part(ProjectSwitch, bool),
    /// The plugin of kubebuilder that scaffolds a controller for an image.
    DeployImage,
    /// A plugin of a peer for a feature that every project has.
    Given,
}

impl Plugin {
    /// Parses `helm`, `helm=false`, and the names of peers: `helm/v2-alpha`, `helm.kubebuilder.io/v2-alpha`,
    /// `manifests.sdk.operatorframework.io/v2`.
    pub fn parse(text: &str) -> Result<PeerPlugin, String> {
        let (name, on) = match text.split_once('=') {
            None => (text, true),
            Some((name, "true")) => (name, true),
            Some((name, "false")) => (name, false),
            Some((_, other)) => return Err(format!("`{other}` is neither `true` nor `false`")),
        };
        let full = name.split('/').next().unwrap_or_default();
        let named = |plugin, note: Option<&str>| {
            Ok(PeerPlugin { plugin, note: note.map(|note| format!("`--plugins={name}`: {note}")) })
        };
        // Our own plugin names have no version.
        let of_peer = name.contains('/');
        if let Some((_, note)) = ELSEWHERE.iter().find(|(known, _)| is_called(full, known)) {
            return Err((*note).to_owned());
        }
        if let Some((_, note)) = GIVEN.iter().find(|(known, _)| is_called(full, known)) {
            return named(Plugin::Given, Some(note));
        }
        match full.split('.').next() {
            Some("deploy-image") => named(Plugin::DeployImage, Some("`--image` writes the controller for the image")),
            Some("grafana") => named(
                Plugin::Part(ProjectSwitch::Grafana, on),
                of_peer.then_some("the part `grafana`: dashboards in `grafana/`"),
            ),
            Some("helm") => named(
                Plugin::Part(ProjectSwitch::Helm, on),
                of_peer.then_some("the part `helm`: `memcached-sdk generate helm` makes a chart of what `make build-installer` renders"),
            ),
            Some("olm" | "manifests" | "scorecard") => named(
                Plugin::Part(ProjectSwitch::Olm, on),
                of_peer.then_some("the part `olm`: `make bundle` and `make catalog-build`"),
            ),
            _ => Err("there is one kind of project, which can have `grafana`, `helm` and `olm` besides".to_owned()),
        }
    }
}

/// A plugin and a note about its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerPlugin {
    /// The plugin.
    pub plugin: Plugin,
    /// The explanation of a peer's plugin name.
    pub note: Option<String>,
}

/// Plugins for features that every project has.
pub const GIVEN: &[(&str, &str)] = &[
    ("go", "a project has one layout here, for an operator in Rust"),
    ("base.go", "a project has one layout here, for an operator in Rust"),
    ("kustomize", "a project has `config/` for kustomize"),
    ("autoupdate", "nothing to add: `memcached-sdk update` brings a project to the version of the program"),
];

/// Plugins for operators without a program, such as playbooks and charts.
pub const ELSEWHERE: &[(&str, &str)] = &[
    (
        "ansible",
        "an operator is a Rust program here: leave the flag out, and write in `reconcile` what the playbook does; \
         `operator-sdk` makes operators of playbooks",
    ),
    (
        "helm.sdk.operatorframework.io",
        "an operator is a Rust program here, not a chart; `helm` adds a chart of the operator, `operator-sdk` makes operators of charts",
    ),
    (
        "hybrid.helm",
        "an operator is a Rust program here, not a chart; `helm` adds a chart of the operator, `operator-sdk` makes operators of charts",
    ),
    ("declarative", "there are no declarative patterns: leave the flag out, and apply the objects in `reconcile`"),
    ("quarkus", "an operator is a Rust program here: leave the flag out"),
];

/// Returns true if `full` is the plugin name `known`, with or without a domain after it.
fn is_called(full: &str, known: &str) -> bool {
    full.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Flags of the peers' `init` and `edit`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct InitFlags {
    /// The version of the PROJECT file.
    #[arg(long, value_name = "VERSION", hide = true, value_parser = ["3"])]
    pub project_version: Option<String>,
    /// Don't check the version of Go.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    pub skip_go_version_check: Option<bool>,
    /// Configure the manager by a file.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    pub component_config: Option<bool>,
}

impl InitFlags {
    /// Returns a note for each flag that is given.
    pub fn notes(&self) -> Vec<String> {
        let given = [
            (
                self.project_version.is_some(),
                "`--project-version`: `PROJECT` has version 3 of kubebuilder's format here, too",
            ),
            (
                self.skip_go_version_check.is_some(),
                "`--skip-go-version-check`: Go is not needed here; `--skip-toolchain-check` is about Rust and a C compiler",
            ),
            (
                self.component_config.is_some(),
                "`--component-config`: the manager is configured by its flags, in `config/manager/manager.yaml`",
            ),
        ];
        said(&given)
    }
}

/// Flags of the peers' `create api` and `create webhook`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct CreateFlags {
    /// The plugins that make it.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = Plugin::parse, hide = true)]
    pub plugins: Vec<PeerPlugin>,
    /// Apply server-side.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    pub ssa: Option<bool>,
    /// A pattern of controllers.
    #[arg(long, value_name = "NAME", hide = true)]
    pub pattern: Option<String>,
    /// The version of the CRD format.
    #[arg(long, value_name = "VERSION", hide = true, value_parser = ["v1"])]
    pub crd_version: Option<String>,
    /// The version of the format of webhook configurations.
    #[arg(long, value_name = "VERSION", hide = true, value_parser = ["v1"])]
    pub webhook_version: Option<String>,
}

impl CreateFlags {
    /// Returns a note for each flag that is given.
    pub fn notes(&self) -> Vec<String> {
        let given = [
            (self.ssa.is_some(), "`--ssa`: every controller here applies server-side"),
            (
                self.pattern.is_some(),
                "`--pattern`: there are no patterns here; the controller is a plain one, whose `reconcile` is yours",
            ),
            (self.crd_version.is_some(), "`--crd-version`: CRDs are `apiextensions.k8s.io/v1` here"),
            (
                self.webhook_version.is_some(),
                "`--webhook-version`: webhooks are `admissionregistration.k8s.io/v1` here",
            ),
        ];
        [notes(&self.plugins), said(&given)].concat()
    }

    /// Returns true if a plugin scaffolds a controller for an image.
    pub fn deploys_image(&self) -> bool {
        self.plugins.iter().any(|named| named.plugin == Plugin::DeployImage)
    }
}

/// Returns the notes of the plugins.
pub fn notes(plugins: &[PeerPlugin]) -> Vec<String> {
    plugins.iter().filter_map(|named| named.note.clone()).collect()
}

fn said(given: &[(bool, &str)]) -> Vec<String> {
    given.iter().filter(|(is_given, _)| *is_given).map(|(_, note)| (*note).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_of_peers_are_known() {
        let helm = Ok(Plugin::Part(ProjectSwitch::Helm, true));
        for (name, expected) in [
            ("helm", helm),
            ("helm=false", Ok(Plugin::Part(ProjectSwitch::Helm, false))),
            ("helm/v1-alpha", helm),
            ("helm.kubebuilder.io/v2-alpha", helm),
            ("grafana.kubebuilder.io/v1-alpha", Ok(Plugin::Part(ProjectSwitch::Grafana, true))),
            ("manifests.sdk.operatorframework.io/v2", Ok(Plugin::Part(ProjectSwitch::Olm, true))),
            ("scorecard.sdk.operatorframework.io/v2", Ok(Plugin::Part(ProjectSwitch::Olm, true))),
            ("go/v4", Ok(Plugin::Given)),
            ("go.kubebuilder.io/v4", Ok(Plugin::Given)),
            ("base.go.kubebuilder.io/v4", Ok(Plugin::Given)),
            ("kustomize/v2", Ok(Plugin::Given)),
            ("kustomize.common.kubebuilder.io/v2", Ok(Plugin::Given)),
            ("autoupdate.kubebuilder.io/v1-alpha", Ok(Plugin::Given)),
            ("deploy-image/v1-alpha", Ok(Plugin::DeployImage)),
            ("deploy-image.go.kubebuilder.io/v1-alpha", Ok(Plugin::DeployImage)),
            ("ansible", Err("operators of playbooks")),
            ("ansible.sdk.operatorframework.io/v1", Err("operators of playbooks")),
            ("helm.sdk.operatorframework.io/v1", Err("operators of charts")),
            ("hybrid.helm.sdk.operatorframework.io/v1-alpha", Err("operators of charts")),
            ("declarative.go.kubebuilder.io/v1", Err("no declarative patterns")),
            ("quarkus.javaoperatorsdk.io/v1-beta", Err("a Rust program")),
            ("helm=maybe", Err("neither `true` nor `false`")),
            ("gopher/v4", Err("one kind of project")),
        ] {
            match (Plugin::parse(name), expected) {
                (Ok(found), Ok(plugin)) => {
                    assert_eq!(found.plugin, plugin, "{name}");
                    assert_eq!(found.note.is_some(), name.contains('/'), "{name}");
                }
                (Err(found), Err(part)) => assert!(found.contains(part), "{name}: {found}"),
                (found, _) => panic!("{name}: {found:?}"),
            }
        }
    }
}
