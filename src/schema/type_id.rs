/// A type of a [`Graph`](super::Graph).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeId(pub(super) usize);
