#[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Thing")]
#[serde(rename_all = "camelCase")]
struct ThingSpec {
    ümlaut: String,
    #[serde(default)]
    mode: Mode,
    #[serde(default = "only")]
    only: Only,
}

#[derive(Clone, Debug, Default, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Mode {
    #[default]
    Ü,
}

#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Only {
    __: u8,
}

fn only() -> Only {
    Only { __: 1 }
}
