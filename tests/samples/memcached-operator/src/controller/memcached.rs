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

/// The finalizer, which keeps an object until [`cleanup`] is done.
pub const FINALIZER: &str = "cache.example.com/finalizer";

/// The field manager, which owns the fields that this controller writes.
pub const FIELD_MANAGER: &str = "memcached-operator";

/// The state that all reconciles share.
pub struct Context {
    /// Every Memcached.
    pub objects: Objects<Memcached>,
    /// The Deployments of this controller.
    pub deployments: Objects<apps::Deployment>,
    /// The Services of this controller.
    pub services: Objects<core::Service>,
    /// The metadata of the pods of this controller.
    pub pods: Objects<PartialObjectMeta<core::Pod>>,
    /// The image of objects without one.
    pub image: String,
}

/// Adds this controller to the manager.
pub fn register(manager: &mut Manager) {
    let ours = watcher::Config::default().labels(desired::LABEL_SELECTOR);
    let context = Arc::new(Context {
        // The status summarizes the pods, which may change fast.
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

// Watches read everything. Server-side apply is a `patch`; it also needs `create` for objects that don't exist yet.
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=list;patch;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=create;list;patch;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=create;list;patch;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Brings the cluster to the desired state of the object. Idempotent: it is safe to call at any time.
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

/// Applies the desired objects and reports the result in the status.
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

/// Applies the desired objects and returns the observed status.
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

/// Writes the status if it differs, and publishes events for users.
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

/// Deletes resources that owner references can't cover: those outside the cluster or in another namespace.
/// The manager calls it until it returns [`Action::Done`].
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
