//! A question that is embedded while the store is opened.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use loci_core::{CosineScale, Embedder, ModelId, Result};

/// An embedder that embeds one question ahead, on a thread of its own.
pub(crate) struct QueryPrefetch {
    embedder: Arc<dyn Embedder>,
    question: String,
    /// `None` once the vector was taken, or if there is no thread.
    vector: Mutex<Option<JoinHandle<Result<Vec<f32>>>>>,
}

impl QueryPrefetch {
    /// Starts to embed the question.
    pub(crate) fn begin(embedder: Arc<dyn Embedder>, question: &str) -> Self {
        let (working, text) = (Arc::clone(&embedder), question.to_owned());
        let thread = thread::Builder::new().name("loci-question".to_owned());
        let vector = thread.spawn(move || working.embed_query(&text)).ok();
        QueryPrefetch {
            embedder,
            question: question.to_owned(),
            vector: Mutex::new(vector),
        }
    }
}

impl Embedder for QueryPrefetch {
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

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let mut vector = self.vector.lock().unwrap_or_else(PoisonError::into_inner);
        let ahead = vector.take_if(|_| text == self.question);
        match ahead.map(JoinHandle::join) {
            Some(Ok(vector)) => vector,
            _ => self.embedder.embed_query(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts the texts that it embeds.
    struct Counting(ModelId, AtomicUsize);

    impl Embedder for Counting {
        fn model(&self) -> &ModelId {
            &self.0
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
            self.1.fetch_add(texts.len(), Ordering::SeqCst);
            Ok(texts.iter().map(|text| vec![text.len() as f32]).collect())
        }
    }

    #[test]
    fn the_question_is_embedded_once_and_others_when_they_are_asked() {
        // The questions that are asked, and the number of texts that are embedded.
        for (asked, embedded) in [
            (&["when?"][..], 1),
            (&["other"], 2),
            (&["when?", "when?"], 2),
        ] {
            let counting = Arc::new(Counting(ModelId::new("m"), AtomicUsize::new(0)));
            let ahead = QueryPrefetch::begin(Arc::<Counting>::clone(&counting), "when?");
            for question in asked {
                assert_eq!(ahead.embed_query(question), Ok(vec![5.0]));
            }
            drop(ahead.vector.into_inner().unwrap().map(JoinHandle::join));
            assert_eq!(counting.1.load(Ordering::SeqCst), embedded, "{asked:?}");
        }
    }
}
