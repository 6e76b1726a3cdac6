//! The Memcached operator as a pod on a real node: `make test-e2e` on the cluster of `KUBECONFIG`.

mod image;
mod upgrade;
mod workflows;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::{Cluster, current_context, permitted};
use crate::control_plane::helm::helm;
use crate::control_plane::makefile::make;
use crate::control_plane::{Process, free_ports};
use crate::generated::Project;
use crate::sandbox::Sandbox;

const NAMESPACE: &str = "memcached-operator-e2e";
const SYSTEM: &str = "memcached-operator-system";
const CRD: &str = "memcacheds.cache.example.com";
/// Without a version, kubectl uses the preferred one.
const STORED: &str = "memcacheds.v1alpha1.cache.example.com";
/// Ten times a usual step on two busy cores.
const LIMIT: Duration = Duration::from_secs(300);

/// Each test deploys the operator, so they run one at a time.
static CLUSTER: Mutex<()> = Mutex::new(());

/// The objects of a test, removed when it ends or fails.
struct Deployed {
    kubectl: Cluster,
    overlay: PathBuf,
    dir: tempfile::TempDir,
}

impl Deployed {
    /// Deploys the manifests in `config`, a sibling of the project's folder, with this patch of the Deployment's spec.
    fn new(project: &Project, config: &str, spec: &Value) -> Self {
        let image = operator_image(project);
        let kubeconfig = std::env::var("KUBECONFIG").expect("KUBECONFIG names the cluster");
        let dir = tempfile::tempdir().unwrap();
        let kubectl = Cluster::new("kubectl", kubeconfig).with_cache(dir.path().join("cache"));
        for foreign in [["namespace", NAMESPACE], ["namespace", SYSTEM], ["crd", CRD]] {
            let found = kubectl.get(&foreign);
            let error = found.expect_err("is there already, made by somebody else: not touched");
            assert!(error.contains("NotFound"), "{error}");
        }
        let deployed = Self {
            kubectl,
            // Kustomize rejects absolute paths.
            overlay: project.path("../overlay"),
            dir,
        };
        let environment = json!({ "name": "MEMCACHED_IMAGE", "value": memcached_image() });
        let manager = json!({ "name": "manager", "imagePullPolicy": "IfNotPresent", "env": [environment] });
        let metadata = json!({ "name": "memcached-operator-controller-manager", "namespace": SYSTEM });
        let deployment = |spec: &Value| {
            let patch = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec });
            json!({ "patch": patch.to_string() })
        };
        let containers = deployment(&json!({ "template": { "spec": { "containers": [manager] } } }));
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": { "name": SYSTEM, "labels": restricted() },
        });
        let (name, tag) = image.rsplit_once(':').expect("an image with a tag");
        let kustomization = json!({
            "resources": [format!("../{config}/default")],
            "images": [{ "name": "controller", "newName": name, "newTag": tag }],
            "patches": [containers, deployment(spec), { "patch": namespace.to_string() }],
        });
        std::fs::create_dir_all(&deployed.overlay).unwrap();
        std::fs::write(deployed.overlay.join("kustomization.yaml"), kustomization.to_string()).unwrap();
        deployed.kubectl.run(&["apply", "--warnings-as-errors", "-k", deployed.overlay.to_str().unwrap()]);
        let own = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE, "labels": restricted() } });
        deployed.kubectl.send(&["create", "-f", "-"], &own.to_string());
        let operator = ["-n", SYSTEM, "deployment", "memcached-operator-controller-manager"];
        deployed.kubectl.wait_for("the operator to be available", &operator, |deployment| {
            deployment["status"]["availableReplicas"] == deployment["spec"]["replicas"]
        });
        deployed
    }

    fn create(&self, name: &str, spec: &Value) {
        self.kubectl.send(&["create", "-f", "-"], &memcached(name, spec).to_string());
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> String {
        self.kubectl.run(&[&["-n", NAMESPACE], args].concat())
    }

    fn list(&self, kind: &str) -> Vec<Value> {
        let list = self.kubectl.get(&["-n", NAMESPACE, kind]).unwrap();
        list["items"].as_array().unwrap().clone()
    }

    /// Waits until the status of a Memcached lists this number of running pods. Returns their names.
    #[track_caller]
    fn running(&self, name: &str, size: usize) -> Vec<String> {
        self.kubectl.wait(&format!("`{name}` to run {size} pods"), LIMIT, || {
            let memcached = self.kubectl.get(&["-n", NAMESPACE, STORED, name])?;
            let status = &memcached["status"];
            let nodes: Vec<_> = status["nodes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if status["phase"] == "Running" && nodes.len() == size && status["replicas"] == size {
                Ok(nodes.into_iter().map(str::to_owned).collect())
            } else {
                let log = self.operator_log();
                Err(format!("it is\n{memcached:#}\nthe operator says\n{log}"))
            }
        })
    }

    fn operator_log(&self) -> String {
        let args = ["logs", "-n", SYSTEM, "deployment/memcached-operator-controller-manager", "--tail=50"];
        self.kubectl.attempt(&args, "").unwrap_or_else(|error| error)
    }

    /// Kinds and names of an object's controllers, from the direct one to the root.
    fn owners(&self, object: &Value) -> Vec<String> {
        let owner = &object["metadata"]["ownerReferences"][0];
        let (Some(kind), Some(name)) = (owner["kind"].as_str(), owner["name"].as_str()) else { return Vec::new() };
        let next = self.kubectl.get(&["-n", NAMESPACE, kind, name]).unwrap();
        assert_eq!(next["metadata"]["uid"], owner["uid"]);
        [vec![format!("{kind}/{name}")], self.owners(&next)].concat()
    }

    /// Sends a command to the memcached in a pod. Returns its answer up to `end`, or the partial answer as an error.
    fn talk(&self, namespace: &str, pod: &str, words: &str, end: &str) -> Result<String, String> {
        let [port] = free_ports();
        let args =
            ["port-forward", "-n", namespace, &format!("pod/{pod}"), &format!("{port}:11211")].map(str::to_owned);
        let env = [("KUBECONFIG".to_owned(), self.kubectl.kubeconfig().display().to_string())];
        let _forward = Process::start(self.dir.path(), Path::new("kubectl"), &args, &env);
        let mut stream = self.kubectl.wait("the forwarded port", LIMIT, || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(|error| error.to_string())
        });
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // The read below reports a closed connection.
        let _ = stream.write_all(words.as_bytes());
        let mut answer = String::new();
        while !answer.ends_with(end) {
            let mut buffer = [0; 1024];
            let length = stream.read(&mut buffer).unwrap_or_default();
            if length == 0 {
                return Err(format!("the connection ends after {answer:?}"));
            }
            answer.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
        }
        Ok(answer)
    }
}

