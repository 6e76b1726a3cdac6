//! The Rust type of a schema, and the part of the schema that the type has by itself.

use serde_json::{Map, Value, json};

use super::clean::is_int_or_string;
use super::structs::TypesFile;
use super::{SchemaMap, literal};

/// A type for a schema.
pub(super) struct TypeShape {
    /// The Rust type.
    pub(super) ty: String,
    /// The part of the schema that the type has, or else `function`.
    pub(super) core: SchemaMap,
    /// The name of a function that returns `core`. `None` if the type has it.
    pub(super) function: Option<String>,
    /// True if the type implements `Default`.
    pub(super) has_default: bool,
    pub(super) class: TypeClass,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum TypeClass {
    /// A type whose values are literals.
    Scalar,
    /// An enum, with pairs of a value and its variant.
    Enum(Vec<(String, String)>),
    /// A list or map with `is_empty`.
    Collection(&'static str),
    /// A list of conditions.
    Conditions,
    Other,
}

impl TypeShape {
    /// A type that has `core` of a schema.
    fn of(ty: impl Into<String>, core: Value, class: TypeClass) -> Self {
        let core = if let Value::Object(core) = core { core } else { Map::new() };
        Self { ty: ty.into(), core, function: None, has_default: true, class }
    }

    /// The type, if a function returns `core`.
    fn by(self, function: &str) -> Self {
        Self { function: Some(function.to_owned()), ..self }
    }

    /// Returns true if the type as an argument of another one has the whole schema.
    fn is_whole(&self, schema: &SchemaMap) -> bool {
        self.function.is_none() && self.core == *schema
    }
}

impl TypesFile {
    /// Returns the type of a schema. New types get the name `name`.
    pub(super) fn shape(&mut self, schema: &SchemaMap, name: &str) -> TypeShape {
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        if is_int_or_string(schema) {
            self.import("k8s_openapi::apimachinery::pkg::util::intstr::IntOrString");
            let core = json!({ "x-kubernetes-int-or-string": true });
            return TypeShape::of("IntOrString", core, TypeClass::Other).by("int_or_string");
        }
        match (text("type"), text("format")) {
            (Some("string"), format) => match (values(schema), format) {
                (Some(values), _) => self.enumeration(schema, name, &values),
                (None, Some("date-time")) => {
                    self.import("k8s_openapi::apimachinery::pkg::apis::meta::v1::Time");
                    let core = json!({ "type": "string", "format": "date-time" });
                    TypeShape { has_default: false, ..TypeShape::of("Time", core, TypeClass::Other).by("date_time") }
                }
                (None, Some("byte")) => {
                    self.import("k8s_openapi::ByteString");
                    let core = json!({ "type": "string", "format": "byte" });
                    TypeShape::of("ByteString", core, TypeClass::Other).by("bytes")
                }
                (None, _) => TypeShape::of("String", json!({ "type": "string" }), TypeClass::Scalar),
            },
            (Some("boolean"), _) => TypeShape::of("bool", json!({ "type": "boolean" }), TypeClass::Scalar),
            (Some("integer"), None) => {
                TypeShape::of("i64", json!({ "type": "integer" }), TypeClass::Scalar).by("integer")
            }
            (Some("integer"), Some(format)) => integer(schema, format),
            (Some("number"), None) => TypeShape::of("f64", json!({ "type": "number" }), TypeClass::Scalar).by("number"),
            (Some("number"), Some(format)) => {
                let (ty, own) = if format == "float" { ("f32", "float") } else { ("f64", "double") };
                let core = if format == own {
                    json!({ "type": "number", "format": own })
                } else {
                    json!({ "type": "number" })
                };
                TypeShape::of(ty, core, TypeClass::Scalar)
            }
            (Some("array"), _) => self.list(schema, name),
            (Some("object"), _) if schema.contains_key("properties") => {
                let has_default = self.structure(schema, name);
                TypeShape { has_default, ..TypeShape::of(name, Value::Object(schema.clone()), TypeClass::Other) }
            }
            (Some("object"), _) => self.object(schema, name),
            _ => self.any("Value", schema, name),
        }
    }

    fn list(&mut self, schema: &SchemaMap, name: &str) -> TypeShape {
        let Some(items) = schema.get("items").and_then(Value::as_object) else {
            self.import("serde_json::Value");
            return TypeShape { class: TypeClass::Collection("Vec"), ..self.any("Vec<Value>", schema, name) };
        };
        if is_condition(items) {
            self.import("k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition");
            let core = json!({ "type": "array", "items": items });
            return TypeShape::of("Vec<Condition>", core, TypeClass::Conditions).by("conditions");
        }
        let item = self.shape(items, name);
        let mut core = json!({ "type": "array" });
        if item.is_whole(items) {
            core["items"] = Value::Object(items.clone());
        }
        TypeShape::of(format!("Vec<{}>", item.ty), core, TypeClass::Collection("Vec"))
    }

