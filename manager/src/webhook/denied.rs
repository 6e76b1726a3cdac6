//! The refusal of a request, as the user reads it, and its errors in fields, in the format of the API server:
//! <https://pkg.go.dev/k8s.io/apimachinery/pkg/util/validation/field#Error>.

use std::fmt;

use kube::Resource;
use kube::core::admission::AdmissionRequest;
use kube::core::response::{Status, StatusCause, StatusDetails, StatusSummary};
use kube::core::{DynamicObject, GroupVersionKind};
use serde::Serialize;
use serde_json::Value;

/// Warnings that the user sees although the request is allowed. Keep each below 120 characters.
pub type Warnings = Vec<String>;

/// The refusal of a request.
///
/// # Examples
///
/// ```
/// use manager::webhook::Denied;
///
/// let denied = Denied::new("the database is being moved");
/// assert_eq!(denied.to_string(), "the database is being moved");
/// ```
#[derive(Clone, Debug)]
pub struct Denied(DeniedReason);

#[derive(Clone, Debug)]
enum DeniedReason {
    Text {
        code: u16,
        reason: &'static str,
        message: String,
    },
    Invalid(FieldErrors),
}

impl Denied {
    /// Refuses with status 403 and reason `Forbidden`.
    ///
    /// # Examples
    ///
    /// ```
    /// let denied = manager::webhook::Denied::new("only on Sundays");
    /// # drop(denied);
    /// ```
    pub fn new(message: impl Into<String>) -> Self {
        Self::text(403, "Forbidden", message)
    }

    /// Refuses with status 422 and reason `Invalid`, in the format of the API server's own validation.
    ///
    /// # Examples
    ///
    /// ```
    /// use manager::webhook::{Denied, FieldErrors};
    ///
    /// let mut errors = FieldErrors::new();
    /// errors.invalid("spec.size", 0, "must be at least 1");
    /// let denied = Denied::invalid(errors);
    /// assert_eq!(denied.to_string(), "spec.size: Invalid value: 0: must be at least 1");
    /// ```
    pub fn invalid(errors: FieldErrors) -> Self {
        Self(DeniedReason::Invalid(errors))
    }

    pub(super) fn text(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(DeniedReason::Text {
            code,
            reason,
            message,
        })
    }

    pub(super) fn status(&self, request: &AdmissionRequest<DynamicObject>) -> Status {
        let kind = &request.kind;
        let (code, reason, message, details) = match &self.0 {
            DeniedReason::Text {
                code,
                reason,
                message,
            } => (*code, *reason, message.clone(), None),
            DeniedReason::Invalid(errors) => {
                let name = name(request);
                let qualified = qualified(kind);
                let details = StatusDetails {
                    name: name.clone(),
                    group: kind.group.clone(),
                    kind: kind.kind.clone(),
                    uid: String::new(),
                    causes: errors.causes(),
                    retry_after_seconds: 0,
                };
                let message = format!("{qualified} {name:?} is invalid: {errors}");
                (422, "Invalid", message, Some(details))
            }
        };
        Status {
            status: Some(StatusSummary::Failure),
            code,
            message,
            metadata: None,
            reason: reason.to_owned(),
            details,
        }
    }
}

/// Returns the name of the object for people. The server may have yet to generate it.
fn name(request: &AdmissionRequest<DynamicObject>) -> String {
    let object = request.object.as_ref();
    let prefix = || object.and_then(|object| object.meta().generate_name.clone());
    match &*request.name {
        "" => object
            .and_then(|object| object.meta().name.clone())
            .or_else(prefix)
            .unwrap_or_default(),
        name => name.to_owned(),
    }
}

fn qualified(kind: &GroupVersionKind) -> String {
    match &*kind.group {
        "" => kind.kind.clone(),
        group => format!("{}.{group}", kind.kind),
    }
}

impl FieldErrors {
    /// Returns `warnings` if there are no errors.
    ///
    /// # Errors
    ///
    /// Returns [`Denied::invalid`] with the collected errors.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut errors = manager::webhook::FieldErrors::new();
    /// errors.required("spec", "");
    /// assert!(errors.into_result(vec!["spec.old is deprecated".to_owned()]).is_err());
    /// ```
    pub fn into_result(self, warnings: Warnings) -> Result<Warnings, Denied> {
        if self.is_empty() {
            return Ok(warnings);
        }
        Err(Denied::invalid(self))
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            DeniedReason::Text { message, .. } => formatter.write_str(message),
            DeniedReason::Invalid(errors) => errors.fmt(formatter),
        }
    }
}

