use std::sync::{Arc, Mutex};

use clap::Parser;
use manager::testing::MockServer;
use manager::{Manager, Options, Runs};
use tokio::sync::oneshot;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    manager: Options,
}

/// A value of the task that records when it is dropped.
struct Held(Arc<Mutex<Vec<&'static str>>>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.lock().unwrap().push("dropped");
    }
}

#[tokio::test]
async fn what_runs_is_stopped_before_run_returns() {
    let client = MockServer::default().client();
    let options = Args::parse_from(["test", "--health-probe-bind-address=0"]).manager;
    let mut manager = Manager::with_client("test", "0.1.0", options, client);
    let log = Arc::<Mutex<Vec<_>>>::default();
    let (started, starts) = oneshot::channel();
    let (held, started) = (log.clone(), Mutex::new(Some(started)));
    manager.task("wait", Runs::Leader, move || {
        let (held, started) = (Held(held.clone()), started.lock().unwrap().take());
        async move {
            held.0.lock().unwrap().push("started");
            let _ = started.map(|started| started.send(()));
            // The task is stopped at this `await`.
            std::future::pending::<()>().await;
            drop(held);
            Ok::<_, kube::Error>(())
        }
    });
    // In `Manager::run`, a signal.
    let stop = async {
        let _ = starts.await;
    };
    assert!(manager.run_until(stop).await.is_ok());
    assert_eq!(*log.lock().unwrap(), ["started", "dropped"]);
}
