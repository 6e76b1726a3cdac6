//! Facts about a file without parsing it: its `mod` items, and the words that it contains.
//!
//! Every answer is conservative: a file is skipped only if its text leaves no doubt.

use std::collections::{BTreeMap, BTreeSet};

use memchr::memmem;

use super::ecosystem::Derive;
use super::file::FileId;
use super::lexer::{is_ident, tokens};

/// The text reduced to its `mod name;` items at their original offsets. `None` if only a parser can tell.
pub(super) fn outline(text: &str) -> Option<String> {
    if has_word(text, "extern") || has_inner_cfg(text) {
        return None;
    }
    let mut out = String::new();
    if !may_declare_files(text) {
        return Some(out);
    }
    let (mut depth, mut start, mut declares) = (0_usize, 0, false);
    for (at, token) in tokens(text) {
        match token {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.checked_sub(1)?,
            "{" => (depth, declares) = (depth + 1, false),
            "}" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    start = at + 1;
                }
            }
            ";" if declares && depth > 0 => return None,
            ";" => {
                if declares {
                    out.extend(std::iter::repeat_n(' ', start - out.len()));
                    out.push_str(&text[start..=at]);
                    declares = false;
                }
                if depth == 0 {
                    start = at + 1;
                }
            }
            "mod" => declares = true,
            _ => {}
        }
    }
    (depth == 0).then_some(out)
}

/// Returns true if the text has an inner attribute `cfg` or `cfg_attr`, at any depth.
fn has_inner_cfg(text: &str) -> bool {
    let is_inner = |at: usize| text[at + 1..].trim_start().starts_with('!');
    if memmem::find(text.as_bytes(), b"cfg").is_none() || !memchr::memchr_iter(b'#', text.as_bytes()).any(is_inner) {
        return false;
    }
    let tokens: Vec<&str> = tokens(text).map(|(_, token)| token).collect();
    tokens.windows(4).any(|at| at[..3] == ["#", "!", "["] && at[3].starts_with("cfg"))
}

/// Returns false if every `mod` is followed by a name and a brace.
fn may_declare_files(text: &str) -> bool {
    words(text, "mod").any(|at| {
        let rest = text[at + 3..].trim_start();
        !rest.trim_start_matches(|c: char| c == '_' || c.is_alphanumeric()).trim_start().starts_with('{')
    })
}

/// Returns true if the text may use the derive: it contains one of its `names`, the helper attribute, or an attribute
/// macro that expands to the derive.
pub(super) fn may_derive(text: &str, derive: &Derive, names: &BTreeSet<String>) -> bool {
    names.iter().any(|name| has_word(text, name) && tokens(text).any(|(_, token)| token == name))
        || may_have_attribute(text, derive.attribute)
        || derive.attribute_macros.iter().any(|name| is_followed(text, name, &["!", "("]))
}

pub(super) fn may_define(text: &str, derive: &Derive, names: &BTreeSet<String>) -> bool {
    has_word(text, "macro_rules") && may_derive(text, derive, names)
}

pub(super) fn may_include(text: &str) -> bool {
    is_followed(text, "include", &["!", "(", "as"])
}

fn is_followed(text: &str, name: &str, by: &[&str]) -> bool {
    words(text, name).any(|at| by.iter().any(|by| text[at + name.len()..].trim_start().starts_with(by)))
}

fn may_have_attribute(text: &str, name: &str) -> bool {
    let is_path = |rest: &str| rest.trim_start().starts_with("::");
    words(text, name).any(|at| !is_path(&text[at + name.len()..]))
        && tokens(text).any(|(at, token)| token == name && !is_path(&text[at + name.len()..]))
}

/// An index of renames and `impl` headers over all files, built once for all names.
#[derive(Debug, Default)]
pub(super) struct WordIndex {
    renamed: BTreeMap<String, BTreeSet<String>>,
    implemented: BTreeMap<String, BTreeSet<FileId>>,
    /// Names declared by `macro_rules!`.
    macros: BTreeMap<String, BTreeSet<FileId>>,
}

