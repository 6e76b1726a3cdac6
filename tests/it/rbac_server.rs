//! The API server judges roles: what the checks of markers say about rules, and what the written roles allow.

use memcached_sdk::manifest::rbac;
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::rbac::load;

/// What the server does with the rule of a marker, all of which is real: roles, bindings and reviews of access.
enum Verdict {
    /// It refuses the role, and says this.
    Refused(&'static str),
    /// It takes the role, but this request, which the marker wants, is forbidden.
    Never(Request),
    /// This request is allowed.
    Allowed(Request),
}

enum Request {
    /// Verb, group, resource, name, namespace.
    Resource(&'static str, &'static str, &'static str, &'static str, &'static str),
    /// Verb and path.
    Url(&'static str, &'static str),
}

use Request::{Resource, Url};
use Verdict::{Allowed, Never, Refused};

/// Markers without `+kubebuilder:rbac:`. There is a finding exactly where the rule is refused or the request forbidden.
const MARKERS: &[(&str, Verdict)] = &[
    ("groups=core,resources=pods,verbs=", Refused("verbs must contain at least one value")),
    ("urls=/metrics,verbs=get,namespace=one", Refused("non-resource URLs")),
    ("groups=core,urls=/metrics,verbs=get", Refused("both regular resources and non-resource URLs")),
    ("resourceNames=one,urls=/metrics,verbs=get", Refused("both regular resources and non-resource URLs")),
    ("resources=pods,verbs=get", Refused("at least one api group")),
    ("groups=core,verbs=get", Refused("at least one resource")),
    ("groups=core,resources=pods,verbs=get,roleName=a/b", Refused("may not contain '/'")),
    ("groups=core,resources=pods,verbs=get,namespace=One", Refused("")),
    ("groups=core,resources=pods,verbs=get,namespace=,roleName=x", Refused("")),
    ("groups=core,resources=pods,verbs=Get", Never(Resource("get", "", "pods", "", ""))),
    ("groups=core,resources=pods,verbs=;get", Never(Resource("get", "", "pods", "", ""))),
    ("groups=core,resources=pods,verbs=\"get,list\"", Never(Resource("get", "", "pods", "", ""))),
    ("groups=core,resources=pods,verbs=get list", Never(Resource("get", "", "pods", "", ""))),
    ("groups=core,resources=pods,verbs=read", Never(Resource("get", "", "pods", "", ""))),
    (
        "groups=cache.example.com,resources=memcacheds,verbs=updat",
        Never(Resource("update", "cache.example.com", "memcacheds", "", "")),
    ),
    ("groups=apps/v1,resources=deployments,verbs=get", Never(Resource("get", "apps", "deployments", "", ""))),
    ("groups=Apps,resources=deployments,verbs=get", Never(Resource("get", "apps", "deployments", "", ""))),
    ("groups=app,resources=deployments,verbs=get", Never(Resource("get", "apps", "deployments", "", ""))),
    (
        "groups=networking,resources=ingresses,verbs=get",
        Never(Resource("get", "networking.k8s.io", "ingresses", "", "")),
    ),
    ("groups=v1,resources=pods,verbs=get", Never(Resource("get", "", "pods", "", ""))),
    (
        "groups=*.example.com,resources=memcacheds,verbs=get",
        Never(Resource("get", "cache.example.com", "memcacheds", "", "")),
    ),
    ("groups=core,resources=deployments,verbs=get", Never(Resource("get", "apps", "deployments", "", ""))),
    ("groups=apps,resources=deployment,verbs=get", Never(Resource("get", "apps", "deployments", "", ""))),
    ("groups=apps,resources=Deployment,verbs=get", Never(Resource("get", "apps", "deployments", "", ""))),
    (
        "groups=cache.example.com,resources=Memcacheds,verbs=get",
        Never(Resource("get", "cache.example.com", "memcacheds", "", "")),
    ),
    ("groups=core,resources=pods/*,verbs=get", Never(Resource("get", "", "pods/log", "", ""))),
    ("groups=core,resources=\"\",verbs=get", Never(Resource("get", "", "pods", "", ""))),
    ("groups=core,resources=nodes,verbs=get,namespace=one", Never(Resource("get", "", "nodes", "", ""))),
    ("groups=core,resources=pods,resourceNames=one,verbs=create", Never(Resource("create", "", "pods", "", ""))),
    (
        "groups=core,resources=pods,resourceNames=one,verbs=deletecollection",
        Never(Resource("deletecollection", "", "pods", "", "")),
    ),
    ("groups=core,resources=pods,resourceNames=*,verbs=get", Never(Resource("get", "", "pods", "one", ""))),
    ("urls=metrics,verbs=get", Never(Url("get", "/metrics"))),
    ("urls=/apis/*/v1,verbs=get", Never(Url("get", "/apis/apps/v1"))),
    ("urls=/metrics,verbs=list", Never(Url("get", "/metrics"))),
    ("groups=core;apps,resources=pods;deployments,verbs=get", Allowed(Resource("get", "apps", "deployments", "", ""))),
    (
        "groups=core,resources=pods/exec,resourceNames=one,verbs=create",
        Allowed(Resource("create", "", "pods/exec", "one", "")),
    ),
    (
        "groups=core,resources=configmaps,resourceNames=one,verbs=list;watch",
        Allowed(Resource("list", "", "configmaps", "one", "")),
    ),
    (
        "groups=core,resources=configmaps,resourceNames=one,verbs=create;patch",
        Allowed(Resource("create", "", "configmaps", "one", "")),
    ),
    (
        "groups=core,resources=namespaces,verbs=get,namespace=one",
        Allowed(Resource("get", "", "namespaces", "one", "one")),
    ),
    ("groups=*,resources=*/scale,verbs=*", Allowed(Resource("patch", "apps", "deployments/scale", "", ""))),
    (
        "groups=security.openshift.io,resources=securitycontextconstraints,resourceNames=one,verbs=use",
        Allowed(Resource("use", "security.openshift.io", "securitycontextconstraints", "one", "")),
    ),
    (
        "groups=certificates.k8s.io,resources=signers,resourceNames=a.b/c,verbs=approve;sign;attest",
        Allowed(Resource("sign", "certificates.k8s.io", "signers", "a.b/c", "")),
    ),
    (
        "groups=core,resources=users;groups;serviceaccounts,verbs=impersonate",
        Allowed(Resource("impersonate", "", "users", "", "")),
    ),
    (
        "groups=rbac.authorization.k8s.io,resources=clusterroles,verbs=bind;escalate",
        Allowed(Resource("bind", "rbac.authorization.k8s.io", "clusterroles", "", "")),
    ),
    (
        "groups=cache.example.com,resources=memcacheds,verbs=flush",
        Allowed(Resource("flush", "cache.example.com", "memcacheds", "", "")),
    ),
    ("urls=/healthz/*;/metrics,verbs=get;post", Allowed(Url("post", "/healthz/etcd"))),
    ("urls=*,verbs=*", Allowed(Url("get", "/version"))),
];

#[test]
fn a_marker_is_warned_about_where_the_server_refuses_or_ignores_it() {
    let plane = ControlPlane::start();
    plane.admin.run(&["create", "namespace", "one"]);
    let mut wrong = Vec::new();
    for (number, (marker, verdict)) in MARKERS.iter().enumerate() {
        let (roles, findings) =
            rbac::roles(&load(&format!("// +kubebuilder:rbac:{marker}\n")), &format!("case-{number}"));
        assert!(!findings.has_errors(), "{marker}: {findings:?}");
        let mut all: Vec<Value> = roles.clone();
        all.extend(
            roles.iter().map(|role| binding(role, &json!({ "kind": "User", "name": format!("user-{number}") }))),
        );
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": all }).to_string();
        let answer = plane.admin.attempt(&["create", "-f", "-"], &list);
        let (right, warned) = match (verdict, &answer) {
            (Refused(why), Err(error)) => (error.contains(why), true),
            (Never(request), Ok(_)) => (!may(&plane, number, request), true),
            (Allowed(request), Ok(_)) => (may(&plane, number, request), false),
            _ => (false, false),
        };
        if !right || warned == findings.is_empty() {
            wrong.push(format!("{marker}\n  the server: {answer:?}, as expected: {right}\n  findings: {findings:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether the user of a case may do this, as the server's own authorizer says.
fn may(plane: &ControlPlane, number: usize, request: &Request) -> bool {
    let attributes = match request {
        Resource(verb, group, resource, name, namespace) => {
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            json!({ "resourceAttributes": { "verb": verb, "group": group, "resource": resource, "subresource": subresource,
                "name": name, "namespace": namespace } })
        }
        Url(verb, path) => json!({ "nonResourceAttributes": { "verb": verb, "path": path } }),
    };
    let mut spec = attributes;
    spec["user"] = json!(format!("user-{number}"));
    let review = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec });
    let answer = plane.admin.send(&["create", "-f", "-", "-o", "json"], &review.to_string());
    serde_json::from_str::<Value>(&answer).unwrap()["status"]["allowed"] == true
}

/// The binding of a role to one subject.
fn binding(role: &Value, subject: &Value) -> Value {
    let kind = role["kind"].as_str().unwrap();
    let mut subject = subject.clone();
    if subject["kind"] == "User" {
        subject["apiGroup"] = json!("rbac.authorization.k8s.io");
    }
    let mut metadata = role["metadata"].clone();
    metadata["name"] = json!(format!("{}-binding", role["metadata"]["name"].as_str().unwrap().replace('/', "-")));
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": format!("{kind}Binding"),
        "metadata": metadata,
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role["metadata"]["name"] },
        "subjects": [subject],
    })
}

/// What is no matter of reviews: which names real requests ask with.
#[test]
fn names_reach_the_server_as_the_checks_assume() {
    let plane = ControlPlane::start();
    let marker = "// +kubebuilder:rbac:groups=core,resources=configmaps,resourceNames=one,verbs=create;get;list;patch,namespace=default\n\
                  // +kubebuilder:rbac:groups=core,resources=namespaces,verbs=get,namespace=default\n";
    let (roles, findings) = rbac::roles(&load(marker), "role");
    assert!(findings.is_empty(), "{findings:?}");
    plane.admin.run(&["create", "serviceaccount", "someone"]);
    let subject = json!({ "kind": "ServiceAccount", "name": "someone", "namespace": "default" });
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": [&roles[0], binding(&roles[0], &subject)] });
    plane.admin.send(&["create", "-f", "-"], &list.to_string());

    let someone = plane.service_account("default", "someone");
    let one = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one" } }).to_string();
    // By POST there is no name; by server-side apply there is one.
    let refused = someone.attempt(&["create", "-f", "-"], &one).unwrap_err();
    assert!(refused.contains("cannot create resource \"configmaps\""), "{refused}");
    someone.send(&["apply", "--server-side", "-f", "-"], &one);
    let listed = someone.attempt(&["get", "configmaps"], "").unwrap_err();
    assert!(listed.contains("cannot list resource \"configmaps\""), "{listed}");
    someone.run(&["get", "configmaps", "--field-selector=metadata.name=one"]);
    someone.run(&["get", "namespace", "default"]);
    let other = someone.attempt(&["get", "namespace", "kube-system"], "").unwrap_err();
    assert!(other.contains("cannot get resource \"namespaces\""), "{other}");
}
