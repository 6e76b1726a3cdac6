//! The clusters that the tests may use.

use std::process::Command;

use crate::cluster::permitted;

#[test]
fn only_clusters_for_tests_are_permitted() {
    for (context, repeated, expected) in [
        ("memcached-sdk", None, true),
        ("minikube", None, true),
        ("kind-kind", None, true),
        ("kind", None, false),
        ("my-kind-kind", None, false),
        ("production", None, false),
        ("production", Some("staging"), false),
        ("production", Some(""), false),
        ("production", Some("production"), true),
    ] {
        assert_eq!(permitted(context, repeated).is_ok(), expected, "{context} {repeated:?}");
    }
}

/// The node test refuses a foreign cluster before it sends a request.
#[test]
fn another_cluster_is_not_touched() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let address = server.local_addr().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config");
    let text = format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\n\
         contexts: [{{name: production, context: {{cluster: c}}}}]\ncurrent-context: production\n"
    );
    std::fs::write(&config, text).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "node::pods_of_a_memcached_answer"])
        .env("KUBECONFIG", &config)
        .env_remove("E2E_CONTEXT")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("set E2E_CONTEXT=production"), "{said}");
    assert!(server.accept().is_err(), "a request has been made");
}
