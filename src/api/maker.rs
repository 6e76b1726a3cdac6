//! Which impl makes the schema of a type, and whether anything around the type may rewrite it.

use std::sync::Arc;

use proc_macro2::Span;
use serde_derive_internals::Ctxt;
use syn::spanned::Spanned as _;
use syn::{Attribute, Data, DeriveInput, Item};

use crate::diagnostic::Code;
use crate::schema::{Type, TypeId};
use crate::source::{ModuleId, Namespace, Resolution, SourceTree};

use super::attribute::entries;
use super::types::{Derive, Info, Refusal, Scope, Types, UserType};

impl Types<'_> {
    /// Describes a type and all that its schema reaches; refusals are reported at `at`.
    pub(super) fn use_type(&mut self, id: TypeId, at: Use) {
        if self.described.contains(&id) && !self.active.contains(&id) {
            return;
        }
        match self.info(id) {
            Info::Known(_, arguments) => {
                for argument in arguments.clone() {
                    self.use_type(argument, at);
                }
                // Twice what is twice in it would be without end for arguments that are not described.
                self.described.insert(id);
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
        let refusal = |message, help: &str| Refusal {
            code: Code::RecursiveType,
            module,
            span,
            message,
            help: Some(help.to_owned()),
            fails: false,
        };
        if self.active.len() > NESTING || self.active.contains(&id) {
            if self.active.len() > NESTING {
                // All that it is made of would come here as well.
                self.instances = INSTANCES + 1;
            }
            return self.refuse(refusal(
                format!("`{}` contains itself, which no CRD can express", input.ident),
                "describe the inner value with `#[schemars(schema_with = …)]` or `with = \"serde_json::Value\"`",
            ));
        }
        if !user.scope.generics.is_empty() {
            self.instances += 1;
            if self.instances == INSTANCES + 1 {
                self.refuse(refusal(
                    format!("`{}` is one of more than {INSTANCES} generic types with different arguments", input.ident),
                    "use the same arguments in more places, or describe the value with `#[schemars(schema_with = …)]`",
                ));
            }
            if self.instances > INSTANCES {
                return;
            }
        }
        self.described.insert(id);
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
        self.active.push(id);
        let tree = self.tree;
        let container = match &by_hand {
            None => self.container(user, input, maker),
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
        let understood = skips_none(self.tree, scope.module, attributes);
        for (position, attribute) in attributes.iter().enumerate() {
            let path = attribute.path();
            if is_inert(path) || understood == Some(position) {
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
    pub(super) fn decided(&mut self, scope: &Scope, attributes: &[Attribute]) -> bool {
        let undecided = attributes.iter().find(|attr| attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr"));
        let Some(attribute) = undecided else { return true };
        let message = format!("`#[{}]` is only decided by the compiler", self.text(scope, &attribute.meta));
        self.refuse(Refusal::new(Code::UnknownCfg, scope, attribute.span(), message));
        false
    }
}

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

fn is_inert(path: &syn::Path) -> bool {
    match path.get_ident() {
        Some(ident) => INERT.contains(&ident.to_string().as_str()),
        None => matches!(path.segments[0].ident.to_string().as_str(), "rustfmt" | "clippy" | "diagnostic"),
    }
}

/// Where `#[skip_serializing_none]` of `serde_with` stands, if every derive sees what it makes of the type.
pub(super) fn skips_none(tree: &SourceTree, module: ModuleId, attributes: &[Attribute]) -> Option<usize> {
    let named = |path: &syn::Path| path.segments.last().is_some_and(|last| last.ident == "skip_serializing_none");
    let position = attributes.iter().position(|attribute| named(attribute.path()))?;
    let first = !attributes[..position].iter().any(|attribute| attribute.path().is_ident("derive"));
    let resolved = || tree.resolve_in(module, attributes[position].path(), Namespace::Macros);
    let is_it =
        first && matches!(resolved(), Resolution::Foreign(path) if path == ["serde_with", "skip_serializing_none"]);
    is_it.then_some(position)
}

/// What that macro makes of a type: a field that is written as an `Option` is skipped when it is `None`.
pub(super) fn skip_none(input: &mut DeriveInput) {
    fn is_option(ty: &syn::Type) -> bool {
        match ty {
            syn::Type::Group(group) => is_option(&group.elem),
            syn::Type::Paren(paren) => is_option(&paren.elem),
            syn::Type::Path(syn::TypePath { qself: Some(of), .. }) => is_option(&of.ty),
            syn::Type::Path(syn::TypePath { path, .. }) => {
                let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                matches!(names.as_slice(), ["std" | "core", "option", "Option"])
                    || (names == ["Option"] && path.leading_colon.is_none())
            }
            _ => false,
        }
    }
    let skip = |field: &mut syn::Field| {
        let errors = Ctxt::new();
        let own = entries(&field.attrs, "serde", &errors);
        let own = own.iter().any(|entry| entry.key().as_deref() == Some("skip_serializing_if"));
        // serde says what is wrong with them.
        let _ = errors.check();
        let always = field.attrs.iter().any(|attribute| attribute.path().is_ident("serialize_always"));
        if is_option(&field.ty) && !own && !always {
            field.attrs.push(syn::parse_quote!(#[serde(skip_serializing_if = "Option::is_none")]));
        }
    };
    match &mut input.data {
        Data::Struct(data) => data.fields.iter_mut().for_each(skip),
        Data::Enum(data) => data.variants.iter_mut().flat_map(|variant| &mut variant.fields).for_each(skip),
        Data::Union(_) => {}
    }
}

/// Whether one of the attributes of a function, a constant or an `impl` block may make something else of it.
pub(super) fn rewrites(attributes: &[Attribute]) -> bool {
    let plain = |attribute: &Attribute| is_inert(attribute.path()) || attribute.path().is_ident("track_caller");
    !attributes.iter().all(plain)
}

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

/// More generic types with different arguments than any API has: one that is made of two others for some levels.
const INSTANCES: usize = 10_000;

/// Which derive makes the schema of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    JsonSchema,
    KubeSchema,
    /// No derive, but an impl.
    Code,
}

/// Why a type is used: the span to report at, in a module.
pub(super) type Use = (ModuleId, Span);
