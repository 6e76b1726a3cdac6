//! Rust by item, and inside of items by statement, field and comment. White space, trailing commas and the braces that
//! rustfmt adds do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use syn::spanned::Spanned as _;
use syn::{ImplItem, Item, TraitItem, UseTree, Visibility};

use super::super::merge::{self as lines, ConflictChoice};
use super::{Part, by_key, unique};

pub(super) fn merge(old: &str, new: &str, theirs: &str) -> Option<String> {
    let [mut old, mut new, mut theirs] = [items(old)?, items(new)?, items(theirs)?];
    merge_imports(&mut old, &mut new, &mut theirs)?;
    let text: String = by_key(&old, &new, &theirs)?.into_iter().map(|part| part.text).collect();
    syn::parse_file(&text).is_ok().then_some(text)
}

/// An item with the blank lines and comments above it, or the text around items.
#[derive(Debug, Clone)]
struct CodePart {
    key: String,
    text: String,
    /// The items of an `impl`, a trait or a module, and the text around them.
    inside: Vec<CodePart>,
    /// The names that a private `use` without attributes imports.
    imports: BTreeSet<String>,
}

impl Part for CodePart {
    fn key(&self) -> &str {
        &self.key
    }

    fn is_same(&self, other: &Self) -> bool {
        let tokens = |part: &Self| {
            let units = units(&part.text)?;
            Some(units.into_iter().map(|unit| unit.plain).filter(|plain| !plain.is_empty()).collect::<Vec<_>>())
        };
        self.text == other.text || tokens(self).is_some_and(|one| Some(one) == tokens(other))
    }

    fn merged(&self, old: &Self, new: &Self) -> Option<Self> {
        if [self, old, new].iter().all(|part| !part.inside.is_empty()) {
            let inside = by_key(&old.inside, &new.inside, &self.inside)?;
            let text = inside.iter().map(|part| part.text.as_str()).collect();
            return Some(Self { text, inside, ..self.clone() });
        }
        let text = merge_units(&units(&old.text)?, &units(&new.text)?, &units(&self.text)?)?;
        Some(Self { text, ..self.clone() })
    }
}

/// Splits a file into its items. `None` if it is not valid Rust.
fn items(text: &str) -> Option<Vec<CodePart>> {
    let file = syn::parse_file(text).ok().filter(|file| file.shebang.is_none())?;
    let start = file.attrs.iter().map(|attribute| attribute.span().byte_range().end).max().unwrap_or_default();
    parts(text, start..text.len(), file.items.iter().map(|item| Some((item.span().byte_range(), outline(item)?))))
}

/// The name of an item, and its own items.
struct Outline {
    key: String,
    body: Option<Range<usize>>,
    inside: Vec<(Range<usize>, Outline)>,
    imports: BTreeSet<String>,
}

/// The parts of a range of the text, whose items are given.
fn parts(
    text: &str,
    range: Range<usize>,
    items: impl Iterator<Item = Option<(Range<usize>, Outline)>>,
) -> Option<Vec<CodePart>> {
    let items = items.collect::<Option<Vec<_>>>()?;
    let keys = unique(items.iter().map(|(_, outline)| outline.key.clone()));
    let mut at = if range.start > 0 { line_end(text, range.start) } else { 0 };
    let start = text.get(..at)?;
    let mut parts = vec![CodePart::plain("start", start)];
    for ((place, outline), key) in items.into_iter().zip(keys) {
        let end = line_end(text, place.end);
        let mut part = CodePart { key, imports: outline.imports, ..CodePart::plain("", text.get(at..end)?) };
        if let Some(body) = outline.body.filter(|_| !outline.inside.is_empty()) {
            // The parts of `parts` begin at the start of a text, so the item is a text of its own.
            let own = text.get(..body.end)?;
            let inside = outline.inside.into_iter().map(Some);
            let mut inside = parts_of_body(own, at, body.clone(), inside)?;
            inside.push(CodePart::plain("close", text.get(body.end..end)?));
            part.inside = inside;
        }
        parts.push(part);
        at = end;
    }
    parts.push(CodePart::plain("end", text.get(at..range.end)?));
    Some(parts)
}

/// The parts of an item with a body: its text before the first inner item, the inner items, and the rest.
fn parts_of_body(
    text: &str,
    start: usize,
    body: Range<usize>,
    items: impl Iterator<Item = Option<(Range<usize>, Outline)>>,
) -> Option<Vec<CodePart>> {
    let mut all = parts(text, body.start..body.end, items)?;
    let head = all.first_mut()?;
    head.text.drain(..start);
    Some(all)
}

