//! The engine, which combines implementations of the traits of `loci-core`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loci_core::{
    Caller, CandidateQuery, Clock, CollectionFilter, Embedder, Enricher, Error, ErrorCode, Filter,
    Forgotten, FormerModels, Memory, MemoryId, NoteFolder, OwnerFilter, Passage, RecordVerb,
    Result, Scope, SourceTree, Store, StoreSize, Term, Tier, Timestamp, TokenCounter, WebSearch,
};
use loci_search::fusion::Weights;
use loci_search::{dates, document, passages::passages};

use crate::Policy;
use crate::audit::Buffers;
use crate::leases::Rounds;
use crate::models::ModelSwitch;
use crate::notes::Notes;
use crate::phases::Phases;
use crate::redaction::Redaction;
use crate::tokens::EstimatedTokens;
use crate::wakeup::Wakeup;

/// The method by which searches find candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchMode {
    /// By words and by meaning, fused.
    #[default]
    Hybrid,
    /// By meaning alone: the relevance is the cosine similarity.
    Vector,
    /// By words alone; the model is never loaded.
    Words,
}

/// The memory of one installation. Cheap to share behind an `Arc`; every operation takes `&self`.
pub struct Engine {
    pub(crate) store: Arc<dyn Store>,
    /// The model that the settings choose.
    pub(crate) embedder: Arc<dyn Embedder>,
    /// Models that may be active in its place while it has not embedded everything.
    pub(crate) former_models: Option<Arc<dyn FormerModels>>,
    pub(crate) standing: Mutex<ModelSwitch>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) search_mode: SearchMode,
    pub(crate) policy: Policy,
    pub(crate) weights: Weights,
    /// Assesses memories before the local rules do.
    pub(crate) enricher: Option<Arc<dyn Enricher>>,
    pub(crate) web_search: Option<Arc<dyn WebSearch>>,
    /// The folder of the notes of the default space.
    pub(crate) notes: Option<Notes>,
    /// Checks the files that memories were made from.
    pub(crate) source_tree: Option<Arc<dyn SourceTree>>,
    pub(crate) token_counter: Arc<dyn TokenCounter>,
    /// The authors whose directives every reader takes.
    pub(crate) trusted_authors: Vec<String>,
    pub(crate) phases: Phases,
    /// The time for which a caller's search waits until the store is ready; without it, there is no
    /// limit.
    pub(crate) search_wait: Option<Duration>,
    pub(crate) redaction: Redaction,
    pub(crate) locks: Locks,
    /// Locks of calls by idempotency key. They are separate, since the work of such a call may take
    /// one of `locks`.
    pub(crate) key_locks: Locks,
    pub(crate) to_write: Arc<Wakeup>,
    pub(crate) to_enrich: Arc<Wakeup>,
    pub(crate) to_embed: Arc<Wakeup>,
    pub(crate) buffers: Buffers,
    pub(crate) rounds: Rounds,
}

impl Engine {
    /// Creates an engine from these parts.
    pub fn new(
        store: Arc<dyn Store>,
        embedder: Arc<dyn Embedder>,
        clock: Arc<dyn Clock>,
        search_mode: SearchMode,
    ) -> Self {
        Engine {
            store,
            embedder,
            former_models: None,
            standing: Mutex::default(),
            clock,
            search_mode,
            policy: Policy::default(),
            weights: Weights::default(),
            enricher: None,
            web_search: None,
            notes: None,
            source_tree: None,
            token_counter: Arc::new(EstimatedTokens),
            trusted_authors: Vec::new(),
            phases: Phases::default(),
            search_wait: None,
            redaction: Redaction::default(),
            locks: Locks::default(),
            key_locks: Locks::default(),
            to_write: Arc::default(),
            to_enrich: Arc::default(),
            to_embed: Arc::default(),
            buffers: Buffers::default(),
            rounds: Rounds::default(),
        }
    }

