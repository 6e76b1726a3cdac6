//! Names of the standard library: prelude, primitive types and re-exports.

use super::namespace::Namespace;

const PRIMITIVES: [&str; 17] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "str", "u8", "u16", "u32", "u64", "u128",
    "usize",
];

/// Types, traits and enum variants of the std prelude, by their modules.
const PRELUDE: &[(&str, &[&str])] = &[
    ("std::borrow", &["ToOwned"]),
    ("std::boxed", &["Box"]),
    ("std::clone", &["Clone"]),
    ("std::cmp", &["Eq", "Ord", "PartialEq", "PartialOrd"]),
    ("std::convert", &["AsMut", "AsRef", "From", "Into", "TryFrom", "TryInto"]),
    ("std::default", &["Default"]),
    ("std::future", &["Future", "IntoFuture"]),
    ("std::iter", &["DoubleEndedIterator", "ExactSizeIterator", "Extend", "FromIterator", "IntoIterator", "Iterator"]),
    ("std::marker", &["Copy", "Send", "Sized", "Sync", "Unpin"]),
    ("std::mem", &["drop"]),
    ("std::ops", &["Drop", "Fn", "FnMut", "FnOnce"]),
    ("std::option", &["Option"]),
    ("std::option::Option", &["None", "Some"]),
    ("std::result", &["Result"]),
    ("std::result::Result", &["Err", "Ok"]),
    ("std::string", &["String", "ToString"]),
    ("std::vec", &["Vec"]),
];

const PRELUDE_MACROS: &[(&str, &[&str])] = &[
    ("std::clone", &["Clone"]),
    ("std::cmp", &["Eq", "Ord", "PartialEq", "PartialOrd"]),
    ("std::default", &["Default"]),
    ("std::fmt", &["Debug"]),
    ("std::hash", &["Hash"]),
    ("std::marker", &["Copy"]),
    ("std", &["assert", "cfg", "concat", "env", "eprint", "eprintln", "format", "include_str", "matches"]),
    ("std", &["module_path", "print", "println", "stringify", "thread_local", "vec"]),
];

/// Re-exports in `std`: see [`super::Ecosystem::aliases`].
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

/// Names that a glob import of a `std` module brings in.
pub(super) const GLOBS: &[(&str, &[&str])] =
    &[("std::collections", &["BTreeMap", "BTreeSet", "BinaryHeap", "HashMap", "HashSet", "LinkedList", "VecDeque"])];

pub(crate) fn is_primitive(name: &str) -> bool {
    PRIMITIVES.contains(&name)
}

pub(crate) fn prelude(name: &str, namespace: Namespace) -> Option<Vec<String>> {
    let table = if namespace == Namespace::Macros { PRELUDE_MACROS } else { PRELUDE };
    let (path, _) = table.iter().find(|(_, names)| names.contains(&name))?;
    Some(path.split("::").chain([name]).map(str::to_owned).collect())
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
