use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A")]
pub struct ASpec {
    a: B,
}

pub struct B;

impl JsonSchema for B {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "B".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        B::json_schema(generator)
    }
}
