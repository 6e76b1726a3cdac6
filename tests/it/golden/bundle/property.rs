//! Random roles and bindings, compared with the permissions that OLM grants. For `clusterPermissions` OLM creates a
//! ClusterRole. For `permissions` it creates a Role in each namespace of the `OperatorGroup`, or a ClusterRole if the
//! group selects all namespaces.
//!
//! `BUNDLE_SEED` is the first seed, `BUNDLE_CASES` the number of cases.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::random::Random;
use crate::sandbox::Sandbox;

/// The operator's namespace, a namespace that it may watch, and an unrelated one.
const NAMESPACES: [&str; 3] = ["op", "watched", "users"];
const ACCOUNTS: [&str; 3] = ["op", "default", "scraper"];
const RESOURCES: [&str; 5] = ["secrets", "op", "users", "leases", "configmaps"];

/// A rule and its namespace; `*` for all namespaces.
type Grant = (String, String);

#[derive(Debug)]
struct Case {
    objects: Vec<Value>,
    everywhere: bool,
    /// Permissions of the operator's account.
    granted: BTreeSet<Grant>,
    /// Bindings of other accounts, each with its account.
    others: Vec<(String, &'static str)>,
    /// Bindings in namespaces where OLM grants nothing.
    elsewhere: Vec<String>,
}

fn draw(seed: u64) -> Case {
    let mut random = Random(seed);
    let (everywhere, watches) = (random.percent(50), random.percent(50));
    let watched = if watches { "op,watched" } else { "op" };
    let modes: Vec<Value> = ["OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"]
        .map(|mode| json!({ "type": mode, "supported": (mode == "AllNamespaces") == everywhere }))
        .into();
    let mut objects = vec![
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": { "name": "op.v0.0.0" },
            "spec": { "displayName": "Op", "installModes": modes },
        }),
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "op", "namespace": "op" } }),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "op", "namespace": "op" },
            "spec": { "template": { "spec": {
                "serviceAccountName": "op",
                "containers": [{ "name": "manager", "image": "registry/op:1", "env": [{ "name": "WATCH_NAMESPACE", "value": watched }] }],
            } } },
        }),
    ];
    let (mut granted, mut others, mut elsewhere) = (BTreeSet::new(), Vec::new(), Vec::new());
    for index in 0..random.below(6_usize) {
        let name = format!("binding-{index}");
        let resource = random.pick(&RESOURCES);
        let rule = json!({ "apiGroups": [""], "resources": [resource], "verbs": ["get"] });
        let is_cluster_wide = random.percent(30);
        let namespace = if is_cluster_wide { "*" } else { random.pick(&NAMESPACES) };
        let kind = if is_cluster_wide || random.percent(30) { "ClusterRole" } else { "Role" };
        let mut metadata = json!({ "name": format!("role-{index}") });
        if kind == "Role" {
            metadata["namespace"] = namespace.into();
        }
        objects.push(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, "rules": [rule],
        }));
        let own = random.percent(60);
        let (account, of) = if own { ("op", "op") } else { (random.pick(&ACCOUNTS), random.pick(&NAMESPACES)) };
        let mut binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": format!("role-{index}") },
            "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": of }],
        });
        if !is_cluster_wide {
            binding["kind"] = "RoleBinding".into();
            binding["metadata"]["namespace"] = namespace.into();
        }
        objects.push(binding);
        let is_granted = is_cluster_wide || namespace == "op" || watches && !everywhere && namespace == "watched";
        if !is_granted {
            elsewhere.push(name);
        } else if (account, of) == ("op", "op") {
            granted.insert((rule.to_string(), namespace.to_owned()));
        } else {
            others.push((name, account));
        }
    }
    Case { objects, everywhere, granted, others, elsewhere }
}

