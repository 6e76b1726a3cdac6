use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "web.example.com",
    version = "v1",
    kind = "Site",
    namespaced,
    derive = "PartialEq",
    status = "SiteStatus"
)]
#[serde(rename_all = "camelCase")]
pub struct SiteSpec {
    /// The image that serves the site.
    pub image: String,
    /// When to make a backup, as cron says it; never without.
    pub backup: Option<String>,
    /// The ConfigMap with its settings.
    pub config: Option<String>,
    /// The Database that it needs.
    pub database: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteStatus {
    #[serde(default)]
    #[schemars(schema_with = "manager::condition::schema")]
    pub conditions: Vec<Condition>,
    /// What the cloud calls its DNS record.
    pub record: Option<String>,
    /// When it was checked last.
    pub last_check: Option<Time>,
    /// Its password was generated.
    #[serde(default)]
    pub has_password: bool,
}

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "web.example.com",
    version = "v1",
    kind = "Database",
    namespaced,
    derive = "PartialEq",
    status = "DatabaseStatus"
)]
pub struct DatabaseSpec {}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct DatabaseStatus {
    #[serde(default)]
    pub ready: bool,
    /// How many sites use it.
    #[serde(default)]
    pub sites: usize,
}
