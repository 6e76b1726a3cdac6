//! Converts one object between two versions without loss.
//!
//! If the target cannot hold everything, the source is saved in an annotation. When the target comes back, its changes
//! are applied to the saved source.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::version::Spoke;
use super::{lenient, merge, schema};
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
            source_schema: Arc::new(schema::of::<S>()),
            target_schema: Arc::new(schema::of::<S::Hub>()),
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
    merge::carry(&mut target, &before, converted);
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
        schema::remove(target, place);
    }
    Err("the schema refuses it".to_owned())
}

fn refused(target: &Value, sides: &Sides) -> BTreeSet<String> {
    schema::violations(&sides.target_schema, target)
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
    lenient::decode(&of_type::<K>(object)).map_err(|error| error.to_string())
}

fn filled<K: Object<DynamicType = ()>>(object: &Value) -> Option<Value> {
    let mut object = of_type::<K>(object);
    lenient::decode_filled::<K>(&mut object).ok()?;
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
