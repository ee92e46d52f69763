//! The seam to a search of the web.

use crate::Result;

/// A page that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct WebPage {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// The part of it that answers.
    pub content: String,
    /// How well it answers, on the service's own scale.
    pub score: Option<f64>,
}

/// Searches the web.
pub trait WebSearch: Send + Sync {
    /// The pages that answer a query, best first.
    ///
    /// # Errors
    /// `unavailable` if the service does not answer, or answers nonsense; `rate_limited` if it
    /// refuses for now; the message never holds the key.
    fn search(&self, query: &str) -> Result<Vec<WebPage>>;
}
