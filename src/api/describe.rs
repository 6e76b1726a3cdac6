//! Types of the source → the containers of a `Graph`, with every type that their schemas reach.

mod attr_values;
mod by_hand;
mod container;
mod describer;
mod field;
mod kube_rules;
mod resource;
mod schema_source;

pub(super) use describer::Describer;
pub(super) use resource::read;

use std::rc::Rc;
use std::sync::Arc;

use syn::spanned::Spanned as _;
use syn::{Attribute, Item};

use crate::diagnostic::Code;
use crate::k8s;
use crate::schema::{Type, TypeId};

use super::item_attrs::{MODULE_INERT, is_inert, skips_none};
use super::k8s_source::{K8sSource, K8sType};
use super::types::{Info, Refusal, TypeScope, Use, UserType};
use describer::Reported;
use schema_source::SchemaSource;

impl Describer<'_> {
    /// Describes a type and every type that its schema reaches. Reports refusals at `at`.
    fn use_type(&mut self, id: TypeId, at: Use) {
        if self.types.described.contains(&id) && !self.types.active.contains(&id) {
            return;
        }
        match self.types.info(id) {
            Info::Known(_, arguments) => {
                for argument in arguments.clone() {
                    self.use_type(argument, at);
                }
                // Mark the type as described. Otherwise nested duplicates would double the work at each level.
                self.types.described.insert(id);
            }
            Info::Refused(refusal) => {
                let refusal = refusal.clone();
                self.refuse(refusal);
            }
            Info::User(user) => {
                let user = user.clone();
                self.use_user_type(id, &user, at);
            }
            Info::Described => {}
            Info::K8s(ty) => {
                let ty = ty.clone();
                self.use_k8s_type(id, &ty, at);
            }
        }
    }

    fn use_user_type(&mut self, id: TypeId, user: &UserType, at: Use) {
        let Some(input) = self.types.derive_input(user.item) else { return };
        let (module, span) = at;
        let refusal = |message, help: &str| Refusal {
            code: Code::RecursiveType,
            module,
            span,
            message,
            help: Some(help.to_owned()),
        };
        let active = &self.types.active;
        let is_same =
            |other: &&TypeId| matches!(self.types.info(**other), Info::User(other) if other.item == user.item);
        let is_endless = active.iter().filter(is_same).count() > INSIDE_ITSELF;
        if active.len() > NESTING {
            self.refuse(Refusal {
                code: Code::SchemaSize,
                ..refusal(
                    format!("`{}` is nested more than {NESTING} types deep", input.ident),
                    "describe an inner value with `#[schemars(with = \"serde_json::Value\")]`",
                )
            });
            return;
        }
        if is_endless || active.contains(&id) {
            if is_endless {
                // Its parts would fail here as well.
                self.instances = INSTANCES + 1;
            }
            self.refuse(refusal(
                format!("`{}` contains itself, which a CRD cannot express", input.ident),
                "describe the inner value with `#[schemars(schema_with = …)]` or `with = \"serde_json::Value\"`",
            ));
            return;
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
        self.types.described.insert(id);
        if !self.modules(&user.scope) {
            return;
        }
        let Ok(source) = self.schema_source(user, &input, at) else { return };
        let by_hand = match source {
            SchemaSource::Code => match self.evaluate(|eval| eval.by_hand(id, user.item)) {
                Some(Ok(by_hand)) => Some(by_hand),
                Some(Err(refusal)) => {
                    self.refuse_by_hand(&refusal, &input.ident.to_string());
                    return;
                }
                None => return,
            },
            SchemaSource::JsonSchema | SchemaSource::KubeSchema => None,
        };
        self.types.active.push(id);
        let tree = self.tree;
        let container = match &by_hand {
            None => self.container(user, input, source),
            Some((by_hand, block)) => match tree.item(*block) {
                Item::Impl(item) => self.describe_by_hand(by_hand, item),
                _ => Err(Reported),
            },
        };
        if let Ok(container) = container {
            self.types.graph.set(id, Type::User(Arc::new(container)));
        }
        self.types.active.pop();
    }

    /// Describes a type of k8s-openapi and every type that it reaches.
    fn use_k8s_type(&mut self, id: TypeId, ty: &K8sType, at: Use) {
        let (module, span) = at;
        let name = ty.path.last().cloned().unwrap_or_default();
        if self.types.active.contains(&id) {
            let message = format!("`{name}` contains itself, which a CRD cannot express");
            let help = Some("describe the value with `#[schemars(with = \"serde_json::Value\")]`".to_owned());
            self.refuse(Refusal { code: Code::RecursiveType, module, span, message, help });
            return;
        }
        self.types.described.insert(id);
        let Some(found) = k8s::generated_type(self.tree, &ty.dir, &ty.path) else { return };
        let source = K8sSource { at: span, dir: Rc::clone(&ty.dir) };
        let scope = TypeScope { k8s: Some(source), ..TypeScope::module(module) };
        match self.evaluate(|eval| eval.names_by_hand(&scope, &found.schema)) {
            Ok(by_hand) => {
                self.types.active.push(id);
                let container = self.describe_by_hand(&by_hand, &found.schema);
                self.types.active.pop();
                if let Ok(container) = container {
                    self.types.graph.set(id, Type::User(Arc::new(container)));
                }
            }
            Err(refusal) => {
                self.refuse_by_hand(&refusal, &name);
            }
        }
    }

    /// Returns true if none of the attributes is a macro that may rewrite the item.
    fn attribute_macros(&mut self, scope: &TypeScope, attributes: &[Attribute]) -> bool {
        let mut clean = true;
        let understood = skips_none(self.tree, scope.module, attributes);
        for (position, attribute) in attributes.iter().enumerate() {
            let path = attribute.path();
            if is_inert(path) || understood == Some(position) {
                continue;
            }
            clean = false;
            if !self.decided(scope, std::slice::from_ref(attribute)) {
                continue;
            }
            let message =
                format!("`#[{}]` may be an attribute macro that rewrites the type", self.types.text(scope, path));
            let refusal = Refusal::new(Code::AttributeMacro, scope, attribute.span(), message);
            self.refuse(refusal.help("move it below the derives if it is an attribute of one of them"));
        }
        clean
    }

    /// Returns true if no attribute macro rewrites a module around the type.
    fn modules(&mut self, scope: &TypeScope) -> bool {
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
            clean &= self.attribute_macros(&TypeScope::module(module), &attributes);
            at = tree.parent(module);
        }
        clean
    }

    /// Returns true if no `cfg` is left on a field or variant. A `cfg` stays only if it could not be decided.
    fn decided(&mut self, scope: &TypeScope, attributes: &[Attribute]) -> bool {
        let undecided = attributes.iter().find(|attr| attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr"));
        let Some(attribute) = undecided else { return true };
        let message = format!("only the compiler can evaluate `#[{}]`", self.types.text(scope, &attribute.meta));
        self.refuse(Refusal::new(Code::UnknownCfg, scope, attribute.span(), message));
        false
    }
}

