//! The pages of `docs/walkthroughs`, from the first command to the running operator on a real control plane, with its
//! own ServiceAccount and roles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::control_plane::audit::{self, Request};
use crate::control_plane::observability::Observed;
use crate::control_plane::{ControlPlane, Process, free_ports};
use crate::golden::docs;
use crate::{generated, http};

/// Ten times a usual step on two busy cores.
const LIMIT: Duration = Duration::from_secs(60);

/// The deployed project of a page, and its operator.
struct Walk {
    project: &'static str,
    program: PathBuf,
    operator: Option<Process>,
    metrics: u16,
    plane: ControlPlane,
    _home: tempfile::TempDir,
}

impl Walk {
    /// Runs a page except its cluster commands, and deploys the result.
    fn through(page: &str, project: &'static str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let not_run = docs::runs(page, home.path(), &["build"]);
        assert!(not_run.iter().all(|command| command.starts_with("cluster: ")), "{not_run:?}");
        let root = home.path().join(project);
        let program = home.path().join("operator");
        {
            let _building = generated::building();
            let output = generated::cargo(&root, &["build", "--locked"]).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            std::fs::copy(generated::target().join("debug").join(project), &program).unwrap();
        }
        let plane = ControlPlane::start();
        let config = |path: &str| root.join("config").join(path).display().to_string();
        if root.join("config/crd").exists() {
            plane.admin.run(&["apply", "--server-side", "-k", &config("crd")]);
            plane.admin.run(&["wait", "crd", "--all", "--for", "condition=Established", "--timeout=60s"]);
        }
        plane.admin.run(&["apply", "--warnings-as-errors", "-k", &config("default")]);
        plane.admin.run(&["scale", "deployment", "-n", &format!("{project}-system"), "--all", "--replicas=0"]);
        let mut walk = Self { project, program, operator: None, metrics: 0, plane, _home: home };
        walk.start();
        walk
    }

    fn start(&mut self) {
        self.operator = None;
        let system = format!("{}-system", self.project);
        let account = self.plane.service_account(&system, &format!("{}-controller-manager", self.project));
        let env = [("KUBECONFIG".to_owned(), account.kubeconfig().display().to_string())];
        let [probes, metrics] = free_ports();
        self.metrics = metrics;
        let args = [
            format!("--health-probe-bind-address=127.0.0.1:{probes}"),
            "--leader-elect".to_owned(),
            format!("--leader-election-namespace={system}"),
            format!("--metrics-bind-address=127.0.0.1:{metrics}"),
            "--metrics-secure=false".to_owned(),
        ];
        let operator = Process::start(self.plane.dir(), &self.program, &args, &env);
        self.plane.admin.show_log(operator.log());
        self.operator = Some(operator);
        self.plane.admin.wait("the operator to be ready", LIMIT, || http::get(probes, "/readyz").map(drop));
    }

    /// The operator's requests so far. Fails if one was refused.
    fn requests(&self) -> Vec<Request> {
        let user = format!("system:serviceaccount:{0}-system:{0}-controller-manager", self.project);
        let requests = audit::requests(&self.plane.audit_log()).into_iter();
        let requests: Vec<Request> = requests.filter(|request| request.user == user).collect();
        let refused: Vec<&Request> = requests.iter().filter(|request| request.code == 403).collect();
        assert!(refused.is_empty() && !requests.is_empty(), "{refused:?}");
        requests
    }

    fn log(&self) -> String {
        self.operator.as_ref().unwrap().log_text()
    }
}

#[test]
fn pods_are_counted_on_the_replica_sets_of_others() {
    let walk = Walk::through("docs/walkthroughs/pod-counter.md", "pod-counter");
    let kubectl = &walk.plane.admin;
    kubectl.run(&["create", "deployment", "web", "--image", "localhost/web", "--replicas", "2"]);
    let counted = |count: &str| {
        let list =
            kubectl.wait_for(&format!("{count} pods to be counted"), &["replicasets", "-l", "app=web"], |list| {
                let sets = list["items"].as_array().unwrap();
                !sets.is_empty() && sets.iter().all(|set| set["metadata"]["labels"]["pod-count"] == count)
            });
        list["items"][0].clone()
    };
    let set = counted("2");
    // The other fields belong to the Deployment's manager.
    let manager = |set: &Value| -> Vec<String> {
        let entries = set["metadata"]["managedFields"].as_array().unwrap().iter();
        let of_spec = entries.filter(|entry| !entry["fieldsV1"]["f:spec"].is_null());
        of_spec.map(|entry| entry["manager"].as_str().unwrap().to_owned()).collect()
    };
    let kubectl_set =
        kubectl.get(&["--show-managed-fields", "replicaset", set["metadata"]["name"].as_str().unwrap()]).unwrap();
    assert_eq!(manager(&kubectl_set), ["kube-controller-manager"]);
    kubectl.run(&["scale", "deployment", "web", "--replicas", "3"]);
    counted("3");
    // The metrics of alerts and dashboards exist.
    let page = http::get(walk.metrics, "/metrics").unwrap();
    let missing = |names: &BTreeSet<String>| -> Vec<String> {
        let has = |name: &str| {
            page.lines().any(|line| line.starts_with(&format!("{name}{{")) || line.starts_with(&format!("{name} ")))
        };
        names.iter().filter(|name| !has(name)).cloned().collect()
    };
    let asked = Observed::new().metrics();
    assert!(asked.len() > 15, "{asked:?}");
    assert_eq!(missing(&asked), [""; 0], "{page}");
    assert_eq!(missing(&["workqueue_length".to_owned()].into()), ["workqueue_length"]);
    let written: Vec<Request> =
        walk.requests().into_iter().filter(|request| request.resource == "replicasets" && request.writes()).collect();
    assert!(!written.is_empty() && written.iter().all(|request| request.verb == "patch"), "{written:?}");
}

