//! Changes by others than the operator: the garbage collector, another client, and the author of the samples.

use std::collections::BTreeSet;

use anyhow::Result;
use explorer::exploration::{AUTHOR, Drift, ObjectKey, STRANGER};
use hyper::Method;
use serde_json::{Value, json};

use super::World;
use crate::explore::api::ClusterObjects;

impl World {
    /// Collects objects whose owners are gone, as kube-controller-manager does.
    pub(super) async fn collect_garbage(&mut self) -> Result<bool> {
        let objects = self.objects().await?;
        let mut found = false;
        for key in orphans(&objects, &self.kinds) {
            if let Some(path) = self.path(&key) {
                let uid = &objects[&key]["metadata"]["uid"];
                self.api.send(Method::DELETE, &path, &json!({ "preconditions": { "uid": uid } })).await?;
                found = true;
            }
        }
        // The finalizers of foreground and orphan deletion are the garbage collector's.
        for (key, object) in &objects {
            let finalizers = object["metadata"]["finalizers"].as_array().map(Vec::as_slice).unwrap_or_default();
            let is_collectors = |name: &&Value| **name == "foregroundDeletion" || **name == "orphan";
            if object["metadata"]["deletionTimestamp"].is_null() || !finalizers.iter().any(|name| is_collectors(&name))
            {
                continue;
            }
            let uid = &object["metadata"]["uid"];
            let owners = |one: &Value| one["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
            let dependents = objects.iter().filter(|(_, one)| owners(one).iter().any(|owner| owner["uid"] == *uid));
            let orphans = finalizers.iter().any(|name| name == "orphan");
            let mut left = false;
            for (dependent, one) in dependents {
                let Some(path) = self.path(dependent) else { continue };
                if orphans {
                    let kept: Vec<Value> = owners(one).into_iter().filter(|owner| owner["uid"] != *uid).collect();
                    let change = json!({ "metadata": { "ownerReferences": kept } });
                    self.api.send(Method::PATCH, &path, &change).await?;
                } else if one["metadata"]["deletionTimestamp"].is_null() {
                    self.api.send(Method::DELETE, &path, &Value::Null).await?;
                    left = true;
                }
            }
            if let Some(path) = self.path(key).filter(|_| !left) {
                let kept: Vec<&Value> = finalizers.iter().filter(|name| !is_collectors(name)).collect();
                self.api.send(Method::PATCH, &path, &json!({ "metadata": { "finalizers": kept } })).await?;
            }
            found = true;
        }
        Ok(found)
    }

    /// Changes an object as another client. Returns false if the change is refused or changes nothing.
    pub(in crate::explore) async fn drift(&mut self, drift: &Drift, key: &ObjectKey) -> Result<bool> {
        let Some(path) = self.path(key) else { return Ok(false) };
        let path = format!("{path}?fieldManager={STRANGER}");
        let (code, object) = self.api.send(Method::GET, &path, &Value::Null).await?;
        if code != 200 {
            return Ok(false);
        }
        let version = object["metadata"]["resourceVersion"].clone();
        let Some(object) = drift.apply(object) else {
            return Ok(self.api.send(Method::DELETE, &path, &Value::Null).await?.0 < 400);
        };
        let (code, changed) = self.api.send(Method::PUT, &path, &object).await?;
        Ok(code < 400 && changed["metadata"]["resourceVersion"] != version)
    }

    /// Changes the first sample by a merge patch. Returns false if the change is refused or changes nothing.
    pub(in crate::explore) async fn patch(&mut self, change: &Value) -> Result<bool> {
        let Some(sample) = self.samples.first() else { return Ok(false) };
        let path = format!("{}?fieldManager={AUTHOR}", sample.path());
        let before = self.api.get(&path).await?;
        let (code, after) = self.api.send(Method::PATCH, &path, change).await?;
        Ok(code < 400 && before["spec"] != after["spec"])
    }
}

/// Objects whose owners are all gone. An owner of a kind that is not in `kinds`, by group and kind, counts as present.
fn orphans(objects: &ClusterObjects, kinds: &BTreeSet<(String, String)>) -> Vec<ObjectKey> {
    let uids: BTreeSet<&str> = objects.values().filter_map(|object| object["metadata"]["uid"].as_str()).collect();
    let gone = |owner: &Value| {
        let version = owner["apiVersion"].as_str().unwrap_or_default();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let kind = owner["kind"].as_str().unwrap_or_default();
        kinds.contains(&(group.to_owned(), kind.to_owned()))
            && !uids.contains(owner["uid"].as_str().unwrap_or_default())
    };
    let orphaned = objects.iter().filter(|(_, object)| {
        let owners = object["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
        !owners.is_empty() && owners.iter().all(gone) && object["metadata"]["deletionTimestamp"].is_null()
    });
    orphaned.map(|(key, _)| key.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_an_orphan_without_a_present_owner() {
        let owned = |name: &str, kind: &str, uid: &str| {
            let owner = json!({ "apiVersion": "apps/v1", "kind": kind, "uid": uid });
            json!({ "kind": "Pod", "metadata": { "name": name, "uid": name, "ownerReferences": [owner] } })
        };
        let objects = |list: &[Value]| -> ClusterObjects {
            let key = |object: &Value| {
                (String::new(), String::new(), object["metadata"]["name"].as_str().unwrap().to_owned())
            };
            list.iter().map(|object| (key(object), object.clone())).collect()
        };
        let deployment = json!({ "kind": "Deployment", "metadata": { "name": "d", "uid": "1" } });
        let all = objects(&[
            deployment,
            owned("kept", "Deployment", "1"),
            owned("orphan", "Deployment", "2"),
            owned("unknown", "Job", "3"),
        ]);
        let kinds = [("apps".to_owned(), "Deployment".to_owned())].into();
        let names: Vec<String> = orphans(&all, &kinds).into_iter().map(|(.., name)| name).collect();
        assert_eq!(names, ["orphan"]);
    }
}
