//! Runs the commands of `docs/releasing.md` on a real control plane, with a process for each pod, and checks the page's
//! claims.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::kubelet::Kubelet;
use super::{ControlPlane, kubectl};
use crate::control_plane::makefile;
use crate::generated;
use crate::golden::docs;

const PAGE: &str = include_str!("../../../docs/releasing.md");
const CRD: &str = "memcacheds.cache.example.com";
/// Ten times a usual step on two busy cores.
const LIMIT: Duration = Duration::from_secs(120);
const PERIOD: Duration = Duration::from_millis(200);

/// Replaces Docker: an image is a binary of cargo.
const DOCKER: &str = r#"#!/bin/sh
set -e
case "$1" in
build) cargo build --quiet && cp "$CARGO_TARGET_DIR/debug/op" "$IMAGES/$(echo "$3" | tr /: __)" ;;
esac
"#;

struct Releases {
    plane: ControlPlane,
    home: tempfile::TempDir,
    _kubelet: Kubelet,
}

impl Releases {
    fn folder(&self, number: usize) -> PathBuf {
        self.home.path().join(format!("release-{number}"))
    }

    /// Copies the project, to deploy it again later.
    fn keep(&self, number: usize) {
        let status = std::process::Command::new("cp")
            .args(["-r", "op"])
            .arg(self.folder(number))
            .current_dir(self.home.path())
            .status();
        assert!(status.unwrap().success());
    }

    fn deploy(&self, number: usize) -> Result<String, String> {
        let image = format!("IMG=registry.example.com/op:v{number}");
        makefile::make(&self.folder(number), &self.plane.admin, &["deploy", "YES=1", "TIMEOUT=120s", &image])
    }

    /// Applies release 3's CRD without the old version and its conversion.
    fn deploy_release_4(&self) -> Result<String, String> {
        let admin = &self.plane.admin;
        let rendered = admin.run(&["kustomize", &self.folder(3).join("config/crd").display().to_string()]);
        let mut crd: Value = serde_yaml::from_str(&rendered).unwrap();
        crd["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == "v1");
        crd["spec"].as_object_mut().unwrap().remove("conversion");
        admin.attempt(&["apply", "--server-side", "--force-conflicts", "-f", "-"], &crd.to_string())
    }

    /// Fails unless the conversion is exactly the default: the operator must not add or leave fields.
    fn has_no_conversion(&self) {
        let crd = self.plane.admin.get(&["crd", CRD]).unwrap();
        assert_eq!(crd["spec"]["conversion"], json!({ "strategy": "None" }));
    }

    fn stored_versions(&self) -> Value {
        self.plane.admin.get(&["crd", CRD]).unwrap()["status"]["storedVersions"].clone()
    }

    /// The sample can be read and written in these versions.
    fn serves(&self, versions: &[&str]) {
        for version in versions {
            let kind = format!("memcacheds.{version}.cache.example.com");
            self.plane.admin.wait(&format!("{version} to be served"), LIMIT, || {
                self.plane.admin.get(&[&kind])?;
                self.plane.admin.attempt(&["annotate", &kind, "memcached-sample", "--overwrite", "by=test"], "")
            });
        }
    }
}

/// A user who lists the objects in each version continuously.
struct User {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<usize>>,
}

impl User {
    fn start(plane: &ControlPlane) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let user = |version: &'static str| {
            let (ended, admin) = (ended.clone(), plane.administrator(&format!("user-{version}")));
            let path = format!("/apis/cache.example.com/{version}/namespaces/default/memcacheds");
            std::thread::spawn(move || {
                let mut failed = 0;
                while !ended.load(Ordering::SeqCst) {
                    // Before release 2, v1 does not exist.
                    if let Err(error) = admin.attempt(&["get", "--raw", &path], "")
                        && !error.contains("NotFound")
                    {
                        eprintln!("{version}: {error}");
                        failed += 1;
                    }
                    std::thread::sleep(PERIOD);
                }
                failed
            })
        };
        let threads = ["v1alpha1", "v1"].map(user).into_iter().collect();
        Self { ended, threads }
    }

    /// Returns the numbers of failed requests for v1alpha1 and v1.
    fn end(self) -> Vec<usize> {
        self.ended.store(true, Ordering::SeqCst);
        self.threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }
}

fn unreachable(policy: &str) -> String {
    let rule = json!({
        "apiGroups": ["cache.example.com"], "apiVersions": ["*"], "resources": ["memcacheds"], "operations": ["UPDATE"],
    });
    let webhook = json!({
        "name": "down.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": [rule],
        "failurePolicy": policy, "clientConfig": { "url": "https://127.0.0.1:1/" },
    });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": "down" }, "webhooks": [webhook],
    })
    .to_string()
}

