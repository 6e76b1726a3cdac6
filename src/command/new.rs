//! `new`: a folder, `init` and git in one command; with a sample, the whole road to an operator.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::outcome::{Outcome, apply};
use super::{create_api, existing, init};
use crate::cli::{CreateApiArgs, NewArgs, Sample, WriteArgs};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::plan::Draft;
use crate::term::Term;

pub(super) fn run(args: &NewArgs, term: &mut Term) -> Result<Outcome> {
    existing::refuse(&args.dir)?;
    init::say_peers(&args.project, term);
    let mut draft = Draft::open(&args.dir);
    let domain = if args.sample.is_some() { "example.com" } else { init::DOMAIN };
    let mut found = init::plan(&mut draft, &args.project, domain, init::if_exists(&args.write))?;
    if let Some(Sample::Memcached) = args.sample {
        found.extend(create_api::plan(&mut draft, &memcached(&args.write), term)?);
    }
    found.sort();
    init::refuse_other_project(&draft)?;
    let mut report = apply(draft, found, &args.write)?;
    if report.is_written(&args.write) {
        report.diagnostics.extend(init::fetch(&args.dir, &args.project, term));
        if !args.skip_git_init {
            report.diagnostics.extend(git_init(&args.dir));
        }
        let folder = args.dir.display();
        report.next = match args.sample {
            Some(_) => format!("\nNext:\n  cd {folder} && cargo test\n  kubectl apply -k config/crd && cargo run\n"),
            None => format!(
                "\nNext:\n  cd {folder}\n  memcached-sdk create api --group GROUP --version v1alpha1 --kind KIND\n"
            ),
        };
    }
    report.show(&args.write, term)
}

/// `create api` of the Memcached operator.
fn memcached(write: &WriteArgs) -> CreateApiArgs {
    CreateApiArgs {
        group: "cache".to_owned(),
        version: "v1alpha1".to_owned(),
        kind: "Memcached".to_owned(),
        resource: Some(true),
        controller: Some(true),
        namespaced: true,
        make: true,
        short_name: vec!["mc".to_owned()],
        image: Some("memcached:1.6-alpine".to_owned()),
        image_container_port: Some(11211),
        run_as_user: Some(1001),
        write: write.clone(),
        ..CreateApiArgs::default()
    }
}

/// A repository, unless the folder is in one already.
fn git_init(root: &Path) -> Diagnostics {
    let git = |arguments: &[&str]| Command::new("git").args(arguments).current_dir(root).stdin(Stdio::null()).output();
    let mut found = Diagnostics::default();
    if git(&["rev-parse", "--is-inside-work-tree"]).is_ok_and(|output| output.status.success()) {
        return found;
    }
    let why = match git(&["init", "--quiet"]) {
        Ok(output) if output.status.success() => return found,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    found.push(
        Diagnostic::new(Code::NoGit, format!("`git init` failed: {why}"))
            .help("install git and run `git init` in the folder, or pass `--skip-git-init`"),
    );
    found
}
