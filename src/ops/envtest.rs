//! `envtest`: etcd and kube-apiserver for tests, in the folder that setup-envtest uses.
#![expect(
    clippy::disallowed_methods,
    reason = "downloads lie outside of the project, in a store that other tools share"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use semver::Version;
use serde::Deserialize;
use sha2::{Digest as _, Sha512};

use crate::diagnostic::Problem;

/// The list of releases of controller-tools.
pub(crate) const INDEX: &str =
    "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml";

/// Begins the names of folders of downloads.
const DOWNLOAD: &str = ".download-";

/// Downloads that are older were interrupted.
const STALE: Duration = Duration::from_hours(1);

/// The release, and where it is looked for.
pub(crate) struct EnvtestOptions {
    /// A version or the beginning of one, such as `1.36`; empty for the newest.
    pub(crate) version: String,
    /// The store; by default that of setup-envtest.
    pub(crate) dir: Option<PathBuf>,
    /// A file or a URL.
    pub(crate) index: String,
}

/// The folder with the programs.
pub(crate) struct EnvtestRelease {
    pub(crate) folder: PathBuf,
    /// The version, if it was downloaded now.
    pub(crate) downloaded: Option<Version>,
}

/// A file of controller-tools.
#[derive(Deserialize)]
struct ReleaseIndex {
    releases: BTreeMap<String, BTreeMap<String, Archive>>,
}

#[derive(Deserialize)]
struct Archive {
    /// SHA-512, in hexadecimal.
    hash: String,
    #[serde(rename = "selfLink")]
    url: String,
}

/// Finds an installed release, or downloads one.
pub(crate) fn provide(options: &EnvtestOptions) -> Result<EnvtestRelease> {
    let wanted = WantedAssets::parse(&options.version)?;
    let dir = match &options.dir {
        Some(dir) => std::path::absolute(dir).with_context(|| format!("`{}` is not a path", dir.display()))?,
        None => store(std::env::consts::OS, |name| std::env::var_os(name).filter(|value| !value.is_empty()))
            .ok_or_else(|| Problem::new("the home folder is not known").help("pass `--dir DIR`"))?,
    };
    let releases = dir.join("k8s");
    let platform = platform();
    if let Some(folder) = installed(&releases, &wanted, &platform) {
        return Ok(EnvtestRelease { folder, downloaded: None });
    }
    let download = Download::start(&releases)?;
    let index = download.index(&options.index)?;
    let (version, archive) = newest(&index, &wanted, &platform, &options.index)?;
    let folder = releases.join(format!("{version}-{platform}"));
    download.unpack(archive, &folder)?;
    Ok(EnvtestRelease { folder, downloaded: Some(version) })
}

/// Finds the folder that tests take: `KUBEBUILDER_ASSETS`, or else the newest release in the store.
pub(crate) fn installed_folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = variable("KUBEBUILDER_ASSETS") {
        return Some(PathBuf::from(folder)).filter(|folder| has_programs(folder));
    }
    let releases = store(std::env::consts::OS, variable)?.join("k8s");
    installed(&releases, &WantedAssets { text: String::new(), exact: None, parts: Vec::new() }, &platform())
}

/// Which releases will do.
struct WantedAssets {
    text: String,
    exact: Option<Version>,
    parts: Vec<u64>,
}

impl WantedAssets {
    /// Parses `1.36`, `v1.36.2`, `1.36.x` or an empty text.
    fn parse(text: &str) -> Result<Self, Problem> {
        let version = text.trim_start_matches('v');
        let exact = Version::parse(version).ok();
        let parts = if exact.is_some() {
            Some(Vec::new())
        } else {
            let parts = version.split('.').filter(|part| !["", "x", "*"].contains(part));
            parts.map(|part| part.parse().ok()).collect::<Option<Vec<u64>>>()
        };
        let parts = parts.filter(|parts| parts.len() <= 3).ok_or_else(|| {
            Problem::new(format!("`{}` is not a valid Kubernetes version", text.escape_debug()))
                .help("pass a version such as `1.36` or `1.36.2`")
        })?;
        Ok(Self { text: text.to_owned(), exact, parts })
    }

