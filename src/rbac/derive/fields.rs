//! What fields hold beyond their declared types.
//!
//! A field whose every assignment in the tree is the own namespace holds the own namespace. What a constructor is given
//! counts where it is called; if nobody calls it, or anything else is assigned, nothing is known of the field.

use std::collections::{BTreeMap, BTreeSet};

use syn::Item;

use super::foreign::Kube;
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
    /// A client of another cluster.
    Elsewhere,
    Other,
}

#[derive(Debug, Default)]
pub(super) struct Fields {
    /// Types of assigned values that are more precise than the declared ones.
    values: BTreeMap<Field, Ty>,
    /// The fields that hold the own namespace or a client of another cluster, as the last pass found out.
    certain: BTreeMap<Field, Ty>,
    /// What this pass has seen.
    sources: BTreeMap<Field, BTreeSet<(Source, Option<RunId>)>>,
    /// Names of fields that are assigned through a value of unknown type.
    tainted: BTreeSet<String>,
    learned: bool,
}

impl Fields {
    pub(super) fn start(&mut self) {
        (self.learned, self.sources, self.tainted) = Default::default();
    }

    /// Ends a pass. True when another one may find more.
    pub(super) fn finish(&mut self, tree: &SourceTree, live: &Live) -> bool {
        let certain = |(field, sources): (&Field, &BTreeSet<(Source, Option<RunId>)>)| {
            let counted = sources.iter().filter(|(_, run)| live.weight(*run) == Weight::Counts);
            let counted: BTreeSet<Source> = counted.map(|(source, _)| *source).collect();
            let value = match Vec::from_iter(counted).as_slice() {
                [Source::Own] => Ty::OwnNamespace,
                [Source::Elsewhere] => Ty::Elsewhere(Kube::Client),
                _ => return None,
            };
            let is_certain = !self.tainted.contains(last(&field.1)) && is_made_here(tree, field.0);
            is_certain.then(|| (field.clone(), value))
        };
        let certain: BTreeMap<Field, Ty> = self.sources.iter().filter_map(certain).collect();
        let changed = self.learned || certain != self.certain;
        self.certain = certain;
        changed
    }

    /// Notes an assignment to a field, where it says more than the declaration.
    pub(super) fn learn(&mut self, item: ItemRef, field: &str, value: &Ty, run: Option<RunId>) {
        let key = (item, field.to_owned());
        let source = match value {
            // No value comes from there.
            Ty::Never => None,
            Ty::OwnNamespace => Some(Source::Own),
            Ty::Elsewhere(_) => Some(Source::Elsewhere),
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

    /// Notes an assignment to a field of this name, on a value of unknown type.
    pub(super) fn taint(&mut self, field: &str) {
        self.tainted.insert(field.to_owned());
    }

    /// What is known of a field beyond its type.
    pub(super) fn get(&self, item: ItemRef, field: &str) -> Ty {
        let key = (item, field.to_owned());
        self.certain.get(&key).or_else(|| self.values.get(&key)).cloned().unwrap_or(Ty::Unknown)
    }
}

/// The name of a field without the variant.
fn last(field: &str) -> &str {
    field.rsplit('.').next().unwrap_or(field)
}

/// Whether no derive constructs values of the type.
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
