use jiff::civil::date;

use super::*;

/// A Wednesday.
const TODAY: Date = date(2023, 6, 14);

fn parse(text: &str) -> Query {
    Query::parse(text, TODAY)
}

#[test]
fn a_question_is_taken_apart() {
    let query = parse("When did Caroline's friend read \"Nothing is Impossible\" in May 2023?");
    for term in ["carolin", "friend", "read", "noth", "imposs", "may", "2023"] {
        assert!(
            query.terms.iter().any(|found| found == term),
            "{term}: {query:?}"
        );
    }
    assert!(
        query.speakers.contains(&"@speaker=caroline".to_owned()),
        "{query:?}"
    );
    assert_eq!(query.dates, ["@month=2023-05"]);
    assert_eq!(query.days, Some(date(2023, 5, 1)..=date(2023, 5, 31)));
    assert!(query.asks_when);
    assert_eq!(query.phrases[0].text(), "Nothing is Impossible");
    assert_eq!(query.required(), ["imposs", "noth"]);
    let nothing = parse("");
    assert!(query.quotes() && !nothing.quotes());
    assert!(
        nothing.terms.is_empty()
            && nothing.dates.is_empty()
            && nothing.days.is_none()
            && !nothing.asks_when
    );
}

#[test]
fn questions_for_a_time() {
    let rows = [
        ("When did she leave?", true),
        ("Since when has Jon danced?", true),
        ("How long did it take?", true),
        ("how long ago was that", true),
        ("Which month was John in Italy?", true),
        ("In what year did he move?", true),
        ("How many weeks passed?", true),
        ("Do you know when she left?", true),
        ("What did she do when she was in Rome?", false),
        ("How many turtles does Nate have?", false),
        ("What is her favourite day trip?", false),
    ];
    for (text, expected) in rows {
        assert_eq!(parse(text).asks_when, expected, "{text:?}");
    }
}

#[test]
fn times_are_named_by_any_mark_that_fits() {
    let year = date(2022, 1, 1)..=date(2022, 12, 31);
    let rows = [
        (
            "on 7 May 2023",
            vec!["@day=2023-05-07"],
            Some(date(2023, 5, 7)..=date(2023, 5, 7)),
        ),
        ("on 7 May", vec!["@day=05-07"], None),
        ("in May", vec!["@month=05"], None),
        ("in 2022", vec!["@year=2022"], Some(year)),
        (
            "yesterday",
            vec!["@day=2023-06-13"],
            Some(date(2023, 6, 13)..=date(2023, 6, 13)),
        ),
        (
            "last weekend",
            vec!["@day=2023-06-10", "@day=2023-06-11"],
            Some(date(2023, 6, 10)..=date(2023, 6, 11)),
        ),
        ("recently", vec![], None),
        (
            "in 2021 or 2022",
            vec!["@year=2021", "@year=2022"],
            Some(date(2021, 1, 1)..=date(2022, 12, 31)),
        ),
    ];
    for (text, dates, days) in rows {
        let query = parse(text);
        assert_eq!(
            (query.dates.iter().map(String::as_str).collect(), query.days),
            (dates, days),
            "{text:?}"
        );
    }
    assert_eq!(parse("last week").dates.len(), 7);
    assert_eq!(parse("since 1900").dates.len(), 24);
}

#[test]
fn capitalised_words_may_be_speakers() {
    let rows: &[(&str, &[&str])] = &[
        (
            "What did Maria López say",
            &["maria", "maria lopez", "lopez"],
        ),
        ("did Caroline's Dog bark", &["caroline", "dog"]),
        ("is it O'Brien's or O’Hara’s", &["o'brien", "o'hara"]),
        ("Jean-Luc", &["jean", "jean luc", "luc"]),
        ("小明喜欢什么", &["小明", "小明喜", "小明喜欢"]),
        ("what did she say", &[]),
    ];
    for (text, expected) in rows {
        let found = parse(text).speakers;
        let expected: Vec<String> = expected
            .iter()
            .map(|name| format!("@speaker={name}"))
            .collect();
        assert_eq!(found.len(), expected.len(), "{text:?}: {found:?}");
        assert!(
            expected.iter().all(|mark| found.contains(mark)),
            "{text:?}: {found:?}"
        );
    }
    let many: Vec<String> = ('A'..='Z').map(|letter| format!("{letter}x")).collect();
    assert_eq!(parse(&many.join(" ")).speakers.len(), SPEAKER_MARKS_MAX);
}

#[test]
fn phrases_stand_in_quotation_marks() {
    let rows: &[(&str, &[&str])] = &[
        (
            "say \"two words\" and “three more words”",
            &["two words", "three more words"],
        ),
        (
            "er sagt „hallo Welt“ und «bonjour»",
            &["hallo Welt", "bonjour"],
        ),
        ("他说「你好」", &["你好"]),
        ("he is 5' 10\" tall, 6\" more", &[]),
        ("an \"open end", &[]),
        ("nothing \"\" and \"?!\"", &[]),
        ("it's Anna's", &[]),
        (
            "“one «two “three” «four» 「five",
            &["one «two “three", "four"],
        ),
        ("„open «closed» “two”", &["open «closed»"]),
        ("これは「か」", &[]),
    ];
    for (text, expected) in rows {
        let phrases = parse(text).phrases;
        assert_eq!(
            phrases.iter().map(Phrase::text).collect::<Vec<_>>(),
            *expected,
            "{text:?}"
        );
    }
}

