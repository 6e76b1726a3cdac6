//! Names that follow the release: those of its objects, of its namespace and of its service account.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::holes::Holes;
use super::{kind, name};

/// What kubebuilder calls the Deployment, behind the prefix of the project.
const MANAGER: &str = "-controller-manager";

/// The most characters of a name that is a label, and of one that is a subdomain.
const LABEL: usize = 63;
const SUBDOMAIN: usize = 253;

/// The fields and labels whose value is a namespace.
const NAMESPACE_KEYS: [&str; 3] = ["namespace", "namespaces", "kubernetes.io/metadata.name"];

/// The names in the objects of a stream.
pub(super) struct Names {
    chart: String,
    namespace: Option<String>,
    manager: String,
    account: Option<String>,
    /// Those that begin with the name of the chart.
    prefixed: BTreeSet<String>,
}

impl Names {
    /// The names of `objects`, which `deployment` is one of.
    pub(super) fn new(deployment: &Value, objects: &[Value]) -> Self {
        let manager = name(deployment);
        let chart = manager.strip_suffix(MANAGER).filter(|chart| !chart.is_empty()).unwrap_or(manager).to_owned();
        let namespace = deployment["metadata"]["namespace"].as_str().map(str::to_owned);
        let begins =
            |name: &str| name.strip_prefix(&chart).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        let names = objects.iter().map(name).filter(|name| begins(name) && namespace.as_deref() != Some(name));
        let prefixed = names.map(str::to_owned).collect();
        let account = deployment["spec"]["template"]["spec"]["serviceAccountName"].as_str();
        let account = account.filter(|account| {
            objects.iter().any(|object| kind(object) == "ServiceAccount" && name(object) == *account && begins(account))
        });
        Self { manager: manager.to_owned(), account: account.map(str::to_owned), chart, namespace, prefixed }
    }

    pub(super) fn chart(&self) -> &str {
        &self.chart
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// What follows the name of the chart in a name.
    pub(super) fn suffix<'a>(&self, name: &'a str) -> &'a str {
        name.strip_prefix(&self.chart).unwrap_or(name)
    }

    /// How many characters the release's name may have: that of a Service is a label, others are names with dots.
    pub(super) fn longest(&self, objects: &[Value]) -> usize {
        let ours = objects.iter().filter(|object| self.prefixed.contains(name(object)));
        let room = ours.map(|object| {
            let most: usize = if kind(object) == "Service" { LABEL } else { SUBDOMAIN };
            most.saturating_sub(self.suffix(name(object)).len())
        });
        room.min().unwrap_or(LABEL).clamp(1, LABEL)
    }

    pub(super) fn account_suffix(&self) -> Option<&str> {
        self.account.as_deref().map(|account| self.suffix(account))
    }

    /// Whether an object is the namespace that the release is in, which Helm makes.
    pub(super) fn is_own_namespace(&self, object: &Value) -> bool {
        kind(object) == "Namespace" && self.namespace.as_deref() == Some(name(object))
    }

    pub(super) fn is_manager(&self, name: &str) -> bool {
        self.manager == name
    }

    pub(super) fn is_account(&self, name: &str) -> bool {
        self.account.as_deref() == Some(name)
    }

    pub(super) fn add_values(&self, values: &mut Value) {
        values["nameOverride"] = "".into();
        values["fullnameOverride"] = "".into();
        if self.account.is_some() {
            values["serviceAccount"]["name"] = "".into();
            values["serviceAccount"]["annotations"] = json!({});
        }
    }

    /// Where the service account is meant, whose name may be that of the Deployment, too.
    pub(super) fn service_account(&self, object: &mut Value, holes: &mut Holes) {
        let Some(account) = self.account.as_deref() else { return };
        let hole = holes.inline(format!("{{{{ include \"{}.serviceAccountName\" . }}}}", self.chart));
        if kind(object) == "ServiceAccount" && name(object) == account {
            object["metadata"]["name"] = hole.clone().into();
            let annotations =
                "{{- with .Values.serviceAccount.annotations }}\n{{- toYaml . | nindent 4 }}\n{{- end }}\n";
            object["metadata"]["annotations"][holes.lines(annotations)] = Value::Null;
        }
        let namespace = self.namespace.as_deref();
        for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
            let is_here = subject["namespace"].as_str() == namespace;
            if subject["kind"] == "ServiceAccount" && subject["name"] == account && is_here {
                subject["name"] = hole.clone().into();
            }
        }
        if let Some(used) = object.pointer_mut("/spec/template/spec/serviceAccountName")
            && *used == account
        {
            *used = hole.into();
        }
    }

    /// Puts a hole in the place of every name, be it a string or, between other characters, a part of one.
    pub(super) fn put(&self, value: &mut Value, holes: &mut Holes) {
        self.put_at("", value, holes);
    }

    fn put_at(&self, key: &str, value: &mut Value, holes: &mut Holes) {
        match value {
            Value::String(_) if key == "image" => {}
            // Elsewhere, or alone, these words may mean anything: a group, a label, a container.
            Value::String(text) if NAMESPACE_KEYS.contains(&key) && self.namespace.as_ref() == Some(text) => {
                *text = holes.inline("{{ .Release.Namespace | quote }}");
            }
            Value::String(text) if key == "name" && *text == self.chart => {
                *text = holes.inline(format!("{{{{ include \"{}.fullname\" . | quote }}}}", self.chart));
            }
            Value::String(text) => self.put_in(text, holes),
            Value::Array(items) => items.iter_mut().for_each(|item| self.put_at(key, item, holes)),
            Value::Object(map) => {
                let is_local = matches!(key, "containers" | "initContainers" | "volumes" | "ports" | "env");
                for (field, value) in map {
                    self.put_at(if is_local && field == "name" { "" } else { field }, value, holes);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// In the text the namespace is meant when it begins with the name of the chart, too, or stands beside such a name.
    fn put_in(&self, text: &mut String, holes: &mut Holes) {
        let of_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let words = |text: &str| text.split(|c| !of_name(c)).map(str::to_owned).collect::<Vec<_>>();
        let is_known = |word: &String| *word != self.chart && self.prefixed.contains(word);
        let beside = words(text).iter().any(is_known);
        let is_namespace =
            |word: &str| self.namespace.as_deref() == Some(word) && (beside || begins(word, &self.chart));
        let mut filled = String::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let end = rest.find(|c| !of_name(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            if is_namespace(word) {
                filled += &holes.inline("{{ .Release.Namespace }}");
            } else if is_known(&word.to_owned()) {
                filled +=
                    &holes.inline(format!("{{{{ include \"{}.fullname\" . }}}}{}", self.chart, self.suffix(word)));
            } else {
                filled += word;
            }
            let end = after.find(of_name).unwrap_or(after.len());
            filled += &after[..end];
            rest = &after[end..];
        }
        *text = filled;
    }
}

fn begins(name: &str, chart: &str) -> bool {
    name.strip_prefix(chart).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}
