/// A type of a [`Graph`](super::Graph).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeId(pub(super) usize);

impl TypeId {
    pub(crate) fn index(self) -> usize {
        self.0
    }
}
