//! Macros, as far as they can be read without a compiler.
//!
//! `rules` expands a call of `macro_rules!`, `items` says which names the calls in a module may declare. What neither
//! understands is refused by whoever asks.

mod items;
mod rules;

use proc_macro2::{Ident, TokenStream, TokenTree};

pub(super) use self::items::MacroItems;
pub use self::rules::expand;

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
