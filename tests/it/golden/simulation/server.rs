//! An API server with one Lease.

use super::lease::{LeaseAnswer, LeaseStep, Record};

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

    pub(super) fn serve(&mut self, request: LeaseStep) -> LeaseAnswer {
        match request {
            LeaseStep::Read => match &self.record {
                Some(record) => LeaseAnswer::Record(self.version.to_string(), record.clone()),
                None => LeaseAnswer::Absent,
            },
            LeaseStep::Create(record) if self.record.is_none() || self.blind => self.store(record),
            LeaseStep::Update(version, record) if version == self.version.to_string() || self.blind => {
                self.store(record)
            }
            LeaseStep::Update(..) if self.record.is_none() => LeaseAnswer::Absent,
            LeaseStep::Create(_) | LeaseStep::Update(..) => {
                self.conflicts += 1;
                LeaseAnswer::Conflict
            }
            LeaseStep::Wait(_) | LeaseStep::Released => unreachable!("not a request"),
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

    fn store(&mut self, record: Record) -> LeaseAnswer {
        self.version += 1;
        self.record = Some(record.clone());
        LeaseAnswer::Record(self.version.to_string(), record)
    }
}
