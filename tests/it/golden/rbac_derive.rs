//! Permissions that are derived from code: a fixture for each construct, and the sample operator.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use memcached_sdk::diagnostic::{Diagnostic, Diagnostics};
use memcached_sdk::k8s;
use memcached_sdk::rbac::derive::{self, propose};
use memcached_sdk::rbac::scope::OperatorScope;
use memcached_sdk::rbac::{RbacTarget, RbacUsage, RequestScope};
use memcached_sdk::yaml;

use crate::sandbox::Sandbox;

/// Each `tests/fixtures/rbac-derive/<case>.rs` has the usages in `<case>.txt`.
#[test]
fn fixtures() {
    let mut count = 0;
    for path in cases() {
        let (usages, diagnostics) = derived(&std::fs::read_to_string(&path).unwrap());
        let expected = snapbox::Data::read_from(&path.with_extension("txt"), None).raw();
        snapbox::assert_data_eq!(show(&usages, &diagnostics), expected);
        count += 1;
    }
    assert!(count >= 6, "only {count} fixtures");
}

fn cases() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rbac-derive");
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    paths.sort();
    paths
}

pub(crate) const MANIFEST: &str = "\
[package]
name = \"op\"
version = \"0.1.0\"
edition = \"2024\"
[dependencies]
kube = { version = \"5\", features = [\"runtime\", \"derive\"] }
k8s-openapi = { version = \"0.29\", features = [\"v1_36\"] }
http = \"1\"
helper = \"1\"
kubert = \"0.25\"
kube-coordinate = \"2\"
kube-leader-election = \"0.44\"
kube-lease-manager = \"0.13\"
tokio = \"1\"
";

pub(crate) const LOCK: &str = "\
version = 4
[[package]]
name = \"helper\"
version = \"1.0.0\"
source = \"registry+https://github.com/rust-lang/crates.io-index\"
dependencies = [\"kube\"]
[[package]]
name = \"kube\"
version = \"5.0.0\"
source = \"registry+https://github.com/rust-lang/crates.io-index\"
[[package]]
name = \"k8s-openapi\"
version = \"0.29.0\"
source = \"registry+https://github.com/rust-lang/crates.io-index\"
[[package]]
name = \"kubert\"
version = \"0.25.0\"
source = \"registry+https://github.com/rust-lang/crates.io-index\"
dependencies = [\"kube\"]
[[package]]
name = \"kube-coordinate\"
version = \"2.0.0\"
source = \"registry+https://github.com/rust-lang/crates.io-index\"
dependencies = [\"kube\"]
[[package]]
name = \"kube-leader-election\"
version = \"0.44.0\"
source = \"registry+https://github.com/rust-lang/crates.io-index\"
dependencies = [\"kube\"]
[[package]]
name = \"kube-lease-manager\"
version = \"0.13.1\"
source = \"registry+https://github.com/rust-lang/crates.io-index\"
dependencies = [\"kube\"]
[[package]]
name = \"op\"
version = \"0.1.0\"
dependencies = [\"helper\", \"k8s-openapi\", \"kube\", \"kube-coordinate\", \"kube-leader-election\", \"kube-lease-manager\", \"kubert\"]
";

pub(super) fn derived(text: &str) -> (Vec<RbacUsage>, Diagnostics) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("src")).unwrap();
    std::fs::write(dir.path().join("Cargo.toml"), MANIFEST).unwrap();
    std::fs::write(dir.path().join("Cargo.lock"), LOCK).unwrap();
    std::fs::write(dir.path().join("src/main.rs"), text).unwrap();
    read(dir.path())
}

fn read(dir: &Path) -> (Vec<RbacUsage>, Diagnostics) {
    let (mut tree, mut diagnostics) = k8s::load_with(dir, &Default::default(), &Default::default()).unwrap();
    let ((usages, doubts), read) = tree.settle(derive::uses);
    diagnostics.extend(doubts.iter().map(Diagnostic::from).collect());
    diagnostics.extend(read);
    diagnostics.sort();
    (usages, diagnostics)
}

fn show(usages: &[RbacUsage], diagnostics: &Diagnostics) -> String {
    let mut out = String::new();
    for usage in usages {
        let (line, column) = usage.origin.line_column();
        let target = match &usage.permission.target {
            RbacTarget::Resource { group, resource, .. } if group.is_empty() => resource.clone(),
            RbacTarget::Resource { group, resource, .. } => format!("{group}/{resource}"),
            RbacTarget::Url(url) => url.clone(),
        };
        let scope = match &usage.scope {
            RequestScope::Cluster => "cluster".to_owned(),
            RequestScope::Own => "own".to_owned(),
            RequestScope::Namespace(name) => format!("namespace {name}"),
            RequestScope::Namespaced | RequestScope::OfObject => "namespaced".to_owned(),
        };
        let verb = &usage.permission.verb;
        writeln!(out, "{line}:{column} {verb} {target} {scope}: {}", usage.call).unwrap();
    }
    for diagnostic in diagnostics {
        let (line, column) = diagnostic.origin.as_ref().unwrap().line_column();
        writeln!(out, "{line}:{column} {}: {}", diagnostic.code, diagnostic.message).unwrap();
    }
    out
}

/// Derivation finds the permissions that the sample's audited e2e test requires: those of its markers and of the
/// manager's roles.
#[test]
fn the_sample_uses_what_its_roles_allow() {
    let sample = crate::golden::samples::whole("memcached-operator");
    let dir = sample.root();
    let (usages, diagnostics) = read(dir);
    assert!(diagnostics.is_empty(), "{}", diagnostics.render(false));
    let [own, metrics, election] = ["manager-role", "metrics-auth-role", "leader-election-role"].map(|name| {
        let home = OperatorScope { own: "system".to_owned(), ..OperatorScope::default() };
        let (roles, _) = propose::roles(&usages, "manager-role", &home);
        roles.into_iter().find(|role| role["metadata"]["name"] == name).unwrap()
    });
    let file = |name: &str| std::fs::read_to_string(dir.join("config/rbac").join(name)).unwrap();
    assert_eq!(yaml::file(None, &[own]), file("role.yaml"));
    for (role, name) in [(metrics, "metrics_auth_role.yaml"), (election, "leader_election_role.yaml")] {
        let text = file(name);
        let mut verbs: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  - ")).collect();
        let mut derived: Vec<String> = Vec::new();
        for rule in role["rules"].as_array().unwrap() {
            for list in ["apiGroups", "resources", "verbs"] {
                derived.extend(rule[list].as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()));
            }
        }
        verbs.sort_unstable();
        verbs.dedup();
        derived.sort();
        derived.dedup();
        assert_eq!(verbs, derived, "{name}");
    }
}

/// `tests/fixtures/rbac-manager/calls.rs` calls every manager method that sends requests.
#[test]
fn calls_of_the_manager() {
    let sample = crate::golden::samples::whole("memcached-operator");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rbac-manager");
    let text = std::fs::read_to_string(fixtures.join("calls.rs")).unwrap();
    std::fs::remove_dir_all(sample.path("src")).unwrap();
    sample.file("src/lib.rs", &text);
    let (usages, diagnostics) = read(sample.root());
    let expected = snapbox::Data::read_from(&fixtures.join("calls.txt"), None).raw();
    snapbox::assert_data_eq!(show(&usages, &diagnostics), expected);
}

/// A newer manager may have more methods that send requests.
#[test]
fn a_method_of_the_manager_that_is_not_known_is_a_doubt() {
    const UNHEARD: &str = "\
use k8s_openapi::api::core::v1::Pod;
use manager::{Manager, Objects};

pub fn register(manager: &mut Manager, pods: Option<&Objects<Pod>>) {
    manager.unheard();
    if pods.is_some() {
        Objects::unheard(pods.unwrap());
    }
}
";
    let sample = crate::golden::samples::whole("memcached-operator");
    std::fs::remove_dir_all(sample.path("src")).unwrap();
    sample.file("src/lib.rs", UNHEARD);
    for (file, block) in [("manager.rs", "impl Manager"), ("client/objects.rs", "impl<K: Object> Objects<K>")] {
        let path = sample.path("manager/src").join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text + block + " { pub fn unheard(&self) {} }\n").unwrap();
    }
    let (usages, diagnostics) = read(sample.root());
    let expected = "\
5:13 rbac-not-followed: `Manager::unheard` of the crate `manager` may make requests; its code is not analyzed
7:9 rbac-not-followed: `Objects::unheard` of the crate `manager` may make requests; its code is not analyzed
";
    assert_eq!(show(&usages, &diagnostics), expected);
}

const LEASES: &str = "\
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::{Api, Client};

async fn run(client: Client, namespace: &str) {
    let leases: Api<Lease> = Api::default_namespaced(client.clone());
    leases.get(\"a\").await;
    Api::<Secret>::namespaced(client.clone(), \"vault\").get(\"a\").await;
    Api::<Pod>::namespaced(client.clone(), namespace).list(&lp).await;
    Api::<Pod>::all(client.clone()).logs(\"a\", &lp).await;
    anything().delete_collection(&dp, &lp).await;
}

fn main() {}
";

fn package() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("Cargo.toml", MANIFEST).file("Cargo.lock", LOCK).file("src/main.rs", LEASES);
    sandbox
}

#[test]
fn roles_are_printed() {
    let warning = "\
warning[rbac-not-followed]: `delete_collection` looks like a request, but the type of its receiver is unknown
  --> src/main.rs:11:16
   |
11 |     anything().delete_collection(&dp, &lp).await;
   |                ^^^^^^^^^^^^^^^^^
   |
   = help: list its permissions in a `+kubebuilder:rbac` marker
";
    let roles = "\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: reader
rules:
- apiGroups:
  - \"\"
  resources:
  - pods
  verbs:
  - list
- apiGroups:
  - \"\"
  resources:
  - pods/log
  verbs:
  - get
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: reader
  namespace: system
rules:
- apiGroups:
  - coordination.k8s.io
  resources:
  - leases
  verbs:
  - get
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: reader
  namespace: vault
rules:
- apiGroups:
  - \"\"
  resources:
  - secrets
  verbs:
  - get
";
    let sandbox = package();
    let before = sandbox.files();
    sandbox.run("rbac derive --role-name reader").success().stdout(roles).stderr(warning);
    let markers = r#"// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=system,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,namespace=vault,verbs=get
"#;
    sandbox.run("rbac derive --format markers").success().stdout(markers).stderr(warning);
    assert_eq!(sandbox.files(), before);
}

#[test]
fn markers_make_the_roles() {
    let sandbox = package();
    let markers = sandbox.run("rbac derive --format markers").success().out();
    let roles = sandbox.run("rbac derive").success().out();
    sandbox.file("src/main.rs", &format!("{markers}fn main() {{}}\n"));
    sandbox.run("generate rbac --stdout").success().stdout(roles);
}

#[test]
fn calls_are_explained() {
    let sandbox = package();
    for (rule, expected) in [
        (
            "get leases",
            "src/main.rs:7:12: get leases.coordination.k8s.io in the namespace of the operator: Api<Lease>::get\n",
        ),
        ("secrets", "src/main.rs:8:56: get secrets in the namespace `vault`: Api<Secret>::get\n"),
        (
            "+kubebuilder:rbac:groups=core,resources=pods;pods/log,verbs=*",
            "src/main.rs:9:55: list pods in any namespace: Api<Pod>::list\n\
             src/main.rs:10:37: get pods/log cluster-wide: Api<Pod>::logs\n",
        ),
        ("watch", ""),
    ] {
        let run = sandbox.run(&format!("rbac explain {rule}")).success();
        assert_eq!(run.out(), expected, "{rule}");
        assert_eq!(run.err().contains("no code that uses it was found"), expected.is_empty(), "{rule}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&sandbox.run("rbac explain leases -o json").success().out()).unwrap();
    let expected = serde_json::json!([{
        "call": "Api<Lease>::get", "column": 12, "file": "src/main.rs", "group": "coordination.k8s.io", "line": 7,
        "resource": "leases", "scope": "own", "verb": "get",
    }]);
    assert_eq!(json["uses"], expected);
    assert_eq!(json["diagnostics"][0]["code"], "rbac-not-followed");
    let wrong = sandbox.run("rbac explain patch the pods").code(2);
    assert!(wrong.err().contains("`patch the pods` is not a rule"), "{wrong}");
    let wrong = sandbox.run("rbac explain group=apps").code(2);
    assert!(wrong.err().contains("unknown argument \"group\""), "{wrong}");
}

/// A package uses the permissions of the functions that it calls in other packages, and no others.
#[test]
fn functions_of_other_packages_count_where_they_are_called() {
    let sandbox = Sandbox::new();
    let helper = "use k8s_openapi::api::core::v1::{Node, Pod};\nuse kube::{Api, Client};\n\
                  pub async fn pods(client: Client) {\n    Api::<Pod>::all(client).list(&lp).await;\n}\n\
                  pub async fn nodes(client: Client) {\n    Api::<Node>::all(client).list(&lp).await;\n}\n\
                  pub trait Clean {\n    async fn clean(&self, client: Client) {\n        \
                  Api::<Node>::all(client).list(&lp).await;\n    }\n}\nstruct Broom;\nimpl Clean for Broom {}\n";
    sandbox
        .file("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"op\", \"common\"]\n")
        .file("op/Cargo.toml", &format!("{}common = {{ path = \"../common\" }}\n", MANIFEST))
        .file("op/src/main.rs", "fn main() {\n    common::pods(client());\n}\n")
        .file("common/Cargo.toml", &MANIFEST.replace("\"op\"", "\"common\""))
        .file("common/src/lib.rs", helper);
    let pods = "common/src/lib.rs:4:29: list pods cluster-wide: Api<Pod>::list\n";
    let nodes = "common/src/lib.rs:7:30: list nodes cluster-wide: Api<Node>::list\n\
                 common/src/lib.rs:11:34: list nodes cluster-wide: Api<Node>::list\n";
    sandbox.run("rbac explain list -p op").success().stdout(pods);
    sandbox.run("rbac explain list --workspace").success().stdout(format!("{pods}{nodes}"));
    sandbox.run("rbac explain list --workspace --paths op").success().stdout("");
}

/// A package with two programs and shared functions.
pub(crate) fn programs() -> Sandbox {
    let sandbox = package();
    let lib = "use k8s_openapi::api::core::v1::{Node, Pod, Secret};\nuse kube::{Api, Client};\n\
               pub async fn agent(client: Client) {\n    Api::<Node>::all(client.clone()).get(\"a\").await;\n    shared(client).await;\n}\n\
               pub async fn operator(client: Client) {\n    shared(client).await;\n}\n\
               async fn shared(client: Client) {\n    Api::<Pod>::all(client).list(&lp).await;\n}\n\
               pub async fn offered(client: Client) {\n    Api::<Secret>::all(client).get(\"a\").await;\n}\n";
    let main = |name: &str, kind: &str| {
        format!(
            "use k8s_openapi::api::core::v1::{kind};\n\
             // +kubebuilder:rbac:groups=core,resources={}s,verbs=delete\n\
             async fn main() {{\n    op::{name}(client()).await;\n    \
             kube::Api::<{kind}>::all(client()).delete(\"a\", &dp).await;\n    \
             kube::Api::<k8s_openapi::api::core::v1::Pod>::all(client()).list(&lp).await;\n}}\n",
            kind.to_lowercase()
        )
    };
    sandbox
        .file("src/lib.rs", lib)
        .file("src/main.rs", &main("operator", "Service"))
        .file("src/bin/node-agent.rs", &main("agent", "Endpoint").replace("Endpoint", "Event"));
    sandbox
}

/// `--bin` selects a program: it skips calls that only other programs reach, but keeps code that nothing calls.
#[test]
fn programs_are_told_apart() {
    let sandbox = programs();
    let secret = "src/lib.rs:14:32: get secrets cluster-wide: Api<Secret>::get\n";
    let node = "src/lib.rs:4:38: get nodes cluster-wide: Api<Node>::get\n";
    sandbox.run("rbac explain get --bin op").success().stdout(secret);
    sandbox.run("rbac explain get --bin node-agent").success().stdout(format!("{node}{secret}"));
    sandbox.run("rbac explain get").success().stdout(format!("{node}{secret}"));
    sandbox
        .run("rbac explain delete --bin op")
        .success()
        .stdout("src/main.rs:5:41: delete services cluster-wide: Api<Service>::delete\n");
    let wrong = sandbox.run("rbac derive --bin agent").code(2);
    assert!(wrong.err().contains("binary `agent` not found"), "{wrong}");
    assert!(wrong.err().contains("the binaries are `node_agent`, `op`"), "{wrong}");
}

/// A macro of a workspace package expands at any call site. Its items are callable from there, and `$crate` is its own
/// package.
#[test]
fn macros_of_other_packages_are_expanded() {
    let sandbox = Sandbox::new();
    let main = "use common::watches;\nmod here { #[macro_use] mod inner { macro_rules! own { ($k:ty, $c:expr) => { \
                common::of::<$k>($c).get(\"a\").await } } }\nuse kube::Client;\nasync fn own(client: Client) { \
                own!(k8s_openapi::api::core::v1::Node, client); }\n}\nasync fn run(store: &common::Store) {\n    \
                store.pods().await;\n    watches!(k8s_openapi::api::core::v1::Secret, store.0.clone());\n    \
                common::watches!(k8s_openapi::api::core::v1::Service, store.0.clone());\n}\nfn main() {}\n";
    let common = "use k8s_openapi::api::core::v1::Pod;\nuse kube::{Api, Client};\npub struct Store(pub Client);\n\
                  macro_rules! reads {\n    ($name:ident, $kind:ty) => {\n        impl Store {\n            \
                  pub async fn $name(&self) {\n                Api::<$kind>::all(self.0.clone()).list(&lp).await;\n            \
                  }\n        }\n    };\n}\nreads!(pods, Pod);\npub fn of<K>(client: Client) -> Api<K> { Api::all(client) }\n\
                  #[macro_export]\nmacro_rules! watches {\n    ($kind:ty, $client:expr) => { \
                  $crate::of::<$kind>($client).watch(&wp, \"0\").await };\n}\n";
    sandbox
        .file("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"op\", \"common\"]\n")
        .file("op/Cargo.toml", &format!("{MANIFEST}common = {{ path = \"../common\" }}\n"))
        .file("op/src/main.rs", main)
        .file("common/Cargo.toml", &MANIFEST.replace("\"op\"", "\"common\""))
        .file("common/src/lib.rs", common);
    let explained = |package: &str| sandbox.run(&format!("rbac explain * -p {package}")).success().out();
    assert_eq!(explained("common"), "common/src/lib.rs:13:1: list pods cluster-wide: Api<Pod>::list\n");
    assert_eq!(
        explained("op"),
        "common/src/lib.rs:13:1: list pods cluster-wide: Api<Pod>::list\n\
         op/src/main.rs:4:32: get nodes cluster-wide: Api<Node>::get\n\
         op/src/main.rs:8:5: watch secrets cluster-wide: Api<Secret>::watch\n\
         op/src/main.rs:9:5: watch services cluster-wide: Api<Service>::watch\n"
    );
}

/// An environment variable is the operator's namespace if the manifests set it so; otherwise there is a finding.
#[test]
fn manifests_say_what_environment_variables_are() {
    let sandbox = package();
    let main = "use k8s_openapi::api::core::v1::Pod;\nuse kube::{Api, Client};\n\
                async fn run(client: Client) {\n    let namespace = std::env::var(\"OPERATOR_NAMESPACE\").unwrap();\n    \
                Api::<Pod>::namespaced(client, &namespace).list(&lp).await;\n}\nfn main() {}\n";
    sandbox.file("src/main.rs", main);
    let own = "src/main.rs:5:48: list pods in the namespace of the operator: Api<Pod>::list\n";
    let any = "src/main.rs:5:48: list pods in any namespace: Api<Pod>::list\n";
    let run = sandbox.run("rbac explain pods").success();
    assert_eq!(run.out(), any);
    let said = "warning[rbac-elsewhere]: `OPERATOR_NAMESPACE` may not be the operator's namespace";
    assert!(run.err().contains(said), "{run}");
    for manifest in [
        "- name: OPERATOR_NAMESPACE\n  value: {{ .Release.Namespace | quote }}\n",
        "- {name: \"OPERATOR_NAMESPACE\", valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}\n",
        "# - name: OPERATOR_NAMESPACE\n#   value: x\n- name: OPERATOR_NAMESPACE\n  valueFrom:\n    fieldRef:\n      \
         apiVersion: v1\n      fieldPath: \"metadata.namespace\"\n",
    ] {
        sandbox.file("deploy/operator.yaml", manifest);
        sandbox.run("rbac explain pods").success().stdout(own).stderr("");
    }
    sandbox.file("deploy/other.yaml", "env:\n  - name: OPERATOR_NAMESPACE\n    value: managed\n");
    sandbox.run("rbac explain pods").success().stdout(any);
    sandbox.replace("src/main.rs", "OPERATOR_NAMESPACE", "POD_NAMESPACE");
    sandbox.run("rbac explain pods").success().stdout(own).stderr("");
}

/// A PROJECT file of another tool does not apply.
#[test]
fn a_project_of_another_tool_is_none() {
    let sandbox = package();
    let roles = sandbox.run("rbac derive").success().out();
    sandbox.file("PROJECT", "layout:\n- go.kubebuilder.io/v4\nnamespaced: true\nversion: \"3\"\n");
    sandbox.run("rbac derive").success().stdout(roles);
}

/// For each namespace in PROJECT, the operator gets a Role.
#[test]
fn an_operator_that_is_confined_needs_roles_in_its_namespaces() {
    let sandbox = package();
    let project = |namespaces: &str| {
        format!(
            "domain: example.com\nlayout:\n- rust.memcached-sdk.dev/v1\nnamespaced: true\n{namespaces}projectName: demo\n\
             version: \"3\"\n"
        )
    };
    let roles = |sandbox: &Sandbox| {
        let run = sandbox.run("rbac derive -o json").success();
        let answer: serde_json::Value = serde_json::from_str(&run.out()).unwrap();
        let mut lines: Vec<String> = Vec::new();
        for role in answer["roles"].as_array().unwrap() {
            for rule in role["rules"].as_array().unwrap() {
                let place = role["metadata"]["namespace"].as_str().unwrap_or("everywhere");
                let list = |key: &str| {
                    let items = rule[key].as_array().unwrap().iter().map(|item| item.as_str().unwrap());
                    items.collect::<Vec<_>>().join(",")
                };
                lines.push(format!("{place}: {} {}", list("verbs"), list("resources")));
            }
        }
        let codes =
            answer["diagnostics"].as_array().unwrap().iter().map(|found| found["code"].as_str().unwrap().to_owned());
        (lines, codes.collect::<Vec<_>>(), answer["markers"].clone())
    };
    sandbox.replace("src/main.rs", "async fn", "async fn nodes(client: Client) {\n    Api::<k8s_openapi::api::core::v1::Node>::all(client).list(&lp).await;\n}\n\nasync fn");
    sandbox.file("PROJECT", &project(""));
    let (found, codes, markers) = roles(&sandbox);
    assert_eq!(
        found,
        [
            "everywhere: list nodes",
            "demo-system: list pods",
            "demo-system: get pods/log",
            "demo-system: get leases",
            "vault: get secrets",
        ]
    );
    assert_eq!(codes, ["rbac-rule", "rbac-not-followed"]);
    let own = "// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get";
    assert!(markers.as_array().unwrap().iter().any(|marker| marker == own), "{markers}");

    sandbox
        .file("PROJECT", &project("plugins:\n  rust.memcached-sdk.dev/v1:\n    namespaces:\n    - a\n    - vault\n"));
    let (found, ..) = roles(&sandbox);
    assert_eq!(
        found,
        [
            "everywhere: list nodes",
            "a: list pods",
            "a: get pods/log",
            "demo-system: get leases",
            "vault: list pods",
            "vault: get pods/log,secrets",
        ]
    );
}