impl Drop for Deployed {
    fn drop(&mut self) {
        // The finalizers of Memcacheds need the operator, so delete their namespace first.
        let wait = ["--ignore-not-found", "--timeout=120s"];
        let overlay = self.overlay.to_str().unwrap();
        for args in [&["delete", "namespace", NAMESPACE][..], &["delete", "-k", overlay]] {
            if let Err(error) = self.kubectl.attempt(&[args, &wait].concat(), "") {
                eprintln!("left behind: kubectl {}: {error}", args.join(" "));
            }
        }
    }
}

fn memcached(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "cache.example.com/v1alpha1",
        "kind": "Memcached",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": spec,
    })
}

fn restricted() -> Value {
    json!({ "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted" })
}

fn memcached_image() -> String {
    std::env::var("MEMCACHED_IMAGE").unwrap_or_else(|_| "memcached:1.6-alpine".to_owned())
}

/// The image in `E2E_IMAGE`, or an image of the project that is loaded to the node.
fn operator_image(project: &Project) -> String {
    if let Ok(image) = std::env::var("E2E_IMAGE") {
        return image;
    }
    let image = "localhost/memcached-operator:e2e";
    load_image(&project.path(""), project.binary(), image);
    image.to_owned()
}

/// Loads an image of this program to the node. With Docker, the folder's Dockerfile is used if it exists.
fn load_image(folder: &Path, program: &Path, image: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/node/image");
    let output = Command::new(script).arg(folder).arg(program).arg(image).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "needs a cluster: make test-e2e"]
