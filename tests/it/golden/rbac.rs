//! RBAC markers to role.yaml: golden fixtures, and a comparison with controller-gen's library.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use memcached_sdk::k8s;
use memcached_sdk::rbac::role::{self, Roles};
use memcached_sdk::rbac::{Permission, PolicyRule, RbacTarget};
use memcached_sdk::source::SourceTree;
use memcached_sdk::yaml;
use serde_json::{Value, json};

use super::peer;
use crate::random::Random;

/// The program around controller-gen.
pub(super) const MODULE: &str = "rbac-differential";

/// Each `tests/fixtures/rbac/<case>.rs` gives `<case>.yaml`, with its findings in `<case>.stderr`.
#[test]
fn fixtures() {
    let mut count = 0;
    for path in cases() {
        let (roles, findings) = generate(&std::fs::read_to_string(&path).unwrap());
        snapbox::assert_data_eq!(
            yaml::file(None, &roles),
            snapbox::Data::read_from(&path.with_extension("yaml"), None).raw()
        );
        let expected = path.with_extension("stderr");
        if expected.exists() || !findings.is_empty() {
            snapbox::assert_data_eq!(findings, snapbox::Data::read_from(&expected, None).raw());
        }
        count += 1;
    }
    assert!(count >= 8, "only {count} fixtures");
}

#[test]
fn controller_gen_makes_the_same_roles_of_the_fixtures() {
    let Some(peer) = peer::program(MODULE, "controller_gen_makes_the_same_roles_of_the_fixtures") else { return };
    for path in cases() {
        let text = std::fs::read_to_string(&path).unwrap();
        // A known difference; the fixture explains it.
        if text.starts_with("// differs") {
            continue;
        }
        let comments: Vec<_> = text.lines().filter(|line| line.trim_start().starts_with("// +")).collect();
        assert_eq!(json!(generate(&text).0), roles_of_peer(&peer, &comments), "{}", path.display());
    }
}

/// Compares roles of random marker sets. Where controller-gen drops a permission (it merges two rules on the same
/// resources), only our role is checked: it must allow what the markers declare.
#[test]
fn controller_gen_makes_the_same_roles_of_random_markers() {
    let Some(peer) = peer::program(MODULE, "controller_gen_makes_the_same_roles_of_random_markers") else { return };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let sets: Vec<Vec<String>> = (0..240).map(|number| random.markers(number)).collect();
    let comments: Vec<String> = sets.concat();
    let (ours, findings) = generate(&comments.join("\n"));
    assert!(!findings.contains("error"), "{findings}");
    let theirs = roles_of_peer(&peer, &comments.iter().map(String::as_str).collect::<Vec<_>>());
    let theirs = theirs.as_array().unwrap();
    assert_eq!(ours.len(), 240);
    assert_eq!(theirs.len(), 240);
    let mut equal = 0;
    for (our, their) in ours.iter().zip(theirs) {
        assert_eq!(our["metadata"], their["metadata"]);
        let number: usize = our["metadata"]["name"].as_str().unwrap().trim_start_matches("role-").parse().unwrap();
        let alone = |marker: &String| generate(marker).0.remove(0)["rules"][0].take();
        let said = allowed(&sets[number].iter().map(alone).collect());
        assert_eq!(allowed(&our["rules"]), said, "{:#?}", sets[number]);
        if allowed(&their["rules"]) == said {
            assert_eq!(our, their, "{:#?}", sets[number]);
            equal += 1;
        }
    }
    assert!(equal >= 200, "only {equal} roles could be compared");
}

#[test]
fn controller_gen_reads_the_same_arguments() {
    let Some(peer) = peer::program(MODULE, "controller_gen_reads_the_same_arguments") else { return };
    let mut random = Random(42);
    let texts: Vec<String> = (0..20_000).map(|_| random.marker_text()).collect();
    let input: String = texts.iter().map(|text| json!(text).to_string() + "\n").collect();
    let theirs = peer::run(Command::new(peer).arg("parse"), &input);
    let (mut read, mut refused) = (0, 0);
    let ours = texts.chunks(200).flat_map(read_markers);
    for ((text, our), their) in texts.iter().zip(ours).zip(theirs.lines()) {
        let their: Value = serde_json::from_str(their).unwrap();
        match their.get("error") {
            Some(_) => refused += 1,
            None => read += usize::from(!their.is_null()),
        }
        // Both refuse a misplaced number with different messages, because the peer accepts more number formats.
        let numbers = ["0x1g", "1.5e", "08"].iter().any(|number| text.contains(number));
        let refuses = |answer: &Value| answer.get("error").is_some();
        // Only our parser reports a missing comma.
        let is_stricter = our["error"].as_str().is_some_and(|error| error.contains("contains an argument"));
        let same = our == their || is_stricter || (numbers && refuses(&our) && refuses(&their));
        assert!(same, "{text}: {our} and {their}");
    }
    assert!(read >= 3_000 && refused >= 3_000, "{read} read, {refused} refused");
}

