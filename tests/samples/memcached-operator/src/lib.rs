//! The APIs of memcached-operator, and the controllers that act on them.

pub mod api;
pub mod controller;
