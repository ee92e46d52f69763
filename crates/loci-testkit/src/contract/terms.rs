//! The contract of required terms, marks and the bound of BM25.

use loci_core::{CandidateQuery, Candidates, Filter, Memory, ModelId, Passage, QueryVector, Term};

use super::MakeStore;
use super::examples::{filter, memory, passage, private, put, reader, replace, with_vector, words};
use super::searching::{add, ask, ids, near};

/// Returns the same passage with these marks.
fn marked(passage: Passage, marks: &[&str]) -> Passage {
    let marks = marks.iter().map(|mark| Term {
        text: (*mark).to_owned(),
        count: 0,
    });
    Passage {
        terms: passage.terms.into_iter().chain(marks).collect(),
        ..passage
    }
}

pub(super) fn required_terms_are_in_the_memory(make: MakeStore<'_>) {
    let store = make();
    let west = |words: &str, steps: i8| with_vector(passage(words), &[-steps, 0]);
    add(&*store, "apart", vec![west("cat", 127), west("dog", 127)]);
    add(
        &*store,
        "both",
        vec![
            west("fish fish", 90),
            marked(west("cat dog tree", 80), &["@day"]),
        ],
    );
    add(&*store, "cat", vec![west("cat", 100)]);
    add(&*store, "none", Vec::new());
    let vector = QueryVector {
        model: ModelId::new("test"),
        values: vec![-1.0, 0.0],
    };
    let filter = filter();
    let all = CandidateQuery {
        vector: Some(&vector),
        ..CandidateQuery::of(&filter, 10)
    };
    for (terms, required, limit, expected) in [
        (&["cat"][..], &[][..], 10, &["apart", "both", "cat"][..]),
        (&["cat"], &["cat"], 10, &["apart", "both", "cat"]),
        (&["cat"], &["dog", "cat"], 10, &["apart", "both"]),
        (&["cat"], &["dog", "fish"], 10, &["both"]),
        (&["cat"], &["dog", "absent"], 10, &[]),
        (&["cat"], &[], 1, &["apart"]),
        (&["cat"], &["tree"], 1, &["both"]),
        (&["cat", "fish"], &["@day", "tree"], 1, &["both"]),
        (&["cat", "fish"], &["@day", "fish"], 10, &["both"]),
        (&["absent"], &["tree"], 10, &["both"]),
        (&[], &["cat"], 10, &["apart", "both", "cat"]),
        (&[], &["cat"], 2, &["apart", "both"]),
    ] {
        let (terms, required) = (words(terms), words(required));
        let query = CandidateQuery {
            terms: &terms,
            required: &required,
            limit,
            ..CandidateQuery::of(&filter, 0)
        };
        let found = ask(&*store, &query);
        assert_eq!(ids(&found), expected, "{query:?}");
        let free = ask(
            &*store,
            &CandidateQuery {
                required: &[],
                limit: 10,
                ..query.clone()
            },
        );
        for hit in &found.hits {
            let same = free.hits.iter().find(|other| other.id == hit.id);
            near(hit.bm25, same.map_or(0.0, |same| same.bm25));
        }
        near(found.bm25_bound, free.bm25_bound);
        assert_eq!(found.passages, 5, "the rule changes no statistics");
    }
    for (required, limit, expected) in [
        (&[][..], 1, &["apart"][..]),
        (&["cat"], 2, &["apart", "both", "cat"]),
        (&["dog"], 10, &["apart", "both"]),
        (&["tree", "cat"], 1, &["both"]),
        (&["@day"], 1, &["both"]),
        (&["absent"], 1, &[]),
    ] {
        let found = ask(
            &*store,
            &CandidateQuery {
                required: &words(required),
                limit,
                ..all.clone()
            },
        );
        assert_eq!(ids(&found), expected, "{required:?}");
        assert_eq!((found.passages, found.passages_without_vector), (5, 0));
    }
    let (terms, required) = (words(&["fish"]), words(&["tree"]));
    let found = ask(
        &*store,
        &CandidateQuery {
            terms: &terms,
            required: &required,
            ..CandidateQuery::of(&filter, 1)
        },
    );
    assert_eq!(
        found.hits[0].passage, 0,
        "the best passage need not be the one with all required terms"
    );
}

