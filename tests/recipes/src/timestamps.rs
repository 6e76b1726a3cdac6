use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{Error, SignedDuration, Timestamp, ToSpan};
use kube::ResourceExt;

use crate::api::Site;

/// The age of a site; negative if the clock of the API server is ahead.
pub fn age(site: &Site) -> Option<SignedDuration> {
    let Time(created) = site.creation_timestamp()?;
    let Time(now) = manager::now();
    Some(now.duration_since(created))
}

/// Parses a time such as `2026-01-31T12:00:00Z` and adds an hour.
pub fn an_hour_after(text: &str) -> Result<Time, Error> {
    let time: Timestamp = text.parse()?;
    Ok(Time(time + 1.hour()))
}
