use loci_core::{MemoryId, NoteState, Timestamp};
use proptest::prelude::*;

use super::*;

const DAY: i64 = 86_400_000_000;

fn moment(microseconds: i64) -> Timestamp {
    Timestamp::from_microseconds(microseconds)
}

fn read(text: &str) -> (Note, Option<FileProblem>) {
    let (note, _, problem) = super::read(text);
    (note, problem)
}

fn values(text: &str) -> Vec<String> {
    super::read(text).1.values
}

fn note(text: &str) -> Note {
    let (note, problem) = read(text);
    assert_eq!(problem, None, "{text:?}");
    note
}

fn broken(text: &str) -> String {
    let (note, problem) = read(text);
    let problem = problem.unwrap_or_else(|| panic!("nothing is wrong with {text:?}"));
    assert_eq!(problem.kind, FileProblemKind::BrokenFrontmatter);
    let expected = Note {
        is_deleted: note.is_deleted,
        state: note.state,
        ..plain(text)
    };
    assert_eq!(note, expected, "it is plain text");
    problem.message
}

fn changed(text: &str, change: impl FnOnce(&mut Note)) -> String {
    let mut note = note(text);
    change(&mut note);
    rewrite(text, &note)
        .unwrap()
        .unwrap_or_else(|| text.to_owned())
}

#[test]
fn values_under_other_keys_are_words_of_the_note() {
    let rows: [(&str, &[&str]); 12] = [
        (
            "author: Mira  Holt\naliases: [GBD, The green book]\n",
            &["GBD", "The green book", "Mira Holt"],
        ),
        ("Alias: GBD\n", &["GBD"]),
        (
            "aliases:\n  - \"GBD\"\n  - 'Green: book'\n",
            &["GBD", "Green: book"],
        ),
        (
            "up: [[Index]]\nnext: \"[[Other note]]\"\n",
            &["Index", "[[Other note]]"],
        ),
        (
            "source:\n  name: Gazette\n  pages: [12, 14]\n",
            &["Gazette", "12", "14"],
        ),
        ("summary: >-\n  folded\n  lines\n", &["folded lines"]),
        (
            "year: 1984\ndone: true\nnothing: ~\nempty:\ndash: '-'\n",
            &["1984"],
        ),
        ("status: archived\n", &["archived"]),
        (
            "status: Active\ntitle: T\ntags: [a]\nwing: w\nroom: r\nuid: u\n",
            &[],
        ),
        ("cssclasses: [wide]\npublish: yes\n", &[]),
        ("a: same\nb: same\n", &["same"]),
        ("tags: [a]\nTags: [other]\n", &["other"]),
    ];
    for (yaml, expected) in rows {
        for end in ["\n", "\r\n"] {
            let text = format!("---\n{yaml}---\nText\n").replace('\n', end);
            assert_eq!(values(&text), expected, "{yaml:?}");
        }
    }
    let long = format!("---\nlong: {}\n---\n", "é".repeat(300));
    assert_eq!(values(&long), ["é".repeat(128)]);
    let many: Vec<String> = (0..400)
        .map(|number| format!("k{number}: value {number}\n"))
        .collect();
    let values = values(&format!("---\n{}---\n", many.concat()));
    assert!(values.join("\n").len() <= 1_024 && values.len() > 50);
    assert!(
        super::read("---\ntitle: [\nauthor: Mira\n---\nText")
            .1
            .values
            .is_empty()
    );
}

#[test]
fn tags_and_titles_are_read_and_changed_under_the_names_that_people_give_them() {
    for (text, expected) in [
        (
            "---\nTags: [a]\nTitle: One\n---\n",
            "---\nTags: [a, b]\nTitle: Two\n---\n",
        ),
        (
            "---\ntag: a\nTITLE: One # x\n---\n",
            "---\ntag: [a, b]\nTITLE: Two # x\n---\n",
        ),
        (
            "---\nTAGS:\n  - a\ntitle: One\n---\n",
            "---\nTAGS:\n  - a\n  - b\ntitle: Two\n---\n",
        ),
        (
            "---\nTags:\nTitle: x\ntitle: One\ntags: a\n---\n",
            "---\nTags:\nTitle: x\ntitle: Two\ntags: [a, b]\n---\n",
        ),
    ] {
        let before = note(text);
        assert_eq!(
            (before.title.as_deref(), before.tags),
            (Some("One"), vec!["a".to_owned()]),
            "{text:?}"
        );
        let after = changed(text, |note| {
            note.title = Some("Two".to_owned());
            note.tags.push("b".to_owned());
        });
        assert_eq!(after, expected);
    }
    // A value that loci would act on is read only under its own name.
    let note = note("---\nStatus: deleted\nUID: x\nAlways_Load: yes\nWing: w\n---\nText");
    assert_eq!(
        note,
        Note {
            body: "Text".to_owned(),
            ..Note::default()
        }
    );
}

