//! Failures that need no action: the object is gone, or its namespace is being deleted.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::failure;
use crate::object::ObjectKey;

/// The namespaces that were reported as being deleted.
#[derive(Default)]
pub(super) struct Terminating(Mutex<BTreeSet<String>>);

impl Terminating {
    /// Logs a deleted namespace once instead of once per object. Returns false if the failure has another reason.
    pub(super) fn explains(&self, reason: &str, key: &ObjectKey) -> bool {
        if reason != failure::TERMINATING {
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
