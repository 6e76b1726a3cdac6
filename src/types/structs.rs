//! The structs, enums and functions of a file.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::shape::{TypeClass, TypeShape, literal_default};
use super::{SchemaMap, literal, names};

const DERIVES: &str = "Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema";

/// A Rust file under construction.
#[derive(Default)]
pub(super) struct TypesFile {
    imports: BTreeSet<String>,
    /// The names of types and functions.
    names: BTreeSet<String>,
    items: Vec<String>,
    /// The functions that return schemas, with these.
    functions: Vec<(String, Value)>,
    /// The functions that return defaults.
    defaults: Vec<String>,
    /// True if the struct that was made last has a list of conditions with the name of these.
    pub(super) has_conditions: bool,
}

/// A field of a struct.
struct FieldText {
    text: String,
    has_default: bool,
}

impl TypesFile {
    pub(super) fn import(&mut self, path: &str) {
        self.imports.insert(path.to_owned());
    }

    /// Takes a name for a type.
    pub(super) fn type_name(&mut self, name: &str) -> String {
        names::unique(name, &mut self.names)
    }

    /// Returns the name of a function that returns the schema. Equal schemas share a function.
    pub(super) fn function(&mut self, name: &str, schema: &Value) -> String {
        if let Some((name, _)) = self.functions.iter().find(|(_, other)| other == schema) {
            return name.clone();
        }
        let name = names::unique(name, &mut self.names);
        self.functions.push((name.clone(), schema.clone()));
        name
    }

    /// Adds the enum of a schema of strings.
    pub(super) fn enumeration(&mut self, schema: &SchemaMap, name: &str, values: &[String]) -> TypeShape {
        let at = self.reserve();
        let mut taken = BTreeSet::new();
        let mut variants = Vec::new();
        let mut text = String::new();
        for value in values {
            let variant = names::unique(&names::camel(value), &mut taken);
            if variant != *value {
                _ = writeln!(text, "    #[serde(rename = {value:?})]");
            }
            _ = writeln!(text, "    {variant},");
            variants.push((value.clone(), variant));
        }
        let rest = without(schema, &["type", "enum"]);
        let head = Self::head(&rest, "Copy, Eq, ", "", "");
        self.items[at] = format!("{head}pub enum {name} {{\n{text}}}\n");
        TypeShape {
            ty: name.to_owned(),
            core: schema.clone(),
            function: None,
            has_default: false,
            class: TypeClass::Enum(variants),
        }
    }

    /// Adds the struct of an object schema. Returns true if it implements `Default`.
    pub(super) fn structure(&mut self, schema: &SchemaMap, name: &str) -> bool {
        self.resource(schema, name, "", "")
    }

