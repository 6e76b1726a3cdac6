//! A Kubernetes API server in memory, for tests of operators, and an explorer of their failures.
//!
//! [`ApiServer`] answers the requests of a [`kube::Client`] as kube-apiserver 1.36 does: codes, reasons, messages, objects
//! with their `managedFields`, and the events of watches. A differential test compares the two. A feature that the server
//! does not have answers 501 with the name of the feature, never with a guess.
//!
//! The server is deterministic: it has no threads and no clock. UIDs, generated names and resource versions are counters,
//! and the time changes only by [`ApiServer::advance`]. [`ApiServer::snapshot`] copies a server.
//!
//! [`Explorer`] runs an operator on such servers: it crashes it at each write, fails each request, changes and deletes its
//! objects, delays its events, starts it twice, and compares the ends.
//!
//! ```
//! use explorer::ApiServer;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::Api;
//! use kube::api::PostParams;
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let server = ApiServer::new();
//! let client = kube::Client::new(server.service(), "default");
//! let maps: Api<ConfigMap> = Api::default_namespaced(client);
//! let map = serde_json::from_value(json!({ "metadata": { "name": "colors" }, "data": { "sky": "blue" } })).unwrap();
//! let created = maps.create(&PostParams::default(), &map).await.unwrap();
//! assert_eq!(created.metadata.resource_version, maps.get("colors").await.unwrap().metadata.resource_version);
//! # });
//! ```

#[cfg(feature = "runtime")]
mod apply;
#[cfg(feature = "runtime")]
mod authorize;
#[cfg(feature = "runtime")]
mod call;
#[cfg(feature = "runtime")]
mod discovery;
#[cfg(feature = "exploration")]
pub mod exploration;
#[cfg(feature = "runtime")]
mod explorer;
#[cfg(feature = "runtime")]
mod gc;
#[cfg(feature = "runtime")]
mod metadata;
#[cfg(feature = "runtime")]
mod page;
#[cfg(feature = "runtime")]
mod patch;
#[cfg(feature = "runtime")]
mod request;
#[cfg(feature = "runtime")]
mod resource;
#[cfg(feature = "runtime")]
mod response;
#[cfg(feature = "runtime")]
mod schema;
#[cfg(feature = "runtime")]
mod selector;
#[cfg(feature = "runtime")]
mod server;
#[cfg(feature = "sources")]
pub mod sources;
#[cfg(feature = "runtime")]
mod stages;
#[cfg(feature = "runtime")]
mod store;
#[cfg(feature = "runtime")]
mod watch;
#[cfg(feature = "runtime")]
mod webhooks;

#[cfg(feature = "runtime")]
pub use crate::explorer::{Explorer, Report};
#[cfg(feature = "exploration")]
pub use exploration::{Finding, Oracle};
#[cfg(feature = "runtime")]
pub use request::Request;
#[cfg(feature = "runtime")]
pub use response::ResponseBody;
#[cfg(feature = "runtime")]
pub use server::{ApiServer, ApiService, Dropped, Verdict};
#[cfg(feature = "runtime")]
pub use stages::{Stage, Stages};
#[cfg(feature = "runtime")]
pub use watch::WatchBody;
