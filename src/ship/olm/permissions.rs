//! Splits roles into permissions of the CSV, from which OLM creates roles, and roles that stay objects.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::csv::CsvPermission;
use super::namespaces::{Scope, widened};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::ship::objects::{items, kind, name, namespace, shown, text};

/// The result of [`split`].
#[derive(Debug, Default)]
pub(super) struct Split {
    /// The rules of each account in the namespaces of the operator.
    pub(super) permissions: Vec<CsvPermission>,
    /// The rules of each account in the whole cluster.
    pub(super) cluster: Vec<CsvPermission>,
    /// Objects without an account of the operator, or with other accounts as well.
    pub(super) rest: Vec<Value>,
    /// Findings about permissions whose scope differs from the manifests.
    pub(super) found: Diagnostics,
}

/// The accounts of the operator: namespace and name. Manifests may leave out the namespace.
pub(super) type Accounts = BTreeSet<(String, String)>;

/// Returns true if a subject of a binding, or a `ServiceAccount`, is an account of the operator.
pub(super) fn is_account(accounts: &Accounts, of: &str, name: &str) -> bool {
    accounts
        .iter()
        .any(|(namespace, account)| account == name && (namespace.is_empty() || of.is_empty() || namespace == of))
}

/// The key of a role: kind, namespace and name.
type Key = (String, String, String);

fn key(role: &Value) -> Key {
    (kind(role).to_owned(), namespace(role).to_owned(), name(role).to_owned())
}

/// The role of a binding.
fn role_of(binding: &Value) -> Key {
    let role = &binding["roleRef"];
    let namespace = if role["kind"] == "Role" { namespace(binding) } else { "" };
    (text(&role["kind"]).to_owned(), namespace.to_owned(), text(&role["name"]).to_owned())
}

/// Splits roles and bindings into permissions and objects. OLM binds the permissions of a CSV only to its accounts. So a
/// binding becomes a permission if all of its subjects are such accounts, and a role if all of its bindings do. A role in a
/// foreign namespace is neither: OLM may turn a permission into a `ClusterRole`, and would install an object beside the
/// operator.
pub(super) fn split(objects: Vec<Value>, accounts: &Accounts, scope: &Scope) -> Split {
    let is_own = |subject: &Value| {
        subject["kind"] == "ServiceAccount" && is_account(accounts, text(&subject["namespace"]), text(&subject["name"]))
    };
    let mut found = Diagnostics::default();
    let (objects, elsewhere): (Vec<Value>, Vec<Value>) =
        objects.into_iter().partition(|object| scope.is_granted(namespace(object)) || kind(object) == "ServiceAccount");
    let bound: BTreeSet<Key> = elsewhere.iter().filter(|object| kind(object) == "RoleBinding").map(role_of).collect();
    for object in elsewhere.iter().filter(|object| !bound.contains(&key(object))) {
        found.push(left_out(object, is_own));
    }
    // The rules of an aggregated role come from other roles.
    let roles: BTreeMap<Key, &Value> = objects
        .iter()
        .filter(|object| matches!(kind(object), "Role" | "ClusterRole") && object["aggregationRule"].is_null())
        .map(|role| (key(role), role))
        .collect();
    let bindings = || objects.iter().filter(|object| matches!(kind(object), "RoleBinding" | "ClusterRoleBinding"));
    let is_absorbed = |binding: &Value| {
        let subjects = items(&binding["subjects"]);
        !subjects.is_empty() && subjects.iter().all(is_own) && roles.contains_key(&role_of(binding))
    };
    let (absorbed, kept): (Vec<&Value>, Vec<&Value>) = bindings().partition(|binding| is_absorbed(binding));
    let kept: BTreeSet<Key> = kept.into_iter().map(role_of).collect();
    let (mut of_namespaces, mut of_cluster) = (BTreeMap::new(), BTreeMap::new());
    let mut gone = BTreeSet::new();
    for binding in absorbed {
        let role = role_of(binding);
        let target = if kind(binding) == "RoleBinding" { &mut of_namespaces } else { &mut of_cluster };
        if kind(binding) == "RoleBinding" && scope.everywhere {
            found.extend(widened(roles[&role], binding).into_iter().collect());
        }
        for subject in items(&binding["subjects"]) {
            let granted: &mut Vec<Value> = target.entry(text(&subject["name"]).to_owned()).or_default();
            for rule in items(&roles[&role]["rules"]) {
                if !granted.contains(rule) {
                    granted.push(rule.clone());
                }
            }
        }
        if !kept.contains(&role) {
            gone.insert(role);
        }
    }
    let is_gone = |object: &Value| match kind(object) {
        "Role" | "ClusterRole" => gone.contains(&key(object)),
        "ServiceAccount" => is_account(accounts, namespace(object), name(object)),
        _ => is_absorbed(object),
    };
    let gone: Vec<bool> = objects.iter().map(is_gone).collect();
    let list = |of: BTreeMap<String, Vec<Value>>| {
        let said = of.into_iter().filter(|(_, rules)| !rules.is_empty());
        said.map(|(account, rules)| CsvPermission { service_account_name: account, rules }).collect()
    };
    let rest = objects.into_iter().zip(gone).filter(|(_, gone)| !gone).map(|(object, _)| object).collect();
    Split { permissions: list(of_namespaces), cluster: list(of_cluster), rest, found }
}

/// The finding for a role that is left out: OLM grants permissions in the namespaces of an `OperatorGroup`, or in all.
fn left_out(object: &Value, is_own: impl Fn(&Value) -> bool) -> Diagnostic {
    let role = &object["roleRef"];
    let of_operator = if items(&object["subjects"]).iter().any(is_own) { " to the operator" } else { "" };
    let grants = match text(&role["name"]) {
        "" => String::new(),
        name => format!(", and what {} `{name}` allows{of_operator} there", text(&role["kind"])),
    };
    let message = format!(
        "{} of the namespace `{}` is left out{grants}: OLM grants nothing in a namespace that the bundle names",
        shown(object),
        namespace(object)
    );
    Diagnostic::new(Code::BundleLeftOut, message).help(
        "tell who installs the operator to create it, or let the operator work in this namespace alone: in its `WATCH_NAMESPACE`, and \
         without `AllNamespaces` in the base",
    )
}
