//! Schemas of kinds: those of the API server's OpenAPI document, and the structural schemas of CRDs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::resource::texts;

pub(crate) mod builtin;
pub(crate) mod cel;
pub(crate) mod fields;
pub(crate) mod structural;

/// The schema of a value. Schemas are shared between servers and their copies.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) shape: Shape,
    /// The name of the type in the OpenAPI document.
    pub(crate) name: Option<String>,
    pub(crate) default: Option<Value>,
    pub(crate) nullable: bool,
    pub(crate) required: Vec<String>,
    /// Keeps fields that the schema does not list.
    pub(crate) preserve: bool,
    /// The JSON schema of this level, for the validations that are not part of the shape.
    pub(crate) rules: Value,
}

/// The type of a value, with its merge strategy.
#[derive(Debug, Default)]
pub(crate) enum Shape {
    /// A struct or a map.
    Object {
        properties: BTreeMap<String, Arc<Node>>,
        additional: Option<Arc<Node>>,
        atomic: bool,
    },
    Array {
        items: Arc<Node>,
        list: ListType,
    },
    String,
    Integer,
    Number,
    Boolean,
    IntOrString,
    /// A value of any type.
    #[default]
    Any,
}

/// The merge strategy of a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ListType {
    Atomic,
    Set,
    /// Items have these keys.
    Map(Vec<String>),
}

/// Schemas by their names, for `$ref`.
pub(crate) type Components = serde_json::Map<String, Value>;

impl Node {
    /// Reads a JSON schema.
    pub(crate) fn read(schema: &Value, components: &Components, read: &mut BTreeMap<String, Arc<Node>>) -> Arc<Node> {
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap_or_default();
            let node = match read.get(name) {
                Some(node) => node.clone(),
                None => {
                    let mut node = Self::of(&components[name], components, read);
                    node.name = Some(name.to_owned());
                    let node = Arc::new(node);
                    read.insert(name.to_owned(), node.clone());
                    node
                }
            };
            // A keyword beside the reference belongs to the field, not to its type.
            if let Some(strategy) = schema.get("x-kubernetes-patch-strategy") {
                let mut own = Self::of(&components[name], components, read);
                own.name = Some(name.to_owned());
                own.default = schema.get("default").cloned();
                own.rules["x-kubernetes-patch-strategy"] = strategy.clone();
                return Arc::new(own);
            }
            return match schema.get("default") {
                Some(default) if *default != node.default.clone().unwrap_or_default() => {
                    let mut own = Self::of(&components[name], components, read);
                    own.name = Some(name.to_owned());
                    own.default = Some(default.clone());
                    Arc::new(own)
                }
                _ => node,
            };
        }
        Arc::new(Self::of(schema, components, read))
    }

    fn of(schema: &Value, components: &Components, read: &mut BTreeMap<String, Arc<Node>>) -> Self {
        let flag = |name: &str| schema[name].as_bool().unwrap_or(false);
        let preserve = flag("x-kubernetes-preserve-unknown-fields");
        let either = flag("x-kubernetes-int-or-string")
            || schema["format"] == "int-or-string"
            || schema["oneOf"].as_array().is_some_and(|types| types.len() == 2 && schema["type"].is_null());
        let shape = match schema["type"].as_str() {
            _ if either => Shape::IntOrString,
            Some("object") => Shape::Object {
                properties: schema["properties"]
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(name, schema)| (name.clone(), Self::read(schema, components, read)))
                    .collect(),
                additional: match &schema["additionalProperties"] {
                    additional @ Value::Object(_) => Some(Self::read(additional, components, read)),
                    Value::Bool(true) => Some(Arc::new(Self { preserve: true, ..Self::default() })),
                    _ if preserve => Some(Arc::new(Self { preserve: true, ..Self::default() })),
                    _ => None,
                },
                atomic: schema["x-kubernetes-map-type"] == "atomic",
            },
            Some("array") => Shape::Array {
                items: Self::read(&schema["items"], components, read),
                list: match schema["x-kubernetes-list-type"].as_str() {
                    Some("set") => ListType::Set,
                    Some("map") => ListType::Map(texts(&schema["x-kubernetes-list-map-keys"]).collect()),
                    _ => ListType::Atomic,
                },
            },
            Some("string") => Shape::String,
            Some("integer") => Shape::Integer,
            Some("number") => Shape::Number,
            Some("boolean") => Shape::Boolean,
            _ => Shape::Any,
        };
        let mut rules = schema.clone();
        if let Some(rules) = rules.as_object_mut() {
            for key in ["properties", "items", "additionalProperties", "description", "default", "required"] {
                rules.remove(key);
            }
        }
        Self {
            shape,
            name: None,
            default: schema.get("default").cloned(),
            nullable: flag("nullable"),
            required: texts(&schema["required"]).collect(),
            preserve,
            rules,
        }
    }

    /// Returns the schema of a field, and whether the schema lists it by its name.
    pub(crate) fn field(&self, name: &str) -> (Option<&Arc<Node>>, bool) {
        match &self.shape {
            Shape::Object { properties, additional, .. } => match properties.get(name) {
                Some(node) => (Some(node), true),
                None => (additional.as_ref(), false),
            },
            _ => (None, false),
        }
    }
}
