//! Storing a memory.

use std::collections::{BTreeMap, HashMap};

use loci_core::{
    Caller, CandidateQuery, Change, Citation, CollectionFilter, Delivery, Error, ErrorCode, Expect,
    Filter, Location, Memory, MemoryId, Passage, QueryVector, Result, Scope, Tier, Timestamp,
    Visibility,
};
use uuid::Uuid;

use crate::ops::compare::{Compared, Similar};
use crate::{Engine, SearchMode, StartOverflow, check};

/// Passages that are embedded before the write is acknowledged. Longer content is found by its
/// words at once and embedded in the background.
pub(crate) const PASSAGES_EMBEDDED_AT_ONCE_MAX: usize = 16;
/// The name for the absence of a collection, which no collection bears.
pub(crate) const GLOBAL: &str = "global";
/// The weight of a memory that another one replaces.
const SUPERSEDED_WEIGHT: f64 = 0.1;

/// A memory to store.
#[derive(Debug, Clone)]
pub struct Remember {
    /// The text, stored byte for byte.
    pub content: String,
    /// Project, scope or wing; none is global, and so is that of the name `global`.
    pub collection: Option<String>,
    /// Type, category or room; none is the kind.
    pub section: Option<String>,
    /// Its kind.
    pub kind: String,
    /// Its gist, if the writer says one.
    pub summary: Option<String>,
    /// Labels; repeated ones count once.
    pub tags: Vec<String>,
    /// Its citations.
    pub citations: Vec<Citation>,
    /// Further attributes from the writer, by name.
    pub attributes: BTreeMap<String, String>,
    /// Whether everyone who may read it is shown it, or those alone who ask for it.
    pub tier: Tier,
    /// Confidence or priority, 0 to 1.
    pub weight: f64,
    /// Whether every session start reads it.
    pub delivery: Delivery,
    /// Who else may read and write it.
    pub visibility: Visibility,
    /// Seconds until it vanishes; never, if none.
    pub ttl_seconds: Option<u64>,
    /// The memory that it replaces.
    pub supersedes: Option<MemoryId>,
    /// Where to look, before it is stored, for memories that it repeats or contradicts; nowhere, if
    /// none.
    pub compare_in: Option<CollectionFilter>,
    /// Whether nothing is stored if a memory with the same text is in the same place, which is
    /// returned then.
    pub once: bool,
}

impl Remember {
    /// A private long-term memory with nothing but its text and its kind.
    pub fn new(content: impl Into<String>, kind: impl Into<String>) -> Self {
        Remember {
            content: content.into(),
            collection: None,
            section: None,
            kind: kind.into(),
            summary: None,
            tags: Vec::new(),
            citations: Vec::new(),
            attributes: BTreeMap::new(),
            tier: Tier::LongTerm,
            weight: 1.0,
            delivery: Delivery::OnDemand,
            visibility: Visibility::Private,
            ttl_seconds: None,
            supersedes: None,
            compare_in: None,
            once: false,
        }
    }
}

/// Which existing memories to compare a text with.
#[derive(Debug, Clone)]
pub struct SimilarQuery {
    /// Where to look.
    pub collections: CollectionFilter,
    /// How many to report at most.
    pub limit: usize,
    /// The lowest cosine that counts as similar.
    pub cosine_min: f32,
}

/// Whether search by meaning already finds a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Embedding {
    /// It does.
    Done,
    /// Not yet: found by words alone until the background has embedded it, for this reason.
    Pending(String),
}

/// The outcome: durable when this exists.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    /// The memory as stored; if nothing was stored, the one that is there.
    pub memory: Memory,
    /// The memory with the same title and text, but for white space, that was in the same
    /// collection before.
    pub duplicate_of: Option<MemoryId>,
    /// Memories that were there before and that it seems to contradict, the clearest first.
    pub contradicted: Vec<Similar>,
    /// Whether search by meaning already finds it.
    pub embedding: Embedding,
    /// Says so if sessions that should begin with it have more to begin with than a host shows.
    pub start_overflow: Option<StartOverflow>,
}