impl std::error::Error for Denied {}

impl From<FieldErrors> for Denied {
    fn from(errors: FieldErrors) -> Self {
        Self::invalid(errors)
    }
}

/// A failed request of the handler refuses with status 500.
impl From<kube::Error> for Denied {
    fn from(error: kube::Error) -> Self {
        Self::text(500, "InternalError", error.to_string())
    }
}

/// Collected field errors, so that the user sees all at once. Fields are named by path: `spec.ports[0].name`.
///
/// # Examples
///
/// ```
/// use manager::webhook::{FieldErrors, Warnings};
///
/// fn validate(size: i32, mode: &str) -> Result<Warnings, manager::webhook::Denied> {
///     let mut errors = FieldErrors::new();
///     if size < 1 {
///         errors.invalid("spec.size", size, "must be at least 1");
///     }
///     if mode != "fast" {
///         errors.not_supported("spec.mode", mode, &["fast"]);
///     }
///     errors.into_result(vec![])
/// }
///
/// let denied = validate(0, "slow").unwrap_err();
/// assert_eq!(
///     denied.to_string(),
///     "[spec.size: Invalid value: 0: must be at least 1, \
///      spec.mode: Unsupported value: \"slow\": supported values: \"fast\"]",
/// );
/// ```
#[derive(Clone, Debug, Default)]
pub struct FieldErrors(Vec<FieldError>);

#[derive(Clone, Debug)]
struct FieldError {
    field: String,
    what: What,
    detail: String,
}

#[derive(Clone, Debug)]
enum What {
    Duplicate(Value),
    Forbidden,
    Invalid(Value),
    NotFound(Value),
    NotSupported(Value),
    Required,
    TooLong,
    TooMany(usize),
}

impl FieldErrors {
    /// Makes an empty collection.
    ///
    /// # Examples
    ///
    /// ```
    /// let errors = manager::webhook::FieldErrors::new();
    /// assert!(errors.into_result(vec![]).is_ok());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an error: the value is not valid.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut errors = manager::webhook::FieldErrors::new();
    /// errors.invalid("spec.size", 0, "must be at least 1");
    /// assert_eq!(errors.to_string(), "spec.size: Invalid value: 0: must be at least 1");
    /// ```
    pub fn invalid(&mut self, field: impl Into<String>, value: impl Serialize, detail: &str) {
        self.push(field, What::Invalid(json(value)), detail);
    }

    /// Adds an error: the value is missing.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut errors = manager::webhook::FieldErrors::new();
    /// errors.required("spec.image", "");
    /// assert_eq!(errors.to_string(), "spec.image: Required value");
    /// ```
    pub fn required(&mut self, field: impl Into<String>, detail: &str) {
        self.push(field, What::Required, detail);
    }

    /// Adds an error: the value is not one of `supported`.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut errors = manager::webhook::FieldErrors::new();
    /// errors.not_supported("spec.mode", "c", &["a", "b"]);
    /// assert_eq!(errors.to_string(), r#"spec.mode: Unsupported value: "c": supported values: "a", "b""#);
    /// ```
    pub fn not_supported(
        &mut self,
        field: impl Into<String>,
        value: impl Serialize,
        supported: &[&str],
    ) {
        let quoted: Vec<_> = supported.iter().map(|value| format!("{value:?}")).collect();
        let detail = match quoted.as_slice() {
            [] => String::new(),
            quoted => format!("supported values: {}", quoted.join(", ")),
        };
        self.push(field, What::NotSupported(json(value)), &detail);
    }

    /// Adds an error: the field must not be set, or not be changed.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut errors = manager::webhook::FieldErrors::new();
    /// errors.forbidden("spec.class", "is immutable");
    /// assert_eq!(errors.to_string(), "spec.class: Forbidden: is immutable");
    /// ```
    pub fn forbidden(&mut self, field: impl Into<String>, detail: &str) {
        self.push(field, What::Forbidden, detail);
    }