#[test]
fn every_key_is_read() {
    let text = "---\nuid: 019aa3c4-5f0e-7b1c-8a51-0d2f6a1c9b7e\ntitle: Tea\nstatus: DELETED\ncreated_at: 1970-01-02\n\
        updated_at: 1970-01-02T00:00:01.5+00:00\ntags: [a, \"#b\", 'c d', 2024, a, null, ' ']\nalways_load: yes\n\
        deleted_at: 1970-01-03 06:00\nwing: w\nroom: 7\nmine: [x]\n---\nText\n";
    let expected = Note {
        id: Some(MemoryId::new("019aa3c4-5f0e-7b1c-8a51-0d2f6a1c9b7e")),
        title: Some("Tea".to_owned()),
        body: "Text".to_owned(),
        is_deleted: true,
        state: NoteState::Active,
        deleted_at: Some(moment(2 * DAY + DAY / 4)),
        created_at: Some(moment(DAY)),
        updated_at: Some(moment(DAY + 1_500_000)),
        tags: ["a", "b", "c d", "2024"].map(str::to_owned).to_vec(),
        always_load: true,
        collection: Some("w".to_owned()),
        section: Some("7".to_owned()),
    };
    assert_eq!(note(text), expected);
    assert_eq!(note(&text.replace('\n', "\r\n")), expected);
    assert_eq!(note(&format!("\u{feff}{text}")), expected);
    assert_eq!(note(&text.replacen("\n---\n", "\n...\n", 1)), expected);
}

/// The fuzzer accepts any refusal that loses nothing; these changes must be possible.
#[test]
fn what_the_fuzzer_begins_with_can_be_changed() {
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/frontmatter");
    let (mut changed, mut refused) = (0, Vec::new());
    for file in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let text = String::from_utf8(std::fs::read(file.path()).unwrap()).unwrap();
        let (before, _) = read(&text);
        let after = Note {
            tags: vec!["fuzz".to_owned()],
            ..before.clone()
        };
        match rewrite(&text, &after) {
            Ok(text) => {
                changed += 1;
                assert_eq!(note(&text.unwrap()), after, "{file:?}");
            }
            Err(_) => refused.push(file.file_name()),
        }
    }
    refused.sort();
    assert_eq!(
        (changed, refused),
        (10, ["broken", "twice", "unended"].map(Into::into).to_vec())
    );
}

#[test]
fn where_a_frontmatter_is() {
    let rows = [
        ("", "", None),
        ("text", "text", None),
        ("---", "---", None),
        ("---\n", "---", None),
        ("---\ntext\n\nmore", "---\ntext\n\nmore", None),
        (
            "---\nText: it follows a rule\n",
            "---\nText: it follows a rule",
            None,
        ),
        ("----\ntitle: t\n---\n", "----\ntitle: t\n---", None),
        (" ---\ntitle: t\n---\n", " ---\ntitle: t\n---", None),
        ("\n---\ntitle: t\n---\n", "\n---\ntitle: t\n---", None),
        ("---\n---\ntext", "text", None),
        ("---\n# only a comment\n\n---\n", "", None),
        ("--- \ntitle: t\n---\t\ntext\n", "text", Some("t")),
        ("---\ntitle: t\n---", "", Some("t")),
        ("---\ntitle: t\n---\n\n\ntext\n\n\n", "\n\ntext", Some("t")),
        (
            "---\ntitle: t\n---\n---\ntitle: u\n---\n",
            "---\ntitle: u\n---",
            Some("t"),
        ),
        ("---\n  title: t\n  mine: u\n---\nx", "x", Some("t")),
        ("---\n\ntitle: t\n---\nx", "x", Some("t")),
        // Text between two rules.
        (
            "---\njust text\n---\nmore",
            "---\njust text\n---\nmore",
            None,
        ),
        ("\u{feff}---\njust text\n---\n", "---\njust text\n---", None),
        (
            "---\n- a: b\n- c\n---\nmore",
            "---\n- a: b\n- c\n---\nmore",
            None,
        ),
        (
            "---\n**Bold** [link](http://x)\n\n> quote\n---\n",
            "---\n**Bold** [link](http://x)\n\n> quote\n---",
            None,
        ),
        (
            "---\n'quoted: text'\n---\n",
            "---\n'quoted: text'\n---",
            None,
        ),
    ];
    for (text, body, title) in rows {
        assert_eq!(
            note(text),
            Note {
                body: body.to_owned(),
                title: title.map(str::to_owned),
                ..Note::default()
            },
            "{text:?}"
        );
    }
}

