//! Webhooks in PROJECT: `webhooks` of a resource in kubebuilder's format, and the source of certificates.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{LAYOUT, Project, Resource};
use crate::diagnostic::Problem;

/// The webhooks of a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectWebhooks {
    /// Has a conversion webhook.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub conversion: bool,
    /// Has a defaulting webhook.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub defaulting: bool,
    /// The path of defaulting, if it is not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defaulting_path: Option<String>,
    /// The versions that convert to this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spoke: Vec<String>,
    /// Has a validating webhook.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub validation: bool,
    /// The path of validation, if it is not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_path: Option<String>,
    /// The version of the webhook configurations.
    pub webhook_version: Option<String>,
    /// Unknown fields, preserved.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

impl ProjectWebhooks {
    /// Parses the webhooks of a PROJECT entry.
    pub fn of(resource: &Resource) -> Result<Self, Problem> {
        let value = resource.webhooks.clone().filter(|value| !value.is_null()).unwrap_or_else(|| json!({}));
        serde_json::from_value(value).map_err(|error| {
            Problem::new(format!("`webhooks` of `{}` in `PROJECT`: {error}", resource.display()))
                .help("correct the file")
        })
    }

    /// Merges both. Rejects existing webhooks unless `force`; adds further spokes.
    pub fn with(&self, other: &Self, of: &str, force: bool) -> Result<Self, Problem> {
        for (there, asked, what) in [
            (self.defaulting, other.defaulting, "defaulting"),
            (self.validation, other.validation, "validation"),
            (self.conversion && other.spoke.iter().all(|new| self.spoke.contains(new)), other.conversion, "conversion"),
        ] {
            if there && asked && !force {
                return Err(Problem::new(format!("{what} webhook already exists: `{of}`"))
                    .help("pass `--force` to scaffold it again"));
            }
        }
        let mut all = self.clone();
        all.defaulting |= other.defaulting;
        all.validation |= other.validation;
        all.conversion |= other.conversion;
        all.spoke.extend(other.spoke.iter().filter(|new| !self.spoke.contains(new)).cloned());
        all.defaulting_path = other.defaulting_path.clone().or(all.defaulting_path);
        all.validation_path = other.validation_path.clone().or(all.validation_path);
        all.webhook_version = Some("v1".to_owned());
        Ok(all)
    }

    /// The paths of the defaulting and the validating webhook; `None` for a missing webhook.
    pub fn paths(&self, resource: &Resource) -> [Option<String>; 2] {
        let group = resource.qualified_group().replace('.', "-");
        let usual =
            |verb: &str| format!("/{verb}-{group}-{}-{}", resource.version, resource.kind.as_str().to_lowercase());
        let of = |exists: bool, path: &Option<String>, verb: &str| {
            exists.then(|| path.clone().unwrap_or_else(|| usual(verb)))
        };
        [of(self.defaulting, &self.defaulting_path, "mutate"), of(self.validation, &self.validation_path, "validate")]
    }

    /// Returns true if the kind has an admission webhook.
    pub fn admits(&self) -> bool {
        self.defaulting || self.validation
    }

    /// The value in PROJECT.
    pub fn to_value(&self) -> Value {
        json!(self)
    }
}

/// The source of the webhook server's certificates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CertMode {
    /// The operator.
    #[default]
    Own,
    /// cert-manager.
    CertManager,
    /// The user.
    Files,
}

impl CertMode {
    const KEY: &str = "webhookCertMode";
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Own, Self::CertManager, Self::Files];

    /// The value on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "self",
            Self::CertManager => "cert-manager",
            Self::Files => "files",
        }
    }

    /// The mode that a project has chosen.
    pub fn of(project: &Project) -> Option<Self> {
        let recorded = project.plugins.get(LAYOUT)?.get(Self::KEY)?.as_str()?;
        Self::ALL.into_iter().find(|mode| mode.as_str() == recorded)
    }

    /// Records the mode in PROJECT. Records the default only in a project with webhooks.
    pub fn record(self, project: &mut Project) {
        let Some(own) = project.plugins.entry(LAYOUT).or_insert_with(|| json!({})).as_object_mut() else { return };
        if self != Self::default() || project.resources.iter().any(|resource| resource.webhooks.is_some()) {
            own.insert(Self::KEY.to_owned(), json!(self.as_str()));
        } else {
            own.remove(Self::KEY);
        }
        if own.is_empty() {
            project.plugins.remove(LAYOUT);
        }
    }
}
