//! Answers: objects, lists and the `Status` of a refused request, with the texts of kube-apiserver.

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::watch::WatchBody;

/// The start of the message for a feature that the server does not have.
const UNSUPPORTED: &str = "not implemented by the explorer: ";

/// A refused request, as the `Status` of its answer.
#[derive(Clone, Debug)]
pub(crate) struct Refusal(pub(crate) Value);

/// A mistake in one field of an object.
#[derive(Clone, Debug)]
pub(crate) struct FieldError {
    pub(crate) reason: &'static str,
    pub(crate) field: String,
    pub(crate) message: String,
}

impl FieldError {
    /// Quotes the wrong value as Go prints it.
    pub(crate) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        let message = format!("Invalid value: {}: {detail}", quoted(value));
        Self { reason: "FieldValueInvalid", field: field.into(), message }
    }

    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        let message = if detail.is_empty() { "Required value".to_owned() } else { format!("Required value: {detail}") };
        Self { reason: "FieldValueRequired", field: field.into(), message }
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self { reason: "FieldValueForbidden", field: field.into(), message: format!("Forbidden: {detail}") }
    }

    pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        let message = format!("Duplicate value: {}", quoted(value));
        Self { reason: "FieldValueDuplicate", field: field.into(), message }
    }

    pub(crate) fn of_type(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        let message = format!("Invalid value: {}: {detail}", quoted(value));
        Self { reason: "FieldValueTypeInvalid", field: field.into(), message }
    }

    pub(crate) fn unsupported(field: impl Into<String>, value: &Value, supported: &[Value]) -> Self {
        let supported: Vec<String> = supported.iter().map(quoted).collect();
        let message = format!("Unsupported value: {}: supported values: {}", quoted(value), supported.join(", "));
        Self { reason: "FieldValueNotSupported", field: field.into(), message }
    }

    fn text(&self) -> String {
        format!("{}: {}", self.field, self.message)
    }
}

/// A value in the message of a field error.
fn quoted(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => value.to_string(),
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

impl Refusal {
    pub(crate) fn new(code: u16, reason: &str, message: impl Into<String>, details: Value) -> Self {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message.into(),
        });
        let object = status.as_object_mut().expect("an object");
        if !reason.is_empty() {
            object.insert("reason".to_owned(), reason.into());
        }
        if !details.is_null() {
            object.insert("details".to_owned(), details);
        }
        object.insert("code".to_owned(), code.into());
        Self(status)
    }

    /// Refuses a feature that the server does not have.
    pub(crate) fn unsupported(feature: &str) -> Self {
        Self::new(501, "NotImplemented", format!("{UNSUPPORTED}{feature}"), Value::Null)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message, Value::Null)
    }

    pub(crate) fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(404, "NotFound", message, json!({}))
    }

    pub(crate) fn not_found(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} {name:?} not found", qualified(plural, group));
        Self::new(404, "NotFound", message, details(name, group, plural))
    }

    pub(crate) fn already_exists(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", qualified(plural, group));
        Self::new(409, "AlreadyExists", message, details(name, group, plural))
    }

    pub(crate) fn conflict(group: &str, plural: &str, name: &str, detail: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {detail}", qualified(plural, group));
        Self::new(409, "Conflict", message, details(name, group, plural))
    }

    pub(crate) fn forbidden(group: &str, plural: &str, name: &str, detail: &str) -> Self {
        let message = match name {
            "" => format!("{} is forbidden: {detail}", qualified(plural, group)),
            _ => format!("{} {name:?} is forbidden: {detail}", qualified(plural, group)),
        };
        Self::new(403, "Forbidden", message, details(name, group, plural))
    }

    pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for error in errors {
            if !texts.contains(&error.text()) {
                texts.push(error.text());
            }
        }
        let list = if texts.len() == 1 { texts.remove(0) } else { format!("[{}]", texts.join(", ")) };
        let message = format!("{} {name:?} is invalid: {list}", qualified(kind, group));
        let causes: Vec<Value> = errors
            .iter()
            .map(|error| json!({ "reason": error.reason, "message": error.message, "field": error.field }))
            .collect();
        let mut details = details(name, group, kind);
        details["causes"] = causes.into();
        Self::new(422, "Invalid", message, details)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message, json!({}))
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message, Value::Null)
    }

    /// The answer to a path that no handler has, which is not a `Status`.
    pub(crate) fn no_page() -> Self {
        Self("404 page not found\n".into())
    }

    pub(crate) fn code(&self) -> StatusCode {
        if self.0.is_string() {
            return StatusCode::NOT_FOUND;
        }
        let code = self.0["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        code.and_then(|code| StatusCode::from_u16(code).ok()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// `plural.group`, or the plural alone for the core group.
pub(crate) fn qualified(plural: &str, group: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}

fn details(name: &str, group: &str, kind: &str) -> Value {
    let fields = [("name", name), ("group", group), ("kind", kind)].into_iter().filter(|(_, value)| !value.is_empty());
    Value::Object(fields.map(|(key, value)| (key.to_owned(), value.into())).collect::<Map<_, _>>())
}

/// The answer of the server to one request.
pub(crate) enum Answer {
    Document(StatusCode, Value),
    Watch(WatchBody),
}

impl Answer {
    pub(crate) fn response(self) -> http::Response<ResponseBody> {
        let (code, body, media) = match self {
            Self::Document(code, Value::String(text)) => {
                (code, ResponseBody::Once(Some(Bytes::from(text))), "text/plain; charset=utf-8")
            }
            Self::Document(code, value) => {
                (code, ResponseBody::Once(Some(Bytes::from(value.to_string()))), "application/json")
            }
            Self::Watch(watch) => (StatusCode::OK, ResponseBody::Watch(watch), "application/json"),
        };
        let mut response = http::Response::new(body);
        *response.status_mut() = code;
        response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(media));
        response
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        Self::Document(refusal.code(), refusal.0)
    }
}

/// The body of an answer: a document, or the events of a watch.
pub enum ResponseBody {
    /// A document; none once it was read.
    Once(Option<Bytes>),
    /// Events, one line each.
    Watch(WatchBody),
}

impl ResponseBody {
    /// The name of a feature that the server does not have, from the answer 501.
    pub(crate) fn feature(&self) -> String {
        let Self::Once(Some(document)) = self else { return String::new() };
        let status: Value = serde_json::from_slice(document).unwrap_or_default();
        let message = status["message"].as_str().unwrap_or_default();
        message.strip_prefix(UNSUPPORTED).unwrap_or(message).to_owned()
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        match &mut *self {
            Self::Once(bytes) => std::task::Poll::Ready(bytes.take().map(|bytes| Ok(http_body::Frame::data(bytes)))),
            Self::Watch(watch) => watch.poll(context).map(|line| line.map(|line| Ok(http_body::Frame::data(line)))),
        }
    }
}
