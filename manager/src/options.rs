//! Flags and environment variables that every operator understands, and the log that they set up: one line per event on
//! standard error.

use std::io::{IsTerminal, stderr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::election::LeaderElection;
use crate::error::Error;
use crate::http::BindAddress;
use crate::http::endpoint::Endpoint;
use crate::time;

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
    #[arg(long, value_name = "DURATION", default_value = "8s", value_parser = time::parse_duration)]
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

/// Flags of the log, and those of the same meaning that operators in Go have.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LogOptions {
    /// Log level, or levels per module such as info,kube=debug; `RUST_LOG` takes precedence
    #[arg(long, value_name = "LEVEL", alias = "zap-log-level", value_parser = levels)]
    pub(crate) log_level: Option<Targets>,

    /// Log format
    #[arg(long, value_name = "FORMAT", alias = "zap-encoder")]
    pub(crate) log_format: Option<LogFormat>,

    /// Log text at level debug, unless other flags are set
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_value_t = false, default_missing_value = "true", hide = true)]
    #[arg(action = clap::ArgAction::Set)]
    pub(crate) zap_devel: bool,

    /// Ignored: errors have no stack trace
    #[arg(long, value_name = "LEVEL", hide = true)]
    pub(crate) zap_stacktrace_level: Option<String>,

    /// Ignored: times are in RFC 3339
    #[arg(long, value_name = "FORMAT", hide = true)]
    pub(crate) zap_time_encoding: Option<String>,
}

/// The format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// Human-readable text.
    #[value(alias = "console")]
    Text,
    /// One JSON object per line.
    Json,
}

impl LogOptions {
    pub(crate) fn init(&self) {
        let variable = std::env::var("RUST_LOG").ok();
        let variable = variable
            .as_deref()
            .filter(|text| !text.is_empty())
            .map(levels);
        let (from_environment, error) = match variable {
            Some(Ok(levels)) => (Some(levels), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        let registry = tracing_subscriber::registry().with(self.levels(from_environment));
        let layer = fmt::layer()
            .with_writer(stderr)
            .with_ansi(stderr().is_terminal());
        match self.log_format {
            Some(LogFormat::Json) => registry.with(layer.json()).init(),
            Some(LogFormat::Text) | None => registry.with(layer).init(),
        }
        if let Some(error) = error {
            tracing::warn!(error, "`RUST_LOG` is not valid and is ignored");
        }
    }

    fn levels(&self, from_environment: Option<Targets>) -> Targets {
        let default = if self.zap_devel {
            LevelFilter::DEBUG
        } else {
            LevelFilter::INFO
        };
        from_environment
            .or_else(|| self.log_level.clone())
            .unwrap_or_else(|| Targets::new().with_default(default))
    }
}

/// Parses levels per module, or a level of zap. Larger numbers give more detail.
fn levels(text: &str) -> Result<Targets, String> {
    let level = match text {
        "panic" | "dpanic" | "fatal" => Some(LevelFilter::ERROR),
        _ => text.parse::<u8>().ok().map(|detail| match detail {
            0 => LevelFilter::INFO,
            1 => LevelFilter::DEBUG,
            2.. => LevelFilter::TRACE,
        }),
    };
    match level {
        Some(level) => Ok(Targets::new().with_default(level)),
        None => text.parse().map_err(|error| {
            format!("{error}; levels are error, warn, info, debug, trace and off")
        }),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn namespaces_are_a_list_and_none_means_all() {
        assert_eq!(namespaces(""), Vec::<String>::new());
        assert_eq!(namespaces(" b, a,,b"), ["a", "b"]);
    }

    #[derive(Parser)]
    struct Args {
        #[command(flatten)]
        options: Options,
    }

    #[tokio::test]
    async fn the_cluster_is_that_of_the_flags() {
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

    #[test]
    fn flags_of_zap_mean_the_same() {
        let cases = [
            ("", None, "info", None),
            ("--log-level warn", None, "warn", None),
            ("--log-level info,kube=debug", None, "kube=debug,info", None),
            ("--log-level warn", Some("trace"), "trace", None),
            ("--zap-log-level=debug", None, "debug", None),
            ("--zap-log-level=0", None, "info", None),
            ("--zap-log-level=1", None, "debug", None),
            ("--zap-log-level=5", None, "trace", None),
            ("--zap-log-level=panic", None, "error", None),
            ("--zap-devel", None, "debug", None),
            ("--zap-devel=true", None, "debug", None),
            ("--zap-devel=false", None, "info", None),
            ("--zap-devel --zap-log-level=error", None, "error", None),
            ("--log-format json", None, "info", Some(LogFormat::Json)),
            ("--zap-encoder=json", None, "info", Some(LogFormat::Json)),
            ("--zap-encoder=console", None, "info", Some(LogFormat::Text)),
            (
                "--zap-stacktrace-level=error --zap-time-encoding=iso8601",
                None,
                "info",
                None,
            ),
        ];
        for (flags, variable, expected, format) in cases {
            let words = std::iter::once("manager").chain(flags.split_whitespace());
            let log = Args::try_parse_from(words).unwrap().options.log;
            let variable = variable.map(|text| text.parse().unwrap());
            assert_eq!(log.levels(variable).to_string(), expected, "{flags}");
            assert_eq!(log.log_format, format, "{flags}");
        }
        assert!(Args::try_parse_from(["manager", "--log-level", "loud=very"]).is_err());
    }
}
