//! Expands calls of the project's own `macro_rules!`.
//!
//! What a macro writes stands where it is called: there its requests are found, and there its names are looked up.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{ParseStream, Parser as _};
use syn::spanned::Spanned as _;
use syn::{Block, Item};

use super::doubt::Cause;
use super::index::{FunctionId, Owner};
use super::manager;
use super::read::{Frame, Place, Reader};
use super::types::Ty;
use crate::source::{ItemRef, ModuleId, SourceTree};

/// How deep macros call each other, and how many calls are expanded: they may double with each level.
const DEPTH: usize = 8;
const CALLS: usize = 20_000;

/// What the names of a rule stand for.
type Bound = BTreeMap<String, Value>;

#[derive(Debug, Clone)]
enum Value {
    One(TokenStream),
    /// Of each time that a repetition fits.
    Many(Vec<Value>),
}

/// A function that a macro declares.
#[derive(Debug, Clone)]
struct Written {
    /// The macro.
    by: String,
    is_async: bool,
    takes_self: bool,
}

/// The macros of the tree, and what became of their calls.
#[derive(Debug, Default)]
pub(super) struct Macros {
    rules: BTreeMap<String, Vec<ItemRef>>,
    /// Functions that macros of other packages of the workspace declare, as far as they may make requests.
    declared: BTreeMap<String, Written>,
    /// Those that something calls.
    called: BTreeSet<ItemRef>,
    depth: usize,
    calls: usize,
}

impl Macros {
    pub(super) fn new(tree: &SourceTree) -> Self {
        let mut rules: BTreeMap<String, Vec<ItemRef>> = BTreeMap::new();
        for item in tree.all_items() {
            let module = tree.module(item);
            if let Item::Macro(found) = tree.item(item)
                && let Some(name) = found.ident.as_ref().filter(|_| found.mac.path.is_ident("macro_rules"))
                && !tree.is_fetched(module)
                && !manager::is_inside(tree, module)
            {
                rules.entry(name.to_string()).or_default().push(item);
            }
        }
        let mut macros = Self { rules, ..Self::default() };
        macros.declared = macros.declarations(tree);
        macros
    }

    /// What the calls of macros outside of functions declare, where another package of the workspace has them. The package's
    /// own are told where they stand.
    fn declarations(&self, tree: &SourceTree) -> BTreeMap<String, Written> {
        let mut declared = BTreeMap::new();
        for item in tree.all_items() {
            let module = tree.module(item);
            if tree.is_own(module) || tree.is_fetched(module) || manager::is_inside(tree, module) {
                continue;
            }
            for call in calls(tree.item(item)) {
                declared.extend(self.declaration(tree, module, call));
            }
        }
        declared
    }

    fn declaration(&self, tree: &SourceTree, module: ModuleId, call: &syn::Macro) -> Vec<(String, Written)> {
        let rules = self.named(tree, module, &call.path).map(|rules| tree.item(rules));
        let rules = match rules {
            Some(Item::Macro(rules)) => rules.mac.tokens.clone(),
            _ => TokenStream::new(),
        };
        if !super::speaks_of_api(rules.clone()) && !super::speaks_of_api(call.tokens.clone()) {
            return Vec::new();
        }
        let name = call.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let mut functions = Vec::new();
        functions_in(rules, &mut functions);
        functions_in(call.tokens.clone(), &mut functions);
        let mut requesting: BTreeSet<usize> = BTreeSet::new();
        // What calls a function that may make requests may make them, too.
        loop {
            let names: BTreeSet<&str> = requesting.iter().map(|at| functions[*at].name.as_str()).collect();
            let is_requesting = |function: &Declared| {
                super::speaks_of_api(function.body.clone()) || says_any(function.body.clone(), &names)
            };
            let more: BTreeSet<usize> =
                (0..functions.len()).filter(|at| is_requesting(&functions[*at])).chain(requesting.clone()).collect();
            if more == requesting {
                break;
            }
            requesting = more;
        }
        let mut found = Vec::new();
        for function in requesting.into_iter().map(|at| &functions[at]) {
            let mut names = vec![function.name.clone()];
            if function.name == COMPUTED {
                words(call.tokens.clone(), &mut names);
            }
            let Declared { is_async, takes_self, .. } = *function;
            let written = Written { by: name.clone(), is_async, takes_self };
            found.extend(names.into_iter().map(|called| (called, written.clone())));
        }
        found
    }