/// A random marker: text, role and rule.
struct Said {
    text: String,
    role: (String, String),
    rule: PolicyRule,
}

/// A role allows exactly the union of its markers, for markers in any order and in any file. The check evaluates
/// requests inside and outside the markers. With `--fold`, no rule includes another.
#[test]
fn roles_allow_exactly_what_random_markers_say() {
    let requests = requests();
    let mut folded_away = 0;
    for seed in 1..=120 {
        println!("seed {seed}");
        let mut random = Random(seed);
        let said: Vec<Said> = (0..=random.below(7)).map(|_| random.said()).collect();
        let texts: Vec<&str> = said.iter().map(|said| said.text.as_str()).collect();
        let roles = roles_of_files(&[&texts.join("\n")], false);
        let folded = roles_of_files(&[&texts.join("\n")], true);

        let mut shuffled = texts.clone();
        random.shuffle(&mut shuffled);
        let (one, other) = shuffled.split_at(random.below(texts.len()));
        let files = [&*one.join("\n"), &*other.join("\n")];
        assert_eq!(yaml::file(None, &roles_of_files(&files, false)), yaml::file(None, &roles), "{texts:#?}");
        assert_eq!(yaml::file(None, &roles_of_files(&files, true)), yaml::file(None, &folded), "{texts:#?}");

        let places: BTreeSet<_> = said.iter().map(|said| said.role.clone()).collect();
        for roles in [&roles, &folded] {
            let found: Vec<_> = roles.iter().map(place).collect();
            assert_eq!(found, places.iter().cloned().collect::<Vec<_>>(), "{texts:#?}");
        }
        for (role, folded) in roles.iter().zip(&folded) {
            let rules = rules(role);
            let of_role: Vec<&PolicyRule> =
                said.iter().filter(|said| said.role == place(role)).map(|said| &said.rule).collect();
            let short = self::rules(folded);
            folded_away += rules.len() - short.len();
            for request in &requests {
                let expected = of_role.iter().any(|rule| rule.grants(request));
                let allows = |rules: &[PolicyRule]| rules.iter().any(|rule| rule.grants(request));
                assert_eq!(allows(&rules), expected, "{request:?} {role:#} {texts:#?}");
                assert_eq!(allows(&short), expected, "with --fold {request:?} {folded:#} {texts:#?}");
            }
            let allowed: Vec<BTreeSet<&Permission>> = short.iter().map(|rule| allowed_of(rule, &requests)).collect();
            for (at, one) in allowed.iter().enumerate() {
                let included = allowed.iter().enumerate().any(|(other, all)| other != at && one.is_subset(all));
                assert!(!included, "with --fold {folded:#} {texts:#?}");
            }
        }
    }
    assert!(folded_away > 30, "only {folded_away} rules were folded");
}

/// Requests that use the names of random markers, and names outside them.
fn requests() -> Vec<Permission> {
    let verbs = ["get", "list", "create", "other"];
    let mut targets: Vec<RbacTarget> =
        ["/metrics", "/healthz", "/healthz/etcd", "/other"].map(|url| RbacTarget::Url(url.to_owned())).into();
    for group in ["", "apps", "cache.example.com", "other"] {
        for resource in ["pods", "pods/log", "deployments", "deployments/scale", "other", "other/scale"] {
            for name in [None, Some("one"), Some("two"), Some("other")] {
                let name = name.map(str::to_owned);
                targets.push(RbacTarget::Resource { group: group.to_owned(), resource: resource.to_owned(), name });
            }
        }
    }
    let each = |target: RbacTarget| verbs.map(|verb| Permission { target: target.clone(), verb: verb.to_owned() });
    targets.into_iter().flat_map(each).collect()
}

