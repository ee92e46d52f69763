//! An LRU cache of the vectors of queries.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{CosineScale, Embedder, ModelId, Result};

/// The number of cached vectors: about 1.6 MB with 384 components.
const ENTRIES_MAX: usize = 1024;

/// Maximum bytes of a query to cache. Longer ones are rarely repeated.
const QUERY_BYTES_MAX: usize = 512;

/// An embedder with an LRU cache of the vectors of its last 1,024 queries.
///
/// A query comes through [`embed_query`](Embedder::embed_query) and has at most 512 bytes. Texts of
/// [`embed`](Embedder::embed) may be stored and deleted again, so they are never cached. A new
/// query evicts the least recently used one. A change of the model clears the cache. Failures are
/// not cached.
///
/// Concurrent callers of the same new text may each embed it.
pub struct CachedEmbedder {
    embedder: Arc<dyn Embedder>,
    entries_max: usize,
    kept: Mutex<VectorCache>,
}

/// The cached vectors, all of one model.
#[derive(Default)]
struct VectorCache {
    model: Option<ModelId>,
    entries: HashMap<String, Entry>,
    /// The number of answers so far, cached or not: the clock of [`Entry::used`].
    answers: u64,
    hits: u64,
}

struct Entry {
    vector: Vec<f32>,
    used: u64,
}

impl CachedEmbedder {
    /// Creates a cache in front of an embedder.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        CachedEmbedder::with_room_for(embedder, ENTRIES_MAX)
    }

    fn with_room_for(embedder: Arc<dyn Embedder>, entries_max: usize) -> Self {
        CachedEmbedder {
            embedder,
            entries_max,
            kept: Mutex::default(),
        }
    }

    /// Returns the number of cache hits.
    pub fn hits(&self) -> u64 {
        self.kept().hits
    }

    fn kept(&self) -> MutexGuard<'_, VectorCache> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Embedder for CachedEmbedder {
    fn model(&self) -> &ModelId {
        self.embedder.model()
    }

    fn cosine_scale(&self) -> CosineScale {
        self.embedder.cosine_scale()
    }

    fn knows(&self, language: &str) -> bool {
        self.embedder.knows(language)
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.embedder.embed(texts)
    }

    fn embed_in_background(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.embedder.embed_in_background(texts)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        if text.len() > QUERY_BYTES_MAX {
            return self.embedder.embed_query(text);
        }
        // Called before the lock is taken, because it may read files.
        let model = self.embedder.model();
        if let Some(vector) = self.kept().find(model, text) {
            return Ok(vector);
        }
        let model = model.clone();
        let vector = self.embedder.embed_query(text)?;
        // If the model changed since, it is unknown which one made the vector.
        if *self.embedder.model() == model {
            self.kept().keep(model, text, &vector, self.entries_max);
        }
        Ok(vector)
    }
}

impl VectorCache {
    fn find(&mut self, model: &ModelId, text: &str) -> Option<Vec<f32>> {
        if self.model.as_ref() != Some(model) {
            return None;
        }
        let entry = self.entries.get_mut(text)?;
        self.answers += 1;
        self.hits += 1;
        entry.used = self.answers;
        Some(entry.vector.clone())
    }

