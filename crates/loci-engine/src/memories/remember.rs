//! Storing a memory.

use std::collections::BTreeMap;

use loci_core::{
    Caller, Change, Citation, CollectionFilter, Condition, Delivery, Error, ErrorCode, Expect,
    Location, Memory, MemoryId, Passage, Provenance, Result, SaidBy, Scope, Tier, Timestamp,
    Visibility,
};
use loci_text::indexed;
use uuid::Uuid;

use crate::check;
use crate::context::session_start::StartOverflow;
use crate::memories::Memories;
use crate::search::compare::{MemoryComparison, SimilarMemory};
use crate::sources::machine::note_machine;

/// The name that stands for no collection; no collection has it.
pub(crate) const GLOBAL: &str = "global";
/// The weight of a memory that another one supersedes.
pub(crate) const SUPERSEDED_WEIGHT: f64 = 0.1;

/// A memory to store.
#[derive(Debug, Clone)]
pub struct Remember {
    /// The text, stored byte for byte.
    pub content: String,
    /// A title, if the writer gives one: a name of 1 to 256 characters.
    pub title: Option<String>,
    /// Project, scope or wing; `None` and the name `global` are global.
    pub collection: Option<String>,
    /// Type, category or room; `None` is the kind.
    pub section: Option<String>,
    /// The kind of the memory.
    pub kind: String,
    /// A summary, if the writer gives one.
    pub summary: Option<String>,
    /// Tags; repeated ones count once.
    pub tags: Vec<String>,
    /// Its sources.
    pub citations: Vec<Citation>,
    /// Other attributes from the writer, by name.
    pub attributes: BTreeMap<String, String>,
    /// The tier, which decides whether every reader sees it or only calls that ask for it.
    pub tier: Tier,
    /// Confidence or priority, 0 to 1.
    pub weight: f64,
    /// The delivery, which decides whether every session start includes it.
    pub delivery: Delivery,
    /// The other callers that may read and write it; none by [`new`](Self::new).
    pub visibility: Visibility,
    /// Seconds until it expires; never if `None`.
    pub ttl_seconds: Option<u64>,
    /// The memory that it supersedes.
    pub supersedes: Option<MemoryId>,
    /// The collections in which it is compared with existing memories, to find repeats and
    /// contradictions before it is stored; no comparison if `None`, which is what
    /// [`new`](Self::new) sets.
    pub compare_in: Option<CollectionFilter>,
    /// Who said it, if the tool knows; the [caller](Caller::said_by) if `None`, which is what
    /// [`new`](Self::new) sets.
    pub said_by: Option<SaidBy>,
    /// True if nothing is stored when the comparison finds a memory with the same text, which is
    /// then returned. Without [`compare_in`](Self::compare_in), or without the right to read, there
    /// is no comparison, so it has no effect.
    pub once: bool,
}

impl Remember {
    /// Creates a private long-term memory that has only a text and a kind.
    pub fn new(content: impl Into<String>, kind: impl Into<String>) -> Self {
        Remember {
            content: content.into(),
            title: None,
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
            said_by: None,
            once: false,
        }
    }
}

/// A query for the existing memories that are similar to a text.
#[derive(Debug, Clone)]
pub struct SimilarQuery {
    /// The collections to search.
    pub collections: CollectionFilter,
    /// The maximum number of memories.
    pub limit: usize,
    /// The lowest cosine similarity that counts as similar.
    pub cosine_min: f32,
}

/// Reports whether search by meaning finds a memory already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Embedding {
    /// It finds the memory.
    Done,
    /// Only words find it until the background has embedded it, for this reason.
    Pending(String),
}

/// A new memory that is ready to be stored.
pub(crate) struct PreparedMemory {
    pub(crate) remembered: RememberResult,
    /// Its passages for the index.
    pub(crate) passages: Vec<Passage>,
    /// The version of the space before it was compared with others.
    pub(crate) since: u64,
}

/// The result of storing a memory; durable when this exists.
#[derive(Debug, Clone, PartialEq)]
pub struct RememberResult {
    /// The memory as stored; if nothing was stored, the existing one.
    pub memory: Memory,
    /// The memory with the same title and text, except for white space, that was in the same
    /// collection before.
    pub duplicate_of: Option<MemoryId>,
    /// Older memories that it seems to contradict, the clearest contradiction first.
    pub contradicted: Vec<SimilarMemory>,
    /// Reports whether search by meaning finds it already.
    pub embedding: Embedding,
    /// Present if sessions that start with it have more to start with than a host shows.
    pub start_overflow: Option<StartOverflow>,
}

