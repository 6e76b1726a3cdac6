//! Calls of macros that are not expanded: their arguments are run if they are expressions.

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Block, Expr, Ident, Pat, Token};

use super::super::active::CfgBranches;
use super::super::doubt::Cause;
use super::super::foreign::{ForeignType, Kube};
use super::super::frame::{CallFrame, Location};
use super::super::read::FunctionReader;
use super::super::table;
use super::super::types::Ty;
use crate::source::macros::{self, is_punct, words};
use crate::source::{Cfg, ModuleId};

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

impl FunctionReader<'_> {
    pub(in crate::rbac::derive) fn macro_call(
        &mut self,
        frame: &mut CallFrame,
        call: &syn::Macro,
        expected: &Ty,
    ) -> Ty {
        let name = call.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        if matches!(name.as_str(), "select" | "select_biased") {
            match call.parse_body::<Arms>() {
                Ok(Arms(arms)) => self.select(frame, &arms),
                Err(_) => self.unread_macro(frame.scope.module, call),
            }
            return Ty::Unknown;
        }
        if matches!(name.as_str(), "cfg_if" | "cfg_select") {
            return self.cfg_macro(frame, call);
        }
        self.refused_macro(frame.scope.module, call);
        if let Ok(parts) = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
            let wanted = match name.as_str() {
                "vec" => self.types.element(expected),
                "pin" | "dbg" => expected.clone(),
                _ => Ty::Unknown,
            };
            let active = self.active(frame, &parts);
            let types: Vec<Ty> = active.into_iter().map(|part| self.expr(frame, part, &wanted)).collect();
            if let ("format", [Ty::Text(template), values @ ..]) = (name.as_str(), types.as_slice())
                && let Some(text) = self.formatted(frame, template, values)
            {
                return Ty::text(&text);
            }
            return self.expanded(&name, types);
        }
        if let Ok(stmts) = call.parse_body_with(Block::parse_within) {
            let block = Block { brace_token: syn::token::Brace::default(), stmts };
            return self.block(frame, &block, &Ty::Unknown);
        }
        self.unread_macro(frame.scope.module, call);
        Ty::Unknown
    }

    /// `cfg_if!` and `cfg_select!`: the first branch that is on, and those before it that may be.
    fn cfg_macro(&mut self, frame: &mut CallFrame, call: &syn::Macro) -> Ty {
        let Ok(CfgBranches(branches)) = call.parse_body() else {
            self.unread_macro(frame.scope.module, call);
            return Ty::Unknown;
        };
        let mut value = Ty::Never;
        for (predicate, stmts) in branches {
            let cfg = predicate.map_or(Cfg::On, |tokens| self.tree.cfg(frame.scope.module).decide(tokens));
            if cfg == Cfg::Off {
                continue;
            }
            let block = Block { brace_token: syn::token::Brace::default(), stmts };
            let found = self.block(frame, &block, &Ty::Unknown);
            value = value.join(&self.resolve(&found));
            if cfg == Cfg::On {
                break;
            }
        }
        value
    }

    /// An item inside of a function that is not read.
    pub(in crate::rbac::derive) fn unread_item(
        &mut self,
        frame: &CallFrame,
        what: &str,
        span: proc_macro2::Span,
        item: &impl quote::ToTokens,
    ) {
        if speaks_of_api(item.to_token_stream()) {
            let message = format!("the `{what}` inside a function may make requests; it is not analyzed");
            self.doubt(frame.location(span), Cause::Unread(message));
        }
    }

    /// `format!` of known texts: `{}` and `{name}` only.
    fn formatted(&self, frame: &CallFrame, template: &str, values: &[Ty]) -> Option<String> {
        let mut values = values.iter();
        let (mut text, mut rest) = (String::new(), template);
        while let Some(at) = rest.find(['{', '}']) {
            let (before, hole) = rest.split_at(at);
            let (name, after) = hole.strip_prefix('{')?.split_once('}')?;
            let value = if name.is_empty() { values.next()? } else { frame.local(name)? };
            let Ty::Text(value) = self.resolve(value) else { return None };
            text.push_str(before);
            text.push_str(&value);
            rest = after;
        }
        text.push_str(rest);
        Some(text)
    }

    /// The result of a well-known macro.
    fn expanded(&self, name: &str, types: Vec<Ty>) -> Ty {
        match (name, types.as_slice()) {
            ("vec", _) => Ty::list(types.iter().map(|ty| self.resolve(ty)).collect()),
            ("join" | "try_join", _) => Ty::Tuple(types),
            ("pin" | "dbg", [one]) => one.clone(),
            ("format", [one @ Ty::Text(text)]) if !text.contains('{') => one.clone(),
            ("format", _) => Ty::foreign(ForeignType::String),
            ("panic" | "bail" | "unreachable" | "todo" | "unimplemented", _) => Ty::Never,
            _ => Ty::Unknown,
        }
    }

    fn select(&mut self, frame: &mut CallFrame, arms: &[Arm]) {
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

    /// Says that a macro may make requests, if what a call gives it speaks of them.
    pub(in crate::rbac::derive) fn unread_macro(&mut self, module: ModuleId, call: &syn::Macro) {
        let name = call.path.segments.last().map(|last| &last.ident);
        self.unread(Location { module, span: call.path.span() }, name, &call.tokens);
    }

    /// Adds a doubt for a macro of the packages that could not be expanded, if its rules mention requests.
    pub(in crate::rbac::derive) fn refused_macro(&mut self, module: ModuleId, call: &syn::Macro) {
        if let Some(rules) = self.tree.refused_macro(module, call) {
            let name = call.path.segments.last().map(|last| &last.ident);
            self.unread(Location { module, span: call.path.span() }, name, rules);
        }
    }

    /// Adds a doubt for rules that nothing calls, if they mention requests.
    pub(in crate::rbac::derive) fn uncalled_macro(&mut self, module: ModuleId, rules: &syn::ItemMacro) {
        self.unread(Location { module, span: rules.mac.path.span() }, rules.ident.as_ref(), &rules.mac.tokens);
    }

    fn unread(&mut self, location: Location, name: Option<&Ident>, tokens: &TokenStream) {
        if let Some(name) = name.filter(|_| speaks_of_api(tokens.clone())) {
            self.doubt(location, Cause::of_macro(&name.to_string()));
        }
    }
}

/// Tokens that may be calls of an `Api`: `Api::…`, a method that only an `Api` has, or a plain one with its parameters.
fn speaks_of_api(tokens: TokenStream) -> bool {
    macros::any(tokens, &|before, from| {
        let [TokenTree::Ident(ident), after @ ..] = from else { return false };
        let name = ident.to_string();
        if !before.last().is_some_and(|token| is_punct(token, '.')) {
            return name == "Api" && matches!(after, [a, b, ..] if is_punct(a, ':') && is_punct(b, ':'));
        }
        let given = || matches!(after.first(), Some(TokenTree::Group(group)) if names_params(group.stream()));
        table::is_telling(&name) || (table::takes_params(&name) && given())
    })
}

/// Tokens that name a type which only requests take.
fn names_params(tokens: TokenStream) -> bool {
    words(tokens).iter().any(|word| word == "EventType" || Kube::named(&word.to_string()).is_params())
}
