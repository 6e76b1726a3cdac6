//! `rbac`: arguments → the options of [`crate::ops::rbac`], and its results → documents and sentences.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};

use super::generate::{features, selection};
use super::outcome::{Outcome, OutcomeReport, UsageError, apply};
use crate::cli::{
    DataFormat, DeriveArgs, DeriveFormat, ExplainArgs, FeatureArgs, LintArgs, OutputFormat, PackageArgs, VerifyArgs,
    WriteArgs,
};
use crate::diagnostic::{Code, Diagnostics, Problem, Severity};
use crate::ops::Findings;
use crate::ops::rbac::lint::{self, LintOptions, Linted};
use crate::ops::rbac::verify::{self, Verified, VerifyOptions};
use crate::ops::rbac::{RbacSource, RbacSourceOptions};
use crate::rbac::derive::propose;
use crate::rbac::{RbacTarget, RbacUsage, RequestScope, rule_query};
use crate::term::{Term, Verbosity};
use crate::yaml;

pub(super) fn derive(args: &DeriveArgs, term: &mut Term) -> Result<Outcome> {
    let options = source(&args.code.features, &args.code.packages, args.code.bin.as_ref());
    let mut code = RbacSource::read(&options)?.below(&args.code.packages.paths)?;
    if code.found.has_errors() {
        return failed(&code, args.code.output, term);
    }
    let (roles, unbound) = propose::roles(&code.usages, &args.role_name, &code.home);
    code.found.extend(unbound);
    code.found.sort();
    if args.code.output == DataFormat::Json {
        let markers = propose::markers(&code.usages, &code.home);
        return print(&code, code.usages.iter(), json!({ "roles": roles, "markers": markers }), term);
    }
    term.diagnostics(&code.found);
    if let Some(elsewhere) = &code.elsewhere {
        term.status(&elsewhere.sentence());
    }
    match args.format {
        DeriveFormat::Roles => term.data(&yaml::file(None, &roles))?,
        DeriveFormat::Markers => {
            let lines = propose::markers(&code.usages, &code.home).into_iter().map(|line| line + "\n");
            term.data(&lines.collect::<String>())?;
        }
    }
    Ok(Outcome::Done)
}

pub(super) fn explain(args: &ExplainArgs, term: &mut Term) -> Result<Outcome> {
    let rule = rule_query::parse(&args.rule.join(" ")).map_err(UsageError)?;
    let options = source(&args.code.features, &args.code.packages, args.code.bin.as_ref());
    let code = RbacSource::read(&options)?.below(&args.code.packages.paths)?;
    if code.found.has_errors() {
        return failed(&code, args.code.output, term);
    }
    let usages = code.usages.iter().filter(|usage| rule.grants(&usage.permission));
    if args.code.output == DataFormat::Json {
        return print(&code, usages, json!({}), term);
    }
    let lines: String = usages.map(line).collect();
    term.diagnostics(&code.found);
    if lines.is_empty() {
        term.status("no code that uses it was found");
    }
    term.data(&lines)?;
    Ok(Outcome::Done)
}

pub(super) fn lint(args: &LintArgs, term: &mut Term) -> Result<Outcome> {
    let WriteArgs { dry_run, diff, check, .. } = args.write;
    if !args.fix && (dry_run || diff || check) {
        let problem = Problem::new("`--dry-run`, `--diff` and `--check` are for `--fix`");
        return Err(UsageError(problem.help("without `--fix` nothing is written")).into());
    }
    let options = LintOptions {
        source: RbacSourceOptions {
            manifests: args.role.clone(),
            ..source(&args.features, &args.packages, args.bin.as_ref())
        },
        paths: args.packages.paths.clone(),
        service_account: args.service_account.clone(),
        fix: args.fix,
    };
    let Findings { value: mut linted, diagnostics: mut found } = lint::run(&options)?;
    if linted.broken {
        return report(Outcome::Failed, found).show(&args.write, term);
    }
    let outcome = if found.iter().any(lint::is_finding) { Outcome::Found } else { Outcome::Done };
    if args.write.output != OutputFormat::Text {
        found.extend(linted.elsewhere.iter().cloned().collect());
    }
    if let Some((draft, has_markers)) = linted.fixed.take() {
        let mut report = apply(draft, Diagnostics::default(), &args.write)?;
        if report.is_written(&args.write) && has_markers {
            "Next, run `memcached-sdk generate` to write the roles.".clone_into(&mut report.next);
        }
        if report.outcome == Outcome::Done {
            report.outcome = outcome;
        }
        return OutcomeReport { diagnostics: found, ..report }.show(&args.write, term);
    }
    if args.write.output != OutputFormat::Text {
        return report(outcome, found).show(&args.write, term);
    }
    term.diagnostics(&found);
    if term.verbosity() > Verbosity::Quiet {
        if let Some(elsewhere) = &linted.elsewhere {
            term.status(&elsewhere.sentence());
        }
        term.status(&summary(&found, term.verbosity(), &linted));
    }
    Ok(outcome)
}

