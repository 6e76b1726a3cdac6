//! Whether every write left within the leadership of its writer: a pure function of what the audit log tells.
//!
//! A replica leads from the arrival of a Lease write of its own that succeeds until the *start* of that write plus the
//! renew deadline, and no longer than until the arrival of the next one that succeeds, which may be another's. The start
//! is the `renewTime` that the replica writes into the Lease: the same instant that its gate counts from. Times are
//! those of one machine, as is the time at which a write passed the gate.

use std::time::Duration;

/// A write of the Lease that succeeded. Times are since 1970.
#[derive(Debug, Clone)]
pub(super) struct LeaseWrite {
    pub(super) writer: String,
    /// Empty when the Lease was given back.
    pub(super) holder: String,
    /// By the clock of the writer, before it sent the request.
    pub(super) started: Duration,
    /// When the API server got it.
    pub(super) received: Duration,
    /// When the API server had answered it.
    pub(super) answered: Duration,
}

/// Any other write of a replica, whatever came of it. Times are since 1970.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) writer: String,
    /// When it passed the gate, if it says so.
    pub(super) gate: Option<Duration>,
    pub(super) received: Duration,
    /// Whether it does no harm when it arrives late.
    pub(super) harmless: bool,
    pub(super) what: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) judged: usize,
    /// Passed the gate in time, and arrived when the writer didn't lead any more.
    pub(super) late: usize,
    /// Of those, how many arrived when another one led.
    pub(super) overtaken: usize,
    pub(super) violations: Vec<String>,
}

/// Judges `writes` by `leases`, which are in the order in which they arrived.
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
    /// The last Lease write that counts at this time. To give the Lease back counts from its start: the gate was shut
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

    /// Lease writes in the time of another one.
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

    /// Each Lease write arrives 10 ms after its start.
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

    /// `a` leads until 2,500 by a renewal, `b` takes over at 4,000, gives the Lease back at 5,000, `a` takes it at 5,100.
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
