use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::control_plane::{self, ControlPlane};
use crate::sandbox::{Run, Sandbox};

const LIMIT: Duration = Duration::from_secs(120);
const OBJECTS: usize = 1_000;

/// A CRD with these versions; the first one is stored.
fn definition(plural: &str, versions: &[&str]) -> Value {
    let spec = json!({ "type": "object", "properties": { "size": { "type": "integer" } } });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
    let version = |(index, name): (usize, &&str)| json!({ "name": name, "served": true, "storage": index == 0, "schema": schema });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.example.com") },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "kind": plural, "plural": plural },
            "versions": versions.iter().enumerate().map(version).collect::<Vec<_>>(),
        },
    })
}

/// Creates objects of the first version, then makes the second one the storage version.
fn outdated(admin: &Cluster, plural: &str, count: usize) {
    let crd = format!("crd/{plural}.example.com");
    admin.send(&["create", "-f", "-"], &definition(plural, &["v1alpha1"]).to_string());
    admin.run(&["wait", "--for=condition=Established", &crd, "--timeout=120s"]);
    let object = |number: usize| {
        let metadata = json!({ "name": format!("thing-{number}"), "namespace": "default" });
        let spec = json!({ "size": number });
        json!({ "apiVersion": "example.com/v1alpha1", "kind": plural, "metadata": metadata, "spec": spec })
    };
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": (0..count).map(object).collect::<Vec<_>>() });
    admin.wait("the kind to be served", LIMIT, || admin.attempt(&["get", plural], ""));
    admin.send(&["create", "-f", "-"], &list.to_string());
    admin.send(&["replace", "-f", "-"], &definition(plural, &["v1", "v1alpha1"]).to_string());
    admin.wait_for("two stored versions", &[&crd], |crd| crd["status"]["storedVersions"] == json!(["v1alpha1", "v1"]));
}

fn remove_version(admin: &Cluster, plural: &str) -> Result<String, String> {
    admin.attempt(&["replace", "-f", "-"], &definition(plural, &["v1"]).to_string())
}

fn migrate(admin: &Cluster, sandbox: &Sandbox, plural: &str, flags: &str) -> Run {
    let kubeconfig = admin.kubeconfig().display();
    let arguments = format!("migrate storage {plural}.example.com --kubeconfig {kubeconfig} {flags}");
    let folder = control_plane::kubectl().parent().unwrap().to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&path))).unwrap();
    sandbox.finish(&arguments, sandbox.command(&arguments).env("PATH", path))
}

#[test]
fn objects_are_migrated_while_they_change() {
    let plane = ControlPlane::start();
    let (admin, sandbox) = (&plane.admin, Sandbox::new());
    outdated(admin, "things", OBJECTS);
    let refused = remove_version(admin, "things").unwrap_err();
    assert!(refused.contains("status.storedVersions"), "{refused}");

    let dry = migrate(admin, &sandbox, "things", "--dry-run").success();
    assert!(dry.err().contains("1000 objects can be rewritten in `v1`: nothing was written"), "{}", dry.err());
    let refused = remove_version(admin, "things").unwrap_err();
    assert!(refused.contains("status.storedVersions"), "{refused}");

    let (done, changes) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                let number = changes.fetch_add(1, Ordering::SeqCst);
                let args = ["annotate", "things", "--all", "--overwrite", &format!("example.com/change={number}")];
                if let Err(error) = admin.attempt(&args, "") {
                    // The error for the deleted object.
                    assert!(error.contains("NotFound"), "{error}");
                }
            }
        });
        // The last object may be deleted before the migration reaches it.
        admin.run(&["delete", "things", &format!("thing-{}", OBJECTS - 1), "--wait=false"]);
        let started = Instant::now();
        let migrated = migrate(admin, &sandbox, "things", "--page-size 100");
        let took = started.elapsed();
        done.store(true, Ordering::SeqCst);
        let said = migrated.success().err();
        assert!(said.contains("objects are stored in `v1`"), "{said}");
        eprintln!("{OBJECTS} objects in {took:?} beside {} rounds of changes:\n{said}", changes.load(Ordering::SeqCst));
    });

    remove_version(admin, "things").unwrap();
    let crd = admin.get(&["crd", "things.example.com"]).unwrap();
    assert_eq!(crd["status"]["storedVersions"], json!(["v1"]));
    // kubectl caches the old versions for a while.
    let things = admin.wait("the list", LIMIT, || admin.get(&["things.v1.example.com"]));
    let things = things["items"].as_array().unwrap();
    assert_eq!(things.len(), OBJECTS - 1);
    for thing in things {
        assert_eq!(thing["apiVersion"], "example.com/v1");
        assert_eq!(thing["metadata"]["name"], format!("thing-{}", thing["spec"]["size"]));
    }
    let again = migrate(admin, &sandbox, "things", "").success();
    assert_eq!(again.err(), "things.example.com: all objects are stored in `v1`\n");

    // `storedVersions` must not omit a version with stored objects.
    outdated(admin, "losts", 1);
    let forget = r#"--patch={"status":{"storedVersions":["v1"]}}"#;
    admin.run(&["patch", "crd", "losts.example.com", "--subresource=status", "--type=merge", forget]);
    remove_version(admin, "losts").unwrap();
    admin.wait("an unreadable object", LIMIT, || match admin.get(&["losts.v1.example.com"]) {
        Err(error) if error.contains("v1alpha1") => Ok(()),
        answer => Err(format!("{answer:?}")),
    });
}

#[test]
fn objects_that_can_not_be_rewritten_keep_their_version() {
    let plane = ControlPlane::shared();
    let (admin, sandbox) = (&plane.admin, Sandbox::new());
    outdated(admin, "stones", 3);
    let rule = json!({
        "apiGroups": ["example.com"], "apiVersions": ["*"], "resources": ["stones"], "operations": ["UPDATE"],
    });
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": "frozen" },
        "spec": {
            "matchConstraints": { "resourceRules": [rule] },
            "validations": [{ "expression": "object.metadata.name == 'thing-0'", "message": "stones are frozen" }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": "frozen" },
        "spec": { "policyName": "frozen", "validationActions": ["Deny"] },
    });
    for object in [policy, binding] {
        admin.send(&["create", "-f", "-"], &object.to_string());
    }
    admin.wait("the policy", LIMIT, || {
        match admin.attempt(&["annotate", "stones", "thing-1", "a=b", "--dry-run=server"], "") {
            Err(error) if error.contains("stones are frozen") => Ok(()),
            answer => Err(format!("{answer:?}")),
        }
    });
    for flags in ["--dry-run", ""] {
        let said = migrate(admin, &sandbox, "stones", flags).code(1).err();
        assert!(said.contains("2 objects of `stones.example.com` could not be rewritten"), "{said}");
        assert!(said.contains("stones are frozen"), "{said}");
    }
    let crd = admin.get(&["crd", "stones.example.com"]).unwrap();
    assert_eq!(crd["status"]["storedVersions"], json!(["v1alpha1", "v1"]));

    let missing = sandbox.run("migrate storage Thing").code(1);
    assert!(missing.err().contains("write them as PLURAL.GROUP"), "{}", missing.err());
}
