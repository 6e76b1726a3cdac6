//! The types of fields: as they are declared, and what is known of their values.

use syn::Item;

use super::foreign::{ForeignType, Kube};
use super::frame::Location;
use super::lower::NameScope;
use super::read::{DEREFS, FunctionReader};
use super::types::Ty;
use crate::k8s;
use crate::source::ItemRef;

impl FunctionReader<'_> {
    /// The type of a field of a struct, or of a variant of an enum.
    pub(super) fn field_in(&mut self, owner: &Ty, variant: Option<&str>, field: &str) -> Ty {
        let Some(variant) = variant else { return self.field(owner, field) };
        let Ty::Item(item, _) = owner else { return Ty::Unknown };
        let known = self.fields.get(*item, &format!("{variant}.{field}"));
        self.declared_in(owner, Some(variant), field).refine(&known)
    }

    /// The type of a field that is assigned: as it is declared, so that other assignments do not decide about this one.
    pub(super) fn declared_in(&mut self, owner: &Ty, variant: Option<&str>, field: &str) -> Ty {
        let tree = self.tree;
        let Ty::Item(item, arguments) = owner else { return self.field_in(owner, variant, field) };
        let (generics, fields) = match (tree.item(*item), variant) {
            (Item::Struct(declared), None) => (&declared.generics, &declared.fields),
            (Item::Enum(declared), Some(variant)) => {
                let Some(found) = declared.variants.iter().find(|found| found.ident == variant) else {
                    return Ty::Unknown;
                };
                (&declared.generics, &found.fields)
            }
            _ => return Ty::Unknown,
        };
        self.declared_field(*item, generics, arguments, fields, field).unwrap_or(Ty::Unknown)
    }

    pub(super) fn field(&mut self, ty: &Ty, name: &str) -> Ty {
        match self.resolve(ty) {
            tuple @ Ty::Tuple(_) => name.parse().map_or(Ty::Unknown, |position| tuple.part(position)),
            Ty::Many(element) if name == "items" => Ty::Many(element),
            // Same value as `Client::default_namespace`: kube-client/src/config/mod.rs.
            Ty::Foreign(ForeignType::Kube(Kube::Config), _) if name == "default_namespace" => Ty::OwnNamespace,
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
