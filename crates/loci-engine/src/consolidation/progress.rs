//! The state of a pass, from step to step.

use std::collections::{HashMap, HashSet};

use loci_core::{Memory, MemoryId, Partition, SaidBy, Space, Timestamp};

/// A memory that stands behind another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoodBehind {
    /// The memory.
    pub memory: MemoryId,
    /// The one that stands for it.
    pub representative: MemoryId,
}

/// The outcome of a consolidation, or with a dry run what it would be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConsolidationReport {
    /// The number of memories that were compared with others.
    pub compared: usize,
    /// The number of memories that stand behind others now, with the ones that did so before.
    pub behind: usize,
    /// The number of memories that stand for others now.
    pub representatives: usize,
    /// Memories that stand behind another one since this run.
    pub put_behind: Vec<StoodBehind>,
    /// Memories that are back in sight, because the one that stood for them does not say the same any
    /// more, or does not stand for others itself.
    pub brought_back: Vec<MemoryId>,
    /// Memories that stay in sight, because a person took the same back.
    pub left: Vec<MemoryId>,
    /// Memories that another writer changed during the run; the next one takes them.
    pub changed_meanwhile: Vec<MemoryId>,
    /// Summaries that a language model wrote in this run.
    pub summaries: Vec<MemoryId>,
    /// The number of summaries that could not be written, because the language model gave none.
    pub summaries_failed: usize,
}

/// A memory that stands for others or behind another one, or may.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) memory: Memory,
    /// The time at which the one was stored that replaced it, and who said that one.
    pub(super) replaced: Option<(Timestamp, SaidBy)>,
    /// The number of its content words.
    pub(super) content: usize,
}

/// The state of a pass.
#[derive(Debug)]
pub(crate) struct Pass {
    pub(super) is_dry_run: bool,
    /// The memories to compare.
    pub(super) ids: Vec<MemoryId>,
    /// The number of these that were compared.
    pub(super) compared: usize,
    pub(super) candidates: HashMap<MemoryId, Candidate>,
    /// For each candidate the ones that may stand for it.
    pub(super) edges: HashMap<MemoryId, Vec<MemoryId>>,
    /// Memories that have a mark.
    pub(super) marked: HashSet<MemoryId>,
    /// Summaries that no group has been found to have yet.
    pub(super) summaries: HashSet<MemoryId>,
    /// The groups; `None` until all memories are compared.
    pub(super) plan: Option<Plan>,
    pub(super) report: ConsolidationReport,
}

/// The groups of a pass.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) behind: HashMap<MemoryId, MemoryId>,
    /// Representatives that are left to do, each with the memories that are to stand behind it; `None` for
    /// marks that go.
    pub(super) left: Vec<(Option<MemoryId>, Vec<MemoryId>)>,
}

/// The pass of the background that is under way.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(super) space: Space,
    pub(super) partition: Partition,
    pub(super) pass: Pass,
}

impl Pass {
    /// Returns true until all memories are compared. Up to then, nothing is changed.
    pub(super) fn is_comparing(&self) -> bool {
        self.compared < self.ids.len()
    }
}
