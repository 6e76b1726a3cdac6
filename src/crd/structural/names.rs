//! Checks the group, names, labels and annotations of a CRD.

use serde_json::Value;

use crate::crd::{self, Crd};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem};
use crate::project::builtin;
use crate::project::crd_names::list_kind_of;
use crate::project::name::{dns_1035_label, dns_1123_subdomain};

/// Groups of the Kubernetes project, which require an annotation.
const PROTECTED: [&str; 2] = ["k8s.io", "kubernetes.io"];
const APPROVAL: &str = "api-approved.kubernetes.io";

/// The limit for all annotations together, in bytes.
const ANNOTATIONS: usize = 262_144;

pub(super) fn check(crd: &Crd) -> Diagnostics {
    let finding = |Problem { message, help }| {
        let mut diagnostic = Diagnostic::new(Code::InvalidName, format!("{message}: kind `{}`", crd.kind()));
        diagnostic.help = help;
        diagnostic.at(crd.origin().cloned())
    };
    let mut found: Diagnostics = wrong_names(crd).into_iter().chain(wrong_metadata(crd)).map(finding).collect();
    found.extend(builtin_names(crd).collect());
    found
}

/// Warns about short names that kubectl resolves to a built-in resource. The API server accepts them in another group.
fn builtin_names(crd: &Crd) -> impl Iterator<Item = Diagnostic> {
    let names = crd.value["spec"]["names"]["shortNames"].as_array().into_iter().flatten().filter_map(Value::as_str);
    names.filter_map(|name| {
        let plural = builtin::named(name)?;
        let message =
            format!("`{}` has the short name `{name}`, which kubectl resolves to the built-in `{plural}`", crd.name());
        let help = "choose another `shortname` in `#[kube(…)]`";
        Some(Diagnostic::new(Code::ShortName, message).at(crd.origin().cloned()).help(help))
    })
}

fn wrong_names(crd: &Crd) -> Vec<Problem> {
    let group = crd::group(&crd.value);
    let names = &crd.value["spec"]["names"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |key: &str| names[key].as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
    let mut results = vec![
        dns_1123_subdomain("group", group),
        dns_1035_label("plural", &text(&names["plural"])),
        dns_1035_label("kind in lower case", &crd.kind().to_lowercase()),
    ];
    results.extend(list("shortNames").iter().map(|name| dns_1035_label("short name", name)));
    results.extend(list("categories").iter().map(|name| dns_1035_label("category", name)));
    results.extend(crd.versions().map(|(name, _)| dns_1035_label("version", name)));
    // The server defaults empty names.
    let singular = text(&names["singular"]);
    if !singular.is_empty() {
        results.push(dns_1035_label("singular", &singular));
    }
    let list_kind = text(&names["listKind"]);
    if !list_kind.is_empty() {
        results.push(dns_1035_label("list kind in lower case", &list_kind.to_lowercase()));
    } else if results.iter().all(Result::is_ok) {
        results.push(list_kind_of(crd.kind()));
    }
    if list_kind == crd.kind() {
        results.push(Err(Problem::new("the kind and the list kind have the same name")));
    }
    let mut wrong: Vec<Problem> = results.into_iter().filter_map(Result::err).collect();
    if !group.contains('.') {
        let problem = Problem::new(format!("the group `{group}` has no dot"));
        wrong.push(problem.help("use a domain that you own, such as `cache.example.com`"));
    }
    let whole = format!("{}.{group}", text(&names["plural"]));
    if wrong.is_empty() {
        wrong.extend(dns_1123_subdomain("name of the CRD", &whole).err());
    }
    wrong
}

fn wrong_metadata(crd: &Crd) -> Vec<Problem> {
    let pairs = |key: &str| {
        let pairs = crd.value["metadata"][key].as_object().into_iter().flatten();
        pairs.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect::<Vec<_>>()
    };
    let (labels, annotations) = (pairs("labels"), pairs("annotations"));
    let mut wrong = Vec::new();
    for (key, value) in &labels {
        if !is_qualified(key) || !(value.is_empty() || is_name(value)) {
            let help = "letters, digits, `-`, `_` and `.`, at most 63, with a letter or digit at both ends; keys may have a domain \
                        and `/` in front";
            wrong.push(Problem::new(format!("`{key}: {value}` is not a valid label")).help(help));
        }
    }
    for (key, _) in annotations.iter().filter(|(key, _)| !is_qualified(&key.to_lowercase())) {
        let help = "use a name of letters, digits, `-`, `_` and `.`, with a domain and `/` in front";
        wrong.push(Problem::new(format!("`{key}` is not a valid annotation key")).help(help));
    }
    let size: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > ANNOTATIONS {
        let problem = Problem::new(format!("the annotations have {size} bytes"));
        wrong.push(problem.help(format!("the limit for all annotations together is {ANNOTATIONS}")));
    }
    let group = crd::group(&crd.value);
    if PROTECTED.iter().any(|protected| crd::is_below(group, protected)) {
        let approval = annotations.iter().find(|(key, _)| key == APPROVAL).map_or("", |(_, value)| value);
        let is_url = approval
            .split_once("://")
            .is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.starts_with(['/', '?']) && !rest.is_empty());
        if !approval.starts_with("unapproved") && !is_url {
            let help = format!(
                "use a group that you own; or add `annotation(\"{APPROVAL}\", \"…\")` with the URL of the approval, \
                    or with `unapproved` and the reason"
            );
            let problem = Problem::new(format!(
                "the group `{group}` is protected and requires the annotation \
                `{APPROVAL}`"
            ));
            wrong.push(problem.help(help));
        }
    }
    wrong
}

fn is_qualified(key: &str) -> bool {
    match key.split_once('/') {
        Some((domain, name)) => dns_1123_subdomain("domain", domain).is_ok() && is_name(name),
        None => is_name(key),
    }
}

fn is_name(text: &str) -> bool {
    let is_end = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
    text.len() <= 63
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
        && is_end(text.chars().next())
        && is_end(text.chars().last())
}
