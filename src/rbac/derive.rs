//! The permissions that the code uses, derived from its source.
//!
//! Every function is run once by itself, on types instead of values, and again for every call with other types: so an
//! `Api` is followed from where it is made through locals, fields, parameters, returns and type parameters to the
//! methods that are called on it. What could not be followed is said, never guessed.

mod calls;
mod eval;
mod index;
mod kinds;
mod lower;
mod macros;
mod manager;
pub mod propose;
mod read;
mod table;
mod types;

use proc_macro2::{TokenStream, TokenTree};

use self::read::Reader;
use super::Usage;
use crate::diagnostic::Diagnostics;
use crate::source::SourceTree;

/// Every request that the package's own code may make, in the order of the source, and what could not be followed.
///
/// To be asked through [`SourceTree::settle`]: functions of path dependencies count where they are called.
pub fn uses(tree: &SourceTree) -> (Vec<Usage>, Diagnostics) {
    if !tree.seek_code() {
        return (Vec::new(), Diagnostics::default());
    }
    let mut reader = Reader::new(tree);
    reader.read();
    reader.finish()
}

/// The verbs that a call may need which was not followed; `None` if it may be any.
pub(super) fn verbs_of_doubt(message: &str) -> Option<Vec<&'static str>> {
    let call = message.split('`').nth(1)?;
    let method = call.rsplit([':', '.']).next()?.split(['<', '(']).next()?;
    Some(table::verbs(method)).filter(|verbs| !verbs.is_empty())
}

/// Tokens that may be calls of an `Api`.
fn speaks_of_api(tokens: TokenStream) -> bool {
    let mut before = (' ', false);
    tokens.into_iter().any(|token| {
        let (punct, api) = std::mem::replace(&mut before, (' ', false));
        match token {
            TokenTree::Group(group) => speaks_of_api(group.stream()),
            TokenTree::Ident(ident) => {
                before.1 = ident == "Api" && punct != ':';
                punct == '.' && table::is_telling(&ident.to_string())
            }
            TokenTree::Punct(punct) => {
                before = (punct.as_char(), false);
                api && punct.as_char() == ':'
            }
            TokenTree::Literal(_) => false,
        }
    })
}
