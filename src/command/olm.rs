//! `generate kustomize manifests`, `generate bundle`, `bundle validate`: arguments → options of [`crate::ops::bundle`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::outcome::{Outcome, OutcomeReport, UsageError, apply};
use crate::cli::{BundleValidateArgs, GenerateBundleArgs, KustomizeManifestsArgs, OutputFormat, WriteArgs};
use crate::diagnostic::Problem;
use crate::ops::bundle::{self, BundleBaseOptions, BundleOptions, PlannedBundle};
use crate::ops::{Findings, shown_folder};
use crate::plan::Draft;
use crate::project::Project;
use crate::ship::olm::validate::{self, Optional};
use crate::term::Term;

pub(super) fn kustomize_manifests(args: &KustomizeManifestsArgs, term: &mut Term) -> Result<Outcome> {
    let mut draft = Draft::open(&Project::find_root(Path::new("."))?);
    let options = BundleBaseOptions {
        display_name: args.display_name.clone(),
        description: args.description.clone(),
        capabilities: args.capabilities.clone(),
        categories: args.categories.clone(),
        keywords: args.keywords.clone(),
        links: args.link.clone(),
        maintainers: args.maintainer.clone(),
        provider: args.provider.clone(),
        provider_url: args.provider_url.clone(),
        maturity: args.maturity.clone(),
        min_kube_version: args.min_kube_version.clone(),
        icon: args.icon.clone(),
    };
    let found = bundle::base(&mut draft, &options, args.overwrite.force)?;
    let mut report = apply(draft, found, &args.write)?;
    report.next =
        "Make a bundle of it, with kubectl or kustomize: memcached-sdk generate bundle --version 0.0.1".into();
    report.show(&args.write, term)
}

pub(super) fn generate_bundle(args: &GenerateBundleArgs, term: &mut Term) -> Result<Outcome> {
    let options = BundleOptions {
        manifests: args.manifests.clone().or_else(|| is_piped().then(|| PathBuf::from("-"))),
        version: args.version.as_ref().map(ToString::to_string),
        package: args.package.clone(),
        channels: args.channels.clone(),
        default_channel: args.default_channel.clone(),
        replaces: args.replaces.clone(),
        accounts: args.extra_service_accounts.clone(),
        kustomize_dir: args.kustomize_dir.clone(),
        output_dir: args.output_dir.clone(),
    };
    let Findings { value: PlannedBundle { draft, name }, diagnostics } =
        bundle::run(&options, &mut |text| term.status(text))?;
    let mut report = apply(draft, diagnostics, &args.write)?;
    report.next = format!("`{name}` is made: memcached-sdk bundle validate {}", shown_folder(&args.output_dir));
    report.show(&args.write, term)
}

/// Returns true if stdin is a pipe or a file, and neither a terminal nor `/dev/null`.
fn is_piped() -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        let is_stream = |kind: std::fs::FileType| kind.is_fifo() || kind.is_file() || kind.is_socket();
        std::fs::metadata("/dev/stdin").is_ok_and(|stdin| is_stream(stdin.file_type()))
    }
    #[cfg(not(unix))]
    {
        !std::io::IsTerminal::is_terminal(&std::io::stdin())
    }
}

pub(super) fn validate(args: &BundleValidateArgs, term: &mut Term) -> Result<Outcome> {
    let selected = selected(&args.select_optional).map_err(UsageError)?;
    let kubernetes = kubernetes(&args.optional_values).map_err(UsageError)?;
    if !args.dir.is_dir() {
        let problem = Problem::new(format!("folder `{}` not found", args.dir.display()));
        return Err(problem.help("make it with `generate bundle`; unpack an image first").into());
    }
    let folder = bundle::folder(&args.dir)?;
    let diagnostics = validate::validate(&folder, &selected, kubernetes.as_ref());
    let outcome = if diagnostics.has_errors() { Outcome::Failed } else { Outcome::Done };
    if args.output == OutputFormat::Text {
        term.diagnostics(&diagnostics);
        if outcome == Outcome::Done {
            term.status(&format!("`{}` has no error", folder.shown));
        }
        return Ok(outcome);
    }
    let write = WriteArgs { output: args.output, ..WriteArgs::default() };
    OutcomeReport { outcome, changes: Vec::new(), diagnostics, next: String::new() }.show(&write, term)
}

/// The validators of `--select-optional`.
fn selected(selectors: &[String]) -> Result<BTreeSet<Optional>, Problem> {
    let mut selected = BTreeSet::new();
    for selector in selectors {
        let known = Optional::ALL.into_iter().find(|one| selector.strip_prefix("name=") == Some(one.as_str()));
        match (known, selector.as_str()) {
            (Some(known), _) => _ = selected.insert(known),
            (None, "suite=operatorframework") => selected.extend(Optional::ALL),
            (None, "name=operatorhub") => {
                selected.extend([Optional::OperatorHub, Optional::Capabilities, Optional::Categories]);
            }
            (None, "name=multiarch" | "name=community") => {
                let problem = Problem::new(format!(
                    "`{selector}` requires access to image registries, which this command does not use"
                ));
                return Err(problem.help("`operator-sdk bundle validate` does"));
            }
            (None, _) => {
                let names: Vec<&str> = Optional::ALL.into_iter().map(Optional::as_str).collect();
                let problem = Problem::new(format!("unknown check `{selector}`"));
                return Err(
                    problem.help(format!("`suite=operatorframework`, or `name=` and one of {}", names.join(", ")))
                );
            }
        }
    }
    Ok(selected)
}

/// The version of `k8s-version`, of which the end may be missing.
fn kubernetes(values: &[(String, String)]) -> Result<Option<semver::Version>, Problem> {
    let mut found = None;
    for (key, value) in values {
        if key != "k8s-version" {
            return Err(Problem::new(format!("unknown value `{key}`")).help("`k8s-version=1.36` is one"));
        }
        let dots = value.matches('.').count();
        let full = format!("{}{}", value.trim_start_matches('v'), ".0".repeat(2_usize.saturating_sub(dots)));
        let version = semver::Version::parse(&full);
        found = Some(version.map_err(|_| Problem::new(format!("`{value}` is not a Kubernetes version")))?);
    }
    Ok(found)
}
