//! `version`: the versions of this program and of the libraries that determine its output.

use serde_json::json;

use crate::cli::{DataFormat, VersionArgs};
use crate::ops::VERSION;
use crate::schema::release::NEWEST;

/// Returns one library per line, or a JSON object.
pub(crate) fn text(args: &VersionArgs) -> String {
    let [(_, kube), _, (_, schemars)] = NEWEST;
    let [kube, schemars] = [kube, schemars].map(|version| version.to_string());
    let libraries = [("kube", kube.as_str()), ("k8s-openapi", "0.29 (v1_36)"), ("schemars", schemars.as_str())];
    match args.output {
        DataFormat::Text => {
            let lines = libraries.map(|(name, version)| format!("{name} {version}\n")).concat();
            format!("memcached-sdk {VERSION}\n{lines}")
        }
        DataFormat::Json => {
            let [kube, k8s_openapi, schemars] = libraries.map(|(_, version)| version);
            let version = json!({
                "version": VERSION, "libraries": { "kube": kube, "k8s-openapi": k8s_openapi, "schemars": schemars }
            });
            format!("{version:#}\n")
        }
    }
}
