//! The command line: every command, flag and help text, and no behaviour.
#![expect(clippy::struct_excessive_bools, reason = "flags are bools")]
#![expect(clippy::doc_markdown, reason = "these texts are shown by `--help`, where backticks are noise")]

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::crd::fix::Fixable;
use crate::engine::Engine;
use crate::explore::Oracle;
use crate::project::manager::ManagerSource;
use crate::project::parts::LeaderElection;
use crate::project::webhook::CertMode;
use crate::rbac::role;

pub mod early;
pub mod peers;

use self::early::{AddCommand, BuildArgs, RunArgs, UpCommand};
use self::peers::{CreateFlags, InitFlags, PeerPlugin, Plugin};

/// The exit codes, as `--help` lists them. Scripts rely on them.
const EXIT_CODES: &str = "\
Exit codes:
  0  done, or nothing to do; a preview with --dry-run or --diff, whatever it shows
  1  failed: no file was written, unless the message says otherwise
  2  wrong usage: an unknown flag, a missing value, a name that breaks its rule
  3  --check: files on disk differ from what the command would write";

/// Scaffolds Kubernetes operators in Rust, and generates their CRDs and RBAC from the source without compiling it.
#[derive(Debug, Parser)]
#[command(name = "memcached-sdk", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a project in a folder
    Init(InitArgs),
    /// Make a project in a new folder, with git, and on request with a whole sample operator
    New(NewArgs),
    /// Add an API or a webhook to the project
    #[command(subcommand)]
    Create(CreateCommand),
    /// Delete an API, a version, a controller or a webhook from the project
    ///
    /// The inverse of `create`: files and lines that `create` wrote go, and yours stay. Where you have changed them, nothing is
    /// written, and the changes are shown.
    #[command(subcommand)]
    Delete(DeleteCommand),
    /// Give a kind, a version, an API group or the project another name
    ///
    /// Files move, and types, modules, imports, markers and manifests follow, as if the project had been created with the new names.
    /// Your lines stay. Texts and comments with an old name stay too, and are listed. Where you have changed a line that has to
    /// change, nothing is written, and the line is shown.
    #[command(subcommand)]
    Rename(RenameCommand),
    /// Take back the last command that wrote to the project
    ///
    /// Files get the text that they had before the command, and files that it made go. If one of them has changed since, nothing is
    /// written. A second undo takes the first one back. The record is in the git directory of the project, or else in target/.
    Undo(UndoArgs),
    /// Make a choice of the scaffold later, or another one
    ///
    /// What the scaffold has written for the project as PROJECT records it is compared with what it would write with the other
    /// choice. A file that only the old choice has goes, if it is as it was scaffolded; one that only the new choice has is
    /// written; in the others the difference is made, and what you have changed stays. Where you have changed the same lines, nothing
    /// is written, and the lines are shown. With a choice that PROJECT has already, files that say another one are put right.
    Edit(EditArgs),
    /// Write the CRDs, the RBAC role and the webhook configurations from the source
    ///
    /// With --check, in a project and without naming what to write, the crate manager is compared too: `update` writes it.
    Generate(GenerateArgs),
    /// Judge a bundle for the Operator Lifecycle Manager
    #[command(subcommand)]
    Bundle(BundleCommand),
    /// Test a bundle as the scorecard of operator-sdk does, as far as that needs no cluster
    ///
    /// Runs the tests of operator-sdk that read nothing but the bundle, under its names. The exit code is 1 if one fails.
    Scorecard(ScorecardArgs),
    /// Find out which permissions the code uses
    #[command(subcommand)]
    Rbac(RbacCommand),
    /// Change how a cluster stores the objects of a kind
    #[command(subcommand)]
    Migrate(MigrateCommand),
    /// Bring the scaffold and the crate manager of the project to this version
    ///
    /// Compares the scaffold of the version in PROJECT with that of this version, and makes the difference in the files of the
    /// project. Your changes stay, and files that you have deleted stay deleted. Where you and the scaffold have changed the same
    /// lines, nothing is written, unless `--conflicts` says what to do. The folder manager, which is not to be edited, is replaced.
    /// Last, the version is recorded in PROJECT. A second update changes nothing.
    Update(UpdateArgs),
    /// Commands with the names that kubebuilder has for them
    #[command(hide = true, subcommand)]
    Alpha(AlphaCommand),
    /// Print the objects that the operator makes for an object, without a cluster
    ///
    /// Builds the project, and runs the operator on an API server in memory until the state settles: that of the tests
    /// tests/explore_*.rs. Prints the objects of the operator in YAML. The cluster's own objects, such as pods, and the
    /// status are left out.
    Render(RenderArgs),
    /// Crash an operator's binary in any language, and report the ends that differ
    ///
    /// Runs the program behind -- against kube-apiserver and etcd of `memcached-sdk envtest`, through a proxy. The proxy counts,
    /// refuses and drops requests, and the program is killed at each write and started again. Each run must end as the undisturbed
    /// one does. The program gets a KUBECONFIG; pass --leader-elect=false to it. The exit code is 1 if something is found.
    Explore(ExploreArgs),
    /// Download etcd and kube-apiserver for tests, and print where they are
    ///
    /// An installed release is used without network; else the newest one of the list of controller-tools is downloaded into the
    /// folder of setup-envtest. Prints a line for the shell: eval "$(memcached-sdk envtest)". Tests of projects find the folder
    /// by themselves. Needs curl and tar.
    Envtest(EnvtestArgs),
    /// Check the machine and the project, and say how to mend what is wrong
    ///
    /// Looks for the Rust toolchain, the C compiler, kubectl, the container tool and the API server for tests. In a project it also
    /// compares PROJECT with the source, the versions of crates with each other, and the manifests with the source. Writes
    /// nothing. The exit code is 1 if a check ends with an error.
    Doctor(DoctorArgs),
    /// Print a completion script for a shell
    Completion(CompletionArgs),
    /// Print the version, and those of the libraries that decide the output
    Version(VersionArgs),
    /// Add an API, a controller or a CRD
    #[command(hide = true, subcommand)]
    Add(AddCommand),
    /// Build the image: `make docker-build`
    #[command(hide = true)]
    Build(BuildArgs),
    /// Write rendered manifests as the files of `deploy/`: `generate installer`
    #[command(hide = true)]
    BuildInstaller(GenerateInstallerArgs),
    /// Run the operator on this machine: `make run`
    #[command(hide = true)]
    Run(RunArgs),
    /// Run the operator on this machine: `make run`
    #[command(hide = true, subcommand)]
    Up(UpCommand),
}

