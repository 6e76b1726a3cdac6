//! What is called, or named: a path in an expression.

use std::rc::Rc;

use syn::{Expr, ExprPath, Item};

use super::super::index::FunctionId;
use super::super::lower::{Scope, is_kube};
use super::super::read::{Frame, Reader};
use super::super::table;
use super::super::types::Ty;
use super::Callee;
use crate::source::{ItemRef, Namespace, Resolution};

impl Reader<'_> {
    /// A path as a value.
    pub(in crate::rbac::derive) fn path(&mut self, frame: &mut Frame, path: &ExprPath, expected: &Ty) -> Ty {
        match self.callee(frame, path) {
            Callee::Local(ty) => ty,
            Callee::Free(id) => {
                let explicit = self.turbofish(&frame.scope.clone(), &path.path);
                self.function_value(id, None, &explicit, expected)
            }
            Callee::Associated(ty, name) => match self.constant(&ty, &name) {
                Some(known) => known,
                None => match self.method(&ty, &name) {
                    Some(id) => {
                        let explicit = self.turbofish(&frame.scope.clone(), &path.path);
                        self.function_value(id, Some(ty), &explicit, expected)
                    }
                    None => Ty::Unknown,
                },
            },
            Callee::Method(ty, id) => {
                let explicit = self.turbofish(&frame.scope.clone(), &path.path);
                self.function_value(id, Some(ty), &explicit, expected)
            }
            Callee::Constructor(item, Some(_)) => self.lower_item(item, Vec::new()),
            Callee::Constructor(item, None) => {
                let tree = self.tree;
                match tree.item(item) {
                    Item::Const(found) => self.const_value(item, &found.ty, Some(&found.expr)),
                    Item::Static(found) => self.const_value(item, &found.ty, Some(&found.expr)),
                    Item::Struct(_) => self.lower_item(item, Vec::new()),
                    _ => Ty::Unknown,
                }
            }
            Callee::Foreign(path) if path.last().is_some_and(|last| last == "None") => Ty::Never,
            Callee::Foreign(path) if is_kube(&path) && path.last().is_some_and(|last| last == "Cluster") => {
                Ty::foreign("kube::Cluster")
            }
            // A function of kube that is handed over makes its requests where it is called.
            Callee::Foreign(path) if table::is_function(&path) => Ty::Path(path.into()),
            Callee::Foreign(_) | Callee::Unknown => Ty::Unknown,
        }
    }

    /// A function that is not called here: with type arguments, it is as good as called.
    pub(super) fn function_value(&mut self, id: FunctionId, itself: Option<Ty>, explicit: &[Ty], expected: &Ty) -> Ty {
        let mut signature = self.signature(id, itself, true);
        self.explicit(&mut signature.scope, id, explicit);
        let output = signature.output.clone();
        if let Ty::Function(wanted) = self.inferred.resolve(expected) {
            self.inferred.unify(&output, &wanted);
        }
        if !explicit.is_empty() {
            let types: Vec<Ty> = signature.parameters.iter().map(|(ty, _)| ty.clone()).collect();
            let receiver = signature.scope.itself.clone();
            return Ty::Function(Rc::new(self.enter(signature, receiver, types)));
        }
        if signature.scope.generics.is_empty() {
            let types: Vec<Ty> = signature.parameters.iter().map(|(ty, _)| ty.clone()).collect();
            let receiver = signature.scope.itself.clone();
            return Ty::Function(Rc::new(self.run(signature, receiver, &types)));
        }
        Ty::Function(Rc::new(self.inferred.resolve(&output)))
    }

    pub(super) fn const_value(&mut self, item: ItemRef, ty: &syn::Type, value: Option<&Expr>) -> Ty {
        let scope = Scope::new(self.tree.module(item));
        let declared = self.lower(&scope, ty);
        if self.depth > 16 {
            return declared;
        }
        let Some(value) = value else { return declared };
        self.depth += 1;
        let mut frame = Frame::of(scope);
        let found = self.expr(&mut frame, value, &declared);
        self.depth -= 1;
        declared.refine(&self.inferred.resolve(&found))
    }

    /// The value of an associated constant.
    pub(super) fn constant(&mut self, ty: &Ty, name: &str) -> Option<Ty> {
        let (Ty::Item(of, _) | Ty::Root(of)) = ty else { return None };
        // Constants of one name may stand for each other.
        if self.depth > 16 {
            return None;
        }
        for (module, block) in self.index.constants.get(name).cloned().unwrap_or_default() {
            let found = block.items.iter().find_map(|found| match found {
                syn::ImplItem::Const(found) if found.ident == name => Some(found),
                _ => None,
            });
            let Some(found) = found else { continue };
            match self.implemented(module, block) {
                Ty::Item(other, _) | Ty::Root(other) if other == *of => {}
                _ => continue,
            }
            let mut scope = Scope::new(module);
            scope.generics = self.bind_generics(&scope, &block.generics, &[]);
            scope.itself = Some(ty.clone());
            let declared = self.lower(&scope, &found.ty);
            let mut frame = Frame::of(scope);
            self.depth += 1;
            let value = self.expr(&mut frame, &found.expr, &declared);
            self.depth -= 1;
            return Some(declared.refine(&self.inferred.resolve(&value)));
        }
        None
    }

    pub(super) fn callee(&mut self, frame: &Frame, path: &ExprPath) -> Callee {
        let scope = &frame.scope;
        if let Some(itself) = &path.qself {
            let ty = self.lower(&scope.clone(), &itself.ty);
            let ty = self.inferred.resolve(&ty);
            let name = path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
            let method = self.trait_of(scope, path).and_then(|of| self.method_by(&ty, of, &name));
            return method.map_or(Callee::Associated(ty.clone(), name), |id| Callee::Method(ty, id));
        }
        let path = &path.path;
        let Some(last) = path.segments.last() else { return Callee::Unknown };
        let name = last.ident.to_string();
        if path.segments.len() == 1 && path.leading_colon.is_none() {
            if let Some(local) = frame.local(&name) {
                return Callee::Local(local.clone());
            }
            if let Some(id) = frame.nested.get(&name) {
                return Callee::Free(*id);
            }
            if name == "Self" {
                return match &scope.itself {
                    Some(Ty::Item(item, _)) => Callee::Constructor(*item, None),
                    _ => Callee::Unknown,
                };
            }
        }
        if path.segments.len() > 1 {
            let mut prefix = path.clone();
            prefix.segments.pop();
            prefix.segments.pop_punct();
            if let Some(ty) = self.type_prefix(scope, &prefix) {
                return match (&ty, self.tree_variant(&ty, &name)) {
                    (Ty::Item(item, _), true) => Callee::Constructor(*item, Some(name)),
                    _ => Callee::Associated(ty, name),
                };
            }
        }
        match self.resolve(scope, path, Namespace::Values) {
            Resolution::Local(item) => match self.index.free(item) {
                Some(id) => Callee::Free(id),
                None => Callee::Constructor(item, None),
            },
            Resolution::Member(item, name) => {
                let ty = self.lower_item(item, Vec::new());
                if self.tree_variant(&ty, &name) {
                    Callee::Constructor(item, Some(name))
                } else {
                    Callee::Associated(ty, name)
                }
            }
            Resolution::Foreign(path) => Callee::Foreign(path),
            Resolution::Primitive(_) | Resolution::Unresolved(_) => Callee::Unknown,
        }
    }

    /// The trait of the tree in `<Type as Trait>::name`.
    fn trait_of(&self, scope: &Scope, path: &ExprPath) -> Option<ItemRef> {
        let position = path.qself.as_ref()?.position;
        if position == 0 {
            return None;
        }
        let segments = path.path.segments.iter().take(position).cloned().collect();
        let named = syn::Path { leading_colon: path.path.leading_colon, segments };
        match self.resolve(scope, &named, Namespace::Types) {
            Resolution::Local(item) => Some(item),
            _ => None,
        }
    }

    pub(super) fn tree_variant(&self, ty: &Ty, name: &str) -> bool {
        match ty {
            Ty::Item(item, _) => match self.tree.item(*item) {
                Item::Enum(found) => found.variants.iter().any(|variant| variant.ident == name),
                _ => false,
            },
            _ => false,
        }
    }

    /// The type that the front of a path names, if it names a type.
    pub(super) fn type_prefix(&mut self, scope: &Scope, prefix: &syn::Path) -> Option<Ty> {
        let first = prefix.segments.first()?.ident.to_string();
        let last = prefix.segments.last()?.ident.to_string();
        let own = prefix.segments.len() == 1 && (first == "Self" || scope.generics.contains_key(&first));
        let is_type = own
            || match self.resolve(scope, prefix, Namespace::Types) {
                Resolution::Local(item) => !matches!(self.tree.item(item), Item::Mod(_)),
                Resolution::Member(..) | Resolution::Primitive(_) => true,
                Resolution::Foreign(_) => last.starts_with(char::is_uppercase),
                Resolution::Unresolved(_) => false,
            };
        is_type.then(|| self.lower_path(&scope.clone(), prefix))
    }
}
