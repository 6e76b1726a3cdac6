//! Shop: ConfigMaps in two namespaces, one of them with a finalizer, and a Deployment.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use explorer::{ApiServer, Explorer, Oracle, Stage, Stages};
use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::common::{self, Planted};

pub(crate) const SHOP: Planted = Planted {
    name: "shop",
    bugs: &[
        ("the status never settles", Oracle::Quiet),
        ("writes every three seconds", Oracle::Quiet),
        ("new name at each start", Oracle::Quiet),
        ("second step only after the first", Oracle::Crash),
        ("creates without AlreadyExists", Oracle::Crash),
        ("removes the finalizer first", Oracle::Crash),
        ("adds the finalizer late", Oracle::Deletion),
        ("cleanup fails without the object", Oracle::Crash),
        ("no owner reference", Oracle::Deletion),
        ("does not watch the lock", Oracle::Drift),
        ("compares one field", Oracle::Drift),
        ("applies without force", Oracle::Drift),
        ("swallows a conflict", Oracle::Faults),
        ("swallows errors", Oracle::Faults),
        ("never removes a field", Oracle::History),
    ],
    explorer,
};

static STARTS: AtomicUsize = AtomicUsize::new(0);

struct Operator {
    client: Client,
    bug: &'static str,
}

fn shops() -> ApiResource {
    common::kind("Shop", "shops")
}

fn crd() -> Value {
    let size = json!({ "type": "integer", "minimum": 0, "maximum": 9, "default": 1 });
    let any = json!({ "type": "integer" });
    common::crd(&shops(), "Namespaced", json!({ "size": size }), json!({ "ready": any, "rounds": any }))
}

impl Operator {
    fn params(&self) -> PatchParams {
        let params = PatchParams::apply("shop-operator");
        if self.bug == "applies without force" { params } else { params.force() }
    }

    async fn reconcile(&self, shop: &DynamicObject) -> Result<Action, kube::Error> {
        let client = &self.client;
        let name = shop.name_any();
        let shops: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &shops());
        let locks: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
        let finalizers = |names: Value| Patch::Merge(json!({ "metadata": { "finalizers": names } }));
        let none = PatchParams::default();
        if shop.metadata.deletion_timestamp.is_some() {
            if self.bug == "removes the finalizer first" {
                shops.patch(&name, &none, &finalizers(json!([]))).await?;
            }
            match locks.delete(&name, &DeleteParams::default()).await {
                Err(kube::Error::Api(status))
                    if status.code == 404 && self.bug != "cleanup fails without the object" => {}
                other => drop(other?),
            }
            if shop.finalizers().is_empty() || self.bug == "removes the finalizer first" {
                return Ok(Action::await_change());
            }
            shops.patch(&name, &none, &finalizers(json!([]))).await?;
            return Ok(Action::await_change());
        }
        let add_finalizer = async || match shop.finalizers().is_empty() {
            true => shops.patch(&name, &none, &finalizers(json!(["example.com/lock"]))).await.map(drop),
            false => Ok(()),
        };
        if self.bug != "adds the finalizer late" {
            add_finalizer().await?;
        }
        let lock =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "by": name } });
        locks.patch(&name, &self.params(), &Patch::Apply(&lock)).await?;
        if self.bug == "never removes a field" && shop.data["spec"]["size"].as_i64() > Some(3) {
            let big = json!({ "data": { "big": "yes" } });
            locks.patch(&name, &none, &Patch::Merge(big)).await?;
        }
        if self.bug == "adds the finalizer late" {
            add_finalizer().await?;
        }

        let owner = json!([{
            "apiVersion": "example.com/v1", "kind": "Shop", "name": name, "uid": shop.uid(), "controller": true,
        }]);
        let mut metadata = json!({ "name": name, "ownerReferences": owner });
        if self.bug == "no owner reference" {
            metadata = json!({ "name": name });
        }
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "motd": "hello", "size": "3" },
        });
        if self.bug == "creates without AlreadyExists" {
            if shop.data["status"]["ready"].is_null() {
                maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await?;
            }
        } else if self.bug == "second step only after the first" {
            if maps.get_opt(&name).await?.is_some() {
                return Ok(Action::await_change());
            }
            maps.patch(&name, &self.params(), &Patch::Apply(&map)).await?;
        } else {
            maps.patch(&name, &self.params(), &Patch::Apply(&map)).await?;
        }
        let ready = self.deployment(shop, &owner).await?;

        let mut status = json!({ "ready": ready });
        if self.bug == "the status never settles" {
            status["rounds"] = (shop.data["status"]["rounds"].as_i64().unwrap_or_default() + 1).into();
        }
        let status = json!({ "apiVersion": "example.com/v1", "kind": "Shop", "status": status });
        match shops.patch_status(&name, &self.params(), &Patch::Apply(&status)).await {
            Err(_) if self.bug == "swallows errors" => {}
            Err(kube::Error::Api(status)) if status.code == 409 && self.bug == "swallows a conflict" => {}
            other => drop(other?),
        }
        Ok(match self.bug {
            "writes every three seconds" => Action::requeue(Duration::from_secs(3)),
            _ => Action::await_change(),
        })
    }

    /// Returns the number of ready replicas.
    async fn deployment(&self, shop: &DynamicObject, owner: &Value) -> Result<i32, kube::Error> {
        let name = shop.name_any();
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), "default");
        let size = &shop.data["spec"]["size"];
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": name, "ownerReferences": owner },
            "spec": {
                "replicas": size, "selector": { "matchLabels": { "shop": name } },
                "template": {
                    "metadata": { "labels": { "shop": name } },
                    "spec": { "containers": [{ "name": "shop", "image": "shop:1", "env": [{ "name": "A", "value": "b" }] }] },
                },
            },
        });
        let is_current = |live: &Deployment| {
            json!(live.spec.as_ref().unwrap().replicas) == *size && live.metadata.owner_references.is_some()
        };
        let live = match self.bug {
            "compares one field" => deployments.get_opt(&name).await?.filter(is_current),
            _ => None,
        };
        let live = match live {
            Some(live) => live,
            None => deployments.patch(&name, &self.params(), &Patch::Apply(&deployment)).await?,
        };
        Ok(live.status.and_then(|status| status.ready_replicas).unwrap_or_default())
    }
}

