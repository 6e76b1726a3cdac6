use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A", namespaced)]
struct Spec {
    unit: Unit,
    tagged: Option<Tagged>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Unit {
    /// One.
    OneTwo,
    #[serde(rename = "three")]
    Three,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all_fields = "kebab-case")]
enum Tagged {
    Named { some_text: String },
    New(Vec<u16>),
}
