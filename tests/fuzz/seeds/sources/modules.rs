mod spec;
pub use spec::inner as other;
#[cfg(feature = "on")]
mod own {
    #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
    #[kube(group = "e.x", version = "v1", kind = "A")]
    struct Spec {
        part: super::other::Part,
        spec: Option<crate::spec::Part>,
    }
}
//- src/spec.rs
pub mod inner;
pub use self::inner::Part;
//- src/spec/inner.rs
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Part(std::num::NonZeroU8);
