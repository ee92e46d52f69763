//! Invented facts that a seed determines, of which some are said again in other forms.

use super::super::corpus::Random;

/// The share of memories that say a fact again.
const REPEATED_SHARE: f64 = 0.4;
/// The least and the most repeats of a fact that is repeated.
const REPEATS: (usize, usize) = (2, 6);

const FIRST: [&str; 32] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "glade", "heron", "indigo", "juniper",
    "kelp", "lantern", "maple", "nickel", "onyx", "pebble", "quartz", "raven", "saffron", "tundra",
    "umber", "violet", "willow", "yarrow", "zephyr", "basalt", "cobalt", "dune", "flint", "garnet",
    "hazel", "ivory",
];
const SECOND: [&str; 38] = [
    "api",
    "gateway",
    "ledger",
    "mailer",
    "parser",
    "planner",
    "relay",
    "scheduler",
    "search",
    "vault",
    "worker",
    "indexer",
    "billing",
    "catalog",
    "console",
    "crawler",
    "exporter",
    "importer",
    "monitor",
    "notifier",
    "proxy",
    "queue",
    "registry",
    "renderer",
    "router",
    "sampler",
    "shipper",
    "signer",
    "store",
    "streamer",
    "tracker",
    "uploader",
    "viewer",
    "watcher",
    "broker",
    "cache",
    "tester",
    "mapper",
];
const GIVEN: [&str; 32] = [
    "Ada", "Bruno", "Carla", "Dario", "Elif", "Farid", "Greta", "Hanna", "Igor", "Jonas", "Keiko",
    "Lena", "Marek", "Nadia", "Olga", "Pavel", "Quentin", "Rosa", "Selma", "Tomas", "Ulla",
    "Viktor", "Wanda", "Xenia", "Yusuf", "Zora", "Anton", "Bianca", "Cyril", "Doris", "Emil",
    "Frida",
];
const FAMILY: [&str; 38] = [
    "Abel", "Brandt", "Castro", "Dahl", "Eriksen", "Fontana", "Garcia", "Haas", "Ivanov", "Jensen",
    "Kaiser", "Lindt", "Moreau", "Novak", "Olsen", "Petrov", "Quist", "Rossi", "Silva", "Toth",
    "Urban", "Vega", "Weber", "Xu", "Yilmaz", "Zeman", "Adler", "Bauer", "Costa", "Duval", "Engel",
    "Falk", "Gruber", "Huber", "Iversen", "Janssen", "Klein", "Lorenz",
];
const CITIES: [&str; 16] = [
    "Oslo", "Bergen", "Porto", "Turin", "Gdansk", "Graz", "Lyon", "Malaga", "Ghent", "Basel",
    "Tartu", "Split", "Cork", "Leeds", "Bari", "Aarhus",
];
const FOODS: [&str; 12] = [
    "peanuts",
    "shrimp",
    "celery",
    "sesame",
    "lupin",
    "mustard",
    "walnuts",
    "soy",
    "kiwi",
    "strawberries",
    "buckwheat",
    "lentils",
];
const THINGS: [&str; 12] = [
    "fountain pens",
    "paper maps",
    "jazz records",
    "trail running",
    "green olives",
    "chess puzzles",
    "rye bread",
    "night trains",
    "watercolours",
    "pour over coffee",
    "mechanical keyboards",
    "wool blankets",
];
const DAYS: [&str; 5] = ["Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays"];

/// The forms in which a fact is said again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The same bytes.
    Same,
    /// Other case and punctuation.
    Signs,
    /// In the frame of a note.
    Framed,
    /// Without a detail.
    Shorter,
    /// With words that say the same.
    Synonyms,
    /// In another sentence, which only a reader finds to say the same.
    OtherWords,
}

/// The forms, each with its share of repeats in percent.
pub const FORMS: [(Form, usize); 6] = [
    (Form::Same, 15),
    (Form::Signs, 10),
    (Form::Framed, 30),
    (Form::Shorter, 15),
    (Form::Synonyms, 15),
    (Form::OtherWords, 15),
];

impl Form {
    pub fn name(self) -> &'static str {
        match self {
            Form::Same => "the same",
            Form::Signs => "other signs",
            Form::Framed => "in a frame",
            Form::Shorter => "shorter",
            Form::Synonyms => "synonyms",
            Form::OtherWords => "other words",
        }
    }
}

/// A fact in its forms, and the question that it answers.
pub struct Fact {
    text: String,
    shorter: String,
    synonyms: String,
    other_words: String,
    pub question: String,
}

