use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A")]
pub struct ASpec {
    a: T0<u8>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T0<X> {
    a: T1<Option<X>>,
    b: T1<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T1<X> {
    a: T2<Option<X>>,
    b: T2<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T2<X> {
    a: T3<Option<X>>,
    b: T3<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T3<X> {
    a: T4<Option<X>>,
    b: T4<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T4<X> {
    a: T5<Option<X>>,
    b: T5<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T5<X> {
    a: T6<Option<X>>,
    b: T6<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T6<X> {
    a: T7<Option<X>>,
    b: T7<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T7<X> {
    a: T8<Option<X>>,
    b: T8<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T8<X> {
    a: T9<Option<X>>,
    b: T9<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T9<X> {
    a: T10<Option<X>>,
    b: T10<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T10<X> {
    a: T11<Option<X>>,
    b: T11<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T11<X> {
    a: T12<Option<X>>,
    b: T12<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T12<X> {
    a: T13<Option<X>>,
    b: T13<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T13<X> {
    a: T14<Option<X>>,
    b: T14<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T14<X> {
    a: T15<Option<X>>,
    b: T15<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T15<X> {
    a: T16<Option<X>>,
    b: T16<Vec<X>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct T16<X> {
    x: X,
}
