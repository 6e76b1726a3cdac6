//! Name resolution: `use` in every form, globs and their cycles, re-exports, extern crates.
//!
//! Builds the names of every module once, by running all imports to a fixpoint. A lookup is then a walk along the path.

mod build;
mod import;
pub(super) mod names;
pub(super) mod walk;

pub(super) use self::names::Scopes;
