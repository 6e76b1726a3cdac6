//! Conflict markers of an unfinished git merge.

use super::Problem;

/// The offset of the first conflict.
pub(crate) fn start(text: &str) -> Option<usize> {
    let (mut at, mut ours) = (0, None);
    for line in text.split_inclusive('\n') {
        let begins = |mark: &str| line.strip_prefix(mark).is_some_and(|rest| is_label(rest.trim_end()));
        if begins("<<<<<<<") {
            ours.get_or_insert(at);
        } else if begins(">>>>>>>") && ours.is_some() {
            return ours;
        }
        at += line.len();
    }
    None
}

/// A mark is followed by a label or nothing.
fn is_label(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}

/// The problem of an unfinished merge; `path` is displayed.
pub(crate) fn problem(path: &str, text: &str) -> Option<Problem> {
    let line = text[..start(text)?].lines().count() + 1;
    let help = if path == "Cargo.lock" || path.ends_with("/Cargo.lock") {
        "keep one side and let cargo update it: `git checkout --ours Cargo.lock && cargo fetch`".to_owned()
    } else {
        format!("resolve the conflict in `{path}`, and run the command again")
    };
    Some(Problem::new(format!("`{path}` has an unresolved merge conflict at line {line}")).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_has_two_sides() {
        for (text, expected) in [
            ("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> main\n", Some(2)),
            ("<<<<<<<\r\n=======\r\n>>>>>>>\r\n", Some(0)),
            ("<<<<<<< HEAD\n", None),
            (">>>>>>> a\n<<<<<<< b\n", None),
            ("// <<<<<<< HEAD\n// >>>>>>> main\n", None),
            ("<<<<<<<<<<<< a\n>>>>>>>>>>>> b\n", None),
            ("", None),
        ] {
            assert_eq!(start(text), expected, "{text:?}");
        }
    }
}