pub(super) fn marks_are_named_and_score_nothing(make: MakeStore<'_>) {
    let store = make();
    let passages = vec![
        marked(passage("cat"), &["@ann", "@day"]),
        marked(passage("dog"), &["@time"]),
    ];
    add(&*store, "a", passages);
    add(&*store, "b", vec![passage("cat")]);
    let filter = filter();
    let marks_of = |terms: &[&str], marks: &[&str]| -> Candidates {
        let query = CandidateQuery {
            terms: &words(terms),
            marks: &words(marks),
            ..CandidateQuery::of(&filter, 10)
        };
        ask(&*store, &query)
    };
    let found = marks_of(&["cat"], &["@time", "@never", "dog", "cat", "@day"]);
    assert_eq!(ids(&found), ["a", "b"]);
    assert_eq!(
        (found.hits[0].marks, found.hits[1].marks),
        (0b1_1101, 0b0_1000)
    );
    // Three passages of one word each, two with the word: marks do not add to the length.
    let idf = (1.0_f32 + 1.5 / 2.5).ln();
    near(found.hits[0].bm25, idf);
    near(found.hits[1].bm25, idf);
    assert_eq!(marks_of(&["cat"], &[]).hits[0].marks, 0);
    assert_eq!(ids(&marks_of(&[], &["cat", "@day"])), Vec::<String>::new());
    assert_eq!(
        ids(&marks_of(&["@day"], &["@day"])),
        Vec::<String>::new(),
        "a mark scores nothing"
    );
    let mut many: Vec<String> = (0..63).map(|number| format!("@{number}")).collect();
    many.push("@ann".to_owned());
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(marks_of(&["cat"], &many).hits[0].marks, 1 << 63);
    let changed = Memory {
        revision: 2,
        ..memory("a")
    };
    store
        .commit(replace(
            &changed,
            Some(vec![marked(passage("cat"), &["@time"])]),
        ))
        .expect("the commit succeeds");
    assert_eq!(marks_of(&["cat"], &["@time", "@day"]).hits[0].marks, 0b01);
}

pub(super) fn the_bound_counts_every_term(make: MakeStore<'_>) {
    let store = make();
    let bob = Filter {
        reader: reader(Some("bob")),
        ..filter()
    };
    let bound = |filter: &Filter, terms: &[&str]| {
        ask(
            &*store,
            &CandidateQuery {
                terms: &words(terms),
                ..CandidateQuery::of(filter, 10)
            },
        )
        .bm25_bound
    };
    let part = |passages: f32, containing: f32| {
        1.9 * (1.0 + (passages - containing + 0.5) / (containing + 0.5)).ln()
    };
    near(bound(&filter(), &["cat"]), part(0.0, 0.0));
    let many = Passage {
        terms: vec![Term {
            text: "cat".to_owned(),
            count: 1_000_000,
        }],
        ..passage("cat")
    };
    add(&*store, "many", vec![many, passage("dog")]);
    add(&*store, "dog", vec![passage("dog tree")]);
    let hidden = private("ann", memory("hidden"));
    store
        .commit(put(&hidden, vec![passage("cat")]))
        .expect("the commit succeeds");
    near(bound(&filter(), &[]), 0.0);
    near(
        bound(&filter(), &["cat", "dog", "absent"]),
        part(4.0, 2.0) + part(4.0, 2.0) + part(4.0, 0.0),
    );
    near(
        bound(&bob, &["absent", "cat"]),
        part(3.0, 0.0) + part(3.0, 1.0),
    );
    let best = ask(
        &*store,
        &CandidateQuery {
            terms: &words(&["cat"]),
            ..CandidateQuery::of(&bob, 1)
        },
    );
    assert!(best.hits[0].bm25 < best.bm25_bound);
    near(best.hits[0].bm25, best.bm25_bound);
}
