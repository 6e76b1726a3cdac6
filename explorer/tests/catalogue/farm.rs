//! Farm: Pods and a Service.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use explorer::{ApiServer, Explorer, Oracle};
use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, WatchStreamExt as _, reflector, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::common::{Operator, Planted, apply, crd, delete, kind, owners, server};

pub(crate) const FARM: Planted = Planted {
    name: "farm",
    bugs: &[
        ("acts before its cache is filled", Oracle::Quiet),
        ("creates what its status does not count", Oracle::Crash),
        ("does not watch pods", Oracle::Drift),
        ("does not try again after an error", Oracle::Faults),
        ("remembers the names of finished objects", Oracle::Deletion),
        ("never deletes surplus pods", Oracle::History),
        ("ignores a scale to zero", Oracle::History),
        ("sets the port at the creation only", Oracle::History),
        ("creates pods by a cached count", Oracle::Stale),
        ("trusts the first list from a cache", Oracle::Stale),
        ("waits five seconds for its cache", Oracle::Stale),
        ("counts the pods of all farms", Oracle::Neighbours),
        ("counts the pods of all namespaces", Oracle::Neighbours),
        ("creates one pod too many for a moment", Oracle::Invariant),
    ],
    explorer,
};

struct Farms {
    operator: Operator,
    done: Mutex<BTreeSet<String>>,
    /// The number of pods in the first list.
    first: Mutex<Option<usize>>,
    cache: reflector::Store<Pod>,
}

impl Farms {
    fn generates_names(&self) -> bool {
        matches!(
            self.operator.bug,
            "acts before its cache is filled"
                | "creates pods by a cached count"
                | "trusts the first list from a cache"
                | "waits five seconds for its cache"
        )
    }

    async fn reconcile(&self, farm: &DynamicObject) -> Result<Action, kube::Error> {
        let has = |bug| self.operator.has(bug);
        let (name, namespace) = (farm.name_any(), farm.namespace().unwrap_or_default());
        if farm.metadata.deletion_timestamp.is_some() {
            return Ok(Action::await_change());
        }
        let spec = &farm.data["spec"];
        let wanted = usize::try_from(spec["pods"].as_u64().unwrap_or_default()).unwrap();
        if has("ignores a scale to zero") && wanted == 0 {
            return Ok(Action::await_change());
        }
        if has("remembers the names of finished objects") && !self.done.lock().unwrap().insert(name.clone()) {
            return Ok(Action::await_change());
        }
        if self.generates_names() {
            self.generated_pods(farm, &namespace, wanted).await?;
        } else {
            self.pods(farm, &namespace, wanted).await?;
        }
        let services: Api<Service> = self.operator.api(&namespace);
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": name, "ownerReferences": owners(farm) },
            "spec": { "selector": { "farm": name }, "ports": [{ "name": "http", "port": spec["port"] }] },
        });
        if !has("sets the port at the creation only") || services.get_opt(&name).await?.is_none() {
            apply(&services, service).await?;
        }
        if !self.generates_names() {
            self.status(farm, &namespace).await?;
        }
        Ok(Action::await_change())
    }

    /// Pods with numbers.
    async fn pods(&self, farm: &DynamicObject, namespace: &str, wanted: usize) -> Result<(), kube::Error> {
        let has = |bug| self.operator.has(bug);
        let name = farm.name_any();
        let pods: Api<Pod> = self.operator.api(namespace);
        if has("creates what its status does not count") {
            let counted = farm.data["status"]["pods"].as_u64().unwrap_or_default();
            for at in usize::try_from(counted).unwrap()..wanted {
                let pod = serde_json::from_value(pod(farm, json!({ "name": format!("{name}-{at}") }))).unwrap();
                pods.create(&PostParams::default(), &pod).await?;
            }
        } else {
            let extra = usize::from(has("creates one pod too many for a moment"));
            for at in 0..wanted + extra {
                apply(&pods, pod(farm, json!({ "name": format!("{name}-{at}") }))).await?;
            }
        }
        if has("never deletes surplus pods") {
            return Ok(());
        }
        let wanted: Vec<String> = (0..wanted).map(|at| format!("{name}-{at}")).collect();
        let selector = format!("farm={name}");
        for pod in pods.list(&ListParams::default().labels(&selector)).await? {
            if !wanted.contains(&pod.name_any()) {
                delete(&pods, &pod.name_any()).await?;
            }
        }
        Ok(())
    }

    /// Pods with generated names.
    async fn generated_pods(&self, farm: &DynamicObject, namespace: &str, wanted: usize) -> Result<(), kube::Error> {
        let name = farm.name_any();
        let pods: Api<Pod> = self.operator.api(namespace);
        let selector = ListParams::default().labels(&format!("farm={name}"));
        let first = self.first.lock().unwrap().take();
        let count = if self.operator.has("trusts the first list from a cache") {
            match first {
                Some(count) => count,
                None => pods.list(&selector).await?.items.len(),
            }
        } else {
            match self.operator.bug {
                "acts before its cache is filled" => {}
                "waits five seconds for its cache" => {
                    let _ = tokio::time::timeout(Duration::from_secs(5), self.cache.wait_until_ready()).await;
                }
                _ => self.cache.wait_until_ready().await.unwrap(),
            }
            self.cache.state().len()
        };
        for _ in count..wanted {
            let pod = pod(farm, json!({ "generateName": format!("{name}-") }));
            pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await?;
        }
        Ok(())
    }

    async fn status(&self, farm: &DynamicObject, namespace: &str) -> Result<(), kube::Error> {
        let has = |bug| self.operator.has(bug);
        let name = farm.name_any();
        let mut pods: Api<Pod> = self.operator.api(namespace);
        if has("counts the pods of all namespaces") {
            pods = Api::all(self.operator.client.clone());
        }
        let selector = if has("counts the pods of all farms") { "app=farm".to_owned() } else { format!("farm={name}") };
        let pods = pods.list(&ListParams::default().labels(&selector)).await?;
        let count = pods.items.len();
        let names: Vec<String> = pods.into_iter().map(|pod| pod.name_any()).collect();
        let status = json!({ "pods": count, "names": names });
        let farms: Api<DynamicObject> =
            Api::namespaced_with(self.operator.client.clone(), namespace, &kind("Farm", "farms"));
        let status = json!({ "apiVersion": "example.com/v1", "kind": "Farm", "metadata": {}, "status": status });
        let params = kube::api::PatchParams::apply("operator").force();
        farms.patch_status(&name, &params, &kube::api::Patch::Apply(status)).await.map(drop)
    }
}

