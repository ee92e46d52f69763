//! The seam to embedding models.

use std::fmt;

use crate::Result;

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

/// Turns texts into vectors. Implementations load lazily: making one costs nothing.
pub trait Embedder: Send + Sync {
    /// The model's fingerprint. Known without loading the model.
    fn model(&self) -> &ModelId;

    /// One unit vector for each text, in order. Texts beyond the model's input length are cut
    /// there; the engine splits long content into passages before.
    ///
    /// # Errors
    /// `unavailable`, if the model cannot be loaded or its server does not answer; the message
    /// names the model and the way out.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;
}
