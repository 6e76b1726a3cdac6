//! Rewrites the names in a Rust text after a kind, a package or a module has got another name.
//!
//! Follows the syntax: identifiers, attributes and markers. Texts and other comments that contain an old name stay.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use syn::{Item, UseTree};

use super::lexer;

/// The names of a version of a kind in attributes and markers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiNames {
    /// `cache.example.com`
    pub group: String,
    /// `v1alpha1`
    pub version: String,
    /// `Memcached`
    pub kind: String,
    /// `memcacheds`
    pub plural: String,
    /// `["mc"]`
    pub short_names: Vec<String>,
}

/// Old names with their new ones.
#[derive(Debug, Clone, Default)]
pub struct Renames {
    /// Identifiers, also in attributes that name types or functions in strings.
    pub words: BTreeMap<String, String>,
    /// First words of paths.
    pub roots: BTreeMap<String, String>,
    /// The names of kinds in `#[kube(…)]` and in markers.
    pub apis: Vec<(ApiNames, ApiNames)>,
}

/// Attribute arguments whose strings are data.
const DATA: [&str; 7] = ["alias", "content", "doc", "rename", "rename_all", "tag", "title"];

/// Rewrites the names in a text.
#[must_use]
pub fn renamed(text: &str, names: &Renames) -> String {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for comment in lexer::comments(text) {
        let marker = text[comment.clone()].trim_start_matches('/').trim_start();
        if marker.starts_with('+') {
            let start = comment.end - marker.len();
            edits.extend(
                marker_edits(marker, &names.apis).map(|(range, new)| (start + range.start..start + range.end, new)),
            );
        }
    }
    let tokens: Vec<(usize, &str)> = lexer::tokens(text).collect();
    // The brackets that are open in an attribute.
    let mut attribute: Option<usize> = None;
    for (index, &(at, token)) in tokens.iter().enumerate() {
        let before = |n: usize| index.checked_sub(n).map_or("", |index| tokens[index].1);
        let after = |n: usize| tokens.get(index + n).map_or("", |(_, token)| token);
        match (token, &mut attribute) {
            ("[", None) if before(1) == "#" || before(1) == "!" && before(2) == "#" => attribute = Some(1),
            ("[" | "(" | "{", Some(depth)) => *depth += 1,
            ("]" | ")" | "}", Some(1)) => attribute = None,
            ("]" | ")" | "}", Some(depth)) => *depth -= 1,
            _ => {}
        }
        if token == "(" && before(1) == "kube" && attribute.is_some() {
            edits.extend(kube_edits(&tokens, index + 1, &names.apis));
        }
        if let Some(inside) = inside_of_string(token) {
            let value = &token[inside.clone()];
            let place = at + inside.start..at + inside.end;
            if attribute.is_none() {
                edits.extend(
                    argument_edits(value, &names.words)
                        .map(|(range, new)| (at + inside.start + range.start..at + inside.start + range.end, new)),
                );
            } else if before(1) == "=" && !DATA.contains(&before(2)) && is_path(value) && !is_kube_name(before(2)) {
                let only = Renames { apis: Vec::new(), ..names.clone() };
                let new = renamed(value, &only);
                if new != value {
                    edits.push((place, new));
                }
            }
        } else if let Some(new) = names.words.get(token) {
            edits.push((at..at + token.len(), new.clone()));
        } else if let Some(new) = names.roots.get(token)
            && (before(1) != ":" || before(2) != ":" || matches!(before(3), "self" | "super"))
            && before(1) != "."
            && (after(1) == ":" && after(2) == ":" || before(1) == "use" || before(1) == "crate")
        {
            edits.push((at..at + token.len(), new.clone()));
        }
    }
    replaced(text, edits)
}

/// The arguments of `kube` that [`kube_edits`] rewrites.
fn is_kube_name(argument: &str) -> bool {
    matches!(argument, "group" | "version" | "kind" | "plural" | "singular" | "shortname")
}

