//! Timestamps as Kubernetes writes them.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
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
}
