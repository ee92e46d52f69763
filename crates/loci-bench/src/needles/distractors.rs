//! Facts that answer no question, and chatter.

use std::collections::HashSet;

use super::super::corpus::Random;

const NAMES: [&str; 24] = [
    "Agnes", "Bruno", "Celia", "Dmitri", "Elsa", "Farid", "Greta", "Hugo", "Irena", "Jasper",
    "Kaya", "Lorenz", "Mina", "Nils", "Olive", "Pavel", "Quentin", "Rosa", "Stefan", "Thea", "Udo",
    "Vera", "Walter", "Yusuf",
];
const THINGS: [&str; 28] = [
    "ladder",
    "projector",
    "whiteboard",
    "printer",
    "canoe",
    "drill",
    "lamp",
    "carpet",
    "bench",
    "compass",
    "kettle",
    "tripod",
    "scanner",
    "trolley",
    "microscope",
    "sewing machine",
    "lawn mower",
    "tent",
    "wheelbarrow",
    "radio",
    "bookshelf",
    "mirror",
    "hammock",
    "aquarium",
    "globe",
    "typewriter",
    "barometer",
    "chessboard",
];
const PLACES: [&str; 20] = [
    "cellar",
    "attic",
    "workshop",
    "hall",
    "archive",
    "greenhouse",
    "shed",
    "lobby",
    "studio",
    "loft",
    "courtyard",
    "warehouse",
    "boathouse",
    "laboratory",
    "reading room",
    "tool store",
    "pavilion",
    "barn",
    "gallery",
    "foyer",
];
const QUALITIES: [&str; 16] = [
    "heavy",
    "rusty",
    "narrow",
    "wooden",
    "antique",
    "folding",
    "portable",
    "dented",
    "polished",
    "borrowed",
    "striped",
    "spare",
    "oversized",
    "scratched",
    "silver",
    "plain",
];
const EVENTS: [&str; 16] = [
    "exhibition",
    "regatta",
    "workshop",
    "bazaar",
    "concert",
    "inspection",
    "anniversary",
    "parade",
    "auction",
    "retreat",
    "seminar",
    "harvest fair",
    "open day",
    "jubilee",
    "stocktaking",
    "demonstration",
];
const PARTS: [&str; 20] = [
    "scheduler",
    "parser",
    "cache layer",
    "message broker",
    "search index",
    "report builder",
    "billing module",
    "image resizer",
    "import job",
    "notification worker",
    "feature flags",
    "audit trail",
    "command line client",
    "mobile app",
    "rules engine",
    "template library",
    "export wizard",
    "event stream",
    "load balancer",
    "form editor",
];
const FEATURES: [&str; 16] = [
    "dark mode",
    "batch edits",
    "keyboard shortcuts",
    "partial updates",
    "right-to-left scripts",
    "nested folders",
    "bulk renaming",
    "offline reading",
    "coloured labels",
    "saved filters",
    "inline comments",
    "version history",
    "drag and drop",
    "custom units",
    "printed labels",
    "shared views",
];
const CITIES: [&str; 16] = [
    "Turin", "Aarhus", "Porto", "Leeds", "Lyon", "Bergen", "Utrecht", "Graz", "Tartu", "Bilbao",
    "Ghent", "Kaunas", "Malmo", "Brno", "Cork", "Trieste",
];
const TRADES: [&str; 16] = [
    "glazier",
    "surveyor",
    "beekeeper",
    "florist",
    "tailor",
    "locksmith",
    "archivist",
    "carpenter",
    "optician",
    "printer",
    "translator",
    "gardener",
    "welder",
    "cartographer",
    "baker",
    "jeweller",
];
const MONTHS: [&str; 8] = [
    "January",
    "February",
    "March",
    "June",
    "August",
    "September",
    "October",
    "November",
];
const DONE: [&str; 12] = [
    "repaired",
    "moved",
    "lent to a visitor",
    "cleaned",
    "photographed",
    "sold",
    "measured",
    "wrapped",
    "inspected",
    "replaced",
    "labelled",
    "insulated",
];

