//! Brings the cluster to the state that every Frigate asks for.

use std::sync::Arc;

use kube::Resource;
use kube::runtime::watcher;
use manager::{Action, Manager, Objects, condition};

use crate::api::ship::v1::frigate::Frigate;
use crate::controller::{Error, Result};

/// Owns the fields that this controller writes.
pub const FIELD_MANAGER: &str = "multi-group";

/// What a reconcile works with.
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
        .controller("frigate-backup", &context.objects)
        .ignore_status()
        .run({
            let context = context.clone();
            move |object| reconcile(object, context.clone())
        });
}

// +kubebuilder:rbac:groups=ship.example.org,resources=frigates,verbs=list;watch
// +kubebuilder:rbac:groups=ship.example.org,resources=frigates/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Brings the cluster to the state that the object asks for. Safe to call at any time, any number of times.
pub async fn reconcile(object: Arc<Frigate>, context: Arc<Context>) -> Result<Action> {
    // TODO: apply the objects that `object.spec` asks for; what they are like belongs into the status below.
    let mut status = object.status.clone().unwrap_or_default();
    let ready = condition::Observed {
        type_: "Ready",
        status: Some(true),
        reason: "Reconciled".to_owned(),
        message: "everything is as the spec asks for".to_owned(),
    };
    condition::set(&mut status.conditions, ready, object.meta().generation);
    let written = context
        .objects
        .apply_status(&object, &status, FIELD_MANAGER)
        .await;
    written.map_err(Error::during("write the status"))?;
    Ok(Action::Done)
}
