//! Commands of kubebuilder and operator-sdk run here unchanged, or print the alternative.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::sandbox::{OFFLINE, Run, Sandbox};

/// The commands of kubebuilder's test-data script, by project.
pub(crate) const SCRIPTS: [(&str, &str); 3] = [
    ("project-v4", include_str!("../../fixtures/kubebuilder/project-v4.sh")),
    ("project-v4-multigroup", include_str!("../../fixtures/kubebuilder/project-v4-multigroup.sh")),
    ("project-v4-with-plugins", include_str!("../../fixtures/kubebuilder/project-v4-with-plugins.sh")),
];

fn typed(sandbox: &Sandbox, line: &str) -> Run {
    let program = env!("CARGO_BIN_EXE_memcached-sdk");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("kubebuilder() {{ '{program}' \"$@\"; }}; {line}")]).current_dir(sandbox.root());
    shell.stdin(std::process::Stdio::null()).env("NO_COLOR", "1");
    sandbox.finish(line, &mut shell)
}

/// Runs a script in a new project. Commands with a Go import path are expected to fail.
pub(crate) fn scaffolded(sandbox: &Sandbox, name: &str, script: &str) {
    for line in script.lines().filter(|line| !line.starts_with('#')) {
        // The only changes: no network, and a project name that does not depend on the folder.
        let line = line.replace("kubebuilder init", &format!("kubebuilder init {OFFLINE} --project-name {name}"));
        let run = typed(sandbox, &line);
        if line.contains("--external-api-path=github.com") {
            let said = run.code(2).err();
            let command = if line.contains("create webhook") {
                "create webhook --defaulting"
            } else {
                "create api --resource=false"
            };
            for part in [
                "is a Go package",
                &format!("memcached-sdk {command} --group cert-manager --version v1 --kind "),
                " --external-api-domain=io --external-api-path=CRATE::v1 --external-api-module=CRATE@VERSION",
            ] {
                assert!(said.contains(part), "{line}: {said}");
            }
        } else {
            run.success();
        }
    }
}

