use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use schemars::{Schema, SchemaGenerator, json_schema};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A")]
struct Spec {
    #[schemars(schema_with = "port")]
    port: serde_json::Value,
    by_hand: ByHand,
    #[schemars(range(min = 1, max = 9), extend("x-kubernetes-int-or-string" = true))]
    number: i64,
    #[schemars(length(min = 1), pattern("^a+$"))]
    text: String,
}

fn port(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "maximum": 65535 })
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct ByHand;

impl JsonSchema for ByHand {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ByHand".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}
