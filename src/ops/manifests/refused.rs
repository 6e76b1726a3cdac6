//! What can't be written because of an error, while the rest could.

use std::collections::BTreeSet;

use anyhow::Result;

use super::{Manifests, Options, Roots};
use crate::crd;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem, Severity};
use crate::engine::{self, listed};
use crate::ops::Usage;
use crate::source::Choice;

/// The custom resources that there are.
#[derive(Default)]
pub(crate) struct Kinds {
    /// Those of the source, each with the types that are their roots.
    roots: Roots,
    /// Those that only an answer of the compiler has shown, too.
    pub(super) all: BTreeSet<String>,
    /// Those of packages in which no answer is known to be right.
    doubtful: BTreeSet<String>,
}

/// What an error is about.
pub(crate) struct Refused {
    /// Custom resources, as `Kind.group`.
    kinds: BTreeSet<String>,
    /// How many are chosen.
    of: usize,
    /// The roles, and there are such.
    roles: bool,
    /// The webhooks, and there are such.
    webhooks: bool,
}

impl Kinds {
    /// Adds those of a package, with what was found in it.
    pub(crate) fn add(&mut self, declared: Roots, answered: BTreeSet<String>, found: &Diagnostics) {
        let names: BTreeSet<String> = declared.keys().cloned().chain(answered).collect();
        if found.iter().any(is_about_all) {
            self.doubtful.extend(names.iter().cloned());
        }
        self.all.extend(names);
        for (name, roots) in declared {
            self.roots.entry(name).or_default().extend(roots);
        }
    }

    /// A name that is that of nothing is an error: else nothing would be written in silence.
    pub(crate) fn check(&self, choice: &Choice, found: &mut Diagnostics) -> Result<()> {
        let Some(unknown) = choice.unknown(&self.all) else { return Ok(()) };
        let problem = Problem::new(format!("no custom resource is called `{unknown}`"));
        let problem = match self.all.iter().cloned().collect::<Vec<_>>().join("`, `") {
            names if names.is_empty() => problem.help("there is none"),
            names => problem.help(format!("there are `{names}`")),
        };
        if found.has_errors() {
            // It may be where nothing could be read.
            found.push(problem.into());
            return Ok(());
        }
        Err(Usage(problem).into())
    }
}

/// With such an error nothing that was read of a package is known to be right.
fn is_about_all(found: &Diagnostic) -> bool {
    let codes = [Code::CrdPanic, Code::DependencyVersion, Code::NewRelease, Code::NoLock, Code::Syntax];
    found.kinds.is_empty() && codes.contains(&found.code)
}

impl Refused {
    pub(crate) fn of(manifests: &Manifests, options: &Options, found: &Diagnostics) -> Self {
        let Kinds { all, doubtful, .. } = &manifests.kinds;
        let errors = found.iter().filter(|found| found.code.severity() == Severity::Error);
        let mut kinds: BTreeSet<String> = errors.flat_map(|error| &error.kinds).chain(doubtful).cloned().collect();
        let chosen = |name: &String| options.choice.takes(name);
        kinds.retain(chosen);
        let written = manifests.crds.iter().flatten().map(crate::crd::Crd::name);
        let existing: BTreeSet<String> = all.iter().filter(|name| chosen(name)).cloned().chain(written).collect();
        let roles = manifests.roles.doubtful && manifests.roles.documents.is_some();
        let webhooks = manifests.webhooks.doubtful && manifests.webhooks.documents.is_some();
        Self { of: existing.len(), kinds, roles, webhooks }
    }

