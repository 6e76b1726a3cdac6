//! Tools for the tests of an operator. They are not for the operator itself: they panic on failure, as assertions do.
//!
//! The feature `testing` is meant for `[dev-dependencies]`:
//!
//! ```toml
//! [dev-dependencies]
//! manager = { package = "memcached-sdk-manager", version = "0.1", features = ["testing"] }
//! ```
//!
//! | Tool | Use it to |
//! |---|---|
//! | [`MockServer`] | call a reconcile function and compare its requests, in milliseconds |
//! | [`ControlPlane`] | run controllers and webhooks on a real kube-apiserver, with the permissions of `config/rbac` |
//! | [`assert_crd_files`] | find CRDs in `config/crd/bases` that are older than the types |
//! | [`DeployedOperator`] | deploy the operator to the cluster of the current context and check it there |

mod assets;
mod cluster;
mod control_plane;
mod crds;
mod mock;
mod permissions;

pub use self::cluster::DeployedOperator;
pub use self::control_plane::ControlPlane;
pub use self::crds::assert_crd_files;
pub use self::mock::MockServer;

use serde::de::DeserializeOwned;

/// Parses an object in YAML, such as a file of `config/samples`.
///
/// # Panics
///
/// The text is not valid YAML, or not an object of the type.
///
/// # Examples
///
/// ```
/// use serde_json::Value;
///
/// let object: Value = manager::testing::object_from_yaml("kind: Memcached\nspec: { size: 3 }");
/// assert_eq!(object["spec"]["size"], 3);
/// ```
#[must_use]
pub fn object_from_yaml<T: DeserializeOwned>(text: &str) -> T {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("not an object in YAML: {error}"))
}
