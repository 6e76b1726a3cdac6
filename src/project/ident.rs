//! Kubernetes names → Rust names. Names with `-`, `.` or a leading digit, and reserved words, all get a module name
//! that works as file name and as identifier alike.

use heck::ToSnakeCase as _;

/// Words that can't be the name of a module (strict and reserved keywords of all editions up to 2024).
const KEYWORDS: [&str; 50] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while",
];

/// Names of files that Windows can't have.
const DEVICES: [&str; 6] = ["aux", "con", "nul", "prn", "conin", "conout"];

/// The crate that the modules of controllers name.
const MANAGER: &str = "manager";

/// Files below `tests` that are there already, and crates that a crate of tests can't be called.
const TAKEN_TESTS: [&str; 10] =
    ["alloc", "control_plane", "conversions", "core", "crds", "e2e", "mock", "proc_macro", "std", "test"];

/// Type names that every Rust file uses without importing them, and those that scaffolded code imports or defines: a
/// kind of this name would be in their way.
const TAKEN_TYPES: [&str; 51] = [
    "Action",
    "Arc",
    "BTreeMap",
    "Box",
    "Change",
    "Clone",
    "Condition",
    "Context",
    "CustomResource",
    "Default",
    "Defaulting",
    "Denied",
    "Deserialize",
    "Drop",
    "Duration",
    "Err",
    "Error",
    "EventType",
    "Failure",
    "FieldErrors",
    "Hub",
    "IntOrString",
    "JsonSchema",
    "LabelSelector",
    "Manager",
    "None",
    "ObjectKey",
    "ObjectMeta",
    "Objects",
    "Observed",
    "Ok",
    "Option",
    "PartialObjectMeta",
    "Phase",
    "Quantity",
    "Recorder",
    "Request",
    "Resource",
    "ResourceExt",
    "Result",
    "Self",
    "Serialize",
    "Some",
    "Spoke",
    "Status",
    "StatusChange",
    "String",
    "Validating",
    "Value",
    "Vec",
    "Warnings",
];

/// Crates that generated code names, and packages that cargo or rustc treat in a special way.
const TAKEN_PACKAGES: [&str; 26] = [
    "alloc",
    "anyhow",
    "build",
    "core",
    "deps",
    "examples",
    "futures",
    "hyper",
    "incremental",
    "jiff",
    "k8s-openapi",
    "kube",
    "manager",
    "memcached-sdk-manager",
    "proc-macro",
    "schemars",
    "serde",
    "serde-json",
    "serde-yaml",
    "std",
    "test",
    "thiserror",
    "tokio",
    "tracing",
    "tracing-subscriber",
    "clap",
];

/// Whether `name` is a reserved word of Rust.
pub(crate) fn is_keyword(name: &str) -> bool {
    name == "Self" || KEYWORDS.contains(&name)
}

/// Whether a type of this name would break the code around it.
pub(super) fn is_taken_type(name: &str) -> bool {
    is_keyword(name) || TAKEN_TYPES.contains(&name)
}

/// The module for a group, a version or a controller: `sea-creatures` → `sea_creatures`, `type` → `type_`,
/// `3scale` → `_3scale`. A trailing `_` works for `mod` lines, paths and file names, which a raw identifier does not.
pub fn module(name: &str) -> String {
    let ident = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    usable(ident)
}

/// The module for a kind: `MemcachedCluster` → `memcached_cluster`, `Type` → `type_`.
pub(crate) fn kind_module(kind: &str) -> String {
    usable(kind.to_snake_case())
}

/// The file of tests for a module: `memcached`, `test` → `test_controller`.
pub(crate) fn test_module(module: &str) -> String {
    if TAKEN_TESTS.contains(&module) { format!("{module}_controller") } else { module.to_owned() }
}

fn usable(ident: String) -> String {
    if is_keyword(&ident) || DEVICES.contains(&ident.as_str()) || ident == MANAGER {
        ident + "_"
    } else if ident.starts_with(|c: char| c.is_ascii_digit()) || ident.is_empty() {
        format!("_{ident}")
    } else {
        ident
    }
}

/// The Cargo package of the project of a name. It is the project's name, except where Cargo or rustc refuses that: a leading digit
/// gets `operator-` in front, a reserved word or the name of a crate that the operator depends on gets `-operator`
/// behind.
pub fn package(name: &str) -> String {
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        format!("operator-{name}")
    } else if is_keyword(name) || TAKEN_PACKAGES.contains(&name) || DEVICES.contains(&name) {
        format!("{name}-operator")
    } else {
        name.to_owned()
    }
}

/// The crate of a package, as `use` names it.
pub(crate) fn crate_name(package: &str) -> String {
    package.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_identifiers_and_file_names() {
        for (name, expected) in [
            ("cache", "cache"),
            ("sea-creatures", "sea_creatures"),
            ("foo.policy", "foo_policy"),
            ("type", "type_"),
            ("mod", "mod_"),
            ("crate", "crate_"),
            ("self", "self_"),
            ("super", "super_"),
            ("gen", "gen_"),
            ("3scale", "_3scale"),
            ("con", "con_"),
            ("v1alpha1", "v1alpha1"),
            ("", "_"),
        ] {
            assert_eq!(module(name), expected);
            assert!(syn::parse_str::<syn::Ident>(expected).is_ok() || expected == "_", "{expected}");
        }
        for (kind, expected) in [
            ("Memcached", "memcached"),
            ("MemcachedCluster", "memcached_cluster"),
            ("HTTPRoute", "http_route"),
            ("Type", "type_"),
            ("Crate", "crate_"),
            ("V1", "v1"),
        ] {
            assert_eq!(kind_module(kind), expected);
        }
    }

    #[test]
    fn every_reserved_word_of_syn_is_known() {
        for word in KEYWORDS {
            assert!(syn::parse_str::<syn::Ident>(word).is_err() || word == "gen", "`{word}` is a plain identifier");
        }
    }

    #[test]
    fn packages_are_accepted_by_cargo() {
        for (name, expected) in [
            ("memcached-operator", "memcached-operator"),
            ("test", "test-operator"),
            ("type", "type-operator"),
            ("kube", "kube-operator"),
            ("9lives", "operator-9lives"),
        ] {
            let package = package(name);
            assert_eq!(package, expected);
            assert!(syn::parse_str::<syn::Ident>(&crate_name(&package)).is_ok());
        }
    }
}
