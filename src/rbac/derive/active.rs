//! The parts of function bodies that `cfg` switches off: attributes inside of bodies, `cfg!` in conditions, and the macros
//! that choose between branches.

use syn::parse::{Parse, ParseStream};
use syn::{Attribute, BinOp, Expr, Item, Lit, Stmt, Token, UnOp};

use super::frame::CallFrame;
use super::lower::NameScope;
use super::read::FunctionReader;
use crate::source::{Cfg, ModuleId, Namespace, Resolution, SourceTree};

/// Returns true if the attributes of a part of a body switch it off.
pub(super) fn is_off(tree: &SourceTree, module: ModuleId, attributes: &[Attribute]) -> bool {
    let conditional = attributes.iter().any(|found| found.path().is_ident("cfg") || found.path().is_ident("cfg_attr"));
    conditional && tree.cfg(module).apply(&mut attributes.to_vec()) == Cfg::Off
}

/// Returns true if a statement is switched off.
pub(super) fn is_statement_off(tree: &SourceTree, module: ModuleId, statement: &Stmt) -> bool {
    is_off(
        tree,
        module,
        match statement {
            Stmt::Local(local) => &local.attrs,
            Stmt::Item(item) => of_item(item),
            Stmt::Expr(inner, _) => of_expr(inner),
            Stmt::Macro(call) => &call.attrs,
        },
    )
}

impl FunctionReader<'_> {
    pub(super) fn is_off(&self, frame: &CallFrame, attributes: &[Attribute]) -> bool {
        is_off(self.tree, frame.scope.module, attributes)
    }

    /// Expressions of a list without those that are switched off.
    pub(super) fn active<'e>(&self, frame: &CallFrame, list: impl IntoIterator<Item = &'e Expr>) -> Vec<&'e Expr> {
        list.into_iter().filter(|expr| !self.is_off(frame, of_expr(expr))).collect()
    }

    /// The value of a condition that features decide: `cfg!(…)`, what is made of it, and constants that hold it.
    pub(super) fn decided(&self, scope: &NameScope, condition: &Expr) -> Option<bool> {
        self.decided_at(scope, condition, 0)
    }

    fn decided_at(&self, scope: &NameScope, condition: &Expr, depth: usize) -> Option<bool> {
        if depth > 16 {
            return None;
        }
        let decide = |expr: &Expr| self.decided_at(scope, expr, depth + 1);
        match condition {
            Expr::Paren(inner) => decide(&inner.expr),
            Expr::Group(inner) => decide(&inner.expr),
            Expr::Lit(literal) => match &literal.lit {
                Lit::Bool(value) => Some(value.value),
                _ => None,
            },
            Expr::Unary(inner) if matches!(inner.op, UnOp::Not(_)) => decide(&inner.expr).map(|value| !value),
            Expr::Binary(inner) => {
                let (left, right) = (decide(&inner.left), decide(&inner.right));
                match inner.op {
                    BinOp::And(_) if left == Some(false) || right == Some(false) => Some(false),
                    BinOp::And(_) => Some(left? && right?),
                    BinOp::Or(_) if left == Some(true) || right == Some(true) => Some(true),
                    BinOp::Or(_) => Some(left? || right?),
                    BinOp::Eq(_) => Some(left? == right?),
                    BinOp::Ne(_) => Some(left? != right?),
                    _ => None,
                }
            }
            Expr::Macro(call) if call.mac.path.segments.last().is_some_and(|last| last.ident == "cfg") => {
                match self.tree.cfg(scope.module).decide(call.mac.tokens.clone()) {
                    Cfg::On => Some(true),
                    Cfg::Off => Some(false),
                    Cfg::Unknown(_) => None,
                }
            }
            Expr::Path(path) => match self.types.resolve(scope, &path.path, Namespace::Values) {
                Resolution::Local(item) => match self.tree.item(item) {
                    Item::Const(found) => {
                        self.decided_at(&NameScope::new(self.tree.module(item)), &found.expr, depth + 1)
                    }
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }
}

/// The branches of `cfg_if!` or `cfg_select!`: tokens of the predicate, none for the last, and statements.
pub(super) struct CfgBranches(pub(super) Vec<(Option<proc_macro2::TokenStream>, Vec<Stmt>)>);

impl Parse for CfgBranches {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut branches = Vec::new();
        let statements = |input: ParseStream<'_>| {
            let content;
            syn::braced!(content in input);
            content.call(syn::Block::parse_within)
        };
        if !input.peek(Token![if]) {
            while !input.is_empty() {
                let mut predicate = proc_macro2::TokenStream::new();
                while !input.peek(Token![=>]) {
                    predicate.extend([input.parse::<proc_macro2::TokenTree>()?]);
                }
                input.parse::<Token![=>]>()?;
                let body = if input.peek(syn::token::Brace) {
                    statements(input)?
                } else {
                    vec![Stmt::Expr(input.parse()?, None)]
                };
                input.parse::<Option<Token![,]>>()?;
                branches.push((Some(predicate).filter(|tokens| tokens.to_string() != "_"), body));
            }
            return Ok(Self(branches));
        }
        loop {
            let predicate = if input.parse::<Option<Token![if]>>()?.is_some() {
                let attributes = input.call(Attribute::parse_outer)?;
                let list = attributes.first().and_then(|found| found.meta.require_list().ok());
                Some(list.map(|list| list.tokens.clone()).unwrap_or_default())
            } else {
                None
            };
            branches.push((predicate, statements(input)?));
            if input.parse::<Option<Token![else]>>()?.is_none() {
                return Ok(Self(branches));
            }
        }
    }
}

