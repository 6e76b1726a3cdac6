// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! Acts on every ReplicaSet.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::runtime::watcher;
use manager::{Action, Manager, Objects};

use crate::controller::Result;

/// What a reconcile works with.
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

/// Does what there is to do about the object. Safe to call at any time, any number of times.
pub async fn reconcile(object: Arc<ReplicaSet>, context: Arc<Context>) -> Result<Action> {
    // TODO: act on the object; `context.objects` writes it. Name in the markers above what that needs.
    let all = context.objects.list(object.metadata.namespace.as_deref());
    tracing::info!(of = all.len(), "nothing to do yet");
    Ok(Action::Done)
}