    /// Of those that nothing in the workspace asks for its CRD: types of an API that is somebody else's. Of kinds that are written
    /// only those count that the command line does not name, and whose group is neither below `domain` nor related to one that is
    /// asked for.
    pub(crate) fn only_read(&self, manifests: &Manifests, options: &Options, domain: Option<&str>) -> Diagnostics {
        let mut roots = manifests.kinds.roots.clone();
        for crd in manifests.crds.iter().flatten() {
            let generated = crd.declared.values().filter_map(|declared| declared.root.clone());
            roots.entry(crd.name()).or_default().extend(generated);
        }
        let group = |name: &str| name.split_once('.').map(|(_, group)| group.to_owned()).unwrap_or_default();
        let groups: BTreeSet<String> = roots.keys().map(|name| group(name)).collect();
        if self.kinds.is_empty() && groups.len() < 2 {
            return Diagnostics::default();
        }
        let called = engine::crd_calls(&options.packages.workspace());
        let declared: BTreeSet<&String> = roots.values().flatten().collect();
        // A name that is none of them may stand for any.
        if called.is_empty() || !called.iter().all(|name| declared.contains(name)) {
            return Diagnostics::default();
        }
        let doubtful = &manifests.kinds.doubtful;
        let unasked =
            |name: &&String| roots.get(*name).is_some_and(|roots| !roots.is_empty() && roots.is_disjoint(&called));
        let asked = roots.iter().filter(|(_, roots)| !roots.is_disjoint(&called));
        let asked: BTreeSet<String> = asked.map(|(name, _)| group(name)).collect();
        let is_own = |group: &str| {
            domain.is_some_and(|domain| crd::is_owned(group, domain))
                || asked.iter().any(|asked| crd::is_related(asked, group))
        };
        let written: Vec<String> = manifests.crds.iter().flatten().map(crate::crd::Crd::name).collect();
        // Who names a kind wants it.
        let foreign = written.iter().filter(|name| !options.choice.names_kinds() && !is_own(&group(name)));
        let names = self.kinds.iter().chain(foreign).filter(|name| !doubtful.contains(*name));
        let names: BTreeSet<&str> = names.filter(unasked).map(String::as_str).collect();
        if names.is_empty() {
            return Diagnostics::default();
        }
        let whose =
            if names.len() == 1 { "it may be an API of others that is" } else { "they may be APIs of others that are" };
        let message =
            format!("nothing calls `crd()` of {}, as is done for other kinds: {whose} only read", listed(&names));
        let flag = names.iter().copied().collect::<Vec<_>>().join(",");
        let list = names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        let help = format!(
            "leave out what is only read: `--exclude {flag}`, or once for all `external = [{list}]` below \
             `[package.metadata.memcached-sdk]` in `Cargo.toml`"
        );
        let found = Diagnostic::new(Code::OnlyRead, message).help(help);
        Diagnostics::from_iter([names.into_iter().map(str::to_owned).fold(found, Diagnostic::about)])
    }

    /// Leaves what is exact.
    pub(crate) fn leave_out(&self, manifests: &mut Manifests) {
        if let Some(crds) = &mut manifests.crds {
            crds.retain(|crd| !self.kinds.contains(&crd.name()));
        }
        if self.roles {
            manifests.roles.documents = None;
        }
        if self.webhooks {
            manifests.webhooks.documents = None;
        }
        manifests.complete = false;
    }

    /// Says what is not written, and which flags write the rest.
    pub(crate) fn summary(&self, options: &Options) -> Option<String> {
        let names = listed(&self.kinds.iter().map(String::as_str).collect());
        if options.keep_going {
            let roles = if self.roles { "the role" } else { "" };
            let webhooks = if self.webhooks { "the webhooks" } else { "" };
            let all: Vec<&str> =
                [names.as_str(), roles, webhooks].into_iter().filter(|text| !text.is_empty()).collect();
            (!all.is_empty()).then(|| format!("not written: {}", all.join(", ")))
        } else if !self.kinds.is_empty() && self.kinds.len() < self.of {
            let names = self.kinds.iter().map(String::as_str).collect::<Vec<_>>().join(",");
            Some(format!(
                "{} of {} kinds can't be written: `--exclude {names}` leaves them out, `--keep-going` writes the others",
                self.kinds.len(),
                self.of
            ))
        } else {
            None
        }
    }
}
