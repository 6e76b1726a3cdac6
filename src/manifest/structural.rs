//! What the API server refuses or warns about, found in a CRD before the server sees it.
//!
//! The rules are those of `apiextensions.k8s.io/v1`: the structural schema
//! (<https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>),
//! and what its validation adds. Only what is certain is said; a CRD without a finding may still be refused.

use serde_json::{Map, Value};

use super::crd::Crd;
use super::schema::{NESTED, Path, Step};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};

/// The annotation in which `kubectl apply` keeps the last object it applied is an annotation like others: all of an object
/// together have at most this many bytes.
const APPLY_LIMIT: usize = 262_144;

/// Formats of strings that the API server knows. It also knows `date-time`, which it reads as `datetime`.
const STRING_FORMATS: [&str; 26] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8s-long-name",
    "k8s-short-name",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// Formats of numbers that the API server knows.
const NUMBER_FORMATS: [&str; 4] = ["double", "float", "int32", "int64"];

/// Types of the columns of `kubectl get`.
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];

/// Formats of the columns of `kubectl get`.
const COLUMN_FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

/// Keys of a schema besides `x-kubernetes-…`.
const KEYS: [&str; 37] = [
    "$ref",
    "$schema",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "definitions",
    "dependencies",
    "description",
    "enum",
    "example",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "externalDocs",
    "format",
    "id",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "patternProperties",
    "properties",
    "required",
    "title",
    "type",
    "uniqueItems",
];

/// What is wrong with a CRD.
pub fn check(crd: &Crd) -> Diagnostics {
    let mut found = Diagnostics::default();
    for version in crd.value["spec"]["versions"].as_array().into_iter().flatten() {
        let name = version["name"].as_str().unwrap_or_default();
        let mut check =
            Check { found: &mut found, crd, version: name, subject: format!("`{}`, version `{name}`", crd.kind()) };
        check.columns(version);
        if let Some(schema) = version.pointer("/schema/openAPIV3Schema").filter(|schema| !schema.is_null()) {
            check.schema(schema, &Path::default(), Level::Root);
        } else {
            let help = "remove `schema = \"disabled\"` from `#[kube(…)]`";
            check.say(Code::InvalidSchema, &Path::default(), "there is no schema", help);
        }
    }
    size(crd, &mut found);
    found.sort();
    found
}

/// Whether the API server knows a format: it warns of others, and otherwise ignores them.
pub(super) fn knows(format: &str) -> bool {
    format == "date-time" || STRING_FORMATS.contains(&format) || NUMBER_FORMATS.contains(&format)
}

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// Of the whole object.
    Root,
    /// Of a field, of items, of values of a map.
    Inner,
    /// Inside of `anyOf` and the like, where only values are constrained.
    Logic,
}

/// One version of a CRD under check.
struct Check<'a> {
    found: &'a mut Diagnostics,
    crd: &'a Crd,
    version: &'a str,
    subject: String,
}

