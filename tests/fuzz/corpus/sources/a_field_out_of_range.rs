#[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Thing")]
struct ThingSpec {
    #[serde(default = "Item::new")]
    item: Item,
}

#[derive(Clone, Debug, Default, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Item {
    name: String,
}

impl Item {
    fn new() -> Self {
        let mut item = Self::default();
        item.2147483647 = "n".to_owned();
        item
    }
}