fn replaced(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut text = text.to_owned();
    for (range, new) in edits.into_iter().rev() {
        text.replace_range(range, &new);
    }
    text
}

/// The content of a string literal without escapes.
fn inside_of_string(token: &str) -> Option<Range<usize>> {
    let start = token.find('"')?;
    let end = token.rfind('"').filter(|end| *end > start)?;
    let is_raw = token.starts_with('r');
    (start == 0 || is_raw).then_some(())?;
    (is_raw || !token.contains('\\')).then_some(start + 1..end)
}

fn is_path(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|char| char.is_alphanumeric() || "_:<>, ".contains(char))
}

/// The names in a format string: `{name}`, `{name:?}`.
fn argument_edits<'a>(
    text: &'a str,
    words: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = (Range<usize>, String)> + 'a {
    text.match_indices('{').filter_map(|(at, _)| {
        let rest = &text[at + 1..];
        let length = rest.find(|char: char| !char.is_alphanumeric() && char != '_')?;
        let new = words.get(&rest[..length])?;
        let ends = rest[length..].starts_with(['}', ':']);
        (ends && !text[..at].ends_with('{')).then(|| (at + 1..at + 1 + length, new.clone()))
    })
}

/// The tokens of each argument in the brackets that open before `start`.
fn arguments(tokens: &[(usize, &str)], start: usize) -> Vec<Range<usize>> {
    let (mut depth, mut first, mut arguments) = (0_usize, start, Vec::new());
    for (at, (_, token)) in tokens.iter().enumerate().skip(start) {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth > 0 => depth -= 1,
            "," | ")" if depth == 0 => {
                arguments.extend((first < at).then_some(first..at));
                first = at + 1;
                if *token == ")" {
                    break;
                }
            }
            _ => {}
        }
    }
    arguments
}

/// Edits of the arguments of one `#[kube(…)]`, which begin at `start`.
fn kube_edits(tokens: &[(usize, &str)], start: usize, apis: &[(ApiNames, ApiNames)]) -> Vec<(Range<usize>, String)> {
    let of_text = |argument: Range<usize>| match &tokens[argument] {
        [(_, name), (_, "="), (at, token), ..] => {
            let inside = inside_of_string(token)?;
            Some((*name, at + inside.start..at + inside.end, &token[inside]))
        }
        _ => None,
    };
    let arguments: Vec<(&str, Range<usize>, &str)> = arguments(tokens, start).into_iter().filter_map(of_text).collect();
    let is = |name: &str, value: &str| arguments.iter().any(|(other, _, found)| *other == name && *found == value);
    let Some((old, new)) =
        apis.iter().find(|(old, _)| is("group", &old.group) && is("version", &old.version) && is("kind", &old.kind))
    else {
        return Vec::new();
    };
    let mut edits = Vec::new();
    let mut short_names = old.short_names.iter().zip(&new.short_names);
    for (name, place, value) in &arguments {
        let to = match *name {
            "group" => Some(&new.group),
            "version" => Some(&new.version),
            "kind" => Some(&new.kind),
            "plural" if *value == old.plural => Some(&new.plural),
            "shortname" => short_names.find(|(old, _)| old == value).map(|(_, new)| new),
            _ => None,
        };
        edits.extend(to.filter(|to| to != value).map(|to| (place.clone(), to.clone())));
        if *name == "singular" && *value == old.kind.to_lowercase() {
            edits.push((place.clone(), new.kind.to_lowercase()));
        }
    }
    edits
}

