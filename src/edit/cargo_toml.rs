//! Additions to the user's Cargo.toml with `toml_edit`, which keeps comments, order and layout. Existing entries are
//! never removed or replaced: a dependency keeps its version, source and features.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::EditError;

/// A table of dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// `[dependencies]`
    Dependencies,
    /// `[dev-dependencies]`
    DevDependencies,
}

impl Section {
    const fn key(self) -> &'static str {
        match self {
            Section::Dependencies => "dependencies",
            Section::DevDependencies => "dev-dependencies",
        }
    }
}

/// A required dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DependencyEdit<'a> {
    /// The published crate name.
    pub name: &'a str,
    /// The version requirement.
    pub version: &'a str,
    /// True for default features. Not changed in an existing dependency.
    pub default_features: bool,
    /// Required features.
    pub features: &'a [&'a str],
}

/// Adds the dependency, or its missing features to an existing one under any local name. A dev-dependency is not needed
/// if `[dependencies]` has it with all features, and goes when it gets there.
pub(crate) fn add_dependency(
    text: &str,
    section: Section,
    dependency: &DependencyEdit<'_>,
) -> Result<String, EditError> {
    edit(text, &dependency.help(section), |document| {
        let name = |section: Section| {
            let table = document.get(section.key()).and_then(Item::as_table_like);
            local_name(document, table, dependency.name)
        };
        if section == Section::DevDependencies
            && let Some(name) = name(Section::Dependencies)
            && has_features(&document[Section::Dependencies.key()][&name], dependency.features)
        {
            return Some(());
        }
        let name = name(section);
        let table = table_like(document.as_table_mut(), section.key())?;
        match name {
            Some(name) => add_features(table.get_mut(&name)?, dependency.features),
            // Another crate uses the name.
            None if table.contains_key(dependency.name) => None,
            None => {
                insert_sorted(table, dependency.name, dependency.item());
                if section == Section::Dependencies {
                    remove_dev_dependency(document, dependency);
                }
                Some(())
            }
        }
    })
}

/// Removes a dev-dependency that `[dependencies]` now has with the same version and no fewer features.
fn remove_dev_dependency(document: &mut DocumentMut, dependency: &DependencyEdit<'_>) {
    let dev = document.get_mut(Section::DevDependencies.key()).and_then(Item::as_table_like_mut);
    let Some(dev) = dev else { return };
    if dev.get(dependency.name).and_then(Item::as_str) == Some(dependency.version) {
        dev.remove(dependency.name);
    }
}

/// The key of the crate in the table: its name, or a key with `package`, here or in the workspace table of the same
/// file.
fn local_name(document: &DocumentMut, table: Option<&dyn TableLike>, name: &str) -> Option<String> {
    let workspace = document.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    let package = |item: &Item, key: &str| -> String {
        let inherited = item.get("workspace").and_then(Item::as_bool) == Some(true);
        let item = if inherited { workspace.and_then(|table| table.get(key)) } else { Some(item) };
        item.and_then(|item| item.get("package")?.as_str()).unwrap_or(key).to_owned()
    };
    table?.iter().find(|(key, item)| package(item, key) == name).map(|(key, _)| key.to_owned())
}

fn has_features(dependency: &Item, features: &[&str]) -> bool {
    let present = dependency.get("features").and_then(Item::as_array);
    let has = |feature: &&str| present.is_some_and(|array| array.iter().any(|value| value.as_str() == Some(feature)));
    features.iter().all(has)
}

pub(crate) fn add_feature(text: &str, section: Section, dependency: &str, feature: &str) -> Result<String, EditError> {
    let help = format!("add feature `{feature}` to `{dependency}` in `[{}]`", section.key());
    edit(text, &help, |document| {
        let table = document.get_mut(section.key())?.as_table_like_mut()?;
        add_features(table.get_mut(dependency)?, &[feature])
    })
}

/// Sets the required version of an existing dependency, under any local name, for the program and for its tests.
pub(crate) fn require(text: &str, package: &str, version: &str) -> Result<String, EditError> {
    let help = format!("set the version of `{package}` in `[dependencies]` to \"{version}\"");
    edit(text, &help, |document| {
        for section in [Section::Dependencies, Section::DevDependencies] {
            let table = document.get(section.key()).and_then(Item::as_table_like);
            let name = match local_name(document, table, package) {
                Some(name) => name,
                None if section == Section::DevDependencies => continue,
                None => return None,
            };
            set_version(document, section, &name, version)?;
        }
        Some(())
    })
}

