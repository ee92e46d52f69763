//! The passages of a memory, as the index keeps them: one function for the engine, which files a
//! text, and for the stores, which analyse it again when the analysis has changed.

use std::collections::HashSet;
use std::ops::Range;

use loci_core::{EnrichmentStatus, Memory, Passage, Term, Timestamp};

use crate::{analysis, dates, document, passages as cut};

/// Returns the passages of a memory without vectors. The summary that the background has written
/// counts as metadata where it has other words than the text.
pub fn passages(memory: &Memory) -> Vec<Passage> {
    let passages = without_summary(memory);
    let is_enriched = memory.enrichment == Some(EnrichmentStatus::Completed);
    let summary = memory.summary.as_deref().filter(|_| is_enriched);
    let summarised = summary.and_then(|summary| with_summary(memory, &passages, summary));
    summarised.unwrap_or(passages)
}

/// Returns the passages of a memory with its summary among their terms; `None` if the summary has
/// no word that the passages lack.
pub fn with_summary(memory: &Memory, passages: &[Passage], summary: &str) -> Option<Vec<Passage>> {
    let terms = passages.iter().flat_map(|passage| &passage.terms);
    let known: HashSet<&str> = terms.map(|term| term.text.as_str()).collect();
    let has_new = |(term, _): &(String, u32)| !known.contains(term.as_str());
    if !analysis::term_counts([summary]).iter().any(has_new) {
        return None;
    }
    let mut metadata = memory.metadata();
    metadata.push(summary.to_owned());
    Some(with_metadata(memory, &metadata))
}

fn without_summary(memory: &Memory) -> Vec<Passage> {
    with_metadata(memory, &memory.metadata())
}

fn with_metadata(memory: &Memory, metadata: &[String]) -> Vec<Passage> {
    let marks = document::marks_of_origin(memory.source_path(), memory.is_tool_output());
    of_text(&memory.content, metadata, &marks, memory.updated_at)
}

/// Returns the passages of a text that was stored at `stored_at`, without vectors. Metadata and
/// [marks of origin](document::marks_of_origin) go into the terms of the passages, but not into the
/// model's input.
pub fn of_text(
    content: &str,
    metadata: &[String],
    marks: &[String],
    stored_at: Timestamp,
) -> Vec<Passage> {
    let stored_on = dates::day(stored_at.microseconds());
    let of = |range: Range<usize>| {
        let terms = document::terms(content, range.clone(), metadata, stored_on);
        let marks = marks.iter().map(|mark| (mark.clone(), 0));
        let terms = terms
            .into_iter()
            .chain(marks)
            .map(|(text, count)| Term { text, count })
            .collect();
        Passage {
            range,
            terms,
            vector: None,
        }
    };
    cut::passages(content).into_iter().map(of).collect()
}

/// Returns true if stored passages, by their ranges and terms, belong to the memory. Marks are not
/// compared: they may tell of the day of an earlier version of the record.
pub fn fit(memory: &Memory, stored: &[(Range<usize>, Vec<Term>)]) -> bool {
    let is_as_stored = |passages: &[Passage]| {
        passages.len() == stored.len()
            && passages
                .iter()
                .zip(stored)
                .all(|(passage, (range, terms))| {
                    passage.range == *range && words(&passage.terms) == words(terms)
                })
    };
    // An archive may have brought a summary whose words were not indexed.
    is_as_stored(&passages(memory)) || is_as_stored(&without_summary(memory))
}

/// Returns the terms that are words, in their order as texts.
fn words(terms: &[Term]) -> Vec<(&str, u32)> {
    let words = terms.iter().filter(|term| term.count > 0);
    let mut words: Vec<_> = words.map(|term| (term.text.as_str(), term.count)).collect();
    words.sort_unstable();
    words
}
