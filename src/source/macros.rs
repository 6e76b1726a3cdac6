//! Expands macros without a compiler, as far as possible.
//!
//! `rules` expands a call of a `macro_rules!`. `expansion` replaces calls in the source by their output. `items` lists
//! the names that unexpanded calls in a module may declare. Callers reject calls that stay.

mod builtin;
pub(super) mod expansion;
mod items;
mod rules;

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::ext::IdentExt as _;

pub(super) use self::items::MacroItems;

/// All identifiers in the tokens, in order.
pub fn words(tokens: TokenStream) -> Vec<Ident> {
    let mut found = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => found.extend(words(group.stream())),
            TokenTree::Ident(word) => found.push(word),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    found
}

/// Returns true if an identifier in the tokens passes `word`.
pub fn says(tokens: TokenStream, word: impl Fn(&str) -> bool) -> bool {
    words(tokens).iter().any(|found| word(&found.unraw().to_string()))
}

/// Returns true if `is` accepts a token at any nesting depth. `is` gets the tokens of the group before it, and those
/// from it on.
pub fn any(tokens: TokenStream, is: &dyn Fn(&[TokenTree], &[TokenTree]) -> bool) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    tokens.iter().enumerate().any(|(at, token)| {
        let (before, from) = tokens.split_at(at);
        is(before, from) || matches!(token, TokenTree::Group(group) if any(group.stream(), is))
    })
}

/// Returns true if the token is this punctuation.
pub fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}
