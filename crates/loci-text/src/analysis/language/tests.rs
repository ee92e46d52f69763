use proptest::prelude::*;

use super::*;
use crate::analysis::{query_terms, term_counts, with_stem};

fn code(text: &str) -> Option<&'static str> {
    Language::of(text).map(Language::code)
}

#[test]
fn questions_tell_their_language() {
    let rows = [
        ("Where is the key to the garden house?", Some("en")),
        ("Wo ist der Schlüssel für das Gartenhaus?", Some("de")),
        ("Wie komme ich ins Büro?", Some("de")),
        ("Quel est le loyer de l'appartement ?", Some("fr")),
        ("Où habitent les parents de Jean ?", Some("fr")),
        ("¿Cuál es el precio de las entradas?", Some("es")),
        ("Quando parte il treno per l'aeroporto?", Some("it")),
        ("Quando é que o avião chega ao Porto?", Some("pt")),
        ("Wanneer komt de loodgieter voor de kraan?", Some("nl")),
        ("Var ligger nycklarna till stugan?", Some("sv")),
        ("Hvornår skal vi betale husleje til udlejeren?", Some("da")),
        ("Missä ovat mökin avaimet ja kuka ne otti?", Some("fi")),
        ("Hol van a kulcs és ki vitte el?", Some("hu")),
        ("Unde este cheia de la poartă?", Some("ro")),
        ("Ev kirası ne kadar ve ne zaman ödenir?", Some("tr")),
        ("Kiedy jest wizyta u dentysty i kto ma jechać?", Some("pl")),
        ("Kdy je schůzka se zubařem a kdo to má?", Some("cs")),
        ("Когда мы встречаемся с учителем?", Some("ru")),
        ("Коли ми зустрічаємося з вчителем?", Some("uk")),
        ("متى موعد طبيب الأسنان؟", Some("ar")),
        ("کلید باغ کجا است و چه کسی آن را دارد؟", Some("fa")),
        ("Πού είναι τα κλειδιά του σπιτιού;", Some("el")),
        ("איפה המפתחות של הבית?", Some("he")),
        ("चाबी कहाँ है और किसने ली?", Some("hi")),
        ("சாவி எங்கே?", Some("ta")),
        ("กุญแจอยู่ที่ไหน", Some("th")),
        ("会议什么时候开始？", Some("zh")),
        ("会議はいつ始まりますか？", Some("ja")),
        ("회의는 언제 시작합니까?", Some("ko")),
    ];
    for (text, expected) in rows {
        assert_eq!(code(text), expected, "{text}");
    }
}

#[test]
fn what_is_in_doubt_is_in_no_other_language() {
    let texts = [
        "die casting machine",
        "Die Hard",
        "El Niño",
        "la la land",
        "ERR-4021",
        "Who is Jean de la Fontaine?",
        "What did Maria say about la casa de papel?",
        "fn main() { let x = a + b; }",
        "src/analysis/language.rs:120",
        "",
        "... --- ...",
        "12 345",
    ];
    for text in texts {
        assert_eq!(Language::other_latin(text), None, "{text}");
    }
}

#[test]
fn a_question_loses_the_function_words_of_its_language() {
    let rows: [(&str, &[&str]); 12] = [
        (
            "Wo ist der Schlüssel für das Gartenhaus?",
            &["schlussel", "gartenhaus"],
        ),
        (
            "Wie hoch ist die Miete der Wohnungen?",
            &["hoch", "miet", "wohnungen", "wohnung"],
        ),
        (
            "Quel est le loyer de l'appartement ?",
            &["loyer", "appart", "loi"],
        ),
        ("Qu'est-ce que le voisin a dit ?", &["voisin", "dit"]),
        (
            "Когда мы встречаемся с нашими учителями?",
            &["встреча", "наш", "учител"],
        ),
        (
            "متى موعد طبيب الأسنان وأين المفاتيح؟",
            &["موعد", "طبيب", "اسنان", "مفاتيح"],
        ),
        (
            "¿Cuál es el precio de las entradas?",
            &["precio", "entrada", "preci", "entrad"],
        ),
        ("Kiedy jest wizyta u dentysty?", &["wizyta", "dentysti"]),
        // English stop words that carry a topic here.
        ("Où est le thé ?", &["the"]),
        // Only stop words remain.
        ("was ist das", &["was", "ist", "das"]),
        ("кто это", &["кто", "это"]),
        ("Where is the die for the casting?", &["die", "cast"]),
    ];
    for (question, expected) in rows {
        assert_eq!(query_terms(question), expected, "{question}");
    }
}

#[test]
fn inflected_words_meet() {
    let rows = [
        (
            "Wo sind die Häuser von Frau Weber?",
            "Das Haus der Familie steht in der Gartenstraße.",
        ),
        (
            "Quels animaux vivent chez nous ?",
            "Notre animal est un chat qui dort dans la cuisine.",
        ),
        ("Где живут наши учителя?", "Учитель живёт на улице Мира."),
        ("Πού μένουν οι δάσκαλοι;", "Ο δάσκαλος μένει στην πόλη."),
        ("Hvar bor lärarna som vi har?", "Läraren bor i en stuga."),
        (
            "¿Dónde están las llaves de los coches?",
            "La llave del coche está en la mesa de la cocina.",
        ),
        // A name keeps its form in a text of another language.
        (
            "Wo wohnen die Fischer und wer sind sie?",
            "Fischer lives in Kiel.",
        ),
    ];
    for (question, text) in rows {
        let terms = term_counts([text]);
        let found = query_terms(question)
            .into_iter()
            .filter(|term| terms.iter().any(|(other, _)| other == term))
            .count();
        assert!(
            found > 0,
            "{question} {:?} {terms:?}",
            query_terms(question)
        );
    }
}

/// Generates words of many scripts, and other characters.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-zäöüßéèçñãőşğı]{1,12}",
        "[а-яёіїєґ]{1,12}",
        "[ء-يپچژگ\u{64b}-\u{652}]{1,10}",
        "[α-ωάέήίόύώς]{1,10}",
        "[\u{b80}-\u{bff}]{1,10}",
        "[\u{900}-\u{97f}]{1,8}",
        "[一-十ぁ-ん가-나]{1,6}",
        "die|der|das|wie|ist|le|la|les|et|des|où|the|is|not",
        "\\PC{1,8}",
    ];
    prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn stems_of_every_language_are_made_of_any_word(word in text()) {
        let algorithms = FUNCTION_WORDS.languages.iter().filter_map(|language| language.stemmer());
        let of_scripts = [Algorithm::Arabic, Algorithm::English, Algorithm::Greek, Algorithm::Russian, Algorithm::Tamil];
        for algorithm in algorithms.chain(of_scripts) {
            with_stem(algorithm, &word, |_| ());
        }
    }

    #[test]
    fn another_language_adds_terms_and_takes_none(text in text()) {
        let mut as_english = crate::analysis::Counts::default();
        as_english.add(&text, None);
        let found = term_counts([text.as_str()]);
        for (term, count) in as_english.terms {
            prop_assert!(found.iter().any(|(other, other_count)| *other == term && *other_count >= count), "{}", term);
        }
    }

    #[test]
    fn a_query_finds_itself(text in text()) {
        let terms = term_counts([text.as_str()]);
        for term in query_terms(&text) {
            prop_assert!(terms.iter().any(|(other, _)| *other == term), "{} of {:?} in {:?}", term, text, terms);
        }
    }
}
