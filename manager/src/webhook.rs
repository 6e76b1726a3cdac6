//! Admission and conversion webhooks. The API server calls them to set defaults, to validate and to convert objects.
//!
//! Every replica serves them by HTTPS, with or without leadership. Panics and invalid requests do not end the server.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use manager::Manager;
//! use manager::webhook::{Defaulting, Denied, Request, Validating, Warnings};
//!
//! /// The caches and clients of the handlers.
//! struct Context {}
//!
//! fn register(manager: &mut Manager) {
//!     manager
//!         .webhooks(Context {})
//!         .defaulting::<ConfigMap>("/mutate--v1-configmap")
//!         .validating::<ConfigMap>("/validate--v1-configmap");
//! }
//!
//! impl Defaulting<Context> for ConfigMap {
//!     fn default(&mut self, request: &Request<Context>) -> Result<(), Denied> {
//!         self.immutable.get_or_insert(false);
//!         Ok(())
//!     }
//! }
//!
//! impl Validating<Context> for ConfigMap {
//!     async fn validate_create(&self, request: &Request<Context>) -> Result<Warnings, Denied> {
//!         Ok(vec![])
//!     }
//! }
//! # drop(register);
//! ```

mod admission;
mod conversion;
mod denied;
mod flags;
mod keeper;
mod lens;
mod pair;
mod publish;
mod review;
mod serving;
#[cfg(test)]
mod tests;
mod typed;

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::{self, BoxFuture, FutureExt};
use hyper::body::{Bytes, Incoming};
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

pub use self::admission::{Defaulting, Operation, Request, Validating};
use self::conversion::Conversions;
pub use self::conversion::{Hub, Spoke};
pub use self::denied::{Denied, FieldErrors, Warnings};
pub use self::flags::WebhookOptions;
use self::flags::{Operator, WebhookCertificate};
use self::keeper::KeeperProgress;
use self::publish::Local;
use self::serving::{Answering, BUDGET, Handler, Serving, WebhookMetrics};
use crate::Manager;
use crate::error::Error;
use crate::http::certificate::Certificate;
use crate::http::probes::Checks;
use crate::http::{self, Requests};
use crate::signal::Shutdown;

/// The path for conversions of all kinds.
const CONVERT: &str = "/convert";

/// A builder that registers webhooks, from [`Manager::webhooks`].
///
/// # Examples
///
/// ```
/// use k8s_openapi::api::core::v1::Secret;
/// use manager::webhook::{Validating, Webhooks};
///
/// fn register<C: Send + Sync + 'static>(webhooks: Webhooks<'_, C>)
/// where
///     Secret: Validating<C>,
/// {
///     webhooks.validating::<Secret>("/validate--v1-secret");
/// }
/// ```
pub struct Webhooks<'m, C> {
    registered: &'m mut Registered,
    context: Arc<C>,
}

impl Manager {
    /// Registers webhooks. Their handlers get `context`, such as caches and clients from this manager.
    ///
    /// A path that two webhooks have makes [`Manager::run`] return [`Error::Path`].
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{Namespace, Pod};
    /// use kube::runtime::watcher;
    /// use manager::webhook::{Denied, Request, Validating, Warnings};
    /// use manager::{Manager, Objects};
    ///
    /// struct Context {
    ///     namespaces: Objects<Namespace>,
    /// }
    ///
    /// fn register(manager: &mut Manager) {
    ///     let namespaces = manager.objects(&watcher::Config::default());
    ///     manager
    ///         .webhooks(Context { namespaces })
    ///         .validating::<Pod>("/validate--v1-pod");
    /// }
    ///
    /// impl Validating<Context> for Pod {
    ///     async fn validate_create(&self, request: &Request<Context>) -> Result<Warnings, Denied> {
    ///         let known = request.context.namespaces.list(None).len();
    ///         Ok(vec![format!("there are {known} namespaces")])
    ///     }
    /// }
    /// ```
    // +requests: of=secrets, namespace=own, verbs=create;get;list;update;watch, role=webhook-cert-role
    pub fn webhooks<C: Send + Sync + 'static>(&mut self, context: C) -> Webhooks<'_, C> {
        Webhooks {
            registered: &mut self.webhooks,
            context: Arc::new(context),
        }
    }
}

