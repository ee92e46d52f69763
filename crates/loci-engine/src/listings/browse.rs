//! Browsing memories in the order of their insertion.

use loci_core::{
    CollectionFilter, FilingOrder, Filter, Forgotten, Memory, MemoryId, OwnerFilter, Page, Result,
    Sorting, Tier, Timestamp, limits,
};

use crate::listings::Listings;
use crate::listings::facets::Facets;

/// The number of memories that are read at a time if only their beginnings are shown.
const READ_AT_ONCE: usize = 25;
/// The number of memories that are read at a time if most are left out: a store counts the memories
/// that a page skips.
const LOOKED_AT_ONCE: usize = 256;

/// A selection of memories to browse.
#[derive(Debug, Clone)]
pub struct Browse {
    /// The collections.
    pub collections: CollectionFilter,
    /// Only these sections; all if empty.
    pub sections: Vec<String>,
    /// Only these kinds; all if empty.
    pub kinds: Vec<String>,
    /// Only memories with all of these tags.
    pub tags: Vec<String>,
    /// Further conditions.
    pub facets: Facets,
    /// The handling of forgotten memories.
    pub forgotten: Forgotten,
    /// The tiers. Unlisted memories only of the caller's tool set.
    pub tiers: Vec<Tier>,
    /// The order.
    pub order: FilingOrder,
    /// The number of memories to skip.
    pub offset: usize,
    /// The number of memories to return; clamps to [`limits::LIST_RESULTS_MAX`].
    pub limit: usize,
    /// The characters of each text that are returned; all if `None`.
    pub characters_max: Option<usize>,
    /// Looks at the state of this time instead of now; only in [`browse`](Listings::browse) and
    /// [`browse_source`](Listings::browse_source).
    pub as_of: Option<Timestamp>,
}

impl Default for Browse {
    /// Returns a selection of all long-term memories that are not forgotten, last filed first.
    fn default() -> Self {
        Browse {
            collections: CollectionFilter::Any,
            sections: Vec::new(),
            kinds: Vec::new(),
            tags: Vec::new(),
            facets: Facets::default(),
            forgotten: Forgotten::Hide,
            tiers: vec![Tier::LongTerm],
            order: FilingOrder::LastFirst,
            offset: 0,
            limit: limits::LIST_RESULTS_MAX,
            characters_max: None,
            as_of: None,
        }
    }
}

/// A part of the selected memories.
#[derive(Debug, Clone, PartialEq)]
pub struct BrowsePage {
    /// The memories, with their texts cut as requested.
    pub memories: Vec<Memory>,
    /// The number of all selected memories.
    pub total: u64,
}

