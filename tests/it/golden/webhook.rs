//! Markers of webhooks → manifests.yaml: fixtures with their files, and controller-gen as the judge; the handlers in the code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use memcached_sdk::webhook::{self, Webhooks};
use memcached_sdk::yaml;
use serde_json::Value;

use super::peer;
use super::rbac::{MODULE, load};
use crate::random::Random;
use crate::sandbox::Sandbox;

/// Each `tests/fixtures/webhook/<case>.rs` gives `<case>.yaml`, and findings in `<case>.stderr` if there are some. A line
/// `// package` begins another package.
#[test]
fn fixtures() {
    let mut count = 0;
    for (path, packages) in cases() {
        let (text, findings) = generate(&packages);
        snapbox::assert_data_eq!(text, snapbox::Data::read_from(&path.with_extension("yaml"), None).raw());
        let expected = path.with_extension("stderr");
        if expected.exists() || !findings.is_empty() {
            snapbox::assert_data_eq!(findings, snapbox::Data::read_from(&expected, None).raw());
        }
        count += 1;
    }
    assert!(count >= 7, "only {count} fixtures");
}

/// Byte for byte, with the random ones: arguments in any order, each from values that are right, wrong, or missing.
#[test]
fn controller_gen_writes_the_same_file() {
    let Some(peer) = peer::program(MODULE, "controller_gen_writes_the_same_file") else { return };
    let mut all: BTreeMap<String, Vec<String>> = cases()
        .into_iter()
        .map(|(path, packages)| (path.file_stem().unwrap().to_str().unwrap().to_owned(), packages))
        .collect();
    let mut random = Random(7);
    for number in 0..400 {
        let packages = 1 + below(&mut random, 2);
        let mut names = 0..;
        let mut package = || {
            let count = 1 + below(&mut random, 3);
            let mut marker = || marker(&mut random, names.next().unwrap());
            (0..count).map(|_| marker()).collect::<Vec<_>>().join("\n")
        };
        all.insert(format!("random{number}"), (0..packages).map(|_| package()).collect());
    }
    let theirs = files_of_peer(&peer, &all);
    let (mut equal, mut refused) = (0, 0);
    for (name, packages) in &all {
        let (text, findings) = generate(packages);
        let is_refused = findings.contains("Error");
        match theirs[name]["error"].as_str() {
            Some(error) => {
                assert!(is_refused, "{name}: {error}\n{packages:#?}");
                let error = error.split(" (at <input>").next().unwrap();
                if !error.contains("patch") {
                    assert!(findings.contains(error), "{name}: {error}\n{findings}");
                }
                refused += 1;
            }
            None => {
                assert!(!is_refused, "{name}: {findings}\n{packages:#?}");
                let text = if text.is_empty() { Value::Null } else { text.into() };
                assert_eq!(theirs[name]["manifests"], text, "{name}: {packages:#?}");
                equal += 1;
            }
        }
    }
    assert!(equal >= 150 && refused >= 100, "{equal} equal, {refused} refused");
}

/// The file of the packages of Rust, and the findings as `severity code line:column: message`.
fn generate(packages: &[String]) -> (String, String) {
    let mut findings = String::new();
    let mut all: Vec<Webhooks> = Vec::new();
    let mut say = |found: memcached_sdk::diagnostic::Diagnostics| {
        for diagnostic in &found {
            let (line, column) = diagnostic.origin.as_ref().unwrap().line_column();
            let help = diagnostic.help.as_deref().unwrap_or_default();
            let (code, severity) = (diagnostic.code, diagnostic.code.severity());
            findings += &format!("{severity:?} {code} {line}:{column}: {}\n  help: {help}\n", diagnostic.message);
        }
    };
    for text in packages {
        let (webhooks, found) = webhook::webhooks(&load(text));
        say(found);
        all.push(webhooks);
    }
    let (documents, found) = webhook::documents(&all);
    say(found);
    let text = if documents.is_empty() { String::new() } else { yaml::file(None, &documents) };
    (text, findings)
}

fn cases() -> Vec<(PathBuf, Vec<String>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/webhook");
    let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect();
    paths.sort();
    let packages = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let mut packages: Vec<String> = text.split("// package").map(str::to_owned).collect();
        packages.iter_mut().skip(1).for_each(|package| *package = format!("// package{package}"));
        packages
    };
    paths.into_iter().map(|path| (path.clone(), packages(&path))).collect()
}

/// What controller-gen writes for each case, whose packages are packages of Go.
fn files_of_peer(peer: &Path, cases: &BTreeMap<String, Vec<String>>) -> Value {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("go.mod"), "module op\n\ngo 1.26\n").unwrap();
    for (name, packages) in cases {
        for (number, text) in packages.iter().enumerate() {
            let folder = dir.path().join(format!("{name}/p{number}"));
            std::fs::create_dir_all(&folder).unwrap();
            let comments: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("//")).collect();
            let comments = comments.join("\n").replace("//!", "//");
            let text = format!("package op\n\n{comments}\n\nfunc F() {{}}\n");
            std::fs::write(folder.join("op.go"), text).unwrap();
        }
    }
    serde_json::from_str(&peer::run(Command::new(peer).arg("webhooks").arg(dir.path()), "")).unwrap()
}

