//! `version`: this program, and the libraries that decide what it writes.

use serde_json::json;

use crate::cli::{DataFormat, VersionArgs};

/// This program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// One library a line, or an object.
pub(crate) fn text(args: &VersionArgs) -> String {
    let libraries = [("kube", "5"), ("k8s-openapi", "0.29 (v1_36)"), ("schemars", "1.2.3")];
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
