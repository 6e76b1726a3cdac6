//! Evaluates `cfg` and `cfg_attr` with the features of the package.
//!
//! A predicate is true, false or unknown. False removes the item, true removes the attribute, unknown keeps both: the
//! caller sees the `#[cfg]` and decides.

use std::collections::BTreeSet;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::parse::{Parse as _, ParseStream, Parser as _};
use syn::spanned::Spanned as _;
use syn::{Attribute, Field, Fields, ImplItem, Item, LitBool, LitStr, Meta, Token, TraitItem};

/// The value of a predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cfg {
    /// True.
    On,
    /// False.
    Off,
    /// Only the compiler knows; the text is the predicate.
    Unknown(String),
}

impl Cfg {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Off, _) | (_, Self::Off) => Self::Off,
            (Self::On, other) | (other, Self::On) => other,
            (Self::Unknown(left), Self::Unknown(right)) => Self::Unknown(format!("{left}, {right}")),
        }
    }

    fn not(self) -> Self {
        match self {
            Self::On => Self::Off,
            Self::Off => Self::On,
            unknown @ Self::Unknown(_) => unknown,
        }
    }
}

/// Set only by tools that inspect the crate, never in the user's build.
const TOOLS: [&str; 8] = ["test", "doc", "doctest", "docsrs", "miri", "clippy", "rustfmt", "rust_analyzer"];

/// The configuration that predicates are evaluated in.
#[derive(Debug, Clone, Default)]
pub struct CfgSet {
    /// Active features of the package.
    pub features: BTreeSet<String>,
    /// Features that a package outside of the tree may switch on.
    pub maybe: BTreeSet<String>,
}

