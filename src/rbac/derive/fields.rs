//! The values of fields beyond their declared types.
//!
//! A field whose every assignment in the tree is the own namespace holds the own namespace. An argument of a constructor
//! counts where the constructor is called; without a caller, or with any other assignment, the namespace is not known. A field
//! that is assigned dynamic kinds holds all of them, and unknown ones if any assignment does not spell them out.

use std::collections::{BTreeMap, BTreeSet};

use syn::Item;

use super::foreign::Kube;
use super::runs::{Live, RunId, Weight};
use super::table;
use super::types::Ty;
use crate::source::{ItemRef, SourceTree};

/// A field of a struct, or `Variant.field` of an enum.
type FieldRef = (ItemRef, String);

/// The value of one assignment, as far as namespaces go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Own,
    /// A client of another cluster.
    Elsewhere,
    Other,
}

#[derive(Debug, Default)]
pub(super) struct FieldTable {
    /// Types of assigned values that are more precise than the declared ones, from the last pass.
    values: BTreeMap<FieldRef, Ty>,
    /// The fields that hold the own namespace or a client of another cluster, from the last pass.
    certain: BTreeMap<FieldRef, Ty>,
    /// The assignments of this pass.
    sources: BTreeMap<FieldRef, BTreeSet<(Source, Option<RunId>)>>,
    /// The assigned values of this pass, joined for each run.
    assigned: BTreeMap<FieldRef, BTreeMap<Option<RunId>, Ty>>,
    /// Names of fields that are assigned through a value of unknown type.
    tainted: BTreeSet<String>,
}

impl FieldTable {
    pub(super) fn start(&mut self) {
        (self.assigned, self.sources, self.tainted) = Default::default();
    }

    /// Ends a pass. True when another one may find more.
    pub(super) fn finish(&mut self, tree: &SourceTree, live: &Live) -> bool {
        let certain = |(field, sources): (&FieldRef, &BTreeSet<(Source, Option<RunId>)>)| {
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
        let certain: BTreeMap<FieldRef, Ty> = self.sources.iter().filter_map(certain).collect();
        let values: BTreeMap<FieldRef, Ty> =
            self.assigned.iter().filter_map(|(field, runs)| Some((field.clone(), joined(runs, live)?))).collect();
        let changed = values != self.values || certain != self.certain;
        (self.certain, self.values) = (certain, values);
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
        let closed = value.map(&|part| match part {
            Ty::Infer(_) => Some(Ty::Unknown),
            part if part.is_known_text() => Some(part.general()),
            _ => None,
        });
        let known = self.assigned.entry(key).or_default().entry(run).or_insert(Ty::Never);
        *known = known.join(&closed);
    }

    /// Notes an assignment to a field of this name, on a value of unknown type.
    pub(super) fn taint(&mut self, field: &str) {
        self.tainted.insert(field.to_owned());
    }

    /// The value of a field, beyond its type.
    pub(super) fn get(&self, item: ItemRef, field: &str) -> Ty {
        let key = (item, field.to_owned());
        self.certain.get(&key).or_else(|| self.values.get(&key)).cloned().unwrap_or(Ty::Unknown)
    }
}

/// The values of all runs that count, or else of all runs; `None` if they say no more than the declared type.
fn joined(runs: &BTreeMap<Option<RunId>, Ty>, live: &Live) -> Option<Ty> {
    let telling = |ty: &Ty| matches!(ty, Ty::Dynamic(_)) || matches!(ty, Ty::Api(_, reach) if !reach.is_empty());
    let join = |values: Vec<&Ty>| values.into_iter().fold(Ty::Never, |all, value| all.join(value));
    let counted = runs.iter().filter(|(run, _)| live.weight(**run) == Weight::Counts).map(|(_, value)| value).collect();
    let joined = match join(counted) {
        Ty::Never => join(runs.values().collect()),
        counted => counted,
    };
    joined.any(&telling).then_some(joined)
}

/// The name of a field without the variant.
fn last(field: &str) -> &str {
    field.rsplit('.').next().unwrap_or(field)
}

/// Returns true if no derive constructs values of the type.
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
