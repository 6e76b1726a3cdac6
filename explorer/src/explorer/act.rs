//! Acts: changes of the state by the author of the samples and by other clients.

use std::sync::Arc;

use http::Method;
use serde_json::Value;

use super::Explorer;
use super::run::Act;
use crate::exploration::{AUTHOR, Drift, ObjectKey, STRANGER, place};
use crate::server::ApiServer;

impl Explorer {
    pub(super) fn create(&self) -> Act {
        create(self.samples.clone())
    }

    /// Deletes the samples. One that is gone stays so.
    pub(super) fn delete(&self) -> Act {
        delete(self.samples.clone())
    }

    /// Deletes the samples and creates them again. Returns none if a finalizer keeps one of them.
    pub(super) fn recreation(&self, server: &ApiServer) -> Option<Act> {
        let (delete, create) = (self.delete(), self.create());
        let act: Act = Arc::new(move |server| delete(server).and_then(|()| create(server)));
        act(&server.snapshot()).is_ok().then_some(act)
    }

    /// Patches of the first sample. Returns none if one of them is refused or changes nothing.
    pub(super) fn patches(&self, server: &ApiServer, patches: &[Value]) -> Option<Vec<Act>> {
        let place = self.server.place(self.samples.first()?).ok()?;
        let trial = server.snapshot();
        let mut acts = Vec::new();
        for patch in patches {
            let changes = trial.changes();
            let (place, patch) = (place.clone(), patch.clone());
            let act: Act = Arc::new(move |server| server.act(Method::PATCH, &place, "", AUTHOR, &patch));
            if act(&trial).is_err() || trial.changes() == changes {
                return None;
            }
            acts.push(act);
        }
        Some(acts)
    }
}

pub(super) fn delete(samples: Vec<Value>) -> Act {
    Arc::new(move |server| {
        samples.iter().try_for_each(|sample| {
            let place = server.place(sample)?;
            let _ = server.act(Method::DELETE, &place, "", AUTHOR, &Value::Null);
            Ok(())
        })
    })
}

pub(super) fn create(samples: Vec<Value>) -> Act {
    Arc::new(move |server| {
        samples.iter().try_for_each(|sample| {
            let place = server.place(sample)?;
            server.act(Method::POST, &place, "", AUTHOR, sample)
        })
    })
}

/// A change by another client. Returns none if it is refused or changes nothing.
pub(super) fn drifting(server: &ApiServer, drift: &Drift, key: &ObjectKey) -> Option<Act> {
    let trial = server.snapshot();
    let changes = trial.changes();
    if change(&trial, drift, key).is_err() || trial.changes() == changes {
        return None;
    }
    let (drift, key) = (drift.clone(), key.clone());
    Some(Arc::new(move |server| change(server, &drift, &key)))
}

/// Changes an object as another client.
fn change(server: &ApiServer, drift: &Drift, key: &ObjectKey) -> Result<(), String> {
    let object = server.all().remove(key).ok_or_else(|| format!("{} not found", place(key)))?;
    match drift.apply(object) {
        Some(object) => server.act(Method::PUT, key, "", STRANGER, &object),
        None => server.act(Method::DELETE, key, "", STRANGER, &Value::Null),
    }
}
