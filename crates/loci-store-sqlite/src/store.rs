use std::path::Path;

use loci_core::{
    Batch, CandidateQuery, Candidates, Filter, Memory, MemoryId, ModelId, Page, Result, Space, Store, StoreSize, Tally,
    Timestamp, Token, TokenHash, TokenStore,
};

use crate::cache::Cache;
use crate::connection::{Database, Readers};
use crate::open::{OpenError, Options, open};
use crate::writer::Writer;
use crate::{doctor, read, tokens, write};

/// Memories that one commit of a sweep removes, so that other writers do not wait long.
const SWEEP_BATCH: usize = 200;

/// A store in one SQLite database, `loci.db` in its folder.
#[derive(Debug)]
pub struct SqliteStore {
    database: Database,
    writer: Writer,
    readers: Readers,
    cache: Cache,
}

impl SqliteStore {
    /// Opens the store in the folder. Folder and database are made if they are not there, and an
    /// older schema is upgraded after a backup. Memories are not read.
    ///
    /// # Errors
    /// Each kind of [`OpenError`], with the way out.
    pub fn open(folder: &Path, options: Options) -> Result<Self, OpenError> {
        let (database, connection) = open(folder, options)?;
        let writer =
            Writer::start(database.clone(), connection).map_err(|error| OpenError::from_io(&error, &database.path))?;
        let readers = Readers::new(database.clone());
        Ok(SqliteStore { cache: Cache::new(database.clone()), database, writer, readers })
    }

    /// What is wrong with the database, in words; empty if nothing is. Reads all of it.
    ///
    /// # Errors
    /// `unavailable` if it cannot even be read.
    pub fn integrity_check(&self) -> Result<Vec<String>> {
        self.readers.read(doctor::check)
    }
}

impl Store for SqliteStore {
    fn commit(&self, batch: Batch) -> Result<()> {
        self.writer.run(move |connection| write::apply(connection, &batch))
    }

    fn get_all(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<Memory>> {
        self.readers.read(|connection| read::get_all(connection, filter, ids))
    }

    fn list(&self, filter: &Filter, page: Page) -> Result<Vec<Memory>> {
        self.readers.read(|connection| read::list(connection, filter, page))
    }

    fn tally(&self, filter: &Filter) -> Result<Vec<Tally>> {
        self.readers.read(|connection| read::tally(connection, filter))
    }

    fn candidates(&self, query: &CandidateQuery<'_>) -> Result<Candidates> {
        self.cache.search(|index| index.candidates(query))
    }

    fn without_vector(&self, model: &ModelId, limit: usize) -> Result<Vec<(Space, MemoryId)>> {
        self.readers.read(|connection| read::without_vector(connection, model, limit))
    }

    fn sweep(&self, now: Timestamp, limit: usize) -> Result<usize> {
        let mut swept = 0;
        // Looked at first, because even an empty write takes the lock of all processes.
        while swept < limit && self.readers.read(|connection| write::needs_sweep(connection, now))? {
            let batch = SWEEP_BATCH.min(limit - swept);
            let found = self.writer.run(move |connection| write::sweep(connection, now, batch))?;
            swept += found;
            if found < batch {
                break;
            }
        }
        Ok(swept)
    }

    fn version(&self) -> Result<u64> {
        Ok(self.readers.read(read::version)?.cast_unsigned())
    }

    fn size(&self) -> Result<StoreSize> {
        let (memories, passages) = self.readers.read(read::counts)?;
        Ok(StoreSize {
            memories,
            passages,
            disk_bytes: self.database.disk_bytes(),
            index_bytes: self.cache.bytes() as u64,
        })
    }
}

impl TokenStore for SqliteStore {
    fn add_token(&self, token: &Token) -> Result<()> {
        let token = token.clone();
        self.writer.run(move |connection| tokens::add(connection, &token))
    }

    fn tokens(&self) -> Result<Vec<Token>> {
        self.readers.read(tokens::all)
    }

    fn token_by_hash(&self, hash: &TokenHash) -> Result<Option<Token>> {
        self.readers.read(|connection| tokens::by_hash(connection, hash))
    }

    fn revoke_token(&self, id: &str, now: Timestamp) -> Result<()> {
        let id = id.to_owned();
        self.writer.run(move |connection| tokens::revoke(connection, &id, now))
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use loci_testkit::contract::{memory, passage, put};

    use super::*;

    #[test]
    fn concurrent_writers_share_commits() {
        const WRITERS: usize = 16;
        const BATCHES: usize = 50;
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let store = &store;
                scope.spawn(move || {
                    for number in 0..BATCHES {
                        let memory = memory(&format!("{writer}-{number}"));
                        store.commit(put(&memory, vec![passage("word")])).unwrap();
                    }
                });
            }
        });
        assert_eq!(store.size().unwrap().memories, (WRITERS * BATCHES) as u64);
        let commits = store.writer.commits();
        assert!(commits < (WRITERS * BATCHES) as u64, "{commits} commits");
    }
}
