//! Client calls of operator authors through the manager on a real API server: deletions, patches, subresources,
//! finalizers, kinds without a type. `--kubeconfig` selects the cluster.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta, Selector};
use kube::discovery::Scope;
use kube::runtime::finalizer::Event;
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt};
use manager::{Action, Change, Manager, Object, Objects, Options, Runs};
use serde_json::{Value, json};

const NAMESPACE: &str = "client";
const OWNER: &str = "test";
const FINALIZER: &str = "example.com/finalizer";
/// Time for an event of the watch on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    manager: Options,
    /// The port in `--health-probe-bind-address`.
    #[arg(long)]
    probes: u16,
}

fn object<K: Object>(name: &str, mut value: Value) -> K {
    value["metadata"]["name"] = json!(name);
    value["metadata"]["namespace"] = json!(NAMESPACE);
    serde_json::from_value(value).expect("an object of the kind")
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) -> Result<()> {
    let started = Instant::now();
    while !holds() {
        if started.elapsed() > LIMIT {
            return Err(format!("never came: {what}").into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

fn check(what: &str, holds: bool) -> Result<()> {
    if holds { Ok(()) } else { Err(what.to_owned().into()) }
}

fn is_conflict<T>(result: &kube::Result<T>) -> bool {
    matches!(result, Err(kube::Error::Api(status)) if status.is_conflict())
}

/// A deleted object can be created again at once, before the watch delivers the deletion.
async fn deletions(maps: &Objects<ConfigMap>) -> Result<()> {
    let desired: ConfigMap = object("a", json!({ "data": { "v": "1" } }));
    let params = DeleteParams::default();
    let mut before = maps.apply(&desired, OWNER).await?.object;
    for round in 0..20 {
        check("it goes", maps.delete(&before, &params).await?)?;
        check("it is not in the cache", maps.get(NAMESPACE, "a").is_none())?;
        check("it is gone", !maps.delete(&before, &params).await?)?;
        let made = maps.apply(&desired, OWNER).await?;
        check(&format!("it is made anew, round {round}"), made.change == Change::Created)?;
        check("a successor stays", is_conflict(&maps.delete(&before, &params).await))?;
        before = made.object;
    }
    let resource_version = before.resource_version();
    let preconditions = Preconditions { resource_version, uid: None };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    let patch = Patch::Merge(json!({ "data": { "v": "2" } }));
    let patched = maps.patch(&before, &PatchParams::default(), &patch).await?;
    check("another version stays", is_conflict(&maps.delete(&before, &params).await))?;
    check("a patch is in the cache", maps.get(NAMESPACE, "a") == Some(patched.clone()))?;
    let live = maps.get_live(NAMESPACE, "a").await?;
    check("a patch is on the server", live.is_some_and(|live| live.data == patched.data))?;
    let dry = DeleteParams { dry_run: true, ..DeleteParams::default() };
    check("it would go", maps.delete(&patched, &dry).await?)?;
    check("it is still there", maps.get(NAMESPACE, "a").is_some() && maps.get_live(NAMESPACE, "a").await?.is_some())
}

/// With foreground propagation, an object exists until its dependents are gone.
async fn propagation(maps: &Objects<ConfigMap>, deployments: &Objects<Deployment>) -> Result<()> {
    let labels = json!({ "app": "a" });
    let template =
        json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "main", "image": "a" }] } });
    let spec = json!({ "replicas": 0, "selector": { "matchLabels": labels }, "template": template });
    let applied = deployments.apply(&object("a", json!({ "spec": spec })), OWNER).await?;
    let scale = Patch::Merge(json!({ "spec": { "replicas": 1 } }));
    deployments.api(NAMESPACE).patch_scale("a", &PatchParams::default(), &scale).await?;
    until("the scale", || {
        let spec = deployments.get(NAMESPACE, "a").and_then(|found| found.spec.clone());
        spec.and_then(|spec| spec.replicas) == Some(1)
    })
    .await?;
    let foreground = DeleteParams::foreground();
    check("it is going", deployments.delete(&applied.object, &foreground).await?)?;
    let going = deployments.get(NAMESPACE, "a");
    check("it is on its way", going.is_none_or(|going| going.metadata.deletion_timestamp.is_some()))?;
    until("its end", || deployments.get(NAMESPACE, "a").is_none()).await?;
    // A dependent that is deleted with its owner, and an orphan.
    for (params, stays) in [(DeleteParams::background(), false), (DeleteParams::orphan(), true)] {
        let owner = maps.apply(&object("owner", json!({})), OWNER).await?.object;
        let reference = owner.owner_ref(&()).ok_or("it has a UID")?;
        let mut dependent: ConfigMap = object("dependent", json!({}));
        dependent.metadata.owner_references = Some(vec![reference]);
        maps.apply(&dependent, OWNER).await?;
        until("the dependent", || maps.get(NAMESPACE, "dependent").is_some()).await?;
        maps.delete(&owner, &params).await?;
        until("the end of the owner", || maps.get(NAMESPACE, "owner").is_none()).await?;
        until("the fate of the dependent", || {
            let dependent = maps.get(NAMESPACE, "dependent");
            dependent.map_or(!stays, |dependent| stays && dependent.owner_references().is_empty())
        })
        .await?;
    }
    Ok(())
}