impl CodePart {
    fn plain(key: &str, text: &str) -> Self {
        Self { key: key.to_owned(), text: text.to_owned(), inside: Vec::new(), imports: BTreeSet::new() }
    }
}

/// The end of a line, if only white space and a comment follow.
fn line_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let line = rest.find('\n').map_or(rest.len(), |end| end + 1);
    let blank = rest[..line].trim();
    if blank.is_empty() || blank.starts_with("//") { at + line } else { at }
}

fn outline(item: &Item) -> Option<Outline> {
    let named = |kind: &str, name: &dyn ToString| format!("{kind} {}", name.to_string());
    let mut outline = Outline { key: String::new(), body: None, inside: Vec::new(), imports: BTreeSet::new() };
    let inner =
        |braces: &syn::token::Brace| Some(braces.span.open().byte_range().end..braces.span.close().byte_range().start);
    outline.key = match item {
        Item::Const(item) => named("const", &item.ident),
        Item::Enum(item) => named("type", &item.ident),
        Item::Fn(item) => named("fn", &item.sig.ident),
        Item::Struct(item) => named("type", &item.ident),
        Item::Static(item) => named("static", &item.ident),
        Item::Type(item) => named("type", &item.ident),
        Item::Union(item) => named("type", &item.ident),
        Item::Macro(item) => named("macro", &plain_text(item)),
        Item::Use(item) => {
            if item.attrs.is_empty() && matches!(item.vis, Visibility::Inherited) && item.leading_colon.is_none() {
                leaves(&item.tree, "", &mut outline.imports);
            }
            named("use", &plain_text(item))
        }
        Item::Mod(item) => {
            if let Some((braces, items)) = &item.content {
                outline.body = inner(braces).filter(|_| item.attrs.iter().all(|attribute| !is_inner(attribute)));
                let inside = items.iter().map(|item| Some((item.span().byte_range(), self::outline(item)?)));
                outline.inside = inside.collect::<Option<_>>()?;
            }
            named("mod", &item.ident)
        }
        Item::Impl(item) => {
            outline.body = inner(&item.brace_token).filter(|_| item.attrs.iter().all(|attribute| !is_inner(attribute)));
            for inside in &item.items {
                let key = match inside {
                    ImplItem::Const(item) => named("const", &item.ident),
                    ImplItem::Fn(item) => named("fn", &item.sig.ident),
                    ImplItem::Type(item) => named("type", &item.ident),
                    other => named("", &plain_text(other)),
                };
                outline.inside.push((inside.span().byte_range(), Outline::leaf(key)));
            }
            let of = item.trait_.as_ref().map(|(path, _)| plain_text(path));
            format!("impl {} {}", of.unwrap_or_default(), plain_text(&item.self_ty))
        }
        Item::Trait(item) => {
            outline.body = inner(&item.brace_token).filter(|_| item.attrs.iter().all(|attribute| !is_inner(attribute)));
            for inside in &item.items {
                let key = match inside {
                    TraitItem::Const(item) => named("const", &item.ident),
                    TraitItem::Fn(item) => named("fn", &item.sig.ident),
                    TraitItem::Type(item) => named("type", &item.ident),
                    other => named("", &plain_text(other)),
                };
                outline.inside.push((inside.span().byte_range(), Outline::leaf(key)));
            }
            named("trait", &item.ident)
        }
        other => named("", &plain_text(other)),
    };
    Some(outline)
}

impl Outline {
    fn leaf(key: String) -> Self {
        Self { key, body: None, inside: Vec::new(), imports: BTreeSet::new() }
    }
}

fn is_inner(attribute: &syn::Attribute) -> bool {
    matches!(attribute.style, syn::AttrStyle::Inner(_))
}

fn plain_text(tokens: &impl quote::ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

/// The paths that a tree imports.
fn leaves(tree: &UseTree, above: &str, found: &mut BTreeSet<String>) {
    let mut leaf = |name: String| _ = found.insert(format!("{above}{name}"));
    match tree {
        UseTree::Path(path) => leaves(&path.tree, &format!("{above}{}::", path.ident), found),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, above, found)),
        UseTree::Name(name) => leaf(name.ident.to_string()),
        UseTree::Rename(rename) => leaf(format!("{} as {}", rename.ident, rename.rename)),
        UseTree::Glob(_) => leaf("*".to_owned()),
    }
}

