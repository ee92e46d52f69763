//! The store, by the traits of loci-core.

use std::ops::Range;
use std::time::Duration;

use loci_core::{
    AccessIncrement, Batch, CandidateQuery, Candidates, FacetCounts, FilingOrder, Filter, Location,
    LocationCount, Memory, MemoryId, ModelId, Nearest, Page, Partition, Result, ServerFigures,
    SoftDeleted, Sorting, Space, StatusCount, Store, StoreSize, Sweep, SweepClock, Timestamp,
    Vector, WipeCounts, Work, check_lease, nearest_by_parts,
};
use loci_index::Index;
use loci_index::codec::stored_space;

use crate::group::Groups;
use crate::indexes::Indexes;
use crate::options::Options;
use crate::scope::Scope;
use crate::server::Server;
use crate::session::Session;
use crate::transaction::Needs;
use crate::{failure, jobs, memories, open_items, read, removal, vectors};

mod records;

/// A store on a PostgreSQL server. Any number of processes on any number of machines use it at once.
#[derive(Debug)]
pub struct PostgresStore {
    pub(crate) server: Server,
    groups: Groups,
    pub(crate) indexes: Indexes,
}

impl PostgresStore {
    /// Prepares a store. Connects at the first use, and then creates its tables if they do not
    /// exist, so that a process starts while its server is away.
    ///
    /// # Errors
    /// `invalid_argument` if the URL or the schema is invalid; `unavailable` if connections cannot be
    /// set up.
    pub fn open(options: Options) -> Result<Self> {
        let indexes = Indexes::new(options.index_bytes_max);
        Ok(PostgresStore {
            server: Server::new(options)?,
            groups: Groups::default(),
            indexes,
        })
    }

    /// Returns the number of round trips to the server so far.
    pub fn round_trips(&self) -> u64 {
        self.server.trips()
    }

    /// Removes the schema with all that the store holds.
    ///
    /// # Errors
    /// `unavailable` if the server cannot be reached or refuses.
    pub fn destroy(self) -> Result<()> {
        let schema = &self.server.options().schema;
        let sql = format!("DROP SCHEMA IF EXISTS \"{schema}\" CASCADE");
        let drop = async {
            self.server
                .connect(Scope::AllSpaces)
                .await?
                .batch(&sql)
                .await
        };
        Ok(self.server.block_on(drop)?)
    }

    /// Returns the spaces of a list that come after one, then the others, as partitions that pass a
    /// test.
    fn partitions(
        &self,
        spaces: Vec<String>,
        after: Option<&Partition>,
        limit: usize,
        has_work: impl AsyncFn(&Session, &str) -> failure::Result<bool>,
    ) -> Result<Vec<Partition>> {
        let is_later = |space: &String| match after {
            Some(Partition::Space(after)) => space.as_str() > after.as_str(),
            _ => true,
        };
        let (later, earlier): (Vec<_>, Vec<_>) = spaces.into_iter().partition(is_later);
        let mut partitions = Vec::new();
        for name in later.into_iter().chain(earlier) {
            if partitions.len() == limit {
                break;
            }
            let space = stored_space(&name)?;
            if self
                .server
                .read(&space, async |session| has_work(session, &name).await)?
            {
                partitions.push(Partition::Space(space));
            }
        }
        Ok(partitions)
    }
}

/// Returns the space of a partition.
fn space_of(partition: &Partition) -> Result<&Space> {
    match partition {
        Partition::Space(space) => Ok(space),
        Partition::Whole => Err(loci_core::Error::internal(
            "a store on a server has a partition for each space",
        )),
    }
}

impl Store for PostgresStore {
    fn commit(&self, batch: Batch) -> Result<()> {
        self.groups.commit(&self.server, batch, false)
    }

