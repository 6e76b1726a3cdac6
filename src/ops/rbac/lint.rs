//! `rbac lint`: declared permissions beside those that the code uses.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::declared::{BoundOperator, DeclaredRoles};
use super::{RbacSource, RbacSourceOptions};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use crate::ops::Findings;
use crate::plan::{Draft, RelPath};
use crate::rbac::allow::{self, Allow};
use crate::rbac::derive::Doubt;
use crate::rbac::lint::{Missing, RoleComparison, fix};

/// Options of `rbac lint`.
#[derive(Debug, Clone, Default)]
pub(crate) struct LintOptions {
    /// The code, and the files with the declared permissions; without files, markers and `config/` declare them.
    pub(crate) source: RbacSourceOptions,
    /// The only files and folders whose findings count; empty means all.
    pub(crate) paths: Vec<PathBuf>,
    /// The `ServiceAccount` of the operator, `NAME` or `NAMESPACE/NAME`; `None` for the only one in the files.
    pub(crate) service_account: Option<String>,
    /// Plans markers for missing permissions.
    pub(crate) fix: bool,
}

/// The result of a comparison.
pub(crate) struct Linted {
    /// The source has errors, and was not compared.
    pub(crate) broken: bool,
    /// The markers that `--fix` adds, if it was asked for, and if there are any.
    pub(crate) fixed: Option<(Draft, bool)>,
    /// Only some files were judged.
    pub(crate) in_paths: bool,
    /// The number of calls that could not be followed.
    pub(crate) open: usize,
    /// The number of other such calls, which markers in their files cover.
    pub(crate) named: usize,
    /// The place of other code, if this code has no request.
    pub(crate) elsewhere: Option<Diagnostic>,
}

/// Compares the permissions that the code uses with the declared ones.
pub(crate) fn run(options: &LintOptions) -> Result<Findings<Linted>> {
    let mut code = RbacSource::read(&options.source)?;
    let mut linted =
        Linted { broken: false, fixed: None, in_paths: !options.paths.is_empty(), open: 0, named: 0, elsewhere: None };
    if code.found.has_errors() || code.of_markers.has_errors() {
        let mut found = code.found;
        found.extend(code.of_markers);
        linted.broken = true;
        return Ok(Findings { value: linted, diagnostics: found });
    }
    let files = &options.source.manifests;
    // `--fix` writes markers, which replace the role.
    let of_project = if options.fix { BoundOperator::Only } else { BoundOperator::Role };
    let operator = options.service_account.clone().map_or(of_project, BoundOperator::Named);
    let by_role = !files.is_empty() || (!options.fix && code.has_role_only());
    let declared = DeclaredRoles::read(&code, files, &operator)?;
    code.allows.extend(declared.allows);
    let comparison = RoleComparison {
        usages: &code.usages,
        doubts: &code.doubts,
        grants: &declared.grants,
        optional: &declared.optional,
        waived: &declared.waived,
        served: &code.served,
        home: &declared.home,
        by_hand: by_role,
    };
    let wanted = code.wanted(&options.paths)?;
    let mut missing = comparison.missing(&wanted);
    // A marker that nothing can bind is a finding of its own.
    let unbound = declared.found.iter().any(is_finding);
    missing.retain(|missing| !unbound || !missing.is_in(&code.markers));
    let (fixed, left) = if options.fix { fixable(&missing, &code) } else { (Vec::new(), missing.clone()) };
    let mut found = comparison.findings(&left);
    if files.is_empty() {
        found.extend(code.of_markers.clone());
    }
    found.extend(code.found.iter().filter(|found| !is_of_doubts(found, &code.doubts)).cloned().collect());
    let by_hand = comparison.by_hand;
    let doubts: Vec<&Doubt> = code.doubts.iter().filter(|doubt| by_hand || !comparison.is_named(doubt)).collect();
    found.extend(doubts.iter().map(|doubt| doubt.diagnostic(by_hand)).collect());
    found.extend(declared.found);
    let mut found = allow::apply(&found, &mut code.allows);
    if linted.in_paths {
        found = only_in(&found, wanted);
    }
    found.sort();
    linted.open = found.iter().filter(|found| found.code == Code::RbacNotFollowed).count();
    linted.named = code.doubts.len() - doubts.len();
    if options.fix {
        linted.fixed = Some((markers(&code.root, &fixed)?, !fixed.is_empty()));
    }
    linted.elsewhere = code.elsewhere;
    Ok(Findings { value: linted, diagnostics: found })
}

/// Findings that decide the exit code. A call that could not be followed is not an error of the permissions.
pub(crate) fn is_finding(found: &Diagnostic) -> bool {
    let says_only = [Code::RbacElsewhere, Code::RbacNotFollowed].contains(&found.code);
    found.code.severity() < Severity::Note && !says_only
}

fn is_of_doubts(found: &Diagnostic, doubts: &[Doubt]) -> bool {
    doubts.iter().any(|doubt| *found == doubt.diagnostic(false))
}

/// Splits permissions into those for which `--fix` adds markers, and others: their file is not one of the project, a role
/// has them, or a comment allows that they are missing.
fn fixable(missing: &[Missing], code: &RbacSource) -> (Vec<Missing>, Vec<Missing>) {
    let fixable = |missing: &Missing| {
        missing.role.is_none() && RelPath::new(&*missing.origin.path).is_ok() && !is_allowed(missing, &code.allows)
    };
    missing.iter().cloned().partition(fixable)
}

fn is_allowed(missing: &Missing, allows: &[Allow]) -> bool {
    allows.iter().any(|allow| allow.allows(Code::RbacMissing, &missing.origin))
}

/// Plans the markers.
fn markers(root: &Path, missing: &[Missing]) -> Result<Draft> {
    let mut draft = Draft::open(root);
    let mut files: BTreeMap<&str, Vec<&Missing>> = BTreeMap::new();
    for missing in missing {
        files.entry(&missing.origin.path).or_default().push(missing);
    }
    for (path, of_file) in files {
        draft.edit(&RelPath::new(path)?, |text| fix::insert(text, &of_file))?;
    }
    Ok(draft)
}

/// The findings in some files and folders. Findings of excess depend on the calls in all other files.
fn only_in(found: &Diagnostics, wanted: impl Fn(&str) -> bool) -> Diagnostics {
    let of_all = [Code::RbacExcess, Code::RbacUnproven];
    let is_wanted = |found: &&Diagnostic| {
        !of_all.contains(&found.code) && found.origin.as_ref().is_none_or(|origin| wanted(&origin.path))
    };
    found.iter().filter(is_wanted).cloned().collect()
}
