//! What a search did not look at.

use std::collections::BTreeSet;

use loci_core::{CollectionFilter, Filter, Result, Tier};

use crate::listings::Listings;

/// The memories that a search did not look at because of their collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnsearchedMemories {
    /// Their number, replaced memories included.
    pub memories: u64,
    /// The number of their collections; memories without a collection are in none.
    pub collections: usize,
}

impl Listings<'_> {
    /// Returns the memories of these tiers that the caller may read in other collections than a
    /// search looks at. The cost depends on the number of locations, not of memories.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn unsearched(
        &self,
        tiers: &[Tier],
        searched: &CollectionFilter,
    ) -> Result<UnsearchedMemories> {
        if *searched == CollectionFilter::Any {
            return Ok(UnsearchedMemories::default());
        }
        let everywhere = Filter {
            tiers: tiers.to_vec(),
            ..self.access.filter(CollectionFilter::Any)
        };
        let mut places = self.store.count_by_location(&everywhere)?;
        places.retain(|place| !searched.admits(place.collection.as_deref()));
        let collections: BTreeSet<&str> = places
            .iter()
            .filter_map(|place| place.collection.as_deref())
            .collect();
        Ok(UnsearchedMemories {
            memories: places.iter().map(|place| place.memories).sum(),
            collections: collections.len(),
        })
    }
}
