//! Names that follow the release: names of objects, of the namespace and of the service account.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::holes::Holes;
use crate::ship::objects::words::NamedWord;
use crate::ship::objects::{home, kind, manager, name, pod, references};

/// The maximum length of names that are labels, and of names that are subdomains.
const LABEL: usize = 63;
const SUBDOMAIN: usize = 253;

/// Kinds with names that their content determines. A release cannot change them.
const FIXED: [&str; 3] = ["APIService", "CustomResourceDefinition", "Namespace"];

/// The names in the objects of a stream.
pub(super) struct ReleaseNames {
    chart: String,
    namespace: Option<String>,
    manager: String,
    account: Option<String>,
    /// The objects, by kind, namespace and name.
    objects: BTreeSet<(String, Option<String>, String)>,
}

impl ReleaseNames {
    /// Collects the names of `objects`. `deployment` is one of them.
    pub(super) fn new(deployment: &Value, objects: &[Value]) -> Self {
        let chart = manager::project(deployment).to_owned();
        let of = |object: &Value| (kind(object).to_owned(), home(object).map(str::to_owned), name(object).to_owned());
        let movable = objects.iter().filter(|object| !FIXED.contains(&kind(object)));
        let account = pod(deployment)["serviceAccountName"].as_str().filter(|account| {
            let is_it = |object: &Value| kind(object) == "ServiceAccount" && name(object) == *account;
            objects.iter().any(is_it) && begins(account, &chart)
        });
        Self {
            manager: name(deployment).to_owned(),
            account: account.map(str::to_owned),
            namespace: home(deployment).map(str::to_owned),
            objects: movable.map(of).collect(),
            chart,
        }
    }

    pub(super) fn chart(&self) -> &str {
        &self.chart
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns the part of a name after the name of the chart.
    pub(super) fn suffix<'a>(&self, name: &'a str) -> &'a str {
        name.strip_prefix(&self.chart).unwrap_or(name)
    }

    /// Returns the maximum length of a release name, in characters. The name of a Service is a label; other names may have dots.
    pub(super) fn longest(&self, objects: &[Value]) -> usize {
        let ours = objects.iter().filter(|object| !FIXED.contains(&kind(object)) && begins(name(object), &self.chart));
        let room = ours.map(|object| {
            let most: usize = if kind(object) == "Service" { LABEL } else { SUBDOMAIN };
            most.saturating_sub(self.suffix(name(object)).len())
        });
        room.min().unwrap_or(LABEL).clamp(1, LABEL)
    }

    pub(super) fn account_suffix(&self) -> Option<&str> {
        self.account.as_deref().map(|account| self.suffix(account))
    }

    /// Returns true if an object is the namespace of the release, which Helm creates.
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

    /// Puts expressions into an object, for its own name and namespace and for the references in its values.
    pub(super) fn put(&self, object: &mut Value, holes: &mut Holes) {
        let is_account = kind(object) == "ServiceAccount" && self.is_account(name(object)) && self.is_here(object);
        references::rename(object, &mut |named, text| match named {
            NamedWord::Namespace { .. } => {
                (self.namespace.as_deref() == Some(text)).then(|| holes.inline(".Release.Namespace"))
            }
            NamedWord::Object { kinds, namespace } => self.renamed(kinds, namespace, text, holes),
        });
        if is_account {
            let annotations =
                "{{- with .Values.serviceAccount.annotations }}\n{{- toYaml . | nindent 4 }}\n{{- end }}\n";
            object["metadata"]["annotations"][holes.lines(annotations)] = Value::Null;
        }
    }

    /// Describes the object or namespace that a word may name, if it follows the release. Ambiguous words do not count.
    pub(super) fn like(&self, word: &str) -> Option<String> {
        if !word.contains('-') {
            return None;
        }
        if self.namespace() == Some(word) {
            return Some(format!("the namespace `{word}`"));
        }
        let is_it = |(_, _, name): &&(String, Option<String>, String)| name == word && begins(name, &self.chart);
        self.objects.iter().find(is_it).map(|(kind, _, name)| format!("{kind} `{name}`"))
    }

    fn is_here(&self, object: &Value) -> bool {
        home(object) == self.namespace()
    }

    /// Returns the name of an object in a release, if the manifests have the object.
    fn renamed(&self, kinds: &[&str], namespace: Option<&str>, name: &str, holes: &mut Holes) -> Option<String> {
        let (kind, of, _) = self.objects.iter().find(|(kind, of, other)| {
            let is_there = of.is_none() || namespace.is_none() || of.as_deref() == namespace;
            name == other && kinds.contains(&kind.as_str()) && is_there
        })?;
        if !begins(name, &self.chart) {
            return Some(name.to_owned());
        }
        if kind == "ServiceAccount" && self.is_account(name) && *of == self.namespace {
            return Some(holes.inline(format!("include \"{}.serviceAccountName\" .", self.chart)));
        }
        Some(holes.inline(format!("include \"{}.fullname\" .", self.chart)) + self.suffix(name))
    }
}

fn begins(name: &str, chart: &str) -> bool {
    name.strip_prefix(chart).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}