impl Check<'_> {
    fn say(&mut self, code: Code, path: &Path, what: &str, help: &str) {
        let message = format!("{what}: `{path}` in {}", self.subject);
        self.found.push(Diagnostic::new(code, message).at(self.place(path)).help(help));
    }

    fn place(&self, path: &Path) -> Option<Origin> {
        self.crd.place(self.version, path).cloned()
    }

    fn schema(&mut self, schema: &Value, path: &Path, level: Level) {
        let Some(schema) = schema.as_object() else { return };
        self.keys(schema, path);
        if schema.contains_key("$ref") {
            let help = "describe one of the types on the way with `#[schemars(with = \"serde_json::Value\")]`";
            return self.say(Code::RecursiveType, path, "the schema refers to another one", help);
        }
        if level == Level::Logic {
            self.logic(schema, path);
        } else {
            self.types(schema, path, level);
            self.default(schema, path);
        }
        self.array(schema, path);
        self.object(schema, path, level);
        self.format(schema, path);
        self.rules(schema, path);
        self.descend(schema, path, level);
    }

    /// Goes on with the schemas inside of one.
    fn descend(&mut self, schema: &Map<String, Value>, path: &Path, level: Level) {
        let inner = if level == Level::Logic { Level::Logic } else { Level::Inner };
        for key in NESTED {
            let Some(nested) = schema.get(key) else { continue };
            match (key, nested) {
                ("items", nested) => self.schema(nested, &path.then(Step::Items), inner),
                ("additionalProperties", nested) => self.schema(nested, &path.then(Step::Values), inner),
                // Every integer and string may be one of both: the server expects just that.
                ("anyOf", _) if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) => {}
                (_, Value::Array(schemas)) => schemas.iter().for_each(|one| self.schema(one, path, Level::Logic)),
                (_, nested) => self.schema(nested, path, Level::Logic),
            }
        }
        for (name, nested) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.schema(nested, &path.field(name), inner);
        }
    }

    fn keys(&mut self, schema: &Map<String, Value>, path: &Path) {
        for key in schema.keys().filter(|key| !KEYS.contains(&key.as_str()) && !key.starts_with("x-kubernetes-")) {
            let help = "the API server drops it; remove it from `extend(…)`, or name it after a key of OpenAPI v3";
            self.say(Code::UnknownSchemaKey, path, &format!("`{key}` is no key of a schema in a CRD"), help);
        }
    }

    fn types(&mut self, schema: &Map<String, Value>, path: &Path, level: Level) {
        let flag = |key: &str| schema.get(key) == Some(&Value::Bool(true));
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        match (kind, level) {
            ("object", Level::Root) => {}
            (_, Level::Root) => {
                let help = "make the spec a struct";
                self.say(Code::MissingType, path, "the schema of a resource must be of type `object`", help);
            }
            ("", _) if flag("x-kubernetes-int-or-string") || flag("x-kubernetes-preserve-unknown-fields") => {}
            ("", _) => {
                let help = "give it one type; for any value add \
                            `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]`";
                self.say(Code::MissingType, path, "the schema has no type", help);
            }
            ("array" | "boolean" | "integer" | "number" | "object" | "string", _) => {}
            (other, _) => {
                let help = "use `nullable` instead of a type `null`, and one of the types of OpenAPI v3";
                self.say(Code::InvalidSchema, path, &format!("`{other}` is no type of a CRD"), help);
            }
        }
    }

    /// What only the structure may say.
    fn logic(&mut self, schema: &Map<String, Value>, path: &Path) {
        for key in ["type", "additionalProperties", "description", "title", "default", "nullable"] {
            if schema.get(key).is_some_and(|value| *value != Value::Bool(false)) {
                let help = "give the variants of the enum equal forms, or describe it with `#[schemars(with = \"…\")]`";
                let what = format!("`{key}` is not allowed inside `anyOf`, `oneOf`, `allOf` and `not`");
                self.say(Code::InvalidSchema, path, &what, help);
            }
        }
    }

    fn array(&mut self, schema: &Map<String, Value>, path: &Path) {
        if schema.get("items").is_some_and(Value::is_array)
            || (schema.get("type").is_some_and(|kind| kind == "array") && !schema.contains_key("items"))
        {
            let help = "write a struct with named fields instead of a tuple; for a list say what its items are";
            self.say(Code::ArrayItems, path, "an array has no schema for all of its items", help);
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            let help = "use `Vec` with `#[x_kube(merge_strategy = ListMerge::Set)]`";
            self.say(Code::InvalidSchema, path, "`uniqueItems` is not allowed", help);
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, path: &Path, level: Level) {
        let Some(values) = schema.get("additionalProperties") else { return };
        let fields = schema.get("properties").and_then(Value::as_object).is_some_and(|fields| !fields.is_empty());
        if level == Level::Root {
            let help = "put the map into a field of its own";
            self.say(Code::InvalidSchema, path, "a resource can't be a map", help);
        } else if fields && *values != Value::Bool(true) {
            let help = "put the map into a field of its own instead of flattening it";
            self.say(Code::InvalidSchema, path, "an object has fields and is a map", help);
        }
    }

    fn format(&mut self, schema: &Map<String, Value>, path: &Path) {
        let Some(format) = schema.get("format").and_then(Value::as_str) else { return };
        if knows(format) {
            return;
        }
        let help = match schema.get("type").and_then(Value::as_str) {
            Some("integer") => {
                "use `i32` or `i64`, or describe the field with `#[schemars(with = \"i64\", range(min = 0))]`; or pass \
                 `--mend formats`"
            }
            _ => {
                "describe the field with `#[schemars(with = \"String\")]`, or use a format that Kubernetes checks; or pass \
                  `--mend formats`"
            }
        };
        self.say(Code::UnknownFormat, path, &format!("the API server knows no format `{format}`"), help);
    }

    fn rules(&mut self, schema: &Map<String, Value>, path: &Path) {
        let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
        for rule in rules.into_iter().flatten() {
            let text = rule["rule"].as_str().unwrap_or_default();
            if rule["optionalOldSelf"] == Value::Bool(true) && !text.contains("oldSelf") {
                let help = "remove `optional_old_self`, or compare with `oldSelf`";
                let what = format!("the rule `{text}` does not use `oldSelf`, which it says is optional");
                self.say(Code::InvalidSchema, path, &what, help);
            }
        }
    }

    fn columns(&mut self, version: &Value) {
        for column in version["additionalPrinterColumns"].as_array().into_iter().flatten() {
            let name = column["name"].as_str().unwrap_or_default();
            let kind = column["type"].as_str().unwrap_or_default();
            if !COLUMN_TYPES.contains(&kind) {
                let help = format!("its type is one of `{}`", COLUMN_TYPES.join("`, `"));
                self.say(
                    Code::PrinterColumn,
                    &Path::default(),
                    &format!("the column `{name}` has the type `{kind}`"),
                    &help,
                );
            }
            if let Some(format) = column["format"].as_str().filter(|format| !COLUMN_FORMATS.contains(format)) {
                let help = format!("its format is one of `{}`", COLUMN_FORMATS.join("`, `"));
                self.say(
                    Code::PrinterColumn,
                    &Path::default(),
                    &format!("the column `{name}` has the format `{format}`"),
                    &help,
                );
            }
        }
    }

    fn default(&mut self, schema: &Map<String, Value>, path: &Path) {
        let Some(default) = schema.get("default") else { return };
        if let Err((inner, why)) = accepts(schema, default, path) {
            let help = "change the `Default`, or the schema of the field, so that the default is a valid value";
            let message = format!("the default is not valid, {why}: `{inner}` in {}", self.subject);
            self.found.push(Diagnostic::new(Code::InvalidDefault, message).at(self.place(path)).help(help));
        }
    }
}