fn set_version(document: &mut DocumentMut, section: Section, name: &str, version: &str) -> Option<()> {
    let dependency = document.get_mut(section.key())?.get_mut(name)?;
    let old = if dependency.is_str() { dependency } else { dependency.get_mut("version")? }.as_value_mut()?;
    let decor = old.decor().clone();
    *old = version.into();
    *old.decor_mut() = decor;
    Some(())
}

/// Like [`require`], for a package that only tests may use. A project without it stays as it is.
pub(crate) fn require_for_tests(text: &str, package: &str, version: &str) -> Result<String, EditError> {
    let help = format!("set the version of `{package}` in `[dev-dependencies]` to \"{version}\"");
    edit(text, &help, |document| {
        let table = document.get(Section::DevDependencies.key()).and_then(Item::as_table_like);
        let Some(name) = local_name(document, table, package) else { return Some(()) };
        set_version(document, Section::DevDependencies, &name, version)
    })
}

/// Records releases in `verified` of `[package.metadata.memcached-sdk]`. Each replaces an unlisted release of the same
/// crate.
pub(crate) fn record_verified(text: &str, releases: &[String]) -> Result<String, EditError> {
    let list: Array = releases.iter().map(String::as_str).collect();
    let help = format!("add this line to `[package.metadata.memcached-sdk]`:\nverified = {}", list.to_string().trim());
    edit(text, &help, |document| {
        let mut table: &mut dyn TableLike = document.get_mut("package")?.as_table_like_mut()?;
        for (key, implicit) in [("metadata", true), ("memcached-sdk", false)] {
            let new = || {
                let mut table = Table::new();
                table.set_implicit(implicit);
                Item::Table(table)
            };
            table = table.entry(key).or_insert_with(new).as_table_like_mut()?;
        }
        let verified = table.entry("verified").or_insert_with(|| Item::Value(Value::Array(Array::new())));
        if let Some(one) = verified.as_str() {
            *verified = Item::Value(Value::Array(Array::from_iter([one])));
        }
        let array = verified.as_array_mut()?;
        for release in releases {
            let krate = release.split(' ').next();
            let present: Vec<&str> = array.iter().filter_map(Value::as_str).collect();
            if present.contains(&release.as_str()) {
                continue;
            }
            let other =
                |text: &&str| text.split(' ').next() == krate && !releases.iter().any(|release| release == text);
            let at = array.iter().position(|value| value.as_str().as_ref().is_some_and(other));
            if let Some(at) = at {
                let decor = array.get(at)?.decor().clone();
                let mut value = Value::from(release.as_str());
                *value.decor_mut() = decor;
                array.replace_formatted(at, value);
            } else {
                insert_feature(array, array.len(), release);
            }
        }
        Some(())
    })
}

/// Runs `change`; `None` from it means valid TOML in a layout that Cargo does not accept.
fn edit(text: &str, help: &str, change: impl FnOnce(&mut DocumentMut) -> Option<()>) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
            let line = error.span().map_or(1, |span| text.get(..span.start).unwrap_or(text).matches('\n').count() + 1);
            EditError::new(format!("line {line} is not valid TOML: {}", error.message())).help("correct the file")
        })?;
        change(&mut document)
            .ok_or_else(|| EditError::new("the file is not a valid Cargo manifest").help(help.to_owned()))?;
        Ok(document.to_string())
    })
}

impl DependencyEdit<'_> {
    fn item(&self) -> Item {
        if self.default_features && self.features.is_empty() {
            return Item::Value(self.version.into());
        }
        let mut table = InlineTable::new();
        table.insert("version", self.version.into());
        if !self.default_features {
            table.insert("default-features", false.into());
        }
        if !self.features.is_empty() {
            table.insert("features", Value::Array(self.features.iter().copied().collect()));
        }
        Item::Value(Value::InlineTable(table))
    }

    fn help(&self, section: Section) -> String {
        format!("add this line to `[{}]`:\n{} = {}", section.key(), self.name, self.item().to_string().trim())
    }
}

/// The table at `key`, created below `[dependencies]` if missing; `None` if the key has another type.
fn table_like<'a>(parent: &'a mut Table, key: &str) -> Option<&'a mut dyn TableLike> {
    let place = parent.get(Section::Dependencies.key()).and_then(Item::as_table).and_then(Table::position);
    let new = || {
        let mut table = Table::new();
        table.set_position(place);
        Item::Table(table)
    };
    parent.entry(key).or_insert_with(new).as_table_like_mut()
}