impl Fact {
    /// Returns a fact in its forms: as it is, shorter, by synonyms, in other words.
    fn of([text, shorter, synonyms, other_words]: [String; 4], question: String) -> Self {
        Fact {
            text,
            shorter,
            synonyms,
            other_words,
            question,
        }
    }
}

/// A memory to store: the number of its fact, and its form if it is a repeat.
pub struct StoredText {
    pub fact: usize,
    pub form: Option<Form>,
    pub text: String,
}

/// The memories, and the facts that they say.
pub struct Material {
    pub facts: Vec<Fact>,
    pub said: Vec<StoredText>,
}

/// Returns that many memories, in the order in which they are stored.
pub fn material(seed: u64, memories: usize) -> Material {
    let random = &mut Random(seed);
    let repeats = (memories as f64 * REPEATED_SHARE).round() as usize;
    let facts: Vec<Fact> = (0..memories - repeats)
        .map(|number| fact(number, random))
        .collect();
    let mut said: Vec<StoredText> = facts
        .iter()
        .enumerate()
        .map(|(fact, of)| StoredText {
            fact,
            form: None,
            text: of.text.clone(),
        })
        .collect();
    let (mut left, mut order) = (repeats, shuffled((0..facts.len()).collect(), random));
    while left > 0 {
        let fact = order.pop().unwrap_or(0);
        let span = REPEATS.1 - REPEATS.0 + 1;
        let times = (REPEATS.0 + random.below(span)).min(left);
        for _ in 0..times {
            let form = form(random);
            said.push(StoredText {
                fact,
                form: Some(form),
                text: repeated(&facts[fact], form, random),
            });
        }
        left -= times;
    }
    Material {
        facts,
        said: shuffled(said, random),
    }
}

fn shuffled<T>(mut items: Vec<T>, random: &mut Random) -> Vec<T> {
    for place in (1..items.len()).rev() {
        items.swap(place, random.below(place + 1));
    }
    items
}

fn form(random: &mut Random) -> Form {
    let mut place = random.below(100);
    for (form, share) in FORMS {
        if place < share {
            return form;
        }
        place -= share;
    }
    Form::Same
}

fn repeated(fact: &Fact, form: Form, random: &mut Random) -> String {
    let uncapitalised = |text: &str| {
        let mut characters = text.chars();
        let first = characters
            .next()
            .map(|first| first.to_lowercase().to_string());
        first.unwrap_or_default() + characters.as_str()
    };
    match form {
        Form::Same => fact.text.clone(),
        Form::Signs => format!("{}!", fact.text.trim_end_matches('.').to_lowercase()),
        Form::Framed => match random.below(4) {
            0 => format!("Note: {}", fact.text),
            1 => format!("Remember that {}", uncapitalised(&fact.text)),
            2 => format!("The user said that {}", uncapitalised(&fact.text)),
            _ => format!("Please keep in mind: {}", fact.text),
        },
        Form::Shorter => fact.shorter.clone(),
        Form::Synonyms => fact.synonyms.clone(),
        Form::OtherWords => fact.other_words.clone(),
    }
}

/// Returns the fact of a number: about a service for even ones, about a person for odd ones.
fn fact(number: usize, random: &mut Random) -> Fact {
    let (of, subject) = (number / 2, number / 2 / 5);
    let city = random.pick(&CITIES);
    if number.is_multiple_of(2) {
        let name = format!(
            "{}-{}",
            FIRST[subject % FIRST.len()],
            SECOND[subject / FIRST.len() % SECOND.len()]
        );
        of_service(&name, of % 5, city, random)
    } else {
        let name = format!(
            "{} {}",
            GIVEN[subject % GIVEN.len()],
            FAMILY[subject / GIVEN.len() % FAMILY.len()]
        );
        of_person(&name, of % 5, city, random)
    }
}

fn of_service(name: &str, attribute: usize, city: &str, random: &mut Random) -> Fact {
    let number = 1_024 + random.below(60_000);
    let day = random.pick(&DAYS);
    match attribute {
        0 => Fact::of(
            [
                format!(
                    "The service {name} listens on port {number} in the data centre of {city}."
                ),
                format!("The service {name} listens on port {number}."),
                format!(
                    "The service {name} listens on port {number} in the data centre of {city}, user said."
                ),
                format!("Reach {name} at port {number}; it runs in {city}."),
            ],
            format!("On which port does {name} listen?"),
        ),
        1 => Fact::of(
            [
                format!(
                    "The configuration of {name} is deployed on {day} from the branch release-{number}."
                ),
                format!("The configuration of {name} is deployed on {day}."),
                format!(
                    "The config of {name} is deployed on {day} from the branch release-{number}."
                ),
                format!("{day} is when release-{number} goes live for {name}."),
            ],
            format!("On which day is the configuration of {name} deployed?"),
        ),
        2 => Fact::of(
            [
                format!(
                    "The database of {name} needs {} gigabytes of disk in {city}.",
                    number % 900 + 20
                ),
                format!(
                    "The database of {name} needs {} gigabytes of disk.",
                    number % 900 + 20
                ),
                format!(
                    "The db of {name} requires {} gigabytes of disk in {city}.",
                    number % 900 + 20
                ),
                format!(
                    "Plan {} gigabytes in {city} for what {name} stores.",
                    number % 900 + 20
                ),
            ],
            format!("How much disk does the database of {name} need?"),
        ),
        _ => of_care(name, attribute, city, random),
    }
}