/// Edits of the groups, resources and versions in a marker. If the group changes, a marker for several groups or for other
/// resources stays.
fn marker_edits<'a>(
    marker: &'a str,
    apis: &'a [(ApiNames, ApiNames)],
) -> impl Iterator<Item = (Range<usize>, String)> + 'a {
    let argument = |name: &str| {
        let start = marker.match_indices(name).map(|(at, _)| at).find(|at| marker[..*at].ends_with([':', ',']))?;
        let start = start + name.len();
        let length = marker[start..].find(',').unwrap_or(marker.len() - start);
        Some(start..start + length)
    };
    let found = || {
        let (groups, resources) = (argument("groups=")?, argument("resources=")?);
        let values = |range: &Range<usize>| -> Vec<&str> { marker[range.clone()].split(';').collect() };
        let plural = |resource: &'a str| resource.split('/').next().unwrap_or_default();
        let of_groups: Vec<&str> = values(&groups).iter().map(|group| group.trim_matches('"')).collect();
        let all: Vec<&(ApiNames, ApiNames)> =
            apis.iter().filter(|(old, _)| of_groups.contains(&old.group.as_str())).collect();
        let renamed = |resource: &'a str| all.iter().find(|(old, _)| old.plural == plural(resource));
        let of = values(&resources);
        let pairs: Vec<_> = of.iter().filter_map(|resource| renamed(resource)).collect();
        let (before, after) = pairs.first()?;
        let moves = before.group != after.group;
        if moves && (pairs.len() < of.len() || of_groups.len() > 1) {
            return None;
        }
        let new = |resource: &&'a str| match renamed(resource) {
            Some((old, new)) => format!("{}{}", new.plural, &resource[old.plural.len()..]),
            None => (*resource).to_owned(),
        };
        let names: Vec<String> = of.iter().map(new).collect();
        let mut edits = vec![(resources, names.join(";"))];
        if moves {
            edits.push((groups, after.group.clone()));
        }
        if let Some(versions) = argument("versions=") {
            let versions_of = |version: &str| match pairs.iter().find(|(old, _)| old.version == version) {
                Some((_, new)) => new.version.clone(),
                None => version.to_owned(),
            };
            let all: Vec<String> = values(&versions).into_iter().map(versions_of).collect();
            edits.push((versions, all.join(";")));
        }
        Some(edits)
    };
    found().into_iter().flatten().filter(|(range, new)| marker[range.clone()].trim_matches('"') != new)
}

/// The identifiers of `old` that are others in `new`, if both texts have the same structure. An identifier that changes in some
/// places only is left out.
#[must_use]
pub fn changed_words(old: &str, new: &str) -> BTreeMap<String, String> {
    let is_word =
        |token: &str| token.as_bytes().first().is_some_and(|byte| lexer::is_ident(*byte)) && !token.contains('"');
    let [old, new] = [old, new].map(|text| lexer::tokens(text).map(|(_, token)| token).collect::<Vec<_>>());
    let mut words: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    if old.len() == new.len() {
        for (old, new) in old.into_iter().zip(new).filter(|(old, new)| is_word(old) && is_word(new)) {
            words.entry(old).or_default().insert(new);
        }
    }
    words
        .into_iter()
        .filter_map(|(old, all)| match all.into_iter().collect::<Vec<_>>()[..] {
            [new] if new != old => Some((old.to_owned(), new.to_owned())),
            _ => None,
        })
        .collect()
}

/// Returns true if a text declares a module whose items are in another file.
#[must_use]
pub fn declares_modules(text: &str) -> bool {
    let tokens: Vec<&str> = lexer::tokens(text).map(|(_, token)| token).collect();
    tokens.windows(3).any(|window| window[0] == "mod" && window[2] == ";")
}

/// Removes arguments from `#[kube(…)]`, and adds another one behind the version.
#[must_use]
pub fn with_kube_arguments(text: &str, without: &[&str], with: &str) -> String {
    let tokens: Vec<(usize, &str)> = lexer::tokens(text).collect();
    let is_kube = |at: usize| ["#", "[", "kube", "("].iter().enumerate().all(|(n, word)| tokens[at + n].1 == *word);
    let starts = (0..tokens.len().saturating_sub(4)).filter(|at| is_kube(*at));
    let mut edits = Vec::new();
    for argument in starts.flat_map(|at| arguments(&tokens, at + 4)) {
        let ((at, name), (before, opening)) = (tokens[argument.start], tokens[argument.start - 1]);
        let (before, (end, separator)) = (before + opening.len(), tokens[argument.end]);
        if without.contains(&name) {
            edits.push((before..end + usize::from(separator == ","), String::new()));
        } else if name == "version" {
            let space = if before == at { " " } else { &text[before..at] };
            edits.push((end..end, format!(",{space}{with}")));
        }
    }
    replaced(text, edits)
}

