//! Answers to rare requests, as kube-apiserver gives them.
#![allow(clippy::unwrap_used, reason = "tests may be plain")]

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use explorer::{ApiServer, Request, Stages};
use serde_json::{Value, json};

const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";

/// A server with a CRD of two versions, which have a status, a scale and a free map.
fn server() -> ApiServer {
    let server = ApiServer::new();
    let spec = json!({ "type": "object", "properties": {
        "size": { "type": "integer" },
        "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
    } });
    let status = json!({ "type": "object", "properties": { "size": { "type": "integer" } } });
    let version = |name: &str| {
        json!({
            "name": name, "served": true, "storage": name == "v1",
            "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec, "status": status } } },
            "subresources": {
                "status": {}, "scale": { "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size" },
            },
        })
    };
    let crd = json!({ "spec": {
        "group": "example.com", "scope": "Namespaced", "names": { "plural": "shops", "kind": "Shop" },
        "versions": [version("v1"), version("v2")],
    } });
    server.add_crd(&crd).unwrap();
    server
}

/// Sends a request to a path. `/-/` is the namespace `default`.
fn send(server: &ApiServer, method: &str, path: &str, content_type: &str, body: &Value) -> (u16, Value) {
    let (path, manager) = path.split_once('?').unwrap_or((path, "test"));
    let path = path.replace("/-/", "/namespaces/default/");
    let query = [("fieldManager", manager), ("force", "true")];
    let query = query.iter().filter(|(name, _)| *name != "force" || content_type == APPLY);
    let request = Request {
        method: method.parse().unwrap(),
        path,
        query: query.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        content_type: content_type.to_owned(),
        user_agent: "test".to_owned(),
        body: body.to_string().into(),
    };
    let mut answer = server.answer(&request).unwrap();
    let mut text = Vec::new();
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(Ok(frame))) = http_body::Body::poll_frame(Pin::new(answer.body_mut()), &mut context) {
        text.extend_from_slice(frame.data_ref().unwrap());
    }
    (answer.status().as_u16(), serde_json::from_slice(&text).unwrap())
}

fn shop(spec: &Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Shop", "metadata": { "name": "corner" }, "spec": spec })
}

/// The managers of an object with their fields.
fn owners(object: &Value) -> Vec<(&str, Value)> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap().iter();
    entries.map(|entry| (entry["manager"].as_str().unwrap(), entry["fieldsV1"].clone())).collect()
}

#[test]
fn a_list_that_loses_its_last_item_stays_with_its_other_owner() {
    let server = server();
    let map = |owners: &Value| {
        let metadata = json!({ "name": "a", "ownerReferences": owners });
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })
    };
    let owner = |name: &str| json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": "1" }]);
    send(&server, "POST", "/api/v1/-/configmaps?first", JSON, &map(&owner("x")));
    send(&server, "PATCH", "/api/v1/-/configmaps/a?second", APPLY, &map(&owner("y")));
    let config = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    let (code, object) = send(&server, "PATCH", "/api/v1/-/configmaps/a?second", APPLY, &config);
    assert_eq!((code, &object["metadata"]["ownerReferences"]), (200, &Value::Null));
    let expected = ("first", json!({ "f:metadata": { "f:ownerReferences": {} } }));
    assert_eq!(owners(&object), [expected]);
}

#[test]
fn an_update_of_the_status_takes_no_field_of_another_version() {
    let server = server();
    let mut other = shop(&json!({ "size": 1 }));
    other["apiVersion"] = "example.com/v2".into();
    send(&server, "POST", "/apis/example.com/v2/-/shops?first", JSON, &other);
    let change = json!({ "spec": { "size": 2 }, "status": { "size": 2 } });
    let (_, object) = send(&server, "PATCH", "/apis/example.com/v1/-/shops/corner/status?second", MERGE, &change);
    let expected = [
        ("first", json!({ "f:spec": { ".": {}, "f:size": {} } })),
        ("second", json!({ "f:status": { ".": {}, "f:size": {} } })),
    ];
    assert_eq!(owners(&object), expected);
}

