//! Converts one object between two versions without loss.
//!
//! If the target cannot hold everything, the source is saved in an annotation. When the target comes back, its changes
//! are applied to the saved source. Saved values that violate the structural schema of the target are removed; CEL
//! rules and formats are not evaluated.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::Resource;
use kube::core::CustomResourceExt;
use regex::Regex;
use serde_json::{Map, Value, json};

use super::conversion::Spoke;
use super::typed;
use crate::object::Object;

/// Maximum number of values to remove from saved data. Beyond it, the saved data is dropped.
const REMOVED: usize = 32;

type Convert = fn(&Value) -> Result<Value, String>;
type Fill = fn(&Value) -> Option<Value>;

/// The conversions between two versions. Objects lack the parts that conversions do not decide.
#[derive(Clone)]
pub(super) struct Sides {
    there: Convert,
    back: Convert,
    /// Decodes and encodes an object with the type of the source.
    source: Convert,
    target: Convert,
    /// Fills missing required fields with zero values. Returns `None` if the object still does not decode.
    fill_source: Fill,
    fill_target: Fill,
    source_schema: Arc<Value>,
    target_schema: Arc<Value>,
}

impl Sides {
    /// Makes the conversions from the spoke to its hub and back.
    pub(super) fn of<S: Spoke>() -> Self {
        Self {
            there: |spoke| {
                encode(
                    &decode::<S>(spoke)?
                        .to_hub()
                        .map_err(|error| error.to_string())?,
                )
            },
            back: |hub| encode(&S::from_hub(&decode(hub)?).map_err(|error| error.to_string())?),
            source: |spoke| encode(&decode::<S>(spoke)?),
            target: |hub| encode(&decode::<S::Hub>(hub)?),
            fill_source: filled::<S>,
            fill_target: filled::<S::Hub>,
            source_schema: Arc::new(schema_of::<S>()),
            target_schema: Arc::new(schema_of::<S::Hub>()),
        }
    }

    pub(super) fn turned(self) -> Self {
        Self {
            there: self.back,
            back: self.there,
            source: self.target,
            target: self.source,
            fill_source: self.fill_target,
            fill_target: self.fill_source,
            source_schema: self.target_schema,
            target_schema: self.source_schema,
        }
    }
}

/// Converts `object` from the first to the second version. Its metadata stays, except for the annotation.
pub(super) fn convert(
    mut object: Value,
    [from, to]: [&str; 2],
    group: &str,
    sides: &Sides,
) -> Result<Value, String> {
    let annotation = format!("{group}/conversion-data");
    let metadata = object["metadata"].take();
    let mut metadata = match metadata {
        Value::Object(metadata) => metadata,
        _ => return Err("it has no metadata".to_owned()),
    };
    let mut saved = take(&mut metadata, &annotation);
    without_nulls(&mut object);
    object["metadata"] = Value::Object(metadata.clone());

    let becomes_this = |target: &Value| {
        let back = (sides.back)(&with(target, &metadata));
        back.is_ok_and(|back| kept(&object, &back, sides))
    };
    let target = saved.remove(to).filter(Value::is_object);
    let unchanged = |target: Option<&Value>| {
        let mut target = target?.clone();
        bound(&mut target, &BTreeSet::new(), sides).ok()?;
        becomes_this(&target).then_some(target)
    };
    let converted = match (sides.there)(&object) {
        Ok(converted) => Ok(converted),
        Err(error) => match unchanged(target.as_ref()) {
            // Nothing has changed, so no conversion is needed.
            Some(target) => Err(target),
            None => {
                let filled = (sides.fill_source)(&object);
                let converted = filled.and_then(|filled| (sides.there)(&filled).ok());
                Ok(converted.ok_or(error)?)
            }
        },
    };
    let converted = match (converted, target) {
        (Ok(converted), Some(target)) => restored(&target, &converted, &metadata, sides)
            .unwrap_or_else(|reason| {
                let [namespace, name] = ["namespace", "name"].map(|key| metadata.get(key));
                let [namespace, name] = [namespace, name].map(|text| text.and_then(Value::as_str));
                tracing::warn!(
                    namespace,
                    name,
                    annotation,
                    from,
                    to,
                    reason,
                    "Dropped the saved data of an object: it does not go with the object"
                );
                converted
            }),
        (Ok(converted), None) | (Err(converted), _) => converted,
    };
    saved.remove(from);
    if !becomes_this(&converted) {
        saved.insert(from.to_owned(), body(object.clone()));
    }
    if !saved.is_empty() {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        annotations[annotation] = json!(Value::Object(saved).to_string());
    }
    let mut converted = with(&converted, &metadata);
    converted["apiVersion"] = json!(format!("{group}/{to}"));
    converted["kind"] = object["kind"].take();
    Ok(converted)
}

