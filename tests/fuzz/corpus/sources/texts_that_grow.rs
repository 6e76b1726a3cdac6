use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A")]
pub struct ASpec {
    #[serde(default = "d")]
    a: String,
}

fn d() -> String {
    let a = "a";
    let a = format!("{a}{a}{a}{a}{a}{a}{a}{a}");
    let a = format!("{a}{a}{a}{a}{a}{a}{a}{a}");
    let a = format!("{a}{a}{a}{a}{a}{a}{a}{a}");
    let a = format!("{a}{a}{a}{a}{a}{a}{a}{a}");
    let a = format!("{a}{a}{a}{a}{a}{a}{a}{a}");
    let a = format!("{a}{a}{a}{a}{a}{a}{a}{a}");
    let a = format!("{a}{a}{a}{a}{a}{a}{a}{a}");
    let a = format!("{a}{a}{a}{a}{a}{a}{a}{a}");
    let a = format!("{a}{a}{a}{a}{a}{a}{a}{a}");
    let a = format!("{a}{a}{a}{a}{a}{a}{a}{a}");
    let a = format!("{a}{a}{a}{a}{a}{a}{a}{a}");
    let a = format!("{a}{a}{a}{a}{a}{a}{a}{a}");
    a
}