impl WordIndex {
    pub(super) fn of<'a>(files: impl Iterator<Item = (FileId, &'a str)>) -> Self {
        let mut index = Self::default();
        for (file, text) in files {
            for at in words(text, "use") {
                let words = statement(&text[at..]).filter(|token| !matches!(*token, "r" | "#"));
                let mut before = ["", ""];
                for word in words {
                    if before[1] == "as" && word != "_" {
                        index.renamed.entry(before[0].to_owned()).or_default().insert(word.to_owned());
                    }
                    before = [before[1], word];
                }
            }
            for at in words(text, "macro_rules") {
                if let Some(name) = statement(&text[at..]).nth(2) {
                    index.macros.entry(name.to_owned()).or_default().insert(file);
                }
            }
            for at in words(text, "impl") {
                for name in header(&text[at..]).filter(|token| token.bytes().all(is_ident)) {
                    match index.implemented.get_mut(name) {
                        Some(files) => drop(files.insert(file)),
                        None => drop(index.implemented.insert(name.to_owned(), [file].into())),
                    }
                }
            }
        }
        index
    }

    /// `name` and its aliases by `use … as`, transitively.
    pub(super) fn names(&self, name: &str) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut queue = vec![name.to_owned()];
        while let Some(name) = queue.pop() {
            if !names.contains(&name) {
                queue.extend(self.renamed.get(&name).into_iter().flatten().cloned());
                names.insert(name);
            }
        }
        names
    }

    pub(super) fn declaring_macro(&self, name: &str) -> impl Iterator<Item = FileId> {
        self.macros.get(name).into_iter().flatten().copied()
    }

    /// The files that may have an `impl` header with `name` or one of its aliases.
    pub(super) fn implementing(&self, name: &str) -> BTreeSet<FileId> {
        let names = self.names(name);
        names.iter().filter_map(|name| self.implemented.get(name)).flatten().copied().collect()
    }
}

/// The tokens up to the next semicolon. A start inside of a literal or comment only adds tokens.
fn statement(text: &str) -> impl Iterator<Item = &str> {
    tokens(text).map(|(_, token)| token).take_while(|token| *token != ";")
}

/// The tokens before the brace of an `impl` block; skips `<{ N }>`.
fn header(text: &str) -> impl Iterator<Item = &str> {
    let (mut angles, mut last) = (0_usize, "");
    statement(text).take_while(move |token| {
        match *token {
            "<" => angles += 1,
            ">" if !matches!(last, "-" | "=") => angles = angles.saturating_sub(1),
            _ => {}
        }
        last = token;
        *token != "{" || angles > 0
    })
}

#[derive(Debug, Default)]
pub(super) struct TraitFunctions(BTreeSet<String>);

impl TraitFunctions {
    pub(super) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let found = texts.flat_map(|text| words(text, "trait").flat_map(|at| functions(&text[at..])));
        Self(found.map(str::to_owned).collect())
    }

    /// Returns true if a trait may declare a function of this name, possibly by a macro.
    pub(super) fn may_have(&self, name: &str) -> bool {
        self.0.contains(name) || self.0.contains("$")
    }
}

/// The words after `fn` between the braces of a trait.
fn functions(text: &str) -> Vec<&str> {
    let (mut depth, mut last, mut found) = (0_usize, "", Vec::new());
    for (_, token) in tokens(text).skip(header(text).count()).filter(|(_, token)| !matches!(*token, "r" | "#")) {
        match token {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            // A macro's metavariable in the trait may be a function.
            name if last == "fn" || name == "$" => found.push(name),
            _ => {}
        }
        if depth == 0 {
            break;
        }
        last = token;
    }
    found
}

pub(super) fn has_word(text: &str, word: &str) -> bool {
    words(text, word).next().is_some()
}

