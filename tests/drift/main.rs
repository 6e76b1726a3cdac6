//! Applies objects of several kinds, changes each of their fields like another client, and compares the manager's
//! reaction with a direct server-side apply to a twin. `KUBECONFIG` selects the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::watcher;
use kube::{Api, Client, CustomResource, CustomResourceExt, Resource, ResourceExt};
use manager::{Action, Failure, Manager, Object, ObjectKey, Objects, Options, StatusChange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const KEEPER: &str = "keeper";
const KEPT: &str = "kept";
const TWIN: &str = "twin";
/// Number of concurrent edits.
const TOGETHER: usize = 4;
/// Time limit of an edit on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    manager: Options,
}

/// Every kind of list and map that the API server distinguishes.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Drift", namespaced, status = "DriftStatus")]
#[serde(rename_all = "camelCase")]
struct DriftSpec {
    atomic: Vec<String>,
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    set: Vec<String>,
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    elements: Vec<Element>,
    plain_elements: Vec<Element>,
    map: BTreeMap<String, String>,
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    atomic_map: BTreeMap<String, String>,
    inner: Element,
    number: i64,
    truth: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct DriftStatus {
    seen: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Element {
    key: String,
    value: Option<String>,
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Absent", namespaced)]
struct AbsentSpec {}

#[derive(Debug)]
struct Failed(kube::Error);

impl fmt::Display for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Failure for Failed {
    fn reason(&self) -> &'static str {
        "Failed"
    }

    fn is_permanent(&self) -> bool {
        // An invalid object: the operator waits for a change.
        matches!(&self.0, kube::Error::Api(status) if status.code == 422)
    }
}

fn desired(kind: &str) -> Value {
    let labels = json!({ "app": "a", "tier": "web" });
    let metadata = json!({ "labels": labels, "annotations": { "note": "text" } });
    let mut object = match kind {
        "ConfigMap" => json!({ "data": { "one": "1", "two": "2" } }),
        "Secret" => json!({ "stringData": { "password": "secret", "user": "me" } }),
        "Service" => json!({ "spec": {
            "clusterIP": "None",
            "selector": labels,
            "ports": [{ "name": "main", "port": 11211, "targetPort": "main" }, { "name": "web", "port": 80 }],
        } }),
        "NetworkPolicy" => json!({ "spec": {
            "podSelector": { "matchLabels": labels },
            "policyTypes": ["Ingress"],
            "ingress": [{
                "from": [{ "namespaceSelector": { "matchLabels": { "team": "a" } } }],
                "ports": [{ "port": 80, "protocol": "TCP" }],
            }],
        } }),
        "Deployment" => json!({ "spec": {
            "replicas": 0,
            "revisionHistoryLimit": 3,
            "selector": { "matchLabels": labels },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
            "template": {
                "metadata": { "labels": labels, "annotations": { "note": "text" } },
                "spec": {
                    "automountServiceAccountToken": false,
                    "securityContext": { "runAsNonRoot": true, "runAsUser": 1001 },
                    "terminationGracePeriodSeconds": 20,
                    "containers": [{
                        "name": "main",
                        "image": "example.com/main:1",
                        "args": ["-v", "-m=64"],
                        "env": [{ "name": "A", "value": "1" }],
                        "ports": [{ "name": "main", "containerPort": 11211 }, { "name": "web", "containerPort": 80 }],
                        "resources": { "limits": { "memory": "1024Mi", "cpu": "0.5" } },
                        "securityContext": { "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } },
                        "volumeMounts": [{ "name": "data", "mountPath": "/data" }],
                    }],
                    "volumes": [{ "name": "data", "emptyDir": { "sizeLimit": "512Mi" } }],
                },
            },
        } }),
        "Drift" => json!({ "spec": {
            "atomic": ["a", "b"],
            "set": ["a", "b"],
            "elements": [{ "key": "a", "value": "1" }, { "key": "b", "value": "2" }],
            "plainElements": [{ "key": "a", "value": "1" }],
            "map": { "a": "1" },
            "atomicMap": { "a": "1" },
            "inner": { "key": "a", "value": "1" },
            "number": 1,
            "truth": true,
        } }),
        other => panic!("nothing is desired of {other}"),
    };
    object["metadata"] = metadata;
    object
}

/// Applies the desired fields to each existing object of the kind.
fn keep<K: Object<DynamicType = ()>>(manager: &mut Manager) {
    let objects = manager.objects::<K>(&watcher::Config::default());
    let kind = K::kind(&()).into_owned();
    let (kept, name) = (objects.clone(), kind.to_lowercase());
    manager.controller(&name, &objects).run(
        move |object, _| {
            let (kept, mut desired) = (kept.clone(), desired(&kind));
            desired["metadata"]["name"] = json!(object.name_any());
            desired["metadata"]["namespace"] = json!(object.namespace());
            async move {
                let ours = object.name_any().starts_with("edit-") && object.meta().deletion_timestamp.is_none();
                if ours {
                    let desired = serde_json::from_value(desired).expect("an object of the kind");
                    kept.apply(&desired, KEEPER).await.map_err(Failed)?;
                }
                Ok::<_, Failed>(Action::Done)
            }
        },
        Arc::new(()),
    );
}

/// A change of one field by a client that does not know the operator.
#[derive(Clone, Debug)]
struct Edit {
    pointer: String,
    /// `None` removes the field.
    value: Option<Value>,
}

impl fmt::Display for Edit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(formatter, "{} = {value}", self.pointer),
            None => write!(formatter, "{} removed", self.pointer),
        }
    }
}

