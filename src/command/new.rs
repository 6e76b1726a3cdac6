//! `new`: runs [`init::run`] in a new folder, adds a sample on request, and creates a git repository.

use anyhow::Result;

use super::init::{fetch, options, say_peers};
use super::outcome::{Outcome, apply};
use crate::cli::{NewArgs, Sample};
use crate::ops::create_api::{CreateApiOptions, ImageOptions};
use crate::ops::{existing, git, init};
use crate::plan::Draft;
use crate::term::Term;

pub(super) fn run(args: &NewArgs, term: &mut Term) -> Result<Outcome> {
    existing::refuse(&args.dir)?;
    say_peers(&args.project, term);
    let mut draft = Draft::open(&args.dir);
    let domain = if args.sample.is_some() { "example.com" } else { init::DOMAIN };
    let mut options = options(&args.project, domain, &args.overwrite);
    if let Some(Sample::Memcached) = args.sample {
        options.apis.push(memcached(args.overwrite.force));
    }
    let mut found = init::run(&mut draft, &options)?;
    found.sort();
    let mut report = apply(draft, found, &args.write)?;
    if report.is_written(&args.write) {
        report.diagnostics.extend(fetch(&args.dir, &args.project, term));
        if !args.skip_git_init {
            report.diagnostics.extend(git::init(&args.dir));
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

/// The API of the Memcached operator.
fn memcached(force: bool) -> CreateApiOptions {
    CreateApiOptions {
        group: "cache".to_owned(),
        version: "v1alpha1".to_owned(),
        kind: "Memcached".to_owned(),
        resource: Some(true),
        controller: Some(true),
        namespaced: true,
        short_names: vec!["mc".to_owned()],
        image: Some(ImageOptions {
            name: "memcached:1.6-alpine".to_owned(),
            container_port: Some(11211),
            run_as_user: Some(1001),
            ..ImageOptions::default()
        }),
        generate: true,
        force,
        ..CreateApiOptions::default()
    }
}
