//! Kiosk: the second release of an operator, on the objects of the first one, and beside another controller.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use explorer::{Explorer, Oracle};
use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DynamicObject, ListParams};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

use crate::common::{Operator, Planted, apply, crd, delete, kind, owners, server};

pub(crate) const KIOSK: Planted = Planted {
    name: "kiosk",
    bugs: &[
        ("leaves the child with its earlier name", Oracle::Release),
        ("changes an immutable selector", Oracle::Release),
        ("does not match the labels of earlier objects", Oracle::Release),
        ("deletes objects with the label of another controller", Oracle::Neighbours),
        ("has the child name of another controller", Oracle::Neighbours),
    ],
    explorer,
};

/// The first release, whose objects the second one finds.
const FIRST: &str = "the first release";

async fn reconcile(operator: &Operator, kiosk: &DynamicObject) -> Result<Action, kube::Error> {
    let has = |bug| operator.has(bug);
    let (name, namespace) = (kiosk.name_any(), kiosk.namespace().unwrap_or_default());
    if kiosk.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let maps: Api<ConfigMap> = operator.api(&namespace);
    let menu = match operator.bug {
        FIRST => format!("{name}-config"),
        "has the child name of another controller" => format!("{name}-poster"),
        _ => format!("{name}-menu"),
    };
    let metadata = json!({ "name": menu, "ownerReferences": owners(kiosk) });
    apply(&maps, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "menu": "tea" } }))
        .await?;
    if !has(FIRST) && !has("leaves the child with its earlier name") {
        delete(&maps, &format!("{name}-config")).await?;
    }
    slots(operator, kiosk, &maps).await?;

    let app = if has("changes an immutable selector") { "kiosk" } else { "app" };
    let labels = json!({ app: name });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": name, "ownerReferences": owners(kiosk) },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "kiosk", "image": if has(FIRST) { "kiosk:1" } else { "kiosk:2" } }] },
            },
        },
    });
    apply(&operator.api::<Deployment>(&namespace), deployment).await?;
    Ok(Action::await_change())
}

/// A ConfigMap for each slot. The names have changed since the first release.
async fn slots(operator: &Operator, kiosk: &DynamicObject, maps: &Api<ConfigMap>) -> Result<(), kube::Error> {
    let name = kiosk.name_any();
    let label = match operator.bug {
        "does not match the labels of earlier objects" => "slot-of-kiosk",
        "deletes objects with the label of another controller" => "part-of",
        _ => "slot-of",
    };
    let word = if operator.has(FIRST) { "place" } else { "slot" };
    let count = kiosk.data["spec"]["slots"].as_u64().unwrap_or_default();
    let names: Vec<String> = (0..count).map(|slot| format!("{name}-{word}-{slot}")).collect();
    for slot in &names {
        let metadata = json!({ "name": slot, "labels": { label: name }, "ownerReferences": owners(kiosk) });
        apply(maps, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).await?;
    }
    for map in maps.list(&ListParams::default().labels(&format!("{label}={name}"))).await? {
        if !names.contains(&map.name_any()) {
            delete(maps, &map.name_any()).await?;
        }
    }
    Ok(())
}

/// The other controller: a ConfigMap for each Poster.
async fn post(client: &Client, poster: &DynamicObject) -> Result<Action, kube::Error> {
    let (name, namespace) = (poster.name_any(), poster.namespace().unwrap_or_default());
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    let labels = json!({ "part-of": name });
    let metadata = json!({ "name": format!("{name}-poster"), "labels": labels, "ownerReferences": owners(poster) });
    apply(&maps, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "text": "tea!" } }))
        .await?;
    Ok(Action::await_change())
}

async fn run(client: Client, bug: &'static str) {
    let config = watcher::Config::default;
    let kiosks: Api<DynamicObject> = Api::all_with(client.clone(), &kind("Kiosk", "kiosks"));
    Controller::new_with(kiosks, config(), kind("Kiosk", "kiosks"))
        .owns(Api::<ConfigMap>::all(client.clone()), config())
        .owns(Api::<Deployment>::all(client.clone()), config())
        .run(
            |kiosk, operator: Arc<Operator>| async move { reconcile(&operator, &kiosk).await },
            |_, _, _| Action::requeue(Duration::from_secs(5)),
            Arc::new(Operator { client, bug }),
        )
        .for_each(|_| std::future::ready(()))
        .await;
}

async fn run_posters(client: Client) {
    let posters: Api<DynamicObject> = Api::all_with(client.clone(), &kind("Poster", "posters"));
    Controller::new_with(posters, watcher::Config::default(), kind("Poster", "posters"))
        .owns(Api::<ConfigMap>::all(client.clone()), watcher::Config::default())
        .run(
            |poster, client: Arc<Client>| async move { post(&client, &poster).await },
            |_, _, _| Action::requeue(Duration::from_secs(5)),
            Arc::new(client),
        )
        .for_each(|_| std::future::ready(()))
        .await;
}

fn plain(bug: &'static str) -> Explorer {
    let slots = json!({ "type": "integer", "minimum": 0, "maximum": 3, "default": 1 });
    let server = server(&[
        crd(&kind("Kiosk", "kiosks"), "Namespaced", json!({ "slots": slots }), json!({})),
        crd(&kind("Poster", "posters"), "Namespaced", json!({}), json!({})),
    ]);
    Explorer::new(&server, move |client| run(client, bug)).sample(json!({
        "apiVersion": "example.com/v1", "kind": "Kiosk", "metadata": { "name": "corner" }, "spec": { "slots": 2 },
    }))
}

/// The folder with the objects of the first release.
static RELEASES: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kiosk");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("1.0.json"), plain(FIRST).record().unwrap()).unwrap();
    folder
});

fn explorer(bug: &'static str) -> Explorer {
    let poster = json!({ "apiVersion": "example.com/v1", "kind": "Poster", "metadata": { "name": "corner" } });
    plain(bug).releases(&*RELEASES).beside(run_posters, vec![poster])
}
