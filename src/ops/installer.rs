//! `generate installer`: rendered manifests → files to create one after the other.

use std::path::PathBuf;

use anyhow::Result;

use super::rendered;
use crate::diagnostic::Problem;
use crate::plan::Draft;
use crate::ship::installer;

/// Options of `generate installer`.
#[derive(Debug, Clone)]
pub(crate) struct InstallerOptions {
    /// The manifests; `-` is stdin.
    pub(crate) manifests: PathBuf,
    /// A folder with objects of the kinds that the manifests define.
    pub(crate) samples: PathBuf,
    pub(crate) output_dir: PathBuf,
}

/// Plans the files. Returns their paths in the order of creation.
pub(crate) fn run(options: &InstallerOptions) -> Result<(Draft, Vec<String>)> {
    let shown = options.manifests.display();
    let objects = rendered::objects(&options.manifests, rendered::RENDER, &format!("cannot lay out `{shown}`"))?;
    if objects.is_empty() {
        let problem = Problem::new(format!("`{shown}` has no objects"));
        return Err(problem.help("run `make build-installer` first").into());
    }
    let mut samples = Vec::new();
    for path in rendered::yaml_files(&options.samples)? {
        samples.extend(rendered::documents(&options.samples.join(path), rendered::RENDER)?);
    }
    let files = installer::deploy(objects, samples);
    let mut draft = Draft::open(&options.output_dir);
    let help = "move it away, or choose another `--output-dir`";
    rendered::put(&mut draft, "", &files.texts, installer::is_generated, help)?;
    Ok((draft, files.order))
}