fn pods_of_a_memcached_answer() {
    permitted(&current_context(), std::env::var("E2E_CONTEXT").ok().as_deref()).unwrap();
    let _alone = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    let deployed = Deployed::new(Project::sample(), "memcached-operator/config", &json!({ "replicas": 1 }));
    deployed.create("sample", &json!({ "size": 2, "memoryLimitMegabytes": 64, "extraArgs": ["-v"] }));
    let nodes = deployed.running("sample", 2);
    for name in &nodes {
        let pod = deployed.kubectl.get(&["-n", NAMESPACE, "pod", name]).unwrap();
        let owners = deployed.owners(&pod);
        assert!(owners[0].starts_with("ReplicaSet/"), "{owners:?}");
        assert_eq!(owners[1..], ["Deployment/sample", "Memcached/sample"]);
        assert_eq!(pod["spec"]["containers"][0]["image"], memcached_image());
    }
    let stored = deployed.talk(NAMESPACE, &nodes[0], "set greeting 0 0 5\r\nhello\r\n", "\r\n").unwrap();
    assert_eq!(stored, "STORED\r\n");
    let fetched = deployed.talk(NAMESPACE, &nodes[0], "get greeting\r\n", "END\r\n").unwrap();
    assert_eq!(fetched, "VALUE greeting 0 5\r\nhello\r\nEND\r\n");
    assert_eq!(
        deployed.talk(NAMESPACE, &nodes[1], "get greeting\r\n", "END\r\n").unwrap(),
        "END\r\n",
        "another pod is another cache"
    );

    deployed.run(&["scale", "memcached", "sample", "--replicas=3"]);
    deployed.running("sample", 3);
    deployed.run(&["scale", "memcached", "sample", "--replicas=1"]);
    deployed.running("sample", 1);

    deployed.run(&["delete", "memcached", "sample", "--wait=false"]);
    deployed.kubectl.wait_gone(&["-n", NAMESPACE, "memcached,deployments,replicasets,pods,services"]);
    let events = deployed.list("events.events.k8s.io");
    let cleaned = events.iter().any(|event| event["reason"] == "Deleting" && event["regarding"]["name"] == "sample");
    assert!(cleaned, "{events:#?}");
    let pods = deployed.kubectl.get(&["-n", SYSTEM, "pods"]).unwrap();
    assert_eq!(pods["items"][0]["status"]["containerStatuses"][0]["restartCount"], 0, "{}", deployed.operator_log());
}

/// Runs the project's Makefile with the image of its Dockerfile, as its owner does.
#[test]
#[ignore = "needs a cluster, and buildah as root: make test-e2e"]
fn make_deploys_and_takes_back() {
    permitted(&current_context(), std::env::var("E2E_CONTEXT").ok().as_deref()).unwrap();
    let _alone = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    let project = Project::sample();
    let dir = tempfile::tempdir().unwrap();
    let kubeconfig = std::env::var("KUBECONFIG").expect("KUBECONFIG names the cluster");
    let kubectl = Cluster::new("kubectl", kubeconfig).with_cache(dir.path().join("cache"));
    let image = format!("IMG={}", image::built());
    let make = |target| make(&project.path(""), &kubectl, &[target, &image, "YES=1"]);

    let enforced =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": SYSTEM, "labels": restricted() } });
    kubectl.send(&["create", "-f", "-"], &enforced.to_string());
    let said = make("deploy").unwrap();
    assert!(said.contains("deployment \"memcached-operator-controller-manager\" successfully rolled out"), "{said}");
    let replicas = ["-n", SYSTEM, "deployment", "memcached-operator-controller-manager"];
    kubectl.run(&[&["scale", "--replicas=3"], &replicas[..]].concat());
    kubectl.wait_for("three replicas", &replicas, |deployment| deployment["status"]["availableReplicas"] == 3);
    let pods = kubectl.get(&["-n", SYSTEM, "pods"]).unwrap();
    let lease = kubectl.get(&["-n", SYSTEM, "lease", LOCK]).unwrap();
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap();
    let leads = |pod: &&Value| pod["metadata"]["name"].as_str().is_some_and(|name| holder.starts_with(name));
    let pods = pods["items"].as_array().unwrap();
    assert_eq!((pods.len(), pods.iter().filter(leads).count()), (3, 1), "{holder}: {pods:#?}");

    let mut sample = memcached("sample", &json!({ "size": 1, "image": memcached_image() }));
    sample["metadata"]["namespace"] = "default".into();
    kubectl.send(&["create", "-f", "-"], &sample.to_string());
    kubectl.wait_for("the finalizer", &["memcached", "sample"], |sample| sample["metadata"]["finalizers"].is_array());
    let error = make("undeploy").unwrap_err();
    assert!(error.contains("  Memcached default/sample\nRun `make delete-resources`"), "{error}");
    make("delete-resources").unwrap();
    make("undeploy").unwrap();
    for gone in [["namespace", SYSTEM], ["crd", CRD]] {
        kubectl.wait_gone(&gone);
    }
}

