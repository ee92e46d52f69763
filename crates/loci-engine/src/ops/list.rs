//! Browsing memories by exact filters.

use loci_core::{Caller, CollectionFilter, Delivery, Filter, Memory, Page, Result, limits};

use crate::{Engine, Shown, check};

/// Memories that are read at a time, before it is known how large they are.
const READ_AT_ONCE: usize = 16;

/// Which memories to list.
#[derive(Debug, Clone)]
pub struct List {
    /// Which collections.
    pub collections: CollectionFilter,
    /// Only these sections; all, if empty.
    pub sections: Vec<String>,
    /// Only memories with all of these tags.
    pub tags: Vec<String>,
    /// Only memories with this delivery.
    pub delivery: Option<Delivery>,
    /// Records to skip.
    pub offset: usize,
    /// Records to return; clamps to [`limits::LIST_RESULTS_MAX`].
    pub limit: usize,
}

/// A part of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The records, as many as there is room for.
    pub shown: Vec<Shown>,
    /// Further records that were asked for and for which the reply has no room.
    pub left_out: usize,
}

impl Engine {
    /// The memories that the caller may read and that pass the filters, last updated first, with
    /// their whole texts.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the tags; `unavailable` if the store cannot be read.
    pub fn list(&self, caller: &Caller, request: List) -> Result<Vec<Memory>> {
        let (filter, page) = self.listed(caller, request)?;
        let mut memories = self.store.list(&filter, page)?;
        self.hide_references(caller, &mut memories)?;
        Ok(memories)
    }

    /// The same, cut to a budget of so many tokens, or [of the installation](Engine::reply_budget):
    /// the beginnings of long texts, and as many records as there is room for, one at least.
    ///
    /// # Errors
    /// As for [`list`](Engine::list).
    pub fn list_within(
        &self,
        caller: &Caller,
        request: List,
        tokens: Option<usize>,
    ) -> Result<Listed> {
        let (filter, Page { offset, limit }) = self.listed(caller, request)?;
        let mut budget = self.reply_budget(tokens);
        let mut shown = Vec::new();
        loop {
            let left = limit - shown.len();
            let page = Page {
                offset: offset.saturating_add(shown.len()),
                limit: left.min(READ_AT_ONCE),
            };
            let mut read = self.store.list(&filter, page)?;
            self.hide_references(caller, &mut read)?;
            let is_last = read.len() < page.limit || left == page.limit;
            let mut sharing = if is_last { read.len() } else { left };
            for mut memory in read {
                let Some(length) = budget.cut(&mut memory, sharing, &[], None)? else {
                    let end = offset.saturating_add(limit);
                    let all = self.store.revisions(&filter, end)?.len();
                    return Ok(Listed {
                        left_out: all.saturating_sub(offset + shown.len()).max(1),
                        shown,
                    });
                };
                sharing -= 1;
                shown.push(Shown { memory, length });
            }
            if is_last {
                return Ok(Listed { shown, left_out: 0 });
            }
        }
    }

    /// The filter of a list, and the page of it that was asked for.
    fn listed(&self, caller: &Caller, request: List) -> Result<(Filter, Page)> {
        check::tags("tags", &request.tags)?;
        let mut filter = self.filter(caller, request.collections);
        filter.sections = request.sections;
        filter.tags = request.tags;
        filter.delivery = request.delivery;
        Ok((
            filter,
            Page {
                offset: request.offset,
                limit: request.limit.clamp(1, limits::LIST_RESULTS_MAX),
            },
        ))
    }
}
