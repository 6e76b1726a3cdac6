//! Conditions of a status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::{Schema, SchemaGenerator, json_schema};

use crate::time::now;

/// The maximum length of a message, in characters.
const MESSAGE: usize = 32_768;

/// Returns the schema of a list of conditions, for `schema_with`.
///
/// The list is merged by `type`. Unlike the type in k8s-openapi, it has the [validation of `metav1.Condition`].
///
/// [validation of `metav1.Condition`]: https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/apis/meta/v1/types.go
///
/// # Examples
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
/// use schemars::{JsonSchema, schema_for};
///
/// #[derive(JsonSchema)]
/// struct Status {
///     #[schemars(schema_with = "manager::condition::schema")]
///     #[allow(dead_code)]
///     conditions: Vec<Condition>,
/// }
///
/// let schema = schema_for!(Status);
/// let status = &schema.as_value()["properties"]["conditions"]["items"]["properties"]["status"];
/// assert_eq!(status["enum"][0], "True");
/// ```
pub fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "description": "A condition of the object",
            "properties": {
                "type": {
                    "type": "string",
                    "description": "Type, such as `Ready` or `example.com/Ready`",
                    "maxLength": 316,
                    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
                },
                "status": {
                    "type": "string",
                    "description": "Status of the condition",
                    "enum": ["True", "False", "Unknown"]
                },
                "observedGeneration": {
                    "type": "integer",
                    "description": "The observed `metadata.generation`",
                    "format": "int64",
                    "minimum": 0
                },
                "lastTransitionTime": {
                    "type": "string",
                    "description": "Time of the last change of the status",
                    "format": "date-time"
                },
                "reason": {
                    "type": "string",
                    "description": "Reason for the status, in CamelCase",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
                },
                "message": {
                    "type": "string",
                    "description": "Details of the status, for people",
                    "maxLength": 32768
                }
            },
            "required": ["type", "status", "lastTransitionTime", "reason", "message"]
        },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"]
    })
}

/// A condition without its transition time, which [`set`] adds.
///
/// # Examples
///
/// ```
/// use manager::condition::Observed;
///
/// let ready = Observed {
///     type_: "Ready",
///     status: Some(true),
///     reason: "Reconciled".to_owned(),
///     message: "everything is as the spec asks for".to_owned(),
/// };
/// assert_eq!(ready.status, Some(true));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The condition type, in CamelCase.
    pub type_: &'static str,
    /// `None` stands for `Unknown`.
    pub status: Option<bool>,
    /// The reason in one CamelCase word, for programs. At most 1024 characters.
    pub reason: String,
    /// The message in a sentence, for people. [`set`] cuts it at 32768 characters.
    pub message: String,
}

/// Adds or replaces a condition.
///
/// `lastTransitionTime` changes only with the status. An empty reason becomes `Unknown`, and a message is cut at the
/// limit of [`schema`].
///
/// # Examples
///
/// ```
/// use manager::condition::{self, Observed};
///
/// let observed = |status| Observed {
///     type_: "Ready",
///     status: Some(status),
///     reason: "Counted".to_owned(),
///     message: "as many replicas as wanted".to_owned(),
/// };
/// let mut conditions = Vec::new();
/// condition::set(&mut conditions, observed(false), Some(1));
/// assert_eq!(conditions[0].status, "False");
/// ```
pub fn set(conditions: &mut Vec<Condition>, observed: Observed, generation: Option<i64>) {
    let Observed {
        type_,
        status,
        reason,
        message,
    } = observed;
    let status = match status {
        Some(true) => "True",
        Some(false) => "False",
        None => "Unknown",
    };
    let position = conditions
        .iter()
        .position(|condition| condition.type_ == type_);
    let since = position
        .map(|index| &conditions[index])
        .filter(|condition| condition.status == status);
    let condition = Condition {
        last_transition_time: since
            .map_or_else(now, |condition| condition.last_transition_time.clone()),
        message: message.chars().take(MESSAGE).collect(),
        observed_generation: generation,
        reason: if reason.is_empty() {
            "Unknown".to_owned()
        } else {
            reason
        },
        status: status.to_owned(),
        type_: type_.to_owned(),
    };
    match position {
        Some(index) => conditions[index] = condition,
        None => conditions.push(condition),
    }
}

/// Returns true if the condition exists with status `True`.
///
/// # Examples
///
/// ```
/// use manager::condition::{self, Observed};
///
/// let observed = |status| Observed {
///     type_: "Ready",
///     status: Some(status),
///     reason: "Counted".to_owned(),
///     message: "as many replicas as wanted".to_owned(),
/// };
/// let mut conditions = Vec::new();
/// condition::set(&mut conditions, observed(false), Some(1));
/// assert!(!condition::is_true(&conditions, "Ready"));
/// ```
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    with(conditions, type_, "True").is_some()
}

/// Returns true if the condition exists with status `False`. A missing or unknown condition is neither true nor false.
///
/// # Examples
///
/// ```
/// use manager::condition::{self, Observed};
///
/// let unknown = Observed {
///     type_: "Ready",
///     status: None,
///     reason: "Starting".to_owned(),
///     message: "nothing is known of its pods".to_owned(),
/// };
/// let mut conditions = Vec::new();
/// assert!(!condition::is_false(&conditions, "Ready"));
/// condition::set(&mut conditions, unknown, Some(1));
/// assert!(!condition::is_false(&conditions, "Ready"));
/// ```
pub fn is_false(conditions: &[Condition], type_: &str) -> bool {
    with(conditions, type_, "False").is_some()
}

