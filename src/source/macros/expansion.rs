//! Expands macro calls in the source: items, members of `impl` blocks and traits, and function bodies.
//!
//! Replaces a call of a `macro_rules!` of the packages by its output. Macros are looked up by textual scope, then by
//! path. A call that cannot be expanded stays, and [`Expanded`] keeps the rules of its macros.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprBlock, ImplItem, Item, Pat, Stmt, TraitItem, Type};

use super::builtin;
use super::rules;
use super::{is_punct, words};
use crate::diagnostic::Diagnostics;
use crate::source::cfg::decide;
use crate::source::ident::{ident, segments};
use crate::source::lexer::{DEEPEST, deeper_than};
use crate::source::loader::Loader;
use crate::source::namespace::Namespace;
use crate::source::package::CrateId;
use crate::source::resolve::Scopes;
use crate::source::resolve::names::Def;
use crate::source::sources::{ItemRef, ModuleId, Sources};

const DEPTH: usize = 64;
const ALL: ExpansionBudget = ExpansionBudget { calls: 20_000, tokens: 2_000_000 };
/// Budget of a call with its nested calls, whose number may double at each level.
const EACH: ExpansionBudget = ExpansionBudget { calls: 1_000, tokens: 50_000 };

#[derive(Debug, Clone, Copy)]
struct ExpansionBudget {
    calls: usize,
    tokens: usize,
}

#[derive(Debug, Default)]
pub(in crate::source) struct Expanded {
    /// The number of items at the last expansion. A larger tree needs another one.
    pub(in crate::source) items: Option<usize>,
    /// Macros of modules that have a call.
    called: BTreeSet<ItemRef>,
    /// The rules behind each call that stays.
    refused: BTreeMap<(ModuleId, usize), TokenStream>,
}

impl Expanded {
    pub(in crate::source) fn is_called(&self, item: ItemRef) -> bool {
        self.called.contains(&item)
    }

    pub(in crate::source) fn refused(&self, module: ModuleId, span: Span) -> Option<&TokenStream> {
        self.refused.get(&(module, span.byte_range().start))
    }
}

#[derive(Debug)]
struct MacroDefinition {
    rules: TokenStream,
    krate: CrateId,
    /// `None` for a macro inside of a function.
    item: Option<ItemRef>,
}

/// The macros that a name may mean; several if only the compiler can decide.
type Candidates = Vec<Rc<MacroDefinition>>;

/// Expands the calls in all packages, except those of a registry.
pub(in crate::source) fn expand(sources: &mut Sources, scopes: &Scopes) -> Diagnostics {
    sources.expanded.refused.clear();
    let mut expander = Expander {
        all: BTreeMap::new(),
        scopes,
        textual: BTreeMap::new(),
        module: ModuleId(0),
        depth: 0,
        level: 0,
        all_calls: ALL,
        this_call: EACH,
        noted: BTreeSet::new(),
        diagnostics: Diagnostics::default(),
        sources,
    };
    expander.index();
    let crates = expander.sources.crates.iter().filter(|krate| !expander.sources[krate.package].fetched);
    let roots: Vec<ModuleId> = crates.map(|krate| krate.root).collect();
    for root in roots {
        expander.textual.clear();
        expander.module(root);
    }
    let diagnostics = expander.diagnostics;
    sources.expanded.items = Some(sources.items.len());
    diagnostics
}

struct Expander<'a> {
    sources: &'a mut Sources,
    scopes: &'a Scopes,
    all: BTreeMap<String, Candidates>,
    /// The macros in textual scope.
    textual: BTreeMap<String, Candidates>,
    module: ModuleId,
    /// The nesting depth of macro calls.
    depth: usize,
    /// The nesting depth of the current expression.
    level: usize,
    all_calls: ExpansionBudget,
    this_call: ExpansionBudget,
    /// Macros whose rules are in the refused list of a call.
    noted: BTreeSet<((ModuleId, usize), *const MacroDefinition)>,
    diagnostics: Diagnostics,
}

