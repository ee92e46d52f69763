//! The engine: concrete parts behind the seams of `loci-core`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{
    Caller, Clock, CollectionFilter, Embedder, Error, ErrorCode, Filter, Memory, MemoryId, Passage, QueryVector,
    Result, Store, StoreSize, Term, Timestamp, Vector,
};
use loci_search::{analysis, passages::passages};

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
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) search_mode: SearchMode,
    pub(crate) locks: Locks,
    /// How many memories without embedding the next round of maintenance passes over, because the
    /// model refused them.
    pub(crate) refused: AtomicUsize,
}

impl Engine {
    /// An engine over these parts.
    pub fn new(
        store: Arc<dyn Store>,
        embedder: Arc<dyn Embedder>,
        clock: Arc<dyn Clock>,
        search_mode: SearchMode,
    ) -> Self {
        Engine { store, embedder, clock, search_mode, locks: Locks::default(), refused: AtomicUsize::new(0) }
    }

    /// The moment now, by the engine's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A number that grows with every change that any process commits.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn version(&self) -> Result<u64> {
        self.store.version()
    }

    /// What the store holds and what it costs, in all spaces.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn size(&self) -> Result<StoreSize> {
        self.store.size()
    }

    /// The filter that every read by this caller begins with.
    pub(crate) fn filter(&self, caller: &Caller, collections: CollectionFilter) -> Filter {
        let filter = Filter::of(caller.space.clone(), caller.reader(), self.clock.now());
        Filter { collections, ..filter }
    }

    /// The live memory with this id, if the caller may read it.
    pub(crate) fn readable(&self, caller: &Caller, id: &MemoryId) -> Result<Memory> {
        let filter = self.filter(caller, CollectionFilter::Any);
        let found = self.store.get_all(&filter, std::slice::from_ref(id))?.pop();
        found.ok_or_else(|| {
            Error::not_found(format!("there is no memory with the id {id}; list or recall shows the ids"))
        })
    }

    /// The live memory with this id, if the caller may change it.
    pub(crate) fn writable(&self, caller: &Caller, id: &MemoryId) -> Result<Memory> {
        let memory = self.readable(caller, id)?;
        if caller.may_write(memory.owner.as_deref(), memory.visibility) {
            return Ok(memory);
        }
        Err(Error::new(ErrorCode::Forbidden, format!("memory {id} belongs to someone else and can only be read")))
    }

    /// What the index keeps of a memory, before any model has read it. Title-like metadata goes
    /// into the terms of every passage, never into what the model reads.
    pub(crate) fn passages(content: &str, tags: &[String]) -> Vec<Passage> {
        let of = |range: std::ops::Range<usize>| {
            let texts = std::iter::once(&content[range.clone()]).chain(tags.iter().map(String::as_str));
            let terms = analysis::term_counts(texts).into_iter().map(|(text, count)| Term { text, count }).collect();
            Passage { range, terms, vector: None }
        };
        passages(content).into_iter().map(of).collect()
    }

    /// Gives every passage its vector; returns them unquantised, too.
    pub(crate) fn embed(&self, content: &str, passages: &mut [Passage]) -> Result<Vec<QueryVector>> {
        let texts: Vec<&str> = passages.iter().map(|passage| &content[passage.range.clone()]).collect();
        let vectors = self.embedder.embed(&texts)?;
        let model = self.embedder.model();
        if vectors.len() != passages.len() {
            return Err(Error::internal(format!("the model {model} returned a wrong number of vectors")));
        }
        for (passage, vector) in passages.iter_mut().zip(&vectors) {
            passage.vector = Some(self.quantised(vector));
        }
        Ok(vectors.into_iter().map(|values| QueryVector { model: model.clone(), values }).collect())
    }

    /// Symmetric eight-bit quantisation: the largest component becomes 127.
    pub(crate) fn quantised(&self, vector: &[f32]) -> Vector {
        let largest = vector.iter().fold(0.0f32, |largest, component| largest.max(component.abs()));
        let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
        let values = vector.iter().map(|component| (component / scale).round() as i8).collect();
        Vector { model: self.embedder.model().clone(), scale, values }
    }
}

/// Mutual exclusion of the changes of one memory within this process. Writers of one memory would
/// otherwise share a commit, where all but one fail and try again.
#[derive(Debug)]
pub(crate) struct Locks([Mutex<()>; LOCKS]);

/// Memories whose ids share a lock wait for each other without need, seldom enough.
const LOCKS: usize = 64;

impl Default for Locks {
    fn default() -> Self {
        Locks(std::array::from_fn(|_| Mutex::new(())))
    }
}

impl Locks {
    /// Repeats a read-change-write of this memory until no other process came between. Every
    /// failed attempt is another's success, so the number of attempts need only exceed that of the
    /// processes which write one memory at once.
    pub(crate) fn change<T>(&self, id: &MemoryId, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
        const ATTEMPTS_MAX: usize = 100;
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let lock = &self.0[hasher.finish() as usize % LOCKS];
        let _exclusive = lock.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 1..ATTEMPTS_MAX {
            match attempt() {
                Err(error) if error.code == ErrorCode::Conflict => {}
                outcome => return outcome,
            }
        }
        attempt()
    }
}
