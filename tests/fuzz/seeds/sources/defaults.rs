use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A")]
struct Spec {
    #[serde(default = "size")]
    size: i32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    list: Vec<Item>,
    #[serde(default = "Item::new")]
    item: Item,
}

const SIZE: i32 = 3;

fn size() -> i32 {
    let twice: i32 = SIZE * 2;
    twice - 1
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct Item {
    name: String,
    ready: bool,
}

impl Item {
    fn new() -> Self {
        let name = format!("n{}", SIZE);
        Self { name, ..Self::default() }
    }
}
