//! Macros, as far as they can be read without a compiler.
//!
//! `rules` expands a call of `macro_rules!`, `expansion` replaces the calls in the source by what they write, `items` says
//! which names the calls in a module may declare where they are not expanded. What none of them understands is refused by
//! whoever asks.

mod builtin;
pub(super) mod expansion;
mod items;
mod rules;

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::ext::IdentExt as _;

pub(super) use self::items::MacroItems;

/// All identifiers of some tokens, in their order.
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

/// Whether the tokens say a word.
pub fn says(tokens: TokenStream, word: impl Fn(&str) -> bool) -> bool {
    words(tokens).iter().any(|found| word(&found.unraw().to_string()))
}

/// Whether one of the tokens, or of those inside of a group, is as wanted: `is` gets the tokens before it in its group, and
/// those from it on.
pub fn any(tokens: TokenStream, is: &dyn Fn(&[TokenTree], &[TokenTree]) -> bool) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    tokens.iter().enumerate().any(|(at, token)| {
        let (before, from) = tokens.split_at(at);
        is(before, from) || matches!(token, TokenTree::Group(group) if any(group.stream(), is))
    })
}

/// Whether a token is this sign.
pub fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}
