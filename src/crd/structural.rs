//! Predicts errors and warnings of the API server about a CRD.
//!
//! The rules are those of `apiextensions.k8s.io/v1`: the structural schema
//! (<https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>),
//! and the server's validation. Every finding is certain; a CRD without a finding may still be rejected.

mod default;
mod field_path;
mod keys;
mod lists;
mod names;
mod pattern;
mod rules;
mod size;
mod version;

use serde_json::{Map, Value, json};

pub(crate) use self::default::accepts;
use self::keys::KEYS;
pub(super) use self::keys::is_format;

use super::Crd;
use super::walk::{NESTED, SchemaPath, SchemaStep};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::schema::release::ReleaseChange;

/// Schema keys that a CRD does not support.
const UNSUPPORTED: [&str; 6] = ["$schema", "additionalItems", "definitions", "dependencies", "id", "patternProperties"];

/// Keys whose schemas apply to the same value.
const LOGIC: [&str; 4] = ["allOf", "anyOf", "not", "oneOf"];

/// The findings about a CRD.
pub fn check(crd: &Crd) -> Diagnostics {
    let mut found = names::check(crd);
    for (name, version) in crd.versions() {
        let subject = format!("`{}`, version `{name}`", crd.kind());
        let mut check = StructuralCheck { found: &mut found, crd, version: name, subject };
        check.version(version);
        let Some(schema) = version.pointer("/schema/openAPIV3Schema").filter(|schema| !schema.is_null()) else {
            let help = "remove `schema = \"disabled\"` from `#[kube(…)]`";
            check.invalid(&SchemaPath::default(), "the schema is missing", help);
            continue;
        };
        if version.pointer("/subresources/status").is_some() {
            check.root(schema);
        }
        check.schema(
            schema,
            &SchemaPath::default(),
            Context { level: Level::Root, correlated: true, defaults: true, mended: None },
        );
    }
    found.extend(size::check(crd).into_iter().collect());
    found.sort();
    found
}

#[derive(Clone, Copy)]
struct Context {
    level: Level,
    /// The server can match old and new values.
    correlated: bool,
    /// The server checks defaults here.
    defaults: bool,
    /// The kube change that removes this `anyOf`, of an `Option` of an enum.
    mended: Option<ReleaseChange>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    /// A field, list items or map values.
    Inner,
    /// Inside of `anyOf`, `oneOf`, `allOf` or `not`, where only values are constrained.
    Logic,
}

struct StructuralCheck<'a> {
    found: &'a mut Diagnostics,
    crd: &'a Crd,
    version: &'a str,
    subject: String,
}

type SchemaObject = Map<String, Value>;

