//! A struct or enum of the user → [`Container`]: serde's names, the attributes of schemars, defaults evaluated.

use proc_macro2::Span;
use quote::ToTokens;
use serde_derive_internals::ast::{Data, Style};
use serde_derive_internals::attr::{Default as SerdeDefault, TagType};
use serde_derive_internals::{Ctxt, Derive as SerdeDerive, ast};
use syn::spanned::Spanned as _;
use syn::{Attribute, DeriveInput, Fields, WherePredicate};

use crate::diagnostic::{Code, Origin};
use crate::schema::{Constraints, Container, Meta, SchemaShape, Tag, TypeId, Unknown, Variant, VariantData};
use crate::source::ModuleId;
use crate::source::macros::says;

use super::describer::{Describer, Reported};
use super::kube_rules::without_skipped;
use super::schema_source::SchemaSource;
use crate::api::attribute::effective;
use crate::api::canonical::{DESERIALIZE, SERIALIZE};
use crate::api::schemars_attr::{ContainerAttrs, FieldAttrs, OwnerAttrs, VariantAttrs, With};
use crate::api::serde_type::serde_type;
use crate::api::types::{Refusal, TypeScope, UserType};

impl Describer<'_> {
    pub(super) fn container(
        &mut self,
        user: &UserType,
        mut input: DeriveInput,
        source: SchemaSource,
    ) -> Result<Container, Reported> {
        // Collect every error before giving up.
        let scope = &user.scope;
        let mut clean = self.serde_attributes(user, &input).is_ok();
        let validated = match source {
            SchemaSource::JsonSchema | SchemaSource::Code => None,
            SchemaSource::KubeSchema => {
                let validated = self.kube_schema(scope, &mut input);
                clean &= validated.is_ok();
                validated.ok()
            }
        };
        let ident = input.ident.to_string();
        let input = match effective(input) {
            Ok(input) => input,
            Err(error) => {
                let reported = self.refuse_syntax(Code::SchemarsAttribute, scope.module, error);
                self.parts(user);
                return Err(reported);
            }
        };
        let cont = match self.serde_type(scope.module, &input, SerdeDerive::Deserialize) {
            Ok(cont) => cont,
            Err(reported) => {
                self.parts(user);
                return Err(reported);
            }
        };
        let (attrs, understood) = self.schemars_attrs::<ContainerAttrs>(scope, &input.attrs);
        if !understood && replaces(&input.attrs) {
            return Err(Reported);
        }
        clean &= understood;
        if let Some(path) = &attrs.ref_variants {
            let message = "`_unstable_ref_variants` makes references, which a CRD must not have";
            self.refuse(Refusal::new(Code::SchemarsAttribute, scope, path.span(), message));
        }
        let name = match (&attrs.rename, cont.attrs.remote()) {
            (Some(rename), _) if rename.value().contains('{') => {
                let message = "a name with type parameters is not supported";
                return Err(self.refuse(Refusal::new(Code::SchemarsAttribute, scope, rename.span(), message)));
            }
            (None, Some(remote)) => remote.segments.last().map(|last| last.ident.to_string()).unwrap_or_default(),
            _ => cont.attrs.name().deserialize_name().value.clone(),
        };
        // `KubeSchema` implements the trait for the type itself, with the help of a copy.
        let (name, id, inline) = match source {
            SchemaSource::KubeSchema => {
                let name = self.kube_schema_name(&ident);
                (name.clone(), name.into(), true)
            }
            SchemaSource::JsonSchema | SchemaSource::Code => {
                let id = self.types.schema_id(scope, &cont, &name);
                (name, id, attrs.inline)
            }
        };
        let meta = self.meta(scope, &attrs.common);
        clean &= meta.is_ok();
        let meta = meta.unwrap_or_default();
        let validated = validated.map(|validated| without_skipped(validated, &cont));
        if let (Some(validated), ast::Data::Struct(_, fields)) = (&validated, &cont.data) {
            let read: Vec<&ast::Field<'_>> = fields.iter().filter(|field| !field.attrs.skip_deserializing()).collect();
            for (index, ..) in &validated.fields {
                if read[*index].attrs.flatten() {
                    let message = "which property gets the rules of a flattened field is not decided";
                    self.refuse(Refusal::new(Code::KubeAttribute, scope, place(read[*index].original), message));
                }
            }
        }
        let fields = cont.data.all_fields().filter(|field| !field.attrs.skip_deserializing());
        let bounds = fields.filter_map(|field| field.attrs.de_bound()).chain(cont.attrs.de_bound()).flatten().cloned();
        let bounds: Vec<WherePredicate> = bounds.collect();
        let shape = self.shape_of(scope, &bounds, &cont, attrs.common.with.as_ref(), &meta)?;
        clean.then_some(Container { name, id, inline, shape, meta, validated }).ok_or(Reported)
    }

    /// Checks the field types of a type with invalid attributes.
    fn parts(&mut self, user: &UserType) {
        let (scope, Some(input)) = (&user.scope, self.types.derive_input(user.item)) else { return };
        let variants: Vec<(&[Attribute], &Fields)> = match &input.data {
            syn::Data::Struct(data) => vec![(&[], &data.fields)],
            syn::Data::Enum(data) => {
                data.variants.iter().map(|variant| (variant.attrs.as_slice(), &variant.fields)).collect()
            }
            syn::Data::Union(_) => Vec::new(),
        };
        if replaces(&input.attrs) {
            return;
        }
        let fields =
            variants.into_iter().filter(|(attributes, _)| !replaces(attributes)).flat_map(|(_, fields)| fields);
        for field in fields.filter(|field| !replaces(&field.attrs)) {
            let name = field.ident.as_ref().map(ToString::to_string);
            self.path.extend(name.clone());
            let ty = self.evaluate(|eval| eval.ty(scope, &field.ty));
            self.use_type(ty, (scope.module, field.ty.span()));
            self.path.truncate(self.path.len() - usize::from(name.is_some()));
        }
    }

    /// The type as one of serde's derives sees it. Errors in its attributes are reported.
    pub(in crate::api) fn serde_type<'i>(
        &mut self,
        module: ModuleId,
        input: &'i DeriveInput,
        derive: SerdeDerive,
    ) -> Result<ast::Container<'i>, Reported> {
        serde_type(input, derive).map_err(|error| self.refuse_syntax(Code::SerdeAttribute, module, error))
    }

    /// Checks attributes that only serde's own derives see. A mistake in one of them does not compile.
    fn serde_attributes(&mut self, user: &UserType, input: &DeriveInput) -> Result<(), Reported> {
        let mut checked = false;
        for (canonical, derive) in [(DESERIALIZE, SerdeDerive::Deserialize), (SERIALIZE, SerdeDerive::Serialize)] {
            if !checked && self.types.derives_trait(user.item, canonical) {
                let container = self.serde_type(user.scope.module, input, derive)?;
                // serde's parser distinguishes the derives only for `transparent`.
                checked = !container.attrs.transparent();
            }
        }
        Ok(())
    }

    /// Reads the attributes of schemars. The flag is false if an attribute was refused.
    pub(super) fn schemars_attrs<A: OwnerAttrs>(&mut self, scope: &TypeScope, attributes: &[Attribute]) -> (A, bool) {
        let mut clean = self.decided(scope, attributes);
        let errors = Ctxt::new();
        let attrs = A::read(attributes, &errors);
        if let Err(error) = errors.check() {
            self.refuse_syntax(Code::SchemarsAttribute, scope.module, error);
            clean = false;
        }
        if let Some(transform) = attrs.common().transforms.first() {
            let refusal = Refusal::new(Code::SchemaCode, scope, transform.span(), "`transform = …` runs code")
                .help("use `extend(…)` instead");
            self.refuse(refusal);
        }
        (attrs, clean)
    }

    fn shape_of(
        &mut self,
        scope: &TypeScope,
        bounds: &[WherePredicate],
        cont: &ast::Container<'_>,
        with: Option<&With>,
        meta: &Meta,
    ) -> Result<SchemaShape, Reported> {
        if let Some(with) = with {
            let ty = self.with(scope, with)?;
            let plain = matches!(with, With::Type(_)) && meta.is_default();
            return Ok(if plain { SchemaShape::Transparent(ty) } else { SchemaShape::With(ty) });
        }
        let deny = if cont.attrs.deny_unknown_fields() { Unknown::Deny } else { Unknown::Allow };
        let container_default = cont.attrs.default();
        if let Data::Struct(_, fields) = &cont.data
            && cont.attrs.transparent()
            && let Some(inner) = fields.iter().find(|field| field.attrs.transparent())
        {
            let field = self.field(scope, bounds, inner, None)?;
            let errors = Ctxt::new();
            let own_type = FieldAttrs::read(&inner.original.attrs, &errors).common.with.is_none();
            let plain = errors.check().is_ok()
                && own_type
                && meta.is_default()
                && field.meta.is_default()
                && field.constraints == Constraints::default();
            return Ok(if plain { SchemaShape::Transparent(field.ty) } else { SchemaShape::Newtype(Box::new(field)) });
        }
        if let Some(from) = cont.attrs.type_from().or(cont.attrs.type_try_from()) {
            let from = from.clone();
            let ty = self.evaluate(|eval| eval.ty(scope, &from));
            self.use_type(ty, (scope.module, from.span()));
            return Ok(SchemaShape::With(ty));
        }
        Ok(match &cont.data {
            Data::Struct(Style::Unit, _) => SchemaShape::Unit,
            Data::Struct(Style::Newtype, fields) => {
                SchemaShape::Newtype(Box::new(self.field(scope, bounds, &fields[0], None)?))
            }
            Data::Struct(Style::Tuple, fields) => {
                SchemaShape::Tuple(self.fields(scope, bounds, fields, &SerdeDefault::None)?)
            }
            Data::Struct(Style::Struct, fields) => {
                SchemaShape::Struct(self.fields(scope, bounds, fields, container_default)?, deny)
            }
            Data::Enum(variants) => {
                let tag = match cont.attrs.tag() {
                    TagType::External => Tag::External,
                    TagType::Internal { tag } => Tag::Internal(tag.clone()),
                    TagType::Adjacent { tag, content } => Tag::Adjacent(tag.clone(), content.clone()),
                    TagType::None => Tag::None,
                };
                // Check every variant before a failure ends the description.
                let described: Vec<Result<Variant, Reported>> =
                    variants.iter().map(|variant| self.variant_of(scope, bounds, variant)).collect();
                SchemaShape::Enum(tag, described.into_iter().collect::<Result<_, _>>()?, deny)
            }
        })
    }

    fn variant_of(
        &mut self,
        scope: &TypeScope,
        bounds: &[WherePredicate],
        variant: &ast::Variant<'_>,
    ) -> Result<Variant, Reported> {
        let (VariantAttrs { common }, clean) = self.schemars_attrs(scope, &variant.original.attrs);
        let meta = self.meta(scope, &common);
        if !clean && replaces(&variant.original.attrs) {
            return Err(Reported);
        }
        let skipped = variant.attrs.skip_deserializing();
        let name = variant.attrs.name().deserialize_name().value.clone();
        self.path.push(name.clone());
        let data = match (variant.style, skipped) {
            (Style::Unit, _) => Ok(VariantData::Unit),
            // The content of a skipped variant is not read; the variant only counts as one with data.
            (_, true) => Ok(VariantData::Tuple(Vec::new())),
            (Style::Newtype, false) => {
                self.field(scope, bounds, &variant.fields[0], None).map(|field| VariantData::Newtype(Box::new(field)))
            }
            (Style::Tuple, false) => {
                self.fields(scope, bounds, &variant.fields, &SerdeDefault::None).map(VariantData::Tuple)
            }
            (Style::Struct, false) => {
                self.fields(scope, bounds, &variant.fields, &SerdeDefault::None).map(VariantData::Struct)
            }
        };
        let with = common.with.as_ref().map(|with| self.with(scope, with)).transpose();
        self.path.pop();
        let with = with?;
        let origin = self.origin(scope, variant.original.ident.span());
        let variant =
            Variant { name, data: data?, with, untagged: variant.attrs.untagged(), skipped, meta: meta?, origin };
        clean.then_some(variant).ok_or(Reported)
    }

    /// Returns the place of a span; `None` if its file is not in the tree.
    pub(in crate::api) fn origin(&self, scope: &TypeScope, span: Span) -> Option<Origin> {
        scope.k8s.is_none().then(|| self.tree.origin(scope.module, span))
    }

    pub(in crate::api) fn with(&mut self, scope: &TypeScope, with: &With) -> Result<TypeId, Reported> {
        match with {
            With::Type(ty) => {
                let id = self.evaluate(|eval| eval.ty(scope, ty));
                self.use_type(id, (scope.module, ty.span()));
                Ok(id)
            }
            With::Function(path) => self.schema_with(scope, path),
        }
    }
}

/// The span of `name: Type`, without attributes and visibility.
pub(super) fn place(field: &syn::Field) -> Span {
    let ty = field.ty.span();
    field.ident.as_ref().map_or(ty, |name| name.span().join(ty).unwrap_or(ty))
}

/// Returns true if the attributes may replace the schema of the type. The type is not read if they are not understood.
pub(super) fn replaces(attributes: &[Attribute]) -> bool {
    const KEYS: [&str; 9] =
        ["from", "into", "remote", "schema_with", "skip", "skip_deserializing", "transparent", "try_from", "with"];
    let read =
        attributes.iter().filter(|attribute| ["serde", "schemars"].iter().any(|name| attribute.path().is_ident(name)));
    read.into_iter().any(|attribute| says(attribute.to_token_stream(), |word| KEYS.contains(&word)))
}
