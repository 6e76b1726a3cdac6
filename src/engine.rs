//! Who says what a CRD is: the source, read with syn in milliseconds, or the compiler, which runs `crd()`.
//!
//! The compiler is asked for all types of the package at once, so the CRDs of one run are of one engine. Nothing here
//! writes to the project: what cargo needs lies in the target folder, see [`scratch`].

mod cargo;
mod compare;
mod crd_calls;
mod dump;
mod helper;
mod kinds;
mod manifest;
mod own;
mod reason;
mod scratch;
mod shadow;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitStatus;

use serde_json::Value;

use self::cargo::Cargo;
use self::compare::Comparison;
pub(crate) use self::crd_calls::crd_calls;
use self::dump::Answer as Printed;
use self::kinds::{Kind, Metadata};
pub(crate) use self::reason::{is_for_the_compiler, listed};
use crate::api;
use crate::crd::{self, Crd, Definition};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::source::{CargoManifest, FeatureSelection, SourceTree};

/// Who says what the CRDs are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Engine {
    /// The source, or the compiler when the source can't tell.
    #[default]
    Auto,
    /// The source alone.
    Static,
    /// The compiler alone.
    Compiled,
}

/// Which engine to ask, and how.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Which one.
    pub engine: Engine,
    /// Ask both, and compare.
    pub verify: bool,
    /// The features that the tree was read with.
    pub features: FeatureSelection,
    /// cargo says nothing but errors.
    pub quiet: bool,
}

/// What an engine says of a package.
#[derive(Debug, Default)]
pub struct Answer {
    /// The CRDs that are chosen, by file name.
    pub crds: Vec<Crd>,
    /// Custom resources, as `Kind.group`, of which only an answer has shown that there are such.
    pub kinds: BTreeSet<String>,
    /// New releases, such as `schemars 1.2.4`, with which both engines gave the same CRDs for all kinds of the package.
    pub verified: Vec<String>,
}

/// The CRDs of a package. `found` is what was found before, and gets what is found now; `say` is told what takes a while.
pub fn crds(tree: &mut SourceTree, request: &Request, found: &mut Diagnostics, say: &mut dyn FnMut(&str)) -> Answer {
    // The compiler would only say the same.
    let broken = found.has_errors();
    if request.verify && !broken {
        return compare::verify(tree, request, found, say);
    }
    if request.engine == Engine::Compiled && !broken {
        let compiled = Question::new(tree).and_then(|question| {
            say(&format!("compiling `{}`; the first time may take minutes", tree.manifest().name));
            question.ask(tree, request)
        });
        return merge(compiled.unwrap_or_else(Compiled::refused), found);
    }
    let ((definitions, mut refused), syntax) = crd::read_definitions(tree);
    refused.extend(syntax);
    let new = if request.engine == Engine::Auto { api::new_releases(tree) } else { Vec::new() };
    let read = if new.is_empty() { Vec::new() } else { definitions.clone() };
    let (crds, contradictions) = crd::merge(definitions);
    refused.extend(contradictions);
    refused.sort();
    if request.engine == Engine::Auto && !broken && is_for_the_compiler(&refused) {
        let compiled = Question::new(tree).and_then(|question| {
            say(&reason::explain(&refused, tree));
            question.ask(tree, request)
        });
        match compiled {
            Ok(compiled) => {
                let comparison = Comparison { tree, read: &read, refused: &refused, compiled: &compiled };
                let verified = if new.is_empty() || reason::is_of_another_release(&refused) {
                    Vec::new()
                } else {
                    comparison.run(new, Code::ReleaseDiffers, found, say)
                };
                return Answer { verified, ..merge(compiled, found) };
            }
            Err(why) => refused.extend(why),
        }
    }
    if request.engine == Engine::Auto
        && let Some(text) = reason::why_nothing_is_compiled(&refused, &tree.manifest().name)
    {
        say(&text);
    }
    found.extend(refused);
    Answer { crds, ..Answer::default() }
}

fn merge(compiled: Compiled, found: &mut Diagnostics) -> Answer {
    let Compiled { definitions, found: why, kinds } = compiled;
    let complete = !why.has_errors();
    found.extend(why);
    let (crds, contradictions) = crd::merge(definitions);
    if complete {
        found.extend(contradictions);
    }
    Answer { crds, kinds, ..Answer::default() }
}

/// What the compiler is asked.
struct Question {
    kinds: Vec<Kind>,
    /// The project has a program of its own that answers.
    crdgen: Option<Vec<String>>,
}

impl Question {
    /// Finds the types to ask for. An error is why there may be others, which would be left out in silence.
    fn new(tree: &mut SourceTree) -> Result<Self, Diagnostics> {
        let (metadata, wrong) = Metadata::read(tree.manifest());
        if wrong.has_errors() {
            return Err(wrong);
        }
        let mut found = Diagnostics::default();
        let ((kinds, doubts), syntax) = tree.settle(|tree| kinds::find(tree, &metadata.crds));
        if metadata.crdgen.is_none() {
            found.extend(doubts);
        }
        found.extend(syntax);
        if found.has_errors() { Err(found) } else { Ok(Self { kinds, crdgen: metadata.crdgen }) }
    }

