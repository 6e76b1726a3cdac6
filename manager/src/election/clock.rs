//! The clocks of this process.

use std::time::{Duration, SystemTime};

use super::lease::Now;

pub(crate) fn now() -> Now {
    Now {
        boot: boot(),
        wall: wall(),
    }
}

/// Returns the time since boot. It includes suspension, unlike the monotonic clock of Linux, and nobody can set it.
#[cfg(target_os = "linux")]
pub(crate) fn boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Returns the time since the first call. Other systems run operators only for development.
#[cfg(not(target_os = "linux"))]
pub(crate) fn boot() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

/// Returns the time since 1970, which people can set.
pub(crate) fn wall() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}
