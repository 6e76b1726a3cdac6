//! Generated projects in a user's build: format, clippy without warnings, no unused dependency, and their own tests.
//! These take minutes, so `make test-fast` omits them.

mod crash;
mod engine;
mod fixtures;
mod manager;
mod names;
mod new_release;
pub(crate) mod oracle;
mod package;
mod property;
mod tutorial;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::generated;
use crate::golden::kubebuilder;
use crate::golden::samples::MULTI_GROUP;
use crate::sandbox::{OFFLINE, Sandbox, files};

/// Unused dependencies are warnings, all other findings errors.
const CLIPPY: [&str; 5] = ["--", "-D", "warnings", "--force-warn", "unused_crate_dependencies"];

fn cargo(folder: &Path, arguments: &[&str]) -> String {
    let output = generated::cargo(folder, arguments).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // Show only the errors among JSON messages.
    let is_noise = |line: &&str| line.starts_with("{\"reason\"") && !line.contains("\"level\":\"error\"");
    let said: String = out.lines().filter(|line| !is_noise(line)).map(|line| format!("{line}\n")).collect();
    assert!(output.status.success(), "cargo {arguments:?} in {}\n{said}{err}", folder.display());
    out.into_owned()
}

/// Writes a project to a fixed folder, so that cargo reuses its build. Each project needs a unique name, because
/// packages with one name collide in the shared target folder.
fn place(name: &str, project: &Path) -> PathBuf {
    let projects = Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects");
    let folder = projects.join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    for (path, text) in files(project) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    // Stop rustfmt's upward search before it finds this repository's settings.
    std::fs::write(projects.join("rustfmt.toml"), "").unwrap();
    std::fs::copy(generated::lock(), folder.join("Cargo.lock")).unwrap();
    folder
}

/// Runs cargo in a package with the sample's versions.
fn with_the_lock_file(folder: &Path, build: impl Fn(&dyn Fn(&[&str]))) {
    std::fs::copy(generated::lock(), folder.join("Cargo.lock")).unwrap();
    let _building = generated::building();
    build(&|arguments| drop(cargo(folder, arguments)));
}

fn check(name: &str, project: &Path) {
    let _building = generated::building();
    let folder = place(name, project);
    cargo(&folder, &["fmt", "--check"]);
    let mut unused = unused(&folder);
    // This one selects the manager's Kubernetes version.
    unused.remove("k8s_openapi");
    // The first controller uses it.
    unused.remove("explorer");
    assert_eq!(unused, BTreeSet::new(), "{name}: dependencies without a use");
    cargo(&folder, &["test", "--quiet"]);
}

/// Dependencies, by their names in code, without a use: `[dependencies]` in the library and programs,
/// `[dev-dependencies]` in the tests. Fails on any other finding of clippy.
fn unused(folder: &Path) -> BTreeSet<String> {
    let no_target_uses = |targets: &[&str], tests: bool| {
        let json = cargo(folder, &[&["clippy", "--quiet", "--message-format=json"], targets, &CLIPPY].concat());
        let messages: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let package = |message: &&Value| message["manifest_path"] == folder.join("Cargo.toml").to_str().unwrap();
        let ours: Vec<&Value> = messages.iter().filter(package).collect();
        let units = ours
            .iter()
            .filter(|message| message["reason"] == "compiler-artifact" && message["profile"]["test"] == tests);
        let units = units.count();
        assert!(units > 0, "{json}");
        let mut unused = BTreeMap::<String, usize>::new();
        for message in ours.iter().filter(|message| message["reason"] == "compiler-message") {
            assert_eq!(message["message"]["code"]["code"], "unused_crate_dependencies", "{message:#}");
            let text = message["message"]["message"].as_str().unwrap();
            *unused.entry(text.split('`').nth(1).unwrap().to_owned()).or_default() += 1;
        }
        (unused, units)
    };
    let manifest: toml_edit::DocumentMut = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
    let declared = |section: &str| -> BTreeSet<String> {
        let table = manifest.get(section).and_then(|table| table.as_table_like());
        table.into_iter().flat_map(|table| table.iter().map(|(key, _)| key.replace('-', "_"))).collect()
    };
    let (normal, units) = no_target_uses(&["--lib", "--bins"], false);
    let mut found: BTreeSet<String> = normal.into_iter().filter(|(_, n)| *n == units).map(|(name, _)| name).collect();
    let (tests, units) = no_target_uses(&["--all-targets"], true);
    let only_in_tests = &declared("dev-dependencies") - &declared("dependencies");
    found.extend(
        tests.into_iter().filter(|(name, n)| only_in_tests.contains(name) && *n == units).map(|(name, _)| name),
    );
    found
}

