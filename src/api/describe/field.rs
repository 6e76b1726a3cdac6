//! Fields, and their defaults.

use serde_derive_internals::ast;
use serde_derive_internals::attr::Default as SerdeDefault;
use serde_json::Value;
use syn::WherePredicate;
use syn::spanned::Spanned as _;

use crate::diagnostic::Code;
use crate::schema::{SchemaField, TypeId};

use super::container::{place, replaces};
use super::describer::{Describer, Reported};
use crate::api::canonical::SERIALIZE;
use crate::api::schemars_attr::FieldAttrs;
use crate::api::types::{Refusal, TypeScope};
use crate::api::value::Val;

impl Describer<'_> {
    pub(in crate::api) fn fields(
        &mut self,
        scope: &TypeScope,
        bounds: &[WherePredicate],
        fields: &[ast::Field<'_>],
        container_default: &SerdeDefault,
    ) -> Result<Vec<SchemaField>, Reported> {
        let mut described = Vec::new();
        let mut complete = true;
        let mut whole = None;
        for (index, field) in fields.iter().enumerate() {
            if field.attrs.skip_deserializing() {
                // Only a field that is skipped both ways hides its `cfg`.
                complete &= self.decided(scope, &field.original.attrs);
                continue;
            }
            let needs = !field.attrs.flatten() && !field.attrs.skip_serializing() && field.attrs.default().is_none();
            let default = match container_default {
                SerdeDefault::None => None,
                _ if !needs => Some(ContainerDefault::Unused),
                container => {
                    let values = whole.get_or_insert_with(|| self.container_default(scope, container));
                    let value = values.as_ref().ok().and_then(|values| values.get(index));
                    Some(value.map_or(ContainerDefault::Refused, |value| ContainerDefault::Value(value.clone())))
                }
            };
            match self.field(scope, bounds, field, default) {
                Ok(field) => described.push(field),
                Err(Reported) => complete = false,
            }
        }
        complete.then_some(described).ok_or(Reported)
    }

    /// The values of the fields if the whole struct has a default.
    fn container_default(&mut self, scope: &TypeScope, default: &SerdeDefault) -> Result<Vec<Val>, Reported> {
        let this = scope.this.ok_or(Reported)?;
        let item = self.types.user(this).ok_or(Reported)?.item;
        let ident = self.types.derive_input(item).ok_or(Reported)?.ident;
        let value = match default {
            SerdeDefault::Path(path) => self.evaluate(|eval| eval.call_path(scope, path, this)),
            SerdeDefault::Default | SerdeDefault::None => {
                self.evaluate(|eval| eval.default_called(scope, &syn::parse_quote!(Self), &ident, this))
            }
        };
        match value {
            Ok(Val::Struct(id, values)) if id == this => Ok(values),
            Ok(_) => {
                let message = "the default of the whole struct is not its own value";
                Err(self.refuse(Refusal::new(Code::DefaultValue, scope, ident.span(), message)))
            }
            Err(refusal) => Err(self.refuse_default(refusal)),
        }
    }

    pub(super) fn field(
        &mut self,
        scope: &TypeScope,
        bounds: &[WherePredicate],
        field: &ast::Field<'_>,
        container: Option<ContainerDefault>,
    ) -> Result<SchemaField, Reported> {
        let name = field.attrs.name().deserialize_name().value.clone();
        let named = field.original.ident.is_some();
        if named && !field.attrs.flatten() {
            self.path.push(name.clone());
        }
        let described = self.field_inner(scope, bounds, field, name, container);
        if named && !field.attrs.flatten() {
            self.path.pop();
        }
        described
    }

    fn field_inner(
        &mut self,
        scope: &TypeScope,
        bounds: &[WherePredicate],
        field: &ast::Field<'_>,
        name: String,
        container: Option<ContainerDefault>,
    ) -> Result<SchemaField, Reported> {
        let attributes = &field.original.attrs;
        let (FieldAttrs { common, constraints }, clean) = self.schemars_attrs(scope, attributes);
        if !clean && replaces(attributes) {
            return Err(Reported);
        }
        let meta = self.meta(scope, &common);
        let constraints = self.constraints(scope, &constraints);
        let declared = self.evaluate(|eval| eval.ty(scope, field.ty));
        let ty = if let Some(with) = &common.with {
            self.with(scope, with)
        } else {
            self.use_type(declared, (scope.module, field.ty.span()));
            Ok(declared)
        };
        let has_default = container.is_some() || !field.attrs.default().is_none();
        let default = if field.original.ident.is_none()
            || field.attrs.flatten()
            || field.attrs.skip_serializing()
            || !has_default
        {
            Ok(None)
        } else {
            self.default(scope, bounds, field, declared, container)
        };
        let field = SchemaField {
            name,
            ty: ty?,
            has_default,
            flatten: field.attrs.flatten(),
            read_only: field.attrs.skip_deserializing(),
            write_only: field.attrs.skip_serializing(),
            default: default?,
            meta: meta?,
            constraints: constraints?,
            origin: self.origin(scope, place(field.original)),
        };
        clean.then_some(field).ok_or(Reported)
    }

    /// The `default` of a field, if its schema has one.
    fn default(
        &mut self,
        scope: &TypeScope,
        bounds: &[WherePredicate],
        field: &ast::Field<'_>,
        ty: TypeId,
        container: Option<ContainerDefault>,
    ) -> Result<Option<Value>, Reported> {
        match self.types.provable(scope, field, bounds) {
            Some(true) => {}
            Some(false) => return Ok(None),
            None => {
                let message = "a default inside a generic type depends on the bounds of the type";
                let refusal = Refusal::new(Code::DefaultValue, scope, field.original.span(), message)
                    .help("use a non-generic type, or add the bound `Serialize`");
                return Err(self.refuse(refusal));
            }
        }
        let value = match (field.attrs.default(), container) {
            (SerdeDefault::None, Some(ContainerDefault::Value(value))) => Ok(value),
            (SerdeDefault::None, _) => return Err(Reported),
            (SerdeDefault::Default, _) => self.evaluate(|eval| eval.default_called(scope, field.ty, field.ty, ty)),
            (SerdeDefault::Path(path), _) => self.evaluate(|eval| eval.call_path(scope, path, ty)),
        };
        let item = scope.this.and_then(|this| self.types.user(this)).map(|user| user.item);
        let proved = item.is_some_and(|item| self.types.derives_trait(item, SERIALIZE));
        if field.attrs.serialize_with().is_none() && !self.types.is_serialize(ty, proved) {
            let message = format!("it is unknown if `{}` implements `Serialize`", self.types.text(scope, field.ty));
            let refusal = Refusal::new(Code::DefaultValue, scope, field.ty.span(), message);
            return Err(self.refuse_default(refusal.help("derive `Serialize`, or remove the default")));
        }
        let written = value.and_then(|value| {
            if let Some(path) = field.attrs.skip_serializing_if()
                && self.evaluate(|eval| eval.test_path(scope, path, &value, ty))?
            {
                return Ok(None);
            }
            if let Some(path) = field.attrs.serialize_with() {
                let message = "a function of the user writes it (`serialize_with` or `with`)";
                return Err(Refusal::new(Code::DefaultValue, scope, path.span(), message));
            }
            self.evaluate(|eval| eval.json(scope, field.ty, &value)).map(Some)
        });
        written.map_err(|refusal| self.refuse_default(refusal))
    }
}

/// The value of one field in the default of the whole struct.
pub(super) enum ContainerDefault {
    /// The schema of the field does not use it.
    Unused,
    /// The default could not be evaluated. The refusal was reported.
    Refused,
    /// The value of the field.
    Value(Val),
}