#[test]
fn what_values_may_be() {
    let title = |yaml: &str| note(&format!("---\n{yaml}\n---\n")).title;
    for (yaml, expected) in [
        ("title: 2024", Some("2024")),
        ("title: true", Some("true")),
        ("title: 1.50", Some("1.50")),
        ("title: \"a \\u00e9 \\\"b\\\"\"", Some("a é \"b\"")),
        ("title: 'it''s'", Some("it's")),
        ("title: a: b", None),
        ("title: >-\n  one\n  two", Some("one two")),
        ("title: |\n  one\n  # two\n", Some("one\n# two\n")),
        ("\"title\": x", Some("x")),
        ("title: &anchor x\nother: *anchor", Some("x")),
        ("title: !!str 5", Some("5")),
    ] {
        if expected.is_some() {
            assert_eq!(title(yaml).as_deref(), expected, "{yaml}");
        } else {
            broken(&format!("---\n{yaml}\n---\n"));
        }
    }
    for yaml in [
        "title:",
        "title: ~",
        "title: null",
        "title: ''",
        "title: ' '",
        "status:",
        "tags:",
        "created_at:",
        "uid: null",
        "always_load: ~",
        "tags: []",
        "tags: ''",
        "tags: [~, '#', '']",
    ] {
        assert_eq!(
            note(&format!("---\n{yaml}\n---\n")),
            Note::default(),
            "{yaml}"
        );
    }
    let created = |value: &str| note(&format!("---\ncreated_at: {value}\n---\n")).created_at;
    let noon = DAY + DAY / 2;
    for (value, expected) in [
        ("1970-01-02", DAY),
        ("1970-01-02 12:00", noon),
        ("1970-01-02 12:00:00", noon),
        ("1970-01-02T12:00", noon),
        ("1970-01-02T12:00:00Z", noon),
        ("\"1970-01-02t12:00:00z\"", noon),
        ("1970-01-02 12:00:00Z", noon),
        ("1970-01-02T14:00:00+02:00", noon),
        ("1970-01-02T12:00:00.000001999Z", noon + 1),
        ("1969-12-31", -DAY),
    ] {
        assert_eq!(created(value), Some(moment(expected)), "{value}");
    }
    let tags = |value: &str| note(&format!("---\ntags: {value}\n---\n")).tags;
    for (value, expected) in [
        ("one", vec!["one"]),
        ("one, two three,four", vec!["one", "two", "three", "four"]),
        ("'#one #two'", vec!["one", "two"]),
        ("[one, two]", vec!["one", "two"]),
        ("\n- one\n- '#two'\n-\n- C#", vec!["one", "two", "C#"]),
        (
            "\n  - one # remark\n  # remark\n  - \"two\"",
            vec!["one", "two"],
        ),
    ] {
        assert_eq!(tags(value), expected, "{value}");
    }
    for (value, expected) in [
        ("true", true),
        ("True", true),
        ("YES", true),
        ("on", true),
        ("false", false),
        ("No", false),
    ] {
        assert_eq!(
            note(&format!("---\nalways_load: {value}\n---\n")).always_load,
            expected,
            "{value}"
        );
    }
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let levels: Vec<_> = (1..100)
        .map(|level| format!("{}a:", " ".repeat(level)))
        .collect();
    let deep = format!(
        "---
x:
{}
---
",
        levels.join(
            "
"
        )
    );
    let bomb = "---\na: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nuid: *c\n---\n";
    let large = format!("---\n{}---\n", "k: 1\n".repeat(20_000));
    let flow = format!("---\nx: {}\n---\n", "[".repeat(10_000));
    let rows = [
        ("---\ntitle: [unclosed\nstatus: active\n---\ntext", "line "),
        ("---\ncreated_at: soon\n---\n", "line 2: `created_at`"),
        ("---\nupdated_at: 2024-13-01\n---\n", "line 2: `updated_at`"),
        (
            "---\nmine: 1\ndeleted_at: [1970-01-01]\n---\n",
            "line 3: `deleted_at`",
        ),
        ("---\nalways_load: {a: b}\n---\n", "line 2: `always_load`"),
        ("---\nuid: \"a\\0b\"\n---\n", "line 2: `uid`"),
        ("---\nalways_load: 2\n---\n", "line 2: `always_load`"),
        ("---\nuid: ''\n---\n", "line 2: `uid`"),
        ("---\nuid: \"a\\nb\"\n---\n", "line 2: `uid`"),
        (
            "---\ntitle: a\n\n# x\ntitle: b\n---\n",
            "line 5: the key of this line occurs twice",
        ),
        (
            "---\nmine: a\nmine: b\n---\n",
            "line 3: the key of this line occurs twice",
        ),
        ("---\n\ttitle: a\n---\n", "line 2"),
        ("---\ntitle:\ta\n---\n", "line 2"),
        ("---\nmap:\n\ta: b\n---\n", "line 3"),
        ("---\ntitle: a\nbad\n---\n", "line "),
        (
            "---\n{title: a}\n---\n",
            "line 2: it should have one key on each line",
        ),
        ("---\n!!map\ntitle: a\n---\n", "line 2"),
        ("---\n? title\n: a\n---\n", "line 2"),
        ("---\n?\n  title\n: a\n---\n", "line 3"),
        ("---\n%TAG ! a: b\n---\ntitle: a\n", "line "),
        ("---\n? [a]\n: b\n---\n", "line 2: a key is not a word"),
        (
            "---\ntitle: a\n--- b\n---\n",
            "line 3: it should not have several documents",
        ),
        (
            "---\ntitle: a\rstatus: active\n---\n",
            "line 2: it has a carriage return",
        ),
        ("---\ntitle: *unknown\n---\n", "line 2"),
        ("---\ntitle: a\n\ntext", "line 1: no line `---` closes it"),
        ("---\nmine: x\ntags: a\n", "line 1: no line `---` closes it"),
        (bomb, "line 5: `uid`"),
        (&deep, "nested"),
        (&large, "line 1: it is larger than 65536 bytes"),
        (&flow, "line 2"),
    ];
    for (text, expected) in rows {
        let message = broken(text);
        assert!(message.contains(expected), "{text:?}: {message}");
        assert!(!message.contains("unclosed"), "{message}");
        let error = rewrite(text, &Note::default()).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
        assert!(error.message.contains("frontmatter"), "{error}");
    }
}