    /// Adds a struct with another derive and an attribute.
    pub(super) fn resource(&mut self, schema: &SchemaMap, name: &str, derive: &str, attribute: &str) -> bool {
        let at = self.reserve();
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required: Vec<&str> = list(schema, "required");
        let mut fields = String::new();
        let (mut taken, mut has_default, mut has_conditions) = (BTreeSet::new(), true, false);
        for (property, part) in properties {
            let Some(part) = part.as_object() else { continue };
            let ident = names::unique(&names::snake(property), &mut taken);
            let (field, class) = self.field(name, (property, &ident), part, required.contains(&property.as_str()));
            has_default &= field.has_default;
            has_conditions |= ident == "conditions" && class == TypeClass::Conditions;
            fields.push_str(&field.text);
        }
        let mut attributes = attribute.to_owned();
        let mut rest = without(schema, &["type", "properties", "required"]);
        if rest.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
            self.import("std::collections::BTreeMap");
            self.import("serde_json::Value");
            let ident = names::unique("other", &mut taken);
            _ = write!(
                fields,
                "    /// The other fields.\n    #[serde(flatten)]\n    pub {ident}: BTreeMap<String, Value>,\n"
            );
            if properties.is_empty() {
                let whole = Value::Object(without(schema, &["description"]));
                let function = self.function(&names::snake(name), &whole);
                _ = writeln!(attributes, "#[schemars(schema_with = {function:?})]");
                rest.retain(|key, _| key == "description");
            } else {
                rest.remove("x-kubernetes-preserve-unknown-fields");
            }
        }
        if required.iter().any(|name| !properties.contains_key(*name)) {
            rest.insert("required".to_owned(), json!(required));
        }
        let default = if has_default { "Default, " } else { "" };
        let rename = if properties.is_empty() { "" } else { "#[serde(rename_all = \"camelCase\")]\n" };
        let head = Self::head(&rest, &format!("{derive}{default}"), &attributes, rename);
        self.items[at] = if fields.is_empty() {
            format!("{head}pub struct {name} {{}}\n")
        } else {
            format!("{head}pub struct {name} {{\n{fields}}}\n")
        };
        self.has_conditions = has_conditions && has_default;
        has_default
    }

    fn reserve(&mut self) -> usize {
        self.items.push(String::new());
        self.items.len() - 1
    }

    /// The documentation and attributes of a type. `rest` is what its fields or variants do not say.
    fn head(rest: &SchemaMap, derives: &str, attribute: &str, rename: &str) -> String {
        let description = rest.get("description").and_then(Value::as_str).unwrap_or_default();
        let (mut lines, is_same) = literal::docs(description);
        lines.push(format!("#[derive({derives}{DERIVES})]"));
        let mut keys = Vec::new();
        if !is_same {
            keys.push(format!("description = {}", literal::text(description)));
        }
        for (key, value) in rest.iter().filter(|(key, value)| *key != "description" || *value == "") {
            keys.push(format!("extend({key:?} = {})", literal::json(value)));
        }
        let schemars = attribute_of("schemars", &keys, "");
        format!("{}\n{attribute}{rename}{schemars}", lines.join("\n"))
    }

    /// A field for the property of a struct.
    fn field(
        &mut self,
        owner: &str,
        (property, ident): (&str, &str),
        schema: &SchemaMap,
        required: bool,
    ) -> (FieldText, TypeClass) {
        const OWN: [&str; 3] = ["description", "default", "nullable"];
        let mut part = without(schema, &OWN);
        let nullable = schema.get("nullable") == Some(&Value::Bool(true));
        // The schema of an `Option` lists `null` too.
        let lists_null =
            nullable && !required && part.get_mut("enum").and_then(Value::as_array_mut).is_some_and(pop_null);
        let shape = self.named_shape(owner, property, &part);
        let default = schema.get("default");
        let mut serde = Vec::new();
        if names::renamed(ident) != property {
            serde.push(format!("rename = {property:?}"));
        }
        let mut keys = Vec::new();
        let mut rest: SchemaMap = part
            .iter()
            .filter(|(key, _)| !shape.core.contains_key(*key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if schema.get("nullable") == Some(&Value::Bool(false)) {
            rest.insert("nullable".to_owned(), Value::Bool(false));
        }
        let literal = default.and_then(|default| literal_default(&shape, default));
        let (mut ty, mut has_default, mut own_type) = (shape.ty.clone(), shape.has_default, true);
        match (required, literal, &shape.class) {
            (false, Some((value, is_default)), _) if !nullable => {
                if is_default {
                    serde.push("default".to_owned());
                } else {
                    has_default = false;
                    let function = self.default_function(owner, ident, &ty, &value);
                    serde.push(format!("default = {function:?}"));
                }
            }
            (false, _, TypeClass::Collection(_) | TypeClass::Conditions) if default.is_none() && !nullable => {
                let collection = ty.split('<').next().unwrap_or_default().to_owned();
                serde.push("default".to_owned());
                serde.push(format!("skip_serializing_if = \"{collection}::is_empty\""));
            }
            _ => {
                rest.extend(default.map(|default| ("default".to_owned(), default.clone())));
                if !required || nullable {
                    has_default = true;
                    ty = format!("Option<{ty}>");
                }
                let is_enum = matches!(shape.class, TypeClass::Enum(_));
                let plain = !required && nullable && shape.function.is_none() && is_enum == lists_null;
                if nullable && !plain {
                    rest.insert("nullable".to_owned(), Value::Bool(true));
                }
                if !required {
                    if !plain || default.is_some() {
                        serde.push("default".to_owned());
                    }
                    serde.push("skip_serializing_if = \"Option::is_none\"".to_owned());
                }
                own_type = plain || (required && !nullable);
            }
        }
        match &shape.function {
            Some(function) => {
                let function = self.function(function, &Value::Object(shape.core.clone()));
                keys.push(format!("schema_with = {function:?}"));
            }
            None if !own_type => keys.push(format!("with = {:?}", shape.ty)),
            None => {}
        }
        let docs = described(schema, &mut keys);
        keys.extend(constraints(&mut rest, &shape));
        keys.extend(rest.iter().map(|(key, value)| format!("extend({key:?} = {})", literal::json(value))));
        let mut text = String::new();
        for line in docs {
            _ = writeln!(text, "    {line}");
        }
        text.push_str(&attribute_of("serde", &serde, "    "));
        text.push_str(&attribute_of("schemars", &keys, "    "));
        _ = writeln!(text, "    pub {ident}: {ty},");
        (FieldText { text, has_default }, shape.class)
    }

    /// The shape of a property, whose new types are named by their path.
    fn named_shape(&mut self, owner: &str, property: &str, schema: &SchemaMap) -> TypeShape {
        let stem = owner.strip_suffix("Spec").unwrap_or(owner);
        let name = self.type_name(&format!("{stem}{}", names::camel(property)));
        let before = self.items.len();
        let shape = self.shape(schema, &name);
        if self.items.len() == before {
            // Only types need their names.
            self.names.remove(&name);
        }
        shape
    }

    fn default_function(&mut self, owner: &str, ident: &str, ty: &str, value: &str) -> String {
        let name = format!("{}_{}", names::snake(owner), ident.trim_end_matches('_'));
        let name = names::unique(&format!("default_{name}"), &mut self.names);
        self.defaults.push(format!("fn {name}() -> {ty} {{\n    {value}\n}}\n"));
        name
    }

    /// The whole file, not formatted.
    pub(super) fn text(mut self, kind: &str) -> String {
        self.import("kube::CustomResource");
        self.import("serde::{Deserialize, Serialize}");
        self.import(if self.functions.is_empty() {
            "schemars::JsonSchema"
        } else {
            "schemars::{JsonSchema, Schema, SchemaGenerator, json_schema}"
        });
        let mut text = format!("//! The kind `{kind}`, from its CRD.\n\n");
        let (std, others): (Vec<_>, Vec<_>) = self.imports.iter().partition(|path| path.starts_with("std::"));
        for imports in [std, others].iter().filter(|imports| !imports.is_empty()) {
            for import in imports {
                _ = writeln!(text, "use {import};");
            }
            text.push('\n');
        }
        let functions = self.functions.iter().map(|(name, schema)| {
            format!(
                "fn {name}(_: &mut SchemaGenerator) -> Schema {{\n    json_schema!({})\n}}\n",
                literal::json(schema)
            )
        });
        let parts: Vec<String> = self.items.iter().chain(&self.defaults).cloned().chain(functions).collect();
        text + &parts.join("\n")
    }
}

/// The lines of documentation of a field. Adds the attributes that a description needs in their place.
fn described(schema: &SchemaMap, keys: &mut Vec<String>) -> Vec<String> {
    let Some(description) = schema.get("description").and_then(Value::as_str) else { return Vec::new() };
    let (docs, is_same) = literal::docs(description);
    if description.is_empty() {
        keys.push("extend(\"description\" = \"\")".to_owned());
    } else if !is_same {
        keys.push(format!("description = {}", literal::text(description)));
    }
    docs
}

/// Removes the constraints that have an attribute of their own from a schema.
fn constraints(rest: &mut SchemaMap, shape: &TypeShape) -> Vec<String> {
    let (min, max, attribute) = match shape.ty.as_str() {
        "String" => ("minLength", "maxLength", "length"),
        "i32" | "i64" => ("minimum", "maximum", "range"),
        ty if ty.starts_with("Vec<") => ("minItems", "maxItems", "length"),
        _ => return Vec::new(),
    };
    let mut keys = Vec::new();
    let mut bounds = Vec::new();
    for (key, name) in [(min, "min"), (max, "max")] {
        if let Some(number) = rest.get(key).and_then(whole).filter(|number| *number >= 0 || attribute == "range") {
            rest.remove(key);
            bounds.push(format!("{name} = {}", literal::json(&json!(number))));
        }
    }
    if !bounds.is_empty() {
        keys.push(format!("{attribute}({})", bounds.join(", ")));
    }
    if attribute == "length"
        && shape.ty == "String"
        && let Some(Value::String(pattern)) = rest.remove("pattern")
    {
        keys.push(format!("regex(pattern = {})", literal::text(&pattern)));
    }
    keys
}

/// Removes a `null` at the end of the values of an enum.
fn pop_null(values: &mut Vec<Value>) -> bool {
    let ends = values.last().is_some_and(Value::is_null) && values.iter().rev().skip(1).all(Value::is_string);
    ends && values.pop().is_some()
}

/// The integer that a number is equal to.
fn whole(value: &Value) -> Option<i64> {
    #[allow(clippy::cast_possible_truncation, reason = "compared below")]
    let of_float = |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64);
    value.as_i64().or_else(|| value.as_f64().and_then(of_float))
}

fn attribute_of(name: &str, keys: &[String], indent: &str) -> String {
    match keys {
        [] => String::new(),
        keys => format!("{indent}#[{name}({})]\n", keys.join(", ")),
    }
}

/// The schema without some keys.
pub(super) fn without(schema: &SchemaMap, keys: &[&str]) -> SchemaMap {
    let others = schema.iter().filter(|(key, _)| !keys.contains(&key.as_str()));
    others.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The strings of a list.
pub(super) fn list<'a>(schema: &'a SchemaMap, key: &str) -> Vec<&'a str> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}