/// Returns the condition if it is true now and was not true before.
///
/// # Examples
///
/// ```
/// use manager::condition::{self, Observed};
///
/// let observed = |status| Observed {
///     type_: "Ready",
///     status: Some(status),
///     reason: "Counted".to_owned(),
///     message: "as many replicas as wanted".to_owned(),
/// };
/// let mut conditions = Vec::new();
/// condition::set(&mut conditions, observed(false), Some(1));
/// let before = conditions.clone();
/// condition::set(&mut conditions, observed(true), Some(1));
/// assert!(condition::turned_true(&before, &conditions, "Ready").is_some());
/// assert!(condition::turned_true(&conditions, &conditions, "Ready").is_none());
/// ```
pub fn turned_true<'a>(
    before: &[Condition],
    now: &'a [Condition],
    type_: &str,
) -> Option<&'a Condition> {
    turned(before, now, type_, "True")
}

/// Returns the condition if it is false now and was not false before. A new condition that is false counts.
///
/// # Examples
///
/// ```
/// use manager::condition::{self, Observed};
///
/// let observed = |status| Observed {
///     type_: "Ready",
///     status: Some(status),
///     reason: "Counted".to_owned(),
///     message: "as many replicas as wanted".to_owned(),
/// };
/// let mut conditions = Vec::new();
/// condition::set(&mut conditions, observed(true), Some(1));
/// let before = conditions.clone();
/// condition::set(&mut conditions, observed(false), Some(1));
/// assert!(condition::turned_false(&before, &conditions, "Ready").is_some());
/// assert!(condition::turned_false(&conditions, &conditions, "Ready").is_none());
/// ```
pub fn turned_false<'a>(
    before: &[Condition],
    now: &'a [Condition],
    type_: &str,
) -> Option<&'a Condition> {
    turned(before, now, type_, "False")
}

fn turned<'a>(
    before: &[Condition],
    now: &'a [Condition],
    type_: &str,
    status: &str,
) -> Option<&'a Condition> {
    with(now, type_, status).filter(|_| with(before, type_, status).is_none())
}

fn with<'a>(conditions: &'a [Condition], type_: &str, status: &str) -> Option<&'a Condition> {
    let mut conditions = conditions.iter();
    conditions.find(|condition| condition.type_ == type_ && condition.status == status)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    #[test]
    fn what_is_set_is_valid() {
        let observed = Observed {
            type_: "Ready",
            status: None,
            reason: String::new(),
            message: "ä".repeat(MESSAGE + 1),
        };
        let mut conditions = Vec::new();
        set(&mut conditions, observed, None);
        assert_eq!(
            (conditions[0].reason.as_str(), conditions[0].message.len()),
            ("Unknown", 2 * MESSAGE)
        );
    }

    #[test]
    fn the_transition_time_changes_only_with_the_status() {
        let observed = |status, message: &str| Observed {
            type_: "Available",
            status,
            reason: "Test".into(),
            message: message.into(),
        };
        let mut conditions = Vec::new();
        set(&mut conditions, observed(Some(false), "one"), Some(1));
        conditions[0].last_transition_time = Time(Timestamp::UNIX_EPOCH);

        set(&mut conditions, observed(Some(false), "two"), Some(2));
        assert_eq!(
            conditions[0].last_transition_time,
            Time(Timestamp::UNIX_EPOCH)
        );
        assert_eq!(
            (
                conditions[0].message.as_str(),
                conditions[0].observed_generation
            ),
            ("two", Some(2))
        );
        assert!(!is_true(&conditions, "Available"));

        set(&mut conditions, observed(Some(true), "two"), Some(2));
        assert_ne!(
            conditions[0].last_transition_time,
            Time(Timestamp::UNIX_EPOCH)
        );
        assert!(is_true(&conditions, "Available"));
        assert_eq!(conditions.len(), 1);
    }

    #[test]
    fn what_turns_is_a_change_of_the_status_alone() {
        let conditions = |status: Option<Option<bool>>| {
            let mut conditions = Vec::new();
            if let Some(status) = status {
                let (reason, message) = (String::new(), String::new());
                let observed = Observed {
                    type_: "Ready",
                    status,
                    reason,
                    message,
                };
                set(&mut conditions, observed, None);
            }
            conditions
        };
        let (missing, unknown) = (None, Some(None));
        let (true_, false_) = (Some(Some(true)), Some(Some(false)));
        for (before, now, turns_true, turns_false) in [
            (missing, missing, false, false),
            (missing, unknown, false, false),
            (missing, true_, true, false),
            (missing, false_, false, true),
            (unknown, true_, true, false),
            (unknown, false_, false, true),
            (true_, missing, false, false),
            (true_, unknown, false, false),
            (true_, true_, false, false),
            (true_, false_, false, true),
            (false_, true_, true, false),
            (false_, false_, false, false),
        ] {
            let (before, now) = (conditions(before), conditions(now));
            let turned = (
                turned_true(&before, &now, "Ready").is_some(),
                turned_false(&before, &now, "Ready").is_some(),
            );
            assert_eq!(turned, (turns_true, turns_false), "{before:?} {now:?}");
            assert!(turned_true(&before, &now, "Other").is_none());
            assert!(turned_false(&before, &now, "Other").is_none());
        }
    }
}
