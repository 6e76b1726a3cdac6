//! The time of each test, for the list of the slowest that `tests/levels` prints.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Instant;

/// Appends `SECONDS TEST` to the file `TEST_TIMES` when the thread of a test ends.
struct Clock(Instant);

thread_local! {
    static CLOCK: Clock = Clock(Instant::now());
}

/// Starts the clock of the test that runs on this thread, unless it runs.
pub(crate) fn start() {
    CLOCK.with(|_| ());
}

impl Drop for Clock {
    fn drop(&mut self) {
        let (Some(file), Some(test)) =
            (std::env::var_os("TEST_TIMES"), std::thread::current().name().map(str::to_owned))
        else {
            return;
        };
        let line = format!("{:.1} {test}\n", self.0.elapsed().as_secs_f64());
        if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(file) {
            let _ = file.write_all(line.as_bytes());
        }
    }
}
