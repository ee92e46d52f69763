//! The memories that were changed since a time, put together from their versions; all others stand as
//! they are. So the work grows with what was changed since, not with the store.

use std::collections::HashMap;

use loci_core::{
    ChangeQuery, CollectionFilter, Error, ErrorCode, Filter, Forgotten, Memory, MemoryId, Page,
    RecordVerb, Result, Timestamp, Version,
};

use crate::access::Access;

/// The versions and memories that are read at once.
const READ_AT_ONCE: usize = 500;
/// The most changes since a time that are put together.
const CHANGES_MAX: usize = 100_000;

/// The memories that were changed since a time, as they stood then.
pub(crate) struct Past {
    pub(crate) at: Timestamp,
    /// `None` for a memory that did not exist.
    pub(crate) changed: HashMap<MemoryId, Option<Memory>>,
}

impl Past {
    /// Returns a memory that was not changed since, as it stood; `None` if it did not exist.
    pub(crate) fn unchanged(&self, memory: Memory) -> Option<Memory> {
        let stood = memory.created_at <= self.at && memory.is_live(self.at);
        stood.then(|| Memory {
            forgotten_at: memory.forgotten_at.filter(|at| *at <= self.at),
            ..memory
        })
    }
}

impl Access<'_> {
    /// Fails if it is not kept what was known at a time, because that lies in the future, or before
    /// `history_days`.
    ///
    /// # Errors
    /// `invalid_argument`, naming the argument.
    pub(crate) fn check_kept(&self, argument: &str, at: Timestamp) -> Result<()> {
        let now = self.now();
        let kept = i64::try_from(self.history_seconds).unwrap_or(i64::MAX);
        if at > now {
            return Err(Error::invalid(argument, "lies in the future"));
        }
        if kept > 0 && at < now.plus_seconds(-kept) {
            let days = kept / 86_400;
            let problem = format!(
                "lies before what is kept: `history_days` is {days}, so name a time since then"
            );
            return Err(Error::invalid(argument, problem));
        }
        Ok(())
    }

    /// Returns the memory with this id as it stood at a time, if a filter admits that, and the caller
    /// may read it now.
    ///
    /// # Errors
    /// `not_found` otherwise; `invalid_argument`, naming `as_of`, for a time of which nothing is kept.
    pub(crate) fn stood(&self, id: &MemoryId, filter: &Filter, at: Timestamp) -> Result<Memory> {
        let mut past = self.past(at)?;
        let stood = match past.changed.remove(id) {
            Some(stood) => stood,
            None => past.unchanged(self.readable_ever(id)?),
        };
        let filter = filter_as_of(filter, at);
        let memory = stood
            .filter(|memory| filter.admits(memory))
            .ok_or_else(|| {
                Error::not_found(format!("the memory {id} was not there at that time"))
            })?;
        self.caller.note(RecordVerb::Read, &memory);
        self.without_hidden(memory)
    }

    /// Puts the memories together that were changed since a time and that the caller may read now.
    pub(crate) fn past(&self, at: Timestamp) -> Result<Past> {
        self.check_kept("as_of", at)?;
        let mut past = Past {
            at,
            changed: self.deleted_since(at)?,
        };
        let versions = self.versions_since(at)?;
        let ids: Vec<MemoryId> = versions.keys().cloned().collect();
        let filter = Filter {
            tiers: Vec::new(),
            unlisted_origin: None,
            forgotten: Forgotten::Show,
            live_at: Timestamp::MIN,
            ..self.filter(CollectionFilter::Any)
        };
        for part in ids.chunks(READ_AT_ONCE) {
            for memory in self.store.get_all(&filter, part)? {
                let id = memory.id.clone();
                let versions = versions.get(&id).map_or(&[][..], Vec::as_slice);
                past.changed.insert(id, stood(memory, versions, at));
            }
        }
        Ok(past)
    }

    /// Returns the versions of memories whose changes came after a time, of each latest first.
    fn versions_since(&self, at: Timestamp) -> Result<HashMap<MemoryId, Vec<Version>>> {
        let since = Timestamp::from_microseconds(at.microseconds().saturating_add(1));
        let mut query = ChangeQuery {
            space: self.caller.space.clone(),
            since: Some(since),
            limit: READ_AT_ONCE,
            ..ChangeQuery::default()
        };
        let (mut versions, mut count) = (HashMap::<MemoryId, Vec<Version>>::new(), 0);
        loop {
            let page = self.store.changes(&query)?;
            count += page.len();
            if count > CHANGES_MAX {
                let message = format!(
                    "more than {CHANGES_MAX} memories were changed since then; name a later time"
                );
                let error = Error::about_argument(ErrorCode::InvalidArgument, "as_of", message);
                return Err(error);
            }
            let is_last = page.len() < query.limit;
            query.after = page.last().and_then(|last| {
                let at = last.change.as_ref()?.at;
                Some((at, last.memory.clone(), last.revision))
            });
            for version in page {
                versions
                    .entry(version.memory.clone())
                    .or_default()
                    .push(version);
            }
            if is_last || query.after.is_none() {
                return Ok(versions);
            }
        }
    }

    /// Returns the memories that were soft-deleted after a time, as they stood then.
    fn deleted_since(&self, at: Timestamp) -> Result<HashMap<MemoryId, Option<Memory>>> {
        let filter = Filter {
            created_until: Some(at),
            ..self.deleted_filter()
        };
        let since = Timestamp::from_microseconds(at.microseconds().saturating_add(1));
        let mut deleted = HashMap::new();
        loop {
            let page = Page {
                offset: deleted.len(),
                limit: READ_AT_ONCE,
            };
            let found = self.store.soft_deleted(&filter, None, since, page)?;
            let is_last = found.len() < page.limit;
            for found in found {
                let id = found.memory.id.clone();
                let versions = self.store.versions(&self.caller.space, &id)?;
                let is_later = |version: &Version| {
                    let change = version.change.as_ref();
                    change.is_some_and(|change| change.at > at)
                };
                let later = versions.iter().take_while(|version| is_later(version));
                let later: Vec<Version> = later.cloned().collect();
                deleted.insert(id, stood(found.memory, &later, at));
            }
            if is_last {
                return Ok(deleted);
            }
        }
    }
}

/// Returns a filter for memories as they stood at a time, with the handling of forgotten ones that it
/// has.
pub(crate) fn filter_as_of(filter: &Filter, at: Timestamp) -> Filter {
    let until = filter.created_until.map_or(at, |until| until.min(at));
    Filter {
        live_at: at,
        created_until: Some(until),
        ..filter.clone()
    }
}

/// Returns a memory as it stood at a time, from the versions whose changes came later, latest first;
/// `None` if it did not exist.
fn stood(memory: Memory, versions: &[Version], at: Timestamp) -> Option<Memory> {
    let mut state = memory;
    for version in versions {
        if version.is_before_all() {
            return None;
        }
        state = version.applied_to(&state);
    }
    (state.created_at <= at && state.is_live(at)).then_some(state)
}
