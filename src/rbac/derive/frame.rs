//! The place of the code that is being run, and the state of its function.

use std::collections::BTreeMap;

use proc_macro2::Span;

use super::index::FunctionId;
use super::lower::NameScope;
use super::types::Ty;
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

#[derive(Debug)]
pub(super) struct CallFrame {
    pub(super) scope: NameScope,
    pub(super) locals: Vec<BTreeMap<String, Ty>>,
    pub(super) nested: BTreeMap<String, FunctionId>,
    pub(super) output: Ty,
    pub(super) returned: Ty,
    /// The loops and labeled blocks around, with the values that a `break` gives them.
    pub(super) targets: Vec<BreakTarget>,
}

#[derive(Debug)]
pub(super) struct BreakTarget {
    pub(super) label: Option<String>,
    pub(super) is_loop: bool,
    pub(super) expected: Ty,
    pub(super) value: Ty,
}

impl CallFrame {
    pub(super) fn of(scope: NameScope) -> Self {
        Self {
            scope,
            locals: vec![BTreeMap::new()],
            nested: BTreeMap::new(),
            output: Ty::Unknown,
            returned: Ty::Never,
            targets: Vec::new(),
        }
    }

    pub(super) fn location(&self, span: Span) -> Location {
        Location { module: self.scope.module, span }
    }

    pub(super) fn enter(&mut self) {
        self.locals.push(BTreeMap::new());
    }

    pub(super) fn leave(&mut self) {
        self.locals.pop();
    }

    pub(super) fn local(&self, name: &str) -> Option<&Ty> {
        self.locals.iter().rev().find_map(|names| names.get(name))
    }

    pub(super) fn declare(&mut self, name: String, ty: Ty) {
        if let Some(names) = self.locals.last_mut() {
            names.insert(name, ty);
        }
    }

    pub(super) fn assign(&mut self, name: &str, ty: Ty) {
        if let Some(slot) = self.locals.iter_mut().rev().find_map(|names| names.get_mut(name)) {
            *slot = ty;
        }
    }
}
