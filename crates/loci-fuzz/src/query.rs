//! Analysis of texts and questions: ranges at the borders of characters that are together the text,
//! and terms that do not depend on what stands around them.

use std::collections::BTreeSet;

use loci_core::limits::CONTENT_BYTES_MAX;
use loci_text::passages::passages;
use loci_text::query::Query;
use loci_text::{analysis, dates, document};

use crate::text;

pub(crate) fn run(data: &[u8]) {
    let Some(text) = text(data).filter(|text| text.len() <= CONTENT_BYTES_MAX) else {
        return;
    };
    let today = dates::day(1_790_000_000_000_000);

    for (start, word) in analysis::words(text) {
        assert_eq!(text.get(start..start + word.len()), Some(word));
    }
    assert!(analysis::sentences(text).all(|sentence| text.contains(sentence)));
    let ranges = passages(text);
    let mut covered = 0;
    for range in &ranges {
        assert!(text.get(range.clone()).is_some(), "{range:?}");
        assert!(range.start <= covered, "nothing lies between two passages");
        // One may be no more than the end of the one before, if what comes next is long.
        assert!(range.end >= covered, "none goes back");
        covered = range.end;
        let terms = document::terms(text, range.clone(), &[], today);
        let distinct: BTreeSet<&String> = terms.iter().map(|(term, _)| term).collect();
        assert_eq!(distinct.len(), terms.len(), "each term once");
        let _ = document::embedded_text(text, range.clone());
    }
    assert_eq!(covered, if ranges.is_empty() { 0 } else { text.len() });

    let query = Query::parse(text, today);
    assert_eq!(query.terms, analysis::query_terms(text));
    // A quotation is in the text that quotes it.
    for phrase in &query.phrases {
        assert!(phrase.is_in(text), "{:?}", phrase.text());
    }
    for expression in dates::expressions(text, today) {
        let _ = expression;
    }
}
