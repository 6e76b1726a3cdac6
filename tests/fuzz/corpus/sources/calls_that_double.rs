use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A")]
pub struct ASpec {
    #[serde(default = "d")]
    a: u64,
}

fn d() -> u64 {
    f(30)
}

const fn f(n: u64) -> u64 {
    if n == 0 { 0 } else { f(n - 1) + f(n - 1) }
}
