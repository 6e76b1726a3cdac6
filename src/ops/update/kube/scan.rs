//! The names of other crates in a Rust file, from its tokens: also in macro calls and attributes, which a parser leaves alone.
//!
//! Knows the imports of the file, without their scopes. A name with two meanings in one file has none.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::source::tokens;

/// The parts of kube that have crates of their own, with their paths in `kube`.
const PARTS: [(&str, &[&str]); 4] = [
    ("kube_client", &["kube"]),
    ("kube_core", &["kube", "core"]),
    ("kube_derive", &["kube"]),
    ("kube_runtime", &["kube", "runtime"]),
];

/// A file, and the names of other crates in it.
pub(super) struct RustScan<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: Vec<(usize, &'a str)>,
    pub(super) names: Vec<NameUse>,
}

/// A name of another crate: a path, or a leaf of a `use` item.
#[derive(Debug, Clone)]
pub(super) struct NameUse {
    /// The path from the crate.
    pub(super) full: Vec<String>,
    /// The tokens of the last segments, of those that are written here.
    pub(super) written: Vec<usize>,
    /// True for a leaf of a `use` item. Then `written` are the segments since the last bracket.
    pub(super) imported: bool,
    /// The name that the `use` item gives instead.
    pub(super) alias: Option<String>,
    /// True for a path that starts with an imported name.
    pub(super) through_import: bool,
}

impl NameUse {
    /// Returns the index in `full` of the first written segment.
    pub(super) fn first_written(&self) -> usize {
        self.full.len() - self.written.len()
    }

    /// Returns the index in `full` of adjacent segments below the crate `root`.
    pub(super) fn find(&self, root: &str, segments: &[&str]) -> Option<usize> {
        if self.full[0] != root {
            return None;
        }
        if segments.is_empty() {
            return Some(0);
        }
        (1..self.full.len()).find(|at| {
            let window = self.full.get(*at..at + segments.len());
            window.is_some_and(|window| window.iter().map(String::as_str).eq(segments.iter().copied()))
        })
    }

    pub(super) fn is(&self, path: &str) -> bool {
        self.full.iter().map(String::as_str).eq(path.split("::"))
    }

    pub(super) fn ends_with(&self, root: &str, segments: &[&str]) -> bool {
        self.find(root, segments).is_some_and(|at| at + segments.len() == self.full.len())
    }

    /// The last token, if the name is not imported here.
    pub(super) fn last(&self) -> Option<usize> {
        self.written.last().copied().filter(|_| !self.imported)
    }
}