    /// The function of this name that a macro may have declared.
    fn declaring(&self, function: &str) -> Option<&Written> {
        self.declared.get(function)
    }

    pub(super) fn start(&mut self) {
        self.called.clear();
        self.calls = 0;
    }

    /// Whether something calls it: what it writes is told there.
    pub(super) fn is_called(&self, item: ItemRef) -> bool {
        self.called.contains(&item)
    }

    /// Notes a call.
    pub(super) fn call(&mut self, item: ItemRef) {
        self.called.insert(item);
    }

    /// The macro that a call in a module means.
    pub(super) fn named(&self, tree: &SourceTree, module: ModuleId, path: &syn::Path) -> Option<ItemRef> {
        let krate = |module: ModuleId| tree.module_path(module).swap_remove(0);
        let candidates = self.rules.get(&path.segments.last()?.ident.to_string())?;
        let first = path.segments.first().filter(|_| path.segments.len() > 1).map(|first| first.ident.to_string());
        let wanted = match first.as_deref() {
            None | Some("crate" | "self" | "super") => krate(module),
            Some(other) => other.to_owned(),
        };
        let in_crate = candidates.iter().find(|item| krate(tree.module(**item)) == wanted);
        let imported = || candidates.first().filter(|_| first.is_none() && candidates.len() == 1);
        in_crate.or_else(imported).copied()
    }
}

impl Reader<'_> {
    /// What a call of a macro of the tree stands for; none if it can't be told, which is said if it may make requests.
    pub(super) fn expand(&mut self, frame: &Frame, call: &syn::Macro) -> Option<Block> {
        let tree = self.tree;
        let item = self.macros.named(tree, frame.scope.module, &call.path)?;
        self.macros.call(item);
        let block = self.expansion(frame.scope.module, item, call);
        if block.is_none() {
            self.unread_call(Self::place(frame, call.path.span()), item);
        }
        block
    }

    /// Says that a function is not read because a macro of another package declares it.
    pub(super) fn declared_by_macro(&mut self, place: Place, function: &str) {
        if let Some(written) = self.macros.declaring(function) {
            let name = written.by.clone();
            self.doubt(place, Cause::Macro { name });
        }
    }

    /// The same of a method. On a value of unknown type it may be another one: one that is async is waited for.
    pub(super) fn method_of_macro(&mut self, receiver: &Ty, call: (Place, &str), awaited: bool) {
        let (place, name) = call;
        let Some(written) = self.macros.declaring(name).filter(|written| written.takes_self) else { return };
        let may_be = match receiver {
            Ty::Item(..) | Ty::Root(_) => true,
            Ty::Param(_) | Ty::Unknown | Ty::Infer(_) => written.is_async == awaited,
            _ => false,
        };
        if may_be {
            self.declared_by_macro(place, name);
        }
    }

    /// A method of a trait is not called where the type has one of the same name by itself, which a macro may have declared.
    pub(super) fn hidden_by_macro(&mut self, receiver: &Ty, id: FunctionId, call: (Place, &str)) {
        let of_trait = matches!(self.index.get(id).owner, Some(Owner::Impl(_, Some(_)) | Owner::Trait(..)));
        if let Ty::Item(item, _) | Ty::Root(item) = receiver
            && of_trait
            && !self.tree.is_own(self.tree.module(*item))
        {
            self.declared_by_macro(call.0, call.1);
        }
    }

    /// Says that what a call of a macro writes is not read.
    pub(super) fn unread_call(&mut self, place: Place, item: ItemRef) {
        if let Item::Macro(rules) = self.tree.item(item)
            && super::speaks_of_api(rules.mac.tokens.clone())
        {
            let name = rules.ident.as_ref().map(ToString::to_string).unwrap_or_default();
            self.doubt(place, Cause::Macro { name });
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
        let tokens = written(rules.mac.tokens.clone(), &call.tokens, &krate, call.path.span())?;
        let stmts = Block::parse_within.parse2(tokens).ok()?;
        Some(Block { brace_token: syn::token::Brace::default(), stmts })
    }

    /// Runs what a macro writes.
    pub(super) fn expanded_block(&mut self, frame: &mut Frame, block: &Block) -> Ty {
        self.macros.depth += 1;
        let value = self.block(frame, block, &Ty::Unknown);
        self.macros.depth -= 1;
        value
    }
}

