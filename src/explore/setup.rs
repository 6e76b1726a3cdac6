//! The start of an exploration: CRDs, roles, namespaces and the places of the samples.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::api::ApiClient;
use super::cluster::ExploredCluster;
use super::proxy::{Proxy, USER};
use super::request::{ResourcePath, version_path};
use super::world::{PlacedSample, Release, World};
use super::{ClusterChoice, Exploration, Method};
use crate::diagnostic::Problem;

/// The name of bindings and of the role for Events and Leases.
const NAME: &str = "memcached-sdk-explore";
const RBAC: &str = "rbac.authorization.k8s.io";
/// The time in which a CRD is served.
const SERVED: Duration = Duration::from_mins(1);

/// Starts the API server and the proxy.
pub(super) async fn prepare(options: &Exploration, say: &mut dyn FnMut(&str)) -> Result<(ExploredCluster, World)> {
    let cluster = match &options.cluster {
        ClusterChoice::Own(folder) => {
            say(&format!("starting kube-apiserver from `{}`", folder.display()));
            ExploredCluster::own(folder).await?
        }
        ClusterChoice::Of(kubeconfig) => ExploredCluster::of(kubeconfig).await?,
    };
    let api = cluster.api.clone();
    for role in &options.roles {
        let name = role["metadata"]["name"].as_str().unwrap_or_default();
        permit(&api, role).await.with_context(|| format!("the API server refuses the role `{name}`"))?;
    }
    if !options.roles.is_empty() {
        permit(&api, &common_role()).await.context("the API server refuses a role")?;
    }
    for crd in &options.crds {
        install(&api, crd).await?;
    }
    let mut samples = Vec::new();
    for object in &options.samples {
        samples.push(place(&api, object).await?);
    }
    // Objects that custom resources read come first.
    samples.sort_by_key(|sample| sample.resource.group.contains('.') && sample.resource.group.matches('.').count() > 1);
    let namespaces: Vec<&String> =
        samples.iter().map(|sample| &sample.namespace).filter(|name| !name.is_empty()).collect();
    for namespace in namespaces {
        let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        let (code, answer) = api.send(Method::POST, "/api/v1/namespaces", &object).await?;
        if code >= 400 && code != 409 {
            bail!(
                "the API server refuses the namespace `{namespace}`: {}",
                answer["message"].as_str().unwrap_or_default()
            );
        }
    }
    let paths = samples.iter().map(PlacedSample::path).collect();
    let (proxy, address) = Proxy::start(api.clone(), paths, !options.roles.is_empty()).await?;
    let kubeconfig = cluster.kubeconfig_of(address)?;
    let keeper = std::sync::Arc::clone(&cluster.keeper);
    let previous = options.previous.iter().map(|command| (Release::Previous, command.clone()));
    let commands = previous.chain([(Release::Explored, options.command.clone())]).collect();
    let mut world = World::new(api, proxy, keeper, kubeconfig, commands, options.settle, samples);
    for resource in resources(&world.api).await? {
        // A resource may be without lists.
        let _ = world.remember(&resource).await;
    }
    let compared: Vec<ResourcePath> = world.samples.iter().map(|sample| sample.resource.clone()).collect();
    for resource in compared.iter().chain(&crd_resources(&options.crds)) {
        world.compare(resource).await?;
    }
    Ok((cluster, world))
}

/// Removes the bindings from a cluster that stays.
pub(super) async fn leave(options: &Exploration, api: &ApiClient) {
    if matches!(options.cluster, ClusterChoice::Own(_)) || options.roles.is_empty() {
        return;
    }
    for role in options.roles.iter().chain([&common_role()]) {
        let (binding, namespace) = binding(role);
        let name = binding["metadata"]["name"].as_str().unwrap_or_default();
        let path = rbac_resource(&binding).object(&namespace, name);
        let _ = api.send(Method::DELETE, &path, &Value::Null).await;
    }
}

/// Applies a role, and binds it to the operator.
async fn permit(api: &ApiClient, role: &Value) -> Result<()> {
    let (binding, namespace) = binding(role);
    if !namespace.is_empty() {
        let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        api.send(Method::POST, "/api/v1/namespaces", &object).await?;
    }
    api.apply(&rbac_resource(role), &namespace, role).await?;
    api.apply(&rbac_resource(&binding), &namespace, &binding).await
}

/// The binding of a role, and its namespace.
fn binding(role: &Value) -> (Value, String) {
    let kind = role["kind"].as_str().unwrap_or_default();
    let name = role["metadata"]["name"].as_str().unwrap_or_default();
    let namespace = match role["metadata"]["namespace"].as_str() {
        _ if kind == "ClusterRole" => "",
        Some(namespace) => namespace,
        None => "default",
    };
    let binding = json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": format!("{kind}Binding"),
        "metadata": { "name": format!("{NAME}-{name}") },
        "roleRef": { "apiGroup": RBAC, "kind": kind, "name": name },
        "subjects": [{ "apiGroup": RBAC, "kind": "User", "name": USER }],
    });
    (binding, namespace.to_owned())
}

