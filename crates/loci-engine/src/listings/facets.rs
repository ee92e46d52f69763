//! Conditions on memories that searches and listings share.

use loci_core::{Filter, OwnerFilter, Timestamp};

/// Conditions on who filed a memory, through which tool set, in which thread, and when. A memory must
/// match all.
#[derive(Debug, Clone, PartialEq)]
pub struct Facets {
    /// The owner of the memories.
    pub owner: OwnerFilter,
    /// Only memories that came in through one of these tool sets; all if empty.
    pub origins: Vec<String>,
    /// Only what one of these programs filed; all if empty.
    pub programs: Vec<String>,
    /// Only memories of this [thread](loci_core::Thread), e.g. of a
    /// [file](crate::Sources::thread_of).
    pub thread: Option<String>,
    /// Only memories first stored at or after this time.
    pub created_from: Option<Timestamp>,
    /// Only memories first stored at or before this time.
    pub created_until: Option<Timestamp>,
}

impl Default for Facets {
    /// Returns conditions that every memory matches.
    fn default() -> Self {
        Facets {
            owner: OwnerFilter::Any,
            origins: Vec::new(),
            programs: Vec::new(),
            thread: None,
            created_from: None,
            created_until: None,
        }
    }
}

impl Facets {
    /// Adds the conditions to a filter.
    pub(crate) fn narrow(self, filter: &mut Filter) {
        let Facets {
            owner,
            origins,
            programs,
            thread,
            created_from,
            created_until,
        } = self;
        filter.owner = owner;
        filter.origins = origins;
        filter.programs = programs;
        filter.thread = thread;
        filter.created_from = created_from;
        filter.created_until = created_until;
    }
}
