//! Values that name namespaces and other objects. The place of a value in the object model decides. A word in another place
//! does not change, even if it looks like such a name.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::object::{home, kind};
use super::text::{accounts, assignments, hosts, named};
use super::words::{NamedWord, Rename, WordTarget, target};

/// The meaning of a place.
#[derive(Debug, Clone, Copy)]
enum ReferencePlace {
    Names(WordTarget),
    /// A DNS name.
    Host,
    /// Text with assignments, such as an expression.
    Text,
    /// Not a reference, although the name of the field suggests one.
    Nothing,
}

const NAMESPACE: ReferencePlace = ReferencePlace::Names(WordTarget::Namespace);
const SERVICE: ReferencePlace = ReferencePlace::Names(WordTarget::Object(&["Service"]));
const SECRET: ReferencePlace = ReferencePlace::Names(WordTarget::Object(&["Secret"]));

/// References with fields whose names do not determine the kind. For all other references, the last words of the field do.
/// Each entry has the kind of the object, `*` for any, and the end of the field path. Lists are transparent.
const PLACES: &[(&str, &[&str], ReferencePlace)] = &[
    ("*", &["cert-manager.io/inject-ca-from"], ReferencePlace::Names(WordTarget::Object(&["Certificate"]))),
    ("*", &["cert-manager.io/inject-ca-from-secret"], SECRET),
    ("*", &["kubernetes.io/metadata.name"], NAMESPACE),
    ("EndpointSlice", &["kubernetes.io/service-name"], SERVICE),
    ("Certificate", &["spec", "dnsNames"], ReferencePlace::Host),
    ("Certificate", &["spec", "commonName"], ReferencePlace::Host),
    ("*", &["issuerRef", "name"], ReferencePlace::Names(WordTarget::Object(&["Issuer"]))),
    ("*", &["tlsConfig", "serverName"], ReferencePlace::Host),
    ("*", &["basicAuth", "username", "name"], SECRET),
    ("*", &["basicAuth", "password", "name"], SECRET),
    ("*", &["authorization", "credentials", "name"], SECRET),
    ("*", &["namespaceSelector", "matchNames"], NAMESPACE),
    ("Service", &["spec", "externalName"], ReferencePlace::Host),
    ("*", &["spec", "subdomain"], SERVICE),
    ("*", &["grpc", "service"], ReferencePlace::Nothing),
    ("*", &["expr"], ReferencePlace::Text),
    ("*", &["expression"], ReferencePlace::Text),
    ("*", &["image"], ReferencePlace::Nothing),
];

/// Maps from strings to strings with keys of the user. Only the keys in [`PLACES`] determine the meaning of their values.
const MAPS: [&str; 6] = ["annotations", "labels", "matchLabels", "nodeSelector", "parameters", "selector"];
/// The label with the name of a namespace.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The resources whose objects RBAC rules may name.
const RESOURCES: &[(&str, &str)] = &[
    ("certificates", "Certificate"),
    ("clusterrolebindings", "ClusterRoleBinding"),
    ("clusterroles", "ClusterRole"),
    ("configmaps", "ConfigMap"),
    ("daemonsets", "DaemonSet"),
    ("deployments", "Deployment"),
    ("issuers", "Issuer"),
    ("leases", "Lease"),
    ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    ("persistentvolumeclaims", "PersistentVolumeClaim"),
    ("priorityclasses", "PriorityClass"),
    ("rolebindings", "RoleBinding"),
    ("roles", "Role"),
    ("secrets", "Secret"),
    ("serviceaccounts", "ServiceAccount"),
    ("services", "Service"),
    ("statefulsets", "StatefulSet"),
    ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
];

/// Renames the references in the values of an object, including its own name and namespace.
pub(crate) fn rename(object: &mut Value, rename: &mut Rename<'_>) {
    let of = kind(object).to_owned();
    let home = home(object).map(str::to_owned);
    let mut walk = Walk { kind: &of, home: home.as_deref(), path: Vec::new(), rename };
    if let Some(name) = object.pointer_mut("/metadata/name") {
        walk.object(name, &[&of], walk.home);
    }
    if of == "CustomResourceDefinition" {
        // The schema of a CRD is about other objects.
        for (path, pointer) in [("metadata", "/metadata"), ("conversion", "/spec/conversion")] {
            if let Some(value) = object.pointer_mut(pointer) {
                walk.step(path, value);
            }
        }
        return;
    }
    walk.value(object);
}

