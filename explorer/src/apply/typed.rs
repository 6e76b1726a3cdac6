//! Comparison, merge and removal of values by their schema.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::fields::FieldSet;
use crate::schema::{ListType, Node, Shape};

/// The differences between two values.
#[derive(Default)]
pub(crate) struct Comparison {
    pub(crate) removed: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) added: FieldSet,
}

/// A value without a schema: maps merge, lists are atomic.
fn untyped() -> Arc<Node> {
    Arc::new(Node { preserve: true, ..Node::default() })
}

/// The parts of a value that merge, from its schema and its JSON type.
enum View<'a> {
    Leaf,
    Map(&'a Map<String, Value>),
    List(&'a [Value], &'a ListType, &'a Arc<Node>),
}

fn view<'a>(node: &'a Node, value: &'a Value) -> View<'a> {
    match (&node.shape, value) {
        (Shape::Object { atomic: false, .. }, Value::Object(map)) => View::Map(map),
        (Shape::Any, Value::Object(map)) if node.preserve => View::Map(map),
        (Shape::Array { items, list }, Value::Array(values)) if *list != ListType::Atomic => {
            View::List(values, list, items)
        }
        _ => View::Leaf,
    }
}

/// Returns the schema of a field, and whether the schema lists its name.
fn child(node: &Node, name: &str) -> (Arc<Node>, bool) {
    match node.field(name) {
        (Some(child), named) => (child.clone(), named),
        (None, _) => (untyped(), false),
    }
}

/// The path element of a list item.
pub(crate) fn element(list: &ListType, items: &Node, item: &Value) -> String {
    match list {
        ListType::Map(keys) => {
            let mut element = Map::new();
            for key in keys {
                let value = match item.get(key) {
                    Some(value) => value.clone(),
                    None => match items.field(key) {
                        (Some(field), _) => match &field.default {
                            Some(default) => default.clone(),
                            None => continue,
                        },
                        _ => continue,
                    },
                };
                element.insert(key.clone(), value);
            }
            // Keys are sorted, whatever order the map of serde_json has.
            let mut keys: Vec<_> = element.iter().collect();
            keys.sort_by_key(|(key, _)| key.as_str());
            let keys: Vec<String> = keys.into_iter().map(|(key, value)| format!("{key:?}:{value}")).collect();
            format!("k:{{{}}}", keys.join(","))
        }
        _ => format!("v:{item}"),
    }
}

/// Returns false for a value that has another type than its schema, or list items without keys.
pub(crate) fn is_valid(node: &Node, value: &Value) -> bool {
    match (&node.shape, value) {
        (_, Value::Null) | (Shape::Any, _) => true,
        (Shape::String, value) => value.is_string(),
        (Shape::Integer | Shape::Number, value) => value.is_number(),
        (Shape::Boolean, value) => value.is_boolean(),
        (Shape::IntOrString, value) => !value.is_object() && !value.is_array(),
        (Shape::Object { .. }, Value::Object(map)) => map.iter().all(|(name, value)| match node.field(name) {
            (Some(field), _) => is_valid(field, value),
            (None, _) => true,
        }),
        (Shape::Array { items, list }, Value::Array(values)) => values.iter().all(|item| {
            let keyed = match list {
                ListType::Atomic => true,
                ListType::Set => !item.is_null() && !item.is_object() && !item.is_array(),
                ListType::Map(keys) => {
                    let default = |key: &str| items.field(key).0.is_some_and(|field| field.default.is_some());
                    item.is_object() && keys.iter().all(|key| item.get(key).is_some() || default(key))
                }
            };
            keyed && is_valid(items, item)
        }),
        _ => false,
    }
}

/// Returns false for a value with fields that its schema does not have.
pub(crate) fn is_declared(node: &Node, value: &Value) -> bool {
    match (&node.shape, value) {
        (Shape::Object { properties, additional, .. }, Value::Object(map)) => map.iter().all(|(name, value)| {
            match node.field(name).0 {
                Some(field) => is_declared(field, value),
                // An object without fields stands for any.
                None => node.preserve || (properties.is_empty() && additional.is_none()),
            }
        }),
        (Shape::Array { items, .. }, Value::Array(values)) => values.iter().all(|value| is_declared(items, value)),
        _ => true,
    }
}

/// The fields of a value.
pub(crate) fn fields(node: &Node, value: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    collect(node, value, &mut Vec::new(), &mut set);
    set
}

fn collect(node: &Node, value: &Value, path: &mut Vec<String>, set: &mut FieldSet) {
    match view(node, value) {
        View::Leaf => {
            // An empty list that merges has no item to own.
            let empty = matches!((&node.shape, value), (Shape::Array { list, .. }, Value::Null) if *list != ListType::Atomic)
                || matches!((&node.shape, value), (Shape::Object { atomic: false, .. }, Value::Null));
            if !empty {
                set.insert(path);
            }
        }
        View::Map(map) => {
            for (name, value) in map {
                let (field, named) = child(node, name);
                path.push(format!("f:{name}"));
                collect(&field, value, path, set);
                if value.is_null() || value.as_object().is_some_and(Map::is_empty) || !named {
                    set.insert(path);
                }
                path.pop();
            }
        }
        View::List(values, list, items) => {
            let elements: Vec<String> = values.iter().map(|item| element(list, items, item)).collect();
            for (at, item) in values.iter().enumerate() {
                path.push(elements[at].clone());
                if elements.iter().filter(|other| **other == elements[at]).count() == 1 {
                    collect(items, item, path, set);
                }
                set.insert(path);
                path.pop();
            }
        }
    }
}

/// Compares two values; null counts as missing at the root.
pub(crate) fn compare(node: &Node, old: &Value, new: &Value) -> Comparison {
    let mut comparison = Comparison::default();
    let present = |value: &'_ Value| !value.is_null();
    walk(
        node,
        Some(old).filter(|value| present(value)),
        Some(new).filter(|value| present(value)),
        &mut Vec::new(),
        &mut comparison,
    );
    comparison
}

fn walk(node: &Node, old: Option<&Value>, new: Option<&Value>, path: &mut Vec<String>, to: &mut Comparison) {
    let is_empty = |value: Option<&Value>| match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(values)) => values.is_empty(),
        Some(Value::Object(map)) => map.is_empty(),
        Some(_) => false,
    };
    let views = (old.map(|old| view(node, old)), new.map(|new| view(node, new)));
    let scalar =
        |value: Option<&Value>| value.is_some_and(|value| !value.is_object() && !value.is_array() && !value.is_null());
    let leaf = match &views {
        (Some(View::Map(_) | View::List(..)), _) | (_, Some(View::Map(_) | View::List(..))) => {
            (is_empty(old) && is_empty(new)) || scalar(old) || scalar(new)
        }
        _ => true,
    };
    if leaf {
        match (old, new) {
            (None, Some(_)) => to.added.insert(path),
            (Some(_), None) => to.removed.insert(path),
            (Some(old), Some(new)) if old != new => to.modified.insert(path),
            _ => {}
        }
        return;
    }
    match views {
        (Some(View::List(_, list, items)), _) | (_, Some(View::List(_, list, items))) => {
            let values = |value: Option<&'_ Value>| -> Vec<(String, Value)> {
                let values = value.and_then(Value::as_array).into_iter().flatten();
                values.map(|item| (element(list, items, item), item.clone())).collect()
            };
            let (old, new) = (values(old), values(new));
            let mut elements: Vec<&String> = Vec::new();
            for (element, _) in old.iter().chain(&new) {
                if !elements.contains(&element) {
                    elements.push(element);
                }
            }
            for element in elements {
                let of = |values: &'_ [(String, Value)]| -> Vec<Value> {
                    values.iter().filter(|(other, _)| other == element).map(|(_, value)| value.clone()).collect()
                };
                let (old, new) = (of(&old), of(&new));
                path.push(element.clone());
                match (&old[..], &new[..]) {
                    ([] | [_], [] | [_]) => walk(items, old.first(), new.first(), path, to),
                    ([_, _, ..], [_, _, ..]) => {
                        if old != new {
                            to.modified.insert(path);
                        }
                    }
                    ([_, _, ..], rest) => {
                        if let Some(new) = rest.first() {
                            walk(items, None, Some(new), path, to);
                        }
                        to.removed.insert(path);
                    }
                    (rest, _) => {
                        if let Some(old) = rest.first() {
                            walk(items, Some(old), None, path, to);
                        }
                        to.added.insert(path);
                    }
                }
                path.pop();
            }
        }
        _ => {
            let map = |value: Option<&'_ Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
            let (before, after) = (map(old), map(new));
            let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                path.push(format!("f:{name}"));
                walk(&child(node, name).0, before.get(name), after.get(name), path, to);
                path.pop();
            }
        }
    }
    match (old, new) {
        (None, Some(_)) => to.added.insert(path),
        (Some(_), None) => to.removed.insert(path),
        _ => {}
    }
}

