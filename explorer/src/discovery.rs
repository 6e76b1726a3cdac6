//! Discovery: the groups, versions and resources of the server.

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
            let mut groups: Vec<(&str, &str)> = store
                .resources
                .values()
                .filter(|resource| !resource.group.is_empty())
                .map(|resource| (resource.group.as_str(), resource.version.as_str()))
                .collect();
            groups.dedup();
            let groups: Vec<Value> = groups
                .into_iter()
                .map(|(group, version)| {
                    let version = json!({ "groupVersion": format!("{group}/{version}"), "version": version });
                    json!({ "name": group, "versions": [version], "preferredVersion": version })
                })
                .collect();
            return Ok(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }));
        }
        ["api", version] => (*version).to_owned(),
        ["apis", group, version] => format!("{group}/{version}"),
        _ => return Err(Refusal::unsupported(&format!("GET {}", request.path))),
    };
    let mut resources = store.resources.values().filter(|resource| resource.api_version() == group_version).peekable();
    if resources.peek().is_none() {
        return Err(Refusal::unsupported(&format!("discovery of {group_version}")));
    }
    Ok(list(&group_version, resources))
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
    }
    json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed })
}