/// Merges the imports of a file as a set: the names that are new in the scaffold get a `use` of their own.
fn merge_imports(old: &mut Vec<CodePart>, new: &mut Vec<CodePart>, theirs: &mut Vec<CodePart>) -> Option<()> {
    let all = |parts: &[CodePart]| parts.iter().flat_map(|part| part.imports.clone()).collect::<BTreeSet<_>>();
    let (was, now, here) = (all(old), all(new), all(theirs));
    for part in theirs.iter_mut() {
        let before = part.imports.len();
        part.imports.retain(|name| now.contains(name) || !was.contains(name));
        if part.imports.len() < before {
            let (lead, item) = part.text.split_at(part.text.rfind("use ")?);
            if item.contains("//") || item.contains("/*") {
                return None;
            }
            part.text = lead.to_owned() + &printed(part.imports.iter());
        }
    }
    let added = now.iter().filter(|name| !was.contains(*name) && !here.contains(*name));
    let mut by_module: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for name in added {
        by_module.entry(module(name)).or_default().push(name);
    }
    for (module, names) in by_module {
        let shared = |part: &CodePart| {
            let close = |name: &String| name.split("::").zip(module.split("::")).take_while(|(a, b)| a == b).count();
            part.imports.iter().map(close).max()
        };
        let nearest = theirs.iter().enumerate().filter_map(|(at, part)| Some((shared(part)?, at))).max();
        let at = nearest.map_or(1, |(_, at)| at + 1);
        let text = printed(names.iter().copied());
        theirs.insert(at, CodePart::plain(&format!("use {module}"), &text));
    }
    for parts in [old, new] {
        parts.retain(|part| part.imports.is_empty());
    }
    Some(())
}

fn module(path: &str) -> &str {
    path.rsplit_once("::").map_or("", |(module, _)| module)
}

/// Imports as items, one for each module.
fn printed<'a>(paths: impl Iterator<Item = &'a String>) -> String {
    let mut by_module: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in paths {
        let (module, name) = path.rsplit_once("::").unwrap_or(("", path));
        by_module.entry(module).or_default().push(name);
    }
    let item = |(module, names): (&str, Vec<&str>)| match (module, names.as_slice()) {
        ("", names) => format!("use {};\n", names.join(";\nuse ")),
        (module, ["self"]) => format!("use {module};\n"),
        (module, [name]) => format!("use {module}::{name};\n"),
        (module, names) => format!("use {module}::{{{}}};\n", names.join(", ")),
    };
    by_module.into_iter().map(item).collect()
}

/// A statement, a field, the head or the end of a block, or a comment.
#[derive(Debug, Clone, Default)]
struct CodeUnit {
    /// The tokens without their layout.
    plain: String,
    text: String,
    /// An element of a list, which ends in a comma unless it is the last one.
    element: bool,
    /// The comma, or a semicolon, is there.
    ended: bool,
}

/// A token or comment.
struct Piece {
    place: Range<usize>,
    kind: PieceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    Token,
    Open,
    Close,
    /// Braces around the only expression of a match arm or closure.
    Layout {
        arm: bool,
    },
    Doc,
    Comment {
        trailing: bool,
    },
}

fn pieces(text: &str) -> Option<(Vec<Piece>, usize, String)> {
    // An item may be cut at the braces of its body.
    let whole = [("", ""), ("", "}"), ("{", "")].into_iter().find_map(|(before, after)| {
        let whole = format!("{before}{text}{after}");
        Some((whole.parse::<TokenStream>().ok()?, before.len(), whole))
    });
    let (stream, shift, whole) = whole?;
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    let mut pieces = Vec::new();
    let mut end = 0;
    for token in tokens {
        // The tokens of a doc comment have one place.
        if token.place.start < end {
            continue;
        }
        comments(&whole, end..token.place.start, &mut pieces)?;
        end = token.place.end;
        let doc = whole.get(token.place.clone())?.starts_with("//") || whole[token.place.clone()].starts_with("/*");
        pieces.push(if doc { Piece { kind: PieceKind::Doc, ..token } } else { token });
    }
    comments(&whole, end..whole.len(), &mut pieces)?;
    Some((pieces, shift, whole))
}