    /// The answers; an error is why there are none.
    fn ask(mut self, tree: &mut SourceTree, request: &Request) -> Result<Compiled, Diagnostics> {
        if self.kinds.is_empty() && self.crdgen.is_none() {
            return Ok(Compiled::default());
        }
        let output = self.run(tree, request).map_err(|diagnostic| Diagnostics::from_iter([diagnostic]))?;
        for kind in &mut self.kinds {
            kind.read(tree);
        }
        let (mut definitions, found) = match output {
            Output::ByCrdgen(crds) => {
                let (mut definitions, found) = own::read(crds, &self.crdgen.unwrap_or_default(), &self.kinds);
                definitions.retain(|definition| !tree.is_restricted() || definition.declared.is_some());
                (definitions, found)
            }
            Output::ByTypes(outputs) => read(tree.manifest(), &self.kinds, &outputs),
        };
        let kinds = definitions.iter().map(Definition::name).collect();
        definitions.retain(|definition| tree.choice().takes(&definition.name()));
        Ok(Compiled { definitions, found, kinds })
    }

    /// Has cargo build and run what answers.
    fn run(&self, tree: &SourceTree, request: &Request) -> Result<Output, Diagnostic> {
        let (manifest, features, kinds) = (tree.manifest(), &request.features, &self.kinds);
        let cargo = Cargo::new(manifest, request.quiet)?;
        if let Some(crdgen) = &self.crdgen {
            return own::ask(&cargo, crdgen, features).map(Output::ByCrdgen);
        }
        if helper::will_do(manifest, features, kinds) {
            return Ok(Output::ByTypes(vec![helper::ask(&cargo, manifest, features, kinds)?]));
        }
        shadow::ask(&cargo, tree, features, kinds).map(Output::ByTypes)
    }
}

/// What the compiler answered.
#[derive(Debug, Default)]
struct Compiled {
    definitions: Vec<Definition>,
    found: Diagnostics,
    /// The custom resources that there were, chosen or not.
    kinds: BTreeSet<String>,
}

impl Compiled {
    fn refused(found: Diagnostics) -> Self {
        Self { found, ..Self::default() }
    }
}

/// Who answered, and what.
enum Output {
    /// The project's own crdgen, in CRDs.
    ByCrdgen(Vec<Value>),
    /// The types, one or more programs having asked them: what these printed.
    ByTypes(Vec<(String, ExitStatus)>),
}

/// What the programs have printed about the types.
fn read(manifest: &CargoManifest, kinds: &[Kind], outputs: &[(String, ExitStatus)]) -> (Vec<Definition>, Diagnostics) {
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
                Printed::Crd(crd) => definitions.extend(Definition::split(crd, Some(&kind.declared))),
                Printed::Panic { message, place } => {
                    found.push(panic(kind, &message, inside(manifest, &place)).about(kind.resource()));
                }
                Printed::Nothing => {
                    let message = format!("`crd()` of `{}` ends the process: {status}", kind.path);
                    found.push(Diagnostic::new(Code::CrdPanic, message).at(kind.origin()).about(kind.resource()));
                }
            }
        }
        if !done && !found.has_errors() {
            let message = format!("the program that asks for the CRDs did not come to its end: {status}");
            found.push(Diagnostic::new(Code::CompileFailed, message));
        }
    }
    if !all_done {
        // They were not asked any more.
        let unasked = kinds.iter().filter(|kind| !answered.contains(&kind.path)).filter_map(Kind::resource);
        let unasked: Vec<String> = unasked.collect();
        found = found.iter().map(|ended| unasked.iter().cloned().fold(ended.clone(), Diagnostic::about)).collect();
    }
    (definitions, found)
}

fn panic(kind: &Kind, message: &str, place: Option<&str>) -> Diagnostic {
    if let Some((why, help)) = crd::reason(message) {
        if let Some(culprit) = kind.culprit() {
            return culprit;
        }
        let message = format!("kube can't make a structural schema of a type in `{}`: {why}", kind.path);
        return Diagnostic::new(Code::NotStructural, message).at(kind.origin()).help(help);
    }
    let place = place.map_or_else(String::new, |place| format!(" at {place}"));
    Diagnostic::new(Code::CrdPanic, format!("`crd()` of `{}` panics{place}: {message}", kind.path)).at(kind.origin())
}

/// A place in the package, without the folders of this machine.
fn inside<'a>(manifest: &CargoManifest, place: &'a str) -> Option<&'a str> {
    let from_workspace = manifest.dir.strip_prefix(&manifest.workspace).unwrap_or(Path::new(""));
    let path = Path::new(place);
    let path = path.strip_prefix(&manifest.dir).or_else(|_| path.strip_prefix(from_workspace)).ok()?;
    path.to_str().filter(|_| path.is_relative())
}

/// The text of the user's lock file.
fn lock(manifest: &CargoManifest) -> Option<String> {
    std::fs::read_to_string(manifest.workspace.join("Cargo.lock")).ok()
}

/// A name as code has it.
fn identifier(name: &str) -> String {
    if syn::parse_str::<syn::Ident>(name).is_ok() { name.to_owned() } else { format!("r#{name}") }
}
