//! Method calls by name, with their first argument. Works on tokens, so it also finds calls inside macros.

use super::comment::active;
use super::file::{FileId, SourceFile};
use super::lexer::tokens;
use super::sources::index;
use super::tree::SourceTree;
use crate::diagnostic::Origin;

/// A call `.name::<T>("text"…)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodCall {
    /// The method's name.
    pub name: &'static str,
    /// The first argument, if it is a literal.
    pub text: Option<String>,
    /// Place of the first argument, or of the method's name without one.
    pub origin: Origin,
}

impl SourceTree {
    /// Calls of these methods in the package's own source, in file order. Skips code that cfg switches off.
    pub fn method_calls(&self, names: &[&'static str]) -> Vec<MethodCall> {
        let unread = self.sources.unread_files();
        let mut calls = Vec::new();
        for (position, file) in self.sources.files.iter().enumerate() {
            let Some(name) = names.iter().find(|name| file.text.contains(&format!(".{name}"))) else { continue };
            let id = FileId(index(position));
            if file.own && self.is_wanted(&file.disk) {
                match active(file, name, unread.get(&id).copied()) {
                    Some(_) => calls.extend(in_file(file, names)),
                    None => self.sources.request_file(id),
                }
            }
        }
        calls
    }
}

fn in_file(file: &SourceFile, names: &[&'static str]) -> Vec<MethodCall> {
    let tokens: Vec<(usize, &str)> = tokens(&file.text).collect();
    let is_call = |at: &usize| tokens[*at].1 == "." && file.is_active(tokens[*at].0);
    let call = |at: usize| {
        let (start, word) = tokens.get(at + 1)?;
        let name = names.iter().find(|name| *name == word)?;
        let open = turbofish_end(&tokens, at + 2);
        let (_, "(") = tokens.get(open)? else { return None };
        let text = tokens.get(open + 1).and_then(|(_, token)| syn::parse_str::<syn::LitStr>(token).ok());
        let (start, word) = if text.is_some() { tokens[open + 1] } else { (*start, *word) };
        let origin = file.origin(start..start + word.len());
        Some(MethodCall { name, text: text.map(|text| text.value()), origin })
    };
    (0..tokens.len()).filter(is_call).filter_map(call).collect()
}

fn turbofish_end(tokens: &[(usize, &str)], at: usize) -> usize {
    let is = |at: usize, wanted: &str| tokens.get(at).is_some_and(|(_, token)| *token == wanted);
    if !(is(at, ":") && is(at + 1, ":") && is(at + 2, "<")) {
        return at;
    }
    let mut depth = 0_usize;
    for (position, (_, token)) in tokens.iter().enumerate().skip(at + 2) {
        match *token {
            "<" => depth += 1,
            ">" if depth == 1 => return position + 1,
            ">" => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}
