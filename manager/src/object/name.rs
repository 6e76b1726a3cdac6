//! Names that Kubernetes accepts.

/// Maximum length of label values and DNS labels.
const LONGEST: usize = 63;

/// Maximum length of a name to which Kubernetes appends 11 characters.
const LONGEST_OF_SHORT: usize = 52;

/// Converts `name` to a label value and object name: at most 63 letters, digits and dashes, starting with a letter.
///
/// A valid name is returned unchanged. Any other is shortened and gets a hash, so that it stays unique. The result may
/// be too long for a CronJob or a StatefulSet, see [`short_dns_label`].
///
/// # Examples
///
/// ```
/// assert_eq!(manager::dns_label("sample"), "sample");
/// assert_eq!(manager::dns_label("a.b"), "a-b-e61d9919");
/// ```
pub fn dns_label(name: &str) -> String {
    label(name, LONGEST)
}

/// Like [`dns_label`] with at most 52 characters, for CronJobs and StatefulSets.
///
/// The names of Jobs [derive from the name of their CronJob][cron]. The pods of a StatefulSet [have its revision as a
/// label][revision].
///
/// [cron]: https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#writing-a-cronjob-spec
/// [revision]: https://github.com/kubernetes/kubernetes/issues/64023
///
/// # Examples
///
/// ```
/// assert_eq!(manager::short_dns_label("sample"), "sample");
/// assert_eq!(manager::short_dns_label(&"a".repeat(53)).len(), 52);
/// ```
pub fn short_dns_label(name: &str) -> String {
    label(name, LONGEST_OF_SHORT)
}

fn label(name: &str, longest: usize) -> String {
    let letter = name.starts_with(|first: char| first.is_ascii_lowercase());
    if letter && name.len() <= longest && !name.contains('.') {
        return name.to_owned();
    }
    let first = if letter { "" } else { "n" };
    let start = format!("{first}{}", name.replace('.', "-"));
    let start: String = start.chars().take(longest - "-01234567".len()).collect();
    format!("{start}-{:08x}", fnv1a(name.as_bytes()) >> 32)
}

/// A hash that is stable across releases and machines, unlike those of std.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_do_not_fit_are_shortened_and_stay_different() {
        assert_eq!(dns_label("sample"), "sample");
        assert_eq!(dns_label("a".repeat(63).as_str()), "a".repeat(63));
        for name in ["a.b", "1a", &"a".repeat(64), &"a.".repeat(126)] {
            let label = dns_label(name);
            assert!(
                label.len() <= 63 && !label.contains('.') && label.starts_with(['a', 'n']),
                "{label}"
            );
        }
        assert_eq!(short_dns_label(&"a".repeat(52)), "a".repeat(52));
        for name in ["a".repeat(53), "a".repeat(63)] {
            assert_eq!((short_dns_label(&name).len(), dns_label(&name)), (52, name));
        }
        assert_ne!(dns_label("a.b"), dns_label("a-b"));
        assert_ne!(dns_label(&"a".repeat(64)), dns_label(&"a".repeat(65)));
    }
}