/// Merges an applied value into the live one. Returns none if a list of it has two items with equal keys.
pub(crate) fn merge(node: &Node, live: &Value, config: &Value) -> Option<Value> {
    let live = Some(live).filter(|live| !live.is_null());
    Some(merged(node, live, Some(config)).ok()?.unwrap_or(Value::Null))
}

/// Two items of an applied list have equal keys.
struct Duplicate;

fn merged(node: &Node, live: Option<&Value>, config: Option<&Value>) -> Result<Option<Value>, Duplicate> {
    let is_empty = |value: Option<&Value>| match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(values)) => values.is_empty(),
        Some(Value::Object(map)) => map.is_empty(),
        Some(_) => false,
    };
    // A null does not replace a value that merges.
    let viewed = config.filter(|config| !config.is_null()).or(live).or(config).map(|value| view(node, value));
    let leaf = matches!(viewed, Some(View::Leaf) | None) || (is_empty(live) && is_empty(config));
    if leaf {
        return Ok(config.or(live).cloned());
    }
    if let Some(View::List(_, list, items)) = viewed {
        return merged_list(list, items, live, config);
    }
    let map = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
    let (before, after) = (map(live), map(config));
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut out = Map::new();
    for name in names {
        let field = merged(&child(node, name).0, before.get(name), after.get(name))?;
        if let Some(value) = field {
            out.insert(name.clone(), value);
        }
    }
    Ok((!out.is_empty()).then_some(Value::Object(out)))
}

