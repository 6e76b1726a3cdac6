//! Rolling upgrades with the Deployment controller, the kubelet and kube-proxy: the releases of `tests/upgrade` as
//! pods.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{CLUSTER, LIMIT, load_image};
use crate::cluster::{Cluster, current_context, permitted};
use crate::control_plane::upgrade::load::Load;
use crate::control_plane::upgrade::{FIRST, OBJECTS, Release, SECOND, Way, manifests, object, program};
use crate::control_plane::{Process, free_ports};
use crate::http;

const IMAGE: &str = "localhost/upgrade-operator:e2e";
/// Scaffolded names, without kustomize's prefix.
const DEPLOYMENT: &str = "deployment/controller-manager";
const CRD: &str = "things.example.com";

/// Longest accepted outage. With the scaffolded probe, a pod is ready after 5 to 15 seconds.
const OUTAGE: Duration = Duration::from_secs(60);

/// The operator in the namespace `default`, removed at the end in any state.
struct World {
    kubectl: Cluster,
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let kubeconfig = std::env::var("KUBECONFIG").expect("KUBECONFIG names the cluster");
        let dir = tempfile::tempdir().unwrap();
        let kubectl = Cluster::new("kubectl", kubeconfig).with_cache(dir.path().join("cache"));
        for foreign in [["crd", CRD], ["deployment", "controller-manager"]] {
            let error = kubectl.get(&foreign).expect_err("is there already, made by somebody else: not touched");
            assert!(error.contains("NotFound"), "{error}");
        }
        Self { kubectl, dir }
    }

    /// Applies a release's manifests in one call, like `make deploy`, and waits for its pods.
    fn deploy(&self, release: &Release, replicas: usize) {
        let mut items = manifests(release, 443);
        items.extend(operator(release, replicas));
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
        self.kubectl.send(&["apply", "--warnings-as-errors", "-f", "-"], &list.to_string());
        let timeout = format!("--timeout={}s", LIMIT.as_secs());
        if let Err(error) = self.kubectl.attempt(&["rollout", "status", DEPLOYMENT, &timeout], "") {
            panic!("`{}` with {replicas} replicas: {error}\n{}", release.name, self.state());
        }
    }

    fn state(&self) -> String {
        let pods = self.kubectl.attempt(&["describe", "pods", "-l", "control-plane"], "");
        let logs = ["logs", "-l", "control-plane", "--tail=40", "--prefix"];
        [pods, self.kubectl.attempt(&logs, "")].map(|text| text.unwrap_or_else(|error| error)).concat()
    }

    /// Starts `kubectl proxy`: the API server without TLS.
    fn without_tls(&self) -> (Process, SocketAddr) {
        let [port] = free_ports();
        let address = (Ipv4Addr::LOCALHOST, port).into();
        let args = ["proxy".to_owned(), format!("--port={port}")];
        let env = [("KUBECONFIG".to_owned(), self.kubectl.kubeconfig().display().to_string())];
        let proxy = Process::start(self.dir.path(), Path::new("kubectl"), &args, &env);
        self.kubectl.wait("the proxy", LIMIT, || http::send(address, LIMIT, "GET", "/readyz", ""));
        (proxy, address)
    }

    fn stop(&self) {
        self.kubectl.run(&["scale", DEPLOYMENT, "--replicas=0"]);
        self.kubectl.wait_gone(&["pods", "-l", "control-plane"]);
    }

    /// Waits until this release has reconciled `count` objects. Returns them in this version.
    fn reconciled(&self, release: &Release, version: &str, count: usize) -> Vec<Value> {
        let kind = format!("things.{version}.example.com");
        self.kubectl.wait("all objects to be reconciled", LIMIT, || {
            let list = self.kubectl.get(&[&kind])?;
            let items = list["items"].as_array().unwrap();
            let done = items.iter().filter(|item| item["status"]["release"] == release.name).count();
            if done == count { Ok(items.clone()) } else { Err(format!("{done} are: {list:#}\n{}", self.state())) }
        })
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let definition = ["patch", "crd", CRD, "--type=merge", "-p", r#"{"spec":{"conversion":null}}"#];
        let configurations = "mutatingwebhookconfigurations,validatingwebhookconfigurations";
        for args in [
            &["delete", DEPLOYMENT, "--cascade=foreground"][..],
            &["delete", "service/webhook-service", "serviceaccount/controller-manager"],
            &["delete", configurations, "things", "--ignore-not-found"],
            // Stop the conversion first: deleting the CRD lists its objects, which needs the operator.
            &definition,
            &["delete", "crd", CRD, "--timeout=120s"],
            &["delete", "clusterrole/upgrade-operator", "clusterrolebinding/upgrade-operator"],
            &["delete", "secret/webhook-server-cert", "lease/upgrade.example.com", "--ignore-not-found"],
        ] {
            if let Err(error) = self.kubectl.attempt(args, "") {
                eprintln!("left behind: kubectl {}: {error}", args.join(" "));
            }
        }
    }
}

