//! Selection of custom resources by name: `--kind` and `--exclude`.

use std::collections::BTreeSet;

use glob::Pattern;

use crate::diagnostic::Problem;

/// A selection of custom resources: the named ones or all, except the excluded ones.
#[derive(Debug, Clone, Default)]
pub struct SourceChoice {
    kinds: Vec<Name>,
    excluded: Vec<Name>,
    external: Vec<Name>,
    foreign: BTreeSet<String>,
}

/// `Kind` or `Kind.group`; either part may be a glob.
#[derive(Debug, Clone)]
struct Name {
    text: String,
    kind: Pattern,
    group: Option<Pattern>,
}

impl Name {
    fn new(text: &str) -> Result<Self, Problem> {
        let wrong = |why: &str| {
            Problem::new(format!("`{text}` is not a valid name of a kind: {why}"))
                .help("use `Kind`, `Kind.group`, or a glob such as `*Policy` or `*.example.com`")
        };
        let (kind, group) = text.split_once('.').map_or((text, None), |(kind, group)| (kind, Some(group)));
        if kind.is_empty() || group.is_some_and(str::is_empty) {
            return Err(wrong("the kind and the group must not be empty"));
        }
        let pattern = |part: &str| Pattern::new(part).map_err(|error| wrong(error.msg));
        Ok(Self { text: text.to_owned(), kind: pattern(kind)?, group: group.map(pattern).transpose()? })
    }

    /// Splits at the first dot: a kind has no dot in its name.
    fn matches(&self, name: &str) -> bool {
        let (kind, group) = name.split_once('.').unwrap_or((name, ""));
        self.kind.matches(kind) && self.group.as_ref().is_none_or(|pattern| pattern.matches(group))
    }
}

impl SourceChoice {
    /// Parses both lists.
    pub fn new(kinds: &[String], excluded: &[String]) -> Result<Self, Problem> {
        let names = |texts: &[String]| texts.iter().map(|text| Name::new(text)).collect::<Result<_, _>>();
        Ok(Self { kinds: names(kinds)?, excluded: names(excluded)?, ..Self::default() })
    }

    /// Leaves out the groups and kinds of `external` in Cargo.toml, unless `--kind` names them. [`Self::is_all`]
    /// ignores this list: it is not a choice of the command line.
    pub fn without(mut self, external: &[String]) -> Result<Self, Problem> {
        // Only a kind begins with a capital letter.
        let is_group =
            |text: &str| text.starts_with(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit());
        let name = |text: &String| Name::new(&if is_group(text) { format!("*.{text}") } else { text.clone() });
        self.external = external.iter().map(name).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// Leaves out kinds of other projects, `Kind.group`, also if `--kind` names them.
    #[must_use]
    pub(crate) fn without_foreign(self, foreign: BTreeSet<String>) -> Self {
        Self { foreign, ..self }
    }

    /// Returns true for a kind of another project.
    pub(crate) fn is_foreign(&self, name: &str) -> bool {
        self.foreign.contains(name)
    }

    /// Returns true if the custom resource `Kind.group` is selected.
    pub fn takes(&self, name: &str) -> bool {
        if self.is_foreign(name) {
            return false;
        }
        let is_in = |names: &[Name]| names.iter().any(|one| one.matches(name));
        let is_asked = if self.kinds.is_empty() { !is_in(&self.external) } else { is_in(&self.kinds) };
        is_asked && !is_in(&self.excluded)
    }

    /// Returns true if the command line selects everything.
    pub fn is_all(&self) -> bool {
        self.kinds.is_empty() && self.excluded.is_empty()
    }

    /// Returns true if `--kind` names kinds.
    pub fn names_kinds(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// The first name on the command line that matches no existing custom resource, or only those of other projects.
    pub fn unknown(&self, existing: &BTreeSet<String>) -> Option<&str> {
        let is_own = |name: &&String| !self.is_foreign(name);
        let unknown_kind = self.kinds.iter().find(|name| !existing.iter().filter(is_own).any(|one| name.matches(one)));
        let mut excluded = self.excluded.iter();
        let unknown = unknown_kind.or_else(|| excluded.find(|name| !existing.iter().any(|one| name.matches(one))))?;
        Some(&unknown.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn names_choose_kinds() {
        const ALL: [&str; 4] = ["Api.a.example.com", "Policy.a.example.com", "Policy.example.com", "ServerPolicy.x.io"];
        for (kinds, excluded, expected) in [
            (&[] as &[&str], &[] as &[&str], ALL.to_vec()),
            (&["Policy"], &[], vec![ALL[1], ALL[2]]),
            (&["Policy.example.com"], &[], vec![ALL[2]]),
            (&["*Policy"], &[], vec![ALL[1], ALL[2], ALL[3]]),
            (&["*.example.com"], &[], vec![ALL[2]]),
            (&["*.*example.com", "S*"], &["Api"], vec![ALL[1], ALL[2], ALL[3]]),
            (&[], &["Policy.*", "Api"], vec![ALL[3]]),
            (&["policy"], &[], vec![]),
        ] {
            let choice = SourceChoice::new(&texts(kinds), &texts(excluded)).unwrap();
            let taken: Vec<&str> = ALL.into_iter().filter(|name| choice.takes(name)).collect();
            assert_eq!(taken, expected, "{kinds:?} {excluded:?}");
        }
    }

    #[test]
    fn external_kinds_are_left_out_unless_they_are_named() {
        let external = texts(&["coreos.com", "Policy.example.com", "*.x.io"]);
        let takes = |kinds: &[&str], name: &str| {
            SourceChoice::new(&texts(kinds), &[]).unwrap().without(&external).unwrap().takes(name)
        };
        for (name, taken) in [
            ("Monitor.coreos.com", false),
            ("Monitor.a.coreos.com", true),
            ("Policy.example.com", false),
            ("Pond.example.com", true),
            ("Thing.x.io", false),
        ] {
            assert_eq!(takes(&[], name), taken, "{name}");
            assert!(takes(&["*"], name), "{name}");
        }
        assert!(SourceChoice::default().without(&external).unwrap().is_all());
        assert!(SourceChoice::default().without(&texts(&["[a"])).is_err());
    }

    #[test]
    fn kinds_of_other_projects_are_never_chosen() {
        let foreign = || BTreeSet::from(["Cert.x.io".to_owned()]);
        for kinds in [&[] as &[&str], &["Cert"], &["*"]] {
            let choice = SourceChoice::new(&texts(kinds), &texts(&["Cert"])).unwrap().without_foreign(foreign());
            assert!(!choice.takes("Cert.x.io"), "{kinds:?}");
            let unknown = choice.unknown(&foreign()).map(str::to_owned);
            assert_eq!(unknown.as_deref(), kinds.first().copied());
        }
    }

    #[test]
    fn names_of_nothing_are_found() {
        let existing = BTreeSet::from(["Api.example.com".to_owned()]);
        let unknown = |kinds: &[&str], excluded: &[&str]| {
            let choice = SourceChoice::new(&texts(kinds), &texts(excluded)).unwrap();
            choice.unknown(&existing).map(str::to_owned)
        };
        assert_eq!(unknown(&["Api", "A*"], &["*.com", "*.*.com"]).as_deref(), Some("*.com"));
        assert_eq!(unknown(&[], &["Apis"]).as_deref(), Some("Apis"));
        assert_eq!(unknown(&["Api"], &["*.example.com"]), None);
        for wrong in ["", ".example.com", "Api.", "[a", "a***"] {
            assert!(SourceChoice::new(&[], &texts(&[wrong])).is_err(), "{wrong}");
        }
    }
}