fn pod(farm: &DynamicObject, mut metadata: Value) -> Value {
    metadata["labels"] = json!({ "app": "farm", "farm": farm.name_any() });
    metadata["ownerReferences"] = owners(farm);
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": { "containers": [{ "name": "farm", "image": "farm:1" }] },
    })
}

async fn run(client: Client, bug: &'static str) {
    let config = watcher::Config::default;
    let farms: Api<DynamicObject> = Api::all_with(client.clone(), &kind("Farm", "farms"));
    let pods: Api<Pod> = Api::all(client.clone());
    let (cache, writer) = reflector::store();
    let first = match bug {
        "trusts the first list from a cache" => {
            let cached = ListParams::default().match_any();
            match pods.list(&cached.labels("app=farm")).await {
                Ok(pods) => Some(pods.items.len()),
                Err(_) => return,
            }
        }
        _ => None,
    };
    let operator = Operator { client: client.clone(), bug };
    let farm_context = Farms { operator, done: Mutex::default(), first: Mutex::new(first), cache };
    let mut controller =
        Controller::new_with(farms, config(), kind("Farm", "farms")).owns(Api::<Service>::all(client), config());
    let cached =
        ["acts before its cache is filled", "creates pods by a cached count", "waits five seconds for its cache"];
    if cached.contains(&bug) {
        let late = Duration::from_secs(u64::from(bug == "acts before its cache is filled"));
        let cached = reflector(writer, watcher(pods, config())).touched_objects().map(drop);
        controller = controller.reconcile_all_on(tokio::time::sleep(late).map(|()| cached).flatten_stream());
    } else if bug != "does not watch pods" {
        controller = controller.owns(pods, config());
    }
    let again = bug != "does not try again after an error";
    controller
        .run(
            |farm, context: Arc<Farms>| async move { context.reconcile(&farm).await },
            move |_, _, _| if again { Action::requeue(Duration::from_secs(5)) } else { Action::await_change() },
            Arc::new(farm_context),
        )
        .for_each(|_| std::future::ready(()))
        .await;
}

fn explorer(bug: &'static str) -> Explorer {
    let spec = json!({
        "pods": { "type": "integer", "minimum": 0, "maximum": 3, "default": 1 },
        "port": { "type": "integer", "minimum": 80, "maximum": 90, "default": 80 },
    });
    let status = json!({
        "pods": { "type": "integer" }, "names": { "type": "array", "items": { "type": "string" } },
    });
    let server = server(&[crd(&kind("Farm", "farms"), "Namespaced", spec, status)]);
    let at_most = |server: &ApiServer| match server.objects("pods").len() {
        0..=6 => Ok(()),
        count => Err(format!("{count} pods")),
    };
    let by_name = |server: &ApiServer| {
        let extra = server.objects("pods").into_iter().find(|pod| pod["metadata"]["name"] == "corner-3");
        extra.map_or(Ok(()), |_| Err("the pod corner-3 exists".to_owned()))
    };
    Explorer::new(&server, move |client| run(client, bug))
        .invariant("two farms have six pods at most", at_most)
        .always("a farm has three pods at most", by_name)
        .sample(json!({
            "apiVersion": "example.com/v1", "kind": "Farm", "metadata": { "name": "corner" },
            "spec": { "pods": 3, "port": 80 },
        }))
}
