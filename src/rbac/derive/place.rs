//! Places in the source.

use proc_macro2::Span;

use crate::source::ModuleId;

#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) module: ModuleId,
    pub(super) span: Span,
}

/// A place by its module and its first byte.
pub(super) type Spot = (ModuleId, usize);

impl Place {
    pub(super) fn spot(&self) -> Spot {
        (self.module, self.span.byte_range().start)
    }
}
