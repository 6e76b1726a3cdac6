//! `rbac lint`: what is declared beside what the code uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;

use super::super::outcome::{Outcome, Report, Usage as Misuse, apply};
use super::{Code, CodeScope};
use crate::cli::{LintArgs, OutputFormat, WriteArgs};
use crate::diagnostic::{self, Diagnostics, Origin, Problem, Severity};
use crate::plan::{Draft, RelPath};
use crate::rbac::allow::{self, Allow};
use crate::rbac::declared::{Grant, Home, Manifests};
use crate::rbac::derive::Doubt;
use crate::rbac::lint::{Comparison, Missing, fix};
use crate::rbac::role::ROLE;
use crate::rbac::{Permission, RequestScope, Target};
use crate::term::{Term, Verbosity};

pub(in crate::command) fn run(args: &LintArgs, term: &mut Term) -> Result<Outcome> {
    let WriteArgs { dry_run, diff, check, force, .. } = args.write;
    if !args.fix && (dry_run || diff || check || force) {
        let problem = Problem::new("`--dry-run`, `--diff`, `--check` and `--force` are for `--fix`");
        return Err(Misuse(problem.help("without `--fix` nothing is written")).into());
    }
    let mut code =
        Code::read(&args.features, &args.packages, CodeScope { program: args.bin.as_deref(), manifests: &args.role })?;
    if code.found.has_errors() || code.of_markers.has_errors() {
        let mut found = code.found;
        found.extend(code.of_markers);
        return report(Outcome::Failed, found).show(&args.write, term);
    }
    let operator = args.service_account.clone().map_or(Operator::Bound, Operator::Named);
    let declared = Declared::read(&code, &args.role, &operator)?;
    code.allows.extend(declared.allows);
    let comparison = Comparison {
        usages: &code.usages,
        doubts: &code.doubts,
        grants: &declared.grants,
        optional: &declared.optional,
        waived: &declared.waived,
        served: &code.served,
        home: &declared.home,
        by_hand: !args.role.is_empty(),
    };
    let wanted = code.wanted(&args.packages.paths)?;
    let mut missing = comparison.missing(&wanted);
    // A marker that nothing can bind is a finding of its own.
    let unbound = declared.found.iter().any(is_finding);
    missing.retain(|missing| !unbound || !missing.is_in(&code.markers));
    let (fixed, left) = if args.fix { fixable(&missing, &code) } else { (Vec::new(), missing.clone()) };
    let mut found = comparison.findings(&left);
    if args.role.is_empty() {
        found.extend(code.of_markers.clone());
    }
    found.extend(code.found.iter().filter(|found| !is_of_doubts(found, &code.doubts)).cloned().collect());
    let by_hand = comparison.by_hand;
    let doubts: Vec<&Doubt> = code.doubts.iter().filter(|doubt| by_hand || !comparison.is_named(doubt)).collect();
    found.extend(doubts.iter().map(|doubt| doubt.diagnostic(by_hand)).collect());
    found.extend(declared.found);
    let mut found = allow::apply(&found, &mut code.allows);
    if !args.packages.paths.is_empty() {
        found = only_in(&found, wanted);
    }
    found.sort();
    let open = found.iter().filter(|found| found.code == diagnostic::Code::RbacNotFollowed).count();
    let named = code.doubts.len() - doubts.len();
    let scope = Judged { in_paths: !args.packages.paths.is_empty(), open, named };
    let failed = found.iter().any(is_finding);
    if args.write.output != OutputFormat::Text {
        found.extend(code.elsewhere.iter().cloned().collect());
    }
    if args.fix {
        let mut report = write(&code, &fixed, &args.write)?;
        if failed && report.outcome == Outcome::Done {
            report.outcome = Outcome::Found;
        }
        return Report { diagnostics: found, ..report }.show(&args.write, term);
    }
    let outcome = if failed { Outcome::Found } else { Outcome::Done };
    if args.write.output != OutputFormat::Text {
        return report(outcome, found).show(&args.write, term);
    }
    term.diagnostics(&found);
    if term.verbosity() > Verbosity::Quiet {
        code.tell_elsewhere(term);
        term.status(&summary(&found, term.verbosity(), scope));
    }
    Ok(outcome)
}

pub(super) fn report(outcome: Outcome, diagnostics: Diagnostics) -> Report {
    Report { outcome, changes: Vec::new(), diagnostics, next: String::new() }
}

/// Findings that decide the exit code. A call that could not be followed is not an error of the permissions.
fn is_finding(found: &diagnostic::Diagnostic) -> bool {
    let says_only = [diagnostic::Code::RbacElsewhere, diagnostic::Code::RbacNotFollowed].contains(&found.code);
    found.code.severity() < Severity::Note && !says_only
}

/// The subject of a report.
#[derive(Debug, Clone, Copy)]
struct Judged {
    /// Only some files: what others use is not asked.
    in_paths: bool,
    /// The number of calls that could not be followed.
    open: usize,
    /// The number of other such calls, which markers in their files cover.
    named: usize,
}

