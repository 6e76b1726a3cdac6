//! Evaluation of statements, patterns and expressions, in execution order.

use std::collections::BTreeMap;

use syn::{Block, Expr, Item, Lit, Member, Pat, Stmt};

use crate::k8s;
use crate::source::{Namespace, Resolution};

use super::active::{is_off, is_statement_off};
use super::foreign::{ForeignType, Kube};
use super::frame::{BreakTarget, CallFrame};
use super::lower::NameScope;
use super::pattern::member;
use super::read::FunctionReader;
use super::resource::DerivedResource;
use super::types::Ty;

impl FunctionReader<'_> {
    pub(super) fn block(&mut self, frame: &mut CallFrame, block: &Block, expected: &Ty) -> Ty {
        frame.enter();
        let (uses, nested) = (frame.scope.uses.clone(), frame.nested.clone());
        let (tree, module) = (self.tree, frame.scope.module);
        let active = |statement: &&Stmt| !is_statement_off(tree, module, statement);
        let statements: Vec<&Stmt> = block.stmts.iter().filter(active).collect();
        for statement in &statements {
            if let Stmt::Item(item) = statement {
                self.inner_item(frame, item);
            }
        }
        let mut value = Ty::Tuple(Vec::new());
        for (position, statement) in statements.iter().enumerate() {
            let last = position + 1 == statements.len();
            value = Ty::Tuple(Vec::new());
            match statement {
                Stmt::Local(local) => self.let_statement(frame, local),
                Stmt::Item(_) => {}
                Stmt::Expr(inner, semicolon) => {
                    let is_value = last && semicolon.is_none();
                    let found = self.expr(frame, inner, if is_value { expected } else { &Ty::Unknown });
                    if self.ends(&frame.scope, inner) {
                        // Code after this statement is unreachable.
                        value = Ty::Never;
                        break;
                    }
                    if is_value {
                        value = found;
                    } else if last && diverges(inner) {
                        value = Ty::Never;
                    }
                }
                Stmt::Macro(call) => {
                    let found = self.macro_call(frame, &call.mac, if last { expected } else { &Ty::Unknown });
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

    /// The expression is a statement that leaves the block in every build with these features.
    fn ends(&self, scope: &NameScope, expr: &Expr) -> bool {
        match expr {
            Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
            Expr::If(inner) => match self.decided(scope, &inner.cond) {
                Some(true) => block_diverges(&inner.then_branch),
                Some(false) => inner.else_branch.as_ref().is_some_and(|(_, other)| diverges(other)),
                None => false,
            },
            Expr::Block(inner) => block_diverges(&inner.block) && inner.label.is_none(),
            _ => false,
        }
    }

    fn inner_item(&mut self, frame: &mut CallFrame, item: &Item) {
        match item {
            Item::Fn(item) => {
                if let Some(id) = self.types.index.nested(frame.scope.module, item) {
                    frame.nested.insert(item.sig.ident.to_string(), id);
                }
            }
            Item::Use(item) => used(&item.tree, &mut Vec::new(), &mut |name, path| {
                frame.scope.uses.insert(name, path);
            }),
            Item::Const(syn::ItemConst { ident, ty, expr, .. })
            | Item::Static(syn::ItemStatic { ident, ty, expr, .. }) => {
                let declared = self.types.lower(&frame.scope, ty);
                let value = self.expr(frame, expr, &declared);
                frame.declare(ident.to_string(), declared.refine(&value));
            }
            Item::Impl(item) => self.unread_item(frame, "impl", syn::spanned::Spanned::span(&item.self_ty), item),
            Item::Trait(item) => self.unread_item(frame, "trait", item.ident.span(), item),
            Item::Mod(item) => self.unread_item(frame, "mod", item.ident.span(), item),
            _ => {}
        }
    }

    fn let_statement(&mut self, frame: &mut CallFrame, local: &syn::Local) {
        let declared = match &local.pat {
            Pat::Type(pattern) => self.types.lower(&frame.scope, &pattern.ty),
            _ => Ty::Unknown,
        };
        let mut value = match &local.pat {
            Pat::Type(_) => declared.clone(),
            _ => Ty::Never,
        };
        if let Some(init) = &local.init {
            let found = self.expr(frame, &init.expr, &declared);
            value = self.types.inferred.accept(&declared, &found);
            if let Some((_, otherwise)) = &init.diverge {
                self.expr(frame, otherwise, &Ty::Unknown);
            }
        }
        self.bind(frame, &local.pat, &value);
    }

    pub(super) fn expr(&mut self, frame: &mut CallFrame, expr: &Expr, expected: &Ty) -> Ty {
        let none = &Ty::Unknown;
        match expr {
            Expr::Path(path) => self.path(frame, path, expected),
            Expr::Call(call) => self.call(frame, call, expected),
            Expr::MethodCall(call) => self.method_call(frame, call, false, expected),
            Expr::Reference(inner) => {
                // A mutable borrow may change the field.
                if let (Some(_), Expr::Field(field)) = (&inner.mutability, &*inner.expr) {
                    self.fields.taint(&member(&field.member));
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
            Expr::Unary(inner) => {
                let value = self.expr(frame, &inner.expr, expected);
                self.unary_operator(frame, inner, &value, expected).unwrap_or(value)
            }
            Expr::Cast(inner) => {
                let declared = self.types.lower(&frame.scope, &inner.ty);
                let found = self.expr(frame, &inner.expr, &declared);
                self.types.inferred.accept(&declared, &found)
            }
            Expr::Field(inner) => {
                let base = self.expr(frame, &inner.base, none);
                if is_object_namespace(inner) {
                    return Ty::ObjectNamespace;
                }
                self.field(&base, &member(&inner.member))
            }
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Ty::text(&text.value()),
                _ => Ty::foreign(ForeignType::Literal),
            },
            Expr::Tuple(tuple) => {
                let wanted = self.resolve(expected);
                let mut parts = Vec::new();
                for (position, part) in self.active(frame, &tuple.elems).into_iter().enumerate() {
                    parts.push(self.expr(frame, part, &wanted.part(position)));
                }
                Ty::Tuple(parts)
            }
            Expr::Array(array) => {
                let wanted = self.types.element(expected);
                let active = self.active(frame, &array.elems);
                self.many(frame, active, &wanted)
            }
            Expr::Repeat(array) => Ty::many(self.expr(frame, &array.expr, none)),
            Expr::Block(inner) => match &inner.label {
                Some(label) => self.breakable(frame, &inner.block, Some(label), false, expected),
                None => self.block(frame, &inner.block, expected),
            },
            Expr::Unsafe(inner) => self.block(frame, &inner.block, expected),
            Expr::Assign(inner) => self.assign(frame, inner),
            Expr::Binary(inner) => self.binary(frame, inner, expected),
            Expr::Index(inner) => {
                let base = self.expr(frame, &inner.expr, none);
                let index = self.expr(frame, &inner.index, none);
                if let Some(output) = self.index_operator(frame, inner, &base, &index) {
                    return output;
                }
                match (self.resolve(&base), &*inner.index) {
                    (many @ Ty::Many(_), Expr::Range(_)) => many,
                    (Ty::Map(value), _) => (*value).clone(),
                    (base, _) => self.types.element(&base),
                }
            }
            Expr::Struct(inner) => self.struct_(frame, inner, expected),
            Expr::Closure(closure) => self.closure(frame, closure, &[], expected),
            Expr::Macro(call) => self.macro_call(frame, &call.mac, expected),
            expr => self.control(frame, expr, expected),
        }
    }

    fn binary(&mut self, frame: &mut CallFrame, inner: &syn::ExprBinary, expected: &Ty) -> Ty {
        let left = self.expr(frame, &inner.left, &Ty::Unknown);
        // `cfg!(…) && …`
        let skips = match inner.op {
            syn::BinOp::And(_) => self.decided(&frame.scope, &inner.left) == Some(false),
            syn::BinOp::Or(_) => self.decided(&frame.scope, &inner.left) == Some(true),
            _ => false,
        };
        if !skips {
            let right = self.expr(frame, &inner.right, &Ty::Unknown);
            if let (Ty::Text(left), Ty::Text(right), syn::BinOp::Add(_)) =
                (self.resolve(&left), self.resolve(&right), inner.op)
            {
                return Ty::text(&format!("{left}{right}"));
            }
            if let Some(output) = self.binary_operator(frame, inner, &left, &right, expected) {
                return output;
            }
        }
        match self.resolve(&left) {
            text if text.is_known_text() => text.general(),
            _ => Ty::Unknown,
        }
    }

    /// Control flow.
    fn control(&mut self, frame: &mut CallFrame, expr: &Expr, expected: &Ty) -> Ty {
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
                let decided = self.decided(&frame.scope, &inner.expr);
                for arm in &inner.arms {
                    if self.is_arm_off(frame, arm, decided) {
                        continue;
                    }
                    frame.enter();
                    self.bind(frame, &arm.pat, &scrutinee);
                    let found = self.expr(frame, &arm.body, expected);
                    frame.leave();
                    if !diverges(&arm.body) {
                        value = value.join(&self.resolve(&found));
                    }
                }
                value
            }
            Expr::Let(inner) => {
                let value = self.expr(frame, &inner.expr, none);
                self.bind(frame, &inner.pat, &value);
                Ty::foreign(ForeignType::Literal)
            }
            Expr::While(inner) => {
                frame.enter();
                self.expr(frame, &inner.cond, none);
                if self.decided(&frame.scope, &inner.cond) != Some(false) {
                    self.block(frame, &inner.body, none);
                }
                frame.leave();
                Ty::Tuple(Vec::new())
            }
            Expr::ForLoop(inner) => {
                let many = self.expr(frame, &inner.expr, none);
                let elements = match self.resolve(&many) {
                    Ty::Table(rows) => rows.to_vec(),
                    many => {
                        let many = self.types.iterated(&many).unwrap_or(many);
                        vec![self.types.element(&many)]
                    }
                };
                for element in elements {
                    frame.enter();
                    self.bind(frame, &inner.pat, &element);
                    self.block(frame, &inner.body, none);
                    frame.leave();
                }
                Ty::Tuple(Vec::new())
            }
            Expr::Return(inner) => {
                if let Some(value) = &inner.expr {
                    let output = frame.output.clone();
                    let found = self.expr(frame, value, &output);
                    frame.returned = frame.returned.join(&self.resolve(&found));
                }
                Ty::Never
            }
            Expr::Continue(_) => Ty::Never,
            Expr::Loop(inner) => self.breakable(frame, &inner.body, inner.label.as_ref(), true, expected),
            Expr::Break(inner) => {
                self.break_(frame, inner);
                Ty::Never
            }
            expr => {
                syn::visit::visit_expr(&mut ExpressionParts { reader: self, frame }, expr);
                Ty::Unknown
            }
        }
    }

    /// A loop or a labeled block, with the values of each `break`.
    fn breakable(
        &mut self,
        frame: &mut CallFrame,
        body: &Block,
        label: Option<&syn::Label>,
        is_loop: bool,
        expected: &Ty,
    ) -> Ty {
        let label = label.map(|label| label.name.ident.to_string());
        frame.targets.push(BreakTarget { label, is_loop, expected: expected.clone(), value: Ty::Never });
        let value = self.block(frame, body, if is_loop { &Ty::Unknown } else { expected });
        let broken = frame.targets.pop().map_or(Ty::Never, |target| target.value);
        if is_loop { broken } else { self.resolve(&value).join(&broken) }
    }

    fn break_(&mut self, frame: &mut CallFrame, inner: &syn::ExprBreak) {
        let Some(value) = &inner.expr else { return };
        let label = inner.label.as_ref().map(|label| label.ident.to_string());
        let is_meant = |target: &BreakTarget| match &label {
            Some(_) => target.label == label,
            None => target.is_loop,
        };
        let target = frame.targets.iter().rposition(is_meant);
        let expected = target.map_or(Ty::Unknown, |at| frame.targets[at].expected.clone());
        let found = self.expr(frame, value, &expected);
        if let Some(at) = target {
            frame.targets[at].value = frame.targets[at].value.join(&self.resolve(&found));
        }
    }

    /// A collection of expressions.
    fn many(&mut self, frame: &mut CallFrame, parts: Vec<&Expr>, wanted: &Ty) -> Ty {
        let mut elements = Vec::new();
        for part in parts {
            let found = self.expr(frame, part, wanted);
            elements.push(self.resolve(&found));
        }
        Ty::list(elements)
    }

    fn if_(&mut self, frame: &mut CallFrame, inner: &syn::ExprIf, expected: &Ty) -> Ty {
        let decided = self.decided(&frame.scope, &inner.cond);
        frame.enter();
        self.expr(frame, &inner.cond, &Ty::Unknown);
        let then = match decided {
            Some(false) => Ty::Never,
            _ => self.block(frame, &inner.then_branch, expected),
        };
        frame.leave();
        let Some((_, otherwise)) = inner.else_branch.as_ref().filter(|_| decided != Some(true)) else {
            return if decided == Some(true) { then } else { Ty::Tuple(Vec::new()) };
        };
        let other = self.expr(frame, otherwise, expected);
        let (then, other) = (self.resolve(&then), self.resolve(&other));
        match (decided == Some(false) || block_diverges(&inner.then_branch), diverges(otherwise)) {
            (true, _) => other,
            (_, true) => then,
            _ => then.join(&other),
        }
    }

    /// An arm of a `match` that is switched off: by an attribute, a guard, or as the value that is matched is known.
    fn is_arm_off(&self, frame: &CallFrame, arm: &syn::Arm, matched: Option<bool>) -> bool {
        if self.is_off(frame, &arm.attrs) {
            return true;
        }
        match &arm.pat {
            Pat::Guard(pattern) => self.decided(&frame.scope, &pattern.guard) == Some(false),
            Pat::Lit(pattern) => match &pattern.lit {
                Lit::Bool(value) => matched.is_some_and(|matched| matched != value.value),
                _ => false,
            },
            _ => false,
        }
    }

    fn assign(&mut self, frame: &mut CallFrame, inner: &syn::ExprAssign) -> Ty {
        let found = self.expr(frame, &inner.left, &Ty::Unknown);
        let declared = match &*inner.left {
            Expr::Field(field) => {
                let base = self.expr(frame, &field.base, &Ty::Unknown);
                match self.resolve(&base) {
                    base @ Ty::Item(..) => self.declared_in(&base, None, &member(&field.member)),
                    _ => found,
                }
            }
            _ => found,
        };
        let value = self.expr(frame, &inner.right, &declared);
        self.unify(&declared, &value);
        let value = self.resolve(&value);
        match &*inner.left {
            Expr::Path(path) => {
                if let Some(name) = path.path.get_ident() {
                    // In one of two branches, the earlier value may remain.
                    let joined = self.resolve(&declared).join(&value);
                    frame.assign(&name.to_string(), joined);
                }
            }
            Expr::Field(field) => {
                let base = self.expr(frame, &field.base, &Ty::Unknown);
                let name = member(&field.member);
                match self.resolve(&base) {
                    Ty::Item(item, _) => self.learn_field(item, None, &name, &value),
                    base if may_be_item(&base) => self.fields.taint(&name),
                    _ => {}
                }
            }
            _ => {}
        }
        Ty::Tuple(Vec::new())
    }

    fn struct_(&mut self, frame: &mut CallFrame, inner: &syn::ExprStruct, expected: &Ty) -> Ty {
        let mut variant = None;
        let mut owner = match self.types.resolve(&frame.scope, &inner.path, Namespace::Types) {
            Resolution::Member(item, name) if matches!(self.tree.item(item), Item::Enum(_)) => {
                let root = k8s::custom_resource(self.tree, item).is_some_and(|found| found.root == name);
                if root {
                    Ty::Root(item)
                } else {
                    variant = Some(name);
                    self.types.lower_item(item, Vec::new())
                }
            }
            _ => self.types.lower_path(&frame.scope, &inner.path),
        };
        if let (Ty::Unknown, Some(Ty::Item(item, _)), true) =
            (&owner, &frame.scope.itself, inner.path.segments.first().is_some_and(|first| first.ident == "Self"))
        {
            variant = inner.path.segments.last().map(|last| last.ident.to_string());
            owner = self.types.lower_item(*item, Vec::new());
        }
        self.unify(&owner, expected);
        let mut texts: BTreeMap<String, Ty> = BTreeMap::new();
        for field in
            inner.fields.iter().filter(|field| !is_off(self.tree, frame.scope.module, &field.attrs)).collect::<Vec<_>>()
        {
            let name = member(&field.member);
            let declared = self.declared_in(&owner, variant.as_deref(), &name);
            let value = self.expr(frame, &field.expr, &declared);
            self.unify(&declared, &value);
            if let Ty::Item(item, _) = &owner {
                self.learn_field(*item, variant.as_deref(), &name, &value);
            }
            texts.insert(name, self.resolve(&value));
        }
        if let Some(rest) = &inner.rest {
            self.expr(frame, rest, &owner);
        }
        match owner {
            Ty::Foreign(ForeignType::Kube(Kube::Kubeconfig), _) => Ty::Elsewhere(Kube::Kubeconfig),
            Ty::Foreign(ForeignType::Kube(Kube::ApiResource | Kube::GroupVersionKind), _) => {
                spelled(&texts).unwrap_or(owner)
            }
            owner => self.resolve(&owner),
        }
    }

    /// A closure is run where it stands; `inputs` is what it will be called with.
    pub(super) fn closure(
        &mut self,
        frame: &mut CallFrame,
        closure: &syn::ExprClosure,
        inputs: &[Ty],
        expected: &Ty,
    ) -> Ty {
        let (wanted, parameters) = match self.resolve(expected) {
            Ty::Function(parts) => (parts[0].clone(), parts[1..].to_vec()),
            _ => (Ty::Unknown, Vec::new()),
        };
        let declared = match &closure.output {
            syn::ReturnType::Default => wanted,
            output @ syn::ReturnType::Type(..) => self.types.lower_return(&frame.scope, output),
        };
        let returned = std::mem::replace(&mut frame.returned, Ty::Never);
        let output = std::mem::replace(&mut frame.output, declared.clone());
        frame.enter();
        let mut given = Vec::new();
        for (position, pattern) in closure.inputs.iter().enumerate() {
            let ty = match inputs.get(position).filter(|ty| **ty != Ty::Unknown).or(parameters.get(position)) {
                Some(Ty::Unknown) | None => self.types.inferred.fresh(),
                Some(ty) => ty.clone(),
            };
            self.bind(frame, pattern, &ty);
            given.push(ty);
        }
        let value = self.expr(frame, &closure.body, &declared);
        frame.leave();
        frame.output = output;
        let value = value.join(&std::mem::replace(&mut frame.returned, returned));
        Ty::function(given, declared.refine(&self.resolve(&value)))
    }
}

/// Runs the parts of an expression.
struct ExpressionParts<'r, 'a> {
    reader: &'r mut FunctionReader<'a>,
    frame: &'r mut CallFrame,
}

impl<'ast> syn::visit::Visit<'ast> for ExpressionParts<'_, '_> {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        self.reader.expr(self.frame, expr, &Ty::Unknown);
    }

    fn visit_block(&mut self, block: &'ast Block) {
        self.reader.block(self.frame, block, &Ty::Unknown);
    }
}

/// A type that could not be told may be one of the tree.
fn may_be_item(ty: &Ty) -> bool {
    matches!(ty, Ty::Unknown | Ty::Infer(_) | Ty::Param(_) | Ty::Foreign(ForeignType::Unresolved(_), _))
}

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
    Some(Ty::dynamic([DerivedResource::spelled(&text("group")?, &kind, plural.as_deref())]))
}

/// `object.metadata.namespace`
fn is_object_namespace(field: &syn::ExprField) -> bool {
    let is = |found: &Member, wanted: &str| matches!(found, Member::Named(name) if name == wanted);
    is(&field.member, "namespace") && matches!(&*field.base, Expr::Field(metadata) if is(&metadata.member, "metadata"))
}

/// The expression has the type `!`.
fn diverges(expr: &Expr) -> bool {
    match expr {
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
        Expr::Macro(call) => ends_function(&call.mac),
        Expr::Block(inner) => block_diverges(&inner.block) && inner.label.is_none(),
        _ => false,
    }
}

fn block_diverges(block: &Block) -> bool {
    match block.stmts.last() {
        Some(Stmt::Expr(last, _)) => diverges(last),
        Some(Stmt::Macro(call)) => ends_function(&call.mac),
        _ => false,
    }
}

fn ends_function(call: &syn::Macro) -> bool {
    let name = call.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
    matches!(name.as_str(), "panic" | "bail" | "unreachable" | "todo" | "unimplemented")
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
