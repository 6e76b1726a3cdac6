//! kube-core's rewrite of a schema from schemars to a structural one.
//!
//! [`kube::core::schema`] has these transforms for its own release. This module has those of each release in the table,
//! and visits each part of a schema once. Tests compare both.
//!
//! kube parses each schema into its own types. A schema that does not fit, and all schemas around it, stay as they are.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::release::{ReleaseChange, Releases};

/// The start of kube-core's panic message.
type Panic = String;

/// Makes a schema structural, like the transforms `StructuralSchemaRewriter`, `OptionalEnum` and `OptionalIntOrString`.
pub(super) fn rewrite(schema: &mut Value, releases: Releases) -> Result<(), Panic> {
    structural(schema, releases)?;
    if releases.has(ReleaseChange::OptionalEnum) {
        optional_enums(schema, releases);
    }
    if releases.has(ReleaseChange::OptionalIntOrString) {
        optional_int_or_strings(schema);
    }
    Ok(())
}

fn each_part(schema: &mut Map<String, Value>, run: &mut dyn FnMut(&mut Value)) {
    for (key, value) in schema.iter_mut() {
        match key.as_str() {
            "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "additionalProperties"
            | "propertyNames"
            | "additionalItems" => run(value),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                value.as_array_mut().into_iter().flatten().for_each(&mut *run);
            }
            "items" => match value {
                Value::Array(items) => items.iter_mut().for_each(&mut *run),
                item => run(item),
            },
            "properties" | "patternProperties" | "$defs" | "definitions" => {
                value.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(&mut *run);
            }
            _ => {}
        }
    }
}

/// Keywords of object schemas in kube's types.
const OF_OBJECTS: [&str; 7] = [
    "maxProperties",
    "minProperties",
    "required",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
];

/// Keywords of list schemas.
const OF_LISTS: [&str; 5] = ["items", "additionalItems", "maxItems", "minItems", "contains"];

/// Rewrites the parts of a schema, then itself. Returns true if it fits kube's types.
fn structural(schema: &mut Value, releases: Releases) -> Result<bool, Panic> {
    let Value::Object(map) = schema else { return Ok(schema.is_boolean()) };
    let mut fits = true;
    for (key, value) in map.iter_mut() {
        fits &= keyword(key, value, releases)?;
    }
    if fits {
        normalize(map);
        merge_alternatives(map, releases)?;
        let described = map.contains_key("properties");
        match map.get("additionalProperties") {
            Some(Value::Bool(true)) if described => {
                map.remove("additionalProperties");
                map.entry("x-kubernetes-preserve-unknown-fields").or_insert(Value::Bool(true));
            }
            Some(Value::Bool(false)) if described && releases.has(ReleaseChange::ClosedObject) => {
                map.remove("additionalProperties");
            }
            _ => {}
        }
    }
    Ok(fits)
}

/// Rewrites the schemas of a keyword. Returns true if its value fits kube's types.
fn keyword(key: &str, value: &mut Value, releases: Releases) -> Result<bool, Panic> {
    Ok(match key {
        "anyOf" | "oneOf" => match value {
            Value::Array(schemas) => all(schemas.iter_mut(), releases)?,
            other => other.is_null(),
        },
        "properties" | "patternProperties" => match value {
            Value::Object(schemas) => all(schemas.values_mut(), releases)?,
            _ => false,
        },
        "items" => match value {
            Value::Array(schemas) => all(schemas.iter_mut(), releases)?,
            schema => structural(schema, releases)? || schema.is_null(),
        },
        "additionalItems" | "contains" | "additionalProperties" | "propertyNames" => {
            structural(value, releases)? || value.is_null()
        }
        // schemars visits these, but kube's types lack them.
        "not" | "if" | "then" | "else" => structural(value, releases).map(|_| true)?,
        "allOf" | "prefixItems" => all(value.as_array_mut().into_iter().flatten(), releases).map(|_| true)?,
        "$defs" | "definitions" => {
            all(value.as_object_mut().into_iter().flat_map(Map::values_mut), releases).map(|_| true)?
        }
        "type" => match value {
            Value::Array(types) => types.iter().all(is_type),
            other => other.is_null() || is_type(other),
        },
        "format" | "description" => value.is_null() || value.is_string(),
        "enum" => value.is_null() || value.is_array(),
        "required" => value.as_array().is_some_and(|names| names.iter().all(Value::is_string)),
        "uniqueItems" => value.is_null() || value.is_boolean(),
        "maxItems" | "minItems" | "maxProperties" | "minProperties" => {
            value.is_null() || value.as_u64().is_some_and(|count| u32::try_from(count).is_ok())
        }
        _ => true,
    })
}

