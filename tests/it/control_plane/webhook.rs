//! Webhooks of the manager on a real API server: `tests/webhook`.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::program::Program;
use super::{ControlPlane, Process, free_ports, kubectl};
use crate::sandbox::{OFFLINE, Sandbox};
use crate::wait;

/// Ten times a step of up to 5 seconds.
const SOON: Duration = Duration::from_secs(50);

fn program() -> Program {
    Program {
        name: "webhook",
        change: |manifest| {
            let features = toml_edit::Array::from_iter(["webhook"]);
            manifest["dependencies"]["manager"]["features"] = toml_edit::value(features);
        },
        args: vec!["--health-probe-bind-address=0".to_owned()],
        limit: Duration::from_secs(1200),
        success: "all is well",
    }
}

#[test]
fn webhooks_work_through_everything_that_becomes_of_their_certificates() {
    eprintln!("{}", program().run());
}

const CRD: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com, labels: {a: b}}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {name: webhook-service, namespace: system, path: /convert}}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v1alpha1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"#;

/// A generated configuration with a webhook that this operator serves, and another one.
fn configuration(kind: &str, path: &str) -> String {
    let webhook = |name: &str, path: &str| {
        json!({
            "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            "clientConfig": { "service": { "name": "webhook-service", "namespace": "system", "path": path } },
            "rules": [{
                "apiGroups": ["example.com"], "apiVersions": ["v1beta1"], "resources": ["things"],
                "operations": ["CREATE", "UPDATE"],
            }],
        })
    };
    let webhooks = [webhook("ours.example.com", path), webhook("unknown.example.com", "/unknown")];
    let manifest = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
        "metadata": { "name": "all" }, "webhooks": webhooks,
    });
    format!("---\n{}", serde_yaml::to_string(&manifest).unwrap())
}

/// Local webhooks need neither a Service nor cert-manager, and leave no object behind.
#[test]
fn local_webhooks_end_with_their_operator() {
    let binary = program().build();
    let plane = ControlPlane::start();
    let dir = plane.dir().join("local");
    std::fs::create_dir(&dir).unwrap();
    let manifests = dir.join("manifests.yaml");
    let both = configuration("Mutating", "/mutate") + &configuration("Validating", "/validate");
    std::fs::write(&manifests, both).unwrap();
    plane.admin.send(&["apply", "-f", "-"], CRD);
    let definition = || plane.admin.get(&["crd", "things.example.com"]).unwrap();
    let what = |definition: &Value| {
        let metadata = &definition["metadata"];
        let notes = metadata["annotations"].get("memcached-sdk/conversion-before").cloned();
        json!([metadata["labels"], notes, definition["spec"]])
    };
    let before = what(&definition());
    let names = || {
        let kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations";
        plane.admin.run(&["get", kinds, "-o", "name"])
    };
    // A configuration of another owner.
    let others = configuration("Validating", "/unknown").replace("things", "others");
    plane.admin.send(&["apply", "-f", "-"], &others);
    let other = names();
    assert!(!other.is_empty());

    let [port] = free_ports();
    let thing = |name: &str, spec: &str| {
        let kind = "{apiVersion: example.com/v1beta1, kind: Thing";
        let text = format!("{kind}, metadata: {{name: {name}, namespace: default}}, spec: {spec}}}");
        let created = plane.admin.attempt(&["create", "-o", "json", "-f", "-"], &text);
        created.map(|text| serde_json::from_str::<Value>(&text).unwrap())
    };
    let kubeconfig = format!("--kubeconfig={}", plane.admin.kubeconfig().display());
    let local = format!("--webhook-local={}", manifests.display());
    let port = format!("--webhook-port={port}");
    let args = ["--serve", &kubeconfig, "--health-probe-bind-address=0", &local, &port].map(str::to_owned);
    let works = |name: &str| {
        let started = Instant::now();
        wait::until(SOON, || thing(name, "{}").map(|created| assert_eq!(created["spec"]["size"], 3))).unwrap();
        let took = started.elapsed();
        let old = plane.admin.get(&["things.v1alpha1.example.com", name]).unwrap();
        assert_eq!(old["spec"]["replicas"], 3);
        let refused = thing("refused", "{size: 0}").unwrap_err();
        assert!(refused.contains("spec.size: Invalid value: 0: must be at least 1"), "{refused}");
        eprintln!("local webhooks work {took:?} after the start");
    };

    let mut process = Process::start(&dir, &binary, &args, &[]);
    works("first");
    assert_eq!(process.terminate(), Some(0), "{}", process.log_text());
    assert_eq!((names(), what(&definition())), (other.clone(), before.clone()));

    // The next start removes the leftovers of a killed run, including webhooks that no longer exist.
    process.restart();
    works("second");
    process.kill();
    let left = "validatingwebhookconfiguration.admissionregistration.k8s.io/webhook-local-all";
    assert!(names().contains(left), "{}", names());
    let refused = thing("third", "{}").unwrap_err();
    assert!(refused.contains("failed calling webhook"), "{refused}");
    std::fs::write(&manifests, configuration("Mutating", "/mutate")).unwrap();
    process.restart();
    let gone = || if names().contains(left) { Err(names()) } else { Ok(()) };
    wait::until(SOON, gone).unwrap();
    process.kill();

    // Also with webhooks disabled.
    let disabled = ("ENABLE_WEBHOOKS".to_owned(), "false".to_owned());
    let process = Process::start(&dir, &binary, &args, &[disabled]);
    let cleared = || if names() == other { Ok(()) } else { Err(process.log_text()) };
    wait::until(SOON, cleared).unwrap();
    let restored = || if what(&definition()) == before { Ok(()) } else { Err(process.log_text()) };
    wait::until(SOON, restored).unwrap();
    assert_eq!(thing("third", "{}").unwrap()["spec"], json!({}));
}

