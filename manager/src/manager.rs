//! The manager: shared state of all controllers of a process, and their lifecycle.
//!
//! Watches, probes and metrics run on every replica; controllers and tasks run while this replica leads, unless they
//! run always. Every request passes the layers of [`crate::client`]; writes also need the leadership.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet};
#[cfg(feature = "webhook")]
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{self, BoxFuture, FutureExt};
use hyper::Request;
use hyper::body::Incoming;
use kube::Client;
use kube::core::DynamicResourceScope;
use kube::discovery::Scope;
use kube::runtime::events::Recorder;
use kube::runtime::watcher;
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::cache::guard::Reporter;
use crate::cache::{Unsynced, feed};
use crate::client::attempt::{self, AttemptLayer};
use crate::client::connections::Connections;
use crate::client::objects::Objects;
use crate::client::{self, identity};
use crate::controller::{Controller, Controllers, Failure};
use crate::election::Candidate;
use crate::election::ability::{self, Ability, Watchdog};
use crate::election::gate::Gate;
use crate::election::leadership::{Leadership, Runs};
use crate::error::Error;
use crate::http::probes::{self, Probes};
use crate::http::{self, Requests};
use crate::metrics::Metrics;
use crate::object::{Kind, Object};
use crate::options::{self, Options};
use crate::signal::{self, Shutdown};
use crate::task;

/// Time without news from a watch that makes a replica unready: twice the time to replace a dead connection.
const SILENT: Duration = Duration::from_secs(60);

/// Runs the controllers of a process, with shared caches, client and metrics.
///
/// # Examples
///
/// ```
/// # #[derive(clap::Parser)]
/// # struct Args {
/// #     #[command(flatten)]
/// #     manager: manager::Options,
/// # }
/// # let options = <Args as clap::Parser>::parse_from(["example", "--health-probe-bind-address=0"]).manager;
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # use kube::client::Body;
/// # let service = tower::service_fn(|_| std::future::ready(Ok::<_, tower::BoxError>(hyper::Response::new(Body::empty()))));
/// # let client = kube::Client::new(service, "default");
/// let manager = manager::Manager::with_client("example", "0.1.0", options, client);
/// let ended = manager.run_until(async {}).await;
/// assert!(ended.is_ok());
/// # });
/// ```
pub struct Manager {
    name: String,
    client: Client,
    options: Options,
    identity: String,
    /// The client for requests that any replica may send.
    asking: Client,
    /// The client for the leader election, with its own connections.
    electing: Client,
    lease: Option<String>,
    gate: Arc<Gate>,
    probes: Probes,
    registry: Registry,
    namespaces: Vec<String>,
    recorder: Recorder,
    watches: BTreeMap<(TypeId, String), Box<dyn Any + Send>>,
    feeds: Vec<BoxFuture<'static, ()>>,
    /// One entry per watch, which returns its undelivered parts.
    unsynced: Vec<Arc<dyn Fn() -> Vec<Unsynced> + Send + Sync>>,
    /// One entry per watch, which describes it if it was silent for longer than a limit.
    silent: Vec<Arc<dyn Fn(Duration) -> Vec<String> + Send + Sync>>,
    controllers: Controllers,
    #[cfg(feature = "webhook")]
    pub(crate) webhooks: crate::webhook::Registered,
}

impl Manager {
    /// Connects to the cluster of the kubeconfig or of this pod. `--kubeconfig` and `--context` select another one.
    ///
    /// `name` and `version` form the user agent of requests. `name` is also the reporter of events.
    ///
    /// # Errors
    ///
    /// Returns an error if no configuration is found, or if it is not valid.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # #[derive(clap::Parser)]
    /// # struct Args {
    /// #     #[command(flatten)]
    /// #     manager: manager::Options,
    /// # }
    /// # let options = <Args as clap::Parser>::parse_from(["example"]).manager;
    /// # async fn run(options: manager::Options) -> Result<(), manager::Error> {
    /// let manager = manager::Manager::new("example", env!("CARGO_PKG_VERSION"), options).await?;
    /// manager.run().await
    /// # }
    /// ```
    pub async fn new(name: &str, version: &str, options: Options) -> Result<Self, Error> {
        let config = options.config().await?;
        let host = attempt::host(&config);
        let connections = Connections::electing(options.leader_election.leader_elect);
        let client = client::plain(config.clone(), &connections);
        let electing = client::plain(config, &connections.ungated());
        let clients = client.and_then(|client| Ok([client, electing?]));
        let clients = clients.map_err(|error| Error::Client(Box::new(error)))?;
        Ok(Self::around(
            name,
            version,
            options,
            clients,
            host,
            connections,
        ))
    }

