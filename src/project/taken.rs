//! The table of names that Rust, cargo, Windows or scaffolded code use already. The API server accepts them, so a project may
//! have them: [`super::ident`] gives its code other names inside.

/// Words that can't be the name of a module (strict and reserved keywords of all editions up to 2024).
pub const KEYWORDS: [&str; 50] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while",
];

/// Names of files that Windows can't have.
pub const DEVICES: [&str; 24] = [
    "aux", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "con", "conin", "conout", "lpt1",
    "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9", "nul", "prn",
];

/// Crates that `src/controller.rs` names beside the modules of controllers and groups: an item in scope goes before a crate.
pub const CONTROLLER_CRATES: [&str; 4] = ["kube", "manager", "std", "thiserror"];

/// Files below `tests` that are there already, and crates that a crate of tests can't be called.
pub const TESTS: [&str; 8] = ["alloc", "conversions", "core", "crds", "e2e", "proc_macro", "std", "test"];

/// What the files of other tests begin with.
pub const TEST_PREFIX: &str = "envtest_";

/// Packages that a project depends on, aliases in its tests, and names that cargo or rustc treat in a special way.
pub const PACKAGES: [&str; 32] = [
    "alloc",
    "anyhow",
    "api",
    "build",
    "clap",
    "core",
    "deps",
    "examples",
    "futures",
    "http",
    "hyper",
    "incremental",
    "jiff",
    "k8s-openapi",
    "kube",
    "manager",
    "memcached-sdk-manager",
    "proc-macro",
    "proptest",
    "schemars",
    "serde",
    "serde-json",
    "serde-saphyr",
    "serde-yaml",
    "std",
    "test",
    "thiserror",
    "tokio",
    "tower",
    "tracing",
    "tracing-subscriber",
    "unwind",
];

/// Type names that Rust code uses without importing them, and those that scaffolded code imports or defines where it imports
/// the type of a kind.
pub const TYPES: [&str; 64] = [
    "Action",
    "Arc",
    "AsRef",
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
    "DoubleEndedIterator",
    "Drop",
    "Duration",
    "Err",
    "Error",
    "EventType",
    "ExactSizeIterator",
    "Extend",
    "Failure",
    "FieldErrors",
    "From",
    "FromIterator",
    "Hub",
    "IntOrString",
    "Into",
    "IntoIterator",
    "Iterator",
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
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Validating",
    "Value",
    "Vec",
    "Warnings",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_sorted_without_duplicates() {
        for list in [&KEYWORDS[..], &DEVICES, &CONTROLLER_CRATES, &TESTS, &PACKAGES, &TYPES] {
            assert!(list.is_sorted_by(|one, other| one < other), "{list:?}");
        }
    }

    #[test]
    fn every_reserved_word_of_syn_is_known() {
        for word in KEYWORDS {
            assert!(syn::parse_str::<syn::Ident>(word).is_err() || word == "gen", "`{word}` is a plain identifier");
        }
    }
}
