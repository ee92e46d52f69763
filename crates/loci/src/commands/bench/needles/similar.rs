//! Facts that much else resembles or surrounds.

use super::super::corpus::Random;
use super::distractors;
use super::material::{Class, Shelf};

/// Series of facts that differ in a name and a number. `{}` is the name, `#` the number.
pub fn near_duplicates(shelf: &mut Shelf) {
    type Series = (&'static str, &'static str, [(&'static str, u32); 6]);
    const SERIES: [Series; 6] = [
        (
            "The server {} has # gigabytes of memory and runs the mail relay.",
            "How much memory does the server {} have?",
            [("fenwick", 48), ("larkin", 64), ("tolliver", 96), ("brisco", 24), ("wexler", 128), ("hadley", 32)],
        ),
        (
            "The meeting room {} seats # people and has a screen.",
            "How many people fit into the meeting room {}?",
            [("Heron", 4), ("Curlew", 6), ("Plover", 8), ("Bittern", 12), ("Avocet", 16), ("Dunlin", 20)],
        ),
        (
            "Invoice # of the {} account was paid late.",
            "Which account does invoice # belong to?",
            [
                ("Tamsin", 20_417),
                ("Corvin", 20_418),
                ("Delphi", 20_471),
                ("Marlow", 20_147),
                ("Sefton", 20_714),
                ("Ripley", 21_047),
            ],
        ),
        (
            "Bus # leaves from platform {} at noon.",
            "From which platform does bus # leave?",
            [("A", 11), ("B", 12), ("C", 21), ("D", 111), ("E", 112), ("F", 121)],
        ),
        (
            "The apartment on floor # is rented by the {} family.",
            "Who rents the apartment on floor #?",
            [("Castell", 3), ("Drummond", 4), ("Ferreira", 5), ("Grunwald", 6), ("Halloran", 7), ("Ishikawa", 13)],
        ),
        (
            "Recipe # of the {} cookbook needs saffron.",
            "Which recipe of the {} cookbook needs saffron?",
            [
                ("Tuscan", 17),
                ("Andalusian", 71),
                ("Persian", 34),
                ("Kashmiri", 43),
                ("Provencal", 26),
                ("Moroccan", 62),
            ],
        ),
    ];
    for (fact, question, variants) in SERIES {
        for (name, number) in variants {
            let filled = |template: &str| template.replace("{}", name).replace('#', &number.to_string());
            let index = shelf.add(filled(fact));
            shelf.ask(Class::NearDuplicate, filled(question), index);
        }
    }
}

/// Texts of 3,000 to 20,000 characters with a fact in the middle.
pub fn long_documents(shelf: &mut Shelf, random: &mut Random) {
    const FACTS: [(&str, &str); 12] = [
        (
            "The combination of the safe in the observatory is kept by the night watchman.",
            "Who keeps the combination of the safe?",
        ),
        ("Every visitor of the apiary has to wear a veil, even in winter.", "What must visitors of the apiary wear?"),
        (
            "The ferry to the island does not run when the wind exceeds eight knots.",
            "When does the ferry to the island not run?",
        ),
        ("The fossil of the ammonite was found by a schoolgirl during a picnic.", "Who found the ammonite?"),
        ("The pipeline deploys to production only after two approvals.", "How many approvals does production need?"),
        (
            "The mushrooms behind the chapel are poisonous and look like chanterelles.",
            "Are the mushrooms behind the chapel edible?",
        ),
        (
            "The orchestra rehearses the requiem without the second oboe.",
            "What does the orchestra rehearse without an oboe?",
        ),
        ("The dam was closed for the migration of the eels.", "Why was the dam closed?"),
        (
            "Our tokens are signed with a key that lives in a hardware module.",
            "Where does the key live that signs tokens?",
        ),
        ("The lighthouse keeper writes the log in green ink.", "Which ink does the lighthouse keeper use?"),
        ("A meteorite of four kilograms lies in the vestry.", "Where is the meteorite?"),
        ("The goats are vaccinated by a veterinarian from the valley.", "Who vaccinates the goats?"),
    ];
    const CHARACTERS_MIN: usize = 3_000;
    const CHARACTERS_STEP: usize = 1_545;
    for (index, (fact, question)) in FACTS.into_iter().enumerate() {
        let half = (CHARACTERS_MIN / 2) + index * (CHARACTERS_STEP / 2);
        let mut text = filler(random, half);
        text += fact;
        text += " ";
        text += &filler(random, half);
        let document = shelf.add(text.trim_end());
        shelf.ask(Class::LongDocument, question, document);
    }
}

/// Sentences of about that many characters, in paragraphs.
fn filler(random: &mut Random, characters: usize) -> String {
    const SENTENCES_OF_A_PARAGRAPH: usize = 7;
    let mut text = String::new();
    let mut sentences = 0;
    while text.len() < characters {
        text += &distractors::fact(random);
        sentences += 1;
        text += if sentences % SENTENCES_OF_A_PARAGRAPH == 0 { "\n\n" } else { " " };
    }
    text
}

/// Facts, and conversations of the same user that mention what they are about.
pub fn mixed(random: &mut Random) -> Shelf {
    const FACTS: [(&str, &str, &str); 12] = [
        (
            "The password of the cabin's wireless network is otter-lantern-9.",
            "What is the password of the network in the cabin?",
            "password",
        ),
        ("My blood group is B negative.", "Which blood group do I have?", "blood donation"),
        ("The car must be inspected by the end of May.", "Until when must the car be inspected?", "car"),
        ("I prefer window seats on night trains.", "Which seats do I prefer on night trains?", "night train"),
        ("Our anniversary is on the ninth of October.", "When is our anniversary?", "anniversary"),
        ("The spare bicycle tube is in the red pannier.", "Where is the spare tube of the bicycle?", "bicycle"),
        ("I am learning Estonian with a tutor from Tartu.", "Which language am I learning with a tutor?", "tutor"),
        ("The vet said that the cat must lose a kilo.", "What did the vet say about the cat?", "cat"),
        ("My passport expires in August 2027.", "When does my passport expire?", "passport"),
        ("The piano tuner charges ninety euros.", "How much does the piano tuner charge?", "piano"),
        ("I am allergic to penicillin.", "Which medicine can I not take?", "medicine"),
        ("The roof was insulated with cellulose.", "What was the roof insulated with?", "roof"),
    ];
    const CONVERSATIONS: usize = 12;
    const MESSAGES_EACH: usize = 20;
    let mut shelf = Shelf::default();
    for (fact, question, _) in FACTS {
        let fact = shelf.add(fact);
        shelf.ask(Class::Mixed, question, fact);
    }
    let conversation = |_| {
        let message = |_| {
            let (_, _, topic) = FACTS[random.below(FACTS.len())];
            distractors::chatter(random, topic)
        };
        (0..MESSAGES_EACH).map(message).collect()
    };
    shelf.conversations = (0..CONVERSATIONS).map(conversation).collect();
    shelf
}
