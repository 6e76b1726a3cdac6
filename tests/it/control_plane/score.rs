//! kube-score on the projects' manifests. It needs Go, so it runs at this level.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::control_plane::kubectl;
use crate::control_plane::tool::tool;
use crate::golden::samples::MULTI_GROUP;
use crate::sandbox::{OFFLINE, Sandbox};

/// Accepted findings of every project, each with the reason.
const REASONS: &[(&str, &str)] = &[
    (
        "container-ephemeral-storage-request-and-limit",
        "the file system of the manager is read-only, and the kubelet rotates its log",
    ),
    ("container-image-tag", "`controller:latest` stands for the image until IMG names one"),
    ("container-security-context-user-group-id", "the image has the user, so that OpenShift may choose another one"),
    ("deployment-replicas", "one manager works at a time; more of them stand by if the author wants that"),
    (
        "pod-networkpolicy",
        "`--network-policy` adds one for what comes in; where the manager goes only its author knows",
    ),
];

fn findings(manifests: &str) -> BTreeSet<String> {
    let mut score = Command::new(tool("score", "github.com/zegl/kube-score/cmd/kube-score"));
    score.args(["score", "--output-format=json", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut score = score.spawn().unwrap();
    score.stdin.take().unwrap().write_all(manifests.as_bytes()).unwrap();
    let objects: Value = serde_json::from_slice(&score.wait_with_output().unwrap().stdout).unwrap();
    let objects = objects.as_array().unwrap();
    assert!(objects.iter().any(|object| object["type_meta"]["kind"] == "Deployment"), "{objects:#?}");
    let checks = objects.iter().flat_map(|object| object["checks"].as_array().into_iter().flatten());
    // Ten is the best grade.
    let found =
        checks.filter(|check| check["skipped"] != true && check["grade"].as_i64().is_some_and(|grade| grade < 10));
    found.map(|check| check["check"]["id"].as_str().unwrap().to_owned()).collect()
}

fn rendered(project: &Sandbox) -> String {
    let mut kustomize = Command::new(kubectl());
    let output = kustomize.args(["kustomize", "config/default"]).current_dir(project.root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_finding_has_a_reason() {
    let known: BTreeSet<String> = REASONS.iter().map(|(check, _)| (*check).to_owned()).collect();
    let plain = Sandbox::project("");
    let several = Sandbox::new();
    several.run(&format!("{} {OFFLINE}", MULTI_GROUP[0])).success();
    for command in &MULTI_GROUP[1..] {
        several.run(command).success();
    }
    for project in [&plain, &several] {
        assert_eq!(findings(&rendered(project)), known);
    }

    let wrong = rendered(&plain).replace("readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false");
    let found = findings(&wrong);
    let more: Vec<&String> = found.difference(&known).collect();
    assert_eq!(more, ["container-security-context-readonlyrootfilesystem"]);
}
