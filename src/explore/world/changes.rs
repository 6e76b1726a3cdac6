//! Changes by others than the operator: the garbage collector, another client, and the author of the samples.

use anyhow::Result;
use hyper::Method;
use serde_json::{Value, json};

use super::World;
use crate::explore::api::{AUTHOR, STRANGER};
use crate::explore::schedule::Drift;
use crate::explore::state::{ObjectKey, orphans, other_value};

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
        let (code, mut object) = self.api.send(Method::GET, &path, &Value::Null).await?;
        if code != 200 {
            return Ok(false);
        }
        let version = object["metadata"]["resourceVersion"].clone();
        let pointer = match drift {
            Drift::Delete => return Ok(self.api.send(Method::DELETE, &path, &Value::Null).await?.0 < 400),
            Drift::Change(pointer) | Drift::Remove(pointer) => pointer,
        };
        if let (Drift::Change(_), Some(field)) = (drift, object.pointer_mut(pointer)) {
            *field = other_value(field).unwrap_or_default();
        } else if let Some((parent, name)) = pointer.rsplit_once('/') {
            match object.pointer_mut(parent) {
                Some(Value::Object(fields)) => {
                    fields.remove(&name.replace("~1", "/").replace("~0", "~"));
                }
                Some(Value::Array(items)) => {
                    if let Some(at) = name.parse().ok().filter(|at| *at < items.len()) {
                        items.remove(at);
                    }
                }
                _ => {}
            }
        }
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