/// The calls of macros that stand for items.
fn calls(item: &Item) -> Vec<&syn::Macro> {
    match item {
        Item::Macro(call) if call.ident.is_none() => vec![&call.mac],
        Item::Impl(block) => {
            let calls = block.items.iter().filter_map(|item| match item {
                syn::ImplItem::Macro(call) => Some(&call.mac),
                _ => None,
            });
            calls.collect()
        }
        _ => Vec::new(),
    }
}

/// A function in the tokens of a macro.
struct Declared {
    name: String,
    is_async: bool,
    takes_self: bool,
    body: TokenStream,
}

/// The name of a function that a macro computes.
const COMPUTED: &str = "$";

fn functions_in(tokens: TokenStream, found: &mut Vec<Declared>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |at: usize, word: &str| matches!(tokens.get(at), Some(TokenTree::Ident(name)) if name == word);
    for (at, token) in tokens.iter().enumerate() {
        let name = match tokens.get(at + 1) {
            Some(TokenTree::Ident(name)) if is(at, "fn") => name.to_string(),
            Some(TokenTree::Punct(dollar)) if is(at, "fn") && dollar.as_char() == '$' => COMPUTED.to_owned(),
            _ => {
                if let TokenTree::Group(group) = token {
                    functions_in(group.stream(), found);
                }
                continue;
            }
        };
        let body = tokens[at..].iter().find_map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group.stream()),
            _ => None,
        });
        let is_async = at > 0 && is(at - 1, "async");
        let inputs = tokens[at..].iter().find_map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => Some(group.stream()),
            _ => None,
        });
        let takes_self = says_any(inputs.unwrap_or_default(), &BTreeSet::from(["self"]));
        found.push(Declared { name, is_async, takes_self, body: body.unwrap_or_default() });
    }
}

/// Tokens with one of these words.
fn says_any(tokens: TokenStream, names: &BTreeSet<&str>) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(name) => names.contains(name.to_string().as_str()),
        TokenTree::Group(group) => says_any(group.stream(), names),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// All words.
