//! Comments name their subject first.

use std::path::Path;

use walkdir::WalkDir;

/// First words that hide the subject of a comment.
const HIDING: [&str; 11] = ["What", "Whether", "The same", "It", "They", "Those", "That", "As", "Where", "Who", "How"];

/// Inputs and rendered outputs of tests: their text is data.
const DATA: [&str; 2] = ["tests/fixtures", "tests/samples"];

/// A comment block: consecutive comment lines of a file.
struct Block {
    /// The line of its first text, from 1.
    line: usize,
    first: String,
}

#[test]
fn every_comment_names_its_subject() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut hidden = Vec::new();
    let mut blocks = 0;
    for room in ["src", "explorer", "manager", "templates", "tests"] {
        for file in WalkDir::new(root.join(room)).sort_by_file_name().into_iter().map(Result::unwrap) {
            let path = file.path().strip_prefix(root).unwrap();
            let name = file.file_name().to_string_lossy();
            let is_data =
                DATA.iter().any(|data| path.starts_with(data)) || path.iter().any(|folder| folder == "target");
            if is_data || !(name.ends_with(".rs") || name.ends_with(".rs.tera")) {
                continue;
            }
            let text = std::fs::read_to_string(file.path()).unwrap();
            for block in comments(&text) {
                blocks += 1;
                if hides_its_subject(&block.first) {
                    hidden.push(format!("{}:{}: {}", path.display(), block.line, block.first));
                }
            }
        }
    }
    assert!(blocks > 5_000, "only {blocks} comments found");
    assert!(hidden.is_empty(), "{} of {blocks} comments hide their subject:\n{}", hidden.len(), hidden.join("\n"));
}

#[test]
fn a_comment_that_hides_its_subject_is_found() {
    let found = |text: &str| comments(text).iter().filter(|block| hides_its_subject(&block.first)).count();
    assert_eq!(found("/// Whether a name is taken.\nfn a() {}\n"), 1);
    assert_eq!(found("/// Returns true if a name\n/// That is the second line.\nfn a() {}\n"), 0);
    assert_eq!(found("//!\n//! What it is.\n\n// As before.\n"), 2);
    assert_eq!(found("/// Italic, Assets, Those_names: words that only begin alike.\n"), 0);
}

fn hides_its_subject(text: &str) -> bool {
    HIDING.iter().any(|word| {
        text.strip_prefix(word)
            .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
    })
}

/// Returns the comment blocks of a file, without code examples, headings and tables.
fn comments(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    // The block that the previous line belongs to has its first text.
    let (mut inside, mut has_text) = (false, false);
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//").filter(|rest| !rest.starts_with("//")) else {
            (inside, has_text) = (false, false);
            continue;
        };
        if !inside {
            (inside, has_text) = (true, false);
        }
        let words = comment.strip_prefix(['/', '!']).unwrap_or(comment).trim();
        if !has_text && !words.is_empty() && !words.starts_with("```") && !words.starts_with(['#', '|']) {
            has_text = true;
            blocks.push(Block { line: index + 1, first: words.to_owned() });
        }
    }
    blocks
}