fn flatten(stream: TokenStream, found: &mut Vec<Piece>) {
    let mut last = [' '; 2];
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let inner = group.stream();
                let braces = group.delimiter() == Delimiter::Brace;
                let arm = last == ['=', '>'];
                let single = || {
                    let mut trees = inner.clone().into_iter().peekable();
                    trees.peek().is_some()
                        && !trees.any(|tree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ';'))
                };
                let layout = braces && (arm || last[1] == '|') && single();
                let [open, close] = if layout {
                    [PieceKind::Layout { arm: false }, PieceKind::Layout { arm }]
                } else {
                    [PieceKind::Open, PieceKind::Close]
                };
                let visible = group.delimiter() != Delimiter::None;
                if visible {
                    found.push(Piece { place: group.span_open().byte_range(), kind: open });
                }
                flatten(inner, found);
                if visible {
                    found.push(Piece { place: group.span_close().byte_range(), kind: close });
                }
                last = [' '; 2];
            }
            TokenTree::Punct(punct) => {
                last = [last[1], punct.as_char()];
                if punct.spacing() == Spacing::Alone && punct.as_char() == '=' {
                    last = [' '; 2];
                }
                found.push(Piece { place: punct.span().byte_range(), kind: PieceKind::Token });
            }
            other => {
                last = [' '; 2];
                found.push(Piece { place: other.span().byte_range(), kind: PieceKind::Token });
            }
        }
    }
}

/// The comments in the space between two tokens. `None` if there is something else.
fn comments(text: &str, gap: Range<usize>, found: &mut Vec<Piece>) -> Option<()> {
    let mut at = gap.start;
    let mut trailing = !found.is_empty();
    while at < gap.end {
        let rest = text.get(at..gap.end)?;
        let space = rest.len() - rest.trim_start().len();
        trailing &= !rest[..space].contains('\n');
        let comment = &rest[space..];
        if comment.is_empty() {
            break;
        }
        let length = if comment.starts_with("//") {
            comment.find('\n').unwrap_or(comment.len())
        } else if comment.starts_with("/*") {
            comment.find("*/")? + 2
        } else {
            return None;
        };
        let start = at + space;
        found.push(Piece { place: start..start + length, kind: PieceKind::Comment { trailing } });
        at = start + length;
    }
    Some(())
}

/// Splits a text into units, whose texts together are the text.
fn units(text: &str) -> Option<Vec<CodeUnit>> {
    let (pieces, shift, whole) = pieces(text)?;
    let end = shift + text.len();
    let pieces: Vec<Piece> =
        pieces.into_iter().filter(|piece| piece.place.start >= shift && piece.place.end <= end).collect();
    let mut splitter = Splitter { text: &whole, begun: shift, unit: CodeUnit::default(), units: Vec::new() };
    let is_comment = |piece: &Piece| matches!(piece.kind, PieceKind::Comment { .. });
    // The brackets around the piece, with a mark for those of attributes.
    let mut around: Vec<(&str, bool)> = Vec::new();
    let mut pending = false;
    for (at, piece) in pieces.iter().enumerate() {
        let token = &whole[piece.place.clone()];
        let next = pieces[at + 1..].iter().find(|piece| !is_comment(piece));
        let next_token = next.map_or("", |next| &whole[next.place.clone()]);
        let in_block = |around: &[(&str, bool)]| around.last().is_none_or(|(open, _)| *open == "{");
        let unit = &mut splitter.unit;
        let ends = match piece.kind {
            PieceKind::Comment { trailing: true } => {
                unit.add(token.trim_end());
                pending
            }
            PieceKind::Comment { trailing: false } | PieceKind::Doc => {
                let lines: Vec<&str> = token.lines().map(str::trim).collect();
                if in_block(&around) {
                    splitter.end_before(&pieces, at);
                }
                splitter.unit.add(&lines.join("\n"));
                in_block(&around)
            }
            PieceKind::Layout { arm } => {
                // rustfmt writes no comma after the brace of an arm.
                let ends = arm && next_token != "," && in_block(&around);
                unit.element |= ends;
                unit.ended |= ends;
                ends
            }
            PieceKind::Open => {
                let attribute = token == "[" && matches!(unit.plain.as_str(), " #" | " # !");
                unit.add(token);
                around.push((token, attribute));
                token == "{" && next.is_none_or(|next| next.kind != PieceKind::Close)
            }
            PieceKind::Close => {
                if token == "}" && at > 0 && pieces[at - 1].kind != PieceKind::Open {
                    splitter.end_list();
                    splitter.end_before(&pieces, at);
                }
                let (_, attribute) = around.pop().unwrap_or_default();
                splitter.unit.add(token);
                let block = token == "}" && !GOES_ON.contains(&next_token);
                in_block(&around) && (attribute || block || next_token == ".")
            }
            PieceKind::Token => {
                let last = next.is_none_or(|next| matches!(next.kind, PieceKind::Close | PieceKind::Layout { .. }));
                let ends = in_block(&around) && matches!(token, "," | ";");
                unit.element |= ends && token == ",";
                unit.ended |= ends;
                if token != "," || !(ends || last || next_token == ">") {
                    unit.add(token);
                }
                ends
            }
        };
        let trails = pieces.get(at + 1).is_some_and(|next| next.kind == PieceKind::Comment { trailing: true });
        pending = ends && trails;
        if ends && !trails {
            splitter.end(piece.place.end);
        }
    }
    splitter.end(end);
    Some(splitter.units)
}

