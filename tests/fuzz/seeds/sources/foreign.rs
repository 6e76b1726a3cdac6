use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use chrono::{DateTime, Utc};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A", doc = "d", annotation("a", "b"))]
struct Spec {
    at: Option<DateTime<Utc>>,
    #[serde(default)]
    any: Option<std::net::IpAddr>,
    #[schemars(with = "String")]
    path: std::path::PathBuf,
    map: std::collections::HashMap<String, [char; 2]>,
}
