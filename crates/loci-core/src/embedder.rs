//! The seam to embedding models.

use std::fmt;
use std::sync::Arc;

use crate::{Error, Result};

/// Names a model and everything that changes its vectors: weights, quantisation, truncation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelId(String);

impl ModelId {
    /// From its text.
    pub fn new(fingerprint: impl Into<String>) -> Self {
        ModelId(fingerprint.into())
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Where the cosines of a model lie, so that those of different models mean the same to a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CosineScale {
    /// The cosine of a question and the nearest of many texts (about a thousand) that have nothing
    /// to do with it, -1 to 1.
    pub unrelated: f32,
    /// The cosine of a question and a text that answers it in nearly the same words; above
    /// `unrelated`, at most 1.
    pub same: f32,
}

impl CosineScale {
    /// That of all-MiniLM-L6-v2, the model inside the binary.
    pub const BUNDLED: CosineScale = CosineScale {
        unrelated: 0.15,
        same: 0.5,
    };
}

impl Default for CosineScale {
    /// For a model of which nothing is known: that of the bundled one, as most models spread their
    /// cosines like it.
    fn default() -> Self {
        CosineScale::BUNDLED
    }
}

/// Turns texts into vectors. Implementations load lazily: making one costs nothing.
pub trait Embedder: Send + Sync {
    /// The model's fingerprint. Known without loading the model.
    fn model(&self) -> &ModelId;

    /// Where its cosines lie. Known without loading the model; of a model of which nothing is
    /// known, the [default](CosineScale::default).
    fn cosine_scale(&self) -> CosineScale {
        CosineScale::default()
    }

    /// Whether it was trained on the language with this ISO 639-1 code. Known without loading the
    /// model; of a model of which nothing is known, yes.
    fn knows(&self, _language: &str) -> bool {
        true
    }

    /// One unit vector for each text, in order. Texts beyond the model's input length are cut
    /// there; the engine splits long content into passages before.
    ///
    /// # Errors
    /// `unavailable`, if the model cannot be loaded or its server does not answer; the message
    /// names the model and the way out.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;

    /// The vector of a question. Some models tell questions from the texts that answer them by a
    /// prefix; for the others it is the same as [`embed`](Embedder::embed) gives. An implementation
    /// may keep question and vector in memory for the next time, so this is never given a memory's
    /// text.
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

/// Finds models by their fingerprints: those that made the vectors which are stored, before another
/// one was chosen.
pub trait FormerModels: Send + Sync {
    /// The model with this fingerprint, if it can be had. Loads nothing, but may read files.
    fn embedder_of(&self, model: &ModelId) -> Option<Arc<dyn Embedder>>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    /// Gives so many vectors, whatever it is asked for.
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
