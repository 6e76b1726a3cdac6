//! The texts of all messages. `messages.txt` lists them file by file, so that a review reads each change as a user does.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;

use crate::golden::rooms::sources;

/// Idioms that readers of a second language stumble over, with the usual words.
const IDIOMS: [(&str, &str); 8] = [
    (" is no ", "is not a"),
    ("there is none", "not found"),
    (" by hand ", "manually"),
    (" anew", "again"),
    ("meanwhile", "in the meantime"),
    ("has to be ", "must be"),
    ("have to be ", "must be"),
    ("can't", "cannot"),
];

#[test]
fn the_messages_are_the_listed_ones() {
    let listed = messages().iter().fold(String::new(), |mut list, (path, texts)| {
        let _ = writeln!(list, "{path}");
        for text in texts {
            let _ = writeln!(list, "  {}", text.replace('\n', "\\n"));
        }
        list
    });
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden/messages.txt");
    snapbox::assert_data_eq!(listed, snapbox::Data::read_from(&list, None).raw());
}

#[test]
fn messages_use_the_usual_words() {
    let messages = messages();
    let idioms = |text: &str| {
        let text = format!(" {text} ").replace(" is no longer ", " ");
        IDIOMS.iter().find(|(idiom, _)| text.contains(idiom)).copied()
    };
    assert_eq!(idioms("`a` is no role"), Some((" is no ", "is not a")));
    let found: Vec<String> = messages
        .iter()
        .flat_map(|(path, texts)| texts.iter().map(move |text| (path, text)))
        .filter_map(|(path, text)| idioms(text).map(|(_, usual)| format!("{path}: {text:?}: write {usual:?}")))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// The string literals of at least three words by file, without documentation, unit tests and templates of charts.
fn messages() -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for (path, file) in sources("src") {
        let mut texts = Vec::new();
        collect(file.into_token_stream(), &mut texts);
        texts.retain(|text| text.split_whitespace().count() >= 3 && !text.contains("{{"));
        if !texts.is_empty() {
            found.insert(path, texts);
        }
    }
    found
}

fn collect(tokens: TokenStream, texts: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => collect(group.stream(), texts),
            TokenTree::Literal(literal) => {
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    texts.push(text.value());
                }
            }
            // The text of a doc comment.
            TokenTree::Ident(ident) if ident == "doc" => {
                tokens.next_if(|token| matches!(token, TokenTree::Punct(_)));
                tokens.next_if(|token| matches!(token, TokenTree::Literal(_)));
            }
            _ => {}
        }
    }
}
