//! Counts of memories.

use loci_core::{CollectionFilter, LocationCount, Result};

use crate::listings::Listings;

impl Listings<'_> {
    /// Returns the number of memories that the caller may read, by location and kind.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn count_by_location(&self) -> Result<Vec<LocationCount>> {
        self.store
            .count_by_location(&self.access.filter(CollectionFilter::Any))
    }

    /// Returns the number of memories that the caller may read.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn count(&self) -> Result<u64> {
        self.store.count(&self.access.filter(CollectionFilter::Any))
    }

    /// Returns that number by location and kind, including unlisted memories of the caller's tool
    /// set. The cost depends on the number of locations, not of memories.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn places(&self) -> Result<Vec<LocationCount>> {
        self.store.count_by_location(&self.access.places_filter())
    }

    /// Returns the same, after dropping the in-memory state of this process and counting again.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn count_uncached(&self) -> Result<Vec<LocationCount>> {
        self.store.reload()?;
        self.store.count_uncached(&self.access.places_filter())
    }

    /// Returns the collections with a memory that the caller may read, in order.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn collections(&self) -> Result<Vec<String>> {
        self.store
            .collections(&self.access.filter(CollectionFilter::Any))
    }
}
