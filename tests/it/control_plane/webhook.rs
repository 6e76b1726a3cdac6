//! Webhooks of the manager on a real API server: `tests/webhook`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::control_plane::{self, ControlPlane, Process};
use crate::sandbox::{OFFLINE, Sandbox};
use crate::{generated, wait};

const LIMIT: Duration = Duration::from_secs(1200);

#[test]
fn webhooks_work_through_everything_that_becomes_of_their_certificates() {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("webhook");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/webhook/main.rs");
    std::fs::create_dir_all(package.join("src")).unwrap();
    std::fs::copy(generated::lock(), package.join("Cargo.lock")).unwrap();
    std::fs::copy(source, package.join("src/main.rs")).unwrap();
    let mut manifest = generated::manifest("webhook");
    let features = toml_edit::Array::from_iter(["webhook"]);
    manifest["dependencies"]["manager"]["features"] = toml_edit::value(features);
    std::fs::write(package.join("Cargo.toml"), manifest.to_string()).unwrap();
    let output = generated::cargo(&package, &["build"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let mut plane = ControlPlane::start();
    let dir = plane.dir().join("webhook");
    std::fs::create_dir(&dir).unwrap();
    let kubeconfig = format!("--kubeconfig={}", plane.admin.kubeconfig().display());
    let args = [&kubeconfig, "--health-probe-bind-address=0", "--log-level=warn"].map(str::to_owned);
    let process = Process::start(&dir, &generated::target().join("debug/webhook"), &args, &[]);
    plane.admin.show_log(process.log());
    let said = wait::until(LIMIT, || {
        let text = process.log_text();
        let ended = text.lines().any(|line| line == "all is well" || line.starts_with("Error: "));
        if ended { Ok(text) } else { Err(format!("it has not ended:\n{text}")) }
    });
    let said = said.unwrap();
    assert!(said.lines().any(|line| line == "all is well"), "{said}");
    eprintln!("{said}");
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

        let output = Command::new(control_plane::kubectl())
            .args(["kustomize", "config/default"])
            .current_dir(sandbox.root())
            .output()
            .unwrap();
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
