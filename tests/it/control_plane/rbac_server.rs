//! The API server as judge of roles: of the marker checks and of the written roles.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use memcached_sdk::k8s;
use memcached_sdk::rbac::role;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::control_plane::{self, ControlPlane};
use crate::golden::rbac::{allowed, load};
use crate::sandbox::{OFFLINE, Sandbox};

/// The server's verdict on a marker's rule, from real roles, bindings and access reviews.
enum Verdict {
    /// Rejects the role with this message.
    Refused(&'static str),
    /// Accepts the role, but forbids this request, which the marker intends.
    Never(Request),
    /// Allows this request.
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

/// Markers without `+kubebuilder:rbac:`. A finding exists exactly if the server rejects the rule or forbids the
/// request.
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
    let plane = ControlPlane::shared();
    plane.admin.run(&["create", "namespace", "one"]);
    let mut wrong = Vec::new();
    for (number, (marker, verdict)) in MARKERS.iter().enumerate() {
        let (roles, findings) =
            role::roles(&load(&format!("// +kubebuilder:rbac:{marker}\n")), &format!("case-{number}"));
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

/// Asks the server's authorizer about a case's user.
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

/// Access reviews do not cover the names in real requests.
#[test]
fn names_reach_the_server_as_the_checks_assume() {
    let plane = ControlPlane::shared();
    let marker = "// +kubebuilder:rbac:groups=core,resources=configmaps,resourceNames=one,verbs=create;get;list;patch,namespace=default\n\
                  // +kubebuilder:rbac:groups=core,resources=namespaces,verbs=get,namespace=default\n";
    let (roles, findings) = role::roles(&load(marker), "role");
    assert!(findings.is_empty(), "{findings:?}");
    plane.admin.run(&["create", "serviceaccount", "someone"]);
    let subject = json!({ "kind": "ServiceAccount", "name": "someone", "namespace": "default" });
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": [&roles[0], binding(&roles[0], &subject)] });
    plane.admin.send(&["create", "-f", "-"], &list.to_string());

    let someone = plane.service_account("default", "someone");
    let one = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one" } }).to_string();
    // A POST has no name; a server-side apply has one.
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

/// In every scope and namespace, the operator has the permissions of its markers and of every ServiceAccount, and no
/// others. It watches where it has them.
#[test]
fn an_operator_may_do_what_its_markers_say_where_its_scope_says() {
    let plane = ControlPlane::shared();
    for namespace in ["left", "right", "other"] {
        plane.admin.run(&["create", "namespace", namespace]);
    }
    plane.admin.run(&["create", "serviceaccount", "fresh", "-n", "other"]);
    let fresh = plane.service_account("other", "fresh");
    let limit = Duration::from_secs(30);
    for (name, flags, scope) in [
        ("everywhere", "", None),
        ("at-home", "--namespaced", Some(vec!["at-home-system"])),
        ("listed", "--namespaces left,right", Some(vec!["left", "right"])),
        ("home-too", "--namespaces right,home-too-system", Some(vec!["right", "home-too-system"])),
    ] {
        let project = operator(name, flags);
        let installer = installer(&project, plane.admin.kubectl(), None);
        plane.admin.send(&["apply", "--server-side", "--force-conflicts", "-f", "-"], &installer);
        let (own, account) = (format!("{name}-system"), format!("{name}-controller-manager"));
        let operator = plane.service_account(&own, &account);
        let may = |namespace: &str| {
            let mut may = review(&fresh, namespace);
            if scope.as_ref().is_none_or(|scope| scope.contains(&namespace)) {
                may.extend(declared(&project));
            }
            may.extend(written(&project, "config/rbac/metrics_auth_role.yaml"));
            if namespace == own {
                may.extend(written(&project, "config/rbac/leader_election_role.yaml"));
            }
            may
        };
        for namespace in [&*own, "left", "right", "other"] {
            let expected = may(namespace);
            let what = format!("the permissions of {name} in {namespace}");
            plane.admin.wait(&what, limit, || differ(&review(&operator, namespace), &expected));
        }

        let deployment = plane.admin.get(&["deployment", "-n", &own, &account]).unwrap();
        let env = deployment["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap();
        let watched: Vec<&Value> = env.iter().filter(|env| env["name"] == "WATCH_NAMESPACE").collect();
        match &scope {
            None => assert_eq!(watched, [&json!(null); 0]),
            Some(scope) if *scope == [own.as_str()] => {
                assert_eq!(watched[0]["valueFrom"]["fieldRef"]["fieldPath"], "metadata.namespace");
            }
            Some(scope) => assert_eq!(watched, [&json!({ "name": "WATCH_NAMESPACE", "value": scope.join(",") })]),
        }

        // Counter-check: an undeclared permission is reported.
        let account = format!("--serviceaccount={own}:{account}");
        plane.admin.run(&[
            "create",
            "rolebinding",
            name,
            "-n",
            "other",
            "--clusterrole=system:node-bootstrapper",
            &account,
        ]);
        let expected = may("other");
        plane.admin.wait("the difference", limit, || match differ(&review(&operator, "other"), &expected) {
            Ok(()) => Err("none".to_owned()),
            Err(_) => Ok(()),
        });
    }
}

/// A project whose operator needs permissions in several API groups.
fn operator(name: &str, flags: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("init --domain rbac.example.com --project-name {name} {OFFLINE} {flags}")).success();
    sandbox.run("create api --group cache --version v1alpha1 --kind Memcached --image memcached:1.6-alpine").success();
    sandbox.lock();
    sandbox
}

/// The output of `make build-installer`. kustomize prints no warning, and `generate` has no change.
fn installer(project: &Sandbox, kubectl: &Path, image: Option<&str>) -> String {
    let output = Command::new("make")
        .args(["--silent", "build-installer"])
        .args(image.map(|image| format!("IMG={image}")))
        .arg(format!("KUBECTL={}", kubectl.display()))
        .arg(format!("MEMCACHED_SDK={}", env!("CARGO_BIN_EXE_memcached-sdk")))
        .current_dir(project.root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.lines().count() == 1 && said.trim_end().ends_with(" unchanged"), "{said}");
    project.read("dist/install.yaml")
}

#[test]
fn the_image_is_that_of_the_kustomization_or_of_make() {
    for flags in ["", "--namespaces one"] {
        let project = operator("demo", flags);
        let installed = |image: Option<&str>| {
            let text = installer(&project, &control_plane::kubectl(), image);
            let images = text.lines().filter_map(|line| line.trim().strip_prefix("image: ")).map(str::to_owned);
            (images.collect::<Vec<_>>(), text)
        };
        assert_eq!(installed(None).0, ["controller:latest"]);
        // Equals `kustomize edit set image controller=example.com/demo:v1`.
        let entry = ("newName: controller\n  newTag: latest", "newName: example.com/demo\n  newTag: v1");
        project.replace("config/manager/kustomization.yaml", entry.0, entry.1);
        let (images, text) = installed(None);
        assert_eq!(images, ["example.com/demo:v1"]);
        let before = project.files();
        let other = "localhost:5000/other@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        let (images, other_text) = installed(Some(other));
        assert_eq!(images, [other]);
        assert_eq!(other_text.replace(other, "example.com/demo:v1"), text);
        let mut after = project.files();
        after.insert("dist/install.yaml".to_owned(), text);
        assert_eq!(after, before);
    }
}

/// Single permissions in the format of [`allowed`].
type Permissions = BTreeSet<[Option<String>; 5]>;

/// The permissions of a user in a namespace, as reviewed by the server.
fn review(somebody: &Cluster, namespace: &str) -> Permissions {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": { "namespace": namespace },
    });
    let answer = somebody.send(&["create", "--validate=false", "-f", "-", "-o", "json"], &review.to_string());
    let status = serde_json::from_str::<Value>(&answer).unwrap()["status"].take();
    assert_eq!(status["incomplete"], false);
    &allowed(&status["resourceRules"]) | &allowed(&status["nonResourceRules"])
}

/// The permissions of a project's markers in any namespace.
fn declared(project: &Sandbox) -> Permissions {
    let (tree, _) = k8s::load(project.root()).unwrap();
    let roles = role::roles(&tree, "role").0;
    assert_eq!(roles.len(), 1);
    allowed(&roles[0]["rules"])
}

fn written(project: &Sandbox, path: &str) -> Permissions {
    allowed(&serde_yaml::from_str::<Value>(&project.read(path)).unwrap()["rules"])
}

fn differ(found: &Permissions, expected: &Permissions) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let more: Vec<_> = found.difference(expected).collect();
    let less: Vec<_> = expected.difference(found).collect();
    Err(format!("not declared: {more:#?}\nmissing: {less:#?}"))
}
