//! `envtest`: the folder of etcd and kube-apiserver, for the tests of a project.

use anyhow::Result;

use super::outcome::Outcome;
use crate::cli::{EnvtestArgs, EnvtestPrint};
use crate::ops::envtest::{self, EnvtestOptions};
use crate::term::Term;

pub(super) fn run(args: EnvtestArgs, term: &mut Term) -> Result<Outcome> {
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
    let text = match args.print {
        EnvtestPrint::Path => format!("{folder}\n"),
        EnvtestPrint::Env => format!("export KUBEBUILDER_ASSETS='{}'\n", folder.replace('\'', r"'\''")),
    };
    term.data(&text)?;
    Ok(Outcome::Done)
}
