//! Counts of memories.

use loci_core::{
    CollectionFilter, FacetCounts, Filter, LocationCount, OwnerFilter, Result, Superseded,
    Timestamp,
};

use crate::listings::Listings;
use crate::listings::browse::Browse;

impl Listings<'_> {
    /// Returns the number of memories that the caller may read, by location and kind.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn count_by_location(&self) -> Result<Vec<LocationCount>> {
        self.store
            .count_by_location(&self.access.filter(CollectionFilter::Any))
    }

    /// Returns the number of memories that the caller may read and that were last returned at or
    /// after `since`, by location and kind.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn count_used(&self, since: Timestamp) -> Result<Vec<LocationCount>> {
        let filter = self.access.filter(CollectionFilter::Any);
        self.store.count_used(&filter, since)
    }

    /// Returns the numbers of the memories that the caller may read and that match, by each value of
    /// what can be asked for. Each number is that of the results if this value is chosen, so the
    /// values of what is chosen already count without that choice, e.g. another collection beside
    /// the one that is asked for. Tags are the exception, because a memory must have all of them.
    /// With `superseded` hidden, it counts what a search looks at.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn facet_counts(&self, request: &Browse, superseded: Superseded) -> Result<FacetCounts> {
        let filter = Filter {
            superseded,
            ..self.browsed(request)
        };
        let mut counts = self.store.facet_counts(&filter)?;
        let without = |change: &dyn Fn(&mut Filter)| {
            let mut wider = filter.clone();
            change(&mut wider);
            self.store.facet_counts(&wider)
        };
        if filter.collections != CollectionFilter::Any {
            counts.collections =
                without(&|filter| filter.collections = CollectionFilter::Any)?.collections;
        }
        if !filter.sections.is_empty() {
            counts.sections = without(&|filter| filter.sections.clear())?.sections;
        }
        if !filter.kinds.is_empty() {
            counts.kinds = without(&|filter| filter.kinds.clear())?.kinds;
        }
        if filter.owner != OwnerFilter::Any {
            counts.owners = without(&|filter| filter.owner = OwnerFilter::Any)?.owners;
        }
        if !filter.programs.is_empty() {
            counts.programs = without(&|filter| filter.programs.clear())?.programs;
        }
        if !filter.origins.is_empty() {
            counts.origins = without(&|filter| filter.origins.clear())?.origins;
        }
        if filter.created_from.is_some() || filter.created_until.is_some() {
            let wider = without(&|filter| {
                filter.created_from = None;
                filter.created_until = None;
            });
            counts.days = wider?.days;
        }
        Ok(counts)
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