/// Returns who cares for a service, or how long its backups are kept.
fn of_care(name: &str, attribute: usize, city: &str, random: &mut Random) -> Fact {
    let days = random.below(300) + 7;
    let owner = format!("{} {}", random.pick(&GIVEN), random.pick(&FAMILY));
    match attribute {
        3 => Fact::of(
            [
                format!("The owner of {name} is {owner}, who sits in {city}."),
                format!("The owner of {name} is {owner}."),
                format!("Fact: the owner of {name} is {owner}, who sits in {city}."),
                format!("{owner} answers for {name} and works from {city}."),
            ],
            format!("Who is the owner of {name}?"),
        ),
        _ => Fact::of(
            [
                format!("The backups of {name} are kept for {days} days in the vault of {city}."),
                format!("The backups of {name} are kept for {days} days."),
                format!(
                    "Reminder: the backups of {name} are kept for {days} days in the vault of {city}."
                ),
                format!("{days} days later the copies of {name} in {city} go."),
            ],
            format!("For how many days are the backups of {name} kept?"),
        ),
    }
}

fn of_person(name: &str, attribute: usize, city: &str, random: &mut Random) -> Fact {
    let food = random.pick(&FOODS);
    let thing = random.pick(&THINGS);
    let number = random.below(28) + 1;
    let room = random.below(900) + 100;
    match attribute {
        0 => Fact::of(
            [
                format!("The colleague {name} lives in {city} near the harbour."),
                format!("The colleague {name} lives in {city}."),
                format!("The colleague {name} resides in {city} near the harbour."),
                format!("{name}'s home is by the docks of {city}."),
            ],
            format!("In which city does {name} live?"),
        ),
        1 => Fact::of(
            [
                format!("The colleague {name} is allergic to {food} and carries a pen for it."),
                format!("The colleague {name} is allergic to {food}."),
                format!(
                    "Info: the colleague {name} is allergic to {food} and carries a pen for it."
                ),
                format!("Serve {name} nothing with {food}, it is dangerous."),
            ],
            format!("What is {name} allergic to?"),
        ),
        2 => Fact::of(
            [
                format!("The colleague {name} likes {thing} more than anything on a free evening."),
                format!("The colleague {name} likes {thing}."),
                format!(
                    "The colleague {name} enjoys {thing} more than anything on a free evening."
                ),
                format!("After work you find {name} busy with {thing}."),
            ],
            format!("What does {name} like?"),
        ),
        3 => Fact::of(
            [
                format!(
                    "The colleague {name} has the office {room} on the floor {}.",
                    room / 100
                ),
                format!("The colleague {name} has the office {room}."),
                format!(
                    "The user said the colleague {name} has the office {room} on the floor {}.",
                    room / 100
                ),
                format!("Knock at {room} to find {name}."),
            ],
            format!("Which office has {name}?"),
        ),
        _ => Fact::of(
            [
                format!("The birthday of {name} is on {number} March, with cake in {city}."),
                format!("The birthday of {name} is on {number} March."),
                format!(
                    "Just note: the birthday of {name} is on {number} March, with cake in {city}."
                ),
                format!("{name} was born on {number} March; the cake is in {city}."),
            ],
            format!("When is the birthday of {name}?"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn two_fifths_of_the_memories_repeat_another_fact_and_no_two_facts_are_one() {
        let Material { facts, said } = material(1, 20_000);
        assert_eq!((facts.len(), said.len()), (12_000, 20_000));
        let repeats = said.iter().filter(|said| said.form.is_some()).count();
        assert_eq!(repeats, 8_000);
        let questions: HashSet<&str> = facts.iter().map(|fact| &*fact.question).collect();
        assert_eq!(
            questions.len(),
            facts.len(),
            "each asks for its own subject"
        );
        let again = material(1, 20_000);
        assert!(
            said.iter()
                .zip(&again.said)
                .all(|(one, other)| one.text == other.text)
        );
    }
}