/// Installs the chart like a user; helm waits for running pods.
#[test]
#[ignore = "needs a cluster, and buildah as root: make test-e2e"]
fn a_release_of_the_chart_runs() {
    permitted(&current_context(), std::env::var("E2E_CONTEXT").ok().as_deref()).unwrap();
    let _alone = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    let project = Project::sample();
    let sandbox = Sandbox::new();
    let kubeconfig = std::env::var("KUBECONFIG").expect("KUBECONFIG names the cluster");
    let kubectl = Cluster::new("kubectl", &kubeconfig).with_cache(sandbox.path("cache"));
    let helm =
        |arguments: &str| helm(&sandbox, Some(Path::new(&kubeconfig)), &format!("{arguments} -n {SYSTEM}")).unwrap();
    let (repository, tag) = image::built().rsplit_once(':').expect("an image with a tag");
    sandbox
        .file("dist/install.yaml", &kubectl.run(&["kustomize", &project.path("config/default").display().to_string()]));
    sandbox.run("generate helm").success();
    let enforced =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": SYSTEM, "labels": restricted() } });
    kubectl.send(&["create", "-f", "-"], &enforced.to_string());

    let release = "memcached-operator dist/chart --wait --timeout 300s";
    helm(&format!("install {release} --set manager.image.repository={repository},manager.image.tag={tag}"));
    let mut sample = memcached("sample", &json!({ "size": 1, "image": memcached_image() }));
    sample["metadata"]["namespace"] = SYSTEM.into();
    kubectl.send(&["create", "-f", "-"], &sample.to_string());
    let sample = ["-n", SYSTEM, STORED, "sample"];
    kubectl.wait_for("a pod of the sample", &sample, |sample| sample["status"]["phase"] == "Running");

    let available = || {
        let operator = ["-n", SYSTEM, "deployment", "memcached-operator-controller-manager"];
        kubectl.get(&operator).unwrap()["status"]["availableReplicas"].clone()
    };
    helm(&format!("upgrade {release} --reuse-values --set manager.replicas=2"));
    assert_eq!(available(), 2);
    helm("rollback memcached-operator 1 --wait --timeout 300s");
    assert_eq!(available(), 1);
    kubectl.run(&["delete", "-n", SYSTEM, STORED, "sample", "--timeout=300s"]);
    helm("uninstall memcached-operator --wait --timeout 300s");
    // The release keeps these on uninstall.
    kubectl.run(&["delete", "crd", CRD]);
    kubectl.run(&["delete", "namespace", SYSTEM, "--timeout=300s"]);
}

/// Name of the leader's lock: a Lease, or with leader for life a ConfigMap.
const LOCK: &str = "87a7d51f.example.com";

impl Deployed {
    /// Waits until another pod than this UID owns the lock. Returns its name and UID.
    #[track_caller]
    fn leader_after(&self, uid: &str) -> (String, String) {
        self.kubectl.wait("another pod to lead", LIMIT, || {
            let lock = self.kubectl.get(&["-n", SYSTEM, "configmap", LOCK])?;
            let owner = &lock["metadata"]["ownerReferences"][0];
            if owner["uid"] == uid {
                return Err(format!("it is {owner}\nthe operator says\n{}", self.operator_log()));
            }
            Ok((owner["name"].as_str().unwrap().to_owned(), owner["uid"].as_str().unwrap().to_owned()))
        })
    }
}

