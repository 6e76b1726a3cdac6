//! Compares the answers of both engines.

use std::collections::BTreeSet;

use semver::Version;
use similar::TextDiff;

use super::question::{Compiled, EngineAnswer, EngineRequest};
use super::reason::{self, is_for_the_compiler};
use crate::api;
use crate::crd::{self, CrdDefinition};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::source::SourceTree;
use crate::yaml;

/// Runs both engines. Compares only kinds that the source decides; the compiler decides the rest.
pub(super) fn verify(
    tree: &mut SourceTree,
    request: &EngineRequest,
    found: &mut Diagnostics,
    say: &mut dyn FnMut(&str),
) -> EngineAnswer {
    let ((mut read, mut refused), syntax) = crd::read_definitions(tree);
    refused.extend(syntax);
    if reason::is_of_another_release(&refused) {
        read.clear();
    }
    if refused.has_errors() && !is_for_the_compiler(&refused) {
        found.extend(refused);
        return EngineAnswer::default();
    }
    let why = |tree: &_| if refused.has_errors() { reason::explain(&refused, tree) } else { reason::first_time(tree) };
    let compiled = match Compiled::ask(tree, request, why, say) {
        Ok(compiled) => compiled,
        Err(why) => {
            found.extend(refused);
            found.extend(why);
            return EngineAnswer::default();
        }
    };
    let new = api::new_releases(tree);
    let comparison = EngineComparison { tree, read: &read, refused: &refused, compiled: &compiled };
    let verified = comparison.run(new, Code::EnginesDiffer, found, say);
    EngineAnswer { verified, ..compiled.merge(found) }
}

pub(super) struct EngineComparison<'a> {
    pub(super) tree: &'a SourceTree,
    pub(super) read: &'a [CrdDefinition],
    /// The errors of the source.
    pub(super) refused: &'a Diagnostics,
    pub(super) compiled: &'a Compiled,
}

impl EngineComparison<'_> {
    /// Reports each difference under `code`. Without a difference, returns the new releases that are verified.
    pub(super) fn run(
        &self,
        new: Vec<(&'static str, Version)>,
        code: Code,
        found: &mut Diagnostics,
        say: &mut dyn FnMut(&str),
    ) -> Vec<String> {
        let Self { tree, read, refused, compiled } = *self;
        let undecided = undecided(refused);
        let different = differences(read, compiled, undecided.is_empty());
        if !different.is_empty() {
            found.extend(different.iter().map(|difference| difference.finding(code)).collect());
            return Vec::new();
        }
        say(&format!("compared {} of {} CRD versions: no difference", read.len(), compiled.definitions.len()));
        worth_recording(tree, new, &undecided, compiled, say)
    }
}

/// The kinds that the source does not decide in any release, or the message of an error without a kind.
fn undecided(refused: &Diagnostics) -> BTreeSet<String> {
    let others =
        reason::errors(refused).filter(|error| error.code != Code::NewRelease && !reason::is_contradiction(error));
    let name = |error: &Diagnostic| {
        if error.kinds.is_empty() { vec![error.message.clone()] } else { error.kinds.to_vec() }
    };
    others.flat_map(name).collect()
}

/// The new releases, if all kinds of the package were compared. Otherwise reports the reason.
fn worth_recording(
    tree: &SourceTree,
    new: Vec<(&'static str, Version)>,
    undecided: &BTreeSet<String>,
    compiled: &Compiled,
    say: &mut dyn FnMut(&str),
) -> Vec<String> {
    let releases: Vec<String> = new.into_iter().map(|(name, version)| format!("{name} {version}")).collect();
    if releases.is_empty() || compiled.found.has_errors() || compiled.definitions.is_empty() {
        return Vec::new();
    }
    let why = if !undecided.is_empty() {
        let names = undecided.iter().map(String::as_str).collect();
        format!("the static engine cannot decide {}", reason::listed(&names))
    } else if !tree.choice().is_all() || tree.is_restricted() {
        "only some of the kinds were compared".to_owned()
    } else {
        return releases;
    };
    say(&format!("not recorded as verified, because {why}: `{}`", releases.join("`, `")));
    Vec::new()
}

/// A version of a kind with different answers.
struct Difference<'a> {
    definition: &'a CrdDefinition,
    read: String,
    compiled: String,
}

/// The differences between the answers. `complete` means that `read` has all versions.
fn differences<'a>(read: &'a [CrdDefinition], compiled: &'a Compiled, complete: bool) -> Vec<Difference<'a>> {
    let compiled = &compiled.definitions;
    let text = |definition: Option<&CrdDefinition>| {
        definition.map(|definition| yaml::file(None, std::slice::from_ref(&definition.value))).unwrap_or_default()
    };
    let mut found = Vec::new();
    for definition in read {
        let other = compiled.iter().find(|other| other.key() == definition.key());
        if other.is_none_or(|other| other.value != definition.value) {
            found.push(Difference { definition, read: text(Some(definition)), compiled: text(other) });
        }
    }
    for definition in compiled.iter().filter(|_| complete) {
        if !read.iter().any(|other| other.key() == definition.key()) {
            found.push(Difference { definition, read: String::new(), compiled: text(Some(definition)) });
        }
    }
    found
}

impl Difference<'_> {
    fn finding(&self, code: Code) -> Diagnostic {
        let (group, kind, version) = self.definition.key();
        let lines = TextDiff::from_lines(&self.read, &self.compiled);
        let diff = lines.unified_diff().header("read", "compiled").to_string();
        let message =
            format!("the compiler generates a different CRD for `{kind}`, version `{version}` of `{group}`:\n{diff}");
        let help = match code {
            Code::ReleaseDiffers => "the CRDs of the compiler were used; a newer memcached-sdk may support the release",
            _ => "use `--engine compiled`, and please report the difference",
        };
        let found = Diagnostic::new(code, message.trim_end()).at(self.definition.origin().cloned()).help(help);
        found.about(self.definition.name())
    }
}
