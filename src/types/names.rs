//! Rust names of properties and values, each unique among its siblings.

use std::collections::BTreeSet;

use heck::{ToSnakeCase as _, ToUpperCamelCase as _};

use crate::project::ident::is_keyword;

/// Returns a field or function name.
pub(super) fn snake(name: &str) -> String {
    usable(name.to_snake_case(), "v_")
}

/// Returns a type or variant name.
pub(super) fn camel(name: &str) -> String {
    let name = if name.is_empty() { "Empty".to_owned() } else { name.to_upper_camel_case() };
    usable(if name.is_empty() { "Other".to_owned() } else { name }, "V")
}

/// Adds the name to those that are taken, with a number if it is one of them.
pub(super) fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut names = (2..).map(|number| format!("{}{number}", name.trim_end_matches('_')));
    let mut free = name.to_owned();
    while !taken.insert(free.clone()) {
        free = names.next().unwrap_or_default();
    }
    free
}

/// The name that serde's `rename_all = "camelCase"` gives a field.
pub(super) fn renamed(field: &str) -> String {
    let mut name = String::new();
    let mut upper = false;
    for c in field.chars() {
        match c {
            '_' => upper = !name.is_empty(),
            c if upper => {
                name.push(c.to_ascii_uppercase());
                upper = false;
            }
            c => name.push(c),
        }
    }
    name
}

fn usable(name: String, prefix: &str) -> String {
    if name.is_empty() || name.starts_with(|c: char| !c.is_alphabetic()) {
        format!("{prefix}{name}")
    } else if is_keyword(&name) {
        format!("{name}_")
    } else {
        name
    }
}