/// The parts of a project that can be deleted.
#[derive(Debug, Subcommand)]
pub enum DeleteCommand {
    /// Delete a custom resource type with its controllers, or the controllers of a kind of Kubernetes or of another crate
    ///
    /// Webhooks of the kind have to be deleted first. Nothing in a cluster changes.
    Api(DeleteArgs),
    /// Delete one of several versions of a kind, with its webhooks
    ///
    /// Refuses the version in which clusters store the objects, and the hub of a conversion.
    Version(DeleteArgs),
    /// Delete a controller, and keep the type
    Controller(DeleteControllerArgs),
    /// Delete webhooks of a kind: those of the flags, or all
    Webhook(DeleteWebhookArgs),
}

/// `delete api` and `delete version`; the common flags of the others.
#[derive(Debug, Clone, Default, Args)]
pub struct DeleteArgs {
    /// The API group without the project's domain; of a type of Kubernetes, such as apps, or core. It can be left out when only
    /// one group of the project has the kind
    #[arg(long, default_value = "", hide_default_value = true)]
    pub group: String,
    /// The API version, such as v1alpha1
    #[arg(long)]
    pub version: String,
    /// The kind, in PascalCase
    #[arg(long)]
    pub kind: String,
    /// Delete edited files too; without it they are an error that shows the edits
    #[arg(long)]
    pub discard: bool,
    /// Write the CRDs, the RBAC role and the webhook configurations too, as `generate` does
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", value_name = "BOOL")]
    pub make: bool,
    /// Flags for writing and reporting.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// `delete controller`
#[derive(Debug, Clone, Default, Args)]
pub struct DeleteControllerArgs {
    /// The kind.
    #[command(flatten)]
    pub of: DeleteArgs,
    /// The name of the controller, if the kind has several [default: all]
    #[arg(long, value_name = "NAME")]
    pub controller_name: Option<String>,
}

/// `delete webhook`
#[derive(Debug, Clone, Default, Args)]
pub struct DeleteWebhookArgs {
    /// The kind.
    #[command(flatten)]
    pub of: DeleteArgs,
    /// Delete the webhook that sets defaults
    #[arg(long)]
    pub defaulting: bool,
    /// Delete the webhook that validates
    #[arg(long)]
    pub programmatic_validation: bool,
    /// Delete the conversion, of which this version is the hub
    #[arg(long)]
    pub conversion: bool,
}

/// The parts of a project that can be renamed.
#[derive(Debug, Subcommand)]
pub enum RenameCommand {
    /// Rename a kind, its plural or short names, one of its versions, or an API group
    ///
    /// A kind: rename api --kind Memcached --to-kind Cache. A version: rename api --kind Memcached --version v1alpha1 --to-version
    /// v1beta1. A group with all its kinds: rename api --group cache --to-group store. Nothing in a cluster changes; the steps for
    /// clusters with objects are shown.
    Api(RenameApiArgs),
    /// Rename the project: its package, its namespace, and the prefix of its objects
    ///
    /// The folder keeps its name. Nothing in a cluster changes; the steps for clusters with the operator are shown.
    Project(RenameProjectArgs),
}

/// `rename api`
#[derive(Debug, Clone, Default, Args)]
pub struct RenameApiArgs {
    /// The API group without the project's domain. It can be left out when only one group of the project has the kind
    #[arg(long, default_value = "", hide_default_value = true)]
    pub group: String,
    /// The version to rename, with `--to-version`
    #[arg(long)]
    pub version: Option<String>,
    /// The kind, in PascalCase [default: all kinds of the group]
    #[arg(long)]
    pub kind: Option<String>,
    /// The new API group, without the project's domain
    #[arg(long, value_name = "GROUP")]
    pub to_group: Option<String>,
    /// The new version
    #[arg(long, value_name = "VERSION")]
    pub to_version: Option<String>,
    /// The new kind. Its plural follows the rules of English if the old one does
    #[arg(long, value_name = "KIND")]
    pub to_kind: Option<String>,
    /// The new plural
    #[arg(long, value_name = "PLURAL")]
    pub to_plural: Option<String>,
    /// The new short names, which replace all old ones; empty for none
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub to_short_name: Option<Vec<String>>,
    /// Write the CRDs, the RBAC role and the webhook configurations too, as `generate` does
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", value_name = "BOOL")]
    pub make: bool,
    /// Flags for writing and reporting.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// `rename project`
#[derive(Debug, Clone, Args)]
pub struct RenameProjectArgs {
    /// The new name
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Write the CRDs, the RBAC role and the webhook configurations too, as `generate` does
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", value_name = "BOOL")]
    pub make: bool,
    /// Flags for writing and reporting.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// The parts of a project that can be created.
#[derive(Debug, Subcommand)]
pub enum CreateCommand {
    /// Add a custom resource type and its controller, or a controller for a kind of Kubernetes or of another crate
    ///
    /// For a type of your own: create api --group cache --version v1alpha1 --kind Memcached, with --image for one that runs an image.
    /// For a kind of Kubernetes: create api --group apps --version v1 --kind Deployment. Then config/ is brought up to date.
    Api(CreateApiArgs),
    /// Add webhooks to a kind of the project, of Kubernetes, or of another crate
    ///
    /// For example: create webhook --group cache --version v1 --kind Memcached --defaulting --programmatic-validation
    Webhook(CreateWebhookArgs),
}

/// The output flags, shared by every command that writes files.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Output")]
pub struct WriteArgs {
    /// Write nothing; report what would change
    #[arg(long)]
    pub dry_run: bool,
    /// Write nothing; show what would change as a diff
    #[arg(long)]
    pub diff: bool,
    /// Write nothing; exit with code 3 if a file on disk differs from what the command would write
    #[arg(long, conflicts_with = "dry_run")]
    pub check: bool,
    /// Report errors only
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Report unchanged files too
    #[arg(short, long)]
    pub verbose: bool,
    /// The format of the report
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: OutputFormat,
}

/// The flag of commands that scaffold files.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Output")]
pub struct OverwriteArgs {
    /// Overwrite files that are there already with other text; generated files are overwritten in any case
    #[arg(long)]
    pub force: bool,
}

impl WriteArgs {
    /// Returns true if no file is written: the flags ask what the command would do.
    pub fn is_preview(&self) -> bool {
        self.dry_run || self.diff || self.check
    }
}

/// The format of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON document on stdout.
    Json,
    /// For code hosts and editors: the findings as one SARIF 2.1.0 document on stdout.
    Sarif,
}

/// The format of what is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum DataFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON document.
    Json,
}

/// `init`
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The folder of the project
    #[arg(default_value = ".")]
    pub dir: PathBuf,
    /// The flags that describe the project.
    #[command(flatten)]
    pub project: ProjectArgs,
    /// In an existing crate: write these files too, unless they exist
    #[arg(long, value_enum, value_name = "PARTS", value_delimiter = ',')]
    pub with: Vec<InitPart>,
    /// The flag to overwrite files of the author.
    #[command(flatten)]
    pub overwrite: OverwriteArgs,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// The files that an existing crate gets on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InitPart {
    /// Targets that generate, deploy and release.
    Makefile,
    /// The image of the operator, with its ignore file.
    Dockerfile,
    /// A workflow that compares the manifests with the source.
    Workflows,
}