#[test]
fn the_releases_of_the_page_are_made() {
    let home = tempfile::tempdir().unwrap();
    let [images, docker] = ["images", "docker"].map(|name| home.path().join(name));
    std::fs::create_dir(&images).unwrap();
    write_program(&docker, DOCKER);
    let plane = ControlPlane::start();
    let text = |path: &Path| path.display().to_string();
    let env = [
        ("KUBECONFIG", text(plane.admin.kubeconfig())),
        ("KUBEBUILDER_ASSETS", text(kubectl().parent().unwrap())),
        ("CONTAINER_TOOL", text(&docker)),
        ("IMAGES", text(&images)),
        ("YES", "1".to_owned()),
        ("CARGO_TARGET_DIR", text(&generated::target())),
    ];
    let kubelet = Kubelet::start(&plane, "op", CRD, &images);
    let path = home.path().to_owned();
    let releases = Releases { plane, home, _kubelet: kubelet };
    let mut user = None;
    docs::runs_by_section("docs/releasing.md", &path, "op", &env, |section| {
        eprintln!("done: {section}");
        let failed = user.take().map(User::end);
        match section {
            "Release 1" => {
                releases.keep(1);
                releases.serves(&["v1alpha1"]);
                user = Some(User::start(&releases.plane));
            }
            "Ship the conversion" => {
                releases.keep(2);
                // Requests for v1 may fail.
                assert_eq!(failed.unwrap()[0], 0);
                releases.serves(&["v1alpha1", "v1"]);
                assert_eq!(releases.stored_versions(), json!(["v1alpha1"]));
                // Release 2 to release 1, and back. Nothing is deleted.
                releases.deploy(1).unwrap();
                releases.has_no_conversion();
                releases.serves(&["v1alpha1"]);
                releases.plane.admin.get(&["service", "op-webhook-service", "-n", "op-system"]).unwrap();
                releases.deploy(2).unwrap();
                releases.serves(&["v1alpha1", "v1"]);
                user = Some(User::start(&releases.plane));
            }
            "Store the new version" => {
                releases.keep(3);
                assert_eq!(failed.unwrap(), [0, 0]);
                releases.serves(&["v1alpha1", "v1"]);
                assert_eq!(releases.stored_versions(), json!(["v1alpha1", "v1"]));
                // Release 3 to release 2, and back.
                releases.deploy(2).unwrap();
                releases.serves(&["v1alpha1", "v1"]);
                releases.deploy(3).unwrap();
                // Release 3 to release 1, and release 4 too early.
                let lost = releases.deploy(1).unwrap_err();
                assert!(lost.contains("must remain in spec.versions"), "{lost}");
                releases.deploy(3).unwrap();
                releases.serves(&["v1alpha1", "v1"]);
                let early = releases.deploy_release_4().unwrap_err();
                assert!(early.contains(quoted("status.storedVersions[0]")), "{early}");
                releases.deploy(3).unwrap();
                releases.serves(&["v1alpha1", "v1"]);
            }
            "Migrate the stored objects" => {
                assert_eq!(releases.stored_versions(), json!(["v1"]));
                // Release 4, and back to release 3.
                releases.deploy_release_4().unwrap();
                releases.has_no_conversion();
                releases.serves(&["v1"]);
                releases.deploy(3).unwrap();
                releases.serves(&["v1alpha1", "v1"]);
            }
            "Webhooks that fail closed" => {
                let admin = &releases.plane.admin;
                let write =
                    || admin.attempt(&["annotate", "memcacheds", "memcached-sample", "--overwrite", "by=webhook"], "");
                admin.send(&["apply", "-f", "-"], &unreachable("Fail"));
                admin.wait("a refusal", LIMIT, || write().err().ok_or_else(|| "written".to_owned()));
                admin.send(&["apply", "-f", "-"], &unreachable("Ignore"));
                admin.wait("a write", LIMIT, write);
                admin.run(&["delete", "validatingwebhookconfiguration", "down"]);
            }
            "Start from zero replicas" => {
                let admin = &releases.plane.admin;
                let scale = |replicas: &str| {
                    let deployment = ["scale", "deployment/op-controller-manager", "-n", "op-system"];
                    admin.run(&[&deployment[..], &["--replicas", replicas]].concat());
                };
                scale("0");
                // The API server may answer a read from its cache.
                let kind = "memcacheds.v1alpha1.cache.example.com";
                let old = || admin.attempt(&["annotate", kind, "memcached-sample", "--overwrite", "by=zero"], "");
                admin.wait("a failure", LIMIT, || old().err().ok_or_else(|| "converted".to_owned()));
                releases.serves(&["v1"]);
                scale("1");
                releases.serves(&["v1alpha1", "v1"]);
            }
            _ => {}
        }
    });
}

fn quoted(start: &str) -> &'static str {
    PAGE.lines().find(|line| line.starts_with(start)).unwrap()
}

fn write_program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
