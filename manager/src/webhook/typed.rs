//! The JSON of an object and its type: decodes with field paths in errors and zero values for missing fields, as in Go,
//! and carries a change of the typed object over to the JSON, which may hold more.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::{Path, Segment};

use super::denied::{Denied, FieldErrors};

/// Maximum number of filled fields per object. Each costs several attempts to decode the whole object.
const FILLED: usize = 128;

#[derive(Debug)]
pub(super) struct Undecodable {
    path: Path,
    message: String,
}

pub(super) fn decode<T: DeserializeOwned>(object: &Value) -> Result<T, Undecodable> {
    serde_path_to_error::deserialize(object).map_err(|error| {
        let message = error.inner().to_string();
        let path = error.path().clone();
        Undecodable { path, message }
    })
}

/// Decodes an object with zero values for missing required fields: an empty object, list or string, 0, false.
/// Afterwards `object` has these fields. A value of the wrong type remains an error.
pub(super) fn decode_filled<T: DeserializeOwned>(object: &mut Value) -> Result<T, Undecodable> {
    let mut filled = object.clone();
    let mut error = match decode(&filled) {
        Ok(decoded) => return Ok(decoded),
        Err(error) => error,
    };
    for _ in 0..FILLED {
        match fill(&mut filled, &error) {
            Some(Ok(decoded)) => {
                *object = filled;
                return Ok(decoded);
            }
            Some(Err(next)) => error = next,
            None => break,
        }
    }
    Err(error)
}

/// Fills the missing field with a value that its type accepts. Returns `None` for other errors, or if no value is
/// accepted.
fn fill<T: DeserializeOwned>(
    object: &mut Value,
    error: &Undecodable,
) -> Option<Result<T, Undecodable>> {
    let field = error.missing()?;
    let zeros = [
        json!({}),
        json!([]),
        json!(0),
        json!(""),
        json!(false),
        json!("0001-01-01T00:00:00Z"),
    ];
    let mut variant = None;
    for zero in zeros {
        match put(object, error, field, zero)? {
            Err(next) if next.missing().is_none() => variant = next.variant().or(variant),
            taken => return Some(taken),
        }
    }
    let taken = put(object, error, field, json!(variant?))?;
    let refused = matches!(&taken, Err(next) if next.missing().is_none());
    (!refused).then_some(taken)
}

/// Decodes with this value for the missing field. Returns `None` if the field has another place (a flattened struct).
fn put<T: DeserializeOwned>(
    object: &mut Value,
    error: &Undecodable,
    field: &str,
    value: Value,
) -> Option<Result<T, Undecodable>> {
    let fields = at(object, &error.path)?.as_object_mut()?;
    fields.insert(field.to_owned(), value);
    let decoded = decode(object);
    let again = |next: &Undecodable| {
        next.message == error.message && next.path.to_string() == error.path.to_string()
    };
    match decoded {
        Err(next) if again(&next) => None,
        decoded => Some(decoded),
    }
}

fn at<'v>(object: &'v mut Value, path: &Path) -> Option<&'v mut Value> {
    path.iter()
        .try_fold(object, |value, segment| match segment {
            Segment::Seq { index } => value.get_mut(index),
            Segment::Map { key } | Segment::Enum { variant: key } => value.get_mut(key),
            Segment::Unknown => None,
        })
}

impl Undecodable {
    fn missing(&self) -> Option<&str> {
        self.message
            .strip_prefix("missing field `")?
            .strip_suffix('`')
    }

    /// Returns the first variant of the enum that the value does not match.
    fn variant(&self) -> Option<String> {
        let (_, variants) = self.message.split_once(", expected ")?;
        let unknown = self.message.starts_with("unknown variant ");
        let first = variants.split('`').nth(1).filter(|_| unknown);
        first.map(str::to_owned)
    }

    /// Returns the field path like the API server; empty for the whole object.
    fn field(&self) -> String {
        let path = match self.path.iter().len() {
            0 => String::new(),
            _ => self.path.to_string(),
        };
        match (self.missing(), &*path) {
            (None, _) => path,
            (Some(field), "") => field.to_owned(),
            (Some(field), _) => format!("{path}.{field}"),
        }
    }

    /// Returns the refusal, with the value at the path.
    pub(super) fn denied(&self, object: &Value) -> Denied {
        let field = self.field();
        if field.is_empty() {
            let message = format!("the object is not of the webhook's type: {}", self.message);
            return Denied::text(400, "BadRequest", message);
        }
        let mut errors = FieldErrors::new();
        if self.missing().is_some() {
            errors.required(field, "");
        } else {
            let value = at(&mut object.clone(), &self.path).cloned();
            errors.invalid(field, value, &self.message);
        }
        Denied::invalid(errors)
    }
}

impl std::fmt::Display for Undecodable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&*self.field(), self.missing()) {
            ("", _) => formatter.write_str(&self.message),
            (field, Some(_)) => write!(formatter, "{field}: the required field is missing"),
            (field, None) => write!(formatter, "{field}: {}", self.message),
        }
    }
}

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
