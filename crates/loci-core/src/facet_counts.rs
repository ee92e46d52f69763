//! Counts of memories by what a filter can ask for.

use std::collections::BTreeMap;

/// The numbers of memories that match a filter, by each value of what a filter can ask for, so that
/// a person can choose a filter without knowing a name. A value that no such memory has is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FacetCounts {
    /// All of them.
    pub memories: u64,
    /// By collection; `None` is global.
    pub collections: BTreeMap<Option<String>, u64>,
    /// By section.
    pub sections: BTreeMap<String, u64>,
    /// By kind.
    pub kinds: BTreeMap<String, u64>,
    /// By tag; a memory counts once for each of its tags, and again for one that it has twice.
    pub tags: BTreeMap<String, u64>,
    /// By owner; `None` is nobody.
    pub owners: BTreeMap<Option<String>, u64>,
    /// By the tool set through which they came in.
    pub origins: BTreeMap<String, u64>,
    /// By the program that filed them; a memory whose program is not known is left out.
    pub programs: BTreeMap<String, u64>,
    /// By the day on which they were first stored, as [`day_of`](crate::day_of) counts days.
    pub days: BTreeMap<i64, u64>,
}
