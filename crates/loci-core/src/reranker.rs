//! The interface to models that read a question and a text together.

use crate::Result;

/// Says how well texts answer a question, by reading each together with the question (a
/// cross-encoder). That finds more than two vectors that know nothing of each other, and takes a run
/// of the model for each text, so that only the best candidates of a search are read.
pub trait Reranker: Send + Sync {
    /// Returns a finite score for each text, in order: the greater, the better it answers. Scores of
    /// different questions cannot be compared. Texts beyond the model's input length are cut.
    ///
    /// # Errors
    /// `unavailable` if the model cannot be loaded or run; the message names its files and how to
    /// fix the problem.
    fn scores(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>>;
}
