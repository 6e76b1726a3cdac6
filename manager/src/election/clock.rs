//! The clocks of this process.

use std::time::{Duration, SystemTime};

use super::lease::Now;

pub(crate) fn now() -> Now {
    Now {
        boot: boot(),
        wall: wall(),
    }
}

/// Time since the machine was booted. It goes on while the machine is suspended, which the usual monotonic clock of
/// Linux does not; and nobody can set it.
#[cfg(target_os = "linux")]
pub(crate) fn boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Time since this process first asked: elsewhere operators run for development alone.
#[cfg(not(target_os = "linux"))]
pub(crate) fn boot() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

/// Time since 1970, as people set it.
pub(crate) fn wall() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}
