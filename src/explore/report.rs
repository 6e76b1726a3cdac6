//! Findings, and the report of an exploration.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter, Result};
use std::time::Duration;

use serde_json::{Value, json};

use super::schedule::Oracle;

/// A wrong end of a run. Its text is a page with the schedule, the difference, and the command that replays it.
#[derive(Clone, Debug)]
pub(crate) struct ExploreFinding {
    pub(super) oracle: Oracle,
    pub(super) schedule: String,
    /// The differences: `-` is expected, `+` is the end of this run.
    pub(super) difference: Vec<String>,
    /// The writes of the run.
    pub(super) writes: Vec<String>,
    /// The last lines of the operator's output.
    pub(super) log: Vec<String>,
    /// The command that runs the schedule again.
    pub(super) replay: String,
    /// The number of other schedules with a difference in the same objects.
    pub(super) repeats: usize,
}

impl ExploreFinding {
    /// The objects that differ: findings of one oracle about them are one bug in most cases.
    fn signature(&self) -> Vec<String> {
        let objects = self.difference.iter().filter(|line| !line[1..].starts_with("   /"));
        objects.map(|line| line.chars().filter(|letter| !letter.is_ascii_digit()).collect()).collect()
    }
}

impl Display for ExploreFinding {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        writeln!(out, "{}: {}\n", self.oracle.name(), self.oracle.claim())?;
        writeln!(out, "Schedule\n  {}\n", self.schedule)?;
        writeln!(out, "Writes of this run")?;
        for (at, write) in self.writes.iter().enumerate().take(12) {
            writeln!(out, "  {:>2}. {write}", at + 1)?;
        }
        if self.writes.len() > 12 {
            writeln!(out, "  and {} more", self.writes.len() - 12)?;
        }
        writeln!(out, "\nDifference (- expected, + this run)")?;
        for line in &self.difference {
            writeln!(out, "  {line}")?;
        }
        if self.repeats > 0 {
            writeln!(out, "\n{} more schedules end with a difference in the same objects.", self.repeats)?;
        }
        if !self.log.is_empty() {
            writeln!(out, "\nLast lines of the operator")?;
            for line in &self.log {
                writeln!(out, "  {line}")?;
            }
        }
        writeln!(out, "\nReplay\n  {}", self.replay)
    }
}

/// The result of an exploration. Its text has the findings and the counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExploreReport {
    /// The findings, at most one for each oracle and set of differing objects.
    pub(crate) findings: Vec<ExploreFinding>,
    /// The number of runs of each oracle.
    pub(super) trials: BTreeMap<Oracle, usize>,
    /// Schedules that ended in another state, but not in a second run.
    pub(super) unconfirmed: Vec<String>,
    /// True if two undisturbed runs have sent the same writes.
    pub(super) deterministic: Option<bool>,
    /// True if the budget ended before the schedules did.
    pub(super) out_of_budget: bool,
    pub(super) elapsed: Duration,
}

impl ExploreReport {
    pub(super) fn add(&mut self, finding: ExploreFinding) {
        match self.same(&finding) {
            Some(known) => known.repeats += 1,
            None => self.findings.push(finding),
        }
    }

    /// The finding about the same objects.
    pub(super) fn same(&mut self, finding: &ExploreFinding) -> Option<&mut ExploreFinding> {
        let same =
            |known: &&mut ExploreFinding| known.oracle == finding.oracle && known.signature() == finding.signature();
        self.findings.iter_mut().find(same)
    }

    /// The report for programs.
    pub(crate) fn json(&self) -> Value {
        let findings = self.findings.iter().map(|finding| {
            json!({
                "oracle": finding.oracle.name(), "claim": finding.oracle.claim(), "schedule": finding.schedule,
                "difference": finding.difference, "writes": finding.writes, "log": finding.log,
                "replay": finding.replay, "repeats": finding.repeats,
            })
        });
        let trials = self.trials.iter().map(|(oracle, count)| (oracle.name().to_owned(), Value::from(*count)));
        json!({
            "findings": findings.collect::<Vec<_>>(),
            "trials": trials.collect::<serde_json::Map<_, _>>(),
            "unconfirmed": self.unconfirmed,
            "deterministic": self.deterministic,
            "outOfBudget": self.out_of_budget,
        })
    }
}

impl Display for ExploreReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        for finding in &self.findings {
            writeln!(out, "{finding}\n{}", "-".repeat(80))?;
        }
        for schedule in &self.unconfirmed {
            writeln!(out, "seen once, not again: {schedule}")?;
        }
        if self.deterministic == Some(false) {
            writeln!(out, "Two undisturbed runs differ in their requests: a schedule may not replay.")?;
        }
        let total: usize = self.trials.values().sum();
        let counts: Vec<String> =
            self.trials.iter().map(|(oracle, count)| format!("{count} {}", oracle.name())).collect();
        let end = if self.out_of_budget { ", out of budget (`--budget 10m` for more)" } else { "" };
        writeln!(
            out,
            "{} findings in {total} trials ({}), {:.1} s{end}",
            self.findings.len(),
            counts.join(", "),
            self.elapsed.as_secs_f64()
        )
    }
}