    fn get_all(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<Memory>> {
        self.server.read(&filter.space, async |session| {
            read::get_all(session, filter, ids).await
        })
    }

    fn locations_of(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<(MemoryId, Location)>> {
        self.server.read(&filter.space, async |session| {
            read::locations_of(session, filter, ids).await
        })
    }

    fn ids_with(&self, filter: &Filter, part: &str, limit: usize) -> Result<Vec<MemoryId>> {
        self.server.read(&filter.space, async |session| {
            read::ids_with(session, filter, part, limit).await
        })
    }

    fn attribute_values(&self, filter: &Filter, name: &str) -> Result<Vec<(String, u64)>> {
        self.server.read(&filter.space, async |session| {
            read::attribute_values(session, filter, name).await
        })
    }

    fn ids_of_texts(&self, filter: &Filter, texts: &[&str]) -> Result<Vec<MemoryId>> {
        self.server.read(&filter.space, async |session| {
            read::ids_of_texts(session, filter, texts).await
        })
    }

    fn revisions(&self, filter: &Filter, limit: usize) -> Result<Vec<(MemoryId, u64)>> {
        self.server.read(&filter.space, async |session| {
            read::revisions(session, filter, limit).await
        })
    }

    fn list(&self, filter: &Filter, page: Page) -> Result<Vec<Memory>> {
        self.server.read(&filter.space, async |session| {
            read::list(session, filter, page).await
        })
    }

    fn list_by_insertion(
        &self,
        filter: &Filter,
        order: FilingOrder,
        page: Page,
    ) -> Result<Vec<Memory>> {
        self.server.read(&filter.space, async |session| {
            read::list_by_insertion(session, filter, order, page).await
        })
    }

    fn list_sorted(&self, filter: &Filter, sorting: Sorting, page: Page) -> Result<Vec<Memory>> {
        self.server.read(&filter.space, async |session| {
            read::list_sorted(session, filter, sorting, page).await
        })
    }

    fn facet_counts(&self, filter: &Filter) -> Result<FacetCounts> {
        let count = |index: &Index| index.facet_counts(filter);
        self.indexes.search(&self.server, &filter.space, count)
    }

    fn count_used(&self, filter: &Filter, since: Timestamp) -> Result<Vec<LocationCount>> {
        self.server.read(&filter.space, async |session| {
            read::count_used(session, filter, since).await
        })
    }

    fn list_beyond(
        &self,
        filter: &Filter,
        order: FilingOrder,
        beyond: Option<u64>,
        limit: usize,
    ) -> Result<Vec<(u64, Memory)>> {
        self.server.read(&filter.space, async |session| {
            read::list_beyond(session, filter, order, beyond, limit).await
        })
    }

    fn count_by_location(&self, filter: &Filter) -> Result<Vec<LocationCount>> {
        self.server.read(&filter.space, async |session| {
            read::count_by_location(session, filter).await
        })
    }

    fn count_uncached(&self, filter: &Filter) -> Result<Vec<LocationCount>> {
        self.server.read(&filter.space, async |session| {
            read::count_uncached(session, filter).await
        })
    }

    fn reload(&self) -> Result<()> {
        self.indexes.clear();
        Ok(())
    }

    fn candidates(&self, query: &CandidateQuery<'_>) -> Result<Candidates> {
        let find = |index: &Index| index.candidates(query);
        self.indexes.search(&self.server, &query.filter.space, find)
    }

    fn nearest(
        &self,
        filter: &Filter,
        queries: &[CandidateQuery<'_>],
        limit: usize,
    ) -> Result<Nearest> {
        match self.indexes.nearest(&self.server, filter, queries, limit)? {
            Some(nearest) => Ok(nearest),
            None => nearest_by_parts(self, filter, queries, limit),
        }
    }

    fn vectors(&self, space: &Space, id: &MemoryId, model: &ModelId) -> Result<Vec<Vector>> {
        self.server.read(space, async |session| {
            vectors::of_memory(session, space, id, model).await
        })
    }

    fn passage_range(
        &self,
        space: &Space,
        id: &MemoryId,
        passage: u32,
    ) -> Result<Option<Range<usize>>> {
        self.server.read(space, async |session| {
            read::passage_range(session, space, id, passage).await
        })
    }

    fn partition_of(&self, space: &Space) -> Partition {
        Partition::Space(space.clone())
    }

    fn partitions_with(
        &self,
        work: Work<'_>,
        after: Option<&Partition>,
        limit: usize,
    ) -> Result<Vec<Partition>> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        match work {
            Work::Embed(model) => {
                let spaces = self.server.read(Scope::AllSpaces, async |session| {
                    vectors::spaces_to_embed(session, model).await
                })?;
                self.partitions(spaces, after, limit, async |session, name| {
                    let version = vectors::version(session, name).await?;
                    let order = FilingOrder::FirstFirst;
                    let has_work = !vectors::without(session, name, model, order, 1)
                        .await?
                        .is_empty();
                    if !has_work {
                        vectors::note_embedded(session, name, model, version).await?;
                    }
                    Ok(has_work)
                })
            }
            Work::Retire(model) => {
                let spaces = self.server.read(Scope::AllSpaces, async |session| {
                    vectors::spaces_with(session, model).await
                })?;
                self.partitions(spaces, after, limit, async |session, name| {
                    vectors::has_any(session, name, model).await
                })
            }
            Work::Examine(rules) => {
                let spaces = self.server.read(Scope::AllSpaces, async |session| {
                    open_items::spaces_to_examine(session, rules).await
                })?;
                self.partitions(spaces, after, limit, async |session, name| {
                    let space = stored_space(name)?;
                    let next = open_items::to_examine(session, &space, rules, 1).await?;
                    Ok(next.is_some())
                })
            }
            Work::Sweep(sweep) => {
                let spaces = self.server.read(Scope::AllSpaces, async |session| {
                    removal::spaces_to_sweep(session, sweep).await
                })?;
                self.partitions(spaces, after, limit, async |session, name| {
                    removal::needs_sweep(session, name, sweep).await
                })
            }
        }
    }

    /// The server lets the writers of all spaces in at any time.
    fn background_pause(&self, _: Duration) -> Duration {
        Duration::ZERO
    }

    fn without_vector(
        &self,
        partition: &Partition,
        model: &ModelId,
        order: FilingOrder,
        limit: usize,
    ) -> Result<Vec<(Space, MemoryId)>> {
        let space = space_of(partition)?;
        let ids = self.server.read(space, async |session| {
            vectors::without(session, space.as_str(), model, order, limit).await
        })?;
        Ok(ids.into_iter().map(|id| (space.clone(), id)).collect())
    }

    fn pending_embeddings(&self, model: &ModelId, count_max: usize) -> Result<usize> {
        let spaces = self.server.read(Scope::AllSpaces, async |session| {
            vectors::spaces_to_embed(session, model).await
        })?;
        let mut pending = 0;
        for name in spaces {
            if pending >= count_max {
                break;
            }
            let space = stored_space(&name)?;
            let (order, left) = (FilingOrder::FirstFirst, count_max - pending);
            let ids = self.server.read(&space, async |session| {
                vectors::without(session, &name, model, order, left).await
            })?;
            pending += ids.len();
        }
        Ok(pending)
    }

    fn models(&self) -> Result<Vec<(ModelId, u64)>> {
        self.server.read(Scope::AllSpaces, async |session| {
            vectors::models(session).await
        })
    }

    fn retire_model(&self, partition: &Partition, model: &ModelId, limit: usize) -> Result<usize> {
        let retired = self.server.write(
            space_of(partition)?,
            &Needs::default(),
            async |transaction| vectors::retire(transaction, model, limit).await,
        )?;
        Ok(retired)
    }

    fn has_other_dimensions(
        &self,
        partition: &Partition,
        model: &ModelId,
        dimensions: usize,
    ) -> Result<bool> {
        let space = space_of(partition)?;
        self.server.read(space, async |session| {
            vectors::has_other_dimensions(session, space.as_str(), model, dimensions).await
        })
    }

    fn soft_delete(
        &self,
        filter: &Filter,
        id: Option<&MemoryId>,
        now: Timestamp,
        limit: usize,
    ) -> Result<usize> {
        let deleted = self
            .server
            .write(&filter.space, &Needs::default(), async |transaction| {
                removal::soft_delete(transaction, filter, id, now, limit).await
            })?;
        Ok(deleted)
    }

    fn soft_deleted(
        &self,
        filter: &Filter,
        part: Option<&str>,
        deleted_from: Timestamp,
        page: Page,
    ) -> Result<Vec<SoftDeleted>> {
        self.server.read(&filter.space, async |session| {
            read::soft_deleted(session, filter, part, deleted_from, page).await
        })
    }

    fn made_from(&self, space: &Space, owner: &str, sources: &[MemoryId]) -> Result<Vec<MemoryId>> {
        self.server.read(space, async |session| {
            read::made_from(session, space, owner, sources).await
        })
    }

    fn thread_end(&self, space: &Space, owner: &str, thread: &str) -> Result<u64> {
        self.server.read(space, async |session| {
            read::thread_end(session, space, owner, thread).await
        })
    }

    fn accesses(&self, space: &Space, ids: &[MemoryId]) -> Result<Vec<u64>> {
        self.server.read(space, async |session| {
            read::accesses(session, space, ids).await
        })
    }

    fn touch(&self, touches: &[AccessIncrement]) -> Result<()> {
        memories::touch(&self.server, touches)
    }

    fn count_by_status(
        &self,
        space: &Space,
        owner: &str,
        now: Timestamp,
    ) -> Result<Vec<StatusCount>> {
        self.server.read(space, async |session| {
            read::count_by_status(session, space, owner, now).await
        })
    }

    fn wipe(
        &self,
        space: &Space,
        owner: &str,
        origin: Option<&str>,
        pseudonym: Option<&str>,
        now: Timestamp,
    ) -> Result<WipeCounts> {
        let wiped = self
            .server
            .write(space, &Needs::default(), async |transaction| {
                removal::wipe(transaction, owner, origin, pseudonym, now).await
            })?;
        Ok(wiped)
    }

    /// The index of a space is loaded by its first search, which costs little.
    fn prepare_search(&self, _: Duration) -> Result<()> {
        Ok(())
    }

    fn lease(&self, name: &str, holder: &str, now: Timestamp, until: Timestamp) -> Result<bool> {
        check_lease(now, until)?;
        self.server.read(Scope::Store, async |session| {
            jobs::lease(session, name, holder, now, until).await
        })
    }

    fn lease_holder(&self, name: &str, now: Timestamp) -> Result<Option<String>> {
        self.server.read(Scope::Store, async |session| {
            jobs::lease_holder(session, name, now).await
        })
    }

    fn sweep(&self, partition: &Partition, sweep: &Sweep, limit: usize) -> Result<usize> {
        let steps = self.server.write(
            space_of(partition)?,
            &Needs::default(),
            async |transaction| removal::sweep(transaction, sweep, limit).await,
        )?;
        Ok(steps)
    }

    fn sweep_clock(&self) -> Result<Option<SweepClock>> {
        self.server.read(Scope::Store, async |session| {
            jobs::sweep_clock(session).await
        })
    }

    fn put_sweep_clock(&self, clock: &SweepClock) -> Result<()> {
        self.server.read(Scope::Store, async |session| {
            jobs::put_sweep_clock(session, clock).await
        })
    }

    fn secret(&self) -> Result<[u8; 32]> {
        self.server
            .read(Scope::Store, async |session| read::secret(session).await)
    }

    fn check_writable(&self) -> Result<()> {
        self.server.check_writable()
    }

    fn version(&self, space: &Space) -> Result<u64> {
        self.server
            .read(space, async |session| read::version(session, space).await)
    }

    fn size(&self) -> Result<StoreSize> {
        let schema = &self.server.options().schema;
        let size = self.server.read(Scope::AllSpaces, async |session| {
            read::size(session, schema).await
        })?;
        Ok(StoreSize {
            index_bytes: self.indexes.bytes(),
            index_loads: self.indexes.loads(),
            ..size
        })
    }

    fn disk_bytes(&self) -> Result<u64> {
        let schema = &self.server.options().schema;
        self.server.read(Scope::AllSpaces, async |session| {
            read::disk_bytes(session, schema).await
        })
    }

    fn server_figures(&self) -> Option<ServerFigures> {
        Some(self.server.figures(&self.indexes))
    }
}