#[test]
fn a_fresh_note_is_in_the_fixed_order() {
    let mut note = Note {
        id: Some(MemoryId::new("019aa3c4-5f0e-7b1c-8a51-0d2f6a1c9b7e")),
        title: Some("Tea: green".to_owned()),
        body: "one\r\n\r\n  two  \r\n\r\n".to_owned(),
        created_at: Some(moment(0)),
        updated_at: Some(moment(1_000_001)),
        ..Note::default()
    };
    let text = "---\nuid: 019aa3c4-5f0e-7b1c-8a51-0d2f6a1c9b7e\ntitle: \"Tea: green\"\nstatus: active\n\
        created_at: 1970-01-01T00:00:00Z\nupdated_at: 1970-01-01T00:00:01.000001Z\n---\none\n\n  two  \n";
    assert_eq!(fresh(&note).unwrap(), text);
    note.tags = ["a", "#two words", "a", "2024", " "]
        .map(str::to_owned)
        .to_vec();
    note.body = String::new();
    (note.always_load, note.is_deleted, note.deleted_at) = (true, true, Some(moment(DAY)));
    (note.collection, note.section) = (Some("w".to_owned()), Some("true".to_owned()));
    let text = "---\nuid: 019aa3c4-5f0e-7b1c-8a51-0d2f6a1c9b7e\ntitle: \"Tea: green\"\nstatus: deleted\n\
        created_at: 1970-01-01T00:00:00Z\nupdated_at: 1970-01-01T00:00:01.000001Z\ntags:\n  - a\n  - two words\n  - \"2024\"\n\
        always_load: true\ndeleted_at: 1970-01-02T00:00:00Z\nwing: w\nroom: \"true\"\n---\n";
    assert_eq!(fresh(&note).unwrap(), text);
}

#[test]
fn only_the_lines_of_what_changes_change() {
    let forget = |note: &mut Note| {
        note.is_deleted = true;
        note.deleted_at = Some(moment(0));
    };
    let text = "---\n# mine\ntitle:   'Tea'   # of mine\nstatus: active  # flip me\nmine: {a: [1,  2]}\n\n---\n\nText  \n\n\n";
    let expected = text.replace(
        "status: active  # flip me\n",
        "status: deleted  # flip me\ndeleted_at: 1970-01-01T00:00:00Z\n",
    );
    assert_eq!(changed(text, forget), expected);
    // The change is reverted: the key is removed, and the line keeps its comment.
    assert_eq!(
        changed(&expected, |note| (note.is_deleted, note.deleted_at) =
            (false, None)),
        text
    );
    // With other line ends.
    let dos = text.replace('\n', "\r\n");
    assert_eq!(changed(&dos, forget), expected.replace('\n', "\r\n"));
    let marked = format!("\u{feff}{dos}");
    assert_eq!(
        changed(&marked, forget),
        format!("\u{feff}{}", expected.replace('\n', "\r\n"))
    );
    // Line ends converted twice by some program; a line is the same with any number of carriage
    // returns at its end.
    let twice = changed(&text.replace('\n', "\r\r\n"), forget);
    assert_eq!(
        twice.replace("\r\r\n", "\n").replace("\r\n", "\n"),
        expected
    );
    // An unchanged note is not written.
    assert_eq!(rewrite(text, &note(text)).unwrap(), None);
    let nothing = Note {
        body: "text without end\n".to_owned(),
        ..Note::default()
    };
    assert_eq!(rewrite("text without end", &nothing).unwrap(), None);
}

/// A text, a change of its note, and the text after it.
type Row<'a> = (&'a str, fn(&mut Note), &'a str);

#[test]
fn new_keys_have_their_place() {
    let id = |note: &mut Note| note.id = Some(MemoryId::new("i"));
    let rows: [Row<'_>; 10] = [
        (
            "",
            |note| note.title = Some("t".to_owned()),
            "---\ntitle: t\n---\n",
        ),
        (
            "text",
            |note| note.title = Some("t".to_owned()),
            "---\ntitle: t\n---\ntext",
        ),
        (
            "---\n---\ntext\n",
            |note| note.title = Some("t".to_owned()),
            "---\ntitle: t\n---\ntext\n",
        ),
        (
            "---\nmine: 1\n# end\n---\n",
            |note| note.title = Some("t".to_owned()),
            "---\nmine: 1\n# end\ntitle: t\n---\n",
        ),
        (
            "---\n# c\nroom: r\n---\n",
            |note| note.collection = Some("w".to_owned()),
            "---\n# c\nwing: w\nroom: r\n---\n",
        ),
        (
            "---\ntags:\n  - a\n\n# c\nmine: 1\n---\n",
            |note| note.always_load = true,
            "---\ntags:\n  - a\nalways_load: true\n\n# c\nmine: 1\n---\n",
        ),
        (
            "---\n  title: t\n---\n",
            |note| note.tags = vec!["a".to_owned()],
            "---\n  title: t\n  tags:\n    - a\n---\n",
        ),
        // A form feed is not white space in YAML, so it is part of the name.
        (
            "---\n\x0ca: 1\n---\n",
            |note| note.always_load = true,
            "---\n\x0ca: 1\nalways_load: true\n---\n",
        ),
        (
            "---\ntitle: t\n...\n",
            |note| note.always_load = true,
            "---\ntitle: t\nalways_load: true\n...\n",
        ),
        (
            "---\ntitle: t\nstatus:\n---\n",
            |note| note.is_deleted = true,
            "---\ntitle: t\nstatus: deleted\n---\n",
        ),
    ];
    for (text, change, expected) in rows {
        assert_eq!(changed(text, change), expected, "{text:?}");
    }
    // The order that a person chose stays.
    assert_eq!(
        changed("---\ntags: a\ntitle: t\n---\n", id),
        "---\ntags: a\nuid: i\ntitle: t\n---\n"
    );
    assert_eq!(
        changed("\u{feff}text\r\n", id),
        "\u{feff}---\r\nuid: i\r\n---\r\ntext\r\n"
    );
}

