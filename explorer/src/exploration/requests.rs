//! Schedules that follow from the requests of the undisturbed runs.

use std::ops::RangeInclusive;

use super::{Event, Fault, Phase, Schedule};

/// The requests of the undisturbed runs. True is a write.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// The run in which the samples are created.
    pub create: Vec<bool>,
    /// The run in which the samples are deleted.
    pub delete: Vec<bool>,
}

impl Requests {
    fn phases(&self) -> [(Phase, &[bool]); 2] {
        [(Phase::Create, &self.create), (Phase::Delete, &self.delete)]
    }

    /// The numbers of the writes of each run.
    pub fn writes(&self) -> [(Phase, RangeInclusive<usize>); 2] {
        self.phases().map(|(phase, requests)| (phase, 1..=requests.iter().filter(|write| **write).count()))
    }

    /// Crashes after each write, then before each write. Both runs in turn, so that a small budget sees both.
    pub fn crashes(&self) -> Vec<Schedule> {
        let mut all = Vec::new();
        for after in [true, false] {
            let lists = self.writes().map(|(phase, writes)| {
                writes.map(|write| Schedule { phase, event: Event::Die { write, after } }).collect()
            });
            all.extend(super::in_turn(lists.into()));
        }
        all
    }

    /// Deletions of the samples at each write of their creation.
    pub fn deletions(&self) -> Vec<Schedule> {
        let [(phase, writes), _] = self.writes();
        writes.map(|write| Schedule { phase, event: Event::Delete { write } }).collect()
    }

    /// One fault for all requests, then the next one: a small budget sees each request.
    pub fn faults(&self) -> Vec<Schedule> {
        let faults = [
            (Fault::Code(409), true),
            (Fault::Code(500), false),
            (Fault::DropAfter, true),
            (Fault::DropBefore, false),
            (Fault::Timeout, true),
            (Fault::Code(429), false),
            (Fault::Code(504), false),
        ];
        let mut all = Vec::new();
        for (fault, only_writes) in faults {
            for (phase, requests) in self.phases() {
                let requests = (1..).zip(requests).filter(|(_, write)| **write || !only_writes);
                all.extend(requests.map(|(request, _)| Schedule { phase, event: Event::Fault { request, fault } }));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_disturb_each_write_or_request() {
        let requests = Requests { create: vec![false, true, true], delete: vec![true] };
        let texts = |schedules: Vec<Schedule>| -> Vec<String> { schedules.iter().map(ToString::to_string).collect() };
        let crashes = [
            "create: die after write 1",
            "delete: die after write 1",
            "create: die after write 2",
            "create: die before write 1",
            "delete: die before write 1",
            "create: die before write 2",
        ];
        assert_eq!(texts(requests.crashes()), crashes);
        assert_eq!(texts(requests.deletions()), ["create: delete after write 1", "create: delete after write 2"]);
        let faults = texts(requests.faults());
        let first = [
            "create: answer 409 to request 2",
            "create: answer 409 to request 3",
            "delete: answer 409 to request 1",
            "create: answer 500 to request 1",
        ];
        assert_eq!((faults.len(), &faults[..4]), (3 * 3 + 4 * 4, &first.map(str::to_owned)[..]));
    }
}