#[test]
fn an_applied_map_that_loses_its_last_key_is_null() {
    let server = server();
    let (path, full) = ("/apis/example.com/v1/-/shops/corner", shop(&json!({ "free": { "x": 1 } })));
    assert_eq!(send(&server, "PATCH", path, APPLY, &full).0, 201);
    let (code, status) = send(&server, "PATCH", path, APPLY, &shop(&json!({ "free": {} })));
    assert_eq!((code, &status["details"]["causes"][0]["field"]), (422, &json!("spec.free")));
}

#[test]
fn a_scale_of_another_kind_is_refused_before_the_object_is_looked_up() {
    for (api_version, kind, message) in [
        ("example.com/v1", "Scale", "a Scale whose `apiVersion` is \"example.com/v1\""),
        ("autoscaling/v1", "Shop", "a Scale whose `kind` is \"Shop\""),
        ("", "", "a Scale whose `apiVersion` is null"),
    ] {
        let mut body = json!({ "metadata": { "name": "corner" }, "spec": { "replicas": 1 } });
        if !kind.is_empty() {
            (body["apiVersion"], body["kind"]) = (api_version.into(), kind.into());
        }
        let (code, status) = send(&server(), "PUT", "/apis/example.com/v1/-/shops/corner/scale", JSON, &body);
        let expected = format!("not implemented by the explorer: {message}");
        assert_eq!((code, &status["message"]), (501, &json!(expected)));
    }
}

#[test]
fn admission_calls_an_object_without_a_name_unknown() {
    let spec = json!({ "serviceAccountName": "missing", "containers": [{ "name": "main", "image": "nginx" }] });
    for (metadata, name) in [(json!({}), "Unknown"), (json!({ "generateName": "a-" }), "a-")] {
        let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec });
        let (code, status) = send(&server(), "POST", "/api/v1/-/pods", JSON, &pod);
        assert_eq!((code, &status["details"]["name"]), (403, &json!(name)));
    }
}

#[test]
fn a_scale_adds_no_owners_to_an_object_without_any() {
    let server = server();
    let path = "/apis/example.com/v1/-/shops/corner";
    send(&server, "POST", "/apis/example.com/v1/-/shops", JSON, &shop(&json!({ "size": 1 })));
    send(&server, "PATCH", path, MERGE, &json!({ "metadata": { "managedFields": [{}] } }));
    send(&server, "PATCH", &format!("{path}/scale"), MERGE, &json!({ "spec": { "replicas": 2 } }));
    let (_, object) = send(&server, "GET", path, "", &Value::Null);
    assert_eq!((&object["spec"]["size"], object["metadata"].get("managedFields")), (&json!(2), None));
}

/// The fields and messages of the causes of a refusal.
fn causes(status: &Value) -> Vec<String> {
    let causes = status["details"]["causes"].as_array().unwrap().iter();
    causes
        .map(|cause| format!("{}: {}", cause["field"].as_str().unwrap(), cause["message"].as_str().unwrap()))
        .collect()
}

#[test]
fn metadata_in_the_status_of_a_cron_job_is_checked_once() {
    let server = server();
    let pod = json!({ "restartPolicy": "Never", "containers": [{ "name": "main", "image": "nginx" }] });
    let job = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": { "name": "a", "finalizers": ["example.com/one"] },
        "spec": { "schedule": "@daily", "jobTemplate": { "spec": { "template": { "spec": pod } } } },
    });
    assert_eq!(send(&server, "POST", "/apis/batch/v1/-/cronjobs", JSON, &job).0, 201);
    let path = "/apis/batch/v1/-/cronjobs/a";
    send(&server, "DELETE", path, JSON, &json!({}));
    let finalizers = json!({ "metadata": { "finalizers": ["example.com/two"] } });
    let (code, status) = send(&server, "PATCH", &format!("{path}/status"), MERGE, &finalizers);
    let cause = "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found \
                 new finalizers []string{\"example.com/two\"}";
    assert_eq!((code, causes(&status)), (422, vec![cause.to_owned()]));
}

