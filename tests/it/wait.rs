//! Waiting for a condition with a deadline: never a guess about how long something takes.

use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(100);

/// The first value that `condition` gives, or what it last said was missing once `limit` is over.
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
