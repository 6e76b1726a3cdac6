//! Edits of a kustomization: uncomments lines of the scaffold, and adds and removes list entries.

use super::EditError;

/// Uncomments `block`, one or several lines such as `- ../crd`. Matches the comment by its text, at any position and
/// indentation. Unchanged if the lines exist.
pub fn uncomment(text: &str, block: &str) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        let wanted: Vec<&str> = block.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        if wanted.is_empty() || lines.windows(wanted.len()).any(|window| matches(window, "", &wanted)) {
            return Ok(text.to_owned());
        }
        let Some(start) = lines.windows(wanted.len()).position(|window| matches(window, "#", &wanted)) else {
            return Err(EditError::new(format!("commented lines not found: `{}`", wanted.join(" ")))
                .help(format!("add these lines:\n{}", block.trim_end())));
        };
        let end = start + wanted.len();
        let margin = margin(&lines, start..end);
        let mut result = lines[..start].concat();
        for line in &lines[start..end] {
            let (indent, comment) = line.split_at(line.len() - line.trim_start().len());
            let body = comment.strip_prefix('#').unwrap_or(comment);
            result.push_str(indent);
            let own = body.len() - body.trim_start_matches(' ').len();
            result.push_str(&body[margin.min(own)..]);
        }
        result.push_str(&lines[end..].concat());
        Ok(result)
    })
}

fn matches(window: &[&str], leader: &str, wanted: &[&str]) -> bool {
    window.iter().zip(wanted).all(|(line, wanted)| line.trim().strip_prefix(leader).map(str::trim) == Some(wanted))
}

/// The number of spaces after `#` that belong to the comment: those that would indent the first line more than the
/// entries around it.
fn margin(lines: &[&str], block: std::ops::Range<usize>) -> usize {
    let first = lines[block.start];
    let comment = first.trim_start();
    let outer = first.len() - comment.len();
    let spaces = |text: &str| text.len() - text.trim_start_matches(' ').len();
    let inner = spaces(comment.strip_prefix('#').unwrap_or(comment));
    let is_entry = |line: &&&str| line.trim_start().starts_with("- ");
    let above = lines[..block.start].iter().rev().take_while(|line| !is_top_key(line)).find(is_entry);
    let sibling = above.or_else(|| lines[block.end..].iter().take_while(|line| !is_top_key(line)).find(is_entry));
    match sibling {
        Some(sibling) => (outer + inner).saturating_sub(spaces(sibling)).min(inner),
        None => inner,
    }
}

fn is_top_key(line: &str) -> bool {
    !line.starts_with([' ', '-', '#']) && !line.trim().is_empty()
}

/// Appends `entry` to the list at the top-level key `key`, with the indentation of the other entries. Creates a missing
/// list at the end. Unchanged if the entry exists.
pub(crate) fn add_entry(text: &str, key: &str, entry: &str) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        if let Some(last) = lines.last_mut()
            && !last.ends_with('\n')
        {
            last.push('\n');
        }
        let head = lines.iter().position(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')));
        let Some(head) = head else {
            lines.push(format!("{key}:\n- {entry}\n"));
            return Ok(lines.concat());
        };
        match lines[head][key.len() + 1..].split('#').next().unwrap_or_default().trim() {
            "" => {}
            "[]" => lines[head] = format!("{key}:\n"),
            _ => {
                return Err(EditError::new(format!("`{key}` must be a list with one entry per line"))
                    .help(format!("add this entry:\n- {entry}")));
            }
        }
        let end = lines[head + 1..].iter().position(|line| is_top_key(line)).map_or(lines.len(), |n| head + 1 + n);
        let item = format!("- {entry}");
        if let Ok(section) = uncomment(&lines[head + 1..end].concat(), &item) {
            return Ok(lines[..=head].concat() + &section + &lines[end..].concat());
        }
        let first = lines[head + 1..end].iter().find(|line| line.trim_start().starts_with("- "));
        let indent = first.map_or(0, |line| line.len() - line.trim_start().len());
        let is_content = |line: &String| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let at = lines[head + 1..end].iter().rposition(is_content).map_or(head + 1, |n| head + 2 + n);
        lines.insert(at, format!("{}{item}\n", " ".repeat(indent)));
        Ok(lines.concat())
    })
}

