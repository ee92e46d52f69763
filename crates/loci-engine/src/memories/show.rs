//! Reading one memory by its id.

use loci_core::{
    CollectionFilter, Error, Filter, Forgotten, Memory, MemoryId, Result, Scope, Tier, Timestamp,
};

use crate::access::{ID_PART_CHARACTERS_MIN, TIERS_BY_ID};
use crate::memories::Memories;

/// The most ids that are named if several have the same part.
const CANDIDATES_MAX: usize = 5;

impl Memories<'_> {
    /// Returns the id that an argument means: a whole id, or the first or last 8 or more characters
    /// of one that the caller may read, as texts show it. A part that matches no id counts as a
    /// whole id. An id that exceeds the limits, as former imports stored some, means the memory
    /// that has it.
    ///
    /// # Errors
    /// `invalid_argument`, naming `argument`, for an invalid id, and for a part of several ids,
    /// with these ids; `unavailable` if the store cannot be read.
    pub fn memory_id(&self, argument: &str, text: &str) -> Result<MemoryId> {
        let filter = || Filter {
            tiers: Vec::new(),
            unlisted_origin: None,
            forgotten: Forgotten::Show,
            ..self.access.filter(CollectionFilter::Any)
        };
        let id = match MemoryId::parse(argument, text) {
            // No store holds an id with NUL, and not every store can be asked for one.
            Err(error)
                if self.caller.principal.scopes.allow(Scope::Read) && !text.contains('\0') =>
            {
                let id = MemoryId::new(text);
                let places = self
                    .store
                    .locations_of(&filter(), std::slice::from_ref(&id))?;
                return if places.is_empty() {
                    Err(error)
                } else {
                    Ok(id)
                };
            }
            parsed => parsed?,
        };
        // A caller without the scope `read` learns nothing of existing ids.
        if text.chars().count() < ID_PART_CHARACTERS_MIN
            || !self.caller.principal.scopes.allow(Scope::Read)
        {
            return Ok(id);
        }
        let filter = filter();
        if !self
            .store
            .locations_of(&filter, std::slice::from_ref(&id))?
            .is_empty()
        {
            return Ok(id);
        }
        let found = self.store.ids_with(&filter, text, CANDIDATES_MAX + 1)?;
        match found.as_slice() {
            [] => Ok(id),
            [single] => Ok(single.clone()),
            several => {
                let named: Vec<&str> = several
                    .iter()
                    .take(CANDIDATES_MAX)
                    .map(MemoryId::as_str)
                    .collect();
                let more = if several.len() > CANDIDATES_MAX {
                    " and more"
                } else {
                    ""
                };
                let problem = format!(
                    "is a part of several ids: {}{more}; give more of it",
                    named.join(", ")
                );
                Err(Error::invalid(argument, problem))
            }
        }
    }

    /// Returns the live memory with this id, if the caller may read it.
    ///
    /// # Errors
    /// `not_found`, with the same message, if there is no such memory or the caller may not read
    /// it; `unavailable` if the store cannot be read.
    pub fn show(&self, id: &MemoryId) -> Result<Memory> {
        self.access.without_hidden(self.access.readable(id)?)
    }

    /// Returns the same, with forgotten memories if `forgotten` shows them.
    ///
    /// # Errors
    /// As for [`show`](crate::Memories::show).
    pub fn show_among(&self, id: &MemoryId, forgotten: Forgotten) -> Result<Memory> {
        self.access
            .without_hidden(self.access.readable_among(id, forgotten)?)
    }

    /// Returns the memories with these ids that [`show_among`](crate::Memories::show_among)
    /// returns, in the order of the ids, by one read of the store.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn show_all(&self, ids: &[MemoryId], forgotten: Forgotten) -> Result<Vec<Memory>> {
        let mut found = self.access.all_readable_of(ids, &TIERS_BY_ID, forgotten)?;
        self.access.hide_references(&mut found)?;
        Ok(found)
    }

    /// Returns the same only for these tiers, which can include messages of conversations.
    ///
    /// # Errors
    /// As for [`show`](crate::Memories::show).
    pub fn show_of(&self, id: &MemoryId, tiers: &[Tier], forgotten: Forgotten) -> Result<Memory> {
        self.access
            .without_hidden(self.access.readable_of(id, tiers, forgotten)?)
    }

    /// Returns the memory that [`show_among`](crate::Memories::show_among) returns, with `as_of` as it
    /// stood at that time.
    ///
    /// # Errors
    /// As for [`show_of_at`](crate::Memories::show_of_at).
    pub fn show_at(
        &self,
        id: &MemoryId,
        forgotten: Forgotten,
        as_of: Option<Timestamp>,
    ) -> Result<Memory> {
        self.show_of_at(id, &TIERS_BY_ID, forgotten, as_of)
    }

    /// Returns the memory that [`show_of`](crate::Memories::show_of) returns, with `as_of` as it stood
    /// at that time.
    ///
    /// # Errors
    /// As for [`show`](crate::Memories::show); `not_found` if it was not there at that time;
    /// `invalid_argument`, naming `as_of`, for a time that lies in the future, or before what is kept.
    pub fn show_of_at(
        &self,
        id: &MemoryId,
        tiers: &[Tier],
        forgotten: Forgotten,
        as_of: Option<Timestamp>,
    ) -> Result<Memory> {
        let Some(at) = as_of else {
            return self.show_of(id, tiers, forgotten);
        };
        let filter = Filter {
            tiers: tiers.to_vec(),
            forgotten,
            ..self.access.filter(CollectionFilter::Any)
        };
        self.access.stood(id, &filter, at)
    }

    /// Returns a memory of any tier and tool set as it stood at a time.
    ///
    /// # Errors
    /// `not_found` if the caller may not read it now, or if it did not exist then or was forgotten;
    /// `invalid_argument` as for [`show_of_at`](crate::Memories::show_of_at).
    pub fn show_as_of(&self, id: &MemoryId, at: Timestamp) -> Result<Memory> {
        let filter = Filter {
            tiers: Vec::new(),
            unlisted_origin: None,
            ..self.access.filter(CollectionFilter::Any)
        };
        self.access.stood(id, &filter, at)
    }
}
