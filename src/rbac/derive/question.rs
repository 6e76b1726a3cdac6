//! Input of the derivation besides the source.

use crate::rbac::environment::Environment;
use crate::source::{ModuleId, SourceTree};

/// Input of the derivation besides the source.
#[derive(Debug, Clone, Default)]
pub struct DerivationQuestion {
    /// The crate name of the one binary of the package that is asked about. What nothing calls in the library counts for each.
    pub program: Option<String>,
    /// Values of environment variables.
    pub environment: Environment,
}

impl DerivationQuestion {
    /// Returns true if code of a module may be part of the program in question.
    pub(crate) fn is_about(&self, tree: &SourceTree, module: ModuleId) -> bool {
        let is_other = |program: &String| {
            tree.is_own(module) && !tree.is_lib(module) && tree.module_path(module).first() != Some(program)
        };
        !self.program.as_ref().is_some_and(is_other)
    }
}