    /// Makes a manager with an existing client, such as one with a mock service for tests.
    ///
    /// Requests get the same treatment as with [`Manager::new`]: a time limit, metrics, retries, and writes only with
    /// leadership. If the client itself retries, the leadership is checked only before its first attempt.
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
    /// use kube::Client;
    /// use kube::client::Body;
    /// use manager::Manager;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let answer = |_| async { Ok::<_, std::io::Error>(hyper::Response::new(Body::empty())) };
    /// let client = Client::new(tower::service_fn(answer), "default");
    /// let manager = Manager::with_client("example", "0.1.0", options, client);
    /// # });
    /// ```
    pub fn with_client(name: &str, version: &str, options: Options, client: Client) -> Self {
        let connections = Connections::electing(options.leader_election.leader_elect);
        let clients = [client.clone(), client];
        Self::around(name, version, options, clients, String::new(), connections)
    }

    /// Publishes local webhooks by this client, which has another account than the operator.
    #[cfg(feature = "testing")]
    pub(crate) fn publishing_with(mut self, client: Client) -> Self {
        self.asking = client;
        self
    }

    /// `host` labels the server in metrics. The second client is for the election.
    fn around(
        name: &str,
        version: &str,
        options: Options,
        [client, electing]: [Client; 2],
        host: String,
        connections: Connections,
    ) -> Self {
        let elect = options.leader_election.leader_elect;
        let gate = connections.gate.clone();
        let mut registry = Registry::default();
        let (identity, metrics) = (identity(), Metrics::new(&mut registry));
        let agent = client::agent(name, version, &identity);
        #[cfg(feature = "webhook")]
        let webhooks = crate::webhook::Registered::of(name, &host);
        let attempt = AttemptLayer::new(host, &metrics, connections);
        let asking = client::single(client.clone(), &attempt, &agent);
        // Stay within half of the renew deadline, so that broken connections are replaced in time.
        let patience = options.leader_election.leader_election_renew_deadline * 9 / 20;
        let impatient = attempt.clone().within(patience);
        let electing = client::single(electing, &impatient, &agent);
        let client = client::retrying(client, &attempt, &agent, gate.clone());
        Self {
            name: name.to_owned(),
            recorder: Recorder::new(client.clone(), name.into()),
            identity,
            asking,
            electing,
            client,
            lease: None,
            gate,
            probes: Probes::default(),
            registry,
            namespaces: options::watched_namespaces(),
            watches: BTreeMap::new(),
            feeds: Vec::new(),
            unsynced: Vec::new(),
            silent: Vec::new(),
            controllers: Controllers {
                workers: options.max_concurrent_reconciles,
                grace: options.graceful_shutdown_timeout,
                leadership: Leadership::new(!elect),
                metrics,
                shutdown: Shutdown::default(),
                running: Vec::new(),
                hung: Vec::new(),
                names: BTreeSet::new(),
                twice: None,
            },
            options,
            #[cfg(feature = "webhook")]
            webhooks,
        }
    }

