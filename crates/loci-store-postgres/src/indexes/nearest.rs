//! Candidates with their texts, in one round trip: the index says which texts it will be while the
//! server says whether the index is current.

use std::collections::HashMap;
use std::sync::PoisonError;

use loci_core::{CandidateQuery, Candidates, Error, Filter, Memory, MemoryId, Nearest};

use super::{Change, Changes, Indexes, STATE, SpaceIndex, lock, read_state};
use crate::read::{by_id, by_id_statement, changed_statement, get_all, in_order};
use crate::server::Server;
use crate::value::values;

/// Changes whose texts come with them. Of more, the texts that are needed are read afterwards.
const CHANGED_TEXTS_MAX: i64 = 32;

impl Indexes {
    /// Returns what [`Store::nearest`](loci_core::Store::nearest) does; `None` if the index of the
    /// space has to be loaded.
    pub(crate) fn nearest(
        &self,
        server: &Server,
        filter: &Filter,
        queries: &[CandidateQuery<'_>],
        limit: usize,
    ) -> Result<Option<Nearest>, Error> {
        let own = self.of(&filter.space);
        let look = IndexSearch {
            server,
            filter,
            queries,
            limit,
        };
        let before = own.change();
        if let Some(found) = look.if_current(&own)? {
            return Ok(Some(found));
        }
        let _following = lock(&own.following);
        let known = own.change();
        // Another thread may have brought it up to date since.
        if known != before
            && let Some(found) = look.if_current(&own)?
        {
            return Ok(Some(found));
        }
        let Some(known) = known else { return Ok(None) };
        let found = look.after_changes(&own, known);
        if found.is_err() {
            // Part of a change may be in the index: the next search loads it again.
            *own.write() = None;
        }
        found
    }
}

/// The arguments of a search.
struct IndexSearch<'a> {
    server: &'a Server,
    filter: &'a Filter,
    queries: &'a [CandidateQuery<'a>],
    limit: usize,
}

impl IndexSearch<'_> {
    /// Searches, if the index is loaded and nothing was committed since. It does not ask the server
    /// what this process has committed itself.
    fn if_current(&self, own: &SpaceIndex) -> Result<Option<Nearest>, Error> {
        let space = &self.filter.space;
        let own_newest = self.server.newest_committed(space.as_str());
        if own.change().is_none_or(|change| change.number < own_newest) {
            return Ok(None);
        }
        let Some((change, candidates)) = self.search(own) else {
            return Ok(None);
        };
        let ids = self.ids(&candidates);
        let statements = [
            (STATE.to_owned(), values![space]),
            by_id_statement(self.filter, &ids),
        ];
        let (newest, texts) = self.server.read(space, async |session| {
            let found = session.read_together(&statements).await?;
            let state = found.first().and_then(|rows| rows.first());
            let texts = found.get(1).map_or(&[][..], Vec::as_slice);
            Ok((read_state(state)?.0, by_id(texts)?))
        })?;
        Ok((newest == change).then(|| Nearest {
            version: change.number.cast_unsigned(),
            candidates,
            memories: in_order(texts, &ids),
        }))
    }

    /// Brings the index up to date and searches it. The texts that the index finds before, and the
    /// texts of the changes, come with the changes: together they are almost always all that it
    /// finds then. `None` if it has to be loaded again.
    fn after_changes(&self, own: &SpaceIndex, known: Change) -> Result<Option<Nearest>, Error> {
        let Some((_, candidates)) = self.search(own) else {
            return Ok(None);
        };
        let mut statements = Changes::statements(&self.filter.space, known);
        statements.push(by_id_statement(self.filter, &self.ids(&candidates)));
        statements.push(changed_statement(
            self.filter,
            known.number,
            CHANGED_TEXTS_MAX,
        ));
        let found = self.server.read(&self.filter.space, async |session| {
            let mut found = session.read_together(&statements).await?.into_iter();
            let Some(changes) = Changes::read(known, &mut found)? else {
                return Ok(None);
            };
            let mut texts = HashMap::new();
            for rows in found {
                texts.extend(by_id(&rows)?);
            }
            Ok(Some((changes, texts)))
        })?;
        let Some((changes, mut texts)) = found else {
            return Ok(None);
        };
        own.apply(&changes)?;
        let Some((change, candidates)) = self.search(own) else {
            return Ok(None);
        };
        let ids = self.ids(&candidates);
        self.complete(&mut texts, &ids)?;
        Ok(Some(Nearest {
            version: change.number.cast_unsigned(),
            candidates,
            memories: in_order(texts, &ids),
        }))
    }

    /// Searches the index as it is; `None` if it is not loaded.
    fn search(&self, own: &SpaceIndex) -> Option<(Change, Vec<Candidates>)> {
        let loaded = own.loaded.read().unwrap_or_else(PoisonError::into_inner);
        let loaded = loaded.as_ref()?;
        let queries = self.queries.iter();
        let candidates = queries.map(|query| loaded.index.candidates(query));
        Some((loaded.change, candidates.collect()))
    }

    /// Returns the ids of the memories whose texts are wanted.
    fn ids(&self, candidates: &[Candidates]) -> Vec<MemoryId> {
        let mut ids = Nearest::ids(candidates);
        ids.truncate(self.limit);
        ids
    }

    /// Reads the texts that are missing.
    fn complete(
        &self,
        texts: &mut HashMap<MemoryId, Memory>,
        ids: &[MemoryId],
    ) -> Result<(), Error> {
        let missing: Vec<MemoryId> = ids
            .iter()
            .filter(|id| !texts.contains_key(id))
            .cloned()
            .collect();
        if !missing.is_empty() {
            let read = async |session: &_| get_all(session, self.filter, &missing).await;
            let memories = self.server.read(&self.filter.space, read)?.into_iter();
            texts.extend(memories.map(|memory| (memory.id.clone(), memory)));
        }
        Ok(())
    }
}