/// Renames the references in arguments and variables of a container. `home` is the namespace of its pod.
pub(crate) fn rename_in_container(container: &mut Value, home: Option<&str>, rename: &mut Rename<'_>) {
    let mut walk = Walk { kind: "Pod", home, path: vec!["containers".to_owned()], rename };
    walk.value(container);
}

struct Walk<'a, 'b, 'c> {
    kind: &'a str,
    home: Option<&'a str>,
    path: Vec<String>,
    rename: &'b mut Rename<'c>,
}

impl Walk<'_, '_, '_> {
    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(map) => self.map(map),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn step(&mut self, field: &str, value: &mut Value) {
        self.path.push(field.to_owned());
        self.value(value);
        self.path.pop();
    }

    fn map(&mut self, map: &mut Map<String, Value>) {
        let field = self.path.last().map_or("", String::as_str);
        let (is_data, is_container) = (
            self.path.len() == 1 && ["data", "stringData"].contains(&field),
            ["containers", "initContainers", "ephemeralContainers"].contains(&field),
        );
        if MAPS.contains(&field) && map.values().all(Value::is_string) {
            for (key, value) in map {
                if self.place(key).is_some() {
                    self.step(key, value);
                }
            }
            return;
        }
        if is_data {
            for (key, value) in map {
                self.assigned(key, value, None);
            }
            return;
        }
        if field == "matchExpressions" && map.get("key").is_some_and(|key| key == NAME_LABEL) {
            if let Some(values) = map.get_mut("values") {
                self.step(NAME_LABEL, values);
            }
            return;
        }
        let mut done = vec!["kind", "apiVersion", "apiGroup"];
        if is_container {
            self.container(map);
            done.extend(["args", "command", "env", "name"]);
        }
        if self.reference(map) {
            done.push("name");
        }
        if let Some(names) = self.rule(map) {
            done.push(names);
        }
        for (key, value) in map.iter_mut().filter(|(key, _)| !done.contains(&key.as_str())) {
            self.step(key, value);
        }
        // Variables may refer to Secrets and fields.
        if let (true, Some(env)) = (is_container, map.get_mut("env")) {
            for variable in env.as_array_mut().into_iter().flatten() {
                if let Some(source) = variable.get_mut("valueFrom") {
                    self.step("valueFrom", source);
                }
            }
        }
    }

    /// Returns the entry of the table for a field of the value at the path.
    fn place(&self, field: &str) -> Option<ReferencePlace> {
        let ends_with = |path: &[&str]| {
            let mut here = std::iter::once(field).chain(self.path.iter().rev().map(String::as_str));
            path.iter().rev().all(|step| here.next() == Some(step))
        };
        let of = PLACES.iter().find(|(kind, path, _)| ["*", self.kind].contains(kind) && ends_with(path));
        of.map(|(_, _, place)| *place)
    }

    /// Renames a string at the path.
    fn text(&mut self, text: &str) -> String {
        let field = self.path.pop().unwrap_or_default();
        let parent = self.path.last().map_or("", String::as_str);
        let of_words = || target(if field == "name" { parent } else { &field }).map(ReferencePlace::Names);
        let place = self.place(&field).or_else(of_words);
        self.path.push(field);
        let text = match place {
            Some(ReferencePlace::Names(target)) => named(text, target, self.home, self.rename),
            Some(ReferencePlace::Text) => assignments(text, self.home, self.rename),
            Some(ReferencePlace::Nothing) => return text.to_owned(),
            Some(ReferencePlace::Host) | None => text.to_owned(),
        };
        self.plain(&text, matches!(place, Some(ReferencePlace::Host)))
    }

    /// Renames DNS names and accounts in a text.
    fn plain(&mut self, text: &str, is_host: bool) -> String {
        let text = hosts(text, is_host, self.home, self.rename);
        accounts(&text, self.rename)
    }

    /// Renames the value of a user-defined key or variable. The key may determine the meaning of the value.
    fn assigned(&mut self, key: &str, value: &mut Value, known: Option<WordTarget>) {
        let Value::String(text) = value else { return };
        let renamed = match known.or_else(|| target(key)) {
            Some(target) if !text.contains(char::is_whitespace) => named(text, target, self.home, self.rename),
            _ => assignments(text, self.home, self.rename),
        };
        *text = self.plain(&renamed, false);
    }

    fn object(&mut self, name: &mut Value, kinds: &[&str], namespace: Option<&str>) {
        if let Value::String(name) = name
            && let Some(other) = (self.rename)(NamedWord::Object { kinds, namespace }, name)
        {
            *name = other;
        }
    }

    /// Renames the name in a reference: beside its kind, or in a field that names the kind. The namespace is beside it, or
    /// comes from the object.
    fn reference(&mut self, map: &mut Map<String, Value>) -> bool {
        let kind = map.get("kind").and_then(Value::as_str).map(str::to_owned);
        let namespace = map.get("namespace").and_then(Value::as_str).map(str::to_owned);
        let Some(name) = map.get_mut("name") else { return false };
        let field = self.path.last().map_or("", String::as_str);
        let namespace = namespace.as_deref().or(self.home);
        match (kind, self.place("name"), target(field)) {
            (Some(kind), _, _) if ["User", "Group"].contains(&kind.as_str()) => return false,
            (Some(kind), _, _) if kind == "Namespace" => {
                let other = name.as_str().and_then(|name| (self.rename)(NamedWord::Namespace { of_host: false }, name));
                *name = other.map_or_else(|| name.take(), Value::from);
            }
            (Some(kind), _, _) => self.object(name, &[&kind], namespace),
            (None, None, Some(WordTarget::Object(kinds))) => self.object(name, kinds, namespace),
            _ => return false,
        }
        true
    }

    /// Renames the names in an RBAC rule. The resources of the rule determine the kinds.
    fn rule(&mut self, map: &mut Map<String, Value>) -> Option<&'static str> {
        const NAMES: &str = "resourceNames";
        if self.path.last().is_none_or(|field| field != "rules") || !self.kind.ends_with("Role") {
            return None;
        }
        let resources = map.get("resources").and_then(Value::as_array).cloned().unwrap_or_default();
        let of = |resource: &str| {
            resources.iter().any(|one| one.as_str().unwrap_or_default().split('/').next() == Some(resource))
        };
        let kinds: Vec<&str> = RESOURCES.iter().filter(|(resource, _)| of(resource)).map(|(_, kind)| *kind).collect();
        for name in map.get_mut(NAMES).and_then(Value::as_array_mut).into_iter().flatten() {
            let is_namespace = name.as_str().filter(|_| of("namespaces"));
            match is_namespace.and_then(|name| (self.rename)(NamedWord::Namespace { of_host: false }, name)) {
                Some(other) => *name = other.into(),
                None => self.object(name, &kinds, self.home),
            }
        }
        Some(NAMES)
    }

    /// Renames arguments and variables. A variable that is the value of an argument has the meaning of that argument.
    fn container(&mut self, container: &mut Map<String, Value>) {
        let mut variables = BTreeMap::new();
        for list in ["command", "args"] {
            if let Some(arguments) = container.get_mut(list).and_then(Value::as_array_mut) {
                self.arguments(arguments, &mut variables);
            }
        }
        for variable in container.get_mut("env").and_then(Value::as_array_mut).into_iter().flatten() {
            let name = variable["name"].as_str().unwrap_or_default().to_owned();
            if let Some(value) = variable.get_mut("value") {
                self.assigned(&name, value, variables.get(&name).copied());
            }
        }
    }

    fn arguments(&mut self, arguments: &mut [Value], variables: &mut BTreeMap<String, WordTarget>) {
        let mut before = None;
        for argument in arguments {
            let Value::String(text) = argument else { continue };
            let (flag, value) = match text.split_once('=') {
                _ if text.contains(char::is_whitespace) => ("", text.as_str()),
                Some((flag, value)) => (flag, value),
                None if text.starts_with('-') => (text.as_str(), ""),
                None => ("", text.as_str()),
            };
            let names = if flag.is_empty() { before.take() } else { target(flag) };
            before = names.filter(|_| value.is_empty());
            let renamed = match names {
                Some(target) => {
                    let used = value.split([',', '/', ':']).filter_map(|one| one.strip_prefix("$(")?.strip_suffix(')'));
                    variables.extend(used.map(|variable| (variable.to_owned(), target)));
                    text[..text.len() - value.len()].to_owned() + &named(value, target, self.home, self.rename)
                }
                None if text.contains(char::is_whitespace) => assignments(text, self.home, self.rename),
                None => text.clone(),
            };
            *text = self.plain(&renamed, false);
        }
    }
}

#[cfg(test)]
mod tests;
