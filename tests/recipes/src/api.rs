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
    /// The cron schedule of backups; no backups without it.
    #[schemars(regex(pattern = r"^[-*/,0-9]+( [-*/,0-9]+){4}$"))]
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
    /// The id of its DNS record in the cloud.
    pub record: Option<String>,
    /// The time of the last check.
    pub last_check: Option<Time>,
    /// True after its password was generated.
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
    /// The number of sites that use it.
    #[serde(default)]
    pub sites: usize,
}
