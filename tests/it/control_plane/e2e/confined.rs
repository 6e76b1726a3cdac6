//! An operator that PROJECT limits to a list of namespaces runs with the Roles in these namespaces only.

use std::time::Duration;

use serde_json::json;

use super::{IDENTITY, Request, audit, forbidden};
use crate::control_plane::{ControlPlane, Process, free_ports};
use crate::generated::{ACCOUNT, Project, SYSTEM};
use crate::http;
use crate::sandbox::{OFFLINE, Sandbox};

/// Ten times a usual step on two busy cores.
const LIMIT: Duration = Duration::from_secs(60);

/// The sample with a list of namespaces.
fn confined(namespaces: &str) -> Sandbox {
    let project = Sandbox::new();
    project.run(&format!("new memcached-operator --sample memcached --namespaces {namespaces} {OFFLINE}")).success();
    project
}

#[test]
fn a_confined_operator_works_in_its_namespaces_and_asks_for_nothing_elsewhere() {
    let project = confined("one,two");
    let plane = ControlPlane::start();
    for namespace in ["one", "two", "other"] {
        plane.admin.run(&["create", "namespace", namespace]);
    }
    Project::deploy_from(&project.path("memcached-operator/config"), &plane.admin);
    let deployment = plane.admin.get(&["deployment", "-n", SYSTEM, ACCOUNT]).unwrap();
    let env = deployment["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap();
    let watched = env.iter().find(|env| env["name"] == "WATCH_NAMESPACE").unwrap();
    assert_eq!(watched["value"], "one,two");

    let account = plane.service_account(SYSTEM, ACCOUNT);
    let env = [
        ("KUBECONFIG".to_owned(), account.kubeconfig().display().to_string()),
        ("WATCH_NAMESPACE".to_owned(), "one,two".to_owned()),
    ];
    let [probes] = free_ports();
    let args = [
        format!("--health-probe-bind-address=127.0.0.1:{probes}"),
        "--leader-elect".to_owned(),
        format!("--leader-election-namespace={SYSTEM}"),
    ];
    let mut operator = Process::start(plane.dir(), Project::sample().binary(), &args, &env);
    let mut admin = plane.admin.clone();
    admin.show_log(operator.log());
    admin.wait("the operator to be ready", LIMIT, || http::get(probes, "/readyz").map(drop));

    // The object in an unwatched namespace is created first.
    for namespace in ["other", "one", "two"] {
        let mut memcached = super::memcached("cache", &json!({ "size": 1 }));
        memcached["metadata"]["namespace"] = json!(namespace);
        admin.send(&["create", "-f", "-"], &memcached.to_string());
    }
    for namespace in ["one", "two"] {
        admin.wait_for("the Deployment", &["-n", namespace, "deployment", "cache"], |deployment| {
            deployment["spec"]["replicas"] == 1
        });
        admin.wait_for("the status", &["-n", namespace, "memcached", "cache"], |memcached| {
            memcached["status"]["replicas"] == 1
        });
    }
    for namespace in ["one", "two"] {
        admin.run(&["delete", "memcached", "-n", namespace, "cache", "--wait=false"]);
        admin.wait_gone(&["-n", namespace, "memcached", "cache"]);
        admin.wait_for("the event", &["-n", namespace, "events.events.k8s.io"], |events| {
            events["items"].as_array().is_some_and(|events| events.iter().any(|event| event["reason"] == "Deleting"))
        });
    }
    assert_eq!(operator.terminate(), Some(0));
    let ignored = admin.get(&["-n", "other", "memcached", "cache"]).unwrap();
    assert_eq!((&ignored["metadata"]["finalizers"], &ignored["status"]), (&json!(null), &json!(null)), "{ignored:#}");
    assert!(admin.get(&["-n", "other", "deployment", "cache"]).is_err());

    let requests = audit::requests(&plane.audit_log());
    let requests: Vec<Request> = requests.into_iter().filter(|request| request.user == IDENTITY).collect();
    assert_eq!(forbidden(&requests), Vec::<&Request>::new());
    // No scrape and no repeated event happen here.
    let run = super::verify(&plane, &project.path("memcached-operator")).code(1);
    let unused = ["`create tokenreviews.", "`create subjectaccessreviews.", "`patch events."];
    assert!(unused.iter().all(|permission| run.err().contains(permission)), "{run}");
    assert!(run.err().ends_with(": 3 findings\n") && !run.err().contains("rbac-missing"), "{run}");

    // Counter-check: a shorter list lacks the permissions for the other namespace.
    let smaller = confined("one");
    let run = super::verify(&plane, &smaller.path("memcached-operator")).code(1);
    let help = "the operator may do so in `one`: add the other namespace to `namespaces` in PROJECT";
    assert!(
        run.err().contains("watch services` was requested by `Manager::objects::<Service>`")
            && run.err().contains(help),
        "{run}"
    );
}
