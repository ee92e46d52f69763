//! The replacement of a model when embeddings are off.

use loci_core::{Embedder, Error, ModelId, Result};

/// The embedder when the user switched embeddings off.
pub struct NoModel {
    model: ModelId,
}

impl NoModel {
    /// Creates the model that embeds nothing, with the id `none`.
    pub fn new() -> Self {
        NoModel {
            model: ModelId::new("none"),
        }
    }
}

impl Default for NoModel {
    fn default() -> Self {
        NoModel::new()
    }
}

impl Embedder for NoModel {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        Err(Error::unavailable(
            "embeddings are switched off, so memories are found by words alone; set `embedding.provider` to switch them on",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::ErrorCode;

    #[test]
    fn says_that_it_is_off() {
        let none = NoModel::new();
        assert!(none.embed(&[]).unwrap().is_empty());
        let error = none.embed(&["text"]).unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert!(error.message.contains("embedding.provider"), "{error}");
    }
}
