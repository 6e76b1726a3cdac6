//! The disturbances of runs of a binary.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use explorer::Oracle;
use explorer::exploration::{Event, Phase, Schedule};

/// The disturbance of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum BinaryEvent {
    Common(Event),
    /// The explored program starts on the objects of the previous release. It may die at a write.
    Upgrade(Event),
    /// The samples are deleted after the upgrade.
    UpgradeAndDelete,
    /// A write of the previous release arrives after the explored program has taken over.
    TakeOver {
        write: usize,
    },
    /// The previous release starts on the objects of the explored program.
    RollBack,
}

/// A run of a binary.
pub(super) type BinarySchedule = Schedule<BinaryEvent>;

impl From<Event> for BinaryEvent {
    fn from(event: Event) -> Self {
        Self::Common(event)
    }
}

impl BinaryEvent {
    /// The oracle that judges a run with the event.
    pub(super) fn oracle(&self, phase: Phase) -> Oracle {
        match self {
            Self::Common(event) => event.oracle(phase),
            _ => Oracle::Release,
        }
    }
}

/// A run that starts in a settled state.
pub(super) fn keep(event: BinaryEvent) -> BinarySchedule {
    Schedule { phase: Phase::Keep, event }
}

impl Display for BinaryEvent {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Common(event) => event.fmt(out),
            Self::Upgrade(Event::Nothing) => out.write_str("upgrade"),
            Self::Upgrade(event) => write!(out, "upgrade and {event}"),
            Self::UpgradeAndDelete => out.write_str("upgrade and delete"),
            Self::TakeOver { write } => write!(out, "take over at write {write}"),
            Self::RollBack => out.write_str("roll back"),
        }
    }
}

impl FromStr for BinaryEvent {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "upgrade" => return Ok(Self::Upgrade(Event::Nothing)),
            "upgrade and delete" => return Ok(Self::UpgradeAndDelete),
            "roll back" => return Ok(Self::RollBack),
            _ => {}
        }
        if let Some(write) = text.strip_prefix("take over at write ") {
            return write.parse().map(|write| Self::TakeOver { write }).map_err(|_| ());
        }
        match text.strip_prefix("upgrade and ") {
            Some(event) => {
                let event: Event = event.parse()?;
                matches!(event, Event::Die { .. }).then_some(Self::Upgrade(event)).ok_or(())
            }
            None => text.parse().map(Self::Common),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_as_it_is_printed() {
        for (text, oracle) in [
            ("create: die after write 3", Oracle::Crash),
            ("delete: nothing", Oracle::Deletion),
            ("keep: upgrade", Oracle::Release),
            ("keep: upgrade and die after write 1", Oracle::Release),
            ("keep: upgrade and die before write 3", Oracle::Release),
            ("keep: upgrade and delete", Oracle::Release),
            ("keep: take over at write 2", Oracle::Release),
            ("keep: roll back", Oracle::Release),
        ] {
            let schedule: BinarySchedule = text.parse().unwrap();
            assert_eq!(schedule.to_string(), text);
            assert_eq!(schedule.event.oracle(schedule.phase), oracle, "{text}");
        }
        for text in ["upgrade", "keep: upgrade and nothing", "keep: take over at write x", "keep: roll"] {
            let error = text.parse::<BinarySchedule>().unwrap_err();
            assert_eq!(error, format!("`{text}` is not a valid schedule"));
        }
    }
}
