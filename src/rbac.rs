//! Permissions as values: what a rule of a role allows, and what a request needs.
//!
//! Markers are what is declared (see [`crate::rbac::marker`]); the rooms below say what the code uses and what an
//! operator has requested, and compare.

pub(crate) mod allow;
pub mod audit;
pub mod check;
pub mod declared;
pub mod derive;
pub mod environment;
pub mod lint;
pub mod marker;
pub mod role;
mod rule;
pub(crate) mod rule_query;
pub mod scope;

use std::fmt::Display;

pub use self::rule::{Permission, PolicyRule, RbacTarget, RbacUsage, RequestScope};
pub(crate) use self::rule::{REQUEST_VERBS, REVIEWS, URL_VERBS, is_discovery, needed};

/// The items in backticks, with commas between them.
pub(crate) fn quoted<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| format!("`{item}`")).collect::<Vec<_>>().join(", ")
}
