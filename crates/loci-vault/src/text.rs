//! Extracts tags and links from the text of a note, as Obsidian does.

use std::collections::HashSet;

use loci_core::NoteFile;
use loci_core::limits::{TAG_BYTES_MAX, TAGS_MAX};
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use unicode_normalization::char::is_combining_mark;

/// The maximum number of links of one note; further ones are ignored.
pub(crate) const LINKS_MAX: usize = 256;
/// The maximum bytes of UTF-8 in one link; longer ones are ignored.
pub(crate) const LINK_BYTES_MAX: usize = 512;

/// Tags without `#`, and the targets of links, both in order and without duplicates.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Mentions {
    pub tags: Vec<String>,
    pub links: Vec<String>,
}

/// Finds tags and links outside of code, HTML and each other.
pub(crate) fn mentions(text: &str) -> Mentions {
    let mut tags = Distinct::of(TAGS_MAX, TAG_BYTES_MAX);
    let mut links = Distinct::of(LINKS_MAX, LINK_BYTES_MAX);
    if !text.contains(['#', '[']) {
        return Mentions::default();
    }
    // The parser splits a text into pieces; adjacent pieces are joined.
    let mut piece = 0..0;
    let mut hidden = 0_usize;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_WIKILINKS).into_offset_iter() {
        match event {
            Event::Text(_) if hidden > 0 => {}
            // A character reference such as `&#35;` differs in length from its character, and does
            // not start a tag.
            Event::Text(said) if said.as_ref() == &text[range.clone()] => {
                if piece.end != range.start {
                    find_tags(text, piece, &mut tags);
                    piece = range.clone();
                }
                piece.end = range.end;
            }
            Event::Start(
                Tag::Link {
                    link_type,
                    dest_url,
                    ..
                }
                | Tag::Image {
                    link_type,
                    dest_url,
                    ..
                },
            ) => {
                hidden += 1;
                if let Some(link) = link_target(link_type, &dest_url) {
                    links.add(&link);
                }
            }
            Event::Start(Tag::CodeBlock(_)) => hidden += 1,
            Event::End(TagEnd::Link | TagEnd::Image | TagEnd::CodeBlock) => {
                hidden = hidden.saturating_sub(1);
            }
            _ => {}
        }
    }
    find_tags(text, piece, &mut tags);
    Mentions {
        tags: tags.kept,
        links: links.kept,
    }
}

/// Returns the target of a link: a name or a path, without the fragment. `None` if it leads out of
/// the notes.
fn link_target(kind: LinkType, destination: &str) -> Option<String> {
    let place = destination.find(['#', '|']).unwrap_or(destination.len());
    let target = &destination[..place];
    if let LinkType::WikiLink { .. } = kind {
        // In a table, the bar is escaped.
        let target = target.strip_suffix('\\').unwrap_or(target).trim();
        return Some(target.to_owned()).filter(|target| !target.is_empty());
    }
    let is_note =
        target.len() > 3 && target.as_bytes()[target.len() - 3..].eq_ignore_ascii_case(b".md");
    if !is_note || target.starts_with('/') || target.contains(':') {
        return None;
    }
    Some(percent_decoded(target))
        .filter(|target| !target.contains('\0') && !target.starts_with(NoteFile::ALIAS))
}

