//! The namespaces that the manager watches, as a value. These follow the value: the arguments and variables of the manager, the
//! objects in each of these namespaces, and the selectors of webhooks.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::holes::Holes;
use crate::ship::objects::words::NamedWord;
use crate::ship::objects::{home, items, kind, name, references};

/// The name of the value.
pub(super) const VALUE: &str = "watchNamespaces";
/// Flags and variables that list the namespaces, in lower case and with hyphens.
const LISTS: [&str; 3] = ["namespaces", "watch-namespace", "watch-namespaces"];
/// The label with the name of a namespace.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// The namespace variable in a template that is repeated for each namespace.
const EACH: &str = "$namespace";

pub(super) struct Watched<'a> {
    pub(super) namespaces: Vec<String>,
    /// The namespace of the manager.
    own: Option<&'a str>,
    /// Kind and name of the objects that each of the namespaces has.
    shared: Vec<(&'a str, &'a str)>,
    /// Objects that the release's own namespace has as well; true if the object of each namespace includes all of its content.
    also_own: Vec<(&'a str, &'a str, bool)>,
}

impl<'a> Watched<'a> {
    /// Returns the list of the manager's container. Returns `None` if the lists differ, if they hold the manager's `own`
    /// namespace, or if objects of one name differ between the namespaces: other lists cannot be derived from such objects.
    pub(super) fn new(container: &Value, objects: &'a [Value], own: Option<&'a str>) -> Option<Self> {
        let mut lists = Vec::new();
        each_list(&mut container.clone(), &mut |list| {
            lists.push(list.to_owned());
            None
        });
        lists.dedup();
        let [list] = &*lists else { return None };
        let namespaces: Vec<String> = list.split(',').map(str::to_owned).collect();
        let is_twice = namespaces.iter().collect::<BTreeSet<_>>().len() < namespaces.len();
        if is_twice || !namespaces.iter().all(|namespace| is_name(namespace) && Some(&**namespace) != own) {
            return None;
        }
        let (mut shared, mut also_own) = (Vec::new(), Vec::new());
        let has = |object: &Value, namespace: &str| home(object) == Some(namespace);
        for first in objects.iter().filter(|object| has(object, &namespaces[0])) {
            let key = (kind(first), name(first));
            let others = || objects.iter().filter(|object| (kind(object), name(object)) == key);
            let copies: Vec<Value> = namespaces
                .iter()
                .filter_map(|namespace| Some(of_each(others().find(|object| has(object, namespace))?, namespace)))
                .collect();
            if copies.len() < namespaces.len() {
                continue;
            }
            if copies.iter().any(|copy| *copy != copies[0]) {
                return None;
            }
            shared.push(key);
            let also = others().find(|object| home(object) == own);
            also_own.extend(also.map(|also| (key.0, key.1, covers(first, also))));
        }
        Some(Self { namespaces, own, shared, also_own })
    }

    /// Returns true for an object that the template of the first namespace also creates.
    pub(super) fn is_copy(&self, object: &Value) -> bool {
        self.is_shared(object) && home(object) != Some(&self.namespaces[0])
    }

    fn is_shared(&self, object: &Value) -> bool {
        self.shared.contains(&(kind(object), name(object)))
            && home(object).is_some_and(|home| self.namespaces.iter().any(|namespace| namespace == home))
    }

    /// Puts the value into the manager's container.
    pub(super) fn put_list(container: &mut Value, holes: &mut Holes) {
        each_list(container, &mut |_| Some(holes.inline(format!("join \",\" .Values.{VALUE}"))));
    }

    /// Puts the value into the selectors of webhooks that select these namespaces.
    pub(super) fn put_selectors(&self, configuration: &mut Value, holes: &mut Holes) {
        for webhook in list(configuration, "/webhooks") {
            for expression in list(webhook, "/namespaceSelector/matchExpressions") {
                if expression["key"] == NAME_LABEL
                    && expression["operator"] == "In"
                    && expression["values"] == json!(self.namespaces)
                {
                    let each = format!("{{{{- range .Values.{VALUE} }}}}\n- {{{{ . | quote }}}}\n{{{{- end }}}}\n");
                    expression["values"] = json!([holes.lines(each)]);
                }
            }
        }
    }

    /// Returns the template of an object, which was `original` in the manifests: repeated if each of the namespaces has it.
    pub(super) fn template(&self, original: &Value, mut object: Value, holes: &mut Holes) -> String {
        let key = (kind(original), name(original));
        let own = self.also_own.iter().find(|(kind, name, _)| (*kind, *name) == key);
        if !self.is_shared(original) {
            let text = holes.text(&object);
            return match own {
                Some((_, _, true)) if home(original) == self.own => {
                    format!("{{{{- if not (has .Release.Namespace .Values.{VALUE}) }}}}\n{text}{{{{- end }}}}\n")
                }
                _ => text,
            };
        }
        references::rename(&mut object, &mut |named, word| {
            (matches!(named, NamedWord::Namespace { .. }) && word == self.namespaces[0]).then(|| holes.inline(EACH))
        });
        let refused = match own {
            Some((kind, _, false)) => format!(
                "{{{{- if eq {EACH} .Release.Namespace }}}}\n\
                 {{{{- fail (printf \"{VALUE} must not hold %s: the {kind} of the release's namespace says something else\" {EACH}) }}}}\n\
                 {{{{- end }}}}\n"
            ),
            _ => String::new(),
        };
        // `$` keeps the dot of the surrounding scope.
        format!(
            "{{{{- range {EACH} := .Values.{VALUE} }}}}\n{{{{- with $ }}}}\n{refused}---\n{}{{{{- end }}}}\n{{{{- end }}}}\n",
            holes.text(&object)
        )
    }
}

