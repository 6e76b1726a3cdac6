//! Fields that no schema lists, for `fieldValidation=Strict`.

use serde_json::Value;

use super::{Node, Shape};
use crate::resource::{self, Resource};

/// Returns the paths of the fields of an object that its kind does not have.
pub(crate) fn unknown(resource: &Resource, object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if !resource.custom {
        collect(&resource.schema, object, "", &mut found);
        return found;
    }
    collect(&resource::metadata(), &object["metadata"], "metadata", &mut found);
    let mut rest = object.clone();
    if let Some(map) = rest.as_object_mut() {
        map.remove("metadata");
    }
    collect(&resource.schema, &rest, "", &mut found);
    found
}

fn collect(node: &Node, value: &Value, path: &str, found: &mut Vec<String>) {
    match (&node.shape, value) {
        (Shape::Object { properties, additional, .. }, Value::Object(map)) => {
            // A time or a set of fields has no properties here.
            if properties.is_empty() && additional.is_none() && node.name.is_some() {
                return;
            }
            for (name, value) in map {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match node.field(name) {
                    (Some(field), named) if named || !node.preserve => collect(field, value, &below, found),
                    (Some(_), _) => {}
                    (None, _) => found.push(below),
                }
            }
        }
        (Shape::Array { items, .. }, Value::Array(values)) => {
            for (at, value) in values.iter().enumerate() {
                collect(items, value, &format!("{path}[{at}]"), found);
            }
        }
        _ => {}
    }
}
