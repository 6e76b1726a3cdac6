//! Findings: wrong ends of runs.

use std::collections::BTreeMap;
use std::fmt::{Formatter, Result};

use super::Oracle;

/// The writes on the page of a finding.
const WRITES: usize = 12;

/// The warning for an operator whose runs cannot show a bug.
pub const IDLE: &str = "The operator has changed nothing: is a sample of its kind, and what does its log say?";

/// A wrong end of a run. Its text is a page with the schedule, the difference, and a test that replays it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The oracle that found it.
    pub oracle: Oracle,
    /// The schedule for [`crate::Explorer::replay`].
    pub schedule: String,
    /// The differences: `-` is expected, `+` is the end of this run.
    pub difference: Vec<String>,
    /// The writes of the run.
    pub writes: Vec<String>,
    /// The number of other schedules with a difference in the same objects.
    pub repeats: usize,
}

impl Finding {
    /// Returns true for a finding of the same oracle about the same objects: both are one bug in most cases.
    pub fn is_like(&self, other: &Self) -> bool {
        self.oracle == other.oracle && self.signature() == other.signature()
    }

    /// The objects that differ.
    fn signature(&self) -> Vec<String> {
        let objects = self.difference.iter().filter(|line| !line.get(1..).is_some_and(|rest| rest.starts_with("   /")));
        objects.map(|line| line.chars().filter(|letter| !letter.is_ascii_digit()).collect()).collect()
    }

    /// Writes the page without the way to replay the schedule.
    pub fn write_page(&self, out: &mut Formatter<'_>) -> Result {
        writeln!(out, "{}: {}\n", self.oracle, self.oracle.claim())?;
        writeln!(out, "Schedule\n  {}\n", self.schedule)?;
        writeln!(out, "Writes of this run")?;
        for (at, write) in self.writes.iter().enumerate().take(WRITES) {
            writeln!(out, "  {:>2}. {write}", at + 1)?;
        }
        if self.writes.len() > WRITES {
            writeln!(out, "  and {} more", self.writes.len() - WRITES)?;
        }
        writeln!(out, "\nDifference (- expected, + this run)")?;
        for line in &self.difference {
            writeln!(out, "  {line}")?;
        }
        match self.repeats {
            0 => Ok(()),
            1 => writeln!(out, "\nOne more schedule ends with a difference in the same objects."),
            more => writeln!(out, "\n{more} more schedules end with a difference in the same objects."),
        }
    }
}

/// Writes the end of a report: the numbers of findings and of runs, and a warning if two undisturbed runs differ.
pub fn write_counts(
    out: &mut Formatter<'_>,
    findings: usize,
    trials: &BTreeMap<Oracle, usize>,
    deterministic: Option<bool>,
) -> Result {
    if deterministic == Some(false) {
        writeln!(out, "Two undisturbed runs differ in their requests: a schedule may not replay.")?;
    }
    let total: usize = trials.values().sum();
    let counts: Vec<String> = trials.iter().map(|(oracle, count)| format!("{count} {oracle}")).collect();
    let findings = if findings == 1 { "1 finding".to_owned() } else { format!("{findings} findings") };
    write!(out, "{findings} in {total} trials ({})", counts.join(", "))
}
