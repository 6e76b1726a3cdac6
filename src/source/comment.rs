//! Comments of the package's own active code.

use std::ops::Range;

use syn::{Item, ItemMod};

use super::cfg::{Cfg, CfgSet, decide};
use super::file::{FileId, SourceFile};
use super::lexer::{self, DEEPEST, blocks, deeper_than};
use super::sources::index;
use super::tree::SourceTree;
use crate::diagnostic::Origin;
use crate::parallel;

/// A `//` comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The text after `//`, `///` or `//!`, untrimmed, without the line end.
    pub text: String,
    /// Place from the first slash to the end of the text.
    pub origin: Origin,
}

impl Comment {
    fn new(range: Range<usize>, file: &SourceFile) -> Self {
        let text = &file.text[range.clone()];
        let slashes =
            if text.starts_with("//!") || text.starts_with("///") && !text.starts_with("////") { 3 } else { 2 };
        Self { text: text[slashes..].to_owned(), origin: file.origin(range) }
    }
}

impl SourceTree {
    /// The `//` comments with `word` in the package's own files, in file order. Skips code that cfg switches off.
    pub fn comments(&self, word: &str) -> Vec<Comment> {
        let unread = self.sources.unread_files();
        let files = self.sources.files.iter().enumerate();
        let files = files.filter(|(_, file)| file.own && self.is_wanted(&file.disk) && file.text.contains(word));
        let questions = files.map(|(position, file)| {
            let id = FileId(index(position));
            (id, file, unread.get(&id).copied())
        });
        let answers = parallel::map(questions, |(id, file, cfg)| (id, file, active(file, word, cfg)));
        let mut comments = Vec::new();
        for (id, file, found) in answers {
            match found {
                Some(found) => comments.extend(found.into_iter().map(|comment| Comment::new(comment, file))),
                None => self.sources.request_file(id),
            }
        }
        comments
    }

    /// Lines in `/* */` comments of the package's own active source that start with `word`, after blanks and `*`.
    pub fn lines_of_blocks(&self, word: &str) -> impl Iterator<Item = Origin> {
        let files = self.sources.files.iter().filter(|file| file.own && self.is_wanted(&file.disk));
        files.filter(move |file| file.text.contains("/*") && file.text.contains(word)).flat_map(move |file| {
            let mut found = Vec::new();
            for block in blocks(&file.text).filter(|block| file.is_active(block.start)) {
                let mut start = block.start + 1;
                for line in file.text[start..block.end].split_inclusive('\n') {
                    let text = line.trim_start_matches(['*', ' ', '\t']);
                    let shown = text.trim_end_matches(['/', '*', ' ', '\t', '\r', '\n']);
                    if text.starts_with(word) {
                        let at = start + line.len() - text.len();
                        found.push(file.origin(at..at + shown.len()));
                    }
                    start += line.len();
                }
            }
            found
        })
    }
}

/// The active comments with `word` in a file. `unread` evaluates `cfg` if only the outline of the file was read. `None`
/// if such a file is not valid Rust.
pub(super) fn active(file: &SourceFile, word: &str, unread: Option<&CfgSet>) -> Option<Vec<Range<usize>>> {
    let comments = lexer::comments(&file.text).filter(|comment| file.text[comment.clone()].contains(word));
    let mut found: Vec<Range<usize>> = comments.collect();
    let said: usize = found.iter().map(|comment| file.text[comment.clone()].matches(word).count()).sum();
    // Only a parser knows what cfg switches off, and whether the word occurs in a string.
    let conditional = file.text.contains("cfg") || file.text.contains("test]");
    if let Some(cfg) = unread
        && (conditional || said < file.text.matches(word).count())
        && file.switched_off.get().is_none()
    {
        let inactive = inactive(file, cfg)?;
        file.switched_off.get_or_init(|| inactive);
    }
    found.retain(|comment| file.is_active(comment.start));
    Some(found)
}

/// The ranges that cfg switches off; `None` if the file is not valid Rust.
fn inactive(file: &SourceFile, cfg: &CfgSet) -> Option<Vec<Range<usize>>> {
    let text = file.rust();
    if deeper_than(DEEPEST, text).is_some() {
        return None;
    }
    let mut parsed = syn::parse_str::<syn::File>(text).ok()?;
    let mut ranges = Vec::new();
    if cfg.apply(&mut parsed.attrs) == Cfg::Off {
        ranges.push(0..file.text.len());
    } else {
        switched_off(parsed.items, file, cfg, &mut ranges);
    }
    Some(ranges)
}

fn switched_off(items: Vec<Item>, file: &SourceFile, cfg: &CfgSet, ranges: &mut Vec<Range<usize>>) {
    for mut item in items {
        let (decided, spans) = decide(cfg, &mut item);
        ranges.extend(spans.into_iter().map(|span| file.range(span)));
        if let Item::Mod(ItemMod { content: Some((_, items)), .. }) = item
            && decided != Cfg::Off
        {
            switched_off(items, file, cfg, ranges);
        }
    }
}