impl<'a> RustScan<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut scan = Self { text, tokens: tokens(text).collect(), names: Vec::new() };
        let mut uses: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        while at < scan.tokens.len() {
            if scan.token(at) == "use" && scan.token(at + 1) != "<" {
                let start = at;
                at = scan.use_tree(at + 1, &[], &[]);
                uses.push(start..at);
            } else {
                at += 1;
            }
        }
        let imports = scan.imports();
        let mut uses = uses.into_iter().peekable();
        let mut at = 0;
        while at < scan.tokens.len() {
            if let Some(item) = uses.next_if(|item| item.start == at) {
                at = item.end;
                continue;
            }
            let written = scan.path(at);
            let Some(&last) = written.last() else {
                at += 1;
                continue;
            };
            scan.names.extend(scan.resolved(&written, &imports));
            at = last + 1;
        }
        scan
    }

    /// A token; empty after the last one.
    pub(super) fn token(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |(_, token)| token)
    }

    pub(super) fn before(&self, at: usize, n: usize) -> &'a str {
        at.checked_sub(n).map_or("", |at| self.token(at))
    }

    /// The bytes of these tokens.
    pub(super) fn bytes(&self, tokens: Range<usize>) -> Range<usize> {
        let (last, text) = self.tokens[tokens.end - 1];
        self.tokens[tokens.start].0..last + text.len()
    }

    /// The token that closes the bracket at `open`.
    pub(super) fn close(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in open..self.tokens.len() {
            match self.token(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The parts between the commas in the brackets at `open`, each not empty.
    pub(super) fn arguments(&self, open: usize) -> Option<Vec<Range<usize>>> {
        let close = self.close(open)?;
        let (mut found, mut start, mut at) = (Vec::new(), open + 1, open + 1);
        // The parameters of a closure have commas, too.
        let mut closure = false;
        while at < close {
            match self.token(at) {
                "(" | "[" | "{" => at = self.close(at)?,
                "|" => closure = !closure,
                "," if !closure => {
                    found.push(start..at);
                    start = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        found.push(start..close);
        found.retain(|part| !part.is_empty());
        Some(found)
    }

    /// The tokens of the segments of a path that starts here.
    fn path(&self, mut at: usize) -> Vec<usize> {
        let mut written = Vec::new();
        if !is_name(self.token(at)) || self.before(at, 1) == "." && self.before(at, 2) != "." {
            return written;
        }
        loop {
            written.push(at);
            if self.token(at + 1) != ":" || self.token(at + 2) != ":" || !is_name(self.token(at + 3)) {
                return written;
            }
            at += 3;
        }
    }

    fn resolved(&self, written: &[usize], imports: &BTreeMap<String, Option<Vec<String>>>) -> Option<NameUse> {
        let rest = || written[1..].iter().map(|at| self.token(*at).to_owned());
        let first = self.token(written[0]);
        let full = match imports.get(first) {
            Some(path) => path.as_ref()?.iter().cloned().chain(rest()).collect(),
            None if written.len() > 1 => canonical([first.to_owned()].into_iter().chain(rest()).collect()),
            None => return None,
        };
        let through_import = imports.contains_key(first);
        Some(NameUse { full, written: written.to_vec(), imported: false, alias: None, through_import })
    }

    /// Reads a tree of a `use` item. Returns the token after it.
    fn use_tree(&mut self, mut at: usize, above: &[String], written: &[usize]) -> usize {
        let (mut path, mut written) = (above.to_vec(), written.to_vec());
        loop {
            match self.token(at) {
                "{" => {
                    let end = self.close(at).unwrap_or(self.tokens.len());
                    at += 1;
                    while at < end {
                        at = self.use_tree(at, &path, &[]).max(at + 1);
                    }
                    return end + 1;
                }
                ":" => at += 1,
                name if is_name(name) => {
                    if name != "self" || path.is_empty() {
                        path.push(name.to_owned());
                        written.push(at);
                    }
                    at += 1;
                    if self.token(at) != ":" {
                        let alias = (self.token(at) == "as").then(|| self.token(at + 1).to_owned());
                        at += if alias.is_some() { 2 } else { 0 };
                        let full = canonical(path);
                        let written = if name == "self" { Vec::new() } else { written };
                        self.names.push(NameUse { full, written, imported: true, alias, through_import: false });
                        return at;
                    }
                }
                // A glob, a comma or the end.
                _ => return at + 1,
            }
        }
    }

    fn imports(&self) -> BTreeMap<String, Option<Vec<String>>> {
        let mut imports: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
        for leaf in &self.names {
            let name = leaf.alias.as_ref().or(leaf.full.last()).cloned().unwrap_or_default();
            let path = Some(leaf.full.clone());
            let known = imports.entry(name).or_insert_with(|| path.clone());
            if *known != path {
                *known = None;
            }
        }
        imports
    }
}

/// The path of a name in `kube`, if it is in one of the parts of kube.
fn canonical(path: Vec<String>) -> Vec<String> {
    match PARTS.iter().find(|(part, _)| path.first().is_some_and(|first| first == part)) {
        Some((_, above)) => above.iter().map(ToString::to_string).chain(path.into_iter().skip(1)).collect(),
        None => path,
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|char: char| char == '_' || char.is_alphabetic()) && !token.contains(['"', '\'', '#'])
}
