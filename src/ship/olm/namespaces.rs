//! Namespaces in a bundle. OLM installs the operator into a namespace that the user chooses, and does not rewrite such names.

use std::collections::BTreeSet;

use serde_json::Value;

use super::kinds::CSV;
use crate::diagnostic::{Code, Diagnostic};
use crate::ship::objects::words::NamedWord;
use crate::ship::objects::{containers, home, items, kind, name, references, shown, text};

/// The namespaces of the operator, and those that it watches.
#[derive(Debug, Default)]
pub(super) struct InstallScope {
    /// The namespaces of its Deployments.
    pub(super) own: BTreeSet<String>,
    /// The namespaces of its Deployments' `WATCH_NAMESPACE`.
    pub(super) watched: BTreeSet<String>,
    /// OLM may install the operator for all namespaces.
    pub(super) everywhere: bool,
}

impl InstallScope {
    /// The scope of Deployments, with the install modes of their CSV.
    pub(super) fn new(deployments: &[Value], modes: &Value) -> Self {
        let variables = deployments.iter().flat_map(containers).flat_map(|container| items(&container["env"]));
        let lists = variables.filter(|variable| variable["name"] == "WATCH_NAMESPACE").map(|one| text(&one["value"]));
        Self {
            own: deployments.iter().filter_map(home).map(str::to_owned).collect(),
            watched: lists.flat_map(|list| list.split(',')).map(str::trim).map(str::to_owned).collect(),
            everywhere: is_everywhere(modes),
        }
    }

    /// Returns true for a namespace of the operator. Manifests may omit it.
    pub(super) fn is_own(&self, namespace: &str) -> bool {
        namespace.is_empty() || self.own.is_empty() || self.own.contains(namespace)
    }

    /// Returns true if OLM creates a Role in this namespace, and creates Roles only in namespaces that the manifests name.
    pub(super) fn is_granted(&self, namespace: &str) -> bool {
        self.is_own(namespace) || !self.everywhere && self.watched.contains(namespace)
    }
}

/// Returns true if OLM may install an operator with these install modes for all namespaces.
pub(super) fn is_everywhere(modes: &Value) -> bool {
    items(modes).iter().any(|mode| mode["type"] == "AllNamespaces" && mode["supported"] == true)
}

/// Reports accounts of a binding whose rules are not permissions of the CSV. `is_own` recognizes accounts of the operator.
pub(super) fn subjects(binding: &Value, is_own: impl Fn(&Value) -> bool) -> Vec<Diagnostic> {
    let role = format!("{} `{}`", text(&binding["roleRef"]["kind"]), text(&binding["roleRef"]["name"]));
    let mut found = Vec::new();
    for subject in items(&binding["subjects"]) {
        let (account, namespace) = match (text(&subject["kind"]), text(&subject["name"])) {
            ("ServiceAccount", name) => (format!("the account `{name}`"), text(&subject["namespace"])),
            ("User", user) => match user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':')) {
                Some((namespace, name)) => (format!("the account `{name}`"), namespace),
                None => continue,
            },
            (_, group) => match group.strip_prefix("system:serviceaccounts:") {
                Some(namespace) => ("all accounts".to_owned(), namespace),
                None => continue,
            },
        };
        let (message, help) = if is_own(subject) {
            (
                format!(
                    "{} refers to the operator's account in the namespace `{namespace}`, but OLM chooses the namespace",
                    shown(binding)
                ),
                format!(
                    "add {role} to the manifests, bound only to this account: it becomes a permission of the account"
                ),
            )
        } else {
            (
                format!(
                    "{} gives {role} to {account} of the namespace `{namespace}`, wherever OLM installs the operator",
                    shown(binding)
                ),
                "document that the user must create the binding, or pass the account with \
                    `--extra-service-accounts` if pods of the operator use it"
                    .to_owned(),
            )
        };
        found.push(Diagnostic::new(Code::BundleNamespace, message).help(help));
    }
    found
}