    /// Sets the namespaces to watch, instead of `WATCH_NAMESPACE`. An empty list stands for all namespaces.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn example(manager: manager::Manager) {
    /// let manager = manager.in_namespaces(&["one", "two"]);
    /// # }
    /// ```
    #[must_use]
    pub fn in_namespaces(mut self, names: &[&str]) -> Self {
        self.namespaces = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// Requires `WATCH_NAMESPACE` or [`Manager::in_namespaces`], for operators whose permissions come from Roles only.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Namespace`] if the operator would watch all namespaces.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn example(manager: manager::Manager) {
    /// // With neither `WATCH_NAMESPACE` nor names it is an error.
    /// assert!(manager.in_namespaces(&["one"]).namespaced().is_ok());
    /// # }
    /// ```
    pub fn namespaced(self) -> Result<Self, Error> {
        if self.namespaces.is_empty() {
            return Err(Error::Namespace);
        }
        Ok(self)
    }

    /// Sets the name of the Lease (or ConfigMap) for `--leader-elect`. `--leader-election-id` overrides it.
    ///
    /// An election without a name makes [`Manager::run`] return [`Error::Election`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn example(manager: manager::Manager) {
    /// let manager = manager.leader_election_id("example.example.com");
    /// # }
    /// ```
    // +requests: of=leases.coordination.k8s.io, namespace=own, verbs=create;get;update, role=leader-election-role
    #[must_use]
    pub fn leader_election_id(mut self, id: &str) -> Self {
        self.lease = Some(id.to_owned());
        self
    }

    /// Calls `register` with this manager, to register controllers, tasks and webhooks.
    ///
    /// # Examples
    ///
    /// ```
    /// use manager::Manager;
    /// # fn example(manager: manager::Manager) {
    /// fn register(manager: &mut Manager) {
    ///     manager.recorder();
    /// }
    ///
    /// let manager = manager.with(register);
    /// # }
    /// ```
    #[must_use]
    pub fn with(mut self, register: impl FnOnce(&mut Self)) -> Self {
        register(&mut self);
        self
    }

    /// Adds a check to `/healthz`. When it fails, the kubelet restarts the container.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn example(mut manager: manager::Manager) {
    /// manager.health_check("threads", || Ok(()));
    /// # }
    /// ```
    pub fn health_check(
        &mut self,
        name: &str,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.probes.health.add(name, check);
    }

    /// Adds a check to `/readyz`, besides the built-in checks `caches` and `watches`.
    ///
    /// With webhooks, a check must not wait for requests that need these webhooks: they reach only ready replicas.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn example(mut manager: manager::Manager) {
    /// manager.ready_check("database", || Err("not connected yet".to_owned()));
    /// # }
    /// ```
    pub fn ready_check(
        &mut self,
        name: &str,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.probes.ready.add(name, check);
    }

    /// Returns the registry behind `/metrics`, to register more metrics. `_total` is appended to the names of counters.
    ///
    /// # Examples
    ///
    /// ```
    /// use manager::prometheus_client::metrics::counter::Counter;
    /// # fn example(mut manager: manager::Manager) {
    /// let tickets = Counter::<u64>::default();
    /// let metrics = manager.metrics();
    /// metrics.register("example_tickets", "Tickets that were booked", tickets.clone());
    /// // In a reconcile.
    /// tickets.inc();
    /// # }
    /// ```
    pub fn metrics(&mut self) -> &mut Registry {
        &mut self.registry
    }

    /// Returns a recorder that publishes events under the name of this operator.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn example(manager: manager::Manager) {
    /// let recorder = manager.recorder();
    /// # }
    /// ```
    pub fn recorder(&self) -> Recorder {
        self.recorder.clone()
    }

    /// Returns a client for requests without a method in [`Objects`].
    ///
    /// Its writes need the leadership. Requests have a time limit, are counted, and are retried on a busy server.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Node;
    /// use kube::Api;
    /// use manager::Manager;
    ///
    /// fn nodes(manager: &Manager) -> Api<Node> {
    ///     Api::all(manager.client())
    /// }
    /// ```
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Watches the objects of a kind, in the namespaces of this operator.
    ///
    /// `PartialObjectMeta<K>` watches only the metadata. Calls with the same kind and selectors share a watch.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    /// use kube::core::PartialObjectMeta;
    /// use kube::runtime::watcher;
    /// # fn example(mut manager: manager::Manager) {
    /// let maps = manager.objects::<ConfigMap>(&watcher::Config::default());
    /// let labeled = watcher::Config::default().labels("app.kubernetes.io/name=example");
    /// let pods = manager.objects::<PartialObjectMeta<Pod>>(&labeled);
    /// # drop((maps, pods));
    /// # }
    /// ```
    // +requests: of=K, verbs=list;watch
    // +requests: of=events.events.k8s.io, verbs=create;patch
    pub fn objects<K: Object<DynamicType: Default>>(
        &mut self,
        config: &watcher::Config,
    ) -> Objects<K> {
        self.watch(Kind::default(), config)
    }

    /// Like [`Manager::objects`], for a dynamic kind: `DynamicObject` or `PartialObjectMeta<DynamicObject>`.
    ///
    /// `scope` is the scope of the kind, from its CRD or from [`kube::discovery::oneshot::pinned_kind`].
    ///
    /// # Examples
    ///
    /// ```
    /// use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
    /// use kube::discovery::Scope;
    /// use kube::runtime::watcher;
    /// use manager::{Manager, Objects};
    ///
    /// fn issuers(manager: &mut Manager) -> Objects<DynamicObject> {
    ///     let issuer = GroupVersionKind::gvk("cert-manager.io", "v1", "Issuer");
    ///     let resource = ApiResource::from_gvk(&issuer);
    ///     manager.objects_with(&resource, &Scope::Namespaced, &watcher::Config::default())
    /// }
    /// ```
    // +requests: of=K, verbs=list;watch
    // +requests: of=events.events.k8s.io, verbs=create;patch
    pub fn objects_with<K: Object<Scope = DynamicResourceScope>>(
        &mut self,
        dynamic: &K::DynamicType,
        scope: &Scope,
        config: &watcher::Config,
    ) -> Objects<K> {
        self.watch(Kind::new(dynamic, scope), config)
    }

    fn watch<K: Object>(&mut self, kind: Kind<K>, config: &watcher::Config) -> Objects<K> {
        let watch = (TypeId::of::<K>(), format!("{} {config:?}", kind.resource()));
        let known = self.watches.get(&watch);
        if let Some(objects) = known.and_then(|known| known.downcast_ref::<Objects<K>>()) {
            return objects.clone();
        }
        let objects = Objects::of(self.client.clone(), kind).telling(self.recorder.clone());
        for namespace in objects.cache.kind.namespaces(&self.namespaces) {
            let feed = feed::run(
                objects.cache.clone(),
                self.client.clone(),
                namespace,
                config.clone(),
                Reporter {
                    recorder: self.recorder.clone(),
                    leadership: self.controllers.leadership.clone(),
                },
            );
            self.feeds.push(feed.boxed());
        }
        let (cache, metrics) = (objects.cache.clone(), &self.controllers.metrics);
        metrics.listen(&objects.cache.kind.name(), move || cache.silence());
        let cache = objects.cache.clone();
        self.silent.push(Arc::new(move |limit| cache.silent(limit)));
        let cache = objects.cache.clone();
        self.unsynced.push(Arc::new(move || cache.unsynced()));
        self.watches.insert(watch, Box::new(objects.clone()));
        objects
    }

    /// Makes a controller for the kind of `objects`. `name` appears in logs and metrics.
    ///
    /// A name that two controllers have makes [`Manager::run`] return [`Error::Name`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::runtime::watcher;
    /// use manager::Action;
    /// # fn example(mut manager: manager::Manager) {
    /// let everything = watcher::Config::default();
    /// let maps = manager.objects::<ConfigMap>(&everything);
    /// manager
    ///     .controller("config-map", &maps)
    ///     .run(|_, _| async { Ok::<_, kube::Error>(Action::Done) }, Arc::new(()));
    /// # }
    /// ```
    pub fn controller<K: Object>(&mut self, name: &str, objects: &Objects<K>) -> Controller<'_, K> {
        Controller::new(&mut self.controllers, name, objects)
    }