/// Whether a value is of the schema: its types, fields, bounds and enums. The error is where, and why not.
fn accepts(schema: &Map<String, Value>, value: &Value, path: &Path) -> Result<(), (Path, String)> {
    let fail = |why: String| Err((path.clone(), why));
    let flag = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    if value.is_null() && flag("nullable") {
        return Ok(());
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    let of_type = match kind {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        _ => true,
    };
    if !of_type {
        return fail(format!("it is no {kind}"));
    }
    let choices = schema.get("enum").and_then(Value::as_array);
    if choices.is_some_and(|choices| !choices.contains(value)) {
        return fail("it is not in the `enum`".to_owned());
    }
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    if let Some(number) = value.as_f64()
        && (bound("minimum").is_some_and(|least| number < least) || bound("maximum").is_some_and(|most| number > most))
    {
        return fail("it is out of range".to_owned());
    }
    for item in value.as_array().into_iter().flatten() {
        if let Some(items) = schema.get("items").and_then(Value::as_object) {
            accepts(items, item, &path.then(Step::Items))?;
        }
    }
    let Some(object) = value.as_object() else { return Ok(()) };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for name in required {
        // The server does not fill in defaults inside of a default.
        if !object.contains_key(name) {
            return fail(format!("it has no `{name}`"));
        }
    }
    for (name, value) in object {
        let field = schema.get("properties").and_then(|fields| fields.get(name));
        if let Some(field) = field.or_else(|| schema.get("additionalProperties")).and_then(Value::as_object) {
            accepts(field, value, &path.field(name))?;
        } else if kind == "object"
            && field.is_none()
            && schema.get("additionalProperties") != Some(&Value::Bool(true))
            && !flag("x-kubernetes-preserve-unknown-fields")
        {
            return fail(format!("it has the unknown field `{name}`"));
        }
    }
    Ok(())
}

/// Warns when client-side apply can't keep the CRD in its annotation.
fn size(crd: &Crd, found: &mut Diagnostics) {
    let size = crd.value.to_string().len();
    if size <= APPLY_LIMIT {
        return;
    }
    let mut parts = Vec::new();
    for version in crd.value["spec"]["versions"].as_array().into_iter().flatten() {
        let name = version["name"].as_str().unwrap_or_default();
        if let Some(schema) = version.pointer("/schema/openAPIV3Schema") {
            subtrees(schema, name, Path::default(), &mut parts);
        }
    }
    parts.sort_by(|one, other| {
        other.size.cmp(&one.size).then_with(|| (one.version, &one.path).cmp(&(other.version, &other.path)))
    });
    let biggest: Vec<String> =
        parts.iter().take(3).map(|Part { size, version, path }| format!("`{version}.{path}` {size}")).collect();
    let message = format!(
        "`{}` has {size} bytes as JSON, and `kubectl apply` keeps at most {APPLY_LIMIT} in an annotation; the biggest parts: {}",
        crd.file_name,
        biggest.join(", ")
    );
    let place = parts.first().and_then(|part| crd.place(part.version, &part.path)).or(crd.origin());
    found.push(
        Diagnostic::new(Code::CrdSize, message)
            .at(place.cloned())
            .help("apply it with `--server-side`, or leave descriptions out with `--max-desc-len 0`"),
    );
}

/// A part of a CRD, and how many bytes it is as JSON.
struct Part<'a> {
    size: usize,
    version: &'a str,
    path: Path,
}

