//! A struct or enum of the user → [`Container`]: serde's names, the attributes of schemars, defaults evaluated.

use std::collections::BTreeMap;
use std::sync::Arc;

use proc_macro2::Span;
use quote::ToTokens;
use serde_derive_internals::ast::{self, Data, Style};
use serde_derive_internals::attr::{Default as SerdeDefault, TagType};
use serde_derive_internals::{Ctxt, Derive as SerdeDerive};
use serde_json::Value;
use syn::spanned::Spanned as _;
use syn::{Attribute, DeriveInput, Expr, Fields, Item, Type as SynType};

use crate::diagnostic::{Code, Origin};
use crate::schema::{
    Bounds, Constraints, Container, Field, Meta, Shape, Tag, Type, TypeId, Unknown, Validated, Variant, VariantData,
};
use crate::source::{ItemRef, ModuleId, Resolution};

use super::attribute::{effective, literal};
use super::kube_attr::{KubeSchemaAttrs, KubeSchemaFieldAttrs};
use super::schemars_attr::{BoundAttrs, ConstraintAttrs, Place, SchemarsAttrs, With};
use super::types::{Derive, Info, Refusal, Scope, Types, UserType};
use super::value::{Env, Val};

/// Attributes that rewrite nothing: of the language, of the derives here, and tool attributes.
pub(super) const INERT: [&str; 22] = [
    "allow",
    "automatically_derived",
    "default",
    "deny",
    "deprecated",
    "derive",
    "doc",
    "expect",
    "forbid",
    "garde",
    "kube",
    "must_use",
    "non_exhaustive",
    "path",
    "repr",
    "schemars",
    "serde",
    "validate",
    "warn",
    "x_kube",
    "cold",
    "inline",
];

/// The same for modules and crates.
const MODULE_INERT: [&str; 9] = [
    "cfg",
    "crate_name",
    "crate_type",
    "feature",
    "macro_use",
    "no_std",
    "recursion_limit",
    "type_length_limit",
    "windows_subsystem",
];

/// More structs inside each other than any API has: a generic type that contains itself with other arguments.
const NESTING: usize = 48;

/// Which derive makes the schema of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Maker {
    JsonSchema,
    KubeSchema,
    /// No derive, but an impl.
    Code,
}

/// Why a type is used: the span to report at, in a module.
pub(super) type Use = (ModuleId, Span);

