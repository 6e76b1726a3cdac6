//! The subresource `scale`: the number of replicas of an object as a `Scale`, and its owners.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::Call;
use crate::apply::managed::ManagedFields;
use crate::apply::{self, Writer};
use crate::patch;
use crate::resource::{KindVersions, ScalePaths, rules, scale_kind};
use crate::response::{Answer, FieldError, Refusal};

const SCALE: &str = "autoscaling/v1";

impl Call<'_> {
    /// Handles a request to the subresource `scale`.
    pub(super) fn scale(&mut self, paths: &ScalePaths) -> Result<Answer, Refusal> {
        // The body of an update is read before the object is looked up.
        let (sent, live) = match self.request.method {
            Method::PUT => (Some(self.read_scale(self.request.document()?)?), self.live()?),
            Method::GET | Method::PATCH => (None, self.live()?),
            _ => return Err(Refusal::method_not_allowed()),
        };
        let found = paths.replicas(&live).is_some() || !self.resource.custom;
        if self.request.method == Method::GET {
            if !found {
                let message = format!(
                    "Internal error occurred: the spec replicas field {:?} does not exist",
                    format!(".{}", paths.spec.join("."))
                );
                let causes =
                    json!({ "causes": [{ "message": message.trim_start_matches("Internal error occurred: ") }] });
                return Err(Refusal::new(500, "InternalError", message, causes));
            }
            return Ok(Answer::Document(StatusCode::OK, paths.scale_of(&live, self.resource.custom)));
        }
        if !found {
            return Err(Refusal::unsupported("a new number of replicas of an object that has none"));
        }
        let parents = ManagedFields::read(&live["metadata"]["managedFields"]);
        let mut old = paths.scale_of(&live, self.resource.custom);
        to_scale(&parents, &self.kind).write(&mut old);
        let scale = self.new_scale(sent, &old)?;
        if scale["spec"]["replicas"].as_i64().is_some_and(|replicas| replicas < 0) && !self.resource.custom {
            let replicas = &scale["spec"]["replicas"];
            let errors = [FieldError::invalid("spec.replicas", replicas, "must be greater than or equal to 0")];
            return Err(Refusal::invalid("autoscaling", "Scale", &self.target.name, &errors));
        }
        if scale["metadata"]["uid"].as_str().is_some_and(|uid| !uid.is_empty() && live["metadata"]["uid"] != uid) {
            return Err(Refusal::unsupported("the error for a Scale with another UID"));
        }
        let mut object = (*live).clone();
        let (last, parents_of) = paths.spec.split_last().unwrap_or((&paths.status[0], &[]));
        let spec = parents_of.iter().fold(&mut object, |value, field| &mut value[field]);
        spec[last] = scale["spec"]["replicas"].as_i64().unwrap_or_default().into();
        if let Some(version) = scale["metadata"]["resourceVersion"].as_str().filter(|version| !version.is_empty()) {
            object["metadata"]["resourceVersion"] = version.into();
        }
        let entries = ManagedFields::read(&scale["metadata"]["managedFields"]);
        self.to_parent(&parents, &entries, &mut object);
        match self.update(object, &live, false)? {
            Answer::Document(code, object) => Ok(Answer::Document(code, paths.scale_of(&object, self.resource.custom))),
            answer @ Answer::Watch(_) => Ok(answer),
        }
    }

    /// Reads a `Scale`, and checks its name and namespace.
    fn read_scale(&self, mut scale: Value) -> Result<Value, Refusal> {
        for (field, expected) in [("apiVersion", SCALE), ("kind", "Scale")] {
            // Without a kind, the server forgets the owners of the replicas of a custom object.
            let is_known = scale[field].as_str().map_or(!self.resource.custom, |found| found == expected);
            if !is_known {
                return Err(Refusal::unsupported(&format!("a Scale whose `{field}` is {}", scale[field])));
            }
        }
        scale_kind().storage().read(&mut scale)?;
        self.check_name(&scale)?;
        self.set_namespace(&mut scale)?;
        Ok(scale)
    }

    /// The `Scale` after the request, with its owners. An update has sent it.
    fn new_scale(&self, sent: Option<Value>, old: &Value) -> Result<Value, Refusal> {
        let kind = scale_kind();
        let schema = &kind.storage().schema;
        let writer = Writer { api_version: SCALE, reset: &[], kind: &kind, ..self.writer(SCALE) };
        let mut scale = match sent {
            Some(sent) => sent,
            None => {
                let media = self.request.content_type.as_str();
                if media.starts_with("application/apply-patch") {
                    return Err(Refusal::unsupported("server-side apply of a Scale"));
                }
                if !patch::is_media_type(media) {
                    return Err(Refusal::unsupported("the error for the media type of a patch of a Scale"));
                }
                self.read_scale(patch::apply(schema, media, old, &self.request.document()?)?)?
            }
        };
        apply::update(schema, old, &mut scale, &writer)?;
        Ok(scale)
    }

    /// Writes the owners of an object whose `Scale` has these owners.
    fn to_parent(&self, parents: &ManagedFields, entries: &ManagedFields, object: &mut Value) {
        let mut all = ManagedFields::default();
        let mut left = entries.clone();
        for (manager, owned) in parents.iter() {
            let Some(resource) = self.kind.at(&manager.api_version) else { continue };
            let mut set = owned.set.clone();
            let path = resource.scale.as_ref().map(ScalePaths::spec).filter(|path| set.has(path));
            if let Some(path) = path {
                if left.get(manager).is_some() {
                    left.retain(|other| other != manager);
                } else {
                    set.remove(&path);
                }
            }
            if !set.is_empty() {
                all.put(manager.clone(), set, owned.time.clone());
            }
        }
        let path = self.resource.scale.as_ref().map(ScalePaths::spec).unwrap_or_default();
        for (manager, _) in left.iter().filter(|(_, owned)| owned.set.has(&["spec", "replicas"])) {
            let time = parents.get(manager).and_then(|owned| owned.time.clone());
            all.put(manager.clone(), apply::fields::FieldSet::of(&path), time);
        }
        all.write(object);
        let entries = object["metadata"].get_mut("managedFields").and_then(Value::as_array_mut);
        for entry in entries.into_iter().flatten() {
            if entry["apiVersion"] == SCALE {
                entry["apiVersion"] = self.resource.api_version().into();
            }
        }
    }
}

