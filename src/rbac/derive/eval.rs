//! What statements, patterns and expressions mean, in the order in which they run.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use syn::{Block, Expr, Fields, Item, Lit, Member, Pat, Stmt};

use crate::source::{ItemRef, Namespace, Resolution};

use super::fields::argument_of;
use super::lower::{Scope, UNFOUND};
use super::read::{DEREFS, Frame, Place, Reader};
use super::types::{Gvk, Ty};

impl Frame {
    pub(super) fn enter(&mut self) {
        self.locals.push(BTreeMap::new());
    }

    pub(super) fn leave(&mut self) {
        for name in self.locals.pop().into_iter().flatten().map(|(name, _)| name) {
            self.existing.remove(&name);
        }
    }

    pub(super) fn local(&self, name: &str) -> Option<&Ty> {
        self.locals.iter().rev().find_map(|names| names.get(name))
    }

    fn declare(&mut self, name: String, ty: Ty) {
        self.existing.remove(&name);
        if let Some(names) = self.locals.last_mut() {
            names.insert(name, ty);
        }
    }

    fn assign(&mut self, name: &str, ty: Ty) {
        self.existing.remove(name);
        if let Some(slot) = self.locals.iter_mut().rev().find_map(|names| names.get_mut(name)) {
            *slot = ty;
        }
    }
}