impl StructuralCheck<'_> {
    fn say(&mut self, code: Code, path: &SchemaPath, what: &str, help: &str) {
        let message = format!("{what}: {}", self.subject_at(path));
        self.found.push(Diagnostic::new(code, message).at(self.place(path)).help(help));
    }

    fn invalid(&mut self, path: &SchemaPath, what: &str, help: &str) {
        self.say(Code::InvalidSchema, path, what, help);
    }

    fn subject_at(&self, path: &SchemaPath) -> String {
        if *path == SchemaPath::default() { self.subject.clone() } else { format!("`{path}` in {}", self.subject) }
    }

    fn place(&self, path: &SchemaPath) -> Option<Origin> {
        self.crd.place(self.version, path).cloned()
    }

    /// Rejects keys that the root cannot have beside a status subresource.
    fn root(&mut self, schema: &Value) {
        let says = |value: &Value| !matches!(value, Value::Null | Value::Bool(false)) && *value != "";
        for (key, _) in schema.as_object().into_iter().flatten().filter(|(_, value)| says(value)) {
            if keys::key(key).is_some_and(|key| !key.at_root) {
                let what = format!("a resource with a status must not have `{key}` at its root");
                self.invalid(&SchemaPath::default(), &what, "move the flattened value into a field");
            }
        }
    }

    fn schema(&mut self, schema: &Value, path: &SchemaPath, context: Context) {
        let Some(schema) = schema.as_object() else { return };
        let context = Context { mended: context.mended.or_else(|| optional_enum(schema)), ..context };
        self.keys(schema, path);
        if schema.contains_key("$ref") {
            let help = "describe one of the types in the cycle with `#[schemars(with = \"serde_json::Value\")]`";
            return self.say(Code::RecursiveType, path, "the schema has a `$ref`, which a CRD cannot have", help);
        }
        if context.level == Level::Logic {
            self.logic(schema, path, context.mended);
        } else {
            self.types(schema, path, context);
            self.extensions(schema, path, context.level);
            if context.defaults {
                self.default(schema, path);
            }
        }
        // The server checks only at the root.
        for key in LOGIC.iter().filter(|_| context.level == Level::Root) {
            self.complete(schema.get(*key), schema, path);
        }
        self.array(schema, path);
        self.object(schema, path, context.level);
        self.text(schema, path);
        self.merge_types(schema, path);
        self.rules(schema, path, context);
        self.descend(schema, path, context);
    }

    fn descend(&mut self, schema: &SchemaObject, path: &SchemaPath, context: Context) {
        let level = if context.level == Level::Logic { Level::Logic } else { Level::Inner };
        let inner = Context { level, mended: context.mended.filter(|_| level == Level::Logic), ..context };
        let logic = Context { level: Level::Logic, ..context };
        for key in NESTED {
            let Some(nested) = schema.get(key) else { continue };
            match (key, nested) {
                ("items", nested) => {
                    let by_keys = schema.get("x-kubernetes-list-type").is_some_and(|merge| merge == "map");
                    let correlated = context.correlated && by_keys;
                    self.schema(nested, &path.then(SchemaStep::Items), Context { correlated, ..inner });
                }
                ("additionalProperties", nested) => {
                    self.schema(nested, &path.then(SchemaStep::Values), Context { defaults: false, ..inner });
                }
                // The server expects exactly this for int-or-string.
                ("anyOf", nested) if context.level != Level::Logic && is_int_or_string(nested) => {}
                ("allOf", Value::Array(schemas)) if context.level != Level::Logic => {
                    let skipped = schemas.first().filter(|first| is_int_or_string(&first["anyOf"])).cloned();
                    let first = skipped.map(|mut first| {
                        first.as_object_mut().map(|first| first.remove("anyOf"));
                        first
                    });
                    let rest = schemas.iter().skip(usize::from(first.is_some()));
                    first.iter().chain(rest).for_each(|one| self.schema(one, path, logic));
                }
                (_, Value::Array(schemas)) => schemas.iter().for_each(|one| self.schema(one, path, logic)),
                (_, nested) => self.schema(nested, path, logic),
            }
        }
        for (name, nested) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.schema(nested, &path.field(name), inner);
        }
    }

    fn keys(&mut self, schema: &SchemaObject, path: &SchemaPath) {
        for key in schema.keys().filter(|key| keys::key(key).is_none()) {
            let help = "the API server drops it; remove it from `extend(…)`, or use a key of OpenAPI v3";
            self.say(Code::UnknownSchemaKey, path, &format!("`{key}` is not a valid key of a CRD schema"), help);
        }
        for key in UNSUPPORTED {
            let Some(value) = schema.get(key).filter(|value| !value.is_null() && **value != "") else { continue };
            if value.as_object().is_some_and(Map::is_empty) && key != "additionalItems" {
                continue;
            }
            let help = match key {
                "patternProperties" => "use a map with keys of type `String`",
                _ => "remove it from `extend(…)`",
            };
            self.invalid(path, &format!("`{key}` is not allowed"), help);
        }
    }

    fn types(&mut self, schema: &SchemaObject, path: &SchemaPath, Context { level, mended, .. }: Context) {
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        match (kind, level) {
            ("object", Level::Root) => {}
            (_, Level::Root) => {
                let help = "make the spec a struct";
                self.say(Code::MissingType, path, "the schema of a resource must be of type `object`", help);
            }
            ("", _) if flag(schema, INT_OR_STRING) || flag(schema, PRESERVE) || flag(schema, EMBEDDED) => {}
            ("", _) => {
                let help = "give it one type; for any value add \
                            `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]`";
                self.say(Code::MissingType, path, "the schema has no type", &mended.map_or(help.to_owned(), update));
            }
            ("array" | "boolean" | "integer" | "number" | "object" | "string", _) => {}
            (other, _) => {
                let help = "use `nullable` instead of a type `null`, and one of the types of OpenAPI v3";
                self.invalid(path, &format!("`{other}` is not a valid type in a CRD"), help);
            }
        }
        if level == Level::Root && flag(schema, "nullable") {
            self.invalid(path, "a resource must not be nullable", "remove `nullable` from the root");
        }
    }

    /// Checks the structure that `x-kubernetes-…` keys declare.
    fn extensions(&mut self, schema: &SchemaObject, path: &SchemaPath, level: Level) {
        if schema.get(PRESERVE) == Some(&Value::Bool(false)) {
            self.invalid(path, &format!("`{PRESERVE}` is false"), "remove it");
        }
        for other in [PRESERVE, EMBEDDED].iter().filter(|other| flag(schema, INT_OR_STRING) && flag(schema, other)) {
            self.invalid(path, &format!("`{INT_OR_STRING}` and `{other}` exclude each other"), "remove one of them");
        }
        let embedded = flag(schema, EMBEDDED);
        let fields = schema.get("properties").and_then(Value::as_object);
        let wrong = if !embedded {
            None
        } else if schema.get("type").is_none_or(|kind| kind != "object") {
            Some("is not an object")
        } else if schema.contains_key("additionalProperties") {
            Some("is a map")
        } else if fields.is_none_or(Map::is_empty) && !flag(schema, PRESERVE) {
            Some("has no fields")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            let help = "add `x-kubernetes-preserve-unknown-fields`, and use a type that is an object";
            self.invalid(path, &format!("an embedded resource {wrong}"), help);
        }
        for (name, kind) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
            let field = fields.and_then(|fields| fields.get(name)).filter(|_| embedded || level == Level::Root);
            if field.is_some_and(|field| field["type"] != kind) {
                self.invalid(
                    &path.field(name),
                    &format!("`{name}` of a resource must be of type {kind}"),
                    "give it another name",
                );
            }
        }
    }

    /// Rejects keys that only structural positions may have.
    fn logic(&mut self, schema: &SchemaObject, path: &SchemaPath, mended: Option<ReleaseChange>) {
        let says = |value: &Value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        };
        let help = "give the variants of the enum equal forms, or describe it with `#[schemars(with = \"…\")]`";
        let help = &mended.map_or(help.to_owned(), update);
        let only = KEYS.iter().filter(|key| key.structure).map(|key| key.name);
        for key in only.filter(|key| schema.get(*key).is_some_and(says)) {
            let what = format!("`{key}` is not allowed inside `anyOf`, `oneOf`, `allOf` and `not`");
            self.invalid(path, &what, help);
        }
        if schema.get("properties").is_some_and(|fields| fields.get("metadata").is_some()) {
            self.invalid(path, "a field `metadata` is not allowed inside `anyOf`, `oneOf`, `allOf` and `not`", help);
        }
    }

    /// Every constrained field must also be a field of the structure.
    fn complete(&mut self, logic: Option<&Value>, structure: &SchemaObject, path: &SchemaPath) {
        let help = "specify it outside of `anyOf`, `oneOf`, `allOf` and `not` as well";
        match logic {
            Some(Value::Array(schemas)) => schemas.iter().for_each(|one| self.complete(Some(one), structure, path)),
            Some(Value::Object(logic)) => {
                for key in LOGIC {
                    self.complete(logic.get(key), structure, path);
                }
                let inner = |key: &str| structure.get(key).and_then(Value::as_object);
                if let Some(items) = logic.get("items") {
                    match inner("items") {
                        Some(structure) => self.complete(Some(items), structure, &path.then(SchemaStep::Items)),
                        None => self.invalid(path, "`items` is constrained, but the value is not a list", help),
                    }
                }
                for (name, field) in logic.get("properties").and_then(Value::as_object).into_iter().flatten() {
                    let structure = inner("properties").and_then(|fields| fields.get(name)).and_then(Value::as_object);
                    match structure {
                        Some(structure) => self.complete(Some(field), structure, &path.field(name)),
                        None => self.invalid(path, &format!("`{name}` is constrained, but is not a field"), help),
                    }
                }
            }
            _ => {}
        }
    }

    fn array(&mut self, schema: &SchemaObject, path: &SchemaPath) {
        if schema.get("items").is_some_and(Value::is_array)
            || (schema.get("type").is_some_and(|kind| kind == "array") && !schema.contains_key("items"))
        {
            let help = "use a struct with named fields instead of a tuple; for a list, specify the schema of its items";
            self.say(Code::ArrayItems, path, "an array has no schema for all of its items", help);
        }
        if flag(schema, "uniqueItems") {
            let help = "use `Vec` with `#[x_kube(merge_strategy = ListMerge::Set)]`";
            self.invalid(path, "`uniqueItems` is not allowed", help);
        }
    }

    fn object(&mut self, schema: &SchemaObject, path: &SchemaPath, level: Level) {
        let Some(values) = schema.get("additionalProperties") else { return };
        let fields = schema.get("properties").and_then(Value::as_object).is_some_and(|fields| !fields.is_empty());
        if level == Level::Root {
            self.invalid(path, "a resource must not be a map", "move the map into a field");
        } else if fields && *values != Value::Bool(true) {
            let help = "move the map into a field instead of flattening it";
            self.invalid(path, "an object has both fields and `additionalProperties`", help);
        }
    }

    fn text(&mut self, schema: &SchemaObject, path: &SchemaPath) {
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        if let Some(format) = text("format").filter(|format| !format.is_empty() && !is_format(format)) {
            let help = match text("type") {
                Some("integer") => {
                    "use `i32` or `i64`, or describe the field with `#[schemars(with = \"i64\", range(min = 0))]`; or pass \
                     `--fix formats`"
                }
                _ => {
                    "describe the field with `#[schemars(with = \"String\")]`, or use a format that Kubernetes checks; or pass \
                     `--fix formats`"
                }
            };
            self.say(Code::UnknownFormat, path, &format!("the API server does not know the format `{format}`"), help);
        }
        if let Some(pattern) = text("pattern")
            && let Err(why) = pattern::check(pattern)
        {
            let help = "use Go's syntax (https://pkg.go.dev/regexp/syntax), or write a CEL rule: `#[x_kube(validation = \
                    …)]`";
            self.say(Code::Pattern, path, &format!("invalid pattern `{pattern}`: {why}"), help);
        }
    }

    fn default(&mut self, schema: &SchemaObject, path: &SchemaPath) {
        let Some(default) = schema.get("default").filter(|default| !default.is_null()) else { return };
        if let Err((inner, why)) = default::accepts(schema, default, path) {
            let help = "change the `Default` or the schema of the field so that the default is valid";
            let message = format!("invalid default: {why}: {}", self.subject_at(&inner));
            self.found.push(Diagnostic::new(Code::InvalidDefault, message).at(self.place(path)).help(help));
        }
    }
}

