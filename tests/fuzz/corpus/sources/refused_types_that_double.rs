use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A")]
pub struct ASpec {
    a: T<T<u8>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T<X> {
    a: X,
    t: T<Vec<T<Vec<(Clone, X , X, Deserialize, _, JsonSchema)>>>>,
}
