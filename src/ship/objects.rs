//! Rendered objects, as charts and bundles read them: the manager among them, and the values that name other objects.

pub(super) mod manager;
mod object;
pub(super) mod references;
mod text;
pub(super) mod words;

pub(super) use object::{containers, group, home, items, kind, name, namespace, pod, shown, text, version};