#[test]
#[ignore = "needs a cluster: make test-e2e"]
fn a_leader_for_life_is_deleted_and_evicted() {
    permitted(&current_context(), std::env::var("E2E_CONTEXT").ok().as_deref()).unwrap();
    let _alone = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    let project = Project::for_life();
    project.config_for_life(&project.path("../life"));
    // This container logs its input, so that the test can exceed the pod's disk limit.
    let talker = json!({
        "name": "talker",
        "image": memcached_image(),
        "imagePullPolicy": "IfNotPresent",
        "args": ["-vv"],
        "resources": { "limits": { "ephemeral-storage": "1Mi" } },
        "securityContext": { "runAsUser": 1001, "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } },
    });
    let spec = json!({ "replicas": 2, "template": { "spec": { "containers": [talker] } } });
    let deployed = Deployed::new(project, "life", &spec);
    let (first, first_uid) = deployed.leader_after("");
    deployed.create("sample", &json!({ "size": 1 }));
    deployed.running("sample", 1);

    deployed.kubectl.run(&["delete", "pod", "-n", SYSTEM, &first, "--wait=false"]);
    let (second, second_uid) = deployed.leader_after(&first_uid);
    deployed.kubectl.wait_gone(&["-n", SYSTEM, "pod", &first]);
    deployed.run(&["scale", "memcached", "sample", "--replicas=2"]);
    deployed.running("sample", 2);

    let flood = format!("get {}\r\n", "a".repeat(240)).repeat(20_000) + "verbosity 2\r\n";
    // The pod may be evicted before it answers.
    let _ = deployed.talk(SYSTEM, &second, &flood, "OK\r\n");
    deployed.leader_after(&second_uid);
    deployed.kubectl.wait_gone(&["-n", SYSTEM, "pod", &second]);
    let events = deployed.kubectl.get(&["-n", SYSTEM, "events.events.k8s.io"]).unwrap();
    let evicted = events["items"].as_array().unwrap().iter();
    let evicted: Vec<_> =
        evicted.filter(|event| event["reason"] == "Evicted").map(|event| &event["regarding"]).collect();
    assert!(evicted.iter().any(|pod| pod["uid"] == *second_uid), "{evicted:#?}");
    deployed.run(&["scale", "memcached", "sample", "--replicas=1"]);
    deployed.running("sample", 1);
    deployed.run(&["delete", "memcached", "sample", "--wait=false"]);
    deployed.kubectl.wait_gone(&["-n", NAMESPACE, "memcached", "sample"]);
}

/// The API server calls the Service and verifies the certificate of the replicas.
#[test]
#[ignore = "needs a cluster: make test-e2e"]
fn webhooks_are_called_through_their_service() {
    permitted(&current_context(), std::env::var("E2E_CONTEXT").ok().as_deref()).unwrap();
    let _alone = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    let project = Project::with_webhooks();
    let deployed = Deployed::new(&project, "memcached-operator/config", &json!({ "replicas": 2 }));
    let started = Instant::now();
    deployed.kubectl.wait("a webhook to be called", LIMIT, || {
        let memcached = memcached("sample", &json!({ "size": 1 })).to_string();
        deployed.kubectl.attempt(&["create", "-f", "-"], &memcached)
    });
    println!("called {:?} after the operator was available", started.elapsed());
    deployed.running("sample", 1);
    let as_version = |version: &str| {
        let resource = format!("memcacheds.{version}.cache.example.com");
        deployed.kubectl.get(&["-n", NAMESPACE, &resource, "sample"]).unwrap()
    };
    assert_eq!(as_version("v1alpha1")["spec"]["image"], "localhost/memcached:1.6.18");
    let converted = as_version("v1beta1");
    assert_eq!(converted["apiVersion"], "cache.example.com/v1beta1");
    let kept = converted["metadata"]["annotations"]["cache.example.com/conversion-data"].as_str().unwrap();
    assert!(kept.contains("localhost/memcached:1.6.18"), "{kept}");

    let refused = memcached("refused", &json!({ "size": 6 })).to_string();
    let error = deployed.kubectl.attempt(&["create", "-f", "-"], &refused).unwrap_err();
    assert!(error.contains("spec.size: Invalid value: 6: must not be above 5"), "{error}");
    deployed.run(&["delete", STORED, "sample", "--wait=false"]);
    deployed.kubectl.wait_gone(&["-n", NAMESPACE, STORED, "sample"]);
}
