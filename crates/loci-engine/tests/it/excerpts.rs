//! Tests of excerpts of texts that are too long to be shown whole.

use loci_core::TokenCounter;
use loci_text::analysis::query_terms;

use super::*;

const FILLER: &str = "The quick brown fox jumps over the lazy dog near the river bank today.\n\n";

/// Counts two tokens for each character, where the estimate is a quarter.
#[derive(Debug)]
struct Expensive;

impl TokenCounter for Expensive {
    fn count(&self, text: &str) -> usize {
        2 * text.chars().count()
    }
}

#[test]
fn a_short_text_is_whole_and_a_long_one_shows_what_answers() {
    let engine = engine();
    let whole = engine.budgets().excerpt(FILLER, &[], None, 18);
    assert_eq!(
        (&*whole.text, whole.is_whole, whole.tokens),
        (FILLER, true, 18)
    );
    let content = format!(
        "{}The safe is blue.\n\n{}",
        FILLER.repeat(10_000),
        FILLER.repeat(4_000)
    );
    let excerpt = engine.budgets().excerpt(
        &content,
        &query_terms("which colour has the safe?"),
        None,
        25,
    );
    assert_eq!(
        (&*excerpt.text, excerpt.is_whole),
        ("…\n\nThe safe is blue.\n\n…", false)
    );
}

#[test]
fn what_has_more_tokens_than_estimated_is_made_shorter() {
    let engine = engine().with_token_counter(Arc::new(Expensive));
    let content = FILLER.repeat(1_000);
    for tokens_max in [60, 100, 1_000, 9_999] {
        let excerpt = engine
            .budgets()
            .excerpt(&content, &query_terms("fox"), None, tokens_max);
        assert!(
            !excerpt.is_whole && (1..=tokens_max).contains(&excerpt.tokens),
            "{excerpt:?} of {tokens_max}"
        );
        assert_eq!(excerpt.tokens, 2 * excerpt.text.chars().count());
    }
}

/// Sums the bytes of the texts whose tokens it counts.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl TokenCounter for Counting {
    fn count(&self, text: &str) -> usize {
        self.0.fetch_add(text.len() as u64, Ordering::Relaxed);
        text.len().div_ceil(4)
    }
}

/// Twelve texts of a megabyte: a reply contains a part of each, and only a part of each is counted.
#[test]
fn megabytes_are_shown_in_part_and_never_counted_whole() {
    const BUDGET: usize = 25_000;
    let counter = Arc::new(Counting::default());
    let engine = bench_with(Arc::new(HashingEmbedder::default()), SearchMode::Words).engine;
    let engine = engine.with_token_counter(counter.clone());
    let local = Caller::local();
    let filler = FILLER.repeat(limits::CONTENT_BYTES_MAX / FILLER.len() - 10);
    for number in 0..12 {
        let content = format!(
            "{}The honey of hive {number} is sold.\n\n{}",
            &filler, FILLER
        );
        engine
            .system(&local)
            .memories()
            .remember(fact(&content, Visibility::Common))
            .unwrap();
    }
    let request = Recall {
        limit: 12,
        ..question("which honey is sold?")
    };
    let recalled = engine
        .system(&local)
        .search()
        .recall_within(&request, None)
        .unwrap();
    assert_eq!((recalled.hits.len(), recalled.left_out), (12, 0));
    let shown: usize = recalled
        .hits
        .iter()
        .map(|hit| hit.memory.content.len())
        .sum();
    assert!(
        recalled
            .hits
            .iter()
            .all(|hit| hit.memory.content.contains("is sold.") && hit.length.is_some())
    );
    assert!(
        shown <= 4 * BUDGET && counter.0.load(Ordering::Relaxed) <= 8 * BUDGET as u64,
        "{shown} {counter:?}"
    );

    let listed = engine
        .system(&local)
        .listings()
        .list_within(everything(1_000), None)
        .unwrap();
    assert_eq!((listed.shown.len(), listed.left_out), (12, 0));
    let few = engine
        .system(&local)
        .listings()
        .list_within(everything(1_000), Some(1_000))
        .unwrap();
    assert_eq!((few.shown.len() + few.left_out, few.shown.len()), (12, 3));
    let rest = engine
        .system(&local)
        .listings()
        .list_within(
            List {
                offset: 3,
                ..everything(1_000)
            },
            Some(1_000),
        )
        .unwrap();
    assert_eq!(
        (
            rest.shown.len() + rest.left_out,
            rest.shown[0].memory.id == listed.shown[3].memory.id
        ),
        (9, true)
    );
}

