//! Selects the engine that determines the CRDs: the source, read with syn in milliseconds, or the compiler, which runs
//! `crd()`.
//!
//! Input: a source tree and a [`EngineRequest`]. Output: an [`EngineAnswer`] with the CRDs; findings go to the caller's
//! diagnostics. The compiler gets all types of a package at once, so the CRDs of a run come from one engine. Must stay
//! true: nothing here writes to the project; build files for cargo are in the target folder, see [`scratch`].

mod cargo;
mod compare;
mod crd_calls;
mod download;
mod dump;
mod helper;
mod kinds;
mod manifest;
mod own;
mod question;
mod reason;
mod scratch;
mod shadow;

use self::compare::EngineComparison;
pub(crate) use self::crd_calls::crd_calls;
use self::question::Compiled;
pub use self::question::{Engine, EngineAnswer, EngineRequest};
pub(crate) use self::reason::{is_for_the_compiler, listed};
use crate::api;
use crate::crd;
use crate::diagnostic::{Code, Diagnostics};
use crate::source::SourceTree;

/// The CRDs of a package. Extends the diagnostics `found`; reports slow steps to `say`.
pub fn crds(
    tree: &mut SourceTree,
    request: &EngineRequest,
    found: &mut Diagnostics,
    say: &mut dyn FnMut(&str),
) -> EngineAnswer {
    // The compiler would report the same errors.
    let broken = found.has_errors();
    if request.verify && !broken {
        return compare::verify(tree, request, found, say);
    }
    if request.engine == Engine::Compiled && !broken {
        let compiled = Compiled::ask(tree, request, reason::first_time, say);
        return compiled.unwrap_or_else(Compiled::refused).merge(found);
    }
    let ((mut definitions, mut refused), mut syntax) = crd::read_definitions(tree);
    if request.engine == Engine::Auto && !broken && download::missing(tree, request, say) {
        let more;
        ((definitions, refused), more) = crd::read_definitions(tree);
        syntax.extend(more);
    }
    refused.extend(syntax);
    let mut refused = download::as_one(refused, tree);
    let new = if request.engine == Engine::Auto { api::new_releases(tree) } else { Vec::new() };
    let read = if new.is_empty() { Vec::new() } else { definitions.clone() };
    let (crds, contradictions) = crd::merge(definitions);
    refused.extend(contradictions);
    refused.sort();
    if request.engine == Engine::Auto && !broken && is_for_the_compiler(&refused) {
        match Compiled::ask(tree, request, |tree| reason::explain(&refused, tree), say) {
            Ok(compiled) => {
                let comparison = EngineComparison { tree, read: &read, refused: &refused, compiled: &compiled };
                let verified = if new.is_empty() || reason::is_of_another_release(&refused) {
                    Vec::new()
                } else {
                    comparison.run(new, Code::ReleaseDiffers, found, say)
                };
                return EngineAnswer { verified, ..compiled.merge(found) };
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
    EngineAnswer { crds, ..EngineAnswer::default() }
}