/// The names are those of kustomize.
#[test]
fn the_manifests_of_each_certificate_mode_are_accepted() {
    let plane = ControlPlane::shared();
    plane.admin.run(&["create", "namespace", "op-system"]);
    for mode in ["self", "cert-manager", "files"] {
        let sandbox = Sandbox::new();
        sandbox
            .run(&format!("init --domain modes.example.com --project-name op --webhook-cert-mode {mode} {OFFLINE}"))
            .success();
        for version in ["v1", "v1alpha1"] {
            sandbox.run(&format!("create api --group cache --version {version} --kind Memcached")).success();
        }
        let webhooks = "--defaulting --programmatic-validation --conversion --spoke v1alpha1";
        sandbox.run(&format!("create webhook --group cache --version v1 --kind Memcached {webhooks}")).success();
        sandbox.lock().run("generate").success();

        let output =
            Command::new(kubectl()).args(["kustomize", "config/default"]).current_dir(sandbox.root()).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let objects: Vec<Value> = text.split("\n---\n").map(|text| serde_yaml::from_str(text).unwrap()).collect();
        let own: Vec<&Value> = objects
            .iter()
            .filter(|object| !object["apiVersion"].as_str().unwrap().starts_with("cert-manager"))
            .collect();
        assert_eq!(own.len() < objects.len(), mode == "cert-manager", "{mode}");
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": own });
        plane.admin.send(&["apply", "--dry-run=server", "--warnings-as-errors", "-f", "-"], &list.to_string());

        let mut services = Vec::new();
        for object in &objects {
            let webhooks = object["webhooks"].as_array().into_iter().flatten();
            let clients = webhooks.map(|webhook| &webhook["clientConfig"]);
            let clients = clients.chain(object.pointer("/spec/conversion/webhook/clientConfig"));
            services.extend(clients.map(|client| &client["service"]));
        }
        assert_eq!(services.len(), 3, "{mode}");
        for service in services {
            assert!(
                own.iter().any(|object| object["kind"] == "Service"
                    && object["metadata"]["name"] == service["name"]
                    && object["metadata"]["namespace"] == service["namespace"]),
                "{mode}: {service}"
            );
        }
    }
}

/// The operator is down, so each call of its webhooks fails.
#[test]
fn an_operator_that_is_down_blocks_only_the_namespaces_in_which_it_works() {
    let plane = ControlPlane::shared();
    let namespaces = ["down-system", "down-a", "down-b", "default"];
    for name in &namespaces[..3] {
        plane.admin.run(&["create", "namespace", name]);
    }
    let sandbox = Sandbox::new();
    sandbox.run(&format!("init --domain down.example.com --project-name down {OFFLINE}")).success();
    sandbox.run("create api --group cache --version v1 --kind Memcached").success();
    let webhooks = "--defaulting --programmatic-validation";
    sandbox.run(&format!("create webhook --group cache --version v1 --kind Memcached {webhooks}")).success();
    sandbox.lock().run("generate").success();
    plane.admin.send(&["apply", "-f", "-"], &sandbox.read("config/crd/bases/cache.down.example.com_memcacheds.yaml"));
    let crd = "crd/memcacheds.cache.down.example.com";
    plane.admin.run(&["wait", crd, "--for", "condition=Established", "--timeout=60s"]);

    for (scope, folder, blocked) in [
        ("--namespaced=false", "default", &namespaces[..]),
        ("--namespaced", "default", &["down-system"]),
        ("--namespaces=down-a,down-b", "namespaces", &["down-a", "down-b"]),
        ("--namespaced=false", "default", &namespaces[..]),
    ] {
        // The project's initial scope comes first.
        if blocked.len() < namespaces.len() || sandbox.path("config/namespaces").exists() {
            sandbox.run(&format!("edit {scope}")).success();
        }
        let rendered =
            plane.admin.run(&["kustomize", &sandbox.path(&format!("config/{folder}")).display().to_string()]);
        let documents: Vec<Value> = serde_yaml::from_multiple(&rendered).unwrap();
        let is_configuration =
            |object: &&Value| object["kind"].as_str().is_some_and(|kind| kind.ends_with("WebhookConfiguration"));
        let configurations: Vec<&Value> = documents.iter().filter(is_configuration).collect();
        assert_eq!(configurations.len(), 2, "{scope}");
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": configurations });
        plane.admin.send(&["apply", "-f", "-"], &list.to_string());
        // The API server needs a moment to observe configurations.
        let is_blocked = || -> Vec<&str> {
            let refused = |namespace: &&str| {
                let sample = "{apiVersion: cache.down.example.com/v1, kind: Memcached, metadata: {name: a}, spec: {}}";
                let arguments = ["create", "--dry-run=server", "--namespace", namespace, "-f", "-"];
                plane.admin.attempt(&arguments, sample).is_err_and(|error| {
                    assert!(error.contains("failed calling webhook"), "{error}");
                    true
                })
            };
            namespaces.into_iter().filter(refused).collect()
        };
        let settled = || if is_blocked() == blocked { Ok(()) } else { Err(format!("{scope}: {:?}", is_blocked())) };
        wait::until(SOON, settled).unwrap();
    }
}
