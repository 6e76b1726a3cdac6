//! Keeps a Deployment and a headless Service for every Memcached.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1 as apps;
use k8s_openapi::api::core::v1 as core;
use kube::core::PartialObjectMeta;
use kube::runtime::events::EventType;
use kube::runtime::{finalizer, watcher};
use kube::{Resource, ResourceExt};
use manager::{Action, Failure, Manager, Objects, StatusChange, condition};

use crate::api::v1alpha1::memcached::{Memcached, MemcachedStatus};
use crate::controller::{Error, Result};

mod desired;
mod status;

/// Keeps an object from disappearing before [`cleanup`] is done.
pub const FINALIZER: &str = "cache.example.com/finalizer";

/// Owns the fields that this controller writes.
pub const FIELD_MANAGER: &str = "memcached-operator";

/// What a reconcile works with.
pub struct Context {
    /// Every Memcached.
    pub objects: Objects<Memcached>,
    /// The Deployments of this controller.
    pub deployments: Objects<apps::Deployment>,
    /// The Services of this controller.
    pub services: Objects<core::Service>,
    /// The metadata of the pods of this controller.
    pub pods: Objects<PartialObjectMeta<core::Pod>>,
    /// For objects that name no image.
    pub image: String,
}

/// Adds this controller to the manager.
pub fn register(manager: &mut Manager) {
    let ours = watcher::Config::default().labels(desired::LABEL_SELECTOR);
    let context = Arc::new(Context {
        // Its status sums up its pods, which may come and go fast.
        objects: manager
            .objects::<Memcached>(&watcher::Config::default())
            .status_at_most_every(Duration::from_secs(1)),
        deployments: manager.objects(&ours),
        services: manager.objects(&ours),
        pods: manager.objects(&ours),
        image: std::env::var("MEMCACHED_IMAGE").unwrap_or_else(|_| desired::IMAGE.to_owned()),
    });
    manager
        .controller("memcached", &context.objects)
        .ignore_status()
        .owns(&context.deployments)
        .owns(&context.services)
        .watches(&context.pods, desired::owner)
        .run(reconcile, context);
}

// Everything is read from watches. Server-side apply is a `patch`; for what does not exist yet it needs `create` too.
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=list;patch;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=create;list;patch;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=create;list;patch;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Brings the cluster to the state that the object asks for. Safe to call at any time, any number of times.
pub async fn reconcile(object: Arc<Memcached>, context: Arc<Context>) -> Result<Action> {
    context
        .objects
        .finalizer(object, FINALIZER, async |event| match event {
            finalizer::Event::Apply(object) => apply(&object, &context).await,
            finalizer::Event::Cleanup(object) => cleanup(&object, &context).await,
        })
        .await
        .map_err(Error::during("set the finalizer"))?
}

/// Makes what the object asks for, and tells in its status what came of it.
async fn apply(object: &Memcached, context: &Context) -> Result<Action> {
    match converge(object, context).await {
        Ok(status) => {
            update_status(object, status, context).await?;
            Ok(Action::Done)
        }
        Err(error) => {
            let status = status::degraded(object, error.reason(), &error.to_string());
            if let Err(error) = update_status(object, status, context).await {
                tracing::warn!(%error, "the status does not tell of the failure");
            }
            Err(error)
        }
    }
}

/// Applies what the object needs, and sums up what is there.
async fn converge(object: &Memcached, context: &Context) -> Result<MemcachedStatus> {
    context
        .services
        .apply(&desired::service(object), FIELD_MANAGER)
        .await
        .map_err(Error::during("apply the Service"))?;

    let deployment = desired::deployment(object, &context.image);
    let deployment = context
        .deployments
        .apply(&deployment, FIELD_MANAGER)
        .await
        .map_err(Error::during("apply the Deployment"))?;

    let pods = context.pods.list(object.meta().namespace.as_deref());
    let selector = desired::selector(object);
    let pods = pods
        .iter()
        .filter(|pod| desired::selects(&selector, pod.labels()));
    let running = pods.filter(|pod| pod.meta().deletion_timestamp.is_none());
    let names = running.map(|pod| pod.name_any()).collect();
    Ok(status::observed(object, &deployment.object, names))
}

/// Writes the status if it differs, and publishes what users want to hear of.
async fn update_status(
    object: &Memcached,
    status: MemcachedStatus,
    context: &Context,
) -> Result<()> {
    let written = context
        .objects
        .apply_status(object, &status, FIELD_MANAGER)
        .await
        .map_err(Error::during("write the status"))?;
    if written != StatusChange::Written {
        return Ok(());
    }
    let before = object
        .status
        .as_ref()
        .map_or(&[][..], |status| &status.conditions);
    for (type_, severity) in [
        ("Available", EventType::Normal),
        ("Degraded", EventType::Warning),
    ] {
        if let Some(condition) = condition::turned_true(before, &status.conditions, type_) {
            let note = &condition.message;
            context.objects.publish(object, severity, type_, note).await;
        }
    }
    Ok(())
}

/// Undoes what owner references can't: whatever is outside the cluster, or in another namespace.
/// Called again until it returns [`Action::Done`].
async fn cleanup(object: &Memcached, context: &Context) -> Result<Action> {
    tracing::info!(
        uid = object.uid(),
        "nothing to clean up outside the namespace"
    );
    let note = format!("Cleaned up after {}", object.name_any());
    context
        .objects
        .publish(object, EventType::Normal, "Deleting", &note)
        .await;
    Ok(Action::Done)
}
