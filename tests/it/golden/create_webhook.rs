//! `create webhook`: the files, any order of the flags, and the refusals.

use snapbox::str;

use crate::sandbox::{OFFLINE, Sandbox, join};

const CREATE: &str = "create webhook --group cache --version v1 --kind Memcached";

/// A project with two versions of a kind; v1 is stored.
fn project(flags: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("init --domain example.com --project-name op {flags} {OFFLINE}")).success();
    sandbox.run("create api --group cache --version v1 --kind Memcached").success();
    sandbox.run("create api --group cache --version v1alpha1 --kind Memcached").success();
    sandbox
}

fn run(sandbox: &Sandbox, flags: &str) {
    sandbox.run(&format!("{CREATE} {flags}")).success();
}

#[test]
fn the_handlers_of_a_kind() {
    let sandbox = project("--owner Me");
    run(&sandbox, "--programmatic-validation --defaulting-path /d --defaulting");
    snapbox::assert_data_eq!(
        sandbox.read("src/webhook/v1/memcached.rs"),
        snapbox::file!["../../fixtures/create-webhook/memcached.rs"].raw()
    );
    sandbox.run("create webhook --group core --version v1 --kind Pod --programmatic-validation").success();
    snapbox::assert_data_eq!(
        sandbox.read("src/webhook/v1/pod.rs"),
        snapbox::file!["../../fixtures/create-webhook/pod.rs"].raw()
    );
    sandbox.run("generate webhooks --check").success();
    snapbox::assert_data_eq!(
        sandbox.read("PROJECT").split_once("resources:\n").unwrap().1,
        str![[r#"
- api:
    crdVersion: v1
    namespaced: true
  controller: true
  domain: example.com
  group: cache
  kind: Memcached
  version: v1
  webhooks:
    defaulting: true
    defaultingPath: /d
    validation: true
    webhookVersion: v1
- api:
    crdVersion: v1
    namespaced: true
  domain: example.com
  group: cache
  kind: Memcached
  version: v1alpha1
- core: true
  group: core
  kind: Pod
  path: k8s_openapi::api::core::v1
  version: v1
  webhooks:
    validation: true
    webhookVersion: v1
version: "3"

"#]]
    );
}

/// Tests load `config/samples`. The author may have deleted the sample or created the file before.
#[test]
fn without_a_sample_the_tests_make_an_object() {
    let sandbox = project("");
    std::fs::remove_file(sandbox.path("config/samples/cache_v1_memcached.yaml")).unwrap();
    run(&sandbox, "--defaulting");
    let text = sandbox.read("src/webhook/v1/memcached.rs");
    assert!(text.contains("let mut object = sample();"), "{text}");
    assert!(text.contains("serde_json::from_value(object)"), "{text}");
    // The helper is added only once.
    sandbox.file("config/samples/cache_v1_memcached.yaml", "");
    run(&sandbox, "--programmatic-validation");
    let text = sandbox.read("src/webhook/v1/memcached.rs");
    assert_eq!(text.matches("fn sample()").count(), 1, "{text}");
    assert!(text.contains("let object = sample();"), "{text}");
}

/// All flags at once, or one after the other in two orders.
#[test]
fn the_order_does_not_matter() {
    for mode in ["self", "cert-manager", "files"] {
        let at_once = project(&format!("--webhook-cert-mode {mode}"));
        run(&at_once, "--defaulting --programmatic-validation --conversion --spoke v1alpha1");
        let steps = project("");
        for flags in ["--defaulting", "--programmatic-validation", "--conversion --spoke v1alpha1"] {
            run(&steps, &format!("{flags} --webhook-cert-mode {mode}"));
        }
        assert_eq!(join(&steps.files()), join(&at_once.files()), "{mode}");

        let other = project(&format!("--webhook-cert-mode {mode}"));
        for flags in ["--conversion --spoke v1alpha1", "--programmatic-validation", "--defaulting"] {
            run(&other, flags);
            // The kustomization lists the file, even without a webhook in it.
            assert!(other.path("config/webhook/manifests.yaml").exists());
        }
        let config = |sandbox: &Sandbox| {
            let mut files = sandbox.files();
            files.retain(|path, _| path.starts_with("config/"));
            join(&files)
        };
        assert_eq!(config(&other), config(&at_once), "{mode}");
        let sorted = |sandbox: &Sandbox| {
            let text = join(&sandbox.files()).replace(';', "");
            let mut lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
            lines.retain(|line| !line.is_empty());
            lines.sort();
            lines
        };
        assert_eq!(sorted(&other), sorted(&at_once), "{mode}");
        other.run("generate webhooks --check").success();
    }
}

#[test]
fn the_code_of_the_author_stays() {
    let sandbox = project("");
    run(&sandbox, "--defaulting");
    let file = "src/webhook/v1/memcached.rs";
    let text = sandbox
        .read(file)
        .replace("        Ok(())\n", "        self.spec.foo = Some(\"bar\".to_owned()) ;\n        Ok(())\n");
    let text = text.replace("pub struct Context {}", "pub struct Context { client: kube::Client }");
    let text = text.replace("Context {})", "Context { client: manager.client() })");
    sandbox.file(file, &text);
    run(&sandbox, "--programmatic-validation");
    let after = sandbox.read(file);
    let mut rest = after.lines();
    for line in text.lines().filter(|line| !line.starts_with("use manager::webhook::")) {
        let line = line.trim_end_matches(';');
        assert!(rest.any(|other| other.trim_end_matches(';') == line), "`{line}` is missing in\n{after}");
    }
    assert!(after.contains(".validating::<Memcached>(\"/validate-cache-example-com-v1-memcached\");"), "{after}");
    sandbox.run("generate webhooks --check").success();
}

/// Different versions are served only with a conversion, or with a reason.
#[test]
fn a_conversion_is_asked_for() {
    let sandbox = project("");
    sandbox.lock().run("generate").success();
    let spec = "src/api/v1/memcached.rs";
    sandbox.replace(spec, "pub struct MemcachedSpec {\n", "pub struct MemcachedSpec {\n    pub size: i32,\n");
    sandbox.run("generate").code(1).stderr(str![[r#"
error[conversion-none]: `Memcached` serves `v1` and `v1alpha1`, which differ in `spec.size`, but has no conversion
  --> src/api/v1/memcached.rs:21:12
   |
21 | pub struct MemcachedSpec {
   |            ^^^^^^^^^^^^^
   |
   = help: create a conversion with `memcached-sdk create webhook --group cache --version v1 --kind Memcached --conversion --spoke v1alpha1`, or state why none is needed: `// +memcached-sdk:conversion:none=…` before the type of `v1`

"#]]);
    let marker = "// +memcached-sdk:conversion:none=\"nobody has objects yet\"\n#[derive(";
    let text = sandbox.read(spec);
    sandbox.replace(spec, "#[derive(", marker);
    sandbox.run("generate").success();
    sandbox.file(spec, &text);
    run(&sandbox, "--conversion --spoke v1alpha1");
    sandbox.run("generate").success();
}

#[test]
fn what_is_refused() {
    let sandbox = project("");
    run(&sandbox, "--defaulting --conversion --spoke v1alpha1");
    for (flags, code, message) in [
        ("", 2, "no webhook is requested"),
        ("--defaulting", 1, "defaulting webhook already exists: `cache.example.com/v1 Memcached`"),
        ("--conversion --spoke v1alpha1", 1, "conversion webhook already exists: `cache.example.com/v1 Memcached`"),
        ("--conversion", 2, "`--conversion` needs `--spoke`"),
        ("--conversion --spoke v1", 2, "a version cannot be a spoke of itself"),
        ("--conversion --spoke v2", 1, "`Memcached` has no version `v2`"),
        ("--programmatic-validation --spoke v1alpha1", 2, "`--spoke` needs `--conversion`"),
        ("--programmatic-validation --defaulting-path /a", 2, "`--defaulting-path` needs `--defaulting`"),
        (
            "--programmatic-validation --validation-path /convert",
            1,
            "the path `/convert` is already used by conversions",
        ),
        (
            "--programmatic-validation --validation-path /mutate-cache-example-com-v1-memcached",
            1,
            "the path `/mutate-cache-example-com-v1-memcached` is already used by `cache.example.com/v1 Memcached`",
        ),
        (
            "--kind Pod --group core --defaulting --defaulting-path /mutate-cache-example-com-v1-memcached",
            1,
            "the path `/mutate-cache-example-com-v1-memcached` is already used by `cache.example.com/v1 Memcached`",
        ),
        ("--programmatic-validation --validation-path a", 2, "a path must start with `/`"),
        ("--programmatic-validation --webhook-cert-mode files", 1, "the project has `--webhook-cert-mode=self`"),
        (
            "--programmatic-validation --kind Other",
            1,
            "`cache.example.com/v1 Other` is neither an API of this project nor",
        ),
        ("--programmatic-validation --external-api-path a::", 2, "`a::` is not the path of a Rust module"),
    ] {
        let kind = match flags {
            _ if flags.contains("--group") => "create webhook --version v1",
            _ if flags.contains("--kind") => "create webhook --group cache --version v1",
            _ => CREATE,
        };
        let err = sandbox.run(&format!("{kind} {flags}")).code(code).err();
        assert!(err.contains(message), "{flags}: {err}");
    }
    let before = sandbox.files();
    let err = sandbox
        .run("create webhook --group cache --version v1alpha1 --kind Memcached --conversion --spoke v1")
        .code(1)
        .err();
    assert!(err.contains("`cache.example.com/v1 Memcached` is already the hub of `Memcached`"), "{err}");
    // None of the refused commands wrote anything.
    assert_eq!(join(&sandbox.files()), join(&before));
    run(&sandbox, "--defaulting --force");
    assert_eq!(join(&sandbox.files()), join(&before));
}

/// The newest version is the hub, even while an older one is stored.
#[test]
fn the_hub_need_not_be_stored() {
    let sandbox = Sandbox::project("");
    sandbox.run("create api --group cache --version v1alpha1 --kind Memcached").success();
    sandbox.run("create api --group cache --version v1 --kind Memcached --controller=false").success();
    let spec = "src/api/v1/memcached.rs";
    assert!(sandbox.read(spec).contains("storage = false"));
    sandbox.replace(spec, "pub struct MemcachedSpec {\n", "pub struct MemcachedSpec {\n    pub size: i32,\n");
    let refused = sandbox.lock().run("generate").code(1).err();
    // The suggested command succeeds.
    let command = refused.split("`memcached-sdk ").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
    assert_eq!(command, "create webhook --group cache --version v1 --kind Memcached --conversion --spoke v1alpha1");
    sandbox.run(command).success();
    sandbox.run("generate").success();
    let stored: Vec<(String, bool)> =
        serde_yaml::from_str::<serde_json::Value>(&sandbox.read("config/crd/bases/cache.example.com_memcacheds.yaml"))
            .unwrap()["spec"]["versions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|version| (version["name"].as_str().unwrap().to_owned(), version["storage"] == true))
            .collect();
    assert_eq!(stored, [("v1".to_owned(), false), ("v1alpha1".to_owned(), true)]);
    assert!(sandbox.read("src/api/v1alpha1/memcached_conversion.rs").contains("impl Spoke for Memcached"));
    assert!(sandbox.read("src/api/v1/memcached_conversion.rs").contains("impl Hub for Memcached"));
}

#[test]
fn a_project_without_the_place_for_it_is_told_what_to_write() {
    let sandbox = project("");
    sandbox.replace("src/main.rs", "        // +kubebuilder:scaffold:controllers\n", "");
    sandbox.run(&format!("{CREATE} --defaulting")).code(1).stderr(str![[r#"
error: cannot edit `src/main.rs`: scaffold marker `+kubebuilder:scaffold:controllers` not found
help: restore the marker as a comment on a separate line, or add these lines:
.with(op::webhook::v1::memcached::register)

"#]]);
    assert!(!sandbox.path("src/webhook.rs").exists());
}

#[test]
fn a_type_of_another_crate() {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("init --multigroup --domain example.com --project-name op {OFFLINE}")).success();
    sandbox
        .run(
            "create webhook --group cert-manager --version v1 --kind Issuer --programmatic-validation --make=false \
             --external-api-path certificates::v1 --external-api-domain io --external-api-module certificates@1.2",
        )
        .success();
    let text = sandbox.read("src/webhook/cert_manager/v1/issuer.rs");
    assert!(text.contains("use certificates::v1::Issuer;\n"), "{text}");
    assert!(text.contains("groups=cert-manager.io,resources=issuers,"), "{text}");
    assert!(sandbox.read("Cargo.toml").contains("\ncertificates = \"1.2\"\n"));
    snapbox::assert_data_eq!(
        sandbox.read("PROJECT").split_once("resources:\n").unwrap().1,
        str![[r#"
- domain: io
  external: true
  group: cert-manager
  kind: Issuer
  module: certificates@1.2
  path: certificates::v1
  version: v1
  webhooks:
    validation: true
    webhookVersion: v1
version: "3"

"#]]
    );
}

/// A webhook for a core kind can block the operator's own pod.
#[test]
fn an_operator_that_asks_itself_is_warned_of() {
    let sandbox = project("");
    let run = sandbox.run("create webhook --group core --version v1 --kind Pod --defaulting --dry-run").success();
    let err = run.err();
    assert!(
        err.contains("warning[webhook-deadlock]: webhooks for `v1 Pod` are also called for the operator's own objects"),
        "{err}"
    );
    let run =
        sandbox.run("create webhook --group core --version v1 --kind ReplicationController --defaulting --dry-run");
    assert!(!run.success().err().contains("warning"));
}
