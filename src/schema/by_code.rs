//! Builds the schemas that handwritten code returns.

use schemars::Schema;
use serde_json::Value;

use super::recipe::{Recipe, SchemaChange, SchemaEdit};
use super::slot::Schemas;

impl Recipe {
    /// Evaluates the recipe. Panics where the original code panics.
    pub(super) fn run(&self, schemas: &mut Schemas<'_, '_>) -> Value {
        match self {
            Recipe::Json(value) => value.clone(),
            Recipe::Object(entries) => {
                Value::Object(entries.iter().map(|(key, value)| (key.clone(), value.run(schemas))).collect())
            }
            Recipe::Array(items) => Value::Array(items.iter().map(|item| item.run(schemas)).collect()),
            Recipe::Subschema(ty) => schemas.subschema(*ty).to_value(),
            Recipe::Schema(ty) => schemas.schema(*ty).to_value(),
            Recipe::Edited(base, edits) => {
                let mut value = base.run(schemas);
                for edit in edits {
                    edit.apply(&mut value, schemas);
                }
                value
            }
        }
    }

    pub(super) fn schema(&self, schemas: &mut Schemas<'_, '_>) -> Schema {
        Schema::try_from(self.run(schemas)).expect("a schema is an object or a boolean")
    }
}

impl SchemaEdit {
    fn apply(&self, value: &mut Value, schemas: &mut Schemas<'_, '_>) {
        let change = match &self.change {
            SchemaChange::Insert(key, value) => (key, Some(value.run(schemas))),
            SchemaChange::Remove(key) => (key, None),
        };
        if self.ensure
            && let Value::Bool(all) = value
        {
            let mut schema = Schema::from(*all);
            schema.ensure_object();
            *value = schema.to_value();
        }
        match (value.as_object_mut(), change) {
            (Some(object), (key, Some(value))) => drop(object.insert(key.clone(), value)),
            (Some(object), (key, None)) => drop(object.remove(key)),
            (None, _) => assert!(!self.ensure, "the schema has no object that its code changes"),
        }
    }
}
