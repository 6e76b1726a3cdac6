//! The objects that workloads own: those of the stages in memory, and those of kube-controller-manager.

use std::time::Duration;

use explorer::{ApiServer, Request, Stages};
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::wait;

const NAMESPACE: &str = "children";

/// Paths of the children.
const CHILDREN: [&str; 3] = ["apis/apps/v1/%/replicasets", "api/v1/%/pods", "api/v1/%/persistentvolumeclaims"];

/// A Deployment and a StatefulSet, each with the path of its collection.
fn workloads() -> [(&'static str, Value); 2] {
    let template = |app: &str| {
        json!({
            "metadata": { "labels": { "app": app } },
            "spec": { "containers": [{ "name": "main", "image": "example.com/main:1" }] },
        })
    };
    let selector = |app: &str| json!({ "matchLabels": { "app": app } });
    let claim = json!({
        "metadata": { "name": "data" },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    });
    [
        (
            "apis/apps/v1/%/deployments",
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
                "spec": { "replicas": 2, "selector": selector("web"), "template": template("web") },
            }),
        ),
        (
            "apis/apps/v1/%/statefulsets",
            json!({
                "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": { "name": "db" },
                "spec": {
                    "replicas": 2, "podManagementPolicy": "Parallel", "serviceName": "db", "selector": selector("db"),
                    "template": template("db"), "volumeClaimTemplates": [claim],
                },
            }),
        ),
    ]
}

fn path(of: &str) -> String {
    format!("/{}", of.replace('%', &format!("namespaces/{NAMESPACE}")))
}

/// The parts of an object that operators rely on. Hashes and random names differ between the servers.
fn shape(object: &Value) -> Value {
    let metadata = &object["metadata"];
    let labels = &metadata["labels"];
    let hash = ["pod-template-hash", "controller-revision-hash"].iter().find_map(|label| labels[*label].as_str());
    let known = |text: &str| match hash {
        Some(hash) => text.replace(hash, "HASH"),
        None => text.to_owned(),
    };
    let mut name = known(metadata["name"].as_str().unwrap());
    if let Some((prefix, _)) = name.rsplit_once('-').filter(|(_, suffix)| suffix.len() == 5) {
        name = format!("{prefix}-*");
    }
    let mut owners = metadata["ownerReferences"].clone();
    for owner in owners.as_array_mut().into_iter().flatten() {
        owner["uid"] = Value::Null;
        owner["name"] = known(owner["name"].as_str().unwrap()).into();
    }
    let claims: Vec<&Value> = object["spec"]["volumes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|volume| &volume["persistentVolumeClaim"]["claimName"])
        .filter(|claim| !claim.is_null())
        .collect();
    json!({
        "name": name, "generateName": metadata["generateName"].as_str().map(known), "owners": owners, "claims": claims,
        "labels": serde_json::from_str::<Value>(&known(&labels.to_string())).unwrap(),
    })
}

fn shapes(list: &Value) -> Vec<Value> {
    let mut shapes: Vec<Value> = list["items"].as_array().unwrap().iter().map(shape).collect();
    shapes.sort_by_key(Value::to_string);
    shapes
}

fn in_memory() -> Vec<Vec<Value>> {
    let server = ApiServer::new();
    server.add_namespace(NAMESPACE);
    let send = |method: &str, path: String, body: Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (code, text) = super::sides::exchange_in_memory(
            &server,
            &Request {
                method: method.parse().unwrap(),
                path,
                query: Default::default(),
                content_type: "application/json".to_owned(),
                user_agent: "test".to_owned(),
                body: body.into(),
            },
        );
        assert!(code < 300, "{text}");
        serde_json::from_str::<Value>(&text).unwrap()
    };
    for (collection, workload) in workloads() {
        send("POST", path(collection), workload);
    }
    while Stages::default().step(&server).unwrap() > 0 {}
    CHILDREN.map(|collection| shapes(&send("GET", path(collection), Value::Null))).to_vec()
}

#[test]
fn children_of_workloads_are_those_of_the_controllers() {
    let plane = ControlPlane::shared();
    plane.admin.run(&["create", "namespace", NAMESPACE]);
    for (_, workload) in workloads() {
        plane.admin.attempt(&["create", "-n", NAMESPACE, "-f", "-"], &workload.to_string()).unwrap();
    }
    let expected = in_memory();
    let real = wait::until(Duration::from_secs(60), || {
        let lists = CHILDREN.map(|collection| {
            let text = plane.admin.run(&["get", "--raw", &path(collection)]);
            shapes(&serde_json::from_str(&text).unwrap())
        });
        let counts = |lists: &[Vec<Value>]| lists.iter().map(Vec::len).collect::<Vec<_>>();
        if counts(&lists) == counts(&expected) { Ok(lists.to_vec()) } else { Err(format!("{lists:?}")) }
    });
    plane.admin.run(&["delete", "namespace", NAMESPACE, "--wait=false"]);
    assert_equal(&real.unwrap(), &expected);
}

fn assert_equal(real: &[Vec<Value>], memory: &[Vec<Value>]) {
    let text = |lists: &[Vec<Value>]| format!("{:#}", json!(lists));
    let (real, memory) = (text(real), text(memory));
    let lines = similar::TextDiff::from_lines(&real, &memory);
    assert!(real == memory, "{}", lines.unified_diff().header("real", "in memory"));
}
