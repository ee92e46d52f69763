//! The engine: concrete parts behind the seams of `loci-core`.

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
use crate::background::{Rounds, Wakeup};
use crate::models::ModelSwitch;
use crate::notes::Notes;
use crate::phases::Phases;
use crate::redaction::Redaction;
use crate::tokens::EstimatedTokens;

/// How searches find candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchMode {
    /// By words and by meaning, fused.
    #[default]
    Hybrid,
    /// By meaning alone: the relevance is the cosine.
    Vector,
    /// By words alone; the model is never loaded.
    Words,
}

/// The one memory. Cheap to share behind an `Arc`; every operation takes `&self`.
pub struct Engine {
    pub(crate) store: Arc<dyn Store>,
    /// The model that the settings choose.
    pub(crate) embedder: Arc<dyn Embedder>,
    /// The models that may serve in its place while it has not read everything.
    pub(crate) former_models: Option<Arc<dyn FormerModels>>,
    pub(crate) standing: Mutex<ModelSwitch>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) search_mode: SearchMode,
    pub(crate) policy: Policy,
    pub(crate) weights: Weights,
    /// The enricher that judges memories before the local rules do.
    pub(crate) enricher: Option<Arc<dyn Enricher>>,
    pub(crate) web_search: Option<Arc<dyn WebSearch>>,
    /// The folder of the notes of the default space.
    pub(crate) notes: Option<Notes>,
    /// The files that memories were made from.
    pub(crate) source_tree: Option<Arc<dyn SourceTree>>,
    pub(crate) token_counter: Arc<dyn TokenCounter>,
    /// The authors whose directives every reader takes.
    pub(crate) trusted_authors: Vec<String>,
    pub(crate) phases: Phases,
    /// How long a search for a caller waits until the store is ready to search; without it, until
    /// it is.
    pub(crate) search_wait: Option<Duration>,
    pub(crate) redaction: Redaction,
    pub(crate) locks: Locks,
    /// Of calls under one key. They are apart, since the work under a key may take one of `locks`.
    pub(crate) key_locks: Locks,
    pub(crate) to_write: Arc<Wakeup>,
    pub(crate) to_enrich: Arc<Wakeup>,
    pub(crate) to_embed: Arc<Wakeup>,
    pub(crate) buffers: Buffers,
    pub(crate) rounds: Rounds,
}

impl Engine {
    /// An engine over these parts.
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