/// The offsets of `word` as a whole word, including comments and literals.
fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    memmem::find_iter(text.as_bytes(), word).filter(move |at| {
        let (before, after) = (text.as_bytes()[..*at].last(), text.as_bytes().get(at + word.len()));
        !before.into_iter().chain(after).any(|byte| is_ident(*byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outlines() {
        for (text, expected) in [
            ("fn f() {}", Some("")),
            ("mod a { fn f() {} }", Some("")),
            ("use x;\n/// Doc\n#[path = \"b.rs\"]\npub(crate) mod a;\nfn f() {}", {
                Some("      \n/// Doc\n#[path = \"b.rs\"]\npub(crate) mod a;")
            }),
            ("mod a { mod b; }", None),
            ("macro! { mod b; }", None),
            (
                "fn f() { let s = \"mod x;\"; } // mod y;\nmod a;",
                Some("                             // mod y;\nmod a;"),
            ),
            ("mod /* a */ b ;", Some("mod /* a */ b ;")),
            ("mod r#type;", Some("mod r#type;")),
            ("extern crate alloc;", None),
            ("#![cfg(unix)]", None),
            ("# ! /* a */ [cfg_attr(unix, path = \"b.rs\")] mod a;", None),
            ("#[cfg(test)]\nmod tests {\n#![allow(a)]\n}", Some("")),
            ("}", Some("")),
            ("} mod a;", None),
            ("{ mod a {} ; mod b", None),
        ] {
            assert_eq!(outline(text).as_deref(), expected, "{text}");
        }
    }

    /// A file without an outline is parsed, with every file that its imports name.
    #[test]
    fn the_files_of_the_runtime_have_outlines() {
        for (path, text) in crate::runtime::copy().unwrap() {
            assert!(!path.starts_with("src/") || outline(&text).is_some(), "{path}");
        }
    }

    fn index(texts: &[&str]) -> WordIndex {
        WordIndex::of(texts.iter().enumerate().map(|(file, text)| (FileId(u32::try_from(file).unwrap()), *text)))
    }

    #[test]
    fn names_by_as() {
        let texts = [
            "use kube::{CustomResource /* ! */ as A};",
            "pub use a::A as r#type; // A as B",
            "use x::r#type as C; use y::Z as D; use x::C as _; fn f() { 1 as E; }",
        ];
        let names = index(&texts).names("CustomResource");
        assert_eq!(Vec::from_iter(&names), ["A", "C", "CustomResource", "type"]);
    }

    #[test]
    fn implementing_files() {
        let texts = [
            "impl Default for super::Size {",
            "impl Default for Other { fn f(x: Size) {} }",
            "use a::Size as S; const T: &str = \"use a; impl b\"; impl /* { ; */ Default for S { }",
            "impl<T> From<Size> for T where T: Copy {} impl Size {}",
            "// impl Size",
            "impl Trait<{ N }, fn() -> u8> for Size {} impl Other { const N: Size; }",
        ];
        let files: Vec<u32> = index(&texts).implementing("Size").into_iter().map(|file| file.0).collect();
        assert_eq!(files, [0, 2, 3, 4, 5]);
    }

    #[test]
    fn functions_of_traits() {
        for (text, names) in [
            ("trait A { fn a(); fn b(&self) { fn c() {} } } fn d() {}", &["a", "b", "c"][..]),
            ("pub unsafe trait A<const N: usize = { 1 }>: B<fn(u8)> where Self: C { fn r#type(f: fn()); }", &["type"]),
            ("trait A = B; fn a() {}", &[]),
            ("macro_rules! m { () => { trait A { fn $name(); } } }", &["$"]),
            ("macro_rules! m { ($($t:tt)*) => { trait A { $($t)* } } }", &["$"]),
            ("trait A {} // trait B { fn b(); }\nfn a() {}", &["b"]),
        ] {
            let found = TraitFunctions::of([text].into_iter()).0;
            assert!(names.iter().all(|name| found.contains(*name)), "{text}: {found:?}");
            assert_eq!(found.iter().filter(|name| name.bytes().all(is_ident)).count(), {
                names.iter().filter(|name| **name != "$").count()
            });
        }
    }

    #[test]
    fn doubts() {
        let names = BTreeSet::from(["CustomResource".to_owned()]);
        let derive = &crate::k8s::ECOSYSTEM.derive;
        for (text, derives) in [
            ("use kube::Client; struct MyCustomResource;", false),
            ("#[derive(CustomResource)]", true),
            ("// CustomResource", false),
            ("#[derive(X)] #[kube(kind = \"A\")]", true),
            ("#[derive(X)] #[kube /**/ (kind = \"A\")]", true),
            ("// a word on kube\nuse kube :: Client;", false),
        ] {
            assert_eq!(may_derive(text, derive, &names), derives, "{text}");
        }
    }
}