#[test]
fn tags_change_item_by_item() {
    fn tags(tags: &[&str]) -> impl FnOnce(&mut Note) {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        move |note| note.tags = tags
    }
    let list = "---\ntags: # mine\n    - a # first\n    # between\n    - '#b'\n    - c\n# after\nmine: 1\n---\n";
    let rows: [(&str, &[&str], &str); 11] = [
        (
            list,
            &["a", "b", "c", "d e"],
            &list.replace("    - c\n", "    - c\n    - d e\n"),
        ),
        (list, &["a", "c"], &list.replace("    - '#b'\n", "")),
        (
            list,
            &["b", "x"],
            &list
                .replace("    - a # first\n", "")
                .replace("    - c\n", "    - x\n"),
        ),
        (
            list,
            &["x"],
            "---\ntags: # mine\n    # between\n    - x\n# after\nmine: 1\n---\n",
        ),
        (
            list,
            &["c", "a"],
            "---\ntags: # mine\n  - c\n  - a\n    # between\n# after\nmine: 1\n---\n",
        ),
        (list, &[], "---\n    # between\n# after\nmine: 1\n---\n"),
        (
            "---\ntags: [a, b] # mine\n---\n",
            &["b", "x, y"],
            "---\ntags: [b, \"x, y\"] # mine\n---\n",
        ),
        (
            "---\ntags: a b # mine\n---\n",
            &["b"],
            "---\ntags: [b] # mine\n---\n",
        ),
        (
            "---\ntags: # mine\n---\n",
            &["b"],
            "---\ntags: # mine\n  - b\n---\n",
        ),
        (
            "---\ntags: [a,\n  b] # mine\nx: 1\n---\n",
            &["b"],
            "---\ntags: # mine\n  - b\nx: 1\n---\n",
        ),
        (
            "---\ntags:\n- a\n- >\n  b\n  c\nx: 1\n---\n",
            &["b c"],
            "---\ntags:\n  - b c\nx: 1\n---\n",
        ),
    ];
    for (text, wanted, expected) in rows {
        assert_eq!(changed(text, tags(wanted)), expected, "{text:?} {wanted:?}");
    }
}

#[test]
fn values_of_every_form_are_replaced_as_a_whole() {
    let rows = [
        (
            "---\ntitle: |\n  one\n  # two\n\n  three\n\n# c\nmine: 1\n---\n",
            "---\ntitle: new\n\n# c\nmine: 1\n---\n",
        ),
        (
            "---\ntitle: |2- # r\n   one\nmine: 1\n---\n",
            "---\ntitle: new # r\nmine: 1\n---\n",
        ),
        (
            "---\ntitle: \"one\n  two # no\" # r\nmine: 1\n---\n",
            "---\ntitle: new # r\nmine: 1\n---\n",
        ),
        (
            "---\ntitle: 'it''s # no' # r\nmine: 1\n---\n",
            "---\ntitle: new # r\nmine: 1\n---\n",
        ),
        (
            "---\ntitle: \"a\\\" # no\" # r\nmine: 1\n---\n",
            "---\ntitle: new # r\nmine: 1\n---\n",
        ),
        (
            "---\ntitle: one\n  two\nmine: 1\n---\n",
            "---\ntitle: new\nmine: 1\n---\n",
        ),
        (
            "---\ntitle:\n  one # r\nmine: 1\n---\n",
            "---\ntitle: new # r\nmine: 1\n---\n",
        ),
        ("---\n\"title\" : one#two\n---\n", "---\ntitle: new\n---\n"),
        ("---\ntitle: é日 # r\n---\n", "---\ntitle: new # r\n---\n"),
    ];
    for (text, expected) in rows {
        assert_eq!(
            changed(text, |note| note.title = Some("new".to_owned())),
            expected,
            "{text:?}"
        );
    }
    // Another value refers to it, so the change is refused.
    let anchored = "---\ntitle: &t one\nmine: *t\n---\n";
    let error = rewrite(
        anchored,
        &Note {
            title: Some("new".to_owned()),
            ..note(anchored)
        },
    )
    .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(error.message.contains("change it by hand"), "{error}");
    let anchored = "---\nstatus: &a active\nx: *a\n---\n";
    let error = rewrite(
        anchored,
        &Note {
            is_deleted: true,
            ..note(anchored)
        },
    )
    .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
}

#[test]
fn people_may_use_our_words_for_something_else() {
    let forgotten = Note {
        is_deleted: true,
        ..Note::default()
    };
    for yaml in [
        "status: draft",
        "status: [done]",
        "status: {a: b}",
        "status: 1",
        "wing: [[Kitchen]]",
        "room: {a: b}",
        "room:\n  - a\n  # remark\n  - b",
        "title: [a]",
        "title: \"a\\0b\"",
        "tags: [[Kitchen]]",
        "tags: [a, [b]]",
        "tags: {a: b}",
        "tags:\n  - a: b\n  - c",
        "tags: \"a\\0b\"",
        "mine: &m [a]\ntags: *m",
    ] {
        let text = format!("---\nmine2: x\n{yaml}\n---\ntext\n");
        let body = Note {
            body: "text".to_owned(),
            ..Note::default()
        };
        assert_eq!(note(&text), body, "{yaml}");
        // It stays as it is while another key is written.
        let id = Some(MemoryId::new("i"));
        let expected = text.replacen("x\n", "x\nuid: i\n", 1);
        let written = changed(&text, |note| note.id.clone_from(&id));
        assert!(yaml.lines().all(|line| written.contains(line)), "{written}");
        assert_eq!(written.len(), expected.len());
        // It is replaced when the key gets a value.
        let all = Note {
            id,
            title: Some("t".to_owned()),
            collection: Some("w".to_owned()),
            section: Some("r".to_owned()),
            tags: vec!["a".to_owned()],
            ..forgotten.clone()
        };
        let written = rewrite(&text, &all).unwrap().unwrap();
        assert_eq!(note(&written), all, "{written}");
        assert!(written.contains("mine2: x\n"));
    }
}

