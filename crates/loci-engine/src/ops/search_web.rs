//! Searching the web.

use loci_core::{Result, WebPage};

use crate::{Engine, check};

impl Engine {
    /// The pages that answer a query, best first; none if no service is set up. Nothing of them is
    /// stored.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large`, naming `query`; what
    /// [`WebSearch::search`](loci_core::WebSearch::search) fails with.
    pub fn search_web(&self, query: &str) -> Result<Option<Vec<WebPage>>> {
        check::query("query", query)?;
        self.web_search
            .as_ref()
            .map(|web| web.search(query))
            .transpose()
    }
}
