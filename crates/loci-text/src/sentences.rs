//! The sentences of a text.

/// Marks that end a sentence if white space follows.
const ENDS: [char; 7] = ['.', '!', '?', '…', '‽', '⁇', '⁈'];
/// Marks that end a sentence before any character.
const FULL_ENDS: [char; 7] = ['。', '！', '？', '؟', '\u{37e}', '፧', '﹖'];
/// Marks that end a question, of Latin and other scripts, including the Greek one (U+037E).
const ASKING: [char; 9] = ['?', '？', '؟', '\u{37e}', '፧', '﹖', '‽', '⁇', '⁈'];
/// Characters that may stand between the mark and the end of its sentence: quotes, brackets, and
/// markup.
const CLOSING: [char; 20] = [
    '"', '\'', '”', '’', '“', '»', '«', '›', '」', '』', ')', ']', '}', '）', '】', '》', '*', '_',
    '`', '~',
];
/// The most bytes of a tag, e.g. `</query>`.
const TAG_BYTES_MAX: usize = 64;
/// The most bytes of a word that is not cut.
const WORD_BYTES_MAX: usize = 40;
/// Marks at the end of a sentence that no space follows.
const FULL_WIDTH_ENDS: [char; 7] = ['。', '！', '？', '」', '』', '）', '】'];
/// The mark at the end of a text that is cut.
pub const CUT: &str = " […]";

/// Returns the sentences that are not blank; a line break ends one, too.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let (sentence, after) = rest.split_at(end(rest));
            rest = after;
            if !sentence.trim().is_empty() {
                return Some(sentence.trim());
            }
        }
        None
    })
}

/// Returns as many of the first sentences as fit into `characters_max` characters, in one line,
/// with the mark [`CUT`] if that is not all. A longer first sentence is cut, at a space unless the
/// last word is very long.
pub fn opening(text: &str, characters_max: usize) -> String {
    let mut opening = String::new();
    let mut room = characters_max;
    for (number, sentence) in sentences(text).enumerate() {
        let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        let characters = sentence.chars().count() + 1;
        if characters > room {
            if number == 0 {
                let end = sentence
                    .char_indices()
                    .nth(room)
                    .map_or(sentence.len(), |(end, _)| end);
                let word = sentence[..end]
                    .rfind(' ')
                    .filter(|word| end - word <= WORD_BYTES_MAX);
                opening.push_str(&sentence[..word.unwrap_or(end)]);
            }
            opening.push_str(CUT);
            break;
        }
        // Scripts with full-width marks have no spaces between sentences.
        if number > 0 && !opening.ends_with(FULL_WIDTH_ENDS) {
            opening.push(' ');
        }
        opening.push_str(&sentence);
        room -= characters;
    }
    opening
}

/// Returns the end of the first sentence.
fn end(text: &str) -> usize {
    let is_mark = |character: char| ENDS.contains(&character) || FULL_ENDS.contains(&character);
    let mut place = 0;
    while let Some(character) = text[place..].chars().next() {
        let after = place + character.len_utf8();
        if character == '\n' {
            return after;
        }
        if !is_mark(character) {
            place = after;
            continue;
        }
        let (mut closed, mut is_full) = (after, FULL_ENDS.contains(&character));
        while let Some(next) = closing(&text[closed..], is_mark) {
            is_full |= text[closed..].starts_with(FULL_ENDS);
            closed += next;
        }
        if is_full
            || text[closed..]
                .chars()
                .next()
                .is_none_or(char::is_whitespace)
        {
            return closed;
        }
        place = closed;
    }
    text.len()
}

/// Returns the bytes of a closing element at the beginning of the text: a character of [`CLOSING`],
/// a closing tag, or a further mark.
fn closing(text: &str, is_mark: impl Fn(char) -> bool) -> Option<usize> {
    let first = text.chars().next()?;
    if CLOSING.contains(&first) || is_mark(first) {
        return Some(first.len_utf8());
    }
    let tag = text
        .bytes()
        .take(TAG_BYTES_MAX)
        .position(|byte| byte == b'>')
        .filter(|_| first == '<')?;
    text[..tag].starts_with("</").then_some(tag + 1)
}

/// Reports whether a sentence is a question: ends in a question mark, ignoring closing characters
/// and exclamation marks.
pub fn asks(sentence: &str) -> bool {
    let mut rest = sentence.trim_end();
    loop {
        let bare = rest.trim_end_matches(CLOSING).trim_end_matches(['!', '！']);
        let bare = bare
            .strip_suffix('>')
            .and_then(|tag| Some(&tag[..tag.rfind("</")?]))
            .unwrap_or(bare);
        if bare.len() == rest.len() {
            return rest.ends_with(ASKING);
        }
        rest = bare;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_marks_and_lines() {
        let text = "  See foo.rs v1.2. Really?! Yes\r\nno.\n\n何色ですか？黄色です。end";
        let expected = [
            "See foo.rs v1.2.",
            "Really?!",
            "Yes",
            "no.",
            "何色ですか？",
            "黄色です。",
            "end",
        ];
        assert_eq!(sentences(text).collect::<Vec<_>>(), expected);
        assert_eq!(sentences(" \n . ").collect::<Vec<_>>(), ["."]);
        assert_eq!(sentences("").count(), 0);
        assert_eq!(
            sentences(text).map(asks).collect::<Vec<_>>(),
            [false, true, false, false, true, false, false]
        );
    }

    #[test]
    fn what_closes_a_sentence_belongs_to_it() {
        let rows: [(&str, &[&str]); 9] = [
            (
                "\"Is it red?\" she asked. No.",
                &["\"Is it red?\"", "she asked.", "No."],
            ),
            ("**Is it red?** Yes.", &["**Is it red?**", "Yes."]),
            ("<q>Is it red?</q> Yes", &["<q>Is it red?</q>", "Yes"]),
            ("(See foo.rs.) Then go.", &["(See foo.rs.)", "Then go."]),
            ("「何色？」と聞く。", &["「何色？」", "と聞く。"]),
            ("ما هذا؟» نعم", &["ما هذا؟»", "نعم"]),
            ("a?b and x.y.z, 3.\"4", &["a?b and x.y.z, 3.\"4"]),
            (
                "Is 1 <2? 3> 2. Wait...?! Go",
                &["Is 1 <2?", "3> 2.", "Wait...?!", "Go"],
            ),
            ("Why?<br>Yes", &["Why?<br>Yes"]),
        ];
        for (text, expected) in rows {
            assert_eq!(sentences(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn questions_are_told_from_what_is_said() {
        let asking = [
            "Why?",
            "\"Why?\"",
            "**Why?**",
            "Why?!",
            "(Why?)",
            "Why?</query>",
            "لماذا؟",
            "Γιατί\u{37e}",
            "何？」",
        ];
        for sentence in asking {
            assert!(asks(sentence), "{sentence}");
        }
        for sentence in [
            "",
            "Why.",
            "Why? Because",
            "a?b",
            "\"",
            "Why!",
            "<q>",
            "x > y",
        ] {
            assert!(!asks(sentence), "{sentence}");
        }
    }
}
