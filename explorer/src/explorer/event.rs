//! The disturbances of runs on the API server in memory.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use crate::exploration::{Event, ObjectKey, Oracle, Phase, Schedule, after, parse_place, place, time};

/// The disturbance of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MemoryEvent {
    Common(Event),
    /// No run: webhooks and conversions get the samples and the objects of the undisturbed run.
    Review,
    /// The process dies after a write, and the next one lists the state before the write `before`.
    Rewind {
        write: usize,
        before: usize,
    },
    /// Events of one resource are late, from a write on.
    Lag {
        write: usize,
        resource: String,
    },
    /// The list of a resource is late when the process starts.
    Slow {
        resource: String,
    },
    /// All watches miss the events after a write.
    Miss {
        write: usize,
    },
    /// Another client deletes an object, and all watches miss the event.
    DeleteUnseen(ObjectKey),
    /// The samples are deleted and created again at once. If `unseen`, all watches miss the events.
    Recreate {
        unseen: bool,
    },
    /// A second object, by its namespace and name.
    Neighbour(Visit, String, String),
    /// The operator starts on the objects of an earlier release, by the name of the release.
    Release(Upgrade, String),
    /// Another controller runs beside the operator, by its number.
    Beside(Share, usize),
    /// Another process takes over while a write is under way.
    Overlap {
        write: usize,
    },
}

/// A run on the API server in memory.
pub(super) type MemorySchedule = Schedule<MemoryEvent>;

/// The time that a second object stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visit {
    /// Created, and kept.
    Stay,
    /// Created, then deleted.
    Leave,
    /// Created, and kept while the first one is deleted.
    Outlive,
}

/// A disturbance of the start on the objects of an earlier release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upgrade {
    Nothing,
    /// The author's objects are deleted.
    Delete,
    /// The process dies before or after the effect of a write.
    Die {
        write: usize,
        after: bool,
    },
}

/// The time that the objects of two controllers stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    Both,
    /// The samples of the other controller are deleted.
    Leave,
    /// The samples are deleted.
    Outlive,
}

impl From<Event> for MemoryEvent {
    fn from(event: Event) -> Self {
        Self::Common(event)
    }
}

impl From<Schedule> for MemorySchedule {
    fn from(schedule: Schedule) -> Self {
        Self { phase: schedule.phase, event: schedule.event.into() }
    }
}

impl MemorySchedule {
    pub(super) fn oracle(&self) -> Oracle {
        match &self.event {
            MemoryEvent::Common(event) => event.oracle(self.phase),
            MemoryEvent::Review => Oracle::Webhooks,
            MemoryEvent::Recreate { unseen: false } => Oracle::Deletion,
            MemoryEvent::Rewind { .. }
            | MemoryEvent::Lag { .. }
            | MemoryEvent::Slow { .. }
            | MemoryEvent::Miss { .. }
            | MemoryEvent::DeleteUnseen(_)
            | MemoryEvent::Recreate { .. } => Oracle::Stale,
            MemoryEvent::Release(..) => Oracle::Release,
            MemoryEvent::Neighbour(..) | MemoryEvent::Beside(..) => Oracle::Neighbours,
            MemoryEvent::Overlap { .. } => Oracle::Overlap,
        }
    }

    /// Returns true if the run ends without samples.
    pub(super) fn removes(&self) -> bool {
        self.phase == Phase::Delete || matches!(self.event, MemoryEvent::Common(Event::Delete { .. }))
    }
}

