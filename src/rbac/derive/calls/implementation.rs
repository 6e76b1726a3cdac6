//! Implementations of traits with type arguments: the one that a call or an operator means.

use proc_macro2::Span;
use syn::{BinOp, Expr, Item, UnOp};

use super::super::doubt::Cause;
use super::super::foreign::ForeignType;
use super::super::frame::CallFrame;
use super::super::index::{FunctionId, ImplBlock, Owner};
use super::super::lower::{Lowering, NameScope};
use super::super::read::FunctionReader;
use super::super::signature::Signature;
use super::super::types::Ty;
use super::CallSite;
use crate::source::ItemRef;

/// The maximum depth of supertraits, which may be a circle.
const SUPERTRAITS: usize = 16;

impl Lowering<'_> {
    /// The trait of an `impl` block with its arguments, for a type that the block is for.
    fn implemented_trait(&mut self, block: ImplBlock<'_>, of: ItemRef, itself: &Ty) -> Ty {
        let scope = self.scope_of(block, itself.clone());
        let arguments = block.item.trait_.as_ref().map(|(path, _)| self.turbofish(&scope, path));
        self.lower_item(of, arguments.unwrap_or_default())
    }

    /// The arguments with which a type implements a trait of the tree, if one `impl` block says so.
    fn only_implementation(&mut self, ty: &Ty, of: ItemRef) -> Option<Ty> {
        let mut blocks = self.index.implementations.get(&of).cloned().unwrap_or_default();
        blocks.retain(|block| {
            let implemented = self.implemented(*block);
            self.may_be(&implemented, ty)
        });
        let [block] = blocks[..] else { return None };
        Some(self.implemented_trait(block, of, ty))
    }

    /// The traits with their supertraits.
    fn with_supertraits(&mut self, traits: Vec<Ty>) -> Vec<Ty> {
        let mut all = Vec::new();
        let mut open = traits;
        for _ in 0..SUPERTRAITS {
            let mut above = Vec::new();
            for found in &open {
                let Ty::Item(item, arguments) = found else { continue };
                let Item::Trait(declared) = self.tree.item(*item) else { continue };
                let mut scope = NameScope::new(self.tree.module(*item));
                scope.generics = self.bind_generics(&scope, &declared.generics, arguments);
                above.extend(self.traits(&scope, &declared.supertraits));
            }
            all.append(&mut open);
            open = above;
        }
        all
    }

    /// Returns true if one trait is the other one or has it as a supertrait.
    pub(in crate::rbac::derive) fn inherits(&mut self, one: &Ty, other: ItemRef) -> bool {
        let all = self.with_supertraits(vec![one.clone()]);
        all.iter().any(|found| matches!(found, Ty::Item(item, _) if *item == other))
    }

    /// Returns true unless two types are known to differ.
    fn fits(&self, wanted: &Ty, given: &Ty) -> bool {
        let open = |ty: &Ty| matches!(ty, Ty::Unknown | Ty::Never | Ty::Infer(_) | Ty::Param(_) | Ty::Function(_));
        let is_text =
            |ty: &Ty| ty.is_known_text() || matches!(ty, Ty::Foreign(ForeignType::Str | ForeignType::String, _));
        match (&self.inferred.resolve(wanted).general(), &self.inferred.resolve(given).general()) {
            (one, other) if open(one) || open(other) || self.is_trait(one) || self.is_trait(other) => true,
            (one, other) if is_text(one) && is_text(other) => true,
            (one, Ty::Foreign(ForeignType::Literal, _)) | (Ty::Foreign(ForeignType::Literal, _), one) => {
                matches!(one, Ty::Foreign(ForeignType::Literal | ForeignType::Other(_), _))
            }
            (Ty::Root(one), Ty::Root(other)) => one == other,
            (Ty::Tuple(one), Ty::Tuple(other)) if one.len() != other.len() => false,
            (one, other) => one.paired(other).is_some_and(|mut parts| parts.all(|(one, other)| self.fits(one, other))),
        }
    }
}

