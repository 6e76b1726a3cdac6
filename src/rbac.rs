//! Permissions as values: what a rule of a role allows, and what a request needs.
//!
//! Markers are what is declared (see [`crate::rbac::marker`]); the rooms below say what the code uses and what an
//! operator has requested, and compare.

pub mod allow;
pub mod audit;
mod check;
pub mod declared;
pub mod derive;
pub mod environment;
pub mod lint;
pub mod marker;
mod rule;
pub mod scope;
mod usage;

pub(crate) use self::rule::needed;
pub use self::rule::{Permission, PolicyRule, REQUEST_VERBS, Target, URL_VERBS};
pub use self::usage::{Scope, Usage};