/// The offset of an identifier in a text.
#[must_use]
pub fn identifier(text: &str, name: &str) -> Option<usize> {
    lexer::tokens(text).find(|(_, token)| *token == name).map(|(at, _)| at)
}

/// The paths that a text imports, without globs and new names. Empty for a text that is not Rust.
#[must_use]
pub fn imports(text: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    if let Ok(file) = syn::parse_file(text) {
        items(&file.items, &mut paths);
    }
    paths
}

fn items(all: &[Item], paths: &mut Vec<Vec<String>>) {
    for item in all {
        match item {
            Item::Use(item) => leaves(&item.tree, &mut Vec::new(), paths),
            Item::Mod(item) => items(item.content.as_ref().map_or(&[], |(_, items)| items), paths),
            _ => {}
        }
    }
}

fn leaves(tree: &UseTree, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    match tree {
        UseTree::Path(inner) => {
            path.push(inner.ident.to_string());
            leaves(&inner.tree, path, paths);
            path.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, path, paths)),
        UseTree::Name(leaf) if leaf.ident == "self" => paths.push(path.clone()),
        UseTree::Name(leaf) => paths.push(path.iter().cloned().chain([leaf.ident.to_string()]).collect()),
        UseTree::Rename(_) | UseTree::Glob(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect()
    }

    fn api(group: &str, version: &str, kind: &str, plural: &str, short_names: &[&str]) -> ApiNames {
        ApiNames {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            short_names: short_names.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn names_follow_by_syntax() {
        let names = Renames {
            words: map(&[("Cat", "Dog"), ("CatSpec", "DogSpec"), ("cat", "dog")]),
            roots: map(&[("cats", "dogs")]),
            apis: vec![(api("a.io", "v1", "Cat", "cats", &["c"]), api("b.io", "v2", "Dog", "dogs", &["d"]))],
        };
        for (name, text, expected) in [
            ("identifiers", "fn f(cat: Cat) -> CatSpec { cat.spec }", "fn f(dog: Dog) -> DogSpec { dog.spec }"),
            (
                "parts of identifiers",
                "struct CatX; fn my_cat() {} 'cat: loop {}",
                "struct CatX; fn my_cat() {} 'dog: loop {}",
            ),
            ("texts and comments", "f(\"Cat\") // Cat\n/* Cat */ 'C'", "f(\"Cat\") // Cat\n/* Cat */ 'C'"),
            (
                "arguments of a text",
                "f!(\"{cat} {cat:?} {{cat}} {cats} cat\")",
                "f!(\"{dog} {dog:?} {{cat}} {cats} cat\")",
            ),
            (
                "roots of paths",
                "use cats; cats::f(); x.cats; a::cats::b(); let cats = 1;",
                "use dogs; dogs::f(); x.cats; a::cats::b(); let cats = 1;",
            ),
            ("modules above", "super::cats::f(); self::cats::f()", "super::dogs::f(); self::dogs::f()"),
            (
                "attributes that name types",
                "#[serde(default = \"Cat::new\", rename = \"Cat\")] #[doc = \"Cat\"]",
                "#[serde(default = \"Dog::new\", rename = \"Cat\")] #[doc = \"Cat\"]",
            ),
            (
                "the names of the kind",
                "#[kube(group = \"a.io\", version = \"v1\", kind = \"Cat\", plural = \"cats\", shortname = \"c\", singular = \"cat\", status = \"CatSpec\", category = \"cats\")]",
                "#[kube(group = \"b.io\", version = \"v2\", kind = \"Dog\", plural = \"dogs\", shortname = \"d\", singular = \"dog\", status = \"DogSpec\", category = \"cats\")]",
            ),
            (
                "another kind",
                "#[kube(group = \"a.io\", version = \"v1\", kind = \"Cow\", plural = \"cats\")]",
                "#[kube(group = \"a.io\", version = \"v1\", kind = \"Cow\", plural = \"cats\")]",
            ),
            (
                "a permission",
                "// +kubebuilder:rbac:groups=a.io,resources=cats;cats/status,verbs=get",
                "// +kubebuilder:rbac:groups=b.io,resources=dogs;dogs/status,verbs=get",
            ),
            (
                "a permission for more than the kind",
                "// +kubebuilder:rbac:groups=a.io,resources=cats;cows,verbs=get",
                "// +kubebuilder:rbac:groups=a.io,resources=cats;cows,verbs=get",
            ),
            (
                "a webhook",
                "// +kubebuilder:webhook:path=/cats,groups=\"a.io\",resources=cats,versions=v1;v3,name=cats.a.io",
                "// +kubebuilder:webhook:path=/cats,groups=b.io,resources=dogs,versions=v2;v3,name=cats.a.io",
            ),
            ("no marker", "// groups=a.io,resources=cats", "// groups=a.io,resources=cats"),
        ] {
            assert_eq!(renamed(text, &names), expected, "{name}");
        }
    }

    #[test]
    fn a_plural_changes_beside_other_groups_and_resources() {
        let apis = vec![(api("a.io", "v1", "Cat", "cats", &[]), api("a.io", "v1", "Cat", "kitties", &[]))];
        let names = Renames { apis, ..Renames::default() };
        let text = "// +kubebuilder:rbac:groups=a.io;\"\",resources=cats/scale;pods,verbs=get";
        assert_eq!(renamed(text, &names), text.replace("cats", "kitties"));
    }

    #[test]
    fn arguments_of_kube_are_removed_and_added() {
        for (text, expected) in [
            (
                "#[kube(\n    group = \"a\",\n    version = \"v1\",\n    storage = true,\n    status = \"S\"\n)]",
                "#[kube(\n    group = \"a\",\n    version = \"v1\",\n    storage = false,\n    status = \"S\"\n)]",
            ),
            (
                "#[kube(version = \"v1\", deprecated, scale(storage = \"x\"))]",
                "#[kube(version = \"v1\", storage = false, scale(storage = \"x\"))]",
            ),
            ("#[kube(served = false, version = \"v1\")]", "#[kube( version = \"v1\", storage = false)]"),
            ("#[serde(version)]", "#[serde(version)]"),
        ] {
            assert_eq!(with_kube_arguments(text, &["deprecated", "served", "storage"], "storage = false"), expected);
        }
    }

    #[test]
    fn modules_in_other_files_are_noticed() {
        for (text, expected) in [("pub mod a;", true), ("mod a { fn f() {} }", false), ("// mod a;", false)] {
            assert_eq!(declares_modules(text), expected, "{text}");
        }
    }

    #[test]
    fn words_that_change_everywhere_are_found() {
        let old = "use v1::Cat; fn cat(x: v1::X) { f(\"Cat\") }";
        assert_eq!(
            changed_words(old, &old.replace("Cat", "Dog").replace("cat(", "dog(")),
            map(&[("Cat", "Dog"), ("cat", "dog")])
        );
        assert_eq!(changed_words("v1::a v1::b", "v2::a v1::b"), map(&[]));
        assert_eq!(changed_words("a b", "c"), map(&[]));
    }

    #[test]
    fn imports_are_found_by_their_last_name() {
        let text = "use a::{b::C, C, d::{self}}; mod m { use super::C as D; use super::e::C; }";
        let paths = |name: &str| {
            let of = imports(text).into_iter().filter(|path| path.last().is_some_and(|last| last == name));
            of.map(|path| path.join("::")).collect::<Vec<_>>()
        };
        assert_eq!(paths("C"), ["a::b::C", "a::C", "super::e::C"]);
        assert_eq!(paths("d"), ["a::d"]);
    }
}
