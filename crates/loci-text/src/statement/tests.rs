use proptest::prelude::*;

use super::*;

fn differences(older: &str, newer: &str) -> Differences {
    Statement::of(older).differences(&Statement::of(newer))
}

fn asks_the_same(one: &str, other: &str) -> bool {
    Statement::of(one).asks_the_same_as(&Statement::of(other))
}

#[test]
fn what_near_questions_differ_in_is_seen() {
    let rows = [
        (
            "What was our revenue in 2023?",
            "What was our revenue in 2024?",
        ),
        ("What does E4031 mean?", "What does E4032 mean?"),
        ("Is 10 ms too slow?", "Is 10 s too slow?"),
        (
            "Can I take it with alcohol?",
            "Can I take it without alcohol?",
        ),
        (
            "How long is the train from Oslo to Utrecht?",
            "How long is the train from Utrecht to Oslo?",
        ),
        ("convert miles to kilometres", "convert kilometres to miles"),
        ("how do I enable login", "how do I disable login"),
        ("Is it legal?", "Is it illegal?"),
        (
            "Which services depend on billing?",
            "Which services does billing depend on?",
        ),
        ("Who works in Berlin?", "Who works in Madrid?"),
        (
            "Is Redis faster than Memcached?",
            "Is Memcached faster than Redis?",
        ),
        ("How tall is it in metres?", "How tall is it in feet?"),
        ("What costs plan A?", "What costs plan B?"),
        ("Which users have paid?", "Which users haven't paid?"),
        ("Wer hat bezahlt?", "Wer hat nicht bezahlt?"),
        ("Where is get_user defined?", "Where is get_users defined?"),
        ("2023年的收入", "2024年的收入"),
    ];
    for (one, other) in rows {
        assert!(!asks_the_same(one, other), "{one} / {other}");
        assert!(!asks_the_same(other, one), "{other} / {one}");
    }
}

#[test]
fn other_words_for_the_same_are_no_difference() {
    let rows = [
        (
            "What is the capital of France?",
            "what's the capital of france",
        ),
        (
            "Is a latency of 10 ms good?",
            "Is 10 milliseconds a good latency?",
        ),
        (
            "When does the office open on Monday?",
            "On Monday, when does the office open?",
        ),
        (
            "What is the difference between TCP and UDP?",
            "What is the difference between UDP and TCP?",
        ),
        ("What's the Wi-Fi password?", "What is the wifi password?"),
        (
            "How does garbage collection work in Go?",
            "How does Go's garbage collection work?",
        ),
        (
            "Is the museum open on Sundays?",
            "Is the museum open on Sunday?",
        ),
        ("Do we use PostgreSQL?", "do we use postgres"),
        ("What costs $20?", "What costs 20 dollars?"),
        ("Is v2.3.1 out?", "is 2.3.1 out"),
    ];
    for (one, other) in rows {
        assert!(
            asks_the_same(one, other),
            "{one} / {other}: {:?}",
            differences(one, other)
        );
    }
}

#[test]
fn statements_are_compared_by_what_they_share() {
    let same = differences(
        "The API listens on port 8080.",
        "The API listens on port 9090.",
    );
    assert_eq!(same.numbers, Difference::Replaced);
    assert_eq!(
        differences("It runs in eu-west-1.", "It has 12 nodes.").numbers,
        Difference::OneSided
    );
    assert!(
        same.shared > 0.5 && same.removed > 0.0 && same.added > 0.0,
        "{same:?}"
    );
    assert_eq!(
        differences("It is kept for two weeks.", "It is kept for 6 months.").numbers,
        Difference::Replaced
    );
    assert_eq!(
        differences("It is kept for two weeks.", "It has 8 GB.").numbers,
        Difference::OneSided
    );
    let refined = differences("We have a cat.", "We have a cat that only eats dry food.");
    assert_eq!(
        (refined.removed, refined.numbers, refined.negation),
        (0.0, Difference::Same, false)
    );
    assert!(
        differences(
            "Uses SQLite for local storage",
            "Uses PostgreSQL 17 with pgvector"
        )
        .alternatives
    );
    assert!(differences("We use Celery.", "We no longer use Celery.").negation);
    assert!(differences("We use Celery.", "Jobs run on Dramatiq instead of Celery.").change);
}

/// The capitalised first word of one text is not a name, but the same word in the other text is
/// one.
#[test]
fn a_name_is_one_in_either_text() {
    let (one, other) = ("Utrecht A Oslo", "a Oslo A Utrecht");
    assert_eq!(asks_the_same(one, other), asks_the_same(other, one));
}

proptest! {
    #[test]
    fn a_text_does_not_differ_from_itself(text in "\\PC{0,200}") {
        let found = differences(&text, &text);
        let Differences { numbers, names, negation, order, opposites, alternatives, removed, added, .. } = found;
        prop_assert_eq!((numbers, names), (Difference::Same, Difference::Same));
        prop_assert!(!negation && !order && !opposites && !alternatives, "{:?}", found);
        prop_assert_eq!((removed, added), (0.0, 0.0));
        prop_assert!(asks_the_same(&text, &text));
    }

    #[test]
    fn the_sides_do_not_matter(one in "([A-Za-z]{1,6}|[0-9]{1,3}|not|to|from|Oslo|Utrecht|with|without| )( [A-Za-z]{1,5}| [0-9]{1,2}| not| to| from| Oslo| Utrecht| kg){0,12}", other in "([A-Za-z]{1,6}|[0-9]{1,3})( [A-Za-z]{1,5}| [0-9]{1,2}| not| to| from| Oslo| Utrecht| kg){0,12}") {
        let (there, back) = (differences(&one, &other), differences(&other, &one));
        prop_assert_eq!(asks_the_same(&one, &other), asks_the_same(&other, &one));
        prop_assert_eq!((there.numbers, there.names, there.order), (back.numbers, back.names, back.order));
        prop_assert!((0.0..=1.0).contains(&there.shared) && (there.shared - back.shared).abs() < 1e-5);
        prop_assert!((there.removed - back.added).abs() < 1e-5);
    }

    #[test]
    fn another_number_is_always_seen(number in 0u32..10_000, other in 0u32..10_000) {
        let ask = |number: u32| format!("Which orders of {number} items were late?");
        prop_assert_eq!(asks_the_same(&ask(number), &ask(other)), number == other);
    }
}