impl FunctionReader<'_> {
    /// The trait of the tree that a receiver is known to implement: by `dyn`, by the bounds in scope, or by its only `impl`.
    fn trait_of(&mut self, frame: &CallFrame, receiver: &Ty, of: ItemRef) -> Option<Ty> {
        let mut traits = vec![receiver.clone()];
        let itself = frame.scope.itself.iter().map(|ty| ("Self", ty));
        for (name, ty) in frame.scope.generics.iter().map(|(name, ty)| (name.as_str(), ty)).chain(itself) {
            if self.resolve(ty) == *receiver {
                traits.extend(frame.scope.bounds.get(name).cloned().unwrap_or_default());
            }
        }
        let mut found: Vec<Ty> = self.types.with_supertraits(traits).iter().map(|found| self.resolve(found)).collect();
        found.retain(|found| matches!(found, Ty::Item(item, _) if *item == of));
        found.sort();
        found.dedup();
        match found.as_slice() {
            [] if matches!(receiver, Ty::Param(_)) => None,
            [] => self.types.only_implementation(receiver, of),
            [one] => Some(one.clone()),
            _ => None,
        }
    }

    /// Gives the type parameters of a trait the arguments that the receiver has for them.
    pub(super) fn infer_trait(
        &mut self,
        frame: &CallFrame,
        receiver: Option<&Ty>,
        call: &CallSite<'_>,
        signature: &Signature,
    ) {
        let Some(Owner::Trait(declared, of)) = self.types.index.get(signature.id).owner else { return };
        if declared.generics.type_params().next().is_none() {
            return;
        }
        let named = call.named.clone().filter(|named| matches!(named, Ty::Item(item, _) if *item == of));
        let known = named.or_else(|| self.trait_of(frame, receiver?, of));
        let Some(Ty::Item(_, arguments)) = known else { return };
        for (parameter, argument) in declared.generics.type_params().zip(&arguments) {
            if let Some(open) = signature.scope.generics.get(&parameter.ident.to_string()) {
                self.unify(open, argument);
            }
        }
    }

    /// Infers the type arguments of bounds from the only `impl` for the type that is bound: `K` of `S: Store<K>`.
    pub(in crate::rbac::derive) fn infer_bounds(&mut self, scope: &NameScope) {
        for (name, traits) in &scope.bounds {
            let Some(ty) = scope.generics.get(name).map(|ty| self.resolve(ty)) else { continue };
            if matches!(ty, Ty::Param(_) | Ty::Unknown | Ty::Infer(_)) {
                continue;
            }
            for bound in traits {
                if let Ty::Item(of, arguments) = bound
                    && !arguments.is_empty()
                {
                    let known = self.types.with_supertraits(vec![ty.clone()]);
                    let known = known.into_iter().find(|found| matches!(found, Ty::Item(item, _) if item == of));
                    if let Some(known) = known.or_else(|| self.types.only_implementation(&ty, *of)) {
                        self.unify(bound, &known);
                    }
                }
            }
        }
    }

    /// The method that is called, where a type implements a trait with several arguments: the one that fits, or else the
    /// declaration in the trait, with its type parameters open.
    pub(super) fn implementation(
        &mut self,
        frame: &mut CallFrame,
        id: FunctionId,
        receiver: &Ty,
        call: &mut CallSite<'_>,
    ) -> FunctionId {
        let Some(Owner::Impl(_, Some(of))) = self.types.index.get(id).owner else { return id };
        let name = self.types.index.get(id).name();
        let methods = self.types.index.methods(&name).to_vec();
        let mut fitting = Vec::new();
        let mut declared = id;
        for method in methods {
            match self.types.index.get(method).owner {
                Some(Owner::Trait(_, item)) if item == of => declared = method,
                Some(Owner::Impl(block, Some(item))) if item == of => {
                    let implemented = self.types.implemented(block);
                    if self.types.may_be(&implemented, receiver) {
                        fitting.push((method, block));
                    }
                }
                _ => {}
            }
        }
        if fitting.len() < 2 {
            return id;
        }
        self.arguments_of(frame, call);
        let wanted = call.named.clone().filter(|named| matches!(named, Ty::Item(item, _) if *item == of));
        let wanted = wanted.or_else(|| self.trait_of(frame, receiver, of));
        fitting.retain(|(method, block)| {
            let implemented = self.types.implemented_trait(*block, of, receiver);
            let wanted = wanted.iter().flat_map(Ty::parts);
            wanted.zip(implemented.parts()).all(|(wanted, found)| self.types.fits(wanted, found))
                && self.is_fitting(*method, receiver, &call.types, &call.expected)
        });
        match fitting[..] {
            [(method, _)] => method,
            _ => declared,
        }
    }

    fn is_fitting(&mut self, method: FunctionId, receiver: &Ty, given: &[Ty], expected: &Ty) -> bool {
        let signature = self.types.signature(method, Some(receiver.clone()), Some(&[]));
        let mut parameters = signature.parameters.iter().zip(given);
        parameters.all(|(parameter, given)| self.types.fits(parameter, given))
            && self.types.fits(&signature.output, expected)
    }

    /// An operator on a type of the tree: a call of the method of its trait, `None` if the tree implements it for no such type.
    fn operator(
        &mut self,
        frame: &mut CallFrame,
        (of, method): (&str, &str),
        span: Span,
        left: &Ty,
        right: Option<(&Expr, &Ty)>,
        expected: &Ty,
    ) -> Option<Ty> {
        let left = self.resolve(left);
        let given: Vec<Ty> = right.iter().map(|(_, ty)| self.resolve(ty)).collect();
        let mut fitting = Vec::new();
        for id in self.types.index.methods(method).to_vec() {
            let Some(Owner::Impl(block, _)) = self.types.index.get(id).owner else { continue };
            let path = block.item.trait_.as_ref().map(|(path, _)| path);
            if path.and_then(|path| path.segments.last()).is_none_or(|last| last.ident != of) {
                continue;
            }
            let implemented = self.types.implemented(block);
            let is_for_any = matches!(implemented, Ty::Param(_) | Ty::Unknown) || left == Ty::Unknown;
            if !is_for_any && self.types.may_be(&implemented, &left) && self.is_fitting(id, &left, &given, &Ty::Unknown)
            {
                fitting.push(id);
            }
        }
        if fitting.len() > 1 && expected != &Ty::Unknown {
            fitting.retain(|id| self.is_fitting(*id, &left, &given, expected));
        }
        let mut outputs: Vec<Ty> = Vec::new();
        for id in fitting {
            let mut call = CallSite {
                location: frame.location(span),
                name: method.into(),
                explicit: Vec::new(),
                arguments: right.iter().map(|(expr, _)| *expr).collect(),
                types: given.clone(),
                expected: Ty::Unknown,
                receiver: None,
                awaited: false,
                named: None,
            };
            let output = self.call_function(frame, id, Some(left.clone()), &mut call);
            let output = self.resolve(&output);
            if !outputs.contains(&output) {
                outputs.push(output);
            }
        }
        match &outputs[..] {
            [] => None,
            [one] => Some(one.clone()),
            several => {
                if several.to_vec().iter().any(|output| self.holds_client(output)) {
                    let message =
                        format!("several implementations of `{of}` are possible, and their results make requests");
                    self.doubt(frame.location(span), Cause::Unread(message));
                }
                Some(Ty::Unknown)
            }
        }
    }

    /// `left + right` and its like, where the tree implements the operator.
    pub(in crate::rbac::derive) fn binary_operator(
        &mut self,
        frame: &mut CallFrame,
        inner: &syn::ExprBinary,
        left: &Ty,
        right: &Ty,
        expected: &Ty,
    ) -> Option<Ty> {
        let name = binary_trait(&inner.op)?;
        let span = syn::spanned::Spanned::span(&inner.op);
        self.operator(frame, name, span, left, Some((&inner.right, right)), expected)
    }

    /// `!value`, `-value` and `*value`, where the tree implements the operator.
    pub(in crate::rbac::derive) fn unary_operator(
        &mut self,
        frame: &mut CallFrame,
        inner: &syn::ExprUnary,
        value: &Ty,
        expected: &Ty,
    ) -> Option<Ty> {
        let name = match inner.op {
            UnOp::Not(_) => ("Not", "not"),
            UnOp::Neg(_) => ("Neg", "neg"),
            _ => return None,
        };
        let span = syn::spanned::Spanned::span(&inner.op);
        self.operator(frame, name, span, value, None, expected)
    }

    /// `base[index]`, where the tree implements `Index`.
    pub(in crate::rbac::derive) fn index_operator(
        &mut self,
        frame: &mut CallFrame,
        inner: &syn::ExprIndex,
        base: &Ty,
        index: &Ty,
    ) -> Option<Ty> {
        let span = inner.bracket_token.span.open();
        self.operator(frame, ("Index", "index"), span, base, Some((&inner.index, index)), &Ty::Unknown)
    }
}

