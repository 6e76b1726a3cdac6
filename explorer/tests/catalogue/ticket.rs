//! Ticket: a kind with two versions, a defaulting, a validating and a conversion webhook.

use std::sync::Arc;
use std::time::Duration;

use explorer::{Explorer, Oracle};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::DynamicObject;
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::common::{Operator, Planted, apply, crd, kind, merge, owners, server};

pub(crate) const TICKET: Planted = Planted {
    name: "ticket",
    bugs: &[
        ("defaulting appends to a list", Oracle::Webhooks),
        ("defaulting fights the controller", Oracle::Webhooks),
        ("validation refuses the sample's defaults", Oracle::Webhooks),
        ("validation refuses a write of the controller", Oracle::Webhooks),
        ("validation keeps the finalizers of old objects", Oracle::Webhooks),
        ("conversion loses a field", Oracle::Webhooks),
        ("conversion loses a field of the other version", Oracle::Webhooks),
    ],
    explorer,
};

const FINALIZER: &str = "example.com/ticket";
const PHONE: &str = "example.com/phone";

fn default(ticket: &Value, bug: &str) -> Value {
    let mut ticket = ticket.clone();
    let spec = &mut ticket["spec"];
    if spec["class"].is_null() {
        spec["class"] = match bug {
            "validation refuses the sample's defaults" => "business",
            _ => "standard",
        }
        .into();
    }
    if spec["notes"].is_null() {
        spec["notes"] = json!([]);
    }
    if bug == "defaulting appends to a list"
        && let Some(notes) = spec["notes"].as_array_mut()
    {
        notes.push("defaulted".into());
    }
    if bug == "defaulting fights the controller" && spec["seat"].is_null() {
        spec["seat"] = "any".into();
    }
    ticket
}

fn validate(old: Option<&Value>, new: Option<&Value>, bug: &str) -> Result<(), String> {
    let Some(new) = new else { return Ok(()) };
    let is_deleted = !new["metadata"]["deletionTimestamp"].is_null();
    let is_same = old.is_some_and(|old| old["spec"] == new["spec"]);
    if (is_deleted || is_same) && bug != "validation keeps the finalizers of old objects" {
        return Ok(());
    }
    if let (Some(old), "validation refuses a write of the controller") = (old, bug)
        && old["spec"]["seat"] != new["spec"]["seat"]
    {
        return Err("spec.seat is immutable".to_owned());
    }
    match new["spec"]["class"].as_str() {
        Some("standard" | "first") => Ok(()),
        class => Err(format!("spec.class is {class:?}")),
    }
}

/// `count` of v1beta1 is `seats` of v1.
fn convert(ticket: &Value, api_version: &str, bug: &str) -> Result<Value, String> {
    let mut converted = ticket.clone();
    converted["apiVersion"] = api_version.into();
    let [from, to] = if api_version == "example.com/v1" { ["count", "seats"] } else { ["seats", "count"] };
    let spec = converted["spec"].as_object_mut().ok_or("no spec")?;
    if let Some(count) = spec.remove(from) {
        spec.insert(to.to_owned(), count);
    }
    if bug == "conversion loses a field" {
        spec.remove("seat");
    }
    // Only v1beta1 has a phone. The stored object keeps it in an annotation.
    match spec.remove("phone") {
        Some(_) if bug == "conversion loses a field of the other version" => {}
        Some(phone) => converted["metadata"]["annotations"][PHONE] = phone,
        None => {
            if let Some(annotations) = converted["metadata"]["annotations"].as_object_mut()
                && to == "count"
                && let Some(phone) = annotations.remove(PHONE)
            {
                converted["spec"]["phone"] = phone;
            }
        }
    }
    Ok(converted)
}

async fn reconcile(operator: &Operator, ticket: &DynamicObject) -> Result<Action, kube::Error> {
    let (name, namespace) = (ticket.name_any(), ticket.namespace().unwrap_or_default());
    let tickets: Api<DynamicObject> =
        Api::namespaced_with(operator.client.clone(), &namespace, &kind("Ticket", "tickets"));
    if ticket.metadata.deletion_timestamp.is_some() {
        if !ticket.finalizers().is_empty() {
            merge(&tickets, &name, json!({ "metadata": { "finalizers": null } })).await?;
        }
        return Ok(Action::await_change());
    }
    if ticket.finalizers().is_empty() {
        merge(&tickets, &name, json!({ "metadata": { "finalizers": [FINALIZER] } })).await?;
    }
    let spec = &ticket.data["spec"];
    // The controller chooses a seat once, except for the one that its defaulting has chosen.
    if operator.has("defaulting fights the controller") {
        merge(&tickets, &name, json!({ "spec": { "seat": null } })).await?;
    } else if spec["seat"].is_null() {
        merge(&tickets, &name, json!({ "spec": { "seat": "1a" } })).await?;
    }
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": format!("ticket-{name}"), "ownerReferences": owners(ticket) },
        "data": { "seats": spec["seats"].to_string(), "class": spec["class"] },
    });
    apply(&operator.api::<ConfigMap>(&namespace), map).await?;
    Ok(Action::await_change())
}

async fn run(client: Client, bug: &'static str) {
    let config = watcher::Config::default;
    let tickets: Api<DynamicObject> = Api::all_with(client.clone(), &kind("Ticket", "tickets"));
    Controller::new_with(tickets, config(), kind("Ticket", "tickets"))
        .owns(Api::<ConfigMap>::all(client.clone()), config())
        .run(
            |ticket, operator: Arc<Operator>| async move { reconcile(&operator, &ticket).await },
            |_, _, _| Action::requeue(Duration::from_secs(5)),
            Arc::new(Operator { client, bug }),
        )
        .for_each(|_| std::future::ready(()))
        .await;
}

fn explorer(bug: &'static str) -> Explorer {
    let text = json!({ "type": "string" });
    let notes = json!({ "type": "array", "items": text });
    let count = json!({ "type": "integer", "minimum": 1, "maximum": 4, "default": 1 });
    let spec = |name: &str| json!({ name: count, "class": text, "notes": notes, "seat": text });
    let mut kind = crd(&kind("Ticket", "tickets"), "Namespaced", spec("seats"), json!({}));
    let mut old = kind["spec"]["versions"][0].clone();
    old["name"] = "v1beta1".into();
    old["storage"] = false.into();
    let fields = &mut old["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    *fields = spec("count");
    fields["phone"] = text.clone();
    kind["spec"]["versions"].as_array_mut().unwrap().push(old);
    kind["spec"]["conversion"] = json!({ "strategy": "Webhook" });
    Explorer::new(&server(&[kind]), move |client| run(client, bug))
        .converts("tickets.example.com", move |ticket, version| convert(ticket, version, bug))
        .defaults("example.com/v1", "Ticket", move |ticket| Ok(default(ticket, bug)))
        .validates("example.com/v1", "Ticket", move |old, new| validate(old, new, bug))
        .sample(json!({
            "apiVersion": "example.com/v1", "kind": "Ticket", "metadata": { "name": "corner" },
            "spec": { "seats": 2, "notes": ["by the window"] },
        }))
        .sample(json!({
            "apiVersion": "example.com/v1beta1", "kind": "Ticket", "metadata": { "name": "early" },
            "spec": { "count": 3, "class": "first" },
        }))
}