    /// Adds an error: the value is a duplicate.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut errors = manager::webhook::FieldErrors::new();
    /// errors.duplicate("spec.ports[1].name", "http");
    /// assert_eq!(errors.to_string(), r#"spec.ports[1].name: Duplicate value: "http""#);
    /// ```
    pub fn duplicate(&mut self, field: impl Into<String>, value: impl Serialize) {
        self.push(field, What::Duplicate(json(value)), "");
    }

    /// Adds an error: the object that the value refers to does not exist.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut errors = manager::webhook::FieldErrors::new();
    /// errors.not_found("spec.secretName", "password");
    /// assert_eq!(errors.to_string(), r#"spec.secretName: Not found: "password""#);
    /// ```
    pub fn not_found(&mut self, field: impl Into<String>, value: impl Serialize) {
        self.push(field, What::NotFound(json(value)), "");
    }

    /// Adds an error: the text has more than `most` bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut errors = manager::webhook::FieldErrors::new();
    /// errors.too_long("metadata.name", 63);
    /// assert_eq!(errors.to_string(), "metadata.name: Too long: may not be more than 63 bytes");
    /// ```
    pub fn too_long(&mut self, field: impl Into<String>, most: usize) {
        let bytes = if most == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {most} {bytes}");
        self.push(field, What::TooLong, &detail);
    }

    /// Adds an error: the list has `count` items, more than `most`.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut errors = manager::webhook::FieldErrors::new();
    /// errors.too_many("spec.ports", 5, 3);
    /// assert_eq!(errors.to_string(), "spec.ports: Too many: 5: must have at most 3 items");
    /// ```
    pub fn too_many(&mut self, field: impl Into<String>, count: usize, most: usize) {
        let items = if most == 1 { "item" } else { "items" };
        let detail = format!("must have at most {most} {items}");
        self.push(field, What::TooMany(count), &detail);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push(&mut self, field: impl Into<String>, what: What, detail: &str) {
        self.0.push(FieldError {
            field: field.into(),
            what,
            detail: detail.to_owned(),
        });
    }

    pub(super) fn causes(&self) -> Vec<StatusCause> {
        let cause = |error: &FieldError| StatusCause {
            reason: error.what.words().0.to_owned(),
            message: error.body(),
            field: error.field.clone(),
        };
        self.0.iter().map(cause).collect()
    }
}

/// Formats errors like the API server: each once, several in brackets.
impl fmt::Display for FieldErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut texts = Vec::<String>::new();
        for error in &self.0 {
            let text = format!("{}: {}", error.field, error.body());
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        match texts.as_slice() {
            [text] => formatter.write_str(text),
            texts => write!(formatter, "[{}]", texts.join(", ")),
        }
    }
}

impl FieldError {
    fn body(&self) -> String {
        let mut body = self.what.words().1.to_owned();
        match &self.what {
            What::Forbidden | What::Required | What::TooLong => {}
            What::TooMany(count) => body += &format!(": {count}"),
            // Go prints a nil pointer like this.
            What::Duplicate(Value::Null)
            | What::Invalid(Value::Null)
            | What::NotFound(Value::Null)
            | What::NotSupported(Value::Null) => body += ": \"null\"",
            What::Duplicate(value)
            | What::Invalid(value)
            | What::NotFound(value)
            | What::NotSupported(value) => match value {
                Value::String(text) => body += &format!(": {text:?}"),
                value => body += &format!(": {value}"),
            },
        }
        if !self.detail.is_empty() {
            body += &format!(": {}", self.detail);
        }
        body
    }
}

impl What {
    /// Returns the cause for programs, and the text for people.
    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Duplicate(_) => ("FieldValueDuplicate", "Duplicate value"),
            Self::Forbidden => ("FieldValueForbidden", "Forbidden"),
            Self::Invalid(_) => ("FieldValueInvalid", "Invalid value"),
            Self::NotFound(_) => ("FieldValueNotFound", "Not found"),
            Self::NotSupported(_) => ("FieldValueNotSupported", "Unsupported value"),
            Self::Required => ("FieldValueRequired", "Required value"),
            Self::TooLong => ("FieldValueTooLong", "Too long"),
            Self::TooMany(_) => ("FieldValueTooMany", "Too many"),
        }
    }
}

/// Converts a value to JSON, or to null if it cannot be serialized.
fn json(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