impl Expander<'_> {
    fn index(&mut self) {
        for (position, data) in self.sources.items.iter().enumerate() {
            let krate = self.sources[data.module].krate;
            if let Item::Macro(found) = &data.item
                && let Some(name) = &found.ident
                && !self.sources[self.sources[krate].package].fetched
            {
                let item = Some(ItemRef(crate::source::sources::index(position)));
                let definition = MacroDefinition { rules: found.mac.tokens.clone(), krate, item };
                self.all.entry(ident(name)).or_default().push(Rc::new(definition));
            }
        }
    }

    fn module(&mut self, module: ModuleId) {
        let outer = std::mem::replace(&mut self.module, module);
        for item in std::mem::take(&mut self.sources[module].items) {
            self.item(item);
        }
        self.module = outer;
    }

    /// Expands an item and adds it to its module. Adds the output instead if the item is a call.
    fn item(&mut self, id: ItemRef) {
        let module = self.module;
        if let Some(child) = self.sources[id].child {
            self.sources[module].items.push(id);
            let outer = self.textual.clone();
            self.module(child);
            let leaks = |attr: &syn::Attribute| attr.path().is_ident("macro_use");
            if self.sources[child].included_in.is_none() && !self.sources[child].attrs.iter().any(leaks) {
                self.textual = outer;
            }
            return;
        }
        let conditional = self.sources[id].unknown_cfg.clone();
        let mut item = std::mem::replace(&mut self.sources[id].item, Item::Verbatim(TokenStream::new()));
        match &mut item {
            Item::Macro(found) => {
                if let Some(name) = &found.ident {
                    let krate = self.sources[module].krate;
                    let definition = MacroDefinition { rules: found.mac.tokens.clone(), krate, item: Some(id) };
                    self.define(ident(name), definition, conditional.is_some());
                } else {
                    if let Some(File(items)) = self.expansion(&found.mac, true) {
                        // The call stays in the list of all items as an empty one.
                        return self.add(items, conditional.as_deref());
                    }
                    self.arguments(&mut found.mac);
                }
            }
            other => {
                self.visit_item_mut(other);
                if let Item::Impl(_) = other {
                    // Macro output may have a cfg that is off.
                    let krate = self.sources[module].krate;
                    decide(&self.sources[self.sources[krate].package].cfg, other);
                }
            }
        }
        self.sources[id].item = item;
        self.sources[module].items.push(id);
    }

    fn add(&mut self, items: Vec<Item>, conditional: Option<&str>) {
        let module = self.module;
        let start = self.sources[module].items.len();
        self.diagnostics.extend(Loader::expanded(self.sources, module, items));
        self.depth += 1;
        for item in self.sources[module].items.split_off(start) {
            if let Some(text) = conditional {
                let unknown = &mut self.sources[item].unknown_cfg;
                *unknown = Some(unknown.take().map_or_else(|| text.to_owned(), |other| format!("{text}, {other}")));
            }
            self.item(item);
        }
        self.depth -= 1;
    }

    fn define(&mut self, name: String, definition: MacroDefinition, conditional: bool) {
        let known = self.textual.entry(name).or_default();
        if !conditional {
            known.clear();
        }
        known.push(Rc::new(definition));
    }

    fn candidates(&self, path: &syn::Path) -> Candidates {
        let parts = segments(path);
        let Some(name) = parts.last() else { return Vec::new() };
        if let ([_], Some(found)) = (parts.as_slice(), self.textual.get(name)) {
            return found.clone();
        }
        let Some(all) = self.all.get(name) else { return Vec::new() };
        // Modules from macro output have no names yet.
        let mut module = self.sources.scope(self.module);
        while module.0 as usize >= self.scopes.names.len() {
            match self.sources[module].parent {
                Some(parent) => module = parent,
                None => return Vec::new(),
            }
        }
        let leading = path.leading_colon.is_some();
        match self.scopes.walk(self.sources, module, &parts, leading, Namespace::Macros) {
            Ok(Def::Item(item)) => return all.iter().filter(|found| found.item == Some(item)).cloned().collect(),
            Ok(Def::Foreign(_)) => return Vec::new(),
            _ => {}
        }
        // An exported macro is at the root of its crate, wherever it is declared.
        let krate = self.sources[module].krate;
        let is_of = |found: &&Rc<MacroDefinition>| match parts.as_slice() {
            [_] => found.krate == krate,
            [first, ..] if matches!(first.as_str(), "crate" | "self" | "super") => found.krate == krate,
            [first, ..] => self.sources[found.krate].name == *first,
            [] => false,
        };
        let here: Candidates = all.iter().filter(is_of).cloned().collect();
        if here.is_empty() && parts.len() == 1 { all.clone() } else { here }
    }

    /// The output of a call; `None` if it is not a known macro, or can't be expanded.
    fn expansion<T: Parse>(&mut self, call: &syn::Macro, in_items: bool) -> Option<T> {
        let candidates = self.candidates(&call.path);
        let parsed = match candidates.as_slice() {
            [] => {
                let package = &self.sources[self.sources.krate(self.module).package];
                let tokens = builtin::expand(call, &package.cfg, in_items)?;
                self.checked(tokens)
            }
            [found] => self.expand(found, call),
            _ => None,
        };
        self.sources.expanded.called.extend(candidates.iter().filter_map(|found| found.item));
        let parsed = parsed.and_then(|tokens| syn::parse2(tokens).ok());
        if parsed.is_none() {
            let key = (self.module, call.path.span().byte_range().start);
            // Once each, however often a macro calls itself.
            let new = candidates.iter().filter(|found| self.noted.insert((key, Rc::as_ptr(found))));
            let rules: TokenStream = new.map(|found| found.rules.clone()).collect();
            self.sources.expanded.refused.entry(key).or_default().extend(rules);
        }
        parsed
    }

    fn expand(&mut self, found: &MacroDefinition, call: &syn::Macro) -> Option<TokenStream> {
        if self.depth >= DEPTH {
            return None;
        }
        if self.depth == 0 {
            self.this_call = EACH;
        }
        for budget in [&mut self.all_calls, &mut self.this_call] {
            budget.calls = budget.calls.checked_sub(1)?;
        }
        let same = found.krate == self.sources[self.module].krate;
        let krate = if same { "crate" } else { &self.sources[found.krate].name };
        let left = self.all_calls.tokens.min(self.this_call.tokens);
        let mut budget = left;
        let tokens = rules::expand(found.rules.clone(), &call.tokens, krate, call.path.span(), &mut budget);
        for of in [&mut self.all_calls, &mut self.this_call] {
            of.tokens = of.tokens.saturating_sub(left - budget);
        }
        let tokens = tokens?;
        self.checked(tokens)
    }

    /// `None` if the parser would overflow its stack at this depth.
    fn checked(&self, tokens: TokenStream) -> Option<TokenStream> {
        let room = DEEPEST.checked_sub(self.level)?;
        deeper_than(room, &tokens.to_string()).is_none().then_some(tokens)
    }

    fn statements_of(&mut self, call: &syn::Macro) -> Option<Vec<Stmt>> {
        let Statements(stmts) = self.expansion(call, false)?;
        let mut expanded = Vec::new();
        self.depth += 1;
        self.statements(stmts, &mut expanded);
        self.depth -= 1;
        Some(expanded)
    }

    fn statements(&mut self, stmts: Vec<Stmt>, out: &mut Vec<Stmt>) {
        for mut statement in stmts {
            match &mut statement {
                Stmt::Item(Item::Macro(syn::ItemMacro { ident: Some(name), mac, attrs, .. })) => {
                    let krate = self.sources[self.module].krate;
                    let definition = MacroDefinition { rules: mac.tokens.clone(), krate, item: None };
                    let conditional = attrs.iter().any(|attr| attr.path().is_ident("cfg"));
                    self.define(ident(name), definition, conditional);
                }
                Stmt::Macro(call) => {
                    if let Some(inner) = self.statements_of(&call.mac) {
                        expanded_statement(call, inner, out);
                        continue;
                    }
                    self.arguments(&mut call.mac);
                }
                other => self.visit_stmt_mut(other),
            }
            out.push(statement);
        }
    }

    fn arguments(&mut self, call: &mut syn::Macro) {
        if call.tokens.clone().into_iter().nth(1).is_some() {
            call.tokens = self.nested(std::mem::take(&mut call.tokens));
        }
    }

    fn nested(&mut self, tokens: TokenStream) -> TokenStream {
        let mut rest: Vec<TokenTree> = tokens.into_iter().collect();
        rest.reverse();
        let mut written: Vec<TokenTree> = Vec::new();
        while let Some(token) = rest.pop() {
            match token {
                TokenTree::Ident(name) => {
                    let (bang, group) = (rest.last(), rest.len().checked_sub(2).map(|at| &rest[at]));
                    if let (Some(bang), Some(TokenTree::Group(group))) = (bang, group)
                        && is_punct(bang, '!')
                        && let Some(block) = self.nested_call(&name, group, &mut written)
                    {
                        rest.truncate(rest.len() - 2);
                        written.push(block);
                    } else {
                        written.push(TokenTree::Ident(name));
                    }
                }
                TokenTree::Group(group) if self.level < DEEPEST => {
                    self.level += 1;
                    let mut inner = Group::new(group.delimiter(), self.nested(group.stream()));
                    self.level -= 1;
                    inner.set_span(group.span());
                    written.push(TokenTree::Group(inner));
                }
                other => written.push(other),
            }
        }
        written.into_iter().collect()
    }

    /// Parses a call among tokens as an expression. Takes the front of its path from `written`.
    fn nested_call(
        &mut self,
        name: &proc_macro2::Ident,
        group: &Group,
        written: &mut Vec<TokenTree>,
    ) -> Option<TokenTree> {
        let mut start = written.len();
        while let [.., TokenTree::Ident(_), one, other] = &written[..start]
            && is_punct(one, ':')
            && is_punct(other, ':')
        {
            start -= 3;
        }
        let front = written[start..].iter().cloned();
        let path = front.chain([TokenTree::Ident(name.clone())]).collect::<TokenStream>();
        let path: syn::Path = syn::parse2(path).ok()?;
        if self.candidates(&path).is_empty() {
            return None;
        }
        let call = syn::Macro {
            path,
            bang_token: syn::Token![!](name.span()),
            delimiter: syn::MacroDelimiter::Paren(syn::token::Paren(name.span())),
            tokens: group.stream(),
        };
        let stmts = self.statements_of(&call)?;
        written.truncate(start);
        let block = block_of(stmts).into_token_stream();
        Some(TokenTree::Group(Group::new(Delimiter::Parenthesis, block)))
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self)) {
        self.level += 1;
        read(self);
        self.level -= 1;
    }
}

