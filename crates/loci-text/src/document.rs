//! Extracts the terms of a text for the index, and its text for the embedding model.
//!
//! Besides its terms a passage has marks, which do not affect scores: its speaker, and the days,
//! months and years that it mentions. They start with `@`, as no term does.

use std::borrow::Cow;
use std::ops::Range;

use jiff::civil::Date;

use crate::analysis::fold::{fold, fold_width, is_unspaced, is_word_character};
use crate::analysis::units::units;
use crate::analysis::{Counts, Language};
use crate::dates::{self, Time, marks};
use crate::paths;

/// The mark of a passage with any expression of time.
pub const TIME: &str = "@time";
/// The mark of the output of a tool.
pub const TOOL_OUTPUT: &str = "@tool";
/// The maximum number of marks that a passage has from its words and metadata. Beyond it the last
/// ones are dropped: the order is time, speaker, the record's own date, the dates in the text.
pub const PASSAGE_MARKS_MAX: usize = 32;

/// The maximum bytes of metadata that passages after the first have, in whole entries. A content
/// has thousands of passages, so the metadata repeated in each must be small: enough for a summary
/// and ordinary tags.
const METADATA_BYTES_MAX: usize = 2_048;
/// The maximum number of terms that these passages have only from the metadata.
const METADATA_TERMS_MAX: usize = 128;

/// The maximum length in bytes of a speaker's name before a colon.
const LABEL_BYTES_MAX: usize = 40;
/// The maximum number of words of that name.
const LABEL_WORDS_MAX: usize = 3;
/// The maximum length in bytes of a first line that is taken as a title.
const TITLE_BYTES_MAX: usize = 100;

/// Words that often precede a colon without being a speaker. Folded, sorted.
const NOT_SPEAKERS: &[&str] = &[
    "action",
    "also",
    "answer",
    "bug",
    "caution",
    "date",
    "decision",
    "edit",
    "error",
    "example",
    "fact",
    "fix",
    "fixme",
    "from",
    "fyi",
    "goal",
    "hint",
    "idea",
    "important",
    "info",
    "key points",
    "lesson",
    "lessons learned",
    "location",
    "name",
    "next steps",
    "note",
    "notes",
    "plan",
    "preference",
    "problem",
    "project",
    "question",
    "re",
    "reason",
    "reminder",
    "result",
    "rule",
    "solution",
    "status",
    "subject",
    "summary",
    "task",
    "tip",
    "title",
    "to",
    "todo",
    "topic",
    "update",
    "url",
    "usage",
    "warning",
];

/// Returns the terms of the passage `range` of `content`, each once with the number of times it
/// occurs, then its marks with the count 0.
///
/// Metadata (tags, names, captions, the record's date as `2023-05-08`) counts as part of every
/// passage (if it is very long, later passages have only a part); so does, in passages after the
/// first, the speaker or the title line. "Yesterday" is relative to the first date in the metadata
/// or, without one, to `stored_on`.
pub fn terms(
    content: &str,
    range: Range<usize>,
    metadata: &[String],
    stored_on: Date,
) -> Vec<(String, u32)> {
    let passage = &content[range.clone()];
    let lead = lead(content)
        .filter(|lead| lead.end <= range.start)
        .map(|lead| &content[lead]);
    let mut terms = counts(passage, lead, metadata, range.start == 0);
    let record_date = metadata.iter().find_map(|entry| dates::iso_date(entry));
    let told = dates::expressions(passage, record_date.unwrap_or(stored_on));
    let mut found = Vec::new();
    let mut add = |mark: String| {
        if found.len() < PASSAGE_MARKS_MAX && !found.contains(&mark) {
            found.push(mark);
        }
    };
    if !told.is_empty() {
        add(TIME.to_owned());
    }
    if let Some(label) = label(content) {
        speaker_marks(label.name).into_iter().for_each(&mut add);
    }
    let record_dates = metadata
        .iter()
        .filter_map(|entry| dates::iso_date(entry))
        .map(Time::Date);
    for time in record_dates.chain(told.into_iter().map(|expression| expression.time)) {
        marks::of_text(&time).into_iter().for_each(&mut add);
    }
    terms.extend(found.into_iter().map(|mark| (mark, 0)));
    terms
}

/// Returns the marks of origin that all passages of a text have: the path of its file, and whether
/// it is the output of a tool.
pub fn marks_of_origin(path: Option<&str>, is_tool_output: bool) -> Vec<String> {
    let tool = is_tool_output.then(|| TOOL_OUTPUT.to_owned());
    path.into_iter()
        .flat_map(paths::marks)
        .chain(tool)
        .collect()
}

