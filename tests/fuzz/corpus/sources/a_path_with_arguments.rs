#[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Thing")]
struct ThingSpec {
    #[schemars(schema_with = "Vec<Part>::json_schema")]
    parts: String,
}
