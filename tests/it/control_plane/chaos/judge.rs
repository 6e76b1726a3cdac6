//! Judges whether each write was sent during the leadership of its writer. A pure function of the audit log.
//!
//! Leadership begins when a successful Lease write arrives. It ends at the *start* of that write plus the renew
//! deadline, or when the next successful Lease write of any replica arrives. The start is the `renewTime` in the Lease,
//! from which the replica's gate counts, too. All times are from one machine, including the time at which a write
//! passed the gate.

use std::time::Duration;

/// A successful Lease write. Times are since 1970.
#[derive(Debug, Clone)]
pub(super) struct LeaseWrite {
    pub(super) writer: String,
    /// Empty if the write released the Lease.
    pub(super) holder: String,
    /// Time of the request on the writer's clock.
    pub(super) started: Duration,
    /// Arrival at the API server.
    pub(super) received: Duration,
    /// Completion of the response.
    pub(super) answered: Duration,
}

/// Any other write of a replica, with any result. Times are since 1970.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) writer: String,
    /// Time of the gate, if the request has one.
    pub(super) gate: Option<Duration>,
    pub(super) received: Duration,
    /// A late arrival does no harm.
    pub(super) harmless: bool,
    pub(super) what: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) judged: usize,
    /// Writes that passed the gate in time and arrived after the leadership.
    pub(super) late: usize,
    /// Late writes that arrived during another leadership.
    pub(super) overtaken: usize,
    pub(super) violations: Vec<String>,
}

/// Judges `writes` by `leases`, which are in the order of their arrival.
pub(super) fn judge(leases: &[LeaseWrite], writes: &[Write], renew_deadline: Duration) -> Verdict {
    let history = History { leases, renew_deadline };
    let mut verdict = Verdict { judged: writes.len(), violations: history.usurpations(), ..Verdict::default() };
    for write in writes {
        let Write { writer, gate, received, harmless, what } = write;
        let Some(gate) = gate else {
            verdict.violations.push(format!("{writer} did not ask the gate: {what}"));
            continue;
        };
        if !harmless {
            verdict.violations.push(format!("{writer} wrote what could do harm late: {what}"));
        }
        let leads = |at: Duration| history.leader(at) == Some(writer);
        if !leads(*gate) {
            let leader = history.tell(*gate);
            verdict.violations.push(format!("{writer} did not lead when it wrote at {gate:?}: {what}; {leader}"));
        } else if !leads(*received) {
            verdict.late += 1;
            verdict.overtaken += usize::from(history.leader(*received).is_some());
        }
    }
    verdict
}

struct History<'a> {
    leases: &'a [LeaseWrite],
    renew_deadline: Duration,
}

impl History<'_> {
    /// The last effective Lease write at this time. A release is effective from its start, because the gate was shut
    /// before.
    fn last(&self, at: Duration) -> Option<&LeaseWrite> {
        let counts = |lease: &LeaseWrite| if lease.holder.is_empty() { lease.started } else { lease.received };
        self.leases.iter().rev().find(|lease| counts(lease) <= at)
    }

    fn leader(&self, at: Duration) -> Option<&String> {
        let lease = self.last(at).filter(|lease| !lease.holder.is_empty())?;
        (at < lease.started + self.renew_deadline).then_some(&lease.holder)
    }

    fn tell(&self, at: Duration) -> String {
        self.last(at).map_or_else(|| "nobody had led yet".to_owned(), |lease| format!("the last {lease:?}"))
    }

    /// Lease writes during the leadership of another replica.
    fn usurpations(&self) -> Vec<String> {
        let pairs = self.leases.windows(2).filter_map(|pair| <&[_; 2]>::try_from(pair).ok());
        let usurpations = pairs.filter(|[before, after]| {
            let time_left = after.received < before.started + self.renew_deadline;
            !before.holder.is_empty() && before.holder != after.writer && time_left
        });
        usurpations
            .map(|[before, after]| format!("{} took the Lease too early: {after:?} after {before:?}", after.writer))
            .collect()
    }
}

mod tests {
    use super::*;

    const RENEW_DEADLINE: Duration = Duration::from_secs(2);

