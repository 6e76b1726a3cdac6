//! The runtime of the operator: caches fed by watches, a work queue per controller, writes that leave the server
//! alone when nothing changed, probes, metrics and an orderly shutdown.
//!
//! `main.rs` builds a [`Manager`] from [`Options`], every controller takes [`Objects`] from it and registers its
//! reconcile function, and [`Manager::run`] does the rest until SIGTERM or Ctrl-C.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use clap::Parser;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::ResourceExt;
//! use kube::runtime::watcher;
//! use manager::{Action, Failure, Manager, Options};
//!
//! #[derive(Parser)]
//! struct Args {
//!     #[command(flatten)]
//!     manager: Options,
//! }
//!
//! /// Why a reconcile failed.
//! #[derive(Debug, thiserror::Error)]
//! #[error("{0}")]
//! struct Error(#[from] kube::Error);
//!
//! impl Failure for Error {
//!     fn reason(&self) -> &'static str {
//!         "RequestFailed"
//!     }
//! }
//!
//! fn register(manager: &mut Manager) {
//!     let maps = manager.objects::<ConfigMap>(&watcher::Config::default());
//!     manager.controller("config-map", &maps).run(|map: Arc<ConfigMap>| async move {
//!         tracing::info!(name = map.name_any(), "reconciled");
//!         Ok::<_, Error>(Action::Done)
//!     });
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), manager::Error> {
//!     let args = Args::parse();
//!     args.manager.init_logging();
//!     Manager::new("example", env!("CARGO_PKG_VERSION"), args.manager)
//!         .await?
//!         .leader_election_id("example.example.com")
//!         .with(register)
//!         .run()
//!         .await
//! }
//! ```

#[cfg(feature = "runtime")]
mod cache;
#[cfg(feature = "runtime")]
mod caught;
#[cfg(feature = "runtime")]
mod client;
#[cfg(feature = "runtime")]
pub mod condition;
#[cfg(feature = "runtime")]
mod controller;
#[cfg(feature = "runtime")]
mod duration;
#[cfg(feature = "runtime")]
mod election;
#[cfg(feature = "runtime")]
mod error;
#[cfg(feature = "runtime")]
mod event;
#[cfg(feature = "runtime")]
mod http;
#[cfg(feature = "runtime")]
mod logging;
#[cfg(feature = "runtime")]
mod manager;
#[cfg(feature = "runtime")]
mod metrics;
#[cfg(feature = "runtime")]
mod object;
#[cfg(feature = "runtime")]
mod options;
#[cfg(feature = "runtime")]
mod random;
#[cfg(feature = "runtime")]
mod ready;
#[cfg(feature = "runtime")]
mod runs;
#[cfg(feature = "runtime")]
mod signal;
#[cfg(feature = "sources")]
pub mod sources;
#[cfg(feature = "runtime")]
mod storage;
#[cfg(feature = "runtime")]
mod task;
#[cfg(feature = "runtime")]
mod time;
#[cfg(feature = "webhook")]
pub mod webhook;

#[cfg(feature = "runtime")]
pub use self::cache::index::Index;
#[cfg(feature = "runtime")]
pub use self::client::objects::{Applied, Change, Objects, StatusChange};
#[cfg(feature = "runtime")]
pub use self::controller::{Action, Controller, Failure};
#[cfg(feature = "runtime")]
pub use self::election::{ElectionMode, LeaderElection};
#[cfg(feature = "runtime")]
pub use self::error::Error;
#[cfg(feature = "runtime")]
pub use self::http::address::BindAddress;
#[cfg(feature = "runtime")]
pub use self::logging::{LogFormat, LogOptions};
#[cfg(feature = "runtime")]
pub use self::manager::Manager;
#[cfg(feature = "runtime")]
pub use self::object::name::{dns_label, short_dns_label};
#[cfg(feature = "runtime")]
pub use self::object::{Object, ObjectKey, Reach};
#[cfg(feature = "runtime")]
pub use self::options::Options;
#[cfg(feature = "runtime")]
pub use self::random::random_text;
#[cfg(feature = "runtime")]
pub use self::runs::Runs;
#[cfg(feature = "runtime")]
pub use self::time::now;
/// The metrics that [`Manager::metrics`] takes, of the same release.
#[cfg(feature = "runtime")]
pub use prometheus_client;
