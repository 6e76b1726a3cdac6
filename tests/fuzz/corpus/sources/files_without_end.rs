use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A")]
pub struct ASpec {
    #[serde(default = "d")]
    a: String,
}

fn d() -> &'static str {
    include_str!("/dev/zero")
}

#[path = "/dev/zero"]
mod zero;