#[test]
fn images_in_the_update_of_a_pod_are_checked_twice() {
    let server = server();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" },
        "spec": { "containers": [{ "name": "main", "image": "nginx" }] },
    });
    assert_eq!(send(&server, "POST", "/api/v1/-/pods", JSON, &pod).0, 201);
    let change = json!([{ "op": "remove", "path": "/spec/containers/0/image" }]);
    let (code, status) = send(&server, "PATCH", "/api/v1/-/pods/a", "application/json-patch+json", &change);
    assert_eq!((code, causes(&status)), (422, vec!["spec.containers[0].image: Required value".to_owned(); 2]));
}

/// kube-runtime adds a finalizer in this way, and its names need no domain.
#[test]
fn a_missing_field_equals_null_in_the_test_of_a_patch() {
    let server = server();
    send(&server, "POST", "/apis/example.com/v1/-/shops", JSON, &shop(&json!({})));
    let patch = |value: Value| {
        json!([
            { "op": "test", "path": "/metadata/finalizers", "value": value },
            { "op": "add", "path": "/metadata/finalizers", "value": ["shops.example.com"] },
        ])
    };
    let path = "/apis/example.com/v1/-/shops/corner";
    let (code, shop) = send(&server, "PATCH", path, JSON_PATCH, &patch(Value::Null));
    assert_eq!((code, &shop["metadata"]["finalizers"]), (200, &json!(["shops.example.com"])));
    assert_eq!(send(&server, "PATCH", path, JSON_PATCH, &patch(Value::Null)).0, 422);
    assert_eq!(send(&server, "PATCH", path, JSON_PATCH, &patch(json!(["shops.example.com"]))).0, 200);
}

#[test]
fn a_crd_may_restrict_names() {
    let server = ApiServer::new();
    let crd = |metadata: Value| {
        let schema = json!({ "type": "object", "properties": {
            "metadata": metadata,
            "spec": { "type": "object", "properties": { "size": { "type": "integer", "minimum": 1 } } },
        } });
        json!({ "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "shops", "kind": "Shop" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        } })
    };
    let rules =
        |field: &str| json!({ "type": "object", "properties": { field: { "type": "string", "maxLength": 3 } } });
    server.add_crd(&crd(rules("name"))).unwrap();
    let mut long = shop(&json!({ "size": 0 }));
    long["metadata"]["name"] = "long".into();
    let (code, status) = send(&server, "POST", "/apis/example.com/v1/-/shops", JSON, &long);
    let expected = [
        "metadata.name: Too long: may not be more than 3 bytes",
        "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
    ];
    assert_eq!((code, causes(&status)), (422, expected.map(str::to_owned).to_vec()));
    assert!(ApiServer::new().add_crd(&crd(rules("labels"))).is_err());
}

#[test]
fn a_stateful_set_mounts_its_claims() {
    let server = server();
    let claim = json!({ "metadata": { "name": "data" }, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } },
    } });
    let pod = |volume: &str| json!({ "containers": [{ "name": "a", "image": "b", "volumeMounts": [{ "name": volume, "mountPath": "/data" }] }] });
    let set = |volume: &str| {
        json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": { "name": "a" }, "spec": {
            "selector": { "matchLabels": { "a": "b" } }, "serviceName": "a", "volumeClaimTemplates": [claim],
            "template": { "metadata": { "labels": { "a": "b" } }, "spec": pod(volume) },
        } })
    };
    assert_eq!(send(&server, "POST", "/apis/apps/v1/-/statefulsets", JSON, &set("other")).0, 501);
    assert_eq!(send(&server, "POST", "/apis/apps/v1/-/statefulsets", JSON, &set("data")).0, 201);
}