impl Listings<'_> {
    /// Returns the memories that the caller may read and that match, and their total number.
    ///
    /// # Errors
    /// `invalid_argument`, naming `as_of`, for a time that lies in the future, or before what is kept;
    /// `unavailable` if the store cannot be read.
    pub fn browse(&self, request: Browse) -> Result<BrowsePage> {
        let filter = self.browsed(&request);
        if let Some(at) = request.as_of {
            return self.past_browsed(&filter, &request, at);
        }
        let version = self.store.version(&self.caller.space)?;
        let total = self.store.count(&filter)?;
        if let Some(from_end) = from_end(&request, total) {
            let mut memories = self.filed_under(&filter, &from_end)?;
            // A change since the count may have moved the end.
            if self.store.version(&self.caller.space)? == version {
                memories.reverse();
                return Ok(BrowsePage { memories, total });
            }
        }
        Ok(BrowsePage {
            memories: self.filed_under(&filter, &request)?,
            total,
        })
    }

    /// Returns the same page of the memories of one source: of the thread of the request's facets, or,
    /// if no memory of it matches, the memories of any thread that `is_of_source` accepts. The cost
    /// of the second grows with all memories that match the other conditions.
    ///
    /// # Errors
    /// As for [`browse`](crate::Listings::browse).
    pub fn browse_source(
        &self,
        request: Browse,
        is_of_source: impl Fn(&Memory) -> bool,
    ) -> Result<BrowsePage> {
        let of_thread = self.browse(request.clone())?;
        if of_thread.total > 0 {
            return Ok(of_thread);
        }
        let filter = Filter {
            thread: None,
            ..self.browsed(&request)
        };
        if let Some(at) = request.as_of {
            return self.past_of_source(&filter, &request, at, is_of_source);
        }
        let limit = request.limit.clamp(1, limits::LIST_RESULTS_MAX);
        let mut page = Page {
            offset: 0,
            limit: LOOKED_AT_ONCE,
        };
        let (mut memories, mut total) = (Vec::new(), 0);
        loop {
            let read = self.store.list_by_insertion(&filter, request.order, page)?;
            let is_last = read.len() < page.limit;
            for memory in read.into_iter().filter(&is_of_source) {
                total += 1;
                if total > request.offset && memories.len() < limit {
                    memories.push(shortened(memory, request.characters_max));
                }
            }
            if is_last {
                break;
            }
            page.offset += page.limit;
        }
        self.access.hide_references(&mut memories)?;
        Ok(BrowsePage {
            memories,
            total: total as u64,
        })
    }

    /// Returns the same page with the memories sorted in the place of
    /// [`order`](Browse::order). May look at all memories that match.
    ///
    /// # Errors
    /// As for [`browse`](crate::Listings::browse).
    pub fn browse_sorted(&self, request: &Browse, sorting: Sorting) -> Result<BrowsePage> {
        let filter = self.browsed(request);
        let page = Page {
            offset: request.offset,
            limit: request.limit.clamp(1, limits::LIST_RESULTS_MAX),
        };
        let total = self.store.count(&filter)?;
        let read = self.store.list_sorted(&filter, sorting, page)?;
        let shortened = |memory| shortened(memory, request.characters_max);
        let mut memories: Vec<Memory> = read.into_iter().map(shortened).collect();
        self.access.hide_references(&mut memories)?;
        Ok(BrowsePage { memories, total })
    }

    /// Returns the ids of the same memories in the order of their last change, at most `limit`.
    ///
    /// # Errors
    /// As for [`browse`](crate::Listings::browse).
    pub fn ids_of_browsed(&self, request: &Browse, limit: usize) -> Result<Vec<MemoryId>> {
        let revisions = self.store.revisions(&self.browsed(request), limit)?;
        Ok(revisions.into_iter().map(|(id, _)| id).collect())
    }

    /// Returns the same memories without the total.
    ///
    /// # Errors
    /// As for [`browse`](crate::Listings::browse).
    pub fn list_by_insertion(&self, request: &Browse) -> Result<Vec<Memory>> {
        self.filed_under(&self.browsed(request), request)
    }

    /// Returns the same memories, only of this owner.
    ///
    /// # Errors
    /// As for [`browse`](crate::Listings::browse).
    pub fn list_by_author(&self, owner: OwnerFilter, request: &Browse) -> Result<Vec<Memory>> {
        self.filed_under(
            &Filter {
                owner,
                ..self.browsed(request)
            },
            request,
        )
    }

    /// Returns the same memories from a number of their order on, each with its number: a list that
    /// goes on from the number of the last one shows each memory once, whatever is stored or removed
    /// between two parts. The offset is ignored.
    ///
    /// # Errors
    /// As for [`browse`](crate::Listings::browse).
    pub fn list_beyond(
        &self,
        request: &Browse,
        mut beyond: Option<u64>,
    ) -> Result<Vec<(u64, Memory)>> {
        let filter = self.browsed(request);
        let limit = request.limit.clamp(1, limits::LIST_RESULTS_MAX);
        let (mut numbers, mut memories) = (Vec::new(), Vec::new());
        while memories.len() < limit {
            let left = limit - memories.len();
            let part = match request.characters_max {
                Some(_) => left.min(READ_AT_ONCE),
                None => left,
            };
            let read = self
                .store
                .list_beyond(&filter, request.order, beyond, part)?;
            let is_last = read.len() < part;
            for (number, memory) in read {
                beyond = Some(number);
                numbers.push(number);
                memories.push(shortened(memory, request.characters_max));
            }
            if is_last {
                break;
            }
        }
        self.access.hide_references(&mut memories)?;
        Ok(numbers.into_iter().zip(memories).collect())
    }

    /// Counts the same memories.
    ///
    /// # Errors
    /// As for [`browse`](crate::Listings::browse).
    pub fn count_browsed(&self, request: &Browse) -> Result<u64> {
        self.store.count(&self.browsed(request))
    }

    pub(super) fn browsed(&self, request: &Browse) -> Filter {
        let Browse {
            sections,
            kinds,
            tags,
            facets,
            forgotten,
            tiers,
            ..
        } = request.clone();
        let mut filter = Filter {
            sections,
            kinds,
            tags,
            forgotten,
            tiers,
            ..self.access.filter(request.collections.clone())
        };
        facets.narrow(&mut filter);
        filter
    }

    fn filed_under(&self, filter: &Filter, request: &Browse) -> Result<Vec<Memory>> {
        let Browse {
            order,
            mut offset,
            limit,
            characters_max,
            ..
        } = *request;
        let limit = limit.clamp(1, limits::LIST_RESULTS_MAX);
        let mut memories = Vec::new();
        while memories.len() < limit {
            let left = limit - memories.len();
            let page = Page {
                offset,
                limit: if characters_max.is_some() {
                    left.min(READ_AT_ONCE)
                } else {
                    left
                },
            };
            let read = self.store.list_by_insertion(filter, order, page)?;
            let is_last = read.len() < page.limit;
            let shortened = |memory| shortened(memory, characters_max);
            memories.extend(read.into_iter().map(shortened));
            if is_last {
                break;
            }
            offset = offset.saturating_add(page.limit);
        }
        self.access.hide_references(&mut memories)?;
        Ok(memories)
    }
}

/// Returns the same page of `total` memories counted from their end, if that skips fewer: the store
/// counts skipped memories one by one.
fn from_end(request: &Browse, total: u64) -> Option<Browse> {
    let left = usize::try_from(total).ok()?.checked_sub(request.offset)?;
    let limit = left.min(request.limit.clamp(1, limits::LIST_RESULTS_MAX));
    let order = match request.order {
        FilingOrder::FirstFirst => FilingOrder::LastFirst,
        FilingOrder::LastFirst => FilingOrder::FirstFirst,
    };
    let is_nearer = limit > 0 && left - limit < request.offset;
    is_nearer.then(|| Browse {
        order,
        offset: left - limit,
        limit,
        ..request.clone()
    })
}

/// Returns the memory with the first `characters_max` characters of its text; with all if `None`.
pub(super) fn shortened(memory: Memory, characters_max: Option<usize>) -> Memory {
    match characters_max {
        Some(characters) => Memory {
            content: beginning(&memory.content, characters),
            ..memory
        },
        None => memory,
    }
}

/// Returns the first `characters` characters of a text.
fn beginning(text: &str, characters: usize) -> String {
    let end = text
        .char_indices()
        .nth(characters)
        .map_or(text.len(), |(end, _)| end);
    text[..end].to_owned()
}
