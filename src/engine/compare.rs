//! Both engines' answers, compared.

use similar::TextDiff;

use super::reason::{self, is_for_the_compiler};
use super::{Answer, Compiled, Question, Request, merge};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::manifest::crd::{self, Definition};
use crate::manifest::yaml;
use crate::source::SourceTree;

/// Asks both engines; only answers of the source are compared, what it refuses is the compiler's to say.
pub(super) fn verify(
    tree: &mut SourceTree,
    request: &Request,
    found: &mut Diagnostics,
    say: &mut dyn FnMut(&str),
) -> Answer {
    let ((mut read, mut refused), syntax) = crd::read_definitions(tree);
    refused.extend(syntax);
    if reason::is_of_another_release(&refused) {
        read.clear();
    }
    if refused.has_errors() && !is_for_the_compiler(&refused) {
        found.extend(refused);
        return Answer::default();
    }
    let compiled = Question::new(tree).and_then(|question| {
        say(&if refused.has_errors() {
            reason::explain(&refused, tree)
        } else {
            format!("compiling `{}`; the first time may take minutes", tree.manifest().name)
        });
        question.ask(tree, request)
    });
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(why) => {
            found.extend(refused);
            found.extend(why);
            return Answer::default();
        }
    };
    let differences = differences(&read, &compiled, !refused.has_errors());
    if differences.is_empty() {
        say(&format!("compared {} of {} CRD versions: no difference", read.len(), compiled.definitions.len()));
    }
    found.extend(differences);
    merge(compiled, found)
}

/// Where two answers differ; `complete` when `read` has all of them.
fn differences(read: &[Definition], compiled: &Compiled, complete: bool) -> Diagnostics {
    let compiled = &compiled.definitions;
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
        .about(definition.name())
}
