//! A minimal kubelet for operator pods: a process for each pod, with the pod's arguments and ServiceAccount. Its
//! `/readyz` sets the pod's readiness, and the webhook Service routes to ready pods.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::upgrade::service::Service;
use super::{ControlPlane, Process, free_ports};
use crate::cluster::Cluster;
use crate::http;

const PERIOD: Duration = Duration::from_millis(300);

struct Pod {
    process: Process,
    probes: u16,
    webhooks: u16,
    ready: bool,
}

struct Node {
    admin: Cluster,
    namespace: String,
    account: PathBuf,
    images: PathBuf,
    dir: PathBuf,
    crd: String,
    service: Service,
    pods: BTreeMap<String, Pod>,
}

/// Runs the pods of a namespace until it is dropped.
pub(super) struct Kubelet {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

pub(super) fn program(images: &Path, image: &str) -> PathBuf {
    images.join(image.replace(['/', ':'], "_"))
}

const PATCHER: &str = "--field-manager=test-kubelet";

impl Kubelet {
    /// Runs the operator `project`, with conversions in this CRD. `images` holds the programs of `docker build`.
    pub(super) fn start(plane: &ControlPlane, project: &str, crd: &str, images: &Path) -> Self {
        let (namespace, account) = (format!("{project}-system"), format!("{project}-controller-manager"));
        plane.admin.run(&["create", "namespace", &namespace]);
        plane.admin.run(&["create", "serviceaccount", &account, "-n", &namespace]);
        let account = plane.service_account(&namespace, &account);
        account.run(&["config", "set-context", "--current", &format!("--namespace={namespace}")]);
        let mut node = Node {
            admin: plane.administrator("kubelet"),
            account: account.kubeconfig().to_owned(),
            namespace,
            images: images.to_owned(),
            dir: plane.dir().join("pods"),
            crd: crd.to_owned(),
            service: Service::start(),
            pods: BTreeMap::new(),
        };
        let ended = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let ended = ended.clone();
            move || {
                while !ended.load(Ordering::SeqCst) {
                    node.route();
                    node.sync();
                    std::thread::sleep(PERIOD);
                }
            }
        });
        Self { ended, thread: Some(thread) }
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the kubelet has panicked");
    }
}

impl Node {
    /// Acts as kube-proxy: routes the webhook Service, whose address is unassigned, to this host.
    fn route(&self) {
        let [services, definition] =
            [self.admin.get(&["services", "-n", &self.namespace]), self.admin.get(&["crd", &self.crd])];
        let services = services.unwrap_or_default();
        let webhooks = services["items"].as_array().into_iter().flatten().find(|service| {
            let name = service["metadata"]["name"].as_str().unwrap_or_default();
            name.ends_with("webhook-service") && service["spec"]["type"] != "ExternalName"
        });
        if let Some(service) = webhooks {
            let local =
                json!({ "type": "ExternalName", "externalName": "localhost", "clusterIP": "", "clusterIPs": null });
            let patch = json!({ "spec": local }).to_string();
            let name = service["metadata"]["name"].as_str().unwrap();
            self.admin.run(&["patch", "service", name, "-n", &self.namespace, "--type=merge", "-p", &patch]);
        }
        let port = self.service.port();
        let client = "/spec/conversion/webhook/clientConfig/service";
        let asked = definition.unwrap_or_default().pointer(client).map(|service| service["port"].clone());
        if asked.is_some_and(|asked| asked != port) {
            let patch = json!([{ "op": "add", "path": format!("{client}/port"), "value": port }]).to_string();
            let args = ["patch", "crd", &self.crd, "--type=json", PATCHER, "-p", &patch];
            // A rollback may have removed the conversion.
            if self.admin.attempt(&args, "").is_ok() {
                self.disown();
            }
        }
    }

