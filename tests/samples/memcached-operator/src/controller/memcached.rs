//! Keeps a Deployment and a headless Service for every Memcached.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::core::PartialObjectMeta;
use kube::runtime::events::{Event, EventType, Recorder};
use kube::runtime::watcher::Config;
use kube::{Resource, ResourceExt};
use tracing::{info, warn};

use super::{Error, Result};
use crate::api::v1alpha1::memcached::{Memcached, MemcachedStatus};
use crate::manager::{Action, Change, Failure, Manager, Objects, condition};

mod desired;
mod status;

/// Keeps a Memcached from disappearing before [`cleanup`] is done.
pub const FINALIZER: &str = "cache.example.com/finalizer";

/// Owns the fields that this controller writes.
pub const FIELD_MANAGER: &str = "memcached-operator";

/// What a reconcile works with.
pub struct Context {
    /// All Memcacheds.
    pub memcacheds: Objects<Memcached>,
    /// The Deployments of Memcacheds.
    pub deployments: Objects<Deployment>,
    /// The Services of Memcacheds.
    pub services: Objects<Service>,
    /// The pods of Memcacheds, without their specs.
    pub pods: Objects<PartialObjectMeta<Pod>>,
    /// Tells users what happens to their Memcacheds.
    pub recorder: Recorder,
    /// For Memcacheds that name no image.
    pub image: String,
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let ours = Config::default().labels(&desired::label_selector());
    let context = Arc::new(Context {
        memcacheds: manager.objects(&Config::default()),
        deployments: manager.objects(&ours),
        services: manager.objects(&ours),
        pods: manager.objects(&ours),
        recorder: manager.recorder(),
        image: std::env::var("MEMCACHED_IMAGE").unwrap_or_else(|_| desired::IMAGE.to_owned()),
    });
    manager
        .controller("memcached", &context.memcacheds)
        .ignore_status()
        .owns(&context.deployments)
        .owns(&context.services)
        .watches(&context.pods, desired::owner)
        .run({
            let context = context.clone();
            move |memcached| reconcile(memcached, context.clone())
        });
}

// Server-side apply creates with `patch`, and the server asks for `create` too. Everything is read from watches.
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=list;patch;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=create;list;patch;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=create;list;patch;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Brings the cluster to the state that `memcached` asks for. Safe to call at any time, any number of times.
pub async fn reconcile(memcached: Arc<Memcached>, context: Arc<Context>) -> Result<Action> {
    if memcached.meta().deletion_timestamp.is_some() {
        return finalize(&memcached, &context).await;
    }
    let added = context
        .memcacheds
        .add_finalizer(&memcached, FINALIZER)
        .await;
    added.map_err(Error::during("add the finalizer"))?;

    match converge(&memcached, &context).await {
        Ok(status) => {
            update_status(&memcached, status, &context).await?;
            Ok(Action::Done)
        }
        Err(error) => {
            let status = status::degraded(&memcached, error.reason(), &error.to_string());
            if let Err(error) = update_status(&memcached, status, &context).await {
                warn!(%error, "the status does not tell of the failure");
            }
            Err(error)
        }
    }
}

/// Applies what the Memcached needs, and sums up what is there.
async fn converge(memcached: &Memcached, context: &Context) -> Result<MemcachedStatus> {
    let service = context
        .services
        .apply(&desired::service(memcached), FIELD_MANAGER)
        .await;
    service.map_err(Error::during("apply the Service"))?;

    let deployment = desired::deployment(memcached, &context.image);
    let applied = context.deployments.apply(&deployment, FIELD_MANAGER).await;
    let deployment = applied.map_err(Error::during("apply the Deployment"))?;
    if deployment.change == Change::Created {
        let note = format!("Created Deployment {}", deployment.object.name_any());
        publish(memcached, context, EventType::Normal, "Created", note).await;
    }

    let pods = context.pods.list(memcached.meta().namespace.as_deref());
    let pods = pods
        .iter()
        .filter(|pod| desired::selects(memcached, pod.labels()));
    let nodes = pods
        .filter(|pod| pod.metadata.deletion_timestamp.is_none())
        .map(|pod| pod.name_any());
    Ok(status::observed(
        memcached,
        &deployment.object,
        nodes.collect(),
    ))
}

async fn update_status(
    memcached: &Memcached,
    status: MemcachedStatus,
    context: &Context,
) -> Result<()> {
    let written = context
        .memcacheds
        .apply_status(memcached, &status, FIELD_MANAGER)
        .await;
    if !written.map_err(Error::during("write the status"))? {
        return Ok(());
    }
    let before = memcached
        .status
        .as_ref()
        .map_or(&[][..], |status| &status.conditions);
    for (type_, severity) in [
        ("Available", EventType::Normal),
        ("Degraded", EventType::Warning),
    ] {
        let condition = status
            .conditions
            .iter()
            .find(|condition| condition.type_ == type_);
        if let Some(condition) = condition.filter(|condition| condition.status == "True")
            && !condition::is_true(before, type_)
        {
            publish(
                memcached,
                context,
                severity,
                type_,
                condition.message.clone(),
            )
            .await;
        }
    }
    Ok(())
}

async fn finalize(memcached: &Memcached, context: &Context) -> Result<Action> {
    if memcached
        .finalizers()
        .iter()
        .any(|finalizer| finalizer == FINALIZER)
    {
        cleanup(memcached).await?;
        let note = format!("Cleaned up after Memcached {}", memcached.name_any());
        publish(memcached, context, EventType::Normal, "Deleting", note).await;
        let removed = context
            .memcacheds
            .remove_finalizer(memcached, FINALIZER)
            .await;
        removed.map_err(Error::during("remove the finalizer"))?;
    }
    Ok(Action::Done)
}

/// Undoes what owner references can't: whatever lives outside the cluster, or in another namespace.
/// Called again until it succeeds.
async fn cleanup(memcached: &Memcached) -> Result<()> {
    info!(
        uid = memcached.uid(),
        "nothing to clean up outside the cluster"
    );
    Ok(())
}

/// An event helps people; that it can't be published is no reason to stop.
async fn publish(
    memcached: &Memcached,
    context: &Context,
    type_: EventType,
    reason: &str,
    note: String,
) {
    let event = Event {
        type_,
        reason: reason.to_owned(),
        note: Some(note),
        action: "Reconcile".to_owned(),
        secondary: None,
    };
    if let Err(error) = context
        .recorder
        .publish(&event, &memcached.object_ref(&()))
        .await
    {
        warn!(reason, %error, "can't publish an event");
    }
}
