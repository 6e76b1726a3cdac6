//! Flags and environment variables that every operator understands.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::duration;
use crate::election::LeaderElection;
use crate::error::Error;
use crate::http::address::BindAddress;
use crate::http::endpoint::Endpoint;
use crate::logging::LogOptions;

/// The flags of the manager. Flatten them into those of your program.
///
/// # Examples
///
/// ```
/// use clap::Parser;
/// use manager::Options;
///
/// #[derive(Parser)]
/// struct Args {
///     #[command(flatten)]
///     manager: Options,
/// }
///
/// assert!(Args::try_parse_from(["example", "--max-concurrent-reconciles=2"]).is_ok());
/// assert!(Args::try_parse_from(["example", "--max-concurrent-reconciles=0"]).is_err());
/// ```
#[derive(Clone, Debug, clap::Args)]
// The program has its own description.
#[command(about = None, long_about = None)]
pub struct Options {
    /// Path to a kubeconfig; default KUBECONFIG, ~/.kube/config, or the service account of the pod
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig; default its current context
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// Address of the probes /healthz and /readyz; 0 disables them
    #[arg(long, value_name = "ADDRESS", default_value = ":8081")]
    pub(crate) health_probe_bind_address: BindAddress,

    /// Address of /metrics, such as :8443, or :8080 with --metrics-secure=false; 0 disables it
    #[arg(long, value_name = "ADDRESS", default_value = "0")]
    pub(crate) metrics_bind_address: BindAddress,

    /// Serve metrics by HTTPS and only to authorized clients; false serves plain HTTP to everybody
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_value_t = true, default_missing_value = "true")]
    #[arg(action = clap::ArgAction::Set)]
    pub(crate) metrics_secure: bool,

    /// Folder with the certificate of the metrics server, reloaded when it changes; default a self-signed certificate
    #[arg(long, value_name = "FOLDER")]
    pub(crate) metrics_cert_path: Option<PathBuf>,

    /// File name of the certificate in the folder
    #[arg(long, value_name = "FILE", default_value = "tls.crt")]
    pub(crate) metrics_cert_name: PathBuf,

    /// File name of the key in the folder
    #[arg(long, value_name = "FILE", default_value = "tls.key")]
    pub(crate) metrics_cert_key: PathBuf,

    /// Maximum concurrent reconciles per controller
    #[arg(long, value_name = "NUMBER", default_value = "8")]
    pub(crate) max_concurrent_reconciles: NonZeroUsize,

    /// Time limit of running reconciles after a stop signal, such as 8s; must be less than the grace period of the pod
    #[arg(long, value_name = "DURATION", default_value = "8s", value_parser = duration::parse)]
    pub(crate) graceful_shutdown_timeout: Duration,

    /// The flags of the leader election.
    #[command(flatten)]
    pub(crate) leader_election: LeaderElection,

    /// The flags of the webhook server.
    #[cfg(feature = "webhook")]
    #[command(flatten)]
    pub webhook: crate::webhook::WebhookOptions,

    /// The flags of the log.
    #[command(flatten)]
    pub(crate) log: LogOptions,
}

impl Options {
    /// Initializes logging to standard error, according to the flags and `RUST_LOG`.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[derive(clap::Parser)]
    /// # struct Args {
    /// #     #[command(flatten)]
    /// #     manager: manager::Options,
    /// # }
    /// # let options = <Args as clap::Parser>::parse_from(["example"]).manager;
    /// options.init_logging();
    /// tracing::info!("starting");
    /// ```
    pub fn init_logging(&self) {
        self.log.init();
    }

    pub(crate) async fn config(&self) -> Result<Config, Error> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        let config = match &self.kubeconfig {
            Some(file) => match Kubeconfig::read_from(file) {
                Ok(kubeconfig) => Config::from_custom_kubeconfig(kubeconfig, &options).await,
                Err(error) => Err(error),
            },
            None if self.context.is_some() => Config::from_kubeconfig(&options).await,
            None => {
                let inferred = Config::infer().await;
                return inferred.map_err(|error| Error::Config(Box::new(error)));
            }
        };
        config.map_err(|error| Error::Kubeconfig(Box::new(error)))
    }

    pub(crate) fn metrics_endpoint(&self) -> Endpoint<'_> {
        let files = [&self.metrics_cert_name, &self.metrics_cert_key];
        let folder = self.metrics_cert_path.as_ref();
        Endpoint {
            address: &self.metrics_bind_address,
            secure: self.metrics_secure,
            certificate: folder.map(|folder| files.map(|name| folder.join(name))),
        }
    }
}

/// Returns the namespaces of `WATCH_NAMESPACE`, a list that is separated by commas. Empty or unset stands for all.
pub(crate) fn watched_namespaces() -> Vec<String> {
    namespaces(&std::env::var("WATCH_NAMESPACE").unwrap_or_default())
}

fn namespaces(list: &str) -> Vec<String> {
    let names = list
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let mut names: Vec<_> = names.map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_a_list_and_none_means_all() {
        assert_eq!(namespaces(""), Vec::<String>::new());
        assert_eq!(namespaces(" b, a,,b"), ["a", "b"]);
    }

    #[derive(clap::Parser)]
    struct Args {
        #[command(flatten)]
        options: Options,
    }

    #[tokio::test]
    async fn the_cluster_is_that_of_the_flags() {
        use clap::Parser;

        let file = std::env::temp_dir().join(format!("kubeconfig-{}", std::process::id()));
        let both = |each: fn(&'static str) -> String| ["a", "b"].map(each).concat();
        let text = format!(
            "current-context: a\nclusters:\n{}contexts:\n{}users: [{{ name: me, user: {{}} }}]\n",
            both(|name| format!(
                "- {{ name: {name}, cluster: {{ server: 'https://{name}.example.com' }} }}\n"
            )),
            both(|name| format!(
                "- {{ name: {name}, context: {{ cluster: {name}, user: me }} }}\n"
            )),
        );
        std::fs::write(&file, text).unwrap();
        let kubeconfig = format!("--kubeconfig={}", file.display());
        for (flags, host) in [
            (vec![], Some("a.example.com")),
            (vec!["--context=b"], Some("b.example.com")),
            (vec!["--context=c"], None),
        ] {
            let args = Args::parse_from(["test", &kubeconfig].into_iter().chain(flags));
            let config = args.options.config().await;
            let actual = config
                .as_ref()
                .ok()
                .and_then(|config| config.cluster_url.host());
            assert_eq!(actual, host, "{:?}", config.as_ref().err());
        }
        std::fs::remove_file(&file).unwrap();
        let args = Args::parse_from(["test", &kubeconfig]);
        let error = args.options.config().await.unwrap_err().to_string();
        assert!(error.contains("kubeconfig"), "{error}");
    }
}