fn summary(found: &Diagnostics, verbosity: Verbosity, judged: Judged) -> String {
    let mut text = verdict(found, judged);
    let notes = found.iter().filter(|found| found.code == diagnostic::Code::RbacUnproven).count();
    if notes > 0 && verbosity < Verbosity::Verbose {
        let these = if notes == 1 { "1 note is" } else { &format!("{notes} notes are") };
        let _ = write!(text, "; {these} held back: what no call uses that could be followed (shown with `-v`)");
    }
    if judged.named > 0 {
        let calls = if judged.named == 1 { "1 call" } else { &format!("{} calls", judged.named) };
        let _ = write!(text, "; {calls} that could not be followed: markers in the same file name what they need");
    }
    text
}

fn verdict(found: &Diagnostics, judged: Judged) -> String {
    let paths = if judged.in_paths { "; with `--paths` excess is not judged" } else { "" };
    match (found.iter().filter(|found| is_finding(found)).count(), judged) {
        (0, Judged { in_paths: true, open: 0, .. }) => format!("no call in these files lacks a permission{paths}"),
        (0, Judged { open: 0, .. }) => "the declared permissions are those that the code uses".to_owned(),
        (0, Judged { open: 1, .. }) => format!("no finding, but 1 call could not be followed{paths}"),
        (0, Judged { open, .. }) => format!("no finding, but {open} calls could not be followed{paths}"),
        (1, _) => format!("1 finding{paths}"),
        (count, _) => format!("{count} findings{paths}"),
    }
}

fn is_of_doubts(found: &diagnostic::Diagnostic, doubts: &[Doubt]) -> bool {
    doubts.iter().any(|doubt| *found == doubt.diagnostic(false))
}

/// The operator among the subjects that files bind roles to.
pub(super) enum Operator {
    /// The only one.
    Bound,
    /// This `ServiceAccount`, `NAME` or `NAMESPACE/NAME`: there have to be bindings for it.
    Named(String),
    /// This one; where the files bind nothing, all roles are its own.
    User(String),
}

/// The declared permissions, with their origin.
#[derive(Default)]
pub(super) struct Declared {
    pub(super) grants: Vec<Grant>,
    optional: Vec<Permission>,
    waived: Vec<&'static str>,
    pub(super) home: Home,
    allows: Vec<Allow>,
    /// Markers that nothing can bind, and what is not read of manifests.
    found: Diagnostics,
}

impl Declared {
    pub(super) fn read(code: &Code, files: &[PathBuf], operator: &Operator) -> Result<Self> {
        if !files.is_empty() {
            let mut manifests = Manifests::of_files(&code.root, files)?;
            match operator {
                Operator::Bound => manifests.choose(None)?,
                Operator::Named(account) => manifests.choose(Some(account))?,
                Operator::User(account) if manifests.has_bindings() => manifests.choose(Some(account))?,
                Operator::User(_) => {}
            }
            let cluster_wide = code.home.cluster_wide.clone();
            let mut home = Home { namespace: manifests.namespace(), cluster_wide, ..Home::default() };
            let grants = manifests.grants(&home, &BTreeSet::new());
            home.works_everywhere = works_everywhere(code, &grants, &home);
            let allows = allows(&grants);
            let found = manifests.notes().iter().cloned().collect();
            return Ok(Self { grants, home, allows, found, ..Self::default() });
        }
        if !code.is_project {
            let home = Home::default();
            let grants = Manifests::default().of_markers(&code.markers, &home);
            return Ok(Self { grants, home, ..Self::default() });
        }
        let scope = code.home.clone();
        let (markers, found) = scope.confine(code.markers.clone(), ROLE);
        let confined = scope.confined_to.unwrap_or_default();
        let home =
            Home { namespace: Some(scope.own), confined, cluster_wide: scope.cluster_wide, works_everywhere: false };
        let manifests = Manifests::of_project(&code.root)?;
        let names = code.markers.iter().map(|marker| marker.role_name.as_str()).filter(|name| !name.is_empty());
        let names: BTreeSet<&str> = names.chain([ROLE]).collect();
        let prefixed = names.iter().map(|name| format!("{}{name}", scope.prefix));
        let generated: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).chain(prefixed).collect();
        let mut grants = manifests.of_markers(&markers, &home);
        grants.extend(manifests.grants(&home, &generated));
        let allows = allows(&grants);
        let mut optional = if code.leader_for_life { leader_for_life(&manifests) } else { Vec::new() };
        if manifests.has_flag(KEEPS) {
            optional.extend(webhooks());
        }
        Ok(Self { grants, optional, waived: waived(&manifests), home, allows, found })
    }
}

