//! The sentences of a text.

/// Marks that end a sentence where something blank follows.
const ENDS: [char; 4] = ['.', '!', '?', '…'];
/// Marks that end a sentence whatever follows.
const FULL_ENDS: [char; 4] = ['。', '！', '？', '؟'];
/// Marks that end a question.
const ASKING: [char; 3] = ['?', '？', '؟'];

/// The sentences, none of them blank; a line ends one, too.
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

/// Where the first sentence ends.
fn end(text: &str) -> usize {
    let mut characters = text.char_indices().peekable();
    while let Some((place, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        let is_end = character == '\n'
            || FULL_ENDS.contains(&character)
            || ENDS.contains(&character) && next.is_none_or(char::is_whitespace);
        if is_end {
            return place + character.len_utf8();
        }
    }
    text.len()
}

/// Whether it is a question.
pub fn asks(sentence: &str) -> bool {
    sentence.ends_with(ASKING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_marks_and_lines() {
        let text = "  See foo.rs v1.2. Really?! Yes\r\nno.\n\n何色ですか？黄色です。end";
        let expected = ["See foo.rs v1.2.", "Really?!", "Yes", "no.", "何色ですか？", "黄色です。", "end"];
        assert_eq!(sentences(text).collect::<Vec<_>>(), expected);
        assert_eq!(sentences(" \n . ").collect::<Vec<_>>(), ["."]);
        assert_eq!(sentences("").count(), 0);
        assert_eq!(sentences(text).map(asks).collect::<Vec<_>>(), [false, false, false, false, true, false, false]);
    }
}