impl Reader<'_> {
    pub(super) fn place(frame: &Frame, span: proc_macro2::Span) -> Place {
        Place { module: frame.scope.module, span }
    }

    pub(super) fn block(&mut self, frame: &mut Frame, block: &Block, expected: &Ty) -> Ty {
        frame.enter();
        let (uses, nested) = (frame.scope.uses.clone(), frame.nested.clone());
        for statement in &block.stmts {
            if let Stmt::Item(item) = statement {
                self.inner_item(frame, item);
            }
        }
        let mut value = Ty::Tuple(Vec::new());
        for (position, statement) in block.stmts.iter().enumerate() {
            let last = position + 1 == block.stmts.len();
            value = Ty::Tuple(Vec::new());
            match statement {
                Stmt::Local(local) => self.let_statement(frame, local),
                Stmt::Item(_) => {}
                Stmt::Expr(inner, semicolon) => {
                    let wanted = if last && semicolon.is_none() { expected } else { &Ty::Unknown };
                    let found = self.expr(frame, inner, wanted);
                    if last && semicolon.is_none() {
                        value = found;
                    } else if last && diverges(inner) {
                        value = Ty::Never;
                    }
                }
                Stmt::Macro(call) => {
                    let found = self.macro_call(frame, &call.mac);
                    if last && call.semi_token.is_none() {
                        value = found;
                    }
                }
            }
        }
        (frame.scope.uses, frame.nested) = (uses, nested);
        frame.leave();
        value
    }

    fn inner_item(&mut self, frame: &mut Frame, item: &Item) {
        match item {
            Item::Fn(item) => {
                if let Some(id) = self.index.nested(frame.scope.module, item) {
                    frame.nested.insert(item.sig.ident.to_string(), id);
                }
            }
            Item::Use(item) => used(&item.tree, &mut Vec::new(), &mut |name, path| {
                frame.scope.uses.insert(name, path);
            }),
            Item::Const(item) => {
                let value = self.expr(frame, &item.expr, &Ty::Unknown);
                frame.declare(item.ident.to_string(), value);
            }
            _ => {}
        }
    }

    fn let_statement(&mut self, frame: &mut Frame, local: &syn::Local) {
        let declared = match &local.pat {
            Pat::Type(pattern) => self.lower(&frame.scope.clone(), &pattern.ty),
            _ => Ty::Unknown,
        };
        let mut value = match &local.pat {
            Pat::Type(_) => declared.clone(),
            _ => Ty::Never,
        };
        if let Some(init) = &local.init {
            let found = self.expr(frame, &init.expr, &declared);
            self.inferred.unify(&declared, &found);
            value = self.inferred.resolve(&declared).refine(&self.inferred.resolve(&found));
            if let Some((_, otherwise)) = &init.diverge {
                self.expr(frame, otherwise, &Ty::Unknown);
            }
        }
        self.bind(frame, &local.pat, &value);
        if let Some(init) = &local.init {
            self.note_existing(frame, &local.pat, &init.expr);
        }
    }

    /// Gives the names of a pattern their types.
    pub(super) fn bind(&mut self, frame: &mut Frame, pattern: &Pat, ty: &Ty) {
        match pattern {
            Pat::Ident(pattern) => {
                let value = match (ty, &pattern.subpat) {
                    (Ty::Unknown, None) => self.inferred.fresh(),
                    _ => ty.clone(),
                };
                frame.declare(pattern.ident.to_string(), value);
                if let Some((_, inner)) = &pattern.subpat {
                    self.bind(frame, inner, ty);
                }
            }
            Pat::Type(pattern) => {
                let declared = self.lower(&frame.scope.clone(), &pattern.ty);
                self.bind(frame, &pattern.pat, &declared.refine(ty));
            }
            Pat::Reference(pattern) => self.bind(frame, &pattern.pat, ty),
            Pat::Paren(pattern) => self.bind(frame, &pattern.pat, ty),
            Pat::Guard(pattern) => {
                self.bind(frame, &pattern.pat, ty);
                self.expr(frame, &pattern.guard, &Ty::Unknown);
            }
            Pat::Tuple(pattern) => {
                let known = self.inferred.resolve(ty);
                for (position, inner) in pattern.elems.iter().enumerate() {
                    let part = match &known {
                        Ty::Tuple(parts) => parts.get(position).cloned().unwrap_or(Ty::Unknown),
                        _ => Ty::Unknown,
                    };
                    self.bind(frame, inner, &part);
                }
            }
            Pat::Slice(pattern) => {
                let element = self.element(ty);
                for inner in &pattern.elems {
                    self.bind(frame, inner, &element);
                }
            }
            Pat::Or(pattern) => {
                for case in &pattern.cases {
                    self.bind(frame, case, ty);
                }
            }
            Pat::TupleStruct(pattern) => {
                for (position, inner) in pattern.elems.iter().enumerate() {
                    let part = self.pattern_field(frame, &pattern.path, &position.to_string(), ty);
                    self.bind(frame, inner, &part);
                }
            }
            Pat::Struct(pattern) => {
                for field in &pattern.fields {
                    let name = member(&field.member);
                    let part = self.pattern_field(frame, &pattern.path, &name, ty);
                    self.bind(frame, &field.pat, &part);
                }
            }
            _ => {}
        }
    }

    /// The type of a field in a pattern: `Some(x)` and `Ok(x)` are what they wrap.
    fn pattern_field(&mut self, frame: &Frame, path: &syn::Path, field: &str, ty: &Ty) -> Ty {
        let last = path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        if path.segments.len() == 1 {
            match last.as_str() {
                "Some" | "Ok" => return ty.clone(),
                "Err" => return Ty::Unknown,
                _ => {}
            }
        }
        let known = self.inferred.resolve(ty);
        let item = match self.resolve(&frame.scope, path, Namespace::Values) {
            Resolution::Local(item) => Some((item, None)),
            Resolution::Member(item, variant) => Some((item, Some(variant))),
            _ => match self.resolve(&frame.scope, path, Namespace::Types) {
                Resolution::Local(item) => Some((item, None)),
                Resolution::Member(item, variant) => Some((item, Some(variant))),
                _ if last == "Self" => match &frame.scope.itself {
                    Some(Ty::Item(item, _)) => Some((*item, None)),
                    _ => None,
                },
                _ => match (path.segments.first(), &frame.scope.itself) {
                    (Some(first), Some(Ty::Item(item, _))) if first.ident == "Self" => {
                        Some((*item, Some(last.clone())))
                    }
                    _ => None,
                },
            },
        };
        let Some((item, variant)) = item else {
            // An event of a finalizer or watcher holds the object.
            return if EVENTS.contains(&last.as_str()) { known } else { Ty::Unknown };
        };
        let owner = match &known {
            Ty::Item(of, arguments) if *of == item => Ty::Item(item, arguments.clone()),
            Ty::Root(of) if *of == item => return self.field(&known, field),
            _ => self.lower_item(item, Vec::new()),
        };
        match variant {
            Some(variant) => self.variant_field(&owner, &variant, field),
            None => self.field(&owner, field),
        }
    }

    /// The type of a field.
    pub(super) fn field(&mut self, ty: &Ty, name: &str) -> Ty {
        match self.inferred.resolve(ty) {
            Ty::Tuple(parts) => name.parse::<usize>().ok().and_then(|at| parts.get(at).cloned()).unwrap_or(Ty::Unknown),
            Ty::Many(element) if name == "items" => Ty::Many(element),
            // What `Client::default_namespace` says, too: kube-client/src/config/mod.rs.
            Ty::Foreign(path, _) if &*path == "kube::Config" && name == "default_namespace" => Ty::OwnNamespace,
            Ty::Root(item) => {
                let scope = Scope::new(self.tree.module(item));
                match name {
                    "spec" => self.lower_item(item, Vec::new()),
                    "status" => {
                        let status = self.tree.custom_resource(item).and_then(|found| found.status);
                        let path = status.and_then(|status| syn::parse_str::<syn::Path>(&status).ok());
                        path.map_or(Ty::Unknown, |path| self.lower_path(&scope, &path))
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
                    (&found, self.depth <= DEREFS, self.deref(&Ty::Item(item, arguments)))
                {
                    self.depth += 1;
                    let found = self.field(&inner, name);
                    self.depth -= 1;
                    return found;
                }
                let found = found.unwrap_or(Ty::Unknown);
                known.map_or(found.clone(), |known| found.refine(&known))
            }
            _ => Ty::Unknown,
        }
    }

    pub(super) fn variant_field(&mut self, ty: &Ty, variant: &str, name: &str) -> Ty {
        let tree = self.tree;
        let Ty::Item(item, arguments) = ty else { return Ty::Unknown };
        let Item::Enum(declared) = tree.item(*item) else { return Ty::Unknown };
        let Some(found) = declared.variants.iter().find(|found| found.ident == variant) else { return Ty::Unknown };
        let known = self.fields.get(*item, &format!("{variant}.{name}"));
        let lowered = self.declared_field(*item, &declared.generics, arguments, &found.fields, name);
        let lowered = lowered.unwrap_or(Ty::Unknown);
        known.map_or(lowered.clone(), |known| lowered.refine(&known))
    }

    fn declared_field(
        &mut self,
        item: ItemRef,
        generics: &syn::Generics,
        arguments: &[Ty],
        fields: &Fields,
        name: &str,
    ) -> Option<Ty> {
        let mut scope = Scope::new(self.tree.module(item));
        scope.itself = Some(Ty::Item(item, arguments.to_vec()));
        scope.generics = self.bind_generics(&scope, generics, arguments);
        let field = fields.iter().enumerate().find(|(position, field)| match &field.ident {
            Some(ident) => ident == name,
            None => position.to_string() == name,
        });
        field.map(|(_, field)| {
            let ty = self.lower(&scope, &field.ty);
            let place = Place { module: scope.module, span: syn::spanned::Spanned::span(field) };
            let (variable, flag) = argument_of(field);
            let known = flag.and_then(|flag| self.flag_value(&flag));
            let known = known.or_else(|| variable.and_then(|variable| self.variable_value(place, &variable)));
            known.map_or(ty.clone(), |known| ty.refine(&known))
        })
    }

    /// What a collection holds.
    pub(super) fn element(&self, ty: &Ty) -> Ty {
        match self.inferred.resolve(ty) {
            Ty::Many(element) => (*element).clone(),
            Ty::Map(value) => Ty::Tuple(vec![Ty::Unknown, (*value).clone()]),
            _ => Ty::Unknown,
        }
    }

    /// What an expression is.
    pub(super) fn expr(&mut self, frame: &mut Frame, expr: &Expr, expected: &Ty) -> Ty {
        let none = &Ty::Unknown;
        match expr {
            Expr::Path(path) => self.path(frame, path, expected),
            Expr::Call(call) => self.call(frame, call, expected),
            Expr::MethodCall(call) => self.method_call(frame, call, false, expected),
            Expr::Reference(inner) => {
                if inner.mutability.is_some() {
                    self.borrowed(&inner.expr);
                }
                self.expr(frame, &inner.expr, expected)
            }
            Expr::Paren(inner) => self.expr(frame, &inner.expr, expected),
            Expr::Group(inner) => self.expr(frame, &inner.expr, expected),
            Expr::Await(inner) => match &*inner.base {
                Expr::MethodCall(call) => self.method_call(frame, call, true, expected),
                base => self.expr(frame, base, expected),
            },
            Expr::Try(inner) => self.expr(frame, &inner.expr, expected),
            Expr::Unary(inner) => self.expr(frame, &inner.expr, expected),
            Expr::Cast(inner) => self.expr(frame, &inner.expr, none),
            Expr::RawAddr(inner) => self.expr(frame, &inner.expr, expected),
            Expr::Field(inner) => {
                let base = self.expr(frame, &inner.base, none);
                if is_object_namespace(inner) {
                    return Ty::ObjectNamespace;
                }
                self.field(&base, &member(&inner.member))
            }
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Ty::text(&text.value()),
                _ => Ty::foreign("literal"),
            },
            Expr::Tuple(tuple) => {
                let wanted = self.inferred.resolve(expected);
                let mut parts = Vec::new();
                for (position, part) in tuple.elems.iter().enumerate() {
                    let wanted = match &wanted {
                        Ty::Tuple(parts) => parts.get(position).cloned().unwrap_or(Ty::Unknown),
                        _ => Ty::Unknown,
                    };
                    parts.push(self.expr(frame, part, &wanted));
                }
                Ty::Tuple(parts)
            }
            Expr::Array(array) => {
                let wanted = self.element(expected);
                self.many(frame, array.elems.iter(), &wanted)
            }
            Expr::Repeat(array) => Ty::many(self.expr(frame, &array.expr, none)),
            Expr::Block(inner) => self.block(frame, &inner.block, expected),
            Expr::Unsafe(inner) => self.block(frame, &inner.block, expected),
            Expr::Const(inner) => self.block(frame, &inner.block, expected),
            Expr::TryBlock(inner) => self.block(frame, &inner.block, expected),
            Expr::Assign(inner) => self.assign(frame, inner),
            Expr::Binary(inner) => {
                let left = self.expr(frame, &inner.left, none);
                self.expr(frame, &inner.right, none);
                match self.inferred.resolve(&left) {
                    text if text.is_known_text() => text.general(),
                    _ => Ty::Unknown,
                }
            }
            Expr::Index(inner) => {
                let base = self.expr(frame, &inner.expr, none);
                self.expr(frame, &inner.index, none);
                match (self.inferred.resolve(&base), &*inner.index) {
                    (many @ Ty::Many(_), Expr::Range(_)) => many,
                    (Ty::Map(value), _) => (*value).clone(),
                    (base, _) => self.element(&base),
                }
            }
            Expr::Range(inner) => {
                for end in [&inner.start, &inner.end].into_iter().flatten() {
                    self.expr(frame, end, none);
                }
                Ty::many(Ty::foreign("usize"))
            }
            Expr::Struct(inner) => self.struct_(frame, inner, expected),
            Expr::Closure(closure) => self.closure(frame, closure, &[], expected),
            Expr::Macro(call) => self.macro_call(frame, &call.mac),
            expr => self.control(frame, expr, expected),
        }
    }

    /// What decides what is run next.
    fn control(&mut self, frame: &mut Frame, expr: &Expr, expected: &Ty) -> Ty {
        let none = &Ty::Unknown;
        match expr {
            Expr::Async(inner) => {
                let returned = std::mem::replace(&mut frame.returned, Ty::Never);
                let output = std::mem::replace(&mut frame.output, expected.clone());
                let value = self.block(frame, &inner.block, expected);
                frame.output = output;
                value.join(&std::mem::replace(&mut frame.returned, returned))
            }
            Expr::If(inner) => self.if_(frame, inner, expected),
            Expr::Match(inner) => {
                let scrutinee = self.expr(frame, &inner.expr, none);
                let mut value = Ty::Never;
                for arm in &inner.arms {
                    frame.enter();
                    self.bind(frame, &arm.pat, &scrutinee);
                    self.note_existing(frame, &arm.pat, &inner.expr);
                    let found = self.expr(frame, &arm.body, expected);
                    frame.leave();
                    if !diverges(&arm.body) {
                        value = value.join(&self.inferred.resolve(&found));
                    }
                }
                value
            }
            Expr::Let(inner) => {
                let value = self.expr(frame, &inner.expr, none);
                self.bind(frame, &inner.pat, &value);
                self.note_existing(frame, &inner.pat, &inner.expr);
                Ty::foreign("bool")
            }
            Expr::While(inner) => {
                frame.enter();
                self.expr(frame, &inner.cond, none);
                self.block(frame, &inner.body, none);
                frame.leave();
                Ty::Tuple(Vec::new())
            }
            Expr::Loop(inner) => {
                self.block(frame, &inner.body, none);
                Ty::Unknown
            }
            Expr::ForLoop(inner) => {
                let many = self.expr(frame, &inner.expr, none);
                frame.enter();
                let element = self.element(&many);
                self.bind(frame, &inner.pat, &element);
                self.block(frame, &inner.body, none);
                frame.leave();
                Ty::Tuple(Vec::new())
            }
            Expr::Return(inner) => {
                if let Some(value) = &inner.expr {
                    let output = frame.output.clone();
                    let found = self.expr(frame, value, &output);
                    frame.returned = frame.returned.join(&self.inferred.resolve(&found));
                }
                Ty::Never
            }
            Expr::Break(inner) => {
                if let Some(value) = &inner.expr {
                    self.expr(frame, value, none);
                }
                Ty::Never
            }
            Expr::Continue(_) => Ty::Never,
            Expr::Yield(inner) => {
                if let Some(value) = &inner.expr {
                    self.expr(frame, value, none);
                }
                Ty::Unknown
            }
            _ => Ty::Unknown,
        }
    }

    /// A collection of expressions.
    pub(super) fn many<'e>(&mut self, frame: &mut Frame, parts: impl Iterator<Item = &'e Expr>, wanted: &Ty) -> Ty {
        let mut element = Ty::Never;
        for part in parts {
            let found = self.expr(frame, part, wanted);
            element = element.join(&self.inferred.resolve(&found));
        }
        Ty::many(element)
    }

    fn if_(&mut self, frame: &mut Frame, inner: &syn::ExprIf, expected: &Ty) -> Ty {
        frame.enter();
        self.expr(frame, &inner.cond, &Ty::Unknown);
        let then = self.block(frame, &inner.then_branch, expected);
        frame.leave();
        let Some((_, otherwise)) = &inner.else_branch else { return Ty::Tuple(Vec::new()) };
        let other = self.expr(frame, otherwise, expected);
        let (then, other) = (self.inferred.resolve(&then), self.inferred.resolve(&other));
        let ends = inner.then_branch.stmts.last().is_some_and(|last| match last {
            Stmt::Expr(last, _) => diverges(last),
            _ => false,
        });
        match (ends, diverges(otherwise)) {
            (true, _) => other,
            (_, true) => then,
            _ => then.join(&other),
        }
    }

    fn assign(&mut self, frame: &mut Frame, inner: &syn::ExprAssign) -> Ty {
        let declared = self.expr(frame, &inner.left, &Ty::Unknown);
        let value = self.expr(frame, &inner.right, &declared);
        self.inferred.unify(&declared, &value);
        let value = self.inferred.resolve(&value);
        match &*inner.left {
            Expr::Path(path) => {
                if let Some(name) = path.path.get_ident() {
                    // What was there before may be there still, when this is one of two branches.
                    let joined = self.inferred.resolve(&declared).join(&value);
                    frame.assign(&name.to_string(), joined);
                }
            }
            Expr::Field(field) => {
                let base = self.expr(frame, &field.base, &Ty::Unknown);
                let name = member(&field.member);
                match self.inferred.resolve(&base) {
                    Ty::Item(item, _) => self.learn_field(item, &name, &value),
                    base if may_be_item(&base) => self.fields.spoil(&name),
                    _ => {}
                }
            }
            _ => {}
        }
        Ty::Tuple(Vec::new())
    }

    fn struct_(&mut self, frame: &mut Frame, inner: &syn::ExprStruct, expected: &Ty) -> Ty {
        let mut variant = None;
        let mut owner = match self.resolve(&frame.scope, &inner.path, Namespace::Types) {
            Resolution::Member(item, name) if matches!(self.tree.item(item), Item::Enum(_)) => {
                let root = self.tree.custom_resource(item).is_some_and(|found| found.root == name);
                if root {
                    Ty::Root(item)
                } else {
                    variant = Some(name);
                    self.lower_item(item, Vec::new())
                }
            }
            _ => self.lower_path(&frame.scope.clone(), &inner.path),
        };
        if let (Ty::Unknown, Some(Ty::Item(item, _)), true) =
            (&owner, &frame.scope.itself, inner.path.segments.first().is_some_and(|first| first.ident == "Self"))
        {
            variant = inner.path.segments.last().map(|last| last.ident.to_string());
            owner = self.lower_item(*item, Vec::new());
        }
        self.inferred.unify(&owner, expected);
        let mut texts: BTreeMap<String, Ty> = BTreeMap::new();
        for field in &inner.fields {
            let name = member(&field.member);
            let declared = match &variant {
                Some(variant) => self.variant_field(&owner, variant, &name),
                None => self.field(&owner, &name),
            };
            let value = self.expr(frame, &field.expr, &declared);
            self.inferred.unify(&declared, &value);
            if let Ty::Item(item, _) = &owner {
                let key = variant.as_ref().map_or(name.clone(), |variant| format!("{variant}.{name}"));
                self.learn_field(*item, &key, &value);
            }
            texts.insert(name, self.inferred.resolve(&value));
        }
        if let Some(rest) = &inner.rest {
            self.expr(frame, rest, &owner);
        }
        if owner.is_kube("Kubeconfig") {
            return Ty::Elsewhere("Kubeconfig".into());
        }
        if owner.is_kube("ApiResource") || owner.is_kube("GroupVersionKind") {
            return spelled(&texts).unwrap_or(owner);
        }
        self.inferred.resolve(&owner)
    }

    /// A closure is run where it stands; `inputs` is what it will be called with.
    pub(super) fn closure(
        &mut self,
        frame: &mut Frame,
        closure: &syn::ExprClosure,
        inputs: &[Ty],
        expected: &Ty,
    ) -> Ty {
        let wanted = match self.inferred.resolve(expected) {
            Ty::Function(output) => (*output).clone(),
            _ => Ty::Unknown,
        };
        let declared = match &closure.output {
            syn::ReturnType::Default => wanted,
            output @ syn::ReturnType::Type(..) => self.lower_return(&frame.scope.clone(), output),
        };
        let returned = std::mem::replace(&mut frame.returned, Ty::Never);
        let output = std::mem::replace(&mut frame.output, declared.clone());
        frame.enter();
        for (position, pattern) in closure.inputs.iter().enumerate() {
            let ty = inputs.get(position).cloned().unwrap_or(Ty::Unknown);
            self.bind(frame, pattern, &ty);
        }
        let value = self.expr(frame, &closure.body, &declared);
        frame.leave();
        frame.output = output;
        let value = value.join(&std::mem::replace(&mut frame.returned, returned));
        Ty::Function(Rc::new(declared.refine(&self.inferred.resolve(&value))))
    }

    /// What `Deref` makes of a type of the tree.
    pub(super) fn deref(&mut self, ty: &Ty) -> Option<Ty> {
        for (module, block) in self.index.derefs.clone() {
            let of = self.implemented(module, block);
            if !self.may_be(&of, ty) {
                continue;
            }
            let mut scope = Scope::new(module);
            scope.generics = self.bind_generics(&scope, &block.generics, &[]);
            let of = self.lower(&scope, &block.self_ty);
            self.inferred.unify(&of, ty);
            scope.itself = Some(ty.clone());
            let target = block.items.iter().find_map(|item| match item {
                syn::ImplItem::Type(found) if found.ident == "Target" => Some(&found.ty),
                _ => None,
            })?;
            let target = self.lower(&scope, target);
            return Some(self.inferred.resolve(&target));
        }
        None
    }
}

