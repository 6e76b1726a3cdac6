//! The book: `docs/SUMMARY.md` lists every page once, links and anchors resolve, and pages that other files name exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::root;
use crate::sandbox;

const SUMMARY: &str = "docs/SUMMARY.md";

/// Markdown by its path from the root: the pages of the book, and the texts beside it.
pub(super) fn pages() -> BTreeMap<String, String> {
    let pages = sandbox::files(&root().join("docs")).into_iter().filter(|(path, _)| is_page(path));
    let mut pages: BTreeMap<_, _> = pages.map(|(path, text)| (format!("docs/{path}"), text)).collect();
    for path in ["README.md", "CHANGELOG.md", "manager/README.md"] {
        pages.insert(path.to_owned(), std::fs::read_to_string(root().join(path)).unwrap());
    }
    pages
}

fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "md")
}

/// The lines of a page outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_block = false;
    text.lines().filter(move |line| {
        let fence = line.starts_with("```");
        in_block ^= fence;
        !in_block && !fence
    })
}

/// The targets of the links of a page; code spans have none.
fn links(text: &str) -> Vec<String> {
    let without_code = |line: &str| line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let targets = |line: String| {
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        targets.map(str::to_owned).collect::<Vec<_>>()
    };
    prose(text).flat_map(|line| targets(without_code(line))).collect()
}

/// The anchors of the headings, as mdBook and code hosts make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let slug = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
    };
    headings.map(slug).collect()
}

/// The path of a relative link of a page, from the root.
fn resolved(page: &str, target: &str) -> String {
    let mut path: Vec<&str> = page.split('/').collect();
    path.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => _ = path.pop(),
            part => path.push(part),
        }
    }
    path.join("/")
}

/// Links that lead nowhere, and pages that are not in the book once. `exists` answers for files that are not pages.
fn problems(pages: &BTreeMap<String, String>, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut problems = Vec::new();
    let mut listed = Vec::new();
    for (page, text) in pages {
        for link in links(text).into_iter().filter(|link| !link.contains("://")) {
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = if target.is_empty() { page.clone() } else { resolved(page, target) };
            match pages.get(&path) {
                Some(text) if anchor.is_empty() || anchors(text).contains(anchor) => {}
                Some(_) => problems.push(format!("{page}: `{path}` has no heading `#{anchor}`")),
                None if !exists(&path) => problems.push(format!("{page}: dead link `{link}`")),
                None if page.starts_with("docs/") && !path.starts_with("docs/") => {
                    problems.push(format!("{page}: `{link}` leads out of the book"));
                }
                None => {}
            }
            if page == SUMMARY {
                listed.push(path);
            }
        }
    }
    for page in pages.keys().filter(|page| page.starts_with("docs/") && *page != SUMMARY) {
        match listed.iter().filter(|listed| *listed == page).count() {
            1 => {}
            times => problems.push(format!("{page} is in {SUMMARY} {times} times")),
        }
    }
    problems
}

#[test]
fn the_book_is_whole() {
    let problems = problems(&pages(), |path| root().join(path).exists());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn what_is_wrong_with_a_book_is_found() {
    let book = |pages: &[(&str, &str)]| {
        let pages = pages.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        problems(&pages, |path| ["src/main.rs", "docs/a.svg"].contains(&path))
    };
    let summary = (SUMMARY, "[A](a.md)\n[B](b/b.md)\n");
    let page = ("docs/a.md", "# A, `a`\n[b](b/b.md#to-do_it) [c](#a-a) ![](a.svg) [d](https://example.com)\n");
    let other = ("docs/b/b.md", "# B\n## To do_it!\n[a](../a.md#a-a) `[x](y)`\n```text\n# C\n[x](y)\n```\n");
    assert_eq!(book(&[summary, page, other]), [""; 0]);

    let dead = ("docs/b/b.md", "[a](a.md) [a](../a.md#c) [b](#b) [m](../../src/main.rs)\n");
    assert_eq!(
        book(&[(SUMMARY, "[A](a.md) [A](a.md)"), ("docs/a.md", ""), dead, ("README.md", "[c](docs/c.md)")]),
        [
            "README.md: dead link `docs/c.md`",
            "docs/b/b.md: dead link `a.md`",
            "docs/b/b.md: `docs/a.md` has no heading `#c`",
            "docs/b/b.md: `docs/b/b.md` has no heading `#b`",
            "docs/b/b.md: `../../src/main.rs` leads out of the book",
            "docs/a.md is in docs/SUMMARY.md 2 times",
            "docs/b/b.md is in docs/SUMMARY.md 0 times",
        ]
    );
}

/// The pages that a text names by their path from the root.
fn named(text: &str) -> BTreeSet<(String, String)> {
    let mut named = BTreeSet::new();
    for (at, _) in text.match_indices("docs/") {
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.' | '#');
        // In a longer path, or in a URL.
        if text[..at].ends_with(|c: char| word(c)) {
            continue;
        }
        let path: String = text[at..].chars().take_while(|c| word(*c)).collect();
        let (page, anchor) = path.split_once('#').unwrap_or((&path, ""));
        if let Some(end) = page.find(".md") {
            named.insert((page[..end + 3].to_owned(), anchor.to_owned()));
        }
    }
    named
}

#[test]
fn pages_that_other_files_name_exist() {
    assert_eq!(
        named("see docs/a.md, \"docs/b/c.md#d\" https://example.com/docs/e.md docs/f/").into_iter().collect::<Vec<_>>(),
        [("docs/a.md", ""), ("docs/b/c.md", "d")].map(|(page, anchor)| (page.to_owned(), anchor.to_owned()))
    );
    let pages = pages();
    let mut names = 0;
    for folder in ["src", "manager/src", "templates", "tests/it", "tests/recipes"] {
        for (file, text) in sandbox::files(&root().join(folder)) {
            if file.ends_with("docs/book.rs") {
                continue;
            }
            for (page, anchor) in named(&text) {
                let found =
                    pages.get(&page).unwrap_or_else(|| panic!("{folder}/{file} names {page}, which does not exist"));
                assert!(anchor.is_empty() || anchors(found).contains(&anchor), "{folder}/{file}: {page}#{anchor}");
                names += 1;
            }
        }
    }
    assert!(names > 10, "{names}");
}
