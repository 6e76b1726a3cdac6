use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A", status = "Status")]
#[serde(deny_unknown_fields)]
struct Spec {
    #[serde(flatten)]
    inner: Inner,
    #[serde(skip_serializing_if = "Option::is_none", alias = "b")]
    a: Option<Box<str>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Inner {
    map: std::collections::BTreeMap<String, i64>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct Status {
    #[serde(default)]
    nodes: Vec<String>,
}