/// Merges lists with keys. Items keep their place in `live`, except where the order of `config` contradicts it.
fn merged_list(
    list: &ListType,
    items: &Arc<Node>,
    live: Option<&Value>,
    config: Option<&Value>,
) -> Result<Option<Value>, Duplicate> {
    let index = |value: Option<&Value>| -> Vec<(String, Value)> {
        let values = value.and_then(Value::as_array).into_iter().flatten();
        values.map(|item| (element(list, items, item), item.clone())).collect()
    };
    let (left, right) = (index(live), index(config));
    for (at, (element, _)) in right.iter().enumerate() {
        if right[..at].iter().any(|(other, _)| other == element) {
            return Err(Duplicate);
        }
    }
    let of = |values: &[(String, Value)], element: &str| {
        let found: Vec<_> = values.iter().filter(|(other, _)| other == element).collect();
        match &found[..] {
            [] => None,
            [(_, value)] => Some(value.clone()),
            _ => Some(Value::Null),
        }
    };
    let has = |values: &[(String, Value)], element: &str| values.iter().any(|(other, _)| other == element);
    let mut shared: std::collections::VecDeque<&String> =
        right.iter().map(|(element, _)| element).filter(|element| has(&left, element)).collect();
    let mut next = shared.pop_front();
    let mut done: Vec<&String> = Vec::new();
    let mut out = Vec::new();
    let (mut at_left, mut at_right) = (0, 0);
    while at_left < left.len() || at_right < right.len() {
        if at_left < left.len() && at_right < right.len() {
            let element = &left[at_left].0;
            if *element == right[at_right].0 {
                done.push(element);
                out.extend(merged(items, of(&left, element).as_ref(), of(&right, element).as_ref())?);
                at_left += 1;
                at_right += 1;
                next = shared.pop_front();
                continue;
            }
            if has(&right, element) && next.is_some_and(|next| next != element) {
                at_left += 1;
                continue;
            }
        }
        if at_left < left.len() {
            let (element, value) = &left[at_left];
            if !has(&right, element) {
                out.extend(merged(items, Some(value), None)?);
                at_left += 1;
                continue;
            }
            if done.contains(&element) {
                at_left += 1;
            }
        }
        if at_right < right.len() {
            let (element, value) = &right[at_right];
            done.push(element);
            out.extend(merged(items, of(&left, element).as_ref(), Some(value))?);
            at_right += 1;
            if next == Some(element) {
                next = shared.pop_front();
            }
        }
    }
    Ok((!out.is_empty()).then_some(Value::Array(out)))
}

/// Removes the fields and items of a set from a value. A container that loses all its content becomes null.
pub(crate) fn remove(node: &Node, value: &Value, set: &FieldSet) -> Value {
    match view(node, value) {
        View::Map(map) => {
            let mut out = Map::new();
            for (name, value) in map {
                let element = format!("f:{name}");
                if set.contains(&element) {
                    continue;
                }
                let kept = match set.below(&element) {
                    Some(below) => remove(&child(node, name).0, value, below),
                    None => value.clone(),
                };
                out.insert(name.clone(), kept);
            }
            if out.is_empty() { Value::Null } else { Value::Object(out) }
        }
        View::List(values, list, items) => {
            let mut out = Vec::new();
            for item in values {
                let element = element(list, items, item);
                if set.contains(&element) {
                    continue;
                }
                let kept = match set.below(&element) {
                    Some(below) => remove(items, item, below),
                    None => item.clone(),
                };
                out.push(kept);
            }
            if out.is_empty() { Value::Null } else { Value::Array(out) }
        }
        // A value that is removed as a whole is a member of the set.
        View::Leaf if value.is_object() || value.is_array() => Value::Null,
        View::Leaf => value.clone(),
    }
}

/// Adds the parents that the schema lists by name as members.
pub(crate) fn named_members(node: &Node, set: &FieldSet) -> FieldSet {
    let named = |node: Option<&Node>, element: &str| match (node, element.strip_prefix("f:")) {
        (Some(node), Some(name)) => node.field(name).1,
        _ => false,
    };
    fn descend<'a>(node: Option<&'a Node>, element: &str) -> Option<&'a Node> {
        match element.strip_prefix("f:") {
            Some(name) => node?.field(name).0.map(Arc::as_ref),
            None => match &node?.shape {
                Shape::Array { items, .. } => Some(items.as_ref()),
                _ => None,
            },
        }
    }
    set.with_members(Some(node), &named, &descend)
}
