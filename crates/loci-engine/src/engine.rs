//! The engine, which combines implementations of the traits of `loci-core`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use loci_core::{
    Caller, CandidateQuery, Clock, CollectionFilter, Embedder, Enricher, FormerModels, NoteFolder,
    Redactor, Reranker, Result, ServerFigures, SourceTree, Space, Store, StoreSize, Timestamp,
    TokenCounter, WebSearch,
};

use crate::audit::buffers::Buffers;
use crate::leases::rounds::Rounds;
use crate::locks::Locks;
use crate::models::switch::ModelSwitch;
use crate::notes::folder_state::{FolderState, NotesOwner};
use crate::observed::{ObservedFormerModels, ObservedModel, ObservedStore};
use crate::observer::Observer;
use crate::phases::Phases;
use crate::policy::Policy;
use crate::redaction::{Redaction, RedactionScope};
use crate::search::fusion::Weights;
use crate::tokens::EstimatedTokens;
use crate::wakeup::Wakeup;

/// The method by which searches find candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchMode {
    /// By words and by meaning, fused.
    #[default]
    Hybrid,
    /// Only by meaning: the relevance is the cosine similarity.
    Vector,
    /// Only by words; the model is never loaded.
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
    /// Orders the best candidates of a search once more.
    pub(crate) reranker: Option<Arc<dyn Reranker>>,
    /// The folder of the notes of the default space.
    pub(crate) folder: Option<FolderState>,
    /// The machine whose source files this engine works with.
    pub(crate) machine: String,
    /// Checks the files that memories were made from.
    pub(crate) source_tree: Option<Arc<dyn SourceTree>>,
    pub(crate) token_counter: Arc<dyn TokenCounter>,
    /// The address of the page, without a slash at its end; empty if it is not known.
    pub(crate) page_url: String,
    /// The authors whose directives every reader takes.
    pub(crate) trusted_authors: Vec<String>,
    pub(crate) phases: Phases,
    /// The time for which a caller's search waits until the store is ready; without it, there is no
    /// limit.
    pub(crate) search_wait: Option<Duration>,
    pub(crate) redaction: Redaction,
    pub(crate) locks: Locks,
    /// Locks of calls by idempotency key. They are separate, because the work of such a call may
    /// take one of `locks`.
    pub(crate) key_locks: Locks,
    pub(crate) to_write: Arc<Wakeup>,
    pub(crate) to_enrich: Arc<Wakeup>,
    pub(crate) to_embed: Arc<Wakeup>,
    pub(crate) to_examine: Arc<Wakeup>,
    pub(crate) buffers: Buffers,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    /// Tells if the store has users besides the local one.
    pub(crate) has_other_users: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
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
            reranker: None,
            folder: None,
            machine: String::new(),
            source_tree: None,
            token_counter: Arc::new(EstimatedTokens),
            page_url: String::new(),
            trusted_authors: Vec::new(),
            phases: Phases::default(),
            search_wait: None,
            redaction: Redaction::default(),
            locks: Locks::default(),
            key_locks: Locks::default(),
            to_write: Arc::default(),
            to_enrich: Arc::default(),
            to_embed: Arc::default(),
            to_examine: Arc::default(),
            buffers: Buffers::default(),
            observer: None,
            has_other_users: None,
            rounds: Rounds::default(),
        }
    }

    /// Returns the engine with an observer of what it does from now on. It is called last, because
    /// it observes the store, the models and the redactor that the engine has by then.
    #[must_use]
    pub fn with_observer(self, observer: Arc<dyn Observer>) -> Self {
        let store = ObservedStore::new(self.store, Arc::clone(&observer));
        let embedder = ObservedModel::new(self.embedder, Arc::clone(&observer));
        let former_models = self.former_models.map(|models| -> Arc<dyn FormerModels> {
            Arc::new(ObservedFormerModels::new(models, Arc::clone(&observer)))
        });
        Engine {
            store: Arc::new(store),
            embedder: Arc::new(embedder),
            former_models,
            redaction: self.redaction.observed_by(Arc::clone(&observer)),
            observer: Some(observer),
            ..self
        }
    }

    /// Returns the engine with a function that tells if the store has users besides the local one.
    /// While it has none, the local user sees every record: names such as the `user_id` of a tool
    /// are then only names that its own agents chose. Without the function, others are assumed.
    #[must_use]
    pub fn with_other_users(self, has_other_users: Arc<dyn Fn() -> bool + Send + Sync>) -> Self {
        Engine {
            has_other_users: Some(has_other_users),
            ..self
        }
    }

    /// Returns the engine with the address of the page, without a slash at its end, for replies that
    /// name a memory by its address there.
    #[must_use]
    pub fn with_page_url(self, page_url: String) -> Self {
        Engine { page_url, ..self }
    }

    /// Returns the address of the page, without a slash at its end; empty if it is not known.
    pub fn page_url(&self) -> &str {
        &self.page_url
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
    /// embedded more.
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

    /// Returns the engine with a model that orders the 30 best candidates of a search once more. Bundles
    /// of memories and the memories of prompts go without it, because it takes too long for them.
    #[must_use]
    pub fn with_reranker(self, reranker: Arc<dyn Reranker>) -> Self {
        Engine {
            reranker: Some(reranker),
            ..self
        }
    }

    /// Returns the engine with a folder whose files are the notes of the default space. Files that
    /// users put there have the tool set `origin` as their origin.
    #[must_use]
    pub fn with_notes(self, folder: Arc<dyn NoteFolder>, origin: &'static str) -> Self {
        Engine {
            folder: Some(FolderState::new(folder, origin)),
            ..self
        }
    }

    /// Returns the engine as that of one machine among several that share the store: the notes lie
    /// on one machine, and only this one changes them, under a lease. `name` is the machine for
    /// people, and `machine` its id, without spaces. It is called after
    /// [`with_notes`](Self::with_notes).
    #[must_use]
    pub fn with_note_keeper(self, name: &str, machine: &str) -> Self {
        let keeper = |folder: FolderState| folder.kept_by(NotesOwner::new(name, machine));
        Engine {
            folder: self.folder.map(keeper),
            ..self
        }
    }

    /// Returns the engine that works with the source files of this
    /// [machine](loci_core::SourceFile::machine), and does not touch the files of others. Without
    /// it, the machine is the one that the store lies on.
    #[must_use]
    pub fn with_machine(self, machine: String) -> Self {
        Engine { machine, ..self }
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

    /// Returns the engine with a redactor and the scope of its redactions.
    #[must_use]
    pub fn with_redactor(self, redactor: Arc<dyn Redactor>, scope: RedactionScope) -> Self {
        Engine {
            redaction: Redaction::new(redactor, scope),
            ..self
        }
    }

    /// Returns the engine with these phases of work.
    #[must_use]
    pub fn with_phases(self, phases: Phases) -> Self {
        Engine { phases, ..self }
    }

    /// Returns the redactor, and the texts that it redacts.
    pub fn redaction(&self) -> &Redaction {
        &self.redaction
    }

    /// Returns the settings of the installation.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the current time by the engine's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns a number that grows with every change that any process commits in this space.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn version(&self, space: &Space) -> Result<u64> {
        self.store.version(space)
    }

    /// Checks that the store can be read and written.
    ///
    /// # Errors
    /// `unavailable` if it cannot, with advice.
    pub fn check_ready(&self) -> Result<()> {
        // The first one does not wait for a server that is away.
        self.store.check_writable()?;
        self.store.version(&Space::default())?;
        Ok(())
    }

    /// Returns the [size](Engine::size) with the index loaded, as in a process that searches.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn size_with_index(&self) -> Result<StoreSize> {
        let filter = self
            .system(&Caller::local())
            .access()
            .filter(CollectionFilter::Any);
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

    /// Returns the bytes on disk of the [size](Engine::size), without counting the contents.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn disk_bytes(&self) -> Result<u64> {
        self.store.disk_bytes()
    }

    /// Returns what this process knows of the server of the store, within two seconds; `None` if the
    /// store has no server.
    pub fn server_figures(&self) -> Option<ServerFigures> {
        self.store.server_figures()
    }
}
