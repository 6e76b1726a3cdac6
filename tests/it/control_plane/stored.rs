//! Objects of an earlier release that fit neither the type nor the rules of this one: each kind of webhook and each
//! operation on a real API server. The operator is `tests/stored`.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::program::Program;
use super::{ControlPlane, Process, free_ports};
use crate::cluster::Cluster;
use crate::wait;

/// Ten times a step of up to 5 seconds.
const SOON: Duration = Duration::from_secs(50);

/// The first release has neither constraints nor conversion.
fn definition(release: u8) -> Value {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let status = json!({ "type": "object", "required": ["ready"], "properties": { "ready": { "type": "boolean" } } });
    let version = |name: &str, field: &str| {
        let mut spec = json!({ "type": "object", "required": [field], "properties": { field: { "type": "integer" } } });
        if name == "v1" {
            spec["properties"]["mode"] = json!({ "type": "string", "maxLength": 10 });
        }
        let strict = json!({ "type": "object", "properties": { "spec": spec, "status": status } });
        let schema = if release == 1 { &open } else { &strict };
        json!({
            "name": name, "served": true, "storage": name == "v1", "subresources": { "status": {} },
            "schema": { "openAPIV3Schema": schema },
        })
    };
    let client = json!({ "service": { "name": "webhook-service", "namespace": "system", "path": "/convert" } });
    let webhook = json!({
        "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": client },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "kind": "Thing", "plural": "things" },
            "versions": [version("v1", "replicas"), version("v1alpha1", "size")],
            "conversion": if release == 1 { json!({ "strategy": "None" }) } else { webhook },
        },
    })
}

fn configurations() -> String {
    let configuration = |kind: &str, name: &str, version: &str, path: &str| {
        let rule = json!({
            "apiGroups": ["example.com"], "apiVersions": [version], "resources": ["things", "things/status"],
            "operations": ["CREATE", "UPDATE", "DELETE"],
        });
        let client = json!({ "service": { "name": "webhook-service", "namespace": "system", "path": path } });
        let manifest = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
            "metadata": { "name": name },
            "webhooks": [{
                "name": "things.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail", "clientConfig": client, "rules": [rule], "matchPolicy": "Exact",
            }],
        });
        format!("---\n{}", serde_yaml::to_string(&manifest).unwrap())
    };
    configuration("Mutating", "all", "v1", "/mutate")
        + &configuration("Validating", "all", "v1", "/validate")
        // This webhook is called for every update of v1alpha1.
        + &configuration("Validating", "old", "v1alpha1", "/validate-old")
}

