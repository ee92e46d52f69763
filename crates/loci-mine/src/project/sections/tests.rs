use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// The sections of a text as their titles and lines.
fn outline(name: &str, text: &str) -> Vec<(Option<String>, (usize, usize))> {
    sections(Path::new(name), text)
        .into_iter()
        .map(|section| (section.title, section.lines))
        .collect()
}

/// The titles before anything is joined.
fn titles(name: &str, text: &str) -> Vec<Option<String>> {
    // So much that no part has room for another.
    let filler = vec!["-"; JOINED_CHARACTERS_MAX / 2].join("\n");
    let long = text.replace("FILL", &filler);
    sections(Path::new(name), &long)
        .into_iter()
        .map(|section| section.title)
        .collect()
}

fn some(titles: &[&str]) -> Vec<Option<String>> {
    titles
        .iter()
        .map(|title| (!title.is_empty()).then(|| (*title).to_owned()))
        .collect()
}

#[test]
fn markdown_falls_into_its_headings() {
    let text = "---\ntitle: x\n# no heading\n---\nFILL\n# One\nFILL\n\
                ```sh\n# no heading\n\n~~~\n```\nFILL\n   ## Two ##\nFILL\n    # no heading\n#no heading\n\
                FILL\nThree\n=====\nFILL\n\nFour\n---\nFILL\n###\nFILL\n# C#\nFILL\n";
    // `Three` goes on with a paragraph, so it is no heading.
    assert_eq!(
        titles("a.md", text),
        some(&["", "One", "Two", "Four", "", "C#"])
    );
    assert_eq!(titles("a.MD", "FILL\n~~~\n# a\nFILL\n"), some(&[""]));
    assert_eq!(
        outline("a.md", "# Title\n\ntext\n\n## Part\n\nmore\n"),
        [(Some("Title".to_owned()), (1, 7))]
    );
}

#[test]
fn code_falls_into_its_definitions() {
    let rust = "//! About.\n\nuse a;\nFILL\n/// Comment.\n#[inline]\npub(crate) const fn one<T>() {\n\n    FILL\n}\n\n\
                impl<T> Two for Three<T> where {\nFILL\n\n}\n\n#[cfg(test)]\nmod four {\nFILL\n}\n";
    assert_eq!(
        titles("a.rs", &rust.replace("FILL\n///", "FILL\n\n///")),
        some(&["", "one", "impl<T> Two for Three<T>", "four"])
    );
    let python = "import a\n\nFILL\n\n@decorated\nasync def one(a, b):\n    FILL\n\n\nclass Two(One):\n\n    def f(self):\nFILL\n";
    assert_eq!(titles("a.py", python), some(&["", "one", "Two"]));
    for (name, line, title) in [
        (
            "a.go",
            "func (r *Reader) Read(p []byte) (int, error) {",
            "Read",
        ),
        ("a.go", "func (Reader) Read() {", "Read"),
        ("a.go", "type Reader struct {", "Reader"),
        ("a.ts", "export default async function* walk(a) {", "walk"),
        ("a.ts", "export const walk = (a) => {", "walk"),
        ("a.ts", "export interface Walk<T> {", "Walk"),
        ("a.kt", "data class Walk(val a: Int)", "Walk"),
        ("a.rs", "unsafe extern \"C\" fn walk() {", "walk"),
        ("a.rs", "macro_rules! walk {", "walk"),
        ("a.rb", "module A::B", "A::B"),
        ("a.lua", "local function M.walk(a)", "M.walk"),
        ("a.py", "class Größe:", "Größe"),
        ("a.js", "const { a, b } = c;", ""),
        ("a.js", "classify(a);", ""),
        ("a.js", "// function a", ""),
        ("a.c", "int main(void) {", ""),
        ("a.go", "func (r", ""),
        ("a.go", "func", ""),
    ] {
        let found = outline(name, &format!("{line}\n    a\n"));
        assert_eq!(found, [(some(&[title]).remove(0), (1, 2))], "{line}");
    }
}

#[test]
fn other_text_falls_into_paragraphs() {
    let paragraph = "word ".repeat(180);
    let text = format!("{paragraph}\n\n\n{paragraph}\nfn a() {{\n\n# b\n\n{paragraph}");
    assert_eq!(
        outline("a.txt", &text),
        [(None, (1, 3)), (None, (4, 8)), (None, (9, 9))]
    );
    assert_eq!(outline("README", "a\n\nb"), [(None, (1, 3))]);
    assert_eq!(outline("a.txt", "\n\n"), [(None, (1, 2))]);
    assert_eq!(outline("a.txt", ""), []);
}