#[test]
fn a_flight_is_booked_once_and_given_back() {
    let mut walk = Walk::through("docs/walkthroughs/flight-ticket.md", "flights");
    let ticket = |name: &str, spec: &Value| {
        let metadata = json!({ "name": name, "namespace": "default" });
        json!({ "apiVersion": "flights.com/v1", "kind": "FlightTicket", "metadata": metadata, "spec": spec })
            .to_string()
    };
    let london = json!({ "from": "Mumbai", "to": "London", "number": 2 });
    walk.plane.admin.send(&["create", "-f", "-"], &ticket("london", &london));
    let is_ready = |object: &Value, status: &str| {
        let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == status)
    };
    let booked = walk.plane.admin.wait_for("the booking", &["ft", "london"], |ticket| is_ready(ticket, "True"));
    assert_eq!(booked["status"]["booking"], "LONDON-1");
    assert_eq!(booked["metadata"]["finalizers"], json!(["flights.com/booking"]));
    assert_eq!(walk.log().matches("booked").count(), 1, "{}", walk.log());

    for (change, expected) in [
        (json!({ "number": 11 }), "spec.number"),
        (json!({ "number": 0 }), "spec.number"),
        (json!({ "from": "" }), "spec.from"),
        (json!({ "to": "Mumbai" }), "a flight leads to another place"),
    ] {
        let mut spec = london.clone();
        spec.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let refused = walk.plane.admin.attempt(&["create", "-f", "-"], &ticket("refused", &spec)).unwrap_err();
        assert!(refused.contains(expected), "{change}: {refused}");
    }
    let atlantis = json!({ "from": "Mumbai", "to": "Atlantis", "number": 1 });
    walk.plane.admin.send(&["create", "-f", "-"], &ticket("atlantis", &atlantis));
    let refused = walk.plane.admin.wait_for("the refusal", &["ft", "atlantis"], |ticket| is_ready(ticket, "False"));
    assert_eq!(refused["status"]["conditions"][0]["message"], "nobody flies to Atlantis");

    walk.plane.admin.run(&["delete", "ft", "london", "--wait=false"]);
    walk.plane.admin.wait_gone(&["ft", "london"]);
    assert_eq!(walk.log().matches("cancelled").count(), 1, "{}", walk.log());

    // A restarted process has lost its bookings, and must not book again.
    walk.plane
        .admin
        .send(&["create", "-f", "-"], &ticket("paris", &json!({ "from": "Mumbai", "to": "Paris", "number": 1 })));
    walk.plane.admin.wait_for("the booking", &["ft", "paris"], |ticket| is_ready(ticket, "True"));
    assert_eq!(walk.operator.as_mut().unwrap().terminate(), Some(0));
    walk.start();
    walk.plane.admin.run(&["delete", "ft", "paris", "atlantis", "--wait=false"]);
    for name in ["paris", "atlantis"] {
        walk.plane.admin.wait_gone(&["ft", name]);
    }
    assert_eq!(walk.log().matches("booked").count(), 2, "{}", walk.log());
    walk.requests();
}

/// Objects of a stream by kind and name.
fn objects(text: &str) -> BTreeMap<String, Value> {
    let documents: Vec<Value> = serde_yaml::from_multiple(text).unwrap();
    let named = |object: Value| (format!("{} {}", object["kind"], object["metadata"]["name"]), object);
    documents.into_iter().filter(|object| !object.is_null()).map(named).collect()
}

/// Creating the files of `deploy/` one by one gives the same result as one `kubectl apply` of all.
#[test]
fn what_articles_create_file_by_file_is_all_there_is() {
    let home = tempfile::tempdir().unwrap();
    docs::runs("docs/walkthroughs/articles.md", home.path(), &["kubectl"]);
    let root = home.path().join("example-k8s-operator-memcached");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let files = ["crds/cache_v1alpha1_memcached_crd", "service_account", "role", "role_binding", "operator"];
    let files = files.map(|file| format!("deploy/{file}.yaml"));
    assert_eq!(objects(&files.clone().map(|file| read(&file)).concat()), objects(&read("dist/install.yaml")));
    let operator = read("deploy/operator.yaml");
    assert!(operator.contains("image: example/memcached-operator:v0.0.1\n"), "{operator}");

    let plane = ControlPlane::start();
    let create = |file: &str| plane.admin.run(&["create", "-f", &root.join(file).display().to_string()]);
    for file in &files {
        create(file);
    }
    plane.admin.run(&["wait", "crd", "--all", "--for", "condition=Established", "--timeout=60s"]);
    create("deploy/crds/cache_v1alpha1_memcached_cr.yaml");
    plane.admin.get(&["memcached", "memcached-sample"]).unwrap();
    let name = "example-k8s-operator-memcached";
    plane.admin.get(&["deployment", &format!("{name}-controller-manager"), "-n", &format!("{name}-system")]).unwrap();
}
