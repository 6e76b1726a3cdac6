//! `#[schemars(…)]`, `#[validate(…)]` and `#[garde(…)]`: reads their expressions without evaluating them.

use proc_macro2::{TokenStream, TokenTree};
use serde_derive_internals::Ctxt;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, LitStr, Meta, MetaList, Path, Token, Type};

use super::attribute::{AttributeEntry, entries, is_shared, literal};

/// Keys of types, variants and fields alike.
#[derive(Default)]
pub(super) struct CommonAttrs {
    pub(super) docs: Vec<Expr>,
    pub(super) deprecated: bool,
    pub(super) title: Option<Expr>,
    pub(super) description: Option<Expr>,
    pub(super) examples: Vec<Expr>,
    pub(super) extensions: Vec<Extension>,
    pub(super) transforms: Vec<Expr>,
    pub(super) with: Option<With>,
}

/// Attributes of a struct or enum.
#[derive(Default)]
pub(super) struct ContainerAttrs {
    pub(super) common: CommonAttrs,
    pub(super) rename: Option<LitStr>,
    pub(super) inline: bool,
    pub(super) ref_variants: Option<Path>,
}

/// Attributes of a variant.
pub(super) struct VariantAttrs {
    pub(super) common: CommonAttrs,
}

/// Attributes of a field.
pub(super) struct FieldAttrs {
    pub(super) common: CommonAttrs,
    pub(super) constraints: ConstraintAttrs,
}

/// `with = "Type"` or `schema_with = "function"`.
#[derive(Clone)]
pub(super) enum With {
    Type(Box<Type>),
    Function(Path),
}

/// `extend("key" = tokens)`.
pub(super) struct Extension {
    pub(super) key: LitStr,
    pub(super) value: TokenStream,
}

/// The validation keys.
#[derive(Default)]
pub(super) struct ConstraintAttrs {
    pub(super) length: Option<BoundAttrs>,
    pub(super) range: Option<BoundAttrs>,
    pub(super) pattern: Option<Expr>,
    pub(super) contains: Option<Expr>,
    pub(super) format: Option<&'static str>,
    pub(super) required: bool,
    pub(super) inner: Option<Box<ConstraintAttrs>>,
}

/// `min`, `max`, `equal` of `length` and `range`.
#[derive(Default)]
pub(super) struct BoundAttrs {
    pub(super) min: Option<Expr>,
    pub(super) max: Option<Expr>,
}

/// Attributes of one owner, read from an attribute list. Every mistake goes to `errors`.
pub(super) trait OwnerAttrs {
    fn read(attributes: &[Attribute], errors: &Ctxt) -> Self;

    fn common(&self) -> &CommonAttrs;
}

impl OwnerAttrs for ContainerAttrs {
    fn read(attributes: &[Attribute], errors: &Ctxt) -> Self {
        let mut own = ContainerAttrs::default();
        let common = CommonAttrs::read(attributes, errors, |key, meta| {
            match key {
                "crate" => {}
                "inline" => own.inline = true,
                "rename" => own.rename = text(meta, errors),
                "_unstable_ref_variants" => own.ref_variants = Some(meta.path().clone()),
                _ => return false,
            }
            true
        });
        ContainerAttrs { common, ..own }
    }

    fn common(&self) -> &CommonAttrs {
        &self.common
    }
}

impl OwnerAttrs for VariantAttrs {
    fn read(attributes: &[Attribute], errors: &Ctxt) -> Self {
        let mut common = CommonAttrs::read(attributes, errors, |_, _| false);
        common.read_serde_with(attributes, errors);
        VariantAttrs { common }
    }

    fn common(&self) -> &CommonAttrs {
        &self.common
    }
}

impl OwnerAttrs for FieldAttrs {
    fn read(attributes: &[Attribute], errors: &Ctxt) -> Self {
        let mut constraints = ConstraintAttrs::default();
        let mut common = CommonAttrs::read(attributes, errors, |_, meta| constraints.entry(meta, "schemars", errors));
        common.read_serde_with(attributes, errors);
        for owner in ["validate", "garde"] {
            for entry in entries(attributes, owner, errors) {
                if let AttributeEntry::Meta(meta) = &entry {
                    constraints.entry(meta, owner, errors);
                }
            }
        }
        FieldAttrs { common, constraints }
    }

    fn common(&self) -> &CommonAttrs {
        &self.common
    }
}