#[test]
fn a_short_beginning_or_end_does_not_stand_alone() {
    let long = "word ".repeat(500);
    assert_eq!(
        outline("a.md", &format!("# One\n\n## Two\n{long}\n")),
        [(Some("One".to_owned()), (1, 4))]
    );
    assert_eq!(
        outline("a.txt", &format!("{long}\n\nend\n")),
        [(None, (1, 3))]
    );
    let full = "word ".repeat(799);
    assert_eq!(
        outline("a.txt", &format!("{full}\n\nend\n")),
        [(None, (1, 2)), (None, (3, 3))]
    );
}

#[test]
fn what_is_too_large_is_split_where_it_hurts_least() {
    let sizes = |text: &str| -> Vec<usize> {
        let sections = sections(Path::new("a.rs"), text);
        assert!(
            sections
                .iter()
                .all(|section| section.title.as_deref() == Some("a"))
        );
        sections
            .iter()
            .map(|section| text[section.bytes.clone()].chars().count())
            .collect()
    };
    // At blank lines: paragraphs of 1,000 characters each.
    let paragraph = format!("    {}\n\n", "é".repeat(994));
    assert_eq!(
        sizes(&format!("fn a() {{\n\n{}", paragraph.repeat(5))),
        [3010, 2000]
    );
    // Between lines that the text does not have.
    let line = format!("    {}\n", "é".repeat(95));
    assert_eq!(
        sizes(&format!("fn a() {{\n{}", line.repeat(60))),
        [3009, 3000]
    );
    // Within a line, if it is one.
    assert_eq!(
        sizes(&format!("fn a() {{{}", "é".repeat(8_000))),
        [4000, 4000, 8]
    );
    let lines = outline("a.txt", &format!("a\n{}", "é".repeat(8_000)));
    assert_eq!(lines, [(None, (1, 1)), (None, (2, 2)), (None, (2, 2))]);
    // The end of a line stays with it, and white space with a neighbour.
    let full = "é".repeat(SECTION_CHARACTERS_MAX);
    assert_eq!(
        sizes(&format!("fn a() {{{}\r\n{full}\r\n", "é".repeat(3_992))),
        [4002, 4002]
    );
    assert_eq!(
        outline("a.txt", &format!("{}{full}", "\n".repeat(5_000))),
        [(None, (1, 5_001))]
    );
    assert_eq!(
        outline("a.txt", &format!("{full}\n{}x", " ".repeat(5_000))),
        [(None, (1, 2)), (None, (2, 2))]
    );
}

proptest! {
    #[test]
    fn sections_are_the_whole_text(
        name in prop::sample::select(vec!["a.md", "a.rs", "a.txt", "a"]),
        lines in vec(prop_oneof![
            4 => "[a-zé#` ~{}=-]{0,40}",
            2 => Just(String::new()),
            1 => Just("# Heading".to_owned()),
            1 => Just("fn a() {".to_owned()),
            1 => Just("```".to_owned()),
            1 => Just("---".to_owned()),
            1 => (1..12_000usize).prop_map(|count| "é".repeat(count)),
            1 => (1..3usize).prop_map(|count| "é".repeat(count * SECTION_CHARACTERS_MAX)),
            1 => (1..12_000usize).prop_map(|count| " ".repeat(count)),
        ], 0..200),
        end in prop::sample::select(vec!["\n", "\r\n"]),
        is_ended in any::<bool>(),
    ) {
        let text = lines.join(end) + if is_ended { end } else { "" };
        let sections = sections(Path::new(name), &text);
        let mut place = 0;
        let mut line = 1;
        for section in &sections {
            prop_assert_eq!(section.bytes.start, place);
            place = section.bytes.end;
            let part = &text[section.bytes.clone()];
            prop_assert!(!part.trim().is_empty() || text.trim().is_empty(), "a blank section");
            prop_assert!(part.trim().chars().count() <= SECTION_CHARACTERS_MAX);
            let breaks = part.matches('\n').count();
            let last = line + breaks - usize::from(part.ends_with('\n'));
            prop_assert_eq!(section.lines, (line, last));
            line += breaks;
            prop_assert!(section.title.as_ref().is_none_or(|title| text.contains(title.as_str())));
        }
        prop_assert_eq!(place, text.len());
    }
}
