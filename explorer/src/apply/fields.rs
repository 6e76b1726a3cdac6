//! Sets of field paths, and their form in `fieldsV1`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A set of paths. An element of a path has the form of `fieldsV1`, such as `f:spec`, `k:{"name":"a"}` or `v:"x"`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FieldSet(BTreeMap<String, Branch>);

/// An element of a path, and the paths below it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Branch {
    member: bool,
    below: FieldSet,
}

impl FieldSet {
    /// The set of one field.
    pub(crate) fn of(path: &[&str]) -> Self {
        let mut set = Self::default();
        set.insert(&path.iter().map(|name| format!("f:{name}")).collect::<Vec<_>>());
        set
    }

    /// True if a field is in the set.
    pub(crate) fn has(&self, path: &[&str]) -> bool {
        !Self::of(path).intersection(self).is_empty()
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a path of at least one element.
    pub(crate) fn insert(&mut self, path: &[String]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let branch = self.0.entry(first.clone()).or_default();
        if rest.is_empty() { branch.member = true } else { branch.below.insert(rest) }
    }

    /// Removes one path of fields.
    pub(crate) fn remove(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let key = format!("f:{first}");
        if let Some(branch) = self.0.get_mut(&key) {
            if rest.is_empty() {
                branch.member = false;
            } else {
                branch.below.remove(rest);
            }
            if !branch.member && branch.below.is_empty() {
                self.0.remove(&key);
            }
        }
    }

    /// Removes a path of fields and all paths below it.
    pub(crate) fn remove_below(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let key = format!("f:{first}");
        if rest.is_empty() {
            self.0.remove(&key);
        } else if let Some(branch) = self.0.get_mut(&key) {
            branch.below.remove_below(rest);
            if !branch.member && branch.below.is_empty() {
                self.0.remove(&key);
            }
        }
    }

    pub(crate) fn contains(&self, element: &str) -> bool {
        self.0.get(element).is_some_and(|branch| branch.member)
    }

    /// The paths below an element.
    pub(crate) fn below(&self, element: &str) -> Option<&FieldSet> {
        self.0.get(element).map(|branch| &branch.below).filter(|below| !below.is_empty())
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut result = self.clone();
        for (element, branch) in &other.0 {
            let own = result.0.entry(element.clone()).or_default();
            own.member |= branch.member;
            own.below = own.below.union(&branch.below);
        }
        result
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        self.combine(|element, branch| {
            let other = other.0.get(element)?;
            Some(Branch { member: branch.member && other.member, below: branch.below.intersection(&other.below) })
        })
    }

    pub(crate) fn difference(&self, other: &Self) -> Self {
        self.combine(|element, branch| match other.0.get(element) {
            None => Some(branch.clone()),
            Some(other) => {
                Some(Branch { member: branch.member && !other.member, below: branch.below.difference(&other.below) })
            }
        })
    }

    fn combine(&self, with: impl Fn(&str, &Branch) -> Option<Branch>) -> Self {
        let branches = self.0.iter().filter_map(|(element, branch)| Some((element.clone(), with(element, branch)?)));
        Self(branches.filter(|(_, branch)| branch.member || !branch.below.is_empty()).collect())
    }

    /// Makes members of the elements for which `named` is true; `descend` returns the context of the paths below.
    pub(crate) fn with_members<C: Copy>(
        &self,
        context: C,
        named: &impl Fn(C, &str) -> bool,
        descend: &impl Fn(C, &str) -> C,
    ) -> Self {
        let branches = self.0.iter().map(|(element, branch)| {
            let member = branch.member || named(context, element);
            let below = branch.below.with_members(descend(context, element), named, descend);
            (element.clone(), Branch { member, below })
        });
        Self(branches.collect())
    }

    /// The paths as text, the members of a level before those below it.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect("", &mut paths);
        paths
    }

    fn collect(&self, prefix: &str, paths: &mut Vec<String>) {
        for (element, branch) in &self.0 {
            if branch.member {
                paths.push(format!("{prefix}{}", shown(element)));
            }
        }
        for (element, branch) in &self.0 {
            branch.below.collect(&format!("{prefix}{}", shown(element)), paths);
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let branches = self.0.iter().map(|(element, branch)| {
            let mut below = branch.below.to_json();
            if let (true, false, Some(map)) = (branch.member, branch.below.is_empty(), below.as_object_mut()) {
                map.insert(".".to_owned(), Value::Object(Map::new()));
            }
            (element.clone(), below)
        });
        Value::Object(branches.collect())
    }

    pub(crate) fn from_json(value: &Value) -> Self {
        let branches = value.as_object().into_iter().flatten().filter(|(element, _)| *element != ".");
        Self(
            branches
                .map(|(element, below)| {
                    let map = below.as_object();
                    let member = map.is_none_or(|map| map.is_empty() || map.contains_key("."));
                    (element.clone(), Branch { member, below: Self::from_json(below) })
                })
                .collect(),
        )
    }
}

/// An element as conflicts print it.
fn shown(element: &str) -> String {
    let (kind, text) = element.split_at(2);
    match kind {
        "k:" => {
            let keys: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
            let keys: Vec<String> = keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("[{}]", keys.join(","))
        }
        "v:" => format!("[={text}]"),
        "i:" => format!("[{text}]"),
        _ => format!(".{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&[&str]]) -> FieldSet {
        let mut set = FieldSet::default();
        for path in paths {
            set.insert(&path.iter().map(|element| (*element).to_owned()).collect::<Vec<_>>());
        }
        set
    }

    #[test]
    fn a_set_survives_its_json() {
        let all = set(&[&["f:a"], &["f:a", "f:b"], &["f:c", "k:{\"name\":\"x\"}", "f:d"]]);
        assert_eq!(FieldSet::from_json(&all.to_json()), all);
        assert_eq!(all.to_json().to_string(), r#"{"f:a":{".":{},"f:b":{}},"f:c":{"k:{\"name\":\"x\"}":{"f:d":{}}}}"#);
        assert_eq!(all.paths(), [".a", ".a.b", ".c[name=\"x\"].d"]);
    }

    #[test]
    fn set_operations_keep_the_parents_apart_from_their_fields() {
        let all = set(&[&["f:a"], &["f:a", "f:b"]]);
        assert_eq!(all.difference(&set(&[&["f:a"]])), set(&[&["f:a", "f:b"]]));
        assert_eq!(all.intersection(&set(&[&["f:a", "f:b"]])), set(&[&["f:a", "f:b"]]));
        assert!(all.difference(&all).is_empty());
    }
}
