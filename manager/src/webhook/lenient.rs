//! Decodes objects: errors have a field path, and missing fields can get zero values, as in Go.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::{Path, Segment};

use super::denied::Denied;
use super::field::FieldErrors;

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