/// The attributes of an expression. Those in front of an assignment or a sum stand at its first operand.
pub(super) fn of_expr(expr: &Expr) -> &[Attribute] {
    match expr {
        Expr::Array(found) => &found.attrs,
        Expr::Assign(found) if found.attrs.is_empty() => of_expr(&found.left),
        Expr::Assign(found) => &found.attrs,
        Expr::Async(found) => &found.attrs,
        Expr::Await(found) => &found.attrs,
        Expr::Binary(found) if found.attrs.is_empty() => of_expr(&found.left),
        Expr::Binary(found) => &found.attrs,
        Expr::Block(found) => &found.attrs,
        Expr::Break(found) => &found.attrs,
        Expr::Call(found) => &found.attrs,
        Expr::Cast(found) if found.attrs.is_empty() => of_expr(&found.expr),
        Expr::Cast(found) => &found.attrs,
        Expr::Closure(found) => &found.attrs,
        Expr::Const(found) => &found.attrs,
        Expr::Continue(found) => &found.attrs,
        Expr::Field(found) => &found.attrs,
        Expr::ForLoop(found) => &found.attrs,
        Expr::Group(found) => &found.attrs,
        Expr::If(found) => &found.attrs,
        Expr::Index(found) => &found.attrs,
        Expr::Let(found) => &found.attrs,
        Expr::Lit(found) => &found.attrs,
        Expr::Loop(found) => &found.attrs,
        Expr::Macro(found) => &found.attrs,
        Expr::Match(found) => &found.attrs,
        Expr::MethodCall(found) => &found.attrs,
        Expr::Paren(found) => &found.attrs,
        Expr::Path(found) => &found.attrs,
        Expr::Range(found) => &found.attrs,
        Expr::Reference(found) => &found.attrs,
        Expr::Repeat(found) => &found.attrs,
        Expr::Return(found) => &found.attrs,
        Expr::Struct(found) => &found.attrs,
        Expr::Try(found) => &found.attrs,
        Expr::TryBlock(found) => &found.attrs,
        Expr::Tuple(found) => &found.attrs,
        Expr::Unary(found) => &found.attrs,
        Expr::Unsafe(found) => &found.attrs,
        Expr::While(found) => &found.attrs,
        Expr::Yield(found) => &found.attrs,
        _ => &[],
    }
}

fn of_item(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(found) => &found.attrs,
        Item::Enum(found) => &found.attrs,
        Item::Fn(found) => &found.attrs,
        Item::Impl(found) => &found.attrs,
        Item::Macro(found) => &found.attrs,
        Item::Mod(found) => &found.attrs,
        Item::Static(found) => &found.attrs,
        Item::Struct(found) => &found.attrs,
        Item::Trait(found) => &found.attrs,
        Item::Type(found) => &found.attrs,
        Item::Use(found) => &found.attrs,
        _ => &[],
    }
}
