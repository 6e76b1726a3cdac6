//! `rbac verify` on the audit log of a project with all options: the three kinds of webhooks with self-signed
//! certificates, metrics, leader election and network policies.

use serde_json::{Value, json};

use super::{LIMIT, NAMESPACE, condition, container, memcached, verify};
use crate::cluster::Cluster;
use crate::control_plane::{ControlPlane, Process, free_ports};
use crate::generated::{ACCOUNT, Project, SYSTEM};
use crate::http;
use crate::sandbox::{Sandbox, files};

/// The controller's version. Without a version, kubectl uses the preferred one.
const STORED: &str = "memcacheds.v1alpha1.cache.example.com";
const SPOKE: &str = "memcacheds.v1beta1.cache.example.com";
const SERVICE: &str = "memcached-operator-webhook-service";
const SECRET: &str = "webhook-server-cert";

/// Arguments of the deployed container with expanded variables.
fn args(deployment: &Value) -> Vec<String> {
    let container = container(deployment);
    let args = container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap().to_owned());
    let env: Vec<_> = container["env"].as_array().unwrap().iter().collect();
    args.map(|arg| {
        env.iter().fold(arg, |arg, env| {
            let name = format!("$({})", env["name"].as_str().unwrap());
            arg.replace(&name, env["value"].as_str().unwrap_or_default())
        })
    })
    .collect()
}

/// Routes the API server to a process on this host: there is no kube-proxy.
fn lead_to(kubectl: &Cluster, port: u16) {
    let spec = json!({ "type": "ExternalName", "externalName": "localhost" });
    let metadata = json!({ "name": SERVICE, "namespace": SYSTEM });
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec });
    kubectl.run(&["delete", "service", "-n", SYSTEM, SERVICE]);
    kubectl.send(&["create", "-f", "-"], &service.to_string());
    for (kind, name, path) in [
        ("crd", "memcacheds.cache.example.com", "/spec/conversion/webhook/clientConfig/service/port"),
        (
            "mutatingwebhookconfiguration",
            "memcached-operator-mutating-webhook-configuration",
            "/webhooks/0/clientConfig/service/port",
        ),
        (
            "validatingwebhookconfiguration",
            "memcached-operator-validating-webhook-configuration",
            "/webhooks/0/clientConfig/service/port",
        ),
    ] {
        let patch = json!([{ "op": "add", "path": path, "value": port }]).to_string();
        kubectl.run(&["patch", kind, name, "--type=json", "-p", &patch]);
    }
}