/// The permissions that OLM grants to the CSV's account, in a matching OperatorGroup.
fn by_olm(csv: &Value, everywhere: bool, watched: &[&str]) -> BTreeSet<Grant> {
    let rules = |list: &str| {
        let accounts = csv["spec"]["install"]["spec"][list].as_array().cloned().unwrap_or_default();
        accounts.into_iter().flat_map(|account| {
            assert_eq!(account["serviceAccountName"], "op");
            account["rules"].as_array().unwrap().clone()
        })
    };
    let everything = rules("clusterPermissions").map(|rule| (rule.to_string(), "*".to_owned()));
    let namespaces: &[&str] = if everywhere { &["*"] } else { watched };
    let in_namespaces = rules("permissions")
        .flat_map(|rule| namespaces.iter().map(move |namespace| (rule.to_string(), (*namespace).to_owned())));
    everything.chain(in_namespaces).collect()
}

fn check(seed: u64) -> Result<(), String> {
    let case = draw(seed);
    let sandbox = Sandbox::new();
    let text: String = case.objects.iter().map(|object| format!("---\n{object}\n")).collect();
    sandbox.file("install.yaml", &text);
    let run = sandbox.run("generate bundle --manifests install.yaml --package op --version 0.1.0 -q");
    if run.exit_code() != Some(0) {
        return Err(run.err());
    }
    let said = run.err();
    let csv = sandbox.read("bundle/manifests/op.clusterserviceversion.yaml");
    let csv: Value = serde_yaml::from_str(&csv).unwrap();
    let watched: Vec<&str> = if text.contains("op,watched") { vec!["op", "watched"] } else { vec!["op"] };
    let granted = by_olm(&csv, case.everywhere, &watched);
    let error = |what: String| Err(format!("{what}\n{said}\n{text}"));
    // Every permission of the manifests is granted, in the same scope or with a warning in a wider one.
    for (rule, namespace) in &case.granted {
        let is_there = |namespace: &str| granted.contains(&(rule.clone(), namespace.to_owned()));
        if !is_there(namespace) && !is_there("*") {
            return error(format!("{rule} is not granted in {namespace}"));
        }
    }
    // Nothing else is granted, except reported widenings and the leases and events of leader election.
    for (rule, namespace) in &granted {
        let holds = |namespace: &str| case.granted.contains(&(rule.clone(), namespace.to_owned()));
        let is_said =
            case.everywhere && said.contains("to all namespaces when OLM installs the operator for all namespaces");
        let of_group = !case.everywhere && watched.iter().any(|namespace| holds(namespace));
        let is_election = rule.contains("leases") && holds("op");
        if !(holds(namespace) || holds("*") || of_group || is_said && holds("op") || is_election) {
            return error(format!("{rule} is granted in {namespace}"));
        }
    }
    let validated = sandbox.run("bundle validate bundle").err();
    for (binding, account) in &case.others {
        let of_binding = |text: &str| {
            text.lines().any(|line| line.contains(&format!("`{binding}`")) && line.contains(&format!("`{account}`")))
        };
        if !of_binding(&said) || !of_binding(&validated) && *account != "op" {
            return error(format!("{binding} gives something to {account} in silence: {validated}"));
        }
    }
    for binding in &case.elsewhere {
        let is_said = |line: &str| line.contains(&format!("`{binding}`")) && line.contains("is left out");
        if !said.lines().any(is_said) {
            return error(format!("{binding} is lost in silence"));
        }
    }
    Ok(())
}

#[test]
fn bundles_of_random_roles_grant_what_these_do() {
    let number = |variable: &str, or: u64| std::env::var(variable).map_or(or, |text| text.parse().unwrap());
    let (first, cases) = (number("BUNDLE_SEED", 1), number("BUNDLE_CASES", 60));
    println!("seeds {first}..{}; one alone: BUNDLE_SEED=… BUNDLE_CASES=1", first + cases);
    let failed: Vec<String> =
        (first..first + cases).filter_map(|seed| check(seed).err().map(|why| format!("seed {seed}: {why}"))).collect();
    assert!(failed.is_empty(), "{} of {cases} fail\n{}", failed.len(), failed[..failed.len().min(3)].join("\n"));
}
