//! The request to an engine, and the answer of the compiler.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitStatus;

use super::cargo::Cargo;
use super::dump::DumpAnswer;
use super::kinds::{CompiledType, Metadata};
use super::{dump, helper, kinds, own, shadow};
use crate::crd::{self, Crd, CrdDefinition};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::source::{CargoManifest, FeatureSelection, SourceTree};

/// The engine that determines the CRDs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Engine {
    /// The source, or the compiler if the source does not decide.
    #[default]
    Auto,
    /// The source alone.
    Static,
    /// The compiler alone.
    Compiled,
}

/// A request for CRDs.
#[derive(Debug, Clone, Default)]
pub struct EngineRequest {
    /// The engine.
    pub engine: Engine,
    /// Run both engines and compare.
    pub verify: bool,
    /// The features that the tree was read with.
    pub features: FeatureSelection,
    /// cargo prints only errors.
    pub quiet: bool,
}

/// The answer of an engine about a package.
#[derive(Debug, Default)]
pub struct EngineAnswer {
    /// The selected CRDs, by file name.
    pub crds: Vec<Crd>,
    /// Custom resources, as `Kind.group`, that only an answer revealed.
    pub kinds: BTreeSet<String>,
    /// New releases, such as `schemars 1.2.4`, with equal CRDs of both engines for all kinds of the package.
    pub verified: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct Compiled {
    pub(super) definitions: Vec<CrdDefinition>,
    pub(super) found: Diagnostics,
    /// All custom resources, selected or not.
    pub(super) kinds: BTreeSet<String>,
}

impl Compiled {
    /// Runs the compiler for all types, after reporting the reason. An error means no answer, or that types may be
    /// missing without notice.
    pub(super) fn ask(
        tree: &mut SourceTree,
        request: &EngineRequest,
        why: impl FnOnce(&SourceTree) -> String,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, Diagnostics> {
        let (Metadata { crdgen, crds }, wrong) = Metadata::read(tree.manifest());
        if wrong.has_errors() {
            return Err(wrong);
        }
        let ((mut kinds, doubts), syntax) = tree.settle(|tree| kinds::find(tree, &crds));
        let mut found = if crdgen.is_none() { doubts } else { Diagnostics::default() };
        found.extend(syntax);
        if found.has_errors() {
            return Err(found);
        }
        say(&why(tree));
        if kinds.is_empty() && crdgen.is_none() {
            return Ok(Self::default());
        }
        for kind in &mut kinds {
            kind.read(tree);
        }
        let answers = run(tree, request, crdgen.as_deref(), &kinds);
        let (mut definitions, found) = answers.map_err(|diagnostic| Diagnostics::from_iter([diagnostic]))?;
        let kinds = definitions.iter().map(CrdDefinition::name).collect();
        definitions.retain(|definition| tree.choice().takes(&definition.name()));
        Ok(Self { definitions, found, kinds })
    }

    pub(super) fn refused(found: Diagnostics) -> Self {
        Self { found, ..Self::default() }
    }

    pub(super) fn merge(self, found: &mut Diagnostics) -> EngineAnswer {
        let Self { definitions, found: why, kinds } = self;
        let complete = !why.has_errors();
        found.extend(why);
        let (crds, contradictions) = crd::merge(definitions);
        if complete {
            found.extend(contradictions);
        }
        EngineAnswer { crds, kinds, ..EngineAnswer::default() }
    }
}

fn run(
    tree: &SourceTree,
    request: &EngineRequest,
    crdgen: Option<&[String]>,
    kinds: &[CompiledType],
) -> Result<(Vec<CrdDefinition>, Diagnostics), Diagnostic> {
    let (manifest, features) = (tree.manifest(), &request.features);
    let cargo = Cargo::new(manifest, request.quiet)?;
    if let Some(crdgen) = crdgen {
        let (mut definitions, found) = own::ask(&cargo, crdgen, features, kinds)?;
        definitions.retain(|definition| !tree.is_restricted() || definition.declared.is_some());
        return Ok((definitions, found));
    }
    let outputs = if helper::will_do(manifest, features, kinds) {
        vec![helper::ask(&cargo, manifest, features, kinds)?]
    } else {
        shadow::ask(&cargo, tree, features, kinds)?
    };
    Ok(read(manifest, kinds, &outputs))
}

fn read(
    manifest: &CargoManifest,
    kinds: &[CompiledType],
    outputs: &[(String, ExitStatus)],
) -> (Vec<CrdDefinition>, Diagnostics) {
    let mut definitions = Vec::new();
    let mut found = Diagnostics::default();
    let mut answered = BTreeSet::new();
    let mut all_done = true;
    for (output, status) in outputs {
        let (answers, done) = dump::answers(output);
        all_done &= done;
        for (path, answer) in answers {
            let Some(kind) = kinds.iter().find(|kind| kind.path == path) else { continue };
            answered.insert(path);
            match answer {
                DumpAnswer::Crd(crd) => definitions.extend(CrdDefinition::split(crd, Some(&kind.declared))),
                DumpAnswer::Panic { message, place } => {
                    found.push(panic(kind, &message, inside(manifest, &place)).about(kind.resource()));
                }
                DumpAnswer::Nothing => {
                    let message = format!("`crd()` of `{}` exits the process: {status}", kind.path);
                    found.push(Diagnostic::new(Code::CrdPanic, message).at(kind.origin()).about(kind.resource()));
                }
            }
        }
        if !done && !found.has_errors() {
            let message = format!("the program that prints the CRDs did not finish: {status}");
            found.push(Diagnostic::new(Code::CompileFailed, message));
        }
    }
    if !all_done {
        // Types after an early exit were not asked.
        let unasked = kinds.iter().filter(|kind| !answered.contains(&kind.path)).filter_map(CompiledType::resource);
        let unasked: Vec<String> = unasked.collect();
        found = found.iter().map(|ended| unasked.iter().cloned().fold(ended.clone(), Diagnostic::about)).collect();
    }
    (definitions, found)
}

fn panic(kind: &CompiledType, message: &str, place: Option<&str>) -> Diagnostic {
    if let Some((why, help)) = crd::reason(message) {
        if let Some(culprit) = kind.culprit() {
            return culprit;
        }
        let message = format!("kube cannot build a structural schema for a type in `{}`: {why}", kind.path);
        return Diagnostic::new(Code::NotStructural, message).at(kind.origin()).help(help);
    }
    let place = place.map_or_else(String::new, |place| format!(" at {place}"));
    Diagnostic::new(Code::CrdPanic, format!("`crd()` of `{}` panics{place}: {message}", kind.path)).at(kind.origin())
}

/// A place in the package, without this machine's folders.
fn inside<'a>(manifest: &CargoManifest, place: &'a str) -> Option<&'a str> {
    let from_workspace = manifest.dir.strip_prefix(&manifest.workspace).unwrap_or(Path::new(""));
    let path = Path::new(place);
    let path = path.strip_prefix(&manifest.dir).or_else(|_| path.strip_prefix(from_workspace)).ok()?;
    path.to_str().filter(|_| path.is_relative())
}
