//! The time of this process: its clocks, the time of Kubernetes objects, and durations of flags.

use std::time::{Duration, SystemTime};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::fmt::friendly::SpanParser;
use k8s_openapi::jiff::{Timestamp, Unit};

/// Returns the current time of this host, in whole seconds.
///
/// The API server keeps times in whole seconds. A status with fractions of a second would differ from its stored form.
///
/// A [`Time`] holds a `jiff::Timestamp`, of the crate that k8s-openapi exports: `k8s_openapi::jiff`.
///
/// # Examples
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
/// use k8s_openapi::jiff::ToSpan;
///
/// let Time(now) = manager::now();
/// assert!(now + 5.minutes() > now);
/// ```
pub fn now() -> Time {
    let now = Timestamp::now();
    Time(now.round(Unit::Second).unwrap_or(now))
}

pub(crate) fn until(time: Timestamp) -> Duration {
    let left = time.duration_since(Timestamp::now());
    Duration::try_from(left).unwrap_or_default()
}

/// The longest duration of Go, about 292 years. Adding it to any time since boot does not overflow.
const LONGEST: Duration = Duration::from_nanos(i64::MAX.unsigned_abs());

/// Parses a duration of a flag: `8s`, `1m30s`, `1.5h`, `300ms`, `0`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let parsed = SpanParser::new().parse_duration(text).ok();
    let duration = parsed.and_then(|duration| Duration::try_from(duration).ok());
    let duration = duration
        .ok_or_else(|| format!("`{text}` is not a duration such as `8s`, `1m30s` or `300ms`"))?;
    if duration > LONGEST {
        let hours = LONGEST.as_secs() / 3600;
        return Err(format!("`{text}` is longer than {hours} hours"));
    }
    Ok(duration)
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

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::ToSpan;

    use super::*;

    #[test]
    fn times_have_no_fraction_of_a_second() {
        let Time(now) = now();
        assert_eq!(now.subsec_nanosecond(), 0);
    }

    #[test]
    fn a_time_that_has_passed_is_now() {
        let now = Timestamp::now();
        for (time, least, most) in [
            (Timestamp::MIN, 0, 0),
            (now - 1.hour(), 0, 0),
            (now + 1.hour(), 3_590, 3_600),
            (Timestamp::MAX, 3_600, u64::MAX),
        ] {
            let left = until(time).as_secs();
            assert!((least..=most).contains(&left), "{time}: {left}");
        }
    }

    #[test]
    fn durations_are_those_of_go_and_never_negative() {
        for (text, milliseconds) in [
            ("0", Some(0)),
            ("0s", Some(0)),
            ("8s", Some(8_000)),
            ("1m30s", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("300ms", Some(300)),
            ("1h 30 minutes", Some(5_400_000)),
            ("", None),
            ("8", None),
            ("s", None),
            ("-1s", None),
            ("1d", None),
            ("1.2.3s", None),
            ("2562047h", Some(9_223_369_200_000)),
            ("2562048h", None),
            ("18446744073709549568s", None),
        ] {
            let parsed = parse_duration(text)
                .ok()
                .map(|duration| duration.as_millis());
            assert_eq!(parsed, milliseconds, "{text}");
        }
    }
}