fn allowed_of<'a>(rule: &PolicyRule, requests: &'a [Permission]) -> BTreeSet<&'a Permission> {
    requests.iter().filter(|request| rule.grants(request)).collect()
}

fn place(role: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&role["metadata"]["namespace"]), text(&role["metadata"]["name"]))
}

fn rules(role: &Value) -> Vec<PolicyRule> {
    role["rules"].as_array().unwrap().iter().map(PolicyRule::from_json).collect()
}

/// The roles of a library with one file for each text.
fn roles_of_files(texts: &[&str], fold: bool) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("Cargo.toml"), "package = { name = \"op\", edition = \"2024\" }").unwrap();
    std::fs::create_dir(dir.path().join("src")).unwrap();
    let modules: String = (0..texts.len()).map(|number| format!("mod m{number};\n")).collect();
    std::fs::write(dir.path().join("src/lib.rs"), modules).unwrap();
    for (number, text) in texts.iter().enumerate() {
        std::fs::write(dir.path().join(format!("src/m{number}.rs")), text).unwrap();
    }
    let (tree, wrong) = k8s::load(dir.path()).unwrap();
    assert!(wrong.is_empty(), "{wrong:?}");
    let (markers, findings) = memcached_sdk::rbac::check::markers(&tree);
    assert!(!findings.has_errors(), "{findings:?}");
    role::documents(&markers, &Roles { default_name: "manager-role", fold })
}

fn cases() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rbac");
    let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect();
    paths.sort();
    paths
}

pub(crate) fn load(source: &str) -> SourceTree {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("Cargo.toml"), "package = { name = \"op\", edition = \"2024\" }").unwrap();
    std::fs::create_dir(dir.path().join("src")).unwrap();
    std::fs::write(dir.path().join("src/lib.rs"), source).unwrap();
    let (tree, diagnostics) = k8s::load(dir.path()).unwrap();
    assert_eq!(diagnostics.iter().count(), 0);
    tree
}

/// The roles of a source text, and the findings as `severity line:column: message`.
fn generate(source: &str) -> (Vec<Value>, String) {
    let (roles, diagnostics) = role::roles(&load(source), "manager-role");
    let finding = |diagnostic: &memcached_sdk::diagnostic::Diagnostic| {
        let (line, column) = diagnostic.origin.as_ref().unwrap().line_column();
        let help = diagnostic.help.as_deref().unwrap_or_default();
        let (code, severity) = (diagnostic.code, diagnostic.code.severity());
        format!("{severity:?} {code} {line}:{column}: {}\n  help: {help}\n", diagnostic.message)
    };
    (roles, diagnostics.iter().map(finding).collect())
}

/// Our answers for marker texts, in the peer's format.
fn read_markers(texts: &[String]) -> Vec<Value> {
    let (markers, diagnostics) = load(&format!("//{}\n", texts.join("\n//"))).markers(&["kubebuilder:rbac"]);
    let mut answers = vec![Value::Null; texts.len()];
    for marker in &markers {
        let list = |name: &str| Some(marker.strings(name)).filter(|texts| !texts.is_empty());
        answers[marker.origin.line_column().0 - 1] = json!({ "rule": {
            "Groups": list("groups"),
            "Resources": list("resources"),
            "ResourceNames": list("resourceNames"),
            "Verbs": list("verbs"),
            "URLs": list("urls"),
            "Namespace": marker.string("namespace"),
            "RoleName": marker.string("roleName"),
        } });
    }
    let errors: Vec<_> = diagnostics.iter().filter(|diagnostic| diagnostic.code.as_str() == "marker-syntax").collect();
    // The first error of a line wins.
    for error in errors.into_iter().rev() {
        answers[error.origin.as_ref().unwrap().line_column().0 - 1] = json!({ "error": error.message });
    }
    answers
}

