//! Parts of the small operators.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use explorer::{ApiServer, Explorer, Oracle};
use k8s_openapi::serde::Serialize;
use k8s_openapi::serde::de::DeserializeOwned;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt as _};
use serde_json::{Value, json};

/// An operator with its planted bugs.
pub(crate) struct Planted {
    pub(crate) name: &'static str,
    /// Each bug with the oracle that must find it.
    pub(crate) bugs: &'static [(&'static str, Oracle)],
    /// The explorer of the operator with a bug. An empty name is the correct operator.
    pub(crate) explorer: fn(&'static str) -> Explorer,
}

/// A bug that an oracle has found.
pub(crate) struct Found {
    pub(crate) operator: &'static str,
    pub(crate) bug: &'static str,
    pub(crate) oracle: Oracle,
    pub(crate) schedule: String,
    pub(crate) time: Duration,
}

impl Planted {
    /// Explores the operator with each bug. Each finding must not be there in the correct operator.
    pub(crate) fn find(&self) -> (Vec<Found>, Vec<String>) {
        let (mut found, mut wrong) = (Vec::new(), Vec::new());
        for &(bug, oracle) in self.bugs {
            let explorer = (self.explorer)(bug).patience(Duration::from_secs(120)).budget(Duration::from_secs(5));
            let report = explorer.only(oracle).stop_at_finding().explore();
            let Some(finding) = report.findings.iter().find(|finding| finding.oracle == oracle) else {
                wrong.push(format!("{}, {bug}: not found by {oracle}\n{report}", self.name));
                continue;
            };
            let time = report.elapsed;
            println!("{:6} {bug:48} {oracle:10} {:5.2} s  {}", self.name, time.as_secs_f64(), finding.schedule);
            let page = (self.explorer)(bug).replay(&finding.schedule).expect_err(&finding.schedule);
            if !page.contains(&format!("Schedule\n  {}\n", finding.schedule)) {
                wrong.push(format!("{}, {bug}: the replay of {} shows\n{page}", self.name, finding.schedule));
            }
            match (self.explorer)("").replay(&finding.schedule) {
                Err(page) if !page.contains("has no effect") => {
                    wrong.push(format!("{}, {bug}: the correct operator fails\n{page}", self.name));
                }
                _ => {}
            }
            found.push(Found { operator: self.name, bug, oracle, schedule: finding.schedule.clone(), time });
        }
        (found, wrong)
    }

    /// Asserts that each bug is found.
    pub(crate) fn assert_found(&self) {
        let (_, wrong) = self.find();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Asserts that the correct operator has no findings. Returns the number of runs of each oracle.
    pub(crate) fn assert_clean(&self) -> BTreeMap<Oracle, usize> {
        let report = (self.explorer)("").budget(Duration::from_secs(6)).explore();
        println!("{}: {report}", self.name);
        report.assert_clean();
        assert_eq!(report.deterministic, Some(true));
        report.trials
    }
}

/// The context of a small operator.
pub(crate) struct Operator {
    pub(crate) client: Client,
    pub(crate) bug: &'static str,
}

impl Operator {
    pub(crate) fn has(&self, bug: &str) -> bool {
        self.bug == bug
    }

    pub(crate) fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }
}

/// Applies an object with force.
pub(crate) async fn apply<K>(api: &Api<K>, object: Value) -> Result<K, kube::Error>
where
    K: Clone + std::fmt::Debug + DeserializeOwned + Serialize,
{
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    api.patch(&name, &PatchParams::apply("operator").force(), &Patch::Apply(object)).await
}

/// Patches an object with a merge patch.
pub(crate) async fn merge<K>(api: &Api<K>, name: &str, patch: Value) -> Result<K, kube::Error>
where
    K: Clone + std::fmt::Debug + DeserializeOwned,
{
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await
}

/// Deletes an object that may be gone.
pub(crate) async fn delete<K>(api: &Api<K>, name: &str) -> Result<(), kube::Error>
where
    K: Clone + std::fmt::Debug + DeserializeOwned,
{
    match api.delete(name, &kube::api::DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.map(drop),
    }
}

/// A kind of the group `example.com`.
pub(crate) fn kind(kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        api_version: "example.com/v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

pub(crate) fn crd(resource: &ApiResource, scope: &str, spec: Value, status: Value) -> Value {
    let (kind, plural) = (&resource.kind, &resource.plural);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.example.com") },
        "spec": {
            "group": "example.com", "scope": scope,
            "names": { "plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List") },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "properties": spec },
                    "status": { "type": "object", "properties": status },
                } } },
            }],
        },
    })
}

/// A server with the kind of a CRD.
pub(crate) fn server(crds: &[Value]) -> ApiServer {
    let server = ApiServer::new();
    for crd in crds {
        server.add_crd(crd).unwrap();
    }
    server
}

/// The owner references of the objects of `owner`.
pub(crate) fn owners(owner: &DynamicObject) -> Value {
    let types = owner.types.clone().unwrap();
    json!([{
        "apiVersion": types.api_version, "kind": types.kind, "name": owner.name_any(), "uid": owner.uid(), "controller": true,
    }])
}

/// A number that no other call in this process returns.
pub(crate) fn unique() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// A time that differs in each call.
pub(crate) fn now() -> String {
    let count = unique();
    format!(
        "2030-01-{:02}T{:02}:{:02}:{:02}Z",
        1 + count / 86_400 % 28,
        count / 3_600 % 24,
        count / 60 % 60,
        count % 60
    )
}

/// Texts in an order that differs between equal sets.
pub(crate) fn in_hash_order(texts: impl Iterator<Item = String>) -> Vec<String> {
    texts.collect::<std::collections::HashSet<_>>().into_iter().collect()
}
