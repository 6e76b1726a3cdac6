//! The permissions that the code uses, derived from its source.
//!
//! Every function is run once by itself, on types instead of values, and again for every call with other types: so an
//! `Api` is followed from where it is made through locals, fields, parameters, returns and type parameters to the
//! methods that are called on it. What could not be followed is said, never guessed.

mod calls;
mod doubt;
mod eval;
mod fields;
mod findings;
mod foreign;
mod frame;
mod index;
mod kinds;
mod lower;
mod methods;
mod pattern;
pub mod propose;
mod read;
mod runs;
mod signature;
mod table;
mod types;

use self::calls::manager;
pub use self::doubt::Doubt;
use self::read::Reader;
use super::Usage;
use super::environment::Environment;
use crate::source::{ModuleId, SourceTree};

/// What is asked about the code.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// The crate name of the one binary of the package that is asked about. What nothing calls in the library counts for each.
    pub program: Option<String>,
    /// What is known of environment variables.
    pub environment: Environment,
}

impl Question {
    /// Whether code of a module may be part of what is asked about.
    pub(crate) fn is_about(&self, tree: &SourceTree, module: ModuleId) -> bool {
        let is_other = |program: &String| {
            tree.is_own(module) && !tree.is_lib(module) && tree.module_path(module).first() != Some(program)
        };
        !self.program.as_ref().is_some_and(is_other)
    }
}

/// Every request that the package's own code may make, in the order of the source, and what could not be followed.
///
/// To be asked through [`SourceTree::settle`]: functions of path dependencies count where they are called.
pub fn uses(tree: &SourceTree) -> (Vec<Usage>, Vec<Doubt>) {
    uses_of(tree, &Question::default())
}

/// The same where more is known than the source.
pub fn uses_of(tree: &SourceTree, question: &Question) -> (Vec<Usage>, Vec<Doubt>) {
    if !tree.request_code() {
        return (Vec::new(), Vec::new());
    }
    let mut reader = Reader::new(tree, question);
    reader.read();
    reader.finish()
}

/// Whether the manager of the project can elect a leader for life, which is a feature of its crate.
pub(crate) fn leader_for_life(tree: &SourceTree) -> bool {
    let mut dependencies = tree.manifest().dependencies.values();
    dependencies.any(|dependency| dependency.package == manager::PACKAGE && dependency.features.contains(manager::LIFE))
}