/// Tokens after a block that belong to the same statement.
const GOES_ON: [&str; 15] = [".", ",", ";", "?", ")", "]", "else", "=", "+", "-", "*", "|", "<", ">", "as"];

struct Splitter<'a> {
    text: &'a str,
    /// The start of the unit in the text.
    begun: usize,
    unit: CodeUnit,
    units: Vec<CodeUnit>,
}

impl Splitter<'_> {
    fn end(&mut self, at: usize) {
        if at > self.begun {
            let text = self.text[self.begun..at].to_owned();
            self.units.push(CodeUnit { text, ..std::mem::take(&mut self.unit) });
            self.begun = at;
        }
    }

    /// Ends the unit before a piece, if it has tokens.
    fn end_before(&mut self, pieces: &[Piece], at: usize) {
        if !self.unit.plain.is_empty() {
            self.end(pieces[at - 1].place.end);
        }
    }

    /// The last element of a list may have no comma.
    fn end_list(&mut self) {
        let before = self.units.iter().rev().find(|unit| !is_outer(&unit.plain));
        self.unit.element |= !self.unit.plain.is_empty() && before.is_some_and(|unit| unit.element);
    }
}

impl CodeUnit {
    fn add(&mut self, token: &str) {
        self.plain.push(' ');
        self.plain += token;
    }
}

fn merge_units(old: &[CodeUnit], new: &[CodeUnit], theirs: &[CodeUnit]) -> Option<String> {
    let mut numbers: BTreeMap<&str, String> = BTreeMap::new();
    for unit in [old, new, theirs].into_iter().flatten() {
        let number = numbers.len();
        numbers.entry(&unit.plain).or_insert_with(|| format!("{number}\n"));
    }
    let ids = |units: &[CodeUnit]| units.iter().map(|unit| numbers[unit.plain.as_str()].as_str()).collect::<Vec<_>>();
    let [from, to, here] = [old, new, theirs].map(ids);
    let merged = lines::merge(&from.concat(), &to.concat(), &here.concat(), ConflictChoice::Refuse);
    if !merged.conflicts.is_empty() {
        return None;
    }
    let merged: Vec<&str> = merged.text.split_inclusive('\n').collect();
    // The layout of the author, and for new units that of the scaffold.
    let mut chosen: Vec<Option<&CodeUnit>> = vec![None; merged.len()];
    for (ids, units) in [(&here, theirs), (&to, new)] {
        for op in capture_diff_slices(Algorithm::Myers, &merged, ids) {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                for at in 0..len {
                    chosen[old_index + at].get_or_insert(&units[new_index + at]);
                }
            }
        }
    }
    let any = |id: &str| {
        let find = |ids: &[&str], units: &[CodeUnit]| Some(units[ids.iter().position(|other| *other == id)?].clone());
        find(&here, theirs).or_else(|| find(&to, new))
    };
    let units: Option<Vec<CodeUnit>> =
        chosen.into_iter().zip(&merged).map(|(unit, id)| unit.cloned().or_else(|| any(id))).collect();
    let units = units?;
    let mut text = String::new();
    for (at, unit) in units.iter().enumerate() {
        text += &unit.text;
        let next = units[at + 1..].iter().find(|next| !is_outer(&next.plain));
        let before_element = next.is_some_and(|next| next.element);
        if before_element && !unit.ended && !unit.plain.ends_with('{') && !is_outer(&unit.plain) {
            text.push(',');
        }
    }
    Some(text)
}

/// Returns true for a comment or an attribute, which are before an element.
fn is_outer(plain: &str) -> bool {
    plain.trim_start().starts_with("//") || plain.trim_start().starts_with("/*") || plain.trim_start().starts_with('#')
}
