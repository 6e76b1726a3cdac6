//! `rbac verify`: what is declared beside what an operator has requested.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context as _, Result};

use super::super::outcome::Outcome;
use super::lint::{Declared, Operator, report};
use super::{Code, CodeScope};
use crate::cli::{OutputFormat, VerifyArgs, WriteArgs};
use crate::diagnostic::{Problem, Severity};
use crate::rbac::audit::{self, Relevant, Tally, Verification};
use crate::rbac::quoted;
use crate::term::Term;

pub(in crate::command) fn run(args: &VerifyArgs, term: &mut Term) -> Result<Outcome> {
    let write = WriteArgs { output: args.output, ..WriteArgs::default() };
    let code = Code::read(&args.features, &args.packages, CodeScope { manifests: &args.role, ..CodeScope::default() })?;
    if args.role.is_empty() && code.of_markers.has_errors() {
        return report(Outcome::Failed, code.of_markers).show(&write, term);
    }
    let user = audit::user_name(&args.user);
    let account = audit::account(&user);
    let operator = account.map_or(Operator::Bound, |(namespace, name)| Operator::User(format!("{namespace}/{name}")));
    let mut declared = Declared::read(&code, &args.role, &operator)?;
    declared.home.namespace = account.map(|(namespace, _)| namespace.to_owned());
    let relevant = Relevant::of(&declared.grants, &declared.home);
    let tally = tally(&args.audit_log, &user, &relevant)?;
    let log = args.audit_log.display().to_string();
    let verification = Verification {
        grants: &declared.grants,
        usages: &code.usages,
        home: &declared.home,
        log: &log,
        by_hand: !args.role.is_empty(),
    };
    let found = verification.findings(&tally);
    let failed = found.iter().any(|found| found.code.severity() < Severity::Note);
    let outcome = if failed { Outcome::Found } else { Outcome::Done };
    if args.output != OutputFormat::Text {
        return report(outcome, found).show(&write, term);
    }
    term.diagnostics(&found);
    let events = tally.events;
    term.status(&match found.len() {
        0 => format!("{events} events of `{user}`: nothing is missing and nothing is unused"),
        1 => format!("{events} events of `{user}`: 1 finding"),
        count => format!("{events} events of `{user}`: {count} findings"),
    });
    Ok(outcome)
}

fn tally(path: &Path, user: &str, relevant: &Relevant) -> Result<Tally> {
    let cannot = || format!("cannot read `{}`", path.display());
    let mut log: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::with_capacity(1 << 16, File::open(path).with_context(cannot)?))
    };
    if log.fill_buf().with_context(cannot)?.starts_with(&[0x1f, 0x8b]) {
        let problem = Problem::new(format!("`{}` is compressed", path.display()));
        return Err(problem.help("use `gunzip --stdout FILE | memcached-sdk rbac verify --audit-log -`").into());
    }
    let tally = audit::read(log, user, relevant).with_context(cannot)?;
    if tally.events == 0 {
        let problem = Problem::new(format!("`{}` has no request of `{user}`", path.display()));
        return Err(match quoted(&tally.others).as_str() {
            "" => problem.help("name the operator's ServiceAccount as NAMESPACE/NAME, and look at the audit policy"),
            others => problem.help(format!("there are requests of {others}")),
        }
        .into());
    }
    Ok(tally)
}