pub(super) fn verify(args: &VerifyArgs, term: &mut Term) -> Result<Outcome> {
    let write = WriteArgs { output: args.output, ..WriteArgs::default() };
    let options = VerifyOptions {
        source: RbacSourceOptions { manifests: args.role.clone(), ..source(&args.features, &args.packages, None) },
        audit_log: args.audit_log.clone(),
        user: args.user.clone(),
    };
    let Findings { value, diagnostics: found } = verify::run(&options)?;
    let Verified::Events { count: events, user } = value else {
        return report(Outcome::Failed, found).show(&write, term);
    };
    let failed = found.iter().any(|found| found.code.severity() < Severity::Note);
    let outcome = if failed { Outcome::Found } else { Outcome::Done };
    if args.output != OutputFormat::Text {
        return report(outcome, found).show(&write, term);
    }
    term.diagnostics(&found);
    term.status(&match found.len() {
        0 => format!("{events} events of `{user}`: nothing is missing and nothing is unused"),
        1 => format!("{events} events of `{user}`: 1 finding"),
        count => format!("{events} events of `{user}`: {count} findings"),
    });
    Ok(outcome)
}

fn source(of: &FeatureArgs, packages: &PackageArgs, program: Option<&String>) -> RbacSourceOptions {
    RbacSourceOptions {
        packages: selection(packages),
        features: features(of),
        program: program.cloned(),
        ..RbacSourceOptions::default()
    }
}

fn report(outcome: Outcome, diagnostics: Diagnostics) -> OutcomeReport {
    OutcomeReport { outcome, changes: Vec::new(), diagnostics, next: String::new() }
}

fn failed(code: &RbacSource, output: DataFormat, term: &mut Term) -> Result<Outcome> {
    match output {
        DataFormat::Text => term.diagnostics(&code.found),
        DataFormat::Json => {
            print(code, [].into_iter(), json!({}), term)?;
        }
    }
    Ok(Outcome::Failed)
}

/// Prints one document: the answer, the calls, and the findings.
fn print<'a>(
    code: &RbacSource,
    usages: impl Iterator<Item = &'a RbacUsage>,
    mut document: Value,
    term: &mut Term,
) -> Result<Outcome> {
    document["uses"] = usages.map(object).collect();
    let found: Diagnostics = code.found.iter().chain(&code.elsewhere).cloned().collect();
    document["diagnostics"] = json!(found.to_json());
    term.data(&format!("{document:#}\n"))?;
    Ok(Outcome::Done)
}

fn summary(found: &Diagnostics, verbosity: Verbosity, linted: &Linted) -> String {
    let mut text = verdict(found, linted);
    let notes = found.iter().filter(|found| found.code == Code::RbacUnproven).count();
    if notes > 0 && verbosity < Verbosity::Verbose {
        let these = if notes == 1 { "1 note is" } else { &format!("{notes} notes are") };
        let _ = write!(text, "; {these} hidden: permissions that no followed call uses (shown with `-v`)");
    }
    if linted.named > 0 {
        let calls = if linted.named == 1 { "1 call" } else { &format!("{} calls", linted.named) };
        let _ = write!(text, "; {calls} that could not be followed: markers in the same file list their permissions");
    }
    text
}

fn verdict(found: &Diagnostics, linted: &Linted) -> String {
    let paths = if linted.in_paths { "; with `--paths` excess is not checked" } else { "" };
    match (found.iter().filter(|found| lint::is_finding(found)).count(), linted) {
        (0, Linted { in_paths: true, open: 0, .. }) => format!("no call in these files lacks a permission{paths}"),
        (0, Linted { open: 0, .. }) => "the declared permissions are those that the code uses".to_owned(),
        (0, Linted { open: 1, .. }) => format!("no finding, but 1 call could not be followed{paths}"),
        (0, Linted { open, .. }) => format!("no finding, but {open} calls could not be followed{paths}"),
        (1, _) => format!("1 finding{paths}"),
        (count, _) => format!("{count} findings{paths}"),
    }
}

fn object(usage: &RbacUsage) -> Value {
    let (line, column) = usage.origin.line_column();
    let mut object = json!({
        "verb": usage.permission.verb,
        "scope": match &usage.scope {
            RequestScope::Cluster => "cluster",
            RequestScope::Own => "own",
            RequestScope::Namespace(_) => "namespace",
            RequestScope::Namespaced | RequestScope::OfObject => "namespaced",
        },
        "call": usage.call,
        "file": &*usage.origin.path,
        "line": line,
        "column": column,
    });
    match &usage.permission.target {
        RbacTarget::Resource { group, resource, .. } => {
            object["group"] = json!(group);
            object["resource"] = json!(resource);
        }
        RbacTarget::Url(url) => object["url"] = json!(url),
    }
    if let RequestScope::Namespace(name) = &usage.scope {
        object["namespace"] = json!(name);
    }
    if let Some(role) = usage.role {
        object["role"] = json!(role);
    }
    object
}

/// `file:line:column: permission, where: call`
fn line(usage: &RbacUsage) -> String {
    let (line, column) = usage.origin.line_column();
    let target = &usage.permission.target;
    let place = match &usage.scope {
        RequestScope::Cluster => "cluster-wide".to_owned(),
        RequestScope::Own => "in the namespace of the operator".to_owned(),
        RequestScope::Namespace(name) => format!("in the namespace `{name}`"),
        RequestScope::Namespaced | RequestScope::OfObject => "in any namespace".to_owned(),
    };
    let (verb, call, path) = (&usage.permission.verb, &usage.call, &usage.origin.path);
    format!("{path}:{line}:{column}: {verb} {target} {place}: {call}\n")
}
