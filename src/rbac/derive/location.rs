//! Locations in the source.

use proc_macro2::Span;

use crate::source::ModuleId;

#[derive(Debug, Clone, Copy)]
pub(super) struct Location {
    pub(super) module: ModuleId,
    pub(super) span: Span,
}

pub(super) type LocationKey = (ModuleId, usize);

impl Location {
    pub(super) fn key(&self) -> LocationKey {
        (self.module, self.span.byte_range().start)
    }
}
