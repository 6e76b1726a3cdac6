//! `macro_rules!`: matches a call against the rules and transcribes the body.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{ParseStream, Parser as _};

type Bound = BTreeMap<String, MacroValue>;

#[derive(Debug, Clone)]
enum MacroValue {
    /// A fragment, and its number of tokens.
    One(TokenStream, usize),
    /// A value per match of a repetition.
    Many(Vec<MacroValue>),
}

/// Expands a call by the first matching rule. `None` if that rule or an earlier one is not supported, or the output
/// exceeds the budget. `$crate` becomes `krate`. The output has `span`, so that its names resolve at the call: hygiene
/// is not modelled.
pub(super) fn expand(
    rules: TokenStream,
    arguments: &TokenStream,
    krate: &str,
    span: Span,
    budget: &mut usize,
) -> Option<TokenStream> {
    let mut rules = rules.into_iter();
    loop {
        let TokenTree::Group(matcher) = rules.next()? else { return None };
        let body = rules.by_ref().find_map(|token| match token {
            TokenTree::Group(group) => Some(group),
            _ => None,
        })?;
        let patterns = patterns(matcher.stream())?;
        if let Some(bound) = matched(&patterns, arguments.clone()) {
            return Transcriber { krate, span, budget }.transcribe(body.stream(), &bound);
        }
        match rules.next() {
            Some(TokenTree::Punct(semicolon)) if semicolon.as_char() == ';' => {}
            _ => return None,
        }
    }
}

enum RulePattern {
    Bind(String, String),
    /// `$( … )separator*`
    Repeat(Repeat<Vec<RulePattern>>),
    Group(Delimiter, Vec<RulePattern>),
    Token(String),
}

struct Repeat<T> {
    inner: T,
    /// At most one token, which may consist of two signs: `=>`.
    separator: Vec<TokenTree>,
    /// `?`: at most once.
    once: bool,
}

impl RulePattern {
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

/// Parses the separator and operator after `$( … )`; `None` if it is not a repetition.
fn repeat<T>(inner: T, tokens: &mut impl Iterator<Item = TokenTree>) -> Option<Repeat<T>> {
    let mut separator = Vec::new();
    for _ in 0..3 {
        let token = tokens.next()?;
        match &token {
            TokenTree::Punct(many) if matches!(many.as_char(), '*' | '+' | '?') => {
                return Some(Repeat { inner, separator, once: many.as_char() == '?' });
            }
            _ => separator.push(token),
        }
    }
    None
}

/// Parses a matcher; `None` if it is not supported.
fn patterns(tokens: TokenStream) -> Option<Vec<RulePattern>> {
    let mut tokens = tokens.into_iter();
    let mut found = Vec::new();
    while let Some(token) = tokens.next() {
        found.push(match token {
            TokenTree::Punct(dollar) if dollar.as_char() == '$' => match tokens.next()? {
                TokenTree::Group(group) => RulePattern::Repeat(repeat(patterns(group.stream())?, &mut tokens)?),
                TokenTree::Ident(name) => {
                    let (TokenTree::Punct(_), kind) = (tokens.next()?, tokens.next()?) else { return None };
                    RulePattern::Bind(name.to_string(), kind.to_string())
                }
                _ => return None,
            },
            TokenTree::Group(group) => RulePattern::Group(group.delimiter(), patterns(group.stream())?),
            token => RulePattern::Token(token.to_string()),
        });
    }
    Some(found)
}

fn matched(patterns: &[RulePattern], tokens: TokenStream) -> Option<Bound> {
    let parser = |input: ParseStream<'_>| match_all(patterns, input);
    parser.parse2(tokens).ok()
}

fn match_all(patterns: &[RulePattern], input: ParseStream<'_>) -> syn::Result<Bound> {
    let mut bound = Bound::new();
    for pattern in patterns {
        match_one(pattern, input, &mut bound)?;
    }
    Ok(bound)
}

fn match_one(pattern: &RulePattern, input: ParseStream<'_>, bound: &mut Bound) -> syn::Result<()> {
    match pattern {
        RulePattern::Bind(name, kind) => {
            let value = fragment(kind, input)?;
            let size = size(&value);
            bound.insert(name.clone(), MacroValue::One(value, size));
        }
        RulePattern::Repeat(repeat) => bound.extend(match_repeat(repeat, input)),
        RulePattern::Group(delimiter, inner) => match input.parse::<TokenTree>()? {
            TokenTree::Group(group) if group.delimiter() == *delimiter => {
                bound.extend(matched(inner, group.stream()).ok_or_else(|| input.error("another macro rule"))?);
            }
            _ => return Err(input.error("another macro rule")),
        },
        RulePattern::Token(text) => {
            if input.parse::<TokenTree>()?.to_string() != *text {
                return Err(input.error("another macro rule"));
            }
        }
    }
    Ok(())
}

fn match_repeat(repeat: &Repeat<Vec<RulePattern>>, input: ParseStream<'_>) -> Bound {
    let mut names = Vec::new();
    for pattern in &repeat.inner {
        pattern.names(&mut names);
    }
    let mut all: BTreeMap<String, Vec<MacroValue>> =
        names.iter().map(|name| ((*name).to_owned(), Vec::new())).collect();
    let mut first = true;
    while !input.is_empty() && (first || !repeat.once) {
        let ahead = input.fork();
        let separated = first || repeat.separator.iter().all(|wanted| is_next(&ahead, wanted));
        let Some(bound) = separated.then(|| match_all(&repeat.inner, &ahead).ok()).flatten() else { break };
        // An empty match would repeat forever.
        if ahead.cursor() == input.cursor() {
            break;
        }
        input.advance_to(&ahead);
        first = false;
        for (name, value) in bound {
            all.entry(name).or_default().push(value);
        }
    }
    all.into_iter().map(|(name, values)| (name, MacroValue::Many(values))).collect()
}

fn is_next(input: ParseStream<'_>, wanted: &TokenTree) -> bool {
    input.parse::<TokenTree>().is_ok_and(|found| found.to_string() == wanted.to_string())
}

fn size(tokens: &TokenStream) -> usize {
    let each = |token: TokenTree| match token {
        TokenTree::Group(group) => 1 + size(&group.stream()),
        _ => 1,
    };
    tokens.clone().into_iter().map(each).sum()
}

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
        "block" => tokens(input.parse::<syn::Block>()?),
        "pat" | "pat_param" => tokens(syn::Pat::parse_multi(input)?),
        "vis" => tokens(input.parse::<syn::Visibility>()?),
        "item" => tokens(input.parse::<syn::Item>()?),
        "stmt" => statement(input)?,
        "meta" => tokens(input.parse::<syn::Meta>()?),
        "lifetime" => tokens(input.parse::<syn::Lifetime>()?),
        "tt" => tokens(input.parse::<TokenTree>()?),
        _ => return Err(input.error("not understood")),
    })
}

