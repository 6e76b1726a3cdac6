//! `create api --from-go`: a small project in Go as a project in Rust.

use snapbox::str;

use crate::sandbox::Sandbox;

const PROJECT: &str = "\
domain: example.com
layout:
- go.kubebuilder.io/v4
projectName: sea
repo: example.com/sea
resources:
- api: {crdVersion: v1, namespaced: true}
  controllers:
  - name: boat
  - name: boat-mooring
  domain: example.com
  group: sea
  kind: Boat
  path: example.com/sea/api/v1beta1
  version: v1beta1
- api: {crdVersion: v1, namespaced: true}
  domain: example.com
  group: sea
  kind: Boat
  path: example.com/sea/api/v1
  version: v1
  webhooks:
    conversion: true
    defaulting: true
    spoke: [v1beta1]
    validation: true
    validationPath: /check-boat
    webhookVersion: v1
- controller: true
  core: true
  group: apps
  kind: ReplicaSet
  path: k8s.io/api/apps/v1
  version: v1
- controller: true
  domain: example.org
  external: true
  group: harbor
  kind: Pier
  module: example.org/harbor@v1
  path: example.org/harbor/api/v1
  version: v1
version: \"3\"
";

fn crd(group: &str, kind: &str, versions: &[(&str, bool)]) -> String {
    let lower = kind.to_lowercase();
    let mut text = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {lower}s.{group}}}\nspec:\n  group: \
         {group}\n  scope: Namespaced\n  names: {{kind: {kind}, listKind: {kind}List, plural: {lower}s, singular: {lower}}}\n  versions:\n"
    );
    for (version, storage) in versions {
        text += &format!(
            "  - name: {version}\n    served: true\n    storage: {storage}\n    schema:\n      openAPIV3Schema:\n        type: object\n        \
             required: [spec]\n        properties:\n          apiVersion: {{type: string}}\n          kind: {{type: string}}\n          metadata: \
             {{type: object}}\n          spec: {{type: object, required: [size], properties: {{size: {{type: integer, format: int32}}}}}}\n"
        );
    }
    text
}

/// A project in Rust beside a project in Go.
fn projects() -> Sandbox {
    let sandbox = Sandbox::project("");
    let boat = "package v1\n\n// +kubebuilder:webhook:path=/mutate-sea-example-com-v1-boat,mutating=true,failurePolicy=ignore,\
                sideEffects=None,groups=sea.example.com,resources=boats,verbs=create,versions=v1,name=mboat.kb.io,admissionReviewVersions=v1\n";
    sandbox
        .file("go/PROJECT", PROJECT)
        .file(
            "go/config/crd/bases/sea.example.com_boats.yaml",
            &crd("sea.example.com", "Boat", &[("v1", true), ("v1beta1", false)]),
        )
        .file("go/config/crd/kustomization.yaml", "resources:\n- bases/sea.example.com_boats.yaml\n")
        .file("go/internal/webhook/v1/boat_webhook.go", boat)
        .file(
            "go/internal/controller/boat_mooring_controller.go",
            "package controller\n\n// +kubebuilder:rbac:groups=core,resources=services,verbs=get;list\n",
        )
        .file(
            "go/cmd/main.go",
            "package main\n\n\t// +kubebuilder:rbac:groups=\"\",resources=nodes,verbs=get\nfunc main() {}\n",
        )
        .file("go/vendor/a.go", "// +kubebuilder:rbac:groups=\"\",resources=secrets,verbs=get\n")
        .file("go/a_test.go", "// +kubebuilder:rbac:groups=\"\",resources=secrets,verbs=get\n");
    sandbox
}

