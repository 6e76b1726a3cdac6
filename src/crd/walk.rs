//! Walks the schema positions of a CRD. A key elsewhere, such as in a default, is data.

use std::fmt;

use serde_json::{Map, Value};

/// Keys with a schema or a list of schemas.
pub(crate) const NESTED: [&str; 6] = ["items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"];
/// Keys with a map of schemas.
const NAMED: [&str; 3] = ["properties", "patternProperties", "definitions"];

/// A step from the schema of a value to that of a part.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchemaStep {
    /// A field of an object.
    Field(String),
    /// The items of a list.
    Items,
    /// The values of a map.
    Values,
}

/// The displayed path from the root schema to a subschema: `spec.ports[].labels.*`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaPath(Vec<SchemaStep>);

impl SchemaPath {
    /// Appends a step.
    #[must_use]
    pub fn then(&self, step: SchemaStep) -> Self {
        Self(self.0.iter().cloned().chain([step]).collect())
    }

    /// Appends a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        self.then(SchemaStep::Field(name.to_owned()))
    }

    /// The field names of the path.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|step| match step {
            SchemaStep::Field(name) => Some(name.as_str()),
            SchemaStep::Items | SchemaStep::Values => None,
        })
    }
}

impl fmt::Display for SchemaPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                SchemaStep::Field(name) if index == 0 => f.write_str(name)?,
                SchemaStep::Field(name) => write!(f, ".{name}")?,
                SchemaStep::Items => f.write_str("[]")?,
                SchemaStep::Values => f.write_str(".*")?,
            }
        }
        Ok(())
    }
}

/// Changes each schema of a CRD in pre-order. `change` gets the version, the path and the schema.
pub(crate) fn edit(crd: &mut Value, change: &mut impl FnMut(&str, &SchemaPath, &mut Map<String, Value>)) {
    let versions = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        let name = version["name"].as_str().unwrap_or_default().to_owned();
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            descend(schema, &SchemaPath::default(), &mut |path, schema| change(&name, path, schema));
        }
    }
}

fn descend(schema: &mut Value, path: &SchemaPath, change: &mut impl FnMut(&SchemaPath, &mut Map<String, Value>)) {
    if let Value::Array(schemas) = schema {
        for schema in schemas {
            descend(schema, path, change);
        }
        return;
    }
    let Value::Object(schema) = schema else { return };
    change(path, schema);
    for key in NESTED {
        if let Some(nested) = schema.get_mut(key) {
            match key {
                "items" => descend(nested, &path.then(SchemaStep::Items), change),
                "additionalProperties" => descend(nested, &path.then(SchemaStep::Values), change),
                _ => descend(nested, path, change),
            }
        }
    }
    for key in NAMED {
        let named = schema.get_mut(key).and_then(Value::as_object_mut);
        for (name, schema) in named.into_iter().flatten() {
            descend(schema, &path.field(name), change);
        }
    }
}