/// Inserts the key in order if the table is sorted, otherwise at the end.
fn insert_sorted(table: &mut dyn TableLike, key: &str, item: Item) {
    let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
    table.insert(key, item);
    if keys.is_sorted() {
        table.sort_values();
    }
}

fn add_features(dependency: &mut Item, features: &[&str]) -> Option<()> {
    if features.is_empty() {
        return Some(());
    }
    if let Some(version) = dependency.as_str() {
        let mut table = InlineTable::new();
        table.insert("version", version.into());
        let mut value = Value::InlineTable(table);
        if let Some(old) = dependency.as_value() {
            *value.decor_mut() = old.decor().clone();
        }
        *dependency = Item::Value(value);
    }
    if let Some(table) = dependency.as_inline_table_mut()
        && !table.contains_key("features")
        && let Some((_, last)) = table.iter_mut().last()
    {
        // Remove the space before the brace, because it would end up before a comma.
        last.decor_mut().set_suffix("");
    }
    let table = dependency.as_table_like_mut()?;
    if !table.contains_key("features") {
        table.insert("features", Item::Value(Value::Array(Array::new())));
    }
    let array = table.get_mut("features")?.as_array_mut()?;
    for feature in features {
        let present: Vec<&str> = array.iter().filter_map(Value::as_str).collect();
        if present.contains(feature) {
            continue;
        }
        let at = if present.is_sorted() { present.partition_point(|other| other < feature) } else { present.len() };
        insert_feature(array, at, feature);
    }
    Some(())
}

fn insert_feature(array: &mut Array, at: usize, feature: &str) {
    insert_value(array, at, feature.into());
}

/// Adds a value in the order of the array, otherwise at the end.
pub(super) fn add_value(array: &mut Array, value: &Value) {
    let present: Option<Vec<&str>> = array.iter().map(Value::as_str).collect();
    let at = match (present, value.as_str()) {
        (Some(present), Some(text)) if present.is_sorted() => present.partition_point(|other| *other < text),
        _ => array.len(),
    };
    insert_value(array, at, value.clone());
}