    /// Adds a task that runs beside the controllers. `name` appears in logs.
    ///
    /// The task runs once on every replica, or once per election of this replica. A task that fails or panics is
    /// retried with a backoff from 1 to 64 seconds. At the shutdown, and when the leadership is lost, it is stopped at
    /// its next `.await`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use k8s_openapi::api::core::v1::Pod;
    /// use manager::{Manager, Objects, Runs};
    ///
    /// fn register(manager: &mut Manager, pods: Objects<Pod>) {
    ///     manager.task("count", Runs::Always, move || count(pods.clone()));
    /// }
    ///
    /// async fn count(pods: Objects<Pod>) -> kube::Result<()> {
    ///     loop {
    ///         tracing::info!(pods = pods.list(None).len(), "counted");
    ///         tokio::time::sleep(Duration::from_secs(60)).await;
    ///     }
    /// }
    /// ```
    pub fn task<Running, Error>(
        &mut self,
        name: &str,
        runs: Runs,
        task: impl Fn() -> Running + Send + Sync + 'static,
    ) where
        Running: Future<Output = Result<(), Error>> + Send + 'static,
        Error: Failure,
    {
        let leadership = runs.under(&self.controllers.leadership);
        let shutdown = self.controllers.shutdown.clone();
        let running = task::run(name.to_owned(), task, leadership, shutdown);
        self.controllers.running.push(running.boxed());
    }

