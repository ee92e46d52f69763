//! Questions for days and times.

use super::material::{Class, Shelf};

/// Days in four notations; the fact has the first of two, the question the second.
pub fn dates(shelf: &mut Shelf) {
    const DATES: [(&str, &str, &str); 16] = [
        ("on 14 March 2024", "on 2024-03-14", "the lease of the old mill"),
        ("on 2024-03-15", "on 15 March 2024", "the statutes of the choir"),
        ("on March 16, 2024", "on 16 March 2024", "the contract with the ferry company"),
        ("on 17 Mar 2024", "on March 17, 2024", "the petition for the bicycle lane"),
        ("on 2 July 2023", "on 2023-07-02", "the charter of the rowing club"),
        ("on 2023-07-21", "on July 21, 2023", "the treaty of the two orchards"),
        ("on July 28, 2023", "on 28 July 2023", "the receipt for the piano"),
        ("on 29 Jul 2023", "on 2023-07-29", "the deed of the quarry"),
        ("on 5 November 2022", "on November 5, 2022", "the waiver of the climbers"),
        ("on 2022-11-25", "on 25 November 2022", "the lease of the bakery"),
        ("on November 26, 2022", "on 2022-11-26", "the agreement about the well"),
        ("on 27 Nov 2022", "on 27 November 2022", "the order for the organ pipes"),
        ("in the night of 30 January 2025", "on 2025-01-30", "the guest book of the cabin"),
        ("on 2025-01-31", "on January 31, 2025", "the pledge of the neighbours"),
        ("on February 19, 2025", "on 19 Feb 2025", "the protocol of the tasting"),
        ("on 20 Feb 2025", "on 2025-02-20", "the permit for the kiosk"),
    ];
    for (written, asked, what) in DATES {
        let fact = shelf.add(format!("{} was signed {written}.", capital(what)));
        shelf.ask(Class::Date, format!("What was signed {asked}?"), fact);
    }
}

/// Facts of one form, of which the time alone tells which one is meant. The questions are asked on
/// Wednesday, 18 March 2026.
pub fn relative(shelf: &mut Shelf) {
    const SERIES: [(&str, &str, [&str; 4]); 4] = [
        (
            "The committee voted for the {} banner.",
            "Which banner did the committee vote for",
            ["amber", "teal", "crimson", "ivory"],
        ),
        (
            "We had {} for supper at the club.",
            "What did we have for supper at the club",
            ["goulash", "risotto", "dumplings", "paella"],
        ),
        (
            "The excursion went to the {}.",
            "Where did the excursion go",
            ["gorge", "salt mine", "observatory", "vineyard"],
        ),
        (
            "The guest speaker talked about {}.",
            "What did the guest speaker talk about",
            ["glaciers", "clockwork", "bats", "canals"],
        ),
    ];
    // Yesterday; Tuesday of last week; last month; in January.
    const TIMES: [(i64, &str); 4] = [(1, "yesterday"), (8, "last week"), (28, "last month"), (60, "in January")];
    for (fact, question, what) in SERIES {
        for (what, (days_ago, when)) in what.iter().zip(TIMES) {
            let fact = shelf.add_then(fact.replace("{}", what), days_ago);
            shelf.ask(Class::RelativeTime, format!("{question} {when}?"), fact);
        }
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
