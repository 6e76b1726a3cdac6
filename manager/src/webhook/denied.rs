//! The refusal of a request, as the user reads it.

use std::fmt;

use kube::Resource;
use kube::core::admission::AdmissionRequest;
use kube::core::response::{Status, StatusDetails, StatusSummary};
use kube::core::{DynamicObject, GroupVersionKind};

use super::field::FieldErrors;

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
pub struct Denied(Reason);

#[derive(Clone, Debug)]
enum Reason {
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
        Self(Reason::Invalid(errors))
    }

    pub(super) fn text(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(Reason::Text {
            code,
            reason,
            message,
        })
    }

    pub(super) fn status(&self, request: &AdmissionRequest<DynamicObject>) -> Status {
        let kind = &request.kind;
        let (code, reason, message, details) = match &self.0 {
            Reason::Text {
                code,
                reason,
                message,
            } => (*code, *reason, message.clone(), None),
            Reason::Invalid(errors) => {
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
            Reason::Text { message, .. } => formatter.write_str(message),
            Reason::Invalid(errors) => errors.fmt(formatter),
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
