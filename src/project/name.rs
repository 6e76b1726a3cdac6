//! Validated names, safe in file names, manifests and Rust code. An invalid name is rejected once, at the boundary,
//! with the rule and, if possible, a similar valid name.

use std::fmt;
use std::str::FromStr;

use heck::ToUpperCamelCase as _;

use crate::diagnostic::{Code, Diagnostic, Problem};

/// A newtype per row: documentation, type, name for users, rule.
macro_rules! names {
    ($($(#[$doc:meta])+ $name:ident = $what:literal, $check:expr;)+) => {$(
        $(#[$doc])+
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Validates `name`.
            pub fn parse(name: &str) -> Result<Self, Problem> {
                let check: fn(&str, &str) -> Result<(), Problem> = $check;
                check($what, name).map(|()| Self(name.to_owned()))
            }

            /// The name as a string.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = Problem;

            fn from_str(name: &str) -> Result<Self, Problem> {
                Self::parse(name)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    )+};
}

names! {
    /// The DNS domain at the end of a project's API groups, such as `example.com`.
    Domain = "domain", dns_1123_subdomain;
    /// The project name: prefix of its objects and name of its package. A DNS-1123 label.
    ProjectName = "project name", dns_1123_label;
    /// An API group without the domain, such as `cache`. An empty group means that the domain alone is the group.
    Group = "group", |what, name| if name.is_empty() { Ok(()) } else { dns_1123_subdomain(what, name) };
    /// An API version, such as `v1alpha1`. The API server accepts any DNS-1035 label.
    Version = "version", dns_1035_label;
    /// A kind, such as `Memcached`: a Rust type name whose lower case is a DNS-1035 label.
    Kind = "kind", kind;
    /// The plural of a kind in URLs: `memcacheds`.
    Plural = "plural", dns_1035_label;
    /// A short name for kubectl, such as `mc`.
    ShortName = "short name", dns_1035_label;
    /// A namespace of the cluster. A DNS-1123 label.
    Namespace = "namespace", dns_1123_label;
    /// The name of a controller in logs and metrics.
    ControllerName = "controller name", dns_1035_label;
}

impl Group {
    /// The empty group.
    pub fn empty() -> Self {
        Self(String::new())
    }

    /// Returns true if the domain alone is the API group.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Version {
    /// Returns true for versions such as `v1`, `v1beta2` or `v3alpha1`. Other versions sort behind these and do not
    /// show their stability.
    pub(crate) fn is_conventional(&self) -> bool {
        fn number(text: &str) -> Option<&str> {
            let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
            (rest.len() < text.len() && !text.starts_with('0')).then_some(rest)
        }
        let Some(rest) = self.0.strip_prefix('v').and_then(number) else { return false };
        rest.is_empty() || rest.strip_prefix("alpha").or_else(|| rest.strip_prefix("beta")).and_then(number) == Some("")
    }
}

impl Kind {
    /// The name in lower case: `memcached`.
    pub fn lower(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// The default English plural in lower case.
    pub(crate) fn default_plural(&self) -> Plural {
        let mut plural = super::plural::pluralize(&self.lower());
        plural.truncate(LABEL_MAX);
        Plural(plural)
    }
}

impl ProjectName {
    /// The suffix of the metrics Service's name; shortened if the project name is long.
    pub(crate) fn metrics_service(&self) -> &'static str {
        let usual = "controller-manager-metrics-service";
        if self.0.len() + 1 + usual.len() > LABEL_MAX { "metrics-service" } else { usual }
    }

    /// Warns if the API server rejects a name in `config/` with this prefix.
    pub(crate) fn check_services(&self) -> Option<Diagnostic> {
        // The longest Service name, which must be a label.
        let longest = format!("{self}-{}", self.metrics_service());
        if self.0.starts_with(|c: char| c.is_ascii_digit()) {
            let message = format!(
                "the project name `{self}` starts with a digit, and so does Service `{longest}`, which must start \
                 with a letter"
            );
            let help = format!(
                "use a name such as `operator-{self}`, or another `namePrefix` in config/default/kustomization.yaml"
            );
            return Some(Diagnostic::new(Code::LongProjectName, message).help(help));
        }
        let excess = longest.len().checked_sub(LABEL_MAX).filter(|excess| *excess > 0)?;
        let message =
            format!("the project name `{self}` is too long: Service `{longest}` exceeds {LABEL_MAX} characters");
        let help = format!(
            "use a name of at most {} characters, or another `namePrefix` in config/default/kustomization.yaml",
            self.0.len() - excess
        );
        Some(Diagnostic::new(Code::LongProjectName, message).help(help))
    }

    /// A valid name derived from a folder's name.
    pub(crate) fn from_folder(folder: &str) -> Result<Self, Problem> {
        Self::parse(&folder.to_lowercase()).map_err(|problem| {
            let help = problem.help.unwrap_or_default();
            Problem::new(format!("the folder name is not a valid project name: {}", problem.message))
                .help(format!("{help}{}pass `--project-name`", if help.is_empty() { "" } else { ", or " }))
        })
    }
}

/// The maximum length of a label.
pub(crate) const LABEL_MAX: usize = 63;
/// The maximum length of a domain, and of most object names.
pub(crate) const SUBDOMAIN_MAX: usize = 253;

fn dns_1123_label(what: &str, name: &str) -> Result<(), Problem> {
    let rule = "a DNS-1123 label: lower-case letters, digits and `-`, starting and ending with a letter or digit, at \
                most 63 characters";
    require(is_label(name) && name.len() <= LABEL_MAX, what, name, rule, || label_like(name, LABEL_MAX))
}

/// Checks a DNS-1035 label, the rule of most names in Kubernetes.
pub(crate) fn dns_1035_label(what: &str, name: &str) -> Result<(), Problem> {
    let rule = "a DNS-1035 label: lower-case letters, digits and `-`, starting with a letter and ending with a \
                letter or digit, at most 63 characters";
    let valid =
        |name: &str| is_label(name) && name.len() <= LABEL_MAX && name.starts_with(|c: char| c.is_ascii_lowercase());
    let near = || {
        let name = name.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        label_like(name, LABEL_MAX)
    };
    require(valid(name), what, name, rule, near)
}

/// Checks a DNS-1123 subdomain, the rule of domains in Kubernetes.
pub(crate) fn dns_1123_subdomain(what: &str, name: &str) -> Result<(), Problem> {
    let rule = "a DNS-1123 subdomain: parts of lower-case letters, digits and `-`, separated by `.`, each starting \
                and ending with a letter or digit, at most 253 characters";
    let valid = name.len() <= SUBDOMAIN_MAX && name.split('.').all(is_label);
    let near = || {
        let parts: Vec<String> = name.split('.').map(|part| label_like(part, LABEL_MAX)).collect();
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
    };
    require(valid, what, name, rule, near)
}

fn kind(what: &str, name: &str) -> Result<(), Problem> {
    let rule = "a Rust type name: an upper-case letter, then letters and digits, at most 63 characters";
    let valid = name.len() <= LABEL_MAX
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric());
    let near = || {
        let ascii: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { ' ' }).collect();
        let start = ascii.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        start.to_upper_camel_case().chars().take(LABEL_MAX).collect()
    };
    require(valid, what, name, rule, near)
}

fn is_label(name: &str) -> bool {
    let alphanumeric = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && alphanumeric(name.chars().next())
        && alphanumeric(name.chars().last())
}

fn label_like(name: &str, max: usize) -> String {
    let mut label = String::new();
    for c in name.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_lowercase() || c.is_ascii_digit() => label.push(c),
            _ if !label.ends_with('-') => label.push('-'),
            _ => {}
        }
    }
    let label = label.trim_matches('-');
    label.get(..max).unwrap_or(label).trim_end_matches('-').to_owned()
}

