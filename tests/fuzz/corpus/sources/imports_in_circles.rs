use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A")]
pub struct ASpec {
    a: Z,
    b: Y,
}

use a::*;
use b::*;

mod a {
    pub use super::b::*;
    pub use super::c::{Y, Z as Y};
}

mod b {
    pub use super::a::*;
    pub use super::c::*;
}

mod c {
    pub use super::a::Y;
    pub use super::b::*;
    pub type Z = super::T<Z>;
}

type T<X> = Option<X>;