/// Reports arguments and variables of a pod that name a namespace. `own` is the namespace of the manifests, if it is known.
pub(super) fn arguments(deployment: &str, pod: &Value, own: Option<&str>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for container in items(&pod["containers"]).iter().chain(items(&pod["initContainers"])) {
        let mut named = Vec::new();
        let mut marked = container.clone();
        references::rename_in_container(&mut marked, own, &mut |what, word| match what {
            NamedWord::Namespace { of_host } if is_fixed(word) && (!of_host || own == Some(word)) => {
                named.push(word.to_owned());
                Some(format!("{word} "))
            }
            _ => None,
        });
        let mut named = named.into_iter();
        let lists = [("command", ""), ("args", ""), ("env", "value")];
        for (list, field) in lists {
            let mut flag = "";
            for (before, after) in items(&container[list]).iter().zip(items(&marked[list])) {
                let [before_text, after_text] =
                    [before, after].map(|one| text(if field.is_empty() { one } else { &one[field] }));
                let before_flag = std::mem::replace(&mut flag, before_text);
                // A value may name several namespaces.
                let count = after_text.matches(' ').count().saturating_sub(before_text.matches(' ').count());
                let Some(namespace) = (0..count).filter_map(|_| named.next()).last() else { continue };
                let what = match field {
                    "" if before_text.starts_with('-') => format!("the argument `{before_text}`"),
                    "" => format!("the argument `{before_flag} {before_text}`"),
                    _ => format!("the variable `{}`", name_of(before)),
                };
                let message = format!(
                    "{what} of the container `{}` of Deployment `{deployment}` contains the namespace \
                        `{namespace}`, but OLM chooses the namespace",
                    name_of(container)
                );
                found.push(Diagnostic::new(Code::BundleNamespace, message).help(
                    "take it from a variable with `fieldRef: metadata.namespace`; the namespaces to watch are those of the \
                     annotation `olm.targetNamespaces`",
                ));
            }
        }
    }
    found
}

fn name_of(item: &Value) -> &str {
    text(&item["name"])
}

/// Returns true for a namespace that does not exist in every cluster.
fn is_fixed(word: &str) -> bool {
    let of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !word.is_empty() && word.chars().all(of_name) && !word.starts_with("kube-") && !word.starts_with("openshift-")
}

/// Reports an object beside the CSV that names the namespace of the manifests.
pub(super) fn object(object: &Value, own: &str) -> Option<Diagnostic> {
    // Bindings have messages of their own, and OLM sets the conversion webhook of a CRD.
    if kind(object).ends_with("Binding") || [CSV, "CustomResourceDefinition"].contains(&kind(object)) {
        return None;
    }
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("namespace");
    }
    let mut is_named = false;
    references::rename(&mut object, &mut |what, word| {
        is_named |= matches!(what, NamedWord::Namespace { .. }) && word == own;
        None
    });
    is_named.then(|| {
        let message = format!("{} refers to the namespace `{own}`, but OLM chooses the namespace", shown(&object));
        Diagnostic::new(Code::BundleNamespace, message)
            .help("remove the object, or its reference to the namespace, from config/manifests")
    })
}

/// Returns true if a selector matches only the names of namespaces.
pub(super) fn selects_names(selector: &Value) -> bool {
    const LABEL: &str = "kubernetes.io/metadata.name";
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    labels.map(|(key, _)| key.as_str()).all(|key| key == LABEL)
        && items(&selector["matchExpressions"]).iter().all(|one| one["key"] == LABEL && one["operator"] == "In")
}

/// Reports rules of a Role in the operator's namespace that OLM turns into a `ClusterRole`, for an operator of all namespaces.
pub(super) fn widened(role: &Value, binding: &Value) -> Option<Diagnostic> {
    let only = |field: &Value, known: &[&str]| items(field).iter().all(|one| known.contains(&text(one)));
    let is_election = |rule: &Value| {
        only(&rule["apiGroups"], &["", "coordination.k8s.io", "events.k8s.io"])
            && only(&rule["resources"], &["events", "leases", "leases/status"])
            && items(&rule["nonResourceURLs"]).is_empty()
    };
    if items(&role["rules"]).iter().all(is_election) {
        return None;
    }
    let message = format!(
        "{} applies to the operator's namespace by RoleBinding `{}`, but to all namespaces when OLM installs the \
            operator for all namespaces",
        shown(role),
        name(binding)
    );
    Some(
        Diagnostic::new(Code::BundleNamespace, message).help(
            "restrict it with `resourceNames`, or switch `AllNamespaces` off in the base in config/manifests/bases",
        ),
    )
}