    /// Serves probes and metrics, fills the caches and runs the controllers.
    ///
    /// Returns after SIGTERM or Ctrl-C, once the running reconciles have ended. A second signal does not wait for them.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the manager cannot start, a watch or server ends, or this replica cannot go on leading.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # #[derive(clap::Parser)]
    /// # struct Args {
    /// #     #[command(flatten)]
    /// #     manager: manager::Options,
    /// # }
    /// # let options = <Args as clap::Parser>::parse_from(["example"]).manager;
    /// # async fn run(options: manager::Options) -> Result<(), manager::Error> {
    /// # let manager = manager::Manager::new("example", "0.1.0", options).await?;
    /// manager.run().await
    /// # }
    /// ```
    // +requests: of=tokenreviews.authentication.k8s.io, verbs=create, role=metrics-auth-role
    // +requests: of=subjectaccessreviews.authorization.k8s.io, verbs=create, role=metrics-auth-role
    pub async fn run(self) -> Result<(), Error> {
        let signal = signal::first().map_err(Error::Signal)?;
        let watchdog = match self.options.leader_election.leader_elect {
            true => Some(Watchdog::start(self.ability()).map_err(Error::Thread)?),
            false => None,
        };
        let ended = self.run_until(signal).await;
        if let (Err(Error::Stuck | Error::Hung(_)), Some(watchdog)) = (&ended, watchdog) {
            watchdog.end();
        }
        ended
    }

    /// Like [`Manager::run`], but stops when `stop` completes instead of at a signal.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[derive(clap::Parser)]
    /// # struct Args {
    /// #     #[command(flatten)]
    /// #     manager: manager::Options,
    /// # }
    /// # let options = <Args as clap::Parser>::parse_from(["example", "--health-probe-bind-address=0"]).manager;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use kube::client::Body;
    /// # let service = tower::service_fn(|_| std::future::ready(Ok::<_, tower::BoxError>(hyper::Response::new(Body::empty()))));
    /// # let client = kube::Client::new(service, "default");
    /// let manager = manager::Manager::with_client("example", "0.1.0", options, client);
    /// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    /// stop.send(()).unwrap();
    /// let ended = manager
    ///     .run_until(async {
    ///         let _ = stopped.await;
    ///     })
    ///     .await;
    /// assert!(ended.is_ok());
    /// # });
    /// ```
    // +requests: of=tokenreviews.authentication.k8s.io, verbs=create, role=metrics-auth-role
    // +requests: of=subjectaccessreviews.authorization.k8s.io, verbs=create, role=metrics-auth-role
    pub async fn run_until(mut self, stop: impl Future<Output = ()> + Send) -> Result<(), Error> {
        if let Some(name) = self.controllers.twice {
            return Err(Error::Name(name));
        }
        let mut candidate = self.candidate()?;
        let watches = self.unsynced;
        let unsynced = Arc::new(move || -> Vec<Unsynced> {
            watches.iter().flat_map(|watch| watch()).collect()
        });
        #[cfg(feature = "webhook")]
        let behind_service = self.webhooks.are_behind_service(&self.options.webhook);
        #[cfg(not(feature = "webhook"))]
        let behind_service = false;

        let mut background = self.feeds;
        #[cfg(feature = "webhook")]
        let answered = {
            let (options, shutdown) = (&self.options.webhook, self.controllers.shutdown.clone());
            let (ready, registry) = (&mut self.probes.ready, &mut self.registry);
            // Every replica keeps certificates up to date, so the gate must not apply.
            let client = self.asking.clone();
            let bound = self
                .webhooks
                .within(self.namespaces)
                .bind(options, ready, registry, client, shutdown);
            let (done, answered) = tokio::sync::oneshot::channel::<()>();
            if let Some(serve) = bound.await? {
                background.push(serve.map(|()| drop(done)).then(|()| pending()).boxed());
            }
            answered
        };
        // Without probes, nothing tells the API server that this replica is ready.
        let reachable = Arc::new(watch::Sender::new(true));
        let probes = self.options.health_probe_bind_address.listen().await;
        // Reviews do not need the leadership, because a standby is scraped, too.
        let reviewing = self.asking.clone();
        let endpoint = self.options.metrics_endpoint();
        let metrics = endpoint.bind(self.registry, reviewing).await;
        if let Some(listener) = probes.map_err(Error::bind("probes"))? {
            let silent = self.silent;
            self.probes.ready.add_open("watches", move || {
                let silent = silent.iter().flat_map(|silent| silent(SILENT));
                probes::watches(silent.collect(), behind_service)
            });
            let unsynced = unsynced.clone();
            let caches = move || probes::caches(&unsynced(), behind_service);
            self.probes.ready.add_open("caches", caches);
            let probes = self.probes;
            if behind_service {
                reachable.send_replace(false);
                let ready = probes.seen_ready.subscribe();
                background.push(probes::route(ready, reachable.clone()).boxed());
            }
            let answer = move |request: Request<Incoming>| {
                let uri = request.uri();
                future::ready(probes.answer(uri.path(), uri.query().unwrap_or_default()))
            };
            let never = Shutdown::default();
            let serve = http::serve(listener, None, Requests::One, never, answer);
            background.push(serve.boxed());
        }
        background.extend(metrics.map_err(Error::bind("metrics"))?);

        tracing::info!(operator = self.name, "starting");
        let mut tasks = JoinSet::new();
        for task in background {
            tasks.spawn(task);
        }
        let Controllers {
            running,
            shutdown,
            leadership,
            ..
        } = self.controllers;
        let mut routed = reachable.subscribe();
        if let Some(candidate) = &mut candidate {
            let routed = routed.clone();
            candidate.ability.also(move || {
                let missing =
                    "no probe has found this replica ready, so its webhooks are not reached";
                (!*routed.borrow()).then(|| missing.to_owned())
            });
        }
        // The election sets it later. Without an election, `lead` below sets it.
        leadership.set(candidate.is_none() && *routed.borrow());
        let work = async {
            // Caches fill from the start, and each controller waits for its own caches.
            let mut controllers = JoinSet::new();
            for controller in running {
                controllers.spawn(controller);
            }
            controllers.join_all().await;
            // Without controllers, the process also runs until the shutdown.
            shutdown.requested().await;
        };
        let elected = async {
            match candidate {
                Some(candidate) => candidate.during(work).await,
                None => {
                    let lead = async {
                        if routed.wait_for(|routed| *routed).await.is_ok() {
                            leadership.set(true);
                        }
                        std::future::pending().await
                    };
                    tokio::select! {
                        () = work => Ok(()),
                        never = lead => never,
                    }
                }
            }
        };
        let mut ended = Ok(());
        let stop = async {
            tokio::select! {
                () = stop => {}
                // Without its watches or probes, an operator only looks alive.
                Some(task) = tasks.join_next() => ended = Err(Error::Ended(task.err())),
            }
            shutdown.request();
            std::future::pending().await
        };
        let outcome = tokio::select! {
            outcome = elected => outcome,
            outcome = stop => outcome,
        };
        // Let running webhook requests finish.
        #[cfg(feature = "webhook")]
        let _ = tokio::time::timeout(self.options.graceful_shutdown_timeout, answered).await;
        // A task that waits for a thread which a reconcile blocks does not end.
        let _ = tokio::time::timeout(Duration::from_secs(1), tasks.shutdown()).await;
        tracing::info!("stopped");
        outcome.and(ended)
    }