fn below(random: &mut Random, limit: usize) -> usize {
    usize::try_from(random.below(limit as u64)).unwrap()
}

/// A marker with a name of its own; mostly right.
fn marker(random: &mut Random, name: usize) -> String {
    if below(random, 12) == 0 {
        let name = ["", ",name=one", ",name=\"two\""][below(random, 3)];
        return format!("// +kubebuilder:webhookconfiguration:mutating={}{name}", ["true", "false"][below(random, 2)]);
    }
    let lists = [
        ("groups", ["core", "apps;batch", "\"\"", "cache.example.com", "{a,\"b,c\"}", "*"]),
        ("resources", ["pods", "pods;pods/status", "\"*\"", "{x, y}", "deployments/scale;", "a b"]),
        ("verbs", ["create", "create;update", "CREATE;Delete", "*", "connect;other", "{update}"]),
        ("versions", ["v1", "v1;v1beta1", "*", "\"v1\"", "{v1,v2}", "v1alpha1"]),
        ("admissionReviewVersions", ["v1", "v1;v1beta1", "{v1}", "\"v1\"", "v1beta1", ""]),
    ];
    let mutating = ["true", "false"][below(random, 2)];
    let mut arguments = vec![format!("mutating={mutating}"), format!("name=w{name}.example.com")];
    for (key, values) in lists {
        // The last one is rare: with it most markers would be wrong.
        let limit = if below(random, 6) == 0 { 6 } else { 5 };
        arguments.push(format!("{key}={}", values[below(random, limit)]));
    }
    arguments.push(format!("failurePolicy={}", ["fail", "Ignore", "FAIL", "other"][below(random, 4)]));
    let effects = ["None", "none", "NoneOnDryRun", "NONE", "Some", "Unknown", "x"];
    let limit = if below(random, 6) == 0 { 7 } else { 4 };
    arguments.push(format!("sideEffects={}", effects[below(random, limit)]));
    let place = [
        "path=/a",
        "path=\"/a;b\"",
        "path=`/c`",
        "url=\"https://example.com/x\"",
        "path=/a,url=\"https://b\"",
        "path=\"\"",
    ];
    let limit = if below(random, 8) == 0 { 6 } else { 4 };
    arguments.push(place[below(random, limit)].to_owned());
    for (key, values) in [
        ("matchPolicy", ["Exact", "equivalent", "EXACT", "\"\"", "other"]),
        ("reinvocationPolicy", ["Never", "ifNeeded", "NEVER", "\"\"", "other"]),
        ("timeoutSeconds", ["1", "30", "0", "31", "-1"]),
        ("serviceName", ["a", "\"b c\"", "\"\"", "webhook-service", "x.y"]),
        ("serviceNamespace", ["a", "system", "\"\"", "`b`", "x"]),
        ("servicePort", ["443", "8443", "0", "1", "99"]),
        ("webhookVersions", ["v1", "v1;v1", "{v1}", "", "v1beta1"]),
        (
            "patch",
            [
                "`{\"namespaceSelector\":{\"matchLabels\":{\"a\":\"b\"}},\"timeoutSeconds\":7}`",
                "`{\"rules\":[{\"operations\":[\"*\"]},{\"scope\":\"*\",\"resources\":[]}],\"sideEffects\":\"None\"}`",
                "`{\"clientConfig\":{\"service\":{\"path\":\"/patched\"},\"url\":null},\"matchConditions\":[{\"name\":\"a\",\"expression\":\"true\"}]}`",
                "`{\"objectSelector\":null,\"matchPolicy\":null,\"reinvocationPolicy\":null}`",
                "`{\"TimeoutSeconds\":1}`",
            ],
        ),
    ] {
        if below(random, 3) == 0 {
            let limit = if below(random, 4) == 0 { 5 } else { 3 };
            arguments.push(format!("{key}={}", values[below(random, limit)]));
        }
    }
    for last in (1..arguments.len()).rev() {
        arguments.swap(last, below(random, last + 1));
    }
    if below(random, 20) == 0 {
        arguments.pop();
    }
    format!("// +kubebuilder:webhook:{}", arguments.join(","))
}

/// A crate with the markers and handlers; each pair is a file and its text.
fn package(source: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .file("Cargo.toml", "[package]\nname = \"op\"\nedition = \"2024\"\n\n[dependencies]\nkube = \"5\"\n")
        .file("src/lib.rs", source)
        .lock();
    sandbox
}

