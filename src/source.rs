//! Reads a crate with syn: files, modules, names, cfg, dependencies. Never runs cargo or rustc.
//!
//! Input: a package folder, a feature selection and an [`Ecosystem`] of facts about published packages. Output: a
//! [`SourceTree`] with the library and the binaries of the package, and the libraries of its path dependencies. Errors
//! in the code become diagnostics; an `Err` means that there is nothing to read. Invariant: a lookup is exact or
//! unresolved with a reason; cfg that only the compiler can decide stays visible.

mod called;
mod cfg;
mod choice;
mod comment;
mod ecosystem;
mod file;
mod files;
mod ident;
mod impls;
mod items;
mod lexer;
mod load;
mod loader;
mod lock;
pub mod macros;
mod manifest;
pub mod marker;
mod namespace;
mod outline;
mod package;
mod packages;
mod path;
mod prelude;
mod proc_macros;
mod registry;
mod regroup;
mod rename;
mod resolve;
mod settle;
mod sources;
#[cfg(test)]
pub(crate) mod tests;
mod tree;
mod unlinked;
mod workspace;

pub use self::called::MethodCall;
pub use self::cfg::{Cfg, CfgSet};
pub use self::choice::SourceChoice;
pub use self::comment::Comment;
pub use self::ecosystem::{Derive, Ecosystem, Listed};
pub(crate) use self::file::{clean, relative};
pub use self::files::Pending;
pub(crate) use self::files::{read as read_file, rust_files};
pub use self::ident::crate_name;
pub(crate) use self::lexer::tokens;
pub(crate) use self::lock::LockFile;
pub use self::manifest::{CargoManifest, Dependency, DependencyKind, FeatureSelection};
pub(crate) use self::manifest::{get, resolver};
pub use self::namespace::Namespace;
pub use self::path::Resolution;
pub use self::regroup::{Regroup, regrouped};
pub use self::rename::{
    ApiNames, Renames, changed_words, declares_modules, identifier, imports, renamed, with_kube_arguments,
};
pub use self::settle::Unread;
pub use self::sources::{ItemRef, ModuleId};
pub use self::tree::SourceTree;
pub use self::workspace::{Member, PackageSelection, Packages, members, workspace_of};
