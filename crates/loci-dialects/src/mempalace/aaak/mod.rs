//! AAAK: a shorthand with one line per thought, which models read and write. The encoder is
//! rule-based and deterministic. It is lossy: its output never replaces a text.

mod lexicon;
mod paragraph;

use std::collections::{BTreeSet, HashMap};

use loci_core::Memory;

use super::arguments::wing;
use super::times::date;
use crate::wire::source_file;
use paragraph::{Paragraph, Vocabulary};

/// The maximum number of values in a field.
const VALUES_MAX: usize = 3;
/// The maximum number of lines for a text: the lines of its strongest paragraphs.
const LINES_MAX: usize = 64;

/// The grammar, for models.
pub const SPECIFICATION: &str = "\
AAAK says much in few tokens: one line for each thought, each with fields between bars.

HEADER, the first line: wing|room|date|source, a ? where nothing is known.
LINE: n:ENT+ENT|topic_topic|\"quote\"|emotion+emotion|FLAG+FLAG
  n       the number of the thought
  ENT     who or what it is about: three capital letters for a name, the same all through a text (Alice is ALI)
  topic   what it is about, in plain words
  quote   the one sentence that matters, word for word
  emotion how it felt: joy, fear, doubt, relief, ...
  FLAG    DECISION settled, ORIGIN how something began, CORE what someone stands by, PIVOT a change of mind or course,
          TECHNICAL how something works, SENSITIVE not for everyone
At most three values to a field. Leave out what is empty at the end of a line; keep the bars in between.
WEIGHT: one to five stars at the end of a line, after a blank, where it matters: *** or more for what must not be lost.
LINKS: T:n<->n|label ties two thoughts. ARC:emotion->emotion is how the mood went.

EXAMPLE
harbour|decisions|2026-03-14|ann
1:ANN+BOB|crane_colour_rust|\"Yellow shows the rust before it bites.\"|relief|DECISION ****
2:BOB|paint_budget||doubt
3:CRN|hydraulics_valve|\"The valve sticks below zero.\"||TECHNICAL
T:1<->2|who pays
ARC:doubt->relief
Read it aloud in full sentences; expand codes by what you know of the wing.";

/// The origin of a text; a missing field is shown as `?`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Header<'a> {
    /// The wing.
    pub wing: Option<&'a str>,
    /// The room.
    pub room: Option<&'a str>,
    /// The day (`YYYY-MM-DD`).
    pub date: Option<&'a str>,
    /// The file or the speaker.
    pub source: Option<&'a str>,
}

/// Encodes a memory in AAAK.
pub fn compressed(memory: &Memory) -> String {
    let wing = wing(memory.location.collection.clone());
    let (date, source) = (date(memory.created_at), source_file(memory));
    let header = Header {
        wing: Some(&wing),
        room: Some(&memory.location.section),
        date: Some(&date),
        source: source.as_deref(),
    };
    encode(header, &memory.content)
}

/// Encodes a text in AAAK: the header, then a line for each paragraph in which anything is found,
/// with the number of the paragraph; of more than 64, only the strongest. Each line ends with a
/// line feed. The output is deterministic.
pub fn encode(header: Header<'_>, text: &str) -> String {
    let shown = |field: Option<&str>| {
        let field = plain(field.unwrap_or_default());
        if field.is_empty() {
            "?".to_owned()
        } else {
            field
        }
    };
    let Header {
        wing,
        room,
        date,
        source,
    } = header;
    let mut encoded = [wing, room, date, source].map(shown).join("|") + "\n";
    let vocabulary = Vocabulary::of(text);
    let mut paragraphs: Vec<(usize, Paragraph<'_>)> = paragraphs(text)
        .map(|paragraph| Paragraph::of(paragraph, &vocabulary))
        .enumerate()
        .collect();
    paragraphs.retain(|(_, paragraph)| !paragraph.is_empty());
    paragraphs.sort_by_key(|(place, paragraph)| (std::cmp::Reverse(paragraph.strength()), *place));
    paragraphs.truncate(LINES_MAX);
    paragraphs.sort_by_key(|(place, _)| *place);
    let mut codes = Codes::default();
    for (place, paragraph) in paragraphs {
        encoded.push_str(&line(place + 1, &paragraph, &mut codes));
        encoded.push('\n');
    }
    encoded
}

/// Splits a text into paragraphs at blank lines.
fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (mut start, mut end) = (None, 0);
        for line in rest.split_inclusive('\n') {
            let is_blank = line.trim().is_empty();
            if is_blank && start.is_some() {
                break;
            }
            if !is_blank && start.is_none() {
                start = Some(end);
            }
            end += line.len();
        }
        let paragraph = &rest[start?..end];
        rest = &rest[end..];
        Some(paragraph.trim())
    })
}

fn line(number: usize, paragraph: &Paragraph<'_>, codes: &mut Codes) -> String {
    let entities: Vec<String> = paragraph
        .entities
        .iter()
        .filter_map(|entity| codes.of(entity))
        .collect();
    let quote = if paragraph.quote.is_empty() {
        String::new()
    } else {
        format!("\"{}\"", plain(&paragraph.quote))
    };
    let fields = [
        format!("{number}:{}", entities.join("+")),
        paragraph.topics.join("_"),
        quote,
        paragraph.emotions.join("+"),
        paragraph.flags.join("+"),
    ];
    let said = fields
        .iter()
        .rposition(|field| !field.is_empty())
        .map_or(0, |last| last + 1);
    let mut line = fields[..said].join("|");
    if paragraph.stars > 0 {
        line.push(' ');
        line.extend(std::iter::repeat_n('*', paragraph.stars));
    }
    line
}