impl Display for MemoryEvent {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Common(event) => event.fmt(out),
            Self::Review => out.write_str("review"),
            Self::Rewind { write, before } => write!(out, "die after write {write} and list before write {before}"),
            Self::Lag { write, resource } => write!(out, "lag {resource} after write {write}"),
            Self::Slow { resource } => write!(out, "list {resource} late"),
            Self::Miss { write } => write!(out, "miss events after write {write}"),
            Self::DeleteUnseen(key) => write!(out, "delete-unseen {}", place(key)),
            Self::Recreate { unseen } => out.write_str(if *unseen { "recreate-unseen" } else { "recreate" }),
            Self::Neighbour(visit, namespace, name) => {
                let verb = match visit {
                    Visit::Stay => "add",
                    Visit::Leave => "add-and-delete",
                    Visit::Outlive => "outlive",
                };
                write!(out, "{verb} {namespace}/{name}")
            }
            Self::Release(Upgrade::Nothing, name) => write!(out, "release {name}"),
            Self::Release(Upgrade::Delete, name) => write!(out, "release-and-delete {name}"),
            Self::Release(Upgrade::Die { write, after }, name) => {
                write!(out, "release-and-die {name} {} write {write}", time(*after))
            }
            Self::Beside(share, at) => {
                let verb = match share {
                    Share::Both => "beside",
                    Share::Leave => "beside-and-delete",
                    Share::Outlive => "beside-and-outlive",
                };
                write!(out, "{verb} {at}")
            }
            Self::Overlap { write } => write!(out, "take over at write {write}"),
        }
    }
}

impl FromStr for MemoryEvent {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        text.parse().map(Self::Common).or_else(|()| parse(text).ok_or(()))
    }
}

fn parse(text: &str) -> Option<MemoryEvent> {
    let words: Vec<&str> = text.split(' ').collect();
    Some(match words[..] {
        ["review"] => MemoryEvent::Review,
        ["recreate"] => MemoryEvent::Recreate { unseen: false },
        ["recreate-unseen"] => MemoryEvent::Recreate { unseen: true },
        ["die", "after", "write", write, "and", "list", "before", "write", before] => {
            MemoryEvent::Rewind { write: write.parse().ok()?, before: before.parse().ok()? }
        }
        ["lag", resource, "after", "write", write] => {
            MemoryEvent::Lag { write: write.parse().ok()?, resource: resource.to_owned() }
        }
        ["list", resource, "late"] => MemoryEvent::Slow { resource: resource.to_owned() },
        ["miss", "events", "after", "write", write] => MemoryEvent::Miss { write: write.parse().ok()? },
        ["take", "over", "at", "write", write] => MemoryEvent::Overlap { write: write.parse().ok()? },
        ["delete-unseen", resource, place] => MemoryEvent::DeleteUnseen(parse_place(resource, place)?),
        ["release", name] => MemoryEvent::Release(Upgrade::Nothing, name.to_owned()),
        ["release-and-delete", name] => MemoryEvent::Release(Upgrade::Delete, name.to_owned()),
        ["release-and-die", name, time, "write", write] => {
            let upgrade = Upgrade::Die { write: write.parse().ok()?, after: after(time)? };
            MemoryEvent::Release(upgrade, name.to_owned())
        }
        ["beside", at] => MemoryEvent::Beside(Share::Both, at.parse().ok()?),
        ["beside-and-delete", at] => MemoryEvent::Beside(Share::Leave, at.parse().ok()?),
        ["beside-and-outlive", at] => MemoryEvent::Beside(Share::Outlive, at.parse().ok()?),
        [verb, place] => {
            let visit = match verb {
                "add" => Visit::Stay,
                "add-and-delete" => Visit::Leave,
                "outlive" => Visit::Outlive,
                _ => return None,
            };
            let (namespace, name) = place.split_once('/')?;
            MemoryEvent::Neighbour(visit, namespace.to_owned(), name.to_owned())
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
            "create: die after write 3",
            "create: die after write 3 and list before write 1",
            "create: lag configmaps after write 2",
            "keep: list configmaps late",
            "delete: miss events after write 2",
            "keep: delete configmaps default/a",
            "keep: delete-unseen configmaps default/a",
            "keep: recreate",
            "keep: recreate-unseen",
            "keep: add default/a-2",
            "keep: add-and-delete /a-2",
            "keep: outlive neighbour/a",
            "keep: review",
            "keep: release v1.0",
            "keep: release-and-delete v1.0",
            "keep: release-and-die v1.0 before write 2",
            "keep: beside 1",
            "keep: beside-and-delete 2",
            "keep: beside-and-outlive 1",
            "create: take over at write 2",
            r#"keep: patch [{"spec":{"size":4}},{"spec":{"size":null}}]"#,
        ] {
            assert_eq!(text.parse::<MemorySchedule>().unwrap().to_string(), text);
        }
        assert!("create: dance".parse::<MemorySchedule>().is_err());
    }
}
