//! `x-kubernetes-list-type` and `x-kubernetes-map-type`: how server-side apply merges lists and objects.

use serde_json::{Map, Value};

use super::{StructuralCheck, flag};
use crate::crd::walk::{SchemaPath, SchemaStep};
use crate::diagnostic::Code;

impl StructuralCheck<'_> {
    pub(super) fn merge_types(&mut self, schema: &Map<String, Value>, path: &SchemaPath) {
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        let kind = text("type").unwrap_or_default();
        if let Some(merge) = text("x-kubernetes-map-type") {
            if kind != "object" {
                self.merge(
                    path,
                    "`x-kubernetes-map-type` is only allowed on objects",
                    "move it to a field that is a struct or a map",
                );
            }
            if !["atomic", "granular"].contains(&merge) {
                self.merge(
                    path,
                    &format!("`{merge}` is not a valid `x-kubernetes-map-type`"),
                    "write `atomic` or `granular`",
                );
            }
        }
        let merge = text("x-kubernetes-list-type");
        let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
        if keys.is_some_and(|keys| !keys.is_empty()) && merge != Some("map") {
            let help = "write `#[x_kube(merge_strategy = ListMerge::Map(vec![…]))]`";
            self.merge(path, "`x-kubernetes-list-map-keys` is only allowed on a list of type `map`", help);
        }
        let Some(merge) = merge else { return };
        if kind != "array" {
            self.merge(path, "`x-kubernetes-list-type` is only allowed on lists", "move it to a field that is a list");
            return;
        }
        let Some(items) = schema.get("items").and_then(Value::as_object) else { return };
        match merge {
            "atomic" => {}
            "set" => self.set(items, path),
            "map" => {
                let keys = keys.into_iter().flatten().filter_map(Value::as_str);
                self.map(items, &keys.collect::<Vec<_>>(), path);
            }
            other => {
                self.merge(
                    path,
                    &format!("`{other}` is not a valid `x-kubernetes-list-type`"),
                    "write `atomic`, `set` or `map`",
                );
            }
        }
        if merge != "atomic" && flag(items, "nullable") {
            let what = format!("the items of a list of type `{merge}` must not be nullable");
            self.merge(&path.then(SchemaStep::Items), &what, "remove `Option` from the type of the items");
        }
    }

    /// A list without duplicates.
    fn set(&mut self, items: &Map<String, Value>, path: &SchemaPath) {
        let text = |key: &str| items.get(key).and_then(Value::as_str);
        let (key, help) = match text("type") {
            Some("object") => ("x-kubernetes-map-type", "use `ListMerge::Map` with the fields that identify an item"),
            Some("array") if text("x-kubernetes-list-type").is_none() => return,
            Some("array") => ("x-kubernetes-list-type", "make the inner lists atomic"),
            _ => return,
        };
        if text(key) != Some("atomic") {
            self.merge(&path.then(SchemaStep::Items), "the items of a set must be atomic", help);
        }
    }

    /// A list whose items are identified by some of their fields.
    fn map(&mut self, items: &Map<String, Value>, keys: &[&str], path: &SchemaPath) {
        let inner = path.then(SchemaStep::Items);
        if items.get("type").is_none_or(|kind| kind != "object") {
            return self.merge(&inner, "the items of a list of type `map` must be objects", "use `ListMerge::Set`");
        }
        if keys.is_empty() {
            self.merge(path, "a list of type `map` must have keys", "name the fields in `ListMerge::Map(vec![…])`");
        }
        let required: Vec<&str> =
            items.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        for (index, key) in keys.iter().enumerate() {
            if keys[..index].contains(key) {
                self.merge(path, &format!("duplicate key `{key}`"), "name it once in `ListMerge::Map(vec![…])`");
            }
            let Some(field) = items.get("properties").and_then(|fields| fields.get(key)).and_then(Value::as_object)
            else {
                let help = "name fields of the items in `ListMerge::Map(vec![…])`, spelled as in JSON";
                self.merge(path, &format!("the key `{key}` is not a field of the items"), help);
                continue;
            };
            let at = inner.field(key);
            if field.get("type").is_some_and(|kind| kind == "array" || kind == "object") {
                self.merge(&at, "a key of a list of type `map` must be a scalar", "use a field with a scalar type");
            }
            if flag(field, "nullable") {
                self.merge(&at, "a key of a list of type `map` must not be nullable", "remove `Option` from its type");
            }
            if !required.contains(key) && !field.contains_key("default") {
                let help = "make it required: remove `Option`, and any default that is not in the schema";
                self.merge(&at, "a key of a list of type `map` must be required or have a default", help);
            }
        }
    }

    fn merge(&mut self, path: &SchemaPath, what: &str, help: &str) {
        self.say(Code::ListType, path, what, help);
    }
}