fn edits(pointer: &str, value: &Value, found: &mut Vec<Edit>) {
    let mut edit = |pointer: &str, value| found.push(Edit { pointer: pointer.to_owned(), value });
    if pointer.matches('/').count() > 1 {
        edit(pointer, None);
    }
    match value {
        Value::String(text) if pointer.starts_with("/data/") && text.ends_with('=') => {
            edit(pointer, Some(json!("eA==")));
        }
        Value::String(text) => edit(pointer, Some(json!(format!("{text}x")))),
        Value::Number(number) => edit(pointer, Some(json!(number.as_i64().unwrap_or_default() + 1))),
        Value::Bool(truth) => edit(pointer, Some(json!(!truth))),
        Value::Null => {}
        Value::Array(elements) => {
            if let Some(last) = elements.last() {
                let mut more = last.clone();
                change_all(&mut more);
                edit(&format!("{pointer}/-"), Some(more));
            }
            for (index, element) in elements.iter().enumerate() {
                edits(&format!("{pointer}/{index}"), element, found);
            }
        }
        Value::Object(fields) => {
            // Valid as a label and as Base64.
            edit(&format!("{pointer}/drift"), Some(json!("abcd")));
            for (name, field) in fields {
                edits(&format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")), field, found);
            }
        }
    }
}

/// Changes every string and number of an element.
fn change_all(value: &mut Value) {
    match value {
        Value::String(text) => text.push('x'),
        Value::Number(number) => *value = json!(number.as_i64().unwrap_or_default() + 1),
        Value::Object(fields) => fields.values_mut().for_each(change_all),
        Value::Array(elements) => elements.iter_mut().for_each(change_all),
        Value::Bool(_) | Value::Null => {}
    }
}

/// Drops fields that always differ between an object and its twin, and fields without an owner.
fn comparable(object: &DynamicObject) -> Value {
    let mut value = serde_json::to_value(object).expect("JSON");
    value.as_object_mut().map(|fields| fields.remove("status"));
    for field in ["creationTimestamp", "generation", "managedFields", "namespace", "resourceVersion", "uid"] {
        value["metadata"].as_object_mut().map(|metadata| metadata.remove(field));
    }
    let annotations = value["metadata"]["annotations"].as_object_mut();
    annotations.map(|annotations| annotations.remove("deployment.kubernetes.io/revision"));
    value
}

enum Outcome {
    /// The API server rejects the edit.
    Refused,
    /// Object and twin became equal after this time. The flag means that a direct apply was rejected, so the twin was
    /// created again.
    Same(Duration, bool),
    Differs(String),
}

struct Kind {
    name: String,
    kept: Api<DynamicObject>,
    twins: Api<DynamicObject>,
    resource: ApiResource,
}

impl Kind {
    fn of<K: Resource<DynamicType = ()>>(client: &Client) -> Self {
        let gvk = GroupVersionKind::gvk(&K::group(&()), &K::version(&()), &K::kind(&()));
        let resource = ApiResource::from_gvk_with_plural(&gvk, &K::plural(&()));
        Self {
            name: K::kind(&()).into_owned(),
            kept: Api::namespaced_with(client.clone(), KEPT, &resource),
            twins: Api::namespaced_with(client.clone(), TWIN, &resource),
            resource,
        }
    }

    async fn apply(&self, api: &Api<DynamicObject>, name: &str) -> kube::Result<DynamicObject> {
        let mut manifest = desired(&self.name);
        manifest["metadata"]["name"] = json!(name);
        manifest["apiVersion"] = json!(self.resource.api_version);
        manifest["kind"] = json!(self.resource.kind);
        let params = PatchParams::apply(KEEPER).force();
        api.patch(name, &params, &Patch::Apply(&manifest)).await
    }

    async fn all_edits(&self) -> Result<Vec<Edit>> {
        let object = self.apply(&self.twins, "first").await?;
        let mut value = comparable(&object);
        for field in ["apiVersion", "kind"] {
            value.as_object_mut().map(|fields| fields.remove(field));
        }
        value["metadata"].as_object_mut().map(|metadata| metadata.remove("name"));
        let mut found = Vec::new();
        for (name, field) in value.as_object().expect("an object") {
            edits(&format!("/{name}"), field, &mut found);
        }
        Ok(found)
    }

    async fn edit(&self, api: &Api<DynamicObject>, name: &str, edit: &Edit) -> kube::Result<DynamicObject> {
        let operation = match &edit.value {
            Some(value) if edit.pointer.ends_with("/-") || edit.pointer.ends_with("/drift") => {
                json!({ "op": "add", "path": edit.pointer, "value": value })
            }
            Some(value) => json!({ "op": "replace", "path": edit.pointer, "value": value }),
            None => json!({ "op": "remove", "path": edit.pointer }),
        };
        let patch = serde_json::to_vec(&json!([operation])).map_err(kube::Error::SerdeError)?;
        let path = api.resource_url();
        let request = http::Request::patch(format!("{path}/{name}?fieldManager=somebody&fieldValidation=Strict"))
            .header("content-type", "application/json-patch+json")
            .body(patch)
            .map_err(kube::Error::HttpError)?;
        api.clone().into_client().request(request).await
    }

    async fn try_edit(&self, number: usize, edit: &Edit) -> Result<Outcome> {
        let name = format!("edit-{number}");
        self.apply(&self.twins, &name).await?;
        let before = self.apply(&self.kept, &name).await?;
        match self.edit(&self.twins, &name, edit).await {
            // The edit has no effect.
            Ok(edited) if comparable(&edited) == comparable(&before) => return Ok(Outcome::Refused),
            Ok(_) => {}
            Err(kube::Error::Api(status)) if matches!(status.code, 400 | 422) => return Ok(Outcome::Refused),
            Err(error) => return Err(error.into()),
        }
        let (twin, blocked) = match self.apply(&self.twins, &name).await {
            Ok(twin) => (twin, false),
            Err(kube::Error::Api(status)) if status.code == 422 => {
                (self.apply(&self.twins, &format!("{name}-new")).await?, true)
            }
            Err(error) => return Err(error.into()),
        };
        let mut wanted = comparable(&twin);
        wanted["metadata"]["name"] = json!(name);
        let started = Instant::now();
        self.edit(&self.kept, &name, edit).await?;
        loop {
            let is = comparable(&self.kept.get(&name).await?);
            if is == wanted {
                return Ok(Outcome::Same(started.elapsed(), blocked));
            }
            if started.elapsed() > LIMIT {
                return Ok(Outcome::Differs(format!("it is {is}\nnot {wanted}")));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// A controller that creates a Secret with a password if it is missing. A second password would be a bug.
fn generate(manager: &mut Manager) {
    let labels = watcher::Config::default().labels("generated=yes");
    let secrets = manager.objects::<Secret>(&labels);
    let maps = manager.objects::<ConfigMap>(&watcher::Config::default().labels("generates=yes"));
    let made = AtomicUsize::new(0);
    let made = Arc::new(made);
    manager.controller("generator", &maps).watches(&secrets, |secret| [ObjectKey::of(secret)]).run(
        move |map, _| {
            let (secrets, made) = (secrets.clone(), made.clone());
            async move {
                let namespace = map.namespace().unwrap_or_default();
                let cached = secrets.get(&*namespace, &map.name_any());
                let old = cached.and_then(|secret| secret.data.clone()?.remove("password"));
                let password = old.unwrap_or_else(|| {
                    let number = made.fetch_add(1, Ordering::SeqCst);
                    k8s_openapi::ByteString(format!("password {number}").into_bytes())
                });
                let labels = BTreeMap::from([("generated".to_owned(), "yes".to_owned())]);
                let secret = Secret {
                    metadata: ObjectMeta {
                        name: map.metadata.name.clone(),
                        namespace: map.metadata.namespace.clone(),
                        labels: Some(labels),
                        owner_references: map.controller_owner_ref(&()).map(|owner| vec![owner]),
                        ..ObjectMeta::default()
                    },
                    data: Some(BTreeMap::from([("password".to_owned(), password)])),
                    ..Secret::default()
                };
                secrets.apply(&secret, KEEPER).await.map_err(Failed)?;
                Ok::<_, Failed>(Action::Done)
            }
        },
        Arc::new(()),
    );
}

/// Removes the watched label of a Secret with a generated password. Returns true if the password survives.
async fn is_generated_once(client: &Client) -> Result<bool> {
    let maps = Api::<ConfigMap>::namespaced(client.clone(), KEPT);
    let secrets = Api::<Secret>::namespaced(client.clone(), KEPT);
    let map = json!({ "metadata": { "name": "generated", "labels": { "generates": "yes" } } });
    maps.create(&PostParams::default(), &serde_json::from_value(map)?).await?;
    let labeled = |secret: &Secret| secret.labels().contains_key("generated");
    let password = |secret: Secret| secret.data.unwrap_or_default().remove("password");
    let wait = async || -> Result<Secret> {
        let started = Instant::now();
        loop {
            match secrets.get_opt("generated").await? {
                Some(secret) if labeled(&secret) => return Ok(secret),
                _ if started.elapsed() > LIMIT => return Err("the Secret does not come".into()),
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    let before = password(wait().await?);
    for _ in 0..3 {
        let patch = json!({ "metadata": { "labels": null } });
        secrets.patch("generated", &PatchParams::default(), &Patch::Merge(patch)).await?;
        if password(wait().await?) != before {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns true if a status for an old version of an object is rejected.
async fn is_for_one_version(client: &Client, objects: &Objects<Drift>) -> Result<bool> {
    let drifts = Api::<Drift>::namespaced(client.clone(), KEPT);
    let mut drift = desired("Drift");
    drift["metadata"]["name"] = json!("changed");
    drift["apiVersion"] = json!("example.com/v1");
    drift["kind"] = json!("Drift");
    let old = drifts.create(&PostParams::default(), &serde_json::from_value(drift)?).await?;
    let patch = Patch::Merge(json!({ "spec": { "number": 2 } }));
    let new = drifts.patch("changed", &PatchParams::default(), &patch).await?;
    let started = Instant::now();
    // Wait until the cache has the new version.
    while objects.get(KEPT, "changed").is_none_or(|known| known.resource_version() != new.resource_version()) {
        if started.elapsed() > LIMIT {
            return Err("the watch does not tell of it".into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let refused = objects.apply_status(&old, &DriftStatus { seen: 1 }, KEEPER).await.is_err();
    let fresh = drifts.get("changed").await?;
    let written = objects.apply_status(&fresh, &DriftStatus { seen: 2 }, KEEPER).await?;
    Ok(refused && fresh.status.is_none() && written == StatusChange::Written)
}

/// The response of `/readyz` for a manager that watches one kind, after its first request.
async fn readiness<K: Object<DynamicType = ()>>(config: kube::Config, optional: bool) -> Result<String> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let flag = format!("--health-probe-bind-address={address}");
    let options = Args::try_parse_from(["drift", &flag])?.manager;
    let mut manager = Manager::with_client("drift", "0.0.0", options, Client::try_from(config)?);
    let objects = manager.objects::<K>(&watcher::Config::default());
    if optional {
        let _ = objects.optional();
    }
    let running = tokio::spawn(manager.run());
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let started = Instant::now();
    let answer = loop {
        match ask() {
            Ok(answer) if !answer.contains("not listed yet") => break answer,
            _ if started.elapsed() > LIMIT => return Err("nobody says whether it is ready".into()),
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    running.abort();
    Ok(answer)
}

/// Returns true if `/readyz` gives the reason, but only for a kind that is required.
async fn says_why_it_is_not_ready() -> Result<bool> {
    let config = kube::Config::infer().await?;
    let mut nobody = config.clone();
    nobody.auth_info.impersonate = Some("nobody".to_owned());
    let forbidden = readiness::<ConfigMap>(nobody, false).await?;
    let missing = readiness::<Absent>(config.clone(), false).await?;
    let optional = readiness::<Absent>(config, true).await?;
    println!("{forbidden}\n{missing}\n{optional}");
    Ok(forbidden.contains("ConfigMap (v1) is forbidden")
        && missing.contains("Absent (example.com/v1) is not served by the cluster")
        && optional.starts_with("HTTP/1.1 200 "))
}

async fn prepare(client: &Client) -> Result<()> {
    let crds = Api::<CustomResourceDefinition>::all(client.clone());
    crds.create(&PostParams::default(), &Drift::crd()).await?;
    let namespaces = Api::<k8s_openapi::api::core::v1::Namespace>::all(client.clone());
    for name in [KEPT, TWIN] {
        let namespace = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
        namespaces.create(&PostParams::default(), &namespace).await?;
    }
    let drifts = Api::<Drift>::namespaced(client.clone(), KEPT);
    let started = Instant::now();
    while let Err(error) = drifts.list(&ListParams::default()).await {
        if started.elapsed() > LIMIT {
            return Err(error.into());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Compares the manager's reaction to each edit with a direct apply. Also returns the objects, by kind and name, in
/// which the manager had to replace a foreign list element.
async fn compare(client: &Client) -> Result<(bool, BTreeSet<String>)> {
    let kinds = [
        Kind::of::<ConfigMap>(client),
        Kind::of::<Secret>(client),
        Kind::of::<Service>(client),
        Kind::of::<NetworkPolicy>(client),
        Kind::of::<Deployment>(client),
        Kind::of::<Drift>(client),
    ];
    let (mut good, mut replaced) = (true, BTreeSet::new());
    for kind in &kinds {
        let edits = kind.all_edits().await?;
        let (mut refused, mut blocked, mut times) = (0, 0, Vec::new());
        let numbered: Vec<_> = edits.iter().enumerate().collect();
        for some in numbered.chunks(TOGETHER) {
            let mut running = tokio::task::JoinSet::new();
            let mut outcomes = Vec::new();
            for (number, edit) in some {
                let kind = Kind {
                    name: kind.name.clone(),
                    kept: kind.kept.clone(),
                    twins: kind.twins.clone(),
                    resource: kind.resource.clone(),
                };
                let (number, edit) = (*number, (*edit).clone());
                running.spawn(async move {
                    let outcome = kind.try_edit(number, &edit).await;
                    (number, edit, outcome)
                });
            }
            while let Some(outcome) = running.join_next().await {
                outcomes.push(outcome?);
            }
            for (number, edit, outcome) in outcomes {
                match outcome? {
                    Outcome::Refused => refused += 1,
                    Outcome::Same(took, was_blocked) => {
                        times.push(took.as_millis());
                        if was_blocked {
                            blocked += 1;
                            replaced.insert(format!("{} edit-{number}", kind.name));
                            println!("blocked {} {edit}", kind.name);
                        }
                    }
                    Outcome::Differs(how) => {
                        good = false;
                        println!("differs {} {edit}: {how}", kind.name);
                    }
                }
            }
        }
        times.sort_unstable();
        let (median, longest) = (times.get(times.len() / 2).unwrap_or(&0), times.last().unwrap_or(&0));
        let count = times.len();
        println!(
            "{} repaired {count} blocked {blocked} refused {refused} median {median} longest {longest}",
            kind.name
        );
    }
    Ok((good, replaced))
}

/// Returns true if each of these objects, and no other, has exactly one event about the replacement.
async fn is_told_of(client: &Client, replaced: &BTreeSet<String>) -> Result<bool> {
    let events = Api::<Event>::namespaced(client.clone(), KEPT);
    let started = Instant::now();
    loop {
        let mut told = Vec::new();
        for event in events.list(&ListParams::default()).await? {
            let about = event.regarding.unwrap_or_default();
            if event.reason.as_deref() == Some("Replaced") && event.type_.as_deref() == Some("Warning") {
                let times = event.series.map_or(1, |series| series.count);
                let name = format!("{} {}", about.kind.unwrap_or_default(), about.name.unwrap_or_default());
                told.extend((0..times).map(|_| name.clone()));
            }
        }
        told.sort();
        if told.iter().eq(replaced) {
            return Ok(true);
        }
        if started.elapsed() > LIMIT {
            println!("told of {told:?}, not of {replaced:?}");
            return Ok(false);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    args.manager.init_logging();
    let client = Client::try_default().await?;
    prepare(&client).await?;
    let manager = Manager::new("drift", "0.0.0", args.manager).await?;
    // The manager must not see the twins.
    let manager = manager
        .in_namespaces(&[KEPT])
        .with(keep::<ConfigMap>)
        .with(keep::<Secret>)
        .with(keep::<Service>)
        .with(keep::<NetworkPolicy>)
        .with(keep::<Deployment>)
        .with(keep::<Drift>);
    let mut manager = manager.with(generate);
    let drifts = manager.objects::<Drift>(&watcher::Config::default());
    let running = tokio::spawn(manager.run());
    let told = says_why_it_is_not_ready().await?;
    println!("{}", if told { "readiness is told" } else { "readiness is not told" });
    let versioned = is_for_one_version(&client, &drifts).await?;
    println!("{}", if versioned { "status of one version" } else { "status of any version" });
    let once = is_generated_once(&client).await?;
    println!("{}", if once { "generated once" } else { "generated again" });
    let (good, replaced) = compare(&client).await?;
    let told = is_told_of(&client, &replaced).await?;
    println!("{}", if told { "replacements are told" } else { "replacements are not told" });
    running.abort();
    println!("{}", if good { "all is as it would be" } else { "there are differences" });
    Ok(())
}
