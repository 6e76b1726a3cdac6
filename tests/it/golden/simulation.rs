//! Simulates the shipped leader election and gate: three contenders with separate clocks, an API server behind a lossy
//! network, pauses, suspends, crashes and shutdowns. Two contenders must never pass their gates at the same time.
//!
//! `SIMULATION_STEPS` sets the length and `SIMULATION_SEED` the first seed; `make sim` is the long run.

// The shipped files. Their formatting is that of generated projects.
#[rustfmt::skip]
#[path = "../../../manager/src/election/gate.rs"]
#[allow(dead_code)]
mod gate;
#[rustfmt::skip]
#[path = "../../../manager/src/election/lease.rs"]
#[allow(dead_code)]
mod lease;
mod server;
mod world;

use self::world::{Bug, Report, World};

const SEEDS: std::ops::Range<u64> = 1..9;
const STEPS: u64 = 20_000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

fn seeds() -> Vec<u64> {
    number("SIMULATION_SEED").map_or_else(|| SEEDS.collect(), |seed| vec![seed])
}

fn run(seed: u64, bug: Option<Bug>) -> Result<Report, String> {
    let steps = number("SIMULATION_STEPS").unwrap_or(STEPS);
    let again = format!("SIMULATION_SEED={seed} SIMULATION_STEPS={steps} cargo test --test it simulation::");
    World::new(seed, bug).run(steps).map_err(|error| format!("seed {seed}: {error}\nreplay: {again}"))
}

#[test]
fn never_two_leaders_past_the_gate() {
    let (mut late, mut excused) = (0, 0);
    for seed in seeds() {
        let report = run(seed, None).unwrap_or_else(|error| panic!("{error}"));
        println!("seed {seed}: {report:?}");
        // Guard against a world in which nothing happens.
        assert!(report.terms > 50, "seed {seed}: {report:?}");
        assert!(report.passed > 500, "seed {seed}: {report:?}");
        assert!(report.refused > 50, "seed {seed}: {report:?}");
        assert!(report.conflicts > 20, "seed {seed}: {report:?}");
        late += report.late;
        assert!(report.released > 5, "seed {seed}: {report:?}");
        assert!(report.deleted > 5, "seed {seed}: {report:?}");
        assert!(report.unable > 0, "seed {seed}: {report:?}");
        excused += report.excused;
    }
    println!("{late} writes arrived late; {excused} events between a deletion and the end of the term before it");
    assert!(late > 0 || seeds().len() == 1);
}

#[test]
fn every_seed_replays() {
    assert_eq!(run(7, None), run(7, None));
}

/// Fails unless the simulation finds this bug.
#[track_caller]
fn finds(bug: Bug) {
    finds_as(bug, "two leaders");
}

#[track_caller]
fn finds_as(bug: Bug, expected: &str) {
    let found = SEEDS.filter_map(|seed| run(seed, Some(bug)).err()).next();
    let found = found.unwrap_or_else(|| panic!("{bug:?} is not found by the seeds {SEEDS:?}"));
    assert!(found.contains(expected), "{bug:?}: {found}");
    println!("{bug:?}: {found}");
}

#[test]
fn finds_a_blind_patch() {
    finds(Bug::BlindPatch);
}

#[test]
fn finds_trust_in_the_time_of_the_record() {
    finds(Bug::TrustsRenewTime);
}

#[test]
fn finds_a_missing_renew_deadline() {
    finds(Bug::NoRenewDeadline);
}

#[test]
fn finds_a_clock_that_stops_in_a_pause() {
    finds(Bug::NoStopAfterPause);
}

#[test]
fn finds_a_release_by_a_process_that_is_not_the_holder() {
    finds(Bug::ReleaseByNonHolder);
}

#[test]
fn finds_a_replica_that_contends_without_its_caches() {
    finds_as(Bug::ContendsUnable, "leads without its caches");
}

