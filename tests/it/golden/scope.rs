//! The operator's scope in PROJECT: `generate` adapts roles, bindings and the watched namespaces.

use snapbox::str;

use crate::sandbox::{OFFLINE, Sandbox};

fn project(flags: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("init --domain example.com --project-name demo {OFFLINE} {flags}")).success();
    sandbox.run("create api --group cache --version v1alpha1 --kind Memcached").success();
    sandbox.lock();
    sandbox
}

fn overlay(sandbox: &Sandbox) -> Vec<String> {
    sandbox.files().into_keys().filter(|path| path.starts_with("config/namespaces")).collect()
}

#[test]
fn a_list_gives_a_role_and_a_binding_for_each_namespace() {
    let sandbox = project("--namespaces b,a,b");
    let record = sandbox.read("PROJECT");
    assert!(
        record.contains("\nnamespaced: true\n") && record.contains("    namespaces:\n    - b\n    - a\n"),
        "{record}"
    );
    snapbox::assert_data_eq!(
        sandbox.read("config/rbac/role.yaml"),
        str![[r#"
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: manager-role
  namespace: demo-system
rules: []

"#]]
    );
    snapbox::assert_data_eq!(
        sandbox.read("config/namespaces/role.yaml"),
        str![[r#"
# Written by `memcached-sdk generate`: PROJECT and the markers say which namespaces there are.
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: demo-manager-role
  namespace: a
rules:
- apiGroups:
  - cache.example.com
  resources:
  - memcacheds
  verbs:
  - list
  - watch
- apiGroups:
  - cache.example.com
  resources:
  - memcacheds/status
  verbs:
  - patch
- apiGroups:
  - events.k8s.io
  resources:
  - events
  verbs:
  - create
  - patch
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: demo-manager-role
  namespace: b
rules:
- apiGroups:
  - cache.example.com
  resources:
  - memcacheds
  verbs:
  - list
  - watch
- apiGroups:
  - cache.example.com
  resources:
  - memcacheds/status
  verbs:
  - patch
- apiGroups:
  - events.k8s.io
  resources:
  - events
  verbs:
  - create
  - patch

"#]]
    );
    snapbox::assert_data_eq!(
        sandbox.read("config/namespaces/role_binding.yaml"),
        str![[r#"
# Written by `memcached-sdk generate`: PROJECT and the markers say which namespaces there are.
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: demo-manager-rolebinding
  namespace: a
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: demo-manager-role
subjects:
- kind: ServiceAccount
  name: demo-controller-manager
  namespace: demo-system
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: demo-manager-rolebinding
  namespace: b
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: demo-manager-role
subjects:
- kind: ServiceAccount
  name: demo-controller-manager
  namespace: demo-system

"#]]
    );
    snapbox::assert_data_eq!(
        sandbox.read("config/namespaces/manager_namespaces_patch.yaml"),
        str![[r#"
# Written by `memcached-sdk generate`: PROJECT and the markers say which namespaces there are.
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: demo-controller-manager
  namespace: demo-system
spec:
  template:
    spec:
      containers:
      - env:
        - name: WATCH_NAMESPACE
          value: b,a
          valueFrom: null
        name: manager

"#]]
    );
    snapbox::assert_data_eq!(
        sandbox.read("config/namespaces/kustomization.yaml"),
        str![[r#"
# Written by `memcached-sdk generate`: PROJECT and the markers say which namespaces there are.
---
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
patches:
- path: manager_namespaces_patch.yaml
resources:
- ../default
- role.yaml
- role_binding.yaml

"#]]
    );
    assert!(sandbox.read("config/rbac/memcached_viewer_role.yaml").contains("kind: ClusterRole\n"));
    sandbox.run("generate --check").success();
}

#[test]
fn the_list_in_project_is_the_switch() {
    let sandbox = project("--namespaced");
    assert_eq!(overlay(&sandbox), [""; 0]);
    let own = sandbox.read("config/rbac/role.yaml");
    assert!(own.contains("kind: Role\n") && own.contains("namespace: demo-system\n"), "{own}");

    let license = "    license: Apache-2.0\n";
    sandbox.replace("PROJECT", license, &format!("{license}    namespaces:\n    - one\n    - demo-system\n"));
    sandbox.run("generate --check").code(3);
    sandbox.run("generate").success();
    // The operator's namespace is in the list, so its role stays.
    assert_eq!(sandbox.read("config/rbac/role.yaml"), own);
    assert_eq!(sandbox.read("config/namespaces/role.yaml").matches("kind: Role\n").count(), 1);
    assert!(sandbox.read("config/namespaces/manager_namespaces_patch.yaml").contains("value: one,demo-system\n"));

    sandbox.replace("PROJECT", "    - one\n", "    - two\n");
    sandbox.run("generate").success();
    let role = sandbox.read("config/namespaces/role.yaml");
    assert!(role.contains("namespace: two\n") && !role.contains("namespace: one\n"), "{role}");

    sandbox.replace("PROJECT", "    namespaces:\n    - two\n    - demo-system\n", "");
    sandbox.file("config/namespaces/role_binding.yaml", "mine: true\n");
    sandbox.run("generate").success();
    assert_eq!(overlay(&sandbox), ["config/namespaces/role_binding.yaml"]);
}

/// `config/rbac` binds ClusterRoles only; a Role for the namespace of a marker needs a binding, too.
#[test]
fn a_namespace_in_a_marker_is_granted_in_any_scope() {
    let sandbox = project("");
    let marker = "// +kubebuilder:rbac:groups=core,resources=secrets,verbs=get,namespace=";
    sandbox.file("src/more.rs", &format!("{marker}demo-system\n{marker}vault\n"));
    sandbox.replace("src/main.rs", "use std::process::ExitCode;", "mod more;\nuse std::process::ExitCode;");
    sandbox.run("generate").success();
    assert!(!sandbox.read("config/rbac/role.yaml").contains("secrets"));
    for file in ["role", "role_binding"] {
        let text = sandbox.read(&format!("config/namespaces/{file}.yaml"));
        let namespaces: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  namespace: ")).collect();
        let expected = if file == "role" {
            ["demo-system", "vault"].to_vec()
        } else {
            ["demo-system", "demo-system", "vault", "demo-system"].to_vec()
        };
        assert_eq!(namespaces, expected, "{text}");
    }
    assert!(!sandbox.path("config/namespaces/manager_namespaces_patch.yaml").exists());
}

#[test]
fn names_are_those_that_kustomize_gives() {
    let sandbox = project("--namespaces a");
    sandbox.replace("config/default/kustomization.yaml", "namespace: demo-system", "namespace: elsewhere");
    sandbox.replace("config/default/kustomization.yaml", "namePrefix: demo-", "namePrefix: my-");
    sandbox.run("generate").success();
    let binding = sandbox.read("config/namespaces/role_binding.yaml");
    assert!(binding.contains("name: my-controller-manager\n  namespace: elsewhere\n"), "{binding}");
}

#[test]
fn what_is_in_no_namespace_is_not_kept_from_a_confined_operator_in_silence() {
    let sandbox = project("--namespaced");
    sandbox.file(
        "src/more.rs",
        "// +kubebuilder:rbac:groups=core,resources=nodes;pods;namespaces,verbs=get\n\
         // +kubebuilder:rbac:groups=cache.example.com,resources=clusters,verbs=get\n\
         // +kubebuilder:rbac:urls=/metrics,verbs=get\n\
         // +kubebuilder:rbac:groups=core,resources=nodes,verbs=list,roleName=node-reader\n\
         // +kubebuilder:rbac:groups=core,resources=secrets,verbs=get,namespace=other\n\
         #[derive(kube::CustomResource, serde::Deserialize, serde::Serialize, schemars::JsonSchema, Clone, Debug)]\n\
         #[kube(group = \"cache.example.com\", version = \"v1\", kind = \"Cluster\")]\n\
         pub struct ClusterSpec {}\n",
    );
    sandbox.replace("src/main.rs", "use std::process::ExitCode;", "mod more;\nuse std::process::ExitCode;");
    let run = sandbox.run("generate").success();
    sandbox.run("generate rbac --check").success();
    snapbox::assert_data_eq!(
        run.err(),
        str![[r#"
warning[rbac-rule]: a Role cannot grant `nodes`, and the operator is restricted to namespaces
 --> src/more.rs:1:4
  |
1 | // +kubebuilder:rbac:groups=core,resources=nodes;pods;namespaces,verbs=get
  |    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: move it to a separate marker with `roleName=NAME`, and bind this ClusterRole to the ServiceAccount `demo-controller-manager`; or run `memcached-sdk edit --namespaced=false`

warning[rbac-rule]: a Role cannot grant `clusters`, and the operator is restricted to namespaces
 --> src/more.rs:2:4
  |
2 | // +kubebuilder:rbac:groups=cache.example.com,resources=clusters,verbs=get
  |    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: move it to a separate marker with `roleName=NAME`, and bind this ClusterRole to the ServiceAccount `demo-controller-manager`; or run `memcached-sdk edit --namespaced=false`

warning[rbac-rule]: a Role cannot grant `/metrics`, and the operator is restricted to namespaces
 --> src/more.rs:3:4
  |
3 | // +kubebuilder:rbac:urls=/metrics,verbs=get
  |    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: move it to a separate marker with `roleName=NAME`, and bind this ClusterRole to the ServiceAccount `demo-controller-manager`; or run `memcached-sdk edit --namespaced=false`
4 created, 2 updated, 1 unchanged

"#]]
    );
    snapbox::assert_data_eq!(
        sandbox.read("config/rbac/role.yaml"),
        str![[r#"
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: manager-role
rules:
- nonResourceURLs:
  - /metrics
  verbs:
  - get
- apiGroups:
  - ""
  resources:
  - nodes
  verbs:
  - get
- apiGroups:
  - cache.example.com
  resources:
  - clusters
  verbs:
  - get
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: node-reader
rules:
- apiGroups:
  - ""
  resources:
  - nodes
  verbs:
  - list
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: manager-role
  namespace: demo-system
rules:
- apiGroups:
  - ""
  resources:
  - namespaces
  - pods
  verbs:
  - get
- apiGroups:
  - cache.example.com
  resources:
  - memcacheds
  verbs:
  - list
  - watch
- apiGroups:
  - cache.example.com
  resources:
  - memcacheds/status
  verbs:
  - patch
- apiGroups:
  - events.k8s.io
  resources:
  - events
  verbs:
  - create
  - patch

"#]]
    );
    snapbox::assert_data_eq!(
        sandbox.read("config/namespaces/role.yaml"),
        str![[r##"
# Written by `memcached-sdk generate`: PROJECT and the markers say which namespaces there are.
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: demo-manager-role
  namespace: other
rules:
- apiGroups:
  - ""
  resources:
  - secrets
  verbs:
  - get

"##]]
    );
    snapbox::assert_data_eq!(
        sandbox.read("config/namespaces/kustomization.yaml"),
        str![[r#"
# Written by `memcached-sdk generate`: PROJECT and the markers say which namespaces there are.
---
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- ../default
- role.yaml
- role_binding.yaml

"#]]
    );
}

#[test]
fn a_wrong_list_is_refused() {
    let sandbox = Sandbox::new();
    let message = sandbox.run(&format!("init --project-name demo --namespaces a,B {OFFLINE}")).code(2).err();
    assert!(message.contains("invalid namespace `B`") && message.contains("use `b`"), "{message}");
    let sandbox = project("--namespaces a");
    sandbox.replace("PROJECT", "\nnamespaced: true\n", "\n");
    let message = sandbox.run("generate").code(1).err();
    assert!(message.contains("add `namespaced: true`"), "{message}");
    sandbox.replace("PROJECT", "    - a\n", "    - A\n");
    let message = sandbox.run("generate").code(1).err();
    assert!(message.contains("`PROJECT:") && message.contains("invalid namespace `A`"), "{message}");
}

/// Every rendering limits webhooks to the watched namespaces, because `config/webhook/manifests.yaml` is part of each.
/// A selector of a marker still applies.
#[test]
fn webhooks_are_asked_about_the_namespaces_in_which_the_operator_works() {
    let sandbox = project("");
    sandbox
        .run("create webhook --group cache --version v1alpha1 --kind Memcached --defaulting --programmatic-validation")
        .success();
    let handler = "src/webhook/v1alpha1/memcached.rs";
    let text = sandbox.read(handler);
    let at = text.find("impl Validating").unwrap();
    let start = text[..at].rfind("admissionReviewVersions=v1").unwrap();
    let patch = "patch=`{\"namespaceSelector\":{\"matchExpressions\":[{\"key\":\"team\",\"operator\":\"Exists\"}]}}`,";
    sandbox.file(handler, &format!("{}{patch}{}", &text[..start], &text[start..]));
    let selectors = || -> Vec<serde_json::Value> {
        let documents: Vec<serde_json::Value> =
            serde_yaml::from_multiple(&sandbox.read("config/webhook/manifests.yaml")).unwrap();
        documents.iter().map(|document| document["webhooks"][0]["namespaceSelector"].clone()).collect()
    };
    let patched = serde_json::json!({ "key": "team", "operator": "Exists" });
    let mut seen = Vec::new();
    let scopes = [
        ("--namespaced=false", None),
        ("--namespaced", Some(vec!["demo-system"])),
        ("--namespaces=b,a", Some(vec!["b", "a"])),
        ("--namespaced", Some(vec!["demo-system"])),
        ("--namespaced=false", None),
        ("--namespaces=b,a", Some(vec!["b", "a"])),
        ("--namespaced=false", None),
    ];
    for (flag, namespaces) in scopes {
        sandbox.run(&format!("edit {flag}")).success();
        sandbox.run("generate --check").success();
        let ours = namespaces.map(
            |names| serde_json::json!({ "key": "kubernetes.io/metadata.name", "operator": "In", "values": names }),
        );
        let expected = match ours {
            None => vec![serde_json::Value::Null, serde_json::json!({ "matchExpressions": [patched] })],
            Some(ours) => vec![
                serde_json::json!({ "matchExpressions": [ours] }),
                serde_json::json!({ "matchExpressions": [ours, patched] }),
            ],
        };
        assert_eq!(selectors(), expected, "{flag}");
        // Switching back restores the bytes.
        let files = sandbox.files();
        let before = seen.iter().find(|(other, _)| *other == flag);
        assert!(before.is_none_or(|(_, before)| *before == files), "{flag}");
        seen.push((flag, files));
    }
}
