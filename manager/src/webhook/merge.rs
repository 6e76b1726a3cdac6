//! Applies the difference of two JSON values to a third one with more data.

use serde_json::Value;

/// Applies the change from `before` to `after` to `value`. Parts that are equal in both stay as they are.
pub(super) fn carry(value: &mut Value, before: &Value, after: &Value) {
    if before == after {
        return;
    }
    match (value, before, after) {
        (Value::Object(value), Value::Object(before), Value::Object(after)) => {
            for key in before.keys().filter(|key| !after.contains_key(*key)) {
                value.remove(key);
            }
            for (key, after) in after {
                match (value.get_mut(key), before.get(key)) {
                    (Some(value), Some(before)) => carry(value, before, after),
                    (None, Some(before)) if before == after => {}
                    _ => {
                        value.insert(key.clone(), after.clone());
                    }
                }
            }
        }
        (Value::Array(value), Value::Array(before), Value::Array(after))
            if value.len() == before.len() && before.len() == after.len() =>
        {
            for ((value, before), after) in value.iter_mut().zip(before).zip(after) {
                carry(value, before, after);
            }
        }
        (value, _, after) => value.clone_from(after),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_has_changed_is_changed() {
        let cases = [
            // The value, the states before and after, and the result.
            (
                json!({ "new": 1 }),
                json!({}),
                json!({}),
                json!({ "new": 1 }),
            ),
            (
                json!({ "new": 1 }),
                json!({ "a": 1 }),
                json!({ "a": 1 }),
                json!({ "new": 1 }),
            ),
            (
                json!({ "new": 1 }),
                json!({ "a": 1 }),
                json!({ "a": 2 }),
                json!({ "new": 1, "a": 2 }),
            ),
            (
                json!({ "new": 1, "a": 1 }),
                json!({ "a": 1 }),
                json!({}),
                json!({ "new": 1 }),
            ),
            (
                json!({ "a": { "new": 1, "b": 1 } }),
                json!({ "a": { "b": 1 } }),
                json!({ "a": { "b": 2 } }),
                json!({ "a": { "new": 1, "b": 2 } }),
            ),
            (
                json!([{ "new": 1, "a": 1 }, { "new": 2 }]),
                json!([{ "a": 1 }, {}]),
                json!([{ "a": 2 }, {}]),
                json!([{ "new": 1, "a": 2 }, { "new": 2 }]),
            ),
            (
                json!([{ "new": 1 }]),
                json!([{}]),
                json!([{}, {}]),
                json!([{}, {}]),
            ),
            (json!(1), json!(null), json!("a"), json!("a")),
        ];
        for (mut value, before, after, expected) in cases {
            let shown = format!("{value} {before} {after}");
            carry(&mut value, &before, &after);
            assert_eq!(value, expected, "{shown}");
        }
    }
}
