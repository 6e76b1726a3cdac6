//! The log: one line per event on standard error.

use std::io::{IsTerminal, stderr};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

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

    #[derive(Parser)]
    struct Args {
        #[command(flatten)]
        log: LogOptions,
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
            let log = Args::try_parse_from(words).unwrap().log;
            let variable = variable.map(|text| text.parse().unwrap());
            assert_eq!(log.levels(variable).to_string(), expected, "{flags}");
            assert_eq!(log.log_format, format, "{flags}");
        }
        assert!(Args::try_parse_from(["manager", "--log-level", "loud=very"]).is_err());
    }
}
