//! Histories: a change of the spec, with the way back.

use serde_json::{Value, json};

/// Sequences of changes: all single ones, and each one with the return to `original`. Removals come first, because
/// operators forget them most often.
pub(super) fn sequences(changes: &[Value], original: &Value) -> Vec<Vec<Value>> {
    let mut all = Vec::new();
    let (first, last): (Vec<&Value>, Vec<&Value>) = changes.iter().partition(|change| removes(change));
    for change in first.into_iter().chain(last) {
        let mut back = change.clone();
        restore(&mut back, &json!({ "spec": original }));
        if back == *change {
            continue;
        }
        all.push(vec![change.clone()]);
        all.push(vec![change.clone(), back]);
    }
    all
}

fn removes(patch: &Value) -> bool {
    patch.as_object().map_or(patch.is_null(), |fields| fields.values().all(removes))
}

/// Replaces the leaves of a patch by the values of `original`.
fn restore(patch: &mut Value, original: &Value) {
    match patch {
        Value::Object(fields) if original.is_object() => {
            fields.iter_mut().for_each(|(name, field)| restore(field, &original[name.as_str()]));
        }
        _ => patch.clone_from(original),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removals_come_first_and_each_change_has_a_way_back() {
        let size = |size: Value| json!({ "spec": { "size": size } });
        let changes = [size(1.into()), size(2.into()), size(Value::Null), json!({ "spec": { "new": true } })];
        let expected = vec![
            vec![size(Value::Null)],
            vec![size(Value::Null), size(1.into())],
            vec![size(2.into())],
            vec![size(2.into()), size(1.into())],
            vec![json!({ "spec": { "new": true } })],
            vec![json!({ "spec": { "new": true } }), json!({ "spec": { "new": null } })],
        ];
        assert_eq!(sequences(&changes, &json!({ "size": 1 })), expected);
    }
}