/// Each permission of a role: group, resource, name, URL and verb; `*` stands for all verbs.
pub(crate) fn allowed(rules: &Value) -> BTreeSet<[Option<String>; 5]> {
    let list = |rule: &Value, key: &str| -> Vec<Option<String>> {
        match rule[key].as_array() {
            Some(values) => values.iter().map(|value| Some(value.as_str().unwrap().to_string())).collect(),
            None => vec![None],
        }
    };
    let mut all = BTreeSet::new();
    for rule in rules.as_array().unwrap() {
        for group in list(rule, "apiGroups") {
            for resource in list(rule, "resources") {
                for name in list(rule, "resourceNames") {
                    for url in list(rule, "nonResourceURLs") {
                        for verb in list(rule, "verbs") {
                            all.insert([&group, &resource, &name, &url, &verb].map(Clone::clone));
                        }
                    }
                }
            }
        }
    }
    let every = all.clone();
    all.retain(|[group, resource, name, url, verb]| {
        let everything = [group, resource, name, url, &Some("*".to_string())].map(Clone::clone);
        verb.as_deref() == Some("*") || !every.contains(&everything)
    });
    all
}

fn roles_of_peer(peer: &Path, comments: &[&str]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("go.mod"), "module op\n\ngo 1.26\n").unwrap();
    let text = format!("package op\n\n{}\n\nfunc F() {{}}\n", comments.join("\n"));
    std::fs::write(dir.path().join("op.go"), text).unwrap();
    let roles = peer::run(Command::new(peer).arg("roles").arg(dir.path()), "");
    serde_json::from_str(&roles).unwrap()
}

impl Random {
    fn some(&mut self, choices: &[&str], limit: usize) -> String {
        let count = 1 + self.below(limit);
        (0..count).map(|_| choices[self.below(choices.len())]).collect::<Vec<_>>().join(";")
    }

