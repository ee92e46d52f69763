//! The interface to web search.

use crate::Result;

/// A page of the search results.
#[derive(Debug, Clone, PartialEq)]
pub struct WebPage {
    /// Its title.
    pub title: String,
    /// Its URL.
    pub url: String,
    /// The excerpt that answers the query.
    pub content: String,
    /// Its relevance, on the service's own scale.
    pub score: Option<f64>,
}

/// Searches the web.
pub trait WebSearch: Send + Sync {
    /// Returns the pages that answer a query, best first.
    ///
    /// # Errors
    /// `unavailable` if the service does not answer, or its reply is invalid; `rate_limited` if it
    /// throttles the request; the message never holds the API key.
    fn search(&self, query: &str) -> Result<Vec<WebPage>>;
}
