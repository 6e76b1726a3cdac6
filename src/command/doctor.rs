//! `doctor`: [`doctor::run`] → a line for each check.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::json;

use super::outcome::Outcome;
use crate::cli::{DataFormat, DoctorArgs};
use crate::ops::doctor::{self, Checkup, Health};
use crate::term::Term;

pub(super) fn run(args: &DoctorArgs, term: &mut Term) -> Result<Outcome> {
    let checks = doctor::run();
    let count = |health: Health| checks.iter().filter(|check| check.health == health).count();
    let (warnings, errors) = (count(Health::Warning), count(Health::Error));
    if args.output == DataFormat::Json {
        term.data(&format!("{:#}\n", json!({ "checks": checks })))?;
    } else {
        term.data(&text(&checks))?;
        term.status(&format!("{} ok, {warnings} warnings, {errors} errors", count(Health::Ok)));
    }
    Ok(if errors == 0 { Outcome::Done } else { Outcome::Found })
}

fn text(checks: &[Checkup]) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for check in checks {
        let health = match check.health {
            Health::Ok => "ok",
            Health::Warning => "warning",
            Health::Error => "error",
        };
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{health:<7}  {:<width$}  {}", check.name, check.message);
        if let Some(help) = &check.help {
            let _ = writeln!(text, "{:9}{:<width$}  help: {help}", "", "");
        }
    }
    text
}
