//! Recipes that pages of `docs` quote: a module for each.

pub mod any_error;
pub mod api;
pub mod beside;
pub mod child;
pub mod cloud;
pub mod config_map;
pub mod controller;
pub mod delete_job;
pub mod desired;
pub mod elsewhere;
pub mod event;
pub mod handler;
pub mod job;
pub mod limits;
pub mod measured;
pub mod no_type;
pub mod optional_child;
pub mod periodic;
pub mod predicate;
pub mod schedule;
pub mod secret;
pub mod shared;
pub mod timestamps;
pub mod told;
pub mod two_kinds;
pub mod versions;
