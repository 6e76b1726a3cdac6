//! References inside of text: DNS names, accounts, and assigned values.

use super::words::{NamedWord, Rename, WordTarget, target};

/// The kind of object in DNS names.
const SERVICE: &[&str] = &["Service"];

/// Renames DNS names: `NAME.NAMESPACE.svc` anywhere, and the host of a URL or of an address with a port. With `is_host`, the
/// whole text is a host.
pub(super) fn hosts(text: &str, is_host: bool, home: Option<&str>, rename: &mut Rename<'_>) -> String {
    let mut renamed = String::new();
    for (run, before, after) in runs(text, |c| c.is_ascii_alphanumeric() || ".-_".contains(c)) {
        renamed += before;
        let labels: Vec<&str> = run.split('.').collect();
        let is_address = text[..offset(text, run)].ends_with("://") || is_host && run == text;
        let has_port = after.strip_prefix(':').is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()));
        match (labels.iter().position(|label| *label == "svc"), &*labels) {
            (Some(at), _) if at >= 2 => {
                let (name, namespace) = (labels[at - 2], labels[at - 1]);
                let named = NamedWord::Object { kinds: SERVICE, namespace: Some(namespace) };
                let name = rename(named, name).unwrap_or_else(|| name.to_owned());
                let other = rename(NamedWord::Namespace { of_host: true }, namespace);
                let other = other.unwrap_or_else(|| namespace.to_owned());
                let mut parts: Vec<&str> = labels.clone();
                (parts[at - 2], parts[at - 1]) = (&name, &other);
                renamed += &parts.join(".");
            }
            (_, [name, namespace]) if is_address || has_port => {
                let named = NamedWord::Object { kinds: SERVICE, namespace: Some(namespace) };
                match (rename(named, name), rename(NamedWord::Namespace { of_host: true }, namespace)) {
                    (Some(name), Some(namespace)) => renamed += &[name, namespace].join("."),
                    _ => renamed += run,
                }
            }
            (_, [name]) if is_address => {
                let named = NamedWord::Object { kinds: SERVICE, namespace: home };
                renamed += &rename(named, name).unwrap_or_else(|| (*name).to_owned());
            }
            _ => renamed += run,
        }
    }
    renamed
}

/// Renames accounts in the form of their users and groups in the API server.
pub(super) fn accounts(text: &str, rename: &mut Rename<'_>) -> String {
    const USER: &str = "system:serviceaccount";
    let mut renamed = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(USER) {
        let (before, after) = rest.split_at(at + USER.len());
        renamed += before;
        let is_group = after.starts_with("s:");
        let colon = if is_group { "s:" } else { ":" };
        let Some(after) = after.strip_prefix(colon) else {
            rest = after;
            continue;
        };
        renamed += colon;
        let namespace = word(after);
        renamed += &rename(NamedWord::Namespace { of_host: false }, namespace).unwrap_or_else(|| namespace.to_owned());
        rest = &after[namespace.len()..];
        if let (false, Some(after)) = (is_group, rest.strip_prefix(':')) {
            let name = word(after);
            let named = NamedWord::Object { kinds: &["ServiceAccount"], namespace: Some(namespace) };
            renamed += ":";
            renamed += &rename(named, name).unwrap_or_else(|| name.to_owned());
            rest = &after[name.len()..];
        }
    }
    renamed + rest
}

/// Returns the name at the beginning of a text.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(text.len());
    &text[..end]
}

/// Renames assigned values, if the assigned name determines their meaning: `namespace: a`, `{service="b"}`, `POD_NAMESPACE=a`.
pub(super) fn assignments(text: &str, home: Option<&str>, rename: &mut Rename<'_>) -> String {
    let mut renamed = String::new();
    let mut done = 0;
    for (name, _, after) in runs(text, |c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
        let at = offset(text, name) + name.len();
        let Some((skipped, value)) = assigned(after) else { continue };
        let start = at + skipped;
        if let (true, Some(target)) = (start >= done, target(name)) {
            renamed += &text[done..start];
            renamed += &named(value, target, home, rename);
            done = start + value.len();
        }
    }
    renamed + &text[done..]
}

/// Returns the value of an assignment at the beginning of a text, and the length of the text before the value.
fn assigned(text: &str) -> Option<(usize, &str)> {
    let quoted = text.strip_prefix(['"', '\'']).unwrap_or(text);
    let operator = quoted.trim_start_matches(' ');
    let value = ["==", "!=", "=~", "!~", "="].iter().find_map(|sign| operator.strip_prefix(sign)).or_else(|| {
        let value = operator.strip_prefix(':')?;
        (value.starts_with(' ') || quoted.len() < text.len()).then_some(value)
    })?;
    let value = value.trim_start_matches(' ');
    let value = match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next()?,
        _ => value.split(|c: char| c.is_whitespace() || ",;)]}\"'".contains(c)).next()?,
    };
    Some((offset(text, value), value))
}

/// Renames the names in a value: one name, a comma-separated list, `NAMESPACE/NAME` or `WHAT:NAME`.
pub(super) fn named(text: &str, target: WordTarget, home: Option<&str>, rename: &mut Rename<'_>) -> String {
    let mut each = |one: &str| {
        let mut renamed = |named: NamedWord<'_>, word: &str| rename(named, word).unwrap_or_else(|| word.to_owned());
        let WordTarget::Object(kinds) = target else { return renamed(NamedWord::Namespace { of_host: false }, one) };
        let (namespace, name) = one.split_once('/').map_or((None, one), |(namespace, name)| (Some(namespace), name));
        let named = NamedWord::Object { kinds, namespace: namespace.or(home) };
        let name = name.split(':').map(|name| renamed(named, name)).collect::<Vec<_>>().join(":");
        let namespace = namespace.map(|namespace| renamed(NamedWord::Namespace { of_host: false }, namespace) + "/");
        namespace.unwrap_or_default() + &name
    };
    text.split(',').map(&mut each).collect::<Vec<_>>().join(",")
}

/// Splits a text into runs of matching characters. Each run has the text between it and the previous run, and the text
/// after it. The last run is empty.
fn runs(text: &str, is_part: impl Fn(char) -> bool) -> Vec<(&str, &str, &str)> {
    let mut runs = Vec::new();
    let mut rest = text;
    loop {
        let start = rest.find(&is_part).unwrap_or(rest.len());
        let (before, from) = rest.split_at(start);
        let end = from.find(|c| !is_part(c)).unwrap_or(from.len());
        let (run, after) = from.split_at(end);
        runs.push((run, before, after));
        if after.is_empty() {
            return runs;
        }
        rest = after;
    }
}

/// Returns the offset of a part in its text.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}
