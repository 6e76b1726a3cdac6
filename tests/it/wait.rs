//! Polls a condition until a deadline, instead of sleeping for an estimated time.

use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(100);

/// Returns the first value of `condition`, or its last error after `limit`.
pub(crate) fn until<T>(limit: Duration, mut condition: impl FnMut() -> Result<T, String>) -> Result<T, String> {
    let deadline = Instant::now() + limit;
    loop {
        match condition() {
            Ok(value) => return Ok(value),
            Err(missing) if Instant::now() >= deadline => return Err(missing),
            Err(_) => std::thread::sleep(INTERVAL),
        }
    }
}