impl Engine {
    /// Stores a memory, unless it is to be stored once and is there. With `supersedes`, the old
    /// one's weight falls to 0.1 in the same transaction.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` if an argument is out of its limits, or if the superseded
    /// memory is of another tier; `not_found` if that is not there to be read, `forbidden` if it
    /// may not be changed; `conflict` if the caller's data was wiped meanwhile; `unavailable` if
    /// the store cannot be written. Then nothing was stored.
    pub fn remember(&self, caller: &Caller, request: Remember) -> Result<Remembered> {
        let since = self.store.version()?;
        let once = request.once;
        let (memory, compare_in) = self.requested(caller, request)?;
        let (mut remembered, passages) = self.prepared(caller, memory, compare_in)?;
        if let Some(id) = remembered.duplicate_of.as_ref().filter(|_| once)
            && let Ok(memory) = self.readable(caller, id)
        {
            remembered = Remembered {
                memory,
                contradicted: Vec::new(),
                embedding: Embedding::Done,
                ..remembered
            };
            return Ok(remembered);
        }
        self.commit_new(caller, &remembered.memory, passages, since)?;
        self.embed_soon(&remembered.embedding);
        remembered.start_overflow = self.start_overflow(caller, &remembered.memory);
        Ok(remembered)
    }

    /// The memory that a request makes, with what it is to be compared with.
    pub(crate) fn requested(
        &self,
        caller: &Caller,
        request: Remember,
    ) -> Result<(Memory, Option<CollectionFilter>)> {
        let mut request = self.redacted_request(request);
        check_request(&request)?;
        if let Some(old) = &request.supersedes
            && self.writable(caller, old)?.tier != request.tier
        {
            // No caller is shown both of them.
            let problem = "is of a memory that is kept apart from others; what was stored through other tools cannot replace it";
            return Err(Error::invalid("supersedes", problem));
        }
        let compare_in = request.compare_in.take();
        Ok((new_memory(caller, request, self.now()), compare_in))
    }

    /// A new memory, embedded and compared, and what the index keeps of it.
    pub(crate) fn prepared(
        &self,
        caller: &Caller,
        memory: Memory,
        compare_in: Option<CollectionFilter>,
    ) -> Result<(Remembered, Vec<Passage>)> {
        let mut passages = Engine::passages_of(&memory);
        let (embedding, vectors) =
            self.embed_at_once(memory.title.as_deref(), &memory.content, &mut passages);
        // A caller must not find memories that it may not search by storing something similar.
        let Compared {
            duplicate,
            contradicted,
        } = match compare_in.filter(|_| caller.principal.scopes.allow(Scope::Read)) {
            Some(collections) => self.compared(caller, &memory, collections, &vectors)?,
            None => Compared::default(),
        };
        let duplicate_of = duplicate.map(|duplicate| duplicate.id);
        Ok((
            Remembered {
                memory,
                duplicate_of,
                contradicted,
                embedding,
                start_overflow: None,
            },
            passages,
        ))
    }

    /// # Errors
    /// `conflict` if the id is taken, or the caller's data was wiped since then.
    pub(crate) fn commit_new(
        &self,
        caller: &Caller,
        memory: &Memory,
        passages: Vec<Passage>,
        since: u64,
    ) -> Result<()> {
        let mut new = Vec::with_capacity(2);
        new.extend(not_wiped(memory, since));
        let (memory, expect) = (Box::new(memory.clone()), Expect::Absent);
        let supersedes = memory.supersedes.clone();
        new.push(Change::Put {
            memory,
            passages: Some(passages),
            expect,
        });
        // No other writer can know a new id, so that only a wipe can come between.
        let Some(old) = supersedes else {
            return self.commit(caller, new);
        };

        let _exclusive = self.locks.lock(&old);
        let mut latest = self.writable(caller, &old)?;
        loop {
            let revision = latest.revision;
            latest.weight = latest.weight.min(SUPERSEDED_WEIGHT);
            latest.revision += 1;
            let fade = Change::Put {
                memory: Box::new(latest),
                passages: None,
                expect: Expect::Revision(revision),
            };
            match self.commit(
                caller,
                std::iter::once(fade).chain(new.iter().cloned()).collect(),
            ) {
                Err(error) if error.code == ErrorCode::Conflict => {
                    latest = self.writable(caller, &old)?;
                    // No other process changed the old memory: the data was wiped, or the id is
                    // taken.
                    if latest.revision == revision {
                        return Err(error);
                    }
                }
                outcome => return outcome,
            }
        }
    }

