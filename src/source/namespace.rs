//! Rust's three namespaces.

/// Where a name is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Namespace {
    /// Types, traits and modules.
    Types,
    /// Functions, constants, statics, constructors.
    Values,
    /// Macros, derives and attributes.
    Macros,
}

impl Namespace {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Types, Self::Values, Self::Macros];
}
