//! Rewrites the paths of a Rust text after modules have moved into a module, or out of one.

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
}

#[derive(Clone, Default)]
struct RegroupPath<'a> {
    /// Modules from the crate's root; `None` if unknown.
    modules: Option<Vec<&'a str>>,
    /// The offsets of the modules after the last opening brace.
    starts: Vec<usize>,
}

/// Rewrites paths below `crate` or the crate's name, also in strings, because attributes name functions there. `module`
/// is the module of the text: imports with neither prefix are relative to it.
#[must_use]
pub fn regrouped(text: &str, crate_name: &str, module: &[&str], changes: &[Regroup]) -> String {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut groups: Vec<RegroupPath> = Vec::new();
    let mut path = RegroupPath::default();
    let (mut colons, mut last) = (0, "");
    for (at, token) in lexer::tokens(text) {
        let before = std::mem::replace(&mut last, token);
        if token == ":" {
            colons += 1;
            continue;
        }
        let goes_on = std::mem::take(&mut colons) == 2;
        match token {
            "{" => {
                groups.push(if goes_on { path } else { RegroupPath::default() });
                path = RegroupPath::default();
            }
            "}" => {
                groups.pop();
                path = RegroupPath::default();
            }
            _ if token.starts_with('"') && token.ends_with('"') && token.contains("::") && !token.contains('\\') => {
                let inside = at + 1..at + token.len() - 1;
                let inner = regrouped(&text[inside.clone()], crate_name, module, changes);
                if inner != text[inside.clone()] {
                    edits.push((inside, inner));
                }
            }
            _ if token.bytes().next().is_some_and(lexer::is_ident) => {
                if !goes_on {
                    path = begin(token, before, groups.last(), crate_name, module);
                }
                if let Some(modules) = &mut path.modules
                    && (goes_on || !matches!(token, "crate") && token != crate_name)
                {
                    modules.push(token);
                    path.starts.push(at);
                    edits.extend(changes.iter().find_map(|change| change.edit(modules, &path.starts, text)));
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
    let modules = match before {
        _ if word == "crate" || word == crate_name => Some(Vec::new()),
        "use" if !matches!(word, "self" | "super") => Some(module.to_vec()),
        _ => inherited,
    };
    RegroupPath { modules, starts: Vec::new() }
}

impl Regroup {
    /// The edit at the end of a path. `starts` are the offsets of its last modules.
    fn edit(&self, modules: &[&str], starts: &[usize], text: &str) -> Option<(Range<usize>, String)> {
        let start = |n: usize| (n + starts.len()).checked_sub(modules.len()).map(|n| starts[n]);
        match self {
            Self::Into { path, at, name } if modules == path => {
                let start = start(*at)?;
                Some((start..start, format!("{name}::")))
            }
            Self::OutOf(path) if modules == path => {
                let start = start(path.len() - 1)?;
                let rest = text[start..].split_once("::")?.1;
                let is_path = text[start..text.len() - rest.len() - 2].trim_end() == *path.last()?;
                is_path.then(|| (start..text.len() - rest.trim_start().len(), String::new()))
            }
            _ => None,
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
