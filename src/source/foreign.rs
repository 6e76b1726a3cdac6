//! Names that come from outside: the std prelude, primitive types, and re-exports that are the same thing.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::resolve::Namespace;

const PRIMITIVES: [&str; 17] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "str", "u8", "u16", "u32", "u64", "u128",
    "usize",
];

/// Paths of types, traits and enum variants in the std prelude; the last part is the name.
const PRELUDE: [&str; 41] = [
    "std::borrow::ToOwned",
    "std::boxed::Box",
    "std::clone::Clone",
    "std::cmp::Eq",
    "std::cmp::Ord",
    "std::cmp::PartialEq",
    "std::cmp::PartialOrd",
    "std::convert::AsMut",
    "std::convert::AsRef",
    "std::convert::From",
    "std::convert::Into",
    "std::convert::TryFrom",
    "std::convert::TryInto",
    "std::default::Default",
    "std::future::Future",
    "std::future::IntoFuture",
    "std::iter::DoubleEndedIterator",
    "std::iter::ExactSizeIterator",
    "std::iter::Extend",
    "std::iter::FromIterator",
    "std::iter::IntoIterator",
    "std::iter::Iterator",
    "std::marker::Copy",
    "std::marker::Send",
    "std::marker::Sized",
    "std::marker::Sync",
    "std::marker::Unpin",
    "std::mem::drop",
    "std::ops::Drop",
    "std::ops::Fn",
    "std::ops::FnMut",
    "std::ops::FnOnce",
    "std::option::Option",
    "std::option::Option::None",
    "std::option::Option::Some",
    "std::result::Result",
    "std::result::Result::Err",
    "std::result::Result::Ok",
    "std::string::String",
    "std::string::ToString",
    "std::vec::Vec",
];

/// Derives and macros that need no `use`.
const PRELUDE_MACROS: [&str; 24] = [
    "std::clone::Clone",
    "std::cmp::Eq",
    "std::cmp::Ord",
    "std::cmp::PartialEq",
    "std::cmp::PartialOrd",
    "std::default::Default",
    "std::fmt::Debug",
    "std::hash::Hash",
    "std::marker::Copy",
    "std::assert",
    "std::cfg",
    "std::concat",
    "std::env",
    "std::eprint",
    "std::eprintln",
    "std::format",
    "std::include_str",
    "std::matches",
    "std::module_path",
    "std::print",
    "std::println",
    "std::stringify",
    "std::thread_local",
    "std::vec",
];

/// The same thing under another path: (path, canonical path), longest first where one begins with the other.
const SAME: [(&str, &str); 42] = [
    ("std::collections::btree_map::BTreeMap", "std::collections::BTreeMap"),
    ("std::collections::btree_set::BTreeSet", "std::collections::BTreeSet"),
    ("std::collections::hash_map::HashMap", "std::collections::HashMap"),
    ("std::collections::hash_set::HashSet", "std::collections::HashSet"),
    ("std::collections::vec_deque::VecDeque", "std::collections::VecDeque"),
    ("std::collections::linked_list::LinkedList", "std::collections::LinkedList"),
    ("std::collections::binary_heap::BinaryHeap", "std::collections::BinaryHeap"),
    ("kube_derive", "kube"),
    ("kube::core", "kube_core"),
    ("kube::api::TypeMeta", "kube_core::metadata::TypeMeta"),
    ("kube::api::ObjectMeta", "k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta"),
    ("kube_client::core", "kube_core"),
    ("kube_core::cel::ListMerge", "kube_core::ListMerge"),
    ("kube_core::cel::MapMerge", "kube_core::MapMerge"),
    ("kube_core::cel::Message", "kube_core::Message"),
    ("kube_core::cel::Reason", "kube_core::Reason"),
    ("kube_core::cel::Rule", "kube_core::Rule"),
    ("kube_core::cel::StructMerge", "kube_core::StructMerge"),
    ("kube_core::duration::Duration", "kube_core::Duration"),
    ("kube_core::ObjectMeta", "k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta"),
    ("kube_core::metadata::ObjectMeta", "k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta"),
    ("kube_core::ListMeta", "k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta"),
    ("kube_core::metadata::ListMeta", "k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta"),
    ("k8s_openapi::jiff", "jiff"),
    ("k8s_openapi::schemars", "schemars"),
    ("k8s_openapi::serde", "serde"),
    ("k8s_openapi::serde_json", "serde_json"),
    ("k8s_openapi::chrono", "chrono"),
    ("schemars_derive", "schemars"),
    ("chrono::Duration", "chrono::TimeDelta"),
    ("chrono::naive", "chrono"),
    ("chrono::prelude", "chrono"),
    ("indexmap::map::IndexMap", "indexmap::IndexMap"),
    ("indexmap::set::IndexSet", "indexmap::IndexSet"),
    ("serde_json::value::Map", "serde_json::Map"),
    ("serde_json::map::Map", "serde_json::Map"),
    ("schemars::generate::SchemaGenerator", "schemars::SchemaGenerator"),
    ("schemars::_serde_json", "serde_json"),
    ("serde_derive", "serde"),
    ("serde_core", "serde"),
    ("serde::ser::Serialize", "serde::Serialize"),
    ("serde::de::Deserialize", "serde::Deserialize"),
];