fn require(valid: bool, what: &str, name: &str, rule: &str, near: impl FnOnce() -> String) -> Result<(), Problem> {
    if valid {
        return Ok(());
    }
    if name.is_empty() {
        return Err(Problem::new(format!("the {what} is empty: it must be {rule}")));
    }
    let problem = Problem::new(format!("invalid {what} `{}`: it must be {rule}", name.escape_debug()));
    let near = near();
    Err(if near.is_empty() { problem } else { problem.help(format!("use `{near}`")) })
}

/// The Lease name for leader election, as kubebuilder computes it: hexadecimal FNV-1a-32 of the repository, or else of
/// the project name, then the domain.
pub(crate) fn leader_election_id(repo: &str, project: &ProjectName, domain: &str) -> String {
    let input = if repo.is_empty() { project.as_str() } else { repo };
    let hash = fnv1a(input);
    if domain.is_empty() { format!("{hash:08x}") } else { format!("{hash:08x}.{domain}") }
}

/// FNV-1a-32 (<http://www.isthe.com/chongo/tech/comp/fnv/>), stable across machines and releases.
pub(crate) fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Ok`, or the help. The message must contain the name, if present, and the rule.
    fn check<T>(parse: fn(&str) -> Result<T, Problem>, rule: &str, cases: &[(&str, Result<(), Option<&str>>)]) {
        for (name, expected) in cases {
            let result = parse(name).map(drop);
            if let Err(problem) = &result {
                assert!(problem.message.contains(rule), "{problem}");
                assert!(problem.message.contains(&*name.escape_debug().to_string()), "{problem}");
            }
            let result = result.as_ref().map_err(|problem| problem.help.as_deref());
            assert_eq!(result, expected.as_ref().map_err(|help| *help), "`{name}`");
        }
    }

    #[test]
    fn labels() {
        let long = "a".repeat(64);
        let cut = format!("use `{}`", "a".repeat(63));
        check(
            ProjectName::parse,
            "DNS-1123 label",
            &[
                ("memcached-operator", Ok(())),
                ("1", Ok(())),
                (&long[..63], Ok(())),
                (&long, Err(Some(&cut))),
                ("", Err(None)),
                ("My_Operator", Err(Some("use `my-operator`"))),
                ("-a-", Err(Some("use `a`"))),
                ("a.b", Err(Some("use `a-b`"))),
                ("größe", Err(Some("use `gr-e`"))),
                ("---", Err(None)),
                ("a\nb", Err(Some("use `a-b`"))),
            ],
        );
        for parse in [
            |name: &str| Version::parse(name).map(drop),
            |name: &str| Plural::parse(name).map(drop),
            |name: &str| ShortName::parse(name).map(drop),
            |name: &str| ControllerName::parse(name).map(drop),
        ] {
            check(
                parse,
                "DNS-1035 label",
                &[
                    ("v1alpha1", Ok(())),
                    ("type", Ok(())),
                    ("captain-backup", Ok(())),
                    ("1", Err(None)),
                    ("1v", Err(Some("use `v`"))),
                    ("V1", Err(Some("use `v1`"))),
                    ("v1.2", Err(Some("use `v1-2`"))),
                    ("__internal", Err(Some("use `internal`"))),
                    ("", Err(None)),
                ],
            );
        }
    }

    #[test]
    fn subdomains() {
        let long = format!("{}.com", "a".repeat(250));
        let cases: &[(&str, Result<(), Option<&str>>)] = &[
            ("example.com", Ok(())),
            ("my.domain", Ok(())),
            ("local", Ok(())),
            ("1.2", Ok(())),
            ("Example.Com", Err(Some("use `example.com`"))),
            ("example..com", Err(Some("use `example.com`"))),
            ("https://example.com/", Err(Some("use `https-example.com`"))),
            ("-", Err(None)),
            (&long, Err(Some("use `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.com`"))),
        ];
        check(Domain::parse, "DNS-1123 subdomain", cases);
        check(Group::parse, "DNS-1123 subdomain", cases);
        assert!(Domain::parse("").is_err());
        assert!(Group::parse("").is_ok_and(|group| group.is_empty()));
    }

    #[test]
    fn kinds() {
        check(
            Kind::parse,
            "Rust",
            &[
                ("Memcached", Ok(())),
                ("HTTPRoute2", Ok(())),
                ("Type", Ok(())),
                ("Crate", Ok(())),
                ("memcached", Err(Some("use `Memcached`"))),
                ("memcached-cluster", Err(Some("use `MemcachedCluster`"))),
                ("Mem_cached", Err(Some("use `MemCached`"))),
                ("1Cache", Err(Some("use `Cache`"))),
                ("", Err(None)),
                ("Self", Ok(())),
                ("Option", Ok(())),
                ("Condition", Ok(())),
            ],
        );
    }

    #[test]
    fn what_is_suggested_is_valid() {
        for odd in ["Ä-b", "a b c", "9-", "..a..b..", "x".repeat(300).as_str(), "a\u{0}b", "🦀Crab", "\"quoted\""] {
            let suggestions = [
                ProjectName::parse(odd).err().map(|p| (p, (|s| ProjectName::parse(s).is_ok()) as fn(&str) -> bool)),
                Version::parse(odd).err().map(|p| (p, (|s| Version::parse(s).is_ok()) as fn(&str) -> bool)),
                Domain::parse(odd).err().map(|p| (p, (|s| Domain::parse(s).is_ok()) as fn(&str) -> bool)),
                Kind::parse(odd).err().map(|p| (p, (|s| Kind::parse(s).is_ok()) as fn(&str) -> bool)),
            ];
            for (problem, is_valid) in suggestions.into_iter().flatten() {
                if let Some(near) =
                    problem.help.as_deref().and_then(|help| help.strip_prefix("use `")?.strip_suffix('`'))
                {
                    assert!(is_valid(near), "{problem}: {near}");
                }
            }
        }
    }

    #[test]
    fn conventional_versions() {
        for (version, expected) in [
            ("v1", true),
            ("v12", true),
            ("v1alpha1", true),
            ("v2beta10", true),
            ("v1alpha", false),
            ("v0", false),
            ("v01", false),
            ("v1gamma1", false),
            ("v1alpha1x", false),
            ("stable", false),
            ("v", false),
        ] {
            assert_eq!(Version::parse(version).unwrap().is_conventional(), expected, "{version}");
        }
    }

    #[test]
    fn project_names_come_from_folders() {
        assert_eq!(ProjectName::from_folder("Memcached-Operator").unwrap().as_str(), "memcached-operator");
        let problem = ProjectName::from_folder("my project").unwrap_err();
        assert_eq!(problem.help.as_deref(), Some("use `my-project`, or pass `--project-name`"));
        assert_eq!(ProjectName::from_folder("").unwrap_err().help.as_deref(), Some("pass `--project-name`"));
    }

    #[test]
    fn project_names_that_no_service_can_have_are_warned_of() {
        let check = |length| ProjectName::parse(&"a".repeat(length)).unwrap().check_services();
        assert_eq!(check(47), None);
        let found = check(49).unwrap();
        assert!(found.message.ends_with("exceeds 63 characters"), "{}", found.message);
        assert!(found.help.is_some_and(|help| help.starts_with("use a name of at most 47 characters")));
        let found = ProjectName::parse("9lives").unwrap().check_services().unwrap();
        assert!(found.message.contains("`9lives-controller-manager-metrics-service`"), "{}", found.message);
        assert!(found.help.is_some_and(|help| help.starts_with("use a name such as `operator-9lives`")));
    }

    #[test]
    fn lock_names() {
        let project = ProjectName::parse("p").unwrap();
        for (repo, domain, expected) in [
            ("sigs.k8s.io/kubebuilder/testdata/project-v4", "testproject.org", "da1d9c86.testproject.org"),
            ("sigs.k8s.io/kubebuilder/testdata/project-v4-with-plugins", "", "a13ae5d8"),
            ("", "d", "f50c43ef.d"),
        ] {
            assert_eq!(leader_election_id(repo, &project, domain), expected);
        }
    }
}
