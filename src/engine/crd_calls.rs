//! Finds calls of `Type::crd()` in the code of a folder.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::source::{read_file, rust_files};

/// The last names of the types whose `crd()` is called in a `.rs` file of a folder, including build scripts, examples
/// and tests. `Self`, type parameters and macro variables count as names.
pub(crate) fn crd_calls(folder: &Path) -> BTreeSet<String> {
    let mut receivers = BTreeSet::new();
    for path in rust_files(vec![folder.to_path_buf()], is_of_others) {
        let text = read_file(&path).unwrap_or_default();
        if text.contains("crd")
            && let Ok(tokens) = text.parse()
        {
            find(tokens, &mut receivers);
        }
    }
    receivers
}

fn is_of_others(folder: &Path, name: &str) -> bool {
    let marked = |file: &str| folder.join(file).exists();
    name.starts_with('.') || name == "target" || marked("CACHEDIR.TAG") || marked(".cargo-checksum.json")
}

fn find(tokens: TokenStream, receivers: &mut BTreeSet<String>) {
    let mut left = vec![tokens];
    while let Some(tokens) = left.pop() {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => left.push(group.stream()),
                TokenTree::Ident(ident) if ident == "crd" => {
                    let name = before(&tokens[..at]).filter(|name| is_function(name, tokens.get(at + 1)));
                    receivers.extend(name);
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

/// Returns true if `crd` is called, or belongs to a type instead of a module.
fn is_function(of: &str, next: Option<&TokenTree>) -> bool {
    match next {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => true,
        Some(TokenTree::Punct(punct)) if punct.as_char() == ':' => false,
        _ => !of.starts_with(char::is_lowercase),
    }
}

/// The name of the type before `::crd`; `None` if it is not a type.
fn before(tokens: &[TokenTree]) -> Option<String> {
    let (rest, path) = tokens.split_at_checked(tokens.len().checked_sub(3)?)?;
    let [ty, TokenTree::Punct(one), TokenTree::Punct(two)] = path else { return None };
    if (one.as_char(), two.as_char()) != (':', ':') {
        return None;
    }
    match ty {
        TokenTree::Punct(punct) if punct.as_char() == '>' => Some(qualified(rest).unwrap_or_else(|| "<".to_owned())),
        ty => Some(ty.to_string()),
    }
}

/// The name in `<Type` or `<Type as Trait`; `None` for a type with arguments.
fn qualified(tokens: &[TokenTree]) -> Option<String> {
    let is = |token: &TokenTree, letter: char| matches!(token, TokenTree::Punct(punct) if punct.as_char() == letter);
    let open = tokens.iter().rposition(|token| is(token, '<') || is(token, '>'))?;
    let is_path = is(&tokens[open], '<') && !tokens[..open].last().is_some_and(|token| is(token, ':'));
    let inside = tokens[open + 1..].split(|token| matches!(token, TokenTree::Ident(name) if name == "as")).next()?;
    inside.last().filter(|_| is_path).map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_wherever_they_are_asked() {
        for (text, expected) in [
            ("fn main() { print(&[api::v1::Foo::crd(), <Bar as CustomResourceExt>::crd()]) }", vec!["Bar", "Foo"]),
            ("macro_rules! m { ($kind:ident) => { $kind::crd() } }", vec!["kind"]),
            ("/// See `Foo::crd()`.\nfn crd() { let crd = \"Foo::crd()\"; x.crd(); crd::new(); }", vec![]),
            ("fn f<T: Ext>() { T::crd(); <U>::crd(); let f = Foo::crd; }", vec!["Foo", "T", "U"]),
            ("use crate::crd; use a::{b::crd, c::crd::D}; fn f() -> E::crd::F { x(G::crd) }", vec!["G"]),
            ("use a as b; fn f() { G::<X>::crd(); <G<X> as Ext>::crd(); }", vec!["<"]),
        ] {
            let mut receivers = BTreeSet::new();
            find(text.parse().unwrap(), &mut receivers);
            assert_eq!(receivers.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_built_or_hidden_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        for (path, name) in [
            ("build.rs", "Build"),
            ("src/bin/crdgen.rs", "Program"),
            ("src/notes.txt", "Text"),
            ("target/debug/x.rs", "Target"),
            (".git/x.rs", "Hidden"),
            ("built/x.rs", "Built"),
        ] {
            let path = folder.path().join(path);
            #[expect(clippy::disallowed_methods, reason = "a test")]
            std::fs::create_dir_all(path.parent().unwrap())
                .and_then(|()| std::fs::write(&path, format!("fn f() {{ {name}::crd(); }}")))
                .unwrap();
        }
        #[expect(clippy::disallowed_methods, reason = "a test")]
        std::fs::write(folder.path().join("built/CACHEDIR.TAG"), "").unwrap();
        let expected = ["Build", "Program"].map(str::to_owned);
        assert_eq!(crd_calls(folder.path()), BTreeSet::from(expected));
    }
}
