//! Lists of memories as they [stood](crate::access::past) at a time.

use std::cmp::Reverse;

use loci_core::{FilingOrder, Filter, Forgotten, Memory, Page, Result, Timestamp, limits};

use crate::access::past::{Past, filter_as_of};
use crate::listings::Listings;
use crate::listings::browse::{Browse, BrowsePage, shortened};

/// The memories that are read at once.
const READ_AT_ONCE: usize = 500;

/// The order of a list of the past.
#[derive(Debug, Clone, Copy)]
pub(super) enum PastOrder {
    /// Last updated first.
    LastUpdated,
    /// In the order of filing.
    Filing(FilingOrder),
}

impl PastOrder {
    fn sort(self, memories: &mut [Memory]) {
        // The sort is stable, so that what was filed at one moment keeps its order.
        match self {
            PastOrder::LastUpdated => {
                memories
                    .sort_by_cached_key(|memory| Reverse((memory.updated_at, memory.id.clone())));
            }
            PastOrder::Filing(FilingOrder::FirstFirst) => memories.sort_by_key(|it| it.created_at),
            PastOrder::Filing(FilingOrder::LastFirst) => {
                memories.sort_by_key(|it| Reverse(it.created_at));
            }
        }
    }
}

impl Listings<'_> {
    /// Returns a page of the memories that a filter admits as they stood at a time.
    pub(super) fn past_page(
        &self,
        filter: &Filter,
        at: Timestamp,
        order: PastOrder,
        page: Page,
    ) -> Result<Vec<Memory>> {
        let past = self.access.past(at)?;
        let wanted = page.offset.saturating_add(page.limit);
        let mut found = changed(&past, filter);
        found.extend(self.unchanged(&past, filter, (order, wanted), |_| true)?);
        order.sort(&mut found);
        Ok(found
            .into_iter()
            .skip(page.offset)
            .take(page.limit)
            .collect())
    }

    /// Returns such a page for a [`Browse`], and the number of all memories that match.
    pub(super) fn past_browsed(
        &self,
        filter: &Filter,
        request: &Browse,
        at: Timestamp,
    ) -> Result<BrowsePage> {
        let page = Page {
            offset: request.offset,
            limit: request.limit.clamp(1, limits::LIST_RESULTS_MAX),
        };
        let order = PastOrder::Filing(request.order);
        let mut memories: Vec<Memory> = self
            .past_page(filter, at, order, page)?
            .into_iter()
            .map(|memory| shortened(memory, request.characters_max))
            .collect();
        let past = self.access.past(at)?;
        // The store counts what stood and stands; what was changed since counts as it stood.
        let filter = filter_as_of(filter, at);
        let ids: Vec<_> = past.changed.keys().cloned().collect();
        let mut now = 0;
        for part in ids.chunks(READ_AT_ONCE) {
            now += self.store.locations_of(&filter, part)?.len() as u64;
        }
        let then = changed(&past, &filter).len() as u64;
        let total = (self.store.count(&filter)? + then).saturating_sub(now);
        self.access.hide_references(&mut memories)?;
        Ok(BrowsePage { memories, total })
    }

    /// Returns the same page of the memories that `is_of_source` accepts. The cost grows with all
    /// memories that match the other conditions.
    pub(super) fn past_of_source(
        &self,
        filter: &Filter,
        request: &Browse,
        at: Timestamp,
        is_of_source: impl Fn(&Memory) -> bool,
    ) -> Result<BrowsePage> {
        let past = self.access.past(at)?;
        let order = PastOrder::Filing(request.order);
        let mut found = changed(&past, filter);
        found.retain(&is_of_source);
        found.extend(self.unchanged(&past, filter, (order, usize::MAX), is_of_source)?);
        order.sort(&mut found);
        let total = found.len() as u64;
        let limit = request.limit.clamp(1, limits::LIST_RESULTS_MAX);
        let mut memories: Vec<Memory> = found
            .into_iter()
            .skip(request.offset)
            .take(limit)
            .map(|memory| shortened(memory, request.characters_max))
            .collect();
        self.access.hide_references(&mut memories)?;
        Ok(BrowsePage { memories, total })
    }

    /// Returns the first memories of an order that were not changed since, at most `wanted`.
    fn unchanged(
        &self,
        past: &Past,
        filter: &Filter,
        (order, wanted): (PastOrder, usize),
        is_meant: impl Fn(&Memory) -> bool,
    ) -> Result<Vec<Memory>> {
        let forgotten = filter.forgotten;
        // Ones that were forgotten since without a version stand as well.
        let filter = Filter {
            forgotten: Forgotten::Show,
            ..filter_as_of(filter, past.at)
        };
        let (mut found, mut offset) = (Vec::new(), 0);
        while found.len() < wanted {
            let page = Page {
                offset,
                limit: READ_AT_ONCE,
            };
            let read = match order {
                PastOrder::LastUpdated => self.store.list(&filter, page)?,
                PastOrder::Filing(order) => self.store.list_by_insertion(&filter, order, page)?,
            };
            let is_last = read.len() < page.limit;
            offset += read.len();
            let standing = read
                .into_iter()
                .filter(|memory| !past.changed.contains_key(&memory.id))
                .filter_map(|memory| past.unchanged(memory))
                .filter(|memory| forgotten.admits(memory.forgotten_at.is_some()))
                .filter(&is_meant);
            found.extend(standing);
            if is_last {
                break;
            }
        }
        found.truncate(wanted);
        Ok(found)
    }
}

/// Returns the changed memories that a filter admits as they stood.
fn changed(past: &Past, filter: &Filter) -> Vec<Memory> {
    let filter = filter_as_of(filter, past.at);
    let stood = past.changed.values().flatten();
    stood
        .filter(|memory| filter.admits(memory))
        .cloned()
        .collect()
}