    /// Returns the engine with this policy.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Self {
        Engine { policy, ..self }
    }

    /// Returns the engine with these weights of the ranking, to measure the effect of each.
    #[must_use]
    pub fn with_weights(self, weights: Weights) -> Self {
        Engine { weights, ..self }
    }

    /// Returns the engine with an enricher that assesses memories; if it fails, the local rules do.
    #[must_use]
    pub fn with_enricher(self, enricher: Arc<dyn Enricher>) -> Self {
        Engine {
            enricher: Some(enricher),
            ..self
        }
    }

    /// Returns the engine with models that may have made the stored vectors. While memories lack
    /// vectors of the engine's own model, one of these embeds questions and new texts if it has
    /// embedded more of them.
    #[must_use]
    pub fn with_former_models(self, former_models: Arc<dyn FormerModels>) -> Self {
        Engine {
            former_models: Some(former_models),
            ..self
        }
    }

    /// Returns the engine with a web search.
    #[must_use]
    pub fn with_web_search(self, web_search: Arc<dyn WebSearch>) -> Self {
        Engine {
            web_search: Some(web_search),
            ..self
        }
    }

    /// Returns the engine with a folder whose files are the notes of the default space. Files that
    /// users put there have the tool set `origin` as their origin.
    #[must_use]
    pub fn with_notes(self, folder: Arc<dyn NoteFolder>, origin: &'static str) -> Self {
        Engine {
            notes: Some(Notes::new(folder, origin)),
            ..self
        }
    }

    /// Returns the engine with a source tree, which checks the files that memories were made from.
    #[must_use]
    pub fn with_source_tree(self, source_tree: Arc<dyn SourceTree>) -> Self {
        Engine {
            source_tree: Some(source_tree),
            ..self
        }
    }

    /// Returns the engine with a token counter, which replaces the estimate.
    #[must_use]
    pub fn with_token_counter(self, token_counter: Arc<dyn TokenCounter>) -> Self {
        Engine {
            token_counter,
            ..self
        }
    }

    /// Returns the engine with a limit for callers' searches: if the store is not ready within that
    /// time, they fail with its progress. Without a limit they wait.
    #[must_use]
    pub fn with_search_wait(self, wait: Duration) -> Self {
        Engine {
            search_wait: Some(wait),
            ..self
        }
    }

    /// Returns the engine in which every reader also takes directives from these authors.
    #[must_use]
    pub fn with_trusted_authors(self, trusted_authors: Vec<String>) -> Self {
        Engine {
            trusted_authors,
            ..self
        }
    }

    /// Returns the engine with these phases of work.
    #[must_use]
    pub fn with_phases(self, phases: Phases) -> Self {
        Engine { phases, ..self }
    }

    /// Returns the method by which searches find candidates.
    pub fn search_mode(&self) -> SearchMode {
        self.search_mode
    }

    /// Returns the settings of the installation.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the wakeup that signals data for [`flush`](Engine::flush) to write.
    pub fn audit_wakeup(&self) -> &Arc<Wakeup> {
        &self.to_write
    }

    /// Returns the wakeup that signals a job for [`enrich`](Engine::enrich).
    pub fn enrich_wakeup(&self) -> &Arc<Wakeup> {
        &self.to_enrich
    }

    /// Returns the wakeup that signals work for [`embed_pending`](Engine::embed_pending).
    pub fn embed_wakeup(&self) -> &Arc<Wakeup> {
        &self.to_embed
    }

    /// Returns the current time by the engine's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the number of tokens that a language model counts in a text.
    pub fn count_tokens(&self, text: &str) -> usize {
        self.token_counter.count(text)
    }

    /// Returns a number that grows with every change that any process commits.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn version(&self) -> Result<u64> {
        self.store.version()
    }

    /// Checks that the store can be read and written.
    ///
    /// # Errors
    /// `unavailable` if it cannot, with advice.
    pub fn check_ready(&self) -> Result<()> {
        self.store.version()?;
        self.store.check_writable()
    }

    /// Returns the [size](Engine::size) with the index loaded, as in a process that searches.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn size_with_index(&self) -> Result<StoreSize> {
        let filter = self.filter(&Caller::local(), CollectionFilter::Any);
        self.store.candidates(&CandidateQuery::of(&filter, 0))?;
        self.store.size()
    }

    /// Returns the contents and the size of the store, over all spaces.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn size(&self) -> Result<StoreSize> {
        self.store.size()
    }

    /// Returns the filter with which every read by this caller begins. It hides short-term,
    /// unlisted and forgotten memories; a call that requests unlisted ones gets only those of the
    /// caller's own tool set.
    pub(crate) fn filter(&self, caller: &Caller, collections: CollectionFilter) -> Filter {
        let filter = Filter::of(caller.space.clone(), caller.reader(), self.clock.now());
        let apart_origin = Some(caller.origin.to_owned());
        Filter {
            collections,
            tiers: vec![Tier::LongTerm],
            apart_origin,
            forgotten: Forgotten::Hide,
            ..filter
        }
    }

    /// Returns the live memory with this id, long-term or unlisted, if the caller may read it.
    pub(crate) fn readable(&self, caller: &Caller, id: &MemoryId) -> Result<Memory> {
        self.readable_among(caller, id, Forgotten::Hide)
    }

    /// Returns the same, with forgotten memories if `forgotten` shows them. A caller without the
    /// scope `read` gets only memories that it stored itself, through the same query of the store.
    pub(crate) fn readable_among(
        &self,
        caller: &Caller,
        id: &MemoryId,
        forgotten: Forgotten,
    ) -> Result<Memory> {
        self.readable_of(caller, id, &[Tier::LongTerm, Tier::Unlisted], forgotten)
    }

    /// Returns the same for these tiers alone.
    pub(crate) fn readable_of(
        &self,
        caller: &Caller,
        id: &MemoryId,
        tiers: &[Tier],
        forgotten: Forgotten,
    ) -> Result<Memory> {
        let filter = self.filter(caller, CollectionFilter::Any);
        let owner = if caller.principal.scopes.allow(Scope::Read) {
            OwnerFilter::Any
        } else {
            OwnerFilter::of(caller.principal.subject.as_deref())
        };
        let filter = Filter {
            tiers: tiers.to_vec(),
            apart_origin: None,
            owner,
            forgotten,
            ..filter
        };
        let found = self
            .store
            .get_all(&filter, std::slice::from_ref(id))?
            .pop()
            .ok_or_else(|| {
                Error::not_found(format!(
                    "there is no memory with the id {id}; list or recall shows the ids"
                ))
            })?;
        let is_own = found.owner == caller.principal.subject && found.goes_with_owner();
        caller
            .trail
            .note(RecordVerb::Read, id.as_str(), Some(is_own));
        Ok(found)
    }

    /// Returns the live memory with this id, if the caller may change it.
    pub(crate) fn writable(&self, caller: &Caller, id: &MemoryId) -> Result<Memory> {
        self.writable_among(caller, id, Forgotten::Hide)
    }

    /// Returns the same, with forgotten memories if `forgotten` shows them.
    pub(crate) fn writable_among(
        &self,
        caller: &Caller,
        id: &MemoryId,
        forgotten: Forgotten,
    ) -> Result<Memory> {
        let memory = self.readable_among(caller, id, forgotten)?;
        if caller.may_write(&memory) {
            return Ok(memory);
        }
        Err(Error::about(
            ErrorCode::Forbidden,
            "memory",
            format!("{id} belongs to someone else and can only be read"),
        ))
    }

    /// Returns the passages that the index keeps of a memory, before any model has embedded it.
    pub(crate) fn passages_of(memory: &Memory) -> Vec<Passage> {
        Engine::passages_with(memory, &memory.metadata())
    }

    /// Returns the same with other metadata.
    pub(crate) fn passages_with(memory: &Memory, metadata: &[String]) -> Vec<Passage> {
        let marks = document::marks_of_origin(memory.source_path(), memory.is_tool_output());
        Engine::passages(&memory.content, metadata, &marks, memory.updated_at)
    }

    /// Returns the passages that the index keeps of a text that was stored at `stored_at`, before
    /// any model has embedded it. Metadata and [marks of origin](document::marks_of_origin) go into
    /// the terms of the passages, but not into the model's input.
    pub(crate) fn passages(
        content: &str,
        metadata: &[String],
        marks: &[String],
        stored_at: Timestamp,
    ) -> Vec<Passage> {
        let stored_on = dates::day(stored_at.microseconds());
        let of = |range: std::ops::Range<usize>| {
            let terms = document::terms(content, range.clone(), metadata, stored_on);
            let marks = marks.iter().map(|mark| (mark.clone(), 0));
            let terms = terms
                .into_iter()
                .chain(marks)
                .map(|(text, count)| Term { text, count })
                .collect();
            Passage {
                range,
                terms,
                vector: None,
            }
        };
        passages(content).into_iter().map(of).collect()
    }
}

/// Locks, within this process, for changes of one thing, such as a memory or a conversation.
/// Without them its writers would share a commit, in which all but one fail and retry.
#[derive(Debug)]
pub(crate) struct Locks([Mutex<()>; LOCKS]);

/// The number of locks. Unrelated keys share a lock rarely enough.
const LOCKS: usize = 64;

impl Default for Locks {
    fn default() -> Self {
        Locks(std::array::from_fn(|_| Mutex::new(())))
    }
}

impl Locks {
    /// Takes the lock of this key. No thread takes a second one while it holds one.
    pub(crate) fn lock(&self, key: &impl Hash) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        self.0[hasher.finish() as usize % LOCKS]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Repeats a read-change-write of the thing with this key until no other process interferes.
    /// Every failed attempt is another process's success, so the number of attempts need only
    /// exceed the number of processes that write one thing at once.
    pub(crate) fn change<T>(
        &self,
        key: &impl Hash,
        mut attempt: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        const ATTEMPTS_MAX: usize = 100;
        let _exclusive = self.lock(key);
        for _ in 1..ATTEMPTS_MAX {
            match attempt() {
                Err(error) if error.code == ErrorCode::Conflict => {}
                outcome => return outcome,
            }
        }
        attempt()
    }
}
