//! Fields: their types as they are declared, and what they hold beyond that.
//!
//! A field whose every assignment in the tree is the own namespace holds the own namespace. What a constructor is given
//! counts where it is called; if nobody calls it, or anything else is assigned, nothing is known of the field.

use std::collections::{BTreeMap, BTreeSet};

use syn::Item;

use super::foreign::{Foreign, Kube};
use super::frame::Location;
use super::lower::NameScope;
use super::read::{DEREFS, Reader};
use super::runs::{Live, RunId, Weight};
use super::table;
use super::types::Ty;
use crate::k8s;
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

impl Reader<'_> {
    /// The type of a field of a struct, or of a variant of an enum.
    pub(super) fn field_in(&mut self, owner: &Ty, variant: Option<&str>, field: &str) -> Ty {
        let Some(variant) = variant else { return self.field(owner, field) };
        let tree = self.tree;
        let Ty::Item(item, arguments) = owner else { return Ty::Unknown };
        let Item::Enum(declared) = tree.item(*item) else { return Ty::Unknown };
        let Some(found) = declared.variants.iter().find(|found| found.ident == variant) else { return Ty::Unknown };
        let known = self.fields.get(*item, &format!("{variant}.{field}"));
        let found = self.declared_field(*item, &declared.generics, arguments, &found.fields, field);
        found.unwrap_or(Ty::Unknown).refine(&known)
    }

    pub(super) fn field(&mut self, ty: &Ty, name: &str) -> Ty {
        match self.resolve(ty) {
            tuple @ Ty::Tuple(_) => name.parse().map_or(Ty::Unknown, |position| tuple.part(position)),
            Ty::Many(element) if name == "items" => Ty::Many(element),
            // What `Client::default_namespace` says, too: kube-client/src/config/mod.rs.
            Ty::Foreign(Foreign::Kube(Kube::Config), _) if name == "default_namespace" => Ty::OwnNamespace,
            Ty::Root(item) => {
                let scope = NameScope::new(self.tree.module(item));
                match name {
                    "spec" => self.types.lower_item(item, Vec::new()),
                    "status" => {
                        let status = k8s::custom_resource(self.tree, item).and_then(|found| found.status);
                        let path = status.and_then(|status| syn::parse_str::<syn::Path>(&status).ok());
                        path.map_or(Ty::Unknown, |path| self.types.lower_path(&scope, &path))
                    }
                    _ => Ty::Unknown,
                }
            }
            Ty::Item(item, arguments) => {
                let tree = self.tree;
                let Item::Struct(declared) = tree.item(item) else { return Ty::Unknown };
                let known = self.fields.get(item, name);
                let found = self.declared_field(item, &declared.generics, &arguments, &declared.fields, name);
                if let (None, true, Some(inner)) =
                    (&found, self.types.depth <= DEREFS, self.types.deref(&Ty::Item(item, arguments)))
                {
                    self.types.depth += 1;
                    let found = self.field(&inner, name);
                    self.types.depth -= 1;
                    return found;
                }
                found.unwrap_or(Ty::Unknown).refine(&known)
            }
            _ => Ty::Unknown,
        }
    }

    fn declared_field(
        &mut self,
        item: ItemRef,
        generics: &syn::Generics,
        arguments: &[Ty],
        fields: &syn::Fields,
        name: &str,
    ) -> Option<Ty> {
        let mut scope = NameScope::new(self.tree.module(item));
        scope.itself = Some(Ty::Item(item, arguments.to_vec()));
        scope.generics = self.types.bind_generics(&scope, generics, arguments);
        let field = fields.iter().enumerate().find(|(position, field)| match &field.ident {
            Some(ident) => ident == name,
            None => position.to_string() == name,
        });
        field.map(|(_, field)| {
            let ty = self.types.lower(&scope, &field.ty);
            let location = Location { module: scope.module, span: syn::spanned::Spanned::span(field) };
            let (variable, flag) = argument_of(field);
            let known = flag.and_then(|flag| self.flag_value(&flag));
            let known = known.or_else(|| variable.and_then(|variable| self.variable_value(location, &variable)));
            known.map_or(ty.clone(), |known| ty.refine(&known))
        })
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

/// The environment variable and the flag that a field is by an attribute of clap: `#[arg(long, env = "POD_NAMESPACE")]`.
fn argument_of(field: &syn::Field) -> (Option<String>, Option<String>) {
    let parsers = field
        .attrs
        .iter()
        .filter(|attribute| ["arg", "clap", "structopt"].iter().any(|name| attribute.path().is_ident(name)));
    let (mut variable, mut flag) = (None, None);
    for list in parsers.filter_map(|attribute| attribute.meta.require_list().ok()) {
        let tokens: Vec<_> = list.tokens.clone().into_iter().map(|token| token.to_string()).collect();
        for at in 0..tokens.len() {
            let value = tokens.get(at + 2).filter(|_| tokens.get(at + 1).is_some_and(|token| token == "="));
            let value = value.map(|value| value.trim_matches('"').to_owned());
            match tokens[at].as_str() {
                "env" => variable = variable.or(value),
                "long" => {
                    let name = field.ident.as_ref().map(|name| name.to_string().replace('_', "-"));
                    flag = value.or(name).map(|name| format!("--{name}"));
                }
                _ => {}
            }
        }
    }
    (variable, flag)
}
