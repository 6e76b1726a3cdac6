//! Schedules: one disturbance of a run, as a line of text. The words are those of the explorer in `explorer/`.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use serde_json::Value;

use super::state::ObjectKey;

/// A property that runs of an operator must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Oracle {
    /// The state settles, and a new process changes nothing.
    Quiet,
    /// The end is the same after a crash before or after each write.
    Crash,
    /// After a deletion at any time, nothing of the operator stays.
    Deletion,
    /// Each owned field and object is repaired.
    Drift,
    /// The end is the same after a fault of each request.
    Faults,
    /// The end is the same after changes of the spec, and for a new object.
    History,
    /// The role permits all requests.
    Permission,
}

impl Oracle {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Crash => "crash",
            Self::Deletion => "deletion",
            Self::Drift => "drift",
            Self::Faults => "faults",
            Self::History => "history",
            Self::Permission => "permission",
        }
    }

    /// The sentence for a violation.
    pub(super) fn claim(self) -> &'static str {
        match self {
            Self::Quiet => "the state does not settle",
            Self::Crash => "a crash leaves another state",
            Self::Deletion => "the deletion of the samples leaves another state",
            Self::Drift => "a change by another client is not repaired",
            Self::Faults => "a failed request leaves another state",
            Self::History => "changes of the spec leave another state than a new object with the spec",
            Self::Permission => "a request is forbidden",
        }
    }
}

/// The change of the samples in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No samples; they are created.
    Create,
    /// A settled state; the samples stay.
    Keep,
    /// A settled state; the samples are deleted.
    Delete,
}

/// The disturbance of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Disturbance {
    Nothing,
    Die {
        write: usize,
        after: bool,
    },
    /// The samples are deleted between a write and its answer.
    Delete {
        write: usize,
    },
    /// Another client changes an object.
    Drift(Drift, ObjectKey),
    Fault {
        request: usize,
        fault: Fault,
    },
    /// Merge patches of the first sample, each after the state has settled.
    History(Vec<Value>),
}

/// The change by another client. Fields are JSON pointers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Drift {
    Delete,
    Change(String),
    Remove(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Code(u16),
    DropBefore,
    DropAfter,
    /// The answer is 504, after the effect.
    Timeout,
}

/// A run, as one line of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schedule {
    pub(super) phase: Phase,
    pub(super) disturbance: Disturbance,
}

impl Schedule {
    pub(super) fn undisturbed(phase: Phase) -> Self {
        Self { phase, disturbance: Disturbance::Nothing }
    }

    pub(super) fn oracle(&self) -> Oracle {
        match (&self.disturbance, self.phase) {
            (Disturbance::Nothing, Phase::Delete) | (Disturbance::Delete { .. }, _) => Oracle::Deletion,
            (Disturbance::Nothing, _) => Oracle::Quiet,
            (Disturbance::Die { .. }, _) => Oracle::Crash,
            (Disturbance::Drift(..), _) => Oracle::Drift,
            (Disturbance::Fault { .. }, _) => Oracle::Faults,
            (Disturbance::History(_), _) => Oracle::History,
        }
    }

    /// Returns true if the run ends without samples.
    pub(super) fn removes(&self) -> bool {
        self.phase == Phase::Delete || matches!(self.disturbance, Disturbance::Delete { .. })
    }
}

impl Display for Schedule {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self.phase {
            Phase::Create => "create: ",
            Phase::Keep => "keep: ",
            Phase::Delete => "delete: ",
        })?;
        let time = |after: bool| if after { "after" } else { "before" };
        match &self.disturbance {
            Disturbance::Nothing => out.write_str("nothing"),
            Disturbance::Die { write, after } => write!(out, "die {} write {write}", time(*after)),
            Disturbance::Delete { write } => write!(out, "delete after write {write}"),
            Disturbance::Drift(Drift::Delete, key) => write!(out, "delete {key}"),
            Disturbance::Drift(Drift::Change(pointer), key) => write!(out, "change {key} {pointer}"),
            Disturbance::Drift(Drift::Remove(pointer), key) => write!(out, "remove {key} {pointer}"),
            Disturbance::History(patches) => write!(out, "patch {}", Value::from(patches.clone())),
            Disturbance::Fault { request, fault: Fault::Timeout } => write!(out, "answer 504 after request {request}"),
            Disturbance::Fault { request, fault: Fault::Code(code) } => {
                write!(out, "answer {code} to request {request}")
            }
            Disturbance::Fault { request, fault } => {
                write!(out, "drop {} request {request}", time(*fault == Fault::DropAfter))
            }
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a valid schedule");
        let (phase, disturbance) = text.split_once(": ").ok_or_else(wrong)?;
        let phase = match phase {
            "create" => Phase::Create,
            "keep" => Phase::Keep,
            "delete" => Phase::Delete,
            _ => return Err(wrong()),
        };
        Ok(Self { phase, disturbance: disturbance_of(disturbance).ok_or_else(wrong)? })
    }
}

fn disturbance_of(text: &str) -> Option<Disturbance> {
    if let Some(patches) = text.strip_prefix("patch ") {
        return Some(Disturbance::History(serde_json::from_str(patches).ok()?));
    }
    let after = |time: &str| match time {
        "after" => Some(true),
        "before" => Some(false),
        _ => None,
    };
    let words: Vec<&str> = text.split(' ').collect();
    Some(match words[..] {
        ["nothing"] => Disturbance::Nothing,
        ["die", time, "write", write] => Disturbance::Die { write: write.parse().ok()?, after: after(time)? },
        ["delete", "after", "write", write] => Disturbance::Delete { write: write.parse().ok()? },
        ["answer", "504", "after", "request", request] => {
            Disturbance::Fault { request: request.parse().ok()?, fault: Fault::Timeout }
        }
        ["answer", code, "to", "request", request] => {
            Disturbance::Fault { request: request.parse().ok()?, fault: Fault::Code(code.parse().ok()?) }
        }
        ["drop", time, "request", request] => {
            let fault = if after(time)? { Fault::DropAfter } else { Fault::DropBefore };
            Disturbance::Fault { request: request.parse().ok()?, fault }
        }
        ["delete", resource, place] => Disturbance::Drift(Drift::Delete, ObjectKey::parse(resource, place)?),
        [verb, resource, place, ref pointer @ ..] => {
            // A pointer may have spaces.
            let (key, pointer) = (ObjectKey::parse(resource, place)?, pointer.join(" "));
            match verb {
                _ if !pointer.starts_with('/') => return None,
                "change" => Disturbance::Drift(Drift::Change(pointer), key),
                "remove" => Disturbance::Drift(Drift::Remove(pointer), key),
                _ => return None,
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_as_it_is_printed() {
        for text in [
            "create: nothing",
            "keep: nothing",
            "create: die before write 3",
            "delete: die after write 1",
            "create: delete after write 2",
            "keep: delete deployments.apps default/a",
            "keep: change configmaps default/a /data/a b",
            "keep: remove clusterroles.rbac.authorization.k8s.io /a /rules/0",
            "create: answer 409 to request 4",
            "create: answer 504 after request 4",
            "create: drop before request 1",
            "delete: drop after request 2",
            r#"keep: patch [{"spec":{"size":1}},{"spec":null}]"#,
        ] {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
        for text in ["", "create", "make: nothing", "create: die at write 1", "keep: change a b", "keep: patch {"] {
            let error = text.parse::<Schedule>().unwrap_err();
            assert_eq!(error, format!("`{text}` is not a valid schedule"));
        }
    }
}
