//! A runtime for Kubernetes operators on [`kube`].
//!
//! It provides caches that watches fill, controllers with work queues, server-side apply without needless requests,
//! leader election, webhooks, probes, metrics and graceful shutdown.
//!
//! `main.rs` builds a [`Manager`] from [`Options`]. Each controller takes [`Objects`] from it and registers its
//! reconcile function. [`Manager::run`] does the rest until SIGTERM or Ctrl-C.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use clap::Parser;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::ResourceExt;
//! use kube::runtime::watcher;
//! use manager::{Action, Failure, Manager, Objects, Options};
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
//! /// The state that all reconciles share.
//! struct Context {
//!     maps: Objects<ConfigMap>,
//! }
//!
//! fn register(manager: &mut Manager) {
//!     let context = Arc::new(Context { maps: manager.objects(&watcher::Config::default()) });
//!     manager.controller("config-map", &context.maps).run(reconcile, context);
//! }
//!
//! async fn reconcile(map: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, Error> {
//!     let maps = context.maps.list(map.namespace().as_deref());
//!     tracing::info!(name = map.name_any(), of = maps.len(), "reconciled");
//!     Ok(Action::Done)
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
//!
//! # Cargo features
//!
//! - `anyhow`: reconciles and tasks may return `anyhow::Result`.
//! - `leader-for-life`: adds `--leader-election-mode=life`.
//! - `runtime`: everything except `sources`; on by default.
//! - `sources`: the source text of the package, for `memcached-sdk`.
//! - `webhook`: defaulting, validating and conversion webhooks.
//!
//! # Semantic versioning
//!
//! The public API includes types of [`kube`], [`k8s_openapi`] and [`prometheus_client`]. A release that moves to
//! another major version of one of them (another minor version below 1.0) is a major release of this crate, too.

#[cfg(feature = "runtime")]
mod cache;
#[cfg(feature = "runtime")]
mod client;
#[cfg(feature = "runtime")]
pub mod condition;
#[cfg(feature = "runtime")]
mod controller;
#[cfg(feature = "runtime")]
mod election;
#[cfg(feature = "runtime")]
mod error;
#[cfg(feature = "runtime")]
mod event;
#[cfg(feature = "runtime")]
mod http;
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
mod signal;
#[cfg(feature = "sources")]
pub mod sources;
#[cfg(feature = "runtime")]
mod storage;
#[cfg(feature = "runtime")]
mod task;
#[cfg(feature = "testing")]
pub mod testing;
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
pub use self::election::leadership::Runs;
#[cfg(feature = "runtime")]
pub use self::error::Error;
#[cfg(feature = "runtime")]
pub use self::manager::Manager;
#[cfg(feature = "runtime")]
pub use self::object::{Object, ObjectKey, Reach};
#[cfg(feature = "runtime")]
pub use self::object::{dns_label, short_dns_label};
#[cfg(feature = "runtime")]
pub use self::options::Options;
#[cfg(feature = "runtime")]
pub use self::random::random_text;
#[cfg(feature = "runtime")]
pub use self::time::now;
/// The crate of the metrics that [`Manager::metrics`] accepts, in the matching version.
#[cfg(feature = "runtime")]
pub use prometheus_client;
