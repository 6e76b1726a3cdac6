//! `rbac lint`: a fixture for each finding, and the scaffolded projects.

use std::path::{Path, PathBuf};

use snapbox::data::DataFormat;
use snapbox::{Assert, Data};

use crate::golden::rbac_derive::{LOCK, MANIFEST, programs};
use crate::sandbox::Sandbox;

fn fixtures() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rbac-lint");
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    paths.sort();
    paths
}

fn package(main: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("Cargo.toml", MANIFEST).file("Cargo.lock", LOCK).file("src/main.rs", main);
    sandbox
}

fn assert_file(actual: &str, path: &Path) {
    Assert::new().action_env("SNAPSHOTS").eq(actual, Data::read_from(path, Some(DataFormat::Text)));
}

/// Each `tests/fixtures/rbac-lint/<case>.rs`, with the roles of `<case>.yaml` if that exists, has the findings of
/// `<case>.stderr`. `--fix` makes the change `<case>.diff`; the remaining findings are those that a marker cannot fix.
#[test]
fn each_fixture_has_its_findings() {
    let mut count = 0;
    for path in fixtures() {
        let sandbox = package(&std::fs::read_to_string(&path).unwrap());
        let roles = path.with_extension("yaml");
        if roles.exists() {
            sandbox.file("roles.yaml", &std::fs::read_to_string(roles).unwrap());
            let run = sandbox.run("rbac lint -v --role roles.yaml");
            assert_file(&run.err(), &path.with_extension("stderr"));
            assert_eq!(run.exit_code(), Some(1), "{run}");
        } else {
            let run = sandbox.run("rbac lint -v");
            assert_file(&run.err(), &path.with_extension("stderr"));
            assert_eq!(run.exit_code(), Some(1), "{run}");
            fixed(&sandbox, &path);
        }
        count += 1;
    }
    assert!(count >= 6, "only {count} fixtures");
}

fn fixed(sandbox: &Sandbox, path: &Path) {
    let before = sandbox.files();
    let run = sandbox.run("rbac lint --fix --dry-run --diff");
    assert_file(&run.out(), &path.with_extension("diff"));
    assert_eq!(sandbox.files(), before, "a dry run writes nothing");
    let run = sandbox.run("rbac lint --fix -o json");
    let once = sandbox.files();
    assert!(!run.out().contains("rbac-missing"), "{run}");
    let run = sandbox.run("rbac lint --fix --check");
    assert_ne!(run.exit_code(), Some(3), "the second run changes something: {run}");
    assert_eq!(sandbox.files(), once);
    let run = sandbox.run("rbac lint -o json");
    assert!(!run.out().contains("\"rbac-missing\""), "{run}");
}

/// Freshly scaffolded code has no findings, with any flags.
#[test]
fn scaffolds_have_no_finding() {
    let apis = [
        "--group cache --version v1alpha1 --kind Memcached --image memcached:1.6 --image-container-port 11211",
        "--group cache --version v1 --kind Plain --namespaced=false",
        "--group apps --version v1 --kind Deployment --resource=false",
        "--version v1 --group core --kind Pod --resource=false",
        "--group rbac.authorization.k8s.io --version v1 --kind ClusterRole --resource=false",
    ];
    for flags in ["", "--namespaced", "--multigroup"] {
        let sandbox = Sandbox::project(flags);
        sandbox.run("rbac lint").success();
        for api in apis {
            if flags == "--namespaced" && (api.ends_with("--namespaced=false") || api.contains("ClusterRole")) {
                continue;
            }
            sandbox.run(&format!("create api {api} --force")).success();
        }
        sandbox.run("rbac lint").success().stderr("the declared permissions are those that the code uses\n");
        sandbox.run("rbac lint --fix --check").success();
    }
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    for sample in std::fs::read_dir(samples).unwrap().map(|entry| entry.unwrap().path()) {
        let sandbox = crate::golden::samples::whole(sample.file_name().unwrap().to_str().unwrap());
        sandbox.run("rbac lint").success().stderr("the declared permissions are those that the code uses\n");
    }
}

