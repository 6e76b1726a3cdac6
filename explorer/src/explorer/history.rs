//! Histories: changes of a spec that its schema permits.

use serde_json::{Value, json};

use crate::schema::{Node, Shape};

/// Operations that are combined to triples. Pairs use all of them.
const TRIPLES: usize = 8;

/// Merge patches of the field at `path`: each property gets other valid values and boundary values, and is removed.
pub(super) fn operations(node: &Node, current: &Value, path: &mut Vec<String>, found: &mut Vec<Value>) {
    let mut add = |path: &[String], value: Value| {
        let nested = path.iter().rev().fold(value, |inner, field| json!({ field: inner }));
        if !found.contains(&nested) {
            found.push(nested);
        }
    };
    let rules = &node.rules;
    for value in rules["enum"].as_array().into_iter().flatten() {
        add(path, value.clone());
    }
    match &node.shape {
        Shape::Integer | Shape::Number => {
            let number = current.as_i64().unwrap_or_default();
            add(path, (number + 1).into());
            add(path, rules["minimum"].as_i64().unwrap_or_default().into());
            if let Some(maximum) = rules["maximum"].as_i64() {
                add(path, maximum.into());
            }
        }
        Shape::String | Shape::IntOrString if rules["enum"].is_null() => {
            let text = current.as_str().unwrap_or_default();
            add(path, format!("{text}x").into());
        }
        Shape::Boolean => [true, false].into_iter().for_each(|truth| add(path, truth.into())),
        Shape::Array { .. } => add(path, json!([])),
        Shape::Object { properties, .. } => {
            for (name, property) in properties {
                path.push(name.clone());
                operations(property, &current[name.as_str()], path, found);
                if !current[name.as_str()].is_null() {
                    let nested = path.iter().rev().fold(Value::Null, |inner, field| json!({ field: inner }));
                    found.push(nested);
                }
                path.pop();
            }
        }
        _ => {}
    }
}

/// Sequences of operations: all single ones, all pairs, and the triples of the first ones.
pub(super) fn sequences(operations: &[Value]) -> Vec<Vec<Value>> {
    let mut all: Vec<Vec<Value>> = operations.iter().map(|one| vec![one.clone()]).collect();
    for first in operations {
        all.extend(
            operations.iter().filter(|second| *second != first).map(|second| vec![first.clone(), second.clone()]),
        );
    }
    let few = &operations[..operations.len().min(TRIPLES)];
    for first in few {
        for second in few.iter().filter(|second| *second != first) {
            let thirds = few.iter().filter(|third| *third != second);
            all.extend(thirds.map(|third| vec![first.clone(), second.clone(), third.clone()]));
        }
    }
    all
}
