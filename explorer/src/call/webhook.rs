//! Admission webhooks: functions that set defaults in the objects of a kind, and validate them.
//!
//! As with the usual rules of webhooks, requests for subresources do not call them.

use std::sync::Arc;

use serde_json::Value;

use super::Call;
use crate::response::Refusal;

/// Sets the defaults of a new object, or of one with its state before the request.
pub(crate) type Defaulting = Arc<dyn Fn(Option<&Value>, &Value) -> Result<Value, String> + Send + Sync>;

/// Validates a creation (no old object), an update, or a deletion (no new object).
pub(crate) type Validating = Arc<dyn Fn(Option<&Value>, Option<&Value>) -> Result<(), String> + Send + Sync>;

/// A function for objects of one API version.
#[derive(Clone)]
pub(crate) struct Versioned<F> {
    pub(crate) api_version: String,
    pub(crate) function: F,
}

/// The webhooks of a kind, in the order in which they are called.
#[derive(Clone, Default)]
pub(crate) struct Admission {
    pub(crate) defaulting: Vec<Versioned<Defaulting>>,
    pub(crate) validating: Vec<Versioned<Validating>>,
}

impl Admission {
    pub(crate) fn is_empty(&self) -> bool {
        self.defaulting.is_empty() && self.validating.is_empty()
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
    /// Sets the defaults of the webhooks. `live` is the object before an update.
    pub(super) fn default_by_webhook(&mut self, object: &mut Value, live: Option<&Value>) -> Result<(), Refusal> {
        if !self.target.subresource.is_empty() {
            return Ok(());
        }
        let kind = self.kind.clone();
        for Versioned { api_version, function } in &kind.admission.defaulting {
            let given = kind.convert(object.clone(), api_version)?;
            let live = live.map(|live| kind.convert(live.clone(), api_version)).transpose()?;
            let set = function(live.as_ref(), &given).map_err(|reason| self.denied(object, &reason))?;
            if set != given {
                let before = object.clone();
                *object = kind.convert(set, &self.resource.api_version())?;
                self.resource.read(object)?;
                if live.is_some() {
                    self.store.effects.push(Effect::Changed(before, object.clone()));
                }
            }
        }
        Ok(())
    }

    /// Asks the webhooks about a change.
    pub(super) fn validate_by_webhook(&mut self, old: Option<&Value>, new: Option<&Value>) -> Result<(), Refusal> {
        if !self.target.subresource.is_empty() {
            return Ok(());
        }
        let kind = self.kind.clone();
        for Versioned { api_version, function } in &kind.admission.validating {
            let convert = |object: Option<&Value>| -> Result<Option<Value>, Refusal> {
                object.map(|object| kind.convert(object.clone(), api_version)).transpose()
            };
            let (before, after) = (convert(old)?, convert(new)?);
            function(before.as_ref(), after.as_ref())
                .map_err(|reason| self.denied(new.or(old).unwrap_or(&Value::Null), &reason))?;
        }
        Ok(())
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
