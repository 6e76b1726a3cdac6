//! The server by a client of kube.
#![allow(clippy::unwrap_used, reason = "tests may be plain")]

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use explorer::{ApiServer, Explorer, Stages, Verdict};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::rbac::v1::Role;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
    VersionMatch, WatchEvent, WatchParams,
};
use kube::{Api, Client, Discovery};
use serde_json::{Value, json};

fn maps(server: &ApiServer) -> Api<ConfigMap> {
    Api::default_namespaced(Client::new(server.service(), "default"))
}

fn map(value: Value) -> ConfigMap {
    serde_json::from_value(value).unwrap()
}

fn named(name: &str) -> ConfigMap {
    map(json!({ "metadata": { "name": name }, "data": { "x": "1" } }))
}

#[tokio::test]
async fn a_watch_sees_the_changes_after_its_start() {
    let server = ApiServer::new();
    let maps = maps(&server);
    let first = maps.create(&PostParams::default(), &named("a")).await.unwrap();
    let version = first.metadata.resource_version.unwrap();
    let params = WatchParams::default().timeout(5);
    let mut events = pin!(maps.watch(&params, &version).await.unwrap());
    maps.create(&PostParams::default(), &named("b")).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    server.send_bookmarks();
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(match events.next().await.unwrap().unwrap() {
            WatchEvent::Added(map) => format!("added {}", map.metadata.name.unwrap()),
            WatchEvent::Deleted(map) => format!("deleted {}", map.metadata.name.unwrap()),
            WatchEvent::Bookmark(_) => "bookmark".to_owned(),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(seen, ["added b", "deleted a", "bookmark"]);
    server.advance(Duration::from_secs(5));
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_watch_of_a_forgotten_revision_is_gone() {
    let server = ApiServer::new();
    let maps = maps(&server);
    let first = maps.create(&PostParams::default(), &named("a")).await.unwrap();
    maps.create(&PostParams::default(), &named("b")).await.unwrap();
    server.compact();
    let version = first.metadata.resource_version.unwrap();
    let mut events = pin!(maps.watch(&WatchParams::default(), &version).await.unwrap());
    match events.next().await.unwrap().unwrap() {
        WatchEvent::Error(status) => {
            assert_eq!((status.code, status.reason.as_str()), (410, "Expired"))
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_snapshot_is_another_server() {
    let server = ApiServer::new();
    maps(&server).create(&PostParams::default(), &named("a")).await.unwrap();
    let copy = server.snapshot();
    maps(&copy).delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(server.objects("configmaps").len(), 1);
    assert!(copy.objects("configmaps").is_empty());
    // Both go on alike.
    maps(&server).create(&PostParams::default(), &named("b")).await.unwrap();
    let again = server.snapshot();
    let created = (
        maps(&server).create(&PostParams::default(), &named("c")).await.unwrap(),
        maps(&again).create(&PostParams::default(), &named("c")).await.unwrap(),
    );
    assert_eq!(created.0, created.1);
}

#[tokio::test]
async fn a_hook_refuses_and_drops_requests() {
    let server = ApiServer::new();
    let count = Arc::new(AtomicUsize::new(0));
    let verdicts = [
        Verdict::Refuse(503, "ServiceUnavailable".to_owned(), "later".to_owned()),
        Verdict::DropBefore,
        Verdict::DropAfter,
        Verdict::Pass,
    ];
    let faulty = server.with_hook(move |_| verdicts[count.fetch_add(1, Ordering::Relaxed)].clone());
    let maps = maps(&faulty);
    match maps.create(&PostParams::default(), &named("a")).await.unwrap_err() {
        kube::Error::Api(status) => {
            assert_eq!((status.code, status.message.as_str()), (503, "later"))
        }
        other => panic!("{other}"),
    }
    assert!(maps.create(&PostParams::default(), &named("a")).await.is_err());
    assert!(server.objects("configmaps").is_empty());
    assert!(maps.create(&PostParams::default(), &named("a")).await.is_err());
    assert_eq!(server.objects("configmaps").len(), 1);
    assert_eq!(maps.list(&ListParams::default()).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn dependents_follow_their_owners() {
    let server = ApiServer::new();
    let maps = maps(&server);
    let owner = maps.create(&PostParams::default(), &named("owner")).await.unwrap();
    let reference = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid, "blockOwnerDeletion": true,
    });
    let owned = |name: &str| map(json!({ "metadata": { "name": name, "ownerReferences": [reference] } }));
    maps.create(&PostParams::default(), &owned("one")).await.unwrap();
    assert_eq!(server.collect_garbage(), 0);

    let copy = server.snapshot();
    let copied = self::maps(&copy);
    copied.delete("owner", &DeleteParams::foreground()).await.unwrap();
    assert_eq!(copied.list(&ListParams::default()).await.unwrap().items.len(), 2);
    assert_eq!(copy.collect_garbage(), 2);
    assert!(copy.objects("configmaps").is_empty());

    let copy = server.snapshot();
    self::maps(&copy).delete("owner", &DeleteParams::orphan()).await.unwrap();
    copy.collect_garbage();
    let left = copy.objects("configmaps");
    assert_eq!((left.len(), &left[0]["metadata"]["name"]), (1, &json!("one")));
    assert!(left[0]["metadata"]["ownerReferences"].is_null());

    maps.delete("owner", &DeleteParams::background()).await.unwrap();
    assert_eq!(server.collect_garbage(), 1);
    assert!(server.objects("configmaps").is_empty());
}

#[tokio::test]
async fn an_apply_removes_what_it_no_longer_has() {
    let server = ApiServer::new();
    let maps = maps(&server);
    let apply = |manager: &str, data: Value| {
        let (maps, params) = (maps.clone(), PatchParams::apply(manager));
        let config = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data });
        async move { maps.patch("a", &params, &Patch::Apply(config)).await }
    };
    apply("one", json!({ "x": "1", "y": "1" })).await.unwrap();
    apply("two", json!({ "y": "1", "z": "1" })).await.unwrap();
    let left = apply("one", json!({ "x": "2" })).await.unwrap();
    assert_eq!(json!(left.data), json!({ "x": "2", "y": "1", "z": "1" }));
    let conflict = apply("two", json!({ "x": "3" })).await.unwrap_err();
    assert!(
        conflict.to_string().contains("Apply failed with 1 conflict: conflict with \"one\": .data.x"),
        "{conflict}"
    );
}

#[tokio::test]
async fn a_user_needs_a_rule() {
    let server = ApiServer::new();
    maps(&server).create(&PostParams::default(), &named("a")).await.unwrap();
    let role = json!({
        "kind": "Role", "metadata": { "namespace": "default" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": ["a"] }],
    });
    let user = server.as_user("system:serviceaccount:default:operator", &[role]);
    maps(&user).get("a").await.unwrap();
    match maps(&user).get("b").await.unwrap_err() {
        kube::Error::Api(status) => {
            assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
            assert_eq!(
                status.message,
                "configmaps \"b\" is forbidden: User \"system:serviceaccount:default:operator\" cannot get resource \
                 \"configmaps\" in API group \"\" in the namespace \"default\""
            );
        }
        other => panic!("{other}"),
    }
    let everywhere: Api<ConfigMap> = Api::all(Client::new(user.service(), "default"));
    let refused = everywhere.list(&ListParams::default()).await.unwrap_err();
    assert!(refused.to_string().contains("cannot list resource \"configmaps\" in API group \"\" at the cluster scope"));
}

#[tokio::test]
async fn pages_are_of_one_revision() {
    let server = ApiServer::new();
    let maps = maps(&server);
    for name in ["a", "b", "c"] {
        maps.create(&PostParams::default(), &named(name)).await.unwrap();
    }
    let first = maps.list(&ListParams::default().limit(1)).await.unwrap();
    assert_eq!(first.metadata.remaining_item_count, Some(2));
    maps.delete("b", &DeleteParams::default()).await.unwrap();
    let token = first.metadata.continue_.unwrap();
    let rest = maps.list(&ListParams::default().continue_token(&token)).await.unwrap();
    let names: Vec<_> = rest.items.iter().map(|map| map.metadata.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["b", "c"]);
    assert_eq!(rest.metadata.resource_version, first.metadata.resource_version);
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let server = ApiServer::new();
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let created = maps(&server).create(&dry, &named("a")).await.unwrap();
    assert!(created.metadata.uid.is_some() && created.metadata.resource_version.is_none());
    assert!(server.objects("configmaps").is_empty());
}

#[tokio::test]
async fn a_dry_run_deletes_nothing() {
    let server = ApiServer::new();
    let dry = DeleteParams { dry_run: true, ..DeleteParams::default() };
    maps(&server).create(&PostParams::default(), &named("a")).await.unwrap();
    maps(&server).delete("a", &dry).await.unwrap();
    assert_eq!(server.objects("configmaps").len(), 1);
}

#[tokio::test]
async fn a_deleted_namespace_loses_its_content() {
    let server = ApiServer::new();
    server.add_namespace("shop");
    let client = Client::new(server.service(), "shop");
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    maps.create(&PostParams::default(), &named("a")).await.unwrap();
    Api::<Namespace>::all(client).delete("shop", &DeleteParams::default()).await.unwrap();
    let refused = maps.create(&PostParams::default(), &named("b")).await.unwrap_err().to_string();
    assert!(refused.contains("because it is being terminated"), "{refused}");
    server.collect_garbage();
    assert!(server.objects("configmaps").is_empty());
    assert_eq!(server.objects("namespaces").len(), 2);
}

#[tokio::test]
async fn features_that_are_missing_have_names() {
    let server = ApiServer::new();
    let exact = ListParams::default().at("1").matching(VersionMatch::Exact);
    match maps(&server).list(&exact).await.unwrap_err() {
        kube::Error::Api(status) => {
            assert_eq!((status.code, status.reason.as_str()), (501, "NotImplemented"));
            assert_eq!(status.message, "not implemented by the explorer: resourceVersionMatch=Exact");
        }
        other => panic!("{other}"),
    }
}

/// The server refuses the only write of the operator.
#[test]
fn a_report_names_the_features_that_are_missing() {
    let operator = |client: Client| async move {
        let roles: Api<Role> = Api::default_namespaced(client);
        let role = serde_json::from_value(json!({ "metadata": { "name": "empty" }, "rules": [] })).unwrap();
        let _ = roles.create(&PostParams::default(), &role).await;
        std::future::pending::<()>().await;
    };
    let sample = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    let report = Explorer::new(&ApiServer::new(), operator).sample(sample).budget(Duration::ZERO).explore();
    let request = "POST /apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let expected = [format!("{request}: roles with an empty list of rules")];
    assert_eq!((report.idle, report.unsupported), (true, expected.into()));
}

fn shop_crd(conversion: Value) -> Value {
    let version = |name: &str, field: &str| {
        json!({
            "name": name, "served": true, "storage": name == "v2",
            "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                "spec": { "type": "object", "properties": { field: { "type": "integer" } } },
            } } },
        })
    };
    json!({ "spec": {
        "group": "example.com", "scope": "Namespaced", "names": { "plural": "shops", "kind": "Shop" },
        "versions": [version("v1", "size"), version("v2", "places")], "conversion": conversion,
    } })
}

fn shops(server: &ApiServer, version: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", version, "Shop"), "shops");
    Api::default_namespaced_with(Client::new(server.service(), "default"), &resource)
}

#[tokio::test]
async fn a_webhook_converts_between_versions() {
    let server = ApiServer::new();
    server.add_crd(&shop_crd(json!({ "strategy": "Webhook" }))).unwrap();
    let shop = json!({
        "apiVersion": "example.com/v1", "kind": "Shop", "metadata": { "name": "corner" }, "spec": { "size": 3 },
    });
    let shop: DynamicObject = serde_json::from_value(shop).unwrap();
    let refused = shops(&server, "v1").create(&PostParams::default(), &shop).await.unwrap_err().to_string();
    let expected = "the conversion webhook of shops.example.com; set it with `ApiServer::convert`";
    assert!(refused.contains(expected), "{refused}");

    server
        .convert("shops.example.com", |object, version| {
            let (from, to) = if version == "example.com/v2" { ("size", "places") } else { ("places", "size") };
            let mut converted = object.clone();
            converted["apiVersion"] = version.into();
            converted["spec"] = json!({ to: object["spec"][from] });
            Ok(converted)
        })
        .unwrap();
    shops(&server, "v1").create(&PostParams::default(), &shop).await.unwrap();
    let spec = |shop: DynamicObject| shop.data["spec"].clone();
    assert_eq!(spec(shops(&server, "v1").get("corner").await.unwrap()), json!({ "size": 3 }));
    assert_eq!(spec(shops(&server, "v2").get("corner").await.unwrap()), json!({ "places": 3 }));
    assert_eq!(server.objects("shops.example.com")[0]["apiVersion"], "example.com/v2");

    let listed = Discovery::new(Client::new(server.service(), "default")).run().await.unwrap();
    let versions: Vec<_> = listed.get("example.com").unwrap().versions().map(str::to_owned).collect();
    assert_eq!(versions, ["v2", "v1"]);
}

#[test]
fn a_conversion_needs_a_webhook() {
    let server = ApiServer::new();
    let convert = || server.convert("shops.example.com", |object, _| Ok(object.clone())).unwrap_err();
    assert_eq!(convert(), "the CRD shops.example.com is unknown: call `add_crd` first");
    server.add_crd(&shop_crd(Value::Null)).unwrap();
    let expected =
        "the CRD shops.example.com has the conversion strategy None: set `spec.conversion.strategy: Webhook`";
    assert_eq!(convert(), expected);
}

/// Applies the stages until nothing changes, and returns a field of the status of each object.
fn settled(stages: &Stages, field: &str) -> Vec<(String, Value)> {
    let server = ApiServer::new();
    let template = json!({
        "metadata": { "labels": { "app": "x" } },
        "spec": { "containers": [{ "name": "main", "image": "example.com/main:1" }], "restartPolicy": "Always" },
    });
    let mut task = template.clone();
    task["spec"]["restartPolicy"] = "Never".into();
    let selector = json!({ "matchLabels": { "app": "x" } });
    let claim = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } });
    for (path, spec) in [
        (
            "apis/apps/v1/namespaces/default/deployments",
            json!({ "replicas": 2, "selector": selector, "template": template }),
        ),
        ("apis/batch/v1/namespaces/default/jobs", json!({ "template": task })),
        ("api/v1/namespaces/default/persistentvolumeclaims", claim),
    ] {
        let request = explorer::Request {
            method: http::Method::POST,
            path: format!("/{path}"),
            query: std::collections::BTreeMap::new(),
            content_type: "application/json".to_owned(),
            user_agent: "test".to_owned(),
            body: json!({ "metadata": { "name": "a" }, "spec": spec }).to_string().into(),
        };
        assert_eq!(server.answer(&request).unwrap().status(), 201);
    }
    while stages.step(&server).unwrap() > 0 {}
    let resources = ["deployments.apps", "jobs.batch", "persistentvolumeclaims", "pods"];
    let statuses = resources.iter().flat_map(|resource| {
        server
            .objects(resource)
            .into_iter()
            .map(move |object| ((*resource).to_owned(), object["status"][field].clone()))
    });
    statuses.filter(|(_, value)| !value.is_null()).collect()
}