/// Returns the saved target with the changes since. Returns an error if it cannot be used: it does not fit the type, or
/// it contradicts the object because somebody changed the annotation.
fn restored(
    target: &Value,
    converted: &Value,
    metadata: &Map<String, Value>,
    sides: &Sides,
) -> Result<Value, String> {
    let target = (sides.fill_target)(&with(target, metadata));
    let mut target = body(target.ok_or("it is not of the type")?);
    let round = |target: &Value| {
        let source = (sides.back)(&with(target, metadata))?;
        (sides.there)(&with(&source, metadata))
    };
    let before = round(&target)?;
    typed::carry(&mut target, &before, converted);
    bound(&mut target, &refused(converted, sides), sides)?;
    (sides.target)(&with(&target, metadata))?;
    if round(&target)? != *converted {
        return Err("it contradicts the object".to_owned());
    }
    Ok(target)
}

/// Removes saved values that the schema of the target refuses. Returns an error if that is not enough.
fn bound(target: &mut Value, own: &BTreeSet<String>, sides: &Sides) -> Result<(), String> {
    for _ in 0..REMOVED {
        let refused = refused(target, sides);
        let Some(place) = refused.difference(own).last() else {
            return Ok(());
        };
        tracing::warn!(place, "Dropped a saved value: the schema refuses it");
        remove_at(target, place);
    }
    Err("the schema refuses it".to_owned())
}

fn refused(target: &Value, sides: &Sides) -> BTreeSet<String> {
    violations(&sides.target_schema, target)
}

/// Returns true if `back` holds all of the object, in the form of its type.
fn kept(object: &Value, back: &Value, sides: &Sides) -> bool {
    let known = (sides.source)(object);
    known.is_ok_and(|known| known == *back && within(&body(object.clone()), &known))
}

fn within(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part.iter().all(|(key, part)| {
            let whole = whole.get(key);
            whole.is_some_and(|whole| within(part, whole))
        }),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len()
                && part
                    .iter()
                    .zip(whole)
                    .all(|(part, whole)| within(part, whole))
        }
        (part, whole) => part == whole,
    }
}

/// Removes the saved data from the metadata and returns it.
fn take(metadata: &mut Map<String, Value>, annotation: &str) -> Map<String, Value> {
    let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else {
        return Map::new();
    };
    let saved = annotations.remove(annotation);
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    let saved = saved.as_ref().and_then(Value::as_str);
    let saved = saved.and_then(|text| serde_json::from_str(text).ok());
    saved.unwrap_or_default()
}

fn with(body: &Value, metadata: &Map<String, Value>) -> Value {
    let mut object = body.clone();
    object["metadata"] = Value::Object(metadata.clone());
    object
}

fn body(mut object: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        for field in ["apiVersion", "kind", "metadata"] {
            fields.remove(field);
        }
    }
    object
}

fn decode<K: Object<DynamicType = ()>>(object: &Value) -> Result<K, String> {
    typed::decode(&of_type::<K>(object)).map_err(|error| error.to_string())
}

fn filled<K: Object<DynamicType = ()>>(object: &Value) -> Option<Value> {
    let mut object = of_type::<K>(object);
    typed::decode_filled::<K>(&mut object).ok()?;
    Some(object)
}

fn of_type<K: Object<DynamicType = ()>>(object: &Value) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = json!(K::api_version(&()));
    object["kind"] = json!(K::kind(&()));
    object
}

fn encode<K: Object>(object: &K) -> Result<Value, String> {
    let mut value = serde_json::to_value(object).map_err(|error| error.to_string())?;
    without_nulls(&mut value);
    Ok(body(value))
}

/// Removes fields that are null, which equal missing fields.
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

/// Returns the schema of this version of the kind; null if its CRD has none.
pub(super) fn schema_of<K: CustomResourceExt + Resource<DynamicType = ()>>() -> Value {
    let version = K::version(&());
    let mut versions = K::crd().spec.versions.into_iter();
    let schema = versions
        .find(|declared| declared.name == version)
        .and_then(|version| version.schema?.open_api_v3_schema);
    serde_json::to_value(schema).unwrap_or_default()
}

