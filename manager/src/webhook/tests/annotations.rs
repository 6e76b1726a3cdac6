//! Properties of objects with saved data that somebody wrote; also used by a fuzzer.

use kube::Resource;
use kube::core::CustomResourceExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::kinds::{Thing, v1alpha1, v1beta1, v2alpha1};
use crate::webhook::conversion::Conversions;
use crate::webhook::lens::{schema_of, violations};

type Checked = Result<(), String>;

struct Version {
    name: &'static str,
    schema: Value,
    /// Decodes and encodes an object with the type.
    typed: fn(&Value) -> Result<Value, String>,
}

impl Version {
    fn of<K>(name: &'static str) -> Self
    where
        K: CustomResourceExt + DeserializeOwned + Resource<DynamicType = ()> + Serialize,
    {
        let typed = |object: &Value| {
            let decoded = serde_json::from_value::<K>(object.clone());
            let encoded = decoded.and_then(serde_json::to_value);
            let mut encoded = encoded.map_err(|error| error.to_string())?;
            without_nulls(&mut encoded);
            Ok(encoded)
        };
        Self {
            name,
            schema: schema_of::<K>(),
            typed,
        }
    }

    /// Returns an error if an object does not fit the type and the schema.
    fn fits(&self, object: &Value) -> Checked {
        (self.typed)(object)?;
        match violations(&self.schema, object) {
            refused if refused.is_empty() => Ok(()),
            refused => Err(format!("the schema refuses {refused:?}")),
        }
    }
}

/// All versions of a kind, and their conversions.
pub(crate) struct Kind {
    conversions: Conversions,
    versions: [Version; 4],
}

impl Kind {
    pub(crate) fn new() -> Self {
        let mut conversions = Conversions::default();
        conversions.hub::<Thing>();
        conversions.spoke::<v1alpha1::Thing>();
        conversions.spoke::<v1beta1::Thing>();
        conversions.spoke::<v2alpha1::Thing>();
        let versions = [
            Version::of::<Thing>("v1"),
            Version::of::<v1alpha1::Thing>("v1alpha1"),
            Version::of::<v1beta1::Thing>("v1beta1"),
            Version::of::<v2alpha1::Thing>("v2alpha1"),
        ];
        Self {
            conversions,
            versions,
        }
    }

    /// Converts objects with this text in their annotation between all versions. An object that fits without the
    /// annotation must fit with it, and must convert back to itself. Returns the number of objects that the annotation
    /// completed.
    pub(crate) fn check(&self, text: &str) -> Result<usize, String> {
        let mut restored = 0;
        for from in &self.versions {
            for object in self.objects(from.name, text) {
                // The API server also sets the defaults of the type.
                let Some(object) = from.fits(&object).and_then(|()| (from.typed)(&object)).ok()
                else {
                    continue;
                };
                for to in self.versions.iter().filter(|to| to.name != from.name) {
                    let used = self.converted(&object, from, to, text);
                    let context =
                        |error| format!("{} to {}: {error}: {object}", from.name, to.name);
                    restored += usize::from(used.map_err(context)?);
                }
            }
        }
        Ok(restored)
    }

    fn converted(
        &self,
        object: &Value,
        from: &Version,
        to: &Version,
        text: &str,
    ) -> Result<bool, String> {
        let plain = self.convert(object.clone(), to.name);
        let mut crafted = object.clone();
        crafted["metadata"]["annotations"] = json!({ "example.com/conversion-data": text });
        let converted = self.convert(crafted, to.name);
        let (plain, converted) = match (plain, converted) {
            (Err(_), Err(_)) => return Ok(false),
            // Only the annotation has the required fields of this version.
            (Err(_), Ok(converted)) => (None, converted),
            (Ok(plain), converted) => (Some(plain), converted?),
        };
        if plain.as_ref().is_none_or(|plain| to.fits(plain).is_ok()) {
            let fits = to.fits(&converted);
            fits.map_err(|error| format!("{error} in {converted}"))?;
        }
        let back = self.convert(converted.clone(), from.name)?;
        if parts(&back) != parts(object) {
            return Err(format!("{back} came back from {converted}"));
        }
        Ok(plain.is_none_or(|plain| parts(&plain) != parts(&converted)))
    }

    /// Returns an object of this version, and objects that match the saved data.
    fn objects(&self, version: &str, text: &str) -> Vec<Value> {
        let spec = match version {
            "v1alpha1" => json!({ "size": "1", "ports": [1, 2] }),
            "v2alpha1" => json!({ "mode": "fast" }),
            _ => json!({ "replicas": 1, "ports": [{ "number": 1 }, { "number": 2 }] }),
        };
        let mut objects = vec![object(version, spec, Value::Null)];
        let saved: Value = serde_json::from_str(text).unwrap_or_default();
        for other in &self.versions {
            let [spec, status] = ["spec", "status"].map(|part| saved[other.name][part].clone());
            let saved = object(other.name, spec, status);
            if other.fits(&saved).is_ok()
                && let Ok(mut object) = self.convert(saved, version)
            {
                if let Some(metadata) = object["metadata"].as_object_mut() {
                    metadata.remove("annotations");
                }
                objects.push(object);
            }
        }
        objects
    }

    fn convert(&self, object: Value, version: &str) -> Result<Value, String> {
        let review = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": { "uid": "1", "desiredAPIVersion": format!("example.com/{version}"), "objects": [object] },
        });
        let answer = self.conversions.answer(review.to_string().as_bytes())?;
        let mut answer: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        match answer.pointer_mut("/response/convertedObjects/0") {
            Some(object) => Ok(object.take()),
            None => Err(answer["response"]["result"]["message"].to_string()),
        }
    }
}

fn object(version: &str, spec: Value, status: Value) -> Value {
    let mut object = json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Thing",
        "metadata": { "name": "x", "namespace": "a" }, "spec": spec, "status": status,
    });
    without_nulls(&mut object);
    object
}

/// Removes nulls, as the API server does.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

fn parts(object: &Value) -> [&Value; 2] {
    [&object["spec"], &object["status"]]
}