#[test]
fn what_was_forgotten_stays_so_when_it_breaks() {
    let rows = [
        ("---\ntitle: [x\nstatus: deleted\n---\nText", true),
        (
            "---\r\ntitle: [x\r\nstatus: Deleted # remark\r\n---\r\n",
            true,
        ),
        (
            "\u{feff}---\n  # remark\n\n  title: a\n  title: b\n  status: \"deleted\"\n---\n",
            true,
        ),
        ("---\nstatus: active\nstatus: deleted\n---\n", true),
        ("---\nstatus: deleted\ntitle: x\n\ntext", true),
        ("---\ntitle: x\n\nstatus: deleted\n", false),
        (
            "---\ntitle: [x\nstatus: active\n---\nstatus: deleted\n",
            false,
        ),
        ("---\ntitle: [x\nmine:\n  status: deleted\n---\n", false),
        ("---\ntitle: [x\nstatus: deleted or not\n---\n", false),
    ];
    for (text, expected) in rows {
        broken(text);
        assert_eq!(read(text).0.is_deleted, expected, "{text:?}");
        let replaced = text.replace("deleted", "superseded");
        let replaced = replaced.replace("Deleted", "Superseded");
        broken(&replaced);
        let note = read(&replaced).0;
        assert_eq!(note.is_out_of_sight(), expected, "{replaced:?}");
        assert!(!note.is_deleted, "{replaced:?}");
    }
}

#[test]
fn states_and_times_are_read_as_other_note_tools_write_them() {
    let state = |value: &str| {
        let note = note(&format!("---\nstatus: {value}\n---\n"));
        (note.is_deleted, note.state)
    };
    for (value, expected) in [
        ("active", (false, NoteState::Active)),
        ("Unfiled", (false, NoteState::Unfiled)),
        ("inbox", (false, NoteState::Unfiled)),
        ("'superseded'", (false, NoteState::Superseded)),
        ("EXPIRED # in May", (false, NoteState::Expired)),
        ("deleted", (true, NoteState::Active)),
        ("superseded by 7", (false, NoteState::Active)),
        ("", (false, NoteState::Active)),
    ] {
        assert_eq!(state(value), expected, "{value}");
    }
    assert!(values("---\nstatus: unfiled\ncreated: 2026-08-18\n---\n").is_empty());
    // Another name of a time counts if it is one, and loci's own name goes before.
    let times = |yaml: &str| {
        let note = note(&format!("---\n{yaml}---\n"));
        (note.created_at, note.updated_at)
    };
    let (one, two) = (Some(moment(DAY)), Some(moment(2 * DAY)));
    for (yaml, expected) in [
        ("created: 1970-01-02\nupdated: 1970-01-03\n", (one, two)),
        ("captured: 1970-01-02T00:00:00Z\n", (one, None)),
        ("created: soon\nCaptured: 1970-01-02\n", (one, None)),
        ("created_at: 1970-01-03\ncreated: 1970-01-02\n", (two, None)),
        ("updated: last week\ncreated: [1970-01-02]\n", (None, None)),
    ] {
        assert_eq!(times(yaml), expected, "{yaml}");
    }
    let text =
        "---\ncreated: 1970-01-02\nupdated: 1970-01-02 # by hand\nstatus: unfiled\n---\nText\n";
    assert_eq!(
        changed(text, |note| note.updated_at = two),
        text.replace("updated: 1970-01-02", "updated: 1970-01-03T00:00:00Z")
    );
    assert_eq!(
        changed(text, |note| (note.is_deleted, note.state) =
            (true, NoteState::Unfiled)),
        text.replace("unfiled", "deleted")
    );
}

#[test]
fn of_very_many_tags_the_first_count() {
    let count = 10_000;
    let tags: Vec<_> = (0..count).map(|number| format!("t{number}")).collect();
    for list in [
        format!("[{}]", tags.join(",")),
        format!("\n- {}", tags[..5_000].join("\n- ")),
        tags.join(" "),
    ] {
        let text = format!("---\ntags: {list}\n---\n");
        let said = note(&text);
        assert_eq!(said.tags, tags[..TAGS_MAX]);
        assert!(changed(&text, |note| note.always_load = true).contains(&list));
        // The other tags would be lost.
        let error = rewrite(
            &text,
            &Note {
                tags: vec!["one".to_owned()],
                ..said
            },
        )
        .unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
    }
}

#[test]
fn a_body_is_replaced_with_the_line_ends_of_the_file() {
    let rows = [
        (
            "---\ntitle: t\n---\none\n",
            "two\nthree\n\n",
            "---\ntitle: t\n---\ntwo\nthree\n",
        ),
        (
            "---\r\ntitle: t\r\n---\r\none",
            "two\nthree",
            "---\r\ntitle: t\r\n---\r\ntwo\r\nthree\r\n",
        ),
        ("---\ntitle: t\n---", "two", "---\ntitle: t\n---\ntwo\n"),
        ("---\ntitle: t\n---\none", "", "---\ntitle: t\n---\n"),
        ("one\r\n", "two\n", "two\r\n"),
        (
            "one",
            "---\ntitle: t\n---\n",
            "---\n---\n---\ntitle: t\n---\n",
        ),
        ("one", "---\ntitle: t", "---\n---\n---\ntitle: t\n"),
        ("one", "---\n\ntext", "---\n\ntext\n"),
        ("one", "\u{feff}x", "---\n---\n\u{feff}x\n"),
        ("one", "a\r\r\n\r\nb\rc\r", "a\n\nb\rc\n"),
    ];
    for (text, body, expected) in rows {
        assert_eq!(
            changed(text, |note| note.body = body.to_owned()),
            expected,
            "{text:?} {body:?}"
        );
    }
}

