//! Rust's three namespaces.

/// A namespace for name lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Namespace {
    /// Types, traits and modules.
    Types,
    /// Functions, constants, statics and constructors.
    Values,
    /// Macros, derives and attributes.
    Macros,
}

impl Namespace {
    pub(super) const ALL: [Self; 3] = [Self::Types, Self::Values, Self::Macros];
}
