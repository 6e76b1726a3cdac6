//! The flags of the webhook server, with the names and defaults of Go operators.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind, Result};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kube::Client;

use super::keeper::Keeper;
use super::pair::CertificateRules;
use super::publish::{self, Local, Place, Target};
use crate::http::certificate::Certificate;
use crate::time;

/// Time for which requests are served after the shutdown begins. kube-proxy needs it to learn of the shutdown.
const LINGER: Duration = Duration::from_secs(3);
/// Minimum validity of a certificate.
const SHORTEST: Duration = Duration::from_secs(10);

/// Flags of the webhook server; part of [`Options`](crate::Options).
///
/// # Examples
///
/// ```
/// use clap::Parser;
/// use manager::webhook::WebhookOptions;
///
/// #[derive(Parser)]
/// struct Args {
///     #[command(flatten)]
///     webhook: WebhookOptions,
/// }
///
/// let args = Args::parse_from(["example", "--webhook-port=10250"]);
/// assert_eq!(args.webhook.webhook_port, 10250);
/// ```
#[derive(Clone, Debug, clap::Args)]
pub struct WebhookOptions {
    /// HTTPS port of the webhook server
    #[arg(long, value_name = "PORT", default_value_t = 9443)]
    pub webhook_port: u16,

    /// Folder with the certificate of the webhook server, reloaded when it changes; default a certificate in a Secret
    #[arg(long, value_name = "FOLDER")]
    pub webhook_cert_path: Option<PathBuf>,

    /// File name of the certificate in the folder
    #[arg(long, value_name = "FILE", default_value = "tls.crt")]
    pub webhook_cert_name: PathBuf,

    /// File name of the key in the folder
    #[arg(long, value_name = "FILE", default_value = "tls.key")]
    pub webhook_cert_key: PathBuf,

    /// Service of the webhook server, in the operator's namespace
    #[arg(long, value_name = "NAME", default_value = "webhook-service")]
    pub webhook_service: String,

    /// Secret with the certificate of all replicas, in the operator's namespace
    #[arg(long, value_name = "NAME", default_value = "webhook-server-cert")]
    pub webhook_secret: String,

    /// Webhook configurations of this server: a comma-separated list of mutating:NAME or validating:NAME
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub webhook_configurations: Vec<String>,

    /// Validity of the certificate in the Secret; it is renewed after two thirds of this time
    #[arg(long, value_name = "DURATION", default_value = "2160h", value_parser = long_enough)]
    pub webhook_cert_duration: Duration,

    /// File with the webhook configurations of `generate`; registers this process with an API server on this host
    #[arg(long, value_name = "FILE", conflicts_with_all = ["webhook_cert_path", "webhook_configurations"])]
    pub webhook_local: Option<PathBuf>,
}

#[derive(Default)]
pub(super) struct Operator {
    pub(super) name: String,
    pub(super) server: String,
    pub(super) namespaces: Vec<String>,
}

impl Operator {
    pub(super) fn is_local(&self) -> bool {
        self.server.is_empty() || publish::is_here(&self.server)
    }
}

pub(super) enum WebhookCertificate {
    /// Files. Whoever maintains them also sets the `caBundle`.
    Files(Certificate),
    Kept(Box<Keeper>),
}

impl WebhookOptions {
    /// Returns the source of the certificate for the server at `at`, which serves `paths`. `definitions` are the names
    /// of the CRDs that are converted here.
    pub(super) fn source(
        &self,
        client: Client,
        operator: &Operator,
        at: SocketAddr,
        paths: &BTreeSet<String>,
        definitions: Vec<String>,
    ) -> Result<WebhookCertificate> {
        if let Some(folder) = &self.webhook_cert_path {
            let [certificate, key] = [&self.webhook_cert_name, &self.webhook_cert_key];
            let certificate = Certificate::files(folder.join(certificate), folder.join(key))?;
            return Ok(WebhookCertificate::Files(certificate));
        }
        let mut keeper = Keeper {
            namespace: client.default_namespace().to_owned(),
            secret: None,
            rules: CertificateRules {
                names: vec![at.ip().to_string()],
                life: self.webhook_cert_duration,
            },
            place: Place::Local {
                url: format!("https://{at}"),
                operator: operator.name.clone(),
            },
            targets: Vec::new(),
            local: None,
            published: Arc::default(),
            clock: Box::new(SystemTime::now),
            client,
        };
        if let Some(file) = &self.webhook_local {
            if !operator.is_local() {
                return Err(invalid(format!(
                    "`--webhook-local` requires an API server on this host, found {}",
                    operator.server
                )));
            }
            let local = Local::new(keeper.client.clone(), operator.name.clone());
            let url = format!("https://{at}");
            let configurations = local.configurations(file, &url, paths, &operator.namespaces)?;
            keeper.local = Some((local, configurations));
        } else {
            let (service, namespace) = (&self.webhook_service, &keeper.namespace);
            let ends = ["", ".svc", ".svc.cluster.local"];
            let names = ends.map(|end| format!("{service}.{namespace}{end}"));
            keeper.rules.names = [vec![service.clone()], names.to_vec()].concat();
            keeper.secret = Some(self.webhook_secret.clone());
            keeper.place = Place::Service {
                name: service.clone(),
                namespace: namespace.clone(),
            };
        }
        let configurations = self.webhook_configurations.iter();
        let targets = configurations.map(|text| Target::parse(text));
        let targets = targets.collect::<std::result::Result<Vec<_>, _>>();
        keeper.targets = targets.map_err(invalid)?;
        let definitions = definitions.into_iter().map(Target::Definition);
        keeper.targets.extend(definitions);
        Ok(WebhookCertificate::Kept(Box::new(keeper)))
    }

    /// Returns the time to serve after the shutdown begins. An API server on the same host needs none.
    pub(super) fn linger(&self) -> Duration {
        match &self.webhook_local {
            Some(_) => Duration::ZERO,
            None => LINGER,
        }
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let port = self.webhook_port;
        match &self.webhook_local {
            Some(_) => vec![(Ipv4Addr::LOCALHOST, port).into()],
            None => vec![
                (Ipv6Addr::UNSPECIFIED, port).into(),
                (Ipv4Addr::UNSPECIFIED, port).into(),
            ],
        }
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}

/// Parses a validity. It must be long enough for all steps of a rotation.
fn long_enough(text: &str) -> std::result::Result<Duration, String> {
    let life = time::parse_duration(text)?;
    if life < SHORTEST {
        return Err(format!(
            "the duration of a certificate must be at least {}s",
            SHORTEST.as_secs()
        ));
    }
    Ok(life)
}

/// Returns false if `ENABLE_WEBHOOKS=false` disables webhooks, for a run outside of the cluster.
pub(super) fn enabled() -> bool {
    std::env::var("ENABLE_WEBHOOKS").map_or(true, |value| value != "false")
}
