//! Names that Rust, cargo, Windows or scaffolded code reserve. The API server accepts them, so a project may use them:
//! [`super::ident`] gives its code other names.

/// Invalid module names: strict and reserved keywords of all editions up to 2024.
pub const KEYWORDS: [&str; 50] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while",
];

/// Invalid file names on Windows.
pub const DEVICES: [&str; 24] = [
    "aux", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "con", "conin", "conout", "lpt1",
    "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9", "nul", "prn",
];

/// Crates that `src/controller.rs` uses beside modules of controllers and groups: an item in scope shadows a crate.
pub const CONTROLLER_CRATES: [&str; 4] = ["kube", "manager", "std", "thiserror"];

/// Existing files in `tests`, and invalid names of test crates.
pub const TESTS: [&str; 8] = ["alloc", "conversions", "core", "crds", "e2e", "proc_macro", "std", "test"];

/// The prefixes of other test files.
pub const TEST_PREFIXES: [&str; 2] = ["envtest_", "explore_"];

/// Dependencies of a project, aliases in its tests, and names with a special meaning for cargo or rustc.
pub const PACKAGES: [&str; 34] = [
    "alloc",
    "anyhow",
    "api",
    "build",
    "clap",
    "core",
    "deps",
    "examples",
    "explorer",
    "futures",
    "http",
    "hyper",
    "incremental",
    "jiff",
    "k8s-openapi",
    "kube",
    "manager",
    "memcached-sdk-explorer",
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

/// Type names that Rust code uses without an import, and those that scaffolded code imports or defines beside the type
/// of a kind.
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
