//! Tests of bundles for phases of work.

use std::collections::{BTreeMap, BTreeSet};

use loci_core::{Batch, Change, Delivery, Expect, Store, TokenCounter};
use loci_engine::tokens::EstimatedTokens;
use loci_engine::{Bundle, BundleMemory, BundleRequest, Phase, Phases, short_id, shown_title};
use loci_testkit::Random;

use super::*;

/// Counts roughly like a tokenizer: words, with the space before them, in pieces of four letters,
/// digits by threes, and everything else by runs of one kind, so that two texts together have fewer
/// tokens than each on its own.
struct Pieces;

impl TokenCounter for Pieces {
    fn count(&self, text: &str) -> usize {
        let kind = |character: char| match character {
            ' ' => 0,
            character if character.is_alphabetic() => 1,
            character if character.is_numeric() => 2,
            '\n' => 3,
            _ => 4,
        };
        let characters: Vec<char> = text.chars().collect();
        let run_tokens = |run: &[char]| match kind(run[0]) {
            // One space belongs to the word after it.
            0 => usize::from(run.len() > 1),
            1 => run.len().div_ceil(4),
            2 => run.len().div_ceil(3),
            _ => 1,
        };
        characters
            .chunk_by(|left, right| kind(*left) == kind(*right))
            .map(run_tokens)
            .sum()
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn bundle(engine: &Engine, phases: &[&str], budget_tokens: usize) -> Bundle {
    let phases = names(phases);
    engine
        .system(&Caller::local())
        .context()
        .bundle(&BundleRequest {
            phases: &phases,
            budget_tokens,
        })
        .unwrap()
}

fn phases() -> Phases {
    let phase = |query: &str, tags: &[&str]| Phase {
        query: query.to_owned(),
        tags: names(tags),
        kinds: names(&["decision"]),
    };
    Phases(BTreeMap::from([
        ("work".to_owned(), phase("kettle stove", &["Cooking"])),
        ("review".to_owned(), phase("invoice ledger", &["money"])),
    ]))
}

fn always(content: &str) -> Remember {
    Remember {
        delivery: Delivery::Bootstrap,
        ..fact(content, Visibility::Common)
    }
}

/// Returns a Markdown text with the ends of the ids behind the titles of these memories, as in a
/// bundle.
fn with_ids(markdown: &str, included: &[BundleMemory]) -> String {
    included.iter().fold(
        markdown.to_owned(),
        |markdown, BundleMemory { id, title, .. }| {
            markdown.replace(
                &format!("## {title}\n"),
                &format!("## {title} [{}]\n", short_id(id.as_str())),
            )
        },
    )
}

fn titles(bundle: &Bundle) -> Vec<&str> {
    bundle
        .included
        .iter()
        .map(|bundled| bundled.title.as_str())
        .collect()
}

#[test]
fn what_every_session_needs_comes_first_and_then_what_fits_the_phases() {
    let Bench { engine, clock, .. } = bench();
    let engine = engine.with_phases(phases());
    let local = Caller::local();
    let remember = |request: Remember| {
        clock.advance(1);
        engine
            .system(&local)
            .memories()
            .remember(request)
            .unwrap()
            .memory
    };
    // A memory for every session of one project is one of many here.
    let wing = Remember {
        collection: Some("wing".to_owned()),
        ..always("Speak plainly about the kettle.")
    };
    remember(wing);
    remember(always("Never push to main."));
    remember(always("Be brief."));
    remember(fact(
        "The kettle stands on the stove.\nIt is red.\n",
        Visibility::Common,
    ));
    remember(fact("An invoice goes into the ledger.", Visibility::Common));
    let old = remember(fact("The kettle stands on the floor.", Visibility::Common));
    let new = fact(
        "The kettle is in repair, with the stove.",
        Visibility::Common,
    );
    remember(Remember {
        supersedes: Some(old.id),
        ..new
    });
    let expected = "\
# Always

## Never push to main.

## Be brief.

# work

## The kettle is in repair, with the stove.

## The kettle stands on the stove.

The kettle stands on the stove.
It is red.

## Speak plainly about the kettle.

# review

## An invoice goes into the ledger.
";
    let found = bundle(&engine, &["work", "review", "work"], 4_096);
    assert_eq!(found.markdown, with_ids(expected, &found.included));
    assert_eq!(
        (found.dropped, found.used_tokens),
        (0, EstimatedTokens.count(&found.markdown))
    );
    assert_eq!(found.included.len(), 6);
    assert!(
        found.included[..2]
            .iter()
            .all(|bundled| bundled.score >= 1.0)
    );
    assert_eq!(found.included[5].title, "An invoice goes into the ledger.");
    assert_eq!(found.degraded, None);
}

#[test]
fn a_name_that_is_not_known_is_its_own_query() {
    let engine = engine();
    for content in ["the parser of dates", "tea at four"] {
        engine
            .system(&Caller::local())
            .memories()
            .remember(fact(content, Visibility::Common))
            .unwrap();
    }
    let found = bundle(&engine, &["parser of dates"], 4_096);
    let expected = with_ids(
        "# parser of dates\n\n## the parser of dates\n\n# Less sure\n\n## tea at four\n",
        &found.included,
    );
    assert_eq!(found.markdown, expected, "tea is no matter of it");
}

/// The tags of a phase move the score a quarter of the way to 1, in any case.
#[test]
fn tags_of_the_phase_count() {
    let engine = engine().with_phases(phases());
    let local = Caller::local();
    let score = |tag: &str| {
        let content = "the kettle whistles in the morning";
        let request = Remember {
            tags: vec![tag.to_owned()],
            ..fact(content, Visibility::Common)
        };
        let id = engine
            .system(&local)
            .memories()
            .remember(request)
            .unwrap()
            .memory
            .id;
        // The best one determines the scale.
        engine
            .system(&local)
            .memories()
            .remember(fact("kettle stove", Visibility::Common))
            .unwrap();
        let found = bundle(&engine, &["work"], 4_096).included;
        let score = found.iter().find(|bundled| bundled.id == id).unwrap().score;
        engine.system(&local).memories().forget(&id).unwrap();
        score
    };
    // A tag is also an indexed word, so the other text is as long.
    let (without, with) = (score("Booking"), score("cOOKING"));
    assert!(
        without < 0.9 && (with - (without + (1.0 - without) / 4.0)).abs() < 1e-3,
        "{without} {with}"
    );
}

#[test]
fn forgotten_and_private_memories_are_left_out() {
    let engine = engine().with_phases(phases());
    let ann = caller("ann", &WRITER);
    engine
        .system(&ann)
        .memories()
        .remember(fact("ann's kettle", Visibility::Private))
        .unwrap();
    engine
        .system(&ann)
        .memories()
        .remember(Remember {
            delivery: Delivery::Bootstrap,
            ..fact("ann's rule", Visibility::Private)
        })
        .unwrap();
    let phases = names(&["work"]);
    let request = BundleRequest {
        phases: &phases,
        budget_tokens: 4_096,
    };
    let nothing = Bundle {
        markdown: String::new(),
        used_tokens: 0,
        included: vec![],
        dropped: 0,
        left_out: vec![],
        not_ranked: 0,
        degraded: None,
    };
    assert_eq!(
        engine
            .system(&caller("bob", &WRITER))
            .context()
            .bundle(&request)
            .unwrap(),
        nothing
    );
    assert_eq!(
        engine
            .system(&ann)
            .context()
            .bundle(&request)
            .unwrap()
            .included
            .len(),
        2
    );
}

#[test]
fn phases_have_limits() {
    let engine = engine();
    let many: Vec<String> = (0..17).map(|number| format!("phase {number}")).collect();
    let long = "p".repeat(257);
    let rows: [(Vec<String>, &str); 5] = [
        (Vec::new(), "`phases`"),
        (many.clone(), "`phases`"),
        (names(&["work", " "]), "`phases.1`"),
        (names(&["a\0b"]), "`phases.0`"),
        (names(&[&long]), "`phases.0`"),
    ];
    for (phases, argument) in rows {
        let request = BundleRequest {
            phases: &phases,
            budget_tokens: 10,
        };
        let error = engine
            .system(&Caller::local())
            .context()
            .bundle(&request)
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert!(error.message.starts_with(argument), "{error}");
    }
    let request = BundleRequest {
        phases: &many[..16],
        budget_tokens: usize::MAX,
    };
    assert_eq!(
        engine
            .system(&Caller::local())
            .context()
            .bundle(&request)
            .unwrap()
            .markdown,
        ""
    );
}

/// The least important ones are left out first, and the last line gives their number.
#[test]
fn what_does_not_fit_is_left_out_whole() {
    let engine = engine()
        .with_phases(phases())
        .with_token_counter(Arc::new(Pieces));
    let local = Caller::local();
    engine
        .system(&local)
        .memories()
        .remember(fact("kettle stove", Visibility::Common))
        .unwrap();
    engine
        .system(&local)
        .memories()
        .remember(fact("kettle and pan and cup", Visibility::Common))
        .unwrap();
    let large = format!("kettle stove {}", "kettle stove ".repeat(2_000));
    engine
        .system(&local)
        .memories()
        .remember(fact(&large, Visibility::Common))
        .unwrap();
    let all = bundle(&engine, &["work"], 1_000_000);
    assert_eq!((all.dropped, all.included.len()), (0, 3));
    let of_all = |markdown: &str| with_ids(markdown, &all.included);
    let best = of_all("# work\n\n## kettle stove\n");
    let line = format!("{best}\n_2 more memories did not fit._\n");
    let both = of_all(
        "# work\n\n## kettle stove\n\n## kettle and pan and cup\n\n_1 more memory did not fit._\n",
    );
    let rows = [
        (1, "", 3),
        // Too little for any, however many pieces their ids make.
        (Pieces.count("# work\n\n## kettle stove\n"), "", 3),
        // There is no room for the line about the others.
        (Pieces.count(&best), &best, 2),
        (Pieces.count(&line), &line, 2),
        (Pieces.count(&both), &both, 1),
    ];
    for (budget, expected, dropped) in rows {
        let found = bundle(&engine, &["work"], budget);
        assert_eq!(
            (found.markdown.as_str(), found.dropped),
            (expected, dropped),
            "{budget}"
        );
        assert_eq!(found.used_tokens, Pieces.count(expected));
    }
}

#[test]
fn what_says_nothing_of_the_phase_comes_last_where_there_is_room() {
    let engine = engine().with_phases(phases());
    let local = Caller::local();
    for content in [
        "The otter sleeps.",
        "The kettle stands on the stove.",
        "Bees swarm in May.",
    ] {
        engine
            .system(&local)
            .memories()
            .remember(fact(content, Visibility::Common))
            .unwrap();
    }
    let tagged = Remember {
        tags: names(&["cooking"]),
        ..fact("Wash your hands.", Visibility::Common)
    };
    engine.system(&local).memories().remember(tagged).unwrap();
    let sure = ["The kettle stands on the stove.", "Wash your hands."];
    let all = bundle(&engine, &["work"], 4_096);
    assert_eq!(titles(&all)[..2], sure);
    let less_sure: Vec<bool> = all.included.iter().map(|one| one.is_less_sure).collect();
    assert_eq!(less_sure, [false, false, true, true]);
    assert!(
        all.markdown.contains("\n\n# Less sure\n\n## "),
        "{}",
        all.markdown
    );
    assert_eq!((all.dropped, all.left_out.len(), all.not_ranked), (0, 0, 0));

    // Without room for them they are counted, and named.
    let best = bundle(&engine, &["work"], all.used_tokens - 1);
    let shown = best.included.len();
    assert!(best.dropped > 0 && shown + best.dropped == 4, "{shown}");
    assert_eq!(titles(&best)[..2], sure);
    assert_eq!(best.left_out[0].id, all.included[shown].id);
    assert!(best.markdown.contains(" did not fit"), "{}", best.markdown);
}

/// Eight short notes are far below any budget.
#[test]
fn a_bundle_of_few_notes_has_all() {
    let engine = engine();
    for content in [
        "Prices are whole cents.",
        "The otter sleeps.",
        "Anna owns the release of the shop.",
        "Restart the printer at night.",
        "We meet on Mondays.",
        "The test server is in Oslo.",
        "Bees swarm in May.",
        "Blue is the colour of buttons.",
    ] {
        engine
            .system(&Caller::local())
            .memories()
            .remember(fact(content, Visibility::Common))
            .unwrap();
    }
    for phases in [&["work"][..], &["plan", "bugfix"], &["otters"]] {
        let found = bundle(&engine, phases, 4_096);
        assert_eq!((found.included.len(), found.dropped), (8, 0), "{phases:?}");
    }
}

/// A decision among hundreds of memories that are nearer to the question of the phase.
#[test]
fn a_kind_of_the_phase_is_found_among_many_memories() {
    let engine = engine().with_phases(phases());
    let local = Caller::local();
    let remember = |request: Remember| {
        let memory = engine.system(&local).memories().remember(request).unwrap();
        memory.memory.id
    };
    for number in 0..120 {
        remember(fact(
            &format!("The kettle of house {number} stands on the stove."),
            Visibility::Common,
        ));
    }
    let of_kind = |content: &str, section: Option<&str>, kind: &str| Remember {
        section: section.map(str::to_owned),
        visibility: Visibility::Common,
        ..Remember::new(content, kind)
    };
    let expected = BTreeSet::from([
        remember(of_kind("We chose wool.", None, "decision")),
        remember(of_kind("We chose linen.", Some("Decisions"), "drawer")),
    ]);
    remember(of_kind("We chose felt.", None, "rumour"));
    let found = bundle(&engine, &["work"], 100_000);
    let of_phase = |id: &MemoryId| {
        let found = found.included.iter().find(|one| one.id == *id);
        found.is_some_and(|one| !one.is_less_sure)
    };
    assert!(expected.iter().all(of_phase), "{}", found.markdown);
    assert_eq!(found.dropped, 0);
    assert_eq!(found.not_ranked, 123 - found.included.len() as u64);
    assert!(
        found.markdown.ends_with(&format!(
            "\n\n_{} others were not ranked; a search may find them._\n",
            found.not_ranked
        )),
        "{}",
        found.markdown
    );
}

/// A note that is too long by itself.
#[test]
fn a_long_note_is_there_with_its_best_passages() {
    let engine = engine().with_phases(phases());
    let local = Caller::local();
    let idle = |number: usize| {
        format!(
            "Paragraph {number} is about otters.\nThey swim in the river and sleep on the bank."
        )
    };
    let mut paragraphs: Vec<String> = (0..200).map(idle).collect();
    let answer = "The kettle belongs on the stove.\nIts handle points to the wall.";
    paragraphs[120] = answer.to_owned();
    engine
        .system(&local)
        .memories()
        .remember(fact(&paragraphs.join("\n\n"), Visibility::Common))
        .unwrap();
    engine
        .system(&local)
        .memories()
        .remember(fact(
            "A stove is no place for a kettle without water.",
            Visibility::Common,
        ))
        .unwrap();
    let found = bundle(&engine, &["work"], 600);
    let mut kinds: Vec<(&str, bool)> = found
        .included
        .iter()
        .map(|bundled| (bundled.title.as_str(), bundled.is_excerpt))
        .collect();
    kinds.sort_unstable();
    let expected = [
        ("A stove is no place for a kettle without water.", false),
        ("Paragraph 0 is about otters.", true),
    ];
    assert_eq!((kinds.as_slice(), found.dropped), (expected.as_slice(), 0));
    assert!(
        found.markdown.contains(&format!("\n\n{answer}\n\n")),
        "{}",
        found.markdown
    );
    assert!(
        found
            .markdown
            .contains("]\n\n_Passages of a text of about "),
        "{}",
        found.markdown
    );
    assert!(found.used_tokens <= 600);
    // Its passages leave room for others.
    let passages = found
        .markdown
        .split("_Passages of")
        .nth(1)
        .unwrap()
        .split("\n## ")
        .next()
        .unwrap();
    assert!(EstimatedTokens.count(passages) <= 300, "{passages}");
    // Every paragraph is whole.
    for part in passages
        .split("\n\n")
        .skip(1)
        .map(str::trim)
        .filter(|part| !["", "\u{2026}"].contains(part))
    {
        assert!(
            paragraphs.iter().any(|paragraph| paragraph == part),
            "{part}"
        );
    }
}

#[test]
fn what_did_not_fit_is_named_best_first() {
    let engine = engine().with_phases(phases());
    let local = Caller::local();
    for number in 0..40 {
        let content = format!(
            "The kettle of house {number} stands on the stove. {}",
            "It is red. ".repeat(number)
        );
        engine
            .system(&local)
            .memories()
            .remember(fact(content.trim_end(), Visibility::Common))
            .unwrap();
    }
    let all = bundle(&engine, &["work"], 1_000_000);
    assert_eq!(
        (all.included.len(), all.dropped, all.left_out.len()),
        (40, 0, 0)
    );
    let found = bundle(&engine, &["work"], 1_000);
    let shown = found.included.len();
    assert!(shown > 0 && found.dropped == 40 - shown && found.used_tokens <= 1_000);
    let expected: Vec<_> = all.included[shown..]
        .iter()
        .take(20)
        .map(|bundled| (&bundled.id, &bundled.title))
        .collect();
    let named: Vec<_> = found
        .left_out
        .iter()
        .map(|left_out| (&left_out.id, &left_out.title))
        .collect();
    assert_eq!(named, expected);
    let lines = found
        .markdown
        .split_once(" more memories did not fit; the best of them:_\n\n")
        .unwrap();
    assert!(
        lines.0.ends_with(&format!("_{}", found.dropped)),
        "{}",
        found.markdown
    );
    assert!(
        lines.1.lines().count() > 1 && EstimatedTokens.count(lines.1) <= 100,
        "{}",
        lines.1
    );
    for (line, left_out) in lines.1.lines().zip(&found.left_out) {
        let expected = format!(
            "- {} [{}], about {} tokens",
            left_out.title,
            short_id(left_out.id.as_str()),
            left_out.tokens
        );
        assert_eq!(line, expected);
    }
}

/// Returns a text of any length, with words of the phases more or less often.
fn text(random: &mut Random, number: usize) -> String {
    let words = [
        "kettle",
        "stove",
        "invoice",
        "ledger",
        "of",
        "the",
        "12,345",
        "Überraschung",
        "日本語",
        "\n\n",
        "- a",
        "  ",
    ];
    let length_max = if random.chance(10) { 400 } else { 40 };
    let length = 1 + random.below(length_max);
    let words: Vec<_> = (0..length).map(|_| random.pick(&words)).collect();
    format!("Note {number} {}", words.join(" "))
}

/// Returns the score, 1 above that of a less sure memory with it.
fn rank(bundled: &BundleMemory) -> f64 {
    bundled.score + f64::from(u8::from(!bundled.is_less_sure))
}

#[test]
fn a_bundle_never_has_more_tokens_than_its_budget() {
    for seed in 0..8 {
        let random = &mut Random::new(seed);
        let counter: Arc<dyn TokenCounter> = if seed % 2 == 0 {
            Arc::new(Pieces)
        } else {
            Arc::new(EstimatedTokens)
        };
        let engine = engine()
            .with_phases(phases())
            .with_token_counter(counter.clone());
        let mut memories = BTreeMap::new();
        for number in 0..random.below(60) {
            let text = text(random, number);
            let request = if random.chance(15) {
                always(&text)
            } else {
                fact(&text, Visibility::Common)
            };
            let memory = engine
                .system(&Caller::local())
                .memories()
                .remember(request)
                .unwrap()
                .memory;
            memories.insert(memory.id.clone(), memory);
        }
        let whole = bundle(&engine, &["work", "review"], 1_000_000);
        assert_eq!(whole.dropped, 0, "seed {seed}");
        // The others are not among the best of either phase, or have the text of another one.
        memories.retain(|id, memory| {
            let belongs = whole.included.iter().any(|bundled| bundled.id == *id);
            assert!(
                belongs || memory.delivery != Delivery::Bootstrap,
                "seed {seed}"
            );
            belongs
        });
        let mut budgets: Vec<usize> = (0..40)
            .map(|_| 1 + random.below(whole.used_tokens + 50))
            .collect();
        budgets.extend([whole.used_tokens.max(2) - 1, whole.used_tokens.max(1)]);
        let scores: BTreeMap<_, _> = whole
            .included
            .iter()
            .map(|bundled| (&bundled.id, rank(bundled)))
            .collect();
        for budget in budgets {
            let found = bundle(&engine, &["work", "review"], budget);
            assert!(
                found.used_tokens <= budget,
                "seed {seed}: {} of {budget}",
                found.used_tokens
            );
            assert_eq!(found.used_tokens, counter.count(&found.markdown));
            assert_eq!(found.dropped, memories.len() - found.included.len());
            assert_eq!(found.markdown.is_empty(), found.included.is_empty());
            let mut rest = found.markdown.as_str();
            for bundled in &found.included {
                let memory = &memories[&bundled.id];
                assert_eq!(bundled.title, shown_title(memory));
                if bundled.is_excerpt {
                    continue;
                }
                // Each is there as a whole, in order.
                let text = memory.content.trim();
                let begin = rest
                    .find(text)
                    .unwrap_or_else(|| panic!("seed {seed}: {text}"));
                rest = &rest[begin + text.len()..];
            }
            // A memory that is left out has a lower score, or is too large by itself; a less sure
            // one goes before one that matters.
            let included: BTreeSet<_> = found.included.iter().map(|bundled| &bundled.id).collect();
            let least = found.included.iter().map(rank).fold(2.0, f64::min);
            for (id, memory) in memories.iter().filter(|(id, _)| !included.contains(id)) {
                let heading = if memory.delivery == Delivery::Bootstrap {
                    "# Always"
                } else {
                    "# work"
                };
                let title = format!("{} [{}]", shown_title(memory), short_id(id.as_str()));
                let alone = format!("{heading}\n\n## {title}\n\n{}\n", memory.content.trim_end());
                // The heading of the other phase may have one or two more.
                let is_too_large = counter.count(&alone) + 2 > budget;
                assert!(
                    scores[id] <= least || is_too_large,
                    "seed {seed}, {budget}: {} over {least}",
                    scores[id]
                );
            }
        }
        let exact = bundle(&engine, &["work", "review"], whole.used_tokens.max(1));
        assert_eq!(exact.markdown, whole.markdown, "seed {seed}");
    }
}

#[test]
fn a_bundle_of_many_notes_fills_its_budget() {
    let engine = engine().with_token_counter(Arc::new(Pieces));
    for number in 0..300 {
        engine
            .system(&Caller::local())
            .memories()
            .remember(always(&format!("Rule {number}:\nkettles go on the stove.")))
            .unwrap();
    }
    let whole = bundle(&engine, &["work"], 1_000_000);
    assert_eq!(whole.included.len(), 300);
    let half = bundle(&engine, &["work"], whole.used_tokens / 2);
    // One more would not have fitted.
    let note = whole.used_tokens.div_ceil(300);
    assert!(
        half.used_tokens + note + 3 > whole.used_tokens / 2,
        "{} of {}",
        half.used_tokens,
        whole.used_tokens / 2
    );
    assert!(half.markdown.contains(&format!(
        "\n_{} more memories did not fit; the best of them:_\n",
        half.dropped
    )));
    // The oldest ones stay.
    assert_eq!(titles(&half), titles(&whole)[..half.included.len()]);
}

#[test]
fn a_missing_model_is_told_once() {
    let engine = engine_with(Arc::new(FailingEmbedder::default()));
    engine
        .system(&Caller::local())
        .memories()
        .remember(fact("how to release", Visibility::Common))
        .unwrap();
    let notice = bundle(&engine, &["work", "release", "review"], 4_096)
        .degraded
        .unwrap();
    assert_eq!(
        notice.matches("searched by words alone").count(),
        1,
        "{notice}"
    );
}

/// The floor is meant for the sum of the cosine and the words.
#[test]
fn a_memory_without_a_vector_matters_by_its_words() {
    let engine = engine_with(Arc::new(FailingEmbedder::default()));
    for number in 0..30 {
        let content = format!("The visitor of room {number} gets a green badge at the front desk.");
        engine
            .system(&Caller::local())
            .memories()
            .remember(fact(&content, Visibility::Common))
            .unwrap();
    }
    let runbook = "Publish from main alone; a rollback takes the tag back.";
    engine
        .system(&Caller::local())
        .memories()
        .remember(fact(runbook, Visibility::Common))
        .unwrap();
    let found = bundle(&engine, &["release"], 4_096);
    assert_eq!(
        found
            .included
            .iter()
            .map(|bundled| &*bundled.title)
            .collect::<Vec<_>>(),
        [runbook]
    );
}

#[test]
fn seven_phases_are_known() {
    let Phases(known) = Phases::default();
    assert!(known.keys().eq([
        "bugfix",
        "documenter",
        "plan",
        "release",
        "review",
        "setup",
        "work"
    ]));
    for Phase { query, tags, .. } in known.values() {
        assert!(!query.is_empty() && !tags.is_empty());
    }
}

#[test]
fn a_title_stands_before_its_text() {
    let Bench { engine, store, .. } = bench();
    let engine = engine.with_phases(phases());
    for (title, content) in [
        ("Pushing", "Never push to main.\nAsk first."),
        ("Be brief", "Be brief"),
    ] {
        let memory = engine
            .system(&Caller::local())
            .memories()
            .remember(always(content))
            .unwrap()
            .memory;
        let expect = Expect::Revision(memory.revision);
        let memory = Box::new(Memory {
            title: Some(title.to_owned()),
            revision: memory.revision + 1,
            ..memory
        });
        let change = Change::Put {
            memory,
            passages: None,
            expect,
        };
        store
            .commit(Batch::new(Space::default(), vec![change]))
            .unwrap();
    }
    let start = engine
        .system(&Caller::local())
        .context()
        .bootstrap(None)
        .unwrap()
        .markdown;
    for item in [
        "- **Pushing**\n  \n  Never push to main.\n  Ask first.\n",
        "- Be brief\n",
    ] {
        assert!(start.contains(item), "{start}");
    }
    let markdown = bundle(&engine, &["work"], 4_096).markdown;
    let included = bundle(&engine, &["work"], 4_096).included;
    for part in [
        "## Pushing\n\nNever push to main.\nAsk first.\n",
        "## Be brief\n",
    ] {
        assert!(markdown.contains(&with_ids(part, &included)), "{markdown}");
    }
}
