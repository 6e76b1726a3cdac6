//! `envtest`: the folder of etcd and kube-apiserver, for the tests of a project.

use anyhow::Result;

use crate::cli::{EnvtestArgs, EnvtestPrint};
use crate::ops::envtest::{self, EnvtestOptions};
use crate::term::Term;

/// Returns the line to print.
pub(crate) fn run(args: EnvtestArgs, term: &mut Term) -> Result<String> {
    let options = EnvtestOptions {
        version: args.version.unwrap_or_default(),
        dir: args.dir,
        index: args.index.unwrap_or_else(|| envtest::INDEX.to_owned()),
    };
    let release = envtest::provide(&options)?;
    if let Some(version) = release.downloaded {
        term.status(&format!("downloaded Kubernetes {version}"));
    }
    let folder = release.folder.display().to_string();
    Ok(match args.print {
        EnvtestPrint::Path => format!("{folder}\n"),
        EnvtestPrint::Env => format!("export KUBEBUILDER_ASSETS='{}'\n", folder.replace('\'', r"'\''")),
    })
}