/// The scaffolded Deployment with probes, limits and security context, and the objects that it needs.
fn operator(release: &Release, replicas: usize) -> Vec<Value> {
    let file = "tests/samples/memcached-operator/config/manager/manager.yaml";
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let (_, deployment) = text.split_once("\n---\n").expect("a namespace and a Deployment");
    let mut deployment: Value = serde_yaml::from_str(deployment).unwrap();
    deployment["metadata"]["namespace"] = "default".into();
    deployment["spec"]["replicas"] = replicas.into();
    let container = &mut deployment["spec"]["template"]["spec"]["containers"][0];
    container["image"] = IMAGE.into();
    container["imagePullPolicy"] = "IfNotPresent".into();
    let flags = container["args"].as_array().unwrap().iter().map(|flag| flag.as_str().unwrap().to_owned());
    let args: Vec<_> = flags.chain(release.args()).collect();
    container["args"] = args.into();

    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
    let rules = [
        rule("example.com", &["things"], &["get", "list", "patch", "watch"]),
        rule("example.com", &["things/status"], &["patch"]),
        rule("coordination.k8s.io", &["leases"], &["create", "get", "update"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        rule("", &["secrets"], &["create", "get", "list", "update", "watch"]),
        rule("apiextensions.k8s.io", &["customresourcedefinitions"], &["get", "list", "patch", "watch"]),
        rule(
            "admissionregistration.k8s.io",
            &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            &["get", "list", "patch", "watch"],
        ),
    ];
    let meta = |name: &str| json!({ "name": name, "namespace": "default" });
    let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "upgrade-operator" });
    let account = json!({ "kind": "ServiceAccount", "name": "controller-manager", "namespace": "default" });
    vec![
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("controller-manager") }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": { "name": "upgrade-operator" }, "rules": rules,
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": { "name": "upgrade-operator" }, "roleRef": role, "subjects": [account],
        }),
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": meta("webhook-service"),
            "spec": {
                "ports": [{ "port": 443, "protocol": "TCP", "targetPort": 9443 }],
                "selector": deployment["spec"]["selector"]["matchLabels"],
            },
        }),
        deployment,
    ]
}

/// Upgrades from a release with the old version only to one that stores the new version, converts and admits.
fn upgrade(way: Way, replicas: usize) {
    let started = Instant::now();
    let world = World::new();
    world.deploy(&FIRST, replicas);
    for number in 0..OBJECTS {
        world.kubectl.send(&["create", "-f", "-"], &object(number, &FIRST));
    }
    world.reconciled(&FIRST, "v1alpha1", OBJECTS);
    if way == Way::Cold {
        world.stop();
    }
    let (_proxy, address) = world.without_tls();
    let load = Load::start(address, SECOND.versions);
    world.deploy(&SECOND, replicas);
    let rolled = started.elapsed();
    for (version, field) in [("v1", "size"), ("v1alpha1", "replicas")] {
        let objects = world.reconciled(&SECOND, version, OBJECTS);
        let values: Vec<_> = objects.iter().map(|object| object["spec"][field].clone()).collect();
        assert_eq!(values, [1; OBJECTS], "{version}");
    }
    let outages = load.end();
    assert!(outages.longest() < OUTAGE, "nothing worked for longer than {OUTAGE:?}: {outages}");
    world.kubectl.send(&["create", "-f", "-"], &object(OBJECTS, &SECOND));
    let objects = world.reconciled(&SECOND, "v1", OBJECTS + 1);
    assert_eq!(objects.last().unwrap()["spec"], json!({ "size": 1, "mode": "slow" }), "it is defaulted");
    let done = started.elapsed();
    eprintln!("{way:?}, {replicas} replicas: rolled out {rolled:?} after the start, done after {done:?}; {outages}");
}

#[test]
#[ignore = "needs a cluster: make test-e2e"]
fn a_release_rolls_out_while_objects_are_stored_in_the_old_version() {
    permitted(&current_context(), std::env::var("E2E_CONTEXT").ok().as_deref()).unwrap();
    let _alone = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    let binary = program().build();
    load_image(binary.parent().unwrap(), &binary, IMAGE);
    for (way, replicas) in [(Way::Roll, 1), (Way::Roll, 2), (Way::Cold, 1)] {
        upgrade(way, replicas);
    }
}
