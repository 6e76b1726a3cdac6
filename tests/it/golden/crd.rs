//! Merges the versions of a kind into one CRD.

use std::fmt::Write as _;

use memcached_sdk::crd::{self, Crd};
use memcached_sdk::diagnostic::Diagnostics;
use memcached_sdk::engine::{self, Engine};
use memcached_sdk::k8s;
use memcached_sdk::source::SourceTree;
use serde_json::json;

use crate::lock;

const MANIFEST: &str =
    "[package]\nname = \"x\"\nedition = \"2024\"\n\n[dependencies]\nkube = \"5\"\nschemars = \"1\"\nserde = \"1\"\n";

pub(super) fn crds(tree: &mut SourceTree) -> (Vec<Crd>, Diagnostics) {
    let request = engine::EngineRequest { engine: Engine::Static, ..engine::EngineRequest::default() };
    let mut found = Diagnostics::default();
    let answer = engine::crds(tree, &request, &mut found, &mut |_| {});
    (answer.crds, found)
}

#[test]
fn versions_are_in_the_order_of_the_api_server_and_names_are_those_of_the_stored_one() {
    let mut text = String::new();
    for (index, version) in ["v1alpha1", "v2", "v1beta1", "v10", "foo1", "v1", "v1beta2"].iter().enumerate() {
        let stored = *version == "v1";
        write!(
            text,
            "pub mod m{index} {{\n    #[derive(kube::CustomResource, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]\n    \
             #[kube(group = \"example.com\", version = \"{version}\", kind = \"Box\", storage = {stored})]\n    \
             #[kube(shortname = \"b{index}\")]\n    pub struct BoxSpec {{ a: String }}\n}}\n"
        )
        .unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("Cargo.toml"), MANIFEST).unwrap();
    std::fs::write(folder.path().join("Cargo.lock"), lock::text([MANIFEST])).unwrap();
    std::fs::write(folder.path().join("src/lib.rs"), text).unwrap();
    let (mut tree, found) = k8s::load(folder.path()).unwrap();
    assert!(found.is_empty(), "{}", found.render(false));
    let (crds, found) = crds(&mut tree);
    assert!(found.is_empty(), "{}", found.render(false));
    let [crd] = crds.as_slice() else { panic!("one CRD, not {crds:?}") };
    assert_eq!(crd.file_name, "example.com_boxes.yaml");
    assert_eq!(crd.value["spec"]["names"]["shortNames"], json!(["b5"]));
    let versions = crd.value["spec"]["versions"].as_array().unwrap();
    let names: Vec<&str> = versions.iter().map(|version| version["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "foo1"]);
    let stored: Vec<bool> = versions.iter().map(|version| version["storage"].as_bool().unwrap()).collect();
    assert_eq!(stored, [false, false, true, false, false, false, false]);
}

#[test]
fn only_what_the_api_server_fills_in_is_dropped() {
    let crd = json!({ "kind": "X", "metadata": { "creationTimestamp": null, "name": "n" }, "status": { "a": 1 } });
    assert_eq!(crd::canonical(crd), json!({ "kind": "X", "metadata": { "name": "n" } }));
}
