//! The embedded templates. A folder in `templates/` is a set, and a path in it is the output path.
//!
//! A path segment such as `{kind_snake}` is filled from the same context as the text. Every template ends in `.tera`.
//! Only this file knows tera.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use include_dir::{Dir, include_dir};
use serde::Serialize;
use serde_json::Value;
use tera::{Context, Tera};

use super::edition;

pub(super) static TEMPLATES: Dir = include_dir!("$CARGO_MANIFEST_DIR/templates");

const SUFFIX: &str = ".tera";

/// A rendered file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rendered {
    /// The path relative to the project.
    pub(crate) path: String,
    /// The text, with LF line ends and one at the end.
    pub(crate) text: String,
}

/// Renders all files of a set, sorted by path, as they are in the version `cli_version` of the context. An error is a bug: the context lacks a field, or a template is wrong.
pub(crate) fn render(set: &str, context: &impl Serialize) -> Result<Vec<Rendered>> {
    let render = || {
        let fields = serde_json::to_value(context)?;
        let context = Context::from_serialize(context)?;
        let mut tera = Tera::new();
        tera.autoescape_on(Vec::<&str>::new());
        let mut sources: BTreeMap<String, Cow<str>> =
            files(set)?.into_iter().map(|(path, text)| (path, Cow::Borrowed(text))).collect();
        if let Some(version) = fields["cli_version"].as_str() {
            edition::restore(version, set, &mut sources)?;
        }
        tera.add_raw_templates(sources.iter().map(|(path, text)| (path.as_str(), text.as_ref())))?;
        let mut rendered = Vec::new();
        for path in sources.keys() {
            let text = tera.render(path, &context)?;
            let output =
                path.strip_suffix(SUFFIX).ok_or_else(|| anyhow!("`{set}/{path}` does not end in `{SUFFIX}`"))?;
            let path = fill(output, &fields)?;
            let header = fields["header"].as_str().filter(|header| !header.is_empty() && is_rust(&path));
            let header = header.map_or_else(String::new, |header| format!("{header}\n"));
            rendered.push(Rendered { path, text: header + &one_newline(&text) });
        }
        rendered.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(rendered)
    };
    render().map_err(|error: anyhow::Error| error.context(format!("bug in memcached-sdk: template set `{set}`")))
}

pub(super) fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}

pub(super) fn files(set: &str) -> Result<Vec<(String, &'static str)>> {
    let root = TEMPLATES.get_dir(set).ok_or_else(|| anyhow!("no template set `{set}`"))?;
    let mut found = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        folders.extend(folder.dirs());
        for file in folder.files() {
            let path =
                file.path().strip_prefix(set)?.to_str().context("a template path is not UTF-8")?.replace('\\', "/");
            let text = file.contents_utf8().with_context(|| format!("`{path}` is not UTF-8"))?;
            found.push((path, text));
        }
    }
    found.sort();
    Ok(found)
}

fn fill(path: &str, fields: &Value) -> Result<String> {
    let mut filled = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').with_context(|| format!("`{path}`: no `}}`"))?;
        let value = fields[name].as_str().with_context(|| format!("`{path}`: the context has no text `{name}`"))?;
        filled.push_str(before);
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn one_newline(text: &str) -> String {
    let mut text = text.replace("\r\n", "\n").trim_end().to_owned();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_is_filled_from_the_context() {
        let fields = json!({"kind_snake": "memcached", "api_dir": "cache/v1"});
        assert_eq!(fill("src/api/{api_dir}/{kind_snake}.rs", &fields).unwrap(), "src/api/cache/v1/memcached.rs");
        assert_eq!(
            fill("src/{group}.rs", &fields).unwrap_err().to_string(),
            "`src/{group}.rs`: the context has no text `group`"
        );
    }

    #[test]
    fn every_template_ends_in_the_suffix() {
        let wrong: Vec<_> = TEMPLATES
            .dirs()
            .filter(|set| set.path() != Path::new(edition::HISTORY))
            .flat_map(|set| files(set.path().to_str().unwrap()).unwrap())
            .filter(|(path, _)| !path.ends_with(SUFFIX))
            .collect();
        assert_eq!(wrong, []);
        assert_eq!(TEMPLATES.files().count(), 0);
    }

    #[test]
    fn every_set_is_used() {
        let sets = TEMPLATES.dirs().map(|set| set.path().to_str().unwrap()).filter(|set| *set != edition::HISTORY);
        let sets: Vec<_> = sets.collect();
        let used = concat!(include_str!("../scaffold.rs"), include_str!("webhook.rs"));
        let unused: Vec<_> = sets.iter().filter(|set| !used.contains(&format!("(\"{set}\""))).collect();
        assert!(unused.is_empty() && !sets.is_empty(), "{unused:?} of {sets:?}");
    }

    #[test]
    fn templates_are_unix_text_that_ends_in_one_newline() {
        for set in TEMPLATES.dirs().filter(|set| set.path() != Path::new(edition::HISTORY)) {
            for (path, text) in files(set.path().to_str().unwrap()).unwrap() {
                assert!(!text.contains('\r'), "{path}");
                assert_eq!(text.len() - text.trim_end().len(), 1, "{path}");
            }
        }
    }
}