impl VisitMut for Expander<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        let outer = self.textual.clone();
        self.deeper(|expander| {
            let stmts = std::mem::take(&mut block.stmts);
            expander.statements(stmts, &mut block.stmts);
        });
        self.textual = outer;
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        self.deeper(|expander| {
            let Expr::Macro(call) = expr else { return visit_mut::visit_expr_mut(expander, expr) };
            match expander.statements_of(&call.mac) {
                Some(stmts) => {
                    let attrs = std::mem::take(&mut call.attrs);
                    *expr = Expr::Block(ExprBlock { attrs, label: None, block: block_of(stmts) });
                }
                None => expander.arguments(&mut call.mac),
            }
        });
    }

    fn visit_type_mut(&mut self, ty: &mut Type) {
        self.deeper(|expander| {
            if let Type::Macro(call) = ty
                && let Some(found) = expander.expansion(&call.mac, false)
            {
                *ty = found;
                expander.depth += 1;
                expander.visit_type_mut(ty);
                expander.depth -= 1;
                return;
            }
            visit_mut::visit_type_mut(expander, ty);
        });
    }

    fn visit_pat_mut(&mut self, pattern: &mut Pat) {
        self.deeper(|expander| {
            if let Pat::Macro(call) = pattern
                && let Some(ExpansionPattern(found)) = expander.expansion(&call.mac, false)
            {
                *pattern = found;
                expander.depth += 1;
                expander.visit_pat_mut(pattern);
                expander.depth -= 1;
                return;
            }
            visit_mut::visit_pat_mut(expander, pattern);
        });
    }

    fn visit_item_impl_mut(&mut self, block: &mut syn::ItemImpl) {
        let call = |item: &ImplItem| match item {
            ImplItem::Macro(found) => Some(found.mac.clone()),
            _ => None,
        };
        self.members(&mut block.items, call);
        self.deeper(|expander| visit_mut::visit_item_impl_mut(expander, block));
    }

    fn visit_item_trait_mut(&mut self, block: &mut syn::ItemTrait) {
        let call = |item: &TraitItem| match item {
            TraitItem::Macro(found) => Some(found.mac.clone()),
            _ => None,
        };
        self.members(&mut block.items, call);
        self.deeper(|expander| visit_mut::visit_item_trait_mut(expander, block));
    }
}