/// Generates a foreign line of frontmatter.
fn foreign() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("# a remark".to_owned()),
        Just(String::new()),
        Just("  # an indented remark".to_owned()),
        "[a-z]{1,6}".prop_map(|name| format!("x{name}: 'quoted ''text'''  # remark")),
        "[a-z]{1,6}".prop_map(|name| format!("x{name}:\n  - 1\n  # remark\n  - {{a: b}}")),
        "[a-z]{1,6}".prop_map(|name| format!("x{name}: |\n  text\n\n  # text")),
        "[a-zäé]{1,6}".prop_map(|name| format!("\"y{name}\":   [1,\n   2]")),
        "[a-z]{1,6}".prop_map(|name| format!("z{name}:")),
    ]
}

/// Generates the lines of a key of loci, in forms that people write.
fn ours() -> impl Strategy<Value = Vec<String>> {
    let title = prop_oneof![
        Just("title: Tea of the house".to_owned()),
        Just("title: 'It''s tea' # remark".to_owned()),
        Just("title: \"Tea # not\"   # remark".to_owned()),
        Just("title: >-\n  folded\n  tea".to_owned()),
        Just("title: 2024".to_owned()),
    ];
    let tags = prop_oneof![
        Just("tags: [a, \"b\"] # remark".to_owned()),
        Just("tags:\n- a\n# remark\n- b # remark".to_owned()),
        Just("tags: # remark\n    - '#a'\n    - b".to_owned()),
        Just("tags: a, b".to_owned()),
        Just("tags:".to_owned()),
    ];
    let status = prop_oneof![
        Just("status: Active # remark".to_owned()),
        Just("status: deleted".to_owned()),
        Just("status: unfiled # remark".to_owned()),
        Just("status: Superseded".to_owned())
    ];
    let created = prop_oneof![
        Just("created_at: 2024-01-02 # remark".to_owned()),
        Just("created_at: '2024-01-02 10:00'".to_owned())
    ];
    let uid = Just("uid: 'an id'".to_owned());
    (
        proptest::option::of(title),
        proptest::option::of(tags),
        proptest::option::of(status),
        proptest::option::of(created),
        proptest::option::of(uid),
    )
        .prop_map(|(title, tags, status, created, uid)| {
            [title, tags, status, created, uid]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
        })
        .prop_shuffle()
}

fn file() -> impl Strategy<Value = String> {
    (
        ours(),
        proptest::collection::vec(foreign(), 0..6),
        "(?s).{0,40}",
        any::<bool>(),
        any::<bool>(),
        any::<u64>(),
    )
        .prop_map(|(ours, foreign, body, is_dos, is_marked, seed)| {
            let mut blocks = ours;
            for (index, block) in foreign.into_iter().enumerate() {
                // Makes every name unique.
                let block = match block.split_once(':') {
                    Some((name, rest)) if !block.trim_start().starts_with('#') => {
                        match name.strip_suffix('"') {
                            Some(name) => format!("{name}{index}\":{rest}"),
                            None => format!("{name}{index}:{rest}"),
                        }
                    }
                    _ => block,
                };
                let place =
                    (seed.rotate_left(index as u32 * 7) % (blocks.len() as u64 + 1)) as usize;
                blocks.insert(place, block);
            }
            blocks.push(String::new());
            let yaml = blocks.join("\n");
            let end = if is_dos { "\r\n" } else { "\n" };
            let head = format!("---\n{yaml}---\n").replace('\n', end);
            format!(
                "{}{head}{}",
                if is_marked { "\u{feff}" } else { "" },
                body.replace('\0', "")
            )
        })
}

/// Returns the lines that only the first text has, and the lines that only the second has.
fn differing(before: &str, after: &str) -> (Vec<String>, Vec<String>) {
    let lines = |text: &str| {
        text.split_inclusive('\n')
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (mut gone, mut new) = (lines(before), lines(after));
    // Removes the common lines from both ends.
    while !gone.is_empty() && gone.first() == new.first() {
        gone.remove(0);
        new.remove(0);
    }
    while !gone.is_empty() && gone.last() == new.last() {
        gone.pop();
        new.pop();
    }
    (gone, new)
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "(?s).{0,40}",
        "[ -~]{0,40}",
        "[\\-#:\"'\\[\\]{}&*!|>%@`,? \n\t\r~a0]{0,20}",
        Just("---\nuid: forged\n---\ntext".to_owned()),
        Just("null".to_owned()),
        Just("1e5".to_owned()),
        Just("\u{202e}rtl\u{2028}\u{85}\u{feff}\u{fffe}".to_owned()),
    ]
    .prop_map(|text| text.replace('\0', ""))
}