impl CommonAttrs {
    /// Reads the common keys; `own` takes a key of one owner and returns false for an unknown one.
    fn read(attributes: &[Attribute], errors: &Ctxt, mut own: impl FnMut(&str, &Meta) -> bool) -> Self {
        let mut attrs = CommonAttrs {
            deprecated: attributes.iter().any(|attribute| attribute.path().is_ident("deprecated")),
            ..Self::default()
        };
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
            if let Ok(doc) = attribute.meta.require_name_value() {
                attrs.docs.push(doc.value.clone());
            }
        }
        for entry in entries(attributes, "schemars", errors) {
            attrs.entry(&entry, &mut own, errors);
        }
        attrs
    }

    /// Reads `#[serde(with = "…")]`. schemars uses its module as a type that describes the value.
    fn read_serde_with(&mut self, attributes: &[Attribute], errors: &Ctxt) {
        for entry in entries(attributes, "serde", errors) {
            if let AttributeEntry::Meta(meta) = &entry
                && meta.path().is_ident("with")
                && self.with.is_none()
            {
                self.with = text(meta, errors).and_then(|text| parse(&text, errors)).map(With::Type);
            }
        }
    }

    fn entry(&mut self, entry: &AttributeEntry, own: &mut impl FnMut(&str, &Meta) -> bool, errors: &Ctxt) {
        let (AttributeEntry::Meta(meta), Some(key)) = (entry, entry.key()) else {
            if entry.key().is_none() {
                errors.error_spanned_by(entry, "unknown schemars attribute");
            }
            return;
        };
        let once = |taken: bool| {
            if taken {
                errors.error_spanned_by(meta, format_args!("duplicate schemars attribute item `{key}`"));
            }
        };
        match key.as_str() {
            "title" => {
                once(self.title.is_some());
                self.title = value(meta, errors);
            }
            "description" => {
                once(self.description.is_some());
                self.description = value(meta, errors);
            }
            "example" => self.examples.extend(value(meta, errors)),
            "transform" => self.transforms.extend(value(meta, errors)),
            "extend" => {
                let Some(list) = list(meta, errors) else { return };
                match list.parse_args_with(Punctuated::<Extension, Token![,]>::parse_terminated) {
                    Ok(extensions) => {
                        for extension in extensions {
                            if self.extensions.iter().any(|other| other.key.value() == extension.key.value()) {
                                errors.error_spanned_by(&extension.key, "duplicate key of `extend`");
                            }
                            self.extensions.push(extension);
                        }
                    }
                    Err(error) => errors.syn_error(error),
                }
            }
            "with" => {
                once(self.with.is_some());
                self.with = text(meta, errors).and_then(|text| parse(&text, errors)).map(With::Type);
            }
            "schema_with" => {
                once(self.with.is_some());
                self.with = text(meta, errors).and_then(|text| parse(&text, errors)).map(With::Function);
            }
            key if own(key, meta) || is_shared(key) => {}
            key => errors.error_spanned_by(meta.path(), format_args!("unknown schemars attribute `{key}`")),
        }
    }
}

impl ConstraintAttrs {
    /// Reads a key of a constraint; false means another key. `owner` is its attribute: schemars also reads those of
    /// validator and garde, with other grammars, and ignores unknown keys there.
    fn entry(&mut self, meta: &Meta, owner: &str, errors: &Ctxt) -> bool {
        let Some(key) = meta.path().get_ident().map(ToString::to_string) else { return false };
        let own = owner == "schemars";
        let once = |taken: bool| {
            if taken && own {
                errors.error_spanned_by(meta, format_args!("duplicate schemars attribute item `{key}`"));
            }
            !taken
        };
        match key.as_str() {
            "length" => {
                if once(self.length.is_some()) {
                    self.length = Some(bounds(meta, own, errors));
                }
            }
            "range" => {
                if once(self.range.is_some()) {
                    self.range = Some(bounds(meta, own, errors));
                }
            }
            "required" => {
                once(self.required);
                if !matches!(meta, Meta::Path(_)) {
                    errors.error_spanned_by(meta, "`required` takes no value");
                }
                self.required = true;
            }
            "email" | "url" | "ip" | "ipv4" | "ipv6" => {
                if once(self.format.is_some()) {
                    if own && !matches!(meta, Meta::Path(_)) {
                        errors.error_spanned_by(meta, format_args!("`{key}` takes no value"));
                    }
                    self.format = match key.as_str() {
                        "email" => Some("email"),
                        "url" => Some("uri"),
                        "ip" => Some("ip"),
                        "ipv4" => Some("ipv4"),
                        _ => Some("ipv6"),
                    };
                }
            }
            "pattern" if owner != "validate" => {
                if once(self.pattern.is_some() || self.contains.is_some())
                    && let Some(list) = list(meta, errors)
                {
                    self.pattern = list.parse_args().map_err(|error| errors.syn_error(error)).ok();
                }
            }
            "regex" if owner != "garde" => {
                if once(self.pattern.is_some() || self.contains.is_some()) {
                    self.pattern = named(meta, if own { "pattern" } else { "path" }, own, errors);
                }
            }
            "contains" => {
                if once(self.pattern.is_some() || self.contains.is_some())
                    && let Some(list) = list(meta, errors)
                {
                    let bare = owner == "garde" || (own && list.parse_args::<NamedArguments>().is_err());
                    self.contains = if bare {
                        list.parse_args().map_err(|error| errors.syn_error(error)).ok()
                    } else {
                        named(meta, "pattern", own, errors)
                    };
                }
            }
            "inner" if owner != "validate" => {
                let Some(list) = list(meta, errors) else { return true };
                match list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) {
                    Ok(metas) => {
                        let inner = self.inner.get_or_insert_default();
                        for meta in &metas {
                            if !inner.entry(meta, owner, errors) && own {
                                errors.error_spanned_by(meta, "unknown item of `inner`");
                            }
                        }
                    }
                    Err(error) => errors.syn_error(error),
                }
            }
            _ => return false,
        }
        true
    }
}

