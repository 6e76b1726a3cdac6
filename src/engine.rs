//! Who says what a CRD is: the source, read with syn in milliseconds, or the compiler, which runs `crd()`.
//!
//! The compiler is asked for all types of the package at once, so the CRDs of one run are of one engine. Nothing here
//! writes to the project: what cargo needs lies in the target folder, see [`scratch`].

mod cargo;
mod dump;
mod helper;
mod kinds;
mod manifest;
mod own;
mod scratch;
mod shadow;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitStatus;

use serde_json::Value;
use similar::TextDiff;

use self::cargo::Cargo;
use self::dump::Answer;
use self::kinds::{Kind, Metadata};
use crate::cli::Engine;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use crate::manifest::crd::{self, Crd, Definition};
use crate::manifest::yaml;
use crate::source::{CargoManifest, FeatureSelection, SourceTree};

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

/// The CRDs of a package, by file name. `found` is what was found before, and gets what is found now; `say` is told what
/// takes a while.
pub fn crds(tree: &mut SourceTree, request: &Request, found: &mut Diagnostics, say: &mut dyn FnMut(&str)) -> Vec<Crd> {
    // The compiler would only say the same.
    let broken = found.has_errors();
    if request.verify && !broken {
        return verify(tree, request, found, say);
    }
    if request.engine == Engine::Compiled && !broken {
        let compiled = Question::new(tree).and_then(|question| {
            say(&format!("compiling `{}`; the first time may take minutes", tree.manifest().name));
            question.ask(tree, request)
        });
        return merge(compiled.unwrap_or_else(|why| (Vec::new(), why)), found);
    }
    let ((crds, mut refused), syntax) = crd::read_crds(tree);
    refused.extend(syntax);
    if request.engine == Engine::Auto && !broken && is_for_the_compiler(&refused) {
        let compiled = Question::new(tree).and_then(|question| {
            say(&explain(&refused, &tree.manifest().name));
            question.ask(tree, request)
        });
        match compiled {
            Ok(compiled) => return merge(compiled, found),
            Err(why) => refused.extend(why),
        }
    }
    if request.engine == Engine::Auto
        && let Some(wrong) = surely_wrong(&refused).next()
        && surely_wrong(&refused).count() < errors(&refused).count()
    {
        let (package, place) = (&tree.manifest().name, place(wrong));
        say(&format!("`{package}` is not compiled before this is mended: {place}{} [{}]", wrong.message, wrong.code));
    }
    found.extend(refused);
    crds
}

fn merge((definitions, why): (Vec<Definition>, Diagnostics), found: &mut Diagnostics) -> Vec<Crd> {
    let complete = !why.has_errors();
    found.extend(why);
    let (crds, contradictions) = crd::merge(definitions);
    if complete {
        found.extend(contradictions);
    }
    crds
}

/// Whether the source does not decide, and the compiler may know more: it can't when the source is wrong.
pub fn is_for_the_compiler(found: &Diagnostics) -> bool {
    // Versions of which one is refused may seem to contradict each other.
    let contradiction =
        |diagnostic: &Diagnostic| matches!(diagnostic.code, Code::StorageVersion | Code::VersionConflict);
    surely_wrong(found).next().is_none() && errors(found).any(|error| !contradiction(error))
}

/// What no compiler would take.
fn surely_wrong(found: &Diagnostics) -> impl Iterator<Item = &Diagnostic> {
    let known = knows_the_derives(found);
    found.iter().filter(move |diagnostic| match diagnostic.code {
        Code::Syntax | Code::MissingModule | Code::DuplicateResource | Code::SchemaSize => true,
        Code::NotStructural | Code::RecursiveType | Code::SerdeAttribute => known,
        _ => false,
    })
}

/// What derives of other releases say is not known here.
fn knows_the_derives(found: &Diagnostics) -> bool {
    let unknown = [Code::DependencyVersion, Code::NewRelease, Code::NoLock];
    found.iter().all(|diagnostic| !unknown.contains(&diagnostic.code))
}

fn errors(found: &Diagnostics) -> impl Iterator<Item = &Diagnostic> {
    found.iter().filter(|diagnostic| diagnostic.code.severity() == Severity::Error)
}

