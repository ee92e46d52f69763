//! Checks that the candidates of a store equal the naive one's. Scores may differ by rounding, so
//! either of two near ties at the limit may be returned, with its neighbours.

use std::collections::BTreeSet;

use loci_core::{Candidate, CandidateQuery, Candidates};

use crate::NaiveStore;
use crate::naive_search::{self, Scored};
use crate::naive_store::State;

const TOLERANCE: f32 = 1e-4;

/// Checks the candidates of another store that has the same memories as the naive one.
pub(super) fn check_candidates(naive: &NaiveStore, query: &CandidateQuery<'_>, found: &Candidates) {
    let state = naive.state();
    let expected = naive_search::candidates(&state, query);
    assert_eq!(found.passages, expected.passages, "{query:?}");
    assert_eq!(
        found.passages_without_vector, expected.passages_without_vector,
        "{query:?}"
    );
    assert!(
        are_near(found.bm25_bound, expected.bm25_bound),
        "{found:?} {expected:?} for {query:?}"
    );
    check_hits(&naive_search::scored(&state, query), query, found);
    check_threads(&state, query, found);
}

/// The scores around the limit of a list.
struct Cut {
    /// The last score within the limit; infinity without any.
    last: f32,
    /// The first score beyond the limit; minus infinity without any.
    next: f32,
}

impl Cut {
    fn of(scores: impl Iterator<Item = f32>, limit: usize) -> Self {
        let mut scores: Vec<f32> = scores.collect();
        scores.sort_by(|left, right| right.total_cmp(left));
        let next = scores.get(limit).copied().unwrap_or(f32::NEG_INFINITY);
        scores.truncate(limit);
        Cut {
            last: scores.last().copied().unwrap_or(f32::INFINITY),
            next,
        }
    }

    fn may_have(&self, score: f32) -> bool {
        score >= self.last - TOLERANCE
    }

    fn must_have(&self, score: f32) -> bool {
        score > self.next + TOLERANCE
    }
}

/// The best candidates by words and by meaning.
struct Tops<'a> {
    query: &'a CandidateQuery<'a>,
    words: Cut,
    meaning: Cut,
}

