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

mod apply;
mod authorize;
mod call;
mod discovery;
mod explorer;
mod gc;
mod metadata;
mod page;
mod patch;
mod request;
mod resource;
mod response;
mod schema;
mod selector;
mod server;
mod stages;
mod store;
mod watch;

pub use crate::explorer::{Explorer, Finding, Oracle, Report};
pub use request::Request;
pub use response::ResponseBody;
pub use server::{ApiServer, ApiService, Dropped, Verdict};
pub use stages::{Stage, Stages};
pub use watch::WatchBody;