    fn list(&mut self, choices: &[&str]) -> Vec<String> {
        (0..=self.below(3)).map(|_| choices[self.below(choices.len())].to_owned()).collect()
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    fn said(&mut self) -> Said {
        let mut rule = PolicyRule { verbs: self.list(&["get", "list", "create", "*"]), ..PolicyRule::default() };
        let mut text = format!("// +kubebuilder:rbac:verbs={}", rule.verbs.join(";"));
        if self.below(5) == 0 {
            rule.urls = self.list(&["/metrics", "/healthz", "/healthz/*", "/healthz/etcd", "*"]);
            text += &format!(",urls={}", rule.urls.join(";"));
        } else {
            rule.groups = self.list(&["core", "apps", "cache.example.com", "*"]);
            rule.resources = self.list(&["pods", "pods/log", "deployments", "deployments/scale", "*/scale", "*"]);
            text += &format!(",groups={},resources={{{}}}", rule.groups.join(";"), rule.resources.join(","));
            if self.below(4) == 0 {
                rule.names = self.list(&["one", "two"]);
                text += &format!(",resourceNames=\"{}\"", rule.names.join("\";\""));
            }
        }
        rule.groups.iter_mut().filter(|group| *group == "core").for_each(String::clear);
        let (namespace, role) = [("", "manager-role"), ("", "reader"), ("one", "manager-role")][self.below(3)];
        if !namespace.is_empty() {
            text += &format!(",namespace={namespace}");
        }
        if role != "manager-role" {
            text += &format!(",roleName={role}");
        }
        Said { text, role: (namespace.to_owned(), role.to_owned()), rule }
    }

    fn markers(&mut self, number: usize) -> Vec<String> {
        let place = if number.is_multiple_of(3) { format!(",namespace=space-{}", number % 7) } else { String::new() };
        let count = 1 + self.below(6);
        let mut marker = || {
            let verbs = self.some(&["get", "list", "watch", "create", "update", "*"], 3);
            let rule = if self.below(5) == 0 {
                format!("urls={}", self.some(&["/metrics", "/healthz", "/debug/*"], 2))
            } else {
                let groups = self.some(&["core", "\"\"", "apps", "batch", "cache.example.com"], 2);
                let resources = self.some(&["pods", "services", "deployments", "deployments/status", "*"], 3);
                let names = if self.below(5) == 0 {
                    format!(",resourceNames={}", self.some(&["one", "two"], 2))
                } else {
                    String::new()
                };
                format!("groups={groups},resources={resources}{names}")
            };
            format!("// +kubebuilder:rbac:{rule},verbs={verbs}{place},roleName=role-{number}")
        };
        (0..count).map(|_| marker()).collect()
    }

    /// Text close to a marker. A blank never precedes a delimiter, because the peer truncates words there.
    fn marker_text(&mut self) -> String {
        let pieces = [
            "verbs=",
            "groups=",
            "resources=",
            "urls=",
            "roleName=",
            "namespace=",
            "resourceNames=",
            "verb=",
            "a",
            "get",
            "list",
            "apps",
            "*",
            "pods/log",
            "/metrics",
            ",",
            ",",
            ",",
            ";",
            ";",
            "{",
            "}",
            "\"\"",
            "\"a b\"",
            "`raw`",
            "\"\\x41\\u00e9\"",
            "\"\\q\"",
            "\"",
            "`",
            "=",
            ":",
            ".",
            "-",
            "1",
            "0x1g",
            "1.5e",
            "08",
            "é",
            "'",
            "\\",
            "true",
            "a.b-c",
            " x",
            "  /y",
        ];
        let count = self.below(6);
        let starts = ["+kubebuilder:rbac", "+kubebuilder:rbac:", "+kubebuilder:rbac:verbs=get,"];
        let mut text = String::from(starts[self.below(12).min(2)]);
        for _ in 0..count {
            // Mostly well-formed arguments.
            if self.below(12) != 0 {
                let name = ["verbs", "groups", "resources", "urls", "roleName", "namespace"][self.below(6)];
                let one = name.ends_with("Name") || name == "namespace" || self.below(5) == 0;
                let value = match self.below(6) {
                    0 if !one => "{a, \"b\"}".to_string(),
                    _ => self
                        .some(&["get", "\"\"", "a b", "`x`", "pods/log", "\"\\u00e9\\x41\""], if one { 1 } else { 3 }),
                };
                let comma = if self.below(12) == 0 { "" } else { "," };
                text.extend([name, "=", &value, comma]);
            } else {
                text.push_str(pieces[self.below(pieces.len())]);
            }
        }
        // The peer rejects a trailing comma.
        if self.below(4) != 0 && text.ends_with(',') {
            text.pop();
        }
        text
    }
}

fn rule_of(groups: &str, resources: &str, names: &str, urls: &str, verbs: &str) -> PolicyRule {
    let list = |text: &str| match text {
        "" => Vec::new(),
        text => text.split(',').map(|item| item.replace("core", "")).collect(),
    };
    PolicyRule {
        groups: list(groups),
        resources: list(resources),
        names: list(names),
        urls: list(urls),
        verbs: list(verbs),
    }
}

#[test]
fn a_rule_allows_what_the_authorizer_allows() {
    let deployment = |resource: &str, name: Option<&str>| RbacTarget::Resource {
        group: "apps".to_owned(),
        resource: resource.to_owned(),
        name: name.map(str::to_owned),
    };
    let all = deployment("deployments", None);
    for (rule, target, verb, expected) in [
        (rule_of("apps", "deployments", "", "", "get,list"), &all, "list", true),
        (rule_of("apps", "deployments", "", "", "get,list"), &all, "watch", false),
        (rule_of("core", "deployments", "", "", "*"), &all, "get", false),
        (rule_of("*", "*", "", "", "*"), &deployment("deployments/scale", None), "patch", true),
        (rule_of("apps", "deployments", "", "", "*"), &deployment("deployments/scale", None), "patch", false),
        (rule_of("apps", "*/scale", "", "", "*"), &deployment("deployments/scale", None), "patch", true),
        (rule_of("apps", "*/scale", "", "", "*"), &all, "patch", false),
        (rule_of("apps", "deployments/*", "", "", "*"), &deployment("deployments/scale", None), "patch", false),
        (rule_of("apps", "deployments", "one", "", "get"), &deployment("deployments", Some("one")), "get", true),
        (rule_of("apps", "deployments", "one", "", "get"), &deployment("deployments", Some("two")), "get", false),
        (rule_of("apps", "deployments", "one", "", "list"), &all, "list", false),
        (rule_of("", "", "", "/metrics", "get"), &RbacTarget::Url("/metrics".to_owned()), "get", true),
        (rule_of("", "", "", "/metrics", "get"), &RbacTarget::Url("/metrics/x".to_owned()), "get", false),
        (rule_of("", "", "", "/healthz/*", "get"), &RbacTarget::Url("/healthz/etcd".to_owned()), "get", true),
        (rule_of("", "", "", "*", "get"), &RbacTarget::Url("/version".to_owned()), "get", true),
        (rule_of("*", "*", "", "", "get"), &RbacTarget::Url("/version".to_owned()), "get", false),
    ] {
        let permission = Permission::new(target.clone(), verb);
        assert_eq!(rule.grants(&permission), expected, "{rule:?} {permission:?}");
    }
}