/// The owners of the replicas, as owners of a `Scale`.
fn to_scale(parents: &ManagedFields, kind: &KindVersions) -> ManagedFields {
    let mut owners = ManagedFields::default();
    for (manager, owned) in parents.iter() {
        let paths = kind.at(&manager.api_version).and_then(|resource| resource.scale.as_ref());
        if paths.is_some_and(|paths| owned.set.has(&paths.spec())) {
            let mut manager = manager.clone();
            manager.api_version = SCALE.to_owned();
            owners.put(manager, apply::fields::FieldSet::of(&["spec", "replicas"]), owned.time.clone());
        }
    }
    owners
}

impl ScalePaths {
    fn spec(&self) -> Vec<&str> {
        self.spec.iter().map(String::as_str).collect()
    }

    /// Collects the errors of the fields of a custom object. A new status leaves the rest of the object as it was.
    pub(super) fn validate(&self, object: &Value, status: bool, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
        let numbers = [&self.status].into_iter().chain((!status).then_some(&self.spec));
        for path in numbers {
            let (last, parents) = path.split_last().map_or(("", &[][..]), |(last, parents)| (last.as_str(), parents));
            let parent = parents.iter().fold(object, |value, field| &value[field]);
            let name = format!(".{}", path.join("."));
            match parent.get(last) {
                None if parent.is_null() || parent.is_object() => {}
                Some(Value::Null) => {
                    let detail = format!("{name} accessor error: <nil> is of the type <nil>, expected int64");
                    errors.push(FieldError::invalid(name, &0.into(), &detail));
                }
                Some(value) if value.as_i64().is_some_and(|value| (0..=i64::from(i32::MAX)).contains(&value)) => {}
                Some(value) if value.as_i64().is_some_and(|value| value < 0) => {
                    errors.push(FieldError::invalid(name, value, "should be a non-negative integer"));
                }
                _ => return Err(Refusal::unsupported(&format!("the error for the value of `{name}`"))),
            }
        }
        let selector = value_at(object, &self.selector);
        if !selector.is_null() && !selector.is_string() {
            return Err(Refusal::unsupported("the error for a selector that is not a text"));
        }
        Ok(())
    }

    fn replicas(&self, object: &Value) -> Option<i64> {
        value_at(object, &self.spec).as_i64()
    }

    /// The `Scale` of an object.
    fn scale_of(&self, object: &Value, custom: bool) -> Value {
        let mut metadata = json!({});
        for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            rules::set(&mut metadata, field, object["metadata"][field].clone());
        }
        let replicas = self.replicas(object).unwrap_or_default();
        let mut status = json!({ "replicas": value_at(object, &self.status).as_i64().unwrap_or_default() });
        let selector = if custom {
            value_at(object, &self.selector).as_str().unwrap_or_default().to_owned()
        } else {
            let labels = object["spec"]["selector"]["matchLabels"].as_object().into_iter().flatten();
            let mut labels: Vec<String> =
                labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
            labels.sort();
            labels.join(",")
        };
        if !selector.is_empty() {
            status["selector"] = selector.into();
        }
        let spec = if replicas == 0 { json!({}) } else { json!({ "replicas": replicas }) };
        json!({ "kind": "Scale", "apiVersion": SCALE, "metadata": metadata, "spec": spec, "status": status })
    }
}

fn value_at<'a>(object: &'a Value, path: &[String]) -> &'a Value {
    if path.is_empty() {
        return &Value::Null;
    }
    path.iter().fold(object, |value, field| &value[field])
}