const VALIDATING: &str = "// +kubebuilder:webhook:path=/validate,mutating=false,failurePolicy=fail,sideEffects=None,groups=a,resources=x,verbs=create,versions=v1,name=v.a.example.com,admissionReviewVersions=v1\n";
const MUTATING: &str = "// +kubebuilder:webhook:path=/mutate,mutating=true,failurePolicy=fail,sideEffects=None,groups=a,resources=x,verbs=create,versions=v1,name=m.a.example.com,admissionReviewVersions=v1\n";

/// `generate` without markers leaves no file; the file follows the markers, and what kustomize lists stays there, empty.
#[test]
fn the_file_follows_the_markers() {
    let file = "config/webhook/manifests.yaml";
    let sandbox = package(VALIDATING);
    sandbox.run("generate webhooks").success();
    let text = sandbox.read(file);
    sandbox.run("generate --check").code(3);
    sandbox.run("generate").success();
    assert_eq!(sandbox.read(file), text);
    sandbox.run("generate rbac --check").success();
    let listed = sandbox.run("generate webhooks --stdout").success().out();
    assert_eq!(listed, text);
    sandbox.run("generate webhooks --output-dir out").success();
    assert_eq!(sandbox.read("out/manifests.yaml"), text);
    sandbox.run("generate --single-file all.yaml").success();
    assert!(sandbox.read("all.yaml").ends_with(&text));

    sandbox
        .file("src/lib.rs", "")
        .file("config/webhook/kustomization.yaml", "resources:\n- manifests.yaml\n- service.yaml\n");
    sandbox.run("generate").success();
    assert_eq!(sandbox.read(file), "# Written by `memcached-sdk generate`: no marker of a webhook is in the source.\n");
    sandbox.run("generate --check").success();
    sandbox.file("config/webhook/kustomization.yaml", "resources:\n- service.yaml\n");
    sandbox.run("generate").success();
    assert!(!sandbox.path(file).exists());

    // What is not ours stays.
    let foreign = "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n";
    sandbox.file(file, foreign);
    sandbox.run("generate").success();
    assert_eq!(sandbox.read(file), foreign);
}

/// Of a broken marker nothing is written; with `--keep-going` the rest is.
#[test]
fn a_broken_marker_costs_the_webhooks_alone() {
    let sandbox = package(&format!(
        "// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get\n{}",
        VALIDATING.replace("None", "Some")
    ));
    sandbox.run("generate").code(1);
    assert!(sandbox.files().keys().all(|path| !path.starts_with("config/")));
    let run = sandbox.run("generate --keep-going").code(1);
    assert!(run.err().contains("not written: the webhooks"), "{}", run.err());
    assert!(sandbox.path("config/rbac/role.yaml").exists() && !sandbox.path("config/webhook").exists());
    sandbox.run("generate rbac").success();
}

/// Handlers and markers, and the codes of what is said of them.
#[test]
fn handlers_and_markers_are_compared() {
    let registered = |calls: &str| {
        format!(
            "{MUTATING}{VALIDATING}pub fn register(manager: &mut Manager) {{\n    manager.webhooks(Context {{}}){calls};\n}}\n"
        )
    };
    let both = ".defaulting::<Thing>(\"/mutate\").validating::<api::v1::Thing<String>>(\"/validate\")";
    for (source, expected) in [
        (format!("{MUTATING}{VALIDATING}"), ""),
        (registered(both), ""),
        (registered(&format!("\n        // .defaulting::<Thing>(\"/no\")\n        {both}")), ""),
        (
            registered(both)
                + "#[cfg(test)]
fn test(manager: &mut Manager) {
    manager.webhooks(()).validating::<Thing>(\"/test\");
}
",
            "",
        ),
        (registered(&both.replace("\"/validate\"", "PATH")), ""),
        (registered(".defaulting::<Thing>(\"/mutate\")"), "no validating handler serves `/validate`\n"),
        (
            registered(&both.replace("/mutate", "/mutation")),
            "no mutating handler serves `/mutate`\nno marker of a mutating webhook has the path `/mutation`\n",
        ),
        (
            registered(".validating::<Thing>(\"/mutate\")"),
            "no mutating handler serves `/mutate`\nno validating handler serves `/validate`\nno marker of a validating webhook has the path `/mutate`\n",
        ),
        (
            registered(both).replace("path=/mutate", "serviceName=other,path=/other"),
            "no marker of a mutating webhook has the path `/mutate`\n",
        ),
    ] {
        let (tree, _) = memcached_sdk::k8s::load(package(&source).root()).unwrap();
        let (webhooks, found) = webhook::webhooks(&tree);
        assert!(!found.has_errors());
        let found = webhook::handlers(&tree).compare(&[webhooks]);
        let messages: String = found.iter().map(|found| format!("{}\n", found.message)).collect();
        assert_eq!(messages, expected, "{source}");
    }
}