/// Returns a text in one line, without the characters that the grammar uses.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "/").replace('"', "'")
}

/// Codes of three letters, one for each name.
#[derive(Default)]
struct Codes {
    of_names: HashMap<String, String>,
    taken: BTreeSet<String>,
}

impl Codes {
    /// Returns the code of a name: its first three letters, or else the next free combination;
    /// `None` if it has no capital letters, or all combinations are taken.
    fn of(&mut self, name: &str) -> Option<String> {
        if let Some(code) = self.of_names.get(name) {
            return Some(code.clone());
        }
        let letters: Vec<char> = name
            .chars()
            .flat_map(char::to_uppercase)
            .filter(|letter| letter.is_uppercase())
            .collect();
        let first = *letters.first()?;
        let others = || letters[1..].iter().copied().chain('A'..='Z');
        let codes = others().enumerate().flat_map(|(place, second)| {
            let thirds = letters.iter().copied().skip(place + 2).chain('A'..='Z');
            thirds.map(move |third| String::from_iter([first, second, third]))
        });
        let code = codes.into_iter().find(|code| !self.taken.contains(code))?;
        self.taken.insert(code.clone());
        self.of_names.insert(name.to_owned(), code.clone());
        Some(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header<'_> = Header {
        wing: Some("harbour"),
        room: Some("decisions"),
        date: Some("2026-03-14"),
        source: None,
    };

    #[test]
    fn a_text_becomes_a_line_for_each_paragraph() {
        let text = "We decided with Alice that the crane will be yellow. Alice was relieved.\n\n\
            The parser is in parse_header, and parse_header calls Tokenizer. It must never panic, this is critical.\n\
            \n \n---\n\nthe weather";
        let expected = "harbour|decisions|2026-03-14|?\n\
            1:ALI|crane_yellow_relieved|\"We decided with Alice that the crane will be yellow.\"|relief|DECISION\n\
            2:PAR+TOK|parser_calls_panic|\"The parser is in parse_header, and parse_header calls Tokenizer.\"||\
            CORE+TECHNICAL ****\n\
            4:|weather|\"the weather\"\n";
        assert_eq!(encode(HEADER, text), expected);
        assert_eq!(encode(Header::default(), ""), "?|?|?|?\n");
    }

    #[test]
    fn what_the_grammar_uses_is_never_in_a_field() {
        let header = Header {
            wing: Some("a|b"),
            source: Some("c\nd"),
            ..HEADER
        };
        let encoded = encode(
            header,
            "He said: \"one | two\nthree\" to Ann, and Ann_x wrote a|b|c \"quoted\".",
        );
        assert!(
            encoded.starts_with("a/b|decisions|2026-03-14|c d\n1:"),
            "{encoded}"
        );
        for line in encoded.lines().skip(1) {
            assert!(
                line.matches('|').count() <= 4 && line.matches('"').count() <= 2,
                "{line}"
            );
        }
    }

    #[test]
    fn a_name_has_one_code_and_a_code_one_name() {
        let mut codes = Codes::default();
        let given: Vec<_> = ["Alice", "Alina", "Al", "Alice", "Ömer", "Jo", "日本", "a"]
            .map(|name| codes.of(name))
            .into_iter()
            .collect();
        let code = |code: &str| Some(code.to_owned());
        let expected = [
            code("ALI"),
            code("ALN"),
            code("ALA"),
            code("ALI"),
            code("ÖME"),
            code("JOA"),
            None,
            code("AAA"),
        ];
        assert_eq!(given, expected);
        let mut codes = Codes::default();
        let many: BTreeSet<String> = (0..500)
            .filter_map(|number| codes.of(&format!("Ann{number}")))
            .collect();
        assert_eq!(many.len(), 500);
    }

    #[test]
    fn a_long_text_keeps_its_strongest_paragraphs_in_order() {
        let text: String = (0..200)
            .map(|number| match number % 50 {
                7 => "We decided this, it is critical.\n\n".to_owned(),
                _ => format!("paragraph {number}\n\n"),
            })
            .collect();
        let encoded = encode(HEADER, &text);
        let numbers: Vec<usize> = encoded
            .lines()
            .skip(1)
            .map(|line| line.split(':').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(numbers.len(), LINES_MAX);
        assert!(
            numbers.is_sorted()
                && [8, 58, 108, 158]
                    .iter()
                    .all(|number| numbers.contains(number)),
            "{numbers:?}"
        );
        assert_eq!(encoded, encode(HEADER, &text));
    }

    #[test]
    fn a_large_text_is_taken_whatever_it_is_made_of() {
        for unit in [
            "a",
            "A b. ",
            "Word_x ",
            "\n\nAnn said no. ",
            "語",
            "\u{301}",
            "```\n",
        ] {
            let text = unit.repeat((1 << 17) / unit.len());
            assert!(encode(HEADER, &text).lines().count() <= LINES_MAX + 1);
        }
    }
}
