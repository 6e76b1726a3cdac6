//! A struct or enum of the user → [`Container`]: serde's names, the attributes of schemars, defaults evaluated.

use proc_macro2::{Span, TokenTree};
use quote::ToTokens;
use serde_derive_internals::ast::{self, Data, Style};
use serde_derive_internals::attr::{Default as SerdeDefault, TagType};
use serde_derive_internals::{Ctxt, Derive as SerdeDerive};
use serde_json::Value;
use syn::spanned::Spanned as _;
use syn::{Attribute, DeriveInput, Fields, Item, Type as SynType};

use crate::diagnostic::{Code, Origin};
use crate::schema::release::Change;
use crate::schema::{
    Constraints, Container, Field, Meta, Shape, Tag, TypeId, Unknown, Validated, Variant, VariantData,
};
use crate::source::ModuleId;

use super::attribute::effective;
use super::bound::Provable;
use super::kube_attr::{KubeSchemaAttrs, KubeSchemaFieldAttrs};
use super::kube_schema::hidden_name;
use super::maker::Maker;
use super::schemars_attr::{Place, SchemarsAttrs, With};
use super::serde_type::serde_type;
use super::types::{Refusal, Scope, Types, UserType};
use super::value::Val;

impl Types<'_> {
    pub(super) fn container(&mut self, user: &UserType, mut input: DeriveInput, maker: Maker) -> Option<Container> {
        // What is wrong is told to the end: the answer is none only then.
        let scope = &user.scope;
        let mut clean = self.serde_attributes(user, &input).is_some();
        let validated = match maker {
            Maker::JsonSchema | Maker::Code => None,
            Maker::KubeSchema => {
                let validated = self.kube_schema(scope, &mut input);
                clean &= validated.is_some();
                validated
            }
        };
        let ident = input.ident.to_string();
        let input = match effective(input) {
            Ok(input) => input,
            Err(error) => {
                self.refuse_syntax(Code::SchemarsAttribute, scope.module, error);
                self.parts(user);
                return None;
            }
        };
        let Some(cont) = self.serde_type(scope.module, &input, SerdeDerive::Deserialize) else {
            self.parts(user);
            return None;
        };
        let (attrs, understood) = self.schemars_attrs(scope, &input.attrs, Place::Container);
        if !understood && replaces(&input.attrs) {
            return None;
        }
        clean &= understood;
        if let Some(path) = &attrs.ref_variants {
            let message = "`_unstable_ref_variants` makes references, which no CRD may have";
            self.refuse(Refusal::new(Code::SchemarsAttribute, scope, path.span(), message));
        }
        let name = match (&attrs.rename, cont.attrs.remote()) {
            (Some(rename), _) if rename.value().contains('{') => {
                let message = "a name with type parameters is not read";
                self.refuse(Refusal::new(Code::SchemarsAttribute, scope, rename.span(), message));
                return None;
            }
            (None, Some(remote)) => remote.segments.last().map(|last| last.ident.to_string()).unwrap_or_default(),
            _ => cont.attrs.name().deserialize_name().value.clone(),
        };
        // The impl of `KubeSchema` is written for the type itself, that of a copy is behind it.
        let (name, id, inline) = match maker {
            Maker::KubeSchema => {
                let name = self.kube_schema_name(&ident);
                (name.clone(), name.into(), true)
            }
            Maker::JsonSchema | Maker::Code => {
                let id = self.schema_id(scope, &cont, &name);
                (name, id, attrs.inline)
            }
        };
        let meta = self.meta(scope, &attrs);
        clean &= meta.is_some();
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
        let around = std::mem::replace(&mut self.bounds, bounds.collect());
        let shape = self.shape_of(scope, &cont, &attrs, &meta);
        self.bounds = around;
        let shape = shape?;
        clean.then_some(Container { name, id, inline, shape, meta, validated })
    }

    /// Looks at the types of the fields of a type whose attributes are wrong.
    fn parts(&mut self, user: &UserType) {
        let (scope, Some(input)) = (&user.scope, self.derive_input(user.item)) else { return };
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
            let ty = self.ty(scope, &field.ty);
            self.use_type(ty, (scope.module, field.ty.span()));
            self.path.truncate(self.path.len() - usize::from(name.is_some()));
        }
    }

    /// The type as one of serde's derives sees it; what is wrong with it is reported.
    fn serde_type<'i>(
        &mut self,
        module: ModuleId,
        input: &'i DeriveInput,
        derive: SerdeDerive,
    ) -> Option<ast::Container<'i>> {
        serde_type(input, derive).map_err(|error| self.refuse_syntax(Code::SerdeAttribute, module, error)).ok()
    }

    /// Serde's own derives see attributes that schemars leaves out; a mistake in one of those does not compile.
    fn serde_attributes(&mut self, user: &UserType, input: &DeriveInput) -> Option<()> {
        let mut checked = false;
        for (canonical, derive) in
            [("serde::Deserialize", SerdeDerive::Deserialize), ("serde::Serialize", SerdeDerive::Serialize)]
        {
            if !checked && self.derives_trait(user.item, canonical) {
                let container = self.serde_type(user.scope.module, input, derive)?;
                // Of which derive it is matters to serde's parser for `transparent` only.
                checked = !container.attrs.transparent();
            }
        }
        Some(())
    }

    /// The name that `KubeSchema` gives the schema of a type.
    pub(super) fn kube_schema_name(&self, ident: &str) -> String {
        let suffix = if self.graph.releases.has(Change::RootTitle) { "" } else { "Validated" };
        format!("{ident}{suffix}")
    }

    /// Reads `#[x_kube(…)]` and keeps of the other attributes what `KubeSchema` hands on.
    fn kube_schema(&mut self, scope: &Scope, input: &mut DeriveInput) -> Option<Validated> {
        use darling::{FromDeriveInput as _, FromField as _};
        let mut clean = true;
        if let Some(name) = hidden_name(input) {
            let message = format!("`{name}` means something else in the code of `KubeSchema` than here");
            let refusal = Refusal::new(Code::KubeAttribute, scope, name.span(), message);
            self.refuse(refusal.help(format!("write the path: `self::{name}`")));
            clean = false;
        }
        let rules = match KubeSchemaAttrs::from_derive_input(input) {
            Ok(attrs) => self.rules(scope, &attrs.validations),
            Err(errors) => {
                self.refuse_keys(scope, &input.ident, errors);
                None
            }
        };
        clean &= rules.is_some();
        let keep = |attributes: &mut Vec<Attribute>| {
            attributes.retain(|attribute| {
                ["serde", "schemars", "doc", "validate", "cfg", "cfg_attr"]
                    .iter()
                    .any(|name| attribute.path().is_ident(name))
            });
        };
        keep(&mut input.attrs);
        let mut validated = Validated { rules: rules.unwrap_or_default(), fields: Vec::new() };
        let named = match &mut input.data {
            syn::Data::Struct(syn::DataStruct { fields: Fields::Named(fields), .. }) => &mut fields.named,
            _ => return clean.then_some(validated),
        };
        for (index, field) in named.iter_mut().enumerate() {
            let attrs = KubeSchemaFieldAttrs::from_field(field);
            keep(&mut field.attrs);
            let attrs = match attrs {
                Ok(attrs) => attrs,
                Err(errors) => {
                    self.refuse_keys(scope, &field.ident, errors);
                    clean = false;
                    continue;
                }
            };
            let rules = self.rules(scope, &attrs.validations);
            let merge = attrs.merge_strategy.as_ref().map(|expr| self.merge_strategy(scope, expr));
            let (Some(rules), Ok(merge)) = (rules, merge.map(|merge| merge.ok_or(())).transpose()) else {
                clean = false;
                continue;
            };
            if !rules.is_empty() || merge.is_some() {
                validated.fields.push((index, rules, merge));
            }
        }
        let container_default = input.attrs.iter().find(|attribute| {
            attribute.path().is_ident("serde") && attribute.to_token_stream().to_string().contains("default")
        });
        if let (Some(attribute), false) = (container_default, validated.fields.is_empty()) {
            let message = "`KubeSchema` with rules on fields does not compile beside a default of the whole struct";
            self.refuse(Refusal::new(Code::KubeAttribute, scope, attribute.span(), message));
            clean = false;
        }
        clean.then_some(validated)
    }

    /// What is understood of them, and whether that is all.
    fn schemars_attrs(&mut self, scope: &Scope, attributes: &[Attribute], place: Place) -> (SchemarsAttrs, bool) {
        let mut clean = self.decided(scope, attributes);
        let errors = Ctxt::new();
        let attrs = SchemarsAttrs::read(attributes, place, &errors);
        if let Err(error) = errors.check() {
            self.refuse_syntax(Code::SchemarsAttribute, scope.module, error);
            clean = false;
        }
        if let Some(transform) = attrs.transforms.first() {
            let refusal = Refusal::new(Code::SchemaCode, scope, transform.span(), "`transform = …` runs code")
                .help("say it with `extend(…)`");
            self.refuse(refusal);
        }
        (attrs, clean)
    }

    fn shape_of(
        &mut self,
        scope: &Scope,
        cont: &ast::Container<'_>,
        attrs: &SchemarsAttrs,
        meta: &Meta,
    ) -> Option<Shape> {
        if let Some(with) = &attrs.with {
            let ty = self.with(scope, with)?;
            let plain = matches!(with, With::Type(_)) && meta.is_default();
            return Some(if plain { Shape::Transparent(ty) } else { Shape::With(ty) });
        }
        let deny = if cont.attrs.deny_unknown_fields() { Unknown::Deny } else { Unknown::Allow };
        let container_default = cont.attrs.default();
        if let Data::Struct(_, fields) = &cont.data
            && cont.attrs.transparent()
            && let Some(inner) = fields.iter().find(|field| field.attrs.transparent())
        {
            let field = self.field(scope, inner, None)?;
            let errors = Ctxt::new();
            let own_type = SchemarsAttrs::read(&inner.original.attrs, Place::Field, &errors).with.is_none();
            let plain = errors.check().is_ok()
                && own_type
                && meta.is_default()
                && field.meta.is_default()
                && field.constraints == Constraints::default();
            return Some(if plain { Shape::Transparent(field.ty) } else { Shape::Newtype(Box::new(field)) });
        }
        if let Some(from) = cont.attrs.type_from().or(cont.attrs.type_try_from()) {
            let from = from.clone();
            let ty = self.ty(scope, &from);
            self.use_type(ty, (scope.module, from.span()));
            return Some(Shape::With(ty));
        }
        Some(match &cont.data {
            Data::Struct(Style::Unit, _) => Shape::Unit,
            Data::Struct(Style::Newtype, fields) => Shape::Newtype(Box::new(self.field(scope, &fields[0], None)?)),
            Data::Struct(Style::Tuple, fields) => Shape::Tuple(self.fields(scope, fields, &SerdeDefault::None)?),
            Data::Struct(Style::Struct, fields) => Shape::Struct(self.fields(scope, fields, container_default)?, deny),
            Data::Enum(variants) => {
                let tag = match cont.attrs.tag() {
                    TagType::External => Tag::External,
                    TagType::Internal { tag } => Tag::Internal(tag.clone()),
                    TagType::Adjacent { tag, content } => Tag::Adjacent(tag.clone(), content.clone()),
                    TagType::None => Tag::None,
                };
                let mut complete = true;
                let mut described = Vec::new();
                for variant in variants {
                    match self.variant_of(scope, variant) {
                        Some(variant) => described.push(variant),
                        None => complete = false,
                    }
                }
                if !complete {
                    return None;
                }
                Shape::Enum(tag, described, deny)
            }
        })
    }

    fn variant_of(&mut self, scope: &Scope, variant: &ast::Variant<'_>) -> Option<Variant> {
        let (attrs, clean) = self.schemars_attrs(scope, &variant.original.attrs, Place::Variant);
        let meta = self.meta(scope, &attrs);
        if !clean && replaces(&variant.original.attrs) {
            return None;
        }
        let skipped = variant.attrs.skip_deserializing();
        let name = variant.attrs.name().deserialize_name().value.clone();
        self.path.push(name.clone());
        let data = match (variant.style, skipped) {
            (Style::Unit, _) => Some(VariantData::Unit),
            // Nothing of a skipped variant is looked at, except that it is not a plain name.
            (_, true) => Some(VariantData::Tuple(Vec::new())),
            (Style::Newtype, false) => {
                self.field(scope, &variant.fields[0], None).map(|field| VariantData::Newtype(Box::new(field)))
            }
            (Style::Tuple, false) => self.fields(scope, &variant.fields, &SerdeDefault::None).map(VariantData::Tuple),
            (Style::Struct, false) => self.fields(scope, &variant.fields, &SerdeDefault::None).map(VariantData::Struct),
        };
        let with = attrs.with.as_ref().map(|with| self.with(scope, with));
        self.path.pop();
        let with = match with {
            Some(with) => Some(with?),
            None => None,
        };
        let origin = self.origin(scope, variant.original.ident.span());
        let variant =
            Variant { name, data: data?, with, untagged: variant.attrs.untagged(), skipped, meta: meta?, origin };
        clean.then_some(variant)
    }

    fn fields(
        &mut self,
        scope: &Scope,
        fields: &[ast::Field<'_>],
        container_default: &SerdeDefault,
    ) -> Option<Vec<Field>> {
        let mut described = Vec::new();
        let mut complete = true;
        let mut whole = None;
        for (index, field) in fields.iter().enumerate() {
            if field.attrs.skip_deserializing() {
                // Only a field that is skipped both ways keeps its `cfg` out of sight.
                complete &= self.decided(scope, &field.original.attrs);
                continue;
            }
            let needs = !field.attrs.flatten() && !field.attrs.skip_serializing() && field.attrs.default().is_none();
            let default = match container_default {
                SerdeDefault::None => None,
                _ if !needs => Some(ContainerDefault::Unused),
                container => {
                    let value = whole.get_or_insert_with(|| self.container_default(scope, container));
                    Some(value.as_ref().map_or(ContainerDefault::Refused, |values| {
                        values
                            .get(index)
                            .map_or(ContainerDefault::Refused, |value| ContainerDefault::Value(value.clone()))
                    }))
                }
            };
            match self.field(scope, field, default) {
                Some(field) => described.push(field),
                None => complete = false,
            }
        }
        complete.then_some(described)
    }

    /// The values of the fields when the whole struct has a default.
    fn container_default(&mut self, scope: &Scope, default: &SerdeDefault) -> Option<Vec<Val>> {
        let this = scope.this?;
        let item = self.user(this)?.item;
        let ident = self.derive_input(item)?.ident;
        let value = match default {
            SerdeDefault::Path(path) => self.call_path(scope, path, this),
            SerdeDefault::Default | SerdeDefault::None => {
                self.default_called(scope, &syn::parse_quote!(Self), &ident, this)
            }
        };
        match value {
            Ok(Val::Struct(id, values)) if id == this => Some(values),
            Ok(_) => {
                let message = "the default of the whole struct is not its own value";
                self.refuse(Refusal::new(Code::DefaultValue, scope, ident.span(), message));
                None
            }
            Err(refusal) => {
                self.refuse_default(refusal);
                None
            }
        }
    }

    fn refuse_default(&mut self, refusal: Refusal) {
        let message = format!("default value: {}", refusal.message);
        self.refuse(Refusal { code: Code::DefaultValue, message, ..refusal });
    }

    fn field(&mut self, scope: &Scope, field: &ast::Field<'_>, container: Option<ContainerDefault>) -> Option<Field> {
        let name = field.attrs.name().deserialize_name().value.clone();
        let named = field.original.ident.is_some();
        if named && !field.attrs.flatten() {
            self.path.push(name.clone());
        }
        let described = self.field_inner(scope, field, name, container);
        if named && !field.attrs.flatten() {
            self.path.pop();
        }
        described
    }

    fn field_inner(
        &mut self,
        scope: &Scope,
        field: &ast::Field<'_>,
        name: String,
        container: Option<ContainerDefault>,
    ) -> Option<Field> {
        let attributes = &field.original.attrs;
        let (attrs, clean) = self.schemars_attrs(scope, attributes, Place::Field);
        if !clean && replaces(attributes) {
            return None;
        }
        let meta = self.meta(scope, &attrs);
        let constraints = self.constraints(scope, &attrs.constraints);
        let declared = self.ty(scope, field.ty);
        let ty = if let Some(with) = &attrs.with {
            self.with(scope, with)
        } else {
            self.use_type(declared, (scope.module, field.ty.span()));
            Some(declared)
        };
        let has_default = container.is_some() || !field.attrs.default().is_none();
        let default = if field.original.ident.is_none()
            || field.attrs.flatten()
            || field.attrs.skip_serializing()
            || !has_default
        {
            Some(None)
        } else {
            self.default(scope, field, declared, container)
        };
        let field = Field {
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
        clean.then_some(field)
    }

    /// Where something is written, unless that is in no file of the tree.
    fn origin(&self, scope: &Scope, span: Span) -> Option<Origin> {
        scope.outside.is_none().then(|| self.tree.origin(scope.module, span))
    }

    /// The `default` of a field: `Some(None)` when it has none to write, `None` when it was refused.
    #[allow(clippy::option_option, reason = "refused, absent or present")]
    fn default(
        &mut self,
        scope: &Scope,
        field: &ast::Field<'_>,
        ty: TypeId,
        container: Option<ContainerDefault>,
    ) -> Option<Option<Value>> {
        let bounds = std::mem::take(&mut self.bounds);
        let provable = self.provable(scope, field, &bounds);
        self.bounds = bounds;
        match provable {
            Provable::Yes => {}
            Provable::No => return Some(None),
            Provable::Unknown => {
                let message = "whether a default inside a generic type is written depends on what its bounds prove";
                self.refuse(
                    Refusal::new(Code::DefaultValue, scope, field.original.span(), message)
                        .help("use a type of its own instead of a generic one, or add the bound `Serialize`"),
                );
                return None;
            }
        }
        let value = match (field.attrs.default(), container) {
            (SerdeDefault::None, Some(ContainerDefault::Value(value))) => Ok(value),
            (SerdeDefault::None, _) => return None,
            (SerdeDefault::Default, _) => self.default_called(scope, field.ty, field.ty, ty),
            (SerdeDefault::Path(path), _) => self.call_path(scope, path, ty),
        };
        let item = scope.this.and_then(|this| self.user(this)).map(|user| user.item);
        let proved = item.is_some_and(|item| self.derives_trait(item, "serde::Serialize"));
        if field.attrs.serialize_with().is_none() && !self.is_serialize(ty, proved) {
            let message = format!("whether `{}` implements `Serialize` is not known", self.text(scope, field.ty));
            self.refuse_default(
                Refusal::new(Code::DefaultValue, scope, field.ty.span(), message)
                    .help("derive `Serialize`, or remove the default"),
            );
            return None;
        }
        let written = value.map_err(Refusal::of_code).and_then(|value| {
            if let Some(path) = field.attrs.skip_serializing_if()
                && self.test_path(scope, path, &value, ty).map_err(Refusal::of_code)?
            {
                return Ok(None);
            }
            if let Some(path) = field.attrs.serialize_with() {
                let message = "a function of the user writes it (`serialize_with` or `with`)";
                return Err(Refusal::new(Code::DefaultValue, scope, path.span(), message));
            }
            self.json(scope, field.ty, &value).map(Some)
        });
        match written {
            Ok(value) => Some(value),
            Err(refusal) if refusal.fails => Some(None),
            Err(refusal) => {
                self.refuse_default(refusal);
                None
            }
        }
    }

    fn with(&mut self, scope: &Scope, with: &With) -> Option<TypeId> {
        match with {
            With::Type(ty) => {
                let id = self.ty(scope, ty);
                self.use_type(id, (scope.module, ty.span()));
                Some(id)
            }
            With::Function(path) => self.schema_with(scope, path),
        }
    }

    /// The type of the root of a custom resource refers to the user's types by path.
    pub(super) fn path_ty(&mut self, scope: &Scope, path: &syn::Path) -> TypeId {
        self.ty(scope, &SynType::Path(syn::TypePath { attrs: Vec::new(), qself: None, path: path.clone() }))
    }
}

/// `name: Type`, without what stands before it.
fn place(field: &syn::Field) -> Span {
    let ty = field.ty.span();
    field.ident.as_ref().map_or(ty, |name| name.span().join(ty).unwrap_or(ty))
}

/// The attributes may say that not the type itself is described: it is not looked at where they are not understood.
fn replaces(attributes: &[Attribute]) -> bool {
    const KEYS: [&str; 9] =
        ["from", "into", "remote", "schema_with", "skip", "skip_deserializing", "transparent", "try_from", "with"];
    let read =
        attributes.iter().filter(|attribute| ["serde", "schemars"].iter().any(|name| attribute.path().is_ident(name)));
    read.flat_map(ToTokens::to_token_stream)
        .flat_map(|token| match token {
            TokenTree::Group(group) => group.stream(),
            token => token.into(),
        })
        .flat_map(|token| match token {
            TokenTree::Group(group) => group.stream(),
            token => token.into(),
        })
        .any(|token| matches!(token, TokenTree::Ident(name) if KEYS.iter().any(|key| name == key)))
}

pub(super) fn generics(item: &Item) -> Option<&syn::Generics> {
    match item {
        Item::Struct(item) => Some(&item.generics),
        Item::Enum(item) => Some(&item.generics),
        _ => None,
    }
}

/// Rules by the position among the fields that are read.
fn without_skipped(mut validated: Validated, cont: &ast::Container<'_>) -> Validated {
    let Data::Struct(_, fields) = &cont.data else { return validated };
    validated.fields.retain(|(index, _, _)| !fields[*index].attrs.skip_deserializing());
    for (index, _, _) in &mut validated.fields {
        *index -= fields[..*index].iter().filter(|field| field.attrs.skip_deserializing()).count();
    }
    validated
}

/// What a default of the whole struct says about one field.
enum ContainerDefault {
    /// The field does not write it.
    Unused,
    /// It could not be evaluated, which was reported.
    Refused,
    /// The value of the field.
    Value(Val),
}