/// The flags that describe a project.
#[derive(Debug, Clone, Args)]
pub struct ProjectArgs {
    /// The domain of the project's API groups [default: my.domain; example.com for a sample]
    #[arg(long)]
    pub domain: Option<String>,
    /// The name of the project, of its crate and the prefix of its objects [default: the folder's name in lower case]
    #[arg(long, value_name = "NAME")]
    pub project_name: Option<String>,
    /// The URL of the project's repository
    #[arg(long, value_name = "URL")]
    pub repo: Option<String>,
    /// The copyright holder, named in LICENSE (MIT) and at the top of every scaffolded Rust file
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    /// The license, written to LICENSE
    #[arg(long, value_enum, default_value_t)]
    pub license: License,
    /// Lay out the project for several API groups
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", value_name = "BOOL")]
    pub multigroup: bool,
    /// Grant a Role in the manager's own namespace instead of a ClusterRole, and watch only there
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", value_name = "BOOL")]
    pub namespaced: bool,
    /// Grant a Role in each of these namespaces, and watch only there; implies --namespaced. They are not created
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub namespaces: Vec<String>,
    /// The switches.
    #[command(flatten)]
    pub parts: PartArgs,
    /// Write Cargo.lock and download the dependencies
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", value_name = "BOOL")]
    pub fetch_deps: bool,
    /// Don't look for a Rust toolchain and a C linker
    #[arg(long)]
    pub skip_toolchain_check: bool,
    /// Flags of kubebuilder and operator-sdk.
    #[command(flatten)]
    pub peers: InitFlags,
}

/// The switches of a project.
#[derive(Debug, Clone, Default, Args)]
pub struct PartArgs {
    /// The source of the certificates of webhooks, once the project has webhooks [default: self]
    #[arg(long, value_enum, value_name = "MODE")]
    pub webhook_cert_mode: Option<CertMode>,
    /// The mode of the leader election [default: lease]
    #[arg(long, value_enum, value_name = "MODE")]
    pub leader_election: Option<LeaderElection>,
    /// Let a Prometheus operator scrape the metrics, and tell when the operator fails or hangs [default: false]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub prometheus: Option<bool>,
    /// Let only namespaces with the label `metrics: enabled` reach the metrics [default: false]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub network_policy: Option<bool>,
    /// Serve the metrics with the certificate of the Secret metrics-server-cert, not with one that the operator makes
    /// [default: false]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub metrics_cert: Option<bool>,
    /// The source of the runtime, the package memcached-sdk-manager: vendored, a copy in manager/; registry, a release on
    /// crates.io; git=URL[#REV]; path=DIR, relative to the project [default: vendored]
    #[arg(long, value_name = "SOURCE", value_parser = manager_source)]
    pub manager: Option<ManagerSource>,
    /// Further parts; NAME=false takes one back. helm: targets of make, and a workflow, for the Helm chart; grafana: dashboards;
    /// olm: targets of make for a bundle and a catalog of the Operator Lifecycle Manager
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = Plugin::parse)]
    pub plugins: Vec<PeerPlugin>,
}

fn manager_source(text: &str) -> Result<ManagerSource, String> {
    ManagerSource::parse(text).map_err(|problem| match problem.help {
        Some(help) => format!("{}; {help}", problem.message),
        None => problem.message,
    })
}

/// The license of a project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum License {
    /// Apache License 2.0.
    #[default]
    Apache2,
    /// MIT License.
    Mit,
    /// Either of both, as is the custom in Rust.
    MitApache2,
    /// None.
    None,
}

impl License {
    /// The SPDX expression.
    pub fn spdx(self) -> Option<&'static str> {
        match self {
            Self::Apache2 => Some("Apache-2.0"),
            Self::Mit => Some("MIT"),
            Self::MitApache2 => Some("MIT OR Apache-2.0"),
            Self::None => None,
        }
    }
}

/// `new`
#[derive(Debug, Args)]
pub struct NewArgs {
    /// The folder to make; its last part is the name of the project
    #[arg(value_name = "NAME")]
    pub dir: PathBuf,
    /// Add a complete operator to it
    #[arg(long, value_enum)]
    pub sample: Option<Sample>,
    /// Don't make a git repository
    #[arg(long)]
    pub skip_git_init: bool,
    /// The flags that describe the project.
    #[command(flatten)]
    pub project: ProjectArgs,
    /// The flag to overwrite files of the author.
    #[command(flatten)]
    pub overwrite: OverwriteArgs,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// The sample operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sample {
    /// Runs memcached: Deployment, Service, status, finalizer, events.
    Memcached,
}

/// `create api`
#[derive(Debug, Clone, Default, Args)]
pub struct CreateApiArgs {
    /// The API group without the project's domain; empty for the domain alone
    #[arg(long, default_value = "", hide_default_value = true)]
    pub group: String,
    /// The API version, such as v1alpha1
    #[arg(long, required_unless_present_any = ["from_crd", "from_go"])]
    pub version: Option<String>,
    /// The kind, in PascalCase
    #[arg(long, required_unless_present_any = ["from_crd", "from_go"])]
    pub kind: Option<String>,
    /// Write types that give the CRD in this file, or - for stdin; its names and versions are those of the CRD
    #[arg(long, value_name = "FILE", conflicts_with_all = ["external_api_path", "image"])]
    pub from_crd: Option<PathBuf>,
    /// The CRD of --from-crd belongs to another project: write only the types, and a controller with --controller
    #[arg(long = "external", requires = "from_crd")]
    pub is_external: bool,
    /// Add all kinds, controllers and webhooks of the kubebuilder project in this folder, with its markers
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "group", "version", "kind", "from_crd", "resource", "controller", "namespaced", "plural", "short_name", "external_api_path",
        "controller_name", "image",
    ])]
    pub from_go: Option<PathBuf>,
    /// Write the custom resource type [default: true, for a kind of Kubernetes false; on a terminal it is asked]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub resource: Option<bool>,
    /// Write the controller [default: true, or the answer to a question on a terminal]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub controller: Option<bool>,
    /// Objects of the kind live in namespaces
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", value_name = "BOOL")]
    pub namespaced: bool,
    /// The plural of the kind in lower case [default: by the rules of English]
    #[arg(long)]
    pub plural: Option<String>,
    /// A short name for kubectl; may be given several times
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub short_name: Vec<String>,
    /// The location of the type, with --resource=false.
    #[command(flatten)]
    pub external: ExternalArgs,
    /// The name of the controller, when one kind has several [default: the kind in lower case]
    #[arg(long, value_name = "NAME")]
    pub controller_name: Option<String>,
    /// Write the CRDs and the RBAC role too, as `generate` does
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", value_name = "BOOL")]
    pub make: bool,
    /// Write a controller that deploys this image
    #[arg(long)]
    pub image: Option<String>,
    /// The port that the image listens on
    #[arg(long, value_name = "PORT", requires = "image", value_parser = clap::value_parser!(u16).range(1..))]
    pub image_container_port: Option<u16>,
    /// The command to run in the image, its parts separated by commas
    #[arg(long, value_name = "PARTS", requires = "image", value_delimiter = ',')]
    pub image_container_command: Vec<String>,
    /// The user id to run the image as
    #[arg(long, value_name = "UID", requires = "image")]
    pub run_as_user: Option<u32>,
    /// Flags of kubebuilder and operator-sdk.
    #[command(flatten)]
    pub peers: CreateFlags,
    /// The flag to overwrite files of the author.
    #[command(flatten)]
    pub overwrite: OverwriteArgs,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// A type of another crate.
