//! Well-known macros of other crates that write items: `cfg_if!`, `lazy_static!` and `paste!`.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use syn::ext::IdentExt as _;

use super::is_punct;
use crate::source::cfg::{Cfg, CfgSet};

/// Expands a call; `None` for other macros and for unsupported input.
pub(super) fn expand(call: &syn::Macro, cfg: &CfgSet, in_items: bool) -> Option<TokenStream> {
    match call.path.segments.last()?.ident.to_string().as_str() {
        "cfg_if" if in_items => branches(call.tokens.clone(), cfg),
        "lazy_static" if in_items => Some(statics(call.tokens.clone())),
        "paste" => pasted(call.tokens.clone()),
        _ => None,
    }
}

/// The branches of `cfg_if!` that may be active: those up to the first that is certain.
fn branches(tokens: TokenStream, cfg: &CfgSet) -> Option<TokenStream> {
    let mut tokens = tokens.into_iter();
    let mut written = TokenStream::new();
    let mut decided = Cfg::On;
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "if" => {
                let (Some(_), Some(TokenTree::Group(attribute))) = (tokens.next(), tokens.next()) else { return None };
                let mut inner = attribute.stream().into_iter();
                let (Some(_), Some(TokenTree::Group(predicate))) = (inner.next(), inner.next()) else { return None };
                decided = cfg.decide(predicate.stream());
            }
            TokenTree::Ident(word) if word == "else" => decided = Cfg::On,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                if decided != Cfg::Off {
                    written.extend(group.stream());
                }
                if decided == Cfg::On {
                    return Some(written);
                }
            }
            _ => return None,
        }
    }
    Some(written)
}

/// Rewrites `static ref A: T = …;` to `static A: T = …;`.
fn statics(tokens: TokenStream) -> TokenStream {
    let mut after_static = false;
    let is_kept = |token: &TokenTree| {
        let TokenTree::Ident(word) = token else { return true };
        let kept = !(after_static && word == "ref");
        after_static = word == "static";
        kept
    };
    tokens.into_iter().filter(is_kept).collect()
}

/// Concatenates the names in `[< … >]`.
fn pasted(tokens: TokenStream) -> Option<TokenStream> {
    let mut written = TokenStream::new();
    for token in tokens {
        let TokenTree::Group(group) = token else {
            written.extend([token]);
            continue;
        };
        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
        let token = match inner.as_slice() {
            [first, parts @ .., last]
                if group.delimiter() == Delimiter::Bracket && is_punct(first, '<') && is_punct(last, '>') =>
            {
                TokenTree::Ident(joined(parts)?)
            }
            _ => {
                let mut inner = Group::new(group.delimiter(), pasted(group.stream())?);
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
        };
        written.extend([token]);
    }
    Some(written)
}

fn joined(parts: &[TokenTree]) -> Option<Ident> {
    let mut name = String::new();
    let mut span = None;
    let mut rest = parts.iter().peekable();
    while let Some(part) = rest.next() {
        let mut text = match part {
            TokenTree::Ident(part) => part.unraw().to_string(),
            TokenTree::Literal(part) => part.to_string().trim_matches('"').to_owned(),
            // A fragment `$x:ident` may come in a group of its own.
            TokenTree::Group(group) => match Vec::from_iter(group.stream()).as_slice() {
                [TokenTree::Ident(part)] => part.unraw().to_string(),
                _ => return None,
            },
            TokenTree::Punct(_) => return None,
        };
        span = span.or(Some(part.span()));
        while rest.next_if(|next| is_punct(next, ':')).is_some() {
            let TokenTree::Ident(how) = rest.next()? else { return None };
            text = match how.to_string().as_str() {
                "lower" => text.to_lowercase(),
                "upper" => text.to_uppercase(),
                "snake" => snake(&text),
                "camel" => camel(&text),
                _ => return None,
            };
        }
        name.push_str(&text);
    }
    let mut name: Ident = syn::parse_str(&name).ok()?;
    name.set_span(span?);
    Some(name)
}

fn snake(text: &str) -> String {
    let mut out = String::new();
    let mut before = '_';
    for letter in text.chars() {
        if letter.is_uppercase() && before != '_' && !before.is_uppercase() {
            out.push('_');
        }
        before = letter;
        out.extend(letter.to_lowercase());
    }
    out
}

fn camel(text: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    };
    text.split('_').map(word).collect()
}