    fn keep(&mut self, model: ModelId, text: &str, vector: &[f32], entries_max: usize) {
        if self.model.as_ref() != Some(&model) {
            self.entries.clear();
            self.model = Some(model);
        }
        if self.entries.len() >= entries_max && !self.entries.contains_key(text) {
            // This scan takes microseconds; embedding takes a thousand times as long.
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            if let Some(oldest) = oldest.map(|(text, _)| text.clone()) {
                self.entries.remove(&oldest);
            }
        }
        self.answers += 1;
        self.entries.insert(
            text.to_owned(),
            Entry {
                vector: vector.to_vec(),
                used: self.answers,
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use loci_core::Error;
    use proptest::prelude::*;

    use super::*;

    /// An embedder whose vectors identify the text and the model; counts the texts that reach it.
    struct Probe {
        models: [ModelId; 2],
        second: AtomicBool,
        exchange_while_embedding: AtomicBool,
        embedded: AtomicUsize,
    }

    impl Probe {
        fn new() -> Arc<Self> {
            Arc::new(Probe {
                models: [ModelId::new("first"), ModelId::new("second")],
                second: AtomicBool::new(false),
                exchange_while_embedding: AtomicBool::new(false),
                embedded: AtomicUsize::new(0),
            })
        }

        fn vector(&self, text: &str) -> Vec<f32> {
            let model = f32::from(u8::from(self.second.load(Ordering::SeqCst)));
            [model]
                .into_iter()
                .chain(text.bytes().map(f32::from))
                .collect()
        }

        fn embedded(&self) -> usize {
            self.embedded.load(Ordering::SeqCst)
        }
    }

    impl Embedder for Probe {
        fn model(&self) -> &ModelId {
            &self.models[usize::from(self.second.load(Ordering::SeqCst))]
        }

        fn cosine_scale(&self) -> CosineScale {
            CosineScale {
                unrelated: 0.7,
                same: 0.9,
            }
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
            self.embedded.fetch_add(texts.len(), Ordering::SeqCst);
            if texts.contains(&"fail") {
                return Err(Error::unavailable("told to fail"));
            }
            let vectors = texts.iter().map(|text| self.vector(text)).collect();
            if self.exchange_while_embedding.swap(false, Ordering::SeqCst) {
                self.second.store(true, Ordering::SeqCst);
            }
            Ok(vectors)
        }
    }

    fn cached(probe: &Arc<Probe>, entries_max: usize) -> CachedEmbedder {
        CachedEmbedder::with_room_for(Arc::<Probe>::clone(probe), entries_max)
    }

    #[test]
    fn only_short_queries_are_kept_and_no_failures() {
        let (short, long) = ("x".repeat(QUERY_BYTES_MAX), "x".repeat(QUERY_BYTES_MAX + 1));
        // The repeated text, and the expected number of hits.
        for (text, hits) in [(short.as_str(), 1), ("", 1), (&long, 0), ("fail", 0)] {
            let probe = Probe::new();
            let cached = cached(&probe, 8);
            let first = cached.embed_query(text).map_err(|error| error.message);
            assert_eq!(
                cached.embed_query(text).map_err(|error| error.message),
                first
            );
            assert_eq!(cached.hits(), hits, "{text}");
            assert_eq!(probe.embedded(), 2 - hits as usize, "{text}");
        }
    }

    #[test]
    fn the_scale_is_that_of_the_embedder() {
        let probe = Probe::new();
        assert_eq!(cached(&probe, 8).cosine_scale(), probe.cosine_scale());
        assert_ne!(probe.cosine_scale(), CosineScale::default());
    }

    #[test]
    fn texts_that_may_be_stored_leave_nothing_behind() {
        let rows: [&[&str]; 4] = [&["a"], &["a", "b"], &[], &["fail"]];
        for texts in rows {
            let probe = Probe::new();
            let cached = cached(&probe, 8);
            for _ in 0..2 {
                let embedded = cached.embed(texts).ok();
                assert_eq!(embedded, probe.embed(texts).ok());
            }
            assert_eq!(probe.embedded(), 4 * texts.len(), "{texts:?}");
            assert!(cached.kept().entries.is_empty(), "{texts:?}");
        }
        // Nor do they get vectors that a query cached.
        let probe = Probe::new();
        let cached = cached(&probe, 8);
        cached.embed_query("a").unwrap();
        cached.embed(&["a"]).unwrap();
        assert_eq!((cached.hits(), probe.embedded()), (0, 2));
    }

    #[test]
    fn nothing_is_allocated_before_the_first_query() {
        let cached = CachedEmbedder::new(Probe::new());
        assert_eq!(cached.kept().entries.capacity(), 0);
        cached.embed_query("a").unwrap();
        assert!(cached.kept().entries.capacity() < ENTRIES_MAX);
    }

    #[test]
    fn a_vector_of_another_model_is_never_returned() {
        let probe = Probe::new();
        let cached = cached(&probe, 8);
        cached.embed_query("a").unwrap();
        probe.second.store(true, Ordering::SeqCst);
        assert_eq!(cached.model().as_str(), "second");
        assert_eq!(cached.embed_query("a").unwrap(), probe.vector("a"));
        assert_eq!(cached.embed_query("a").unwrap(), probe.vector("a"));
        assert_eq!(cached.hits(), 1);
        probe.second.store(false, Ordering::SeqCst);
        assert_eq!(cached.embed_query("a").unwrap(), probe.vector("a"));
    }

    #[test]
    fn a_vector_made_while_the_model_changed_is_not_kept() {
        let probe = Probe::new();
        let cached = cached(&probe, 8);
        probe.exchange_while_embedding.store(true, Ordering::SeqCst);
        cached.embed_query("a").unwrap();
        assert_eq!(cached.embed_query("a").unwrap(), probe.vector("a"));
        assert_eq!(cached.hits(), 0);
    }

    #[test]
    fn many_callers_get_the_vectors_of_their_texts() {
        let probe = Probe::new();
        let cached = cached(&probe, 4);
        std::thread::scope(|scope| {
            for start in 0..8 {
                let (cached, probe) = (&cached, &probe);
                scope.spawn(move || {
                    for round in start..start + 200 {
                        let text = format!("text {}", round % 7);
                        assert_eq!(cached.embed_query(&text).unwrap(), probe.vector(&text));
                    }
                });
            }
        });
        assert_eq!(cached.hits() + probe.embedded() as u64, 8 * 200);
    }

    proptest! {
        /// Compares the cache with a queue of texts, the plain definition of "least recently used".
        #[test]
        fn the_least_recently_used_goes_first(
            asked in proptest::collection::vec(0_u8..12, 0..200),
            room in 1_usize..8,
        ) {
            let probe = Probe::new();
            let cached = cached(&probe, room);
            let (mut queue, mut hits) = (VecDeque::new(), 0);
            for number in asked {
                let text = format!("text {number}");
                prop_assert_eq!(cached.embed_query(&text).unwrap(), probe.vector(&text));
                if let Some(position) = queue.iter().position(|&kept| kept == number) {
                    queue.remove(position);
                    hits += 1;
                } else if queue.len() == room {
                    queue.pop_front();
                }
                queue.push_back(number);
                prop_assert_eq!(cached.hits(), hits);
            }
        }
    }
}