    /// Embeds what can be embedded before the acknowledgement. A model that does not answer never
    /// costs the memory: it is stored with its words, and the reply says so.
    pub(crate) fn embed_at_once(
        &self,
        title: Option<&str>,
        content: &str,
        passages: &mut [Passage],
    ) -> (Embedding, Vec<QueryVector>) {
        if self.search_mode == SearchMode::Words {
            return (Embedding::Done, Vec::new());
        }
        if passages.len() > PASSAGES_EMBEDDED_AT_ONCE_MAX {
            let reason = format!(
                "it is long ({} passages) and is being embedded in the background",
                passages.len()
            );
            return (Embedding::Pending(reason), Vec::new());
        }
        match self.embed(title, content, passages) {
            Ok(vectors) => (Embedding::Done, vectors),
            Err(error) => {
                tracing::warn!(%error, "a memory is stored without its embedding");
                (Embedding::Pending(error.message), Vec::new())
            }
        }
    }

    /// Tells the background of a memory that waits for its embedding.
    pub(crate) fn embed_soon(&self, embedding: &Embedding) {
        if matches!(embedding, Embedding::Pending(_)) {
            self.embed_waiting();
        }
    }

    /// The memories nearest to any of these vectors with their cosines, at least `limit` if there
    /// are that many, nearest first, ties by id.
    pub(crate) fn nearest(
        &self,
        filter: &Filter,
        vectors: &[QueryVector],
        limit: usize,
    ) -> Result<Vec<(f32, MemoryId)>> {
        let mut nearest: HashMap<MemoryId, f32> = HashMap::new();
        for vector in vectors {
            let query = CandidateQuery {
                vector: Some(vector),
                ..CandidateQuery::of(filter, limit)
            };
            for hit in self.store.candidates(&query)?.hits {
                let cosine = nearest.entry(hit.id).or_insert(f32::MIN);
                // Rounding takes equal vectors a little beyond 1.
                *cosine = cosine.max(hit.cosine.map_or(f32::MIN, |cosine| cosine.min(1.0)));
            }
        }
        let mut near: Vec<(f32, MemoryId)> = nearest
            .into_iter()
            .map(|(id, cosine)| (cosine, id))
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        Ok(near)
    }
}

/// The memory that the request makes, with a new id.
pub(crate) fn new_memory(caller: &Caller, request: Remember, now: Timestamp) -> Memory {
    let id = MemoryId::new(Uuid::now_v7().to_string());
    let memory = Memory::new(caller.space.clone(), id, request.content, request.kind, now);
    Memory {
        location: Location {
            collection: named_collection(request.collection),
            section: request.section.unwrap_or_else(|| memory.kind.clone()),
        },
        summary: request.summary,
        tags: distinct(request.tags),
        citations: request.citations,
        attributes: request.attributes,
        tier: request.tier,
        weight: request.weight,
        delivery: request.delivery,
        origin: caller.origin.to_owned(),
        owner: caller.principal.subject.clone(),
        actor: caller.principal.actor.clone(),
        by_admin: caller.principal.scopes.allow(Scope::Admin),
        visibility: request.visibility,
        supersedes: request.supersedes,
        expires_at: request
            .ttl_seconds
            .map(|seconds| now.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX))),
        ..memory
    }
}

/// Returns the condition for a write of this memory: its owner's data was not wiped meanwhile.
pub(crate) fn not_wiped(memory: &Memory, since: u64) -> Option<Change> {
    let origin = memory.origin.clone();
    memory.owner.clone().map(|owner| Change::NotWiped {
        owner,
        origin,
        since,
    })
}

/// The collection of that name.
pub(crate) fn named_collection(name: Option<String>) -> Option<String> {
    name.filter(|name| name != GLOBAL)
}

/// The tags in their order, each once.
pub(crate) fn distinct(tags: Vec<String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::with_capacity(tags.len());
    for tag in tags {
        if !distinct.contains(&tag) {
            distinct.push(tag);
        }
    }
    distinct
}

pub(crate) fn check_request(request: &Remember) -> Result<()> {
    check::cited_content("content", &request.content, &request.citations)?;
    if let Some(collection) = &request.collection {
        check::name("collection", collection)?;
    }
    check::tags("tags", &request.tags)?;
    check::citations("citations", &request.citations)?;
    let said = request
        .attributes
        .iter()
        .map(|(name, value)| (name.as_str(), value));
    for (name, text) in said.chain(request.summary.iter().map(|summary| ("summary", summary))) {
        check::reference(name, text)?;
    }
    if !(0.0..=1.0).contains(&request.weight) {
        return Err(Error::invalid("weight", "must be from 0 to 1"));
    }
    Ok(())
}