/// The roles in config/rbac let the operator maintain its webhook certificates: removing any rule gives a finding. With
/// provided certificates, no rule is needed.
#[test]
fn the_certificates_of_webhooks_need_their_roles() {
    const ROLES: &str = "config/rbac/webhook_cert_role.yaml";
    const CLEAN: &str = "the declared permissions are those that the code uses\n";
    let create = "create webhook --group cache --version v1 --kind Memcached";
    for (mode, flags) in [("cert-manager", ""), ("files", ""), ("self", "--namespaced --multigroup")] {
        let sandbox = Sandbox::project(&format!("{flags} --webhook-cert-mode {mode}"));
        for version in ["v1", "v1alpha1"] {
            sandbox.run(&format!("create api --group cache --version {version} --kind Memcached")).success();
        }
        sandbox.run(&format!("{create} --programmatic-validation")).success();
        sandbox.run("rbac lint").success().stderr(CLEAN);
        sandbox.run(&format!("{create} --defaulting --conversion --spoke v1alpha1")).success();
        sandbox.run("rbac lint").success().stderr(CLEAN);
        if mode != "self" {
            assert!(!sandbox.path(ROLES).exists());
            continue;
        }
        let [admission, definitions] =
            ["admissionregistration.k8s.io", "customresourcedefinitions.apiextensions.k8s.io"];
        let mut roles = sandbox.read(ROLES);
        for (taken, instead) in [
            ("  - create\n", "  - get\n"),
            ("  - update\n", ""),
            ("  - mutatingwebhookconfigurations\n", ""),
            ("  - customresourcedefinitions\n", "  - things\n"),
        ] {
            assert_eq!(roles.matches(taken).count(), 1, "{taken}");
            roles = roles.replace(taken, instead);
        }
        let run = sandbox.file(ROLES, &roles).run("rbac lint").code(1);
        for (missed, role) in [
            ("create,update secrets", "webhook-cert-role"),
            (&format!("get,list,patch,watch mutatingwebhookconfigurations.{admission}"), "webhook-ca-role"),
            (&format!("get,list,patch,watch {definitions}"), "webhook-ca-role"),
        ] {
            assert!(run.err().contains(&format!("`{missed}`, which nothing declares")), "{run}");
            assert!(run.err().contains(&format!("bind the role `{role}` of config/rbac")), "{run}");
        }
        assert!(!run.err().contains("`get,list,patch,watch validatingwebhookconfigurations"), "{run}");
    }
}

/// A finding shows one call and the number of the others. Markers of other programs are ignored.
#[test]
fn findings_are_about_the_program() {
    let sandbox = programs();
    let run = sandbox.run("rbac lint --bin op").code(1);
    let missing = "error[rbac-missing]: `Api<Pod>::list` and 1 more call need `list pods`, which nothing declares\n --> src/main.rs:6:";
    assert!(run.err().contains(missing), "{run}");
    assert!(!run.err().contains("rbac-excess") && !run.err().contains("nodes"), "{run}");
    let run = sandbox.run("rbac lint").code(1);
    assert!(run.err().contains("`Api<Pod>::list` and 2 more calls need `list pods`"), "{run}");
}

/// `--paths` selects calls: one call inside is enough for a finding. Part of the code cannot show excess permissions.
#[test]
fn findings_of_some_files() {
    let sandbox = programs();
    let judged = "with `--paths` excess is not checked\n";
    let run = sandbox.run("rbac lint --paths src/lib.rs").code(1);
    assert!(
        run.err().contains("and 2 more calls need `list pods`, which nothing declares\n  --> src/lib.rs:11:"),
        "{run}"
    );
    assert!(run.err().ends_with(&format!("3 findings; {judged}")), "{run}");
    sandbox.file(
        "src/bin/node-agent.rs",
        "// +kubebuilder:rbac:groups=core,resources=endpoints,verbs=get\nfn main() {}\n",
    );
    let run = sandbox.run("rbac lint --paths src/bin").success();
    assert_eq!(run.err(), format!("no call in these files lacks a permission; {judged}"));
    assert!(sandbox.run("rbac lint").code(1).err().contains("nothing in the code uses `get endpoints`"));
}

