//! CEL rules of CRDs: `x-kubernetes-validations`.

use kube_cel::{CompiledSchema, ErrorKind, Validator, compile_schema};
use serde_json::Value;

use crate::response::{FieldError, Refusal};

/// The compiled rules of a schema.
#[derive(Debug)]
pub(crate) struct Rules(CompiledSchema);

impl Rules {
    /// Compiles the rules of a schema, if it has any.
    pub(crate) fn compile(schema: &Value) -> Result<Option<Self>, Refusal> {
        if !has_rules(schema)? {
            return Ok(None);
        }
        let compiled = compile_schema(schema);
        if compiled.has_errors() {
            return Err(Refusal::unsupported("CEL rules that do not compile"));
        }
        Ok(Some(Self(compiled)))
    }

    /// Collects the broken rules, unless an earlier error keeps the server from checking them.
    pub(crate) fn validate(
        &self,
        object: &Value,
        old: Option<&Value>,
        errors: &mut Vec<FieldError>,
    ) -> Result<(), Refusal> {
        let blocking = [
            "FieldValueNotSupported",
            "FieldValueRequired",
            "FieldValueTooLong",
            "FieldValueTooMany",
            "FieldValueTypeInvalid",
        ];
        if errors.iter().any(|error| blocking.contains(&error.reason)) {
            let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                          errors to complete validation";
            errors.push(FieldError::invalid("<nil>", &Value::Null, detail));
            return Ok(());
        }
        let Err(broken) = Validator::new().validate_compiled(&self.0, object, old) else { return Ok(()) };
        for error in broken.into_vec() {
            if error.kind != ErrorKind::ValidationFailure {
                return Err(Refusal::unsupported(&format!("the CEL rule `{}`: {}", error.rule, error.message)));
            }
            // The text has no value for an object.
            if !at(object, &error.field_path).is_object() {
                return Err(Refusal::unsupported("the error for a CEL rule of a value that is not an object"));
            }
            let field = if error.field_path.is_empty() { "<nil>" } else { &error.field_path };
            let message = format!("Invalid value: {}", error.message);
            errors.push(FieldError { reason: "FieldValueInvalid", field: field.to_owned(), message });
        }
        Ok(())
    }
}

/// The value at a path such as `spec.parts[0]`.
fn at(object: &Value, path: &str) -> Value {
    let names = path.split(['.', '[', ']']).filter(|name| !name.is_empty());
    let found = names.fold(object, |value, name| match name.parse::<usize>() {
        Ok(index) if value.is_array() => &value[index],
        _ => &value[name],
    });
    found.clone()
}

/// Returns true if a schema has rules. Rules with more than a message are refused.
fn has_rules(schema: &Value) -> Result<bool, Refusal> {
    let mut found = false;
    match schema {
        Value::Object(map) => {
            for (keyword, value) in map {
                if keyword != "x-kubernetes-validations" {
                    found |= has_rules(value)?;
                    continue;
                }
                for rule in value.as_array().into_iter().flatten().filter_map(Value::as_object) {
                    found = true;
                    if let Some(option) = rule.keys().find(|option| !matches!(option.as_str(), "rule" | "message")) {
                        return Err(Refusal::unsupported(&format!("`{option}` of a CEL rule")));
                    }
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                found |= has_rules(value)?;
            }
        }
        _ => {}
    }
    Ok(found)
}
