//! The place of CRDs beside `config/crd/bases`: a pattern of file names, as PROJECT records it.

use std::fmt;
use std::path::Path;

use crate::diagnostic::Problem;
use crate::plan::RelPath;

/// The name of a CRD's file in [`USUAL`], and in a folder without a pattern.
const FILE: &str = "{group}_{plural}.yaml";
/// The folder that kustomize reads.
const USUAL: &str = "config/crd/bases";

/// The names of a kind that a pattern may have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CrdFileNames {
    /// The whole API group.
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) kind: String,
}

impl CrdFileNames {
    /// The name of the CRD.
    pub(crate) fn crd(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// Each placeholder with its value, the longest values first.
    fn values(&self) -> [(&'static str, String); 4] {
        [
            ("{group}", self.group.clone()),
            ("{plural}", self.plural.clone()),
            ("{singular}", self.kind.to_lowercase()),
            ("{kind}", self.kind.clone()),
        ]
    }
}

/// A pattern of paths in the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrdPlace(String);

impl CrdPlace {
    /// Parses a pattern or a folder. `None` stands for `config/crd/bases` alone.
    pub fn parse_choice(text: &str) -> Result<Option<Self>, Problem> {
        let pattern = Self::whole(text);
        if text.is_empty() || pattern == format!("{USUAL}/{FILE}") { Ok(None) } else { Self::parse(text).map(Some) }
    }

    /// Parses a pattern or a folder.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let place = Self(Self::whole(text));
        let wrong = |why: &str| Problem::new(format!("`{}` is not a valid place of CRDs: {why}", text.escape_debug()));
        if Path::new(&place.0).starts_with(USUAL) {
            let problem = wrong(&format!("`{USUAL}` has the CRDs that kustomize reads, each as `{FILE}`"));
            return Err(problem.help("choose another folder"));
        }
        let none = CrdFileNames { group: "g".to_owned(), plural: "p".to_owned(), kind: "K".to_owned() };
        let path = place.filled(&none);
        if path.contains(['{', '}', '*']) {
            let problem = wrong("it has an unknown placeholder");
            return Err(problem.help("the placeholders are `{group}`, `{plural}`, `{singular}` and `{kind}`"));
        }
        RelPath::new(path).map_err(|problem| {
            let why = problem.message.split_once("in the project: ").map_or(problem.message.as_str(), |(_, why)| why);
            wrong(why).help("write a path below the folder of `PROJECT`")
        })?;
        Ok(place)
    }

    /// The pattern with a file name.
    fn whole(text: &str) -> String {
        let text = text.trim_start_matches("./").trim_end_matches('/');
        let is_file = Path::new(text).extension().is_some_and(|end| end == "yaml" || end == "yml");
        if is_file { text.to_owned() } else { format!("{text}/{FILE}") }
    }

    fn filled(&self, names: &CrdFileNames) -> String {
        names.values().iter().fold(self.0.clone(), |path, (placeholder, value)| path.replace(placeholder, value))
    }

    /// The file of a CRD.
    pub(crate) fn path(&self, names: &CrdFileNames) -> Result<RelPath, Problem> {
        RelPath::new(self.filled(names))
    }

    /// The pattern that gives the paths of all these CRDs.
    pub(crate) fn of_files(files: &[(String, CrdFileNames)]) -> Option<Self> {
        let (path, names) = files.first()?;
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let [group, plural, singular, kind] = names.values();
        let replaced = |text: &str, (placeholder, value): &(&str, String)| {
            (!value.is_empty() && text.contains(value.as_str())).then(|| text.replacen(value.as_str(), placeholder, 1))
        };
        let of_group = replaced(file, &group);
        let kinds = [plural, singular, kind];
        let with = |text: Option<&str>| kinds.iter().filter_map(|kind| replaced(text?, kind)).collect::<Vec<_>>();
        let candidates =
            [with(of_group.as_deref()), with(Some(file)), of_group.into_iter().collect(), vec![file.to_owned()]];
        let in_folder = |file: String| if folder.is_empty() { file } else { format!("{folder}/{file}") };
        let candidates = candidates.into_iter().flatten().filter_map(|file| Self::parse(&in_folder(file)).ok());
        let mut candidates = candidates.filter(|place| files.iter().all(|(path, names)| place.filled(names) == *path));
        candidates.next()
    }

    /// The pattern.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CrdPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(group: &str, plural: &str, kind: &str) -> CrdFileNames {
        CrdFileNames { group: group.to_owned(), plural: plural.to_owned(), kind: kind.to_owned() }
    }

    #[test]
    fn patterns_are_parsed() {
        for (text, expected) in [
            ("charts/pond/crds", Ok("charts/pond/crds/{group}_{plural}.yaml")),
            ("./crd/", Ok("crd/{group}_{plural}.yaml")),
            ("crd.yml", Ok("crd.yml")),
            ("crds/{plural}.{group}.yaml", Ok("crds/{plural}.{group}.yaml")),
            ("config/crd/bases/{plural}.yaml", Err("`config/crd/bases` has the CRDs that kustomize reads")),
            ("crds/{name}.yaml", Err("unknown placeholder")),
            ("crds/*.yaml", Err("unknown placeholder")),
            ("../charts/crds", Err("`.` and `..` are not allowed")),
            ("/charts", Err("must be relative")),
        ] {
            let parsed = CrdPlace::parse(text);
            match (parsed, expected) {
                (Ok(place), Ok(expected)) => assert_eq!(place.as_str(), expected, "{text}"),
                (Err(problem), Err(why)) => assert!(problem.message.contains(why), "{text}: {}", problem.message),
                (parsed, _) => panic!("{text}: {parsed:?}"),
            }
        }
        for text in ["", "config/crd/bases", "config/crd/bases/"] {
            assert_eq!(CrdPlace::parse_choice(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn a_pattern_is_found() {
        let duck = names("birds.example.com", "ducks", "Duck");
        let goose = names("birds.example.com", "geese", "Goose");
        for (paths, expected) in [
            (
                ["crds/birds.example.com_ducks.yaml", "crds/birds.example.com_geese.yaml"],
                Some("crds/{group}_{plural}.yaml"),
            ),
            (
                ["crds/ducks.birds.example.com.yaml", "crds/geese.birds.example.com.yaml"],
                Some("crds/{plural}.{group}.yaml"),
            ),
            (["crds/crd-duck.yaml", "crds/crd-goose.yaml"], Some("crds/crd-{singular}.yaml")),
            (["Duck.yml", "Goose.yml"], Some("{kind}.yml")),
            (["crds/all.yaml", "crds/all.yaml"], Some("crds/all.yaml")),
            (["crds/birds.example.com.yaml", "crds/birds.example.com.yaml"], Some("crds/{group}.yaml")),
            (["crds/a.yaml", "crds/b.yaml"], None),
            (["one/ducks.yaml", "other/geese.yaml"], None),
        ] {
            let files: Vec<(String, CrdFileNames)> =
                paths.iter().map(ToString::to_string).zip([duck.clone(), goose.clone()]).collect();
            assert_eq!(CrdPlace::of_files(&files).as_ref().map(CrdPlace::as_str), expected, "{paths:?}");
        }
    }
}