const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

fn flag(schema: &SchemaObject, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

/// The kube-core change that makes the schema of an `Option` of an enum `nullable`; `None` for other schemas.
fn optional_enum(schema: &SchemaObject) -> Option<ReleaseChange> {
    let [some, none] = schema.get("anyOf")?.as_array()?.as_slice() else { return None };
    let is_none = none["nullable"] == true && none["enum"] == json!([null]);
    let has = |key: &str| some.get(key).is_some();
    match has("enum") {
        _ if !is_none || has("nullable") => None,
        true => Some(ReleaseChange::DescribedOptionalEnum),
        false => Some(ReleaseChange::OptionalData),
    }
}

fn update(change: ReleaseChange) -> String {
    format!(
        "update kube to {} or later, which writes this `Option` of an enum as `nullable` instead of `anyOf`",
        change.since()
    )
}

/// The only `anyOf` that may contain types.
fn is_int_or_string(any_of: &Value) -> bool {
    *any_of == json!([{ "type": "integer" }, { "type": "string" }])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn diagnostics(spec: &Value) -> Diagnostics {
        let schema = json!({ "type": "object", "properties": { "spec": spec } });
        let version = json!({ "name": "v1", "schema": { "openAPIV3Schema": schema } });
        let names = json!({ "kind": "Thing", "plural": "things", "singular": "thing" });
        let value = json!({ "spec": { "group": "example.com", "names": names, "versions": [version] } });
        let crd = Crd { file_name: "things.yaml".to_owned(), value, declared: BTreeMap::new() };
        check(&crd)
    }

    fn found(spec: &Value) -> Vec<String> {
        diagnostics(spec).iter().map(|found| format!("{}: {}", found.code, found.message)).collect()
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
            (
                json!({ "type": "null" }),
                "invalid-schema: `null` is not a valid type in a CRD: `spec` in `Thing`, version `v1`",
            ),
            (
                json!({ "type": "string", "example": 1, "exampel": 1 }),
                "unknown-schema-key: `exampel` is not a valid key of a CRD schema: `spec` in `Thing`, version `v1`",
            ),
            (
                json!({ "$ref": "#/definitions/A" }),
                "recursive-type: the schema has a `$ref`, which a CRD cannot have: `spec` in `Thing`, version `v1`",
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
                "invalid-default: invalid default: it is out of range: `spec[]` in `Thing`, version `v1`",
            ),
            (
                json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"], "default": {} }),
                "invalid-default: invalid default: it lacks the required field `a`: `spec` in `Thing`, version `v1`",
            ),
            (
                json!({ "type": "object", "properties": { "a": { "type": "string" } }, "default": { "b": 1 } }),
                "invalid-default: invalid default: it has the unknown field `b`: `spec` in `Thing`, version `v1`",
            ),
        ] {
            assert_eq!(found(&schema).join("\n"), expected, "{schema}");
        }
    }

    #[test]
    fn an_optional_enum_of_an_older_kube_has_the_release_that_mends_it() {
        let none = json!({ "enum": [null], "nullable": true });
        let unit = json!({ "type": "string", "description": "How high.", "enum": ["Low"] });
        let data =
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "oneOf": [{ "required": ["a"] }] });
        for (some, release) in [(unit, Some("3.0.1")), (data, Some("3.1.0"))] {
            let optional = json!({ "description": "Of the field.", "anyOf": [some, none] });
            let list = json!({ "type": "array", "items": optional });
            for schema in [optional, list] {
                let found = diagnostics(&schema);
                assert!(found.iter().count() > 1, "{schema}");
                for found in &found {
                    let help = found.help.as_deref().unwrap();
                    assert_eq!(
                        help.strip_prefix("update kube to ").and_then(|help| help.split(' ').next()),
                        release,
                        "{help}"
                    );
                }
            }
        }
        let other = json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] });
        assert!(diagnostics(&other).iter().all(|found| !found.help.as_deref().unwrap().contains("update kube")));
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