/// The parts of a schema, those that hold more than half of the limit split into theirs.
fn subtrees<'a>(schema: &Value, version: &'a str, path: Path, out: &mut Vec<Part<'a>>) {
    let size = schema.to_string().len();
    let mut inner: Vec<(&Value, Path)> = Vec::new();
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        inner.push((field, path.field(name)));
    }
    inner.extend(schema.get("items").map(|items| (items, path.then(Step::Items))));
    inner.extend(schema.get("additionalProperties").map(|values| (values, path.then(Step::Values))));
    if size * 2 <= APPLY_LIMIT || inner.is_empty() {
        return out.push(Part { size, version, path });
    }
    for (schema, path) in inner {
        subtrees(schema, version, path, out);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn found(spec: &Value) -> Vec<String> {
        let schema = json!({ "type": "object", "properties": { "spec": spec } });
        let version = json!({ "name": "v1", "schema": { "openAPIV3Schema": schema } });
        let value = json!({ "spec": { "names": { "kind": "Thing" }, "versions": [version] } });
        let crd = Crd { file_name: "things.yaml".to_owned(), value, declared: BTreeMap::new() };
        check(&crd).iter().map(|found| format!("{}: {}", found.code, found.message)).collect()
    }

    #[test]
    fn what_is_found_in_a_schema() {
        for (schema, expected) in [
            (json!({ "type": "string", "format": "date-time" }), ""),
            (json!({ "type": "integer", "format": "int32" }), ""),
            (json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] }), ""),
            (json!({ "x-kubernetes-preserve-unknown-fields": true }), ""),
            (json!({ "type": "object", "additionalProperties": { "type": "string" } }), ""),
            (
                json!({ "type": "object", "properties": { "a": { "type": "string" } }, "anyOf": [{ "required": ["a"] }] }),
                "",
            ),
            (json!({ "type": "string", "nullable": true, "default": null }), ""),
            (json!({}), "missing-type: the schema has no type: `spec` in `Thing`, version `v1`"),
            (
                json!({ "type": "object", "properties": { "a": { "type": "array", "items": {} } } }),
                "missing-type: the schema has no type: `spec.a[]` in `Thing`, version `v1`",
            ),
            (json!({ "type": "null" }), "invalid-schema: `null` is no type of a CRD: `spec` in `Thing`, version `v1`"),
            (
                json!({ "type": "string", "example": 1, "exampel": 1, "x-kubernetes-a": 1 }),
                "unknown-schema-key: `exampel` is no key of a schema in a CRD: `spec` in `Thing`, version `v1`",
            ),
            (
                json!({ "$ref": "#/definitions/A" }),
                "recursive-type: the schema refers to another one: `spec` in `Thing`, version `v1`",
            ),
            (
                json!({ "type": "object", "additionalProperties": { "type": "array", "items": [{ "type": "string" }] } }),
                "array-items: an array has no schema for all of its items: `spec.*` in `Thing`, version `v1`",
            ),
            (
                json!({ "type": "string", "oneOf": [{ "type": "string" }] }),
                "invalid-schema: `type` is not allowed inside `anyOf`, `oneOf`, `allOf` and `not`: `spec` in `Thing`, version `v1`",
            ),
            (
                json!({ "type": "array", "items": { "type": "integer", "maximum": 3 }, "default": [1, 4] }),
                "invalid-default: the default is not valid, it is out of range: `spec[]` in `Thing`, version `v1`",
            ),
            (
                json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"], "default": {} }),
                "invalid-default: the default is not valid, it has no `a`: `spec` in `Thing`, version `v1`",
            ),
            (
                json!({ "type": "object", "properties": { "a": { "type": "string" } }, "default": { "b": 1 } }),
                "invalid-default: the default is not valid, it has the unknown field `b`: `spec` in `Thing`, version `v1`",
            ),
        ] {
            assert_eq!(found(&schema).join("\n"), expected, "{schema}");
        }
    }

    #[test]
    fn the_biggest_parts_are_named() {
        let text = |length: usize| json!({ "type": "string", "description": "x".repeat(length) });
        let small = json!({ "type": "object", "properties": { "a": text(1000), "b": text(200_000) } });
        assert_eq!(found(&small), [""; 0]);
        let big = json!({ "type": "object", "properties": {
            "a": text(1000),
            "b": { "type": "array", "items": text(200_000) },
            "c": { "type": "object", "properties": { "d": text(60_000), "e": text(70_000) } },
        } });
        let [finding] = &found(&big)[..] else { panic!("one finding") };
        let parts = finding.rsplit_once("the biggest parts: ").unwrap().1;
        assert_eq!(parts, "`v1.spec.b[]` 200034, `v1.spec.c` 130110, `v1.spec.a` 1034");
    }
}