/// A path in a list without its trailing comment, quotes and `./`.
fn plain(item: &str) -> &str {
    let item = item.split(" #").next().unwrap_or_default().trim_end();
    let quoted = ['"', '\''].iter().find_map(|quote| item.strip_prefix(*quote)?.strip_suffix(*quote));
    let item = quoted.unwrap_or(item);
    item.strip_prefix("./").unwrap_or(item)
}

/// Removes `entry` from every list, also as the `path` of a patch without other fields.
pub(crate) fn remove_entry(text: &str, entry: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_whole = |at: usize| {
        let next = lines[at + 1..].iter().find(|line| !line.trim().is_empty());
        next.is_none_or(|next| indent(next) <= indent(lines[at]))
    };
    let is_removed = |at: usize| {
        let item = lines[at].trim().strip_prefix('-').map(str::trim_start);
        let item = item.map(|item| item.strip_prefix("path:").map_or(item, str::trim_start));
        item.is_some_and(|item| plain(item) == entry) && is_whole(at)
    };
    (0..lines.len()).filter(|at| !is_removed(*at)).map(|at| lines[at]).collect()
}

/// Writes an empty list of resources if nothing else is left, because kustomize rejects keys without values.
pub(crate) fn close_empty(text: &str) -> String {
    let is_head = |line: &str| line.trim_end() == "resources:";
    let says_something = text.lines().any(|line| {
        let line = line.split(" #").next().unwrap_or_default().trim_end();
        let is_key = line.ends_with(':') || line.starts_with("apiVersion:") || line.starts_with("kind:");
        !line.is_empty() && line != "---" && !line.trim_start().starts_with('#') && !is_key
    });
    if says_something || !text.lines().any(is_head) {
        return text.to_owned();
    }
    let close =
        |line: &str| if is_head(line) { line.replacen("resources:", "resources: []", 1) } else { line.to_owned() };
    text.split_inclusive('\n').map(close).collect()
}

/// Adds `entry`, which may have several lines, to the list at the top-level key `key`: below the line `below`, or else
/// like [`add_entry`]. Unchanged if it exists.
///
/// # Errors
///
/// Fails if the list does not have an entry per line.
pub(crate) fn add_below(text: &str, key: &str, below: &str, entry: &str) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        let item = format!("- {entry}");
        let wanted: Vec<&str> = item.lines().map(str::trim).collect();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        if lines.windows(wanted.len()).any(|window| matches(window, "", &wanted)) {
            return Ok(text.to_owned());
        }
        let Some(at) = lines.iter().position(|line| line.trim() == below) else { return add_entry(text, key, entry) };
        let indent = &lines[at][..lines[at].len() - lines[at].trim_start().len()];
        let item: String = item.lines().flat_map(|line| [indent, line, "\n"]).collect();
        let end = if lines[at].ends_with('\n') { "" } else { "\n" };
        Ok(format!("{}{end}{item}{}", lines[..=at].concat(), lines[at + 1..].concat()))
    })
}