fn words(tokens: TokenStream, found: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => found.push(name.to_string()),
            TokenTree::Group(group) => words(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// What the first rule that fits writes. A rule before it that is not understood might fit, too.
fn written(rules: TokenStream, arguments: &TokenStream, krate: &str, span: Span) -> Option<TokenStream> {
    let mut rules = rules.into_iter();
    loop {
        let TokenTree::Group(matcher) = rules.next()? else { return None };
        let body = rules.by_ref().find_map(|token| match token {
            TokenTree::Group(group) => Some(group),
            _ => None,
        })?;
        let patterns = patterns(matcher.stream())?;
        if let Some(bound) = fit(&patterns, arguments.clone()) {
            return transcribe(body.stream(), &bound, krate, span);
        }
        match rules.next() {
            Some(TokenTree::Punct(semicolon)) if semicolon.as_char() == ';' => {}
            _ => return None,
        }
    }
}

/// What a rule expects.
enum Pattern {
    /// `$name:kind`
    Bind(String, String),
    /// `$( … )separator*`
    Repeat(Repeat<Vec<Pattern>>),
    Group(Delimiter, Vec<Pattern>),
    Token(String),
}

/// What stands in `$( … )`.
struct Repeat<T> {
    inner: T,
    separator: Option<TokenTree>,
    /// `?`: not more than once.
    once: bool,
}

impl Pattern {
    /// The names that it binds.
    fn names<'p>(&'p self, names: &mut Vec<&'p str>) {
        match self {
            Self::Bind(name, _) => names.push(name),
            Self::Repeat(Repeat { inner, .. }) | Self::Group(_, inner) => {
                for pattern in inner {
                    pattern.names(names);
                }
            }
            Self::Token(_) => {}
        }
    }
}

/// What follows `$( … )`; none for what is no repetition.
fn repeat<T>(inner: T, tokens: &mut impl Iterator<Item = TokenTree>) -> Option<Repeat<T>> {
    let mut separator = None;
    for _ in 0..2 {
        let token = tokens.next()?;
        match &token {
            TokenTree::Punct(many) if matches!(many.as_char(), '*' | '+' | '?') => {
                return Some(Repeat { inner, separator, once: many.as_char() == '?' });
            }
            _ => separator = Some(token),
        }
    }
    None
}

/// None for what is not understood.
fn patterns(tokens: TokenStream) -> Option<Vec<Pattern>> {
    let mut tokens = tokens.into_iter();
    let mut found = Vec::new();
    while let Some(token) = tokens.next() {
        found.push(match token {
            TokenTree::Punct(dollar) if dollar.as_char() == '$' => match tokens.next()? {
                TokenTree::Group(group) => Pattern::Repeat(repeat(patterns(group.stream())?, &mut tokens)?),
                TokenTree::Ident(name) => {
                    let (TokenTree::Punct(_), kind) = (tokens.next()?, tokens.next()?) else { return None };
                    Pattern::Bind(name.to_string(), kind.to_string())
                }
                _ => return None,
            },
            TokenTree::Group(group) => Pattern::Group(group.delimiter(), patterns(group.stream())?),
            token => Pattern::Token(token.to_string()),
        });
    }
    Some(found)
}

fn fit(patterns: &[Pattern], tokens: TokenStream) -> Option<Bound> {
    let parser = |input: ParseStream<'_>| fit_all(patterns, input);
    parser.parse2(tokens).ok()
}

fn fit_all(patterns: &[Pattern], input: ParseStream<'_>) -> syn::Result<Bound> {
    let mut bound = Bound::new();
    for pattern in patterns {
        fit_one(pattern, input, &mut bound)?;
    }
    Ok(bound)
}

fn fit_one(pattern: &Pattern, input: ParseStream<'_>, bound: &mut Bound) -> syn::Result<()> {
    match pattern {
        Pattern::Bind(name, kind) => {
            let value = fragment(kind, input)?;
            bound.insert(name.clone(), Value::One(value));
        }
        Pattern::Repeat(repeat) => bound.extend(fit_repeat(repeat, input)),
        Pattern::Group(delimiter, inner) => match input.parse::<TokenTree>()? {
            TokenTree::Group(group) if group.delimiter() == *delimiter => {
                bound.extend(fit(inner, group.stream()).ok_or_else(|| input.error("another macro rule"))?);
            }
            _ => return Err(input.error("another macro rule")),
        },
        Pattern::Token(text) => {
            if input.parse::<TokenTree>()?.to_string() != *text {
                return Err(input.error("another macro rule"));
            }
        }
    }
    Ok(())
}

/// As often as it fits.
fn fit_repeat(repeat: &Repeat<Vec<Pattern>>, input: ParseStream<'_>) -> Bound {
    let mut names = Vec::new();
    for pattern in &repeat.inner {
        pattern.names(&mut names);
    }
    let mut all: BTreeMap<String, Vec<Value>> = names.iter().map(|name| ((*name).to_owned(), Vec::new())).collect();
    let mut first = true;
    while !input.is_empty() && (first || !repeat.once) {
        let ahead = input.fork();
        let separator = repeat.separator.as_ref().filter(|_| !first);
        let separated = separator
            .is_none_or(|wanted| ahead.parse::<TokenTree>().is_ok_and(|found| found.to_string() == wanted.to_string()));
        let Some(bound) = separated.then(|| fit_all(&repeat.inner, &ahead).ok()).flatten() else { break };
        input.advance_to(&ahead);
        first = false;
        for (name, value) in bound {
            all.entry(name).or_default().push(value);
        }
    }
    all.into_iter().map(|(name, values)| (name, Value::Many(values))).collect()
}

/// What `$name:kind` takes of the arguments.
fn fragment(kind: &str, input: ParseStream<'_>) -> syn::Result<TokenStream> {
    fn tokens(parsed: impl quote::ToTokens) -> TokenStream {
        parsed.into_token_stream()
    }
    Ok(match kind {
        "expr" | "expr_2021" => {
            let inner = tokens(input.parse::<syn::Expr>()?);
            if inner.clone().into_iter().nth(1).is_none() {
                inner
            } else {
                TokenTree::Group(Group::new(Delimiter::Parenthesis, inner)).into()
            }
        }
        "ident" => tokens(Ident::parse_any(input)?),
        "ty" => tokens(input.parse::<syn::Type>()?),
        "path" => tokens(input.parse::<syn::Path>()?),
        "literal" => tokens(input.parse::<syn::Lit>()?),
        "block" => tokens(input.parse::<Block>()?),
        "pat" | "pat_param" => tokens(syn::Pat::parse_multi(input)?),
        "lifetime" => tokens(input.parse::<syn::Lifetime>()?),
        "tt" => tokens(input.parse::<TokenTree>()?),
        _ => return Err(input.error("not understood")),
    })
}

/// The body of a rule with what is bound; none if it is not understood.
fn transcribe(body: TokenStream, bound: &Bound, krate: &str, span: Span) -> Option<TokenStream> {
    let mut written = TokenStream::new();
    let mut tokens = body.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(dollar) if dollar.as_char() == '$' => match tokens.next()? {
                TokenTree::Ident(name) if name == "crate" => {
                    written.extend([TokenTree::Ident(Ident::new(krate, span))]);
                }
                TokenTree::Ident(name) => match bound.get(&name.to_string())? {
                    Value::One(value) => written.extend(value.clone()),
                    Value::Many(_) => return None,
                },
                TokenTree::Group(group) => {
                    let repeat = repeat(group.stream(), &mut tokens)?;
                    written.extend(transcribe_each(&repeat, bound, krate, span)?);
                }
                _ => return None,
            },
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), transcribe(group.stream(), bound, krate, span)?);
                inner.set_span(span);
                written.extend([TokenTree::Group(inner)]);
            }
            mut other => {
                other.set_span(span);
                written.extend([other]);
            }
        }
    }
    Some(written)
}