    fn milliseconds(number: u64) -> Duration {
        Duration::from_secs(1_800_000_000) + Duration::from_millis(number)
    }

    /// A Lease write that arrives 10 ms after its start.
    fn lease(writer: &str, holder: &str, started: u64) -> LeaseWrite {
        LeaseWrite {
            writer: writer.to_owned(),
            holder: holder.to_owned(),
            started: milliseconds(started),
            received: milliseconds(started + 10),
            answered: milliseconds(started + 20),
        }
    }

    fn write(writer: &str, gate: u64, received: u64) -> Write {
        Write {
            writer: writer.to_owned(),
            gate: Some(milliseconds(gate)),
            received: milliseconds(received),
            harmless: true,
            what: "patch deployments".to_owned(),
        }
    }

    /// `a` renews and leads until 2,500, `b` takes over at 4,000 and releases at 5,000, `a` acquires at 5,100.
    fn leases() -> [LeaseWrite; 5] {
        [
            lease("a", "a", 0),
            lease("a", "a", 500),
            lease("b", "b", 4_000),
            lease("b", "", 5_000),
            lease("a", "a", 5_100),
        ]
    }

    #[test]
    fn a_write_is_judged_by_its_gate_and_counted_by_its_arrival() {
        for (writer, gate, received, expected) in [
            ("a", 5, 15, "violation"),
            ("a", 10, 15, "fine"),
            ("a", 505, 506, "fine"),
            ("a", 2_499, 2_499, "fine"),
            ("a", 2_499, 2_500, "late"),
            ("a", 2_499, 4_009, "late"),
            ("a", 2_499, 4_010, "overtaken"),
            ("a", 2_500, 2_501, "violation"),
            ("a", 4_500, 4_501, "violation"),
            ("b", 2_000, 2_001, "violation"),
            ("b", 3_000, 4_500, "violation"),
            ("b", 4_010, 4_020, "fine"),
            ("b", 4_999, 4_999, "fine"),
            ("b", 4_999, 5_005, "late"),
            ("b", 4_999, 5_110, "overtaken"),
            ("b", 5_000, 5_001, "violation"),
            ("a", 5_109, 5_120, "violation"),
            ("a", 5_110, 5_120, "fine"),
            ("c", 600, 601, "violation"),
        ] {
            let verdict = judge(&leases(), &[write(writer, gate, received)], RENEW_DEADLINE);
            let found = match verdict {
                Verdict { violations, .. } if !violations.is_empty() => "violation",
                Verdict { overtaken: 1, late: 1, .. } => "overtaken",
                Verdict { late: 1, .. } => "late",
                _ => "fine",
            };
            assert_eq!(found, expected, "{writer} {gate} {received}");
        }
    }

    #[test]
    fn a_write_without_a_gate_is_a_violation_and_so_is_one_that_could_do_harm_late() {
        let [mut ungated, mut harmful] = [write("a", 100, 101), write("a", 100, 101)];
        ungated.gate = None;
        harmful.harmless = false;
        let verdict = judge(&leases(), &[ungated, harmful], RENEW_DEADLINE);
        assert_eq!(
            verdict.violations,
            ["a did not ask the gate: patch deployments", "a wrote what could do harm late: patch deployments"]
        );
        assert_eq!(verdict.judged, 2);
    }

    #[test]
    fn a_lease_is_neither_taken_nor_given_back_in_the_time_of_another() {
        let none: [&str; 0] = [];
        for (writer, holder, started, expected) in [
            ("b", "b", 2_489, &["b took the Lease too early"][..]),
            ("b", "b", 2_490, &none),
            ("b", "", 1_000, &["b took the Lease too early"]),
            ("a", "", 1_000, &none),
            ("a", "a", 1_000, &none),
        ] {
            let leases = [lease("a", "a", 500), lease(writer, holder, started)];
            let found = judge(&leases, &[], RENEW_DEADLINE).violations;
            let found: Vec<_> = found.iter().map(|text| text.split(':').next().unwrap()).collect();
            assert_eq!(found, expected, "{writer} {holder} {started}");
        }
    }
}
