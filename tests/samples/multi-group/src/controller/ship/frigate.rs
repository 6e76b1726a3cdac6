// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! Brings the cluster to the state that every Frigate asks for.

use std::sync::Arc;

use kube::runtime::watcher;
use manager::{Action, Manager, Objects};

use crate::api::ship::v1beta1::frigate::Frigate;
use crate::controller::{Error, Result};

pub mod desired;
pub mod status;

/// The field manager, which owns the fields that this controller writes.
pub const FIELD_MANAGER: &str = "multi-group";

/// The state that all reconciles share.
pub struct Context {
    /// Every Frigate.
    pub objects: Objects<Frigate>,
}

/// Adds this controller to the manager.
pub fn register(manager: &mut Manager) {
    let context = Arc::new(Context {
        objects: manager.objects(&watcher::Config::default()),
    });
    manager
        .controller("ship-frigate", &context.objects)
        .ignore_status()
        .run(reconcile, context);
}

// +kubebuilder:rbac:groups=ship.example.org,resources=frigates,verbs=list;watch
// +kubebuilder:rbac:groups=ship.example.org,resources=frigates/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Brings the cluster to the desired state of the object. Idempotent: it is safe to call at any time.
pub async fn reconcile(object: Arc<Frigate>, context: Arc<Context>) -> Result<Action> {
    // TODO: apply the objects that `desired` builds, and pass the results to `status`.
    let status = status::observed(&object);
    context
        .objects
        .apply_status(&object, &status, FIELD_MANAGER)
        .await
        .map_err(Error::during("write the status"))?;
    Ok(Action::Done)
}