#[test]
fn a_project_in_go_gives_the_same_kinds_controllers_and_webhooks() {
    let sandbox = projects();
    let before = sandbox.files();
    sandbox.run("create api --from-go go").code(2).stderr(str![[r#"
error: `config/crd` has no CRD of `harbor.example.org/v1 Pier`
help: write the types of another project's kind first: `kubectl get crd piers.harbor.example.org --output yaml | memcached-sdk create api --external --from-crd -`

"#]]);
    assert_eq!(sandbox.files(), before);
    sandbox.file("pier.yaml", &crd("harbor.example.org", "Pier", &[("v1", true)]));
    sandbox.run("create api --external --from-crd pier.yaml").success();
    sandbox.run("create api --from-go go").success();
    let project = sandbox.read("PROJECT");
    snapbox::assert_data_eq!(
        project.split_once("resources:\n").unwrap().1,
        str![[r#"
- controller: true
  domain: example.org
  external: true
  group: harbor
  kind: Pier
  path: crate::external::harbor_example_org::v1::pier
  version: v1
- api:
    crdVersion: v1
    namespaced: true
  controllers:
  - name: boat
  - name: boat-mooring
  domain: example.com
  group: sea
  kind: Boat
  version: v1
  webhooks:
    conversion: true
    defaulting: true
    spoke:
    - v1beta1
    validation: true
    validationPath: /check-boat
    webhookVersion: v1
- api:
    crdVersion: v1
    namespaced: true
  domain: example.com
  group: sea
  kind: Boat
  version: v1beta1
- controller: true
  core: true
  group: apps
  kind: ReplicaSet
  path: k8s_openapi::api::apps::v1
  version: v1
version: "3"

"#]]
    );
    // The stored version is the one of the CRD, not the first one of PROJECT.
    assert!(!sandbox.read("src/api/v1/boat.rs").contains("storage = false"));
    let markers: String = sandbox
        .files()
        .iter()
        .filter(|(path, _)| path.starts_with("src/"))
        .flat_map(|(path, text)| {
            text.lines()
                .filter(|line| line.contains("+kubebuilder:rbac") || line.contains("+kubebuilder:webhook"))
                .map(move |line| format!("{path}: {line}\n"))
        })
        .collect();
    snapbox::assert_data_eq!(
        markers,
        str![[r#"
src/controller/boat.rs: // +kubebuilder:rbac:groups=sea.example.com,resources=boats,verbs=list;watch
src/controller/boat.rs: // +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
src/controller/boat_mooring.rs: // +kubebuilder:rbac:groups=sea.example.com,resources=boats,verbs=list;watch
src/controller/boat_mooring.rs: // +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
src/controller/boat_mooring.rs: // +kubebuilder:rbac:groups=core,resources=services,verbs=get;list
src/controller/pier.rs: // +kubebuilder:rbac:groups=harbor.example.org,resources=piers,verbs=list;watch
src/controller/pier.rs: // +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
src/controller/replica_set.rs: // +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;watch
src/controller/replica_set.rs: // +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
src/main.rs: // +kubebuilder:rbac:groups="",resources=nodes,verbs=get
src/webhook/v1/boat.rs: // +kubebuilder:webhook:path=/mutate-sea-example-com-v1-boat,mutating=true,failurePolicy=ignore,sideEffects=None,groups=sea.example.com,resources=boats,verbs=create,versions=v1,name=mboat.kb.io,admissionReviewVersions=v1
src/webhook/v1/boat.rs: // +kubebuilder:webhook:path=/check-boat,mutating=false,failurePolicy=fail,sideEffects=None,groups=sea.example.com,resources=boats,verbs=create;update,versions=v1,name=vboat-v1.sea.example.com,admissionReviewVersions=v1

"#]]
    );
    sandbox.lock().run("generate --check").success();
    sandbox.run("generate crds --compare go").success();
    let again = sandbox.run("create api --from-go go").code(1).err();
    assert!(again.contains("already exists"), "{again}");
}

#[test]
fn a_project_that_is_not_readable_is_refused() {
    let sandbox = projects();
    for (from, to, expected) in [
        ("go.kubebuilder.io/v4", "helm.sdk.operatorframework.io/v1", "is not the one of an operator in Go"),
        ("repo:", "multigroup: true\nrepo:", "memcached-sdk edit --multigroup"),
        ("kind: Boat", "kind: Ship", "`config/crd` has no CRD of `sea.example.com/v1beta1 Ship`"),
        ("version: \"3\"", "version: \"2\"", "unsupported format version `2`"),
    ] {
        sandbox.file("go/PROJECT", &PROJECT.replace(from, to));
        let message = sandbox.run("create api --from-go go").err();
        assert!(message.contains(expected), "{message}");
    }
    let message = sandbox.run("create api --from-go missing").err();
    assert!(message.contains("pass the folder of a project that kubebuilder has made"), "{message}");
}
