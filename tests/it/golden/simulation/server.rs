//! An API server with one Lease.

use super::lease::{Answer, Record, Step};

pub(super) struct Server {
    version: u64,
    record: Option<Record>,
    /// Unconditional writes, like a patch without a resourceVersion.
    blind: bool,
    pub(super) conflicts: u64,
}

impl Server {
    pub(super) fn new(blind: bool) -> Self {
        Self { version: 0, record: None, blind, conflicts: 0 }
    }

    pub(super) fn serve(&mut self, request: Step) -> Answer {
        match request {
            Step::Read => match &self.record {
                Some(record) => Answer::Record(self.version.to_string(), record.clone()),
                None => Answer::Absent,
            },
            Step::Create(record) if self.record.is_none() || self.blind => self.store(record),
            Step::Update(version, record) if version == self.version.to_string() || self.blind => self.store(record),
            Step::Update(..) if self.record.is_none() => Answer::Absent,
            Step::Create(_) | Step::Update(..) => {
                self.conflicts += 1;
                Answer::Conflict
            }
            Step::Wait(_) | Step::Released => unreachable!("not a request"),
        }
    }

    /// Changes labels only: a new version of the same record.
    pub(super) fn touch(&mut self) {
        if self.record.is_some() {
            self.version += 1;
        }
    }

    /// Deletes the Lease. Returns false if there was no Lease.
    pub(super) fn delete(&mut self) -> bool {
        // A new Lease has a new version.
        self.version += 1;
        self.record.take().is_some()
    }

    pub(super) fn holder(&self) -> &str {
        self.record.as_ref().map_or("", |record| &record.holder)
    }

    pub(super) fn transitions(&self) -> i32 {
        self.record.as_ref().map_or(0, |record| record.transitions)
    }

    fn store(&mut self, record: Record) -> Answer {
        self.version += 1;
        self.record = Some(record.clone());
        Answer::Record(self.version.to_string(), record)
    }
}
