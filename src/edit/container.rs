//! Edits, line by line, of what an image is built by and a container runs with; `None` where a line is not as it was
//! scaffolded.

/// Lets the crate `manager` into the context of a build that gets only what is named.
pub(crate) fn admit_manager(text: &str) -> Option<String> {
    if !text.lines().any(|line| matches!(line.trim(), "*" | "**")) {
        return Some(text.to_owned());
    }
    inserted(text, "!manager/**", |line| line == "!src/**", false)
}

/// Copies the crate `manager` along with the manifest.
pub(crate) fn copy_manager(text: &str) -> Option<String> {
    if text.lines().any(|line| matches!(line.trim(), "COPY . ." | "COPY . ./")) {
        return Some(text.to_owned());
    }
    inserted(text, "COPY manager manager", |line| line == "COPY Cargo.toml Cargo.lock ./", true)
}

/// Sets the variable `name` where an entry has it with a plain `value`.
pub(crate) fn set_env(text: &str, name: &str, value: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for at in 1..lines.len() {
        let old = lines[at].trim();
        if lines[at - 1].trim() == format!("- name: {name}") && old.starts_with("value: ") {
            lines[at] = lines[at].replacen(old, &format!("value: {value}"), 1);
        }
    }
    lines.concat()
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
    fn a_variable_is_set_where_it_is_plain() {
        let text = |image: &str| {
            format!(
                "env:\r\n- name: OTHER\n  value: b\n- name: IMAGE\r\n  value: {image}\r\n- name: IMAGE\n  valueFrom: {{}}\n"
            )
        };
        assert_eq!(set_env(&text("a"), "IMAGE", "b:2"), text("b:2"));
    }

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