/// The limit of levels of a generic type inside of itself, each with other arguments. A deeper type counts as endless.
const INSIDE_ITSELF: usize = 48;

/// The limit of nested types. Each level needs a stack frame of this program.
const NESTING: usize = 200;

/// The limit of generic types with different arguments. No API has as many, unless types double for several levels.
const INSTANCES: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::k8s_source::K8sType;
    use crate::api::types::Info;
    use crate::schema;
    use crate::schema::k8s::{FEATURE, VERSION};
    use proc_macro2::Span;
    use std::rc::Rc;
    use std::sync::Arc;

    /// The evaluator returns the same schemas for the sources as the linked impls.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "tests write what they read")]
    fn sources_say_what_the_linked_types_say() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("Cargo.toml"), "package = { name = \"x\", edition = \"2024\" }").unwrap();
        std::fs::write(folder.path().join("src/lib.rs"), "struct S;").unwrap();
        let (tree, _) = k8s::load(folder.path()).unwrap();
        let dir = k8s::modules(&tree, &VERSION.parse().unwrap(), FEATURE).unwrap();
        let dir = Rc::new(dir);
        let item = tree.items().next().unwrap();
        let mut equal = 0;
        for known in schema::k8s::types() {
            let mut describer = Describer::new(&tree, schema::release::Releases::default());
            let types = &mut describer.types;
            let path: Vec<String> = known.path.split("::").skip(1).map(str::to_owned).collect();
            let linked = types.known_type(known, Vec::new());
            let ty = K8sType { dir: Rc::clone(&dir), path };
            let read = types.add(Info::K8s(ty));
            let default = known.default.map(|default| default());
            assert_eq!(types.k8s_default(read), default, "{}", known.path);
            describer.use_type(read, (tree.module(item), Span::call_site()));
            assert!(describer.diagnostics.is_empty(), "{}: {}", known.path, describer.diagnostics.render(false));
            let graph = Arc::new(describer.types.graph);
            let text = |id| serde_json::to_string(&schema::root(&graph, id).unwrap()).unwrap();
            assert_eq!(text(read), text(linked), "{}", known.path);
            equal += 1;
        }
        assert!(equal > 300, "{equal}");
    }
}
