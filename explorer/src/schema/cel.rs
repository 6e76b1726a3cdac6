//! CEL rules of CRDs: `x-kubernetes-validations`.

use kube_cel::{CompiledSchema, ErrorKind, Validator, compile_schema};
use serde_json::{Map, Value};

use crate::response::{FieldError, Refusal};

/// The compiled rules of a schema.
#[derive(Debug)]
pub(crate) struct Rules {
    compiled: CompiledSchema,
    /// The texts of the rules with a `fieldPath`.
    with_path: Vec<String>,
}

impl Rules {
    /// Compiles the rules of a schema, if it has any.
    pub(crate) fn compile(schema: &Value) -> Result<Option<Self>, Refusal> {
        let mut found = Vec::new();
        collect(schema, false, &mut found)?;
        if found.is_empty() {
            return Ok(None);
        }
        let compiled = compile_schema(schema);
        if has_errors(&compiled) {
            return Err(Refusal::unsupported("CEL rules that do not compile"));
        }
        let text = |rule: &&Map<String, Value>| rule.get("rule").and_then(Value::as_str).unwrap_or_default().to_owned();
        let (with_path, others): (Vec<_>, Vec<_>) = found.iter().partition(|rule| rule.contains_key("fieldPath"));
        let with_path: Vec<String> = with_path.iter().map(text).collect();
        if others.iter().any(|rule| with_path.contains(&text(rule))) {
            return Err(Refusal::unsupported("a CEL rule that stands with and without `fieldPath`"));
        }
        Ok(Some(Self { compiled, with_path }))
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
        let Err(broken) = Validator::new().validate_compiled(&self.compiled, object, old) else { return Ok(()) };
        let mut broken = broken.into_vec();
        // The library visits fields in the order of a hash table.
        broken.sort_by(|one, other| one.field_path.cmp(&other.field_path));
        for error in broken {
            if error.kind != ErrorKind::ValidationFailure {
                return Err(Refusal::unsupported(&format!("the CEL rule `{}`: {}", error.rule, error.message)));
            }
            let path = error.field_path.trim_start_matches('.');
            let is_elsewhere = self.with_path.contains(&error.rule);
            let value = if is_elsewhere { Value::Null } else { at(object, path) };
            if value.is_null() && !is_elsewhere {
                // Rules do not apply to a null.
                continue;
            }
            let detail = match error.message.strip_prefix("failed rule: ") {
                Some(rule) if rule == error.rule => format!("failed rule: {}", rule.trim()),
                _ => error.message.trim().to_owned(),
            };
            if detail.is_empty() || (detail.contains('\n') && !detail.starts_with("failed rule: ")) {
                return Err(Refusal::unsupported("a `messageExpression` whose result is empty or has several lines"));
            }
            let field = if path.is_empty() { "<nil>" } else { path };
            errors.push(field_error(field, &value, &detail, error.reason.as_deref())?);
        }
        Ok(())
    }
}

/// The error of a broken rule. The text has no value for an object or a list.
fn field_error(field: &str, value: &Value, detail: &str, reason: Option<&str>) -> Result<FieldError, Refusal> {
    let is_scalar = !value.is_null() && !value.is_object() && !value.is_array();
    let of = |reason: &'static str, message: String| FieldError { reason, field: field.to_owned(), message };
    Ok(match reason.unwrap_or("FieldValueInvalid") {
        "FieldValueInvalid" if is_scalar => FieldError::invalid(field, value, detail),
        "FieldValueInvalid" => of("FieldValueInvalid", format!("Invalid value: {detail}")),
        "FieldValueForbidden" => FieldError::forbidden(field, detail),
        "FieldValueRequired" => FieldError::required(field, detail),
        "FieldValueDuplicate" if is_scalar => FieldError::duplicate(field, value),
        "FieldValueDuplicate" => of("FieldValueDuplicate", "Duplicate value".to_owned()),
        other => return Err(Refusal::unsupported(&format!("the reason {other} of a CEL rule"))),
    })
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

/// Returns true if a rule of the schema, or of one below it, does not compile.
fn has_errors(schema: &CompiledSchema) -> bool {
    schema.has_errors()
        || schema.properties.values().any(has_errors)
        || schema.items.as_deref().is_some_and(has_errors)
        || schema.additional_properties.as_deref().is_some_and(has_errors)
}

/// Collects the rules of a schema, and refuses those that the library does not treat as kube-apiserver does.
fn collect<'a>(schema: &'a Value, in_list: bool, found: &mut Vec<&'a Map<String, Value>>) -> Result<(), Refusal> {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten().filter_map(Value::as_object) {
        let known = ["rule", "message", "messageExpression", "reason", "fieldPath"];
        if let Some(option) = rule.keys().find(|option| !known.contains(&option.as_str())) {
            return Err(Refusal::unsupported(&format!("`{option}` of a CEL rule")));
        }
        if rule.get("fieldPath").and_then(Value::as_str).is_some_and(|path| path.contains('[')) {
            return Err(Refusal::unsupported("a `fieldPath` with brackets"));
        }
        // The library compares the items of two lists by their places.
        if in_list && rule["rule"].as_str().is_some_and(|text| text.contains("oldSelf")) {
            return Err(Refusal::unsupported("a CEL rule with `oldSelf` below a list"));
        }
        found.push(rule);
    }
    for property in schema["properties"].as_object().into_iter().flatten().map(|(_, property)| property) {
        collect(property, in_list, found)?;
    }
    if !schema["items"].is_null() {
        collect(&schema["items"], true, found)?;
    }
    let mut below = Vec::new();
    if schema["additionalProperties"].is_object() {
        collect(&schema["additionalProperties"], in_list, &mut below)?;
    }
    if below.is_empty() { Ok(()) } else { Err(Refusal::unsupported("CEL rules of the values of a map")) }
}
