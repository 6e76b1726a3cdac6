//! Admission webhooks: functions that set defaults in the objects of a kind, and validate them.
//!
//! As with the usual rules of webhooks, requests for subresources do not call them.

use std::sync::Arc;

use serde_json::Value;

use super::Call;
use crate::response::Refusal;

/// Sets the defaults of an object.
pub(crate) type Defaulting = Arc<dyn Fn(&Value) -> Result<Value, String> + Send + Sync>;

/// Validates a creation (no old object), an update, or a deletion (no new object).
pub(crate) type Validating = Arc<dyn Fn(Option<&Value>, Option<&Value>) -> Result<(), String> + Send + Sync>;

/// A function for objects of one API version.
#[derive(Clone)]
pub(crate) struct Versioned<F> {
    pub(crate) api_version: String,
    pub(crate) function: F,
}

/// The webhooks of a kind.
#[derive(Clone, Default)]
pub(crate) struct Admission {
    pub(crate) defaulting: Option<Versioned<Defaulting>>,
    pub(crate) validating: Option<Versioned<Validating>>,
}

impl Admission {
    pub(crate) fn is_empty(&self) -> bool {
        self.defaulting.is_none() && self.validating.is_none()
    }
}

/// An effect of a webhook on a request.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// The validation has refused an object.
    Denied(String),
    /// The defaulting has changed an object between a request and its update.
    Changed(Value, Value),
}

impl Call<'_> {
    /// Sets the defaults of the webhook. `updates` is true for an object that exists.
    pub(super) fn default_by_webhook(&mut self, object: &mut Value, updates: bool) -> Result<(), Refusal> {
        let Some(defaulting) = self.kind.admission.defaulting.clone().filter(|_| self.target.subresource.is_empty())
        else {
            return Ok(());
        };
        let given = self.kind.convert(object.clone(), &defaulting.api_version)?;
        let set = (defaulting.function)(&given).map_err(|reason| self.denied(object, &reason))?;
        if set != given {
            let before = object.clone();
            *object = self.kind.convert(set, &self.resource.api_version())?;
            self.resource.read(object)?;
            if updates {
                self.store.effects.push(Effect::Changed(before, object.clone()));
            }
        }
        Ok(())
    }

    /// Asks the webhook about a change.
    pub(super) fn validate_by_webhook(&mut self, old: Option<&Value>, new: Option<&Value>) -> Result<(), Refusal> {
        let Some(validating) = self.kind.admission.validating.clone().filter(|_| self.target.subresource.is_empty())
        else {
            return Ok(());
        };
        let convert = |object: Option<&Value>| -> Result<Option<Value>, Refusal> {
            object.map(|object| self.kind.convert(object.clone(), &validating.api_version)).transpose()
        };
        let (before, after) = (convert(old)?, convert(new)?);
        (validating.function)(before.as_ref(), after.as_ref())
            .map_err(|reason| self.denied(new.or(old).unwrap_or(&Value::Null), &reason))
    }

    fn denied(&mut self, object: &Value, reason: &str) -> Refusal {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let place = format!("{} {}/{name}", self.resource.qualified(), self.target.namespace);
        self.store.effects.push(Effect::Denied(format!("{place}: {reason}")));
        let webhook = crate::response::qualified(&self.resource.singular, &self.resource.group);
        let message = format!("admission webhook {webhook:?} denied the request: {reason}");
        Refusal::new(403, "Forbidden", message, Value::Null)
    }
}
