//! The permissions that the code uses, derived from its source.
//!
//! Every function is run once by itself, on types instead of values, and again for every call with other types: so an
//! `Api` is followed from where it is made through locals, fields, parameters, returns and type parameters to the
//! methods that are called on it. What could not be followed is said, never guessed.

mod active;
mod calls;
mod doubt;
mod eval;
mod field_types;
mod fields;
mod findings;
mod foreign;
mod frame;
mod index;
mod kinds;
mod lower;
mod macros;
mod manager;
mod methods;
mod pattern;
pub mod propose;
mod question;
mod read;
mod resource;
mod runs;
mod signature;
mod spelling;
mod table;
mod types;

pub use self::doubt::Doubt;
pub use self::question::DerivationQuestion;
use self::read::FunctionReader;
use super::RbacUsage;
use crate::runtime;
use crate::source::SourceTree;

/// Every request that the package's own code may make, in the order of the source, and what could not be followed.
///
/// To be asked through [`SourceTree::settle`]: functions of path dependencies count where they are called.
pub fn uses(tree: &SourceTree) -> (Vec<RbacUsage>, Vec<Doubt>) {
    uses_of(tree, &DerivationQuestion::default())
}

/// Like [`uses`], with facts from outside of the source.
pub fn uses_of(tree: &SourceTree, question: &DerivationQuestion) -> (Vec<RbacUsage>, Vec<Doubt>) {
    if !tree.request_code() || !tree.request_expansion() {
        return (Vec::new(), Vec::new());
    }
    let mut reader = FunctionReader::new(tree, question);
    reader.read();
    reader.finish()
}

/// Returns true if the project's manager can elect a leader for life, which is a feature of its crate.
pub(crate) fn leader_for_life(tree: &SourceTree) -> bool {
    let mut dependencies = tree.manifest().dependencies.values();
    dependencies.any(|dependency| dependency.package == runtime::PACKAGE && dependency.features.contains(manager::LIFE))
}
