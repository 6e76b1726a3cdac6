//! Charts of random manifests that use the same words as names, namespaces, values and YAML keywords. Helm renders them
//! with random releases and values. The result must equal the manifests with their names and namespaces replaced.
//!
//! `CHART_SEED` is the first seed, `CHART_CASES` the number of cases.

use serde_json::{Value, json};

use super::{Objects, comparable, helm, objects};
use crate::random::Random;
use crate::sandbox::Sandbox;

/// Words for names of projects, namespaces and releases, kinds, flags and values, chosen to be ambiguous.
const WORDS: [&str; 12] =
    ["widgets", "op", "namespace", "default", "yes", "on", "null", "1e3", "007", "0x1f", "manager", "true"];
/// Values that are not strings in YAML unless they are quoted.
const KEYWORDS: [&str; 8] = ["yes", "on", "null", "1e3", "007", "0x1f", "0o7", "no"];

/// Placeholders for the namespace, the name prefix and the account.
const NAMESPACE: &str = "@NAMESPACE@";
const NAME: &str = "@NAME@";
const ACCOUNT: &str = "@ACCOUNT@";

struct Draw {
    random: Random,
    project: &'static str,
    namespace: String,
}

impl Draw {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let project = random.pick(&WORDS);
        let namespace = if random.percent(60) { random.pick(&WORDS).to_owned() } else { format!("{project}-system") };
        Self { random, project, namespace }
    }

    /// A word without a reference, although it may equal a name.
    fn word(&mut self) -> String {
        match self.random.below(4) {
            0 => self.project.to_owned(),
            1 => self.namespace.clone(),
            2 => self.random.pick(&KEYWORDS).to_owned(),
            _ => self.random.pick(&WORDS).to_owned(),
        }
    }

    fn some<T>(&mut self, percent: u64, one: impl FnOnce(&mut Self) -> T) -> Vec<T> {
        if self.random.percent(percent) { vec![one(self)] } else { Vec::new() }
    }

    /// Flags with values of one or two words.
    fn arguments(&mut self) -> Vec<Value> {
        let mut arguments: Vec<String> = self.some(30, Self::word);
        for _ in 0..self.random.below(6_u64) {
            let word = self.word();
            arguments.extend(match self.random.below(10) {
                0 => vec![format!("--namespace={NAMESPACE}")],
                1 => vec!["--watch-namespace".to_owned(), NAMESPACE.to_owned()],
                2 => vec!["--metrics-bind-address".to_owned(), ":8443".to_owned()],
                3 if word.len().is_multiple_of(2) => vec!["--webhook-secret".to_owned(), word],
                3 => vec![format!("--webhook-service={NAME}-webhook-service")],
                4 => vec![format!("--callback=https://{NAME}-webhook-service.{NAMESPACE}.svc:443/{word}")],
                5 => vec!["--zone".to_owned(), word],
                6 => vec![format!("--watch-namespaces=a,{NAMESPACE}")],
                7 => vec![format!("--kind={word}")],
                8 => vec![format!("--plural={word}.{word}.example.com")],
                _ => vec![format!("--config-map={NAME}-config")],
            });
        }
        arguments.into_iter().map(Value::from).collect()
    }

    fn variables(&mut self) -> Vec<Value> {
        let mut names = ["NO", "Y", "ZONE", "NODE", "POD_NAMESPACE", "URL", "KIND", "SIZE"].to_vec();
        let mut variables: Vec<Value> = Vec::new();
        while !names.is_empty() && self.random.percent(75) {
            let name = names.remove(self.random.below(names.len()));
            let word = self.word();
            let before =
                variables.iter().map(|one| format!("$({})", one["name"].as_str().unwrap())).collect::<String>();
            let value = match name {
                "POD_NAMESPACE" => NAMESPACE.to_owned(),
                "URL" => format!("http://{NAME}-webhook-service.{NAMESPACE}.svc/{word}"),
                "SIZE" => "1000000".to_owned(),
                _ if self.random.percent(30) => before,
                _ => word,
            };
            variables.push(if name == "NODE" {
                json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } })
            } else {
                json!({ "name": name, "value": value })
            });
        }
        variables
    }

    /// The pod, and the index of the manager's container.
    fn pod(&mut self) -> (Value, usize) {
        let manager = json!({
            "name": "operator",
            "image": "localhost:5000/team/project:v1",
            "args": self.arguments(),
            "env": self.variables(),
            "envFrom": [{ "configMapRef": { "name": format!("{NAME}-config") } }],
            "volumeMounts": [{ "name": self.word(), "mountPath": format!("/etc/{}", self.word()) }],
        });
        let mut containers = vec![manager];
        for index in 0..self.random.below(3_usize) {
            let sidecar = json!({
                "name": format!("sidecar-{index}"),
                "image": format!("localhost:5000/{}", self.word()),
                "args": [format!("--kind={}", self.word()), format!("--upstream=http://{NAME}-webhook-service.{NAMESPACE}.svc")],
                "env": [{ "name": "KIND", "value": self.word() }],
            });
            containers.insert(self.random.below(containers.len() + 1), sidecar);
        }
        let at = containers.iter().position(|container| container["name"] == "operator").unwrap();
        let word = self.word();
        let pod = json!({
            "metadata": {
                "annotations": { "kubectl.kubernetes.io/default-container": "operator" },
                "labels": { "namespace": word, "service": self.word() },
            },
            "spec": {
                "serviceAccountName": ACCOUNT,
                "containers": containers,
                "initContainers": self.some(40, |_| json!({ "name": "init", "image": "localhost:5000/team/project:v1" })),
                "volumes": [
                    { "name": self.word(), "configMap": { "name": format!("{NAME}-config"), "items": [{ "key": word, "path": word }] } },
                    { "name": "certificate", "secret": { "secretName": "unknown" } },
                ],
            },
        });
        (pod, at)
    }

    /// The objects, and the index of the manager's container.
    fn objects(&mut self) -> (Vec<Value>, usize) {
        let (pod, manager) = self.pod();
        let metadata = |name: &str| json!({ "name": format!("{NAME}{name}"), "namespace": NAMESPACE });
        let [a, b, c, d] = [(); 4].map(|()| self.word());
        let subject = json!([{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE }]);
        let rules = json!([
            { "apiGroups": [format!("{a}.example.com")], "resources": [b, format!("{b}/status")], "verbs": ["get"] },
            { "apiGroups": [""], "resources": ["configmaps"], "resourceNames": [format!("{NAME}-config")], "verbs": ["get"] },
            { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [c], "verbs": ["get"] },
        ]);
        let service =
            json!({ "name": format!("{NAME}-webhook-service"), "namespace": NAMESPACE, "path": format!("/{d}") });
        let mut all = vec![
            json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": ACCOUNT, "namespace": NAMESPACE } }),
            json!({
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": metadata("-controller-manager"),
                "spec": { "replicas": 1, "selector": { "matchLabels": pod["metadata"]["labels"] }, "template": pod },
            }),
            json!({
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": metadata("-webhook-service"),
                "spec": { "selector": { "namespace": a, "service": b }, "ports": [{ "name": c, "port": 443 }] },
            }),
            json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": metadata("-config"),
                "data": {
                    "WATCH_NAMESPACE": NAMESPACE,
                    "widgets": b,
                    "config.yaml": format!("kind: op-{c}\nleaderElection: {{resourceNamespace: \"{NAMESPACE}\"}}\nurl: https://{NAME}-webhook-service.{NAMESPACE}.svc/{d}\n"),
                },
            }),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": { "name": format!("{NAME}-manager-role") }, "rules": rules,
            }),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": { "name": format!("{NAME}-manager-rolebinding") },
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": format!("{NAME}-manager-role") },
                "subjects": subject,
            }),
            json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": { "name": format!("{a}.example.com") },
                "spec": {
                    "group": "example.com",
                    "names": { "kind": "Widget", "plural": a, "singular": b },
                    "versions": [{ "name": "v1", "schema": { "openAPIV3Schema": { "properties": { "namespace": { "default": c } } } } }],
                },
            }),
        ];
        all.extend(self.some(60, |draw| {
            let names: Vec<String> = vec!["others".to_owned(), NAMESPACE.to_owned()];
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "metadata": { "name": format!("{NAME}-validating-webhook-configuration"), "labels": { "service": draw.word() } },
                "webhooks": [{
                    "name": format!("{}.example.com", draw.word()),
                    "clientConfig": { "service": service },
                    "rules": [{ "apiGroups": [draw.word()], "resources": [draw.word()] }],
                    "objectSelector": { "matchLabels": { "namespace": draw.word() } },
                    "namespaceSelector": { "matchExpressions": [
                        { "key": "kubernetes.io/metadata.name", "operator": "In", "values": names },
                        { "key": draw.word(), "operator": "In", "values": [draw.word()] },
                    ] },
                }],
            })
        }));
        all.extend(self.some(60, |draw| {
            json!({
                "apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": metadata("-serving-cert"),
                "spec": {
                    "secretName": "unknown",
                    "issuerRef": { "kind": "Issuer", "name": draw.word() },
                    "dnsNames": [format!("{NAME}-webhook-service.{NAMESPACE}"), format!("{NAME}-webhook-service.{NAMESPACE}.svc"), draw.word()],
                },
            })
        }));
        for (index, name) in ["-one", "-two"].into_iter().enumerate().take(self.random.below(3)) {
            // The manager's namespace, or another one.
            let namespace = if self.random.percent(50) { NAMESPACE } else { "users" };
            let of = |kind: &str, rest: Value| {
                let mut object = json!({
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
                    "metadata": { "name": format!("{NAME}{name}"), "namespace": namespace },
                });
                object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
                object
            };
            let resource = [&a, &b][index];
            all.push(of("Role", json!({ "rules": [{ "apiGroups": [""], "resources": [resource], "resourceNames": [c], "verbs": ["get"] }] })));
            let role =
                json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": format!("{NAME}{name}") });
            let other = json!({ "kind": "ServiceAccount", "name": (if index == 0 { "scraper" } else { a.as_str() }), "namespace": "monitoring" });
            let mut subjects = subject.clone();
            subjects.as_array_mut().unwrap().push(other);
            all.push(of("RoleBinding", json!({ "roleRef": role, "subjects": subjects })));
        }
        (all, manager)
    }
}

