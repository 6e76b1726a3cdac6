//! Commands of operator-sdk before version 1 run their present counterparts and name them.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use snapbox::str;

use crate::sandbox::{OFFLINE, Run, Sandbox, join};

/// A new project without a chosen domain.
fn project(flags: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("init --project-name demo {OFFLINE} {flags}")).success();
    sandbox
}

/// The project's state after these commands.
fn after(init: &str, commands: &[&str]) -> String {
    let sandbox = project(init);
    for command in commands {
        sandbox.run(command).success();
    }
    join(&sandbox.files())
}

#[test]
fn an_api_and_its_controller_are_added() {
    let flags = "--api-version=cache.example.com/v1alpha1 --kind=Memcached";
    let [api, controller] = ["api", "controller"].map(|what| format!("add {what} {flags}"));
    let today = "create api --group cache --version v1alpha1 --kind Memcached";
    assert!(
        after("", &[&api, &controller])
            == after(
                "--domain example.com",
                &[&format!("{today} --controller=false"), &format!("{today} --resource=false")]
            )
    );
    let sandbox = project("");
    sandbox.run(&api).success().stderr(str![[r#"
the domain of the project is now `example.com`: none was chosen, and it has no API yet
today: memcached-sdk create api --group cache --version v1alpha1 --kind Memcached --controller=false
10 created, 7 updated, 1 unchanged

Next, write the types and the controller; `memcached-sdk generate` brings config/ up to date.

"#]]);
    let before = join(&sandbox.files());
    sandbox.run("add api --api-version=cache.other.org/v1 --kind=Other").code(2).stderr(str![[r#"
error: `cache.other.org` does not end in the domain of the project, `example.com`
help: pass `--api-version cache.example.com/v1`, or make a project of that domain with `memcached-sdk init --domain other.org`

"#]]);
    sandbox.run("add api --api-version=cache.example.com/v1/x --kind=Other").code(2);
    assert!(join(&sandbox.files()) == before);
    // `generate` already wrote the CRD.
    sandbox.lock().run(&format!("add crd {flags}")).success().stdout("").stderr(str![[r#"
today: memcached-sdk generate crds --kind Memcached.cache.example.com
1 unchanged

"#]]);
    for what in ["k8s", "openapi"] {
        sandbox.run(&format!("generate {what} --check")).success();
    }
}

#[test]
fn a_controller_of_a_kind_of_kubernetes_is_added() {
    for (api_version, kind, group) in [("apps/v1", "ReplicaSet", "apps"), ("v1", "Pod", "core")] {
        let version = api_version.rsplit('/').next().unwrap();
        let today = format!("create api --group {group} --version {version} --kind {kind} --resource=false");
        let added = after("", &[&format!("add controller --api-version {api_version} --kind {kind}")]);
        assert!(added == after("", &[&today]), "{kind}");
    }
}

/// A group may equal the domain.
#[test]
fn a_group_with_one_dot_is_the_domain() {
    let added = after("", &["add api --api-version flights.com/v1 --kind FlightTicket"]);
    let today = "create api --version v1 --kind FlightTicket --controller=false";
    assert!(added == after("--domain flights.com", &[today]));
}

/// A project with fakes of cargo, podman and memcached-sdk that print their arguments.
fn with_programs(flags: &str) -> (Sandbox, impl Fn(&Sandbox, &str) -> Run) {
    let sandbox = project(flags);
    for name in ["podman", "cargo", "memcached-sdk"] {
        let path = format!("bin-of-test/{name}");
        sandbox.file(&path, "#!/bin/sh\necho \"$(basename \"$0\") $*; $WATCH_NAMESPACE ${KUBECONFIG##*/}\"\n");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(sandbox.path(&path), executable).unwrap();
    }
    let run = |sandbox: &Sandbox, arguments: &str| {
        let mut command: Command = sandbox.command(arguments);
        let path = format!("{}:{}", sandbox.path("bin-of-test").display(), std::env::var("PATH").unwrap());
        command.env("PATH", path).env_remove("KUBECONFIG").env_remove("CARGO");
        sandbox.finish(arguments, &mut command)
    };
    (sandbox, run)
}

#[test]
fn an_image_is_built() {
    let (sandbox, run) = with_programs("");
    run(&sandbox, "build example.com/demo:v1 --image-builder podman")
        .success()
        .stdout(str![[r#"
podman build   -t example.com/demo:v1 .
podman build -t example.com/demo:v1 .;  
podman images example.com/demo:v1;  

"#]])
        .stderr("today: make docker-build IMG=example.com/demo:v1 CONTAINER_TOOL=podman\n");
}

#[test]
fn the_operator_is_run_here() {
    let (sandbox, run) = with_programs("--namespaced");
    for command in ["up local", "run --local"] {
        let said = run(&sandbox, &format!("{command} --namespace=mine --kubeconfig=some/file --operator-flags=-v"));
        let said = said.success();
        assert!(said.out().contains("cargo run -- -v; mine file\n"), "{said}");
        assert!(
            said.err().contains("today: make run KUBECONFIG=")
                && said.err().contains(" WATCH_NAMESPACE=mine ARGS=-v\n"),
            "{said}"
        );
        assert!(run(&sandbox, command).success().out().contains("cargo run --; default \n"));
    }
    let (sandbox, run) = with_programs("");
    assert!(run(&sandbox, "up local").success().out().contains("cargo run --;  \n"));
    run(&sandbox, "up local --namespace=mine").code(2).stderr(str![[r#"
error: the operator works in all namespaces, and `--namespace` chooses one
help: leave it out, or run `memcached-sdk edit --namespaced` first

"#]]);
    // Without the binary, make prints how to install it.
    std::fs::remove_file(sandbox.path("bin-of-test/memcached-sdk")).unwrap();
    let said = run(&sandbox, "up local").code(1);
    let expected = "There is no memcached-sdk: run `make setup-memcached-sdk`, or name it by MEMCACHED_SDK=PATH.";
    assert!(said.err().contains(expected), "{said}");
}

/// `script` provides the terminal that the prompt needs.
#[test]
fn a_group_that_ends_in_the_domain_is_asked_about() {
    let flags = "--version v1 --kind Memcached --resource --controller";
    let project = || project("--domain example.com");
    let wanted = project();
    wanted.run(&format!("create api --group cache {flags}")).success();
    for (answer, is_made) in [("y", true), ("n", false)] {
        let sandbox = project();
        let command = format!("{} create api --group cache.example.com {flags}", env!("CARGO_BIN_EXE_memcached-sdk"));
        let mut script = Command::new("sh");
        let line = format!("echo {answer} | script -qec '{command}' /dev/null");
        script.args(["-c", &line]).current_dir(sandbox.root()).env("NO_COLOR", "1");
        let said = sandbox.finish("script", &mut script);
        let question = "Is the group `cache.example.com`, and not `cache.example.com.example.com`? [Y/n]";
        assert!(said.out().contains(question), "{said}");
        assert_eq!(said.exit_code(), Some(if is_made { 0 } else { 2 }), "{said}");
        assert_eq!(join(&sandbox.files()) == join(&wanted.files()), is_made);
    }
    project().run(&format!("create api --group cache.example.com {flags}")).code(2).stderr(str![[r#"
error: the domain `example.com` is added to the group, and `cache.example.com` ends in it already
help: for `cache.example.com` run `memcached-sdk create api --group cache --version v1 --kind Memcached`; `cache.example.com.example.com` is the same in a project of `memcached-sdk init --domain example.com.example.com`

"#]]);
}

const STREAM: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: demo-controller-manager, namespace: demo-system}
---
apiVersion: v1
kind: Service
metadata: {name: demo-metrics, namespace: demo-system}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: demo-validating}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: demo-manager-rolebinding}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: demo-manager-role}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: demo-controller-manager, namespace: demo-system}
---
apiVersion: v1
kind: Namespace
metadata: {name: demo-system}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: memcacheds.cache.example.com}
spec:
  group: cache.example.com
  names: {kind: Memcached}
  versions:
  - {name: v1, storage: false}
  - {name: v1beta1, storage: true}
";

#[test]
fn an_installer_is_laid_out_in_files() {
    let sandbox = Sandbox::new();
    sandbox.file("dist/install.yaml", STREAM);
    sandbox.file(
        "config/samples/cache_v1_memcached.yaml",
        "apiVersion: cache.example.com/v1\nkind: Memcached\nmetadata: {name: sample}\n",
    );
    sandbox.file("config/samples/kustomization.yaml", "resources:\n- cache_v1_memcached.yaml\n");
    sandbox
        .file("deploy/notes.yaml", "mine: true\n")
        .file("deploy/crds/old_crd.yaml", "# Code generated by memcached-sdk generate installer. DO NOT EDIT.\n");
    sandbox
        .run("build-installer --layout deploy")
        .success()
        .stdout(str![[r#"
create    crds/cache_v1_memcached_cr.yaml
create    crds/cache_v1beta1_memcached_crd.yaml
remove    crds/old_crd.yaml
create    operator.yaml
create    role.yaml
create    role_binding.yaml
create    service_account.yaml

"#]])
        .stderr(str![[r#"
6 created, 1 removed
Create them in this order:
  kubectl create -f deploy/crds/cache_v1beta1_memcached_crd.yaml
  kubectl create -f deploy/service_account.yaml
  kubectl create -f deploy/role.yaml
  kubectl create -f deploy/role_binding.yaml
  kubectl create -f deploy/operator.yaml
  kubectl create -f deploy/crds/cache_v1_memcached_cr.yaml

"#]]);
    let kinds = |path: &str| -> Vec<String> {
        let text = sandbox.read(path);
        text.lines().filter_map(|line| line.strip_prefix("kind: ")).map(str::to_owned).collect()
    };
    assert_eq!(kinds("deploy/operator.yaml"), ["Service", "Deployment", "ValidatingWebhookConfiguration"]);
    assert_eq!(kinds("deploy/service_account.yaml"), ["Namespace", "ServiceAccount"]);
    sandbox.run("generate installer --check").success();

    sandbox.file("deploy/role.yaml", "mine: true\n");
    sandbox.run("generate installer").code(1).stderr(str![[r#"
error: `role.yaml` exists and was not generated
help: move it away, or choose another `--output-dir`

"#]]);
    // Two groups with a common prefix.
    let other = STREAM.rsplit("---\n").next().unwrap().replace("cache.example.com", "cache.example.org");
    sandbox.file("dist/two.yaml", &format!("{STREAM}---\n{other}"));
    sandbox.run("generate installer --manifests dist/two.yaml --output-dir two").success();
    for name in ["cache.example.com", "cache.example.org"] {
        assert!(sandbox.path(&format!("two/crds/{name}_v1beta1_memcached_crd.yaml")).exists());
    }
    sandbox.file("dist/none.yaml", "");
    sandbox.run("generate installer --manifests dist/none.yaml").code(1);
    sandbox.run("generate installer --manifests dist/missing.yaml").code(1);
}
