//! Tests of searches whose best candidates a model reads together with the question.

use std::sync::Mutex;

use loci_core::Reranker;
use loci_engine::PageRequest;

use super::*;

/// Prefers texts that end with the greatest number. Keeps what it read last.
#[derive(Default)]
struct GreatestNumber {
    read: Mutex<Vec<String>>,
    /// The score in the place of that of the text that it reads first.
    first_score: Option<f32>,
}

impl Reranker for GreatestNumber {
    fn scores(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        assert!(query.starts_with("tea"), "{query}");
        *self.read.lock().unwrap() = texts.iter().map(|&text| text.to_owned()).collect();
        let number = |text: &&str| {
            let last = text.split_whitespace().last().unwrap();
            last.parse().unwrap_or(0.0)
        };
        let mut scores: Vec<f32> = texts.iter().map(number).collect();
        if let Some(score) = self.first_score {
            scores[0] = score;
        }
        Ok(scores)
    }
}

/// Fails always.
struct Absent;

impl Reranker for Absent {
    fn scores(&self, _: &str, _: &[&str]) -> Result<Vec<f32>> {
        Err(Error::unavailable("the folder is empty"))
    }
}

/// An engine with 40 memories about tea, of which the later ones have more other words.
fn with_tea(reranker: Option<Arc<dyn Reranker>>) -> Engine {
    let mut engine = engine();
    if let Some(reranker) = reranker {
        engine = engine.with_reranker(reranker);
    }
    let local = Caller::local();
    for number in 0..40 {
        let content = format!("tea {}{number}", "and more ".repeat(number));
        let system = engine.system(&local);
        system
            .memories()
            .remember(Remember::new(content, "fact"))
            .unwrap();
    }
    engine
}

/// Returns the numbers at the end of the results, and why the search was degraded.
fn numbers(engine: &Engine, recall: &Recall<'_>) -> (Vec<usize>, Option<String>) {
    let local = Caller::local();
    let found = engine.system(&local).search().recall(recall).unwrap();
    let number = |memory: &Memory| {
        let last = memory.content.split_whitespace().last().unwrap();
        last.parse().unwrap()
    };
    let hits = found.hits.iter();
    (
        hits.map(|hit| number(&hit.memory)).collect(),
        found.degraded,
    )
}

fn forty() -> Recall<'static> {
    Recall::new("tea", 40, &|signals| signals.relevance)
}

#[test]
fn the_thirty_best_are_in_the_order_of_the_reranker_and_the_others_as_they_were() {
    let (before, _) = numbers(&with_tea(None), &forty());
    assert_eq!(before.len(), 40);
    let reranker = Arc::new(GreatestNumber::default());
    let engine = with_tea(Some(reranker.clone()));
    let (after, degraded) = numbers(&engine, &forty());
    let mut best = before[..30].to_vec();
    best.sort_unstable_by(|one, other| other.cmp(one));
    assert_eq!(after[..30], best);
    assert_eq!(after[30..], before[30..]);
    assert_eq!(degraded, None);
    let local = Caller::local();
    let hits = engine
        .system(&local)
        .search()
        .recall(&forty())
        .unwrap()
        .hits;
    let ranks: Vec<_> = hits
        .iter()
        .map(|hit| hit.signals.rank_by_reranker)
        .collect();
    let expected = (1..=40).map(|rank| (rank <= 30).then_some(rank));
    assert_eq!(ranks, expected.collect::<Vec<_>>());
    // Relevances stay on their scale, and fall.
    let relevances: Vec<f64> = hits.iter().map(|hit| hit.signals.relevance).collect();
    assert!(relevances.is_sorted_by(|one, other| one >= other));
    assert!(
        relevances
            .iter()
            .all(|relevance| (0.0..=1.0).contains(relevance))
    );
    // The reranker read whole texts, as they are short.
    let read = reranker.read.lock().unwrap();
    assert_eq!(read.len(), 30);
    assert!(read.iter().all(|text| text.starts_with("tea ")), "{read:?}");
}

#[test]
fn a_request_may_do_without() {
    let (before, _) = numbers(&with_tea(None), &forty());
    let plain = Recall {
        is_reranked: false,
        ..forty()
    };
    let engine = with_tea(Some(Arc::new(Absent)));
    assert_eq!(numbers(&engine, &plain), (before, None));
}

#[test]
fn a_reranker_that_fails_leaves_the_order_and_says_so() {
    let (before, _) = numbers(&with_tea(None), &forty());
    let not_finite = GreatestNumber {
        first_score: Some(f32::NAN),
        ..GreatestNumber::default()
    };
    let rows: [(Arc<dyn Reranker>, &str); 2] = [
        (Arc::new(Absent), "not reranked: the folder is empty"),
        (Arc::new(not_finite), "not reranked: the model of"),
    ];
    for (reranker, expected) in rows {
        let (after, degraded) = numbers(&with_tea(Some(reranker)), &forty());
        assert_eq!(after, before);
        assert!(degraded.unwrap().starts_with(expected));
    }
}

/// Pages show each result once, also where the reranker turns the order over.
#[test]
fn pages_go_on_in_the_same_order() {
    let engine = with_tea(Some(Arc::new(GreatestNumber::default())));
    let (whole, _) = numbers(&engine, &forty());
    let local = Caller::local();
    let (mut paged, mut cursor) = (Vec::new(), None);
    loop {
        let page = engine
            .system(&local)
            .search()
            .page(&PageRequest {
                query: "tea",
                with_forgotten: false,
                limit: 7,
                cursor: cursor.as_deref(),
                budget_tokens: Some(100_000),
                as_of: None,
            })
            .unwrap();
        let last = |memory: &Memory| memory.content.rsplit(' ').next().unwrap().to_owned();
        paged.extend(
            page.hits
                .iter()
                .map(|hit| last(&hit.memory).parse::<usize>().unwrap()),
        );
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(paged, whole);
}

/// Of a long text the passage that was found is read, after the title.
#[test]
fn of_a_long_text_the_passage_that_was_found_is_read() {
    let reranker = Arc::new(GreatestNumber::default());
    let engine = engine().with_reranker(reranker.clone());
    let local = Caller::local();
    let long = format!(
        "{}\n\ntea at four 1\n\n{}",
        "water. ".repeat(800),
        "bread. ".repeat(800)
    );
    for content in [long, "tea 2".to_owned()] {
        let system = engine.system(&local);
        let new = Remember::new(content, "fact");
        system.memories().remember(new).unwrap();
    }
    *reranker.read.lock().unwrap() = Vec::new();
    let request = question("tea");
    engine.system(&local).search().recall(&request).unwrap();
    let read = reranker.read.lock().unwrap();
    assert_eq!(read.len(), 2, "{read:?}");
    let longest = read.iter().map(String::len).max().unwrap();
    assert!(longest < 4_000, "{longest} bytes of 11,000 were read");
    assert!(
        read.iter().any(|text| text.contains("tea at four")),
        "{read:?}"
    );
}