#[test]
fn finds_a_leader_that_keeps_the_lease_although_it_cannot_work() {
    finds_as(Bug::KeepsUnable, "cannot work");
}

mod elector {
    //! Tests of a single contender, without a world.

    use std::sync::Arc;
    use std::time::Duration;

    use super::gate::Gate;
    use super::lease::{LeaseAnswer, LeaseElector, LeaseStep, Now, Record, Timing};

    const TIMING: Timing = Timing {
        lease_duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_secs(2),
    };

    fn at(seconds: u64) -> Now {
        Now { boot: Duration::from_secs(seconds), wall: Duration::from_secs(1_000 + seconds) }
    }

    fn elector() -> (LeaseElector, Arc<Gate>) {
        let gate = Arc::new(Gate::shut());
        (LeaseElector::new("me".to_owned(), TIMING, gate.clone(), 1), gate)
    }

    fn held_by(holder: &str) -> Record {
        Record { holder: holder.to_owned(), lease_duration: TIMING.lease_duration, ..Record::default() }
    }

    fn read(elector: &mut LeaseElector, now: u64, version: &str, holder: &str) {
        elector.answer(at(now), LeaseAnswer::Record(version.to_owned(), held_by(holder)));
    }

    #[test]
    fn the_first_creates_renews_and_gives_back() {
        let (mut elector, gate) = elector();
        assert_eq!(elector.next(at(1)), LeaseStep::Read);
        elector.answer(at(1), LeaseAnswer::Absent);
        let LeaseStep::Create(record) = elector.next(at(2)) else { panic!() };
        assert_eq!((record.holder.as_str(), record.transitions), ("me", 0));
        elector.answer(at(5), LeaseAnswer::Record("1".to_owned(), record));
        // The deadline counts from the start of the write, not from the answer.
        assert_eq!(gate.until(), Duration::from_secs(12));
        let LeaseStep::Update(version, record) = elector.next(at(6)) else { panic!() };
        assert_eq!((version.as_str(), record.acquired, record.transitions), ("1", at(2).wall, 0));
        elector.answer(at(6), LeaseAnswer::Record("2".to_owned(), record));
        assert_eq!(elector.next(at(6)), LeaseStep::Wait(Duration::from_secs(2)));

        elector.release();
        assert!(!gate.lets_pass(at(7).boot));
        let LeaseStep::Update(version, record) = elector.next(at(7)) else { panic!() };
        assert_eq!((version.as_str(), record.holder.as_str()), ("2", ""));
        elector.answer(at(7), LeaseAnswer::Record("3".to_owned(), record));
        assert_eq!(elector.next(at(7)), LeaseStep::Released);
    }

    #[test]
    fn takes_over_when_the_record_has_not_changed_for_its_duration() {
        let (mut elector, _) = elector();
        for (now, version) in [(0, "1"), (10, "1"), (14, "2"), (28, "2")] {
            assert_eq!(elector.next(at(now)), LeaseStep::Read);
            read(&mut elector, now, version, "other");
            assert!(matches!(elector.next(at(now)), LeaseStep::Wait(_)), "at {now}");
        }
        assert_eq!(elector.next(at(31)), LeaseStep::Read);
        read(&mut elector, 31, "2", "other");
        let LeaseStep::Update(version, record) = elector.next(at(31)) else { panic!() };
        assert_eq!((version.as_str(), record.holder.as_str(), record.transitions), ("2", "me", 1));
    }