/// The operator watches objects of all namespaces, and may.
fn works_everywhere(code: &Code, grants: &[Grant], home: &Home) -> bool {
    code.usages.iter().any(|usage| {
        let watches =
            matches!(usage.permission.verb.as_str(), "list" | "watch") && usage.scope == RequestScope::Cluster;
        let Target::Resource { group, resource, .. } = &usage.permission.target else { return false };
        watches && !home.is_cluster_wide(group, resource) && grants.iter().any(|grant| grant.allows(usage, home))
    })
}

const ELECTION: &str = "leader-election-role";
const METRICS: &str = "metrics-auth-role";
/// Set where the operator keeps the certificates of its webhooks.
const KEEPS: &str = "--webhook-secret";
const CERTIFICATES: [&str; 2] = ["webhook-cert-role", "webhook-ca-role"];

/// Permissions that the manager does not need with the flags that config/ sets.
fn waived(manifests: &Manifests) -> Vec<&'static str> {
    let elects = manifests.has_flag("--leader-elect") && !manifests.binds("leader-for-life-role");
    let asks = manifests.has_flag("--metrics-bind-address") && !manifests.has_flag("--metrics-secure=false");
    let keeps = manifests.has_flag(KEEPS);
    let [secret, published] = CERTIFICATES.map(|role| (role, keeps));
    let roles = [(ELECTION, elects), (METRICS, asks), secret, published];
    roles.into_iter().filter(|(_, needed)| !needed).map(|(role, _)| role).collect()
}

/// The role of the certificates as earlier releases scaffolded it: about both kinds of configurations, although there may be
/// webhooks of one kind only.
fn webhooks() -> impl Iterator<Item = Permission> {
    let kinds = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
    kinds.into_iter().flat_map(|kind| {
        let target = Target::resource("admissionregistration.k8s.io", kind);
        ["get", "list", "patch", "watch"].map(|verb| Permission::new(target.clone(), verb))
    })
}

/// Permissions that the manager uses with the flags that config/ sets: an election for life reads nodes only to take over.
/// See `templates/init/config/components/leader-for-life`.
fn leader_for_life(manifests: &Manifests) -> Vec<Permission> {
    let needed: [(&str, &[_]); 2] = [
        (
            "--leader-election-mode=life",
            &[("configmaps", "get"), ("configmaps", "create"), ("pods", "get"), ("pods", "delete")],
        ),
        ("--leader-election-takeover-after", &[("nodes", "get")]),
    ];
    let permission = |(resource, verb): &(&str, &str)| Permission::new(Target::resource("", resource), verb);
    let set = needed.iter().filter(|(flag, _)| manifests.has_flag(flag));
    set.flat_map(|(_, permissions)| permissions.iter().map(permission)).collect()
}

/// The comments in the files of roles.
fn allows(grants: &[Grant]) -> Vec<Allow> {
    let mut files: BTreeMap<&str, &Origin> = BTreeMap::new();
    for grant in grants.iter().filter(|grant| grant.role.is_some()) {
        files.insert(&grant.origin.path, &grant.origin);
    }
    files.values().flat_map(|file| Allow::in_yaml(file)).collect()
}

/// Permissions for which `--fix` adds markers, and others for which it cannot: the file is not one of the project, a role has it, or a comment allows
/// that it is missing.
fn fixable(missing: &[Missing], code: &Code) -> (Vec<Missing>, Vec<Missing>) {
    let fixable = |missing: &Missing| {
        missing.role.is_none() && RelPath::new(&*missing.origin.path).is_ok() && !is_allowed(missing, &code.allows)
    };
    missing.iter().cloned().partition(fixable)
}

fn is_allowed(missing: &Missing, allows: &[Allow]) -> bool {
    allows.iter().any(|allow| allow.allows(diagnostic::Code::RbacMissing, &missing.origin))
}

/// Adds the markers.
fn write(code: &Code, missing: &[Missing], args: &WriteArgs) -> Result<Report> {
    let mut draft = Draft::open(&code.root);
    let mut files: BTreeMap<&str, Vec<&Missing>> = BTreeMap::new();
    for missing in missing {
        files.entry(&missing.origin.path).or_default().push(missing);
    }
    for (path, of_file) in files {
        draft.edit(&RelPath::new(path)?, |text| fix::insert(text, &of_file))?;
    }
    let mut report = apply(draft, Diagnostics::default(), args)?;
    if report.is_written(args) && !missing.is_empty() {
        "Next, run `memcached-sdk generate` to write the roles.".clone_into(&mut report.next);
    }
    Ok(report)
}

/// The findings in files and folders that the command line names. What is too much depends on the calls in all others.
fn only_in(found: &Diagnostics, wanted: impl Fn(&str) -> bool) -> Diagnostics {
    let of_all = [diagnostic::Code::RbacExcess, diagnostic::Code::RbacUnproven];
    let is_wanted = |found: &&diagnostic::Diagnostic| {
        !of_all.contains(&found.code) && found.origin.as_ref().is_none_or(|origin| wanted(&origin.path))
    };
    found.iter().filter(is_wanted).cloned().collect()
}
