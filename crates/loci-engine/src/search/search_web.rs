//! Web search.

use loci_core::{Result, WebPage};

use crate::check;
use crate::search::Search;

impl Search<'_> {
    /// Returns the pages that answer a query, best first; `None` if no service is configured.
    /// Stores nothing.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large`, naming `query`; the errors of
    /// [`WebSearch::search`](loci_core::WebSearch::search).
    pub fn search_web(&self, query: &str) -> Result<Option<Vec<WebPage>>> {
        check::query("query", query)?;
        self.web.as_ref().map(|web| web.search(query)).transpose()
    }
}