/// Uses every permission of the operator.
fn use_all(kubectl: &Cluster, metrics: u16) {
    let object = |spec: Value| memcached("sample", &spec).to_string();
    kubectl.wait("an object to be created", LIMIT, || {
        kubectl.attempt(&["create", "-f", "-"], &object(json!({ "size": 0 })))
    });
    let refused = kubectl.attempt(&["apply", "-f", "-"], &object(json!({ "size": 6 }))).unwrap_err();
    assert!(refused.contains("must not be above 5"), "{refused}");
    let in_namespace = |kind: &'static str| ["-n", NAMESPACE, kind, "sample"];
    let deployment = kubectl.wait_for("the Deployment", &in_namespace("deployment"), |_| true);
    assert_eq!(container(&deployment)["image"], "localhost/memcached:1.6.18", "the webhook's default");
    kubectl.wait_for("the finalizer", &in_namespace(STORED), |sample| sample["metadata"]["finalizers"].is_array());
    assert_eq!(kubectl.get(&in_namespace(SPOKE)).unwrap()["apiVersion"], "cache.example.com/v1beta1");

    // The third event repeats the first one, so the operator patches it. No pod runs here.
    for (size, available) in [(0, "True"), (2, "False"), (0, "True")] {
        let spec = json!({ "spec": { "size": size } }).to_string();
        kubectl.run(&["patch", "-n", NAMESPACE, STORED, "sample", "--type=merge", "-p", &spec]);
        kubectl.wait_for(&format!("size {size}"), &in_namespace(STORED), |sample| {
            condition(&sample["status"], "Available").is_some_and(|condition| condition["status"] == available)
        });
    }
    // Drift of each owned object.
    for kind in ["deployment", "service"] {
        let label = "app.kubernetes.io/managed-by";
        kubectl.run(&["label", "-n", NAMESPACE, kind, "sample", "--overwrite", &format!("{label}=somebody")]);
        kubectl.wait_for("the label to be set right", &in_namespace(kind), |object| {
            object["metadata"]["labels"][label] != "somebody"
        });
    }
    let broken = json!({ "data": { "tls.crt": "", "tls.key": "" } }).to_string();
    kubectl.run(&["patch", "-n", SYSTEM, "secret", SECRET, "--type=merge", "-p", &broken]);
    kubectl.wait_for("a new certificate", &["-n", SYSTEM, "secret", SECRET], |secret| secret["data"]["tls.crt"] != "");

    kubectl.run(&["create", "-n", NAMESPACE, "serviceaccount", "prometheus"]);
    let role = "--clusterrole=memcached-operator-metrics-reader";
    let account = format!("--serviceaccount={NAMESPACE}:prometheus");
    kubectl.run(&["create", "clusterrolebinding", "prometheus", role, &account]);
    let token = kubectl.run(&["create", "-n", NAMESPACE, "token", "prometheus"]);
    kubectl.wait("the metrics", LIMIT, || kubectl.scrape(metrics, &json!({ "token": token.trim() })));

    kubectl.run(&["delete", "-n", NAMESPACE, STORED, "sample", "--wait=false"]);
    kubectl.wait_gone(&in_namespace(STORED));
}

#[test]
fn verify_is_clean_with_everything_switched_on() {
    let project = Project::with_webhooks();
    let plane = ControlPlane::start();
    project.deploy(&plane.admin);
    plane.admin.run(&["create", "namespace", NAMESPACE]);
    let [probes, metrics, webhooks] = free_ports();
    lead_to(&plane.admin, webhooks);

    let deployment = plane.admin.get(&["-n", SYSTEM, "deployment", ACCOUNT]).unwrap();
    let account = plane.service_account(SYSTEM, ACCOUNT);
    // Like in a pod, the kubeconfig's namespace is where certificates are stored.
    account.run(&["config", "set-context", "--current", &format!("--namespace={SYSTEM}")]);
    let env = [
        ("KUBECONFIG".to_owned(), account.kubeconfig().display().to_string()),
        ("MEMCACHED_IMAGE".to_owned(), "localhost/memcached:1.6.18".to_owned()),
    ];
    let addresses = ["--health-probe-bind-address", "--metrics-bind-address"];
    let mut args = args(&deployment);
    args.retain(|arg| !addresses.iter().any(|address| arg.starts_with(address)));
    args.extend([
        format!("--health-probe-bind-address=127.0.0.1:{probes}"),
        format!("--metrics-bind-address=127.0.0.1:{metrics}"),
        format!("--webhook-port={webhooks}"),
    ]);
    let mut operator = Process::start(plane.dir(), project.binary(), &args, &env);
    let mut kubectl = plane.admin.clone();
    kubectl.show_log(operator.log());
    kubectl.wait("the operator to be ready", LIMIT, || http::get(probes, "/readyz").map(drop));
    use_all(&kubectl, metrics);
    assert_eq!(operator.terminate(), Some(0), "{}", operator.log_text());

    verify(&plane, &project.path("")).success();
    // Counter-check: kustomize does not prefix the names in rules here.
    let other = Sandbox::new();
    for (path, text) in files(&project.path("")) {
        other.file(&path, &text);
    }
    other.replace("config/default/kustomizeconfig.yaml", "rules/resourceNames", "rules/others");
    let run = verify(&plane, other.root()).code(1);
    let error = run.err();
    for code in ["rbac-missing", "rbac-unused"] {
        assert_eq!(error.matches(&format!("[{code}]")).count(), 2, "{run}");
    }
}
