//! A lower bound for an operator: one write each for the finalizer, the Service, the Deployment and the status, with
//! the bytes of the sample's operator. No cache, no watch, no comparison.

use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

const FIELD_MANAGER: &str = "memcached-operator";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Namespace of the objects
    #[arg(long)]
    namespace: String,
    /// Number of concurrent objects
    #[arg(long)]
    concurrency: usize,
    /// Skip the Service
    #[arg(long)]
    without_service: bool,
}

pub(crate) fn api(client: &Client, namespace: &str, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::namespaced_with(client.clone(), namespace, &resource)
}

pub(crate) fn memcacheds(client: &Client, namespace: &str) -> Api<DynamicObject> {
    api(client, namespace, "cache.example.com", "v1alpha1", "Memcached")
}

struct Floor {
    memcacheds: Api<DynamicObject>,
    deployments: Api<DynamicObject>,
    services: Option<Api<DynamicObject>>,
}

pub(crate) async fn run(options: Options, client: Client) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let namespace = options.namespace;
    let services = api(&client, &namespace, "", "v1", "Service");
    let floor = Floor {
        memcacheds: memcacheds(&client, &namespace),
        deployments: api(&client, &namespace, "apps", "v1", "Deployment"),
        services: (!options.without_service).then_some(services),
    };
    let objects = floor.memcacheds.list(&ListParams::default()).await?;
    stream::iter(objects)
        .map(|object| floor.converge(object))
        .buffer_unordered(options.concurrency)
        .try_collect::<()>()
        .await?;
    Ok(())
}

impl Floor {
    async fn converge(&self, object: DynamicObject) -> kube::Result<()> {
        let name = object.name_any();
        let finalizer = json!({ "metadata": {
            "finalizers": ["cache.example.com/finalizer"],
            "resourceVersion": object.resource_version(),
        } });
        let params = PatchParams::default();
        let object = self.memcacheds.patch(&name, &params, &Patch::Merge(&finalizer)).await?;
        let params = PatchParams::apply(FIELD_MANAGER).force();
        if let Some(services) = &self.services {
            services.patch(&name, &params, &Patch::Apply(service(&object))).await?;
        }
        let deployment = self.deployments.patch(&name, &params, &Patch::Apply(deployment(&object))).await?;
        let status = Patch::Apply(status(&object, deployment.creation_timestamp().map(|at| json!(at))));
        self.memcacheds.patch_status(&name, &params, &status).await?;
        Ok(())
    }
}

fn selector(object: &DynamicObject) -> Value {
    json!({ "app.kubernetes.io/instance": object.name_any(), "app.kubernetes.io/name": "memcached" })
}

fn labels(object: &DynamicObject) -> Value {
    let mut labels = selector(object);
    labels["app.kubernetes.io/managed-by"] = json!("memcached-operator");
    labels
}

fn metadata(object: &DynamicObject) -> Value {
    json!({
        "labels": labels(object),
        "name": object.name_any(),
        "namespace": object.namespace(),
        "ownerReferences": [{
            "apiVersion": "cache.example.com/v1alpha1",
            "blockOwnerDeletion": true,
            "controller": true,
            "kind": "Memcached",
            "name": object.name_any(),
            "uid": object.uid(),
        }],
    })
}

fn service(object: &DynamicObject) -> Value {
    let port = &object.data["spec"]["containerPort"];
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(object),
        "spec": {
            "clusterIP": "None",
            "ports": [{ "name": "main", "port": port, "targetPort": "main" }],
            "selector": selector(object),
        },
    })
}

fn deployment(object: &DynamicObject) -> Value {
    let probe = |period: u32| json!({ "periodSeconds": period, "tcpSocket": { "port": "main" } });
    let container = json!({
        "args": object.data["spec"].get("extraArgs").cloned().unwrap_or(json!([])),
        "image": std::env::var("MEMCACHED_IMAGE").unwrap_or_default(),
        "livenessProbe": probe(20),
        "name": "memcached",
        "ports": [{ "containerPort": object.data["spec"]["containerPort"], "name": "main" }],
        "readinessProbe": probe(5),
        "securityContext": { "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } },
    });
    let pod = json!({
        "automountServiceAccountToken": false,
        "containers": [container],
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": 1001, "seccompProfile": { "type": "RuntimeDefault" },
        },
    });
    let annotations = json!({ "cache.example.com/memcached": object.name_any() });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(object),
        "spec": {
            "replicas": object.data["spec"]["size"],
            "selector": { "matchLabels": selector(object) },
            "template": { "metadata": { "annotations": annotations, "labels": labels(object) }, "spec": pod },
        },
    })
}

/// The status for a Deployment without observed replicas.
fn status(object: &DynamicObject, now: Option<Value>) -> Value {
    let conditions = [
        ("Available", "False", "ReplicasUnavailable", "0 of 1 replicas are available"),
        ("Progressing", "True", "RollingOut", "0 of 1 replicas are available"),
        ("Degraded", "False", "AsExpected", ""),
    ];
    let conditions = conditions.map(|(type_, status, reason, message)| {
        json!({
            "type": type_, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": now, "observedGeneration": object.metadata.generation,
        })
    });
    let selector = format!("app.kubernetes.io/instance={},app.kubernetes.io/name=memcached", object.name_any());
    json!({
        "apiVersion": "cache.example.com/v1alpha1",
        "kind": "Memcached",
        "metadata": { "uid": object.uid() },
        "status": { "conditions": conditions, "phase": "Pending", "replicas": 0, "selector": selector },
    })
}
