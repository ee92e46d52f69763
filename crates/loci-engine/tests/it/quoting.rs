//! Tests that results contain the quotations of a query word for word.

use super::*;

/// Returns the contents found, best first, and the notice.
fn ask(engine: &Engine, query: &str) -> (Vec<String>, Option<String>) {
    let recalled = engine
        .system(&Caller::local())
        .search()
        .recall(&question(query))
        .unwrap();
    (
        recalled
            .hits
            .into_iter()
            .map(|hit| hit.memory.content)
            .collect(),
        recalled.degraded,
    )
}

fn remember(engine: &Engine, content: &str) {
    engine
        .system(&Caller::local())
        .memories()
        .remember(fact(content, Visibility::Common))
        .unwrap();
}

#[test]
fn who_holds_the_words_in_another_order_is_no_answer() {
    for mode in [SearchMode::Hybrid, SearchMode::Words, SearchMode::Vector] {
        let Bench { engine, .. } = bench_with(Arc::new(HashingEmbedder::default()), mode);
        for number in 0..120 {
            remember(&engine, &format!("the kettle of copper, number {number}"));
        }
        remember(&engine, "She polished the Copper  kettle, again.");
        let (found, notice) = ask(&engine, "who polished the \"copper kettle\"?");
        assert_eq!(
            found,
            ["She polished the Copper  kettle, again."],
            "{mode:?}"
        );
        assert_eq!(notice, None);
    }
}

#[test]
fn what_nobody_holds_is_told_and_what_comes_near_is_shown() {
    let engine = engine();
    remember(&engine, "the kettle is made of copper");
    let (found, notice) = ask(&engine, "where is the \"copper kettle\"?");
    assert_eq!(found.len(), 1);
    assert!(
        notice
            .unwrap()
            .contains("\u{201c}copper kettle\u{201d} word for word")
    );
    let Bench { engine, .. } = bench_with(Arc::new(FailingEmbedder::default()), SearchMode::Hybrid);
    remember(&engine, "the kettle is made of copper");
    let notice = ask(&engine, "where is the \"copper kettle\"?").1.unwrap();
    assert!(
        notice.contains("by words alone") && notice.contains("word for word"),
        "{notice}"
    );
}

#[test]
fn quotations_may_stand_far_apart_cross_passages_and_be_of_stop_words() {
    let filler = "Some filler follows here to make the text a long one indeed. ".repeat(60);
    let Bench { engine, .. } = bench_with(Arc::new(FailingEmbedder::default()), SearchMode::Words);
    remember(
        &engine,
        &format!("The red falcon sleeps. {filler} A blue otter swims."),
    );
    remember(&engine, "Hamlet: to be or not to be");
    assert_eq!(ask(&engine, "\"red falcon\" and \"blue otter\"").0.len(), 1);
    assert_eq!(ask(&engine, &format!("\"{}\"", filler.trim())).0.len(), 1);
    let (found, notice) = ask(&engine, "speech with \"to be or not to be\"");
    assert_eq!((found.len(), notice), (1, None));
}

#[test]
fn pairs_of_messages_leave_room_for_others() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    for number in 0..30 {
        for text in [
            "kettle made of bright copper",
            "bright copper kettle that whistles",
        ] {
            say(
                &engine,
                &ann,
                "c",
                vec![message(Role::Human, &format!("A {text}, number {number}"))],
            )
            .unwrap();
        }
    }
    let recall = Recall {
        tiers: Tier::OF_CONVERSATIONS.to_vec(),
        limit: 10,
        ..question("\"copper kettle\"")
    };
    let hits = engine.system(&ann).search().recall(&recall).unwrap().hits;
    assert_eq!(hits.len(), 10);
    assert!(
        hits.iter()
            .all(|hit| hit.memory.content.contains("copper kettle"))
    );
}