#[test]
fn a_phrase_is_found_word_by_word() {
    let rows = [
        ("data base", "the Data-Base, of course", true),
        ("data base", "the database", false),
        ("data base", "base data", false),
        ("data base", "data and base", false),
        ("run", "running", false),
        ("café", "a CAFE.", true),
        ("don't stop", "Don’t stop", true),
        ("lib.rs", "src/lib.rs:120", true),
        ("ERR 4012", "ERR_4012", true),
        ("1,000", "it costs 1000", false),
        ("东京", "我在东京都", true),
        ("东都", "东京都", false),
        ("东京", "东，京", false),
        ("iPhone手机", "新的 iphone 手机", true),
    ];
    for (phrase, content, expected) in rows {
        assert_eq!(
            Phrase::of(phrase).unwrap().is_in(content),
            expected,
            "{phrase:?} in {content:?}"
        );
    }
}

#[test]
fn required_terms_are_each_once() {
    let query = parse("\"big data base\" and \"the data, the base, the data\"");
    assert_eq!(query.phrases.len(), 2);
    assert_eq!(query.required(), ["base", "big", "data"]);
}

#[test]
fn only_the_beginning_of_a_long_phrase_counts() {
    let numbers = |range: std::ops::Range<usize>| {
        let words: Vec<String> = range.map(|number| format!("w{number}")).collect();
        words.join(" ")
    };
    let phrase = Phrase::of(&numbers(0..100)).unwrap();
    assert_eq!(phrase.terms().len(), PHRASE_WORDS_MAX);
    assert!(phrase.is_in(&numbers(0..PHRASE_WORDS_MAX)));
    assert!(!phrase.is_in(&numbers(0..PHRASE_WORDS_MAX - 1)));
    let run = Phrase::of(&format!("a{}狗", "猫".repeat(100))).unwrap();
    assert!(run.is_in(&format!("a{}", "猫".repeat(PHRASE_WORDS_MAX - 1))));
    assert!(!run.is_in(&format!("a{}", "猫".repeat(PHRASE_WORDS_MAX - 2))));
    assert!(run.terms().iter().all(|term| !term.contains('狗')));
}

#[test]
fn what_repeats_itself_is_looked_through_once() {
    let content = "x ".repeat(1 << 19);
    assert!(
        !Phrase::of(&format!("{}y", "x ".repeat(63)))
            .unwrap()
            .is_in(&content)
    );
    let mut query = "“Ý".repeat(16 << 10);
    assert_eq!(quotes(&query).count(), 0);
    query.push('”');
    assert_eq!(quotes(&query).count(), 1);
}

#[test]
fn terms_of_a_phrase_are_as_short_as_those_of_the_index() {
    let marks = "\u{3099}".repeat(40);
    let phrase = format!("「猫{marks}犬{marks}」");
    let indexed = crate::analysis::term_counts([phrase.as_str()]);
    let terms = parse(&phrase).required();
    assert!(!terms.is_empty());
    assert!(
        terms
            .iter()
            .all(|term| indexed.iter().any(|(found, _)| found == term)),
        "{terms:?}: {indexed:?}"
    );
}

/// Compares word by word from every position.
fn stands_in(phrase: &str, content: &str) -> bool {
    let words = |text: &str| -> Vec<Word> {
        units(text)
            .flat_map(|(_, unit)| folded_words(unit))
            .collect()
    };
    let wanted = words(phrase);
    words(content).windows(wanted.len()).any(|window| {
        let mut pairs = window.iter().zip(&wanted).enumerate();
        pairs.all(|(at, (word, wanted))| {
            word.text == wanted.text && (at == 0 || !wanted.continues || word.continues)
        })
    })
}

proptest::proptest! {
    #[test]
    fn a_phrase_is_found_as_by_trying_every_place(phrase in "[ab猫狗か ]{1,5}", content in "[ab猫狗か ]{0,24}") {
        if let Some(found) = Phrase::of(&phrase) {
            proptest::prop_assert_eq!(found.is_in(&content), stands_in(&phrase, &content));
        }
    }

    #[test]
    fn where_a_phrase_stands_its_terms_are(
        before in "([a-zA-Z0-9',._/-]|\\PC){0,6}",
        phrase in "([a-zA-Z0-9T'’,._/ 猫狗はが-]|\\PC){1,16}",
        after in "([a-zA-Z0-9',._/-]|\\PC){0,6}",
        upper: bool,
    ) {
        let written = if upper { phrase.to_uppercase() } else { phrase.clone() };
        let content = format!("{before}{written}{after}");
        let indexed = crate::analysis::term_counts([content.as_str()]);
        if let Some(phrase) = Phrase::of(&fold_width(&phrase)).filter(|phrase| phrase.is_in(&content)) {
            for term in phrase.terms() {
                proptest::prop_assert!(indexed.iter().any(|(found, _)| found == term), "{:?} in {:?}: {:?}", term, content, indexed);
            }
        }
    }
}