/// Removes what a chart without webhooks omits, including flags with their values.
fn without_webhooks(all: &mut Vec<Value>, manager: usize) {
    let is_webhook = |object: &Value| {
        object["kind"] == "ValidatingWebhookConfiguration"
            || object["kind"] == "Service" && object["metadata"]["name"] == format!("{NAME}-webhook-service")
    };
    all.retain(|object| !is_webhook(object));
    let deployment = all.iter_mut().find(|object| object["kind"] == "Deployment").unwrap();
    let container = &mut deployment["spec"]["template"]["spec"]["containers"][manager];
    let mut is_value = false;
    container["args"].as_array_mut().unwrap().retain(|argument| {
        let argument = argument.as_str().unwrap();
        let is_gone = argument.starts_with("--webhook") || is_value;
        is_value = argument == "--webhook-secret";
        !is_gone
    });
    container["env"].as_array_mut().unwrap().push(json!({ "name": "ENABLE_WEBHOOKS", "value": "false" }));
}

fn choose(draw: &mut Draw, container: &mut Value) -> Value {
    let mut values = json!({ "manager": {} });
    if draw.random.percent(50) {
        values["manager"]["image"] = json!({ "tag": "v2" });
    }
    let mut overrides = serde_json::Map::new();
    let env = container["env"].as_array_mut().unwrap();
    // New variables come last, sorted.
    for name in ["MORE", "NO", "NODE", "NULL", "URL", "Y"] {
        if draw.random.percent(30) {
            let (value, text) = match draw.random.below(3) {
                0 => (json!(1_000_000), "1000000".to_owned()),
                1 => (json!(true), "true".to_owned()),
                _ => {
                    let word = draw.word();
                    (json!(word), word)
                }
            };
            overrides.insert(name.to_owned(), value);
            let of_name = json!({ "name": name, "value": text });
            match env.iter_mut().find(|variable| variable["name"] == name) {
                Some(variable) => *variable = of_name,
                None => env.push(of_name),
            }
        }
    }
    values["manager"]["envOverrides"] = overrides.into();
    values
}

