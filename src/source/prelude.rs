//! The names of the standard library: its prelude, primitive types, and re-exports.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::namespace::Namespace;

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

/// Paths below `std` that are another path: see [`super::Ecosystem::aliases`].
pub(super) const ALIASES: &[(&str, &[(&str, &str)])] = &[(
    "std",
    &[
        ("collections::btree_map::BTreeMap", "std::collections::BTreeMap"),
        ("collections::btree_set::BTreeSet", "std::collections::BTreeSet"),
        ("collections::hash_map::HashMap", "std::collections::HashMap"),
        ("collections::hash_set::HashSet", "std::collections::HashSet"),
        ("collections::vec_deque::VecDeque", "std::collections::VecDeque"),
        ("collections::linked_list::LinkedList", "std::collections::LinkedList"),
        ("collections::binary_heap::BinaryHeap", "std::collections::BinaryHeap"),
    ],
)];

/// Names that a glob import of a module of `std` brings in.
pub(super) const GLOBS: &[(&str, &[&str])] =
    &[("std::collections", &["BTreeMap", "BTreeSet", "BinaryHeap", "HashMap", "HashSet", "LinkedList", "VecDeque"])];

/// The paths of a table by their last parts.
type Names = BTreeMap<&'static str, &'static str>;

static TYPES_AND_VALUES: LazyLock<Names> = LazyLock::new(|| by_name(&PRELUDE));
static MACROS: LazyLock<Names> = LazyLock::new(|| by_name(&PRELUDE_MACROS));

fn by_name(paths: &[&'static str]) -> Names {
    paths.iter().map(|path| (path.rsplit_once("::").map_or(*path, |(_, name)| name), *path)).collect()
}

fn split(path: &str) -> Vec<String> {
    path.split("::").map(str::to_string).collect()
}

pub(crate) fn is_primitive(name: &str) -> bool {
    PRIMITIVES.contains(&name)
}

/// What a name means when nothing in the crate is called so.
pub(crate) fn prelude(name: &str, namespace: Namespace) -> Option<Vec<String>> {
    let table = if namespace == Namespace::Macros { &MACROS } else { &TYPES_AND_VALUES };
    table.get(name).map(|path| split(path))
}

#[cfg(test)]
mod tests {
    use super::*;

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
