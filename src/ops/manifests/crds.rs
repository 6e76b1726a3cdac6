//! The CRD step. An engine answers for each package; the answers of all packages are checked together.

use std::path::PathBuf;

use super::refused::KnownKinds;
use super::{ManifestOptions, Roots};
use crate::api;
use crate::crd::conversion;
use crate::crd::fix::{self, CrdFix};
use crate::crd::{self, Crd};
use crate::crd::{description, structural};
use crate::diagnostic::Diagnostics;
use crate::engine;
use crate::ops::Findings;
use crate::parallel;
use crate::source::marker::CONVERSION;
use crate::source::{FeatureSelection, SourceTree};

#[derive(Default)]
pub(super) struct CrdStep {
    crds: Vec<Crd>,
    pub(super) kinds: KnownKinds,
    /// New releases per package folder. With them the package produces the same CRDs.
    pub(super) verified: Vec<(PathBuf, Vec<String>)>,
}

impl CrdStep {
    /// Adds the CRDs of a package. `found` has the earlier findings. The compiler does not run if one of them is an error.
    pub(super) fn read(
        &mut self,
        tree: &mut SourceTree,
        features: &FeatureSelection,
        options: &ManifestOptions,
        found: &mut Diagnostics,
        say: &mut dyn FnMut(&str),
    ) {
        let request = engine::EngineRequest { features: features.clone(), ..options.engine.clone() };
        let answer = engine::crds(tree, &request, found, say);
        if answer.crds.iter().any(conversion::is_needed) {
            let markers = Findings::settled(tree, |tree| tree.markers(&[CONVERSION])).report(found);
            found.extend(conversion::check(&answer.crds, &markers, &options.converted));
        }
        self.crds.extend(answer.crds);
        if !answer.verified.is_empty() {
            self.verified.push((tree.manifest().dir.clone(), answer.verified));
        }
        if !options.choice.is_all() || found.has_errors() {
            let declared: Roots = api::names(tree);
            self.kinds.add(declared, answer.kinds, found);
        }
    }

    /// The CRDs of all packages, by file name.
    pub(super) fn finish(mut self, options: &ManifestOptions) -> Findings<Vec<Crd>> {
        let mut found = crd::repeated(&self.crds);
        found.extend(crd::clashes(&self.crds));
        self.crds.sort_by(|one, other| one.file_name.cmp(&other.file_name));
        let finished = parallel::map(self.crds, |crd| finish(crd, options));
        let crds = finished.into_iter().map(|crd| crd.report(&mut found)).collect();
        Findings { value: crds, diagnostics: found }
    }
}

/// Applies the options that change a CRD, and checks the result as the API server does.
fn finish(mut crd: Crd, options: &ManifestOptions) -> Findings<Crd> {
    if let Some(limit) = options.max_desc_len {
        description::limit(&mut crd.value, limit);
    }
    let (crd, fixes) = fix::fix(crd, &options.fix);
    let mut found: Diagnostics = fixes.iter().map(CrdFix::done).collect();
    found.extend(fix::advice(&crd));
    found.extend(structural::check(&crd));
    let diagnostics = found.about(&crd.name());
    Findings { value: crd, diagnostics }
}
