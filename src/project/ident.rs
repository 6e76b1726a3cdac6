//! Rust names from Kubernetes names. Names with `-`, `.` or a leading digit, and reserved words, get a module name that
//! is valid as a file name and as an identifier.

use heck::ToSnakeCase as _;

use super::taken;

pub(crate) fn is_keyword(name: &str) -> bool {
    name == "Self" || taken::KEYWORDS.contains(&name)
}

/// Returns true if a type of this name would break the code around it.
pub(crate) fn is_taken_type(name: &str) -> bool {
    is_keyword(name) || taken::TYPES.contains(&name)
}

/// The Rust type of a kind: `Memcached`, or `Manager` → `ManagerResource`. The kind itself stays, because it is a name
/// of the API.
pub fn kind_type(kind: &str) -> String {
    if is_taken_type(kind) { format!("{kind}Resource") } else { kind.to_owned() }
}

/// The module of a group, version or controller: `sea-creatures` → `sea_creatures`, `type` → `type_`, `3scale` →
/// `_3scale`. A trailing `_` works in `mod` lines, paths and file names; a raw identifier does not.
pub fn module(name: &str) -> String {
    let ident = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    usable(ident)
}

/// The module of a kind: `MemcachedCluster` → `memcached_cluster`, `Type` → `type_`.
pub(crate) fn kind_module(kind: &str) -> String {
    usable(kind.to_snake_case())
}

/// Joins modules into one name: `cache` and `memcached` → `cache_memcached`. Avoids `__`, which is not snake case.
pub(crate) fn joined<'a>(modules: impl IntoIterator<Item = &'a str>) -> String {
    let mut name = String::new();
    for module in modules {
        if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
        name.push_str(module);
    }
    name
}

/// The test file of a module: `memcached`, `test` → `test_controller`.
pub(crate) fn test_module(module: &str) -> String {
    let is_taken = taken::TESTS.contains(&module) || taken::TEST_PREFIXES.iter().any(|of| module.starts_with(of));
    if is_taken { format!("{module}_controller") } else { module.to_owned() }
}

fn usable(ident: String) -> String {
    let name = ident.as_str();
    if is_keyword(name) || taken::DEVICES.contains(&name) || taken::CONTROLLER_CRATES.contains(&name) {
        ident + "_"
    } else if ident.starts_with(|c: char| c.is_ascii_digit()) || ident.is_empty() {
        format!("_{ident}")
    } else {
        ident
    }
}

/// The Cargo package of a project: the project's name, unless Cargo or rustc rejects it. A leading digit gets the
/// prefix `operator-`; a reserved word or the name of a dependency gets the suffix `-operator`.
pub fn package(name: &str) -> String {
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        format!("operator-{name}")
    } else if is_keyword(name) || taken::PACKAGES.contains(&name) || taken::DEVICES.contains(&name) {
        format!("{name}-operator")
    } else {
        name.to_owned()
    }
}

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
            ("lpt1", "lpt1_"),
            ("std", "std_"),
            ("kube", "kube_"),
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
    fn packages_are_accepted_by_cargo() {
        for (name, expected) in [
            ("memcached-operator", "memcached-operator"),
            ("test", "test-operator"),
            ("type", "type-operator"),
            ("kube", "kube-operator"),
            ("http", "http-operator"),
            ("tokio", "tokio-operator"),
            ("9lives", "operator-9lives"),
        ] {
            let package = package(name);
            assert_eq!(package, expected);
            assert!(syn::parse_str::<syn::Ident>(&crate_name(&package)).is_ok());
        }
    }
}