fn any_note() -> impl Strategy<Value = Note> {
    let moments = (-62_135_596_800_000_000_i64..253_402_207_200_000_000).prop_map(moment);
    let moments = move || proptest::option::of(moments.clone());
    let text = || proptest::option::of(any_text());
    let id = proptest::option::of("[a-z0-9-]{1,36}|[ -~é日]{0,20}[!-~]".prop_map(MemoryId::new));
    let tags = proptest::collection::vec(any_text(), 0..5);
    (
        id,
        (text(), text(), text()),
        any_text(),
        (
            any::<bool>(),
            proptest::sample::select(NoteState::ALL.to_vec()),
        ),
        (moments(), moments(), moments()),
        tags,
        any::<bool>(),
    )
        .prop_map(
            |(
                id,
                (title, collection, section),
                body,
                (is_deleted, state),
                (deleted_at, created_at, updated_at),
                tags,
                always_load,
            )| Note {
                id,
                title,
                body,
                is_deleted,
                state,
                deleted_at,
                created_at,
                updated_at,
                tags,
                always_load,
                collection,
                section,
            },
        )
}

proptest! {
    #[test]
    fn a_fresh_note_says_what_it_should(note in any_note()) {
        let text = fresh(&note).unwrap();
        let (said, problem) = read(&text);
        prop_assert_eq!(problem, None, "{}", text);
        prop_assert_eq!(&said, &normal(&note));
        prop_assert!(text.ends_with('\n') && (!text.ends_with("\n\n") || said.body.is_empty()));
        prop_assert_eq!(rewrite(&text, &said).unwrap(), None);
    }

    #[test]
    fn what_says_the_same_is_left_alone(text in file()) {
        let (note, problem) = read(&text);
        prop_assert_eq!(problem, None, "{}", text);
        prop_assert_eq!(rewrite(&text, &note).unwrap(), None);
    }

    #[test]
    fn a_change_of_one_key_changes_its_lines_alone(text in file(), which in 0..5) {
        let (mut note, problem) = read(&text);
        prop_assert_eq!(problem, None, "{}", text);
        let name = match which {
            0 => { note.is_deleted = !note.is_deleted; "status" }
            1 => { note.title = Some("Another: title".to_owned()); "title" }
            2 => { note.created_at = Some(moment(5)); "created_at" }
            3 => { note.id = Some(MemoryId::new("another")); "uid" }
            _ => { note.always_load = true; "always_load" }
        };
        let new = rewrite(&text, &note).unwrap().unwrap();
        let (gone, lines) = differing(&text, &new);
        prop_assert_eq!(lines.len(), 1, "{:?} -> {:?}", text, new);
        let begin = format!("{name}: ");
        prop_assert!(lines[0].starts_with(&begin));
        prop_assert_eq!(lines[0].ends_with("\r\n"), text.contains("---\r\n"));
        prop_assert!(gone.is_empty() || gone[0].starts_with(name));
        if gone.len() == 1 && gone[0].contains("# remark") {
            prop_assert!(lines[0].contains("# remark"));
        }
        // The change is reverted.
        if gone.is_empty() {
            let (before, _) = read(&text);
            let again = rewrite(&new, &before).unwrap().unwrap();
            if which != 0 && which != 4 {
                prop_assert_eq!(again, text);
            }
        }
    }

    #[test]
    fn every_note_can_be_put_into_every_file(text in file(), note in any_note()) {
        match rewrite(&text, &note).unwrap() {
            None => prop_assert_eq!(read(&text).0, normal(&note)),
            Some(new) => {
                let (said, problem) = read(&new);
                prop_assert_eq!(problem, None, "{}", new);
                prop_assert_eq!(said, normal(&note));
                // All foreign lines are unchanged and in their order.
                let frontmatter = text.find("\n---").map_or("", |end| &text[..=end]);
                let mut rest = new.as_str();
                for line in frontmatter.split_inclusive('\n').filter(|line| line.starts_with(['x', 'y', 'z'])) {
                    let place = rest.find(line);
                    prop_assert!(place.is_some(), "{:?} is lost in {:?}", line, new);
                    rest = &rest[place.unwrap_or_default() + line.len()..];
                }
            }
        }
    }

    #[test]
    fn no_text_makes_it_fail(
        yaml in "([a-z]{1,3}|title|tags|status|: |:|- |\\[|\\]|\\{|\\}|,|\"|'|#| #|&a|\\*a|!|\\||>|\\?|%|---|\t|\n|\n  |\r\n|\r\r\n|\r|\\\\|é|~|\u{85}|\u{2028}){0,30}",
        body in ".{0,20}",
        note in any_note(),
    ) {
        for text in [format!("---\n{yaml}\n---\n{body}"), format!("---\n{yaml}"), yaml.clone(), body.clone()] {
            let text = text.replace('\0', "");
            let (said, problem) = read(&text);
            if problem.is_none() {
                prop_assert_eq!(rewrite(&text, &said).unwrap(), None);
                if let Ok(Some(new)) = rewrite(&text, &note) {
                    prop_assert_eq!(read(&new), (normal(&note), None));
                }
            } else {
                prop_assert!(rewrite(&text, &said).is_err());
            }
        }
    }
}

#[test]
fn other_names_are_read_in_each_form() {
    let rows: [(&str, &[&str]); 6] = [
        (
            "aliases: [Hive, \"Bee  house\", Hive]",
            &["Hive", "Bee house"],
        ),
        ("Aliases:\n  - Hive\n  - 7\nauthor: Ann", &["Hive", "7"]),
        ("alias: Hive", &["Hive"]),
        ("aliases:", &[]),
        ("author: Ann", &[]),
        ("aliases: yes", &["yes"]),
    ];
    for (yaml, expected) in rows {
        let text = format!("---\n{yaml}\n---\nText");
        assert_eq!(super::read(&text).1.aliases, expected, "{yaml}");
    }
}
