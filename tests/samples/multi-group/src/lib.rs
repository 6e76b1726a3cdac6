//! The APIs of multi-group, and the controllers that act on them.

pub mod api;
pub mod controller;
