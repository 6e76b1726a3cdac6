//! Requests that write an object: POST, PUT and PATCH.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use super::Call;
use super::admission::shown_name;
use crate::apply::{self, Writer};
use crate::exploration::ObjectKey;
use crate::resource::rules;
use crate::response::{Answer, FieldError, Refusal};
use crate::schema::structural;
use crate::{metadata, patch};

impl Call<'_> {
    /// Refuses a namespace in the body that is not the one of the path, and sets a missing one.
    pub(super) fn set_namespace(&self, object: &mut Value) -> Result<(), Refusal> {
        if !self.resource.namespaced {
            rules::set(&mut object["metadata"], "namespace", Value::Null);
            return Ok(());
        }
        let found = object["metadata"]["namespace"].as_str().unwrap_or_default();
        if !found.is_empty() && found != self.target.namespace {
            let message = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(Refusal::bad_request(message));
        }
        object["metadata"]["namespace"] = self.target.namespace.clone().into();
        Ok(())
    }

    /// Refuses a namespace that does not exist, or that is being deleted, for a new object.
    fn check_namespace(&self, name: &str) -> Result<(), Refusal> {
        let namespace = &self.target.namespace;
        if !self.resource.namespaced {
            return Ok(());
        }
        let Some(found) = self.store.get(&namespace_key(namespace)) else {
            return Err(Refusal::not_found("", "namespaces", namespace));
        };
        if found["status"]["phase"] != "Terminating" {
            return Ok(());
        }
        let detail = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut refusal = Refusal::forbidden(&self.resource.group, &self.resource.plural, name, &detail);
        refusal.0["details"]["causes"] = json!([{
            "reason": "NamespaceTerminating", "message": format!("namespace {namespace} is being terminated"),
            "field": "metadata.namespace",
        }]);
        Err(refusal)
    }

    pub(super) fn writer<'b>(&'b self, api_version: &'b str) -> Writer<'b> {
        Writer {
            manager: self.request.manager(),
            api_version,
            subresource: &self.target.subresource,
            reset: self.resource.reset(&self.target.subresource),
            kind: &self.kind,
            now: &self.now,
        }
    }

    /// Creates an object. The writer of an applied object is already in its `managedFields`.
    pub(super) fn create(&mut self, mut object: Value, updates: bool) -> Result<Answer, Refusal> {
        self.set_namespace(&mut object)?;
        if updates {
            let version = self.resource.api_version();
            let schema = self.resource.schema.clone();
            apply::update(&schema, &rules::empty(&self.resource), &mut object, &self.writer(&version))?;
        }
        let shown = shown_name(&object).to_owned();
        self.check_namespace(&shown)?;
        let metadata = &mut object["metadata"];
        if metadata["name"].as_str().unwrap_or_default().is_empty()
            && let Some(prefix) = metadata["generateName"].as_str()
        {
            metadata["name"] = format!("{prefix}{}", self.store.new_suffix()).into();
        }
        if self.resource.qualified() == "services" && object["metadata"]["name"].as_str().unwrap_or_default().is_empty()
        {
            return Err(Refusal::unsupported("the error for a Service without a name"));
        }
        self.admit(&mut object, &shown)?;
        self.default_by_webhook(&mut object, None)?;
        let version = object["metadata"]["resourceVersion"].take();
        let metadata = &mut object["metadata"];
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "selfLink"] {
            rules::set(metadata, field, Value::Null);
        }
        metadata["creationTimestamp"] = self.now.clone().into();
        metadata["uid"] = self.store.new_uid().into();
        rules::prepare_create(&self.resource, &mut object);
        if !self.resource.custom && self.resource.plural == "jobs" {
            // Without labels of its own, a Job shares the map of its template, which has got the generated labels.
            let labels = &self.request.document()?["metadata"]["labels"];
            if labels.as_object().is_none_or(serde_json::Map::is_empty) {
                object["metadata"]["labels"] = object["spec"]["template"]["metadata"]["labels"].clone();
            }
        }
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let errors = self.validate(&object, None)?;
        if !errors.is_empty() {
            return Err(self.invalid(&name, &errors));
        }
        self.validate_by_webhook(None, Some(&object))?;
        if version.as_str().is_some_and(|version| !version.is_empty()) {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Refusal::new(500, "", message, Value::Null));
        }
        let key = self.key(&name);
        if let Some(existing) = self.store.get(&key) {
            let mut refusal = Refusal::already_exists(&self.resource.group, &self.resource.plural, &name);
            if !existing["metadata"]["deletionTimestamp"].is_null() {
                let message = format!("object is being deleted: {}", refusal.0["message"].as_str().unwrap_or_default());
                refusal.0["message"] = message.into();
            }
            return Err(refusal);
        }
        self.allocate(&mut object);
        let stored = self.put(key, object)?;
        Ok(Answer::Document(StatusCode::CREATED, (*stored).clone()))
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Result<Vec<FieldError>, Refusal> {
        let mut errors = Vec::new();
        let resource = &self.resource;
        // kube-apiserver checks the metadata of an update for all kinds, and again for each kind.
        if let Some(old) = old {
            let update = metadata::validate_update(object, old)?;
            errors.extend(metadata::validate(resource, object)?);
            // Disruption budgets and the status of CronJobs have no second check.
            let second = match resource.plural.as_str() {
                "poddisruptionbudgets" => resource.custom,
                "cronjobs" => resource.custom || self.target.subresource != "status",
                _ => true,
            };
            if second {
                errors.extend(update.clone());
            }
            errors.extend(update);
        }
        if resource.custom {
            if old.is_none() {
                errors.extend(metadata::validate(resource, object)?);
            }
            if let Some(rules) = &resource.name_rules {
                structural::validate(rules, &object["metadata"], "metadata", false, &mut errors);
            }
            structural::validate(&resource.schema, object, "", true, &mut errors);
            if let Some(scale) = &resource.scale {
                scale.validate(object, self.target.subresource == "status", &mut errors)?;
            }
            if old.is_none() {
                structural::duplicates(&resource.schema, object, "", &mut errors);
            } else if let Some(old) = old {
                let mut before = Vec::new();
                structural::duplicates(&resource.schema, old, "", &mut before);
                if before.is_empty() {
                    structural::duplicates(&resource.schema, object, "", &mut errors);
                }
            }
            if let Some(rules) = &resource.rules {
                rules.validate(object, old, &mut errors)?;
            }
            return Ok(errors);
        }
        let whole = matches!(
            resource.plural.as_str(),
            "configmaps"
                | "jobs"
                | "namespaces"
                | "secrets"
                | "serviceaccounts"
                | "pods"
                | "ingresses"
                | "persistentvolumeclaims"
                | "roles"
                | "rolebindings"
                | "clusterroles"
                | "clusterrolebindings"
        );
        if old.is_none() && resource.plural == "poddisruptionbudgets" {
            // Their metadata is checked after the rest.
            let found = rules::validate(resource, object, old)?;
            return if found.is_empty() { metadata::validate(resource, object) } else { Ok(found) };
        }
        if old.is_none() || (whole && self.target.subresource.is_empty()) {
            errors.extend(metadata::validate(resource, object)?);
        }
        let number = |field: &str| object["status"][field].as_i64().unwrap_or_default();
        if self.is_namespace() && self.target.subresource == "status" {
            errors.extend(rules::validate_phase(object));
        }
        if resource.plural == "jobs" && self.target.subresource == "status" && number("ready") > number("active") {
            return Err(Refusal::unsupported("the error for more ready than active Pods of a Job"));
        }
        if matches!(self.target.subresource.as_str(), "" | "scale") {
            errors.extend(rules::validate(resource, object, old)?);
        }
        Ok(errors)
    }

    pub(super) fn check_name(&self, object: &Value) -> Result<(), Refusal> {
        let (name, expected) = (object["metadata"]["name"].as_str().unwrap_or_default(), &self.target.name);
        if name.is_empty() {
            let message =
                format!("the name of the object ({expected} based on URL) was undeterminable: name must be provided");
            return Err(Refusal::bad_request(message));
        }
        if name != expected {
            let message = format!("the name of the object ({name}) does not match the name on the URL ({expected})");
            return Err(Refusal::bad_request(message));
        }
        Ok(())
    }

    pub(super) fn replace(&mut self) -> Result<Answer, Refusal> {
        let mut object = self.body()?;
        self.set_namespace(&mut object)?;
        self.check_name(&object)?;
        let name = self.target.name.clone();
        let found = self.find(&name)?;
        if found.is_none() && !self.resource.creates_on_put {
            return Err(self.not_found(&name));
        }
        let live = found.clone().unwrap_or_default();
        if let Some(uid) = object["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty())
            && live["metadata"]["uid"] != uid
        {
            let key = self.resource.key(&self.target.namespace, &name);
            // A dry run does not reach the storage, which adds the prefix.
            let is_dry = !self.request.option("dryRun").is_empty();
            let key = if is_dry { key.trim_start_matches("/registry") } else { &key };
            let detail = format!(
                "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: \
                 Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                live["metadata"]["uid"].as_str().unwrap_or_default(),
            );
            return Err(self.conflict(&name, &detail));
        }
        if found.is_none() {
            if !self.target.subresource.is_empty() {
                return Err(Refusal::unsupported("PUT of the status of a missing object"));
            }
            rules::set(&mut object["metadata"], "resourceVersion", Value::Null);
            return self.create(object, true);
        }
        let version = self.resource.api_version();
        let schema = self.resource.schema.clone();
        apply::update(&schema, &live, &mut object, &self.writer(&version))?;
        self.update(object, &live, true)
    }

    /// Stores the new form of an object.
    pub(super) fn update(&mut self, mut object: Value, live: &Value, replaces: bool) -> Result<Answer, Refusal> {
        let name = self.target.name.clone();
        match object["metadata"]["resourceVersion"].as_str().unwrap_or_default() {
            "" if self.resource.unconditional || !replaces => {}
            "" => {
                let errors =
                    [FieldError::invalid("metadata.resourceVersion", &0.into(), "must be specified for an update")];
                return Err(Refusal::invalid(&self.resource.group, &self.resource.plural, &name, &errors));
            }
            version if live["metadata"]["resourceVersion"] == version => {}
            _ => {
                let detail =
                    "the object has been modified; please apply your changes to the latest version and try again";
                return Err(self.conflict(&name, detail));
            }
        }
        object["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        self.default_by_webhook(&mut object, Some(live))?;
        rules::prepare_update(&self.resource, &self.target.subresource, &mut object, live);
        let (new, old) = (&mut object["metadata"], &live["metadata"]);
        if new["uid"].is_null() {
            new["uid"] = old["uid"].clone();
        }
        new["creationTimestamp"] = old["creationTimestamp"].clone();
        if !old["deletionTimestamp"].is_null() {
            new["deletionTimestamp"] = old["deletionTimestamp"].clone();
        }
        if new["deletionGracePeriodSeconds"].is_null() {
            rules::set(new, "deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"].clone());
        }
        for field in ["deletionTimestamp", "uid"] {
            if new[field].is_null() {
                rules::set(new, field, Value::Null);
            }
        }
        let errors = self.validate(&object, Some(live))?;
        if !errors.is_empty() {
            return Err(self.invalid(&name, &errors));
        }
        self.validate_by_webhook(Some(live), Some(&object))?;
        keep_times(&mut object, live);
        let key = self.key(&name);
        let deleted = !object["metadata"]["deletionTimestamp"].is_null();
        let grace = live["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or_default();
        let finalizers = object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty());
        let held = self.is_namespace() && !object["spec"]["finalizers"].is_null();
        if deleted && grace == 0 && !finalizers && !held {
            self.store.remove(&key);
            return Ok(Answer::Document(StatusCode::OK, object));
        }
        if self.is_stored(&key, &object, live)? {
            return Ok(Answer::Document(StatusCode::OK, object));
        }
        let stored = self.put(key, object)?;
        Ok(Answer::Document(StatusCode::OK, (*stored).clone()))
    }

    /// True if the stored form of an object would be the one that is stored.
    pub(super) fn is_stored(&self, key: &ObjectKey, object: &Value, live: &Value) -> Result<bool, Refusal> {
        if self.untidy || self.store.untidy.contains(key) {
            return Ok(false);
        }
        if self.kind.all().count() == 1 {
            // kube-apiserver encodes a new claim in another way than it reads it: the first update always writes.
            let claim = !self.resource.custom && self.resource.plural == "persistentvolumeclaims";
            let last = || self.store.history.iter().rev().find(|change| change.key == *key);
            let is_new = claim && last().is_some_and(|change| change.before.is_none());
            return Ok(object == live && !is_new);
        }
        let new = self.kind.write(object.clone())?;
        Ok(self.store.get(key).is_some_and(|stored| **stored == new))
    }

    pub(super) fn patch(&mut self) -> Result<Answer, Refusal> {
        let kind = self.request.content_type.clone();
        if kind == "application/apply-patch+yaml" || kind == "application/apply-patch+json" {
            return self.apply();
        }
        if self.request.query.contains_key("force") {
            let errors = [FieldError::forbidden("force", "may not be specified for non-apply patch")];
            return Err(Refusal::invalid("meta.k8s.io", "PatchOptions", "", &errors));
        }
        if self.resource.custom && kind == "application/strategic-merge-patch+json" {
            let message = "the body of the request was in an unknown format - accepted media types include: \
                           application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
            return Err(Refusal::new(415, "UnsupportedMediaType", message, Value::Null));
        }
        let document = match self.request.document() {
            Ok(document) => document,
            Err(refusal) => {
                self.live()?;
                return Err(refusal);
            }
        };
        // The media type is checked before the object is looked up.
        if !patch::is_media_type(&kind) {
            return Err(Refusal::new(415, "UnsupportedMediaType", "415: Unsupported Media Type", json!({})));
        }
        let live = self.live()?;
        let mut object = patch::apply(&self.resource.schema, &kind, &live, &document)?;
        if self.request.option("fieldValidation") == "Strict" && self.check_fields(&object).is_err() {
            return Err(Refusal::unsupported("the error for an unknown field in a patch"));
        }
        self.resource.read(&mut object)?;
        self.check_name(&object)?;
        self.set_namespace(&mut object)?;
        let version = self.resource.api_version();
        let schema = self.resource.schema.clone();
        apply::update(&schema, &live, &mut object, &self.writer(&version))?;
        self.update(object, &live, false)
    }

    fn apply(&mut self) -> Result<Answer, Refusal> {
        if self.request.option("fieldManager").is_empty() {
            let errors = [FieldError::required("fieldManager", "is required for apply patch")];
            return Err(Refusal::invalid("meta.k8s.io", "PatchOptions", "", &errors));
        }
        if self.request.option("fieldManager") == "kubectl" {
            return Err(Refusal::unsupported("the field manager kubectl"));
        }
        let config = self.request.document()?;
        if config["apiVersion"] != self.resource.api_version() || config["kind"] != self.resource.kind {
            return Err(Refusal::unsupported("the error for an applied object of another kind"));
        }
        if config["metadata"].get("managedFields").is_some() {
            return Err(Refusal::bad_request("metadata.managedFields must be nil"));
        }
        let found = self.find(&self.target.name)?;
        if found.is_none() && !self.target.subresource.is_empty() {
            if self.resource.creates_on_put {
                return Err(Refusal::unsupported("server-side apply of the status of a missing object"));
            }
            return Err(self.not_found(&self.target.name));
        }
        let mut empty = rules::empty(&self.resource);
        empty["apiVersion"] = self.resource.api_version().into();
        empty["kind"] = self.resource.kind.clone().into();
        let live = found.clone().unwrap_or_else(|| Arc::new(empty.clone()));
        let version = self.resource.api_version();
        let schema = self.resource.schema.clone();
        let force = self.request.flag("force");
        let (mut object, managed) = apply::apply(&schema, &empty, &live, &config, force, &self.writer(&version))?;
        self.untidy =
            self.resource.custom && self.target.subresource.is_empty() && has_empty_fields(&object["metadata"]);
        self.resource.complete(&mut object)?;
        managed.write(&mut object);
        self.check_name(&object)?;
        if found.is_none() {
            rules::set(&mut object["metadata"], "resourceVersion", Value::Null);
            return self.create(object, false);
        }
        self.set_namespace(&mut object)?;
        self.update(object, &live, false)
    }
}

fn namespace_key(name: &str) -> ObjectKey {
    ("namespaces".to_owned(), String::new(), name.to_owned())
}

/// True if the metadata has a list or a map without entries.
fn has_empty_fields(metadata: &Value) -> bool {
    ["annotations", "finalizers", "labels", "ownerReferences"].iter().any(|field| match &metadata[field] {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    })
}

/// Keeps the times of `managedFields` if nothing else changes.
fn keep_times(object: &mut Value, live: &Value) {
    let without = |value: &Value| {
        let mut value = value.clone();
        for entry in value["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
            rules::set(entry, "time", Value::Null);
        }
        value
    };
    if without(object) == without(live) {
        object["metadata"] = live["metadata"].clone();
    }
}
