//! Schedules: one disturbance of a run, as a line of text.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use serde_json::Value;

use super::{Drift, ObjectKey, Oracle, parse_place, place};

/// The change of the samples in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No samples; they are created.
    Create,
    /// A settled state; the samples stay.
    Keep,
    /// A settled state; the samples are deleted.
    Delete,
}

/// A disturbance that does not depend on the API server.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// No disturbance.
    Nothing,
    /// The process dies before or after the effect of a write.
    Die {
        /// The number of the write.
        write: usize,
        /// True if the write has its effect.
        after: bool,
    },
    /// The samples are deleted between a write and its answer.
    Delete {
        /// The number of the write.
        write: usize,
    },
    /// Another client changes an object.
    Drift(Drift, ObjectKey),
    /// A request fails.
    Fault {
        /// The number of the request.
        request: usize,
        /// The answer.
        fault: Fault,
    },
    /// Merge patches of the first sample, each after the state has settled.
    History(Vec<Value>),
}

/// The answer to a request that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A status code, without an effect.
    Code(u16),
    /// A dropped connection, without an effect.
    DropBefore,
    /// A dropped connection, after the effect.
    DropAfter,
    /// The status code 504, after the effect.
    Timeout,
}

/// A run, as one line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule<E = Event> {
    /// The change of the samples.
    pub phase: Phase,
    /// The disturbance.
    pub event: E,
}

impl Fault {
    /// The reason in the status of a refusal with this code.
    pub fn reason(code: u16) -> &'static str {
        match code {
            409 => "Conflict",
            429 => "TooManyRequests",
            504 => "Timeout",
            _ => "InternalError",
        }
    }
}

impl Event {
    /// The oracle that judges a run with the event.
    pub fn oracle(&self, phase: Phase) -> Oracle {
        match self {
            Self::Nothing if phase != Phase::Delete => Oracle::Quiet,
            Self::Nothing | Self::Delete { .. } => Oracle::Deletion,
            Self::Die { .. } => Oracle::Crash,
            Self::Drift(..) => Oracle::Drift,
            Self::Fault { .. } => Oracle::Faults,
            Self::History(_) => Oracle::History,
        }
    }

    /// Returns true if a run with the event ends without samples.
    pub fn removes(&self, phase: Phase) -> bool {
        phase == Phase::Delete || matches!(self, Self::Delete { .. })
    }
}

impl<E: From<Event>> Schedule<E> {
    /// The schedule without a disturbance.
    pub fn undisturbed(phase: Phase) -> Self {
        Self { phase, event: Event::Nothing.into() }
    }
}

impl<E: Display> Display for Schedule<E> {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        let phase = match self.phase {
            Phase::Create => "create",
            Phase::Keep => "keep",
            Phase::Delete => "delete",
        };
        write!(out, "{phase}: {}", self.event)
    }
}

impl Display for Event {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => out.write_str("nothing"),
            Self::Die { write, after } => write!(out, "die {} write {write}", time(*after)),
            Self::Delete { write } => write!(out, "delete after write {write}"),
            Self::Drift(Drift::Delete, key) => write!(out, "delete {}", place(key)),
            Self::Drift(Drift::Change(pointer), key) => write!(out, "change {} {pointer}", place(key)),
            Self::Drift(Drift::Remove(pointer), key) => write!(out, "remove {} {pointer}", place(key)),
            Self::History(patches) => write!(out, "patch {}", Value::from(patches.clone())),
            Self::Fault { request, fault: Fault::Timeout } => write!(out, "answer 504 after request {request}"),
            Self::Fault { request, fault: Fault::Code(code) } => write!(out, "answer {code} to request {request}"),
            Self::Fault { request, fault } => {
                write!(out, "drop {} request {request}", time(*fault == Fault::DropAfter))
            }
        }
    }
}

/// The word for the time of a disturbance.
pub(crate) fn time(after: bool) -> &'static str {
    if after { "after" } else { "before" }
}

/// Parses a word of [`time`].
pub(crate) fn after(time: &str) -> Option<bool> {
    match time {
        "after" => Some(true),
        "before" => Some(false),
        _ => None,
    }
}

impl<E: FromStr> FromStr for Schedule<E> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a valid schedule");
        let (phase, event) = text.split_once(": ").ok_or_else(wrong)?;
        let phase = match phase {
            "create" => Phase::Create,
            "keep" => Phase::Keep,
            "delete" => Phase::Delete,
            _ => return Err(wrong()),
        };
        Ok(Self { phase, event: event.parse().map_err(|_| wrong())? })
    }
}

impl FromStr for Event {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        parse(text).ok_or(())
    }
}

fn parse(text: &str) -> Option<Event> {
    if let Some(patches) = text.strip_prefix("patch ") {
        return Some(Event::History(serde_json::from_str(patches).ok()?));
    }
    let words: Vec<&str> = text.split(' ').collect();
    Some(match words[..] {
        ["nothing"] => Event::Nothing,
        ["die", time, "write", write] => Event::Die { write: write.parse().ok()?, after: after(time)? },
        ["delete", "after", "write", write] => Event::Delete { write: write.parse().ok()? },
        ["answer", "504", "after", "request", request] => {
            Event::Fault { request: request.parse().ok()?, fault: Fault::Timeout }
        }
        ["answer", code, "to", "request", request] => {
            Event::Fault { request: request.parse().ok()?, fault: Fault::Code(code.parse().ok()?) }
        }
        ["drop", time, "request", request] => {
            let fault = if after(time)? { Fault::DropAfter } else { Fault::DropBefore };
            Event::Fault { request: request.parse().ok()?, fault }
        }
        ["delete", resource, place] => Event::Drift(Drift::Delete, parse_place(resource, place)?),
        [verb, resource, place, ref pointer @ ..] => {
            // A pointer may have spaces.
            let (key, pointer) = (parse_place(resource, place)?, pointer.join(" "));
            match verb {
                _ if !pointer.starts_with('/') => return None,
                "change" => Event::Drift(Drift::Change(pointer), key),
                "remove" => Event::Drift(Drift::Remove(pointer), key),
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
        for text in [
            "",
            "create",
            "make: nothing",
            "create: die at write 1",
            "create: drop during request 1",
            "keep: change configmaps default/a",
            "keep: change a b",
            "keep: patch {",
        ] {
            let error = text.parse::<Schedule>().unwrap_err();
            assert_eq!(error, format!("`{text}` is not a valid schedule"));
        }
    }
}
