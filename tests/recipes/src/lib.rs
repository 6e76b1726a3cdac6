//! The code of `docs/controllers.md`: a module per recipe.

pub mod api;
pub mod child;
pub mod config_map;
pub mod controller;
pub mod desired;
pub mod job;
pub mod measured;
pub mod periodic;
pub mod secret;
pub mod told;
pub mod two_kinds;