/// The trait of a binary operator and its method; none for `&&` and `||`.
fn binary_trait(operator: &BinOp) -> Option<(&'static str, &'static str)> {
    Some(match operator {
        BinOp::Add(_) => ("Add", "add"),
        BinOp::Sub(_) => ("Sub", "sub"),
        BinOp::Mul(_) => ("Mul", "mul"),
        BinOp::Div(_) => ("Div", "div"),
        BinOp::Rem(_) => ("Rem", "rem"),
        BinOp::BitXor(_) => ("BitXor", "bitxor"),
        BinOp::BitAnd(_) => ("BitAnd", "bitand"),
        BinOp::BitOr(_) => ("BitOr", "bitor"),
        BinOp::Shl(_) => ("Shl", "shl"),
        BinOp::Shr(_) => ("Shr", "shr"),
        BinOp::Eq(_) | BinOp::Ne(_) => ("PartialEq", "eq"),
        BinOp::Lt(_) | BinOp::Le(_) | BinOp::Ge(_) | BinOp::Gt(_) => ("PartialOrd", "partial_cmp"),
        BinOp::AddAssign(_) => ("AddAssign", "add_assign"),
        BinOp::SubAssign(_) => ("SubAssign", "sub_assign"),
        BinOp::MulAssign(_) => ("MulAssign", "mul_assign"),
        BinOp::DivAssign(_) => ("DivAssign", "div_assign"),
        BinOp::RemAssign(_) => ("RemAssign", "rem_assign"),
        BinOp::BitXorAssign(_) => ("BitXorAssign", "bitxor_assign"),
        BinOp::BitAndAssign(_) => ("BitAndAssign", "bitand_assign"),
        BinOp::BitOrAssign(_) => ("BitOrAssign", "bitor_assign"),
        BinOp::ShlAssign(_) => ("ShlAssign", "shl_assign"),
        BinOp::ShrAssign(_) => ("ShrAssign", "shr_assign"),
        _ => return None,
    })
}
