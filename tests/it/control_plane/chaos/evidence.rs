//! Extracts the writes of the replicas from the audit log.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::judge::{LeaseWrite, Write};
use crate::control_plane::audit;

/// Logs only the operator's writes, with their bodies.
pub(super) const POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  userGroups: ['system:serviceaccounts:memcached-operator-system']
  verbs: [create, update, patch, delete, deletecollection]
- level: None
";

pub(super) struct Evidence {
    /// Successful Lease writes in the order of their arrival.
    pub(super) leases: Vec<LeaseWrite>,
    pub(super) writes: Vec<Write>,
}

impl Evidence {
    pub(super) fn read(log: &Path) -> Self {
        let events = audit::events(log);
        let (leases, writes): (Vec<_>, Vec<_>) =
            events.iter().partition(|event| event["objectRef"]["resource"] == "leases");
        let mut leases: Vec<_> = leases.into_iter().filter(|event| succeeded(event)).map(lease_write).collect();
        leases.sort_by_key(|lease| lease.received);
        Self { leases, writes: writes.into_iter().map(write).collect() }
    }
}

fn succeeded(event: &Value) -> bool {
    matches!(event["responseStatus"]["code"].as_u64(), Some(200 | 201))
}

fn lease_write(event: &Value) -> LeaseWrite {
    let spec = &event["requestObject"]["spec"];
    LeaseWrite {
        writer: sender(event).0.to_owned(),
        holder: spec["holderIdentity"].as_str().unwrap_or_default().to_owned(),
        started: time(&spec["renewTime"]),
        received: time(&event["requestReceivedTimestamp"]),
        answered: time(&event["stageTimestamp"]),
    }
}

fn write(event: &Value) -> Write {
    let (writer, gate) = sender(event);
    let reference = &event["objectRef"];
    let what = ["resource", "subresource", "name"].map(|field| reference[field].as_str());
    let what: Vec<_> = [event["verb"].as_str()].into_iter().chain(what).flatten().collect();
    Write {
        writer: writer.to_owned(),
        gate: gate.map(|seconds| Duration::from_micros(micros(seconds))),
        received: time(&event["requestReceivedTimestamp"]),
        harmless: is_harmless(event),
        what: what.join(" "),
    }
}

/// Parses `memcached-operator/0.1.0 (IDENTITY) gate/SECONDS`: sender, and the time at which it passed the gate.
fn sender(event: &Value) -> (&str, Option<&str>) {
    let agent = event["userAgent"].as_str().unwrap_or_default();
    let identity = agent.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let (identity, rest) = identity.unwrap_or_else(|| panic!("a write of an unknown replica: {event:#}"));
    (identity, rest.strip_prefix(" gate/"))
}

/// A late write is harmless if the next leader repairs it (server-side apply), if it names a resource version, or if it
/// is an event.
fn is_harmless(event: &Value) -> bool {
    // The API server rejects `force` for other patches.
    let is_apply =
        event["verb"] == "patch" && event["requestURI"].as_str().is_some_and(|uri| uri.contains("force=true"));
    let version = event["requestObject"]["metadata"]["resourceVersion"].as_str();
    is_apply || version.is_some_and(|version| !version.is_empty()) || event["objectRef"]["resource"] == "events"
}

/// Parses RFC 3339 into the time since 1970.
pub(super) fn time(value: &Value) -> Duration {
    let time: Timestamp = value.as_str().unwrap_or_default().parse().unwrap_or_else(|error| panic!("{value}: {error}"));
    Duration::from_micros(time.as_microsecond().try_into().unwrap())
}

/// Parses `1800000000.123456` into microseconds.
fn micros(seconds: &str) -> u64 {
    let digits = seconds.split_once('.').filter(|(_, fraction)| fraction.len() == 6);
    digits.map(|(whole, fraction)| format!("{whole}{fraction}").parse().unwrap()).unwrap_or_else(|| panic!("{seconds}"))
}

mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_of_the_audit_log_is_a_write() {
        let event = |changes: Value| {
            let mut event = json!({
                "verb": "patch",
                "userAgent": "memcached-operator/0.1.0 (pod_1) gate/1800000000.000123",
                "requestURI": "/apis/apps/v1/namespaces/chaos/deployments/a?&force=true&fieldManager=m",
                "objectRef": { "resource": "deployments", "name": "a" },
                "requestReceivedTimestamp": "2027-01-15T08:00:00.000124Z",
            });
            event.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            event
        };
        let tell = |changes: Value| {
            let Write { writer, gate, received, harmless, what } = write(&event(changes));
            format!("{writer} {gate:?} {received:?} {harmless} {what}")
        };
        let arrival = "1800000000.000124s";
        let gate = "Some(1800000000.000123s)";
        let merge = json!({ "requestURI": "/apis/apps/v1/namespaces/chaos/deployments/a" });
        let with = |mut changes: Value, field: &str, value: Value| {
            changes[field] = value;
            changes
        };
        let version = json!({ "metadata": { "resourceVersion": "7" } });
        for (changes, expected) in [
            (json!({}), format!("pod_1 {gate} {arrival} true patch deployments a")),
            (json!({ "userAgent": "x/1 (pod_2)" }), format!("pod_2 None {arrival} true patch deployments a")),
            (merge.clone(), format!("pod_1 {gate} {arrival} false patch deployments a")),
            (with(merge, "requestObject", version), format!("pod_1 {gate} {arrival} true patch deployments a")),
            (json!({ "verb": "delete" }), format!("pod_1 {gate} {arrival} false delete deployments a")),
            (
                json!({ "verb": "create", "objectRef": { "resource": "events" } }),
                format!("pod_1 {gate} {arrival} true create events"),
            ),
        ] {
            assert_eq!(tell(changes), expected);
        }
    }
}