/// Resources in PROJECT as `group/version Kind: parts`.
fn resources(sandbox: &Sandbox) -> BTreeSet<String> {
    let project: Value = serde_yaml::from_str(&sandbox.read("PROJECT")).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |resource: &Value| {
        let parts = [
            resource["api"].is_object().then(|| "api".to_owned()),
            (resource["controller"] == true).then(|| "controller".to_owned()),
            resource["controllers"].as_array().map(|all| {
                let names: Vec<String> = all.iter().map(|one| text(&one["name"])).collect();
                format!("controllers {}", names.join(","))
            }),
            (resource["webhooks"]["defaulting"] == true).then(|| "defaulting".to_owned()),
            (resource["webhooks"]["validation"] == true).then(|| "validation".to_owned()),
            (resource["webhooks"]["conversion"] == true).then(|| "conversion".to_owned()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!(
            "{}/{} {}: {}",
            text(&resource["group"]),
            text(&resource["version"]),
            text(&resource["kind"]),
            parts.join(" ")
        )
    };
    project["resources"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn the_script_of_kubebuilder_runs_as_it_is_typed() {
    let expected: [&[&str]; 3] = [
        &[
            "apps/v1 Deployment: defaulting validation",
            "core/v1 Pod: defaulting",
            "crew/v1 Admiral: api controller defaulting validation",
            "crew/v1 Captain: api controllers captain,captain-backup defaulting validation",
            "crew/v1 FirstMate: api controller conversion",
            "crew/v1 Navigator: api controller",
            "crew/v1 Sailor: api controller defaulting validation",
            "crew/v2 FirstMate: api",
        ],
        &[
            "apps/v1 Deployment: controller defaulting validation",
            "core/v1 Pod: validation",
            "crew/v1 Captain: api controllers captain,captain-backup defaulting validation",
            "example.com/v1 Wordpress: api controller conversion",
            "example.com/v1alpha1 Busybox: api controller",
            "example.com/v1alpha1 Memcached: api controller validation",
            "example.com/v2 Wordpress: api",
            "fiz/v1 Bar: api controller",
            "foo.policy/v1 HealthCheckPolicy: api controller",
            "foo/v1 Bar: api controller",
            "sea-creatures/v1 Prawn: api controller",
            "sea-creatures/v1beta1 Kraken: api controller",
            "sea-creatures/v1beta2 Leviathan: api controller",
            "ship/v1 Destroyer: api controller defaulting",
            "ship/v1beta1 Frigate: api controller",
            "ship/v2alpha1 Cruiser: api controller validation",
        ],
        &[
            "example.com/v1 Wordpress: api controller conversion",
            "example.com/v1alpha1 Busybox: api controller",
            "example.com/v1alpha1 Memcached: api controller validation",
            "example.com/v2 Wordpress: api",
        ],
    ];
    let mut commands = 0;
    for ((name, script), expected) in SCRIPTS.iter().zip(expected) {
        let sandbox = Sandbox::new();
        scaffolded(&sandbox, name, script);
        commands += script.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(resources(&sandbox).iter().map(String::as_str).collect::<Vec<_>>(), expected, "{name}");
        // `make all` follows in the script, and it generates.
        sandbox.lock().run("generate").success();
        sandbox.run("generate --check").success();
        let crds = expected.iter().filter(|resource| resource.contains(": api")).map(|resource| {
            let (group, rest) = resource.split_once('/').unwrap();
            format!("{group} {}", rest.split([' ', ':']).nth(1).unwrap())
        });
        let files = sandbox.files();
        let written = files.keys().filter(|path| path.starts_with("config/crd/bases/")).count();
        assert_eq!(written, crds.collect::<BTreeSet<_>>().len(), "{name}");
    }
    assert_eq!(commands, 61);
}

/// Each flag without a counterpart prints one line of explanation.
#[test]
fn flags_of_kubebuilder_are_accepted_and_explained() {
    let flags = "--plugins=go.kubebuilder.io/v4,kustomize/v2 --project-version=3 --skip-go-version-check --component-config=true \
                 --repo=github.com/example/demo";
    let sandbox = Sandbox::new();
    let said = sandbox.run(&format!("init --domain example.com --project-name demo {OFFLINE} {flags}")).success().err();
    for flag in [
        "--plugins=go.kubebuilder.io/v4",
        "--plugins=kustomize/v2",
        "--project-version",
        "--skip-go-version-check",
        "--component-config",
        "--repo",
    ] {
        assert!(said.contains(&format!("`{flag}`: ")), "{flag}: {said}");
    }
    assert!(sandbox.read("PROJECT").contains("repo: https://github.com/example/demo\n"));
    for (command, code, expected) in [
        ("create api --group a --version v1 --kind One --ssa", 0, "`--ssa`: every controller here applies server-side"),
        ("create api --group a --version v1 --kind Two --pattern=addon --make=false", 0, "`--pattern`: "),
        ("create api --group a --version v1 --kind Three --crd-version v1", 0, "`--crd-version`: "),
        ("create api --group a --version v1 --kind Four --plugins deploy-image/v1-alpha", 2, "requires `--image`"),
        (
            "create webhook --group a --version v1 --kind One --defaulting --webhook-version v1",
            0,
            "`--webhook-version`: ",
        ),
        ("edit --plugins=autoupdate.kubebuilder.io/v1-alpha", 0, "`memcached-sdk update` brings"),
        ("edit --plugins=helm.kubebuilder.io/v1-alpha", 0, "`memcached-sdk generate helm` makes a chart"),
        ("edit --plugins=ansible.sdk.operatorframework.io/v1", 2, "an operator is a Rust program here"),
        ("edit --plugins=helm --manifests=dist/install.yaml", 2, "`generate helm --manifests FILE`"),
        ("edit --license-file=HEADER", 2, "`--license none`"),
        ("create api --helm-chart=nginx", 2, "`operator-sdk` makes operators of charts"),
        (
            "create api --group a --version v1 --kind X --resource=false --external-api-path=x::v1 --external-api-module=example.com/x@v1",
            2,
            "`example.com/x@v1` is a Go package",
        ),
    ] {
        let said = sandbox.run(command).code(code).err();
        assert!(said.contains(expected), "{command}: {said}");
    }
}

/// No command of kubebuilder or operator-sdk is unknown.
#[test]
fn commands_of_the_peers_are_answered() {
    let sandbox = Sandbox::project("");
    for (command, expected) in [
        ("alpha config-3alpha-to-3", "memcached-sdk edit"),
        ("olm install --version 0.28.0", "kubectl apply --server-side"),
        ("olm uninstall", "kubectl delete"),
        ("olm status", "kubectl get"),
        ("run bundle example.com/bundle:v1 --timeout 5m", "CatalogSource"),
        ("run bundle-upgrade example.com/bundle:v2", "--replaces"),
        ("run packagemanifests ./packagemanifests --version 0.0.1", "memcached-sdk generate bundle"),
        ("cleanup demo --delete-all", "make undeploy"),
        ("pkgman-to-bundle packagemanifests", "memcached-sdk generate bundle --manifests FOLDER"),
        ("generate packagemanifests --version 0.0.1", "memcached-sdk generate catalog"),
        ("bundle create quay.io/x", "make bundle-build"),
        ("create controller --group a", "create api --resource=false"),
        ("create resource --group a", "create api --controller=false"),
        ("test local ./test/e2e", "make test"),
        ("print-deps --as-file", "cargo tree"),
        ("add something", "create api"),
        ("deploy", "make deploy"),
        ("cmd", "src/main.rs"),
        ("pkg", "src/api"),
        ("vendor update", "cargo vendor"),
    ] {
        let said = sandbox.run(command).code(2).err();
        assert!(said.contains("works differently in memcached-sdk") && said.contains(expected), "{command}: {said}");
        assert!(!said.contains("unrecognized"), "{command}: {said}");
    }
    // Errors in native commands keep clap's message.
    for (command, expected) in [
        ("bundle validate --frobnicate", "unexpected argument '--frobnicate'"),
        ("alpha update --from-version v4.6.0", "unexpected argument '--from-version'"),
        ("bundle", "Usage: "),
        ("add api", "--api-version"),
    ] {
        assert!(sandbox.run(command).code(2).err().contains(expected), "{command}");
    }
}

/// The example of the help: a Kubernetes kind gets a controller, but no API in the project.
#[test]
fn a_kind_of_kubernetes_is_not_made_an_api() {
    for (group, version, kind, path) in [
        ("apps", "v1", "Deployment", "k8s_openapi::api::apps::v1"),
        ("core", "v1", "Pod", "k8s_openapi::api::core::v1"),
        ("batch", "v1", "CronJob", "k8s_openapi::api::batch::v1"),
        ("networking", "v1", "Ingress", "k8s_openapi::api::networking::v1"),
        ("networking.k8s.io", "v1", "Ingress", "k8s_openapi::api::networking::v1"),
    ] {
        let sandbox = Sandbox::project("");
        let command = format!("create api --group {group} --version {version} --kind {kind}");
        let said = sandbox.run(&command).success().err();
        assert!(said.contains(&format!("`{kind}` is the built-in kind")) && said.contains("`--resource`"), "{said}");
        let files = sandbox.files();
        assert!(files.values().any(|text| text.contains(&format!("use {path}::{kind};"))), "{command}");
        assert!(
            !files.keys().any(|path| path.starts_with("src/api/") || path.starts_with("config/crd/bases/")),
            "{command}"
        );
    }
    // A flag that only applies to an API, or an empty group, makes the kind an API of the project.
    for flags in [
        "--group apps --resource",
        "--group apps --image nginx",
        "--group apps --short-name d",
        "--group apps --namespaced=false",
        "--group apps --plural deploys",
        "--group apps --controller=false",
    ] {
        let sandbox = Sandbox::project("");
        sandbox.run(&format!("create api --version v1 --kind Deployment {flags}")).success();
        assert!(sandbox.path("src/api/v1/deployment.rs").exists(), "{flags}");
        if flags.contains("--namespaced") {
            continue;
        }
        // Another version of an existing API is an API, too.
        sandbox.run("create api --group apps --version v1beta1 --kind Deployment --controller=false").success();
        assert!(sandbox.path("src/api/v1beta1/deployment.rs").exists(), "{flags}");
    }
    let sandbox = Sandbox::project("");
    sandbox.run("create api --version v1 --kind Secret").success();
    assert!(sandbox.path("src/api/v1/secret.rs").exists());
}

/// Without `--group`, the kind belongs to the only group of the project that declares it.
#[test]
fn the_only_group_need_not_be_named() {
    let sandbox = Sandbox::project("--multigroup");
    let webhook = "create webhook --version v1 --kind Captain";
    let said = sandbox.run(&format!("{webhook} --defaulting")).code(1).err();
    assert!(said.contains("the project has no API yet"), "{said}");
    sandbox.run("create api --group crew --version v1 --kind Captain").success();
    sandbox.run(&format!("{webhook} --defaulting")).success();
    sandbox.run(&format!("{webhook} --group crew.example.com --programmatic-validation")).success();
    sandbox.run("create api --version v1 --kind Captain --resource=false --controller-name second").success();
    let captain = "crew/v1 Captain: api controllers crew-captain,second defaulting validation".to_owned();
    assert_eq!(resources(&sandbox), BTreeSet::from([captain.clone()]));
    // Otherwise, a Kubernetes kind matches.
    sandbox.run("create webhook --version v1 --kind Pod --defaulting").success();
    sandbox.run("create api --version v1 --kind Pod --resource=false").success();
    assert_eq!(resources(&sandbox), BTreeSet::from([captain, "core/v1 Pod: controller defaulting".to_owned()]));
    sandbox.run("create api --group ship --version v1 --kind Captain").success();
    for (flags, code, expected) in [
        ("--version v1 --kind Captain", 2, "pass `--group crew` or `--group ship`"),
        (
            "--version v2 --kind Captain",
            1,
            "the project has `--group crew --version v1 --kind Captain`, `--group ship --version v1",
        ),
        ("--group sea --version v1 --kind Captain", 1, "the project has `--group crew --version v1 --kind Captain`"),
        ("--version v1 --kind Ingress", 1, "Kubernetes has `--group networking.k8s.io --version v1 --kind Ingress`"),
        ("--group apps --version v2 --kind Deployment", 1, "use `--version v1 --kind Deployment`"),
    ] {
        for command in ["create webhook --defaulting", "create api --resource=false --controller-name third"] {
            let said = sandbox.run(&format!("{command} {flags}")).code(code).err();
            assert!(said.contains(expected), "{command} {flags}: {said}");
        }
    }
}
