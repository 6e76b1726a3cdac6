//! Edits of the files that an image is built by, line by line; `None` where the line is not as it was scaffolded.

/// Lets the crate `manager` into the context of a build that gets only what is named.
pub fn admit_manager(text: &str) -> Option<String> {
    if !text.lines().any(|line| matches!(line.trim(), "*" | "**")) {
        return Some(text.to_owned());
    }
    inserted(text, "!manager/**", |line| line == "!src/**", false)
}

/// Copies the crate `manager` along with the manifest.
pub fn copy_manager(text: &str) -> Option<String> {
    if text.lines().any(|line| matches!(line.trim(), "COPY . ." | "COPY . ./")) {
        return Some(text.to_owned());
    }
    inserted(text, "COPY manager manager", |line| line == "COPY Cargo.toml Cargo.lock ./", true)
}

/// The line before or behind the only one that `is_place`.
fn inserted(text: &str, new: &str, is_place: impl Fn(&str) -> bool, behind: bool) -> Option<String> {
    if text.lines().any(|line| line.trim() == new) {
        return Some(text.to_owned());
    }
    if text.lines().filter(|line| is_place(line.trim_end())).count() != 1 {
        return None;
    }
    let lines = text.split_inclusive('\n').flat_map(|line| {
        let new = format!("{new}\n");
        match (is_place(line.trim_end()), behind) {
            (false, _) => vec![line.to_owned()],
            (true, false) => vec![new, line.to_owned()],
            (true, true) => vec![format!("{}\n", line.trim_end()), new],
        }
    });
    Some(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_gets_into_the_image() {
        for (edit, text, expected) in [
            (admit_manager as fn(&str) -> Option<String>, "**\n!src/**\n", Some("**\n!manager/**\n!src/**\n")),
            (admit_manager, "!manager/**\n", Some("!manager/**\n")),
            (admit_manager, "target\n", Some("target\n")),
            (admit_manager, "*\n!src\n", None),
            (
                copy_manager,
                "COPY Cargo.toml Cargo.lock ./\nRUN a\n",
                Some("COPY Cargo.toml Cargo.lock ./\nCOPY manager manager\nRUN a\n"),
            ),
            (copy_manager, "COPY . .\n", Some("COPY . .\n")),
            (copy_manager, "COPY src src\n", None),
        ] {
            assert_eq!(edit(text).as_deref(), expected, "{text}");
            assert_eq!(expected.and_then(edit).as_deref(), expected, "twice is the same as once");
        }
    }
}
