//! One entry of a posting list.

/// The occurrence of a term in a passage, with its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Posting {
    pub(super) slot: u32,
    pub(super) count: u32,
}
