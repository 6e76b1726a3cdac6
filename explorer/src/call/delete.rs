//! DELETE, with its preconditions, grace periods and finalizers.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::Call;
use crate::exploration::ObjectKey;
use crate::resource::rules;
use crate::response::{Answer, FieldError, Refusal};
use crate::store::Store;

/// The options of DELETE.
#[derive(Default)]
pub(super) struct DeleteOptions {
    uid: Option<String>,
    version: Option<String>,
    propagation: Option<String>,
    grace: Option<i64>,
    dry: bool,
}

impl DeleteOptions {
    pub(super) fn is_dry(&self) -> bool {
        self.dry
    }
}

impl Call<'_> {
    pub(super) fn delete_options(&self) -> Result<DeleteOptions, Refusal> {
        let body = if self.request.body.is_empty() { Value::Null } else { self.request.document()? };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let option = |name: &str| Some(self.request.option(name).to_owned()).filter(|value| !value.is_empty());
        if !body["dryRun"].is_null() && body["dryRun"] != json!([]) && body["dryRun"] != json!(["All"]) {
            return Err(Refusal::unsupported(&format!("the option dryRun={}", body["dryRun"])));
        }
        if !body["orphanDependents"].is_null() || option("orphanDependents").is_some() {
            return Err(Refusal::unsupported("the option orphanDependents"));
        }
        // The options of the query count only without a body.
        let query = body.is_null();
        let options = DeleteOptions {
            dry: body["dryRun"] == json!(["All"]) || (query && option("dryRun").is_some()),
            uid: text(&body["preconditions"]["uid"]),
            version: text(&body["preconditions"]["resourceVersion"]),
            propagation: text(&body["propagationPolicy"]).or_else(|| option("propagationPolicy").filter(|_| query)),
            grace: body["gracePeriodSeconds"]
                .as_i64()
                .or_else(|| option("gracePeriodSeconds").filter(|_| query).and_then(|value| value.parse().ok())),
        };
        let known = ["Foreground", "Background", "Orphan"];
        if let Some(policy) = &options.propagation
            && !known.contains(&policy.as_str())
        {
            let supported: Vec<Value> = known.iter().chain(&["nil"]).map(|name| Value::from(*name)).collect();
            let errors = [FieldError::unsupported("propagationPolicy", &policy.as_str().into(), &supported)];
            return Err(Refusal::invalid("meta.k8s.io", "DeleteOptions", "", &errors));
        }
        Ok(options)
    }

    pub(super) fn delete(&mut self, name: &str, options: &DeleteOptions) -> Result<Value, Refusal> {
        if self.is_namespace()
            && let Some(left) = self.terminate(name, options)?
        {
            return Ok(left);
        }
        let key = self.key(name);
        let live = self.find(name)?.ok_or_else(|| self.not_found(name))?;
        let mut object = (*live).clone();
        self.check_preconditions(name, &object, options)?;
        self.validate_by_webhook(Some(&live), None)?;

        let mut graceful = false;
        if self.resource.plural == "pods" && !self.resource.custom {
            let metadata = &object["metadata"];
            let current = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or_default();
            if metadata["deletionTimestamp"].is_null() {
                let period = self.grace_of(&object, options);
                let time = self.store.now() + jiff::SignedDuration::from_secs(period);
                let metadata = &mut object["metadata"];
                metadata["deletionTimestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
                metadata["deletionGracePeriodSeconds"] = period.into();
                count_generation(metadata);
                graceful = true;
            } else if current > 0 {
                match options.grace.map(|period| period.max(0)) {
                    Some(0) => {
                        object["metadata"]["deletionTimestamp"] = self.now.clone().into();
                        object["metadata"]["deletionGracePeriodSeconds"] = 0.into();
                        graceful = true;
                    }
                    Some(period) if period < current => {
                        return Err(Refusal::unsupported("a shorter grace period for a Pod that is being deleted"));
                    }
                    _ => return Ok(object),
                }
            }
        }
        let finalizers = finalizers(&object, options.propagation.as_deref().or(self.propagation(&object)));
        let pending = !finalizers.is_empty();
        if options.dry && !pending && !graceful && !object["metadata"]["finalizers"].is_null() {
            return Err(Refusal::unsupported("the dry run of a deletion that removes the last finalizer"));
        }
        if object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default() != finalizers {
            let finalizers = if pending { Value::from(finalizers) } else { Value::Null };
            rules::set(&mut object["metadata"], "finalizers", finalizers);
        }
        if pending && !graceful {
            let metadata = &mut object["metadata"];
            if metadata["deletionTimestamp"].is_null() {
                count_generation(metadata);
                metadata["deletionTimestamp"] = self.now.clone().into();
            }
            metadata["deletionGracePeriodSeconds"] = 0.into();
        }
        if graceful || pending {
            // Another version may lose fields of the stored one.
            let same = object == *live && (self.kind.all().count() == 1 || self.is_stored(&key, &object, &live)?);
            let stored = if same { live.clone() } else { self.put(key.clone(), object)? };
            let lasting = stored["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or_default() > 0;
            if pending || lasting {
                return Ok((*stored).clone());
            }
        }
        let last =
            self.store.remove(&key).map(|last| self.kind.read(&last, &self.resource)).transpose()?.unwrap_or(live);
        if self.resource.returns_deleted {
            return Ok((*last).clone());
        }
        let mut details = Map::new();
        details.insert("name".to_owned(), name.into());
        if !self.resource.group.is_empty() {
            details.insert("group".to_owned(), self.resource.group.clone().into());
        }
        details.insert("kind".to_owned(), self.resource.plural.clone().into());
        details.insert("uid".to_owned(), last["metadata"]["uid"].clone());
        Ok(json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details }))
    }

    /// Starts the deletion of a namespace. Returns the namespace if its content has to be deleted first.
    fn terminate(&mut self, name: &str, options: &DeleteOptions) -> Result<Option<Value>, Refusal> {
        if matches!(name, "default" | "kube-system" | "kube-public") {
            return Err(Refusal::forbidden("", "namespaces", name, "this namespace may not be deleted"));
        }
        let live = self.live()?;
        for (kind, field, wanted) in
            [("UID", "uid", &options.uid), ("ResourceVersion", "resourceVersion", &options.version)]
        {
            let found = live["metadata"][field].as_str().unwrap_or_default();
            if let Some(wanted) = wanted.as_ref().filter(|wanted| *wanted != found) {
                let detail =
                    format!("Precondition failed: {kind} in precondition: {wanted}, {kind} in object meta: {found}");
                return Err(self.conflict(name, &detail));
            }
        }
        let mut object = (*live).clone();
        if !live["metadata"]["deletionTimestamp"].is_null() {
            return Ok((!live["spec"]["finalizers"].is_null()).then_some(object));
        }
        mark_terminating(&mut object, self.now.clone());
        let finalizers = finalizers(&object, options.propagation.as_deref());
        let finalizers = if finalizers.is_empty() { Value::Null } else { finalizers.into() };
        rules::set(&mut object["metadata"], "finalizers", finalizers);
        let stored = self.put(self.key(name), object)?;
        Ok(Some((*stored).clone()))
    }

    /// The propagation of a deletion that does not choose one: Jobs leave their Pods.
    fn propagation(&self, object: &Value) -> Option<&'static str> {
        let chosen = object["metadata"]["finalizers"].as_array().into_iter().flatten();
        let mut chosen = chosen.filter(|finalizer| *finalizer == "orphan" || *finalizer == "foregroundDeletion");
        let orphans = !self.resource.custom && self.resource.plural == "jobs";
        (orphans && chosen.next().is_none()).then_some("Orphan")
    }

    fn check_preconditions(&self, name: &str, object: &Value, options: &DeleteOptions) -> Result<(), Refusal> {
        let record = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let conflict =
            |detail: String| Err(Refusal::conflict(&self.resource.group, &self.resource.kind, name, &detail));
        if let Some(uid) = options.uid.as_ref().filter(|uid| **uid != record("uid")) {
            return conflict(format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
                 deleted and then recreated",
                record("uid"),
            ));
        }
        if let Some(version) = options.version.as_ref().filter(|version| **version != record("resourceVersion")) {
            return conflict(format!(
                "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). \
                 The object might have been modified",
                record("resourceVersion"),
            ));
        }
        Ok(())
    }

    /// The grace period of a Pod. A Pod without a node has none.
    fn grace_of(&self, pod: &Value, options: &DeleteOptions) -> i64 {
        let period =
            options.grace.or_else(|| pod["spec"]["terminationGracePeriodSeconds"].as_i64()).unwrap_or_default();
        let ended = matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
        match (pod["spec"]["nodeName"].as_str().unwrap_or_default(), period) {
            ("", _) => 0,
            _ if ended => 0,
            (_, period) if period < 0 => 1,
            (_, period) => period,
        }
    }

    pub(super) fn delete_collection(&mut self) -> Result<Answer, Refusal> {
        let options = self.delete_options()?;
        let selector = self.selector()?;
        let items = self.items(&selector)?;
        let list = self.list_of(items.clone());
        for item in items {
            if let Some(name) = item["metadata"]["name"].as_str() {
                self.delete(name, &options)?;
            }
        }
        Ok(Answer::Document(StatusCode::OK, list))
    }
}

