//! Why the manager could not start, or had to stop.

/// Why the manager could not start, or had to stop.
///
/// # Examples
///
/// ```
/// let error = manager::Error::Name("memcached".to_owned());
/// assert_eq!(error.to_string(), "two controllers have the name `memcached`");
/// ```
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is neither a kubeconfig nor a service account.
    #[error("no Kubernetes API server is configured: {0}")]
    Config(#[source] Box<kube::config::InferConfigError>),
    /// The kubeconfig that was asked for can't be read, or lacks the context.
    #[error("can't use the kubeconfig: {0}")]
    Kubeconfig(#[source] Box<kube::config::KubeconfigError>),
    /// The configuration does not make a client.
    #[error("can't make a Kubernetes client: {0}")]
    Client(#[source] Box<kube::Error>),
    /// A port is taken, an address is not ours, or the certificate is no good.
    #[error("can't serve {what}: {source}")]
    Bind {
        /// What should have been served there.
        what: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// The process can't be told to stop.
    #[error("can't listen for signals: {0}")]
    Signal(#[source] std::io::Error),
    /// The system gives no thread for the watchdog, which ends a process whose reconciles block.
    #[error("can't start the thread of the watchdog: {0}")]
    Thread(#[source] std::io::Error),
    /// Logs and metrics could not tell them apart.
    #[error("two controllers have the name `{0}`")]
    Name(String),
    /// The API server could not tell them apart.
    #[cfg(feature = "webhook")]
    #[error("two webhooks have the path `{0}`")]
    Path(String),
    /// An operator that may not see the whole cluster was not told where to look.
    #[error(
        "`WATCH_NAMESPACE` is not set: it names the namespaces to work in, such as `a` or `a,b`"
    )]
    Namespace,
    /// A watch or a server, all of which should go on for ever.
    #[error("a part of the operator has ended{}", .0.as_ref().map(|panic| format!(": {panic}")).unwrap_or_default())]
    Ended(Option<tokio::task::JoinError>),
    /// The flags of the leader election contradict each other, or say too little.
    #[error("can't take part in a leader election: {0}")]
    Election(String),
    /// The reconciles go on although the leadership is lost.
    #[error("the leadership is lost, and the running reconciles did not end")]
    Stuck,
    /// The leader could not read what it works on, so that another replica has to lead.
    #[error("the caches were not complete for two minutes: {0}")]
    Caches(String),
    /// A reconcile of the leader blocks, so that another replica has to lead.
    #[error(
        "a reconcile did not end two minutes after its time limit, does it block its thread? {0}"
    )]
    Hung(String),
}
