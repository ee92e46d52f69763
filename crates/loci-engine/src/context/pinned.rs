//! Memories that agents are reminded of at each prompt.

use loci_core::{CollectionFilter, Delivery, Filter, Memory, Result};

use super::Context;

/// The attribute of a memory that [delivers](Delivery::Bootstrap) it not only at the start of a session
/// but at each prompt as well.
pub const PINNED: &str = "pinned";

/// The numbers of memories that agents get without a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeliveryCounts {
    /// Those that they get only at the start of a session.
    pub bootstrap: u64,
    /// Those that they get at each prompt as well.
    pub pinned: u64,
}

/// Returns true if agents are reminded of a memory at each prompt.
pub fn is_pinned(memory: &Memory) -> bool {
    memory.delivery == Delivery::Bootstrap && memory.attributes.contains_key(PINNED)
}

impl Context<'_> {
    /// Returns the memories of these collections that the caller's agents are reminded of at each
    /// prompt, most important first. Only texts of authors whose directives the caller
    /// [takes](crate::Trust) are among them, because nothing sets a reminder apart as a quotation.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn pinned(&self, collections: CollectionFilter) -> Result<Vec<Memory>> {
        let mut memories = self.bootstrap_memories(collections)?;
        memories.retain(is_pinned);
        if memories.is_empty() {
            return Ok(memories);
        }
        let trust = self.settings.trust()?;
        memories.retain(|memory| trust.includes(memory));
        Ok(memories)
    }

    /// Counts the memories that agents get without a search, of all that the caller may read.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn delivery_counts(&self) -> Result<DeliveryCounts> {
        let filter = Filter {
            delivery: Some(Delivery::Bootstrap),
            ..self.access.filter(CollectionFilter::Any)
        };
        let memories = self.all_of(&filter)?;
        let pinned = memories.iter().filter(|memory| is_pinned(memory)).count();
        Ok(DeliveryCounts {
            bootstrap: (memories.len() - pinned) as u64,
            pinned: pinned as u64,
        })
    }
}
