//! What names mean in each module: `use` in every form, globs and their cycles, re-exports, extern crates.
//!
//! The names of every module are computed once, by running all imports to a fixpoint; a lookup is then a walk along the
//! path.

mod build;
mod import;
pub(super) mod names;
pub(super) mod walk;

pub(super) use self::names::Scopes;
