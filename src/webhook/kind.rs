//! The two kinds of admission webhooks, and the names of their configuration objects.

use crate::source::marker::Marker;

/// The kind of an admission webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WebhookKind {
    /// May change the object.
    Mutating,
    /// Allows or denies.
    Validating,
}

impl WebhookKind {
    pub(super) fn of(marker: &Marker) -> Self {
        if marker.bool("mutating") { Self::Mutating } else { Self::Validating }
    }

    /// The kind of its configuration object.
    pub fn configuration(self) -> &'static str {
        match self {
            Self::Mutating => "MutatingWebhookConfiguration",
            Self::Validating => "ValidatingWebhookConfiguration",
        }
    }

    /// The word in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mutating => "mutating",
            Self::Validating => "validating",
        }
    }

    /// The default name of the configuration object.
    pub fn default_name(self) -> &'static str {
        match self {
            Self::Mutating => "mutating-webhook-configuration",
            Self::Validating => "validating-webhook-configuration",
        }
    }
}
