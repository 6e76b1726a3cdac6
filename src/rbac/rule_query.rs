//! The rule that a person asks about, in words or as a marker → a [`PolicyRule`].

use super::{PolicyRule, REQUEST_VERBS};
use crate::diagnostic::Problem;
use crate::source::marker;

/// Parses a rule; a part that is left out stands for everything.
pub(crate) fn parse(text: &str) -> Result<PolicyRule, Problem> {
    if !text.contains('=') {
        return words(text);
    }
    let text = text.trim_start_matches(['/', ' ']);
    let prefix = if text.starts_with('+') { "" } else { "+kubebuilder:rbac:" };
    let marker = marker::parse(&format!("{prefix}{text}")).map_err(|wrong| {
        let problem = Problem::new(wrong.message);
        wrong.help.into_iter().fold(problem, Problem::help)
    })?;
    let core = |group: String| if group == "core" { String::new() } else { group };
    Ok(open(PolicyRule {
        groups: marker.strings("groups").into_iter().map(core).collect(),
        resources: marker.strings("resources"),
        urls: marker.strings("urls"),
        verbs: marker.strings("verbs"),
        ..PolicyRule::default()
    }))
}

fn words(text: &str) -> Result<PolicyRule, Problem> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_verb = |word: &str| REQUEST_VERBS.contains(&word);
    let (verb, target) = match words.as_slice() {
        [verb] if is_verb(verb) => (Some(*verb), None),
        [target] => (None, Some(*target)),
        [verb, target] => (Some(*verb), Some(*target)),
        _ => {
            let problem = Problem::new(format!("`{text}` is not a rule"));
            return Err(problem.help("write a verb and a resource, such as `patch deployments.apps`"));
        }
    };
    let mut rule = PolicyRule { verbs: verb.into_iter().map(str::to_owned).collect(), ..PolicyRule::default() };
    match target {
        Some(url) if url.starts_with('/') => rule.urls.push(url.to_owned()),
        Some(target) => {
            // `deployments.apps/scale` and `deployments/scale.apps` are the same.
            let (plural, rest) = target.split_at(target.find(['.', '/']).unwrap_or(target.len()));
            let (mut group, mut sub) = (None, "");
            if let Some(rest) = rest.strip_prefix('/') {
                let (first, second) = rest.split_once('.').map_or((rest, None), |(sub, group)| (sub, Some(group)));
                (sub, group) = (first, second);
            } else if let Some(rest) = rest.strip_prefix('.') {
                let (first, second) = rest.split_once('/').unwrap_or((rest, ""));
                (group, sub) = (Some(first), second);
            }
            rule.resources.push(if sub.is_empty() { plural.to_owned() } else { format!("{plural}/{sub}") });
            rule.groups.extend(group.map(str::to_owned));
        }
        None => {}
    }
    Ok(open(rule))
}

/// Fills the parts that are left out with everything.
fn open(mut rule: PolicyRule) -> PolicyRule {
    let all = || vec!["*".to_owned()];
    if rule.verbs.is_empty() {
        rule.verbs = all();
    }
    if rule.urls.is_empty() {
        if rule.groups.is_empty() {
            rule.groups = all();
        }
        if rule.resources.is_empty() {
            rule.resources = all();
        }
    }
    rule
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_words_or_a_marker() {
        for (text, expected) in [
            ("patch deployments.apps", "apps|deployments||patch"),
            ("patch deployments", "*|deployments||patch"),
            ("deployments.apps/scale", "apps|deployments/scale||*"),
            ("deployments/scale.apps", "apps|deployments/scale||*"),
            ("pods/log", "*|pods/log||*"),
            ("list", "*|*||list"),
            ("get /metrics", "||/metrics|get"),
            ("/metrics", "||/metrics|*"),
            ("groups=apps;core,resources=deployments;pods,verbs=get;list", "apps;|deployments;pods||get;list"),
            ("// +kubebuilder:rbac:groups=\"\",resources=pods,verbs=get,namespace=x", "|pods||get"),
        ] {
            let rule = parse(text).unwrap();
            let lists = [&rule.groups, &rule.resources, &rule.urls, &rule.verbs].map(|list| list.join(";"));
            assert_eq!(lists.join("|"), expected, "{text}");
        }
        assert_eq!(parse("a b c").unwrap_err().message, "`a b c` is not a rule");
        let wrong = parse("group=apps,verbs=get").unwrap_err();
        assert_eq!(wrong.message, "unknown argument \"group\"");
        assert_eq!(wrong.help.as_deref(), Some("did you mean `groups`?"));
    }
}
