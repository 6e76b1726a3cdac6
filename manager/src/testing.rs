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
//! | [`run_operator`] | run controllers with a given client, such as that of an `explorer::Explorer` |
//! | [`operator_roles`] | give the generated roles to an `explorer::Explorer` |
//! | [`operator_webhooks`] | give the webhooks to an `explorer::Explorer` |
//! | [`assert_crd_files`] | find CRDs in `config/crd/bases` that are older than the types |
//! | [`DeployedOperator`] | deploy the operator to the cluster of the current context and check it there |

mod assets;
mod cluster;
mod control_plane;
mod mock;
mod permissions;
#[cfg(feature = "webhook")]
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::Parser;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use self::cluster::DeployedOperator;
pub use self::control_plane::ControlPlane;
pub use self::mock::MockServer;
pub use self::permissions::operator_roles;
#[cfg(feature = "webhook")]
pub use self::webhooks::operator_webhooks;
use crate::error::Error;
use crate::manager::Manager;

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

/// Runs controllers as `main` does, with this client, and without leader election, probes and metrics.
///
/// It starts no threads and opens no ports, so it runs on a single-threaded runtime with a paused clock.
///
/// # Errors
///
/// Returns an [`Error`] if a watch ends. It does not end otherwise: drop the future to stop.
///
/// # Examples
///
/// ```no_run
/// use manager::testing::run_operator;
///
/// # fn register(_: &mut manager::Manager) {}
/// # async fn example(client: kube::Client) -> Result<(), manager::Error> {
/// run_operator(client, register).await
/// # }
/// ```
pub async fn run_operator(
    client: Client,
    register: impl FnOnce(&mut Manager),
) -> Result<(), Error> {
    let name = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "test".to_owned());
    let flags = control_plane::Args::parse_from(["test", "--health-probe-bind-address=0"]);
    let manager = Manager::with_client(&name, "test", flags.manager, client).with(register);
    manager.run_until(std::future::pending()).await
}

/// The folder that `generate` writes CRDs to.
const CRD_FOLDER: &str = "config/crd/bases";
/// The file that `generate` writes the configurations of webhooks to.
const WEBHOOK_FILE: &str = "config/webhook/manifests.yaml";

/// Scalars of CRDs by place: `CRD version /json/pointer`.
type Scalars = BTreeMap<String, Value>;

/// Compares the CRDs in `config/crd/bases` with those that the compiler derives from the types.
///
/// `types` has the `crd()` of each version of each kind. `permitted` lists wanted differences, such as those of
/// `generate --fix`, as the panic prints them: CRD, version and JSON pointer.
///
/// # Panics
///
/// A file differs from its types in a place that is not permitted, or a permitted place has no difference.
///
/// # Examples
///
/// ```no_run
/// use kube::CustomResourceExt;
/// use manager::testing::assert_crd_files;
/// # use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
/// # struct Memcached;
/// # impl Memcached { fn crd() -> CustomResourceDefinition { CustomResourceDefinition::default() } }
///
/// let permitted = ["memcacheds.cache.example.com v1 /spec/names/listKind"];
/// assert_crd_files(&[Memcached::crd()], &permitted);
/// ```
pub fn assert_crd_files(types: &[CustomResourceDefinition], permitted: &[&str]) {
    let wrong = differences(
        &of_types(types),
        &of_files(Path::new(CRD_FOLDER)),
        permitted,
    );
    assert!(
        wrong.is_empty(),
        "types and files differ; run `make manifests`, or permit the difference:\n{}",
        wrong.join("\n")
    );
}

fn differences(types: &Scalars, files: &Scalars, permitted: &[&str]) -> Vec<String> {
    let places = types.keys().chain(files.keys()).map(String::as_str);
    let differing: BTreeSet<&str> = places
        .filter(|place| types.get(*place) != files.get(*place))
        .collect();
    let permitted: BTreeSet<&str> = permitted.iter().copied().collect();
    let show = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    differing
        .symmetric_difference(&permitted)
        .map(|place| {
            let (types, files) = (show(types.get(*place)), show(files.get(*place)));
            format!("{place}: types say {types:.120}, files say {files:.120}")
        })
        .collect()
}

fn of_types(types: &[CustomResourceDefinition]) -> Scalars {
    let mut scalars = Scalars::new();
    for crd in types {
        add(json!(crd), &mut scalars);
    }
    scalars
}

fn of_files(folder: &Path) -> Scalars {
    let mut scalars = Scalars::new();
    for crd in control_plane::documents(folder) {
        add(crd, &mut scalars);
    }
    scalars
}

/// Adds each version on its own, as kube derives it.
fn add(mut crd: Value, scalars: &mut Scalars) {
    let versions = crd["spec"]["versions"].take();
    for version in versions.as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let place = format!(
            "{} {} ",
            text(&crd["metadata"]["name"]),
            text(&version["name"])
        );
        crd["spec"]["versions"] = json!([version]);
        collect(place, &crd, scalars);
    }
}

fn collect(place: String, value: &Value, scalars: &mut Scalars) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                collect(format!("{place}/{name}"), value, scalars);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                collect(format!("{place}/{index}"), value, scalars);
            }
        }
        // Types have 0.0 where files have 0.
        Value::Number(number) => put(place, json!(number.as_f64()), scalars),
        value => put(place, value.clone(), scalars),
    }
}

fn put(place: String, value: Value, scalars: &mut Scalars) {
    let before = scalars.insert(place.clone(), value);
    assert!(before.is_none(), "`{place}` is listed twice");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_unless_permitted() {
        let crd = |maximum: Value| {
            let mut scalars = Scalars::new();
            let version = json!({ "name": "v1", "schema": { "maximum": maximum } });
            add(
                json!({ "metadata": { "name": "xs.example.com" }, "spec": { "versions": [version] } }),
                &mut scalars,
            );
            scalars
        };
        let place = "xs.example.com v1 /spec/versions/0/schema/maximum";
        assert_eq!(differences(&crd(json!(0.0)), &crd(json!(0)), &[]), [""; 0]);
        let (one, two) = (crd(json!(1)), crd(json!(2)));
        assert_eq!(
            differences(&one, &two, &[]),
            [format!("{place}: types say 1.0, files say 2.0")]
        );
        assert_eq!(differences(&one, &two, &[place]), [""; 0]);
        assert_eq!(
            differences(&one, &one, &[place]),
            [format!("{place}: types say 1.0, files say 1.0")]
        );
        assert_eq!(differences(&one, &Scalars::new(), &[]).len(), 3);
    }
}
