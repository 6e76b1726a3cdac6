//! Webhook markers to manifests.yaml: golden fixtures, a comparison with controller-gen, and the handlers in code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use memcached_sdk::webhook::{self, WebhookManifests};
use memcached_sdk::yaml;
use serde_json::Value;

use super::peer;
use super::rbac::{MODULE, load};
use crate::random::Random;
use crate::sandbox::Sandbox;

const SEED: u64 = 7;
const CASES: usize = 800;

/// Each `tests/fixtures/webhook/<case>.rs` gives `<case>.yaml`, with its findings in `<case>.stderr`. A line `//
/// package` starts another package.
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

/// Compares bytes, also for random markers: arguments in any order, with valid, invalid or missing values.
#[test]
fn controller_gen_writes_the_same_file() {
    let Some(peer) = peer::program(MODULE, "controller_gen_writes_the_same_file") else { return };
    let mut all: BTreeMap<String, Vec<String>> = cases()
        .into_iter()
        .map(|(path, packages)| (path.file_stem().unwrap().to_str().unwrap().to_owned(), packages))
        .collect();
    let mut random = Random(SEED);
    for case in 0..CASES {
        let mut number = 0..;
        let mut package = || {
            let count = 1 + random.below(3);
            let markers: Vec<String> = number.by_ref().take(count).map(|number| marker(&mut random, number)).collect();
            markers.join("\n")
        };
        let first = package();
        let packages = if case % 2 == 0 { vec![first] } else { vec![first, package()] };
        all.insert(format!("random{case}"), packages);
    }
    let theirs = files_of_peer(&peer, &all);
    let (mut equal, mut refused) = (0, 0);
    for (name, packages) in &all {
        let (text, findings) = generate(packages);
        let is_refused = findings.contains("Error");
        // Duplicate names: the API server rejects the peer's output.
        if findings.contains("webhooks have the name") {
            continue;
        }
        match theirs[name]["error"].as_str() {
            Some(error) => {
                assert!(is_refused, "{name}: {error}\n{packages:#?}");
                let error = error.split(" (at <input>").next().unwrap();
                // The peer names a random one of several missing arguments.
                let error = if error.starts_with("missing argument") { "missing argument" } else { error };
                // Our parser accepts digits only.
                if !["patch", "strconv", "exponent"].iter().any(|ours| error.contains(ours)) {
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

/// The generated file for packages of Rust, and the findings as `severity code line:column: message`.
fn generate(packages: &[String]) -> (String, String) {
    let mut findings = String::new();
    let mut all: Vec<WebhookManifests> = Vec::new();
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

/// The output of controller-gen for each case, translated to Go packages.
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

/// Marker arguments: frequency in percent, usual values, and mostly invalid values.
#[rustfmt::skip]
const ARGUMENTS: [(&str, u64, &[&str], &[&str]); 18] = [
    ("groups", 99, &["core", "apps;batch", r#""""#, "cache.example.com", r#"{a,"b,c"}"#, "*", r#"core;"";core"#, "a; b"], &["'a'", ""]),
    ("resources", 99, &["pods", "pods;pods/status", r#""*""#, "{x, y}", "*/*", "{`a`,b}"], &["deployments/scale;", "a b", "{}"]),
    ("verbs", 99, &["create", "create;update", "CREATE;Delete", "*", r#"{"create",`update`}"#], &["create;create", "other", "{update"]),
    ("versions", 99, &["v1", "v1;v1beta1", "*", r#""v1""#, "{v1,v2}", "v1alpha1;*"], &["{}", "", "v1:v2"]),
    ("admissionReviewVersions", 99, &["v1", "v1;v1beta1", "{v1}", r#""v1""#, r#"{"v1","v1beta1"}"#], &["{}", ""]),
    ("failurePolicy", 99, &["fail", "Ignore", "FAIL", r#""ignore""#], &["other", r#""""#]),
    ("sideEffects", 99, &["None", "none", "NoneOnDryRun", r#""NONE""#], &["Some", "Unknown", "x"]),
    ("path", 0, &["/a", r#""/a;b""#, "`/c`", "/a/b.c-d"], &[r#""""#, ""]),
    ("url", 0, &[r#""https://example.com:8443/x?y=z""#, "https://e/y"], &[r#""""#]),
    ("matchPolicy", 30, &["Exact", "equivalent", "EXACT"], &[r#""""#, "other"]),
    ("reinvocationPolicy", 30, &["Never", "ifNeeded", "NEVER"], &[r#""""#, "other"]),
    ("timeoutSeconds", 30, &["1", "30", "07"], &["0", "31", "-1", "08", "1_0", "0x1f", r#""3""#, "5s"]),
    ("serviceName", 30, &["a", r#""b c""#, "webhook-service"], &[r#""""#, ""]),
    ("serviceNamespace", 30, &["a", "system", "`b`"], &[r#""""#]),
    ("servicePort", 30, &["443", "8443"], &["0", "-1", "1.5"]),
    ("webhookVersions", 20, &["v1", "v1;v1", "{v1}"], &["", "v1beta1"]),
    ("mutating", 1, &["true"], &["yes", r#""true""#]),
    ("unknown", 1, &["1"], &["{}"]),
];

/// A mostly valid marker. Names are not in the order of the source.
fn marker(random: &mut Random, number: usize) -> String {
    let mutating = random.pick(&["true", "false"]);
    if random.percent(8) {
        let name = random.pick(&["", ",name=one", ",name=\"two\""]);
        return format!("// +kubebuilder:webhookconfiguration:mutating={mutating}{name}");
    }
    let name = random.pick(&["w", "W", "a-", "z.", "10", "9"]);
    let quote = random.pick(&["", "\"", "`"]);
    let mut arguments = vec![format!("mutating={mutating}"), format!("name={quote}{name}{number}.example.com{quote}")];
    let has_path = random.percent(80);
    for (key, percent, usual, rare) in ARGUMENTS {
        let percent = match key {
            "path" if has_path => 100,
            "url" if !has_path => 99,
            "path" | "url" => 1,
            _ => percent,
        };
        if random.percent(percent) {
            let value = if random.percent(97) { random.pick(usual) } else { random.pick(rare) };
            arguments.push(format!("{key}={value}"));
        }
    }
    if random.percent(30) {
        arguments.push(format!("patch=`{}`", patch(random)));
    }
    for last in (1..arguments.len()).rev() {
        arguments.swap(last, random.below(last + 1));
    }
    let mut text = arguments.join(",");
    if random.percent(5) {
        let at = random.below(text.chars().count());
        let other = random.pick(&["", ",", ";", "=", ":", "\"", "`", "'", "{", "}", "\\", "1", "é"]);
        text = text.chars().enumerate().map(|(n, char)| if n == at { other.to_owned() } else { char.into() }).collect();
    }
    let space = random.pick(&[" ", " ", "", "\t"]);
    format!("//{space}+kubebuilder:webhook:{text}")
}

/// Random webhook fields, mostly with valid values.
fn patch(random: &mut Random) -> String {
    let fields = [
        r#""namespaceSelector":{"matchLabels":{"a":"b","kubernetes.io/metadata.name":"c"}}"#,
        r#""namespaceSelector":{"matchExpressions":[{"key":"a","operator":"NotIn","values":["b","a"]}]}"#,
        r#""objectSelector":{"matchLabels":{"yes":"true","n":"1"},"matchExpressions":[{"key":"b","operator":"Exists"}]}"#,
        r#""objectSelector":null"#,
        r#""matchConditions":[{"name":"b","expression":"!('x' in y)"},{"name":"a","expression":"true"}]"#,
        r#""matchConditions":[]"#,
        r#""rules":[{"operations":["*"]},{"scope":"*","resources":[]}]"#,
        r#""clientConfig":{"service":{"path":"/patched"},"url":null}"#,
        r#""clientConfig":{"caBundle":"Cg=="}"#,
        r#""timeoutSeconds":7"#,
        r#""timeoutSeconds":1e1"#,
        r#""failurePolicy":"Ignore","matchPolicy":null"#,
        r#""reinvocationPolicy":"IfNeeded""#,
        r#""sideEffects":"NoneOnDryRun""#,
        r#""admissionReviewVersions":["v2","v1"]"#,
        r#""TimeoutSeconds":31"#,
        r#""timeoutSeconds":"1""#,
        r#""unknown":{}"#,
        r#""clientConfig":null"#,
        r#""name":"#,
    ];
    let count = if random.percent(15) { fields.len() } else { fields.len() - 5 };
    let some: Vec<&str> = (0..random.below(4)).map(|_| random.pick(&fields[..count])).collect();
    format!("{{{}}}", some.join(random.pick(&[",", ", "])))
}

/// A crate with markers and handlers.
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

/// `generate` creates no file without markers. The file follows the markers; if kustomize lists it, an empty file
/// remains.
#[test]
fn the_file_follows_the_markers() {
    let file = "config/webhook/manifests.yaml";
    let sandbox = package(VALIDATING);
    sandbox.run("generate webhooks").success();
    let text = sandbox.read(file);
    sandbox.run("generate --check").success();
    sandbox.run("generate").success();
    assert_eq!(sandbox.read(file), text);
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

    // A foreign file stays.
    let foreign = "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n";
    sandbox.file(file, foreign);
    sandbox.run("generate").success();
    assert_eq!(sandbox.read(file), foreign);
}

/// With `--keep-going`, a broken marker prevents only the webhook manifests; otherwise nothing is written.
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

/// Cases of handlers and markers with the expected codes.
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
        (registered(".defaulting::<Thing>(\"/mutate\")"), "the path `/validate` has no validating handler\n"),
        (
            registered(&both.replace("/mutate", "/mutation")),
            "the path `/mutate` has no mutating handler\nthe mutating handler of `/mutation` has no marker\n",
        ),
        (
            registered(".validating::<Thing>(\"/mutate\")"),
            "the path `/mutate` has no mutating handler\nthe path `/validate` has no validating handler\nthe \
             validating handler of `/mutate` has no marker\n",
        ),
        (
            registered(both).replace("path=/mutate", "serviceName=other,path=/other"),
            "the mutating handler of `/mutate` has no marker\n",
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