/// With any budget, something is shown, the rest is counted, and the budget is not exceeded.
#[test]
fn the_first_result_is_always_shown() {
    let engine = bench_with(Arc::new(HashingEmbedder::default()), SearchMode::Words).engine;
    let local = Caller::local();
    for number in 0..40 {
        let content = format!("The honey of hive {number}.\n\n{}", FILLER.repeat(number));
        engine
            .system(&local)
            .memories()
            .remember(fact(&content, Visibility::Common))
            .unwrap();
    }
    let mut before = 0;
    for tokens in [1, 100, 400, 1_000, 3_000, 10_000, 200_000, usize::MAX] {
        let request = Recall {
            limit: 40,
            ..question("honey")
        };
        let recalled = engine
            .system(&local)
            .search()
            .recall_within(&request, Some(tokens))
            .unwrap();
        let hits = recalled.hits.len();
        assert!(
            hits >= 1.max(before) && hits + recalled.left_out == 40,
            "{tokens}: {hits}"
        );
        let shown: usize = recalled
            .hits
            .iter()
            .map(|hit| engine.budgets().count_tokens(&hit.memory.content))
            .sum();
        assert!(shown <= tokens.max(200), "{shown} of {tokens}");
        before = hits;
    }
    assert_eq!(before, 40);
    let whole = engine
        .system(&local)
        .search()
        .recall(&Recall {
            limit: 40,
            ..question("honey")
        })
        .unwrap();
    assert!(whole.left_out == 0 && whole.hits.iter().all(|hit| hit.length.is_none()));
}

#[test]
fn pages_are_the_text_word_for_word() {
    let engine = engine();
    let texts = [
        String::new(),
        "short".to_owned(),
        FILLER.repeat(300),
        "x".repeat(9_000),
        "日本語。".repeat(2_000),
    ];
    for text in texts {
        let memory = engine
            .system(&Caller::local())
            .memories()
            .remember(fact(&format!("-{text}"), Visibility::Common))
            .unwrap()
            .memory;
        for tokens in [1, 500, 25_000] {
            let (mut read, mut offset, mut pages) = (String::new(), Some(0), 0);
            while let Some(from) = offset {
                let page = engine
                    .budgets()
                    .text_page(memory.clone(), from, Some(tokens))
                    .unwrap();
                assert!(engine.budgets().count_tokens(&page.memory.content) <= tokens.max(200));
                assert_eq!(page.length.is_some(), page.memory.content != memory.content);
                read += &page.memory.content;
                offset = page.next_offset;
                pages += 1;
            }
            assert_eq!(
                (read == memory.content, pages == 1),
                (true, memory.content.len() < 100 || tokens == 25_000)
            );
        }
        let length = memory.content.chars().count();
        let beyond = engine
            .budgets()
            .text_page(memory, length, None)
            .unwrap_err();
        assert_eq!(
            (beyond.code, beyond.argument.as_deref()),
            (ErrorCode::InvalidArgument, Some("offset"))
        );
    }
}

/// Returns a section of code with 80 short functions, of which one matches the question.
fn section(asked: usize) -> String {
    let function = |number: usize| {
        let body = if number == asked {
            "the tide is told by the moon"
        } else {
            "nothing of note"
        };
        format!(
            "def part_{number}():\n    \"\"\"{body}, in part {number}\"\"\"\n    return {number}\n\n\n"
        )
    };
    (0..80).map(function).collect()
}

#[test]
fn a_result_of_a_file_is_the_part_that_answers() {
    let mine = sources::Mine::new();
    let content = section(60);
    let mut read = mine.whole("/p/sea/tides.py", &[(content.as_str(), "src")]);
    for part in &mut read.parts {
        part.attributes.insert(
            loci_core::LINES.to_owned(),
            format!("101-{}", 100 + content.lines().count()),
        );
    }
    mine.file(read).unwrap();
    // The same text, filed by hand, is shown whole if there is room.
    mine.engine
        .system(&mine.ann)
        .memories()
        .remember(fact(&format!("{content}by hand"), Visibility::Common))
        .unwrap();
    let request = Recall {
        limit: 2,
        ..question("how is the tide told by the moon?")
    };
    let hits = mine
        .engine
        .system(&mine.ann)
        .search()
        .recall_within(&request, None)
        .unwrap()
        .hits;
    let (of_file, by_hand): (Vec<_>, Vec<_>) =
        hits.iter().partition(|hit| hit.memory.thread.is_some());
    assert_eq!(
        (by_hand[0].length, by_hand[0].memory.content.len()),
        (None, content.len() + 7)
    );
    let Memory {
        content: shown,
        attributes,
        ..
    } = &of_file[0].memory;
    // The first result has the most room, 500 tokens.
    assert!(
        shown.contains("the tide is told by the moon") && shown.len() * 2 < content.len(),
        "{} of {}",
        shown.len(),
        content.len()
    );
    assert_eq!(of_file[0].length, Some(content.chars().count()));
    // Verbatim, and its lines are the file's.
    let lines: Vec<&str> = content.lines().collect();
    let (first, last) = attributes[loci_core::LINES].split_once('-').unwrap();
    let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
    assert_eq!(
        lines[first - 101..last - 100].join("\n"),
        shown.trim_matches(['\u{2026}', '\n'])
    );
    // A read by id returns the whole text.
    let whole = mine
        .engine
        .system(&mine.ann)
        .memories()
        .show(&of_file[0].memory.id)
        .unwrap();
    assert_eq!(whole.content, content);
}
