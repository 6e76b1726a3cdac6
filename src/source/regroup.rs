//! Rewrites the paths of a Rust text after modules have moved into a module, out of one, or got other names.

use std::ops::Range;

use super::lexer;

/// A module to insert into paths, or to remove from them. Paths are relative to the crate's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Regroup {
    /// Inserts the module `name` at `at` into paths that begin with `path`: `api::v1` becomes `api::cache::v1`.
    Into {
        /// `["api", "v1"]`
        path: Vec<String>,
        /// The number of modules before the new one.
        at: usize,
        /// `cache`
        name: String,
    },
    /// Removes the last of these modules from paths that begin with them: `api::cache` becomes `api`.
    OutOf(Vec<String>),
    /// Gives modules of paths that begin with `path` other names: `api::v1::memcached` becomes `api::v1::cache`.
    Rename {
        /// `["api", "v1", "memcached"]`
        path: Vec<String>,
        /// The place of a module in the path, and its new name.
        names: Vec<(usize, String)>,
    },
}

#[derive(Clone, Default)]
struct RegroupPath<'a> {
    /// Modules from the crate's root; `None` if unknown.
    modules: Option<Vec<&'a str>>,
    /// Only `self` and `super` so far.
    is_relative: bool,
    /// The offsets of the modules after the last opening brace.
    starts: Vec<usize>,
}

/// Rewrites paths below `crate` or the crate's name, also in strings, because attributes name functions there. `module`
/// is the module of the text: `self`, `super` and imports without a prefix are relative to it.
#[must_use]
pub fn regrouped(text: &str, crate_name: &str, module: &[&str], changes: &[Regroup]) -> String {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut groups: Vec<RegroupPath> = Vec::new();
    let mut path = RegroupPath::default();
    let (mut colons, mut last, mut declared) = (0, "", None);
    // The module of the text, and the inline modules with the number of braces around each.
    let (mut module, mut inline) = (module.to_vec(), Vec::new());
    for (at, token) in lexer::tokens(text) {
        let before = std::mem::replace(&mut last, token);
        if token == ":" {
            colons += 1;
            continue;
        }
        let goes_on = std::mem::take(&mut colons) == 2;
        match token {
            "{" => {
                if let Some(name) = declared.take() {
                    inline.push(groups.len());
                    module.push(name);
                }
                groups.push(if goes_on { path } else { RegroupPath::default() });
                path = RegroupPath::default();
            }
            "}" => {
                groups.pop();
                if inline.pop_if(|depth| *depth == groups.len()).is_some() {
                    module.pop();
                }
                path = RegroupPath::default();
            }
            _ if token.starts_with('"') && token.ends_with('"') && token.contains("::") && !token.contains('\\') => {
                let inside = at + 1..at + token.len() - 1;
                let inner = regrouped(&text[inside.clone()], crate_name, &module, changes);
                if inner != text[inside.clone()] {
                    edits.push((inside, inner));
                }
            }
            _ if token.bytes().next().is_some_and(lexer::is_ident) => {
                declared = (before == "mod").then_some(token);
                if !goes_on {
                    path = begin(token, before, groups.last(), crate_name, &module);
                }
                let is_prefix = match token {
                    "super" if path.is_relative => {
                        let above = path.modules.as_mut().is_some_and(|modules| modules.pop().is_some());
                        path.modules = path.modules.filter(|_| above);
                        true
                    }
                    "self" => path.is_relative && !goes_on,
                    _ => !goes_on && (token == "crate" || token == crate_name),
                };
                if !is_prefix {
                    path.is_relative = false;
                    if let Some(modules) = &mut path.modules {
                        modules.push(token);
                        path.starts.push(at);
                        let mut found = changes.iter().map(|change| change.edits(modules, &path.starts, text));
                        edits.extend(found.find(|edits| !edits.is_empty()).unwrap_or_default());
                    }
                }
            }
            _ => path = RegroupPath::default(),
        }
    }
    let mut text = text.to_owned();
    for (range, new) in edits.into_iter().rev() {
        text.replace_range(range, &new);
    }
    text
}

/// The path before its first word.
fn begin<'a>(
    word: &str,
    before: &str,
    group: Option<&RegroupPath<'a>>,
    crate_name: &str,
    module: &[&'a str],
) -> RegroupPath<'a> {
    let inherited = group.and_then(|group| group.modules.clone()).filter(|_| matches!(before, "{" | ","));
    let is_relative = matches!(word, "self" | "super") && inherited.is_none();
    let modules = match before {
        _ if word == "crate" || word == crate_name => Some(Vec::new()),
        "use" => Some(module.to_vec()),
        _ if is_relative => Some(module.to_vec()),
        _ => inherited,
    };
    RegroupPath { modules, is_relative, starts: Vec::new() }
}