impl CfgSet {
    /// Evaluates the arguments of `cfg!(…)`.
    pub fn decide(&self, tokens: TokenStream) -> Cfg {
        let predicate = |input: ParseStream<'_>| {
            let cfg = self.predicate(input)?;
            input.parse::<Option<Token![,]>>()?;
            Ok(cfg)
        };
        let text = tokens.to_string();
        predicate.parse2(tokens).unwrap_or(Cfg::Unknown(text))
    }

    fn predicate(&self, input: ParseStream<'_>) -> syn::Result<Cfg> {
        if input.peek(LitBool) {
            return Ok(if input.parse::<LitBool>()?.value { Cfg::On } else { Cfg::Off });
        }
        let name = input.call(syn::Ident::parse_any)?.to_string();
        if input.peek(syn::token::Paren) {
            let content;
            syn::parenthesized!(content in input);
            let mut parts = Vec::new();
            while !content.is_empty() {
                parts.push(self.predicate(&content)?);
                content.parse::<Option<Token![,]>>()?;
            }
            let conjunction = |parts: Vec<Cfg>| parts.into_iter().fold(Cfg::On, Cfg::and);
            return Ok(match name.as_str() {
                "all" => conjunction(parts),
                "any" => conjunction(parts.into_iter().map(Cfg::not).collect()).not(),
                "not" if parts.len() == 1 => conjunction(parts).not(),
                _ => Cfg::Unknown(format!("{name}(…)")),
            });
        }
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            let value = input.parse::<LitStr>()?.value();
            return Ok(match name.as_str() {
                "feature" if self.features.contains(&value) => Cfg::On,
                "feature" if self.maybe.contains(&value) => Cfg::Unknown(format!("feature = \"{value}\"")),
                "feature" => Cfg::Off,
                _ => Cfg::Unknown(format!("{name} = \"{value}\"")),
            });
        }
        Ok(if TOOLS.contains(&name.as_str()) { Cfg::Off } else { Cfg::Unknown(name) })
    }

    /// Evaluates all `cfg`s in `attrs`, removes the decided ones and expands `cfg_attr`.
    pub fn apply(&self, attrs: &mut Vec<Attribute>) -> Cfg {
        if !has_cfg(attrs) {
            return Cfg::On;
        }
        let mut all = Cfg::On;
        for attr in std::mem::take(attrs) {
            self.apply_one(attr, attrs, &mut all);
        }
        all
    }

    fn apply_one(&self, attr: Attribute, out: &mut Vec<Attribute>, all: &mut Cfg) {
        let Meta::List(list) = &attr.meta else {
            out.push(attr);
            return;
        };
        if list.path.is_ident("cfg") {
            let cfg = self.decide(list.tokens.clone());
            if matches!(cfg, Cfg::Unknown(_)) {
                out.push(attr);
            }
            *all = std::mem::replace(all, Cfg::On).and(cfg);
        } else if list.path.is_ident("cfg_attr") {
            let parts = |input: ParseStream<'_>| {
                let cfg = self.predicate(input)?;
                input.parse::<Option<Token![,]>>()?;
                Ok((cfg, input.parse_terminated(Meta::parse, Token![,])?))
            };
            match parts.parse2(list.tokens.clone()) {
                Ok((Cfg::On, metas)) => {
                    for meta in metas {
                        self.apply_one(Attribute { meta, ..attr.clone() }, out, all);
                    }
                }
                Ok((Cfg::Off, _)) => {}
                Ok((Cfg::Unknown(_), _)) | Err(_) => out.push(attr),
            }
        } else {
            out.push(attr);
        }
    }

    /// Applies [`Self::apply`] to an item and to its fields, variants and associated items, but not to nested modules
    /// or function bodies. Adds the spans of removed parts to `dropped`.
    pub(super) fn apply_to_item(&self, item: &mut Item, dropped: &mut Vec<Span>) -> Cfg {
        if matches!(item, Item::Fn(item) if item.attrs.iter().any(is_test)) {
            return Cfg::Off;
        }
        let Some(attrs) = attrs_mut(item) else { return Cfg::On };
        let cfg = self.apply(attrs);
        if cfg == Cfg::Off {
            return cfg;
        }
        match item {
            Item::Struct(item) => self.fields(&mut item.fields, dropped),
            Item::Enum(item) => {
                item.variants = std::mem::take(&mut item.variants)
                    .into_iter()
                    .filter_map(|mut variant| {
                        let kept = self.keep(&mut variant, |variant| &mut variant.attrs, dropped);
                        self.fields(&mut variant.fields, dropped);
                        kept.then_some(variant)
                    })
                    .collect();
            }
            Item::Impl(item) => item.items.retain_mut(|item| match item {
                ImplItem::Const(item) => self.keep(item, |item| &mut item.attrs, dropped),
                ImplItem::Fn(item) => self.keep(item, |item| &mut item.attrs, dropped),
                ImplItem::Type(item) => self.keep(item, |item| &mut item.attrs, dropped),
                ImplItem::Macro(item) => self.keep(item, |item| &mut item.attrs, dropped),
                _ => true,
            }),
            Item::Trait(item) => item.items.retain_mut(|item| match item {
                TraitItem::Const(item) => self.keep(item, |item| &mut item.attrs, dropped),
                TraitItem::Fn(item) => self.keep(item, |item| &mut item.attrs, dropped),
                TraitItem::Type(item) => self.keep(item, |item| &mut item.attrs, dropped),
                TraitItem::Macro(item) => self.keep(item, |item| &mut item.attrs, dropped),
                _ => true,
            }),
            _ => {}
        }
        cfg
    }

    fn keep<T: ToTokens>(
        &self,
        part: &mut T,
        attrs: fn(&mut T) -> &mut Vec<Attribute>,
        dropped: &mut Vec<Span>,
    ) -> bool {
        let span = has_cfg(attrs(part)).then(|| part.span());
        let keep = self.apply(attrs(part)) != Cfg::Off;
        if !keep {
            dropped.extend(span);
        }
        keep
    }

    fn fields(&self, fields: &mut Fields, dropped: &mut Vec<Span>) {
        let mut keep = |mut field: Field| self.keep(&mut field, |field| &mut field.attrs, dropped).then_some(field);
        match fields {
            Fields::Named(fields) => {
                fields.named = std::mem::take(&mut fields.named).into_iter().filter_map(&mut keep).collect();
            }
            Fields::Unnamed(fields) => {
                fields.unnamed = std::mem::take(&mut fields.unnamed).into_iter().filter_map(&mut keep).collect();
            }
            Fields::Unit => {}
        }
    }
}

fn has_cfg(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr"))
}

/// Matches `#[test]`, `#[tokio::test]` and similar: only test builds have such a function.
fn is_test(attr: &Attribute) -> bool {
    attr.path().segments.last().is_some_and(|last| last.ident == "test")
}