/// Decodes percent-encoding such as `%20`; returns the text unchanged if the result is not UTF-8.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digit = |index: usize| {
            after
                .get(index)
                .and_then(|digit| char::from(*digit).to_digit(16))
        };
        if let (b'%', Some(high), Some(low)) = (first, digit(0), digit(1)) {
            bytes.push((high * 16 + low) as u8);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Adds the tags of a piece of the text: `#` at the beginning of a word that is not a URL, followed
/// by letters, digits, `_`, `-` and `/`, not only digits.
fn find_tags(text: &str, piece: std::ops::Range<usize>, tags: &mut Distinct) {
    let said = &text[piece.clone()];
    let mut before = text[..piece.start].chars().next_back();
    let mut is_address = false;
    let mut next = 0;
    for (start, character) in said.char_indices() {
        if start >= next {
            if character.is_whitespace() {
                is_address = false;
            }
            is_address |= said[start..].starts_with("://");
            if character == '#' && !is_address && before.is_none_or(may_precede) {
                let tag = &said[start + 1..];
                let tag = &tag[..tag
                    .find(|character| !is_tag_character(character))
                    .unwrap_or(tag.len())];
                next = start + 1 + tag.len();
                let tag = tag.trim_matches('/');
                if tag.contains(|character: char| !character.is_numeric()) {
                    tags.add(tag);
                }
            }
        }
        before = Some(character);
    }
}

fn is_tag_character(character: char) -> bool {
    character.is_alphanumeric()
        || matches!(character, '_' | '-' | '/')
        || is_combining_mark(character)
}

/// True if a word may start after this character.
fn may_precede(character: char) -> bool {
    if character.is_ascii() {
        " \t\r\n([{\"',;|*>".contains(character)
    } else {
        !is_tag_character(character)
    }
}

/// Distinct texts, limited in number and length.
struct Distinct {
    kept: Vec<String>,
    seen: HashSet<String>,
    count_max: usize,
    bytes_max: usize,
}

impl Distinct {
    fn of(count_max: usize, bytes_max: usize) -> Self {
        Distinct {
            kept: Vec::new(),
            seen: HashSet::new(),
            count_max,
            bytes_max,
        }
    }

    fn add(&mut self, text: &str) {
        if self.kept.len() < self.count_max
            && text.len() <= self.bytes_max
            && self.seen.insert(text.to_owned())
        {
            self.kept.push(text.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_words_with_a_hash_before_them() {
        let rows: [(&str, &[&str]); 22] = [
            (
                "#one and #two-three #four/five #six_7 #1a",
                &["one", "two-three", "four/five", "six_7", "1a"],
            ),
            ("#one #two #one", &["one", "two"]),
            ("#über #日本 #тег #हिन्दी", &["über", "日本", "тег", "हिन्दी"]),
            ("# heading\n\n## second", &[]),
            ("# heading #tag\n\n#no-heading", &["tag", "no-heading"]),
            ("#123 #2024/01 #2024/q1", &["2024/01", "2024/q1"]),
            ("`#code` ``x #code`` #after", &["after"]),
            (
                "```\n#code\n```\n\n    #code\n\n~~~ #info\n#code\n~~~\n#after",
                &["after"],
            ),
            (
                "https://example.org/#frag http://x.y/a,#frag #after",
                &["after"],
            ),
            (
                "<https://example.org/#frag> [#text](x.md) [[#heading]] [[Name#heading]]",
                &[],
            ),
            ("word#tag a&#98; ##two \\#three", &[]),
            (
                "(#in) [#box] \"#quote\" *#star* **#bold** > #quoted",
                &["in", "box", "quote", "star", "bold", "quoted"],
            ),
            (
                "#a, #b. #c; #d: #e! #f? #g",
                &["a", "b", "c", "d", "e", "f", "g"],
            ),
            ("笔记，#标签。「#引」", &["标签", "引"]),
            (
                "- #item\n- [ ] #todo\n\n> #quote",
                &["item", "todo", "quote"],
            ),
            ("#snake_case_name and #a*b*", &["snake_case_name", "a"]),
            (
                "<div>\n#html\n</div>\n\n<!-- #comment -->\n\n#after",
                &["after"],
            ),
            ("#path/ #/path", &["path"]),
            ("| #cell | x#y |\n|--|--|\n| #two | |", &["cell", "two"]),
            ("#", &[]),
            ("", &[]),
            ("line\n#next\r\n#third", &["next", "third"]),
        ];
        for (text, expected) in rows {
            assert_eq!(mentions(text).tags, expected, "{text:?}");
        }
    }

    #[test]
    fn links_are_names_and_paths_of_notes() {
        let rows: [(&str, &[&str]); 14] = [
            (
                "[[Name]] [[folder/Name#heading|shown]] ![[embed]]",
                &["Name", "folder/Name", "embed"],
            ),
            ("[[Name]] [[Name|other]] [[ Name ]]", &["Name"]),
            ("[[#heading]] [[|x]] [[]] [[ ]]", &[]),
            (
                "[x](other%20note.md) [y](<a b.md>) [z](../up.md#part) [w](Über.MD)",
                &["other note.md", "a b.md", "../up.md", "Über.MD"],
            ),
            (
                "[x](https://example.org/a.md) [y](/root.md) [z](mailto:a@b.md) [p](image.png) [q](#x.md)",
                &[],
            ),
            ("`[[code]]` \\[[escaped]]", &[]),
            ("```\n[[code]]\n```\n\n    [[code]]", &[]),
            ("| [[a\\|b]] |\n|---|\n| x |", &["a"]),
            ("[r][ref] [ref]\n\n[ref]: target.md", &["target.md"]),
            (
                "[[file (1).md]] [[a.b]] [[日本]]",
                &["file (1).md", "a.b", "日本"],
            ),
            ("[x](%ff.md) [y](100%.md)", &["%ff.md", "100%.md"]),
            (
                "# Heading [[in heading]]\n\n- [[in list]]",
                &["in heading", "in list"],
            ),
            ("![alt](note.md) [not a link] [x]", &["note.md"]),
            ("[[not closed", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(mentions(text).links, expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_found_is_bounded() {
        let many: Vec<_> = (0..1_000)
            .map(|number| format!("#t{number} [[n{number}]]"))
            .collect();
        let found = mentions(&many.join(" "));
        assert_eq!((found.tags.len(), found.links.len()), (TAGS_MAX, LINKS_MAX));
        let (tag, link) = ("a".repeat(TAG_BYTES_MAX), "b".repeat(LINK_BYTES_MAX));
        let found = mentions(&format!(
            "#{tag} #{tag}x [[{link}]] [[{link}y]] #last [[end]]"
        ));
        assert_eq!(
            (found.tags, found.links),
            (vec![tag, "last".to_owned()], vec![link, "end".to_owned()])
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "[#\\[\\]()|!`\\\\ab日/\n *_<>&;.-]{0,60}", rest in ".{0,40}") {
            for text in [&text, &rest, &format!("{text}{rest}")] {
                let found = mentions(text);
                for tag in &found.tags {
                    let is_said = |rest: &str| rest.trim_start_matches('/').starts_with(tag.as_str());
                    proptest::prop_assert!(text.split('#').skip(1).any(is_said), "{tag:?}");
                }
            }
        }
    }
}
