//! Public paths of the crates around kube: re-exports, and names that a glob import brings in.

/// See [`crate::source::Ecosystem::aliases`].
pub(super) const ALIASES: &[(&str, &[(&str, &str)])] = &[
    ("kube_derive", &[("", "kube")]),
    (
        "kube",
        &[
            ("core", "kube_core"),
            ("api::TypeMeta", "kube_core::metadata::TypeMeta"),
            ("api::ObjectMeta", "k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta"),
        ],
    ),
    ("kube_client", &[("core", "kube_core")]),
    (
        "kube_core",
        &[
            ("cel::ListMerge", "kube_core::ListMerge"),
            ("cel::MapMerge", "kube_core::MapMerge"),
            ("cel::Message", "kube_core::Message"),
            ("cel::Reason", "kube_core::Reason"),
            ("cel::Rule", "kube_core::Rule"),
            ("cel::StructMerge", "kube_core::StructMerge"),
            ("duration::Duration", "kube_core::Duration"),
            ("ObjectMeta", "k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta"),
            ("metadata::ObjectMeta", "k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta"),
            ("ListMeta", "k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta"),
            ("metadata::ListMeta", "k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta"),
        ],
    ),
    (
        "k8s_openapi",
        &[
            ("jiff", "jiff"),
            ("schemars", "schemars"),
            ("serde", "serde"),
            ("serde_json", "serde_json"),
            ("chrono", "chrono"),
        ],
    ),
    ("schemars_derive", &[("", "schemars")]),
    ("chrono", &[("Duration", "chrono::TimeDelta"), ("naive", "chrono"), ("prelude", "chrono")]),
    ("indexmap", &[("map::IndexMap", "indexmap::IndexMap"), ("set::IndexSet", "indexmap::IndexSet")]),
    ("serde_json", &[("value::Map", "serde_json::Map"), ("map::Map", "serde_json::Map")]),
    ("schemars", &[("generate::SchemaGenerator", "schemars::SchemaGenerator"), ("_serde_json", "serde_json")]),
    ("serde_derive", &[("", "serde")]),
    ("serde_core", &[("", "serde")]),
    ("serde", &[("ser::Serialize", "serde::Serialize"), ("de::Deserialize", "serde::Deserialize")]),
];

/// See [`crate::source::Ecosystem::globs`].
pub(super) const GLOBS: &[(&str, &[&str])] = &[
    ("chrono", &["DateTime", "FixedOffset", "Local", "NaiveDate", "NaiveDateTime", "NaiveTime", "Utc", "Weekday"]),
    ("schemars", &["JsonSchema", "Schema", "SchemaGenerator", "json_schema"]),
    ("serde", &["Deserialize", "Deserializer", "Serialize", "Serializer"]),
    ("kube", &["CustomResource", "KubeSchema"]),
];

/// See [`crate::source::Ecosystem::keep_prelude`].
pub(super) const KEEP_PRELUDE: &[&str] = &[
    "anyhow",
    "base64",
    "chrono",
    "clap",
    "futures",
    "jiff",
    "k8s_openapi",
    "kube",
    "kube_core",
    "kube_runtime",
    "schemars",
    "serde",
    "serde_json",
    "tokio",
    "tracing",
];

#[cfg(test)]
mod tests {
    use crate::k8s::ECOSYSTEM;

    #[test]
    fn paths_have_one_name() {
        for (path, expected) in [
            ("core::option::Option", "std::option::Option"),
            ("alloc::collections::btree_map::BTreeMap", "std::collections::BTreeMap"),
            ("std::collections::btree_map::Entry", "std::collections::btree_map::Entry"),
            ("kube_derive::CustomResource", "kube::CustomResource"),
            ("kube::core::ObjectMeta", "k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta"),
            ("k8s_openapi::serde_json::Value", "serde_json::Value"),
            ("serde_derive::Serialize", "serde::Serialize"),
            ("kube::core::cel::Rule", "kube_core::Rule"),
            ("kube", "kube"),
        ] {
            assert_eq!(ECOSYSTEM.canonical(path.split("::").map(str::to_owned).collect()).join("::"), expected);
        }
    }
}
