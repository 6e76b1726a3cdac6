//! Names that macro calls in a module may declare. Such a name shadows a glob import.
//!
//! Macros are not expanded here. A call may declare a name that stands in the position of an item's name, in the call
//! or in a `macro_rules!` behind it. If the macro is unknown or inserts tokens of the call there, any word of the call
//! counts.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::Item;
use syn::ext::IdentExt as _;

use super::super::files;
use super::super::ident::ident;
use super::super::sources::ModuleId;
use crate::source::lexer::{DEEPEST, deeper_than};
use crate::source::sources::Sources;

/// Words that an item's name follows.
const DECLARING: [&str; 11] =
    ["const", "crate", "enum", "fn", "mod", "mut", "static", "struct", "trait", "type", "union"];

#[derive(Debug, Default)]
pub(in crate::source) struct MacroItems(BTreeMap<ModuleId, Vec<MacroCall>>);

#[derive(Debug)]
struct MacroCall {
    name: String,
    words: Words,
    behind: Words,
    /// A macro is neither in the tree nor in std.
    unknown: bool,
    /// The call includes a file that cannot be read: it may declare any name.
    any: bool,
}

#[derive(Debug, Default)]
struct Words {
    all: BTreeSet<String>,
    /// The names of items, and all words of imports.
    declared: BTreeSet<String>,
    /// An item takes its name from the call's arguments.
    open: bool,
    /// The first word, except `pub`.
    first: Option<String>,
    macros: BTreeSet<String>,
}

impl MacroItems {
    pub(in crate::source) fn of(sources: &Sources) -> Self {
        let mut rules: BTreeMap<String, Vec<&TokenStream>> = BTreeMap::new();
        let mut calls: BTreeMap<ModuleId, Vec<(ModuleId, &syn::Macro)>> = BTreeMap::new();
        for data in &sources.items {
            let Item::Macro(item) = &data.item else { continue };
            match &item.ident {
                Some(name) => rules.entry(ident(name)).or_default().push(&item.mac.tokens),
                // The items of an included file are in the tree.
                None if data.child.is_some() => {}
                None => calls.entry(sources.scope(data.module)).or_default().push((data.module, &item.mac)),
            }
        }
        let call = |(module, mac): &(ModuleId, &syn::Macro)| {
            let name = mac.path.segments.last().map(|last| ident(&last.ident)).unwrap_or_default();
            let (mut words, mut behind) = (Words::default(), Words::default());
            words.read(mac.tokens.clone(), Some(0));
            let (mut unknown, mut seen) = (false, BTreeSet::new());
            let mut queue: Vec<String> = words.macros.iter().cloned().chain([name.clone()]).collect();
            while let Some(name) = queue.pop() {
                if !seen.insert(name.clone()) {
                    continue;
                }
                let files = sources.word_index();
                files.declaring_macro(&name).for_each(|file| sources.request_file(file));
                unknown |= !rules.contains_key(&name) && !HARMLESS.contains(&name.as_str());
                for tokens in rules.get(&name).into_iter().flatten() {
                    // The items of a rule are in its braces.
                    behind.read((*tokens).clone(), Some(1));
                }
                queue.extend(behind.macros.iter().cloned());
            }
            let mut any = name.starts_with("include");
            if let Some(included) = any.then(|| included(sources, *module, mac)).flatten() {
                any = false;
                behind.read(included, Some(0));
            }
            MacroCall { name, words, behind, unknown, any }
        };
        MacroItems(calls.into_iter().map(|(module, calls)| (module, calls.iter().map(&call).collect())).collect())
    }

    /// The macro of a call in the module that may declare an item of this name.
    pub(in crate::source) fn may_declare(&self, module: ModuleId, name: &str) -> Option<&str> {
        let may = |call: &&MacroCall| {
            let open = call.unknown || call.words.open || call.behind.open;
            call.any
                || call.declares(name)
                || (open && (call.words.all.contains(name) || call.behind.all.contains(name)))
        };
        self.0.get(&module)?.iter().find(may).map(|call| call.name.as_str())
    }

    /// Like [`Self::may_declare`], for common names such as those of the prelude: only a certain declaration counts.
    pub(in crate::source) fn declares(&self, module: ModuleId, name: &str) -> Option<&str> {
        let does = |call: &&MacroCall| {
            let first = call.words.first.as_deref() == Some(name);
            call.declares(name) || (first && (call.behind.open || call.unknown))
        };
        self.0.get(&module)?.iter().find(does).map(|call| call.name.as_str())
    }
}

