//! `update --kube`: brings the crate of an operator from an older release of kube to the newest one that the program knows.
//!
//! The manifests get the requirements of kube, k8s-openapi and schemars that belong together. Changes of the code that are certain
//! from its syntax are made; every other place is a finding. Must stay true: a second run changes nothing.

mod changes;
mod code;
mod manifest;
mod release;
mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use semver::Version;

use self::changes::{CHANGES, Find, KubeChange};
use self::manifest::ManifestFinding;
use self::release::{KubeRelease, LOCKSTEP, OLDEST, TARGET};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin, Problem};
use crate::ops::Findings;
use crate::parallel;
use crate::plan::{Draft, RelPath};
use crate::scaffold;
use crate::source::{LockFile, members, rust_files, workspace_of};

const MANIFEST: &str = "Cargo.toml";

/// Plans the move of the crate or workspace in the draft. `target` is a release, or else the newest known one. The value says what
/// differs between both releases, and the next steps.
pub(crate) fn run(draft: &mut Draft, target: Option<&str>) -> Result<Findings<String>> {
    let target = target.map_or(Ok(TARGET), release::target)?;
    let manifests = manifests(draft)?;
    let mut releases = BTreeSet::new();
    for path in &manifests {
        releases.extend(draft.read(path)?.and_then(|text| manifest::release(&text)));
    }
    let Some(from) = releases.first().copied() else { return Err(without_kube(draft.root()).into()) };
    if from > target {
        return Err(Problem::new(format!("the crate requires kube {from}, which is newer than kube {target}"))
            .help("install a newer version of memcached-sdk")
            .into());
    }
    let mut found = Diagnostics::default();
    if from < OLDEST {
        let message = format!("kube {from} is older than kube {OLDEST}: changes before that release are not known");
        found.push(
            Diagnostic::new(Code::KubeDependency, message)
                .at(Origin::file(MANIFEST))
                .help("read the changelog of kube up to that release"),
        );
    }
    for path in &manifests {
        draft.edit(path, |text| manifest::moved(text, from))?;
        let text: Arc<str> = draft.read(path)?.unwrap_or_default().into();
        let places = manifest::left(&text).into_iter().chain(others(draft, path, &text)?);
        for ManifestFinding { message, help, range } in places {
            let origin = Origin { path: path.as_str().into(), text: text.clone(), range };
            found.push(Diagnostic::new(Code::KubeDependency, message).at(origin).help(help));
        }
    }
    for name in ["rust-toolchain", "rust-toolchain.toml"] {
        let Some(text) = draft.read(&RelPath::new(name)?)? else { continue };
        if let Some(ManifestFinding { message, help, range }) = manifest::old_toolchain(&text) {
            let origin = Origin { path: name.into(), text: text.into(), range };
            found.push(Diagnostic::new(Code::KubeDependency, message).at(origin).help(help));
        }
    }
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    if from < target {
        move_code(draft, &manifests, from, &mut counts, &mut found)?;
    }
    Ok(Findings { value: told(from, target, &counts), diagnostics: found })
}

/// The manifests of the crate and of the members of its workspace.
fn manifests(draft: &Draft) -> Result<Vec<RelPath>> {
    let root = std::path::absolute(draft.root())?;
    let own = RelPath::new(MANIFEST)?;
    let Some(text) = draft.read(&own)? else {
        return Err(Problem::new("`Cargo.toml` is not found").help("change to the folder of the crate").into());
    };
    let document = toml_edit::Document::parse(text).map_err(|error| Problem::new(format!("`Cargo.toml`: {error}")))?;
    let mut folders = vec![root.clone()];
    if document.get("workspace").is_some() {
        folders.extend(members(&root, None)?.into_iter().map(|member| member.dir));
    }
    let paths = folders.iter().filter_map(|folder| {
        let inside = folder.strip_prefix(&root).ok()?;
        let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
        Some(RelPath::new(parts.iter().map(AsRef::as_ref).chain([MANIFEST]).collect::<Vec<_>>().join("/")))
    });
    let paths: BTreeSet<RelPath> = paths.collect::<Result<_, _>>()?;
    Ok(paths.into_iter().collect())
}

fn without_kube(root: &Path) -> Problem {
    let problem = Problem::new("`Cargo.toml` does not have a requirement of kube");
    match workspace_of(root) {
        Some((_, inside)) => {
            let up = vec![".."; inside.split('/').count()].join("/");
            problem.help(format!("if it is in `[workspace.dependencies]`, run the command in the workspace: `cd {up}`"))
        }
        None => problem.help("add kube with `cargo add kube`, or change to the folder of the operator"),
    }
}