#[test]
fn a_namespace_that_is_garbage_takes_its_content_along() {
    let server = server();
    let root = "/api/v1/namespaces";
    let (_, owner) = send(&server, "POST", root, JSON, &json!({ "metadata": { "name": "owner" } }));
    let reference =
        json!({ "apiVersion": "v1", "kind": "Namespace", "name": "owner", "uid": owner["metadata"]["uid"] });
    send(&server, "POST", root, JSON, &json!({ "metadata": { "name": "owned", "ownerReferences": [reference] } }));
    let map = json!({ "metadata": { "name": "a" } });
    assert_eq!(send(&server, "POST", "/api/v1/namespaces/owned/configmaps", JSON, &map).0, 201);
    send(&server, "DELETE", "/api/v1/namespaces/owner", JSON, &json!({}));
    server.collect_garbage();
    assert_eq!(send(&server, "GET", "/api/v1/namespaces/owned/configmaps/a", JSON, &json!({})).0, 404);
    assert_eq!(send(&server, "GET", "/api/v1/namespaces/owned", JSON, &json!({})).0, 404);
}

/// The pods of ReplicaSets stay: a Deployment replaces the ReplicaSet.
#[test]
fn pods_of_a_changed_template_are_replaced() {
    let server = server();
    let stages = Stages::default();
    let play = || {
        while stages.step(&server).unwrap() + server.collect_garbage() > 0 {}
        let (_, pods) = send(&server, "GET", "/api/v1/-/pods", JSON, &json!({}));
        let images = pods["items"].as_array().unwrap().iter().map(|pod| pod["spec"]["containers"][0]["image"].clone());
        images.collect::<Vec<_>>()
    };
    let set = |kind: &str, strategy: &str, image: &str| {
        json!({ "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": "a" }, "spec": {
            "selector": { "matchLabels": { "a": "b" } }, "updateStrategy": { "type": strategy },
            "template": { "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "a", "image": image }] } },
        } })
    };
    for (kind, plural) in [("StatefulSet", "statefulsets"), ("DaemonSet", "daemonsets")] {
        for (strategy, after) in [("RollingUpdate", "new"), ("OnDelete", "old")] {
            let root = format!("/apis/apps/v1/-/{plural}");
            send(&server, "POST", &root, JSON, &set(kind, strategy, "old"));
            assert_eq!(play(), ["old"], "{kind} {strategy}");
            send(&server, "PATCH", &format!("{root}/a"), APPLY, &set(kind, strategy, "new"));
            assert_eq!(play(), [after], "{kind} {strategy}");
            send(&server, "DELETE", &format!("{root}/a"), JSON, &json!({}));
            assert_eq!(play(), [""; 0], "{kind} {strategy}");
        }
    }
}

/// kube-apiserver stores empty metadata of applied custom objects, and each later write drops it: such an apply always writes.
#[test]
fn applied_empty_metadata_of_a_custom_object_is_written_again() {
    let server = server();
    let version = |(code, object): (u16, Value)| {
        assert!(code < 300, "{object}");
        object["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap()
    };
    for (name, field, value) in [
        ("a", "finalizers", json!([])),
        ("b", "ownerReferences", json!([])),
        ("c", "labels", json!({})),
        ("d", "annotations", json!({})),
    ] {
        let path = format!("/apis/example.com/v1/-/shops/{name}");
        let applied = json!({
            "apiVersion": "example.com/v1", "kind": "Shop", "metadata": { "name": name, field: value }, "spec": { "size": 1 },
        });
        let first = version(send(&server, "PATCH", &path, APPLY, &applied));
        assert_eq!(version(send(&server, "PATCH", &path, APPLY, &applied)), first + 1, "{field}");
        for _ in 0..2 {
            assert_eq!(version(send(&server, "PATCH", &path, MERGE, &json!({}))), first + 2, "{field}");
        }
    }
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "finalizers": [] } });
    let path = "/api/v1/-/configmaps/a";
    let first = version(send(&server, "PATCH", path, APPLY, &map));
    assert_eq!(version(send(&server, "PATCH", path, APPLY, &map)), first);
}
