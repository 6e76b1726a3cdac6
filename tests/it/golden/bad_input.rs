//! Wrong flags, names and PROJECT files: the message names the problem and the remedy, and nothing is written.

use std::fmt::Write as _;

use snapbox::{assert_data_eq, str};

use crate::sandbox::{OFFLINE, Sandbox};

/// Runs each command in one project, checks the exit code and a part of the message, and checks that no file changed.
fn check(cases: &[(&str, i32, &str)]) {
    let project = Sandbox::project("");
    let before = project.files();
    let mut failures = String::new();
    for (arguments, code, expected) in cases {
        let run = project.run(arguments);
        if run.exit_code() != Some(*code) || !run.err().contains(expected) || !run.out().is_empty() {
            writeln!(failures, "{arguments}\n  wanted {code}: {expected}\n  got {run}").unwrap();
        }
        assert_eq!(project.files(), before, "{arguments}");
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn names() {
    check(&[
        ("create api --group Cache --version v1 --kind Memcached", 2, "invalid group `Cache`"),
        ("create api --group cache_x --version v1 --kind Memcached", 2, "invalid group `cache_x`"),
        (
            "create api --group cache.example.com --version v1 --kind M",
            2,
            "for `cache.example.com` run `memcached-sdk create api --group cache --version v1 --kind M`",
        ),
        (
            "create api --group example.com --version v1 --kind M",
            2,
            "run `memcached-sdk create api --group \"\" --version v1 --kind M`",
        ),
        ("create api --group=-cache --version v1 --kind Memcached", 2, "invalid group `-cache`"),
        ("create api --group cache --version 1 --kind Memcached", 2, "invalid version `1`"),
        ("create api --group cache --version V1 --kind Memcached", 2, "invalid version `V1`"),
        ("create api --group cache --version v1_2 --kind Memcached", 2, "invalid version `v1_2`"),
        ("create api --group cache --version v1 --kind memcached", 2, "invalid kind `memcached`"),
        ("create api --group cache --version v1 --kind Mem-cached", 2, "invalid kind `Mem-cached`"),
        ("create api --group cache --version v1 --kind Mem_cached", 2, "invalid kind `Mem_cached`"),
        ("create api --group cache --version v1 --kind 1Memcached", 2, "invalid kind `1Memcached`"),
        (
            "create api --group cache --version v1 --kind Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            1,
            "is too long",
        ),
        ("create api --group cache --version v1 --kind M --plural Ms", 2, "invalid plural `Ms`"),
        ("create api --group cache --version v1 --kind M --short-name M", 2, "invalid short name `M`"),
        ("create api --group cache --version v1 --kind M --controller-name A", 2, "invalid controller name `A`"),
        ("create api --group cache --version v1 --kind M --image ../x", 2, "invalid image `../x`"),
        ("create api --group cache --version v1 --kind M --image a|b", 2, "invalid image `a|b`"),
    ]);
}

#[test]
fn flags() {
    check(&[
        ("", 2, "Usage"),
        ("create", 2, "Usage"),
        ("destroy", 2, "unrecognized subcommand 'destroy'"),
        ("create api", 2, "--version <VERSION>"),
        ("create api --group cache --kind Memcached", 2, "--version <VERSION>"),
        ("create api --group cache --version v1", 2, "--kind <KIND>"),
        ("create api --group cache --version v1 --kind M --resource=maybe", 2, "invalid value 'maybe'"),
        ("create api --group cache --version v1 --kind M --image-container-port 1", 2, "--image <IMAGE>"),
        ("create api --group cache --version v1 --kind M --image a --image-container-port 0", 2, "invalid value '0'"),
        ("create api --group cache --version v1 --kind M --image a --image-container-port 65536", 2, "65536"),
        (
            "create api --group cache --version v1 --kind M --image a --namespaced=false",
            2,
            "`--image` requires a namespaced kind",
        ),
        ("create api --group cache --version v1 --kind M --image a --run-as-user root", 2, "invalid value 'root'"),
        ("create api --group cache --version v1 --kind M --image a --controller=false", 2, "`--image` scaffolds both"),
        ("create api --group cache --version v1 --kind M --resource=false --controller=false", 1, "neither an API"),
        (
            "create api --group apps --version v1 --kind Deployment --resource=false --controller=false",
            2,
            "nothing to do",
        ),
        ("create api --group cache --version v1 --kind M --resource=false", 1, "neither an API of this project"),
        ("create api --group apps --version v1 --kind Deploymnet --resource=false", 1, "Deploymnet"),
        ("create api --group cache --version v1 --kind M --dry-run --check", 2, "cannot be used with"),
        ("generate crts", 2, "invalid value 'crts'"),
        ("generate --header-file missing.txt", 1, "cannot read `missing.txt`"),
        ("generate -o yaml", 2, "invalid value 'yaml'"),
        ("init --domain Example.com", 2, "invalid domain `Example.com`"),
        ("init --domain example..com", 2, "invalid domain `example..com`"),
        ("init --project-name My-Operator", 2, "invalid project name `My-Operator`"),
        ("init --license gpl", 2, "invalid value 'gpl'"),
        ("init --owner a\"b", 2, "invalid `--owner`"),
        ("init", 1, "already contains a different project"),
        ("completion tcsh", 2, "invalid value 'tcsh'"),
        ("add api --kind Memcached", 2, "--api-version <GROUP/VERSION>"),
        (
            "add controller --api-version apps/v1 --kind ReplicaSet --custom-api-import a=b",
            2,
            "`create api --external-api-path`",
        ),
        ("build", 2, "<IMAGE>"),
        ("new app-operator --type=go", 2, "leave it out: there is one kind of project"),
        ("new app-operator --dep-manager=dep", 2, "cargo manages the dependencies"),
        ("new app-operator --cluster-scoped", 2, "for all namespaces"),
        ("init --plugins gopher/v4", 2, "there is one kind of project, which can have `grafana`, `helm` and `olm`"),
        ("update --plugins go/v4", 2, "`create api --image` does what the plugin `deploy-image` does"),
    ]);
}

#[test]
fn flags_in_a_format_for_programs() {
    let project = Sandbox::project("");
    for (arguments, expected) in [
        (
            "create api --group cache --kind M -o json",
            str![[r#"
{
  "changes": [],
  "diagnostics": [
    {
      "code": "command-failed",
      "severity": "error",
      "message": "the following required arguments were not provided: --version <VERSION>"
    }
  ]
}

"#]],
        ),
        (
            "init --pluginz go/v4 --output=json",
            str![[r#"
{
  "changes": [],
  "diagnostics": [
    {
      "code": "command-failed",
      "severity": "error",
      "message": "unexpected argument '--pluginz' found",
      "help": "a similar argument exists: '--plugins'"
    }
  ]
}

"#]],
        ),
        (
            "cleanup --output sarif",
            str![[r#"
{
  "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
  "runs": [
    {
      "columnKind": "unicodeCodePoints",
      "results": [
        {
          "level": "error",
          "message": {
            "text": "`cleanup` works differently in memcached-sdk/nhelp: `make undeploy` removes what `make deploy` made; what OLM installed goes with `operator-sdk cleanup PACKAGE`, or with `kubectl delete subscription,csv --all -n NAMESPACE`"
          },
          "ruleId": "command-failed",
          "ruleIndex": 0
        }
      ],
      "tool": {
        "driver": {
          "name": "memcached-sdk",
          "rules": [
            {
              "defaultConfiguration": {
                "level": "error"
              },
              "id": "command-failed",
              "shortDescription": {
                "text": "The command failed for a reason outside of the source files"
              }
            }
          ],
          "version": "0.1.0"
        }
      }
    }
  ],
  "version": "2.1.0"
}

"#]],
        ),
    ] {
        let run = project.run(arguments).code(2);
        assert_eq!(run.err(), "", "{arguments}");
        assert_data_eq!(run.out(), expected);
    }
}

#[test]
fn outside_of_a_project() {
    let sandbox = Sandbox::new();
    for (arguments, expected) in [
        ("create api --group cache --version v1 --kind Memcached", "not in a project"),
        ("generate", "could not find `Cargo.toml` in this folder or any parent folder"),
    ] {
        let message = sandbox.run(arguments).code(1).err();
        assert!(message.contains(expected) && message.contains("help: "), "{arguments}\n{message}");
    }
    assert!(sandbox.files().is_empty());
}

#[test]
fn a_folder_name_that_is_no_project_name_asks_for_one() {
    let sandbox = Sandbox::new();
    let message = sandbox.run(&format!("init My_Operator {OFFLINE}")).code(2).err();
    assert!(message.contains("--project-name"), "{message}");
    sandbox.run(&format!("init My_Operator --project-name my-operator {OFFLINE}")).success();
    assert!(sandbox.read("My_Operator/PROJECT").contains("projectName: my-operator\n"));
}

#[test]
fn existing_files_are_all_named_and_nothing_is_written() {
    let sandbox = Sandbox::new();
    sandbox.file("Makefile", "all:\n").file("README.md", "# Mine\n").file("notes.txt", "mine\n");
    let before = sandbox.files();
    let message = sandbox.run(&format!("init --project-name demo {OFFLINE}")).code(1).err();
    assert!(
        message.contains("`Makefile` already exists") && message.contains("`README.md` already exists"),
        "{message}"
    );
    assert_eq!(sandbox.files(), before);
    sandbox.run(&format!("init --project-name demo --force {OFFLINE}")).success();
    assert_ne!(sandbox.read("Makefile"), "all:\n");
    assert_eq!(sandbox.read("notes.txt"), "mine\n");
}

#[test]
fn a_folder_on_the_way_that_is_a_file() {
    let sandbox = Sandbox::new();
    sandbox.file("config", "a file\n");
    let message = sandbox.run(&format!("init --project-name demo {OFFLINE}")).code(1).err();
    assert!(message.contains("`config` is a file, not a folder"), "{message}");
    assert_eq!(sandbox.files().len(), 1);
}

/// `init` and `new` never replace sources outside a project, with any flags. Of an operator `init` makes a project, see
/// [`super::adopt`].
#[test]
fn a_crate_that_exists_is_not_taken_over() {
    const KUBE: &str = "[package]\nname = \"pond\"\nversion = \"0.1.0\"\n\n[dependencies]\nkube = \"3\"\n";
    let plain = KUBE.replace("kube", "serde");
    let new = "create the project in a separate folder";
    for (files, said, works) in [
        (
            &[("Cargo.toml", KUBE), ("src/main.rs", "fn main() {}\n")] as &[(&str, &str)],
            "already contains a crate: `pond`",
            true,
        ),
        (&[("Cargo.toml", KUBE), ("src/lib.rs", "")], "already contains a crate: `pond`", true),
        (&[("Cargo.toml", &KUBE.replace("kube =", "kube-runtime ="))], "already contains a crate: `pond`", true),
        (&[("Cargo.toml", &plain), ("src/main.rs", "fn main() {}\n")], "already contains a crate: `pond`", false),
        (
            &[("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n")],
            "`Cargo.toml` that is not one of a package",
            false,
        ),
        (&[("Cargo.toml", "[package\n")], "`Cargo.toml` that is not one of a package", false),
        (&[("src/main.rs", "fn main() {}\n")], "already contains sources: `src/main.rs`", false),
        (&[("build.rs", "fn main() {}\n")], "already contains sources: `build.rs`", false),
    ] {
        for flags in ["", "--force", "--check", "--dry-run"] {
            for command in ["init pond", "new pond"] {
                if works && command.starts_with("init") {
                    continue;
                }
                let sandbox = Sandbox::new();
                for (path, text) in files {
                    sandbox.file(&format!("pond/{path}"), text);
                }
                let before = sandbox.files();
                let message = sandbox.run(&format!("{command} {OFFLINE} {flags}")).code(1).err();
                assert!(message.contains(said) && message.contains(new), "{command} {flags}: {message}");
                assert_eq!(message.contains("run `memcached-sdk init` in it"), works, "{message}");
                assert!(!message.contains("overwrite"), "{message}");
                assert_eq!(sandbox.files(), before);
            }
        }
    }
    // The output of `cargo new` may be replaced, and an interrupted run may continue.
    let sandbox = Sandbox::new();
    sandbox
        .file("Cargo.toml", "[package]\nname = \"pond\"\nversion = \"0.1.0\"\n\n[dependencies]\n")
        .file("src/main.rs", "fn main() {\n    println!(\"Hello, world!\");\n}\n");
    let init = format!("init --project-name pond {OFFLINE}");
    sandbox.run(&init).code(1);
    sandbox.run(&format!("{init} --force")).success();
    std::fs::remove_file(sandbox.path("PROJECT")).unwrap();
    sandbox.run(&init).success();
}

/// Merge conflict markers are reported with file and line.
#[test]
fn a_merge_conflict_is_named() {
    let sandbox = Sandbox::project("");
    sandbox.run("create api --group cache --version v1 --kind Memcached").success();
    sandbox.lock();
    let api = "create api --group cache --version v1beta1 --kind Memcached --controller=false";
    for (file, command, help) in [
        ("Cargo.lock", "generate", "`git checkout --ours Cargo.lock && cargo fetch`"),
        ("Cargo.lock", "rbac derive", "`git checkout --ours Cargo.lock && cargo fetch`"),
        ("Cargo.toml", "generate", "resolve the conflict"),
        ("PROJECT", "generate", "resolve the conflict"),
        ("src/api/v1/memcached.rs", "generate", "resolve the conflict"),
        ("src/main.rs", "create api --group cache --version v1 --kind Other", "resolve the conflict"),
        ("config/crd/kustomization.yaml", "create api --group cache --version v1 --kind Other", "resolve the conflict"),
        ("PROJECT", api, "resolve the conflict"),
    ] {
        let text = sandbox.read(file);
        let (first, rest) = text.split_once('\n').unwrap();
        sandbox.file(file, &format!("{first}\n<<<<<<< HEAD\n{rest}=======\n{rest}>>>>>>> main\n"));
        let said = sandbox.run(command).code(1).err();
        let line = if said.contains("error[rust-syntax]") { format!("{file}:2:") } else { "at line 2".to_owned() };
        for part in ["unresolved merge conflict", &line, help] {
            assert!(said.contains(part), "{file}, {command}: {said}");
        }
        sandbox.file(file, &text);
    }
}

#[test]
fn an_exploration_without_its_inputs() {
    let project = Sandbox::new();
    project.file("manager", "").file("crds/none.yaml", "kind: ConfigMap\n");
    let sample = "apiVersion: x.io/v1\nkind: X\nmetadata: {name: x}\n";
    let before = project.file("config/samples/kustomization.yaml", "").files();
    let mut failures = String::new();
    for (arguments, expected) in [
        (
            "-- bin/manager",
            "error: `bin/manager` not found\nhelp: build the operator, and pass it behind `--`: \
             `memcached-sdk explore -- ./bin/manager`",
        ),
        ("-- ./manager", "error: there are no samples in `config/samples`\nhelp: pass a file with an object"),
        ("--sample x.yaml -- ./manager", "error: `x.yaml` not found\nhelp: pass a file with an object"),
        ("--crds crd -- ./manager", "error: `crd` not found\nhelp: pass the folder with the CRDs: `--crds DIR`"),
        ("--crds crds -- ./manager", "error: `crds` has no CRD\nhelp: pass the folder with the CRDs"),
        ("--budget 1 -- ./manager", "error: `--budget 1` is not a valid duration\nhelp: pass a duration such as"),
        ("--replay die -- ./manager", "error: `die` is not a valid schedule\nhelp: pass the line below `Schedule`"),
        (
            "--previous old -- ./manager",
            "error: `old` not found\nhelp: build the previous release, and pass its program",
        ),
        (
            "--only release -- ./manager",
            "error: the oracle `release` needs the previous release\nhelp: build the previous",
        ),
    ] {
        let run = project.run(&format!("explore {arguments}"));
        if run.exit_code() != Some(2) || !run.err().contains(expected) || !run.out().is_empty() {
            writeln!(failures, "{arguments}\n  wanted: {expected}\n  got {run}").unwrap();
        }
        assert_eq!(project.files(), before, "{arguments}");
    }
    project.file("sample.yaml", sample);
    for (flags, expected) in [
        ("--role role.yaml", "error: `role.yaml` not found\nhelp: pass a file with a Role or a ClusterRole"),
        ("--role sample.yaml", "error: `sample.yaml` has no role\nhelp: pass a file with a Role or a ClusterRole"),
        ("--kubeconfig none", "error: `none` not found\nhelp: pass a kubeconfig"),
        ("", "error: etcd and kube-apiserver not found\nhelp: run `memcached-sdk envtest`"),
    ] {
        let arguments = format!("explore --sample sample.yaml {flags} -- ./manager");
        let mut command = project.command(&arguments);
        command.env("KUBEBUILDER_ASSETS", "/none");
        let run = project.finish(&arguments, &mut command);
        if run.exit_code() != Some(2) || !run.err().contains(expected) {
            writeln!(failures, "{arguments}\n  wanted: {expected}\n  got {run}").unwrap();
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