impl Regroup {
    /// The edits at the end of a path, from left to right. `starts` are the offsets of its last modules.
    fn edits(&self, modules: &[&str], starts: &[usize], text: &str) -> Vec<(Range<usize>, String)> {
        let start = |n: usize| (n + starts.len()).checked_sub(modules.len()).map(|n| starts[n]);
        match self {
            Self::Into { path, at, name } if modules == path => {
                start(*at).map(|start| (start..start, format!("{name}::"))).into_iter().collect()
            }
            Self::OutOf(path) if modules == path => {
                let edit = || {
                    let start = start(path.len() - 1)?;
                    let rest = text[start..].split_once("::")?.1;
                    let is_path = text[start..text.len() - rest.len() - 2].trim_end() == *path.last()?;
                    is_path.then(|| (start..text.len() - rest.trim_start().len(), String::new()))
                };
                edit().into_iter().collect()
            }
            Self::Rename { path, names } if modules == path => names
                .iter()
                .filter_map(|(at, name)| start(*at).map(|start| (start..start + path[*at].len(), name.clone())))
                .collect(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(path: &str) -> Vec<String> {
        path.split("::").map(str::to_owned).collect()
    }

    #[test]
    fn paths_follow_modules_into_a_group_and_back() {
        let into = |path: &str, name: &str| Regroup::Into { path: modules(path), at: 1, name: name.to_owned() };
        let there = [into("api::v1", "cache"), into("controller::memcached", "cache"), into("webhook::v1", "cache")];
        let back = ["api::cache", "controller::cache", "webhook::cache"].map(|path| Regroup::OutOf(modules(path)));
        let cases: &[(&str, &[&str], &str, &str)] = &[
            (
                "a path",
                &[],
                "op::api::v1::memcached::Memcached::crd()",
                "op::api::cache::v1::memcached::Memcached::crd()",
            ),
            ("in a macro", &[], "vec![crate::api::v1::Spec]", "vec![crate::api::cache::v1::Spec]"),
            ("a group", &[], "use crate::api::{v1, v2::X};", "use crate::api::{cache::v1, v2::X};"),
            (
                "groups",
                &[],
                "use crate::{api::v1::{A, B}, controller::{self, memcached::C}};",
                "use crate::{api::cache::v1::{A, B}, controller::{self, cache::memcached::C}};",
            ),
            (
                "in an attribute",
                &[],
                "#[serde(default = \"crate::api::v1::size\")]",
                "#[serde(default = \"crate::api::cache::v1::size\")]",
            ),
            ("an import in the module above", &["api"], "pub use v1::Memcached;", "pub use cache::v1::Memcached;"),
            ("an import in the root", &[], "use api::v1::A;", "use api::cache::v1::A;"),
        ];
        for (name, module, single, multi) in cases {
            assert_eq!(regrouped(single, "op", module, &there), *multi, "{name}");
            assert_eq!(regrouped(multi, "op", module, &back), *single, "{name}, back");
        }
    }

    #[test]
    fn paths_follow_renamed_modules() {
        let change = |path: &str, at: usize, name: &str| Regroup::Rename {
            path: modules(path),
            names: vec![(at, name.to_owned())],
        };
        let changes = [change("api::v1::memcached", 2, "cache"), change("api::v1alpha1", 1, "v1beta1")];
        let cases: &[(&str, &[&str], &str, &str)] = &[
            ("a path", &[], "op::api::v1::memcached::A", "op::api::v1::cache::A"),
            ("a module in the middle", &[], "crate::api::v1alpha1::memcached::A", "crate::api::v1beta1::memcached::A"),
            (
                "groups",
                &[],
                "use crate::{api::v1::{memcached::A, other}, api::v1alpha1::other};",
                "use crate::{api::v1::{cache::A, other}, api::v1beta1::other};",
            ),
            ("above", &["api", "v1", "other"], "use super::memcached::A;", "use super::cache::A;"),
            ("twice above", &["api", "v1", "other"], "super::super::v1::memcached::A", "super::super::v1::cache::A"),
            ("a group above", &["api", "v1", "other"], "use super::{memcached::A, b};", "use super::{cache::A, b};"),
            ("here", &["api", "v1"], "pub use self::memcached::A;", "pub use self::cache::A;"),
            (
                "in an inline module",
                &["api", "v1"],
                "mod tests { fn f() {} use super::memcached::A; } use super::memcached::A;",
                "mod tests { fn f() {} use super::cache::A; } use super::memcached::A;",
            ),
            ("no module", &["api", "v1"], "fn memcached(memcached: A) { self.memcached() }", ""),
            ("above the root", &[], "use super::super::api::v1::memcached;", ""),
        ];
        for (name, module, before, after) in cases {
            let after = if after.is_empty() { before } else { after };
            assert_eq!(regrouped(before, "op", module, &changes), *after, "{name}");
        }
    }

    #[test]
    fn other_paths_stay() {
        let changes = [
            Regroup::Into { path: modules("api::v1"), at: 1, name: "cache".to_owned() },
            Regroup::OutOf(modules("controller::cache")),
        ];
        for text in [
            "use k8s_openapi::api::core::v1::Pod; use k8s_openapi::api::v1;",
            "use super::v1::A; fn v1() { api::v1() }",
            "struct A { api: v1 } match x { crate::A => api, }",
            "\"crate::api\\n::v1\"",
            "// crate::api::v1",
            "use crate::controller::cache;",
            "let x = crate::api::v10::A;",
        ] {
            assert_eq!(regrouped(text, "op", &[], &changes), text);
        }
    }
}