    #[test]
    fn a_deleted_record_may_have_been_renewed_until_then() {
        for holder in ["other", ""] {
            let (mut elector, _) = elector();
            assert_eq!(elector.next(at(0)), LeaseStep::Read);
            read(&mut elector, 0, "1", "other");
            if holder.is_empty() {
                assert_eq!(elector.next(at(3)), LeaseStep::Read);
                read(&mut elector, 3, "2", holder);
                assert!(matches!(elector.next(at(3)), LeaseStep::Update(..)));
                elector.answer(at(3), LeaseAnswer::Conflict);
            }
            for now in [9, 14, 23] {
                assert_eq!(elector.next(at(now)), LeaseStep::Read);
                elector.answer(at(now), LeaseAnswer::Absent);
                assert!(matches!(elector.next(at(now)), LeaseStep::Wait(_)), "at {now}");
            }
            assert_eq!(elector.next(at(26)), LeaseStep::Read);
            elector.answer(at(26), LeaseAnswer::Absent);
            let LeaseStep::Create(record) = elector.next(at(26)) else { panic!("still waits") };
            assert_eq!(record.transitions, 1);
        }
    }

    #[test]
    fn the_leader_makes_a_deleted_record_anew_only_while_nobody_else_can_lead() {
        for (noticed, at_once) in [(4, true), (14, false)] {
            let (mut elector, gate) = elector();
            assert_eq!(elector.next(at(0)), LeaseStep::Read);
            elector.answer(at(0), LeaseAnswer::Absent);
            let LeaseStep::Create(record) = elector.next(at(0)) else { panic!() };
            elector.answer(at(0), LeaseAnswer::Record("1".to_owned(), record));
            assert!(matches!(elector.next(at(3)), LeaseStep::Update(..)));
            elector.answer(at(3), LeaseAnswer::Failed);
            assert_eq!(elector.next(at(noticed + 2)), LeaseStep::Read);
            elector.answer(at(noticed + 2), LeaseAnswer::Absent);
            assert!(!gate.lets_pass(at(noticed + 2).boot));
            let next = elector.next(at(noticed + 2));
            assert_eq!(matches!(next, LeaseStep::Create(_)), at_once, "{next:?}");
            if !at_once {
                assert_eq!(elector.next(at(noticed + 5)), LeaseStep::Read);
            }
        }
    }

    #[test]
    fn another_holder_shuts_the_gate_at_once_and_we_contend_again() {
        let (mut elector, gate) = elector();
        assert_eq!(elector.next(at(0)), LeaseStep::Read);
        elector.answer(at(0), LeaseAnswer::Absent);
        let LeaseStep::Create(record) = elector.next(at(0)) else { panic!() };
        elector.answer(at(0), LeaseAnswer::Record("1".to_owned(), record));
        assert!(matches!(elector.next(at(2)), LeaseStep::Update(..)));
        elector.answer(at(2), LeaseAnswer::Conflict);
        assert!(gate.lets_pass(at(3).boot));
        assert_eq!(elector.next(at(3)), LeaseStep::Read);
        read(&mut elector, 3, "2", "other");
        assert!(!gate.lets_pass(at(3).boot));
        assert_eq!(elector.next(at(19)), LeaseStep::Read);
        read(&mut elector, 19, "2", "other");
        assert!(matches!(elector.next(at(19)), LeaseStep::Update(..)));
    }

    #[test]
    fn who_does_not_hold_it_releases_nothing() {
        let (mut elector, _) = elector();
        assert_eq!(elector.next(at(0)), LeaseStep::Read);
        // Stop while the other holder's Lease is expired and the takeover is due.
        read(&mut elector, 0, "1", "other");
        assert_eq!(elector.next(at(16)), LeaseStep::Read);
        read(&mut elector, 16, "1", "other");
        elector.release();
        assert_eq!(elector.next(at(16)), LeaseStep::Released);
    }

    #[test]
    fn timing_that_can_not_work_is_refused() {
        let timing = |lease, renew, retry| {
            let [lease_duration, renew_deadline, retry_period] = [lease, renew, retry].map(Duration::from_secs);
            Timing { lease_duration, renew_deadline, retry_period }.mistake().is_some()
        };
        assert_eq!(
            [timing(15, 10, 2), timing(10, 10, 2), timing(15, 2, 2), timing(15, 10, 0)],
            [false, true, true, true]
        );
    }
}