impl Expander<'_> {
    /// Expands the calls among the members of an `impl` block or trait.
    fn members<T: Parse>(&mut self, members: &mut Vec<T>, call: impl Fn(&T) -> Option<syn::Macro> + Copy) {
        for member in std::mem::take(members) {
            match call(&member).and_then(|call| self.expansion(&call, false)) {
                Some(Members(mut found)) => {
                    self.depth += 1;
                    self.members(&mut found, call);
                    self.depth -= 1;
                    members.extend(found);
                }
                None => members.push(member),
            }
        }
    }
}

fn block_of(stmts: Vec<Stmt>) -> Block {
    Block { brace_token: syn::token::Brace::default(), stmts }
}

/// Inserts the statements of an expanded call. Names that the call's arguments contain, and items, stay in scope for
/// later statements; other output becomes a block.
fn expanded_statement(call: &syn::StmtMacro, mut inner: Vec<Stmt>, out: &mut Vec<Stmt>) {
    let given: BTreeSet<String> = words(call.mac.tokens.clone()).iter().map(ToString::to_string).collect();
    let leaks = |statement: &Stmt| match statement {
        Stmt::Item(_) => true,
        Stmt::Local(local) => {
            let pattern = match &local.pat {
                Pat::Type(typed) => &*typed.pat,
                other => other,
            };
            words(pattern.to_token_stream()).iter().any(|word| given.contains(&word.to_string()))
        }
        _ => false,
    };
    if !call.attrs.is_empty() || !inner.iter().any(leaks) {
        let block = Expr::Block(ExprBlock { attrs: call.attrs.clone(), label: None, block: block_of(inner) });
        return out.push(Stmt::Expr(block, call.semi_token));
    }
    if let (Some(Stmt::Expr(_, end @ None)), Some(_)) = (inner.last_mut(), call.semi_token) {
        *end = call.semi_token;
    }
    out.extend(inner);
}

struct File(Vec<Item>);

impl Parse for File {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self(input.parse::<syn::File>()?.items))
    }
}

struct Statements(Vec<Stmt>);

impl Parse for Statements {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Block::parse_within(input).map(Self)
    }
}

struct ExpansionPattern(Pat);

impl Parse for ExpansionPattern {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Pat::parse_multi_with_leading_vert(input).map(Self)
    }
}

struct Members<T>(Vec<T>);

impl<T: Parse> Parse for Members<T> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut members = Vec::new();
        while !input.is_empty() {
            members.push(input.parse()?);
        }
        Ok(Self(members))
    }
}
