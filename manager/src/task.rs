//! Tasks that run beside the controllers.

use std::time::Duration;

use tokio::time::Instant;

use crate::controller::Failure;
use crate::election::leadership::Leadership;
use crate::error;
use crate::signal::Shutdown;

/// First pause after a failure. Each pause is twice the one before, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(64);

/// Runs a task in each term of leadership until the shutdown. Within a term it runs until it succeeds once.
pub(crate) async fn run<Running, Error>(
    name: String,
    task: impl Fn() -> Running,
    leadership: Leadership,
    shutdown: Shutdown,
) where
    Running: Future<Output = Result<(), Error>>,
    Error: Failure,
{
    let terms = async {
        loop {
            leadership.held().await;
            tokio::select! {
                biased;
                () = leadership.lost() => {
                    tracing::warn!(task = name, "stopped: this replica does not lead any more");
                }
                () = succeed(&name, &task, &leadership) => leadership.lost().await,
            }
        }
    };
    tokio::select! {
        () = shutdown.requested() => {}
        () = terms => {}
    }
}

async fn succeed<Running, Error>(name: &str, task: impl Fn() -> Running, leadership: &Leadership)
where
    Running: Future<Output = Result<(), Error>>,
    Error: Failure,
{
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(term) = leadership.enter() else {
            return;
        };
        let started = Instant::now();
        let failed = error::catch_running(async {
            let failed = task().await.err();
            failed.map(|error| format!("{}: {error}", error.reason()))
        });
        let error = match failed.await {
            Ok(None) => return,
            Ok(Some(error)) => error,
            Err(panic) => format!("it panicked: {panic}"),
        };
        drop(term);
        if started.elapsed() > LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        tracing::error!(task = name, error, again_in = ?pause, "a task failed");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