/// Returns the terms of a passage, of its lead and of its metadata.
fn counts(
    passage: &str,
    lead: Option<&str>,
    metadata: &[String],
    is_first: bool,
) -> Vec<(String, u32)> {
    let mut counts = Counts::default();
    // A title or a tag is too short for language detection, so the language of the passage is used.
    let language = Language::other_latin(passage);
    std::iter::once(passage)
        .chain(lead)
        .for_each(|text| counts.add(text, language));
    let own = counts.terms.len();
    let mut room = if is_first {
        usize::MAX
    } else {
        METADATA_BYTES_MAX
    };
    for entry in metadata {
        if let Some(left) = room.checked_sub(entry.len()) {
            room = left;
            counts.add(entry, language);
        }
    }
    if !is_first {
        counts.terms.truncate(own + METADATA_TERMS_MAX);
    }
    counts.terms
}

/// Returns the text of the passage `range` of `content` for the embedding model: in every passage
/// of a content that starts with `Name: `, the speaker is given as `Name said, "text"`;
/// descriptions of media in square brackets are removed, unless nothing else remains.
pub fn embedded_text(content: &str, range: Range<usize>) -> Cow<'_, str> {
    let Some(label) = label(content) else {
        return without_media(&content[range]);
    };
    let start = range.start.max(label.text.start);
    let Some(text) = content
        .get(start..range.end.min(label.text.end))
        .filter(|text| !text.trim().is_empty())
    else {
        return Cow::Borrowed(&content[range]);
    };
    Cow::Owned(format!(
        "{} said, \"{}\"",
        label.name,
        without_media(text).trim()
    ))
}

/// Returns the text of a passage of a content with a title for the embedding model: the title
/// first, because it is the topic of each passage.
pub fn titled_text<'a>(title: Option<&str>, content: &'a str, range: Range<usize>) -> Cow<'a, str> {
    let text = embedded_text(content, range);
    match title {
        Some(title) => Cow::Owned(format!("{title}\n{text}")),
        None => text,
    }
}

/// Returns the mark of a speaker whose name is folded.
pub(crate) fn speaker_mark(name: &str) -> String {
    format!("@speaker={name}")
}

fn speaker_marks(name: &str) -> Vec<String> {
    let name = fold_width(name);
    let words: Vec<String> = units(&name).map(|(_, unit)| fold(unit.text())).collect();
    let each = words
        .iter()
        .filter(|_| words.len() > 1)
        .map(|word| speaker_mark(word));
    std::iter::once(speaker_mark(&words.join(" ")))
        .chain(each)
        .collect()
}

/// The speaker at the beginning of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Label<'a> {
    name: &'a str,
    /// The range of bytes of the speech.
    text: Range<usize>,
}

fn label(content: &str) -> Option<Label<'_>> {
    const SAID: &str = " said, \"";
    let beginning = &content[..content.floor_char_boundary(LABEL_BYTES_MAX + SAID.len())];
    if let Some(at) = beginning.find(SAID).filter(|at| is_name(&content[..*at])) {
        let text = content[at + SAID.len()..].trim_end();
        let end = at + SAID.len() + text.strip_suffix('"').unwrap_or(text).len();
        return Some(Label {
            name: &content[..at],
            text: at + SAID.len()..end,
        });
    }
    let at = beginning.find([':', '：'])?;
    let after = &content[at..];
    let text = after.strip_prefix('：').or_else(|| {
        after
            .strip_prefix(':')
            .filter(|text| text.starts_with([' ', '\n']))
    })?;
    is_name(&content[..at]).then(|| Label {
        name: &content[..at],
        text: content.len() - text.len()..content.len(),
    })
}

/// True for one to three words, each with a capital or of a script without spaces, that do not name
/// a kind of note.
fn is_name(name: &str) -> bool {
    let is_name_word = |word: &str| {
        word.starts_with(|first: char| first.is_uppercase() || is_unspaced(first))
            && word.chars().all(|character| {
                is_word_character(character) || matches!(character, '\'' | '\u{2019}' | '-' | '.')
            })
    };
    name.len() <= LABEL_BYTES_MAX
        && !name.is_empty()
        && name.split(' ').count() <= LABEL_WORDS_MAX
        && name.split(' ').all(is_name_word)
        && NOT_SPEAKERS.binary_search(&fold(name).as_str()).is_err()
}

/// Returns the topic of every passage of a long content: the speaker, or the first line if it is a
/// title.
fn lead(content: &str) -> Option<Range<usize>> {
    if let Some(label) = label(content) {
        return Some(0..label.name.len());
    }
    // A longer line is not a title, and reading the whole line for every passage would take
    // quadratic time.
    let line = content[..content.floor_char_boundary(TITLE_BYTES_MAX + char::MAX.len_utf8())]
        .lines()
        .next()?;
    let is_title = line.starts_with('#')
        || !line
            .trim_end()
            .ends_with(['.', '!', '?', ',', ';', '。', '！', '？']);
    (is_title && line.len() <= TITLE_BYTES_MAX && line.len() < content.len())
        .then_some(0..line.len())
}