#[derive(Debug, Clone, Default, Args)]
pub struct ExternalArgs {
    /// The Rust module of a type of another crate, such as cert_manager::v1
    #[arg(long, value_name = "MODULE")]
    pub external_api_path: Option<String>,
    /// The domain of the API group of that type
    #[arg(long, value_name = "DOMAIN", requires = "external_api_path")]
    pub external_api_domain: Option<String>,
    /// The crate that has it, as NAME@VERSION: it becomes a dependency
    #[arg(long, value_name = "CRATE", requires = "external_api_path")]
    pub external_api_module: Option<String>,
}

/// `create webhook`
#[derive(Debug, Clone, Default, Args)]
pub struct CreateWebhookArgs {
    /// The API group without the project's domain; of a type of Kubernetes, such as apps, or core. It can be left out when only
    /// one group of the project has the kind
    #[arg(long, default_value = "", hide_default_value = true)]
    pub group: String,
    /// The API version, such as v1alpha1
    #[arg(long)]
    pub version: String,
    /// The kind, in PascalCase
    #[arg(long)]
    pub kind: String,
    /// The plural of the kind in lower case [default: that of the API, or by the rules of English]
    #[arg(long)]
    pub plural: Option<String>,
    /// Set defaults in objects that are created or updated
    #[arg(long)]
    pub defaulting: bool,
    /// Allow or deny that objects are created, updated or deleted
    #[arg(long)]
    pub programmatic_validation: bool,
    /// Convert objects between versions by way of the hub, --version: take the newest one, stored or not
    #[arg(long)]
    pub conversion: bool,
    /// The versions that are converted to the hub and from it, separated by commas
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',')]
    pub spoke: Vec<String>,
    /// The path of the defaulting webhook [default: /mutate-GROUP-VERSION-KIND]
    #[arg(long, value_name = "PATH")]
    pub defaulting_path: Option<String>,
    /// The path of the validating webhook [default: /validate-GROUP-VERSION-KIND]
    #[arg(long, value_name = "PATH")]
    pub validation_path: Option<String>,
    /// The location of the type.
    #[command(flatten)]
    pub external: ExternalArgs,
    /// The source of the certificates of the webhook server [default: self]
    #[arg(long, value_enum, value_name = "MODE")]
    pub webhook_cert_mode: Option<CertMode>,
    /// Write the webhook configurations, the CRDs and the RBAC role too, as `generate` does
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", value_name = "BOOL")]
    pub make: bool,
    /// Flags of kubebuilder and operator-sdk.
    #[command(flatten)]
    pub peers: CreateFlags,
    /// The flag to overwrite files of the author.
    #[command(flatten)]
    pub overwrite: OverwriteArgs,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// `edit`
#[derive(Debug, Clone, Default, Args)]
pub struct EditArgs {
    /// Lay out the project for several API groups: files move, and imports follow; false: for one. No object in a cluster
    /// gets another name
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub multigroup: Option<bool>,
    /// Grant a Role in the manager's own namespace and watch only there; false: a ClusterRole, and all namespaces
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", conflicts_with = "namespaces")]
    pub namespaced: Option<bool>,
    /// Grant a Role in each of these namespaces, and watch only there. They are not created
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub namespaces: Vec<String>,
    /// The suffix of the API groups: all kinds of the project get it. The steps for clusters with objects are shown
    #[arg(long)]
    pub domain: Option<String>,
    /// The URL of the source repository
    #[arg(long, value_name = "URL")]
    pub repo: Option<String>,
    /// Keep CRDs up to date there too, beside config/crd/bases: a folder, a file for all, or a pattern such as
    /// charts/demo/templates/crd-{singular}.yaml, with {group}, {plural}, {singular} and {kind}. In a file that exists, only the
    /// generated values change; empty: nowhere else
    #[arg(long, value_name = "PATTERN")]
    pub crds: Option<String>,
    /// The copyright holder, named in LICENSE (MIT) and at the top of every scaffolded Rust file; empty for none
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    /// The license, written to LICENSE
    #[arg(long, value_enum)]
    pub license: Option<License>,
    /// The switches.
    #[command(flatten)]
    pub parts: PartArgs,
    /// Write the CRDs, the RBAC role and the webhook configurations too, as `generate` does
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", value_name = "BOOL")]
    pub make: bool,
    /// The flag to overwrite files of the author.
    #[command(flatten)]
    pub overwrite: OverwriteArgs,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

impl ValueEnum for LeaderElection {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Lease => "The leader renews a Lease, and another one follows when it does not",
            Self::Life => "The leader stays until its pod is gone",
        };
        Some(PossibleValue::new(self.as_str()).help(help))
    }
}

impl ValueEnum for CertMode {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Own => {
                "The operator: it makes a CA, keeps it in a Secret, and tells the API server; nothing else is needed"
            }
            Self::CertManager => "cert-manager, which must be installed in the cluster",
            Self::Files => "You: the files are in the folder that `--webhook-cert-path` of the operator names",
        };
        Some(PossibleValue::new(self.as_str()).help(help))
    }
}