/// Appends a block of entries, which starts with a comment, to the list at the top-level key `key`. Creates a missing
/// list at the end. Unchanged if the block exists, perhaps with more entries.
///
/// # Errors
///
/// Fails if the key has another value.
pub(crate) fn add_block(text: &str, key: &str, block: &str) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        if block.lines().next().is_some_and(|first| text.lines().any(|line| line == first)) {
            return Ok(text.to_owned());
        }
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let head = lines.iter().position(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')));
        let Some(head) = head else { return Ok(format!("{text}{end}\n{key}:\n{block}")) };
        let section = &lines[head + 1..];
        let section = &section[..section.iter().position(|line| is_top_key(line)).unwrap_or(section.len())];
        let is_entry = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
        if !section.iter().find(|line| is_entry(line)).is_some_and(|line| line.starts_with("- ")) {
            return Err(
                EditError::new(format!("`{key}` already exists")).help(format!("add these lines to it:\n{block}"))
            );
        }
        let at = head + 1 + section.iter().rposition(is_entry).map_or(0, |last| last + 1);
        let end = if at == lines.len() { end } else { "" };
        Ok(format!("{}{end}{block}{}", lines[..at].concat(), lines[at..].concat()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_goes_however_it_is_written() {
        for (text, left) in [
            ("resources:\n- a.yaml\n- b.yaml\n", "resources:\n- b.yaml\n"),
            ("resources:\n  - \"a.yaml\"\n  - b.yaml # a.yaml\n", "resources:\n  - b.yaml # a.yaml\n"),
            ("resources:\n- ./a.yaml # why\n- 'a.yaml'\n", "resources:\n"),
            ("resources:\r\n- a.yaml\r\n- b.yaml\r\n", "resources:\r\n- b.yaml\r\n"),
            ("patches:\n- path: a.yaml\n- path: b.yaml\n", "patches:\n- path: b.yaml\n"),
            // More fields belong to the author.
            (
                "patches:\n- path: a.yaml\n  target:\n    kind: A\n",
                "patches:\n- path: a.yaml\n  target:\n    kind: A\n",
            ),
            ("resources:\n- aa.yaml\n- x/a.yaml\n# - a.yaml\n", "resources:\n- aa.yaml\n- x/a.yaml\n# - a.yaml\n"),
        ] {
            assert_eq!(remove_entry(text, "a.yaml"), left, "{text}");
        }
    }

    #[test]
    fn a_kustomization_without_entries_has_an_empty_list() {
        for (text, closed) in [
            ("resources:\n", "resources: []\n"),
            ("kind: K\r\nresources:\r\n# - a\r\npatches:\r\n", "kind: K\r\nresources: []\r\n# - a\r\npatches:\r\n"),
            ("resources:\n- a.yaml\n", "resources:\n- a.yaml\n"),
            ("resources:\npatches:\n- path: a.yaml\n", "resources:\npatches:\n- path: a.yaml\n"),
            ("namePrefix: a-\nresources:\n", "namePrefix: a-\nresources:\n"),
            ("resources: []\n", "resources: []\n"),
        ] {
            assert_eq!(close_empty(text), closed, "{text}");
        }
    }

    #[test]
    fn comments_become_entries_of_the_list_around_them() {
        for (text, block, expected) in [
            ("resources:\n#- ../crd\n- ../rbac\n", "- ../crd", "resources:\n- ../crd\n- ../rbac\n"),
            ("resources:\n# - ../crd\n- ../rbac\n", "- ../crd", "resources:\n- ../crd\n- ../rbac\n"),
            ("resources:\n  - ../rbac\n  # - ../crd\n", "- ../crd", "resources:\n  - ../rbac\n  - ../crd\n"),
            ("resources:\n  - ../rbac\n#  - ../crd", "- ../crd", "resources:\n  - ../rbac\n  - ../crd"),
            ("resources:\r\n#- ../crd\r\n", "- ../crd", "resources:\r\n- ../crd\r\n"),
            ("resources:\n#  - ../crd\n", "- ../crd", "resources:\n- ../crd\n"),
            // exists
            ("resources:\n- ../crd\n#- ../crd\n", "- ../crd", "resources:\n- ../crd\n#- ../crd\n"),
            // several lines
            (
                "patches:\n#- path: p.yaml\n#  target:\n#    kind: Deployment\n# [X] other\n",
                "- path: p.yaml\n  target:\n    kind: Deployment\n",
                "patches:\n- path: p.yaml\n  target:\n    kind: Deployment\n# [X] other\n",
            ),
        ] {
            let once = uncomment(text, block).unwrap();
            assert_eq!(once, expected);
            assert_eq!(uncomment(&once, block).unwrap(), once);
        }
        let problem = uncomment("resources:\n- ../rbac\n", "- ../crd").unwrap_err();
        assert_eq!(problem.message, "commented lines not found: `- ../crd`");
        assert_eq!(problem.help.as_deref(), Some("add these lines:\n- ../crd"));
    }

    #[test]
    fn entries_are_added_behind_the_last_one() {
        for (text, expected) in [
            ("resources:\n- a.yaml\n", "resources:\n- a.yaml\n- n.yaml\n"),
            ("resources:\n  - a.yaml\n\npatches:\n- x\n", "resources:\n  - a.yaml\n  - n.yaml\n\npatches:\n- x\n"),
            (
                "resources:\n- a.yaml\n# why\n\n# more\npatches: []\n",
                "resources:\n- a.yaml\n- n.yaml\n# why\n\n# more\npatches: []\n",
            ),
            ("resources:\n", "resources:\n- n.yaml\n"),
            ("resources: []\n", "resources:\n- n.yaml\n"),
            ("resources:\n- a.yaml", "resources:\n- a.yaml\n- n.yaml\n"),
            ("resources:\r\n- a.yaml\r\n", "resources:\r\n- a.yaml\r\n- n.yaml\r\n"),
            ("kind: K\n", "kind: K\nresources:\n- n.yaml\n"),
            ("", "resources:\n- n.yaml\n"),
            ("resources:\n#- n.yaml\n", "resources:\n- n.yaml\n"),
            ("resources:\n- n.yaml\n", "resources:\n- n.yaml\n"),
            // an entry of another list is not one of this list
            ("resources:\n- a\npatches:\n#- n.yaml\n", "resources:\n- a\n- n.yaml\npatches:\n#- n.yaml\n"),
        ] {
            let once = add_entry(text, "resources", "n.yaml").unwrap();
            assert_eq!(once, expected);
            assert_eq!(add_entry(&once, "resources", "n.yaml").unwrap(), once);
        }
        let problem = add_entry("resources: [a.yaml]\n", "resources", "n.yaml").unwrap_err();
        assert_eq!(problem.help.as_deref(), Some("add this entry:\n- n.yaml"));
    }

    #[test]
    fn entries_go_below_their_comment() {
        for (text, expected) in [
            ("resources:\n- a\n# [X] below\n- b\n", "resources:\n- a\n# [X] below\n- n\n  m: 1\n- b\n"),
            ("resources:\n  # [X] below", "resources:\n  # [X] below\n  - n\n    m: 1\n"),
            ("resources:\n- a\n", "resources:\n- a\n- n\n  m: 1\n"),
            ("resources:\r\n# [X] below\r\n", "resources:\r\n# [X] below\r\n- n\r\n  m: 1\r\n"),
        ] {
            let once = add_below(text, "resources", "# [X] below", "n\n  m: 1").unwrap();
            assert_eq!(once, expected);
            assert_eq!(add_below(&once, "resources", "# [X] below", "n\n  m: 1").unwrap(), once);
        }
        assert_eq!(add_block("a: 1", "b", "- c\n").unwrap(), "a: 1\n\nb:\n- c\n");
        assert_eq!(add_block("b:\n- c\n", "b", "- c\n").unwrap(), "b:\n- c\n");
        let (text, block) = ("b:\n- d\n  # more\n# end\na: 1\n", "# Mine.\n- c\n");
        assert_eq!(add_block(text, "b", block).unwrap(), "b:\n- d\n  # more\n# Mine.\n- c\n# end\na: 1\n");
        assert!(add_block("b:\n  d: 1\n", "b", "- c\n").is_err());
    }
}