impl Types<'_> {
    /// Describes a type and all that its schema reaches; refusals are reported at `at`.
    pub(super) fn use_type(&mut self, id: TypeId, at: Use) {
        if self.described.contains_key(&id) && !self.active.iter().any(|(active, _)| *active == id) {
            return;
        }
        match self.info(id) {
            Info::Known(_, arguments) => {
                for argument in arguments.clone() {
                    self.use_type(argument, at);
                }
            }
            Info::Refused(refusal) => {
                let refusal = refusal.clone();
                self.refuse(refusal);
            }
            Info::User(user) => {
                let user = user.clone();
                self.use_user_type(id, &user, at);
            }
            Info::Const(_) | Info::Described => {}
            Info::Outside(ty) => {
                let ty = ty.clone();
                self.use_outside_type(id, &ty, at);
            }
        }
    }

    fn use_user_type(&mut self, id: TypeId, user: &UserType, at: Use) {
        let Some(input) = self.derive_input(user.item) else { return };
        let (module, span) = at;
        if self.active.len() > NESTING || self.active.iter().any(|(active, _)| *active == id) {
            let refusal = Refusal {
                code: Code::RecursiveType,
                module,
                span,
                message: format!("`{}` contains itself, which no CRD can express", input.ident),
                help: Some(
                    "describe the inner value with `#[schemars(schema_with = …)]` or `with = \"serde_json::Value\"`"
                        .to_owned(),
                ),
                fails: false,
            };
            return self.refuse(refusal);
        }
        self.described.insert(id, true);
        if !self.modules(&user.scope) {
            return;
        }
        let Some(maker) = self.maker(user, &input, at) else { return };
        let by_hand = match maker {
            Maker::Code => match self.by_hand(id, user.item) {
                Some(Ok(by_hand)) => Some(by_hand),
                Some(Err(refusal)) => return self.refuse_by_hand(&refusal, &input.ident.to_string()),
                None => return,
            },
            Maker::JsonSchema | Maker::KubeSchema => None,
        };
        let schema_id = match &by_hand {
            Some((by_hand, _)) => by_hand.id.clone(),
            None => self.schema_id(id, user, &input),
        };
        if self.active.iter().any(|(_, active)| *active == schema_id) {
            let message = format!("`{}` and a type around it have the same schema id `{schema_id}`", input.ident);
            return self.refuse(Refusal { code: Code::RecursiveType, module, span, message, help: None, fails: false });
        }
        self.active.push((id, schema_id.clone()));
        let tree = self.tree;
        let container = match &by_hand {
            None => self.container(user, input, maker, &schema_id),
            Some((by_hand, block)) => match tree.item(*block) {
                Item::Impl(item) => self.describe_by_hand(by_hand, item),
                _ => None,
            },
        };
        if let Some(container) = container {
            self.graph.set(id, Type::User(Arc::new(container)));
        }
        self.active.pop();
    }

    /// What tells types apart for schemars: the path of the module and the name.
    fn schema_id(&self, id: TypeId, user: &UserType, input: &DeriveInput) -> String {
        let path = self.tree.module_path(user.scope.module).join("::");
        let generic = if user.scope.generics.is_empty() { String::new() } else { format!("<{id:?}>") };
        format!("{path}::{}{generic}", input.ident)
    }

    /// The derive that makes the schema; also the checks on what stands around it.
    fn maker(&mut self, user: &UserType, input: &DeriveInput, at: Use) -> Option<Maker> {
        let scope = &user.scope;
        let derives = self.derives(user.item);
        let resolved = |path: &str| {
            derives.iter().rev().find(|(_, derive)| matches!(derive, Derive::Resolved(found) if found == path))
        };
        let (maker, position) = match (resolved("schemars::JsonSchema"), resolved("kube::KubeSchema")) {
            (Some((position, _)), None) => (Maker::JsonSchema, *position),
            (None, Some((position, _))) => (Maker::KubeSchema, *position),
            (Some(_), Some(_)) => {
                let message = format!("`{}` derives both `JsonSchema` and `KubeSchema`", input.ident);
                self.refuse(Refusal::new(Code::NoSchema, scope, input.ident.span(), message));
                return None;
            }
            (None, None) => {
                let named = derives.iter().find_map(|(_, derive)| match derive {
                    Derive::Unresolved(text, span) if text.contains("Schema") => Some((text.clone(), *span)),
                    _ => None,
                });
                let by_hand = self.tree.impls(user.item);
                if named.is_none()
                    && by_hand.iter().any(|block| self.trait_of(*block).as_deref() == Some("schemars::JsonSchema"))
                {
                    return self.attribute_macros(scope, &input.attrs).then_some(Maker::Code);
                }
                let refusal = if let Some((text, span)) = named {
                    Refusal::new(Code::NoSchema, scope, span, format!("cannot tell what the derive `{text}` is"))
                        .help("name it by its path: `#[derive(schemars::JsonSchema)]`")
                } else {
                    let (module, span) = at;
                    let message = format!("`{}` does not derive `JsonSchema`", input.ident);
                    let help = Some("add `#[derive(JsonSchema)]` to it".to_owned());
                    Refusal { code: Code::NoSchema, module, span, message, help, fails: false }
                };
                self.refuse(refusal);
                return None;
            }
        };
        // Derives that the schema or its defaults depend on must see the item as it stands here.
        let last = derives
            .iter()
            .filter(|(_, derive)| match derive {
                Derive::Resolved(path) => {
                    matches!(path.as_str(), "serde::Serialize" | "std::default::Default" | "kube::CustomResource")
                }
                Derive::Unresolved(..) => false,
            })
            .map(|(position, _)| *position)
            .fold(position, usize::max);
        self.attribute_macros(scope, &input.attrs[..last]).then_some(maker)
    }

    /// Whether no module around the type is rewritten by an attribute macro.
    fn modules(&mut self, scope: &Scope) -> bool {
        let mut at = Some(scope.module);
        let mut clean = true;
        while let Some(module) = at {
            let tree = self.tree;
            let attributes: Vec<Attribute> = tree
                .module_attrs(module)
                .iter()
                .filter(|attribute| !MODULE_INERT.iter().any(|name| attribute.path().is_ident(name)))
                .cloned()
                .collect();
            clean &= self.attribute_macros(&Scope::module(module), &attributes);
            at = tree.parent(module);
        }
        clean
    }

    /// Whether none of the attributes is a macro that may rewrite the item.
    pub(super) fn attribute_macros(&mut self, scope: &Scope, attributes: &[Attribute]) -> bool {
        let mut clean = true;
        for attribute in attributes {
            let path = attribute.path();
            let known = match path.get_ident() {
                Some(ident) => INERT.contains(&ident.to_string().as_str()),
                None => matches!(path.segments[0].ident.to_string().as_str(), "rustfmt" | "clippy" | "diagnostic"),
            };
            if known {
                continue;
            }
            clean = false;
            let text = self.text(scope, path);
            let refusal = if path.is_ident("cfg") || path.is_ident("cfg_attr") {
                let message = format!("`#[{}]` is only decided by the compiler", self.text(scope, &attribute.meta));
                Refusal::new(Code::UnknownCfg, scope, attribute.span(), message)
            } else {
                let message = format!("`#[{text}]` may be an attribute macro that rewrites the type");
                Refusal::new(Code::AttributeMacro, scope, attribute.span(), message)
                    .help("put it below the derives if it is only read by one of them")
            };
            self.refuse(refusal);
        }
        clean
    }

    /// Fields and variants keep a `cfg` only when it could not be decided.
    fn decided(&mut self, scope: &Scope, attributes: &[Attribute]) -> bool {
        let undecided = attributes.iter().find(|attr| attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr"));
        let Some(attribute) = undecided else { return true };
        let message = format!("`#[{}]` is only decided by the compiler", self.text(scope, &attribute.meta));
        self.refuse(Refusal::new(Code::UnknownCfg, scope, attribute.span(), message));
        false
    }

    fn container(&mut self, user: &UserType, mut input: DeriveInput, maker: Maker, id: &str) -> Option<Container> {
        let scope = &user.scope;
        self.serde_attributes(user, &input)?;
        let validated = match maker {
            Maker::JsonSchema | Maker::Code => None,
            Maker::KubeSchema => Some(self.kube_schema(scope, &mut input)?),
        };
        let input = match effective(input) {
            Ok(input) => input,
            Err(error) => {
                self.refuse_syntax(Code::SchemarsAttribute, scope.module, error);
                return None;
            }
        };
        let errors = Ctxt::new();
        let dummy = syn::Ident::new("__private", Span::call_site());
        let parsed = ast::Container::from_ast(&errors, &input, SerdeDerive::Deserialize, &dummy);
        if let Err(error) = errors.check() {
            self.refuse_syntax(Code::SerdeAttribute, scope.module, error);
            return None;
        }
        let cont = parsed?;
        let attrs = self.schemars_attrs(scope, &input.attrs, Place::Container)?;
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
        let id = id.rsplit_once("::").map_or(id.to_owned(), |(module, rest)| {
            let generic = rest.find('<').map_or("", |start| &rest[start..]);
            format!("{module}::{name}{generic}")
        });
        let meta = self.meta(scope, &attrs)?;
        let validated = validated.map(|validated| without_skipped(validated, &cont));
        if let (Some(validated), ast::Data::Struct(_, fields)) = (&validated, &cont.data) {
            let read: Vec<&ast::Field<'_>> = fields.iter().filter(|field| !field.attrs.skip_deserializing()).collect();
            for (index, ..) in &validated.fields {
                if read[*index].attrs.flatten() {
                    let message = "which property gets the rules of a flattened field is not decided";
                    self.refuse(Refusal::new(Code::KubeAttribute, scope, read[*index].original.span(), message));
                }
            }
        }
        let shape = self.shape_of(scope, &cont, &attrs, &meta)?;
        Some(Container { name, id, shape, meta, validated })
    }

    /// Serde's own derives see attributes that schemars leaves out; a mistake in one of those does not compile.
    fn serde_attributes(&mut self, user: &UserType, input: &DeriveInput) -> Option<()> {
        let mut checked = false;
        for (canonical, derive) in
            [("serde::Deserialize", SerdeDerive::Deserialize), ("serde::Serialize", SerdeDerive::Serialize)]
        {
            if !checked && self.derives_trait(user.item, canonical) {
                let errors = Ctxt::new();
                let dummy = syn::Ident::new("__private", Span::call_site());
                let parsed = ast::Container::from_ast(&errors, input, derive, &dummy);
                if let Err(error) = errors.check() {
                    self.refuse_syntax(Code::SerdeAttribute, user.scope.module, error);
                    return None;
                }
                // Of which derive it is matters to serde's parser for `transparent` only.
                checked = parsed.is_some_and(|container| !container.attrs.transparent());
            }
        }
        Some(())
    }

    /// Reads `#[x_kube(…)]` and keeps of the other attributes what `KubeSchema` hands on.
    fn kube_schema(&mut self, scope: &Scope, input: &mut DeriveInput) -> Option<Validated> {
        use darling::{FromDeriveInput as _, FromField as _};
        let attrs = match KubeSchemaAttrs::from_derive_input(input) {
            Ok(attrs) => attrs,
            Err(error) => {
                self.refuse_syntax(Code::KubeAttribute, scope.module, error.into());
                return None;
            }
        };
        let keep = |attributes: &mut Vec<Attribute>| {
            attributes.retain(|attribute| {
                ["serde", "schemars", "doc", "validate", "cfg", "cfg_attr"]
                    .iter()
                    .any(|name| attribute.path().is_ident(name))
            });
        };
        keep(&mut input.attrs);
        let mut validated = Validated { rules: self.rules(scope, &attrs.validations)?, fields: Vec::new() };
        let syn::Data::Struct(data) = &mut input.data else { return Some(validated) };
        let Fields::Named(fields) = &mut data.fields else { return Some(validated) };
        for (index, field) in fields.named.iter_mut().enumerate() {
            let attrs = match KubeSchemaFieldAttrs::from_field(field) {
                Ok(attrs) => attrs,
                Err(error) => {
                    self.refuse_syntax(Code::KubeAttribute, scope.module, error.into());
                    return None;
                }
            };
            keep(&mut field.attrs);
            let rules = self.rules(scope, &attrs.validations)?;
            let merge = match &attrs.merge_strategy {
                Some(expr) => Some(self.merge_strategy(scope, expr)?),
                None => None,
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
            return None;
        }
        Some(validated)
    }

    fn schemars_attrs(&mut self, scope: &Scope, attributes: &[Attribute], place: Place) -> Option<SchemarsAttrs> {
        if !self.decided(scope, attributes) {
            return None;
        }
        let errors = Ctxt::new();
        let attrs = SchemarsAttrs::read(attributes, place, &errors);
        if let Err(error) = errors.check() {
            self.refuse_syntax(Code::SchemarsAttribute, scope.module, error);
            return None;
        }
        if let Some(transform) = attrs.transforms.first() {
            let refusal = Refusal::new(Code::SchemaCode, scope, transform.span(), "`transform = …` runs code")
                .help("say it with `extend(…)`");
            self.refuse(refusal);
        }
        Some(attrs)
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
        let attrs = self.schemars_attrs(scope, &variant.original.attrs, Place::Variant)?;
        let meta = self.meta(scope, &attrs)?;
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
        Some(Variant { name, data: data?, with, untagged: variant.attrs.untagged(), skipped, meta, origin })
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
            SerdeDefault::Default | SerdeDefault::None => self.default_of(scope, &ident, this),
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
        let attrs = self.schemars_attrs(scope, attributes, Place::Field)?;
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
        Some(Field {
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
        })
    }

    /// Where something is written, unless that is in no file of the tree.
    fn origin(&self, scope: &Scope, span: Span) -> Option<Origin> {
        scope.outside.is_none().then(|| self.tree.origin(scope.module, span))
    }

    /// The `default` of a field: `Some(None)` when it has none to write, `None` when it was refused.
    #[allow(clippy::option_option)]
    fn default(
        &mut self,
        scope: &Scope,
        field: &ast::Field<'_>,
        ty: TypeId,
        container: Option<ContainerDefault>,
    ) -> Option<Option<Value>> {
        match self.provable(scope, field) {
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
            (SerdeDefault::Default, _) => self.default_of(scope, field.ty, ty),
            (SerdeDefault::Path(path), _) => self.call_path(scope, path, ty),
        };
        let written = value.and_then(|value| {
            if let Some(path) = field.attrs.skip_serializing_if()
                && self.test_path(scope, path, &value, ty)?
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

    /// Whether the impl that schemars derives can prove that a field implements `Serialize`: only then it writes the
    /// default, whatever the type arguments turn out to be.
    fn provable(&self, scope: &Scope, field: &ast::Field<'_>) -> Provable {
        if scope.generics.is_empty() {
            return Provable::Yes;
        }
        let generics = scope.this.and_then(|this| self.user(this)).and_then(|user| generics(self.tree.item(user.item)));
        let Some(generics) = generics.filter(|_| field.attrs.serialize_with().is_none()) else {
            return Provable::Unknown;
        };
        let mut parameters = Parameters::new();
        for param in &generics.params {
            let (name, bound) = match param {
                syn::GenericParam::Type(param) => {
                    let name = param.ident.to_string();
                    let bound = self.bound_by_serialize(scope, generics, &name);
                    (name, bound)
                }
                syn::GenericParam::Const(param) => (param.ident.to_string(), Some(true)),
                syn::GenericParam::Lifetime(_) => continue,
            };
            parameters.insert(name, bound);
        }
        match self.is_written(scope, &parameters, field.ty) {
            Some(true) => Provable::Yes,
            Some(false) => Provable::No,
            None => Provable::Unknown,
        }
    }

    /// Whether a type parameter has the bound `Serialize`; `None` when a bound may imply it.
    fn bound_by_serialize(&self, scope: &Scope, generics: &syn::Generics, name: &str) -> Option<bool> {
        let mut bounds = Vec::new();
        let param = generics.type_params().find(|param| param.ident == name)?;
        bounds.extend(&param.bounds);
        for predicate in generics.where_clause.iter().flat_map(|clause| &clause.predicates) {
            match predicate {
                syn::WherePredicate::Type(predicate) => match &predicate.bounded_ty {
                    SynType::Path(path) if path.path.is_ident(name) => bounds.extend(&predicate.bounds),
                    other if mentions(other.to_token_stream(), name) => return None,
                    _ => {}
                },
                syn::WherePredicate::Lifetime(_) => {}
                _ => return None,
            }
        }
        let mut found = false;
        for bound in bounds {
            let syn::TypeParamBound::Trait(bound) = bound else { continue };
            match self.resolve(scope, &bound.path) {
                Resolution::Foreign(path) if path.join("::") == "serde::Serialize" => found = true,
                Resolution::Foreign(path)
                    if ["std", "serde", "schemars"].contains(&path[0].as_str())
                        && path.last().is_some_and(|name| name != "Serialize") => {}
                _ => return None,
            }
        }
        Some(found)
    }

    /// Whether a type implements `Serialize` for all arguments that the bounds of its parameters allow.
    fn is_written(&self, scope: &Scope, parameters: &Parameters, ty: &SynType) -> Option<bool> {
        let tokens = ty.to_token_stream();
        if mentions(tokens.clone(), "Self") {
            return None;
        }
        if !parameters.keys().any(|name| mentions(tokens.clone(), name)) {
            return Some(true);
        }
        let all = |types: &mut dyn Iterator<Item = &SynType>| {
            let found: Vec<Option<bool>> = types.map(|ty| self.is_written(scope, parameters, ty)).collect();
            all_written(&found)
        };
        let path = match ty {
            SynType::Paren(inner) => return self.is_written(scope, parameters, &inner.elem),
            SynType::Group(inner) => return self.is_written(scope, parameters, &inner.elem),
            SynType::Reference(inner) => return self.is_written(scope, parameters, &inner.elem),
            SynType::Array(inner) => return self.is_written(scope, parameters, &inner.elem),
            SynType::Slice(inner) => return self.is_written(scope, parameters, &inner.elem),
            SynType::Tuple(tuple) => return all(&mut tuple.elems.iter()),
            SynType::Path(path) if path.qself.is_none() => &path.path,
            _ => return None,
        };
        if let Some(bound) = path.get_ident().and_then(|ident| parameters.get(&ident.to_string())) {
            return *bound;
        }
        let mut arguments = Vec::new();
        if let Some(syn::PathArguments::AngleBracketed(list)) = path.segments.last().map(|last| &last.arguments) {
            for argument in &list.args {
                match argument {
                    syn::GenericArgument::Type(ty) => arguments.push(ty),
                    syn::GenericArgument::Const(_) | syn::GenericArgument::Lifetime(_) => {}
                    _ => return None,
                }
            }
        }
        match self.resolve(scope, path) {
            Resolution::Foreign(path) if path.join("::") == "std::marker::PhantomData" => Some(true),
            Resolution::Foreign(path) if FOLLOW_ARGUMENTS.contains(&path.join("::").as_str()) => {
                all(&mut arguments.into_iter())
            }
            Resolution::Local(item) => {
                let found = arguments.into_iter().map(|ty| self.is_written(scope, parameters, ty)).collect();
                self.is_item_written(item, found)
            }
            _ => None,
        }
    }

    /// The same of a type of the user, by what is known of its type arguments.
    fn is_item_written(&self, item: ItemRef, arguments: Vec<Option<bool>>) -> Option<bool> {
        let of = self.tree.item(item);
        let declared = match of {
            Item::Type(alias) => &alias.generics,
            of => generics(of)?,
        };
        let names: Vec<String> = declared.type_params().map(|param| param.ident.to_string()).collect();
        if names.len() != arguments.len() || declared.const_params().next().is_some() {
            return None;
        }
        let parameters: Parameters = names.iter().cloned().zip(arguments).collect();
        if let Item::Type(alias) = of {
            return self.is_written(&Scope::module(self.tree.module(item)), &parameters, &alias.ty);
        }
        let input = self.derive_input(item).filter(|_| self.derives_trait(item, "serde::Serialize"))?;
        let errors = Ctxt::new();
        let dummy = syn::Ident::new("__private", Span::call_site());
        let container = ast::Container::from_ast(&errors, &input, SerdeDerive::Serialize, &dummy);
        errors.check().ok()?;
        let container = container?;
        let attrs = &container.attrs;
        let own_bound = |field: &ast::Field<'_>| field.attrs.ser_bound().is_some();
        let special = |variant: &ast::Variant<'_>| {
            variant.attrs.skip_serializing()
                || variant.attrs.serialize_with().is_some()
                || variant.attrs.ser_bound().is_some()
        };
        if attrs.ser_bound().is_some()
            || attrs.type_into().is_some()
            || attrs.remote().is_some()
            || container.data.all_fields().any(own_bound)
            || matches!(&container.data, Data::Enum(variants) if variants.iter().any(special))
        {
            return None;
        }
        // serde bounds each parameter that a field which is written mentions, but for those of `PhantomData`.
        let written = container
            .data
            .all_fields()
            .filter(|field| !field.attrs.skip_serializing() && field.attrs.serialize_with().is_none());
        let types: Vec<proc_macro2::TokenStream> = written.map(|field| field.ty.to_token_stream()).collect();
        let mut needed = Vec::new();
        for (name, bound) in parameters {
            let mut mentioning = types.iter().filter(|ty| mentions((*ty).clone(), &name));
            if mentioning.clone().any(|ty| mentions(ty.clone(), "PhantomData")) {
                return None;
            }
            if mentioning.next().is_some() {
                needed.push(bound);
            }
        }
        all_written(&needed)
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

    /// Title, description, examples, extensions.
    pub(super) fn meta(&mut self, scope: &Scope, attrs: &SchemarsAttrs) -> Option<Meta> {
        let mut complete = true;
        let mut meta = Meta { deprecated: attrs.deprecated, ..Meta::default() };
        if !attrs.docs.is_empty() {
            let mut text = String::new();
            for (index, line) in attrs.docs.iter().enumerate() {
                if index > 0 {
                    text.push('\n');
                }
                if let Some(line) = literal(line) {
                    let line = line.value();
                    text.push_str(line.strip_prefix(' ').unwrap_or(&line));
                } else if let Ok(Some(line)) = self.constant_text(scope, &Env::new(), line) {
                    text.push_str(&line);
                } else {
                    let message = format!("documentation from `{}` is not read", self.text(scope, line));
                    self.refuse(Refusal::new(Code::Expression, scope, line.span(), message));
                    complete = false;
                }
            }
            let (title, description) = schemars::_private::get_title_and_description(&text);
            meta.title = Some(title.to_owned());
            meta.description = Some(description.to_owned());
        }
        if let Some(title) = &attrs.title {
            meta.explicit_title = true;
            meta.title = self.string(scope, title);
            complete &= meta.title.is_some();
        }
        if let Some(description) = &attrs.description {
            meta.description = self.string(scope, description);
            complete &= meta.description.is_some();
        }
        for example in &attrs.examples {
            let value = self.constant_json(scope, example);
            complete &= value.is_some();
            meta.examples.get_or_insert_default().extend(value);
        }
        for extension in &attrs.extensions {
            match self.json_tokens(scope, &Env::new(), &extension.value) {
                Ok(value) => meta.extensions.push((extension.key.value(), value)),
                Err(refusal) => {
                    self.refuse(refusal);
                    complete = false;
                }
            }
        }
        complete.then_some(meta)
    }

    fn string(&mut self, scope: &Scope, expr: &Expr) -> Option<String> {
        match self.eval(scope, &Env::new(), expr, None) {
            Ok(Val::Str(text)) => Some(text),
            Ok(_) => {
                let message = format!("`{}` is no string", self.text(scope, expr));
                self.refuse(Refusal::new(Code::Expression, scope, expr.span(), message));
                None
            }
            Err(refusal) => {
                self.refuse(refusal);
                None
            }
        }
    }

    fn constant_json(&mut self, scope: &Scope, expr: &Expr) -> Option<Value> {
        let value = self.eval(scope, &Env::new(), expr, None).and_then(|value| self.json(scope, expr, &value));
        value.map_err(|refusal| self.refuse(refusal)).ok()
    }

    fn constraints(&mut self, scope: &Scope, attrs: &ConstraintAttrs) -> Option<Constraints> {
        let ConstraintAttrs { length, range, pattern, contains, format, required, inner } = attrs;
        Some(Constraints {
            length: self.optional(length.as_ref(), |types, bounds| types.bounds(scope, bounds))?,
            range: self.optional(range.as_ref(), |types, bounds| types.bounds(scope, bounds))?,
            pattern: self.optional(pattern.as_ref(), |types, expr| types.string(scope, expr))?,
            contains: self.optional(contains.as_ref(), |types, expr| types.string(scope, expr))?,
            format: *format,
            required: *required,
            inner: self.optional(inner.as_deref(), |types, inner| types.constraints(scope, inner).map(Box::new))?,
        })
    }

    #[allow(clippy::option_option)]
    fn optional<T, U>(&mut self, value: Option<T>, read: impl FnOnce(&mut Self, T) -> Option<U>) -> Option<Option<U>> {
        match value {
            Some(value) => read(self, value).map(Some),
            None => Some(None),
        }
    }

    fn bounds(&mut self, scope: &Scope, attrs: &BoundAttrs) -> Option<Bounds> {
        Some(Bounds {
            min: self.optional(attrs.min.as_ref(), |types, expr| types.constant_json(scope, expr))?,
            max: self.optional(attrs.max.as_ref(), |types, expr| types.constant_json(scope, expr))?,
        })
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

/// What an impl can prove of a type with parameters.
enum Provable {
    Yes,
    No,
    Unknown,
}

/// Whether each type parameter implements `Serialize` for all arguments; `None` is not known.
type Parameters = BTreeMap<String, Option<bool>>;

/// Types that can be written exactly when their arguments can.
const FOLLOW_ARGUMENTS: [&str; 11] = [
    "std::option::Option",
    "std::boxed::Box",
    "std::vec::Vec",
    "std::collections::VecDeque",
    "std::collections::LinkedList",
    "std::collections::BTreeSet",
    "std::collections::HashSet",
    "std::collections::BTreeMap",
    "std::collections::HashMap",
    "std::cmp::Reverse",
    "std::result::Result",
];

fn all_written(parts: &[Option<bool>]) -> Option<bool> {
    if parts.contains(&Some(false)) {
        Some(false)
    } else {
        parts.iter().copied().collect::<Option<Vec<bool>>>().map(|_| true)
    }
}

pub(super) fn generics(item: &Item) -> Option<&syn::Generics> {
    match item {
        Item::Struct(item) => Some(&item.generics),
        Item::Enum(item) => Some(&item.generics),
        _ => None,
    }
}

/// The word is among the tokens.
fn mentions(tokens: proc_macro2::TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        proc_macro2::TokenTree::Group(group) => mentions(group.stream(), word),
        proc_macro2::TokenTree::Ident(ident) => ident == word,
        _ => false,
    })
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
