//! Rendered objects → packages of the operator: a Helm chart, a bundle and a catalog for OLM, files to create in order.
//!
//! - Takes: the objects of a YAML stream as values, and for a bundle also its base and the bundle on disk.
//! - Gives: texts by path, and findings. `command` turns them into a plan.
//! - Invariants: an unknown field stays; equal objects give equal bytes; `objects` and its tables are the only knowledge of the object model
//!   that charts and bundles share; imports lead down to it.

pub(crate) mod chart;
pub(crate) mod installer;
mod objects;
pub(crate) mod olm;

pub(crate) use objects::manager::Image;
