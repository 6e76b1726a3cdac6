//! Names of fields, flags and variables that determine the meaning of their values: `serviceAccountName`,
//! `--watch-namespaces`, `WEBHOOK_SERVICE`.

/// The meaning of a word.
#[derive(Debug, Clone, Copy)]
pub(in crate::ship) enum NamedWord<'a> {
    Namespace {
        /// The namespace is a part of a DNS name.
        of_host: bool,
    },
    Object {
        /// The possible kinds.
        kinds: &'a [&'a str],
        /// The namespace; unknown for names in the rules of a `ClusterRole`.
        namespace: Option<&'a str>,
    },
}

/// Returns the new text for a word, or `None` to keep it.
pub(in crate::ship) type Rename<'a> = dyn FnMut(NamedWord<'_>, &str) -> Option<String> + 'a;

/// The meaning of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ship) enum WordTarget {
    Namespace,
    /// An object of one of these kinds.
    Object(&'static [&'static str]),
}

use WordTarget::{Namespace, Object};

/// The last words of a name, each with the meaning of its value.
const WORDS: &[(&str, WordTarget)] = &[
    ("namespace", Namespace),
    ("certificate", Object(&["Certificate"])),
    ("claim", Object(&["PersistentVolumeClaim"])),
    ("cluster issuer", Object(&["ClusterIssuer"])),
    ("cluster role", Object(&["ClusterRole"])),
    ("config", Object(&["ConfigMap"])),
    ("config map", Object(&["ConfigMap"])),
    ("configmap", Object(&["ConfigMap"])),
    ("deployment", Object(&["Deployment"])),
    ("issuer", Object(&["Issuer"])),
    ("lease", Object(&["Lease"])),
    ("mutating webhook", Object(&["MutatingWebhookConfiguration"])),
    ("mutating webhook configuration", Object(&["MutatingWebhookConfiguration"])),
    ("priority class", Object(&["PriorityClass"])),
    ("secret", Object(&["Secret"])),
    ("service", Object(&["Service"])),
    ("service account", Object(&["ServiceAccount"])),
    ("serviceaccount", Object(&["ServiceAccount"])),
    ("validating webhook", Object(&["ValidatingWebhookConfiguration"])),
    ("validating webhook configuration", Object(&["ValidatingWebhookConfiguration"])),
    ("webhook configuration", Object(&["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"])),
];

/// Returns the meaning of the value of a field, flag or variable, if its name determines it.
pub(in crate::ship) fn target(name: &str) -> Option<WordTarget> {
    let mut words = words(name);
    while words.last().is_some_and(|word| ["name", "names", "ref", "refs"].contains(&word.as_str())) {
        words.pop();
        // `secretKeyRef` is the key of a Secret.
        words.pop_if(|word| word == "key");
    }
    let last = words.last_mut()?;
    if let Some(one) = last.strip_suffix('s') {
        *last = one.to_owned();
    }
    (1..=words.len().min(3)).rev().find_map(|count| {
        let ending = words[words.len() - count..].join(" ");
        WORDS.iter().find(|(words, _)| *words == ending).map(|(_, target)| *target)
    })
}

/// Splits a name in any style into words in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() || letter.is_ascii_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        if let (true, Some(word)) = (letter.is_ascii_alphanumeric(), words.last_mut()) {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::{WordTarget, target};

    #[test]
    fn a_name_says_what_its_value_names() {
        let kinds = |name: &str| match target(name) {
            None => "nothing".to_owned(),
            Some(WordTarget::Namespace) => "Namespace".to_owned(),
            Some(WordTarget::Object(kinds)) => kinds.join(", "),
        };
        for (name, expected) in [
            ("namespace", "Namespace"),
            ("--watch-namespaces", "Namespace"),
            ("POD_NAMESPACE", "Namespace"),
            ("targetNamespaces", "Namespace"),
            ("leader-election-namespace", "Namespace"),
            ("secretName", "Secret"),
            ("secretKeyRef", "Secret"),
            ("configMapKeyRef", "ConfigMap"),
            ("--config", "ConfigMap"),
            ("serviceAccountName", "ServiceAccount"),
            ("WEBHOOK_SERVICE", "Service"),
            ("METRICS_SERVICE_NAME", "Service"),
            ("MUTATING_WEBHOOKS", "MutatingWebhookConfiguration"),
            ("--webhook-configurations", "MutatingWebhookConfiguration, ValidatingWebhookConfiguration"),
            ("claimName", "PersistentVolumeClaim"),
            ("kind", "nothing"),
            ("--kind", "nothing"),
            ("WATCH", "nothing"),
            ("namespaceSelector", "nothing"),
            ("name", "nothing"),
            ("", "nothing"),
        ] {
            assert_eq!(kinds(name), expected, "{name}");
        }
    }
}
