//! Words with the same meaning in every text: stop words, contractions, numbers.

/// English stop words. Folded, unstemmed, sorted; the list has only contractions that are often
/// written without their apostrophe.
pub(super) const STOP_WORDS: &[&str] = &[
    "a",
    "about",
    "after",
    "again",
    "ain",
    "all",
    "also",
    "am",
    "an",
    "and",
    "any",
    "are",
    "arent",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "both",
    "but",
    "by",
    "can",
    "cannot",
    "cant",
    "could",
    "couldnt",
    "did",
    "didnt",
    "do",
    "does",
    "doesnt",
    "doing",
    "dont",
    "down",
    "during",
    "each",
    "for",
    "from",
    "further",
    "had",
    "hadnt",
    "has",
    "hasnt",
    "have",
    "havent",
    "having",
    "he",
    "her",
    "here",
    "hers",
    "herself",
    "him",
    "himself",
    "his",
    "how",
    "i",
    "if",
    "im",
    "in",
    "into",
    "is",
    "isnt",
    "it",
    "its",
    "itself",
    "ive",
    "just",
    "me",
    "might",
    "more",
    "most",
    "must",
    "my",
    "myself",
    "no",
    "nor",
    "not",
    "now",
    "of",
    "off",
    "on",
    "once",
    "only",
    "or",
    "other",
    "our",
    "ours",
    "ourselves",
    "out",
    "over",
    "own",
    "same",
    "shall",
    "she",
    "should",
    "shouldnt",
    "so",
    "some",
    "such",
    "than",
    "that",
    "thats",
    "the",
    "their",
    "theirs",
    "them",
    "themselves",
    "then",
    "there",
    "these",
    "they",
    "theyre",
    "this",
    "those",
    "through",
    "to",
    "too",
    "under",
    "until",
    "up",
    "us",
    "very",
    "was",
    "wasnt",
    "we",
    "were",
    "werent",
    "weve",
    "what",
    "whats",
    "when",
    "where",
    "which",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "wont",
    "would",
    "wouldnt",
    "you",
    "your",
    "youre",
    "yours",
    "yourself",
    "youve",
];

/// Number words and their digits, sorted by word. "Second" is missing: it is mostly a time.
const NUMBER_WORDS: &[(&str, &str)] = &[
    ("eight", "8"),
    ("eighteen", "18"),
    ("eighth", "8th"),
    ("eighty", "80"),
    ("eleven", "11"),
    ("eleventh", "11th"),
    ("fifteen", "15"),
    ("fifth", "5th"),
    ("fifty", "50"),
    ("first", "1st"),
    ("five", "5"),
    ("forty", "40"),
    ("four", "4"),
    ("fourteen", "14"),
    ("fourth", "4th"),
    ("hundred", "100"),
    ("million", "1000000"),
    ("nine", "9"),
    ("nineteen", "19"),
    ("ninety", "90"),
    ("ninth", "9th"),
    ("one", "1"),
    ("seven", "7"),
    ("seventeen", "17"),
    ("seventh", "7th"),
    ("seventy", "70"),
    ("six", "6"),
    ("sixteen", "16"),
    ("sixth", "6th"),
    ("sixty", "60"),
    ("ten", "10"),
    ("tenth", "10th"),
    ("third", "3rd"),
    ("thirteen", "13"),
    ("thirty", "30"),
    ("thousand", "1000"),
    ("three", "3"),
    ("twelfth", "12th"),
    ("twelve", "12"),
    ("twentieth", "20th"),
    ("twenty", "20"),
    ("two", "2"),
    ("zero", "0"),
];

/// Returns the digits of a number word.
pub(super) fn number(word: &str) -> Option<&'static str> {
    let place = NUMBER_WORDS
        .binary_search_by_key(&word, |(name, _)| name)
        .ok()?;
    Some(NUMBER_WORDS[place].1)
}

/// Returns "twenty" and "three" or "third" as one number: 23, 23rd.
pub(super) fn hyphenated_number(tens: &str, ones: &str) -> Option<String> {
    let ones = if ones == "second" {
        "2nd"
    } else {
        number(ones)?
    };
    let tens = number(tens)?;
    let are_digits = tens.len() == 2
        && tens.ends_with('0')
        && tens != "10"
        && ones.starts_with(|digit| digit != '0');
    // One digit, by itself or with two letters.
    let is_one_digit = ones.len() == 1
        || ones.len() == 3 && ones[1..].bytes().all(|byte| byte.is_ascii_lowercase());
    (are_digits && is_one_digit).then(|| format!("{}{ones}", &tens[..1]))
}

/// Returns the word that a folded contraction or possessive starts with: `don't` is `do`,
/// `Caroline's` is `caroline`. A negation is lost, as the stop word "not" would be.
pub(crate) fn without_contraction(word: &str) -> Option<&str> {
    match word {
        "can't" => return Some("can"),
        "won't" => return Some("will"),
        "shan't" => return Some("shall"),
        "ain't" => return Some("is"),
        _ => {}
    }
    let endings = ["n't", "'s", "'m", "'re", "'ve", "'ll", "'d"];
    let base = endings
        .iter()
        .find_map(|ending| word.strip_suffix(ending))?;
    (!base.is_empty() && !base.contains('\'')).then_some(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_for_binary_search() {
        assert!(STOP_WORDS.is_sorted());
        assert!(NUMBER_WORDS.is_sorted_by_key(|(word, _)| word));
    }

    #[test]
    fn hyphenated_numbers_are_one() {
        let rows = [
            ("twenty", "three", Some("23")),
            ("ninety", "ninth", Some("99th")),
            ("sixty", "second", Some("62nd")),
            ("ten", "two", None),
            ("two", "three", None),
            ("twenty", "eleven", None),
            ("twenty", "zero", None),
            ("twenty", "something", None),
        ];
        for (tens, ones, expected) in rows {
            assert_eq!(
                hyphenated_number(tens, ones).as_deref(),
                expected,
                "{tens}-{ones}"
            );
        }
    }
}
