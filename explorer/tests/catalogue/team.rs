//! Team: a cluster-scoped object with ConfigMaps in two namespaces, and a key in a shared ConfigMap.

use std::sync::Arc;
use std::time::Duration;

use explorer::{ApiServer, Explorer, Oracle};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, DynamicObject, ListParams};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::common::{Operator, Planted, apply, crd, delete, kind, merge, owners, server};

pub(crate) const TEAM: Planted = Planted {
    name: "team",
    bugs: &[
        ("writes every ten seconds", Oracle::Quiet),
        ("leaves the child of an earlier spec", Oracle::History),
        ("adds members and never removes them", Oracle::History),
        ("second child without an owner", Oracle::Deletion),
        ("leaves its key in the shared map", Oracle::Deletion),
        ("does not watch one of the namespaces", Oracle::Drift),
        ("cuts the names of children", Oracle::Neighbours),
        ("replaces the fields of others", Oracle::Invariant),
        ("deletes what it does not own", Oracle::Invariant),
    ],
    explorer,
};

const FINALIZER: &str = "example.com/team";
const NAMESPACES: [&str; 2] = ["default", "kube-system"];

async fn reconcile(operator: &Operator, team: &DynamicObject) -> Result<Action, kube::Error> {
    let has = |bug| operator.has(bug);
    let name = team.name_any();
    let teams: Api<DynamicObject> = Api::all_with(operator.client.clone(), &kind("Team", "teams"));
    let shared: Api<ConfigMap> = operator.api("kube-system");
    if team.metadata.deletion_timestamp.is_some() {
        if !has("leaves its key in the shared map") {
            merge(&shared, "shared", json!({ "data": { &name: null } })).await?;
        }
        if !team.finalizers().is_empty() {
            merge(&teams, &name, json!({ "metadata": { "finalizers": null } })).await?;
        }
        return Ok(Action::await_change());
    }
    if team.finalizers().is_empty() {
        merge(&teams, &name, json!({ "metadata": { "finalizers": [FINALIZER] } })).await?;
    }
    let members: Vec<&str> =
        team.data["spec"]["members"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let count = members.len().to_string();
    if has("replaces the fields of others") {
        let mut map = shared.get("shared").await?;
        map.data = Some([(name.clone(), count.clone())].into());
        shared.replace("shared", &kube::api::PostParams::default(), &map).await?;
    } else {
        merge(&shared, "shared", json!({ "data": { &name: count } })).await?;
    }
    for namespace in NAMESPACES {
        child(operator, team, namespace, &members).await?;
    }
    let status = json!({ "status": { "members": members.len() } });
    let params = kube::api::PatchParams::default();
    teams.patch_status(&name, &params, &kube::api::Patch::Merge(status)).await?;
    Ok(match has("writes every ten seconds") {
        true => Action::requeue(Duration::from_secs(10)),
        false => Action::await_change(),
    })
}

/// The ConfigMap of a team in one of the namespaces.
async fn child(
    operator: &Operator,
    team: &DynamicObject,
    namespace: &str,
    members: &[&str],
) -> Result<(), kube::Error> {
    let has = |bug| operator.has(bug);
    let maps: Api<ConfigMap> = operator.api(namespace);
    let mut name = format!("team-{}", team.name_any());
    if has("cuts the names of children") {
        name.truncate("team-corner".len());
    }
    if namespace != "default" && team.data["spec"]["everywhere"] != true {
        if has("deletes what it does not own") {
            let labels = ListParams::default().labels("app=team");
            maps.delete_collection(&DeleteParams::default(), &labels).await?;
        } else if !has("leaves the child of an earlier spec") {
            delete(&maps, &name).await?;
        }
        return Ok(());
    }
    let data: Value = members.iter().map(|member| ((*member).to_owned(), Value::from("yes"))).collect();
    let mut metadata = json!({ "name": name, "labels": { "app": "team" }, "ownerReferences": owners(team) });
    if has("second child without an owner") && namespace != "default" {
        metadata.as_object_mut().unwrap().remove("ownerReferences");
    }
    if has("adds members and never removes them") && maps.get_opt(&name).await?.is_some() {
        return merge(&maps, &name, json!({ "metadata": metadata, "data": data })).await.map(drop);
    }
    apply(&maps, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data })).await.map(drop)
}

async fn run(client: Client, bug: &'static str) {
    let config = watcher::Config::default;
    let teams: Api<DynamicObject> = Api::all_with(client.clone(), &kind("Team", "teams"));
    let maps: Api<ConfigMap> = match bug {
        "does not watch one of the namespaces" => Api::namespaced(client.clone(), "default"),
        _ => Api::all(client.clone()),
    };
    Controller::new_with(teams, config(), kind("Team", "teams"))
        .owns(maps, config())
        .run(
            |team, operator: Arc<Operator>| async move { reconcile(&operator, &team).await },
            |_, _, _| Action::requeue(Duration::from_secs(5)),
            Arc::new(Operator { client, bug }),
        )
        .for_each(|_| std::future::ready(()))
        .await;
}

fn explorer(bug: &'static str) -> Explorer {
    let spec = json!({
        "members": { "type": "array", "items": { "type": "string" } },
        "everywhere": { "type": "boolean" },
    });
    let server = server(&[crd(&kind("Team", "teams"), "Cluster", spec, json!({ "members": { "type": "integer" } }))]);
    // Objects of others that are there before the operator.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let maps: Api<ConfigMap> = Api::namespaced(Client::new(server.service(), "default"), "kube-system");
        for (name, labels) in [("shared", json!({})), ("foreign", json!({ "app": "team" }))] {
            let map = json!({ "metadata": { "name": name, "labels": labels }, "data": { "other": "stays" } });
            let params = kube::api::PostParams { field_manager: Some("author".to_owned()), ..Default::default() };
            maps.create(&params, &serde_json::from_value(map).unwrap()).await.unwrap();
        }
    });
    let others_stay = |server: &ApiServer| {
        let maps = server.objects("configmaps");
        let stays =
            |name: &str| maps.iter().any(|map| map["metadata"]["name"] == name && map["data"]["other"] == "stays");
        if stays("shared") && stays("foreign") { Ok(()) } else { Err("the data of others are gone".to_owned()) }
    };
    Explorer::new(&server, move |client| run(client, bug)).always("the data of others stay", others_stay).sample(
        json!({
            "apiVersion": "example.com/v1", "kind": "Team", "metadata": { "name": "corner" },
            "spec": { "members": ["ada", "bob"], "everywhere": true },
        }),
    )
}
