//! What is asked about the code, besides the source.

use crate::rbac::environment::Environment;
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
