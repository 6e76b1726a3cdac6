//! `generate catalog`: bundles → a file-based catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::bundle::{folder, place};
use super::{Findings, rendered, shown_folder};
use crate::diagnostic::{Diagnostics, Problem, Severity};
use crate::plan::{Draft, RelPath};
use crate::ship::olm::catalog::{self, Published};
use crate::ship::olm::validate;
use crate::yaml;

const FILE: &str = "catalog.yaml";

/// Options of `generate catalog`.
#[derive(Debug, Clone)]
pub(crate) struct CatalogOptions {
    /// The folders of the bundles, each with its image.
    pub(crate) bundles: Vec<(String, String)>,
    pub(crate) default_channel: Option<String>,
    pub(crate) output_dir: PathBuf,
}

/// The planned catalog.
pub(crate) struct PlannedCatalog {
    pub(crate) draft: Draft,
    /// The folder around the catalog.
    pub(crate) parent: PathBuf,
    /// The name of the folder of the catalog.
    pub(crate) root: String,
}

/// Plans a catalog of the bundles.
pub(crate) fn run(options: &CatalogOptions) -> Result<Findings<PlannedCatalog>> {
    let (parent, root) = place(&options.output_dir)?;
    let mut draft = Draft::open(&parent);
    let mut found = Diagnostics::default();
    let mut packages: BTreeMap<String, Vec<Published>> = BTreeMap::new();
    for (dir, image) in &options.bundles {
        let path = Path::new(dir);
        if !path.is_dir() {
            let problem = Problem::new(format!("folder `{dir}` not found"));
            return Err(problem.help("make it with `generate bundle`").into());
        }
        let folder = folder(path)?;
        let of_folder = validate::validate(&folder, &BTreeSet::new(), None);
        found.extend(of_folder.iter().filter(|found| found.code.severity() == Severity::Error).cloned().collect());
        let (contents, _) = folder.read();
        let published = Published { folder, contents, image: image.clone() };
        packages.entry(published.package().to_owned()).or_default().push(published);
    }
    if !found.has_errors() {
        for (package, bundles) in &packages {
            let folder = format!("{root}/{package}");
            let path = RelPath::new(format!("{folder}/{FILE}"))?;
            let before: Vec<Value> = draft
                .read(&path)?
                .map(|text| serde_yaml::from_multiple(&text))
                .transpose()
                .map_err(|error| Problem::new(yaml::invalid(&path, 0, &error)))?
                .unwrap_or_default();
            let text = catalog::catalog(
                package,
                &bundles.iter().collect::<Vec<_>>(),
                &before,
                options.default_channel.as_deref(),
            )
            .with_context(|| format!("cannot make `{}`", shown_folder(&options.output_dir)))?;
            let files = BTreeMap::from([(FILE.to_owned(), text)]);
            let help = "move it away, or choose another `--output-dir`";
            rendered::put(&mut draft, &folder, &files, catalog::is_generated, help)?;
        }
        draft.generate(RelPath::new(format!("{root}.Dockerfile"))?, catalog::dockerfile(&root));
    }
    Ok(Findings { value: PlannedCatalog { draft, parent, root }, diagnostics: found })
}