fn statement(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    if !input.peek(syn::Token![let]) {
        let ahead = input.fork();
        if let Ok(item) = ahead.parse::<syn::Item>() {
            input.advance_to(&ahead);
            return Ok(item.into_token_stream());
        }
        return Ok(input.parse::<syn::Expr>()?.into_token_stream());
    }
    // syn's parser of `let` requires the semicolon, which is not part of the fragment.
    let mut found = TokenStream::new();
    while !input.is_empty() && !input.peek(syn::Token![;]) {
        found.extend([input.parse::<TokenTree>()?]);
    }
    Ok(found)
}

struct Transcriber<'a> {
    krate: &'a str,
    span: Span,
    /// The number of tokens left.
    budget: &'a mut usize,
}

impl Transcriber<'_> {
    fn spend(&mut self, tokens: usize) -> Option<()> {
        *self.budget = self.budget.checked_sub(tokens)?;
        Some(())
    }

    /// The body with its metavariables replaced; `None` if it is not supported.
    fn transcribe(&mut self, body: TokenStream, bound: &Bound) -> Option<TokenStream> {
        let mut written = TokenStream::new();
        let mut tokens = body.into_iter();
        while let Some(token) = tokens.next() {
            self.spend(1)?;
            match token {
                TokenTree::Punct(dollar) if dollar.as_char() == '$' => match tokens.next()? {
                    TokenTree::Ident(name) if name == "crate" => {
                        written.extend([TokenTree::Ident(Ident::new(self.krate, self.span))]);
                    }
                    TokenTree::Ident(name) => match bound.get(&name.to_string()) {
                        Some(MacroValue::One(value, size)) => {
                            self.spend(*size)?;
                            written.extend(value.clone());
                        }
                        Some(MacroValue::Many(_)) => return None,
                        // A metavariable of a macro that the body declares.
                        None => written.extend([TokenTree::Punct(dollar), TokenTree::Ident(name)]),
                    },
                    TokenTree::Group(group) => {
                        let repeat = repeat(group.stream(), &mut tokens)?;
                        written.extend(self.transcribe_each(&repeat, bound)?);
                    }
                    _ => return None,
                },
                TokenTree::Group(group) => {
                    let mut inner = Group::new(group.delimiter(), self.transcribe(group.stream(), bound)?);
                    inner.set_span(self.span);
                    written.extend([TokenTree::Group(inner)]);
                }
                mut other => {
                    other.set_span(self.span);
                    written.extend([other]);
                }
            }
        }
        Some(written)
    }

    /// The output of a repetition: once per value of its metavariables.
    fn transcribe_each(&mut self, repeat: &Repeat<TokenStream>, bound: &Bound) -> Option<TokenStream> {
        let mut used = Vec::new();
        names(repeat.inner.clone(), &mut used);
        let times = used.iter().filter_map(|name| match bound.get(name)? {
            MacroValue::Many(values) => Some(values.len()),
            MacroValue::One(..) => None,
        });
        let mut written = TokenStream::new();
        for position in 0..times.min()? {
            if position > 0 {
                written.extend(repeat.separator.clone());
            }
            let at = |(name, value): (&String, &MacroValue)| match value {
                MacroValue::Many(values) => values.get(position).map(|value| (name.clone(), value.clone())),
                one @ MacroValue::One(..) => Some((name.clone(), one.clone())),
            };
            // Keep only the used names, to avoid copying unrelated long lists.
            let bound: Bound = bound.iter().filter(|(name, _)| used.contains(name)).filter_map(at).collect();
            written.extend(self.transcribe(repeat.inner.clone(), &bound)?);
        }
        Some(written)
    }
}

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