fn project(name: &str, flags: &str, apis: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("init --domain example.com --project-name {name} {OFFLINE} {flags}")).success();
    for api in apis {
        sandbox.run(&format!("create api {api}")).success();
    }
    sandbox
}

#[test]
fn bare() {
    check("bare", project("bare", "", &[]).root());
}

/// Builds and tests the largest of the three projects of kubebuilder's script.
#[test]
fn the_script_of_kubebuilder() {
    let (name, script) = kubebuilder::SCRIPTS[1];
    let sandbox = Sandbox::new();
    kubebuilder::scaffolded(&sandbox, name, script);
    let _building = generated::building();
    let folder = place(name, sandbox.root());
    cargo(&folder, &["fmt", "--check"]);
    cargo(&folder, &["clippy", "--quiet", "--all-targets", "--", "-D", "warnings"]);
}

#[test]
fn an_unused_dependency_is_found() {
    let sandbox = project("unused", "", &[]);
    sandbox.replace("Cargo.toml", "\n[dependencies]\n", "\n[dependencies]\nfnv = \"1\"\n");
    sandbox.replace("Cargo.toml", "\n[dev-dependencies]\n", "\n[dev-dependencies]\nbase64 = \"0.22\"\n");
    let _building = generated::building();
    let found = unused(&place("unused", sandbox.root()));
    assert_eq!(found, ["base64", "explorer", "fnv", "k8s_openapi"].map(str::to_owned).into());
}

#[test]
fn namespaced_with_one_api() {
    let sandbox = project("namespaced", "--namespaced", &["--group cache --version v1alpha1 --kind Memcached"]);
    check("namespaced", sandbox.root());
}

/// Handlers for a kind of the project and for a Kubernetes kind, and a lossless conversion between two versions.
#[test]
fn webhooks() {
    let versions = ["v1", "v1alpha1"].map(|version| format!("--group cache --version {version} --kind Memcached"));
    let proxy = "--group cache --version v1 --kind Proxy";
    let sandbox = project("webhooks", "", &[&versions[0], &versions[1], &format!("{proxy} --image envoy:1")]);
    let both = "--defaulting --programmatic-validation";
    sandbox.run(&format!("create webhook {} {both} --conversion --spoke v1alpha1", versions[0])).success();
    sandbox.run(&format!("create webhook {proxy} {both}")).success();
    sandbox.run(&format!("create webhook --group core --version v1 --kind Pod {both}")).success();
    check("webhooks", sandbox.root());

    // Counter-check: a conversion that loses a field fails.
    let convert = "serde_json::from_value(serde_json::to_value(hub)?)";
    let lose = format!("let mut spoke: Self = {convert}?;\n        spoke.spec.foo = None;\n        Ok(spoke)");
    sandbox.replace("src/api/v1alpha1/memcached_conversion.rs", convert, &lose);
    let _building = generated::building();
    let folder = place("webhooks", sandbox.root());
    let output = generated::cargo(&folder, &["test", "--quiet", "--test", "conversions"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("memcacheds.cache.example.com: Test failed: assertion failed"), "{said}");
}

#[test]
fn a_builtin_kind() {
    let sandbox = project("builtin", "", &["--group apps --version v1 --kind ReplicaSet --resource=false"]);
    check("builtin", sandbox.root());
}

/// A controller and webhooks for a kind in another crate; later, every choice of `edit`.
#[test]
fn a_type_of_another_crate_and_other_choices() {
    let square = "--group shapes --version v1 --kind Square --external-api-path shapes::v1 --external-api-domain \
                  example.org --external-api-module shapes@1";
    let apis = ["--group cache --version v1 --kind Memcached", &format!("--resource=false {square}")];
    let sandbox = project("edited", "", &apis);
    sandbox.run(&format!("create webhook {square} --defaulting --programmatic-validation")).success();
    sandbox.replace("Cargo.toml", "shapes = \"1\"", "shapes = { path = \"shapes\" }");
    let dependencies = "k8s-openapi = { version = \"0.29\", features = [\"schemars\", \"v1_36\"] }\n\
                        kube = { version = \"5\", default-features = false, features = [\"derive\"] }\n\
                        schemars = \"1\"\nserde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\n";
    let package = "[package]\nname = \"shapes\"\nversion = \"1.0.0\"\nedition = \"2024\"\n";
    sandbox.file("shapes/Cargo.toml", &format!("{package}\n[dependencies]\n{dependencies}"));
    // `cargo fmt` formats this crate as well.
    let square = r#"pub mod v1 {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "shapes.example.org", version = "v1", kind = "Square")]
    #[kube(namespaced)]
    pub struct SquareSpec {
        pub size: Option<u8>,
    }
}
"#;
    sandbox.file("shapes/src/lib.rs", square);
    sandbox
        .run(
            "edit --multigroup --namespaced --leader-election=life --webhook-cert-mode=cert-manager --prometheus --network-policy \
             --metrics-cert --license=mit --owner=Authors",
        )
        .success();
    check("edited", sandbox.root());
}

