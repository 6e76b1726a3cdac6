//! What fields hold beyond what their declarations say.
//!
//! A field whose every assignment in the tree is the own namespace holds the own namespace. What a constructor is given
//! counts where it is called; if nobody calls it, or anything else is assigned, nothing is known of the field.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Expr, Item};

use super::read::Reader;
use super::runs::{Live, RunId, Weight};
use super::table;
use super::types::Ty;
use crate::source::{ItemRef, SourceTree};

/// A field of a struct, or `Variant.field` of an enum.
type Field = (ItemRef, String);

/// The value of one assignment, as far as namespaces go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Own,
    Other,
}

#[derive(Debug, Default)]
pub(super) struct Fields {
    /// Types that only values tell.
    values: BTreeMap<Field, Ty>,
    /// The fields that hold the own namespace, as the last pass found out.
    own: BTreeSet<Field>,
    /// What this pass has seen.
    sources: BTreeMap<Field, BTreeSet<(Source, Option<RunId>)>>,
    /// Fields of values whose type is not known.
    spoilt: BTreeSet<String>,
    learned: bool,
}

impl Fields {
    /// Begins to look at everything again.
    pub(super) fn start(&mut self) {
        (self.learned, self.sources, self.spoilt) = Default::default();
    }

    /// Whether there is anything to look at again for.
    pub(super) fn finish(&mut self, tree: &SourceTree, live: &Live) -> bool {
        let is_own = |(field, sources): &(&Field, &BTreeSet<(Source, Option<RunId>)>)| {
            let counted = sources.iter().filter(|(_, run)| live.weight(*run) == Weight::Counts);
            let counted: BTreeSet<Source> = counted.map(|(source, _)| *source).collect();
            counted == BTreeSet::from([Source::Own]) && !self.spoilt.contains(last(&field.1)) && is_made_here(tree, field.0)
        };
        let own: BTreeSet<Field> = self.sources.iter().filter(is_own).map(|(field, _)| field.clone()).collect();
        let changed = self.learned || own != self.own;
        self.own = own;
        changed
    }

    /// Notes what a field is given; only what a declaration doesn't say is worth it.
    pub(super) fn learn(&mut self, item: ItemRef, field: &str, value: &Ty, run: Option<RunId>) {
        let key = (item, field.to_owned());
        let source = match value {
            // No value comes from there.
            Ty::Never => None,
            Ty::OwnNamespace => Some(Source::Own),
            _ => Some(Source::Other),
        };
        self.sources.entry(key.clone()).or_default().extend(source.map(|source| (source, run)));
        let telling = |ty: &Ty| matches!(ty, Ty::Dynamic(_)) || matches!(ty, Ty::Api(_, reach) if !reach.is_empty());
        if !value.any(&telling) {
            return;
        }
        let joined = self.values.get(&key).map_or_else(|| value.clone(), |known| known.join(value));
        let joined = joined.map(&|part| match part {
            Ty::Infer(_) => Some(Ty::Unknown),
            part if part.is_known_text() => Some(part.general()),
            _ => None,
        });
        if self.values.get(&key) != Some(&joined) {
            self.values.insert(key, joined);
            self.learned = true;
        }
    }

    /// Notes that a field of this name is given something, of whatever type it is.
    pub(super) fn spoil(&mut self, field: &str) {
        self.spoilt.insert(field.to_owned());
    }

    /// What is known of a field beyond its type.
    pub(super) fn get(&self, item: ItemRef, field: &str) -> Option<Ty> {
        let key = (item, field.to_owned());
        if self.own.contains(&key) {
            return Some(Ty::OwnNamespace);
        }
        self.values.get(&key).cloned()
    }
}

impl Reader<'_> {
    /// Notes that what an expression names may be changed through a reference.
    pub(super) fn borrowed(&mut self, expr: &Expr) {
        if let Expr::Field(field) = expr
            && let syn::Member::Named(name) = &field.member
        {
            self.fields.spoil(&name.to_string());
        }
    }
}

/// The name of a field without the variant.
fn last(field: &str) -> &str {
    field.rsplit('.').next().unwrap_or(field)
}

/// No derive makes values of a type behind the back of its code.
fn is_made_here(tree: &SourceTree, item: ItemRef) -> bool {
    let (Item::Struct(syn::ItemStruct { attrs, .. }) | Item::Enum(syn::ItemEnum { attrs, .. })) = tree.item(item)
    else {
        return false;
    };
    let attributes = attrs.iter().filter(|attribute| attribute.path().is_ident("derive"));
    let mut derives = attributes.flat_map(|attribute| {
        let paths = syn::punctuated::Punctuated::<syn::Path, syn::Token![,]>::parse_terminated;
        attribute.parse_args_with(paths).into_iter().flatten()
    });
    let harmless = |path: &syn::Path| {
        path.segments.last().is_some_and(|last| table::NO_CONSTRUCTOR.iter().any(|name| last.ident == name))
    };
    derives.all(|path| harmless(&path))
}

/// An attribute of clap says that a field is the environment variable with the own namespace:
/// `#[arg(long, env = "POD_NAMESPACE")]`.
pub(super) fn is_own_by_attribute(field: &syn::Field) -> bool {
    let parsers = field
        .attrs
        .iter()
        .filter(|attribute| ["arg", "clap", "structopt"].iter().any(|name| attribute.path().is_ident(name)));
    parsers.filter_map(|attribute| attribute.meta.require_list().ok()).any(|list| {
        let tokens: Vec<_> = list.tokens.clone().into_iter().map(|token| token.to_string()).collect();
        tokens.windows(3).any(|found| match found {
            [name, equals, value] => {
                name == "env" && equals == "=" && table::OWN_NAMESPACE.contains(&value.trim_matches('"'))
            }
            _ => false,
        })
    })
}