    /// Drops the ownership of the port, so that it is removed with the conversion, like in a cluster.
    fn disown(&self) {
        for _ in 0..10 {
            let get = ["get", "crd", &self.crd, "-o", "json", "--show-managed-fields"];
            let Ok(crd) = self.admin.attempt(&get, "") else { return };
            let crd: Value = serde_json::from_str(&crd).unwrap();
            let mut managed = crd["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
            managed.retain(|entry| {
                PATCHER != format!("--field-manager={}", entry["manager"].as_str().unwrap_or_default())
            });
            let metadata = json!({ "managedFields": managed, "resourceVersion": crd["metadata"]["resourceVersion"] });
            let patch = json!({ "metadata": metadata }).to_string();
            if self.admin.attempt(&["patch", "crd", &self.crd, "--type=merge", "-p", &patch], "").is_ok() {
                return;
            }
        }
    }

    fn sync(&mut self) {
        let label = ["-l", "control-plane=controller-manager"];
        let Ok(list) = self.admin.get(&[&["pods", "-n", &self.namespace], &label[..]].concat()) else { return };
        let name = |pod: &Value| pod["metadata"]["name"].as_str().unwrap().to_owned();
        let there: BTreeMap<String, &Value> =
            list["items"].as_array().unwrap().iter().map(|pod| (name(pod), pod)).collect();
        let gone: Vec<String> = self.pods.keys().filter(|name| !there.contains_key(*name)).cloned().collect();
        for name in gone {
            let mut pod = self.pods.remove(&name).unwrap();
            self.service.remove(pod.webhooks);
            assert_eq!(pod.process.terminate(), Some(0), "{}", pod.process.log_text());
        }
        for (name, pod) in there {
            if !self.pods.contains_key(&name) {
                let started = self.run(&name, pod);
                self.pods.insert(name.clone(), started);
            }
            let running = self.pods.get_mut(&name).unwrap();
            let ready = http::get(running.probes, "/readyz").is_ok();
            if ready != running.ready {
                let state = if ready { "True" } else { "False" };
                let ready_since =
                    json!({ "type": "Ready", "status": state, "lastTransitionTime": "2026-01-01T00:00:00Z" });
                let status = json!({ "status": { "phase": "Running", "conditions": [ready_since] } }).to_string();
                let args = [
                    "patch",
                    "pod",
                    &name,
                    "-n",
                    &self.namespace,
                    "--subresource=status",
                    "--type=merge",
                    "-p",
                    &status,
                ];
                // The pod may be gone.
                running.ready = ready && self.admin.attempt(&args, "").is_ok();
            }
        }
    }

    fn run(&self, name: &str, pod: &Value) -> Pod {
        let container = &pod["spec"]["containers"][0];
        let dir = self.dir.join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let [probes, webhooks] = free_ports();
        let variables = container["env"].as_array().cloned().unwrap_or_default();
        let expanded = |arg: &Value| {
            variables.iter().fold(arg.as_str().unwrap().to_owned(), |arg, variable| {
                let value = variable["value"].as_str().unwrap_or_default();
                arg.replace(&format!("$({})", variable["name"].as_str().unwrap()), value)
            })
        };
        let mut args: Vec<String> = container["args"].as_array().unwrap().iter().map(expanded).collect();
        args.retain(|arg| !arg.starts_with("--metrics-") && !arg.starts_with("--health-probe-bind-address"));
        args.push(format!("--health-probe-bind-address=127.0.0.1:{probes}"));
        args.push("--metrics-bind-address=0".to_owned());
        args.push(format!("--leader-election-namespace={}", self.namespace));
        if args.iter().any(|arg| arg.starts_with("--webhook-")) {
            args.push(format!("--webhook-port={webhooks}"));
        }
        let env = [("KUBECONFIG".to_owned(), self.account.display().to_string())];
        let program = program(&self.images, container["image"].as_str().unwrap());
        let process = Process::start(&dir, &program, &args, &env);
        self.service.add(probes, webhooks);
        Pod { process, probes, webhooks, ready: false }
    }
}
