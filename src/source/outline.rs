//! What can be told of a file without parsing it: the modules it declares, and whether it says certain words.
//!
//! Every answer errs on the side of parsing: a file is passed over only when its text leaves no doubt.

use std::collections::BTreeSet;

use super::comment::{is_ident, tokens};

/// The text with nothing left but its `mod name;` items, each in its place. `None`: only a parser can tell.
pub(super) fn outline(text: &str) -> Option<String> {
    if has_word(text, "extern") || (text.contains("#!") && text.contains("cfg")) {
        return None;
    }
    let mut out = String::new();
    if !may_declare_files(text) {
        return Some(out);
    }
    let (mut depth, mut start, mut declares) = (0_usize, 0, false);
    for (at, token) in tokens(text) {
        match token {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.checked_sub(1)?,
            "{" => (depth, declares) = (depth + 1, false),
            "}" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    start = at + 1;
                }
            }
            ";" if declares && depth > 0 => return None,
            ";" => {
                if declares {
                    out.extend(std::iter::repeat_n(' ', start - out.len()));
                    out.push_str(&text[start..=at]);
                    declares = false;
                }
                if depth == 0 {
                    start = at + 1;
                }
            }
            "mod" => declares = true,
            _ => {}
        }
    }
    (depth == 0).then_some(out)
}

/// False when every `mod` is followed by a name and a brace.
fn may_declare_files(text: &str) -> bool {
    words(text, "mod").any(|at| {
        let rest = text[at + 3..].trim_start();
        !rest.trim_start_matches(|c: char| c == '_' || c.is_alphanumeric()).trim_start().starts_with('{')
    })
}

/// The text may have an item that derives one of `names`, or an attribute `kube` that makes a derive worth a look.
pub(super) fn may_derive(text: &str, names: &BTreeSet<String>) -> bool {
    names.iter().any(|name| has_word(text, name)) || may_have_attribute(text, "kube")
}

/// The text may take in another file, or have an attribute that makes a custom resource of a type.
pub(super) fn may_include(text: &str) -> bool {
    let call = |name: &str| words(text, name).any(|at| text[at + name.len()..].trim_start().starts_with(['!', '(']));
    call("include") || call("crd")
}

fn may_have_attribute(text: &str, name: &str) -> bool {
    let is_path = |rest: &str| rest.trim_start().starts_with("::");
    words(text, name).any(|at| !is_path(&text[at + name.len()..]))
        && tokens(text).any(|(at, token)| token == name && !is_path(&text[at + name.len()..]))
}

/// The text may have an `impl` block that names one of `names` before its brace.
pub(super) fn may_implement(text: &str, names: &BTreeSet<String>) -> bool {
    if !names.iter().any(|name| has_word(text, name)) {
        return false;
    }
    let mut header = false;
    tokens(text).any(|(_, token)| {
        match token {
            "impl" => header = true,
            "{" | ";" => header = false,
            _ => {}
        }
        header && names.contains(token)
    })
}

/// `name` and every name that the texts give it by `as`, and those names by `as`, and so on.
pub(super) fn aliases<'a>(name: &str, texts: &(impl Iterator<Item = &'a str> + Clone)) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut queue = vec![name.to_owned()];
    while let Some(name) = queue.pop() {
        if names.contains(&name) {
            continue;
        }
        for text in texts.clone().filter(|text| has_word(text, &name) && has_word(text, "as")) {
            let words = tokens(text).map(|(_, token)| token).filter(|token| !matches!(*token, "r" | "#"));
            let mut before = ["", ""];
            for word in words {
                if before == [name.as_str(), "as"] {
                    queue.push(word.to_owned());
                }
                before = [before[1], word];
            }
        }
        names.insert(name);
    }
    names
}

fn has_word(text: &str, word: &str) -> bool {
    words(text, word).next().is_some()
}

/// Where `word` stands alone, be it in a comment or in a literal.
fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let (before, after) = (text.as_bytes()[..*at].last(), text.as_bytes().get(at + word.len()));
        !before.into_iter().chain(after).any(|byte| is_ident(*byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outlines() {
        for (text, expected) in [
            ("fn f() {}", Some("")),
            ("mod a { fn f() {} }", Some("")),
            ("use x;\n/// Doc\n#[path = \"b.rs\"]\npub(crate) mod a;\nfn f() {}", {
                Some("      \n/// Doc\n#[path = \"b.rs\"]\npub(crate) mod a;")
            }),
            ("mod a { mod b; }", None),
            ("macro! { mod b; }", None),
            (
                "fn f() { let s = \"mod x;\"; } // mod y;\nmod a;",
                Some("                             // mod y;\nmod a;"),
            ),
            ("mod /* a */ b ;", Some("mod /* a */ b ;")),
            ("mod r#type;", Some("mod r#type;")),
            ("extern crate alloc;", None),
            ("#![cfg(unix)]", None),
            ("}", Some("")),
            ("} mod a;", None),
            ("{ mod a {} ; mod b", None),
        ] {
            assert_eq!(outline(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn names_by_as() {
        let texts = [
            "use kube::{CustomResource /* ! */ as A};",
            "pub use a::A as r#type; // A as B",
            "use x::r#type as C; use y::Z as D;",
        ];
        let names = aliases("CustomResource", &texts.iter().copied());
        assert_eq!(Vec::from_iter(&names), ["A", "C", "CustomResource", "type"]);
    }

    #[test]
    fn doubts() {
        let names = BTreeSet::from(["CustomResource".to_owned()]);
        for (text, derives, implements) in [
            ("use kube::Client; struct MyCustomResource;", false, false),
            ("#[derive(CustomResource)]", true, false),
            ("// CustomResource", true, false),
            ("#[derive(X)] #[kube(kind = \"A\")]", true, false),
            ("#[derive(X)] #[kube /**/ (kind = \"A\")]", true, false),
            ("// a word on kube\nuse kube :: Client;", false, false),
            ("impl Default for super::CustomResource {", true, true),
            ("impl Default for Other { fn f(x: CustomResource) {} }", true, false),
        ] {
            assert_eq!((may_derive(text, &names), may_implement(text, &names)), (derives, implements), "{text}");
        }
    }
}