    /// Prereleases match only exactly.
    fn matches(&self, version: &Version) -> bool {
        if let Some(exact) = &self.exact {
            return version == exact;
        }
        let parts = [version.major, version.minor, version.patch];
        version.pre.is_empty() && parts.starts_with(&self.parts)
    }
}

/// Returns the store of setup-envtest on a platform.
fn store(os: &str, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let home = || variable("HOME").map(PathBuf::from);
    Some(match os {
        "windows" => PathBuf::from(variable("LocalAppData")?).join("kubebuilder-envtest"),
        "macos" => home()?.join("Library/Application Support/io.kubebuilder.envtest"),
        _ => {
            let data = variable("XDG_DATA_HOME").map(PathBuf::from);
            data.or_else(|| Some(home()?.join(".local/share")))?.join("kubebuilder-envtest")
        }
    })
}

/// Returns the platform as Go names it: `linux-amd64`.
fn platform() -> String {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        other => other,
    };
    format!("{os}-{arch}")
}

fn has_programs(folder: &Path) -> bool {
    ["etcd", "kube-apiserver"].iter().all(|name| {
        let program = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        folder.join(program).is_file()
    })
}

fn installed(releases: &Path, wanted: &WantedAssets, platform: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(releases).ok()?.filter_map(Result::ok);
    let found = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = Version::parse(name.strip_suffix(platform)?.strip_suffix('-')?).ok()?;
        (wanted.matches(&version) && has_programs(&entry.path())).then(|| (version, entry.path()))
    });
    found.max().map(|(_, folder)| folder)
}

/// Returns the newest release of the index for a platform.
fn newest<'a>(
    index: &'a ReleaseIndex,
    wanted: &WantedAssets,
    platform: &str,
    source: &str,
) -> Result<(Version, &'a Archive)> {
    let versions = index.releases.iter().filter_map(|(name, archives)| {
        let version = Version::parse(name.trim_start_matches('v')).ok()?;
        Some((version, archives.get(&format!("envtest-{name}-{platform}.tar.gz"))?))
    });
    let versions: BTreeMap<Version, &Archive> = versions.collect();
    if let Some((version, archive)) = versions.iter().rfind(|(version, _)| wanted.matches(version)) {
        return Ok((version.clone(), archive));
    }
    let problem = Problem::new(match wanted.text.as_str() {
        "" => format!("no release for {platform} found in `{source}`"),
        text => format!("release `{text}` for {platform} not found in `{source}`"),
    });
    let newest: Vec<String> = versions.keys().rev().take(3).map(|version| format!("`{version}`")).collect();
    Err(match newest.as_slice() {
        [] => problem.help("pass `--index` with a list that has this platform"),
        newest => problem.help(format!("the newest releases there are {}", newest.join(", "))),
    }
    .into())
}

/// A folder beside the releases, on their file system. It goes when this value does.
struct Download(PathBuf);