fn all<'a>(mut schemas: impl Iterator<Item = &'a mut Value>, releases: Releases) -> Result<bool, Panic> {
    schemas.try_fold(true, |fits, schema| Ok(structural(schema, releases)? && fits))
}

fn is_type(value: &Value) -> bool {
    let types = ["null", "boolean", "object", "array", "number", "string", "integer"];
    value.as_str().is_some_and(|name| types.contains(&name))
}

/// Removes what kube's types do not serialize: null optional values, empty maps and sets, `uniqueItems`.
fn normalize(map: &mut Map<String, Value>) {
    map.retain(|key, value| match key.as_str() {
        "uniqueItems" => false,
        "type" | "format" | "enum" | "description" | "anyOf" | "oneOf" => !value.is_null(),
        "properties" | "patternProperties" => value.as_object().is_none_or(|schemas| !schemas.is_empty()),
        "required" => value.as_array().is_none_or(|names| !names.is_empty()),
        other => !value.is_null() || !(OF_OBJECTS.contains(&other) || OF_LISTS.contains(&other)),
    });
    if let Some(Value::Array(names)) = map.get_mut("required") {
        names.sort_unstable_by(|a, b| a.as_str().cmp(&b.as_str()));
        names.dedup();
    }
}

/// Moves properties, types and values of alternatives to the parent schema, where Kubernetes requires them.
fn merge_alternatives(map: &mut Map<String, Value>, releases: Releases) -> Result<(), Panic> {
    // A property with an empty description slot differs from one without.
    let mut empty = BTreeSet::new();
    for key in ["oneOf", "anyOf"] {
        let Some(Value::Array(mut alternatives)) = map.remove(key) else { continue };
        let describes = key == "oneOf" || !releases.has(ReleaseChange::BareAlternatives);
        for alternative in alternatives.iter_mut().filter_map(Value::as_object_mut) {
            if OF_OBJECTS.iter().any(|of_objects| alternative.contains_key(*of_objects)) {
                merge_object(map, alternative, describes, &mut empty)?;
            } else if releases.has(ReleaseChange::BareAlternatives)
                && !["enum", "anyOf", "oneOf"].iter().chain(&OF_LISTS).any(|other| alternative.contains_key(*other))
            {
                alternative.retain(|key, _| !["type", "description", "default"].contains(&key.as_str()));
            }
        }
        if key == "oneOf" {
            merge_values(map, &mut alternatives)?;
            if alternatives.is_empty() {
                continue;
            }
        }
        map.insert(key.to_owned(), Value::Array(alternatives));
    }
    Ok(())
}

/// Moves the properties and the type of an alternative to the parent schema.
fn merge_object(
    map: &mut Map<String, Value>,
    alternative: &mut Map<String, Value>,
    describes: bool,
    empty: &mut BTreeSet<String>,
) -> Result<(), Panic> {
    let description = alternative.remove("description");
    let properties = match alternative.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    alternative.remove("additionalProperties");
    let only = properties.len() == 1;
    for (name, mut property) in properties {
        let mut place = false;
        if let (true, Some(description), Value::Object(property)) = (only, &description, &mut property) {
            if describes {
                property.insert("description".to_owned(), description.clone());
            }
            place = !property.contains_key("description") && !property.contains_key("default");
        }
        let all = map.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(all) = all else { continue };
        match all.get(&name) {
            None => {
                if place {
                    empty.insert(name.clone());
                }
                all.insert(name, property);
            }
            Some(other) if *other == property && empty.contains(&name) == place => {}
            Some(_) => return Err(format!("Property {name:?} has different schemas in two subschemas")),
        }
    }
    merge_type(map, alternative.remove("type"), "variant defined type")
}

