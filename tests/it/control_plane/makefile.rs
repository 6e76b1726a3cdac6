//! Makefile targets of a project that change a cluster.

use std::process::{Command, Stdio};

use serde_json::json;

use super::ControlPlane;
use crate::cluster::Cluster;
use crate::sandbox::{OFFLINE, Sandbox};

/// The output of `make` without a terminal, or the error of a failed target.
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
    let plane = ControlPlane::shared();
    let project = Sandbox::new();
    project.run(&format!("init --domain asked.example.com --project-name asked {OFFLINE}")).success();
    project.run("create api --group cache --version v1alpha1 --kind Memcached").success();
    project.lock().run("generate").success();
    let make = |args: &[&str]| make(project.root(), &plane.admin, args);
    let installed = || plane.admin.get(&["crd", "memcacheds.cache.asked.example.com"]);

    for target in ["install", "deploy", "undeploy", "uninstall", "delete-resources"] {
        let error = make(&[target]).unwrap_err();
        let question = format!("{target}: change the cluster of the context 'control-plane'? Confirm it with YES=1.");
        assert!(error.contains(&question), "{error}");
    }
    assert!(installed().unwrap_err().contains("NotFound"));
    assert_eq!(make(&["delete-resources", "YES=1"]).unwrap(), "No CRDs; nothing to delete.\n");
    make(&["install", "YES=1"]).unwrap();
    installed().unwrap();

    // Without a node, the pod stays pending.
    let error = make(&["deploy", "YES=1", "TIMEOUT=1s"]).unwrap_err();
    assert!(error.contains("timed out waiting for the condition"), "{error}");
    assert!(error.contains("asked-controller-manager-") && error.contains("Pending"), "{error}");

    let object = json!({
        "apiVersion": "cache.asked.example.com/v1alpha1",
        "kind": "Memcached",
        "metadata": { "name": "sample", "namespace": "default", "finalizers": ["cache.asked.example.com/finalizer"] },
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
    let kind = "memcacheds.cache.asked.example.com";
    plane.admin.run(&["patch", kind, "sample", "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);
    make(&["delete-resources", "YES=1"]).unwrap();
    make(&["undeploy", "YES=1"]).unwrap();
    assert!(installed().unwrap_err().contains("NotFound"));
    plane.admin.wait_gone(&["namespace", "asked-system"]);
    make(&["uninstall", "YES=1", "ignore-not-found=true"]).unwrap();
}

/// `deploy` wins conflicts and removes objects of an older `make deploy`. On request, it keeps an autoscaler's
/// replicas.
#[test]
fn deploy_takes_back_what_others_changed() {
    let plane = ControlPlane::shared();
    let project = Sandbox::new();
    project.run(&format!("init --domain taken.example.com --project-name taken {OFFLINE}")).success();
    project.lock().run("generate").success();
    let deployment = ["deployment", "taken-controller-manager", "-n", "taken-system"];
    // Without a node, the rollout never ends.
    let deploy = |args: &[&str]| {
        let said = make(project.root(), &plane.admin, &[&["deploy", "YES=1", "TIMEOUT=1s"], args].concat());
        let said = said.unwrap_or_else(|error| error);
        assert!(said.contains("timed out waiting for the condition"), "{said}");
        plane.admin.get(&deployment).unwrap()
    };
    let scale = |replicas: &str| {
        plane.admin.run(&[&["scale"], &deployment[..], &["--replicas", replicas]].concat());
    };

    let rendered = plane.admin.run(&["kustomize", &project.path("config/default").display().to_string()]);
    let older = rendered.replacen("  replicas: 1\n", "  replicas: 1\n  minReadySeconds: 7\n", 1);
    assert_ne!(older, rendered);
    plane.admin.send(&["apply", "--server-side", "-f", "-"], &older);
    let first = deploy(&[]);
    assert_eq!((&first["spec"]["replicas"], &first["spec"]["minReadySeconds"]), (&json!(1), &json!(null)));

    scale("3");
    assert_eq!(deploy(&["REPLICAS=keep"])["spec"]["replicas"], 3);
    assert_eq!(deploy(&["REPLICAS=keep", "IMG=example.com/demo:v1"])["spec"]["replicas"], 3);
    assert_eq!(
        plane.admin.get(&deployment).unwrap()["spec"]["template"]["spec"]["containers"][0]["image"],
        "example.com/demo:v1"
    );
    scale("2");
    assert_eq!(deploy(&[])["spec"]["replicas"], 1);

    // No other manager has set the replicas.
    project.replace("config/manager/manager.yaml", "replicas: 1", "replicas: 2");
    assert_eq!(deploy(&[])["spec"]["replicas"], 2);
    assert_eq!(deploy(&["REPLICAS=keep"])["spec"]["replicas"], 2);
    plane.admin.run(&[&["delete"], &deployment[..]].concat());
    assert_eq!(deploy(&["REPLICAS=keep"])["spec"]["replicas"], 2);

    let error = make(project.root(), &plane.admin, &["deploy", "YES=1", "REPLICAS=4"]).unwrap_err();
    assert!(error.contains("REPLICAS must be `keep` or empty"), "{error}");
}

/// `install` warns if no operator serves the conversion, and only then.
#[test]
fn install_says_that_nothing_converts_yet() {
    let plane = ControlPlane::shared();
    let project = Sandbox::new();
    project.run(&format!("init --domain converted.example.com --project-name converted {OFFLINE}")).success();
    let make = |args: &[&str]| make(project.root(), &plane.admin, &[args, &["YES=1", "TIMEOUT=1s"]].concat());
    project.lock();
    project.run("create api --group cache --version v1 --kind Memcached").success();
    let note = "The operator is not deployed, and only it converts objects between their versions";
    let said = make(&["install"]).unwrap();
    assert!(!said.contains(note), "{said}");

    project.run("create api --group cache --version v1alpha1 --kind Memcached --controller=false").success();
    project.run("create webhook --group cache --version v1 --kind Memcached --conversion --spoke v1alpha1").success();
    let said = make(&["install"]).unwrap();
    assert!(said.contains(note) && said.contains("make run ENABLE_WEBHOOKS=true"), "{said}");
    let object = |version: &str| {
        let object = json!({
            "apiVersion": format!("cache.converted.example.com/{version}"),
            "kind": "Memcached",
            "metadata": { "name": version, "namespace": "default" },
            "spec": {},
        });
        plane.admin.attempt(&["create", "-f", "-"], &object.to_string())
    };
    object("v1").unwrap();
    let error = object("v1alpha1").unwrap_err();
    assert!(error.contains("conversion webhook"), "{error}");

    let error = make(&["deploy"]).unwrap_err();
    assert!(error.contains("timed out waiting for the condition"), "{error}");
    let said = make(&["install"]).unwrap();
    assert!(!said.contains(note), "{said}");
}