/// An unresolved call hides missing permissions. A marker beside it that matches no other call is not excess.
#[test]
fn what_could_not_be_followed_is_no_all_clear() {
    let code = |marker: &str| {
        format!(
            "{marker}use kube::{{Api, Client}};\nasync fn run(client: Client, path: String) {{\n    \
             client.request_text(http::Request::get(path).body(vec![])?).await;\n    \
             Api::<k8s_openapi::api::core::v1::Pod>::all(client).list(&lp).await;\n}}\nfn main() {{}}\n\
             // +kubebuilder:rbac:groups=core,resources=pods,verbs=list\n"
        )
    };
    let sandbox = package(&code(""));
    let run = sandbox.run("rbac lint").success();
    assert!(run.err().contains("= help: list its permissions in a `+kubebuilder:rbac` marker\n"), "{run}");
    assert!(run.err().ends_with("no finding, but 1 call could not be followed\n"), "{run}");
    let role =
        "kind: ClusterRole\nmetadata: {name: op}\nrules:\n- {apiGroups: [''], resources: [pods], verbs: [list]}\n";
    sandbox.file("role.yaml", role);
    let run = sandbox.run("rbac lint --role role.yaml").success();
    assert!(run.err().contains("= help: check that a role has its permissions, and confirm it"), "{run}");
    assert!(!run.err().contains("+kubebuilder"), "{run}");
    sandbox.file("src/main.rs", &code("// +kubebuilder:rbac:urls=/stats,verbs=get\n"));
    let hidden = "the declared permissions are those that the code uses; 1 note is hidden: permissions that no followed call uses (shown with `-v`); 1 call that could not be followed: markers in the same file list their permissions\n";
    sandbox.run("rbac lint").success().stderr(hidden);
    // In another file, the marker may have another purpose.
    sandbox.file("src/main.rs", &(code("") + "mod other;\n"));
    sandbox.file("src/other.rs", "// +kubebuilder:rbac:urls=/stats,verbs=get\n");
    assert!(sandbox.run("rbac lint").success().err().contains("rbac-not-followed"));
}

const RELEASED: &str = "\
kind: Role
metadata: {name: op, namespace: release}
rules:
- {apiGroups: [''], resources: [configmaps, pods, secrets], verbs: [get]}
---
kind: ClusterRole
metadata: {name: op}
rules:
- {apiGroups: [''], resources: [services], verbs: [list, watch]}
---
kind: RoleBinding
metadata: {name: op, namespace: release}
roleRef: {kind: Role, name: op}
subjects: [{kind: ServiceAccount, name: op, namespace: HOME}]
---
kind: ClusterRoleBinding
metadata: {name: op}
roleRef: {kind: ClusterRole, name: op}
subjects: [{kind: ServiceAccount, name: op, namespace: HOME}]
---
kind: Deployment
metadata: {name: op, namespace: HOME}
spec:
  template:
    spec:
      serviceAccountName: op
      containers:
      - name: op
        args: [--watch=FLAG]
        env:
        - name: TARGET
          value: VARIABLE
";

/// A Role applies in one namespace: the operator's, the one in its arguments, or that of an object.
#[test]
fn a_role_holds_in_its_namespace() {
    let code = "use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, Service};\nuse kube::{Api, Client};\n\
                #[derive(clap::Parser)]\nstruct Args {\n    #[arg(long)]\n    watch: String,\n}\n\
                async fn run(client: Client, args: Args) {\n    \
                Api::<Pod>::default_namespaced(client.clone()).get(\"a\").await;\n    \
                let target = std::env::var(\"TARGET\").unwrap();\n    \
                Api::<Secret>::namespaced(client.clone(), &target).get(\"a\").await;\n    \
                Api::<ConfigMap>::namespaced(client.clone(), &args.watch).get(\"a\").await;\n    \
                Api::<Service>::all(client).watch(&wp, \"0\").await;\n}\nfn main() {}\n";
    let sandbox = package(code);
    for (home, flag, variable, expected) in [
        ("release", "release", "release", ""),
        ("other", "release", "release", "pods"),
        ("release", "other", "release", "configmaps"),
        ("release", "release", "other", "secrets"),
    ] {
        let manifest = RELEASED.replace("HOME", home).replace("FLAG", flag).replace("VARIABLE", variable);
        sandbox.file("all.yaml", &manifest.replace("[list, watch]", "[watch]"));
        let run = sandbox.run("rbac lint --role all.yaml -o json");
        let report: serde_json::Value = serde_json::from_str(&run.out()).unwrap();
        let found = report["diagnostics"].as_array().unwrap().iter().filter(|found| found["code"] == "rbac-missing");
        let found: Vec<&str> = found.map(|found| found["message"].as_str().unwrap()).collect();
        if expected.is_empty() {
            assert!(found.is_empty(), "{run}");
        } else {
            let wanted = format!("`get {expected}`, which no role declares in the namespace where it is needed");
            assert!(found.len() == 1 && found[0].contains(&wanted), "{home} {flag} {variable}: {run}");
        }
    }
    let of_objects = code.replace("std::env::var(\"TARGET\").unwrap()", "service.namespace().unwrap_or_default()");
    sandbox.file("src/main.rs", &of_objects);
    let run = sandbox.run("rbac lint --role all.yaml").code(1);
    assert!(
        run.err().contains("needs `get secrets`, which no role declares in the namespace where it is needed"),
        "{run}"
    );
    // An operator that reads objects in one namespace works in that namespace only.
    sandbox.file(
        "src/main.rs",
        &of_objects.replace("Api::<Service>::all(client)", "Api::<Service>::default_namespaced(client)"),
    );
    let run = sandbox.run("rbac lint --role all.yaml");
    assert!(!run.err().contains("secrets"), "{run}");
}

