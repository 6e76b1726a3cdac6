//! A further version of a kind: its types begin with those of the last version.

use snapbox::str;

use super::delete::{assert_same, generate};
use crate::sandbox::Sandbox;

fn edited() -> Sandbox {
    let sandbox = Sandbox::project("");
    sandbox.run("create api --group cache --version v1alpha1 --kind Memcached").success();
    sandbox.replace(
        "src/api/v1alpha1/memcached.rs",
        "    plural = \"memcacheds\",\n",
        "    plural = \"memcacheds\",\n    deprecated = \"use v1\",\n    category = \"all\",\n",
    );
    sandbox.replace(
        "src/api/v1alpha1/memcached.rs",
        "pub struct MemcachedSpec {\n",
        "pub struct MemcachedSpec {\n    /// The number of pods.\n    #[serde(default = \"crate::api::v1alpha1::memcached::one\")]\n    \
         pub size: i32,\n\n    /// The phase.\n    pub phase: Phase,\n\n",
    );
    let types = sandbox.read("src/api/v1alpha1/memcached.rs");
    let more = "\n/// A phase.\n#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]\npub enum Phase {\n    \
                #[default]\n    New,\n}\n\npub fn one() -> i32 {\n    1\n}\n";
    sandbox.file("src/api/v1alpha1/memcached.rs", &format!("{types}{more}"));
    sandbox.replace("config/samples/cache_v1alpha1_memcached.yaml", "spec: {}\n", "spec:\n  phase: New # mine\n");
    generate(&sandbox);
    sandbox
}

#[test]
fn it_begins_with_the_types_and_the_sample_of_the_last_one() {
    let sandbox = edited();
    let before = sandbox.files();
    sandbox.run("create api --group cache --version v1 --kind Memcached").success().stderr(str![[r#"
3 created, 5 updated, 8 unchanged

Next, change the types of `v1alpha1` in `src/api/v1/memcached.rs`. Clusters store objects as `v1alpha1`. As soon as the versions differ, they need a conversion:
  memcached-sdk create webhook --version v1 --kind Memcached --conversion --spoke v1alpha1

"#]]);
    let files = ["src/api/v1/memcached.rs", "config/samples/cache_v1_memcached.yaml"];
    let text: String = files.into_iter().map(|path| format!("== {path}\n{}", sandbox.read(path))).collect();
    snapbox::assert_data_eq!(
        text,
        str![[r#"
== src/api/v1/memcached.rs
//! The kind `Memcached`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The desired state.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "cache.example.com",
    version = "v1",
    storage = false,
    kind = "Memcached",
    plural = "memcacheds",
    category = "all",
    namespaced,
    doc = "Memcached is the schema of the memcacheds API",
    derive = "PartialEq",
    status = "MemcachedStatus"
)]
#[serde(rename_all = "camelCase")]
pub struct MemcachedSpec {
    /// The number of pods.
    #[serde(default = "crate::api::v1::memcached::one")]
    pub size: i32,

    /// The phase.
    pub phase: Phase,

    /// An example field. Replace it with your own fields and run `make manifests`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// The observed state.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemcachedStatus {
    /// The conditions of the object, one entry per type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "manager::condition::schema")]
    pub conditions: Vec<Condition>,
}

/// A phase.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub enum Phase {
    #[default]
    New,
}

pub fn one() -> i32 {
    1
}
== config/samples/cache_v1_memcached.yaml
apiVersion: cache.example.com/v1
kind: Memcached
metadata:
  labels:
    app.kubernetes.io/name: demo
    app.kubernetes.io/managed-by: kustomize
  name: memcached-sample
spec:
  phase: New # mine

"#]]
    );

    sandbox.run("delete version --group cache --version v1 --kind Memcached").success();
    assert_same("deleted", &sandbox.files(), &before);
}

#[test]
fn a_copy_that_was_edited_is_deleted_on_request_only() {
    let sandbox = edited();
    sandbox.run("create api --group cache --version v1 --kind Memcached").success();
    sandbox.replace("src/api/v1/memcached.rs", "    pub size: i32,\n", "    pub replicas: i32,\n");
    sandbox.run("delete version --group cache --version v1 --kind Memcached").code(1);
    sandbox.run("delete version --group cache --version v1 --kind Memcached --discard").success();
}

#[test]
fn types_in_several_files_are_not_copied() {
    let sandbox = edited();
    sandbox.replace(
        "src/api/v1alpha1/memcached.rs",
        "use kube::CustomResource;",
        "mod more;\n\nuse kube::CustomResource;",
    );
    sandbox.file("src/api/v1alpha1/memcached/more.rs", "// Mine.\n");
    sandbox.run("create api --group cache --version v1 --kind Memcached").success().stderr(str![[r#"
warning[conversion-unknown]: `Memcached` serves `v1` and `v1alpha1`, which differ in `spec.phase`, but has no conversion
  --> src/api/v1alpha1/memcached.rs:25:12
   |
25 | pub struct MemcachedSpec {
   |            ^^^^^^^^^^^^^
   |
   = help: create a conversion with `memcached-sdk create webhook --group cache --version v1 --kind Memcached --conversion --spoke v1alpha1`, or state why none is needed: `// +memcached-sdk:conversion:none=…` before the type of `v1alpha1`
3 created, 5 updated, 8 unchanged

Next, change the types in `src/api/v1/memcached.rs`. Clusters store objects as `v1alpha1`. As soon as the versions differ, they need a conversion:
  memcached-sdk create webhook --version v1 --kind Memcached --conversion --spoke v1alpha1

"#]]);
    assert!(!sandbox.read("src/api/v1/memcached.rs").contains("size"));
}