/// Deletes an object as the garbage collector does.
pub(crate) fn mark_deleted(store: &mut Store, key: &ObjectKey, object: &Value, foreground: bool) {
    let mut changed = object.clone();
    let finalizers = finalizers(object, foreground.then_some("Foreground"));
    if key.0 == "namespaces" && !object["spec"]["finalizers"].is_null() {
        mark_terminating(&mut changed, store.time());
        store.put(key.clone(), changed);
        return;
    }
    if finalizers.is_empty() {
        store.remove(key);
        return;
    }
    let now = store.time();
    let metadata = &mut changed["metadata"];
    metadata["finalizers"] = finalizers.into();
    count_generation(metadata);
    metadata["deletionTimestamp"] = now.into();
    metadata["deletionGracePeriodSeconds"] = 0.into();
    store.put(key.clone(), changed);
}

/// Starts the deletion of a namespace, whose content goes first.
fn mark_terminating(namespace: &mut Value, now: String) {
    namespace["metadata"]["deletionTimestamp"] = now.into();
    namespace["status"]["phase"] = "Terminating".into();
}

/// The finalizers of an object after a deletion with this propagation.
fn finalizers(object: &Value, propagation: Option<&str>) -> Vec<Value> {
    let all = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let first = all.iter().filter_map(Value::as_str).find(|name| matches!(*name, "orphan" | "foregroundDeletion"));
    let added = match propagation {
        Some("Orphan") => Some("orphan"),
        Some("Foreground") => Some("foregroundDeletion"),
        Some(_) => None,
        None => first,
    };
    let rest = all.iter().filter(|name| *name != "orphan" && *name != "foregroundDeletion").cloned();
    let new: Vec<Value> = rest.chain(added.map(Value::from)).collect();
    // The order changes only with the content.
    if new.len() == all.len() && new.iter().all(|name| all.contains(name)) { all } else { new }
}

fn count_generation(metadata: &mut Value) {
    if let Some(generation) = metadata["generation"].as_i64().filter(|generation| *generation > 0) {
        metadata["generation"] = (generation + 1).into();
    }
}
