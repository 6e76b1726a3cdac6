//! Discovery: the groups, versions and resources of the server.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;
use serde_json::{Map, Value, json};

use crate::request::Request;
use crate::resource::Resource;
use crate::response::Refusal;
use crate::store::Store;

/// Answers the paths of discovery.
pub(crate) fn discover(store: &Store, request: &Request) -> Result<Value, Refusal> {
    if request.method != Method::GET {
        return Err(Refusal::unsupported(&format!("{} {}", request.method, request.path)));
    }
    let parts: Vec<&str> = request.path.trim_matches('/').split('/').collect();
    let group_version = match &parts[..] {
        ["version"] => {
            return Ok(json!({ "major": "1", "minor": "36", "gitVersion": "v1.36.3", "platform": "linux/amd64" }));
        }
        ["api"] => {
            return Ok(json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }));
        }
        ["apis"] => {
            let groups: Vec<Value> = groups(store).iter().map(|(group, versions)| document(group, versions)).collect();
            return Ok(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }));
        }
        ["api", version] => (*version).to_owned(),
        ["apis", group] => {
            let groups = groups(store);
            let Some(versions) = groups.get(*group) else {
                return Err(Refusal::unsupported(&format!("discovery of {group}")));
            };
            let mut document = document(group, versions);
            document["kind"] = "APIGroup".into();
            document["apiVersion"] = "v1".into();
            return Ok(document);
        }
        ["apis", group, version] => format!("{group}/{version}"),
        _ => return Err(Refusal::unsupported(&format!("GET {}", request.path))),
    };
    let served = store.resources.values().flat_map(|kind| kind.all()).filter(|resource| resource.served);
    let mut resources = served.filter(|resource| resource.api_version() == group_version).peekable();
    if resources.peek().is_none() {
        return Err(Refusal::unsupported(&format!("discovery of {group_version}")));
    }
    Ok(list(&group_version, resources))
}

/// The groups with their versions, in the order of priority.
fn groups(store: &Store) -> BTreeMap<&str, Vec<&str>> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for resource in store.resources.values().flat_map(|kind| kind.all()).filter(|resource| resource.served) {
        let versions = groups.entry(&resource.group).or_default();
        if !versions.contains(&resource.version.as_str()) {
            versions.push(&resource.version);
        }
    }
    groups.remove("");
    groups.values_mut().for_each(|versions| versions.sort_by_key(|version| Reverse(priority(version))));
    groups
}

/// The priority of a version: stable ones before betas before alphas, then the higher number, then others by name.
fn priority(version: &str) -> (u8, u64, u64, Reverse<&str>) {
    let parsed = || {
        let rest = version.strip_prefix('v')?;
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let major = rest[..end].parse().ok()?;
        match &rest[end..] {
            "" => Some((3, major, 0)),
            beta if beta.starts_with("beta") => Some((2, major, beta["beta".len()..].parse().ok()?)),
            alpha if alpha.starts_with("alpha") => Some((1, major, alpha["alpha".len()..].parse().ok()?)),
            _ => None,
        }
    };
    let (stability, major, minor) = parsed().unwrap_or_default();
    (stability, major, minor, Reverse(version))
}

fn document(group: &str, versions: &[&str]) -> Value {
    let version = |version: &&str| json!({ "groupVersion": format!("{group}/{version}"), "version": version });
    json!({
        "name": group,
        "versions": versions.iter().map(version).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(version),
    })
}

/// The document of a group version, for discovery.
fn list<'a>(group_version: &str, resources: impl Iterator<Item = &'a Arc<Resource>>) -> Value {
    let mut listed = Vec::new();
    for resource in resources {
        let mut entry = Map::new();
        entry.insert("name".to_owned(), resource.plural.clone().into());
        entry.insert("singularName".to_owned(), resource.singular.clone().into());
        entry.insert("namespaced".to_owned(), resource.namespaced.into());
        entry.insert("kind".to_owned(), resource.kind.clone().into());
        let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
        entry.insert("verbs".to_owned(), verbs.to_vec().into());
        if !resource.short_names.is_empty() {
            entry.insert("shortNames".to_owned(), resource.short_names.clone().into());
        }
        listed.push(Value::Object(entry));
        if resource.status {
            listed.push(json!({
                "name": format!("{}/status", resource.plural), "singularName": "", "namespaced": resource.namespaced,
                "kind": resource.kind, "verbs": ["get", "patch", "update"],
            }));
        }
        if resource.scale.is_some() {
            listed.push(json!({
                "name": format!("{}/scale", resource.plural), "singularName": "", "namespaced": resource.namespaced,
                "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"],
            }));
        }
    }
    json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed })
}
