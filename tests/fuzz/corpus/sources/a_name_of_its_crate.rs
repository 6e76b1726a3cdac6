use k8s_openapi::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::a::{k8s_openapi, Other};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::core::v1::k8s_openapi as kube;

#[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Named")]
struct NamedSpec {
    pod: Option<Pod>,
    other: Option<Other>,
}