fn insert_value(array: &mut Array, at: usize, value: Value) {
    let line_break = array.iter().last().and_then(|last| last.decor().prefix()?.as_str()).filter(|p| p.contains('\n'));
    let line_break = line_break.map(|prefix| prefix[prefix.rfind('\n').unwrap_or_default()..].to_owned());
    match line_break {
        Some(prefix) => {
            // The comment in the line of the value before it.
            let after = match array.get_mut(at) {
                Some(next) => next.decor().prefix().and_then(|prefix| prefix.as_str()),
                None => array.trailing().as_str(),
            };
            let (comment, rest) = after.unwrap_or_default().split_once('\n').unwrap_or_default();
            let (comment, rest) = (comment.trim_end().to_owned(), format!("\n{rest}"));
            if at > 0 && !comment.is_empty() {
                match array.get_mut(at) {
                    Some(next) => next.decor_mut().set_prefix(rest),
                    None => array.set_trailing(rest),
                }
            }
            let comment = if at > 0 { comment } else { String::new() };
            array.insert_formatted(at, value.decorated(comment + &prefix, ""));
        }
        None if at == 0 && !array.is_empty() => {
            if let Some(first) = array.get_mut(0) {
                first.decor_mut().set_prefix(" ");
            }
            array.insert_formatted(0, value.decorated("", ""));
        }
        None if array.is_empty() => array.push_formatted(value.decorated("", "")),
        None => array.insert_formatted(at, value.decorated(" ", "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBE: DependencyEdit<'_> =
        DependencyEdit { name: "kube", version: "5", default_features: false, features: &["client", "derive"] };
    const JIFF: DependencyEdit<'_> =
        DependencyEdit { name: "jiff", version: "0.2", default_features: true, features: &[] };

    fn check(edit: impl Fn(&str) -> Result<String, EditError>, text: &str, expected: &str) {
        for endings in ["\n", "\r\n"] {
            let (text, expected) = (text.replace('\n', endings), expected.replace('\n', endings));
            let once = edit(&text).unwrap();
            assert_eq!(once, expected);
            assert_eq!(edit(&once).unwrap(), once, "twice is the same as once");
        }
    }

    #[test]
    fn verified_releases_are_listed() {
        let both = ["schemars 1.2.4".to_owned(), "kube 5.1.0".to_owned()];
        for (text, expected) in [
            (
                "[package]\nname = \"a\" # why\n\n[dependencies]\nkube = \"5\"\n",
                "[package]\nname = \"a\" # why\n\n[package.metadata.memcached-sdk]\nverified = [\"schemars 1.2.4\", \"kube 5.1.0\"]\n\n[dependencies]\nkube = \"5\"\n",
            ),
            (
                "[package]\nname = \"a\"\n[package.metadata.memcached-sdk]\ncrdgen = \"c\"\nverified = [\n    # long ago\n    \"schemars 1.2.3\", # fine\n    \"other 1.0.0\",\n]\n",
                "[package]\nname = \"a\"\n[package.metadata.memcached-sdk]\ncrdgen = \"c\"\nverified = [\n    # long ago\n    \"schemars 1.2.4\", # fine\n    \"other 1.0.0\",\n    \"kube 5.1.0\",\n]\n",
            ),
            (
                "[package]\nname = \"a\"\nmetadata.memcached-sdk.verified = \"kube 5.0.9\"\n",
                "[package]\nname = \"a\"\nmetadata.memcached-sdk.verified = [\"kube 5.1.0\", \"schemars 1.2.4\"]\n",
            ),
        ] {
            check(|text| record_verified(text, &both), text, expected);
        }
        let several = ["schemars 1.2.4".to_owned(), "schemars 1.3.0".to_owned()];
        let text = "[package]\nmetadata.memcached-sdk = { verified = [\"schemars 1.2.4\"] }\n";
        let expected = "[package]\nmetadata.memcached-sdk = { verified = [\"schemars 1.2.4\", \"schemars 1.3.0\"] }\n";
        check(|text| record_verified(text, &several), text, expected);
        let wrong = record_verified("[package]\nmetadata.memcached-sdk.verified = 1\n", &both).unwrap_err();
        assert_eq!(
            wrong.help.as_deref(),
            Some(
                "add this line to `[package.metadata.memcached-sdk]`:\nverified = [\"schemars 1.2.4\", \"kube 5.1.0\"]"
            )
        );
    }

    #[test]
    fn dependencies_are_added_in_order_and_layout_stays() {
        for (dependency, text, expected) in [
            (
                JIFF,
                "# top\n[package]\nname = \"a\" # why\n\n[dependencies]\nanyhow = \"1\"\n# about kube\nkube = \"5\" # pinned\n\n[lints]\n",
                "# top\n[package]\nname = \"a\" # why\n\n[dependencies]\nanyhow = \"1\"\njiff = \"0.2\"\n# about kube\nkube = \"5\" # pinned\n\n[lints]\n",
            ),
            // not sorted: at the end
            (JIFF, "[dependencies]\nz = \"1\"\na = \"1\"\n", "[dependencies]\nz = \"1\"\na = \"1\"\njiff = \"0.2\"\n"),
            (JIFF, "[package]\nname = \"a\"\n", "[package]\nname = \"a\"\n\n[dependencies]\njiff = \"0.2\"\n"),
            (JIFF, "[dependencies]\n", "[dependencies]\njiff = \"0.2\"\n"),
            (
                KUBE,
                "[dependencies]\n",
                "[dependencies]\nkube = { version = \"5\", default-features = false, features = [\"client\", \"derive\"] }\n",
            ),
            // exists: its version and its source stay
            (JIFF, "[dependencies]\njiff = \"0.1\"\n", "[dependencies]\njiff = \"0.1\"\n"),
            (JIFF, "[dependencies.jiff]\npath = \"../jiff\"\n", "[dependencies.jiff]\npath = \"../jiff\"\n"),
            (
                KUBE,
                "[dependencies]\nkube = \"4\" # old\n",
                "[dependencies]\nkube = { version = \"4\", features = [\"client\", \"derive\"] } # old\n",
            ),
            (
                KUBE,
                "[dependencies]\nkube = { version = \"5\", features = [\"derive\", \"admission\"] }\n",
                "[dependencies]\nkube = { version = \"5\", features = [\"derive\", \"admission\", \"client\"] }\n",
            ),
            (
                KUBE,
                "[dependencies]\nkube = { version = \"5\", features = [\"derive\"] }\n",
                "[dependencies]\nkube = { version = \"5\", features = [\"client\", \"derive\"] }\n",
            ),
            (
                KUBE,
                "[dependencies.kube]\nversion = \"5\"\nfeatures = [\n    \"derive\", # macros\n]\n",
                "[dependencies.kube]\nversion = \"5\"\nfeatures = [\n    \"client\",\n    \"derive\", # macros\n]\n",
            ),
            (
                KUBE,
                "[dependencies]\nkube.workspace = true\n",
                "[dependencies]\nkube.workspace = true\nkube.features = [\"client\", \"derive\"]\n",
            ),
            // exists under another name
            (
                KUBE,
                "[dependencies]\nk = { package = \"kube\", version = \"5\" } # short\n",
                "[dependencies]\nk = { package = \"kube\", version = \"5\", features = [\"client\", \"derive\"] } # short\n",
            ),
            (
                JIFF,
                "[dependencies]\ntime = { workspace = true }\n\n[workspace.dependencies]\ntime = { package = \"jiff\", version = \"0.2\" }\n",
                "[dependencies]\ntime = { workspace = true }\n\n[workspace.dependencies]\ntime = { package = \"jiff\", version = \"0.2\" }\n",
            ),
        ] {
            check(|text| add_dependency(text, Section::Dependencies, &dependency), text, expected);
        }
        check(
            |text| add_dependency(text, Section::DevDependencies, &JIFF),
            "[package]\nname = \"a\"\n\n[dependencies]\nanyhow = \"1\"\n\n[lints]\nworkspace = true\n",
            "[package]\nname = \"a\"\n\n[dependencies]\nanyhow = \"1\"\n\n[dev-dependencies]\njiff = \"0.2\"\n\n[lints]\nworkspace = true\n",
        );
        check(
            |text| add_dependency(text, Section::Dependencies, &JIFF),
            "[dependencies]\nanyhow = \"1\"\n\n[dev-dependencies]\nclap = \"4\"\njiff = \"0.2\"\n",
            "[dependencies]\nanyhow = \"1\"\njiff = \"0.2\"\n\n[dev-dependencies]\nclap = \"4\"\n",
        );
        // Tests see normal dependencies, which may have all that tests need.
        check(
            |text| add_dependency(text, Section::DevDependencies, &JIFF),
            "[dependencies]\njiff = \"0.2\"\n",
            "[dependencies]\njiff = \"0.2\"\n",
        );
        check(
            |text| add_dependency(text, Section::DevDependencies, &KUBE),
            "[dependencies]\nkube = { version = \"5\", features = [\"derive\"] }\n",
            "[dependencies]\nkube = { version = \"5\", features = [\"derive\"] }\n\n[dev-dependencies]\nkube = { version = \"5\", default-features = false, features = [\"client\", \"derive\"] }\n",
        );
    }

    #[test]
    fn a_feature_is_added() {
        check(
            |text| add_feature(text, Section::Dependencies, "kube", "ws"),
            "[dependencies]\nkube = { version = \"5\", features = [] }\n",
            "[dependencies]\nkube = { version = \"5\", features = [\"ws\"] }\n",
        );
    }

    #[test]
    fn what_can_not_be_edited_says_why_and_what_to_add() {
        for (text, message, help) in [
            ("[package\n", "line 1 is not valid TOML: unclosed table, expected `]`", "correct the file"),
            ("a = 1\na = 2\n", "line 2 is not valid TOML: duplicate key", "correct the file"),
            (
                "dependencies = 1\n",
                "the file is not a valid Cargo manifest",
                "add this line to `[dependencies]`:\nkube = { version = \"5\", default-features = false, features = \
                 [\"client\", \"derive\"] }",
            ),
            (
                "[dependencies]\nkube = { package = \"kubelet\", version = \"1\" }\n",
                "the file is not a valid Cargo manifest",
                "add this line to `[dependencies]`:\nkube = { version = \"5\", default-features = false, features = \
                 [\"client\", \"derive\"] }",
            ),
            (
                "[dependencies]\nkube = 5\n",
                "the file is not a valid Cargo manifest",
                "add this line to `[dependencies]`:\nkube = { version = \"5\", default-features = false, features = \
                 [\"client\", \"derive\"] }",
            ),
        ] {
            let problem = add_dependency(text, Section::Dependencies, &KUBE).unwrap_err();
            assert_eq!((problem.message.as_str(), problem.help.as_deref()), (message, Some(help)), "{text}");
        }
        assert!(add_feature("[package]\n", Section::Dependencies, "kube", "ws").is_err());
    }
}
