//! Removing the caller's own memories of a location.

use loci_core::{
    Change, CollectionFilter, Error, ErrorCode, Filter, Forgotten, MemoryId, OwnerFilter, Result,
    Scope, Tier,
};

use crate::memories::Memories;

/// The most memories that one transaction removes, so that another caller's write never waits long.
const CLEAR_BATCH_MAX: usize = 256;
/// The most passes over the remaining memories, while these change between the read and their
/// removal.
const PASSES_MAX: usize = 100;

impl Memories<'_> {
    /// Permanently removes the caller's own memories of these collections and of its tool set,
    /// including unlisted and forgotten ones, but not memories written since the call; returns
    /// their number. Not for the tool set of the notes, whose files it ignores. Durable when it
    /// returns.
    ///
    /// # Errors
    /// `forbidden` without the scope `write`; `conflict` if they keep changing, `unavailable` if
    /// the store cannot be written: memories removed until then stay removed.
    pub fn clear(&self, collections: CollectionFilter) -> Result<usize> {
        if !self.caller.principal.scopes.allow(Scope::Write) {
            return Err(Error::new(
                ErrorCode::Forbidden,
                "deleting needs a token with the scope `write`",
            ));
        }
        let filter = Filter {
            owner: OwnerFilter::of(self.caller.principal.subject.as_deref()),
            origins: vec![self.caller.origin.to_owned()],
            tiers: vec![Tier::LongTerm, Tier::Unlisted],
            forgotten: Forgotten::Show,
            ..self.access.filter(collections)
        };
        let mut removed = 0;
        for _ in 1..PASSES_MAX {
            let (passed, conflict) = self.clear_once(&filter)?;
            removed += passed;
            if conflict.is_none() {
                return Ok(removed);
            }
        }
        let (passed, conflict) = self.clear_once(&filter)?;
        conflict.map_or(Ok(removed + passed), Err)
    }

    /// Removes the memories that match now, except memories that change while it runs: then it
    /// returns a conflict.
    fn clear_once(&self, filter: &Filter) -> Result<(usize, Option<Error>)> {
        let (mut removed, mut conflict) = (0, None);
        for part in self
            .store
            .revisions(filter, usize::MAX)?
            .chunks(CLEAR_BATCH_MAX)
        {
            let delete = |(id, revision): &(MemoryId, u64)| Change::Delete {
                id: id.clone(),
                revision: *revision,
            };
            let ids: Vec<MemoryId> = part.iter().map(|(id, _)| id.clone()).collect();
            let tombstones = self.tombstones.put_of_ids(filter, &ids)?;
            let changes = part.iter().map(delete).chain(tombstones).collect();
            match self.access.commit(changes) {
                Ok(()) => removed += part.len(),
                Err(error) if error.code == ErrorCode::Conflict => conflict = Some(error),
                Err(error) => return Err(error),
            }
        }
        Ok((removed, conflict))
    }
}
