//! Polls a condition until a deadline, instead of sleeping for an estimated time.

use std::time::{Duration, Instant};

/// The time between two polls.
const SHORTEST: Duration = Duration::from_millis(100);
/// The time in a long wait. Most polls run kubectl, which takes a third of a core at the shortest interval.
const LONGEST: Duration = Duration::from_millis(500);

/// Returns the first value of `condition`, or its last error after `limit`.
pub(crate) fn until<T>(limit: Duration, mut condition: impl FnMut() -> Result<T, String>) -> Result<T, String> {
    let start = Instant::now();
    let deadline = start + limit;
    loop {
        match condition() {
            Ok(value) => return Ok(value),
            Err(missing) if Instant::now() >= deadline => return Err(missing),
            // A long wait ends at most 5 percent late.
            Err(_) => std::thread::sleep((start.elapsed() / 20).clamp(SHORTEST, LONGEST)),
        }
    }
}
