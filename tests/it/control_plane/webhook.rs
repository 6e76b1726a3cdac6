//! Webhooks of the manager on a real API server: `tests/webhook`.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::program::Program;
use super::{ControlPlane, kubectl};
use crate::sandbox::{OFFLINE, Sandbox};

#[test]
fn webhooks_work_through_everything_that_becomes_of_their_certificates() {
    let program = Program {
        name: "webhook",
        change: |manifest| {
            let features = toml_edit::Array::from_iter(["webhook"]);
            manifest["dependencies"]["manager"]["features"] = toml_edit::value(features);
        },
        args: vec!["--health-probe-bind-address=0".to_owned()],
        limit: Duration::from_secs(1200),
        success: "all is well",
    };
    eprintln!("{}", program.run());
}

/// With the names that kustomize gives them.
#[test]
fn the_manifests_of_each_certificate_mode_are_accepted() {
    let plane = ControlPlane::start();
    plane.admin.run(&["create", "namespace", "op-system"]);
    for mode in ["self", "cert-manager", "files"] {
        let sandbox = Sandbox::new();
        sandbox
            .run(&format!("init --domain example.com --project-name op --webhook-cert-mode {mode} {OFFLINE}"))
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
        let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": own });
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
