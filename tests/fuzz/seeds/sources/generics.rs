use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A")]
struct Spec {
    one: Two<u8, Vec<String>>,
    array: Sized<3>,
    alias: Alias,
}

type Alias = Option<Two<bool>>;

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Two<A, B = String> {
    a: A,
    b: B,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Sized<const N: usize>([u8; N]);
