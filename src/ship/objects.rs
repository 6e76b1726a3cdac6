//! Rendered objects, as charts and bundles read them: which of them is the manager, and which values name other objects.

pub(super) mod manager;
mod object;
pub(super) mod references;
mod text;
pub(super) mod words;

pub(super) use object::{containers, group, home, items, kind, name, namespace, pod, shown, text, version};
