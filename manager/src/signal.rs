//! Handles SIGTERM and Ctrl-C.

use std::sync::Arc;

use tokio::sync::{oneshot, watch};

/// The shutdown request. All clones share it.
#[derive(Clone)]
pub(crate) struct Shutdown {
    sender: Arc<watch::Sender<bool>>,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self {
            sender: Arc::new(watch::Sender::new(false)),
        }
    }
}

impl Shutdown {
    /// Completes when the shutdown was requested.
    pub(crate) async fn requested(&self) {
        let mut receiver = self.sender.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = receiver.wait_for(|stop| *stop).await;
    }

    #[cfg(feature = "webhook")]
    pub(crate) fn is_requested(&self) -> bool {
        *self.sender.borrow()
    }

    pub(crate) fn request(&self) {
        self.sender.send_replace(true);
    }
}

/// Installs the signal handlers. The future completes at the first signal. The next one ends the process at once.
///
/// Signals have their own thread, because reconciles may block all others.
pub(crate) fn first() -> std::io::Result<impl Future<Output = ()> + Send> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let entered = runtime.enter();
    let mut signals = Signals::new()?;
    drop(entered);
    let (sender, told) = oneshot::channel();
    let hear = async move {
        signals.next().await;
        tracing::info!("told to stop");
        let _ = sender.send(());
        signals.next().await;
        tracing::warn!("told to stop again: stopping at once");
        std::process::exit(1);
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(hear))?;
    Ok(async move {
        if told.await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
