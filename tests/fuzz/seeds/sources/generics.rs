use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A")]
struct Spec {
    one: Two<u8, Vec<String>>,
    array: Pair,
    alias: Alias,
}

type Alias = Option<Two<bool>>;

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Two<A, B = String> {
    a: A,
    b: B,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Pair([u8; 2]);