pub(super) fn attrs_mut(item: &mut Item) -> Option<&mut Vec<Attribute>> {
    Some(match item {
        Item::Const(item) => &mut item.attrs,
        Item::Enum(item) => &mut item.attrs,
        Item::ExternCrate(item) => &mut item.attrs,
        Item::Fn(item) => &mut item.attrs,
        Item::ForeignMod(item) => &mut item.attrs,
        Item::Impl(item) => &mut item.attrs,
        Item::Macro(item) => &mut item.attrs,
        Item::Mod(item) => &mut item.attrs,
        Item::Static(item) => &mut item.attrs,
        Item::Struct(item) => &mut item.attrs,
        Item::Trait(item) => &mut item.attrs,
        Item::Type(item) => &mut item.attrs,
        Item::Union(item) => &mut item.attrs,
        Item::Use(item) => &mut item.attrs,
        _ => return None,
    })
}

/// Removes from an item what `cfg` switches off. Returns the item's own cfg and the removed spans.
pub(super) fn decide(cfg: &CfgSet, item: &mut Item) -> (Cfg, Vec<Span>) {
    let first = attrs_mut(item).and_then(|attrs| attrs.first().map(|attr| attr.pound_token.span()));
    let mut dropped = Vec::new();
    let decided = cfg.apply_to_item(item, &mut dropped);
    if decided == Cfg::Off {
        let span = item.span();
        dropped.push(first.and_then(|first: Span| first.join(span)).unwrap_or(span));
    }
    (decided, dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> CfgSet {
        CfgSet { features: BTreeSet::from(["a".to_string(), "b".to_string()]), maybe: BTreeSet::new() }
    }

    #[test]
    fn predicates() {
        let unknown = |text: &str| Cfg::Unknown(text.to_string());
        for (text, expected) in [
            ("feature = \"a\"", Cfg::On),
            ("feature = \"c\"", Cfg::Off),
            ("test", Cfg::Off),
            ("not(test)", Cfg::On),
            ("true", Cfg::On),
            ("all()", Cfg::On),
            ("any()", Cfg::Off),
            ("all(feature = \"a\", feature = \"b\",)", Cfg::On),
            ("all(feature = \"a\", feature = \"c\")", Cfg::Off),
            ("any(feature = \"c\", feature = \"b\")", Cfg::On),
            ("any(test, not(feature = \"a\"))", Cfg::Off),
            ("unix", unknown("unix")),
            ("all(unix, test)", Cfg::Off),
            ("any(unix, feature = \"a\")", Cfg::On),
            ("any(test, unix)", unknown("unix")),
            ("not(target_os = \"linux\")", unknown("target_os = \"linux\"")),
            ("all(unix, windows)", unknown("unix, windows")),
            ("version(\"1.2\")", unknown("version (\"1.2\")")),
        ] {
            let mut attrs = Attribute::parse_outer.parse_str(&format!("#[cfg({text})]")).unwrap();
            assert_eq!(set().apply(&mut attrs), expected, "{text}");
            assert_eq!(attrs.len(), usize::from(matches!(expected, Cfg::Unknown(_))), "{text}");
        }
    }

    #[test]
    fn items_lose_what_is_off() {
        for (text, expected) in [
            ("struct S { #[cfg(test)] a: u8, #[cfg(feature = \"a\")] b: u8 }", "struct S { b : u8 }"),
            ("struct S(#[cfg(test)] u8, #[cfg(unix)] u8);", "struct S (# [cfg (unix)] u8) ;"),
            ("enum E { #[cfg(test)] A, B { #[cfg(test)] x: u8 } }", "enum E { B { } }"),
            ("#[cfg_attr(feature = \"a\", derive(A), cfg_attr(not(test), x = \"1\"))] struct S;", {
                "# [derive (A)] # [x = \"1\"] struct S ;"
            }),
            ("#[cfg_attr(unix, derive(A))] struct S;", "# [cfg_attr (unix , derive (A))] struct S ;"),
            ("impl S { #[cfg(test)] fn a() {} fn b() {} }", "impl S { fn b () { } }"),
            ("trait S { #[cfg(test)] fn a() {} fn b(); }", "trait S { fn b () ; }"),
        ] {
            let mut item = syn::parse_str::<Item>(text).unwrap();
            set().apply_to_item(&mut item, &mut Vec::new());
            assert_eq!(item.to_token_stream().to_string(), expected);
        }
    }
}