    /// The same engine with this policy.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Self {
        Engine { policy, ..self }
    }

    /// The same engine with these weights in its ranking, to measure what each gives.
    #[must_use]
    pub fn with_weights(self, weights: Weights) -> Self {
        Engine { weights, ..self }
    }

    /// The same engine with something that judges memories before the local rules do; these still
    /// serve when it fails.
    #[must_use]
    pub fn with_enricher(self, enricher: Arc<dyn Enricher>) -> Self {
        Engine {
            enricher: Some(enricher),
            ..self
        }
    }

    /// The same engine with models that may have made the vectors which are stored. While memories
    /// lack vectors of the engine's own model, one of these embeds questions and new texts, if it
    /// has read more.
    #[must_use]
    pub fn with_former_models(self, former_models: Arc<dyn FormerModels>) -> Self {
        Engine {
            former_models: Some(former_models),
            ..self
        }
    }

    /// The same engine with a web search.
    #[must_use]
    pub fn with_web_search(self, web_search: Arc<dyn WebSearch>) -> Self {
        Engine {
            web_search: Some(web_search),
            ..self
        }
    }

    /// The same engine with a folder whose files are the notes of the default space. Files that
    /// users put there count as stored through the dialect `origin`.
    #[must_use]
    pub fn with_notes(self, folder: Arc<dyn NoteFolder>, origin: &'static str) -> Self {
        Engine {
            notes: Some(Notes::new(folder, origin)),
            ..self
        }
    }

    /// The same engine with something that looks after files which memories were made from.
    #[must_use]
    pub fn with_source_tree(self, source_tree: Arc<dyn SourceTree>) -> Self {
        Engine {
            source_tree: Some(source_tree),
            ..self
        }
    }

    /// The same engine with something that counts tokens, in place of an estimate.
    #[must_use]
    pub fn with_token_counter(self, token_counter: Arc<dyn TokenCounter>) -> Self {
        Engine {
            token_counter,
            ..self
        }
    }

    /// The same engine, whose searches for callers fail where the store is not ready to search
    /// within that time, and say how far it is. Without it they wait.
    #[must_use]
    pub fn with_search_wait(self, wait: Duration) -> Self {
        Engine {
            search_wait: Some(wait),
            ..self
        }
    }

    /// The same engine, in which every reader takes directives from these authors, too.
    #[must_use]
    pub fn with_trusted_authors(self, trusted_authors: Vec<String>) -> Self {
        Engine {
            trusted_authors,
            ..self
        }
    }

    /// The same engine with these phases of work.
    #[must_use]
    pub fn with_phases(self, phases: Phases) -> Self {
        Engine { phases, ..self }
    }

    /// How searches find candidates.
    pub fn search_mode(&self) -> SearchMode {
        self.search_mode
    }

    /// Returns the settings of the installation.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Rings when there is something for [`flush`](Engine::flush) to write.
    pub fn audit_wakeup(&self) -> &Arc<Wakeup> {
        &self.to_write
    }

    /// Rings when there is a job for [`enrich`](Engine::enrich).
    pub fn enrich_wakeup(&self) -> &Arc<Wakeup> {
        &self.to_enrich
    }

    /// Rings when there is something for [`embed_pending`](Engine::embed_pending).
    pub fn embed_wakeup(&self) -> &Arc<Wakeup> {
        &self.to_embed
    }

    /// The moment now, by the engine's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// How many tokens a language model makes of a text.
    pub fn count_tokens(&self, text: &str) -> usize {
        self.token_counter.count(text)
    }

    /// A number that grows with every change that any process commits.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn version(&self) -> Result<u64> {
        self.store.version()
    }

    /// Whether the store can be read and written.
    ///
    /// # Errors
    /// `unavailable` if it cannot, with what to do.
    pub fn check_ready(&self) -> Result<()> {
        self.store.version()?;
        self.store.check_writable()
    }

    /// A [version](Engine::version), with the index loaded, so that its size is that of a process
    /// that searches.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn size_with_index(&self) -> Result<StoreSize> {
        let filter = self.filter(&Caller::local(), CollectionFilter::Any);
        self.store.candidates(&CandidateQuery::of(&filter, 0))?;
        self.store.size()
    }

    /// Returns the size of the store, over all spaces.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn size(&self) -> Result<StoreSize> {
        self.store.size()
    }

    /// The filter that every read by this caller begins with. Messages of conversations, unlisted
    /// memories and forgotten ones pass only where the request asks for them; of the unlisted ones,
    /// only those of the caller's own dialect.
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

    /// The live memory with this id, if the caller may read it; one that is kept apart, too.
    pub(crate) fn readable(&self, caller: &Caller, id: &MemoryId) -> Result<Memory> {
        self.readable_among(caller, id, Forgotten::Hide)
    }

    /// The same, be it forgotten or not, if forgotten ones are shown. A caller without the scope
    /// `read` learns of nothing but what it stored itself, by the same way through the store.
    pub(crate) fn readable_among(
        &self,
        caller: &Caller,
        id: &MemoryId,
        forgotten: Forgotten,
    ) -> Result<Memory> {
        self.readable_of(caller, id, &[Tier::LongTerm, Tier::Unlisted], forgotten)
    }

    /// The same of these tiers alone.
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

    /// The live memory with this id, if the caller may change it.
    pub(crate) fn writable(&self, caller: &Caller, id: &MemoryId) -> Result<Memory> {
        self.writable_among(caller, id, Forgotten::Hide)
    }

    /// The same, be it forgotten or not, if forgotten ones are shown.
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

    /// The passages that the index keeps of a memory, before any model has read it.
    pub(crate) fn passages_of(memory: &Memory) -> Vec<Passage> {
        Engine::passages_with(memory, &memory.metadata())
    }

    /// The same with other metadata.
    pub(crate) fn passages_with(memory: &Memory, metadata: &[String]) -> Vec<Passage> {
        let marks = document::marks_of_origin(memory.source_path(), memory.is_tool_output());
        Engine::passages(&memory.content, metadata, &marks, memory.updated_at)
    }

    /// The passages that the index keeps of a text that was stored then, before any model has read
    /// it. Metadata and [marks of origin](document::marks_of_origin) go into the terms of the
    /// passages, never into what the model reads.
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

/// Mutual exclusion, within this process, of the changes of one thing: a memory, a conversation.
/// Its writers would otherwise share a commit, where all but one fail and try again.
#[derive(Debug)]
pub(crate) struct Locks([Mutex<()>; LOCKS]);

/// Things that share a lock wait for each other without need, seldom enough.
const LOCKS: usize = 64;

impl Default for Locks {
    fn default() -> Self {
        Locks(std::array::from_fn(|_| Mutex::new(())))
    }
}

impl Locks {
    /// Locks this key. No thread takes a second lock while it holds one.
    pub(crate) fn lock(&self, key: &impl Hash) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        self.0[hasher.finish() as usize % LOCKS]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Repeats a read-change-write of whatever has this key until no other process came between.
    /// Every failed attempt is another's success, so the number of attempts need only exceed that
    /// of the processes which write one thing at once.
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