/// The templates: `{n}` stands for a name, and so on.
const TEMPLATES: [&str; 14] = [
    "The {q} {t} in the {p} was {d} by {n} in {m}.",
    "{n} wants the {t} in the {p} to be {d} before the {e}.",
    "For the {e} in {c}, {n} brings {#} chairs and the {q} {t}.",
    "The {a} supports {f} since version {#}.{#}.",
    "{n} moved the {a} to a new cluster in {m} because of {f}.",
    "Ask {n} about {f} in the {a}; the notes are in the {p}.",
    "A {r} from {c} {d} the {q} {t} for {n}.",
    "The {e} of the {r}s takes place in {c} in {m}.",
    "{n} works as a {r} in {c} and collects {q} things such as a {t}.",
    "The {a} team agreed to drop {f} until the {e}.",
    "Please leave the {t} in the {p}; {n} needs it for the {e}.",
    "In {m}, {n} compared {f} of the {a} with what a {r} would do by hand.",
    "The {q} {t} costs {#} crowns in {c}.",
    "{n} lent the {t} to the {r} and got a {q} one in exchange.",
];

/// The templates of chatter. `{w}` is a word of the facts that it mentions.
const CHATTER: [&str; 16] = [
    "Did you think about the {w} again? I have no idea any more.",
    "Honestly, the {w} is all that I hear about these days.",
    "I will tell you about the {w} when we meet, it is a long story.",
    "Somebody mentioned the {w} at lunch and everybody laughed.",
    "No clue where the {w} is, {n} may know more than I do.",
    "Oh, the {w}! I had nearly forgotten about it, thanks for reminding me.",
    "{n} asked me about the {w} twice today, can you believe it?",
    "Let us not talk about the {w} now, I am too tired.",
    "I dreamt of a {q} {t} and of the {w}, how strange is that?",
    "Well, {n} says that the {w} can wait until the {e}.",
    "What a day. First the {t} broke, then the {w} came up.",
    "Good morning! Any news of the {w}?",
    "Hmm, I am not sure about the {w}, let me look it up later.",
    "The {w} again? You are worse than {n}.",
    "By the way, the {e} in {c} was fun.",
    "I saw {n} with a {q} {t} yesterday, no joke.",
];

/// Returns that many different facts.
pub fn facts(random: &mut Random, count: usize) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut facts = Vec::with_capacity(count);
    while facts.len() < count {
        let fact = fact(random);
        if seen.insert(fact.clone()) {
            facts.push(fact);
        }
    }
    facts
}

/// Returns a fact.
pub fn fact(random: &mut Random) -> String {
    let template = random.pick(&TEMPLATES);
    filled(template, "", random)
}

/// Returns a sentence of chatter about the topic.
pub fn chatter(random: &mut Random, topic: &str) -> String {
    let template = random.pick(&CHATTER);
    filled(template, topic, random)
}

fn filled(template: &str, topic: &str, random: &mut Random) -> String {
    let mut text = String::new();
    for part in template.split_inclusive('}') {
        let Some((before, key)) = part.split_once('{') else {
            text += part;
            continue;
        };
        text += before;
        match key.trim_end_matches('}') {
            "n" => text += random.pick(&NAMES),
            "t" => text += random.pick(&THINGS),
            "p" => text += random.pick(&PLACES),
            "q" => text += random.pick(&QUALITIES),
            "e" => text += random.pick(&EVENTS),
            "a" => text += random.pick(&PARTS),
            "f" => text += random.pick(&FEATURES),
            "c" => text += random.pick(&CITIES),
            "r" => text += random.pick(&TRADES),
            "m" => text += random.pick(&MONTHS),
            "d" => text += random.pick(&DONE),
            "w" => text += topic,
            _ => text += &(2 + random.below(90)).to_string(),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_differ_and_are_the_same_in_every_run() {
        let first = facts(&mut Random(7), 2_000);
        assert_eq!(first.iter().collect::<HashSet<_>>().len(), first.len());
        assert_eq!(first, facts(&mut Random(7), 2_000));
        assert!(
            first.iter().all(|fact| !fact.contains(['{', '}'])),
            "every blank is filled"
        );
    }
}