/// `generate`
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct GenerateArgs {
    /// The targets that are not generated from the source.
    #[command(subcommand)]
    pub target: Option<GenerateTarget>,
    /// The manifests to write
    #[arg(value_enum, default_value_t)]
    pub what: GenerateWhat,
    /// The name of the generated role
    #[arg(long, value_name = "NAME", default_value = role::ROLE)]
    pub role_name: String,
    /// Leave out rules that allow nothing but what another rule of the same role allows
    #[arg(long)]
    pub fold: bool,
    /// The engine that determines the CRDs
    #[arg(long, value_enum, default_value_t, value_name = "ENGINE")]
    pub engine: Engine,
    /// Ask both engines and compare their answers: a difference is an error; new releases that agree are recorded
    #[arg(long, conflicts_with = "engine")]
    pub verify: bool,
    /// Change in the CRDs what Kubernetes would like otherwise; without it they say exactly what the types say
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub fix: Vec<Fix>,
    /// The features of the crate.
    #[command(flatten)]
    pub features: FeatureArgs,
    /// Which CRDs.
    #[command(flatten)]
    pub kinds: KindArgs,
    /// The packages to read.
    #[command(flatten)]
    pub packages: PackageArgs,
    /// The destination of the manifests.
    #[command(flatten)]
    pub layout: LayoutArgs,
    /// Compare the CRDs of the source with those in this file or folder, and write nothing; may be given several times
    ///
    /// Reads each CRD in YAML files of any name, templates of Helm charts included. Parts that do not matter to the API server are not
    /// compared, nor are labels, annotations and conversions. Prints the differences; the exit code is 3 if there are any.
    #[arg(long, value_name = "PATH", value_delimiter = ',', conflicts_with_all = [
        "output_dir", "single_file", "stdout", "header_file", "dry_run", "diff", "check",
    ])]
    pub compare: Vec<PathBuf>,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// The targets of `generate` that are not generated from the source.
#[derive(Debug, Clone, Subcommand)]
pub enum GenerateTarget {
    /// Write a Helm chart of the rendered manifests
    ///
    /// Makes a chart of the objects that `make build-installer` has rendered, or of any other YAML stream with a Deployment.
    /// With its default values the chart renders the same objects. Templates are replaced each time; what you have changed in
    /// values.yaml stays, and so do Chart.yaml, the helpers, the notes, and all files of your own.
    Helm(GenerateHelmArgs),
    /// Write a bundle for the Operator Lifecycle Manager of the rendered manifests
    ///
    /// Makes a bundle of the objects that `kubectl kustomize config/manifests` prints, or of any other YAML with a Deployment that is
    /// piped in or named: manifests, annotations, the configuration of its tests, and beside its folder the Dockerfile of its image.
    /// These files are replaced each time; other manifests and annotations stay. Run twice, it changes nothing: what no flag says stays as it was,
    /// and the time is that of SOURCE_DATE_EPOCH.
    Bundle(Box<GenerateBundleArgs>),
    /// Write a file-based catalog of bundles
    ///
    /// Adds bundles to DIR/PACKAGE/catalog.yaml, where versions that are there stay, and writes the Dockerfile of the catalog's image,
    /// which opm serves. Each bundle is checked as `bundle validate` does.
    Catalog(GenerateCatalogArgs),
    /// Write what `generate bundle` reads, for kustomize
    #[command(subcommand)]
    Kustomize(KustomizeCommand),
    /// Write rendered manifests as files to create one after the other
    ///
    /// Reads the objects that `make build-installer` has rendered, or any other YAML stream, and the samples of their kinds. Writes
    /// deploy/crds/GROUP_VERSION_KIND_crd.yaml and _cr.yaml, and deploy/{service_account,role,role_binding,operator}.yaml: for
    /// `kubectl create -f` in this order, without kustomize, as operator-sdk laid them out before version 1.
    Installer(GenerateInstallerArgs),
}

/// The subcommands of `generate kustomize`.
#[derive(Debug, Clone, Subcommand)]
pub enum KustomizeCommand {
    /// Write config/manifests and config/scorecard: what is said of the operator in catalogs, and its tests
    ///
    /// The files are yours from then on. Nothing is asked: what no flag answers is in
    /// config/manifests/bases/PROJECT.clusterserviceversion.yaml to be written there.
    Manifests(Box<KustomizeManifestsArgs>),
}

/// `generate kustomize manifests`
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct KustomizeManifestsArgs {
    /// The name for people
    #[arg(long, value_name = "TEXT")]
    pub display_name: Option<String>,
    /// The purpose of the operator, in Markdown
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// The level of capabilities [default: Basic Install]
    #[arg(long, value_name = "LEVEL")]
    pub capabilities: Option<String>,
    /// Categories of OperatorHub.io
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub categories: Vec<String>,
    /// Words to find it by
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    pub keywords: Vec<String>,
    /// A link, as NAME=URL; may be given several times
    #[arg(long, value_name = "NAME=URL", value_parser = pair)]
    pub link: Vec<(String, String)>,
    /// A maintainer, as NAME=ADDRESS; may be given several times
    #[arg(long, value_name = "NAME=ADDRESS", value_parser = pair)]
    pub maintainer: Vec<(String, String)>,
    /// The provider of the operator
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// The provider's URL
    #[arg(long, value_name = "URL")]
    pub provider_url: Option<String>,
    /// The maturity of the operator [default: alpha]
    #[arg(long, value_name = "WORD")]
    pub maturity: Option<String>,
    /// The oldest Kubernetes that it runs on, such as 1.30.0
    #[arg(long, value_name = "VERSION")]
    pub min_kube_version: Option<String>,
    /// The icon: a file in SVG, PNG, JPEG or GIF
    #[arg(long, value_name = "FILE")]
    pub icon: Option<PathBuf>,
    /// Nothing is ever asked; the flag is for Makefiles of operator-sdk
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide = true)]
    pub interactive: Option<bool>,
    /// The flag to overwrite files of the author.
    #[command(flatten)]
    pub overwrite: OverwriteArgs,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// `NAME=VALUE`
fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` has no `=`"))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// `generate bundle`
#[derive(Debug, Clone, Args)]
pub struct GenerateBundleArgs {
    /// The manifests, a file or a folder of them; `-` is stdin [default: stdin if something is piped in, else --kustomize-dir,
    /// rendered by kubectl or kustomize]
    #[arg(long, value_name = "PATH", alias = "input-dir")]
    pub manifests: Option<PathBuf>,
    /// The version of the operator [default: that of the bundle that is there]
    #[arg(long, value_name = "VERSION")]
    pub version: Option<semver::Version>,
    /// The name of the operator in catalogs [default: the project's]
    #[arg(long, value_name = "NAME")]
    pub package: Option<String>,
    /// The channel that publishes the version [default: that of the existing bundle, else alpha]
    #[arg(long, value_name = "NAMES")]
    pub channels: Option<String>,
    /// The channel for who chooses none; empty for none
    #[arg(long, value_name = "NAME")]
    pub default_channel: Option<String>,
    /// The version that is upgraded from, as the name of its CSV, such as memcached-operator.v0.0.1
    #[arg(long, value_name = "NAME")]
    pub replaces: Option<String>,
    /// Service accounts whose permissions are those of the operator, too
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub extra_service_accounts: Vec<String>,
    /// The kustomization of the manifests; where the base of the CSV is, when the manifests have none
    #[arg(long, value_name = "DIR", default_value = "config/manifests")]
    pub kustomize_dir: PathBuf,
    /// The folder of the bundle; bundle.Dockerfile is beside it
    #[arg(long, value_name = "DIR", default_value = "bundle")]
    pub output_dir: PathBuf,
    /// Generated files are replaced in any case; the flag is for Makefiles of operator-sdk
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide = true)]
    pub overwrite: Option<bool>,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// `generate catalog`
#[derive(Debug, Clone, Args)]
pub struct GenerateCatalogArgs {
    /// The folders of the bundles, each with its image
    #[arg(value_name = "DIR=IMAGE", required = true, value_parser = pair)]
    pub bundles: Vec<(String, String)>,
    /// The channel for who chooses none [default: that of the newest bundle, else as in the catalog that is there]
    #[arg(long, value_name = "NAME")]
    pub default_channel: Option<String>,
    /// The folder of the catalog; its Dockerfile is beside it
    #[arg(long, value_name = "DIR", default_value = "catalog")]
    pub output_dir: PathBuf,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// The subcommands of `bundle`.
#[derive(Debug, Subcommand)]
pub enum BundleCommand {
    /// Find out what OLM and catalogs would refuse of a bundle
    ///
    /// Checks the files, the annotations, the CSV and the objects as operator-sdk does. The exit code is 1 if there is an error.
    Validate(BundleValidateArgs),
}

/// `bundle validate`
#[derive(Debug, Clone, Args)]
pub struct BundleValidateArgs {
    /// The folder of the bundle
    #[arg(value_name = "DIR", default_value = "bundle")]
    pub dir: PathBuf,
    /// Further checks: name=operatorhubv2, capabilities, categories, alpha-deprecated-apis or good-practices; all of these are
    /// suite=operatorframework
    #[arg(long, value_name = "SELECTOR", value_delimiter = ',')]
    pub select_optional: Vec<String>,
    /// For these: k8s-version=VERSION is one that the operator is to run on
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = pair)]
    pub optional_values: Vec<(String, String)>,
    /// The format of the report
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: OutputFormat,
}

/// `scorecard`
#[derive(Debug, Clone, Args)]
pub struct ScorecardArgs {
    /// The folder of the bundle
    #[arg(value_name = "DIR", default_value = "bundle")]
    pub dir: PathBuf,
    /// Only tests with this label, such as suite=olm or test=basic-check-spec-test; of several, with all
    #[arg(short = 'l', long, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = pair)]
    pub selector: Vec<(String, String)>,
    /// The format of the verdicts
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: DataFormat,
}

/// `generate helm`
#[derive(Debug, Clone, Args)]
pub struct GenerateHelmArgs {
    /// The manifests; `-` is stdin
    #[arg(long, value_name = "FILE", default_value = "dist/install.yaml")]
    pub manifests: PathBuf,
    /// The folder of the chart, which is the folder `chart` in it
    #[arg(long, value_name = "DIR", default_value = "dist")]
    pub output_dir: PathBuf,
    /// The flag to overwrite files of the author.
    #[command(flatten)]
    pub overwrite: OverwriteArgs,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// `generate installer`
#[derive(Debug, Clone, Args)]
pub struct GenerateInstallerArgs {
    /// Which files there are
    #[arg(long, value_enum, default_value_t)]
    pub layout: InstallerLayout,
    /// The manifests; `-` is stdin
    #[arg(long, value_name = "FILE", default_value = "dist/install.yaml")]
    pub manifests: PathBuf,
    /// A folder with objects of the kinds that the manifests define
    #[arg(long, value_name = "DIR", default_value = "config/samples")]
    pub samples: PathBuf,
    /// The folder to write to
    #[arg(long, value_name = "DIR", default_value = "deploy")]
    pub output_dir: PathBuf,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// The layout of an installer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum InstallerLayout {
    /// crds/*.yaml, service_account.yaml, role.yaml, role_binding.yaml, operator.yaml.
    #[default]
    Deploy,
}

/// Which CRDs to write.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Kinds")]
pub struct KindArgs {
    /// Write only the CRDs of these kinds: Kind, Kind.group, or a glob; may be given several times
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub kind: Vec<String>,
    /// Don't write the CRDs of these kinds: Kind, Kind.group, or a glob; may be given several times
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub exclude: Vec<String>,
    /// Write what is exact although something else is refused, and exit with code 1
    #[arg(long)]
    pub keep_going: bool,
}

/// The packages to read, as cargo chooses them.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Packages")]
pub struct PackageArgs {
    /// The Cargo.toml of the package or workspace; config/ is in its folder [default: the nearest one upwards]
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// A package of the workspace; may be given several times
    #[arg(short, long, value_name = "NAME")]
    pub package: Vec<String>,
    /// All packages of the workspace
    #[arg(long, conflicts_with = "package")]
    pub workspace: bool,
    /// Only what is in these files and folders; may be given several times
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub paths: Vec<PathBuf>,
}

/// The destination and the format of manifests.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Manifests")]
pub struct LayoutArgs {
    /// Put all files into this folder [default: config/crd/bases for CRDs, config/rbac for the role, config/webhook for webhooks]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["single_file", "stdout"])]
    pub output_dir: Option<PathBuf>,
    /// Write all of it into one file
    #[arg(long, value_name = "FILE", conflicts_with = "stdout")]
    pub single_file: Option<PathBuf>,
    /// Print the manifests, and write no file
    #[arg(long, conflicts_with_all = ["dry_run", "diff", "check"])]
    pub stdout: bool,
    /// Cut descriptions in CRDs to this many bytes, at the end of a sentence or word; 0 leaves them out
    #[arg(long, value_name = "N")]
    pub max_desc_len: Option<usize>,
    /// A file with YAML comments to put on top of each generated file
    #[arg(long, value_name = "FILE")]
    pub header_file: Option<PathBuf>,
    /// The replacement for YEAR in the text of --header-file
    #[arg(long, value_name = "YEAR", requires = "header_file")]
    pub year: Option<String>,
}

impl ValueEnum for Engine {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Auto, Self::Static, Self::Compiled]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Auto => ("auto", "The source, or the compiler if the source is not sufficient"),
            Self::Static => {
                ("static", "The source alone, in milliseconds; a construct that it cannot evaluate is an error")
            }
            Self::Compiled => {
                ("compiled", "The compiler alone: cargo builds the types, and the program prints their CRDs")
            }
        };
        Some(PossibleValue::new(name).help(help))
    }
}

/// The changes that `--fix` can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fix {
    /// All of these.
    All,
    /// Formats that the API server warns about: `uint32` becomes `int64`, one that has no counterpart is left out.
    Formats,
    /// The name of the list kind is written, as the API server would fill it in.
    ListKind,
    /// The scale subresource is written although the kind has no status.
    Scale,
}

impl Fix {
    /// The kinds of changes that the value selects.
    pub fn sorts(self) -> &'static [Fixable] {
        match self {
            Self::All => &Fixable::ALL,
            Self::Formats => &[Fixable::Formats],
            Self::ListKind => &[Fixable::ListKind],
            Self::Scale => &[Fixable::Scale],
        }
    }
}

/// The features of the crate, with the flags of cargo.
#[derive(Debug, Clone, Default, Args)]
pub struct FeatureArgs {
    /// Features of the crate to switch on, separated by commas or spaces
    #[arg(short = 'F', long, value_name = "FEATURES", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Switch on all features of the crate
    #[arg(long)]
    pub all_features: bool,
    /// Don't switch on the default features of the crate
    #[arg(long)]
    pub no_default_features: bool,
}

/// The manifests that `generate` writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum GenerateWhat {
    /// Everything.
    #[default]
    #[value(aliases = ["manifests", "k8s"])]
    All,
    /// crd/bases.
    #[value(aliases = ["crd", "openapi"])]
    Crds,
    /// rbac/role.yaml.
    Rbac,
    /// webhook/manifests.yaml.
    #[value(alias = "webhook")]
    Webhooks,
}

impl GenerateWhat {
    /// Returns true if the CRDs are selected.
    pub fn crds(self) -> bool {
        matches!(self, Self::All | Self::Crds)
    }

    /// Returns true if the role is selected.
    pub fn rbac(self) -> bool {
        matches!(self, Self::All | Self::Rbac)
    }

    /// Returns true if the webhooks are selected.
    pub fn webhooks(self) -> bool {
        matches!(self, Self::All | Self::Webhooks)
    }
}

/// The subcommands of `migrate`.
#[derive(Debug, Subcommand)]
pub enum MigrateCommand {
    /// Store all objects in the version that is stored now, and forget the versions before
    ///
    /// Rewrites the objects of a CRD one by one, without a change, so that the API server stores them in the version that its CRD
    /// names. When there is none left, that is the only one in status.storedVersions, and the others can be removed from the CRD.
    /// Works with kubectl, which has to be in PATH.
    Storage(MigrateStorageArgs),
}

/// `migrate storage`
#[derive(Debug, Clone, Args)]
pub struct MigrateStorageArgs {
    /// Kinds of the project, or CRDs by their name; else all kinds of the project
    #[arg(value_name = "KIND|PLURAL.GROUP")]
    pub kinds: Vec<String>,
    /// Only ask the API server whether each object can be rewritten
    #[arg(long)]
    pub dry_run: bool,
    /// The number of objects in one page of a list
    #[arg(long, value_name = "NUMBER", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    pub page_size: u32,
    /// The kubeconfig; else that of kubectl
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; else its current one
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Report errors only
    #[arg(short, long)]
    pub quiet: bool,
}

/// The subcommands of `rbac`.
#[derive(Debug, Subcommand)]
pub enum RbacCommand {
    /// Print the permissions that the code uses
    ///
    /// Reads which requests the code makes: every `Api`, controller, watcher, event and election is followed to the calls
    /// that are made on it. The result is a proposal for markers; nothing is written. What could not be followed is a warning.
    Derive(DeriveArgs),
    /// List the calls that use a permission
    Explain(ExplainArgs),
    /// Compare the declared permissions with those that the code uses
    ///
    /// Declared are the markers, and the roles of config/ that are bound to the operator's ServiceAccount; with --role those in
    /// the files instead. A finding can be allowed by a comment before it, which must say why:
    /// `// memcached-sdk:allow(rbac-excess): reason`. The exit code is 1 if there are findings.
    Lint(LintArgs),
    /// Compare the declared permissions with what an operator has requested
    ///
    /// Reads an audit log of the API server, one JSON object a line, as `--audit-log-path` writes it with a policy of level Metadata
    /// or higher. What was refused to the operator is missing; a permission that no request has used is reported, too. The exit
    /// code is 1 if there are findings.
    Verify(VerifyArgs),
}

