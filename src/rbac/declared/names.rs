//! Names as kustomize renders them: the prefixes and suffixes of kustomizations, also where rules refer to objects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::{PolicyRule, string};

/// An object of a build.
#[derive(Debug)]
struct BuiltObject {
    group: String,
    kind: String,
    name: String,
    /// Its names before.
    earlier: Vec<String>,
}

/// The names of all objects of a build.
#[derive(Debug, Default)]
pub(super) struct BuiltNames {
    objects: Vec<BuiltObject>,
    /// The kind of a role, and what stands in its `resourceNames`: what kustomize makes of it.
    rendered: BTreeMap<(String, String), BTreeSet<String>>,
}

/// Kinds of objects whose names kustomize follows into `resourceNames`, with the kind of the role; empty for all.
/// <https://github.com/kubernetes-sigs/kustomize/blob/kustomize/v5.7.0/api/internal/konfig/builtinpluginconsts/namereference.go>
const FOLLOWED: [(&str, &str, &str); 5] = [
    ("", "ConfigMap", "Role"),
    ("", "ConfigMap", "ClusterRole"),
    ("", "Secret", "Role"),
    ("", "Secret", "ClusterRole"),
    ("", "PersistentVolume", "ClusterRole"),
];

/// Kinds whose names kustomize does not change.
/// <https://github.com/kubernetes-sigs/kustomize/blob/kustomize/v5.7.0/api/internal/builtins/PrefixTransformer.go>
const KEPT: [&str; 3] = ["APIService", "CustomResourceDefinition", "Namespace"];

impl BuiltNames {
    pub(super) fn add(&mut self, object: &Value) {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
        let (kind, name) = (string(&object["kind"]), string(&object["metadata"]["name"]));
        if !name.is_empty() {
            self.objects.push(BuiltObject { group, kind, name, earlier: Vec::new() });
        }
    }

    /// The number of objects so far, for [`BuiltNames::transform`].
    pub(super) fn count(&self) -> usize {
        self.objects.len()
    }

    /// Renames the objects from `start` on, which are those of this kustomization in `folder`.
    pub(super) fn transform(&mut self, start: usize, kustomization: &Value, folder: &Path) {
        let part = |key: &str| kustomization[key].as_str().unwrap_or_default();
        let (prefix, suffix) = (part("namePrefix"), part("nameSuffix"));
        if prefix.is_empty() && suffix.is_empty() {
            return;
        }
        let followed = followed(kustomization, folder);
        for object in &mut self.objects[start..] {
            if KEPT.contains(&object.kind.as_str()) {
                continue;
            }
            let name = format!("{prefix}{}{suffix}", object.name);
            object.earlier.push(std::mem::replace(&mut object.name, name));
        }
        // A reference is by any name that an object has had.
        let mut rendered: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for object in &self.objects[start..] {
            let is_of = |(group, kind, _): &&(String, String, String)| {
                *kind == object.kind && (group.is_empty() || *group == object.group)
            };
            for (_, _, role) in followed.iter().filter(is_of) {
                let roles = if role.is_empty() { vec!["Role", "ClusterRole"] } else { vec![role.as_str()] };
                for (role, earlier) in
                    roles.into_iter().flat_map(|role| object.earlier.iter().map(move |it| (role, it)))
                {
                    rendered.entry((role.to_owned(), earlier.clone())).or_default().insert(object.name.clone());
                }
            }
        }
        self.rendered.extend(rendered);
    }

    /// A rule of a role of this kind, as kustomize renders it.
    pub(super) fn render(&self, role_kind: &str, rule: &PolicyRule) -> PolicyRule {
        let names = rule.names.iter().flat_map(|name| {
            let rendered = self.rendered.get(&(role_kind.to_owned(), name.clone()));
            rendered.map_or_else(|| vec![name.clone()], |names| names.iter().cloned().collect())
        });
        PolicyRule { names: names.collect(), ..rule.clone() }
    }
}

/// Group and kind of objects whose names kustomize follows into `resourceNames` there, with the kind of the role.
fn followed(kustomization: &Value, folder: &Path) -> Vec<(String, String, String)> {
    let builtin = FOLLOWED.map(|(group, kind, role)| (group.to_owned(), kind.to_owned(), role.to_owned()));
    let mut followed = builtin.to_vec();
    for path in kustomization["configurations"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        // Kustomize says what is wrong with it.
        let text = std::fs::read_to_string(folder.join(path)).unwrap_or_default();
        let config: Value = serde_yaml::from_str(&text).unwrap_or_default();
        for reference in config["nameReference"].as_array().into_iter().flatten() {
            let (group, kind) = (string(&reference["group"]), string(&reference["kind"]));
            let fields = reference["fieldSpecs"].as_array().into_iter().flatten();
            let names = fields.filter(|field| {
                let path = field["path"].as_str().unwrap_or_default();
                path.trim_start_matches('/') == "rules/resourceNames"
            });
            followed.extend(names.map(|field| (group.clone(), kind.clone(), string(&field["kind"]))));
        }
    }
    followed
}