/// Leader election and Events have roles of their own in projects of kubebuilder.
fn common_role() -> Value {
    let rule = |group: &str, resource: &str| json!({ "apiGroups": [group], "resources": [resource], "verbs": ["*"] });
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRole",
        "metadata": { "name": NAME },
        "rules": [rule("", "events"), rule("events.k8s.io", "events"), rule("coordination.k8s.io", "leases")],
    })
}

fn rbac_resource(object: &Value) -> ResourcePath {
    let kind = object["kind"].as_str().unwrap_or_default();
    ResourcePath { group: RBAC.to_owned(), version: "v1".to_owned(), plural: format!("{}s", kind.to_lowercase()) }
}

/// Installs a CRD, and waits until it is served.
async fn install(api: &ApiClient, crd: &Value) -> Result<()> {
    let mut crd = crd.clone();
    let name = crd["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    if let Some(spec) = crd["spec"].as_object_mut() {
        // The webhook of a conversion is not there.
        spec.remove("conversion");
    }
    let crds = ResourcePath {
        group: "apiextensions.k8s.io".to_owned(),
        version: "v1".to_owned(),
        plural: "customresourcedefinitions".to_owned(),
    };
    api.apply(&crds, "", &crd).await.with_context(|| format!("the API server refuses the CRD `{name}`"))?;
    let started = Instant::now();
    for resource in crd_resources(std::slice::from_ref(&crd)) {
        while api.get(&resource.collection("")).await.is_err() {
            if started.elapsed() > SERVED {
                bail!("the CRD `{name}` is not served after {} s", SERVED.as_secs());
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}

/// The resources of CRDs, in the stored versions.
fn crd_resources(crds: &[Value]) -> Vec<ResourcePath> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let resources = crds.iter().filter_map(|crd| {
        let versions = crd["spec"]["versions"].as_array()?;
        let version = versions.iter().find(|version| version["storage"] == true)?;
        Some(ResourcePath {
            group: text(&crd["spec"]["group"]),
            version: text(&version["name"]),
            plural: text(&crd["spec"]["names"]["plural"]),
        })
    });
    resources.collect()
}

/// The schema of the spec of an object's kind; null without a CRD.
pub(super) fn spec_schema(crds: &[Value], object: &Value) -> Value {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let crd = crds.iter().find(|crd| crd["spec"]["group"] == group && crd["spec"]["names"]["kind"] == object["kind"]);
    let versions = crd.and_then(|crd| crd["spec"]["versions"].as_array()).into_iter().flatten();
    let mut found = versions
        .filter(|one| one["name"] == version)
        .map(|one| one["schema"]["openAPIV3Schema"]["properties"]["spec"].clone());
    found.next_back().unwrap_or_default()
}

/// Finds the place of a sample.
async fn place(api: &ApiClient, object: &Value) -> Result<PlacedSample> {
    let Some((resource, namespaced)) = api.resource_of(object).await? else {
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let problem = Problem::new(format!(
            "the API server does not serve the sample's kind {}, {}",
            text("kind"),
            text("apiVersion")
        ));
        return Err(problem.help("pass the folder with its CRD: `--crds DIR`").into());
    };
    let given = object["metadata"]["namespace"].as_str().unwrap_or("default");
    let namespace = if namespaced { given.to_owned() } else { String::new() };
    let mut object = object.clone();
    object["metadata"].as_object_mut().map(|metadata| metadata.remove("namespace"));
    Ok(PlacedSample { resource, namespace, object })
}

/// The resources that the API server lists, each in one version.
async fn resources(api: &ApiClient) -> Result<Vec<ResourcePath>> {
    let mut versions = vec![(String::new(), "v1".to_owned())];
    for group in api.get("/apis").await?["groups"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        versions.push((text(&group["name"]), text(&group["preferredVersion"]["version"])));
    }
    let mut found = Vec::new();
    for (group, version) in versions {
        let (_, list) = api.send(Method::GET, &version_path(&group, &version), &Value::Null).await?;
        for entry in list["resources"].as_array().into_iter().flatten() {
            let lists = entry["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|verb| verb == "list"));
            if let Some(plural) = entry["name"].as_str().filter(|name| lists && !name.contains('/')) {
                let (group, version) = (group.clone(), version.clone());
                found.push(ResourcePath { group, version, plural: plural.to_owned() });
            }
        }
    }
    Ok(found)
}
