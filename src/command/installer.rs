//! `generate installer`: rendered manifests → files to create one after the other.

use anyhow::Result;

use super::outcome::{Outcome, apply};
use super::stream;
use crate::cli::{GenerateInstallerArgs, InstallerLayout};
use crate::diagnostic::{Diagnostics, Problem};
use crate::plan::Draft;
use crate::ship::installer;
use crate::term::Term;

pub(super) fn run(args: &GenerateInstallerArgs, term: &mut Term) -> Result<Outcome> {
    let doing = format!("cannot lay out `{}`", args.manifests.display());
    let objects = stream::objects(&args.manifests, stream::RENDER, &doing)?;
    if objects.is_empty() {
        let problem = Problem::new(format!("`{}` has no objects", args.manifests.display()));
        return Err(problem.help("run `make build-installer` first").into());
    }
    let mut samples = Vec::new();
    for path in stream::yaml_files(&args.samples)? {
        samples.extend(stream::documents(&args.samples.join(path), stream::RENDER)?);
    }
    let InstallerLayout::Deploy = args.layout;
    let files = installer::deploy(objects, samples);
    let mut draft = Draft::open(&args.output_dir);
    stream::put(
        &mut draft,
        "",
        &files.texts,
        installer::is_generated,
        "move it away, or choose another `--output-dir`",
    )?;
    let mut report = apply(draft, Diagnostics::default(), &args.write)?;
    let lines = files.order.iter().map(|path| format!("  kubectl create -f {}", args.output_dir.join(path).display()));
    report.next = [vec!["Create them in this order:".to_owned()], lines.collect()].concat().join("\n");
    report.show(&args.write, term)
}