/// The help for a wildcard lists the remaining uses.
#[test]
fn wildcards_are_replaced_where_they_are_used() {
    let code = "use k8s_openapi::api::core::v1::{ConfigMap, Pod};\nuse kube::{Api, Client};\nasync fn run(client: Client) {\n    \
                Api::<Pod>::all(client.clone()).list(&lp).await;\n    Api::<ConfigMap>::namespaced(client.clone(), \"settings\").get(\"a\").await;\n    \
                Api::<ConfigMap>::default_namespaced(client).get(\"a\").await;\n}\nfn main() {}\n";
    let sandbox = package(code);
    sandbox.file(
        "role.yaml",
        "kind: ClusterRole\nmetadata: {name: op}\nrules:\n- {apiGroups: ['*'], resources: ['*'], verbs: [get, list]}\n",
    );
    let run = sandbox.run("rbac lint --role role.yaml").code(1);
    for place in ["# in a Role in the namespace of the operator\n", "# in a Role in the namespace `settings`\n"] {
        assert_eq!(run.err().matches(place).count(), 1, "{run}");
    }
}

/// Permissions that the manager needs with other flags only do not justify a marker.
#[test]
fn an_election_that_is_off_excuses_nothing() {
    let excess = |sandbox: &Sandbox| {
        let report: serde_json::Value = serde_json::from_str(&sandbox.run("rbac lint -o json").out()).unwrap();
        let found = report["diagnostics"].as_array().unwrap().iter();
        let found = found.filter(|found| found["code"] == "rbac-excess" && found["file"] == "src/main.rs");
        found.map(|found| found["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let sandbox = Sandbox::project("");
    let markers = "// +kubebuilder:rbac:groups=core,resources=pods,verbs=get;delete\n\
                   // +kubebuilder:rbac:groups=core,resources=nodes,verbs=get\n\n";
    let main = sandbox.read("src/main.rs");
    sandbox.file("src/main.rs", &format!("{main}{markers}"));
    sandbox.replace("Cargo.toml", "path = \"manager\" }", "path = \"manager\", features = [\"leader-for-life\"] }");
    let nodes = "nothing in the code uses `get nodes`";
    assert_eq!(excess(&sandbox), ["nothing in the code uses `get,delete pods`", nodes]);
    sandbox.replace(
        "config/default/kustomization.yaml",
        "#components:\n#- ../components/leader-for-life\n",
        "components:\n- ../components/leader-for-life\n",
    );
    assert_eq!(excess(&sandbox), [nodes]);
    let patch = "config/components/leader-for-life/manager_args_patch.yaml";
    let takeover =
        "- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --leader-election-takeover-after=1m\n";
    sandbox.file(patch, &(sandbox.read(patch) + takeover));
    assert_eq!(excess(&sandbox), [""; 0]);
}

/// A change to the declared permissions of a scaffolded project is reported at its place.
#[test]
fn what_config_binds_counts() {
    let kustomization = "config/rbac/kustomization.yaml";
    let default = "config/default/kustomization.yaml";
    for (path, from, to, expected) in [
        (kustomization, "- leader_election_role_binding.yaml\n", "", "src/main.rs rbac-missing"),
        (kustomization, "- metrics_auth_role.yaml\n", "", "src/main.rs rbac-missing"),
        // Unbound roles are not checked.
        ("config/rbac/metrics_reader_role.yaml", "  - get\n", "  - get\n  - post\n", ""),
        (
            "config/rbac/leader_election_role.yaml",
            "  - get\n",
            "  - get\n  - list\n",
            "config/rbac/leader_election_role.yaml rbac-excess",
        ),
        (
            default,
            "#components:\n#- ../components/leader-for-life\n",
            "components:\n- ../components/leader-for-life\n",
            "config/components/leader-for-life/role.yaml rbac-excess",
        ),
        // Without a metrics endpoint, the scraper's permissions are not checked.
        (default, "- path: manager_metrics_patch.yaml\n  target:\n    kind: Deployment\n", "  []\n", ""),
    ] {
        let sandbox = Sandbox::project("");
        sandbox.run("create api --group cache --version v1 --kind Memcached --image memcached").success();
        sandbox.replace(path, from, to);
        let run = sandbox.run("rbac lint -o json");
        let report: serde_json::Value = serde_json::from_str(&run.out()).unwrap();
        let found = report["diagnostics"].as_array().unwrap().iter();
        let mut found: Vec<String> = found
            .filter(|found| found["severity"] != "note" && found["code"] != "rbac-not-followed")
            .map(|found| format!("{} {}", found["file"].as_str().unwrap_or("-"), found["code"].as_str().unwrap()))
            .collect();
        found.dedup();
        assert_eq!(found.join(", "), expected, "{path}: {from:?}\n{run}");
        assert_eq!(run.exit_code(), Some(i32::from(!expected.is_empty())), "{run}");
    }
}

/// Permissions of leader-for-life are excess if the feature is off.
#[test]
fn the_permissions_of_a_leader_for_life_belong_to_a_feature_of_the_manager() {
    let component = "#components:\n#- ../components/leader-for-life\n";
    let feature = |sandbox: &Sandbox| {
        let with = "path = \"manager\", features = [\"leader-for-life\"] }";
        sandbox.replace("Cargo.toml", "path = \"manager\" }", with);
    };
    let sandbox = Sandbox::project("");
    sandbox.replace("config/default/kustomization.yaml", component, &component.replace('#', ""));
    sandbox.run("rbac lint").code(1);
    feature(&sandbox);
    sandbox.run("rbac lint").success();

    let sandbox = Sandbox::project("");
    let role = "config/rbac/leader_election_role.yaml";
    let rules = "- apiGroups:\n  - \"\"\n  resources:\n  - pods\n  verbs:\n  - get\n  - delete\n";
    sandbox.replace(role, "rules:\n", &format!("rules:\n{rules}"));
    let said = sandbox.run("rbac lint").code(1).err();
    assert!(
        said.contains("rbac-excess]: nothing in the code uses `get,delete pods`") && said.contains("1 finding"),
        "{said}"
    );
    sandbox.replace("config/default/kustomization.yaml", component, &component.replace('#', ""));
    sandbox.run("rbac lint").code(1);
    feature(&sandbox);
    sandbox.run("rbac lint").success();
}

#[test]
fn the_report_has_a_format_for_programs() {
    let sandbox = package("fn main() {}\n// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get\n");
    let run = sandbox.run("rbac lint -o sarif").code(1);
    let log: serde_json::Value = serde_json::from_str(&run.out()).unwrap();
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "rbac-excess", "{log:#}");
    assert_eq!(log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"], 2);
    sandbox.run("rbac lint --check").code(2);
    sandbox.run("rbac lint --fix --role roles.yaml").code(2);
    sandbox.run("rbac lint --role missing.yaml").code(1);
    sandbox.file("chart.yaml", "{{ if .Values.rbac }}\nkind: Role\n").run("rbac lint --role chart.yaml").code(1);
}

const TWO_ACCOUNTS: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: operator}
rules:
- {apiGroups: [\"\"], resources: [pods], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: agent}
rules:
- {apiGroups: [\"\"], resources: [nodes], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: operator}
subjects:
- {kind: ServiceAccount, name: operator, namespace: operators}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: agent}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: agent}
subjects:
- {kind: ServiceAccount, name: agent, namespace: operators}
- {kind: ServiceAccount, name: agent, namespace: agents}
";

/// If the files bind several accounts, only the operator's are checked.
#[test]
fn the_account_is_chosen() {
    let code = "use k8s_openapi::api::core::v1::Pod;\nasync fn run(client: kube::Client) {\n    \
                kube::Api::<Pod>::all(client).list(&lp).await;\n}\nfn main() {}\n";
    let sandbox = package(code);
    sandbox.file("all.yaml", TWO_ACCOUNTS);
    let agrees = "the declared permissions are those that the code uses\n";
    for name in ["operator", "operators/operator"] {
        sandbox.run(&format!("rbac lint --role all.yaml --service-account {name}")).success().stderr(agrees);
    }
    for (name, expected) in [
        (
            "",
            "error: the files bind roles to several ServiceAccounts\nhelp: pass the operator's with `--service-account`: `agents/agent`, `operators/agent`, `operators/operator`\n",
        ),
        (
            "--service-account agent",
            "error: `agent` is the name of several ServiceAccounts\nhelp: add its namespace: `agents/agent`, \
             `operators/agent`\n",
        ),
        (
            "--service-account agents/operator",
            "error: the files bind no role to the ServiceAccount `agents/operator`\nhelp: they bind roles to \
             `agents/agent`, `operators/agent`, `operators/operator`\n",
        ),
    ] {
        sandbox.run(&format!("rbac lint --role all.yaml {name}")).code(1).stderr(expected);
    }
    let run = sandbox.run("rbac lint --role all.yaml --service-account agents/agent -o json").code(1);
    assert!(run.out().contains("rbac-missing") && run.out().contains("rbac-excess"), "{run}");
    sandbox.run("rbac lint --service-account operator").code(2);
    // A workload names the operator's account. Without a namespace, any matches.
    let deployment = "---\nkind: Deployment\nspec: {template: {spec: {serviceAccountName: operator}}}\n";
    sandbox.file("all.yaml", &format!("{TWO_ACCOUNTS}{deployment}"));
    sandbox.run("rbac lint --role all.yaml").success().stderr(agrees);
    // Without bindings, accounts cannot be distinguished.
    let roles = TWO_ACCOUNTS.split("---\n").take(1).collect::<String>();
    sandbox.file("roles.yaml", &roles).run("rbac lint --role roles.yaml").success().stderr(agrees);
    sandbox.run("rbac lint --role roles.yaml --service-account operator").code(1).stderr(
        "error: the files bind no role to the ServiceAccount `operator`\nhelp: also pass the files with its bindings\n",
    );
}

/// Each `tests/fixtures/rbac-verify/<case>.log` has the findings of `<case>.stderr`, for the operator in that folder.
#[test]
fn each_audit_log_has_its_findings() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rbac-verify");
    let sandbox = package(&std::fs::read_to_string(dir.join("operator.rs")).unwrap());
    let mut count = 0;
    for log in std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()) {
        if log.extension().is_none_or(|extension| extension != "log") {
            continue;
        }
        let name = log.file_name().unwrap().to_str().unwrap();
        std::fs::copy(&log, sandbox.path(name)).unwrap();
        let run = sandbox.run(&format!("rbac verify --audit-log {name} --user operators/operator"));
        assert_file(&run.err(), &log.with_extension("stderr"));
        let clean = ["clean.log", "list.log"].contains(&name);
        assert_eq!(run.exit_code(), Some(i32::from(!clean)), "{run}");
        let full = format!("rbac verify --audit-log {name} --user system:serviceaccount:operators:operator");
        assert_eq!(sandbox.run(&full).err(), run.err(), "the same user by its full name");
        count += 1;
    }
    assert!(count >= 7, "only {count} logs");
    let run = sandbox.run("rbac verify --audit-log clean.log --user operators/somebody").code(1);
    assert!(run.err().contains("has no request of `system:serviceaccount:operators:somebody`"), "{run}");
    std::fs::write(sandbox.path("log.gz"), [0x1f, 0x8b, 8]).unwrap();
    let run = sandbox.run("rbac verify --audit-log log.gz --user operators/operator").code(1);
    assert!(run.err().contains("gunzip"), "{run}");
}

/// The package in [`role_sources`]: it lists pods and deletes nodes.
const LISTS: &str = "use k8s_openapi::api::core::v1::{Node, Pod};\nuse kube::{Api, Client};\nfn main() {}\n\
                     async fn run(client: Client) {\n    Api::<Pod>::all(client.clone()).list(&lp).await;\n    \
                     Api::<Node>::all(client).delete(\"a\", &dp).await;\n}\n";

fn role(name: &str, resource: &str, verb: &str) -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: {name}\nrules:\n\
         - apiGroups: [\"\"]\n  resources: [{resource}]\n  verbs: [{verb}]\n"
    )
}

/// `--role` accepts files, folders, kustomizations and charts.
#[test]
fn role_sources() {
    let (pods, nodes, secrets) = (role("a", "pods", "list"), role("b", "nodes", "delete"), role("c", "secrets", "get"));
    let chart = format!(
        "{{{{- if .Values.rbac }}}}\n{}{{{{- end }}}}\n---\n{}  {{{{- with .Values.labels }}}}\n  {{{{- end }}}}\n",
        pods.replace(
            "name: a",
            "name: {{ include \"x.name\" . }}\n  labels:\n    {{- include \"x.labels\" . | nindent 4 }}"
        ),
        nodes.replace("name: b", "name: {{ .Release.Name }}-b"),
    );
    let written = pods.replace("[list]", "{{ toYaml .Values.verbs | nindent 4 }}");
    let fine = "the declared permissions are those that the code uses\n";
    let held = "the declared permissions are those that the code uses; 1 note is hidden: permissions that no followed call uses (shown with `-v`)\n";
    let missing = "error: `base/kustomization.yaml` lists `gone.yaml`, which does not exist\n";
    let values = "error: the permissions of `chart/templates/role.yaml` depend on values that are not known\n\
                  help: render the chart, and pass the result: `helm template chart > all.yaml`\n";
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
    let cases: [Case<'_>; 8] = [
        ("a.yaml --role b.yaml", &[("a.yaml", &pods), ("b.yaml", &nodes)], fine),
        (
            "all",
            &[
                ("all/a.yaml", &pods),
                ("all/x/b.yml", &nodes),
                ("all/values.yaml", "a: [\n"),
                ("all/.x/c.yaml", &secrets),
            ],
            fine,
        ),
        (
            "over",
            &[
                ("over/kustomization.yml", "resources: [../base, b.yaml]\n"),
                ("over/b.yaml", &nodes),
                ("over/unlisted.yaml", &secrets),
                ("base/kustomization.yaml", "resources: [a.yaml]\n"),
                ("base/a.yaml", &pods),
            ],
            fine,
        ),
        (
            "base/kustomization.yaml",
            &[
                ("base/kustomization.yaml", "resources: [a.yaml, 'https://example.com/b.yaml', b.yaml]\n"),
                ("base/a.yaml", &pods),
                ("base/b.yaml", &nodes),
            ],
            held,
        ),
        ("base", &[("base/kustomization.yaml", "resources: [gone.yaml]\n")], missing),
        (
            "chart",
            &[
                ("chart/Chart.yaml", "name: x\n"),
                ("chart/templates/role.yaml", &chart),
                ("chart/templates/deployment.yaml", "a:\n{{ toYaml . }}\n b: [\n"),
                ("chart/templates/_helpers.tpl", "{{ define \"x.name\" }}x{{ end }}"),
            ],
            held,
        ),
        ("chart", &[("chart/Chart.yaml", "name: x\n"), ("chart/templates/role.yaml", &written)], values),
        (
            "none",
            &[("none/a.yaml", "a: b\n")],
            "error: no role found in `none`\nhelp: pass files with a `Role` or `ClusterRole`, a kustomization, a chart, or a \
             folder of them; render other templates first\n",
        ),
    ];
    for (roles, files, expected) in cases {
        let sandbox = package(LISTS);
        for (path, text) in files {
            sandbox.file(path, text);
        }
        assert_eq!(sandbox.run(&format!("rbac lint --role {roles}")).err(), expected, "--role {roles}");
    }
}
