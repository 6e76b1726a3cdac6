//! The targets of a project's Makefile that change a cluster.

use std::process::{Command, Stdio};

use serde_json::json;

use super::ControlPlane;
use crate::cluster::Cluster;
use crate::sandbox::{OFFLINE, Sandbox};

/// What `make` says with these arguments, where there is no terminal; the error is that of a target that fails.
pub(crate) fn make(project: &std::path::Path, cluster: &Cluster, args: &[&str]) -> Result<String, String> {
    let output = Command::new("make")
        .args(args)
        .arg(format!("KUBECTL={}", cluster.kubectl().display()))
        .arg(format!("MEMCACHED_SDK={}", env!("CARGO_BIN_EXE_memcached-sdk")))
        .env("KUBECONFIG", cluster.kubeconfig())
        .current_dir(project)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    if output.status.success() { Ok(said) } else { Err(said) }
}

#[test]
fn targets_ask_wait_and_tell() {
    let plane = ControlPlane::start();
    let project = Sandbox::new();
    project.run(&format!("init --domain example.com --project-name demo {OFFLINE}")).success();
    project.run("create api --group cache --version v1alpha1 --kind Memcached").success();
    project.lock().run("generate").success();
    let make = |args: &[&str]| make(project.root(), &plane.admin, args);
    let installed = || plane.admin.get(&["crd", "memcacheds.cache.example.com"]);

    for target in ["install", "deploy", "undeploy", "uninstall", "delete-resources"] {
        let error = make(&[target]).unwrap_err();
        let question = format!("{target}: change the cluster of the context 'control-plane'? Confirm it with YES=1.");
        assert!(error.contains(&question), "{error}");
    }
    assert!(installed().unwrap_err().contains("NotFound"));
    assert_eq!(make(&["delete-resources", "YES=1"]).unwrap(), "No CRDs; nothing to delete.\n");
    make(&["install", "YES=1"]).unwrap();
    installed().unwrap();

    // There is no node for its pod.
    let error = make(&["deploy", "YES=1", "TIMEOUT=1s"]).unwrap_err();
    assert!(error.contains("timed out waiting for the condition"), "{error}");
    assert!(error.contains("demo-controller-manager-") && error.contains("Pending"), "{error}");

    let object = json!({
        "apiVersion": "cache.example.com/v1alpha1",
        "kind": "Memcached",
        "metadata": { "name": "sample", "namespace": "default", "finalizers": ["cache.example.com/finalizer"] },
        "spec": {},
    });
    plane.admin.send(&["create", "-f", "-"], &object.to_string());
    for target in ["undeploy", "uninstall"] {
        let error = make(&[target, "YES=1"]).unwrap_err();
        let told = format!(
            "These objects have finalizers, which only the running manager removes:\n  Memcached default/sample\n\
             Run `make delete-resources` while it runs, and `make {target}` then.\n"
        );
        assert!(error.contains(&told), "{error}");
    }
    let error = make(&["delete-resources", "YES=1", "TIMEOUT=1s"]).unwrap_err();
    assert!(error.contains("Not all are deleted: does the manager run?"), "{error}");
    plane.admin.run(&["patch", "memcached", "sample", "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);
    make(&["delete-resources", "YES=1"]).unwrap();
    make(&["undeploy", "YES=1"]).unwrap();
    assert!(installed().unwrap_err().contains("NotFound"));
    plane.admin.wait_gone(&["namespace", "demo-system"]);
    make(&["uninstall", "YES=1", "ignore-not-found=true"]).unwrap();
}