impl Parse for Extension {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = input.parse()?;
        input.parse::<Token![=]>()?;
        let mut value = TokenStream::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            value.extend([input.parse::<TokenTree>()?]);
        }
        if value.is_empty() {
            return Err(input.error("expected a value"));
        }
        Ok(Extension { key, value })
    }
}

/// `pattern = …, message = …`
struct NamedArguments;

impl Parse for NamedArguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let named = input.peek2(Token![,]) || input.peek2(Token![=]);
        input.parse::<TokenStream>()?;
        if named { Ok(NamedArguments) } else { Err(input.error("expected `key = value`")) }
    }
}

fn value(meta: &Meta, errors: &Ctxt) -> Option<Expr> {
    match meta {
        Meta::NameValue(pair) => Some(pair.value.clone()),
        Meta::Path(_) | Meta::List(_) => {
            errors.error_spanned_by(meta, "expected `key = value`");
            None
        }
    }
}

fn text(meta: &Meta, errors: &Ctxt) -> Option<LitStr> {
    let expr = value(meta, errors)?;
    let text = literal(&expr).cloned();
    if text.is_none() {
        errors.error_spanned_by(meta, "expected a string literal");
    }
    text
}

fn parse<T: Parse>(text: &LitStr, errors: &Ctxt) -> Option<T> {
    text.parse().map_err(|error| errors.syn_error(error)).ok()
}

fn list<'a>(meta: &'a Meta, errors: &Ctxt) -> Option<&'a MetaList> {
    match meta {
        Meta::List(list) => Some(list),
        Meta::Path(_) | Meta::NameValue(_) => {
            errors.error_spanned_by(meta, "expected a list in parentheses");
            None
        }
    }
}

fn pairs(meta: &Meta, errors: &Ctxt) -> Vec<Meta> {
    let Some(list) = list(meta, errors) else { return Vec::new() };
    match Punctuated::<Meta, Token![,]>::parse_terminated.parse2(list.tokens.clone()) {
        Ok(metas) => metas.into_iter().collect(),
        Err(error) => {
            errors.syn_error(error);
            Vec::new()
        }
    }
}

fn bounds(meta: &Meta, own: bool, errors: &Ctxt) -> BoundAttrs {
    let (mut bounds, mut equal) = (BoundAttrs::default(), false);
    for pair in pairs(meta, errors) {
        let number = || {
            let expr = value(&pair, errors)?;
            // The string is an expression, as in validator's older syntax.
            literal(&expr).map_or(Some(expr.clone()), |text| parse(text, errors))
        };
        // The first key counts.
        if pair.path().is_ident("min") {
            if !equal && bounds.min.is_none() {
                bounds.min = number();
            }
        } else if pair.path().is_ident("max") {
            if !equal && bounds.max.is_none() {
                bounds.max = number();
            }
        } else if pair.path().is_ident("equal") {
            if bounds.min.is_none() && bounds.max.is_none() {
                let number = number();
                equal = true;
                bounds = BoundAttrs { min: number.clone(), max: number };
            }
        } else if own {
            errors.error_spanned_by(&pair, "expected `min`, `max` or `equal`");
        }
    }
    bounds
}

fn named(meta: &Meta, key: &str, own: bool, errors: &Ctxt) -> Option<Expr> {
    let mut found = None;
    for pair in pairs(meta, errors) {
        if pair.path().is_ident(key) {
            if found.is_some() {
                continue;
            }
            found = value(&pair, errors);
            // validator's `path = "NAME"` is the path in a string.
            if !own
                && key == "path"
                && let Some(text) = found.as_ref().and_then(literal)
            {
                found = parse(text, errors);
            }
        } else if own {
            errors.error_spanned_by(&pair, format_args!("expected `{key} = …`"));
        }
    }
    if found.is_none() {
        errors.error_spanned_by(meta, format_args!("`{key} = …` is missing"));
    }
    found
}
