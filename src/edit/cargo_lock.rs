//! The entry of a project's own package in Cargo.lock.

/// Renames the package without a source. The entries stay sorted.
#[must_use]
pub(crate) fn rename(text: &str, old: &str, new: &str) -> String {
    let Some((head, entries)) = text.split_once("[[package]]\n") else { return text.to_owned() };
    let name = |entry: &str| {
        let name = entry.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        name.unwrap_or_default().to_owned()
    };
    let mut entries: Vec<String> =
        entries.split("[[package]]\n").map(|entry| format!("{}\n", entry.trim_end())).collect();
    for entry in &mut entries {
        if name(entry) == old && !entry.contains("\nsource = ") {
            *entry = entry.replacen(&format!("name = \"{old}\"\n"), &format!("name = \"{new}\"\n"), 1);
        }
    }
    entries.sort_by_key(|entry| name(entry));
    let blocks: Vec<String> = entries.iter().map(|entry| format!("[[package]]\n{entry}")).collect();
    format!("{head}{}", blocks.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::rename;

    #[test]
    fn the_entry_moves_to_its_place() {
        let text = "version = 4\n\n[[package]]\nname = \"b\"\nversion = \"1.0.0\"\nsource = \"x\"\n\n[[package]]\nname = \"c\"\n\
                    version = \"0.1.0\"\ndependencies = [\n \"b\",\n]\n\n[[package]]\nname = \"d\"\nversion = \"1.0.0\"\n";
        let expected = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"0.1.0\"\ndependencies = [\n \"b\",\n]\n\n\
                        [[package]]\nname = \"b\"\nversion = \"1.0.0\"\nsource = \"x\"\n\n[[package]]\nname = \"d\"\nversion = \
                        \"1.0.0\"\n";
        assert_eq!(rename(text, "c", "a"), expected);
        assert_eq!(rename(expected, "a", "c"), text);
        assert_eq!(rename(text, "b", "a"), text);
    }
}
