//! Finds text that a person marked as private.

use std::ops::Range;

use crate::{PRIVATE, PrivateMarks, RemovedRange, joined};

/// The mark before private text, in any case.
pub const BEGIN: &str = "<private>";
const END: &str = "</private>";

/// Returns the cuts of private text by the rules of [`PrivateMarks`]; in the last pass, one cut
/// from the first mark to the end.
pub fn cuts(text: &str, marks: PrivateMarks, is_last_pass: bool) -> Vec<RemovedRange> {
    let lower = text.to_ascii_lowercase();
    let in_code = if marks == PrivateMarks::Closed {
        code_spans(text)
    } else {
        Vec::new()
    };
    let is_in_code = |at: usize| {
        let following = in_code.partition_point(|span| span.start <= at);
        following > 0 && in_code[following - 1].contains(&at)
    };
    // The marks without an end so far, and the cuts; nested ones are merged.
    let (mut open, mut cuts): (Vec<usize>, Vec<RemovedRange>) = (Vec::new(), Vec::new());
    let cut = |range: Range<usize>| RemovedRange {
        range,
        kind: PRIVATE,
        is_certain: true,
    };
    for (at, _) in lower.match_indices('<') {
        let rest = &lower[at..];
        let (is_begin, is_end) = (rest.starts_with(BEGIN), rest.starts_with(END));
        if !(is_begin || is_end) || is_in_code(at) {
            continue;
        }
        if is_begin {
            open.push(at);
        } else if let Some(start) = open.pop() {
            cuts.push(cut(start..at + END.len()));
        }
    }
    if marks == PrivateMarks::All && !open.is_empty() {
        let last_empty_line = last_empty_line(text);
        let mut end = 0;
        for start in open {
            if start >= end {
                end = unclosed_end(text, start, last_empty_line);
            }
            cuts.push(cut(start..end));
        }
    }
    let mut cuts = joined(cuts);
    if is_last_pass && let Some(first) = cuts.first_mut() {
        first.range.end = text.len();
        cuts.truncate(1);
    }
    cuts
}

/// Returns the start of the last empty line.
fn last_empty_line(text: &str) -> Option<usize> {
    let mut end = text.len();
    text.split_inclusive('\n').rev().find_map(|line| {
        end -= line.len();
        line.trim().is_empty().then_some(end)
    })
}

/// Returns the end of private text without an end mark: that of its paragraph, or of its line if no
/// empty line follows.
fn unclosed_end(text: &str, start: usize, last_empty_line: Option<usize>) -> usize {
    let rest = &text[start..];
    let has_paragraph_end = last_empty_line.is_some_and(|line| line > start);
    let mut end = start;
    for line in rest.split_inclusive('\n') {
        if !has_paragraph_end {
            return start + line.trim_end_matches(['\n', '\r']).len();
        }
        if end > start && line.trim().is_empty() {
            break;
        }
        end += line.len();
    }
    end
}

/// Returns the spans of a text between backticks, in order: within a line, and whole lines between
/// two fences of three backticks.
fn code_spans(text: &str) -> Vec<Range<usize>> {
    let (mut spans, mut fence, mut at) = (Vec::new(), None, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            match fence.take() {
                Some(start) => spans.push(start..at),
                None => fence = Some(at),
            }
        } else {
            let mut ticks = line.match_indices('`').map(|(tick, _)| at + tick);
            while let (Some(start), Some(end)) = (ticks.next(), ticks.next()) {
                spans.push(start..end);
            }
        }
        at += line.len();
    }
    spans.sort_by_key(|span: &Range<usize>| span.start);
    spans.dedup_by(|next, span| {
        let is_within = next.start < span.end;
        span.end = if is_within {
            span.end.max(next.end)
        } else {
            span.end
        };
        is_within
    });
    spans
}
