//! The contest for the leadership, with a common interface for both election modes: asks the rules for the next
//! request, sends it, and gives them the answer.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};

use super::lease::{LeaseAnswer, LeaseElector, LeaseStep, Now, Record};
#[cfg(feature = "leader-for-life")]
use super::{life, lock};
use crate::time;

#[cfg_attr(
    feature = "leader-for-life",
    expect(clippy::large_enum_variant, reason = "a process has one of it")
)]
pub(super) enum Contest<'name> {
    Lease(LeaseElector, LeaseRequests<'name>),
    #[cfg(feature = "leader-for-life")]
    Life(life::LifeElector, lock::LifeRequests<'name>),
}

pub(super) enum Turn {
    /// A request was sent, with or without an answer.
    Asked,
    /// Nothing to do for this time.
    Wait(Duration),
    Over,
    /// The Pod that this process should run in does not exist.
    #[cfg_attr(not(feature = "leader-for-life"), expect(dead_code))]
    Homeless,
}

fn now() -> Now {
    Now {
        boot: time::boot(),
        wall: time::wall(),
    }
}

impl Contest<'_> {
    pub(super) async fn turn(&mut self) -> Turn {
        match self {
            Self::Lease(elector, server) => match elector.next(now()) {
                LeaseStep::Wait(pause) => return Turn::Wait(pause),
                LeaseStep::Released => return Turn::Over,
                step => {
                    let answer = server.ask(step).await;
                    elector.answer(now(), answer);
                }
            },
            #[cfg(feature = "leader-for-life")]
            Self::Life(elector, server) => match elector.next(time::boot()) {
                life::LifeStep::Wait(pause) => {
                    server.tell(elector.reason());
                    return Turn::Wait(pause);
                }
                life::LifeStep::Over => return Turn::Over,
                life::LifeStep::Homeless => return Turn::Homeless,
                step => {
                    let answer = server.ask(step).await;
                    elector.answer(time::boot(), answer);
                }
            },
        }
        Turn::Asked
    }

    /// Returns the identity of the leader or the name of its Pod; empty if there is no leader.
    pub(super) fn holder(&self) -> &str {
        match self {
            Self::Lease(elector, _) => elector.holder(),
            #[cfg(feature = "leader-for-life")]
            Self::Life(elector, _) => elector.holder(),
        }
    }

    pub(super) fn release(&mut self) {
        match self {
            Self::Lease(elector, _) => elector.release(),
            #[cfg(feature = "leader-for-life")]
            Self::Life(elector, _) => elector.release(),
        }
    }

    /// Deletes the Pod of this process if it owns the lock of a leader for life; otherwise nobody else could lead. A
    /// Lease expires, so nothing is done.
    pub(super) async fn resign(&mut self) -> bool {
        match self {
            Self::Lease(..) => false,
            #[cfg(feature = "leader-for-life")]
            Self::Life(elector, server) => server.resign(elector.pod()).await,
        }
    }
}

pub(super) struct LeaseRequests<'name> {
    leases: Api<Lease>,
    name: &'name str,
    timeout: Duration,
    /// The last answer, including labels and other fields that are not ours.
    last: Option<Lease>,
}

impl<'name> LeaseRequests<'name> {
    pub(super) fn new(leases: Api<Lease>, name: &'name str, timeout: Duration) -> Self {
        Self {
            leases,
            name,
            timeout,
            last: None,
        }
    }

    pub(super) async fn ask(&mut self, step: LeaseStep) -> LeaseAnswer {
        let parameters = PostParams::default();
        let request = async {
            match step {
                LeaseStep::Create(record) => {
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
                LeaseStep::Update(version, record) => {
                    let mut lease = self.last.clone().unwrap_or_default();
                    lease.metadata.name = Some(self.name.to_owned());
                    lease.metadata.resource_version = Some(version);
                    lease.spec = Some(spec(&record, lease.spec));
                    self.leases.replace(self.name, &parameters, &lease).await
                }
                LeaseStep::Read | LeaseStep::Wait(_) | LeaseStep::Released => {
                    self.leases.get(self.name).await
                }
            }
        };
        match tokio::time::timeout(self.timeout, request).await {
            Ok(Ok(lease)) => {
                let version = lease.metadata.resource_version.clone().unwrap_or_default();
                let answer =
                    LeaseAnswer::Record(version, record(lease.spec.clone().unwrap_or_default()));
                self.last = Some(lease);
                answer
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => LeaseAnswer::Absent,
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => LeaseAnswer::Conflict,
            Ok(Err(error)) => {
                tracing::warn!(lease = self.name, %error, "can't reach the lease");
                LeaseAnswer::Failed
            }
            Err(_) => {
                tracing::warn!(lease = self.name, timeout = ?self.timeout, "no answer about the lease");
                LeaseAnswer::Failed
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