#[test]
fn types_without_a_controller() {
    let sandbox = project("types", "", &["--group cache --version v1 --kind Memcached --controller=false"]);
    check("types", sandbox.root());
}

#[test]
fn types_as_the_page_of_markers_teaches_them() {
    let sandbox = project("taught", "", &["--group cache --version v1 --kind Memcached --controller=false"]);
    let types = std::fs::read_to_string(repository().join("tests/fixtures/lint/taught.rs")).unwrap();
    sandbox.file("src/api/v1/memcached.rs", &types).lock().run("generate").success();
    check("taught", sandbox.root());
}

/// Builds and tests the code in `docs`.
#[test]
fn recipes() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects/recipes");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for (path, text) in files(&repository().join("tests/recipes")) {
        write(&path, &text);
    }
    let controllers = std::fs::read_to_string(repository().join("templates/init/src/controller.rs.tera")).unwrap();
    write("src/controller.rs", &controllers);
    let mut manifest = generated::manifest("recipes");
    let dependencies = &mut manifest["dependencies"];
    dependencies["futures"] = "{ version = '0.3', default-features = false, features = ['std'] }".parse().unwrap();
    dependencies["tokio"]["features"].as_array_mut().unwrap().push("time");
    dependencies["anyhow"] = "'1'".parse().unwrap();
    dependencies["manager"]["features"] = "['anyhow', 'webhook']".parse().unwrap();
    write("Cargo.toml", &manifest.to_string());
    write("../rustfmt.toml", "");
    with_the_lock_file(&folder, |cargo| {
        cargo(&["fmt", "--check"]);
        cargo(&["clippy", "--quiet", "--all-targets", "--", "-D", "warnings"]);
        cargo(&["test", "--quiet"]);
    });
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn multi_group() {
    let sandbox = Sandbox::new();
    let [init, apis @ ..] = MULTI_GROUP;
    sandbox.run(&format!("{init} {OFFLINE}")).success();
    for command in apis {
        sandbox.run(command).success();
    }
    check("multi-group", sandbox.root());
}

#[test]
fn memcached_operator() {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("new memcached-operator --sample memcached --skip-git-init {OFFLINE}")).success();
    check("memcached-operator", &sandbox.path("memcached-operator"));
}