async fn operator(client: Client, bug: &'static str) {
    let config = watcher::Config::default;
    let shops: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &shops());
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let locks: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "default");
    // An object of the operator itself. Without it, the process ends and starts again.
    let name = match bug {
        "new name at each start" => format!("run-{}", STARTS.fetch_add(1, Ordering::Relaxed)),
        _ => "run".to_owned(),
    };
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    if maps.patch(&name, &PatchParams::apply("shop-operator").force(), &Patch::Apply(map)).await.is_err() {
        return;
    }
    let kind = self::shops();
    let mut controller =
        Controller::new_with(shops, config(), kind.clone()).owns(maps, config()).owns(deployments, config());
    if bug != "does not watch the lock" {
        controller = controller.watches(locks, config(), move |lock: ConfigMap| {
            [ObjectRef::new_with(&lock.name_any(), kind.clone()).within("default")]
        });
    }
    controller
        .run(
            |shop, operator: Arc<Operator>| async move { operator.reconcile(&shop).await },
            |_, _, _| Action::requeue(Duration::from_secs(5)),
            Arc::new(Operator { client, bug }),
        )
        .for_each(|_| std::future::ready(()))
        .await;
}

fn explorer(bug: &'static str) -> Explorer {
    let server = ApiServer::new();
    server.add_crd(&crd()).unwrap();
    Explorer::new(&server, move |client| operator(client, bug)).sample(json!({
        "apiVersion": "example.com/v1", "kind": "Shop", "metadata": { "name": "corner" }, "spec": { "size": 3 },
    }))
}

#[test]
fn a_schedule_without_its_request_is_an_error() {
    for schedule in
        ["create: die after write 99", "create: answer 500 to request 999", "keep: delete configmaps default/x"]
    {
        let error = explorer("").replay(schedule).unwrap_err();
        assert_eq!(error, format!("`{schedule}` has no effect: its request or object does not exist"));
    }
}

#[tokio::test]
async fn stages_set_the_status_of_their_kind() {
    let server = ApiServer::new();
    server.add_crd(&crd()).unwrap();
    let client = Client::new(server.service(), "default");
    let shops: Api<DynamicObject> = Api::default_namespaced_with(client, &shops());
    let shop = json!({ "apiVersion": "example.com/v1", "kind": "Shop", "metadata": { "name": "corner" }, "spec": { "size": 3 } });
    shops.create(&PostParams::default(), &serde_json::from_value(shop).unwrap()).await.unwrap();
    let stages = Stages::none().with(Stage::new("shops.example.com", json!({ "ready": "{/spec/size}" })));
    assert_eq!(stages.step(&server), Ok(1));
    assert_eq!(stages.step(&server), Ok(0));
    assert_eq!(shops.get("corner").await.unwrap().data["status"], json!({ "ready": 3 }));
    assert!(Stages::none().with(Stage::new("shops.example.com", json!({ "ready": "x" }))).step(&server).is_err());
}