fn states() -> [(&'static str, Value); 4] {
    [
        ("valid", json!({ "replicas": 1, "mode": "fast" })),
        ("invalid", json!({ "replicas": 9, "mode": "fast" })),
        ("incomplete", json!({ "mode": "fast" })),
        ("mistyped", json!({ "replicas": "many", "mode": "fast" })),
    ]
}

const OPERATIONS: [&str; 12] = [
    "create",
    "repair",
    "change",
    "label",
    "status",
    "finalizer",
    "delete",
    "read-old",
    "label-old",
    "deleting-change",
    "deleting-delete",
    "deleting-label-old",
];

/// Returns true if the object is in deletion during the operation.
fn is_held(operation: &str) -> bool {
    operation == "finalizer" || operation.starts_with("deleting-")
}

fn object(name: &str, spec: &Value, finalizer: bool) -> Value {
    let finalizers = if finalizer { json!(["example.com/hold"]) } else { json!([]) };
    json!({
        "apiVersion": "example.com/v1", "kind": "Thing", "spec": spec,
        "metadata": { "name": name, "namespace": "default", "finalizers": finalizers },
    })
}

fn attempt(admin: &Cluster, operation: &str, name: &str, spec: &Value) -> Result<String, String> {
    let patch = |kind: &str, flags: &[&str], change: Value| {
        let change = change.to_string();
        admin.attempt(&[&["patch", kind, name, "--type=merge", "-p", &change], flags].concat(), "")
    };
    let (things, old) = ("things.v1.example.com", "things.v1alpha1.example.com");
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    match operation.trim_start_matches("deleting-") {
        "create" => admin.attempt(&["create", "-f", "-"], &object(name, spec, false).to_string()),
        "repair" => patch(things, &[], json!({ "spec": { "replicas": 2 } })),
        "change" => patch(things, &[], json!({ "spec": { "mode": "slow" } })),
        "label" => patch(things, &[], label),
        "status" => patch(things, &["--subresource=status"], json!({ "status": { "ready": true } })),
        "finalizer" => patch(things, &[], json!({ "metadata": { "finalizers": [] } })),
        "delete" => admin.attempt(&["delete", things, name, "--wait=false"], ""),
        "read-old" => admin.attempt(&["get", old, name, "-o", "jsonpath={.spec}"], ""),
        _ => patch(old, &[], label),
    }
}

#[test]
fn stored_objects_can_be_repaired_and_deleted() {
    let program = Program {
        name: "stored",
        change: |manifest| {
            let features = toml_edit::Array::from_iter(["webhook"]);
            manifest["dependencies"]["manager"]["features"] = toml_edit::value(features);
        },
        args: vec![],
        limit: SOON,
        success: "",
    };
    let binary = program.build();
    let mut plane = ControlPlane::start();
    let admin = &plane.admin;
    admin.send(&["create", "-f", "-"], &definition(1).to_string());
    admin.wait("the kind to be served", SOON, || admin.attempt(&["get", "things.v1.example.com"], ""));
    let mut items = Vec::new();
    for (state, spec) in states() {
        for operation in OPERATIONS.into_iter().filter(|operation| *operation != "create") {
            items.push(object(&format!("{state}-{operation}"), &spec, is_held(operation)));
        }
    }
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    admin.send(&["create", "-f", "-"], &list.to_string());
    for (state, _) in states() {
        for operation in OPERATIONS.into_iter().filter(|operation| is_held(operation)) {
            admin.run(&["delete", "things.v1.example.com", &format!("{state}-{operation}"), "--wait=false"]);
        }
    }

    admin.send(&["replace", "-f", "-"], &definition(2).to_string());
    let dir = plane.dir().join("stored");
    std::fs::create_dir(&dir).unwrap();
    let manifests = dir.join("manifests.yaml");
    std::fs::write(&manifests, configurations()).unwrap();
    let [port] = free_ports();
    let kubeconfig = format!("--kubeconfig={}", admin.kubeconfig().display());
    let local = format!("--webhook-local={}", manifests.display());
    let port = format!("--webhook-port={port}");
    let args = [&kubeconfig, "--health-probe-bind-address=0", &local, &port].map(str::to_owned);
    let process = Process::start(&dir, &binary, &args, &[]);
    plane.admin.show_log(process.log());
    let admin = &plane.admin;
    // Both admission webhooks and the conversion work.
    wait::until(SOON, || {
        let probe = json!({ "replicas": 6 });
        let refused =
            admin.attempt(&["create", "--dry-run=server", "-f", "-"], &object("x", &probe, false).to_string());
        let old =
            admin.attempt(&["get", "things.v1alpha1.example.com", "valid-label", "-o", "jsonpath={.spec.size}"], "");
        let probe = json!({
            "apiVersion": "example.com/v1alpha1", "kind": "Thing", "spec": { "size": 6 },
            "metadata": { "name": "x", "namespace": "default" },
        });
        let strict = admin.attempt(&["create", "--dry-run=server", "-f", "-"], &probe.to_string());
        let above = |answer: &Result<String, String>| answer.as_ref().is_err_and(|text| text.contains("above 5"));
        let works = above(&refused) && above(&strict) && old.as_deref() == Ok("1");
        if works { Ok(()) } else { Err(format!("{refused:?} {strict:?} {old:?}")) }
    })
    .unwrap();

    let mut table = String::new();
    for operation in OPERATIONS {
        for (state, spec) in states() {
            let name = format!("{state}-{operation}");
            let answer = attempt(admin, operation, &name, &spec);
            let answer = answer.unwrap_or_else(|error| error);
            writeln!(table, "{operation} {state}: {}", answer.trim().replace('\n', " | ")).unwrap();
        }
    }
    let list = admin.attempt(&["get", "things.v1alpha1.example.com", "-o", "name"], "");
    writeln!(
        table,
        "list of v1alpha1: {}",
        list.map_or_else(|error| error, |text| format!("{} objects", text.lines().count()))
    )
    .unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored/answers.txt");
    if std::env::var("SNAPSHOTS").is_ok_and(|action| action == "overwrite") {
        std::fs::write(golden, table).unwrap();
    } else {
        let expected = std::fs::read_to_string(golden).unwrap();
        assert!(table == expected, "`SNAPSHOTS=overwrite` writes this table:\n{table}");
    }
}