/// Counter-check of the scaffolded `tests/explore_memcached.rs`: the page in docs/explore.md.
#[test]
fn a_watch_that_is_forgotten_is_found() {
    let project = generated::Project::generate("forgotten-watch");
    let path = project.path("src/controller/memcached.rs");
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text.replacen("        .owns(&context.deployments)\n", "", 1);
    assert_ne!(changed, text);
    std::fs::write(&path, changed).unwrap();
    let _building = generated::building();
    // All schedules, however slow the machine is.
    let mut explore = project.cargo(&["test", "--locked", "--test", "explore_memcached"]);
    let output = explore.env("EXPLORE", "10m").output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stdout);
    let docs = std::fs::read_to_string(repository().join("docs/explore.md")).unwrap();
    let page = docs.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(said.contains(page), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn render_shows_the_effect_of_a_spec() {
    let project = generated::Project::generate("render");
    let sample = std::fs::read_to_string(project.path("config/samples/cache_v1alpha1_memcached.yaml")).unwrap();
    for (name, size) in [("old", "size: 3"), ("new", "size: 5"), ("invalid", "size: -1")] {
        std::fs::write(project.path(&format!("{name}.yaml")), sample.replacen("size: 3", size, 1)).unwrap();
    }
    std::fs::write(project.path("map.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: colors\n").unwrap();
    let _building = generated::building();
    let render = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_memcached-sdk"));
        command
            .arg("render")
            .args(arguments)
            .current_dir(project.path(""))
            .env("CARGO_TARGET_DIR", generated::target());
        let output = command.env("CARGO_PROFILE_DEV_DEBUG", "none").output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        let error: Vec<&str> = error.lines().skip_while(|line| !line.starts_with("error: ")).collect();
        (String::from_utf8_lossy(&output.stdout).into_owned(), error.join("\n"))
    };
    let objects = render(&["old.yaml"]);
    let names: Vec<&str> =
        objects.0.lines().filter(|line| line.starts_with("kind: ") || line.starts_with("  name: ")).collect();
    assert_eq!(names, ["kind: Deployment", "  name: memcached-sample", "kind: Service", "  name: memcached-sample"]);
    let diff = "\
--- old.yaml
+++ new.yaml
@@ -15,7 +15,7 @@
     name: memcached-sample
 spec:
   progressDeadlineSeconds: 600
-  replicas: 3
+  replicas: 5
   revisionHistoryLimit: 10
   selector:
     matchLabels:
";
    assert_eq!(render(&["new.yaml", "--diff", "old.yaml"]), (diff.to_owned(), String::new()));
    assert_eq!(render(&["new.yaml", "--diff", "new.yaml"]), (String::new(), String::new()));
    let refused = "error: cannot render cache.example.com/v1alpha1 Memcached memcached-sample: \
        Memcached.cache.example.com \"memcached-sample\" is invalid: [spec.size: Invalid value: -1: \
        spec.size in body should be greater than or equal to 0, .spec.size: Invalid value: -1: \
        should be a non-negative integer]";
    assert_eq!(render(&["invalid.yaml"]), (String::new(), refused.to_owned()));
    let unknown = "error: no test in `tests/explore_*.rs` has a sample of the kind `ConfigMap`\n\
        help: run the command in a project with a controller for the kind; `create api` scaffolds such a test";
    assert_eq!(render(&["map.yaml"]), (String::new(), unknown.to_owned()));
}

/// Counter-check of the scaffolded `tests/crds.rs`.
#[test]
fn a_changed_byte_of_a_crd_is_found() {
    let project = generated::Project::generate("changed-crd");
    let _building = generated::building();
    let test = || project.cargo(&["test", "--locked", "--test", "crds"]).output().unwrap();
    let output = test();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let path = project.path("config/crd/bases/cache.example.com_memcacheds.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text.replacen("maximum: 65535", "maximum: 65534", 1);
    assert_ne!(changed, text);
    std::fs::write(&path, changed).unwrap();
    let output = test();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("test result: FAILED"), "{said}");
    let place = "memcacheds.cache.example.com v1alpha1 \
                 /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/containerPort/maximum";
    assert!(said.contains(&format!("{place}: types say 65535.0, files say 65534.0\n")), "{said}");

    // A permitted difference passes, until it no longer exists.
    let file = project.path("tests/crds.rs");
    let source = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, source.replace("PERMITTED: &[&str] = &[]", &format!("PERMITTED: &[&str] = &[{place:?}]")))
        .unwrap();
    let output = test();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    std::fs::write(&path, text).unwrap();
    assert!(!test().status.success());
}
