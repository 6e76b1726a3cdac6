//! Where in a CRD schemas are: a key anywhere else, such as in a default, is data.

use serde_json::{Map, Value};

/// Keys of a schema whose value is a schema, or a list of schemas.
pub(crate) const NESTED: [&str; 6] = ["items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"];
/// Keys of a schema whose value has schemas by name.
const NAMED: [&str; 3] = ["properties", "patternProperties", "definitions"];

/// Changes each schema of a CRD, from the outside in.
pub(crate) fn edit(crd: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    let versions = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            descend(schema, change);
        }
    }
}

fn descend(schema: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    if let Value::Array(schemas) = schema {
        for schema in schemas {
            descend(schema, change);
        }
        return;
    }
    let Value::Object(schema) = schema else { return };
    change(schema);
    for key in NESTED {
        if let Some(nested) = schema.get_mut(key) {
            descend(nested, change);
        }
    }
    for key in NAMED {
        let named = schema.get_mut(key).and_then(Value::as_object_mut);
        for schema in named.into_iter().flat_map(Map::values_mut) {
            descend(schema, change);
        }
    }
}