fn merge_type(map: &mut Map<String, Value>, ty: Option<Value>, panic: &str) -> Result<(), Panic> {
    let Some(ty) = ty else { return Ok(()) };
    match map.get("type") {
        Some(other) if *other != ty => Err(format!("{panic} {ty}, but another one {other}")),
        _ => {
            map.insert("type".to_owned(), ty);
            Ok(())
        }
    }
}

/// Moves the values of alternatives with an `enum` to the parent schema.
fn merge_values(map: &mut Map<String, Value>, alternatives: &mut Vec<Value>) -> Result<(), Panic> {
    let (listed, others): (Vec<Value>, Vec<Value>) =
        std::mem::take(alternatives).into_iter().partition(|alternative| alternative.get("enum").is_some());
    *alternatives = others;
    for mut alternative in listed {
        let ty = alternative.get_mut("type").map(Value::take);
        merge_type(map, ty, "Enum variant set has type")?;
        let values = map.entry("enum").or_insert_with(|| Value::Array(Vec::new()));
        if let (Value::Array(values), Some(Value::Array(more))) = (values, alternative.get_mut("enum")) {
            values.append(more);
        }
    }
    Ok(())
}

/// `Option` of an enum: schemars writes `anyOf` with an alternative for `null`.
fn optional_enums(schema: &mut Value, releases: Releases) {
    let Value::Object(map) = schema else { return };
    each_part(map, &mut |part| optional_enums(part, releases));
    let Some(Value::Array(alternatives)) = map.get("anyOf") else { return };
    let [Value::Object(some), Value::Object(none)] = alternatives.as_slice() else { return };
    let is_null = none.get("enum") == Some(&json!([null])) && none.get("nullable") == Some(&Value::Bool(true));
    if !is_null
        || some.contains_key("nullable")
        || !(releases.has(ReleaseChange::OptionalData) || some.contains_key("enum"))
        || !(releases.has(ReleaseChange::DescribedOptionalEnum) || map.len() == 1)
    {
        return;
    }
    let some = some.clone();
    map.remove("anyOf");
    map.extend(some);
    map.insert("nullable".to_owned(), Value::Bool(true));
}

