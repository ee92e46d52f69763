//! The languages of the caller's memories.

use std::collections::BTreeMap;

use loci_core::{CollectionFilter, Page, Result};
use loci_text::analysis::Language;

use crate::listings::Listings;

/// The most pages of memories that are examined.
const PAGES: usize = 20;
/// The number of memories on a page.
const PAGE: usize = 50;

impl Listings<'_> {
    /// Returns the number of the caller's memories in each language, by its ISO 639-1 code: of all
    /// memories, or of a sample of 1,000 on 20 pages over the time of their last update. Leaves out
    /// memories whose language is uncertain.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn languages(&self) -> Result<BTreeMap<&'static str, usize>> {
        let filter = self.access.filter(CollectionFilter::Any);
        let memories = usize::try_from(self.store.count(&filter)?).unwrap_or(usize::MAX);
        let step = (memories / PAGES).max(PAGE);
        let mut counts = BTreeMap::new();
        for offset in (0..memories).step_by(step).take(PAGES) {
            for memory in self.store.list(
                &filter,
                Page {
                    offset,
                    limit: PAGE,
                },
            )? {
                if let Some(language) = Language::of(&memory.content) {
                    *counts.entry(language.code()).or_default() += 1;
                }
            }
        }
        Ok(counts)
    }
}