/// Returns the places that the schema refuses, as JSON pointers.
pub(super) fn violations(schema: &Value, value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    look(schema, value, "", &mut found);
    found
}

fn look(schema: &Value, value: &Value, pointer: &str, found: &mut BTreeSet<String>) {
    let fits = match value {
        Value::Null => schema["nullable"] == true || schema.get("type").is_none(),
        value => typed(schema, value) && bounded(schema, value) && combined(schema, value),
    };
    if !fits {
        found.insert(pointer.to_owned());
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let known = schema["properties"].get(key);
                if let Some(schema) = known.or_else(|| schema.get("additionalProperties")) {
                    let key = key.replace('~', "~0").replace('/', "~1");
                    look(schema, value, &format!("{pointer}/{key}"), found);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                look(&schema["items"], item, &format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}

fn typed(schema: &Value, value: &Value) -> bool {
    if schema["x-kubernetes-int-or-string"] == true {
        return value.is_string() || value.is_i64() || value.is_u64();
    }
    match schema["type"].as_str().unwrap_or_default() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    }
}

fn bounded(schema: &Value, value: &Value) -> bool {
    let number = |key: &str| schema[key].as_f64();
    let size = |least: &str, most: &str, size: usize| {
        let [least, most] = [least, most].map(|key| schema[key].as_u64());
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        least.is_none_or(|least| size >= least) && most.is_none_or(|most| size <= most)
    };
    let listed = schema["enum"]
        .as_array()
        .is_none_or(|values| values.contains(value));
    let fits = match value {
        Value::Number(value) => {
            let value = value.as_f64().unwrap_or_default();
            let open = |key: &str| schema[key] == true;
            number("minimum")
                .is_none_or(|least| value > least || value == least && !open("exclusiveMinimum"))
                && number("maximum")
                    .is_none_or(|most| value < most || value == most && !open("exclusiveMaximum"))
                && number("multipleOf").is_none_or(|step| (value / step).fract() == 0.0)
        }
        Value::String(text) => {
            let pattern = schema["pattern"].as_str().map(Regex::new);
            // A pattern that Rust cannot parse may be valid for the API server.
            let matches =
                pattern.is_none_or(|pattern| pattern.map_or(true, |it| it.is_match(text)));
            matches && size("minLength", "maxLength", text.chars().count())
        }
        Value::Array(items) => {
            let unique = schema["uniqueItems"] == true || schema["x-kubernetes-list-type"] == "set";
            size("minItems", "maxItems", items.len()) && (!unique || distinct(items))
        }
        Value::Object(fields) => {
            let required = schema["required"].as_array().into_iter().flatten();
            let mut required = required.filter_map(Value::as_str);
            size("minProperties", "maxProperties", fields.len())
                && required.all(|field| fields.contains_key(field))
        }
        Value::Bool(_) | Value::Null => true,
    };
    listed && fits
}

fn distinct(items: &[Value]) -> bool {
    let texts: BTreeSet<String> = items.iter().map(Value::to_string).collect();
    texts.len() == items.len()
}

fn combined(schema: &Value, value: &Value) -> bool {
    let fit = |schema: &&Value| violations(schema, value).is_empty();
    let count = |key: &str| {
        let schemas = schema[key].as_array()?;
        Some((schemas.iter().filter(fit).count(), schemas.len()))
    };
    count("allOf").is_none_or(|(fit, all)| fit == all)
        && count("anyOf").is_none_or(|(fit, _)| fit > 0)
        && count("oneOf").is_none_or(|(fit, _)| fit == 1)
        && schema.get("not").is_none_or(|schema| !fit(&schema))
}

/// Removes the innermost field on the way to the pointer.
fn remove_at(value: &mut Value, pointer: &str) {
    let mut pointer = pointer;
    while let Some((parent, key)) = pointer.rsplit_once('/') {
        let parent_value = value.pointer_mut(parent).and_then(Value::as_object_mut);
        let key = key.replace("~1", "/").replace("~0", "~");
        if parent_value.is_some_and(|fields: &mut Map<String, Value>| fields.remove(&key).is_some())
        {
            return;
        }
        pointer = parent;
    }
}
