//! Bucket: an object in an external system.
//!
//! The external system is a kind without an owner and without a watch, so that copies of the server have its state too.

use std::sync::Arc;
use std::time::Duration;

use explorer::{ApiServer, Explorer, Oracle};
use futures::StreamExt as _;
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

use crate::common::{Operator, Planted, apply, crd, delete, kind, merge, server};

pub(crate) const BUCKET: Planted = Planted {
    name: "bucket",
    bugs: &[
        ("records the external identity after the call", Oracle::Crash),
        ("adds the finalizer after the external call", Oracle::Deletion),
        ("ignores an error of the external deletion", Oracle::Faults),
        ("leaves the external object of the earlier region", Oracle::History),
        ("external name without the namespace", Oracle::Neighbours),
        ("never reads the external object again", Oracle::Drift),
        ("lists, then creates with a generated name", Oracle::Overlap),
        ("clears the annotations of others", Oracle::Invariant),
    ],
    explorer,
};

const FINALIZER: &str = "example.com/bucket";

async fn reconcile(operator: &Operator, cached: &DynamicObject) -> Result<Action, kube::Error> {
    let has = |bug| operator.has(bug);
    let (name, namespace) = (cached.name_any(), cached.namespace().unwrap_or_default());
    let buckets: Api<DynamicObject> =
        Api::namespaced_with(operator.client.clone(), &namespace, &kind("Bucket", "buckets"));
    let things: Api<DynamicObject> = Api::all_with(operator.client.clone(), &kind("Thing", "things"));
    let Some(bucket) = buckets.get_opt(&name).await? else {
        return Ok(Action::await_change());
    };
    let (region, recorded) = (&bucket.data["spec"]["region"], &bucket.data["status"]["region"]);
    let id = |region: &serde_json::Value| {
        let region = region.as_str().unwrap_or_default();
        match has("external name without the namespace") {
            true => format!("{name}-{region}"),
            false => format!("{namespace}-{name}-{region}"),
        }
    };
    if bucket.metadata.deletion_timestamp.is_some() {
        if let Some(id) = bucket.data["status"]["id"].as_str() {
            delete(&things, id).await?;
        }
        if !recorded.is_null() {
            match delete(&things, &id(recorded)).await {
                Err(_) if has("ignores an error of the external deletion") => {}
                other => other?,
            }
        }
        if bucket.finalizers().iter().any(|finalizer| finalizer == FINALIZER) {
            merge(&buckets, &name, json!({ "metadata": { "finalizers": null } })).await?;
        }
        return Ok(Action::await_change());
    }
    let add_finalizer = async || {
        if bucket.finalizers().is_empty() {
            let mut metadata = json!({ "finalizers": [FINALIZER] });
            if has("clears the annotations of others") {
                metadata["annotations"] = json!(null);
            }
            merge(&buckets, &name, json!({ "metadata": metadata })).await?;
        }
        Ok::<_, kube::Error>(())
    };
    let late = has("adds the finalizer after the external call");
    if !late {
        add_finalizer().await?;
    }
    let record = async |status: serde_json::Value| {
        let patch = kube::api::Patch::Merge(json!({ "status": status }));
        buckets.patch_status(&name, &kube::api::PatchParams::default(), &patch).await.map(drop)
    };
    let spec = json!({ "size": bucket.data["spec"]["size"], "by": namespace });
    if operator.bug == "records the external identity after the call"
        || operator.bug == "lists, then creates with a generated name"
    {
        let thing = json!({
            "apiVersion": "example.com/v1", "kind": "Thing", "spec": spec,
            "metadata": { "generateName": format!("{name}-"), "labels": { "bucket": name } },
        });
        let thing = serde_json::from_value(thing).unwrap();
        let known = things.list(&ListParams::default().labels(&format!("bucket={name}"))).await?.items;
        let lists = has("lists, then creates with a generated name");
        let id = match (bucket.data["status"]["id"].as_str(), known.first()) {
            (Some(id), _) => id.to_owned(),
            (None, Some(known)) if lists => known.name_any(),
            _ => things.create(&PostParams::default(), &thing).await?.name_any(),
        };
        record(json!({ "id": id })).await?;
        return Ok(Action::await_change());
    }
    if !recorded.is_null() && recorded != region && !has("leaves the external object of the earlier region") {
        delete(&things, &id(recorded)).await?;
    }
    // The record comes before the call, so that a crash between them loses nothing.
    if recorded != region {
        record(json!({ "region": region })).await?;
    }
    let thing =
        json!({ "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": id(region) }, "spec": spec });
    apply(&things, thing).await?;
    if late {
        add_finalizer().await?;
    }
    Ok(match has("never reads the external object again") {
        true => Action::await_change(),
        false => Action::requeue(Duration::from_secs(60)),
    })
}

async fn run(client: Client, bug: &'static str) {
    let buckets: Api<DynamicObject> = Api::all_with(client.clone(), &kind("Bucket", "buckets"));
    Controller::new_with(buckets, watcher::Config::default(), kind("Bucket", "buckets"))
        .run(
            |bucket, operator: Arc<Operator>| async move { reconcile(&operator, &bucket).await },
            |_, _, _| Action::requeue(Duration::from_secs(5)),
            Arc::new(Operator { client, bug }),
        )
        .for_each(|_| std::future::ready(()))
        .await;
}

fn explorer(bug: &'static str) -> Explorer {
    let text = json!({ "type": "string" });
    let spec = json!({
        "region": { "type": "string", "enum": ["east", "west"], "default": "east" },
        "size": { "type": "integer", "minimum": 1, "maximum": 9, "default": 1 },
    });
    let thing = json!({ "size": { "type": "integer" }, "by": text });
    let server = server(&[
        crd(&kind("Bucket", "buckets"), "Namespaced", spec, json!({ "region": text, "id": text })),
        crd(&kind("Thing", "things"), "Cluster", thing, json!({})),
    ]);
    let keeps_note = |server: &ApiServer| match server.objects("buckets.example.com").first() {
        Some(bucket) if bucket["metadata"]["annotations"]["note"] != "mine" => Err("the note is gone".to_owned()),
        _ => Ok(()),
    };
    Explorer::new(&server, move |client| run(client, bug)).invariant("the author's note stays", keeps_note).sample(json!({
        "apiVersion": "example.com/v1", "kind": "Bucket",
        "metadata": { "name": "corner", "annotations": { "note": "mine" } }, "spec": { "region": "east", "size": 2 },
    }))
}