fn without_media(text: &str) -> Cow<'_, str> {
    if !text.contains('[') {
        return Cow::Borrowed(text);
    }
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = rest.find('[') {
        let end = media_end(&rest[start..]).map(|end| start + end);
        let keep_until = if end.is_some() {
            rest[..start].trim_end().len()
        } else {
            start + 1
        };
        kept.push_str(&rest[..keep_until]);
        rest = &rest[end.unwrap_or(start + 1)..];
    }
    kept.push_str(rest);
    if kept.len() == text.len() || !kept.contains(is_word_character) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(kept)
}

/// Returns the length of the description of media that the text starts with: `[photo: a dog]`,
/// `[shares a picture]`.
fn media_end(text: &str) -> Option<usize> {
    const MEDIA: [&str; 8] = [
        "photo",
        "image",
        "picture",
        "video",
        "audio",
        "gif",
        "sticker",
        "attachment",
    ];
    const SHARING: [&str; 4] = ["shares", "shared", "sends", "sent"];
    const MEDIA_BYTES_MAX: usize = 1_000;
    let inside = &text[1..text[..text.floor_char_boundary(MEDIA_BYTES_MAX)].find(']')?];
    let word_end = inside.find(|character: char| !character.is_ascii_alphabetic())?;
    let word = inside[..word_end].to_ascii_lowercase();
    let is_media = match inside.as_bytes()[word_end] {
        b':' => MEDIA.contains(&word.as_str()),
        b' ' => SHARING.contains(&word.as_str()),
        _ => false,
    };
    is_media.then_some(inside.len() + 2)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    const STORED_ON: Date = date(2024, 1, 2);

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn marks_of(content: &str, metadata: &[&str]) -> Vec<String> {
        let all = terms(content, 0..content.len(), &strings(metadata), STORED_ON);
        all.into_iter()
            .filter(|(_, count)| *count == 0)
            .map(|(mark, _)| mark)
            .collect()
    }

    #[test]
    fn the_list_of_what_speaks_not_is_sorted() {
        assert!(NOT_SPEAKERS.is_sorted());
    }

    #[test]
    fn who_speaks_is_marked() {
        let rows: &[(&str, &[&str])] = &[
            ("Caroline: hello", &["@speaker=caroline"]),
            (
                "José Luis: hola",
                &["@speaker=jose luis", "@speaker=jose", "@speaker=luis"],
            ),
            (
                "Jean-Luc: oui",
                &["@speaker=jean luc", "@speaker=jean", "@speaker=luc"],
            ),
            ("小明：你好", &["@speaker=小明"]),
            ("Caroline said, \"hello\"", &["@speaker=caroline"]),
            ("Note: hello", &[]),
            ("TODO: hello", &[]),
            ("http://example.com is up", &[]),
            ("what I saw: a dog", &[]),
            ("One Two Three Four: hello", &[]),
            ("Caroline:hello", &[]),
            ("", &[]),
        ];
        for (content, expected) in rows {
            assert_eq!(marks_of(content, &[]), *expected, "{content:?}");
        }
    }

    #[test]
    fn times_are_marked_as_finely_as_they_are_told() {
        let rows: &[(&str, &[&str])] = &[
            (
                "we met on 7 May 2023",
                &[
                    "@time",
                    "@day=2023-05-07",
                    "@day=05-07",
                    "@month=2023-05",
                    "@month=05",
                    "@year=2023",
                ],
            ),
            (
                "in May 2023",
                &["@time", "@month=2023-05", "@month=05", "@year=2023"],
            ),
            ("in 2019", &["@time", "@year=2019"]),
            ("on 8/5/2023", &["@time", "@year=2023"]),
            ("recently", &["@time"]),
            (
                "yesterday",
                &[
                    "@time",
                    "@day=2024-01-01",
                    "@day=01-01",
                    "@month=2024-01",
                    "@month=01",
                    "@year=2024",
                ],
            ),
            ("nothing", &[]),
        ];
        for (content, expected) in rows {
            assert_eq!(marks_of(content, &[]), *expected, "{content:?}");
        }
        let week = marks_of("last week", &["trip", "2023-05-03"]);
        let days = [
            "@day=2023-04-24",
            "@day=2023-04-30",
            "@month=2023-04",
            "@year=2023",
            "@day=2023-05-03",
        ];
        assert!(
            days.iter().all(|mark| week.contains(&(*mark).to_owned())),
            "{week:?}"
        );
    }

    #[test]
    fn the_date_of_a_record_is_marked_and_found_but_tells_no_time() {
        assert_eq!(
            marks_of("hello", &["2023-05-08T13:56:00Z"]),
            [
                "@day=2023-05-08",
                "@day=05-08",
                "@month=2023-05",
                "@month=05",
                "@year=2023"
            ]
        );
        let found = terms("hello", 0..5, &strings(&["2023-05-08"]), STORED_ON);
        for term in ["hello", "2023-05-08", "may", "8", "2023"] {
            assert!(found.contains(&(term.to_owned(), 1)), "{term}: {found:?}");
        }
    }

    #[test]
    fn later_passages_have_the_speaker_or_the_title() {
        for (content, term) in [
            ("Caroline: one. two.", "carolin"),
            ("# Gardening\none. two.", "garden"),
        ] {
            let range = content.len() - 4..content.len();
            assert!(
                terms(content, range, &[], STORED_ON).contains(&(term.to_owned(), 1)),
                "{content:?}"
            );
        }
        assert_eq!(
            terms("One. Two.", 5..9, &[], STORED_ON),
            [("2".to_owned(), 1)]
        );
    }

    #[test]
    fn later_passages_have_ordinary_metadata_and_a_part_of_more() {
        let content = "One. Two.";
        let tags: Vec<String> = (100..116)
            .map(|number| format!("project-{number}"))
            .collect();
        let later = terms(content, 5..9, &tags, STORED_ON);
        for tag in &tags {
            let term = tag.replace('-', "");
            assert!(later.contains(&(term.clone(), 1)), "{term}: {later:?}");
        }
        let many: Vec<String> = (1_000..3_000).map(|number| number.to_string()).collect();
        let (first, later) = (
            terms(content, 0..5, &many, STORED_ON),
            terms(content, 5..9, &many, STORED_ON),
        );
        assert!(
            first.contains(&("2999".to_owned(), 1)),
            "{} terms",
            first.len()
        );
        assert_eq!(later.len(), 1 + METADATA_TERMS_MAX);
        let same = vec!["word ".repeat(25); 128];
        let count = terms(content, 5..9, &same, STORED_ON)
            .iter()
            .find(|(term, _)| term == "word")
            .unwrap()
            .1;
        assert!(
            (1..=METADATA_BYTES_MAX as u32 / 5).contains(&count),
            "{count}"
        );
    }

    #[test]
    fn the_model_reads_who_says_what() {
        let rows = [
            ("Caroline: I went there", "Caroline said, \"I went there\""),
            (
                "Caroline said, \"I went there\"",
                "Caroline said, \"I went there\"",
            ),
            (
                "Caroline: look [photo: a dog] here",
                "Caroline said, \"look here\"",
            ),
            (
                "Caroline: [photo: a dog]",
                "Caroline said, \"[photo: a dog]\"",
            ),
            ("look [shares a picture of a dog]", "look"),
            (
                "see [photo album](there) and [1]",
                "see [photo album](there) and [1]",
            ),
            ("Note: nothing", "Note: nothing"),
            ("Caroline: ", "Caroline: "),
        ];
        for (content, expected) in rows {
            assert_eq!(
                embedded_text(content, 0..content.len()),
                expected,
                "{content:?}"
            );
        }
        assert_eq!(
            embedded_text("Caroline: one. two.", 15..19),
            "Caroline said, \"two.\""
        );
        assert_eq!(
            titled_text(Some("Releases"), "One. Two.", 5..9),
            "Releases\nTwo."
        );
        assert_eq!(titled_text(None, "One. Two.", 5..9), "Two.");
    }

    proptest::proptest! {
        #[test]
        fn marks_are_bounded_and_stand_last(
            content in "(Name: )?((last week|2019-2022|[0-9]{1,2} May 20[0-9]{2}|since 1950|\\PC)[ ,.]?){0,30}",
            metadata in proptest::collection::vec("2023-0[1-9]-1[0-9]|\\PC{0,8}", 0..4),
        ) {
            let all = terms(&content, 0..content.len(), &metadata, STORED_ON);
            let first_mark = all.iter().position(|(_, count)| *count == 0).unwrap_or(all.len());
            proptest::prop_assert!(all.len() - first_mark <= PASSAGE_MARKS_MAX);
            for (place, (term, count)) in all.iter().enumerate() {
                proptest::prop_assert_eq!(place >= first_mark, *count == 0);
                proptest::prop_assert_eq!(term.starts_with('@'), *count == 0);
                proptest::prop_assert!(!all[..place].iter().any(|(seen, _)| seen == term));
            }
            proptest::prop_assert!(content.is_empty() || !embedded_text(&content, 0..content.len()).is_empty());
        }
    }
}