/// Why it takes a while.
fn explain(refused: &Diagnostics, package: &str) -> String {
    const SHOWN: usize = 5;
    let count = errors(refused).count();
    let what = if count == 1 { "one thing needs" } else { &format!("{count} things need") };
    let mut text = format!("compiling `{package}`, because {what} the compiler:\n");
    for error in errors(refused).take(SHOWN) {
        let _ = writeln!(text, "  {}{} [{}]", place(error), error.message, error.code);
    }
    if count > SHOWN {
        let _ = writeln!(text, "  and {} more", count - SHOWN);
    }
    text + "the first time may take minutes; `--engine static` fails instead"
}

/// Where it is, before what it is.
fn place(diagnostic: &Diagnostic) -> String {
    diagnostic.origin.as_ref().map_or_else(String::new, |origin| {
        let (line, column) = origin.line_column();
        format!("{}:{line}:{column}: ", origin.path)
    })
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
    fn ask(mut self, tree: &mut SourceTree, request: &Request) -> Result<(Vec<Definition>, Diagnostics), Diagnostics> {
        if self.kinds.is_empty() && self.crdgen.is_none() {
            return Ok((Vec::new(), Diagnostics::default()));
        }
        let said = self.run(tree, request).map_err(|diagnostic| Diagnostics::from_iter([diagnostic]))?;
        for kind in &mut self.kinds {
            kind.read(tree);
        }
        match said {
            Said::ByCrdgen(crds) => {
                let (mut definitions, found) = own::read(crds, &self.crdgen.unwrap_or_default(), &self.kinds);
                definitions.retain(|definition| !tree.is_restricted() || definition.declared.is_some());
                Ok((definitions, found))
            }
            Said::ByTypes(outputs) => Ok(read(tree.manifest(), &self.kinds, &outputs)),
        }
    }

    /// Has cargo build and run what answers.
    fn run(&self, tree: &SourceTree, request: &Request) -> Result<Said, Diagnostic> {
        let (manifest, features, kinds) = (tree.manifest(), &request.features, &self.kinds);
        let cargo = Cargo::new(manifest, request.quiet)?;
        if let Some(crdgen) = &self.crdgen {
            return own::ask(&cargo, crdgen, features).map(Said::ByCrdgen);
        }
        if helper::will_do(manifest, features, kinds) {
            return Ok(Said::ByTypes(vec![helper::ask(&cargo, manifest, features, kinds)?]));
        }
        shadow::ask(&cargo, tree, features, kinds).map(Said::ByTypes)
    }
}

/// Who answered, and what.
enum Said {
    /// The project's own crdgen, in CRDs.
    ByCrdgen(Vec<Value>),
    /// The types, one or more programs having asked them: what these printed.
    ByTypes(Vec<(String, ExitStatus)>),
}