    fn object(&mut self, schema: &SchemaMap, name: &str) -> TypeShape {
        let map = TypeClass::Collection("BTreeMap");
        match schema.get("additionalProperties") {
            Some(Value::Object(values)) => {
                let value = self.shape(values, name);
                let mut core = json!({ "type": "object" });
                if value.is_whole(values) {
                    core["additionalProperties"] = Value::Object(values.clone());
                }
                self.import("std::collections::BTreeMap");
                TypeShape::of(format!("BTreeMap<String, {}>", value.ty), core, map)
            }
            None if schema.get("x-kubernetes-preserve-unknown-fields") != Some(&Value::Bool(true)) => {
                let has_default = self.structure(schema, name);
                TypeShape { has_default, ..TypeShape::of(name, Value::Object(schema.clone()), TypeClass::Other) }
            }
            _ => {
                self.import("std::collections::BTreeMap");
                self.import("serde_json::Value");
                TypeShape { class: map, ..self.any("BTreeMap<String, Value>", schema, name) }
            }
        }
    }

    /// A type that takes any value. A function returns the schema.
    fn any(&mut self, ty: &str, schema: &SchemaMap, name: &str) -> TypeShape {
        self.import("serde_json::Value");
        TypeShape::of(ty, Value::Object(schema.clone()), TypeClass::Other).by(&super::names::snake(name))
    }
}

/// The integer type of a format. Unsigned types have a minimum.
fn integer(schema: &SchemaMap, format: &str) -> TypeShape {
    let is_natural = schema.get("minimum").and_then(Value::as_f64) == Some(0.0);
    let ty = match format {
        "int8" => "i8",
        "int16" => "i16",
        "int32" => "i32",
        "uint8" if is_natural => "u8",
        "uint16" if is_natural => "u16",
        "uint32" if is_natural => "u32",
        "uint64" if is_natural => "u64",
        _ => "i64",
    };
    let core = match (ty, format) {
        ("u8" | "u16" | "u32" | "u64", _) => {
            json!({ "type": "integer", "format": format, "minimum": schema.get("minimum") })
        }
        ("i64", format) if format != "int64" => json!({ "type": "integer" }),
        _ => json!({ "type": "integer", "format": format }),
    };
    TypeShape::of(ty, core, TypeClass::Scalar)
}

/// The values of an enum of strings.
fn values(schema: &SchemaMap) -> Option<Vec<String>> {
    let values: Option<Vec<String>> =
        schema.get("enum")?.as_array()?.iter().map(|value| value.as_str().map(str::to_owned)).collect();
    values.filter(|values| {
        !values.is_empty() && values.iter().collect::<std::collections::BTreeSet<_>>().len() == values.len()
    })
}

/// Returns true for the fields of a Kubernetes condition.
fn is_condition(schema: &SchemaMap) -> bool {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return false };
    let required = schema.get("required").and_then(Value::as_array).map_or(0, Vec::len);
    let fields = ["lastTransitionTime", "message", "observedGeneration", "reason", "status", "type"];
    properties.len() == fields.len() && fields.iter().all(|field| properties.contains_key(*field)) && required == 5
}

/// The expression of a default, if it is a literal of the type. The flag is true if it equals that of the type.
pub(super) fn literal_default(shape: &TypeShape, default: &Value) -> Option<(String, bool)> {
    match (&shape.class, shape.ty.as_str(), default) {
        (TypeClass::Enum(values), ty, Value::String(text)) => {
            let (_, variant) = values.iter().find(|(value, _)| value == text)?;
            Some((format!("{ty}::{variant}"), false))
        }
        (TypeClass::Scalar, "String", Value::String(text)) => {
            Some((format!("{}.to_owned()", literal::text(text)), text.is_empty()))
        }
        (TypeClass::Scalar, "bool", Value::Bool(value)) => Some((value.to_string(), !value)),
        (TypeClass::Scalar, "i64", Value::Number(number)) => {
            number.as_i64().map(|number| (number.to_string(), number == 0))
        }
        (TypeClass::Scalar, ty, Value::Number(number)) if ty.starts_with(['i', 'u']) => {
            let number = number.as_i64().filter(|number| in_range(ty, *number))?;
            Some((number.to_string(), number == 0))
        }
        (TypeClass::Scalar, "f64", Value::Number(number)) => {
            number.as_f64().map(|number| (format!("{number:?}"), number == 0.0))
        }
        _ => None,
    }
}

/// Returns true if the number is a value of the integer type.
fn in_range(ty: &str, number: i64) -> bool {
    match ty {
        "i8" => i8::try_from(number).is_ok(),
        "i16" => i16::try_from(number).is_ok(),
        "i32" => i32::try_from(number).is_ok(),
        "u8" => u8::try_from(number).is_ok(),
        "u16" => u16::try_from(number).is_ok(),
        "u32" => u32::try_from(number).is_ok(),
        _ => number >= 0,
    }
}
