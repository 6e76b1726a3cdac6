//! Errors that keep the manager from starting, or stop it, and panics of user code as errors.
//!
//! A panic ends the call that caused it, and nothing else. Shared state may be half changed after it. Locks record that
//! (poisoning).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;
use kube::core::Status;

/// An error that keeps the manager from starting, or stops it.
///
/// # Examples
///
/// ```
/// let error = manager::Error::Name("memcached".to_owned());
/// assert_eq!(error.to_string(), "two controllers have the name `memcached`");
/// ```
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a kubeconfig nor a service account was found.
    #[error("no Kubernetes API server is configured: {0}")]
    Config(#[source] Box<kube::config::InferConfigError>),
    /// The kubeconfig cannot be read, or lacks the context of `--context`.
    #[error("can't use the kubeconfig: {0}")]
    Kubeconfig(#[source] Box<kube::config::KubeconfigError>),
    /// The configuration is not valid for a client.
    #[error("can't make a Kubernetes client: {0}")]
    Client(#[source] Box<kube::Error>),
    /// A port is in use, an address is not local, or a certificate is not valid.
    #[error("can't serve {what}: {source}")]
    Bind {
        /// The endpoint: probes, metrics or webhooks.
        what: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Signal handlers cannot be installed.
    #[error("can't listen for signals: {0}")]
    Signal(#[source] std::io::Error),
    /// The watchdog thread cannot be started. It ends a process whose reconciles block.
    #[error("can't start the thread of the watchdog: {0}")]
    Thread(#[source] std::io::Error),
    /// Two controllers have the same name, so that logs and metrics could not tell them apart.
    #[error("two controllers have the name `{0}`")]
    Name(String),
    /// Two webhooks have the same path.
    #[cfg(feature = "webhook")]
    #[error("two webhooks have the path `{0}`")]
    Path(String),
    /// `WATCH_NAMESPACE` is not set, but [`Manager::namespaced`](crate::Manager::namespaced) requires it.
    #[error(
        "`WATCH_NAMESPACE` is not set: it names the namespaces to work in, such as `a` or `a,b`"
    )]
    Namespace,
    /// A watch or a server ended. Both should run until the shutdown.
    #[error("a part of the operator has ended{}", .0.as_ref().map(|panic| format!(": {panic}")).unwrap_or_default())]
    Ended(Option<tokio::task::JoinError>),
    /// The flags of the leader election contradict each other or are incomplete.
    #[error("can't take part in a leader election: {0}")]
    Election(String),
    /// Reconciles were still running after the leadership was lost.
    #[error("the leadership is lost, and the running reconciles did not end")]
    Stuck,
    /// The caches of the leader stayed incomplete, so that another replica has to lead.
    #[error("the caches were not complete for two minutes: {0}")]
    Caches(String),
    /// A reconcile of the leader blocks its thread, so that another replica has to lead.
    #[error(
        "a reconcile did not end two minutes after its time limit, does it block its thread? {0}"
    )]
    Hung(String),
}

impl Error {
    /// Returns the error for an endpoint that cannot be served.
    pub(crate) fn bind(what: &'static str) -> impl Fn(std::io::Error) -> Self + Copy {
        move |source| Self::Bind { what, source }
    }
}

/// Makes an error of the API server, for a request that is refused before it is sent.
pub(crate) fn refusal(code: u16, reason: &str, message: &str) -> kube::Error {
    let status = Status::failure(message, reason).with_code(code);
    kube::Error::Api(Box::new(status))
}

/// Calls `call`. The error is the message of its panic.
pub(crate) fn catch<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| panic_message(&*panic))
}

/// Awaits `running`. The error is the message of its panic.
pub(crate) async fn catch_running<T>(running: impl Future<Output = T>) -> Result<T, String> {
    let caught = AssertUnwindSafe(running).catch_unwind().await;
    caught.map_err(|panic| panic_message(&*panic))
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}