impl<'a> Tops<'a> {
    fn of(scored: &[Scored<'_>], query: &'a CandidateQuery<'a>) -> Self {
        let complete = || {
            scored
                .iter()
                .filter(|scored| scored.is_complete)
                .map(|scored| &scored.candidate)
        };
        Tops {
            query,
            words: Cut::of(
                complete().filter_map(|candidate| naive_search::by_words(query, candidate)),
                query.limit,
            ),
            meaning: Cut::of(
                complete().filter_map(|candidate| candidate.cosine),
                query.limit,
            ),
        }
    }

    fn have(&self, scored: &Scored<'_>, cut: impl Fn(&Cut, f32) -> bool) -> bool {
        let by_words = naive_search::by_words(self.query, &scored.candidate)
            .is_some_and(|bm25| cut(&self.words, bm25));
        let by_meaning = scored
            .candidate
            .cosine
            .is_some_and(|cosine| cut(&self.meaning, cosine));
        scored.is_complete && (by_words || by_meaning)
    }
}

fn check_hits(all: &[Scored<'_>], query: &CandidateQuery<'_>, found: &Candidates) {
    let tops = Tops::of(all, query);
    let is_found = |scored: &Scored<'_>| found.hits.iter().any(|hit| hit.id == scored.candidate.id);
    let come_along = |left: &Scored<'_>, right: &Scored<'_>| {
        query.with_context && naive_search::are_neighbours(left.memory, right.memory)
    };
    let certain: Vec<_> = all
        .iter()
        .filter(|scored| tops.have(scored, Cut::must_have))
        .collect();
    for scored in all {
        let is_certain = certain
            .iter()
            .any(|top| top.memory.id == scored.memory.id || come_along(top, scored));
        assert!(
            !is_certain || is_found(scored),
            "{:?} is missing for {query:?}",
            scored.candidate
        );
    }
    let possible: Vec<_> = all
        .iter()
        .filter(|scored| tops.have(scored, Cut::may_have) && is_found(scored))
        .collect();
    for hit in &found.hits {
        let expected = all.iter().find(|scored| scored.candidate.id == hit.id);
        let expected = expected.unwrap_or_else(|| panic!("{hit:?} is no candidate for {query:?}"));
        let is_possible = possible
            .iter()
            .any(|top| top.memory.id == hit.id || come_along(top, expected));
        assert!(is_possible, "{hit:?} is beyond the limit of {query:?}");
        check_hit(hit, expected);
    }
    let ids: BTreeSet<_> = found.hits.iter().map(|hit| &hit.id).collect();
    assert_eq!(ids.len(), found.hits.len(), "a memory is there twice");
    assert!(query.with_context || found.hits.len() <= query.limit.saturating_mul(2));
}

fn check_hit(hit: &Candidate, scored: &Scored<'_>) {
    let expected = &scored.candidate;
    let Candidate {
        bm25,
        matched,
        cosine,
        passage,
        place_in_thread,
        ..
    } = *hit;
    assert_eq!(
        *hit,
        Candidate {
            bm25,
            matched,
            cosine,
            passage,
            place_in_thread,
            ..expected.clone()
        }
    );
    assert!(are_near(bm25, expected.bm25), "{hit:?} {expected:?}");
    assert!(are_near(matched, expected.matched), "{hit:?} {expected:?}");
    assert_eq!(cosine.is_some(), expected.cosine.is_some());
    let Some(chosen) = scored.passages.get(passage as usize) else {
        assert!(
            scored.passages.is_empty() && passage == 0,
            "{hit:?} names no passage"
        );
        return;
    };
    match expected.cosine {
        Some(expected) => {
            assert!(
                cosine.is_some_and(|cosine| are_near(cosine, expected)),
                "{hit:?} {expected:?}"
            );
            assert!(
                chosen
                    .cosine
                    .is_some_and(|chosen| are_near(chosen, expected)),
                "{hit:?}"
            );
        }
        None => assert!(are_near(chosen.bm25, expected.bm25), "{hit:?}"),
    }
}

/// Checks the threads, whose order, and thus their indexes, may differ from that of the naive
/// store.
fn check_threads(state: &State, query: &CandidateQuery<'_>, found: &Candidates) {
    let unplaced = found.hits.iter().map(|hit| Candidate {
        place_in_thread: None,
        ..hit.clone()
    });
    let mut placed: Vec<_> = unplaced.collect();
    let threads = naive_search::place_in_threads(state, query, &mut placed);
    assert_eq!(
        found.threads.len(),
        threads.len(),
        "{found:?} for {query:?}"
    );
    let mut pairs = BTreeSet::new();
    for (hit, expected) in found.hits.iter().zip(&placed) {
        let (place, expected) = (hit.place_in_thread, expected.place_in_thread);
        assert_eq!(
            place.map(|place| place.position),
            expected.map(|place| place.position),
            "{hit:?}"
        );
        pairs.extend(
            place
                .zip(expected)
                .map(|(place, expected)| (place.thread, expected.thread)),
        );
    }
    let of_store: BTreeSet<_> = pairs.iter().map(|(thread, _)| thread).collect();
    assert_eq!(
        (pairs.len(), of_store.len()),
        (threads.len(), threads.len()),
        "{found:?} mixes threads"
    );
    for (thread, expected) in pairs {
        let (scored, expected) = (found.threads[thread], threads[expected]);
        assert!(
            are_near(scored.bm25, expected.bm25),
            "a thread scores {scored:?}, not {expected:?}, for {query:?}"
        );
        assert_eq!(scored.members, expected.members, "for {query:?}");
    }
}

fn are_near(left: f32, right: f32) -> bool {
    (left - right).abs() < TOLERANCE
}