    /// Returns the callbacks that describe the state of all watches and controllers registered so far.
    fn ability(&self) -> Ability {
        let (watches, controllers) = (self.unsynced.clone(), self.controllers.hung.clone());
        Ability {
            unsynced: Arc::new(move || {
                let unsynced = watches.iter().flat_map(|watch| watch());
                unsynced.map(|watch| watch.why).collect()
            }),
            hung: Arc::new(move || controllers.iter().filter_map(|hung| hung()).collect()),
        }
    }

    fn candidate(&mut self) -> Result<Option<Candidate>, Error> {
        let flags = &self.options.leader_election;
        if !flags.leader_elect {
            return Ok(None);
        }
        let timing = flags.timing();
        if let Some(mistake) = timing.mistake() {
            return Err(Error::Election(mistake.to_owned()));
        }
        let life = flags
            .rules()
            .map_err(|mistake| Error::Election(mistake.to_owned()))?;
        let name = flags.leader_election_id.clone().or(self.lease.take());
        let name =
            name.ok_or_else(|| Error::Election("`--leader-election-id` is not set".to_owned()))?;
        let namespace = flags.leader_election_namespace.clone();
        let metrics = self.controllers.metrics.clone();
        let id = name.clone();
        Ok(Some(Candidate {
            client: self.electing.clone(),
            namespace: namespace.unwrap_or_else(|| self.electing.default_namespace().to_owned()),
            name,
            identity: self.identity.clone(),
            timing,
            life,
            gate: self.gate.clone(),
            leadership: self.controllers.leadership.clone(),
            on_change: Box::new(move |leading| metrics.set_leader(&id, leading)),
            ability: self.ability(),
            patience: ability::LIMIT,
            grace: self.options.graceful_shutdown_timeout,
            shutdown: self.controllers.shutdown.clone(),
        }))
    }
}
