/// A type of a [`Graph`](super::Graph).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeId(pub(super) usize);

impl TypeId {
    /// Its position, in the order in which types were added.
    pub(crate) fn index(self) -> usize {
        self.0
    }
}
