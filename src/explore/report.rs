//! Findings, and the report of an exploration.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter, Result};
use std::time::Duration;

use explorer::exploration::{IDLE, write_counts};
use explorer::{Finding, Oracle};
use serde_json::{Value, json};

use super::Exploration;

/// The characters of a line of the operator's output on a page.
const LINE: usize = 240;

/// A finding of an exploration. Its text has the command that replays the schedule.
#[derive(Clone, Debug)]
pub(crate) struct ExploreFinding {
    pub(super) finding: Finding,
    /// The way to tell a finding from a slow operator.
    pub(super) hint: Option<String>,
    /// The last lines of the operator's output.
    pub(super) log: Vec<String>,
    /// The command that runs the schedule again.
    pub(super) replay: String,
}

impl Display for ExploreFinding {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        self.finding.write_page(out)?;
        if let Some(hint) = &self.hint {
            writeln!(out, "\n{hint}")?;
        }
        if !self.log.is_empty() {
            writeln!(out, "\nLast lines of the operator")?;
            for line in &self.log {
                match line.char_indices().nth(LINE) {
                    Some((end, _)) => writeln!(out, "  {} …", &line[..end])?,
                    None => writeln!(out, "  {line}")?,
                }
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
    /// True if the operator has changed neither the samples nor other objects.
    pub(crate) idle: bool,
    /// True if two undisturbed runs have sent the same writes.
    pub(super) deterministic: Option<bool>,
    /// True if the budget ended before the schedules did.
    pub(super) out_of_budget: bool,
    pub(super) elapsed: Duration,
}

impl ExploreReport {
    pub(super) fn add(&mut self, finding: ExploreFinding) {
        match self.same(&finding) {
            Some(known) => known.finding.repeats += 1,
            None => self.findings.push(finding),
        }
    }

    /// The finding about the same objects.
    pub(super) fn same(&mut self, finding: &ExploreFinding) -> Option<&mut ExploreFinding> {
        self.findings.iter_mut().find(|known| known.finding.is_like(&finding.finding))
    }

    /// The report for programs.
    pub(crate) fn json(&self) -> Value {
        let findings = self.findings.iter().map(|ExploreFinding { finding, hint, log, replay }| {
            json!({
                "oracle": finding.oracle.name(), "claim": finding.oracle.claim(), "schedule": finding.schedule,
                "difference": finding.difference, "writes": finding.writes, "hint": hint, "log": log,
                "replay": replay, "repeats": finding.repeats,
            })
        });
        let trials = self.trials.iter().map(|(oracle, count)| (oracle.name().to_owned(), Value::from(*count)));
        json!({
            "findings": findings.collect::<Vec<_>>(),
            "trials": trials.collect::<serde_json::Map<_, _>>(),
            "unconfirmed": self.unconfirmed,
            "idle": self.idle,
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
        if self.idle {
            writeln!(out, "{IDLE}")?;
        }
        write_counts(out, self.findings.len(), &self.trials, self.deterministic)?;
        let end = if self.out_of_budget { ", out of budget (`--budget 10m` for more)" } else { "" };
        writeln!(out, ", {:.1} s{end}", self.elapsed.as_secs_f64())
    }
}

/// The command that runs a schedule again.
pub(super) fn replay(options: &Exploration, schedule: &str) -> String {
    let mut words = vec!["memcached-sdk".to_owned(), "explore".to_owned()];
    words.extend(options.flags.iter().map(|flag| quoted(flag)));
    words.extend(["--replay".to_owned(), quoted(schedule), "--".to_owned()]);
    words.extend(options.command.iter().map(|word| quoted(&word.to_string_lossy())));
    words.join(" ")
}

/// A word of a shell.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
