// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! Acts on every ReplicaSet.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::runtime::watcher;
use manager::{Action, Manager, Objects};

use crate::controller::Result;

/// The state that all reconciles share.
pub struct Context {
    /// Every ReplicaSet.
    pub objects: Objects<ReplicaSet>,
}

/// Adds this controller to the manager.
pub fn register(manager: &mut Manager) {
    let context = Arc::new(Context {
        objects: manager.objects(&watcher::Config::default()),
    });
    manager
        .controller("apps-replicaset", &context.objects)
        .run(reconcile, context);
}

// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Reconciles the object. Idempotent: it is safe to call at any time.
pub async fn reconcile(object: Arc<ReplicaSet>, context: Arc<Context>) -> Result<Action> {
    // TODO: act on the object; `context.objects` writes it. Add the permissions that this needs to the markers above.
    let all = context.objects.list(object.metadata.namespace.as_deref());
    tracing::info!(of = all.len(), "nothing to do yet");
    Ok(Action::Done)
}