fn included(sources: &Sources, module: ModuleId, mac: &syn::Macro) -> Option<TokenStream> {
    let path = mac.parse_body::<syn::LitStr>().ok()?.value();
    let file = sources.file(module);
    let text = files::read(&file.disk.parent()?.join(path)).ok()?;
    if deeper_than(DEEPEST, &text).is_some() { None } else { text.parse().ok() }
}

impl MacroCall {
    fn declares(&self, name: &str) -> bool {
        self.words.declared.contains(name) || self.behind.declared.contains(name)
    }
}

/// Macros of std that declare nothing beyond their arguments.
const HARMLESS: [&str; 13] = [
    "assert",
    "cfg",
    "compile_error",
    "concat",
    "env",
    "format",
    "include",
    "include_str",
    "matches",
    "panic",
    "stringify",
    "thread_local",
    "vec",
];

impl Words {
    /// Searches `depth` levels of braces for items and calls: the content of a function or module shadows nothing.
    fn read(&mut self, tokens: TokenStream, depth: Option<usize>) {
        let (mut declares, mut imports, mut last) = (false, false, None);
        for token in tokens {
            match &token {
                TokenTree::Ident(name) => {
                    let name = name.unraw().to_string();
                    if (declares || imports) && depth.is_some() {
                        self.declared.insert(name.clone());
                    }
                    if self.first.is_none() && name != "pub" {
                        self.first = Some(name.clone());
                    }
                    declares = DECLARING.contains(&name.as_str());
                    imports |= name == "use";
                    self.all.insert(name.clone());
                    last = Some(name);
                    continue;
                }
                TokenTree::Punct(punct) => match punct.as_char() {
                    '$' => self.open |= (declares || imports) && depth.is_some(),
                    ';' => imports = false,
                    '!' => self.macros.extend(last.take().filter(|_| depth.is_some())),
                    _ => {}
                },
                TokenTree::Group(group) => {
                    // For example `struct [<$name Spec>]`.
                    self.open |= declares && depth.is_some() && group.delimiter() == Delimiter::Bracket;
                    if imports && depth.is_some() {
                        let mut inside = Words::default();
                        inside.read(group.stream(), None);
                        self.open |= group.stream().to_string().contains('$');
                        self.declared.extend(inside.all);
                    }
                    let braces = usize::from(group.delimiter() == Delimiter::Brace);
                    self.read(group.stream(), depth.and_then(|depth| depth.checked_sub(braces)));
                }
                TokenTree::Literal(_) => {}
            }
            (declares, last) = (false, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::source::Namespace::Types;
    use crate::source::tests::{load, show};

    fn meanings(code: &str) -> [String; 2] {
        let (tree, _) = load(&format!(
            "//- src/lib.rs\nmod a {{ pub struct Size; }}\nmacro_rules! own {{ ($n:ident) => {{ pub struct $n; }} }}\n\
             macro_rules! of {{ ($n:ident) => {{ impl $n {{}} }} }}\nmacro_rules! through {{ ($n:ident) => {{ own!($n); }} }}\n\
             macro_rules! fixed {{ () => {{ pub type String = u8; mod x {{ pub struct Size; }} }} }}\n\
             mod b {{ use crate::a::*; {code} }}\nmod c {{ use crate::b::*; }}\n"
        ));
        ["Size", "String"].map(|name| show(&tree, "op::b", name, Types))
    }

    #[test]
    fn what_a_macro_may_declare_is_not_taken_from_elsewhere() {
        let (size, string) = ("op::a::Size", "extern std::string::String");
        let unclear = |name: &str, call: &str| format!("`{name}` is ambiguous: `{call}!` may declare it");
        for (code, expected) in [
            ("", [size.to_owned(), string.to_owned()]),
            ("own!(Other);", [size.to_owned(), string.to_owned()]),
            ("own!(Size);", [unclear("Size", "own"), string.to_owned()]),
            ("of!(Size);", [size.to_owned(), string.to_owned()]),
            ("through!(Size);", [unclear("Size", "through"), string.to_owned()]),
            ("unknown!(Size, String);", [unclear("Size", "unknown"), string.to_owned()]),
            ("unknown! { struct Size { a: String } }", [unclear("Size", "unknown"), string.to_owned()]),
            ("own!(String);", [size.to_owned(), "`String` may be declared by `own!`".to_owned()]),
            ("of! { use x::{Size}; }", [unclear("Size", "of"), string.to_owned()]),
            ("fixed!();", [size.to_owned(), "`String` may be declared by `fixed!`".to_owned()]),
            ("of!(Size, { fn f() { format!() } });", [size.to_owned(), string.to_owned()]),
            ("thread_local! { static A: Size = Size; }", [size.to_owned(), string.to_owned()]),
        ] {
            assert_eq!(meanings(code), expected, "{code}");
        }
    }
}