fn filled(objects: &[Value], namespace: &str, name: &str, account: &str) -> String {
    // JSON is YAML with quoted strings.
    let documents: String = objects.iter().map(|object| format!("---\n{object}\n")).collect();
    documents.replace(NAMESPACE, namespace).replace(NAME, name).replace(ACCOUNT, account)
}

/// Renders a release of the drawn chart and compares the objects.
fn check(seed: u64) -> Result<(), String> {
    let mut draw = Draw::new(seed);
    let (mut all, manager) = draw.objects();
    let (project, namespace) = (draw.project, draw.namespace.clone());
    let sandbox = Sandbox::new();
    let account = format!("{project}-controller-manager");
    sandbox.file("dist/install.yaml", &filled(&all, &namespace, project, &account));
    let run = sandbox.run("generate helm");
    if run.exit_code() != Some(0) {
        return Err(format!("generate helm: {}", run.err()));
    }
    // First with the original names, then with others.
    for is_other in [false, true] {
        let (mut release, mut elsewhere, mut values) = (project.to_owned(), namespace.clone(), json!({}));
        let mut account = account.clone();
        if is_other {
            release = draw.random.pick(&WORDS).to_owned();
            elsewhere = draw.word();
            let is_off = draw.random.percent(30);
            if is_off {
                without_webhooks(&mut all, manager);
            }
            let deployment = all.iter_mut().find(|object| object["kind"] == "Deployment").unwrap();
            let pod = &mut deployment["spec"]["template"]["spec"];
            values = choose(&mut draw, &mut pod["containers"][manager]);
            if is_off {
                values["webhook"]["enabled"] = false.into();
            }
            let image = values["manager"]["image"].is_object();
            for list in ["containers", "initContainers"] {
                for container in pod[list].as_array_mut().into_iter().flatten() {
                    if image && container["image"] == "localhost:5000/team/project:v1" {
                        container["image"] = "localhost:5000/team/project:v2".into();
                    }
                }
            }
        }
        let fullname = if release.contains(project) { release.clone() } else { format!("{release}-{project}") };
        if is_other {
            account = format!("{fullname}-controller-manager");
            if draw.random.percent(40) {
                account = draw.word();
                values["serviceAccount"]["name"] = account.as_str().into();
            }
        }
        sandbox.file("values.json", &values.to_string());
        let command = format!("template {release} dist/chart --namespace {elsewhere} --values values.json");
        let rendered = helm(&sandbox, None, &command)?;
        for line in rendered.lines() {
            let scalar = line.rsplit_once(": ").or(line.rsplit_once("- ")).map_or("", |(_, scalar)| scalar);
            // `comparable` already drops intended `null` values.
            if KEYWORDS.contains(&scalar) && !line.contains("  url:") && !line.starts_with("    kind: op-") {
                return Err(format!("{command}: a keyword is not quoted: {line}"));
            }
        }
        let wanted = comparable(objects(&filled(&all, &elsewhere, &fullname, &account)));
        let got: Objects = comparable(objects(&rendered));
        if wanted.keys().ne(got.keys()) {
            return Err(format!("{command}: {:?}\n{:?}", got.keys(), wanted.keys()));
        }
        for (object, wanted) in wanted {
            if got[&object] != wanted {
                let [with, without] = [&wanted, &got[&object]].map(memcached_sdk::yaml::document);
                let diff = similar::TextDiff::from_lines(&with, &without);
                return Err(format!("{command}: {object}\n{}", diff.unified_diff()));
            }
        }
    }
    Ok(())
}

#[test]
fn charts_of_random_manifests_render_what_these_say() {
    let number = |variable: &str, or: u64| std::env::var(variable).map_or(or, |text| text.parse().unwrap());
    let (first, cases) = (number("CHART_SEED", 1), number("CHART_CASES", 25));
    println!("seeds {first}..{}; one alone: CHART_SEED=… CHART_CASES=1", first + cases);
    let failed: Vec<String> =
        (first..first + cases).filter_map(|seed| check(seed).err().map(|why| format!("seed {seed}: {why}"))).collect();
    assert!(failed.is_empty(), "{} of {cases} fail\n{}", failed.len(), failed[..failed.len().min(3)].join("\n"));
}
