// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! Brings the cluster to the state that every HumpbackWhaleMigrationObservation asks for.

use std::sync::Arc;

use kube::runtime::watcher;
use manager::{Action, Manager, Objects};

use crate::api::sea_creatures::v1alpha1::humpback_whale_migration_observation::HumpbackWhaleMigrationObservation;
use crate::controller::{Error, Result};

pub mod desired;
pub mod status;

/// The field manager, which owns the fields that this controller writes.
pub const FIELD_MANAGER: &str = "multi-group";

/// The state that all reconciles share.
pub struct Context {
    /// Every HumpbackWhaleMigrationObservation.
    pub objects: Objects<HumpbackWhaleMigrationObservation>,
}

/// Adds this controller to the manager.
pub fn register(manager: &mut Manager) {
    let context = Arc::new(Context {
        objects: manager.objects(&watcher::Config::default()),
    });
    manager
        .controller(
            "sea-creatures-humpbackwhalemigrationobservation",
            &context.objects,
        )
        .ignore_status()
        .run(reconcile, context);
}

// +kubebuilder:rbac:groups=sea-creatures.example.org,resources=humpbackwhalemigrationobservations,verbs=list;watch
// +kubebuilder:rbac:groups=sea-creatures.example.org,resources=humpbackwhalemigrationobservations/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Brings the cluster to the desired state of the object. Idempotent: it is safe to call at any time.
pub async fn reconcile(
    object: Arc<HumpbackWhaleMigrationObservation>,
    context: Arc<Context>,
) -> Result<Action> {
    // TODO: apply the objects that `desired` builds, and pass the results to `status`.
    let status = status::observed(&object);
    context
        .objects
        .apply_status(&object, &status, FIELD_MANAGER)
        .await
        .map_err(Error::during("write the status"))?;
    Ok(Action::Done)
}
