//! Calls of macros: what their tokens are as expressions is run.

use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Block, Expr, Ident, Pat, Token};

use super::doubt::Cause;
use super::read::{Frame, Reader};
use super::types::Ty;

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
    pub(super) fn macro_call(&mut self, frame: &mut Frame, call: &syn::Macro) -> Ty {
        let name = call.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        if matches!(name.as_str(), "select" | "select_biased") {
            match call.parse_body::<Arms>() {
                Ok(Arms(arms)) => self.select(frame, &arms),
                Err(_) => self.unread_macro(frame, call),
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
        self.unread_macro(frame, call);
        Ty::Unknown
    }

    /// What a well-known macro makes of its arguments.
    fn expanded(&self, name: &str, types: Vec<Ty>) -> Ty {
        match (name, types.as_slice()) {
            ("vec", _) => Ty::many(types.iter().fold(Ty::Never, |all, ty| all.join(&self.inferred.resolve(ty)))),
            ("join" | "try_join", _) => Ty::Tuple(types),
            ("pin" | "dbg", [one]) => one.clone(),
            ("format", [one @ Ty::Text(text)]) if !text.contains('{') => one.clone(),
            ("format", _) => Ty::foreign("std::string::String"),
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
    fn unread_macro(&mut self, frame: &Frame, call: &syn::Macro) {
        if super::speaks_of_api(call.tokens.clone()) {
            let name = call.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
            self.doubt(Self::place(frame, call.path.span()), Cause::Macro { name });
        }
    }
}
