//! The source of a project's runtime, the package `memcached-sdk-manager`, and of the explorer, which comes the same way.

use std::fmt;

use crate::diagnostic::Problem;

/// The source of the runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManagerSource {
    /// A copy in the folder `manager/` of the project.
    Vendored,
    /// A release on crates.io.
    Registry,
    /// A git repository.
    Git {
        /// The URL.
        url: String,
        /// A commit, tag or branch; `None` is the default branch.
        rev: Option<String>,
    },
    /// A folder that this tool does not write, relative to the project, with `/`.
    Path(String),
    /// No runtime: the crate existed before the project, and starts its controllers itself.
    None,
}

impl ManagerSource {
    /// The source for new projects: a copy until the package is on crates.io.
    pub const DEFAULT: Self = Self::Vendored;

    /// Parses `vendored`, `registry`, `git=URL[#REV]`, `path=DIR` or `none`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let is_plain =
            |text: &str| !text.is_empty() && !text.contains(['"', '\\', '\'']) && !text.chars().any(char::is_control);
        match text.split_once('=') {
            None if text == "vendored" => Ok(Self::Vendored),
            None if text == "registry" => Ok(Self::Registry),
            None if text == "none" => Ok(Self::None),
            Some(("git", url)) if is_plain(url) => Ok(match url.split_once('#') {
                Some((url, rev)) if !rev.is_empty() => Self::Git { url: url.to_owned(), rev: Some(rev.to_owned()) },
                _ => Self::Git { url: url.trim_end_matches('#').to_owned(), rev: None },
            }),
            Some(("path", dir)) if is_plain(dir) => match relative(dir) {
                Some(dir) => Ok(Self::Path(dir)),
                None => Err(Problem::new(format!("`{dir}` must be a folder relative to the project"))
                    .help("use a path such as `path=../manager`")),
            },
            _ => Err(Problem::new(format!("`{}` is not a valid source of the runtime", text.escape_debug()))
                .help("use `vendored`, `registry`, `git=URL[#REV]` or `path=DIR`")),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Vendored => "vendored",
            Self::Registry => "registry",
            Self::Git { .. } => "git",
            Self::Path(_) => "path",
            Self::None => "none",
        }
    }

    /// The folder of the runtime relative to the project, if it has one.
    pub(crate) fn folder(&self) -> Option<&str> {
        match self {
            Self::Vendored => Some("manager"),
            Self::Path(dir) => Some(dir),
            Self::Registry | Self::Git { .. } | Self::None => None,
        }
    }

    /// The folder of the explorer, beside the runtime.
    pub(crate) fn explorer_folder(&self) -> Option<String> {
        let above = self.folder()?.rsplit_once('/').map(|(above, _)| format!("{above}/")).unwrap_or_default();
        Some(format!("{above}explorer"))
    }

    /// The keys of the dependency on the explorer in `Cargo.toml`, except `package`.
    pub(crate) fn explorer_dependency(&self, version: &str) -> String {
        match self.explorer_folder() {
            Some(folder) => format!("path = \"{folder}\""),
            None => self.dependency(version),
        }
    }

    /// The keys of the dependency in `Cargo.toml`, except `package`.
    pub(crate) fn dependency(&self, version: &str) -> String {
        match self {
            Self::Vendored => "path = \"manager\"".to_owned(),
            Self::Registry => format!("version = \"{version}\""),
            Self::Git { url, rev: None } => format!("git = \"{url}\""),
            Self::Git { url, rev: Some(rev) } => format!("git = \"{url}\", rev = \"{rev}\""),
            Self::Path(dir) => format!("path = \"{dir}\""),
            Self::None => String::new(),
        }
    }
}

impl fmt::Display for ManagerSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vendored => f.write_str("vendored"),
            Self::Registry => f.write_str("registry"),
            Self::Git { url, rev: None } => write!(f, "git={url}"),
            Self::Git { url, rev: Some(rev) } => write!(f, "git={url}#{rev}"),
            Self::Path(dir) => write!(f, "path={dir}"),
            Self::None => f.write_str("none"),
        }
    }
}

/// Normalizes a relative path, with `/`; `None` for an absolute path and for the project's own folder.
fn relative(dir: &str) -> Option<String> {
    let dir = dir.replace('\\', "/");
    if dir.starts_with('/') || dir.contains(':') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in dir.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    if parts.iter().all(|part| *part == "..") { None } else { Some(parts.join("/")) }
}

#[cfg(test)]
mod tests {
    use super::ManagerSource;

    #[test]
    fn a_source_is_parsed_and_shown() {
        for (text, shown) in [
            ("vendored", "vendored"),
            ("registry", "registry"),
            ("none", "none"),
            ("git=https://example.com/sdk", "git=https://example.com/sdk"),
            ("git=https://example.com/sdk#v1.0.0", "git=https://example.com/sdk#v1.0.0"),
            ("git=https://example.com/sdk#", "git=https://example.com/sdk"),
            ("path=../manager", "path=../manager"),
            ("path=./x/../../manager/", "path=../manager"),
        ] {
            assert_eq!(ManagerSource::parse(text).unwrap().to_string(), shown, "{text}");
        }
        for text in [
            "",
            "copy",
            "vendored=1",
            "git",
            "git=",
            "path",
            "path=",
            "path=/a",
            "path=.",
            "path=..",
            "path=a\"b",
            "path=C:/a",
        ] {
            assert!(ManagerSource::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_explorer_is_beside_the_runtime() {
        for (source, folder) in [
            ("vendored", Some("explorer")),
            ("path=../manager", Some("../explorer")),
            ("path=lib", Some("explorer")),
            ("path=../../a/b", Some("../../a/explorer")),
            ("registry", None),
            ("git=https://example.com/sdk", None),
        ] {
            assert_eq!(ManagerSource::parse(source).unwrap().explorer_folder().as_deref(), folder, "{source}");
        }
    }

    /// Change it only after the package is on crates.io: see docs/contributing.md, "Publish a release".
    #[test]
    fn a_new_project_has_a_copy() {
        assert_eq!(ManagerSource::DEFAULT, ManagerSource::Vendored);
    }
}