/// A type that could not be told may be one of the tree.
fn may_be_item(ty: &Ty) -> bool {
    match ty {
        Ty::Unknown | Ty::Infer(_) | Ty::Param(_) => true,
        Ty::Foreign(path, _) => path.starts_with(UNFOUND),
        _ => false,
    }
}

/// The variants of events of kube that hold an object.
const EVENTS: &[&str] =
    &["Added", "Applied", "Apply", "Cleanup", "Delete", "Deleted", "InitApply", "Modified", "Restarted"];

/// The resource that the fields of a `GroupVersionKind` or `ApiResource` spell out.
fn spelled(fields: &BTreeMap<String, Ty>) -> Option<Ty> {
    let text = |name: &str| match fields.get(name) {
        Some(Ty::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let plural = text("plural");
    let kind = text("kind").or_else(|| plural.clone())?;
    if fields.contains_key("plural") && plural.is_none() {
        return None;
    }
    Some(Ty::Dynamic(BTreeSet::from([Gvk { group: text("group")?, kind, plural }])))
}

pub(super) fn member(member: &Member) -> String {
    match member {
        Member::Named(name) => name.to_string(),
        Member::Unnamed(position) => position.index.to_string(),
    }
}

/// `object.metadata.namespace`
fn is_object_namespace(field: &syn::ExprField) -> bool {
    let is = |found: &Member, wanted: &str| matches!(found, Member::Named(name) if name == wanted);
    is(&field.member, "namespace") && matches!(&*field.base, Expr::Field(metadata) if is(&metadata.member, "metadata"))
}

/// Nothing comes after it.
fn diverges(expr: &Expr) -> bool {
    match expr {
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
        Expr::Macro(call) => call.mac.path.segments.last().is_some_and(|last| {
            matches!(last.ident.to_string().as_str(), "panic" | "bail" | "unreachable" | "todo" | "unimplemented")
        }),
        Expr::Block(inner) => inner.block.stmts.last().is_some_and(|last| match last {
            Stmt::Expr(last, _) => diverges(last),
            Stmt::Macro(call) => call.mac.path.segments.last().is_some_and(|last| {
                matches!(last.ident.to_string().as_str(), "panic" | "bail" | "unreachable" | "todo" | "unimplemented")
            }),
            _ => false,
        }),
        _ => false,
    }
}

/// The names that a `use` inside a function brings in.
fn used(tree: &syn::UseTree, path: &mut Vec<syn::Ident>, add: &mut impl FnMut(String, syn::Path)) {
    let full = |path: &[syn::Ident], last: Option<&syn::Ident>| {
        let segments = path.iter().chain(last).map(|ident| syn::PathSegment::from(ident.clone()));
        syn::Path { leading_colon: None, segments: segments.collect() }
    };
    match tree {
        syn::UseTree::Path(tree) => {
            path.push(tree.ident.clone());
            used(&tree.tree, path, add);
            path.pop();
        }
        syn::UseTree::Name(tree) if tree.ident == "self" => {
            if let Some(last) = path.last() {
                add(last.to_string(), full(path, None));
            }
        }
        syn::UseTree::Name(tree) => add(tree.ident.to_string(), full(path, Some(&tree.ident))),
        syn::UseTree::Rename(tree) => add(tree.rename.to_string(), full(path, Some(&tree.ident))),
        syn::UseTree::Group(tree) => tree.items.iter().for_each(|tree| used(tree, path, add)),
        syn::UseTree::Glob(_) => {}
    }
}
