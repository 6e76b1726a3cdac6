//! Failed reconciles: [`Failure`] for errors of other crates, and the failures that need no action.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use kube::core::Status;

use super::Failure;
use crate::object::ObjectKey;

const TERMINATING: &str = "NamespaceTerminating";

/// The reason is `Forbidden`, `NotFound`, `AlreadyExists`, `Conflict`, `Invalid`, `NamespaceTerminating`,
/// `ServerError`, or `ServerUnreachable` without an answer. Only `NamespaceTerminating` is permanent: nothing can or
/// needs to be created in a namespace that is being deleted.
impl Failure for kube::Error {
    fn reason(&self) -> &'static str {
        let status = match self {
            Self::Api(status) => status,
            _ => return "ServerUnreachable",
        };
        match status.code {
            _ if is_terminating(status) => TERMINATING,
            403 => "Forbidden",
            404 => "NotFound",
            // An object with this name exists, and belongs to something else.
            409 if status.is_already_exists() => "AlreadyExists",
            409 => "Conflict",
            400 | 422 => "Invalid",
            _ => "ServerError",
        }
    }

    fn is_permanent(&self) -> bool {
        matches!(self, Self::Api(status) if is_terminating(status))
    }
}

fn is_terminating(status: &Status) -> bool {
    let details = status.details.as_ref();
    let mut causes = details.into_iter().flat_map(|details| &details.causes);
    causes.any(|cause| cause.reason == TERMINATING)
}

/// Uses the first [`kube::Error`] among the causes. Without one, the reason is `Failed`.
#[cfg(feature = "anyhow")]
impl Failure for anyhow::Error {
    fn reason(&self) -> &'static str {
        api(self).map_or("Failed", Failure::reason)
    }

    fn is_permanent(&self) -> bool {
        api(self).is_some_and(Failure::is_permanent)
    }
}

#[cfg(feature = "anyhow")]
fn api(error: &anyhow::Error) -> Option<&kube::Error> {
    error
        .chain()
        .find_map(<dyn std::error::Error>::downcast_ref)
}

/// The namespaces that were reported as being deleted.
#[derive(Default)]
pub(super) struct Terminating(Mutex<BTreeSet<String>>);

impl Terminating {
    /// Logs a deleted namespace once instead of once per object. Returns false if the failure has another reason.
    pub(super) fn explains(&self, reason: &str, key: &ObjectKey) -> bool {
        if reason != TERMINATING {
            return false;
        }
        let namespace = key.namespace.clone().unwrap_or_default();
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(namespace) {
            tracing::info!("the namespace is being deleted: nothing is created in it");
        } else {
            tracing::debug!("the namespace is being deleted");
        }
        true
    }

    /// Forgets the namespace of a successful reconcile, which has been created again.
    pub(super) fn forget(&self, key: &ObjectKey) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(namespace) = &key.namespace {
            told.remove(namespace);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn answer(code: u16, reason: &str, causes: &Value) -> kube::Error {
        let status = json!({ "code": code, "reason": reason, "details": { "causes": causes } });
        kube::Error::Api(serde_json::from_value(status).unwrap())
    }

    #[test]
    fn errors_of_kube_say_what_the_server_said() {
        let terminating = json!([{ "reason": "NamespaceTerminating" }]);
        for (code, said, causes, reason, permanent) in [
            (403, "Forbidden", json!([]), "Forbidden", false),
            (403, "Forbidden", terminating, "NamespaceTerminating", true),
            (404, "NotFound", json!([]), "NotFound", false),
            (409, "AlreadyExists", json!([]), "AlreadyExists", false),
            (409, "Conflict", json!([]), "Conflict", false),
            (422, "Invalid", json!([]), "Invalid", false),
            (500, "InternalError", json!([]), "ServerError", false),
        ] {
            let error = answer(code, said, &causes);
            assert_eq!((error.reason(), error.is_permanent()), (reason, permanent));
        }
        assert_eq!(
            kube::Error::LinesCodecMaxLineLengthExceeded.reason(),
            "ServerUnreachable"
        );
    }

    #[cfg(feature = "anyhow")]
    #[test]
    fn what_is_inside_of_anyhow_is_found() {
        let inner = answer(403, "Forbidden", &json!([]));
        let error = anyhow::Error::from(inner).context("can't book");
        assert_eq!(
            (error.reason(), error.to_string()),
            ("Forbidden", "can't book".to_owned())
        );
        assert_eq!(anyhow::anyhow!("no").reason(), "Failed");
    }
}