/// Names that a glob import of the path brings in, for the few where guessing wrong is impossible. No other glob import
/// can bring in something else by the same name, or its use is an error: see
/// [the reference](https://doc.rust-lang.org/reference/names/name-resolution.html#r-names.resolution.expansion.imports.ambiguity.glob-vs-glob).
const GLOBS: [(&str, &[&str]); 5] = [
    ("chrono", &["DateTime", "FixedOffset", "Local", "NaiveDate", "NaiveDateTime", "NaiveTime", "Utc", "Weekday"]),
    ("std::collections", &["BTreeMap", "BTreeSet", "BinaryHeap", "HashMap", "HashSet", "LinkedList", "VecDeque"]),
    ("schemars", &["JsonSchema", "Schema", "SchemaGenerator", "json_schema"]),
    ("serde", &["Deserialize", "Deserializer", "Serialize", "Serializer"]),
    ("kube", &["CustomResource", "KubeSchema"]),
];

/// The paths of a table by their last parts.
type Names = BTreeMap<&'static str, &'static str>;

static TYPES_AND_VALUES: LazyLock<Names> = LazyLock::new(|| by_name(&PRELUDE));
static MACROS: LazyLock<Names> = LazyLock::new(|| by_name(&PRELUDE_MACROS));

fn by_name(paths: &[&'static str]) -> Names {
    paths.iter().map(|path| (path.rsplit_once("::").map_or(*path, |(_, name)| name), *path)).collect()
}

/// A path, and its canonical path.
type Alias = (Vec<&'static str>, &'static str);

/// [`SAME`] by the package, in the same order.
static ALIASES: LazyLock<BTreeMap<&str, Vec<Alias>>> = LazyLock::new(|| {
    let mut aliases: BTreeMap<&str, Vec<Alias>> = BTreeMap::new();
    for (from, to) in SAME {
        let from: Vec<&str> = from.split("::").collect();
        aliases.entry(from[0]).or_default().push((from, to));
    }
    aliases
});

fn split(path: &str) -> Vec<String> {
    path.split("::").map(str::to_string).collect()
}

pub(super) fn is_primitive(name: &str) -> bool {
    PRIMITIVES.contains(&name)
}

/// What a name means when nothing in the crate is called so.
pub(super) fn prelude(name: &str, namespace: Namespace) -> Option<Vec<String>> {
    let table = if namespace == Namespace::Macros { &MACROS } else { &TYPES_AND_VALUES };
    table.get(name).map(|path| split(path))
}

/// Crates of which no module has a public name of the prelude for something else.
const HARMLESS: [&str; 16] = [
    "anyhow",
    "base64",
    "chrono",
    "clap",
    "futures",
    "jiff",
    "k8s_openapi",
    "kube",
    "kube_core",
    "kube_runtime",
    "schemars",
    "serde",
    "serde_json",
    "std",
    "tokio",
    "tracing",
];

/// A glob import from this crate hides no type of the prelude.
pub(super) fn keeps_prelude(krate: &str) -> bool {
    HARMLESS.contains(&krate)
}

/// `path` under its one name; the first part is the package.
pub(super) fn canonical(mut path: Vec<String>) -> Vec<String> {
    if matches!(path[0].as_str(), "core" | "alloc") {
        path[0] = "std".to_string();
    }
    // A rewritten path may be an alias again: kube::core → kube_core → …
    for _ in 0..4 {
        let mut aliases = ALIASES.get(path[0].as_str()).into_iter().flatten();
        match aliases.find(|(from, _)| path.len() >= from.len() && *from == path[..from.len()]) {
            Some((from, to)) => {
                let mut rewritten = split(to);
                rewritten.extend(path.drain(from.len()..));
                if rewritten == path {
                    break;
                }
                path = rewritten;
            }
            None => break,
        }
    }
    path
}

/// A glob import of `path` is known to bring in `name`.
pub(super) fn glob_has(path: &[String], name: &str) -> bool {
    let path = canonical(path.to_vec()).join("::");
    GLOBS.iter().any(|(glob, names)| *glob == path && names.contains(&name))
}

/// It is in k8s-openapi.
pub(super) fn is_kubernetes(path: &[String]) -> bool {
    path.first().is_some_and(|krate| krate == "k8s_openapi")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_one_name() {
        for (path, expected) in [
            ("core::option::Option", "std::option::Option"),
            ("alloc::collections::btree_map::BTreeMap", "std::collections::BTreeMap"),
            ("std::collections::btree_map::Entry", "std::collections::btree_map::Entry"),
            ("kube_derive::CustomResource", "kube::CustomResource"),
            ("kube::core::ObjectMeta", "k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta"),
            ("k8s_openapi::serde_json::Value", "serde_json::Value"),
            ("serde_derive::Serialize", "serde::Serialize"),
            ("kube::core::cel::Rule", "kube_core::Rule"),
            ("kube", "kube"),
        ] {
            assert_eq!(canonical(split(path)).join("::"), expected);
        }
    }

    #[test]
    fn prelude_names() {
        for (name, namespace, expected) in [
            ("Option", Namespace::Types, Some("std::option::Option")),
            ("Some", Namespace::Values, Some("std::option::Option::Some")),
            ("Clone", Namespace::Macros, Some("std::clone::Clone")),
            ("HashMap", Namespace::Types, None),
        ] {
            assert_eq!(prelude(name, namespace).map(|path| path.join("::")).as_deref(), expected);
        }
    }
}
