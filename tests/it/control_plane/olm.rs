//! Bundles, checked with OLM's validators. Those of the samples have every object that kustomize renders, and `bundle
//! validate` agrees about broken bundles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::control_plane::kubectl;
use crate::control_plane::makefile::make;
use crate::control_plane::tool::tool;
use crate::golden::bundle::{VALIDATE, broken};
use crate::golden::samples::whole;
use crate::sandbox::{Sandbox, files, join};

/// The result of `tests/olm` for a bundle.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Verdict {
    pub(super) errors: Vec<String>,
    warnings: Vec<String>,
}

pub(super) fn judge(sandbox: &Sandbox) -> Verdict {
    let output = Command::new(tool("olm", ".")).arg("bundle").current_dir(sandbox.root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn objects(text: &str) -> Vec<Value> {
    let objects: Vec<Value> = serde_yaml::from_multiple(text).unwrap();
    objects.into_iter().filter(|object| !object.is_null()).collect()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns true if an account of the CSV has all these rules.
fn granted(csv: &Value, rules: &[Value]) -> bool {
    let install = &csv["spec"]["install"]["spec"];
    let lists = ["permissions", "clusterPermissions"].into_iter().flat_map(|list| items(&install[list]));
    lists.into_iter().any(|account| rules.iter().all(|rule| items(&account["rules"]).contains(rule)))
}

/// Objects of the stream that are neither in the CSV nor in a file, by kind and name.
pub(super) fn lost(stream: &str, bundle: &Path) -> BTreeSet<String> {
    let files: BTreeMap<String, Value> = files(&bundle.join("manifests"))
        .into_iter()
        .map(|(path, text)| (path, serde_yaml::from_str(&text).unwrap()))
        .collect();
    let csv = files.values().find(|object| object["kind"] == "ClusterServiceVersion").unwrap();
    let spec = &csv["spec"];
    let examples: Value =
        serde_json::from_str(csv["metadata"]["annotations"]["alm-examples"].as_str().unwrap()).unwrap();
    let stream = objects(stream);
    let role_of = |binding: &Value| {
        let role = &binding["roleRef"];
        stream.iter().find(|object| object["kind"] == role["kind"] && object["metadata"]["name"] == role["name"])
    };
    let is_there = |object: &Value| {
        let name = &object["metadata"]["name"];
        let mut beside = object.clone();
        beside["metadata"].as_object_mut().unwrap().remove("namespace");
        if files.values().any(|file| *file == beside) {
            return true;
        }
        let deployments = items(&spec["install"]["spec"]["deployments"]);
        match object["kind"].as_str().unwrap() {
            "ClusterServiceVersion" => spec["displayName"] == object["spec"]["displayName"],
            "Namespace" => csv["metadata"]["annotations"]["operatorframework.io/suggested-namespace"] == *name,
            "Configuration" => bundle.join("tests/scorecard/config.yaml").exists(),
            "Deployment" => deployments.iter().any(|deployment| {
                let [made, given] = [&deployment["spec"], &object["spec"]].map(|spec| {
                    let container = &spec["template"]["spec"]["containers"][0];
                    (spec["selector"].clone(), container["image"].clone(), container["securityContext"].clone())
                });
                deployment["name"] == *name && made == given
            }),
            "ServiceAccount" => deployments
                .iter()
                .any(|deployment| deployment["spec"]["template"]["spec"]["serviceAccountName"] == *name),
            "Role" | "ClusterRole" => granted(csv, items(&object["rules"])),
            "RoleBinding" | "ClusterRoleBinding" => {
                role_of(object).is_some_and(|role| granted(csv, items(&role["rules"])))
            }
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
                items(&object["webhooks"]).iter().all(|webhook| {
                    items(&spec["webhookdefinitions"]).iter().any(|definition| {
                        definition["generateName"] == webhook["name"]
                            && definition["rules"] == webhook["rules"]
                            && definition["webhookPath"] == webhook["clientConfig"]["service"]["path"]
                    })
                })
            }
            _ => items(&examples).contains(object),
        }
    };
    let gone = stream.iter().filter(|object| !is_there(object));
    gone.map(|object| {
        let [kind, name] = [&object["kind"], &object["metadata"]["name"]].map(|text| text.as_str().unwrap());
        format!("{kind} {name}")
    })
    .collect()
}

fn bundle(name: &str) -> (Sandbox, String) {
    let sandbox = whole(name);
    sandbox.run("generate kustomize manifests --min-kube-version 1.30.0 --provider Team").success();
    let mut kustomize = Command::new(kubectl());
    let output = kustomize.args(["kustomize", "config/manifests"]).current_dir(sandbox.root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let stream = String::from_utf8(output.stdout).unwrap();
    sandbox.pipe("generate bundle --version 0.1.0 --channels stable", &stream).success();
    (sandbox, stream)
}

#[test]
fn a_bundle_has_what_kustomize_renders() {
    for (name, csv, own) in [
        ("memcached-operator", snapbox::file!["olm/memcached-operator.yaml"], &[][..]),
        (
            "multi-group",
            snapbox::file!["olm/multi-group.yaml"],
            // OLM creates the certificates.
            &[
                "ClusterRole multi-group-webhook-ca-role",
                "ClusterRoleBinding multi-group-webhook-ca-rolebinding",
                "Role multi-group-webhook-cert-role",
                "RoleBinding multi-group-webhook-cert-rolebinding",
            ][..],
        ),
    ] {
        let (sandbox, stream) = bundle(name);
        let own: BTreeSet<String> = own.iter().map(ToString::to_string).collect();
        assert_eq!(lost(&stream, &sandbox.path("bundle")), own, "{name}");
        let mut made = files(&sandbox.path("bundle"));
        let file = format!("manifests/{name}.clusterserviceversion.yaml");
        let text = made.remove(&file).unwrap();
        let names: String = made.keys().map(|path| format!("# bundle/{path}\n")).collect();
        snapbox::assert_data_eq!(names + &text, csv.raw());

        sandbox.pipe("generate bundle --check", &stream).success();
        let before = sandbox.files();
        for _ in 0..2 {
            let mut command = sandbox.command("generate bundle --manifests stream.yaml");
            sandbox.file("stream.yaml", &stream);
            sandbox.finish("at a time", command.env("SOURCE_DATE_EPOCH", "1000000000")).success();
            std::fs::remove_file(sandbox.path("stream.yaml")).unwrap();
        }
        let path = format!("bundle/{file}");
        let after = sandbox.files();
        let created = after[&path].replace("    createdAt: \"2001-09-09T01:46:40Z\"\n", "");
        assert_ne!(after[&path], before[&path], "{name}");
        let after = after.into_iter().map(|(of, text)| if of == path { (of, created.clone()) } else { (of, text) });
        assert!(after.collect::<BTreeMap<_, _>>() == before, "{name}: {}", join(&sandbox.files()));

        sandbox.run("bundle validate").success().stderr("`bundle` has no error\n");
        let verdict = judge(&sandbox);
        assert_eq!(verdict.errors, [""; 0], "{name}");
        assert_eq!(verdict.warnings, [format!("Warning: Value : ({name}.v0.1.0) csv.Spec.Icon not specified")]);

        // Counter-check: a removed file is reported.
        let role = sandbox
            .path("bundle/manifests")
            .join(made.keys().find(|path| path.contains("viewer")).unwrap().strip_prefix("manifests/").unwrap());
        std::fs::remove_file(role).unwrap();
        assert_eq!(lost(&stream, &sandbox.path("bundle")).len(), own.len() + 1, "{name}");
    }
}

#[test]
fn make_makes_a_bundle_and_a_catalog() {
    // These targets send no request.
    let cluster = Cluster::new(kubectl(), "/dev/null");
    let project = whole("memcached-operator");
    let make = |args: &[&str]| make(project.root(), &cluster, args);
    project.run("edit --plugins olm").success();
    project.run("generate kustomize manifests --provider Team --min-kube-version 1.30.0").success();
    let said = make(&["bundle", "CHANNELS=stable,fast", "DEFAULT_CHANNEL=stable"]).unwrap();
    assert!(said.ends_with("`bundle` has no error\n"), "{said}");
    make(&["catalog"]).unwrap();
    let said = make(&["bundle", "IMG=registry.example.com/a@sha256:0", "VERSION=0.2.0"]).unwrap_err();
    assert!(said.contains("[bundle-image]"), "{said}");
    let replaces = "BUNDLE_ARGS=--replaces=memcached-operator.v0.1.0";
    make(&["bundle", "IMG=registry.example.com/a:v2", "VERSION=0.2.0", replaces]).unwrap();
    assert_eq!(judge(&project).errors, [""; 0]);
    make(&["catalog", "VERSION=0.2.0"]).unwrap();
    let csv = project.read("bundle/manifests/memcached-operator.clusterserviceversion.yaml");
    assert!(csv.contains("containerImage: registry.example.com/a:v2\n"), "{csv}");
    let catalog = objects(&project.read("catalog/memcached-operator/catalog.yaml"));
    let named = |schema: &str| -> Vec<&Value> { catalog.iter().filter(|blob| blob["schema"] == *schema).collect() };
    let entries = json!([
        { "name": "memcached-operator.v0.1.0" },
        { "name": "memcached-operator.v0.2.0", "replaces": "memcached-operator.v0.1.0" },
    ]);
    assert_eq!(named("olm.channel").iter().map(|channel| &channel["entries"]).collect::<Vec<_>>(), [&entries; 2]);
    let images: Vec<&Value> = named("olm.bundle").iter().map(|bundle| &bundle["image"]).collect();
    let base = "registry.example.com/memcached-operator-bundle";
    assert_eq!(images, [&json!(format!("{base}:v0.1.0")), &json!(format!("{base}:v0.2.0"))]);
    // The files in the Dockerfiles must not be ignored.
    let ignored = project.read(".dockerignore");
    for file in ["bundle.Dockerfile", "catalog.Dockerfile"] {
        for folder in project.read(file).lines().filter_map(|line| line.strip_prefix("COPY ")) {
            let folder = folder.split(' ').next().unwrap();
            assert!(project.path(folder).is_dir(), "{file}: {folder}");
            let kept = format!("!{}/**", folder.split('/').next().unwrap());
            assert!(ignored.lines().any(|line| line == kept), "{ignored}");
        }
    }
}

/// Defects that `bundle validate` reports and these validators do not, each with the tool that rejects them.
const DIFFERENCES: &[(&str, &str)] = &[
    ("no metadata", REGISTRY),
    ("two documents", "OLM installs the first alone"),
    ("no package", REGISTRY),
    ("another media type", REGISTRY),
    ("another default channel", REGISTRY),
    ("no annotations", REGISTRY),
    ("a webhook of another Deployment", OLM),
    ("a webhook of no type", OLM),
    ("two webhooks of one name", OLM),
    ("a conversion of another CRD", OLM),
    ("a kind that OLM has not", REGISTRY),
    ("an object in a namespace", OLM),
    ("an object without a name", OLM),
    ("an icon that is no Base64", "nobody can show it"),
];
/// operator-sdk uses it as well.
const REGISTRY: &str = "operator-registry, which reads the annotations and the kinds";
const OLM: &str = "OLM, when it installs the bundle";

#[test]
fn broken_bundles_are_refused_as_by_olm() {
    let mut different = Vec::new();
    for (what, sandbox) in broken() {
        let (theirs, ours) = (judge(&sandbox), sandbox.run(VALIDATE));
        let (refused, warned) = (ours.exit_code() == Some(1), ours.err().contains("warning["));
        if theirs.errors.is_empty() {
            assert_eq!(warned, !theirs.warnings.is_empty(), "{what}: {theirs:?}\n{ours}");
            different.extend(refused.then_some(what));
        } else {
            assert!(refused, "{what}: {theirs:?}\n{ours}");
        }
    }
    assert_eq!(different, DIFFERENCES.iter().map(|(what, _)| *what).collect::<Vec<_>>());
}