/// An object with a finalizer is applied; the second cleanup call ends it.
async fn finalizers(maps: &Objects<ConfigMap>, [applied, cleaned]: [&AtomicUsize; 2]) -> Result<()> {
    let map =
        maps.apply(&object("finalized", json!({ "metadata": { "labels": { "finalized": "yes" } } })), OWNER).await?;
    until("a finalizer", || {
        let map = maps.get(NAMESPACE, "finalized");
        map.is_some_and(|map| map.finalizers() == [FINALIZER])
    })
    .await?;
    until("apply", || applied.load(Ordering::SeqCst) > 0).await?;
    maps.delete(&map.object, &DeleteParams::default()).await?;
    until("its end", || maps.get(NAMESPACE, "finalized").is_none()).await?;
    check("cleaned up twice", cleaned.load(Ordering::SeqCst) == 2)
}

fn widget() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"))
}

/// An object without its kind.
fn desired_widget(size: u32) -> DynamicObject {
    object("w", json!({ "spec": { "size": size, "list": ["a"] } }))
}

/// Applies the Widget and a ConfigMap for it.
async fn reconcile_widget(
    widget: Arc<DynamicObject>,
    widgets: Objects<DynamicObject>,
    maps: Objects<ConfigMap>,
) -> kube::Result<Action> {
    let mut map: ConfigMap = object("of-w", json!({}));
    map.metadata.owner_references = widget.controller_owner_ref(&self::widget()).map(|owner| vec![owner]);
    maps.apply(&map, OWNER).await?;
    widgets.apply(&desired_widget(1), OWNER).await?;
    Ok(Action::Done)
}

