//! The interface to embedding models.

use std::fmt;
use std::sync::Arc;

use crate::{Error, Result};

/// The fingerprint of a model with everything that changes its vectors: weights, quantisation,
/// truncation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelId(String);

impl ModelId {
    /// Creates an id from its text.
    pub fn new(fingerprint: impl Into<String>) -> Self {
        ModelId(fingerprint.into())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The range of a model's cosine similarities, to make similarities of different models comparable
/// in a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CosineScale {
    /// The cosine of a question and the nearest of many unrelated texts (about a thousand), -1 to
    /// 1.
    pub unrelated: f32,
    /// The cosine of a question and a text that answers it in nearly the same words; above
    /// `unrelated`, at most 1.
    pub same: f32,
}

impl CosineScale {
    /// The scale of all-MiniLM-L6-v2, the model inside the binary.
    pub const BUNDLED: CosineScale = CosineScale {
        unrelated: 0.15,
        same: 0.5,
    };
}

impl Default for CosineScale {
    /// Returns the scale of the bundled model, for an unknown model, because most models have a
    /// similar range.
    fn default() -> Self {
        CosineScale::BUNDLED
    }
}

/// Turns texts into vectors. Implementations load lazily: creating one costs nothing.
pub trait Embedder: Send + Sync {
    /// Returns the model's fingerprint, without loading the model.
    fn model(&self) -> &ModelId;

    /// Returns the range of its cosines, without loading the model; for an unknown model, the
    /// [default](CosineScale::default).
    fn cosine_scale(&self) -> CosineScale {
        CosineScale::default()
    }

    /// Returns true if the model was trained on the language with this ISO 639-1 code, without
    /// loading the model; true for an unknown model.
    fn knows(&self, _language: &str) -> bool {
        true
    }

    /// Returns one unit vector for each text, in order. Truncates texts beyond the model's input
    /// length; the engine splits long content into passages first.
    ///
    /// # Errors
    /// `unavailable` if the model cannot be loaded or its server does not answer; the message names
    /// the model and how to fix the problem.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;

    /// Does the same as [`embed`](Embedder::embed) for texts that nobody waits for: the other
    /// calls, of this process and of others, go first. A model that runs elsewhere decides this
    /// itself. An embedder that wraps another one passes it on.
    ///
    /// # Errors
    /// As for [`embed`](Embedder::embed).
    fn embed_in_background(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.embed(texts)
    }

    /// Returns the vector of a question. Some models mark questions with a prefix; for the others
    /// it is the vector that [`embed`](Embedder::embed) returns. An implementation may cache
    /// question and vector in memory, so callers never pass the text of a memory.
    ///
    /// # Errors
    /// As for [`embed`](Embedder::embed); `internal` if that returns more or less than one vector.
    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let vectors = self.embed(&[text])?;
        let [vector] = <[Vec<f32>; 1]>::try_from(vectors).map_err(|vectors| {
            let count = vectors.len();
            Error::internal(format!(
                "the model {} returned {count} vectors for one query",
                self.model()
            ))
        })?;
        Ok(vector)
    }
}

/// Finds models by fingerprint, to query vectors that were stored before another model was
/// configured.
pub trait FormerModels: Send + Sync {
    /// Returns the model with this fingerprint, if it is available. Loads nothing, but may read
    /// files.
    fn embedder_of(&self, model: &ModelId) -> Option<Arc<dyn Embedder>>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    /// Returns this number of vectors for any input.
    struct Giving(ModelId, usize);

    impl Embedder for Giving {
        fn model(&self) -> &ModelId {
            &self.0
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
            assert_eq!(texts, ["a query"]);
            if self.1 == 9 {
                Err(Error::unavailable("away"))
            } else {
                Ok(vec![vec![1.0]; self.1])
            }
        }
    }

    #[test]
    fn a_query_has_one_vector() {
        let rows = [
            (0, Err(ErrorCode::Internal)),
            (1, Ok(vec![1.0])),
            (2, Err(ErrorCode::Internal)),
            (9, Err(ErrorCode::Unavailable)),
        ];
        for (count, expected) in rows {
            let embedder = Giving(ModelId::new("m"), count);
            assert_eq!(
                embedder.embed_query("a query").map_err(|error| error.code),
                expected,
                "{count}"
            );
        }
    }
}
