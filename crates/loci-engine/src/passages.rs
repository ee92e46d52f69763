//! The passages that the index keeps of a text.

use loci_core::{Memory, Passage, Term, Timestamp};
use loci_search::passages::passages;
use loci_search::{dates, document};

/// Returns the passages that the index keeps of a memory, before any model has embedded it.
pub(crate) fn of_memory(memory: &Memory) -> Vec<Passage> {
    with_metadata(memory, &memory.metadata())
}

/// Returns the same with other metadata.
pub(crate) fn with_metadata(memory: &Memory, metadata: &[String]) -> Vec<Passage> {
    let marks = document::marks_of_origin(memory.source_path(), memory.is_tool_output());
    of_text(&memory.content, metadata, &marks, memory.updated_at)
}

/// Returns the passages that the index keeps of a text that was stored at `stored_at`, before
/// any model has embedded it. Metadata and [marks of origin](document::marks_of_origin) go into
/// the terms of the passages, but not into the model's input.
pub(crate) fn of_text(
    content: &str,
    metadata: &[String],
    marks: &[String],
    stored_at: Timestamp,
) -> Vec<Passage> {
    let stored_on = dates::day(stored_at.microseconds());
    let of = |range: std::ops::Range<usize>| {
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
    passages(content).into_iter().map(of).collect()
}
