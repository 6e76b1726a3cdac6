//! Keeps the certificates of the webhook server: one Secret for all replicas, and its authorities in the `caBundle`s.
//!
//! Every replica does this, with or without leadership, because each has to serve, and the leader may need the webhooks
//! to start. Replicas agree by the resource version of the Secret: of two concurrent writes one gets a conflict and
//! takes over the other's result. The `caBundle`s depend only on the Secret, so any replica may publish them.
//!
//! A replica serves the certificate of the Secret once its authority has been published for a while, and the previous
//! one until then. The Secret keeps the authority of each certificate that is served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use futures::stream::{BoxStream, StreamExt, select_all};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ObjectMeta, PostParams};
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use tokio::time::Instant;

use super::pair::{CertificateRules, Data, HeldPairs, KnownPairs, Pair, split};
use super::publish::{Configuration, Local, Place, Target};
use crate::http::certificate::Certificate;
use crate::object::{self, Object};
use crate::signal::Shutdown;

/// Interval of the checks if no watch reports a change.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Maximum time that all servers need to see a new authority.
const LONGEST_OVERLAP: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_secs(1);
const CONFLICTS: usize = 5;

pub(super) struct Keeper {
    /// The client, which must work without leadership.
    pub(super) client: Client,
    pub(super) namespace: String,
    /// The name of the Secret. Without one, certificates stay in memory.
    pub(super) secret: Option<String>,
    pub(super) rules: CertificateRules,
    pub(super) place: Place,
    pub(super) targets: Vec<Target>,
    /// The configurations for an API server on this host.
    pub(super) local: Option<(Local, Vec<Configuration>)>,
    /// True once all targets were updated.
    pub(super) published: Arc<AtomicBool>,
    pub(super) clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
}