/// What a repetition writes: once for each value of the names in it.
fn transcribe_each(repeat: &Repeat<TokenStream>, bound: &Bound, krate: &str, span: Span) -> Option<TokenStream> {
    let mut used = Vec::new();
    names(repeat.inner.clone(), &mut used);
    let times = used.iter().filter_map(|name| match bound.get(name)? {
        Value::Many(values) => Some(values.len()),
        Value::One(_) => None,
    });
    let mut written = TokenStream::new();
    for position in 0..times.min()? {
        if position > 0 {
            written.extend(repeat.separator.clone());
        }
        let at = |(name, value): (&String, &Value)| match value {
            Value::Many(values) => values.get(position).map(|value| (name.clone(), value.clone())),
            one @ Value::One(_) => Some((name.clone(), one.clone())),
        };
        let bound: Bound = bound.iter().filter_map(at).collect();
        written.extend(transcribe(repeat.inner.clone(), &bound, krate, span)?);
    }
    Some(written)
}

/// The names behind `$`.
fn names(tokens: TokenStream, found: &mut Vec<String>) {
    let mut dollar = false;
    for token in tokens {
        match &token {
            TokenTree::Ident(name) if dollar => found.push(name.to_string()),
            TokenTree::Group(group) => names(group.stream(), found),
            _ => {}
        }
        dollar = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '$');
    }
}
