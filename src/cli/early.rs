//! The commands of operator-sdk before version 1, which articles still teach. `--help` hides them. Each one runs a current
//! command.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{OverwriteArgs, WriteArgs};

/// `add`
#[derive(Debug, Subcommand)]
pub enum AddCommand {
    /// Add a custom resource type: `create api --controller=false`
    Api(AddArgs),
    /// Add a controller: `create api --resource=false`
    Controller(AddArgs),
    /// Write the CRD of a type: `generate crds`
    Crd(AddArgs),
}

/// The arguments of `add`.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// The API group with its domain, and the version
    #[arg(long, value_name = "GROUP/VERSION")]
    pub api_version: String,
    /// The kind, in PascalCase
    #[arg(long)]
    pub kind: String,
    /// The flag to overwrite files of the author.
    #[command(flatten)]
    pub overwrite: OverwriteArgs,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// `build`
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// The name of the image
    pub image: String,
    /// The program that builds it
    #[arg(long, value_enum)]
    pub image_builder: Option<ImageBuilder>,
}

/// The programs that build images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImageBuilder {
    /// docker.
    Docker,
    /// podman.
    Podman,
    /// buildah.
    Buildah,
}

impl ImageBuilder {
    /// The name of the program.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Buildah => "buildah",
        }
    }
}

/// `up`
#[derive(Debug, Subcommand)]
pub enum UpCommand {
    /// Run the operator on this machine: `make run`
    Local(LocalArgs),
}

/// `run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// On this machine, which is the only place
    #[arg(long, required = true)]
    pub local: bool,
    /// The flags of a local run.
    #[command(flatten)]
    pub args: LocalArgs,
}

/// The flags of a local run.
#[derive(Debug, Args)]
pub struct LocalArgs {
    /// The kubeconfig
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The namespace to watch
    #[arg(long, alias = "watch-namespace")]
    pub namespace: Option<String>,
    /// Arguments of the operator
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub operator_flags: Option<String>,
}
