//! Manifests that an error excludes, while the rest can be written.

use std::collections::BTreeSet;

use anyhow::Result;

use super::{ManifestOptions, Manifests, Roots};
use crate::crd;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem, Severity};
use crate::engine::{self, listed};
use crate::ops::UsageError;
use crate::source::SourceChoice;

/// The known custom resources.
#[derive(Default)]
pub(crate) struct KnownKinds {
    /// The custom resources of the source with their root types.
    roots: Roots,
    /// All custom resources, including those that only the compiler has found.
    pub(crate) all: BTreeSet<String>,
    /// The custom resources of packages without a reliable answer.
    doubtful: BTreeSet<String>,
}

/// The manifests that errors exclude.
pub(crate) struct RefusedSubject {
    /// Custom resources, as `Kind.group`.
    kinds: BTreeSet<String>,
    /// The number of selected custom resources.
    of: usize,
    /// Roles exist and are excluded.
    roles: bool,
    /// Webhooks exist and are excluded.
    webhooks: bool,
}

impl KnownKinds {
    /// Adds the custom resources of a package, with the findings of that package.
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

    /// Refuses an unknown name. Otherwise the command would silently write nothing.
    pub(crate) fn check(&self, choice: &SourceChoice, found: &mut Diagnostics) -> Result<()> {
        let Some(unknown) = choice.unknown(&self.all) else { return Ok(()) };
        let problem = Problem::new(format!("custom resource `{unknown}` not found"));
        let known = self.all.iter().filter(|name| !choice.is_foreign(name)).cloned();
        let problem = match known.collect::<Vec<_>>().join("`, `") {
            names if names.is_empty() => problem.help("the package declares no custom resource"),
            names => problem.help(format!("the custom resources are `{names}`")),
        };
        if found.has_errors() {
            // The name may be in source that could not be read.
            found.push(problem.into());
            return Ok(());
        }
        Err(UsageError(problem).into())
    }
}

/// Returns true for an error that makes every answer of a package unreliable.
fn is_about_all(found: &Diagnostic) -> bool {
    let codes = [Code::CrdPanic, Code::DependencyVersion, Code::NewRelease, Code::NoLock, Code::Syntax];
    found.kinds.is_empty() && codes.contains(&found.code)
}

impl RefusedSubject {
    pub(crate) fn of(manifests: &Manifests, options: &ManifestOptions, found: &Diagnostics) -> Self {
        let KnownKinds { all, doubtful, .. } = &manifests.kinds;
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

    /// Returns a note about kinds that probably belong to a foreign API, because nothing in the workspace calls their `crd()`. A
    /// kind that is written only counts if the command line does not name it. Its group must also not be below `domain`, nor
    /// related to the group of a kind whose `crd()` is called.
    pub(crate) fn only_read(
        &self,
        manifests: &Manifests,
        options: &ManifestOptions,
        domain: Option<&str>,
    ) -> Diagnostics {
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
        // An unknown name may stand for any kind.
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
        // A kind on the command line is wanted.
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

    /// Removes the excluded manifests.
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

    /// Names the manifests that are not written, and the flags that write the rest.
    pub(crate) fn summary(&self, options: &ManifestOptions) -> Option<String> {
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
                "{} of {} kinds cannot be written: `--exclude {names}` leaves them out, `--keep-going` writes the \
                    others",
                self.kinds.len(),
                self.of
            ))
        } else {
            None
        }
    }
}