/// Returns true if `other`, in another namespace, grants no more than `object`. Apart from metadata the rest must be equal.
fn covers(object: &Value, other: &Value) -> bool {
    let is_allowed = items(&other["rules"]).iter().all(|rule| items(&object["rules"]).contains(rule));
    let rest = |object: &Value| {
        let mut object = object.clone();
        object["metadata"] = Value::Null;
        object["rules"] = Value::Null;
        object
    };
    is_allowed && rest(object) == rest(other)
}

/// Removes a namespace from an object: from its metadata and its references.
fn of_each(object: &Value, namespace: &str) -> Value {
    let mut object = object.clone();
    references::rename(&mut object, &mut |named, word| {
        (matches!(named, NamedWord::Namespace { .. }) && word == namespace).then(|| EACH.to_owned())
    });
    object
}

/// Passes each list of namespaces in a container to `put`, which may return another text for it.
fn each_list(container: &mut Value, put: &mut dyn FnMut(&str) -> Option<String>) {
    let is_list = |name: &str| {
        let name = name.trim_start_matches('-').to_ascii_lowercase().replace('_', "-");
        LISTS.contains(&name.as_str())
    };
    for field in ["/command", "/args"] {
        let mut before = false;
        for argument in list(container, field) {
            let Some(text) = argument.as_str() else { continue };
            let (flag, list) = match text.split_once('=') {
                Some((flag, list)) if flag.starts_with('-') && is_list(flag) => (format!("{flag}="), list),
                _ if before && !text.starts_with('-') => (String::new(), text),
                _ => (String::new(), ""),
            };
            before = text.starts_with('-') && is_list(text);
            if let Some(other) = Some(list).filter(|list| !list.is_empty()).and_then(&mut *put) {
                *argument = (flag + &other).into();
            }
        }
    }
    for variable in list(container, "/env") {
        if is_list(variable["name"].as_str().unwrap_or_default())
            && let Some(other) = variable["value"].as_str().and_then(&mut *put)
        {
            variable["value"] = other.into();
        }
    }
}

/// Returns the items of the list at a JSON pointer, if it is one.
fn list<'a>(value: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    value.pointer_mut(pointer).and_then(Value::as_array_mut).into_iter().flatten()
}

fn is_name(namespace: &str) -> bool {
    let of = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !namespace.is_empty() && namespace.chars().all(of) && !namespace.starts_with('-') && !namespace.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list is a value if the manifests determine the objects of any other list.
    #[test]
    fn a_list_is_a_value_or_stays() {
        let role = |namespace: &str, rules: Value| json!({ "kind": "Role", "metadata": { "name": "r", "namespace": namespace }, "rules": rules });
        let equal = [role("a", json!([1])), role("b", json!([1]))];
        let variable = |value: &str| json!({ "env": [{ "name": "WATCH_NAMESPACE", "value": value }] });
        for (container, objects, expected) in [
            (variable("a,b"), &equal[..], Some((1, vec![]))),
            (json!({ "args": ["--watch-namespaces=a,b"] }), &equal, Some((1, vec![]))),
            (
                json!({ "args": ["--namespaces", "a,b"], "env": [{ "name": "A", "value": "c" }] }),
                &equal,
                Some((1, vec![])),
            ),
            (
                json!({ "args": ["--namespaces=a,b"], "env": [{ "name": "WATCH_NAMESPACES", "value": "a,b" }] }),
                &equal,
                Some((1, vec![])),
            ),
            (variable("a,b"), &[equal[0].clone()], Some((0, vec![]))),
            (variable("a,b"), &[equal[0].clone(), equal[1].clone(), role("own", json!([]))], Some((1, vec![true]))),
            (variable("a,b"), &[equal[0].clone(), equal[1].clone(), role("own", json!([2]))], Some((1, vec![false]))),
            (variable("a,b"), &[role("a", json!([1])), role("b", json!([2]))], None),
            (
                json!({ "args": ["--namespaces=a"], "env": [{ "name": "WATCH_NAMESPACES", "value": "a,b" }] }),
                &equal,
                None,
            ),
            (variable("a,own"), &equal, None),
            (variable("a, b"), &equal, None),
            (variable("a,b,a"), &equal, None),
            (variable(""), &equal, None),
            (json!({ "env": [{ "name": "WATCH_NAMESPACE", "valueFrom": {} }] }), &equal, None),
            (json!({ "args": ["--namespaces", "--fast"] }), &equal, None),
        ] {
            let watched = Watched::new(&container, objects, Some("own"));
            let found = watched.map(|watched| {
                (watched.shared.len(), watched.also_own.iter().map(|(_, _, covered)| *covered).collect::<Vec<_>>())
            });
            assert_eq!(found, expected, "{container}");
        }
    }
}
