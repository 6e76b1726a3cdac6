//! `rbac verify`: declared permissions beside the requests of an operator in an audit log.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::declared::{BoundOperator, DeclaredRoles};
use super::{RbacSource, RbacSourceOptions};
use crate::diagnostic::Problem;
use crate::ops::Findings;
use crate::rbac::audit::{self, Relevant, Tally, Verification};
use crate::rbac::quoted;

/// Options of `rbac verify`.
#[derive(Debug, Clone, Default)]
pub(crate) struct VerifyOptions {
    /// The code, and the files with the declared permissions; without files, markers and `config/` declare them.
    pub(crate) source: RbacSourceOptions,
    /// The audit log, or `-` for stdin.
    pub(crate) audit_log: PathBuf,
    /// The operator: `NAMESPACE/NAME` of its `ServiceAccount`, or the full name of a user.
    pub(crate) user: String,
}

/// The result of a verification.
pub(crate) enum Verified {
    /// The markers have errors, and nothing was compared.
    Broken,
    /// Events of this user were compared.
    Events { count: u64, user: String },
}

/// Compares the requests in an audit log with the declared permissions.
pub(crate) fn run(options: &VerifyOptions) -> Result<Findings<Verified>> {
    let code = RbacSource::read(&options.source)?;
    let files = &options.source.manifests;
    if files.is_empty() && code.of_markers.has_errors() {
        return Ok(Findings { value: Verified::Broken, diagnostics: code.of_markers });
    }
    let user = audit::user_name(&options.user);
    let account = audit::account(&user);
    let named = |(namespace, name)| BoundOperator::User(format!("{namespace}/{name}"));
    let operator = account.map_or(BoundOperator::Only, named);
    let mut declared = DeclaredRoles::read(&code, files, &operator)?;
    declared.home.namespace = account.map(|(namespace, _)| namespace.to_owned());
    let relevant = Relevant::of(&declared.grants, &declared.home);
    let tally = tally(&options.audit_log, &user, &relevant)?;
    let log = options.audit_log.display().to_string();
    let verification = Verification {
        grants: &declared.grants,
        usages: &code.usages,
        home: &declared.home,
        log: &log,
        by_hand: !files.is_empty(),
    };
    let found = verification.findings(&tally);
    Ok(Findings { value: Verified::Events { count: tally.events, user }, diagnostics: found })
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
            "" => problem.help("pass the operator's ServiceAccount as NAMESPACE/NAME, and check the audit policy"),
            others => problem.help(format!("the log has requests of {others}")),
        }
        .into());
    }
    Ok(tally)
}