impl Drop for Download {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Download {
    fn start(releases: &Path) -> Result<Self> {
        for entry in fs::read_dir(releases).into_iter().flatten().filter_map(Result::ok) {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
            let is_download = entry.file_name().to_string_lossy().starts_with(DOWNLOAD);
            if is_download && age.is_some_and(|age| age > STALE) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let folder = releases.join(format!("{DOWNLOAD}{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
        Ok(Self(folder))
    }

    fn index(&self, source: &str) -> Result<ReleaseIndex> {
        let text = if source.contains("://") {
            let file = self.0.join("index.yaml");
            fetch(source, &file, "pass `--index FILE` to read another list, or set KUBEBUILDER_ASSETS instead")?;
            fs::read_to_string(&file)
        } else {
            fs::read_to_string(source)
        };
        let text = text.with_context(|| format!("cannot read `{source}`"))?;
        serde_yaml::from_str(&text).map_err(|error| {
            Problem::new(format!("`{source}` is not a list of releases: {error}"))
                .help("it must have the form of controller-tools' `envtest-releases.yaml`")
                .into()
        })
    }

    /// Downloads an archive, checks it, and moves its programs to a folder in one step.
    fn unpack(&self, archive: &Archive, folder: &Path) -> Result<()> {
        let (file, content) = (self.0.join("archive.tar.gz"), self.0.join("content"));
        fetch(&archive.url, &file, "run the command again, or set KUBEBUILDER_ASSETS to a folder with the programs")?;
        let found = sha512(&file)?;
        if !found.eq_ignore_ascii_case(&archive.hash) {
            let problem = Problem::new(format!(
                "`{}` has the wrong SHA-512: expected {:.16}…, found {found:.16}…",
                archive.url, archive.hash
            ));
            return Err(problem.help("run the command again; nothing was installed").into());
        }
        fs::create_dir(&content).with_context(|| format!("cannot create `{}`", content.display()))?;
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(&file).arg("-C").arg(&content);
        let help = "nothing was installed; report a broken archive to kubernetes-sigs/controller-tools";
        run(tar, &format!("cannot unpack `{}`", archive.url), help)?;
        let Some(programs) = below(content).into_iter().find(|folder| has_programs(folder)) else {
            let problem = Problem::new(format!("`{}` has no etcd and kube-apiserver", archive.url));
            return Err(problem.help("pass `--index` with another list of releases").into());
        };
        match fs::rename(&programs, folder) {
            // Another process was faster.
            Err(_) if has_programs(folder) => Ok(()),
            Err(_) if folder.is_dir() => {
                // An incomplete release of another tool.
                fs::rename(folder, self.0.join("incomplete"))
                    .and_then(|()| fs::rename(&programs, folder))
                    .with_context(|| format!("cannot replace `{}`", folder.display()))
            }
            renamed => renamed.with_context(|| format!("cannot create `{}`", folder.display())),
        }
    }
}

/// Returns a folder and those in it, at most two levels deep.
fn below(folder: PathBuf) -> Vec<PathBuf> {
    let mut folders = vec![folder];
    for _ in 0..2 {
        let inner = folders.iter().flat_map(fs::read_dir).flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let inner: Vec<PathBuf> = inner.filter(|path| path.is_dir() && !folders.contains(path)).collect();
        folders.extend(inner);
    }
    folders
}

/// Downloads a URL to a file.
fn fetch(url: &str, to: &Path, help: &str) -> Result<()> {
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--location", "--silent", "--show-error", "--retry", "3", "--output"])
        .arg(to)
        .args(["--url", url]);
    run(curl, &format!("cannot download `{url}`"), help)
}

/// Runs a program; an error has the last line that it prints.
fn run(mut command: Command, what: &str, help: &str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| {
        Problem::new(format!("{what}: `{program}` cannot be run: {error}")).help(format!("install `{program}`"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message");
    Err(Problem::new(format!("{what}: {line}")).help(help).into())
}

fn sha512(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let mut text = String::new();
    for byte in Sha512::digest(bytes) {
        write!(text, "{byte:02x}")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_may_be_the_beginning_of_one() {
        for (wanted, version, expected) in [
            ("", "1.36.2", true),
            ("", "1.37.0-rc.0", false),
            ("1.36", "1.36.2", true),
            ("1.36.x", "1.36.2", true),
            ("1.3", "1.36.2", false),
            ("v1.36.2", "1.36.2", true),
            ("1.37.0-rc.0", "1.37.0-rc.0", true),
            ("1.37", "1.37.0-rc.0", false),
        ] {
            let version = Version::parse(version).unwrap();
            assert_eq!(WantedAssets::parse(wanted).unwrap().matches(&version), expected, "{wanted} {version}");
        }
        for wrong in ["newest", "1.2.3.4", "1,36"] {
            assert!(WantedAssets::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_store_is_that_of_setup_envtest() {
        let variables = |name: &str| match name {
            "HOME" => Some("/home/me".into()),
            "LocalAppData" => Some("/local".into()),
            _ => None,
        };
        for (os, expected) in [
            ("linux", "/home/me/.local/share/kubebuilder-envtest"),
            ("macos", "/home/me/Library/Application Support/io.kubebuilder.envtest"),
            ("windows", "/local/kubebuilder-envtest"),
        ] {
            assert_eq!(store(os, variables), Some(PathBuf::from(expected)));
        }
        assert_eq!(store("linux", |_| None), None);
    }
}