fn readyz(port: u16) -> Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(b"GET /readyz?verbose HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

async fn until_ready_says(port: u16, text: &str) -> Result<()> {
    let started = Instant::now();
    loop {
        let answer = tokio::task::block_in_place(|| readyz(port))?;
        if answer.contains(text) {
            return Ok(());
        }
        if started.elapsed() > LIMIT {
            return Err(format!("never said: {text}, but {answer}").into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A kind without a type: the manager reports it missing, and later writes, watches and keeps its objects.
async fn dynamic(
    client: Client,
    probes: u16,
    (widgets, metadata): (&Objects<DynamicObject>, &Objects<PartialObjectMeta<DynamicObject>>),
    maps: &Objects<ConfigMap>,
) -> Result<()> {
    until_ready_says(probes, "Widget (example.com/v1) is not served by the cluster").await?;
    let size = json!({ "type": "integer" });
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let spec = json!({ "type": "object", "properties": { "size": size, "list": list } });
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
    let names = json!({ "kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList" });
    let spec = json!({ "group": "example.com", "names": names, "scope": "Namespaced", "versions": [version] });
    let crd = json!({ "metadata": { "name": "widgets.example.com" }, "spec": spec });
    let crds: Api<CustomResourceDefinition> = Api::all(client);
    crds.create(&PostParams::default(), &serde_json::from_value(crd)?).await?;
    until_ready_says(probes, "[+]caches ok").await?;

    let created = widgets.create(&desired_widget(1), OWNER).await?;
    check("it is created", created.change == Change::Created)?;
    check("it is not created twice", widgets.create(&desired_widget(2), OWNER).await?.change == Change::None)?;
    let live = widgets.get_live(NAMESPACE, "w").await?.ok_or("it is there")?;
    check("it is what was asked for", live.data["spec"] == json!({ "size": 1, "list": ["a"] }))?;
    check("it is listed", widgets.list(NAMESPACE).len() == 1)?;
    until("its metadata", || metadata.get(NAMESPACE, "w").is_some()).await?;
    until("its own object", || maps.get(NAMESPACE, "of-w").is_some()).await?;
    // Changes of applied fields are reverted; other fields stay.
    for (round, theirs) in [json!({ "size": 5 }), json!({ "list": ["b"] })].into_iter().enumerate() {
        let theirs = json!({ "metadata": { "annotations": { "round": round.to_string() } }, "spec": theirs });
        let params = PatchParams { field_manager: Some("them".to_owned()), ..PatchParams::default() };
        widgets.api(NAMESPACE).patch("w", &params, &Patch::Merge(theirs)).await?;
        until("the repair", || {
            let widget = widgets.get(NAMESPACE, "w");
            widget.is_some_and(|widget| {
                widget.annotations().get("round") == Some(&round.to_string())
                    && widget.data["spec"] == live.data["spec"]
            })
        })
        .await?;
    }
    check("nothing is left to do", widgets.apply(&desired_widget(1), OWNER).await?.change == Change::None)?;
    let map = maps.get(NAMESPACE, "of-w").ok_or("it is there")?;
    maps.delete(&map, &DeleteParams::default()).await?;
    until("its own object again", || maps.get(NAMESPACE, "of-w").is_some()).await?;
    check("it goes", widgets.delete(&live, &DeleteParams::default()).await?)?;
    until("its end", || widgets.list(None).is_empty() && metadata.list(None).is_empty()).await?;
    let made = widgets.apply(&desired_widget(1), OWNER).await?;
    check("it is made anew", made.change == Change::Created)
}

/// A cluster-scoped kind without a type.
async fn dynamic_of_the_cluster(roles: &Objects<DynamicObject>) -> Result<()> {
    let rules = |resource: &str| json!([{ "apiGroups": [""], "resources": [resource], "verbs": ["get"] }]);
    let desired = |resource: &str| {
        let mut role = DynamicObject::new("client", &role());
        role.data = json!({ "rules": rules(resource) });
        role
    };
    check("it is created", roles.apply(&desired("pods"), OWNER).await?.change == Change::Created)?;
    check("it is so", roles.apply(&desired("pods"), OWNER).await?.change == Change::None)?;
    check("it is changed", roles.apply(&desired("nodes"), OWNER).await?.change == Change::Updated)?;
    let cached = roles.get(None, "client").ok_or("it is in the cache")?;
    check("the change is in the cache", cached.data["rules"] == rules("nodes"))?;
    check("it goes", roles.delete(&cached, &DeleteParams::default()).await?)?;
    check("it is gone", roles.get_live(None, "client").await?.is_none())
}

fn role() -> ApiResource {
    ApiResource::erase::<ClusterRole>(&())
}

async fn steps(
    maps: Objects<ConfigMap>,
    deployments: Objects<Deployment>,
    (widgets, metadata): (Objects<DynamicObject>, Objects<PartialObjectMeta<DynamicObject>>),
    roles: Objects<DynamicObject>,
    (client, probes): (Client, u16),
    calls: Arc<[AtomicUsize; 2]>,
) -> Result<()> {
    let namespace = json!({ "metadata": { "name": NAMESPACE } });
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.create(&PostParams::default(), &serde_json::from_value(namespace)?).await?;
    let by_value = maps.index(|map| map.data.as_ref().and_then(|data| data.get("v").cloned()));
    deletions(&maps).await?;
    println!("deletions");
    let indexed = by_value.list("2");
    check("the index follows", indexed.len() == 1 && by_value.list("1").is_empty())?;
    propagation(&maps, &deployments).await?;
    println!("propagation");
    finalizers(&maps, [&calls[0], &calls[1]]).await?;
    println!("finalizers");
    let selector = Selector::from_iter([("finalized", "yes")]);
    check("no object is left", maps.list_matching(None, &selector).is_empty())?;
    dynamic(client, probes, (&widgets, &metadata), &maps).await?;
    dynamic_of_the_cluster(&roles).await?;
    println!("dynamic");
    Ok(())
}

/// Requeues once before it is done.
async fn reconcile(
    map: Arc<ConfigMap>,
    maps: Objects<ConfigMap>,
    calls: Arc<[AtomicUsize; 2]>,
) -> kube::Result<Action> {
    if !map.labels().contains_key("finalized") {
        return Ok(Action::Done);
    }
    let reconciled = maps.finalizer(map, FINALIZER, async |event| match event {
        Event::Apply(_) => {
            calls[0].fetch_add(1, Ordering::SeqCst);
            Ok(Action::Done)
        }
        Event::Cleanup(_) if calls[1].fetch_add(1, Ordering::SeqCst) == 0 => Ok(Action::Requeue),
        Event::Cleanup(_) => Ok(Action::Done),
    });
    reconciled.await?
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    args.manager.init_logging();
    let mut manager = Manager::new("client", "0.0.0", args.manager).await?;
    let maps = manager.objects::<ConfigMap>(&watcher::Config::default());
    let deployments = manager.objects::<Deployment>(&watcher::Config::default());
    let widgets = manager.objects_with(&widget(), &Scope::Namespaced, &watcher::Config::default());
    let metadata = manager.objects_with(&widget(), &Scope::Namespaced, &watcher::Config::default());
    let roles = manager.objects_with(&role(), &Scope::Cluster, &watcher::Config::default());
    let (client, probes) = (manager.client(), args.probes);
    let calls = Arc::<[AtomicUsize; 2]>::default();
    manager.controller("map", &maps).run(
        {
            let (maps, calls) = (maps.clone(), calls.clone());
            move |map, _| reconcile(map, maps.clone(), calls.clone())
        },
        Arc::new(()),
    );
    manager.controller("widget", &widgets).owns(&maps).run(
        {
            let (widgets, maps) = (widgets.clone(), maps.clone());
            move |widget, _| reconcile_widget(widget, widgets.clone(), maps.clone())
        },
        Arc::new(()),
    );
    let (told, ended) = tokio::sync::mpsc::channel(1);
    manager.task("steps", Runs::Leader, move || {
        let widgets = (widgets.clone(), metadata.clone());
        let server = (client.clone(), probes);
        let steps = steps(maps.clone(), deployments.clone(), widgets, roles.clone(), server, calls.clone());
        let told = told.clone();
        async move {
            // The receiver reads the first result only.
            let _ = told.send(steps.await).await;
            Ok::<_, kube::Error>(())
        }
    });
    let mut ended = ended;
    let outcome = async { ended.recv().await.unwrap_or_else(|| Err("the task has ended".into())) };
    let mut outcome = std::pin::pin!(outcome);
    let mut said = Ok(());
    manager.run_until(async { said = (&mut outcome).await }).await?;
    if said.is_ok() {
        println!("all is well");
    }
    said
}