/// `rbac derive`
#[derive(Debug, Clone, Args)]
pub struct DeriveArgs {
    /// The part to print
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", conflicts_with = "output")]
    pub format: DeriveFormat,
    /// The name of the role
    #[arg(long, value_name = "NAME", default_value = role::ROLE)]
    pub role_name: String,
    /// The code to read.
    #[command(flatten)]
    pub code: CodeArgs,
}

/// The output format of derived permissions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum DeriveFormat {
    /// Roles, as `generate` writes them.
    #[default]
    Roles,
    /// Markers to paste; without what a generated project has roles of its own for.
    Markers,
}

/// `rbac explain`
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// A verb, a resource, or both, such as `patch deployments.apps`, `pods/log` or `get /metrics`; or a marker
    #[arg(value_name = "RULE", required = true, num_args = 1..)]
    pub rule: Vec<String>,
    /// The code to read.
    #[command(flatten)]
    pub code: CodeArgs,
}

/// `rbac lint`
#[derive(Debug, Clone, Args)]
pub struct LintArgs {
    /// Add markers for what is used and not declared; nothing is removed
    #[arg(long, conflicts_with = "role")]
    pub fix: bool,
    /// Roles that are written by hand, and perhaps their bindings: a file, a folder, a kustomization or a Helm chart; may be
    /// given several times
    #[arg(long, value_name = "PATH")]
    pub role: Vec<PathBuf>,
    /// The operator's ServiceAccount, NAME or NAMESPACE/NAME, where the files bind roles to several
    #[arg(long, value_name = "NAME", requires = "role")]
    pub service_account: Option<String>,
    /// Only what this binary does, where the package has several with roles of their own
    #[arg(long, value_name = "NAME")]
    pub bin: Option<String>,
    /// The features of the crate.
    #[command(flatten)]
    pub features: FeatureArgs,
    /// The packages to read.
    #[command(flatten)]
    pub packages: PackageArgs,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// `rbac verify`
#[derive(Debug, Clone, Args)]
pub struct VerifyArgs {
    /// The audit log; - for standard input
    #[arg(long, value_name = "FILE")]
    pub audit_log: PathBuf,
    /// The operator: NAMESPACE/NAME of its ServiceAccount, or the full name of a user
    #[arg(long, value_name = "USER")]
    pub user: String,
    /// Roles that are written by hand, and perhaps their bindings: a file, a folder, a kustomization or a Helm chart; may be
    /// given several times
    #[arg(long, value_name = "PATH")]
    pub role: Vec<PathBuf>,
    /// The features of the crate.
    #[command(flatten)]
    pub features: FeatureArgs,
    /// The packages to read.
    #[command(flatten)]
    pub packages: PackageArgs,
    /// The format of the report
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: OutputFormat,
}

/// The code to read and the output format.
#[derive(Debug, Clone, Default, Args)]
pub struct CodeArgs {
    /// Only what this binary does, where the package has several with roles of their own
    #[arg(long, value_name = "NAME")]
    pub bin: Option<String>,
    /// The features of the crate.
    #[command(flatten)]
    pub features: FeatureArgs,
    /// The packages to read.
    #[command(flatten)]
    pub packages: PackageArgs,
    /// The format of the output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: DataFormat,
}

/// `alpha`
#[derive(Debug, Subcommand)]
pub enum AlphaCommand {
    /// Write the scaffold that PROJECT describes into another folder
    ///
    /// Files are as they were before anybody changed them, in the version of PROJECT. The folder manager is not written.
    Generate(AlphaGenerateArgs),
    /// Bring the scaffold and the crate manager of the project to this version: `update`
    Update(UpdateArgs),
}

/// `alpha generate`
#[derive(Debug, Clone, Args)]
pub struct AlphaGenerateArgs {
    /// The folder of the project [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub input_dir: Option<PathBuf>,
    /// The folder to write
    #[arg(long, value_name = "DIR")]
    pub output_dir: PathBuf,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// The choice for lines that both the author and the scaffold have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Conflicts {
    /// Write both, between the conflict markers of git
    Markers,
    /// Keep your lines
    Ours,
    /// Take the lines of the scaffold
    Theirs,
}

/// `update`
#[derive(Debug, Clone, Args)]
pub struct UpdateArgs {
    /// Bring the crate to a release of kube instead: its dependencies and its code [default: the newest known release]
    ///
    /// For an operator on an older kube, with or without PROJECT. kube, k8s-openapi and schemars move together. Changes of the code
    /// that are certain are made; every other place is reported with what to write.
    #[arg(long, value_name = "RELEASE", num_args = 0..=1, conflicts_with_all = ["conflicts", "force"])]
    pub kube: Option<Option<String>>,
    /// Decide about lines that both you and the scaffold have changed [default: report them, and write nothing]
    #[arg(long, value_enum, value_name = "CHOICE")]
    pub conflicts: Option<Conflicts>,
    /// The flag to overwrite files of the author.
    #[command(flatten)]
    pub overwrite: OverwriteArgs,
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// `undo`
#[derive(Debug, Clone, Args)]
pub struct UndoArgs {
    /// The output flags.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// `completion`
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `version`
#[derive(Debug, Args)]
pub struct VersionArgs {
    /// The format of the output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: DataFormat,
}

/// `doctor`
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The format of the output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: DataFormat,
}

/// `render`
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// A file with a custom resource in YAML; - is stdin
    #[arg(value_name = "FILE")]
    pub object: PathBuf,
    /// Print a diff instead: what changes if the custom resource in this file becomes that of FILE
    #[arg(long, value_name = "FILE")]
    pub diff: Option<PathBuf>,
}

/// The binary to explore, its inputs, and the extent of the exploration.
#[derive(Debug, Args)]
pub struct ExploreArgs {
    /// The operator's program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// The program of the previous release, which gets the same arguments: explore upgrades from it, and roll backs to it
    #[arg(long, value_name = "PROGRAM")]
    pub previous: Option<PathBuf>,
    /// A folder or a file with CRDs [default: config/crd/bases]
    #[arg(long, value_name = "DIR|FILE")]
    pub crds: Vec<PathBuf>,
    /// A file with objects that the operator reconciles [default: the files in config/samples]
    #[arg(long = "sample", value_name = "FILE")]
    pub samples: Vec<PathBuf>,
    /// A file with the roles of the operator: each request must be permitted [default: config/rbac/role.yaml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub role: Option<PathBuf>,
    /// Permit all requests
    #[arg(long, conflicts_with = "role")]
    pub no_role: bool,
    /// Use the API server of this kubeconfig, by kubectl proxy. Objects that runs make there are deleted [default: start
    /// an API server]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The time after which no further run starts, such as 10m [default: the variable EXPLORE, or 60s]
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// The time without requests after which a state is settled [default: 2s]
    #[arg(long, value_name = "TIME")]
    pub settle: Option<String>,
    /// Run the schedules of one oracle only, after the undisturbed runs
    #[arg(long, value_enum, value_name = "ORACLE")]
    pub only: Option<ExploreOracle>,
    /// Run one schedule only, as a finding prints it
    #[arg(long, value_name = "SCHEDULE", conflicts_with = "only")]
    pub replay: Option<String>,
    /// The format of the report
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: DataFormat,
}

/// An oracle of `explore`, with its help.
#[derive(Debug, Clone, Copy)]
pub struct ExploreOracle(pub(crate) Oracle, &'static str);

impl ValueEnum for ExploreOracle {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self(Oracle::Quiet, "The state settles, and a new process changes nothing"),
            Self(Oracle::Crash, "The end is the same after a crash before or after each write"),
            Self(Oracle::Deletion, "After a deletion at any time, nothing of the operator stays"),
            Self(Oracle::Drift, "Each owned object and field is repaired"),
            Self(Oracle::Faults, "The end is the same after 409, 429, 500, 504 or a dropped connection"),
            Self(Oracle::History, "The end is the same after changes of the spec, and for a new object"),
            Self(Oracle::Permission, "The role permits all requests"),
            Self(Oracle::Release, "The end is the same after an upgrade from --previous, and after a roll back"),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.1))
    }
}

/// The release of etcd and kube-apiserver, and how its folder is printed.
#[derive(Debug, Args)]
pub struct EnvtestArgs {
    /// The release of Kubernetes, such as 1.36 or 1.36.2; else the newest one that is installed or listed
    #[arg(long)]
    pub version: Option<String>,
    /// The folder to install into; else that of setup-envtest
    #[arg(long)]
    pub dir: Option<PathBuf>,
    /// The list of releases, a file or a URL; else that of controller-tools
    #[arg(long, value_name = "FILE|URL")]
    pub index: Option<String>,
    /// The form in which the folder is printed
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub print: EnvtestPrint,
}

/// The form in which the folder of etcd and kube-apiserver is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum EnvtestPrint {
    /// A line for the shell that sets KUBEBUILDER_ASSETS
    #[default]
    Env,
    /// A path
    Path,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
