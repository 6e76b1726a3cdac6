//! Findings, and the report of an exploration.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Formatter, Result};
use std::time::Duration;

use super::oracle::Oracle;

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
    /// The schedule in the source of a test.
    fn literal(&self) -> String {
        if self.schedule.contains('"') { format!("r#\"{}\"#", self.schedule) } else { format!("{:?}", self.schedule) }
    }

    /// The objects that differ: findings of one oracle about them are one bug in most cases.
    pub(super) fn signature(&self) -> Vec<String> {
        let objects = self.difference.iter().filter(|line| !line[1..].starts_with("   /"));
        objects.map(|line| line.chars().filter(|letter| !letter.is_ascii_digit()).collect()).collect()
    }
}

impl Display for Finding {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        writeln!(out, "{}: {}\n", self.oracle, self.oracle.claim())?;
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
        let mut name: String =
            self.schedule.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
        while name.contains("__") {
            name = name.replace("__", "_");
        }
        writeln!(out, "\nTest\n  #[test]\n  fn {}() {{", name.trim_matches('_').to_lowercase())?;
        writeln!(out, "      explorer().replay({}).unwrap();\n  }}", self.literal())
    }
}

/// The result of an exploration. Its text has the findings and the counts.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The findings, at most one for each oracle and set of differing objects.
    pub findings: Vec<Finding>,
    /// The number of runs of each oracle.
    pub trials: BTreeMap<Oracle, usize>,
    /// Requests that the server does not implement. Findings may follow from them.
    pub unsupported: BTreeSet<String>,
    /// Rules that no request has needed, such as `delete configmaps`, if the explorer has roles.
    pub unused_rules: BTreeSet<String>,
    /// True if two undisturbed runs have sent the same requests. None if the state does not settle.
    pub deterministic: Option<bool>,
    /// True if the budget ended before the trials did.
    pub out_of_budget: bool,
    /// The real time of the exploration.
    pub elapsed: Duration,
}

impl Report {
    /// Prints the report, which `cargo test -- --nocapture` shows, and fails a test if something was found.
    ///
    /// # Panics
    ///
    /// There are findings, or the server has refused a request as not implemented.
    #[allow(clippy::print_stdout, reason = "test harnesses show it on request")]
    pub fn assert_clean(&self) {
        assert!(self.findings.is_empty() && self.unsupported.is_empty(), "{self}");
        println!("{self}");
    }

    pub(super) fn add(&mut self, finding: Finding) {
        let same = |known: &&mut Finding| known.oracle == finding.oracle && known.signature() == finding.signature();
        match self.findings.iter_mut().find(same) {
            Some(known) => known.repeats += 1,
            None => self.findings.push(finding),
        }
    }
}

impl Display for Report {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        for finding in &self.findings {
            writeln!(out, "{finding}\n{}", "-".repeat(80))?;
        }
        for request in &self.unsupported {
            writeln!(out, "not supported: {request}")?;
        }
        for rule in &self.unused_rules {
            writeln!(out, "rule not used: {rule}")?;
        }
        if self.deterministic == Some(false) {
            writeln!(out, "Two undisturbed runs differ in their requests: a schedule may not replay.")?;
        }
        let total: usize = self.trials.values().sum();
        let counts: Vec<String> = self.trials.iter().map(|(oracle, count)| format!("{count} {oracle}")).collect();
        let end = if self.out_of_budget { ", out of budget (EXPLORE=10m for more)" } else { "" };
        let seconds = self.elapsed.as_secs_f64();
        let rate = total as f64 / seconds.max(0.001);
        write!(
            out,
            "{} findings in {total} trials ({}), {seconds:.1} s, {rate:.0} trials a second{end}",
            self.findings.len(),
            counts.join(", ")
        )
    }
}
