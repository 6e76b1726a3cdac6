//! Charts: helm renders the same objects as kustomize, and a release installs, upgrades and uninstalls.

mod property;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::control_plane::makefile::make;
use crate::control_plane::tool::tool;
use crate::control_plane::{self, ControlPlane};
use crate::sandbox::{OFFLINE, Sandbox};

/// Objects of a stream by kind and name; those in a team's namespace also by namespace.
type Objects = BTreeMap<String, Value>;

/// `HELM`, or the program in `tests/helm`.
fn program() -> PathBuf {
    let given = std::env::var_os("HELM").filter(|given| !given.is_empty());
    given.map_or_else(|| tool("helm", "helm.sh/helm/v3/cmd/helm"), PathBuf::from)
}

pub(crate) fn helm(sandbox: &Sandbox, kubeconfig: Option<&Path>, arguments: &str) -> Result<String, String> {
    let mut command = Command::new(program());
    command.args(arguments.split_whitespace()).current_dir(sandbox.root());
    for (name, folder) in [("HELM_CACHE_HOME", "cache"), ("HELM_CONFIG_HOME", "config"), ("HELM_DATA_HOME", "data")] {
        command.env(name, sandbox.path("helm").join(folder));
    }
    // Without a cluster, helm must not find another kubeconfig.
    command.env("KUBECONFIG", kubeconfig.unwrap_or(Path::new("/dev/null")));
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// A folder with the chart, and the objects of kustomize without the Namespace, which Helm creates.
fn chart(project: &Project) -> (Sandbox, Objects) {
    let sandbox = Sandbox::new();
    sandbox.file("dist/install.yaml", project.rendered());
    sandbox.run("generate helm").success();
    let mut objects = objects(project.rendered());
    objects.retain(|name, _| !name.starts_with("Namespace "));
    (sandbox, objects)
}

pub(super) fn template(sandbox: &Sandbox, release: &str, flags: &str) -> String {
    helm(sandbox, None, &format!("template {release} dist/chart {flags}")).unwrap()
}

fn released(sandbox: &Sandbox, release: &str, flags: &str) -> Objects {
    objects(&template(sandbox, release, flags))
}

fn objects(text: &str) -> Objects {
    let documents: Vec<Value> = serde_yaml::from_multiple(text).unwrap();
    let mut objects = Objects::new();
    for object in documents.into_iter().filter(|document| !document.is_null()) {
        let [kind, name] = [&object["kind"], &object["metadata"]["name"]].map(|text| text.as_str().unwrap());
        let team = object["metadata"]["namespace"].as_str().filter(|namespace| namespace.starts_with("team-"));
        let team = team.map(|team| format!(" in {team}")).unwrap_or_default();
        let before = objects.insert(format!("{kind} {name}{team}"), object.clone());
        assert_eq!(before, None, "twice");
    }
    objects
}

/// Drops the chart's additions: its labels, the keep annotation of CRDs, and empty fields.
pub(super) fn comparable(mut objects: Objects) -> Objects {
    for object in objects.values_mut() {
        let metadata = object["metadata"].as_object_mut().unwrap();
        let own =
            ["app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "helm.sh/chart", "helm.sh/resource-policy"];
        for field in ["labels", "annotations"] {
            if let Some(map) = metadata.get_mut(field).and_then(Value::as_object_mut) {
                map.retain(|key, _| !own.contains(&key.as_str()));
            }
        }
        prune(object);
    }
    objects
}

fn prune(value: &mut Value) {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(prune);
            map.retain(|_, value| says(value));
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}

struct Project {
    name: &'static str,
    flags: &'static str,
    commands: &'static [&'static str],
    rendered: OnceLock<String>,
}

impl Project {
    const fn new(name: &'static str, flags: &'static str, commands: &'static [&'static str]) -> Self {
        Self { name, flags, commands, rendered: OnceLock::new() }
    }

    fn rendered(&self) -> &str {
        self.rendered.get_or_init(|| {
            let sandbox = Sandbox::project(self.flags);
            sandbox.lock();
            for command in self.commands {
                sandbox.run(command).success();
            }
            let mut kubectl = Command::new(control_plane::kubectl());
            let folders = ["config/namespaces", "config/default"];
            let folder = folders.into_iter().find(|folder| sandbox.path(folder).is_dir()).unwrap();
            let output = kubectl.args(["kustomize", folder]).current_dir(sandbox.root()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        })
    }
}

static PROJECTS: [Project; 5] = [
    Project::new("plain", "", &["create api --group cache --version v1 --kind Memcached"]),
    Project::new(
        "all parts",
        "--prometheus --network-policy --metrics-cert",
        &[
            "create api --group cache --version v1 --kind Memcached",
            "create webhook --group cache --version v1 --kind Memcached --defaulting --programmatic-validation",
        ],
    ),
    Project::new(
        "cert-manager and versions",
        "--network-policy --webhook-cert-mode cert-manager",
        &[
            "create api --group cache --version v1beta1 --kind Memcached",
            "create api --group cache --version v1 --kind Memcached --controller=false",
            "create webhook --group cache --version v1beta1 --kind Memcached --conversion --spoke v1",
        ],
    ),
    Project::new(
        "namespaced",
        "--namespaced --leader-election life",
        &["create api --group cache --version v1 --kind Memcached"],
    ),
    Project::new(
        "a list of namespaces",
        "--namespaces team-a,team-b",
        &[
            "create api --group cache --version v1 --kind Memcached",
            "create webhook --group cache --version v1 --kind Memcached --defaulting --programmatic-validation",
        ],
    ),
];

#[test]
fn a_chart_renders_what_kustomize_does() {
    for project in &PROJECTS {
        let name = project.name;
        let (sandbox, wanted) = chart(project);
        let wanted = comparable(wanted);
        let lint = helm(&sandbox, None, "lint --strict dist/chart").unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(lint.contains("0 chart(s) failed"), "{name}: {lint}");
        let rendered = comparable(released(&sandbox, "demo", "--namespace demo-system"));
        assert_eq!(rendered.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>(), "{name}");
        for (object, wanted) in &wanted {
            assert_eq!(rendered[object], *wanted, "{name}: {object}");
        }
    }
}

/// Two releases share no object, and the second one mentions no name of the first.
#[test]
fn two_releases_have_nothing_in_common() {
    for project in &PROJECTS {
        let name = project.name;
        let (sandbox, _) = chart(project);
        let others = released(&sandbox, "other", "--namespace elsewhere --set crd.enabled=false");
        for (object, value) in others {
            let text = comparable([(object.clone(), value)].into()).values().map(Value::to_string).collect::<String>();
            assert!(object.contains(" other-demo"), "{name}: {object}");
            let text = text.replace("other-demo", "").replace("\"app.kubernetes.io/name\":\"demo\"", "");
            assert!(!text.contains("demo-"), "{name}: {object} says a name of another release: {text}");
        }
    }
}

#[test]
fn switches_take_their_objects_away() {
    let mut text = String::new();
    for project in &PROJECTS {
        let name = project.name;
        let (sandbox, _) = chart(project);
        let all = released(&sandbox, "demo", "--namespace demo-system");
        let values: Value = serde_yaml::from_str(&sandbox.read("dist/chart/values.yaml")).unwrap();
        for switch in switches(&values, "") {
            text += &format!("{name}, without {switch}:\n");
            let command = format!("template demo dist/chart --namespace demo-system --set {switch}=false");
            let without = match helm(&sandbox, None, &command) {
                Ok(without) => objects(&without),
                Err(error) => {
                    text += &format!("  {}\n", error.lines().next().unwrap());
                    continue;
                }
            };
            for (object, value) in &all {
                match without.get(object) {
                    None => text += &format!("  no {object}\n"),
                    Some(other) if other != value => text += &difference(object, value, other),
                    Some(_) => {}
                }
            }
            assert!(without.keys().all(|object| all.contains_key(object)), "{name}: {switch}");
        }
    }
    snapbox::assert_data_eq!(text, snapbox::file!["helm/switches.txt"].raw());
}

fn difference(object: &str, with: &Value, without: &Value) -> String {
    let [with, without] = [with, without].map(memcached_sdk::yaml::document);
    let diff = similar::TextDiff::from_lines(&with, &without);
    let changed = diff.iter_all_changes().filter(|change| change.tag() != similar::ChangeTag::Equal);
    let lines: String = changed.map(|change| format!("    {}{}", change.tag(), change.value())).collect();
    format!("  {object}:\n{lines}")
}

/// Paths of all values that are true.
fn switches(values: &Value, path: &str) -> Vec<String> {
    let fields = values.as_object().into_iter().flatten();
    let below = fields.filter(|(key, _)| *key != "manager").flat_map(|(key, value)| {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if *value == true { vec![path] } else { switches(value, &path) }
    });
    below.collect()
}

#[test]
fn values_are_used_and_checked() {
    let (sandbox, _) = chart(&PROJECTS[0]);
    sandbox.file(
        "my-values.yaml",
        "manager:\n  replicas: 3\n  image: {repository: example.com/demo, tag: \"sha256:0123\", pullPolicy: Always}\n  \
         args: [--leader-elect]\n  env:\n  - {name: A, value: \"1\"}\n  - {name: B, value: \"2\"}\n  \
         tolerations:\n  - {operator: Exists}\n  priorityClassName: high\nserviceAccount:\n  name: given\n  \
         annotations: {a/b: c}\n",
    );
    let flags = "--namespace demo-system --values my-values.yaml --set manager.envOverrides.B=3,fullnameOverride=short";
    let rendered = released(&sandbox, "demo", flags);
    let spec = &rendered["Deployment short-controller-manager"]["spec"];
    let pod = &spec["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(spec["replicas"], 3);
    assert_eq!(container["image"], "example.com/demo@sha256:0123");
    assert_eq!(container["imagePullPolicy"], "Always");
    assert_eq!(container["args"], serde_json::json!(["--metrics-bind-address=:8443", "--leader-elect"]));
    let env = serde_json::json!([{ "name": "A", "value": "1" }, { "name": "B", "value": "3" }]);
    assert_eq!(container["env"], env);
    assert_eq!(pod["tolerations"], serde_json::json!([{ "operator": "Exists" }]));
    assert_eq!(pod["priorityClassName"], "high");
    assert_eq!(pod["serviceAccountName"], "given");
    assert_eq!(rendered["ServiceAccount given"]["metadata"]["annotations"]["a/b"], "c");
    assert_eq!(rendered["RoleBinding short-leader-election-rolebinding"]["subjects"][0]["name"], "given");
    for (wrong, said) in
        [("manager.replica=3", "replica"), ("manager.image.tag=110", "tag"), ("metrics.enabled=yes", "enabled")]
    {
        let error = helm(&sandbox, None, &format!("template demo dist/chart --set {wrong}")).unwrap_err();
        assert!(error.contains(said) && error.contains("schema"), "{wrong}: {error}");
    }
}

/// The variable, the Roles with their bindings and the webhook selectors follow the release's list.
#[test]
fn watched_namespaces_are_a_value() {
    let (sandbox, _) = chart(&PROJECTS[4]);
    let values: Value = serde_yaml::from_str(&sandbox.read("dist/chart/values.yaml")).unwrap();
    assert_eq!(values["watchNamespaces"], serde_json::json!(["team-a", "team-b"]));
    let all = released(&sandbox, "demo", "--namespace demo-system");
    // The release's namespace may be in the list: its Role has the same rules.
    for (own, roles) in [("demo-system", 3), ("team-c", 2)] {
        let list = ["team-b", "team-c", "team-d"];
        let flags = format!("--namespace {own} --set watchNamespaces={{{}}}", list.join(","));
        let rendered = released(&sandbox, "demo", &flags);
        let pod =
            &rendered.iter().find(|(name, _)| name.starts_with("Deployment ")).unwrap().1["spec"]["template"]["spec"];
        let variables = pod["containers"][0]["env"].as_array().unwrap();
        let variable = variables.iter().find(|variable| variable["name"] == "WATCH_NAMESPACE").unwrap();
        assert_eq!(variable["value"], list.join(","));
        for kind in ["Mutating", "Validating"] {
            let configuration =
                &rendered[&format!("{kind}WebhookConfiguration demo-{}-webhook-configuration", kind.to_lowercase())];
            let expressions = &configuration["webhooks"][0]["namespaceSelector"]["matchExpressions"];
            assert_eq!(expressions[0]["values"], serde_json::json!(list));
        }
        let count =
            |kind: &str| rendered.keys().filter(|name| name.starts_with(&format!("{kind} demo-manager-role"))).count();
        assert_eq!([count("Role"), count("RoleBinding")], [roles + 1, roles + 1], "{own}");
        for team in list {
            let role = &rendered[&format!("Role demo-manager-role in {team}")];
            assert_eq!(role["rules"], all["Role demo-manager-role in team-b"]["rules"]);
            let binding = &rendered[&format!("RoleBinding demo-manager-rolebinding in {team}")];
            assert_eq!(binding["subjects"][0]["namespace"], own);
        }
        assert!(!rendered.contains_key("Role demo-manager-role in team-a"));
    }
    for wrong in [
        "watchNamespaces=null",
        "watchNamespaces=",
        "watchNamespaces={}",
        "watchNamespaces={a,a}",
        "watchNamespaces={A}",
    ] {
        let error = helm(&sandbox, None, &format!("template demo dist/chart --set {wrong}")).unwrap_err();
        assert!(error.contains("watchNamespaces"), "{wrong}: {error}");
    }
}

#[test]
fn a_release_comes_changes_and_goes() {
    let (sandbox, _) = chart(&PROJECTS[0]);
    let plane = ControlPlane::start();
    let kubeconfig = plane.admin.kubeconfig().to_path_buf();
    let run = |arguments: &str| {
        helm(&sandbox, Some(&kubeconfig), &format!("{arguments} --namespace demo-system"))
            .unwrap_or_else(|error| panic!("helm {arguments}: {error}"))
    };
    let replicas = || {
        let deployment = plane.admin.get(&["-n", "demo-system", "deployment", "demo-controller-manager"]);
        deployment.map(|deployment| deployment["spec"]["replicas"].clone())
    };
    let notes = run("install demo dist/chart --create-namespace");
    assert!(notes.contains("is installed as demo in the namespace demo-system"), "{notes}");
    assert_eq!(replicas(), Ok(1.into()));
    run("upgrade demo dist/chart --set manager.replicas=2");
    assert_eq!(replicas(), Ok(2.into()));
    run("rollback demo 1");
    assert_eq!(replicas(), Ok(1.into()));
    run("uninstall demo --wait");
    assert!(replicas().is_err());
    let kept = plane.admin.get(&["crd", "memcacheds.cache.example.com"]);
    assert!(kept.is_ok(), "{kept:?}");
    run("install demo dist/chart");
    run("upgrade demo dist/chart --set crd.keep=false");
    run("uninstall demo --wait");
    plane.admin.wait_gone(&["crd", "memcacheds.cache.example.com"]);
}

#[test]
fn make_installs_upgrades_and_uninstalls() {
    let plane = ControlPlane::shared();
    let project = Sandbox::new();
    let init = "init --domain helm.example.com --project-name charted --plugins helm";
    project.run(&format!("{init} {OFFLINE}")).success();
    project.run("create api --group cache --version v1 --kind Memcached").success();
    project.lock();
    let helm = format!("HELM={}", program().display());
    let make = |args: &[&str]| make(project.root(), &plane.admin, &[args, &["YES=1", &helm]].concat());
    make(&["chart"]).unwrap();
    let namespace = "charted-system";
    let deployment = ["deployment", "charted-controller-manager", "-n", namespace];
    let image = || plane.admin.get(&deployment).unwrap()["spec"]["template"]["spec"]["containers"][0]["image"].take();
    let digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let by_digest = format!("localhost:5000/demo@{digest}");
    // No pod starts here, so the test does not wait.
    for (given, used) in [
        ("localhost:5000/demo:v1", "localhost:5000/demo:v1"),
        (by_digest.as_str(), by_digest.as_str()),
        ("localhost:5000/demo", "localhost:5000/demo:latest"),
    ] {
        make(&["helm-deploy", &format!("IMG={given}"), "HELM_EXTRA_ARGS=--wait=false"]).unwrap();
        assert_eq!(image(), used);
    }
    let error = make(&["helm-rollback", "TIMEOUT=1s"]).unwrap_err();
    assert!(error.contains("deadline exceeded") || error.contains("timed out"), "{error}");
    assert_eq!(image(), by_digest.as_str());
    assert!(make(&["helm-status"]).unwrap().contains("REVISION: 4"));
    assert_eq!(
        make(&["helm-history"])
            .unwrap()
            .lines()
            .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
            .count(),
        4
    );
    make(&["helm-uninstall"]).unwrap();
    plane.admin.wait_gone(&deployment);
}
