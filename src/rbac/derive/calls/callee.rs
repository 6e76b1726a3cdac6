//! Callees: paths in expressions.

use syn::{Expr, ExprPath, Item};

use super::super::foreign::{ForeignType, Kube};
use super::super::frame::CallFrame;
use super::super::index::FunctionId;
use super::super::lower::NameScope;
use super::super::read::FunctionReader;
use super::super::table;
use super::super::types::Ty;
use super::Callee;
use crate::rbac::RequestScope;
use crate::source::{ItemRef, Namespace, Resolution};

impl FunctionReader<'_> {
    pub(in crate::rbac::derive) fn path(&mut self, frame: &mut CallFrame, path: &ExprPath, expected: &Ty) -> Ty {
        match self.callee(frame, path) {
            Callee::Local(ty) => ty,
            Callee::Free(id) => self.function_value(frame, id, None, path, expected),
            Callee::Associated(ty, name) => match self.types.method(&ty, &name) {
                Some(id) => self.function_value(frame, id, Some(ty), path, expected),
                None => self.api_function(&ty, &name, expected),
            },
            Callee::Constructor(item, Some(_)) => self.types.lower_item(item, Vec::new()),
            Callee::Constructor(item, None) => {
                let tree = self.tree;
                match tree.item(item) {
                    Item::Const(found) => self.const_value(item, &found.ty, &found.expr),
                    Item::Static(found) => self.const_value(item, &found.ty, &found.expr),
                    Item::Struct(_) => self.types.lower_item(item, Vec::new()),
                    _ => Ty::Unknown,
                }
            }
            Callee::Foreign(path) if table::foreign(&path) == table::ForeignEffect::Fails => Ty::Never,
            // A function of kube that is handed over makes its requests where it is called.
            Callee::Foreign(path) if table::is_function(&path) => Ty::Path(path.into()),
            Callee::Foreign(path) if ForeignType::at(&path) == ForeignType::Kube(Kube::Cluster) => {
                Ty::kube(Kube::Cluster)
            }
            Callee::Foreign(_) | Callee::Unknown => Ty::Unknown,
        }
    }

    /// `Api::<K>::all` as a value: a function from a client to the `Api`.
    fn api_function(&mut self, ty: &Ty, name: &str, expected: &Ty) -> Ty {
        let Ty::Api(kind, _) = ty else { return Ty::Unknown };
        let scope = match name {
            "all" => RequestScope::Cluster,
            "default_namespaced" => RequestScope::Own,
            "namespaced" => RequestScope::Namespaced,
            _ => return Ty::Unknown,
        };
        let client = Ty::kube(Kube::Client);
        let inputs = if name == "namespaced" { vec![client, Ty::Unknown] } else { vec![client] };
        let function = Ty::function(inputs, Ty::reaching((**kind).clone(), scope));
        self.unify(&function, expected);
        self.resolve(&function)
    }

    /// A function that is not called here: with type arguments, or without type parameters, it is as good as called.
    fn function_value(
        &mut self,
        frame: &CallFrame,
        id: FunctionId,
        itself: Option<Ty>,
        path: &ExprPath,
        expected: &Ty,
    ) -> Ty {
        let explicit = self.types.turbofish(&frame.scope, &path.path);
        let signature = self.types.signature(id, itself.clone(), Some(&explicit));
        let receiver = itself.filter(|_| self.types.index.get(id).takes_self());
        let inputs: Vec<Ty> = receiver.into_iter().chain(signature.parameters.iter().cloned()).collect();
        let function = Ty::function(inputs.clone(), signature.output.clone());
        self.unify(&function, expected);
        if explicit.is_empty() && !signature.scope.generics.is_empty() {
            // With its type parameters inferred it is run as well.
            if matches!(self.resolve(expected), Ty::Function(_)) {
                self.later(signature);
            }
            return self.resolve(&function);
        }
        let output = self.enter(signature);
        Ty::function(inputs, output)
    }

    pub(super) fn const_value(&mut self, item: ItemRef, ty: &syn::Type, value: &Expr) -> Ty {
        let scope = NameScope::new(self.tree.module(item));
        let declared = self.types.lower(&scope, ty);
        if self.types.depth > 16 {
            return declared;
        }
        self.types.depth += 1;
        let mut frame = CallFrame::of(scope);
        let found = self.expr(&mut frame, value, &declared);
        self.types.depth -= 1;
        declared.refine(&self.resolve(&found))
    }

    /// The trait in front of the name of a function: `<Cluster as Store<Pod>>::api`.
    pub(super) fn named_trait(&mut self, frame: &CallFrame, path: &ExprPath) -> Option<Ty> {
        let position = path.qself.as_ref()?.position;
        let segments = path.path.segments.iter().take(position).cloned().collect();
        let of = self.types.lower_path(&frame.scope, &syn::Path { leading_colon: path.path.leading_colon, segments });
        self.types.is_trait(&of).then_some(of)
    }

    pub(super) fn callee(&mut self, frame: &CallFrame, path: &ExprPath) -> Callee {
        let scope = &frame.scope;
        if let Some(itself) = &path.qself {
            let ty = self.types.lower(scope, &itself.ty);
            let ty = self.resolve(&ty);
            let name = path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
            return Callee::Associated(ty, name);
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
            if let Some(ty) = self.types.type_prefix(scope, &prefix) {
                return match (&ty, self.types.tree_variant(&ty, &name)) {
                    (Ty::Item(item, _), true) => Callee::Constructor(*item, Some(name)),
                    _ => Callee::Associated(ty, name),
                };
            }
        }
        match self.types.resolve(scope, path, Namespace::Values) {
            Resolution::Local(item) => match self.types.index.free(item) {
                Some(id) => Callee::Free(id),
                None => Callee::Constructor(item, None),
            },
            Resolution::Member(item, name) => {
                let ty = self.types.lower_item(item, Vec::new());
                if self.types.tree_variant(&ty, &name) {
                    Callee::Constructor(item, Some(name))
                } else {
                    Callee::Associated(ty, name)
                }
            }
            Resolution::Foreign(path) => Callee::Foreign(path),
            Resolution::Primitive(_) | Resolution::Unresolved(_) => Callee::Unknown,
        }
    }
}