/// The dependencies of a package that depend on kube too, by the lock file.
fn others(draft: &Draft, manifest: &RelPath, text: &str) -> Result<Vec<ManifestFinding>> {
    let Some(lock) = draft.read(&RelPath::new("Cargo.lock")?)? else { return Ok(Vec::new()) };
    let document = toml_edit::Document::parse(text).map_err(|error| Problem::new(format!("`{manifest}`: {error}")))?;
    let Some(lock) = LockFile::parse(&lock) else { return Ok(Vec::new()) };
    let is_old = |name: &str, version: &Version| is_of_kube(name) && manifest::is_older(name, version);
    let mut found = Vec::new();
    for (name, version, shared) in lock.users(is_old).into_iter().filter(|(name, ..)| !is_of_kube(name)) {
        for section in ["dependencies", "dev-dependencies"] {
            let item = document.get(section).and_then(|table| table.get(name));
            if let Some(range) = item.and_then(toml_edit::Item::span) {
                found.push(ManifestFinding {
                    message: format!(
                        "`{name}` {version} depends on an older `{shared}`: its types differ from those of kube {TARGET}"
                    ),
                    help: format!("take a release of `{name}` for kube {TARGET}, or remove the dependency"),
                    range,
                });
            }
        }
    }
    Ok(found)
}

fn is_of_kube(name: &str) -> bool {
    LOCKSTEP.iter().any(|package| package.name == name && name != "schemars")
}

/// Moves the Rust files of the packages, and lists what is left in them.
fn move_code(
    draft: &mut Draft,
    manifests: &[RelPath],
    from: KubeRelease,
    counts: &mut BTreeMap<&'static str, (usize, usize)>,
    found: &mut Diagnostics,
) -> Result<()> {
    let root = std::path::absolute(draft.root())?;
    let folders: Vec<PathBuf> =
        manifests.iter().filter_map(|path| path.below(&root).parent().map(Path::to_path_buf)).collect();
    let is_of_others = |folder: &Path, name: &str| {
        name.starts_with('.')
            || name == "target"
            || folder.join(MANIFEST).is_file() && !folders.iter().any(|own| own == folder)
    };
    let files = rust_files(vec![root.clone()], is_of_others);
    let paths = files.iter().filter_map(|file| {
        let parts: Vec<_> = file.strip_prefix(&root).ok()?.iter().map(|part| part.to_string_lossy()).collect();
        Some(RelPath::new(parts.join("/")))
    });
    let paths: Vec<RelPath> = paths.collect::<Result<_, _>>()?;
    // rustfmt runs as one process per file.
    let files = parallel::map(paths.iter(), |path| -> Result<_> {
        let Some(text) = draft.read(path)? else { return Ok(None) };
        // An edit gets the text in this form, too.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n");
        let (mut new, made) = code::moved(&text, from);
        // rustfmt removes the line, unless it cannot read the file.
        if new != text && scaffold::formatted(path, &format!("{text}\n")) == text {
            new = scaffold::formatted(path, &new);
        }
        let left = code::left(&new, from);
        Ok(Some((new, made, left)))
    });
    for (path, file) in paths.iter().zip(files) {
        let Some((new, made, left)) = file? else { continue };
        if !made.is_empty() {
            draft.edit(path, |_| Ok(new.clone()))?;
        }
        for change in made {
            counts.entry(change.what).or_default().0 += 1;
        }
        let text: Arc<str> = new.into();
        for (change, range) in left {
            counts.entry(change.what).or_default().1 += 1;
            let origin = Origin { path: path.as_str().into(), text: text.clone(), range };
            let message = format!("since {} {}: {}", shown_package(change), change.since, change.what);
            found.push(Diagnostic::new(Code::KubeChange, message).at(origin).help(change.instead));
        }
    }
    Ok(())
}

/// The release of the table is that of kube; the crates of k8s-openapi and schemars moved with it.
fn shown_package(change: &KubeChange) -> &'static str {
    if change.package.starts_with("kube") { change.package } else { "kube" }
}

/// The changes between both releases that concern the code, and the next steps.
fn told(from: KubeRelease, target: KubeRelease, counts: &BTreeMap<&str, (usize, usize)>) -> String {
    if from >= target {
        return format!("\nThe crate already requires kube {target}.\n");
    }
    let mut text = format!("\nFrom kube {from} to kube {target}:\n");
    for change in CHANGES.iter().filter(|change| from < change.since) {
        let (made, left) = counts.get(change.what).copied().unwrap_or_default();
        let shown = match (made, left) {
            (0, 0) if matches!(change.find, Find::Behaviour) => format!("check: {}", change.instead),
            (0, 0) => continue,
            (made, 0) => format!("moved in {made} {}", places(made)),
            (0, left) => format!("listed in {left} {}", places(left)),
            (made, left) => format!("moved in {made} {}, listed in {left}", places(made)),
        };
        let _infallible = writeln!(text, "  {} ({}): {}\n    {shown}", change.since, change.package, change.what);
    }
    text.push_str("\nNext, update Cargo.lock and compile:\n  cargo check --all-targets\n");
    text
}

fn places(count: usize) -> &'static str {
    if count == 1 { "place" } else { "places" }
}