impl Memories<'_> {
    /// Stores a memory, unless `once` is set and it exists. With `supersedes`, the weight of the
    /// old one falls to 0.1 in the same transaction.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` if an argument exceeds its limits, or if the superseded
    /// memory is of another tier; `not_found` if the caller cannot read that memory, `forbidden` if
    /// the caller may not change it; `conflict` if the caller's data was wiped since the call
    /// started; `unavailable` if the store cannot be written. Then nothing was stored.
    pub fn remember(&self, request: Remember) -> Result<RememberResult> {
        let once = request.once;
        let (memory, compare_in) = self.requested(request)?;
        let PreparedMemory {
            mut remembered,
            passages,
            since,
        } = self.prepared(memory, compare_in)?;
        if let Some(id) = remembered.duplicate_of.as_ref().filter(|_| once)
            && let Ok(memory) = self.access.readable(id)
        {
            remembered = RememberResult {
                memory,
                contradicted: Vec::new(),
                embedding: Embedding::Done,
                ..remembered
            };
            return Ok(remembered);
        }
        self.commit_new(&remembered.memory, passages, since)?;
        self.models.embed_soon(&remembered.embedding);
        remembered.start_overflow = self.context.start_overflow(&remembered.memory);
        Ok(remembered)
    }

    /// Returns the memory that a request makes, and the collections to compare it with.
    pub(crate) fn requested(
        &self,
        request: Remember,
    ) -> Result<(Memory, Option<CollectionFilter>)> {
        let mut request = self.redaction.redacted_request(request);
        check_request(&request)?;
        self.redaction.check_names(&request)?;
        if let Some(old) = &request.supersedes
            && self.access.writable(old)?.tier != request.tier
        {
            // A reader of one of the two tiers is not shown the other.
            let problem = "is of a memory that is kept apart from others; what was stored through other tools cannot replace it";
            return Err(Error::invalid("supersedes", problem));
        }
        note_machine(&mut request.attributes, self.machine);
        let compare_in = request.compare_in.take();
        Ok((
            new_memory(&self.caller, request, self.clock.now()),
            compare_in,
        ))
    }

    /// Embeds and compares a new memory.
    pub(crate) fn prepared(
        &self,
        memory: Memory,
        compare_in: Option<CollectionFilter>,
    ) -> Result<PreparedMemory> {
        // A caller without the scope `read` must not learn of memories by storing similar ones.
        let compare_in = compare_in.filter(|_| self.caller.principal.scopes.allow(Scope::Read));
        // The comparison reads the version, too.
        let version = match compare_in {
            None => Some(self.store.version(&self.caller.space)?),
            Some(_) => None,
        };
        let mut passages = indexed::passages(&memory);
        let (embedding, vectors) =
            self.models
                .embed_at_once(memory.title.as_deref(), &memory.content, &mut passages);
        let compared = match compare_in {
            Some(collections) => self.search.compared(&memory, collections, &vectors)?,
            None => MemoryComparison::default(),
        };
        Ok(PreparedMemory {
            since: version.unwrap_or(compared.version),
            remembered: RememberResult {
                memory,
                duplicate_of: compared.duplicate.map(|duplicate| duplicate.id),
                contradicted: compared.contradicted,
                embedding,
                start_overflow: None,
            },
            passages,
        })
    }

    /// # Errors
    /// `conflict` if the id is taken, or the caller's data was wiped since then.
    pub(crate) fn commit_new(
        &self,
        memory: &Memory,
        passages: Vec<Passage>,
        since: u64,
    ) -> Result<()> {
        let not_wiped = Vec::from_iter(not_wiped(memory, since));
        let (memory, expect) = (Box::new(memory.clone()), Expect::Absent);
        let supersedes = memory.supersedes.clone();
        let new = Change::Put {
            memory,
            passages: Some(passages),
            expect,
        };
        // No other writer knows a new id, so only a wipe can cause a conflict.
        let Some(old) = supersedes else {
            return self.access.commit_if(not_wiped, vec![new]);
        };

        let _exclusive = self.locks.lock(&old);
        let mut latest = self.access.writable(&old)?;
        loop {
            let revision = latest.revision;
            latest.weight = latest.weight.min(SUPERSEDED_WEIGHT);
            latest.revision += 1;
            let fade = Change::Put {
                memory: Box::new(latest),
                passages: None,
                expect: Expect::Revision(revision),
            };
            match self
                .access
                .commit_if(not_wiped.clone(), vec![fade, new.clone()])
            {
                Err(error) if error.code == ErrorCode::Conflict => {
                    latest = self.access.writable(&old)?;
                    // The old memory has not changed, so the data was wiped, or the id is taken.
                    if latest.revision == revision {
                        return Err(error);
                    }
                }
                outcome => return outcome,
            }
        }
    }
}

/// Returns the memory that the request makes, with a new id.
pub(crate) fn new_memory(caller: &Caller, request: Remember, now: Timestamp) -> Memory {
    let id = MemoryId::new(Uuid::now_v7().to_string());
    let memory = Memory::new(caller.space.clone(), id, request.content, request.kind, now);
    let said_by = request.said_by.unwrap_or(caller.said_by);
    let provenance = Provenance {
        said_by: said_by.citing(&request.citations),
        ..caller.provenance()
    };
    Memory {
        location: Location {
            collection: named_collection(request.collection),
            section: request.section.unwrap_or_else(|| memory.kind.clone()),
        },
        title: request.title,
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
        provenance,
        visibility: request.visibility,
        supersedes: request.supersedes,
        expires_at: request
            .ttl_seconds
            .map(|seconds| now.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX))),
        ..memory
    }
}

/// Returns the condition of a write of this memory: its owner's data was not wiped since the call
/// started.
pub(crate) fn not_wiped(memory: &Memory, since: u64) -> Option<Condition> {
    let origin = memory.origin.clone();
    memory.owner.clone().map(|owner| Condition::NotWiped {
        owner,
        origin,
        since,
    })
}

/// Returns the collection of that name; `None` for the name `global`.
pub(crate) fn named_collection(name: Option<String>) -> Option<String> {
    name.filter(|name| name != GLOBAL)
}

/// Returns the distinct tags, in order.
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
    check::name("kind", &request.kind)?;
    request
        .title
        .as_deref()
        .map_or(Ok(()), |title| check::name("title", title))?;
    for (name, place) in [
        ("collection", &request.collection),
        ("section", &request.section),
    ] {
        place
            .as_deref()
            .map_or(Ok(()), |place| check::name(name, place))?;
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
