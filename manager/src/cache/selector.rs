//! Decides from labels if a watch selects an object.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{Expression, Selector, SelectorExt};
use kube::runtime::watcher;

/// The selector of a watch, as far as labels can evaluate it.
pub(crate) struct Selects {
    /// `None` if only the server can evaluate the selector.
    selector: Option<Selector>,
    text: String,
}

impl Selects {
    /// Reads the selectors of a watch. Field selectors and unknown operators are left to the server.
    pub(crate) fn of(config: &watcher::Config) -> Self {
        let labels = config.label_selector.as_deref().unwrap_or_default();
        let by_fields = config.field_selector.is_some();
        Self {
            selector: parse(labels).filter(|_| !by_fields),
            text: labels.to_owned(),
        }
    }

    /// Returns true if the watch is sure to deliver an object with these labels.
    pub(crate) fn surely(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector
            .as_ref()
            .is_some_and(|selector| selector.matches(labels))
    }

    /// Returns why the watch is sure not to deliver an object with these labels.
    pub(crate) fn never(&self, labels: &BTreeMap<String, String>) -> Option<String> {
        let selector = self.selector.as_ref()?;
        let text = &self.text;
        (!selector.matches(labels))
            .then(|| format!("its labels are not those that are watched: `{text}`"))
    }
}

/// Parses a selector like the API server: requirements that are separated by commas and must all hold.
fn parse(text: &str) -> Option<Selector> {
    let mut requirements = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        // A set contains commas, too.
        let closed = rest.find('(').filter(|open| !rest[..*open].contains(','));
        let after = closed.map_or(Some(0), |_| rest.find(')'))?;
        let end = rest[after..].find(',').map(|comma| after + comma);
        requirements.push(requirement(rest[..end.unwrap_or(rest.len())].trim())?);
        rest = end.map_or("", |end| rest[end + 1..].trim());
    }
    Some(requirements.into_iter().collect())
}

fn requirement(text: &str) -> Option<Expression> {
    let words = |key: &str, value: &str| Some((label(key)?, value.trim().to_owned()));
    if let Some((start, values)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let (key, operator) = start.trim().rsplit_once(char::is_whitespace)?;
        let values: BTreeSet<_> = values.split(',').map(|v| v.trim().to_owned()).collect();
        return match operator {
            "in" => Some(Expression::In(label(key)?, values)),
            "notin" => Some(Expression::NotIn(label(key)?, values)),
            _ => None,
        };
    }
    if let Some((key, value)) = text.split_once("!=") {
        let (key, value) = words(key, value)?;
        return Some(Expression::NotEqual(key, value));
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        let (key, value) = words(key, value)?;
        return Some(Expression::Equal(key, value));
    }
    match text.strip_prefix('!') {
        Some(key) => Some(Expression::DoesNotExist(label(key)?)),
        None => Some(Expression::Exists(label(text)?)),
    }
}

fn label(text: &str) -> Option<String> {
    let text = text.trim();
    let known = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    (!text.is_empty() && text.chars().all(known)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_matched_as_the_server_does_it() {
        let labels = BTreeMap::from([("app", "a"), ("x.io/tier", "web")]);
        let labels = labels
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        for (selector, expected) in [
            ("", true),
            ("app=a", true),
            ("app = a , x.io/tier == web", true),
            ("app=a,x.io/tier=db", false),
            ("app!=a", false),
            ("other!=a", true),
            ("app", true),
            ("other", false),
            ("!other", true),
            ("!app", false),
            ("app in (a,b),x.io/tier", true),
            ("x.io/tier,app in (b, c)", false),
            ("app notin (b,c)", true),
            ("app notin (a)", false),
            ("other=", false),
            // Left to the server.
            ("app in (a", false),
            ("app in a", false),
            ("app like (a)", false),
            ("app > 3", false),
            (",", false),
        ] {
            let config = watcher::Config::default().labels(selector);
            let selects = Selects::of(&config);
            assert_eq!(selects.surely(&labels), expected, "{selector}");
            let known = selects.selector.is_some();
            assert_eq!(
                selects.never(&labels).is_some(),
                known && !expected,
                "{selector}"
            );
        }
        let by_name = watcher::Config::default().fields("metadata.name=a");
        let selects = Selects::of(&by_name);
        assert!(!selects.surely(&labels) && selects.never(&labels).is_none());
    }
}
