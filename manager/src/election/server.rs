//! Sends the requests about a Lease to the API server.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};

use super::lease::{Answer, Record, Step};

pub(super) struct Server<'name> {
    leases: Api<Lease>,
    name: &'name str,
    timeout: Duration,
    /// The last answer, including labels and other fields that are not ours.
    last: Option<Lease>,
}

impl<'name> Server<'name> {
    pub(super) fn new(leases: Api<Lease>, name: &'name str, timeout: Duration) -> Self {
        Self {
            leases,
            name,
            timeout,
            last: None,
        }
    }

    pub(super) async fn ask(&mut self, step: Step) -> Answer {
        let parameters = PostParams::default();
        let request = async {
            match step {
                Step::Create(record) => {
                    let metadata = ObjectMeta {
                        name: Some(self.name.to_owned()),
                        ..ObjectMeta::default()
                    };
                    let lease = Lease {
                        metadata,
                        spec: Some(spec(&record, None)),
                    };
                    self.leases.create(&parameters, &lease).await
                }
                Step::Update(version, record) => {
                    let mut lease = self.last.clone().unwrap_or_default();
                    lease.metadata.name = Some(self.name.to_owned());
                    lease.metadata.resource_version = Some(version);
                    lease.spec = Some(spec(&record, lease.spec));
                    self.leases.replace(self.name, &parameters, &lease).await
                }
                Step::Read | Step::Wait(_) | Step::Released => self.leases.get(self.name).await,
            }
        };
        match tokio::time::timeout(self.timeout, request).await {
            Ok(Ok(lease)) => {
                let version = lease.metadata.resource_version.clone().unwrap_or_default();
                let answer =
                    Answer::Record(version, record(lease.spec.clone().unwrap_or_default()));
                self.last = Some(lease);
                answer
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => Answer::Absent,
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => Answer::Conflict,
            Ok(Err(error)) => {
                tracing::warn!(lease = self.name, %error, "can't reach the lease");
                Answer::Failed
            }
            Err(_) => {
                tracing::warn!(lease = self.name, timeout = ?self.timeout, "no answer about the lease");
                Answer::Failed
            }
        }
    }
}

fn record(spec: LeaseSpec) -> Record {
    let seconds = spec.lease_duration_seconds.unwrap_or_default();
    Record {
        holder: spec.holder_identity.unwrap_or_default(),
        lease_duration: Duration::from_secs(u64::try_from(seconds).unwrap_or_default()),
        transitions: spec.lease_transitions.unwrap_or_default(),
        acquired: since_1970(spec.acquire_time),
        renewed: since_1970(spec.renew_time),
    }
}

/// Sets our fields, and keeps the rest of `spec`.
fn spec(record: &Record, spec: Option<LeaseSpec>) -> LeaseSpec {
    // In whole seconds, rounded up.
    let seconds =
        record.lease_duration.as_secs() + u64::from(record.lease_duration.subsec_nanos() > 0);
    LeaseSpec {
        holder_identity: Some(record.holder.clone()),
        lease_duration_seconds: Some(i32::try_from(seconds).unwrap_or(i32::MAX)),
        lease_transitions: Some(record.transitions),
        acquire_time: time(record.acquired),
        renew_time: time(record.renewed),
        ..spec.unwrap_or_default()
    }
}

fn time(since_1970: Duration) -> Option<MicroTime> {
    let microseconds = i64::try_from(since_1970.as_micros()).ok()?;
    Timestamp::from_microsecond(microseconds)
        .ok()
        .map(MicroTime)
}

fn since_1970(time: Option<MicroTime>) -> Duration {
    let microseconds = time.map(|time| time.0.as_microsecond());
    Duration::from_micros(
        microseconds
            .and_then(|time| u64::try_from(time).ok())
            .unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_the_lease() {
        let before = Record {
            holder: "me".to_owned(),
            lease_duration: Duration::from_secs(15),
            transitions: 3,
            acquired: Duration::from_micros(1_700_000_000_123_456),
            renewed: Duration::from_micros(1_700_000_001_000_001),
        };
        let kept = LeaseSpec {
            strategy: Some("kept".to_owned()),
            ..LeaseSpec::default()
        };
        let lease = spec(&before, Some(kept));
        assert_eq!(lease.strategy.as_deref(), Some("kept"));
        assert_eq!(record(lease), before);
    }
}
