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
    /// Image of the site.
    pub image: String,
    /// Cron schedule of backups; without one, no backup is made.
    pub backup: Option<String>,
    /// ConfigMap with the settings.
    pub config: Option<String>,
    /// Database that the site uses.
    pub database: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteStatus {
    #[serde(default)]
    #[schemars(schema_with = "manager::condition::schema")]
    pub conditions: Vec<Condition>,
    /// ID of the DNS record.
    pub record: Option<String>,
    /// Time of the last check.
    pub last_check: Option<Time>,
    /// The password was generated.
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
    /// Number of sites that use it.
    #[serde(default)]
    pub sites: usize,
}
