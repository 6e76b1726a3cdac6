//! Runs cargo as the user does: in the user's folder, with the user's toolchain, configuration and target folder. Its
//! output goes straight to the terminal.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};

use serde_json::Value;

use super::scratch::Scratch;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{CargoManifest, FeatureSelection};

pub(super) struct Cargo<'a> {
    program: OsString,
    dir: &'a Path,
    package: &'a str,
    pub(super) target: PathBuf,
    quiet: bool,
    has_lock: bool,
}

pub(super) struct Program<'a> {
    pub(super) workspace: &'a Path,
    pub(super) package: &'a str,
    pub(super) binary: &'a str,
    pub(super) features: &'a FeatureSelection,
    /// Compiler flags for the crate of the binary alone.
    pub(super) flags: &'a [&'a str],
}

impl<'a> Cargo<'a> {
    /// Finds cargo and reads the target folder from its metadata.
    pub(super) fn new(manifest: &'a CargoManifest, quiet: bool) -> Result<Self, Diagnostic> {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let (dir, package) = (manifest.dir.as_path(), manifest.name.as_str());
        let mut cargo = Self { program, dir, package, target: PathBuf::new(), quiet, has_lock: manifest.has_lock };
        let mut command = cargo.command(&["metadata", "--no-deps", "--format-version=1"]);
        let output = cargo.output(command.arg("--manifest-path").arg(dir.join("Cargo.toml")))?;
        let metadata: Option<Value> = serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success());
        let target = metadata.as_ref().and_then(|metadata| metadata["target_directory"].as_str());
        cargo.target = target.ok_or_else(|| cargo.failed("cannot read the manifest of"))?.into();
        Ok(cargo)
    }

    pub(super) fn scratch(&self) -> Result<Scratch, Diagnostic> {
        Scratch::open(&self.target, self.package, self.dir).map_err(|error| self.unwritable(&error))
    }

    pub(super) fn unwritable(&self, error: &io::Error) -> Diagnostic {
        let folder = self.target.strip_prefix(self.dir).unwrap_or(&self.target);
        Diagnostic::new(
            Code::CompileFailed,
            format!("cannot write to the target folder `{}`: {error}", folder.display()),
        )
        .help("set `CARGO_TARGET_DIR` to a writable folder")
    }

    /// Builds and runs a program. Returns its standard output.
    pub(super) fn run(&self, program: &Program<'_>) -> Result<(String, ExitStatus), Diagnostic> {
        let executable = self.build(program)?;
        let mut command = Command::new(&executable);
        command.current_dir(self.dir).stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = command.output().map_err(|error| {
            let name = executable.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Diagnostic::new(Code::CompileFailed, format!("cannot run the built program `{name}`: {error}"))
                .help("cross-compiled programs cannot run on this machine: unset `build.target` of cargo")
        })?;
        Ok((String::from_utf8_lossy(&output.stdout).into_owned(), output.status))
    }

    fn build(&self, program: &Program<'_>) -> Result<PathBuf, Diagnostic> {
        let manifest = program.workspace.join("Cargo.toml");
        let features = feature_flags(program.features);
        let mut command = self.command(&["rustc", "--message-format=json-render-diagnostics", "--package"]);
        command.args([program.package, "--bin", program.binary]).args(&features);
        command.arg("--manifest-path").arg(&manifest).arg("--target-dir").arg(&self.target);
        // A complete set of dependencies needs no network.
        if self.is_complete(&manifest, &features)? {
            command.arg("--offline");
        }
        if self.quiet {
            command.arg("--quiet");
        }
        if !program.flags.is_empty() {
            command.arg("--").args(program.flags);
        }
        let output = self.output(&mut command)?;
        let messages = String::from_utf8_lossy(&output.stdout);
        let executable =
            messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).find_map(|message| {
                let ours = message["reason"] == "compiler-artifact" && message["target"]["name"] == program.binary;
                message["executable"].as_str().filter(|_| ours).map(PathBuf::from)
            });
        executable.filter(|_| output.status.success()).ok_or_else(|| self.failed("failed to build"))
    }

    /// Returns true if all required crates are on this machine.
    fn is_complete(&self, manifest: &Path, features: &[String]) -> Result<bool, Diagnostic> {
        let version = self.output(self.command(&["-vV"]).stderr(Stdio::null()))?;
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        let mut command = self.command(&["metadata", "--offline", "--format-version=1", "--manifest-path"]);
        command.arg(manifest).args(features).stderr(Stdio::null());
        if let Some(host) = host {
            command.args(["--filter-platform", host]);
        }
        Ok(self.output(&mut command)?.status.success())
    }

    /// Downloads the dependencies in the lock file. Returns false on failure.
    pub(super) fn fetch(&self) -> bool {
        let mut command = self.command(&["fetch", "--locked", "--manifest-path"]);
        command.arg(self.dir.join("Cargo.toml"));
        if self.quiet {
            command.arg("--quiet");
        }
        self.output(&mut command).is_ok_and(|output| output.status.success())
    }

    /// Runs a binary of the package itself. Returns its standard output.
    pub(super) fn run_own(
        &self,
        binary: &str,
        arguments: &[String],
        features: &FeatureSelection,
    ) -> Result<String, Diagnostic> {
        let mut command = self.command(&["run", "--locked", "--package", self.package, "--bin", binary]);
        command.args(feature_flags(features)).arg("--manifest-path").arg(self.dir.join("Cargo.toml"));
        if self.quiet {
            command.arg("--quiet");
        }
        let output = self.output(command.arg("--").args(arguments))?;
        if !output.status.success() {
            let why = format!("failed to run the binary `{binary}` of");
            let failed = self.failed(&why);
            let help = "run `cargo generate-lockfile`: the binary is built with `--locked`";
            return Err(if self.has_lock { failed } else { failed.help(help) });
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.dir).stdin(Stdio::null()).stderr(Stdio::inherit());
        command
    }

    fn output(&self, command: &mut Command) -> Result<Output, Diagnostic> {
        command.stdout(Stdio::piped()).spawn().and_then(std::process::Child::wait_with_output).map_err(|error| {
            let program = self.program.to_string_lossy();
            Diagnostic::new(Code::CompileFailed, format!("cannot run `{program}`: {error}"))
                .help("install Rust from https://rustup.rs, or pass `--engine static`, which needs no compiler")
        })
    }

    fn failed(&self, what: &str) -> Diagnostic {
        Diagnostic::new(Code::CompileFailed, format!("cargo {what} `{}`; see its output above", self.package))
    }
}

fn feature_flags(features: &FeatureSelection) -> Vec<String> {
    let mut flags = Vec::new();
    if features.all {
        flags.push("--all-features".to_owned());
    }
    if features.no_default {
        flags.push("--no-default-features".to_owned());
    }
    flags.extend(features.features.iter().map(|name| format!("--features={name}")));
    flags
}