/// What the programs have printed about the types.
fn read(manifest: &CargoManifest, kinds: &[Kind], outputs: &[(String, ExitStatus)]) -> (Vec<Definition>, Diagnostics) {
    let mut definitions = Vec::new();
    let mut found = Diagnostics::default();
    for (output, status) in outputs {
        let (answers, done) = dump::answers(output);
        for (path, answer) in answers {
            let Some(kind) = kinds.iter().find(|kind| kind.path == path) else { continue };
            match answer {
                Answer::Crd(crd) => definitions.extend(Definition::split(crd, Some(&kind.declared))),
                Answer::Panic { message, place } => {
                    found.push(panic(kind, &message, inside(manifest, &place)));
                }
                Answer::Nothing => {
                    let message = format!("`crd()` of `{}` ends the process: {status}", kind.path);
                    found.push(Diagnostic::new(Code::CrdPanic, message).at(kind.origin()));
                }
            }
        }
        if !done && !found.has_errors() {
            let message = format!("the program that asks for the CRDs did not come to its end: {status}");
            found.push(Diagnostic::new(Code::CompileFailed, message));
        }
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

/// Asks both engines; only answers of the source are compared, what it refuses is the compiler's to say.
fn verify(tree: &mut SourceTree, request: &Request, found: &mut Diagnostics, say: &mut dyn FnMut(&str)) -> Vec<Crd> {
    let ((mut read, mut refused), syntax) = crd::read_definitions(tree);
    refused.extend(syntax);
    if !knows_the_derives(&refused) {
        read.clear();
    }
    if refused.has_errors() && !is_for_the_compiler(&refused) {
        found.extend(refused);
        return Vec::new();
    }
    let compiled = Question::new(tree).and_then(|question| {
        let package = &tree.manifest().name;
        say(&if refused.has_errors() {
            explain(&refused, package)
        } else {
            format!("compiling `{package}`; the first time may take minutes")
        });
        question.ask(tree, request)
    });
    let (compiled, why) = match compiled {
        Ok(compiled) => compiled,
        Err(why) => {
            found.extend(refused);
            found.extend(why);
            return Vec::new();
        }
    };
    let differences = differences(&read, &compiled, !refused.has_errors());
    if differences.is_empty() {
        say(&format!("compared {} of {} CRD versions: no difference", read.len(), compiled.len()));
    }
    found.extend(differences);
    merge((compiled, why), found)
}

/// Where two answers differ; `complete` when `read` has all of them.
fn differences(read: &[Definition], compiled: &[Definition], complete: bool) -> Diagnostics {
    let mut found = Diagnostics::default();
    let text = |definition: Option<&Definition>| {
        definition.map(|definition| yaml::file(None, std::slice::from_ref(&definition.value))).unwrap_or_default()
    };
    for definition in read {
        let other = compiled.iter().find(|other| other.key() == definition.key());
        if other.is_none_or(|other| other.value != definition.value) {
            found.push(difference(definition, &text(Some(definition)), &text(other)));
        }
    }
    for definition in compiled.iter().filter(|_| complete) {
        if !read.iter().any(|other| other.key() == definition.key()) {
            found.push(difference(definition, "", &text(Some(definition))));
        }
    }
    found
}

fn difference(definition: &Definition, read: &str, compiled: &str) -> Diagnostic {
    let (group, kind, version) = definition.key();
    let diff = TextDiff::from_lines(read, compiled).unified_diff().header("read", "compiled").to_string();
    let message = format!("the compiler gives another CRD for `{kind}`, version `{version}` of `{group}`:\n{diff}");
    Diagnostic::new(Code::EnginesDiffer, message.trim_end())
        .at(definition.origin().cloned())
        .help("use `--engine compiled`, and please report the difference")
}

/// The text of the user's lock file.
fn lock(manifest: &CargoManifest) -> Option<String> {
    std::fs::read_to_string(manifest.workspace.join("Cargo.lock")).ok()
}

/// A name as code has it.
fn identifier(name: &str) -> String {
    if syn::parse_str::<syn::Ident>(name).is_ok() { name.to_owned() } else { format!("r#{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_asked_only_for_what_it_may_know() {
        for (codes, expected) in [
            (vec![], false),
            (vec![Code::ForeignType], true),
            (vec![Code::UnusualVersion], false),
            (vec![Code::ForeignType, Code::Syntax], false),
            (vec![Code::ForeignType, Code::NotStructural], false),
            (vec![Code::DependencyVersion, Code::NotStructural], true),
            (vec![Code::DependencyVersion, Code::MissingModule], false),
            (vec![Code::StorageVersion], false),
            (vec![Code::StorageVersion, Code::DefaultValue], true),
        ] {
            let found: Diagnostics = codes.iter().map(|code| Diagnostic::new(*code, "m")).collect();
            assert_eq!(is_for_the_compiler(&found), expected, "{codes:?}");
        }
    }

    #[test]
    fn many_reasons_are_not_all_told() {
        let reason = |number: u8| Diagnostic::new(Code::ForeignType, format!("reason {number}"));
        let text = explain(&(1..=7).map(reason).collect(), "demo");
        assert!(text.starts_with("compiling `demo`, because 7 things need the compiler:\n  reason 1 [foreign-type]\n"));
        assert!(text.contains("\n  reason 5 [foreign-type]\n  and 2 more\nthe first time"), "{text}");
    }
}