fn optional_int_or_strings(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    each_part(map, &mut optional_int_or_strings);
    let required = map.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = map.get_mut("properties") else { return };
    let optional = |name: &String| !required.iter().any(|other| other == name);
    for (_, property) in properties.iter_mut().filter(|(name, _)| optional(name)) {
        if let Value::Object(property) = property
            && property.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true))
        {
            property.entry("nullable").or_insert(Value::Bool(true));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use kube::core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
    use schemars::Schema;
    use schemars::transform::Transform as _;

    use super::super::quiet::quietly;
    use super::*;

    fn linked(schema: &Value) -> Result<Value, String> {
        let mut schema = Schema::try_from(schema.clone()).unwrap();
        quietly(move || {
            StructuralSchemaRewriter.transform(&mut schema);
            OptionalEnum.transform(&mut schema);
            OptionalIntOrString.transform(&mut schema);
            schema.to_value()
        })
    }

    fn begins_alike(own: &str, linked: &str) -> bool {
        own.split(' ').next() == linked.split(' ').next()
    }

    /// The generator <https://prng.di.unimi.it/splitmix64.c>.
    struct Random(u64);

    impl Random {
        fn next(&mut self, below: usize) -> usize {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            usize::try_from((z ^ (z >> 31)) % below as u64).unwrap()
        }

        fn one<T: Clone + Debug>(&mut self, of: &[T]) -> T {
            of[self.next(of.len())].clone()
        }

        fn many(&mut self, most: usize, depth: usize) -> Vec<Value> {
            (0..self.next(most + 1)).map(|_| self.schema(depth)).collect()
        }

        /// A random schema; one keyword in eighty has a value of the wrong type.
        fn schema(&mut self, depth: usize) -> Value {
            if self.next(12) == 0 {
                return self.one(&[json!(true), json!(false), json!({})]);
            }
            let mut map = Map::new();
            for _ in 0..self.next(5) {
                let key = self.one(&[
                    "type",
                    "type",
                    "type",
                    "format",
                    "enum",
                    "description",
                    "description",
                    "default",
                    "nullable",
                    "anyOf",
                    "anyOf",
                    "anyOf",
                    "oneOf",
                    "oneOf",
                    "allOf",
                    "not",
                    "items",
                    "contains",
                    "maxItems",
                    "minItems",
                    "uniqueItems",
                    "required",
                    "properties",
                    "properties",
                    "properties",
                    "patternProperties",
                    "additionalProperties",
                    "additionalProperties",
                    "maxProperties",
                    "propertyNames",
                    "additionalItems",
                    "x-kubernetes-int-or-string",
                    "x-kubernetes-preserve-unknown-fields",
                ]);
                let value = match key {
                    _ if self.next(80) == 0 => self.one(&[json!(null), json!("a"), json!([1]), json!(-1), json!(1.5)]),
                    "anyOf" | "oneOf" | "allOf" if depth > 0 => {
                        let mut schemas = self.many(3, depth - 1);
                        if self.next(3) == 0 {
                            schemas.truncate(1);
                            schemas.push(json!({ "enum": [null], "nullable": true }));
                        }
                        Value::Array(schemas)
                    }
                    "properties" | "patternProperties" if depth > 0 => {
                        let names = ["a", "b", "c"];
                        self.many(2, depth - 1)
                            .into_iter()
                            .map(|schema| (self.one(&names).to_owned(), schema))
                            .collect()
                    }
                    "items" if depth > 0 && self.next(4) == 0 => Value::Array(self.many(2, depth - 1)),
                    "items" | "not" | "contains" | "propertyNames" | "additionalItems" if depth > 0 => {
                        self.schema(depth - 1)
                    }
                    "additionalProperties" => match self.next(3) {
                        0 if depth > 0 => self.schema(depth - 1),
                        other => Value::Bool(other == 1),
                    },
                    "type" => {
                        self.one(&[json!("object"), json!("string"), json!("integer"), json!(["string", "null"])])
                    }
                    "enum" => self.one(&[json!(["a"]), json!(["b", "c"]), json!([null]), json!([])]),
                    "required" => self.one(&[json!(["b", "a", "b"]), json!(["a"]), json!([])]),
                    "default" => self.one(&[json!(null), json!(1)]),
                    "maxItems" | "minItems" | "maxProperties" => self.one(&[json!(1), json!(0)]),
                    "format" | "description" => self.one(&[json!("a"), json!("b")]),
                    _ => self.one(&[json!(true), json!(true), json!(false)]),
                };
                map.insert(key.to_owned(), value);
            }
            Value::Object(map)
        }
    }

    #[test]
    fn schemas_are_those_of_the_linked_kube() {
        let seed = std::env::var("SCHEMA_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
        println!("SCHEMA_SEED={seed}");
        let mut random = Random(seed);
        let (mut panics, mut changed) = (0, 0);
        for _ in 0..40_000 {
            let schema = random.schema(3);
            let mut own = schema.clone();
            let answer = rewrite(&mut own, Releases::default());
            match (answer, linked(&schema)) {
                (Err(own), Err(linked)) if begins_alike(&own, &linked) => panics += 1,
                (Ok(()), Ok(linked)) if own == linked => changed += usize::from(own != schema),
                (answer, linked) => panic!("{schema}\n{answer:?}\nown    {own}\nlinked {linked:?}"),
            }
        }
        assert!(panics > 100 && changed > 10_000, "{panics} panics, {changed} changed");
    }
}
