//! Listing memories by exact filters.

use loci_core::{CollectionFilter, Delivery, Filter, Memory, Page, Result, Timestamp, limits};

use crate::budget::FittedMemory;
use crate::check;
use crate::listings::Listings;
use crate::listings::as_of::PastOrder;
use crate::listings::facets::Facets;

/// The number of memories that are read at a time, before their size is known.
const READ_AT_ONCE: usize = 16;

/// A selection of memories to list.
#[derive(Debug, Clone)]
pub struct List {
    /// The collections.
    pub collections: CollectionFilter,
    /// Only these sections; all if empty.
    pub sections: Vec<String>,
    /// Only these kinds; all if empty.
    pub kinds: Vec<String>,
    /// Only memories with all of these tags.
    pub tags: Vec<String>,
    /// Only memories with this delivery.
    pub delivery: Option<Delivery>,
    /// Further conditions.
    pub facets: Facets,
    /// The number of memories to skip.
    pub offset: usize,
    /// The number of memories to return; clamps to [`limits::LIST_RESULTS_MAX`].
    pub limit: usize,
    /// Looks at the state of this time instead of now.
    pub as_of: Option<Timestamp>,
}

/// A part of the selected memories.
#[derive(Debug, Clone, PartialEq)]
pub struct ListPage {
    /// The memories, as many as there is room for.
    pub shown: Vec<FittedMemory>,
    /// The number of further requested memories for which the reply has no room.
    pub left_out: usize,
}

impl Listings<'_> {
    /// Returns the memories that the caller may read and that match the filters, last updated
    /// first, with their whole texts.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the tags; `invalid_argument`, naming `as_of`, for a time
    /// that lies in the future, or before what is kept; `unavailable` if the store cannot be read.
    pub fn list(&self, request: List) -> Result<Vec<Memory>> {
        let as_of = request.as_of;
        let (filter, page) = self.listed(request)?;
        let mut memories = match as_of {
            Some(at) => self.past_page(&filter, at, PastOrder::LastUpdated, page)?,
            None => self.store.list(&filter, page)?,
        };
        self.access.hide_references(&mut memories)?;
        Ok(memories)
    }

    /// Returns the same, cut to a budget of `tokens`, or [of the
    /// installation](crate::Budgets::reply_budget): the beginnings of long texts, and as many
    /// memories as there is room for, at least one.
    ///
    /// # Errors
    /// As for [`list`](crate::Listings::list).
    pub fn list_within(&self, request: List, tokens: Option<usize>) -> Result<ListPage> {
        if request.as_of.is_some() {
            let found = self.list(request)?;
            let all = found.len();
            let shown = self.budgets.cut_to_budget(found, tokens)?;
            let left_out = all - shown.len();
            return Ok(ListPage { shown, left_out });
        }
        let (filter, Page { offset, limit }) = self.listed(request)?;
        let mut budget = self.budgets.reply_budget(tokens);
        let mut shown = Vec::new();
        loop {
            let left = limit - shown.len();
            let page = Page {
                offset: offset.saturating_add(shown.len()),
                limit: left.min(READ_AT_ONCE),
            };
            let mut read = self.store.list(&filter, page)?;
            self.access.hide_references(&mut read)?;
            let is_last = read.len() < page.limit || left == page.limit;
            let mut sharing = if is_last { read.len() } else { left };
            for mut memory in read {
                let Some(length) = budget.cut(&mut memory, sharing, &[], None)? else {
                    let end = offset.saturating_add(limit);
                    let all = self.store.revisions(&filter, end)?.len();
                    return Ok(ListPage {
                        left_out: all.saturating_sub(offset + shown.len()).max(1),
                        shown,
                    });
                };
                sharing -= 1;
                shown.push(FittedMemory { memory, length });
            }
            if is_last {
                return Ok(ListPage { shown, left_out: 0 });
            }
        }
    }

    /// Returns the filter and the page of a request.
    fn listed(&self, request: List) -> Result<(Filter, Page)> {
        check::tags("tags", &request.tags)?;
        let mut filter = self.access.filter(request.collections);
        filter.sections = request.sections;
        filter.kinds = request.kinds;
        filter.tags = request.tags;
        filter.delivery = request.delivery;
        request.facets.narrow(&mut filter);
        Ok((
            filter,
            Page {
                offset: request.offset,
                limit: request.limit.clamp(1, limits::LIST_RESULTS_MAX),
            },
        ))
    }
}
