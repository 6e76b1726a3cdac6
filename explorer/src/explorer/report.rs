//! The report of an exploration, and the tests that replay its findings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Formatter, Result};
use std::time::Duration;

use crate::exploration::{Finding, IDLE, Oracle, write_counts};

impl Display for Finding {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        self.write_page(out)?;
        let schedule = &self.schedule;
        let literal = if schedule.contains('"') { format!("r#\"{schedule}\"#") } else { format!("{schedule:?}") };
        let mut name: String =
            schedule.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
        while name.contains("__") {
            name = name.replace("__", "_");
        }
        writeln!(out, "\nTest\n  #[test]\n  fn {}() {{", name.trim_matches('_').to_lowercase())?;
        writeln!(out, "      explorer().replay({literal}).unwrap();\n  }}")
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
    /// True if the operator has changed neither the samples nor other objects, so that no run can show a bug.
    pub idle: bool,
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
    /// There are findings, the server has refused a request as not implemented, or the operator has changed nothing.
    #[allow(clippy::print_stdout, reason = "test harnesses show it on request")]
    pub fn assert_clean(&self) {
        assert!(self.findings.is_empty() && self.unsupported.is_empty() && !self.idle, "{self}");
        println!("{self}");
    }

    pub(super) fn add(&mut self, finding: Finding) {
        match self.findings.iter_mut().find(|known| known.is_like(&finding)) {
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
        if self.idle {
            writeln!(out, "{IDLE}")?;
        }
        write_counts(out, self.findings.len(), &self.trials, self.deterministic)?;
        let total: usize = self.trials.values().sum();
        let end = if self.out_of_budget { ", out of budget (EXPLORE=10m for more)" } else { "" };
        let seconds = self.elapsed.as_secs_f64();
        let rate = total as f64 / seconds.max(0.001);
        write!(out, ", {seconds:.1} s, {rate:.0} trials a second{end}")
    }
}