#[test]
fn an_author_chooses_failures() {
    let healthy = Stages::default();
    let failing = Stages::default()
        .failing("deployments.apps", "a")
        .failing("jobs.batch", "a")
        .failing("persistentvolumeclaims", "a");
    let of = |stages: &Stages, field: &str| json!(settled(stages, field));
    assert_eq!(of(&healthy, "availableReplicas"), json!([["deployments.apps", 2]]));
    assert_eq!(of(&failing, "availableReplicas"), json!([]));
    let phases = |claim: &str, pod: &str| json!([["persistentvolumeclaims", claim], ["pods", pod], ["pods", pod]]);
    assert_eq!(of(&healthy, "phase"), phases("Bound", "Running"));
    assert_eq!(of(&failing, "phase"), phases("Pending", "Pending"));
    assert_eq!(of(&healthy, "succeeded"), json!([["jobs.batch", 1]]));
    assert_eq!(of(&failing, "failed"), json!([["jobs.batch", 1]]));
}

#[tokio::test]
async fn a_scale_changes_the_replicas() {
    let server = ApiServer::new();
    let mut crd = shop_crd(Value::Null);
    let version = &mut crd["spec"]["versions"][1];
    version["subresources"] = json!({
        "scale": { "specReplicasPath": ".spec.places", "statusReplicasPath": ".status.places" },
    });
    server.add_crd(&crd).unwrap();
    let shops = shops(&server, "v2");
    let shop = json!({
        "apiVersion": "example.com/v2", "kind": "Shop", "metadata": { "name": "corner" }, "spec": { "places": 3 },
    });
    shops.create(&PostParams::default(), &serde_json::from_value(shop).unwrap()).await.unwrap();
    assert_eq!(shops.get_scale("corner").await.unwrap().spec.unwrap().replicas, Some(3));
    let change = Patch::Merge(json!({ "spec": { "replicas": 5 } }));
    shops.patch_scale("corner", &PatchParams::default(), &change).await.unwrap();
    assert_eq!(shops.get("corner").await.unwrap().data["spec"], json!({ "places": 5 }));
}