impl<C: Send + Sync + 'static> Webhooks<'_, C> {
    /// Serves the defaulting of a kind at `path`, which its marker `+kubebuilder:webhook` names.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use manager::Manager;
    /// use manager::webhook::Defaulting;
    ///
    /// fn register<C: Send + Sync + 'static>(manager: &mut Manager, context: C)
    /// where
    ///     Pod: Defaulting<C>,
    /// {
    ///     manager.webhooks(context).defaulting::<Pod>("/mutate--v1-pod");
    /// }
    /// ```
    // +requests: of=mutatingwebhookconfigurations.admissionregistration.k8s.io, verbs=get;list;patch;watch, role=webhook-ca-role
    pub fn defaulting<K: Defaulting<C>>(self, path: &str) -> Self {
        let context = self.context.clone();
        self.handle(path, move |body| {
            ready(review::default::<C, K>(context.clone(), &body)).boxed()
        })
    }

    /// Serves the validation of a kind at `path`, which its marker `+kubebuilder:webhook` names.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use manager::Manager;
    /// use manager::webhook::Validating;
    ///
    /// fn register<C: Send + Sync + 'static>(manager: &mut Manager, context: C)
    /// where
    ///     Pod: Validating<C>,
    /// {
    ///     manager.webhooks(context).validating::<Pod>("/validate--v1-pod");
    /// }
    /// ```
    // +requests: of=validatingwebhookconfigurations.admissionregistration.k8s.io, verbs=get;list;patch;watch, role=webhook-ca-role
    pub fn validating<K: Validating<C>>(self, path: &str) -> Self {
        let context = self.context.clone();
        self.handle(path, move |body| {
            let context = context.clone();
            async move { review::validate::<C, K>(context, &body).await }.boxed()
        })
    }

    /// Serves the conversion of a kind at `/convert`, with `H` as its hub.
    ///
    /// # Examples
    ///
    /// ```
    /// use manager::Manager;
    /// use manager::webhook::{Hub, Spoke};
    ///
    /// fn register<H: Hub, S: Spoke<Hub = H>>(manager: &mut Manager) {
    ///     manager.webhooks(()).conversion::<H>().spoke::<S>();
    /// }
    /// ```
    // +requests: of=customresourcedefinitions.apiextensions.k8s.io, verbs=get;list;patch;watch, role=webhook-ca-role
    pub fn conversion<H: Hub>(self) -> Self {
        if !self.registered.conversions.hub::<H>() {
            self.registered.twice = Some(format!("{CONVERT} for {}", H::kind(&())));
        }
        self
    }

    /// Adds another version to the conversion of a kind.
    ///
    /// # Examples
    ///
    /// ```
    /// use manager::Manager;
    /// use manager::webhook::Spoke;
    ///
    /// fn register<S: Spoke>(manager: &mut Manager) {
    ///     manager.webhooks(()).conversion::<S::Hub>().spoke::<S>();
    /// }
    /// ```
    pub fn spoke<S: Spoke>(self) -> Self {
        if !self.registered.conversions.spoke::<S>() {
            let version = S::api_version(&());
            self.registered.twice = Some(format!("{CONVERT} for {} of {version}", S::kind(&())));
        }
        self
    }

    fn handle(
        self,
        path: &str,
        handler: impl Fn(Bytes) -> Answering + Send + Sync + 'static,
    ) -> Self {
        let handler: Handler = Arc::new(handler);
        let before = self.registered.handlers.insert(path.to_owned(), handler);
        if before.is_some() {
            self.registered.twice = Some(path.to_owned());
        }
        self
    }
}

#[derive(Default)]
pub(crate) struct Registered {
    handlers: BTreeMap<String, Handler>,
    conversions: Conversions,
    twice: Option<String>,
    operator: Operator,
}

impl Registered {
    /// Makes an empty registry. `server` is the host and port of the API server, if known.
    pub(crate) fn of(operator: &str, server: &str) -> Self {
        let operator = Operator {
            name: operator.to_owned(),
            server: server.to_owned(),
            ..Operator::default()
        };
        Self {
            operator,
            ..Self::default()
        }
    }

    pub(crate) fn within(mut self, namespaces: Vec<String>) -> Self {
        self.operator.namespaces = namespaces;
        self
    }

    fn ambiguous(&self) -> Option<String> {
        let converts = !self.conversions.is_empty() && self.handlers.contains_key(CONVERT);
        let convert = converts.then(|| CONVERT.to_owned());
        self.twice.clone().or(convert)
    }

    /// Returns true if the API server reaches this replica through a Service, and therefore only while it is ready.
    pub(crate) fn are_behind_service(&self, options: &WebhookOptions) -> bool {
        let any = !self.handlers.is_empty() || !self.conversions.is_empty();
        any && flags::enabled() && options.webhook_local.is_none()
    }

