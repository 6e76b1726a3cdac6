//! Calls of macros: what a `macro_rules!` of the packages writes is run where it is called, and so are the arguments of others
//! that are expressions.

use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Block, Expr, Ident, Item, Pat, Token};

use super::super::doubt::Cause;
use super::super::foreign::Foreign;
use super::super::frame::Frame;
use super::super::location::Location;
use super::super::macros::speaks_of_api;
use super::super::read::Reader;
use super::super::types::Ty;
use crate::source::{ItemRef, ModuleId, macros};

/// How deep macros call each other, and how many calls are expanded: they may double with each level.
const DEPTH: usize = 8;
const CALLS: usize = 20_000;

/// `pattern = future[, if condition] => handler` of a `select!`.
struct Arm {
    pattern: Option<Pat>,
    exprs: Vec<Expr>,
}

impl Parse for Arm {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut arm = Self { pattern: None, exprs: Vec::new() };
        if input.peek(Token![else]) || input.peek2(Token![=>]) {
            input.call(Ident::parse_any)?;
        } else {
            arm.pattern = Some(Pat::parse_multi(input)?);
            input.parse::<Token![=]>()?;
            arm.exprs.push(input.parse()?);
            if input.peek(Token![,]) {
                input.parse::<Token![,]>()?;
                input.parse::<Token![if]>()?;
                arm.exprs.push(input.parse()?);
            }
        }
        input.parse::<Token![=>]>()?;
        arm.exprs.push(Expr::parse_with_earlier_boundary_rule(input)?);
        if input.peek(Token![,]) {
            input.parse::<Token![,]>()?;
        }
        Ok(arm)
    }
}

/// `select! { biased; … }`
struct Arms(Vec<Arm>);

impl Parse for Arms {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek2(Token![;]) {
            input.call(Ident::parse_any)?;
            input.parse::<Token![;]>()?;
        }
        let mut arms = Vec::new();
        while !input.is_empty() {
            arms.push(input.parse()?);
        }
        Ok(Self(arms))
    }
}

impl Reader<'_> {
    pub(in crate::rbac::derive) fn macro_call(&mut self, frame: &mut Frame, call: &syn::Macro) -> Ty {
        let name = call.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        if matches!(name.as_str(), "select" | "select_biased") {
            match call.parse_body::<Arms>() {
                Ok(Arms(arms)) => self.select(frame, &arms),
                Err(_) => self.unread_macro(frame.scope.module, call),
            }
            return Ty::Unknown;
        }
        if let Some(block) = self.expand(frame, call) {
            return self.expanded_block(frame, &block);
        }
        if let Ok(parts) = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
            let types: Vec<Ty> = parts.iter().map(|part| self.expr(frame, part, &Ty::Unknown)).collect();
            return self.expanded(&name, types);
        }
        if let Ok(stmts) = call.parse_body_with(Block::parse_within) {
            let block = Block { brace_token: syn::token::Brace::default(), stmts };
            return self.block(frame, &block, &Ty::Unknown);
        }
        self.unread_macro(frame.scope.module, call);
        Ty::Unknown
    }

    /// What a well-known macro makes of its arguments.
    fn expanded(&self, name: &str, types: Vec<Ty>) -> Ty {
        match (name, types.as_slice()) {
            ("vec", _) => Ty::many(types.iter().fold(Ty::Never, |all, ty| all.join(&self.types.inferred.resolve(ty)))),
            ("join" | "try_join", _) => Ty::Tuple(types),
            ("pin" | "dbg", [one]) => one.clone(),
            ("format", [one @ Ty::Text(text)]) if !text.contains('{') => one.clone(),
            ("format", _) => Ty::foreign(Foreign::String),
            ("panic" | "bail" | "unreachable" | "todo" | "unimplemented", _) => Ty::Never,
            _ => Ty::Unknown,
        }
    }

    fn select(&mut self, frame: &mut Frame, arms: &[Arm]) {
        for Arm { pattern, exprs } in arms {
            frame.enter();
            for (position, expr) in exprs.iter().enumerate() {
                let value = self.expr(frame, expr, &Ty::Unknown);
                if let Some(pattern) = pattern.as_ref().filter(|_| position == 0) {
                    self.bind(frame, pattern, &value);
                }
            }
            frame.leave();
        }
    }

    /// Says that a macro may make requests, if it speaks of them.
    pub(in crate::rbac::derive) fn unread_macro(&mut self, module: ModuleId, call: &syn::Macro) {
        if speaks_of_api(call.tokens.clone()) {
            let name = call.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
            self.doubt(Location { module, span: call.path.span() }, Cause::Macro(name));
        }
    }

    /// What a call of a macro of the tree stands for; none if it can't be told, which is said if it may make requests.
    fn expand(&mut self, frame: &Frame, call: &syn::Macro) -> Option<Block> {
        let tree = self.tree;
        let item = self.macros.named(tree, frame.scope.module, &call.path)?;
        self.macros.call(item);
        let block = self.expansion(frame.scope.module, item, call);
        if block.is_none() {
            self.unread_call(frame.location(call.path.span()), item);
        }
        block
    }

    /// Says that what a call of a macro writes is not read.
    pub(in crate::rbac::derive) fn unread_call(&mut self, location: Location, item: ItemRef) {
        if let Item::Macro(rules) = self.tree.item(item)
            && speaks_of_api(rules.mac.tokens.clone())
        {
            let name = rules.ident.as_ref().map(ToString::to_string).unwrap_or_default();
            self.doubt(location, Cause::Macro(name));
        }
    }

    fn expansion(&mut self, module: ModuleId, item: ItemRef, call: &syn::Macro) -> Option<Block> {
        let tree = self.tree;
        self.macros.calls += 1;
        if self.macros.depth >= DEPTH || self.macros.calls > CALLS {
            return None;
        }
        let Item::Macro(rules) = tree.item(item) else { return None };
        let (home, here) =
            (tree.module_path(tree.module(item)).swap_remove(0), tree.module_path(module).swap_remove(0));
        let krate = if home == here { "crate".to_owned() } else { home };
        let tokens = macros::expand(rules.mac.tokens.clone(), &call.tokens, &krate, call.path.span())?;
        let stmts = Block::parse_within.parse2(tokens).ok()?;
        Some(Block { brace_token: syn::token::Brace::default(), stmts })
    }

    fn expanded_block(&mut self, frame: &mut Frame, block: &Block) -> Ty {
        self.macros.depth += 1;
        let value = self.block(frame, block, &Ty::Unknown);
        self.macros.depth -= 1;
        value
    }
}