#[derive(Debug, thiserror::Error)]
enum KeeperError {
    #[error(transparent)]
    Request(#[from] kube::Error),
    #[error("can't make a certificate: {0}")]
    Certificate(#[from] std::io::Error),
    #[error("other replicas changed the Secret {CONFLICTS} times")]
    Conflicts,
}

#[derive(Default)]
pub(super) struct KeeperProgress {
    held: Option<HeldPairs>,
    served: Option<Pair>,
    /// The authorities that the API server knows, and the time since when this replica has known that.
    published: BTreeMap<String, Instant>,
}

impl Keeper {
    /// Returns the first certificate. An API server that uses a Service learns its authority first, as far as possible.
    pub(super) async fn first(&self, progress: &mut KeeperProgress) -> Arc<Certificate> {
        loop {
            let agreed = self.agree(progress).await;
            let kept = agreed.and_then(|held| {
                let config = held.current.config()?;
                Ok((Certificate::kept(config, held.current.end()), held))
            });
            match kept {
                Ok((certificate, held)) => {
                    if self.local.is_none() {
                        self.publish(progress, &held).await;
                    }
                    progress.served = Some(held.current);
                    return Arc::new(certificate);
                }
                Err(error) => tracing::warn!(%error, "there is no certificate for webhooks yet"),
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Keeps certificates and authorities up to date until the shutdown.
    pub(super) async fn keep(
        self,
        mut progress: KeeperProgress,
        certificate: Arc<Certificate>,
        shutdown: Shutdown,
    ) {
        self.clear().await;
        let mut changes = self.changes();
        loop {
            let failed = self.round(&mut progress, &certificate).await;
            if !failed {
                self.published.store(true, Ordering::Relaxed);
            }
            let longest = LONGEST_PAUSE.min(self.overlap() / 2);
            let pause = if failed { RETRY.min(longest) } else { longest };
            tokio::select! {
                _ = tokio::time::sleep(pause) => {}
                Some(()) = changes.next() => {}
                () = shutdown.requested() => break,
            }
        }
        self.clear().await;
    }

    /// Removes everything that was made for an API server on this host.
    async fn clear(&self) {
        if let Some((local, _)) = &self.local
            && let Err(error) = local.clear().await
        {
            tracing::warn!(%error, "can't remove the local webhooks");
        }
    }

    /// Runs all checks once. Returns true if something failed.
    pub(super) async fn round(
        &self,
        progress: &mut KeeperProgress,
        certificate: &Certificate,
    ) -> bool {
        let held = match self.agree(progress).await {
            Ok(held) => held,
            Err(error) => {
                tracing::warn!(%error, "can't look after the certificate of the webhooks");
                return true;
            }
        };
        let failed = self.publish(progress, &held).await;
        if let Err(error) = self.serve(progress, held.current, certificate) {
            tracing::warn!(%error, "can't use the certificate of the webhooks");
            return true;
        }
        failed
    }

    /// Serves this pair once all servers have had time to see its authority, or if the previous pair cannot be used.
    fn serve(
        &self,
        progress: &mut KeeperProgress,
        pair: Pair,
        certificate: &Certificate,
    ) -> std::io::Result<()> {
        let now = (self.clock)();
        let stays = |served: &Pair| {
            *served == pair
                || self.rules.is_usable(served, now) && !self.is_known(progress, &pair.authority())
        };
        if progress.served.as_ref().is_some_and(stays) {
            return Ok(());
        }
        certificate.replace(pair.config()?, pair.end());
        tracing::info!("the certificate of the webhooks is a new one");
        progress.served = Some(pair);
        Ok(())
    }

    /// Publishes the authorities. Returns true if something failed.
    async fn publish(&self, progress: &mut KeeperProgress, held: &HeldPairs) -> bool {
        let mut failed = false;
        for target in &self.targets {
            let trusts = target.trust(&self.client, &self.place, &held.authorities);
            match trusts.await {
                Ok(()) => {}
                Err(kube::Error::Api(status)) if status.is_conflict() => failed = true,
                Err(error) => {
                    tracing::warn!(?target, %error, "can't publish the authority of the webhooks");
                    failed = true;
                }
            }
        }
        if let Some((local, configurations)) = &self.local {
            for configuration in configurations {
                if let Err(error) = local.apply(configuration, &held.authorities).await {
                    tracing::warn!(%error, "can't make the local webhooks");
                    failed = true;
                }
            }
        }
        let before = std::mem::take(&mut progress.published);
        if !failed {
            let since = |authority: &String| before.get(authority).copied();
            let all = split(&held.authorities);
            let all =
                all.map(|authority| (since(&authority).unwrap_or_else(Instant::now), authority));
            progress.published = all.map(|(since, authority)| (authority, since)).collect();
        }
        failed
    }

    /// Returns true if all servers have had time to see this authority.
    fn is_known(&self, progress: &KeeperProgress, authority: &str) -> bool {
        let since = progress.published.get(authority);
        since.is_some_and(|since| since.elapsed() >= self.overlap())
    }

    /// Returns the authorities that the API server trusts, if the Secret is missing or not valid. Other replicas may
    /// serve certificates that this one has never seen.
    async fn found(&self, data: &Data) -> kube::Result<String> {
        let mut found = String::new();
        if self.rules.is_empty(data, (self.clock)()) {
            for target in &self.targets {
                match target.trusted(&self.client, &self.place).await {
                    Ok(bundle) => found.push_str(&bundle),
                    Err(kube::Error::Api(status)) if status.is_forbidden() => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(found)
    }

    /// Brings the Secret up to date, and returns its content.
    async fn agree(&self, progress: &mut KeeperProgress) -> Result<HeldPairs, KeeperError> {
        let published = progress.published.keys();
        let published: String = published
            .filter(|authority| self.is_known(progress, authority))
            .map(String::as_str)
            .collect();
        let Some(name) = &self.secret else {
            let before = progress.held.clone();
            let data = before
                .map(|held| held.into_data(Data::new()))
                .unwrap_or_default();
            let known = KnownPairs {
                served: progress.served.as_ref(),
                published: &published,
                ..KnownPairs::default()
            };
            let held = self.rules.due(&data, &known, (self.clock)())?;
            progress.held = Some(held.clone());
            return Ok(held);
        };
        let api = Api::<Secret>::namespaced(self.client.clone(), &self.namespace);
        for _ in 0..CONFLICTS {
            let existing = api.get_opt(name).await?;
            let data = existing
                .as_ref()
                .and_then(|secret| secret.data.clone())
                .unwrap_or_default();
            let found = self.found(&data).await?;
            let known = KnownPairs {
                before: progress.held.as_ref(),
                served: progress.served.as_ref(),
                published: &published,
                found: &found,
            };
            let held = self.rules.due(&data, &known, (self.clock)())?;
            let wanted = held.clone().into_data(data.clone());
            let parameters = PostParams::default();
            let written = match existing {
                Some(_) if wanted == data => Ok(()),
                Some(mut secret) => {
                    secret.data = Some(wanted);
                    api.replace(name, &parameters, &secret).await.map(drop)
                }
                None => {
                    let secret = Secret {
                        metadata: ObjectMeta {
                            name: Some(name.clone()),
                            ..ObjectMeta::default()
                        },
                        data: Some(wanted),
                        type_: Some("kubernetes.io/tls".to_owned()),
                        ..Secret::default()
                    };
                    api.create(&parameters, &secret).await.map(drop)
                }
            };
            match written {
                Ok(()) => {
                    progress.held = Some(held.clone());
                    return Ok(held);
                }
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(KeeperError::Conflicts)
    }

    fn overlap(&self) -> Duration {
        LONGEST_OVERLAP.min(self.rules.life / 12)
    }

    /// Returns a stream that yields for each change of a watched object.
    fn changes(&self) -> BoxStream<'static, ()> {
        let mut streams = Vec::new();
        let client = &self.client;
        if let Some(name) = &self.secret {
            streams.push(watch::<Secret>(client, Some(&self.namespace), name));
        }
        for target in &self.targets {
            streams.push(match target {
                Target::Mutating(name) => watch::<MutatingWebhookConfiguration>(client, None, name),
                Target::Validating(name) => {
                    watch::<ValidatingWebhookConfiguration>(client, None, name)
                }
                Target::Definition(name) => watch::<CustomResourceDefinition>(client, None, name),
            });
        }
        select_all(streams).boxed()
    }
}

/// Returns a stream that yields for each change of one object. Without the permission it yields nothing, and the object
/// is checked every minute.
fn watch<K: Object<DynamicType = ()>>(
    client: &Client,
    namespace: Option<&str>,
    name: &str,
) -> BoxStream<'static, ()> {
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let api = object::api::<PartialObjectMeta<K>>(client, namespace, &());
    let events = watcher(api, config).default_backoff();
    events
        .filter_map(|event| std::future::ready(event.ok().map(drop)))
        .boxed()
}
