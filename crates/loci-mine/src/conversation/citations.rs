//! The marks that ChatGPT's page draws as links: in characters for private use
//! (`\u{e200}cite\u{e202}…\u{e201}`), or, in older texts, in `【…†…】`.

use std::borrow::Cow;

use serde_json::Value;

const BEGIN: char = '\u{e200}';
const END: char = '\u{e201}';
const SEPARATOR: char = '\u{e202}';
const OLDER: [char; 3] = ['【', '】', '†'];

/// The text with each mark as what a person reads there: the text that a reference has for it, the
/// name of a thing, the title of a link, or nothing.
pub(super) fn without_citations<'a>(text: &'a str, references: &Value) -> Cow<'a, str> {
    if !text.contains([BEGIN, END, SEPARATOR, OLDER[0]]) {
        return Cow::Borrowed(text);
    }
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find([BEGIN, OLDER[0]]) {
        let (before, mark) = rest.split_at(place);
        said.push_str(before);
        let is_older = mark.starts_with(OLDER[0]);
        let end = if is_older { OLDER[1] } else { END };
        let length = mark.find(end).map(|place| place + end.len_utf8());
        let (mark, after) = mark.split_at(length.unwrap_or(OLDER[0].len_utf8()));
        let is_mark = length.is_some() && (!is_older || mark.contains(OLDER[2]));
        match referred(mark, references).filter(|_| is_mark) {
            Some(alternative) => said.push_str(alternative),
            None if is_older && !is_mark => said.push_str(mark),
            None if is_older => cut_space(&mut said, after),
            None => match meant(mark.trim_matches([BEGIN, END])) {
                Some(words) => said.push_str(&words),
                None => cut_space(&mut said, after),
            },
        }
        rest = after;
    }
    said.push_str(rest);
    said.retain(|letter| ![BEGIN, END, SEPARATOR].contains(&letter));
    Cow::Owned(said)
}

/// The words of a reference in place of its mark.
fn referred<'a>(mark: &str, references: &'a Value) -> Option<&'a str> {
    let mut references = references.as_array().into_iter().flatten();
    let reference = references.find(|one| one["matched_text"] == mark)?;
    reference["alt"]
        .as_str()
        .filter(|text| !text.trim().is_empty())
}

/// The words in a mark that a person reads.
fn meant(mark: &str) -> Option<String> {
    let (kind, content) = mark.split_once(SEPARATOR)?;
    match kind {
        "entity" => {
            let (entity, _) = loci_json::from_slice::<Value>(content.as_bytes()).ok()?;
            entity[1].as_str().map(str::to_owned)
        }
        "url" => {
            let (title, address) = content.split_once(SEPARATOR)?;
            Some(format!("{title} ({address})"))
        }
        _ => None,
    }
}

/// Removes the space before a mark that stands for nothing, if the text goes on with the end of a
/// sentence.
fn cut_space(said: &mut String, after: &str) {
    let is_end = after
        .chars()
        .next()
        .is_none_or(|letter| letter.is_whitespace() || ".,;:!?)".contains(letter));
    if is_end && said.ends_with(' ') {
        said.pop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marks_become_what_a_person_reads() {
        let references = json!([
            {"matched_text": "\u{e200}cite\u{e202}turn1view0\u{e201}", "alt": "([Tea](https://example.org))"},
            {"matched_text": "\u{e200}cite\u{e202}turn2\u{e201}", "alt": " "},
        ]);
        for (text, expected) in [
            ("Tea at four.", "Tea at four."),
            (
                "Tea \u{e200}cite\u{e202}turn1view0\u{e201}.",
                "Tea ([Tea](https://example.org)).",
            ),
            (
                "Tea \u{e200}cite\u{e202}turn2\u{e201}, at four",
                "Tea, at four",
            ),
            (
                "\u{e200}entity\u{e202}[\"person\",\"B. Brewer\",0]\u{e201} pours",
                "B. Brewer pours",
            ),
            (
                "See \u{e200}url\u{e202}Leaves\u{e202}https://example.org\u{e201}",
                "See Leaves (https://example.org)",
            ),
            ("Never \u{e200}closed", "Never closed"),
            ("Tea【3†L1-L9】.", "Tea."),
            ("Tea 【of the day】", "Tea 【of the day】"),
            ("Tea 【", "Tea 【"),
        ] {
            assert_eq!(without_citations(text, &references), expected, "{text:?}");
        }
    }
}
