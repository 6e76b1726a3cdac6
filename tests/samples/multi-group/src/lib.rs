//! The APIs of multi-group, the controllers that act on them, and the manager that runs the controllers.

pub mod api;
pub mod controller;
pub mod manager;