    /// Returns the handlers by path. An error is the path of two webhooks.
    #[cfg(feature = "testing")]
    pub(crate) fn answering(self) -> Result<BTreeMap<String, Handler>, String> {
        match self.ambiguous() {
            Some(path) => Err(path),
            None => Ok(self.handlers()),
        }
    }

    fn handlers(self) -> BTreeMap<String, Handler> {
        let (mut handlers, conversions) = (self.handlers, self.conversions);
        if !conversions.is_empty() {
            let convert: Handler = Arc::new(move |body| ready(conversions.answer(&body)).boxed());
            handlers.insert(CONVERT.to_owned(), convert);
        }
        handlers
    }

    /// Binds the port. The returned future serves until the shutdown, and then finishes running requests. Returns
    /// `None` if there is nothing to serve. The client must work without leadership.
    pub(crate) async fn bind(
        mut self,
        options: &WebhookOptions,
        ready: &mut Checks,
        registry: &mut Registry,
        client: Client,
        shutdown: Shutdown,
    ) -> Result<Option<BoxFuture<'static, ()>>, Error> {
        if let Some(path) = self.ambiguous() {
            return Err(Error::Path(path));
        }
        let definitions = self.conversions.definitions();
        let operator = std::mem::take(&mut self.operator);
        let handlers = self.handlers();
        if handlers.is_empty() {
            return Ok(None);
        }
        if !flags::enabled() {
            if options.webhook_local.is_none() || !operator.is_local() {
                return Ok(None);
            }
            let local = Local::new(client, operator.name);
            return Ok(Some(async move { local.clear().await }.map(drop).boxed()));
        }
        let failed = Error::bind("webhooks");
        let listener = TcpListener::bind(&options.addresses()[..])
            .await
            .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let paths = handlers.keys().cloned().collect();
        let source = options.source(client, &operator, address, &paths, definitions);
        let source = source.map_err(failed)?;

        let (serves, stopping) = (Arc::new(AtomicBool::new(false)), shutdown.clone());
        let served = serves.clone();
        let told = match &source {
            WebhookCertificate::Kept(keeper) if keeper.local.is_some() => keeper.published.clone(),
            _ => serves.clone(),
        };
        ready.add_open("webhooks", move || {
            let error = match [&served, &told].map(|done| done.load(Ordering::Relaxed)) {
                _ if stopping.is_requested() => "the operator is stopping",
                [true, true] => return Ok(()),
                [true, false] => "the API server is not told yet",
                [false, _] => "there is no certificate yet",
            };
            Err(error.to_owned())
        });
        let metrics = WebhookMetrics::new(registry);
        let ends = metrics.certificate_ends.clone();
        let serving = Arc::new(Serving {
            handlers,
            metrics,
            budget: Arc::new(Semaphore::new(BUDGET)),
        });
        let ending = shutdown.clone();
        let answer = move |request: hyper::Request<Incoming>| {
            let (serving, ending) = (serving.clone(), ending.clone());
            async move {
                let answer = serving.answer(request).await;
                // The API server leaves the connection before it closes, so that no request meets a closing connection.
                if ending.is_requested() {
                    answer.last()
                } else {
                    answer
                }
            }
        };
        let linger = options.linger();
        let closing = Shutdown::default();
        let closed = closing.clone();
        let serve = move |certificate: Arc<Certificate>| {
            tracing::info!(%address, "Serving webhook server");
            certificate.show_end(ends);
            serves.store(true, Ordering::Relaxed);
            http::serve(listener, Some(certificate), Requests::Many, closed, answer)
        };
        // The API server sends requests until it has learned of the shutdown.
        let close = shutdown.clone();
        let lingered = async move {
            close.requested().await;
            tokio::time::sleep(linger).await;
        };
        Ok(Some(match source {
            WebhookCertificate::Files(certificate) => {
                let lingered = lingered.map(move |()| closing.request());
                let serve = serve(Arc::new(certificate));
                future::join(serve, lingered).map(drop).boxed()
            }
            WebhookCertificate::Kept(keeper) => async move {
                let mut progress = KeeperProgress::default();
                let certificate = tokio::select! {
                    certificate = keeper.first(&mut progress) => certificate,
                    () = shutdown.requested() => return,
                };
                let keep = keeper.keep(progress, certificate.clone(), shutdown);
                let kept = future::join(keep, lingered).map(move |_| closing.request());
                future::join(serve(certificate), kept).await;
            }
            .boxed(),
        }))
    }
}
