use std::fs;
use std::io::Cursor;
use std::sync::Arc;

use loci_core::limits::IMPORT_BATCH_BYTES;
use loci_core::{
    Access, Archived, CacheEntry, Caller, Citation, CitationKind, ContentHash, Decision, Delivery,
    EnrichmentStatus, Fact, FileProblem, FileProblemKind, FileStamp, IdempotentReply, Link,
    Location, Memory, MemoryId, Name, NoteFile, Period, Provenance, Record, Relation, SaidBy,
    SourceFile, Space, Thread, Tier, Timestamp, Tombstone, Tunnel, TunnelEnd, Visibility,
};
use loci_engine::{Engine, SearchMode};
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore, Random};
use loci_vault::{FileCopy, VaultFolder};

use super::shapes::{COUNTED_MAX, Line};
use super::*;

const NOW: Timestamp = Timestamp::from_microseconds(1_767_225_600_123_456);

const TEXTS: [&str; 22] = [
    "",
    " ",
    "plain words",
    "---",
    "---\n---\nid: \"x\"\n---\n",
    "---\r\n",
    "no end",
    "an end\n",
    "\n\n  \n",
    "a\r\nb\rc\n\r",
    "\u{0}\u{1}\u{7}\u{1b}[31m\u{7f}\u{85}\u{9f}",
    "\u{2028}\u{2029}\u{feff}\u{202e}",
    "\u{feff}---\n",
    "日本語 🦀 e\u{301} é ﷽ \u{10ffff}",
    "\"quoted\" back\\slash 'it' {\"a\": [1]}",
    "\\u0000 \\n ${x} %s <b>&amp;",
    "key: value\n# no comment\n- item",
    "../../etc/passwd",
    "CON",
    "notes",
    "global",
    "a/b\\c:d*e?f|g",
];

struct Any(Random);

impl Any {
    fn text(&mut self) -> String {
        let count = 1 + self.0.below(3);
        (0..count).map(|_| self.0.pick(&TEXTS)).collect()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.0.chance(50).then(|| make(self))
    }

    fn some<T>(&mut self, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        (0..self.0.below(3)).map(|_| make(self)).collect()
    }

    fn number(&mut self) -> u64 {
        let bits = self.0.bits();
        self.0
            .pick(&[0, 1, u64::MAX, i64::MAX.cast_unsigned(), bits])
    }

    /// Returns a number that leaves room to count on.
    fn counted(&mut self) -> u64 {
        self.number().min(COUNTED_MAX)
    }

    fn moment(&mut self) -> Timestamp {
        let bits = self.0.bits().cast_signed();
        let any = self.0.pick(&[
            0,
            -1,
            i64::MIN,
            i64::MAX,
            -377_705_023_201_000_000,
            253_402_207_200_999_999,
            -62_167_219_200_000_001,
            1_767_225_600_123_456,
            bits,
        ]);
        Timestamp::from_microseconds(any)
    }

    /// Returns a number from 0 to 1.
    fn float(&mut self) -> f64 {
        let any = f64::from_bits(self.0.bits()).abs();
        let unit = f64::from(self.0.signed_unit()).abs() / 3.0;
        let any = self.0.pick(&[
            0.0,
            -0.0,
            0.1 + 0.2,
            1.0,
            0.7,
            f64::MIN_POSITIVE,
            5e-324,
            unit,
            any,
        ]);
        if (0.0..=1.0).contains(&any) { any } else { 0.5 }
    }

    fn space(&mut self) -> Space {
        Space::parse(
            "space",
            self.0
                .pick(&["main", "Notes", "notes", "日本", "..", "a/b"]),
        )
        .unwrap()
    }

    fn id(&mut self) -> MemoryId {
        MemoryId::new(self.text())
    }

    fn hash(&mut self) -> ContentHash {
        ContentHash([0; 32].map(|_: u8| self.0.bits() as u8))
    }

    fn memory(&mut self) -> Memory {
        Memory {
            space: self.space(),
            id: self.id(),
            content: self.text(),
            title: self.maybe(Any::text),
            location: Location {
                collection: self.maybe(Any::text),
                section: self.text(),
            },
            kind: self.text(),
            summary: self.maybe(Any::text),
            tags: self.some(Any::text),
            weight: self.float(),
            tier: self.0.pick(&Tier::ALL),
            thread: self.maybe(|any| Thread {
                name: any.text(),
                position: any.counted(),
            }),
            source: self.maybe(Any::id),
            enrichment: self.maybe(|any| any.0.pick(&EnrichmentStatus::ALL)),
            links: self.some(|any| Link {
                target: any.id(),
                relation: any.0.pick(&Relation::ALL),
                similarity: any.0.signed_unit(),
            }),
            citations: self.some(|any| Citation {
                kind: any.0.pick(&CitationKind::ALL),
                reference: any.text(),
                locator: any.maybe(Any::text),
                pin: any.maybe(Any::text),
                excerpt: any.maybe(Any::text),
            }),
            attributes: self
                .some(|any| (any.text(), any.text()))
                .into_iter()
                .collect(),
            access: Access {
                count: self.number(),
                last: self.maybe(Any::moment),
            },
            delivery: self.0.pick(&[Delivery::OnDemand, Delivery::Bootstrap]),
            origin: self.text(),
            owner: self.maybe(Any::text),
            actor: self.maybe(Any::text),
            // Only its own test sets it, so that the random records of the other tests stay the
            // same.
            updated_by: None,
            by_admin: false,
            provenance: Provenance::default(),
            visibility: self
                .0
                .pick(&[Visibility::Private, Visibility::Shared, Visibility::Common]),
            supersedes: self.maybe(Any::id),
            superseded_by: None,
            expires_at: self.maybe(Any::moment),
            forgotten_at: self.maybe(Any::moment),
            created_at: self.moment(),
            updated_at: self.moment(),
            revision: self.counted(),
        }
    }

    fn stamp(&mut self) -> FileStamp {
        FileStamp {
            bytes: self.number(),
            modified_nanoseconds: self.number().cast_signed(),
        }
    }

    fn note_file(&mut self, path: String) -> NoteFile {
        let mut stamp = self.stamp();
        // The digits below a microsecond are no part of an export.
        stamp.modified_nanoseconds -= stamp.modified_nanoseconds % 1_000;
        NoteFile {
            path,
            stamp,
            is_settled: self.0.chance(50),
            hash: self.hash(),
            memory: self.maybe(Any::id),
            says_id: self.0.chance(50),
            links: self.some(Any::text),
            // The last kind is never stored.
            problem: self.maybe(|any| FileProblem {
                kind: any.0.pick(&FileProblemKind::ALL[..7]),
                message: any.text(),
            }),
            missing_since: self.maybe(Any::moment),
        }
    }

    fn name(&mut self) -> Name {
        Name {
            key: self.text(),
            spelling: self.text(),
        }
    }

    fn period(&mut self) -> Period {
        Period {
            first: self.moment(),
            last: self.moment(),
        }
    }

    fn end(&mut self) -> TunnelEnd {
        TunnelEnd {
            collection: self.maybe(Any::text),
            section: self.text(),
            memory: self.maybe(Any::id),
        }
    }

    /// Returns any record but a memory or a file of notes.
    fn record(&mut self, space: &Space) -> Record {
        let space = space.clone();
        match self.0.below(8) {
            0 => Record::NoteFolder(self.text()),
            1 => Record::Fact(Box::new(Fact {
                space,
                id: self.text(),
                subject: self.name(),
                predicate: self.name(),
                object: self.name(),
                valid_from: self.maybe(Any::period),
                valid_to: self.maybe(Any::period),
                source: self.maybe(Any::text),
                author: None,
                created_at: self.moment(),
            })),
            2 => Record::Tunnel(Box::new(Tunnel {
                space,
                id: self.text(),
                source: self.end(),
                target: self.end(),
                label: self.text(),
                owner: self.maybe(Any::text),
                is_common: self.0.chance(50),
                created_at: self.moment(),
                updated_at: self.moment(),
            })),
            3 => Record::Setting {
                owner: self.maybe(Any::text),
                name: self.text(),
                value: self.text(),
            },
            4 => Record::SourceFile(Box::new(SourceFile {
                machine: String::new(),
                collection: self.maybe(Any::text),
                path: self.text(),
                root: self.text(),
                format: self.text(),
                stamp: self.stamp(),
                bytes_read: self.number(),
                hash: self.hash(),
                parts: self.number(),
                is_pending: self.0.chance(50),
                is_whole: self.0.chance(50),
            })),
            5 => Record::CacheEntry(Box::new(CacheEntry {
                space,
                id: self.id(),
                owner: self.text(),
                query: self.text(),
                response: self.text(),
                vector: None,
                created_at: self.moment(),
                expires_at: self.moment(),
            })),
            6 => Record::Decision(Box::new(Decision {
                space,
                owner: self.text(),
                key: self.text(),
                value: self.text(),
                created_at: self.moment(),
                updated_at: self.moment(),
                expires_at: self.maybe(Any::moment),
            })),
            _ => Record::IdempotentReply(Box::new(IdempotentReply {
                space,
                owner: self.maybe(Any::text),
                origin: self.text(),
                operation: self.text(),
                key: self.text(),
                request: self.hash(),
                answer: self.text(),
                created_at: self.moment(),
                expires_at: self.moment(),
                memories: vec![self.id()],
            })),
        }
    }

    fn note(&mut self, number: usize) -> Note {
        let path = format!("{}/{number} é.md", self.0.pick(&["a", "b c/日本"]));
        let bytes = self.0.pick(&[
            &b"\xff\xfe\0"[..],
            b"",
            b"\r\n---\n",
            "日本\u{2028}".as_bytes(),
            b"\xc3",
        ]);
        let modified_nanoseconds = self.0.pick(&[0, 1_767_225_600_123_456_789]);
        let file = self.maybe(|_| {
            NoteBytes::Inline(FileCopy {
                bytes: bytes.to_vec(),
                modified_nanoseconds,
            })
        });
        let known = self.0.chance(50) || file.is_none();
        let known = known.then(|| Box::new(self.note_file(path.clone())));
        Note {
            space: Space::default(),
            path,
            known,
            file,
        }
    }

    /// Returns memories, followed by other entries.
    fn entries(&mut self, memories: usize, others: usize) -> Vec<Entry> {
        let mut entries: Vec<Entry> = (0..memories).map(|_| entry(self.memory())).collect();
        for number in 0..others {
            let space = self.space();
            entries.push(if self.0.chance(20) {
                Entry::Note(self.note(number))
            } else {
                Entry::Record(Archived {
                    record: self.record(&space),
                    space,
                })
            });
        }
        entries
    }
}

fn entry(memory: Memory) -> Entry {
    Entry::Record(Archived {
        space: memory.space.clone(),
        record: Record::Memory(Box::new(memory)),
    })
}

fn write(entries: &[Entry]) -> Vec<u8> {
    let mut lines = JsonLines::as_of(Vec::new(), NOW);
    for entry in entries {
        match entry {
            Entry::Record(archived) => lines.write(archived).unwrap(),
            Entry::Note(note) => lines.write_note(note.clone()).unwrap(),
            Entry::End(_) => {}
        }
    }
    lines.finish().unwrap()
}

/// Parts by their positions: the entry of each, or its problem.
type Read = Vec<(String, Result<Entry, String>)>;

fn read(bytes: &[u8]) -> Result<Read, String> {
    let mut lines = Lines::open(Cursor::new(bytes)).unwrap()?;
    let mut all = Vec::new();
    while let Some(Part {
        place,
        bytes,
        entry,
    }) = lines.read().unwrap()
    {
        assert!(bytes > 0);
        all.push((place, entry.map_err(|problem| problem.to_string())));
    }
    Ok(all)
}

fn whole(bytes: &[u8]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = read(bytes)
        .unwrap()
        .into_iter()
        .map(|(_, entry)| entry.unwrap())
        .collect();
    let Some(Entry::End(counts)) = entries.pop() else {
        panic!("it has an end")
    };
    assert_eq!(counts.values().sum::<u64>(), entries.len() as u64);
    entries
}

#[test]
fn any_records_come_back_from_lines() {
    for seed in 0..60 {
        let entries = Any(Random::new(seed)).entries(10, 30);
        let bytes = write(&entries);
        assert_eq!(whole(&bytes), entries, "seed {seed}");
        // Only a line feed ends a line, for every reader.
        let text = String::from_utf8(bytes).unwrap();
        let ends_line = |character: char| {
            character != '\n' && (character.is_control() || "\u{2028}\u{2029}".contains(character))
        };
        assert!(!text.contains(ends_line), "seed {seed}");
        assert_eq!(text.lines().count(), entries.len() + 2, "seed {seed}");
    }
}

#[test]
fn numbers_and_moments_come_back_to_the_last_bit() {
    let mut any = Any(Random::new(1));
    for _ in 0..2_000 {
        let memory = Memory {
            weight: any.float(),
            updated_at: any.moment(),
            ..any.memory()
        };
        let entries = whole(&write(&[entry(memory.clone())]));
        let Entry::Record(Archived {
            record: Record::Memory(read),
            ..
        }) = &entries[0]
        else {
            panic!("a memory")
        };
        assert_eq!(
            (read.weight.to_bits(), read.updated_at),
            (memory.weight.to_bits(), memory.updated_at)
        );
    }
}

/// A clock that does not advance.
fn clock() -> Arc<FixedClock> {
    Arc::new(FixedClock::new(NOW))
}

fn write_folder(root: &std::path::Path, entries: &[Entry]) {
    let mut folder = MarkdownFolder::create(root, clock()).unwrap();
    for entry in entries {
        match entry {
            Entry::Record(archived) => folder.write(archived).unwrap(),
            Entry::Note(note) => folder.write_note(note.clone()).unwrap(),
            Entry::End(_) => {}
        }
    }
    folder.finish().unwrap();
}

fn read_folder(root: &std::path::Path) -> Read {
    let mut files = MarkdownFiles::open(root, clock()).unwrap().unwrap();
    let mut all = Vec::new();
    while let Some(Part { place, entry, .. }) = files.read().unwrap() {
        all.push((place, entry.map_err(|problem| problem.to_string())));
    }
    all
}

#[cfg(unix)]
#[test]
fn a_folder_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    fn check(path: &std::path::Path) {
        let metadata = fs::metadata(path).unwrap();
        let mode = metadata.permissions().mode() & 0o777;
        assert_eq!(
            mode,
            if metadata.is_dir() { 0o700 } else { 0o600 },
            "{}",
            path.display()
        );
        if metadata.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                check(&entry.unwrap().path());
            }
        }
    }
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("there/already");
    fs::create_dir_all(&root).unwrap();
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
    let mut any = Any(Random::new(1));
    let mut entries = any.entries(3, 3);
    let file = Some(NoteBytes::Inline(FileCopy {
        bytes: b"tea".to_vec(),
        modified_nanoseconds: 0,
    }));
    entries.push(Entry::Note(Note {
        space: Space::default(),
        path: "a/b/c.md".to_owned(),
        known: None,
        file,
    }));
    write_folder(&root, &entries);
    check(&root);
    assert!(root.join("notes/a/b/c.md").is_file());
}

#[test]
fn numbers_that_no_store_keeps_are_damage() {
    let memory = Memory {
        links: vec![Link {
            target: MemoryId::new("b"),
            relation: Relation::RelatedTo,
            similarity: 0.25,
        }],
        weight: 0.75,
        ..Memory::new(Space::default(), MemoryId::new("a"), "x", "fact", NOW)
    };
    let text = String::from_utf8(write(&[entry(memory)])).unwrap();
    for (right, wrong) in [
        ("0.25", "1e300"),
        ("0.25", "-1e39"),
        ("0.25", "2"),
        ("0.75", "1e308"),
        ("0.75", "-5.0"),
    ] {
        let problem = read(text.replacen(right, wrong, 1).as_bytes())
            .unwrap()
            .remove(0)
            .1
            .unwrap_err();
        assert!(
            problem.contains("is damaged: a weight"),
            "{wrong}: {problem}"
        );
    }
}

#[test]
fn numbers_that_cannot_be_counted_on_from_are_damage() {
    let thread = Some(Thread {
        name: "talk".to_owned(),
        position: 7,
    });
    let memory = Memory {
        revision: 5,
        thread,
        ..Memory::new(Space::default(), MemoryId::new("a"), "x", "fact", NOW)
    };
    let text = String::from_utf8(write(&[entry(memory)])).unwrap();
    for (name, right) in [("revision", 5), ("position", 7)] {
        let with = |number: u64| {
            let text = text.replacen(
                &format!("\"{name}\":{right}"),
                &format!("\"{name}\":{number}"),
                1,
            );
            read(text.as_bytes()).unwrap().remove(0).1
        };
        assert!(with(COUNTED_MAX).is_ok());
        for number in [COUNTED_MAX + 1, u64::MAX] {
            let problem = with(number).unwrap_err();
            assert!(problem.contains(&format!("`{name}`")), "{problem}");
        }
    }
}

#[test]
fn any_records_come_back_from_a_folder() {
    for seed in 0..12 {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("export");
        let entries = Any(Random::new(seed)).entries(40, 20);
        write_folder(&root, &entries);
        let mut read: Vec<Entry> = read_folder(&root)
            .into_iter()
            .map(|(_, entry)| entry.unwrap())
            .collect();
        let Some(Entry::End(counts)) = read.pop() else {
            panic!("it has an end")
        };
        assert_eq!(counts["memory"], 40);
        assert_eq!(read, entries, "seed {seed}");
        let outside: Vec<_> = fs::read_dir(place.path()).unwrap().collect();
        assert_eq!(outside.len(), 1, "nothing lies outside");
        let refused = MarkdownFolder::create(&root, clock()).err().unwrap();
        assert_eq!(refused.kind(), std::io::ErrorKind::AlreadyExists);
    }
}

#[test]
fn files_have_names_that_people_know_and_every_system_takes() {
    let place = tempfile::tempdir().unwrap();
    let mut any = Any(Random::new(3));
    let mut of = |id: &str, title: Option<&str>, content: &str, collection: Option<&str>| {
        let place = Location {
            collection: collection.map(str::to_owned),
            section: "Rules".to_owned(),
        };
        let (title, content) = (title.map(str::to_owned), content.to_owned());
        entry(Memory {
            space: Space::default(),
            id: MemoryId::new(id),
            title,
            content,
            location: place,
            ..any.memory()
        })
    };
    let entries = [
        of("0199-AABBccdd", None, "\n\n  Tea at four!\nand cake", None),
        of("x0199aabbccdd", None, "tea AT four", None),
        of("1", Some("../CON"), "x", Some("../up")),
        of("", Some(" "), "", Some("NUL")),
    ];
    write_folder(place.path(), &entries);
    let places: Vec<String> = read_folder(place.path())
        .into_iter()
        .map(|(place, _)| place)
        .collect();
    assert_eq!(
        places[..4],
        [
            "main/global/rules/tea-at-four-aabbccdd.md",
            "main/global/rules/tea-at-four-aabbccdd-2.md",
            "main/up/rules/con-note-1.md",
            "main/nul-note/rules/note.md",
        ]
    );
}

/// A small export of everything: a change here may break the exports of users.
const GOLDEN: &str = include_str!("golden.jsonl");

fn golden_entries() -> Vec<Entry> {
    let whole = |number: u64| {
        let mut any = Any(Random::new(number));
        let memory = any.memory();
        Memory {
            space: Space::default(),
            ..memory
        }
    };
    let plain = Memory::new(
        Space::default(),
        MemoryId::new("m-1"),
        "Tea at four.\nAlways.",
        "fact",
        NOW,
    );
    let mut entries = vec![entry(plain), entry(whole(4))];
    let mut any = Any(Random::new(9));
    let mut kinds = std::collections::BTreeSet::new();
    while kinds.len() < 8 {
        let record = any.record(&Space::default());
        let archived = Archived {
            space: Space::default(),
            record,
        };
        if kinds.insert(Line::from(&archived).kind()) {
            entries.push(Entry::Record(archived));
        }
    }
    entries.extend((0..3).map(|number| Entry::Note(any.note(number))));
    entries
}

#[test]
fn the_form_stays_as_it_is() {
    let written = String::from_utf8(write(&golden_entries())).unwrap();
    if std::env::var_os("LOCI_BLESS").is_some() {
        fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/src/golden.jsonl"),
            &written,
        )
        .unwrap();
        return;
    }
    assert_eq!(written, GOLDEN, "bless it only with a new version");
    assert_eq!(whole(GOLDEN.as_bytes()), golden_entries());
}

#[test]
fn what_is_left_of_a_forgotten_text_comes_back() {
    for source in [None, Some([0xab; 32])] {
        let tombstone = Tombstone {
            salt: [0x0f; 16],
            text: [1; 32],
            memory: [2; 32],
            source,
            forgotten_at: NOW,
            is_removed: source.is_none(),
        };
        let entries = [Entry::Record(Archived {
            space: Space::default(),
            record: Record::Tombstone(Box::new(tombstone)),
        })];
        let written = write(&entries);
        assert_eq!(whole(&written), entries);
        let text = String::from_utf8(written).unwrap();
        assert!(text.contains(&format!("\"salt\":\"{}\"", "0f".repeat(16))));
        assert_eq!(text.contains(&"ab".repeat(32)), source.is_some(), "{text}");
    }
}

#[test]
fn who_wrote_a_text_comes_back() {
    let memory = Memory::new(
        Space::default(),
        MemoryId::new("m-1"),
        "Tea at four.",
        "fact",
        NOW,
    );
    for (updated_by, by_admin) in [
        (None, true),
        (Some("bob".to_owned()), false),
        (Some(String::new()), true),
    ] {
        let entries = [entry(Memory {
            updated_by,
            by_admin,
            ..memory.clone()
        })];
        assert_eq!(whole(&write(&entries)), entries);
    }
}

#[test]
fn where_words_come_from_comes_back_and_is_left_out_if_it_is_not_known() {
    let memory = Memory::new(
        Space::default(),
        MemoryId::new("m-1"),
        "Tea at four.",
        "fact",
        NOW,
    );
    let noted = |said_by| Provenance {
        said_by,
        program: Some("zed".to_owned()),
        session: Some("s-1".to_owned()),
    };
    let all = SaidBy::ALL.map(noted);
    for provenance in all.into_iter().chain([Provenance::default()]) {
        let is_known = provenance.program.is_some();
        let entries = [entry(Memory {
            provenance,
            ..memory.clone()
        })];
        let text = write(&entries);
        assert_eq!(whole(&text), entries);
        let text = String::from_utf8_lossy(&text);
        for name in ["program", "session"] {
            assert_eq!(text.contains(name), is_known, "{text}");
        }
    }
}

#[test]
fn who_asserted_a_fact_comes_back() {
    for author in [None, Some("bob".to_owned())] {
        let name = |key: &str| Name {
            key: key.to_owned(),
            spelling: key.to_owned(),
        };
        let fact = Fact {
            space: Space::default(),
            id: "t".to_owned(),
            subject: name("max"),
            predicate: name("loves"),
            object: name("tea"),
            valid_from: None,
            valid_to: None,
            source: None,
            author,
            created_at: NOW,
        };
        let is_known = fact.author.is_some();
        let entries = [Entry::Record(Archived {
            space: Space::default(),
            record: Record::Fact(Box::new(fact)),
        })];
        let text = write(&entries);
        assert_eq!(whole(&text), entries);
        let text = String::from_utf8_lossy(&text);
        assert_eq!(text.contains("\"author\":\"bob\""), is_known, "{text}");
    }
}

#[test]
fn the_machine_of_a_file_comes_back_and_the_one_of_the_store_is_not_named() {
    for machine in ["", "laptop"] {
        let file = SourceFile {
            machine: machine.to_owned(),
            collection: None,
            path: "/p/a.rs".to_owned(),
            root: "/p".to_owned(),
            format: "project".to_owned(),
            stamp: Any(Random::new(1)).stamp(),
            bytes_read: 1,
            hash: ContentHash([1; 32]),
            parts: 1,
            is_pending: false,
            is_whole: true,
        };
        let entries = [Entry::Record(Archived {
            space: Space::default(),
            record: Record::SourceFile(Box::new(file)),
        })];
        let text = write(&entries);
        assert_eq!(whole(&text), entries);
        let text = String::from_utf8_lossy(&text);
        assert_eq!(text.contains("\"machine\""), !machine.is_empty(), "{text}");
    }
}

#[test]
fn what_is_damaged_is_told_and_the_rest_is_read() {
    let entries = Any(Random::new(5)).entries(3, 6);
    let bytes = write(&entries);
    let text = String::from_utf8(bytes.clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let with = |number: usize, line: &[u8]| {
        let mut all: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        all[number] = line;
        all.join(&b'\n')
    };
    let unknown_field = lines[2].replacen("{\"space\"", "{\"colour\":\"red\",\"space\"", 1);
    let twice = lines[2].replacen("{\"space\"", "{\"space\":\"main\",\"space\"", 1);
    let half = &lines[2].as_bytes()[..lines[2].len() / 2];
    let rows: [(&[u8], &str); 10] = [
        (
            b"{\"recipe\":{\"space\":\"main\"}}",
            "unknown kind `recipe`",
        ),
        (unknown_field.as_bytes(), "unknown field `colour`"),
        (twice.as_bytes(), "duplicate field `space`"),
        (lines[0].as_bytes(), "unknown kind `loci`"),
        (
            b"{\"setting\":{\"space\":\"main\",\"name\":\"a\"}}",
            "missing field `value`",
        ),
        (
            b"{\"setting\":{\"space\":\"\",\"name\":\"a\",\"value\":\"secret\"}}",
            "damaged",
        ),
        (
            b"{\"setting\":{\"space\":\"main\",\"name\":\"a\",\"value\":7}}",
            "damaged",
        ),
        (half, "is "),
        (b"\"secret \xff\"", "no UTF-8"),
        (b"secret", "damaged"),
    ];
    for (line, words) in rows {
        let read = read(&with(2, line)).unwrap();
        assert_eq!(read.len(), lines.len() - 1);
        for (number, (place, entry)) in read.into_iter().enumerate() {
            assert_eq!(place, format!("line {}", number + 2));
            match entry {
                Ok(entry) if number < entries.len() => assert_eq!(entry, entries[number]),
                Ok(entry) => assert!(matches!(entry, Entry::End(_))),
                Err(problem) => {
                    assert_eq!(number, 1, "{problem}");
                    assert!(
                        problem.contains(words) && !problem.contains("secret"),
                        "{words}: {problem}"
                    );
                }
            }
        }
    }
    for (first, words) in [
        (
            &b"{\"loci\":\"export\",\"version\":2,\"colour\":1}"[..],
            "version 2",
        ),
        (b"{\"loci\":\"export\"}", "without a version"),
        (
            b"{\"loci\":\"backup\",\"version\":1,\"exported_at\":0}",
            "first line is damaged",
        ),
        (
            b"{\"loci\":\"export\",\"version\":1,\"exported_at\":0,\"more\":0}",
            "first line is damaged",
        ),
        (b"{\"content\":\"x\"}", "without a version"),
        (b"", "no export"),
    ] {
        let problem = read(&with(0, first)).unwrap_err();
        assert!(problem.contains(words), "{problem}");
    }
    assert!(read(b"").is_err());
    assert!(
        begins_archive(lines[0].as_bytes())
            && begins_archive(b"{\"version\":2, \"loci\": \"export\"}\n")
    );
    assert!(
        !begins_archive(lines[1].as_bytes())
            && !begins_archive(b"[")
            && !begins_archive(b"{\"content\":\"loci\"}")
    );
}

/// A cut anywhere, or a flipped bit: never a panic, and never another record without a message.
#[test]
fn a_cut_is_always_seen() {
    let entries = Any(Random::new(6)).entries(2, 6);
    let bytes = write(&entries);
    for end in 0..bytes.len() - 1 {
        let Ok(read) = read(&bytes[..end]) else {
            continue;
        };
        assert!(
            !read
                .iter()
                .any(|(_, entry)| matches!(entry, Ok(Entry::End(_)))),
            "{end}"
        );
        let good = read.iter().filter_map(|(_, entry)| entry.as_ref().ok());
        assert!(
            good.eq(entries
                .iter()
                .take(read.iter().filter(|(_, entry)| entry.is_ok()).count())),
            "{end}"
        );
    }
    let mut random = Random::new(8);
    for _ in 0..3_000 {
        let mut flipped = bytes.clone();
        let place = random.below(flipped.len());
        flipped[place] ^= 1 << random.below(8);
        let _ = read(&flipped);
    }
}

#[test]
fn a_line_without_end_is_read_over_and_takes_no_memory() {
    /// Returns a line of that many bytes between two others.
    fn long(bytes: u64) -> impl std::io::BufRead {
        use std::io::Read;
        let first = write(&[])
            .split_inclusive(|byte| *byte == b'\n')
            .next()
            .unwrap()
            .to_vec();
        let middle = std::io::repeat(b'x').take(bytes);
        let last = b"\n{\"end\":{\"records\":{}}}\n";
        std::io::BufReader::new(Cursor::new(first).chain(middle).chain(&last[..]))
    }
    let mut lines = Lines::open(long(300 << 20))
        .unwrap()
        .unwrap_or_else(|problem| panic!("{problem}"));
    let Part {
        place,
        bytes,
        entry,
    } = lines.read().unwrap().unwrap();
    let problem = "has more than 16777216 bytes, as no record has";
    assert_eq!(
        (&*place, bytes, entry.unwrap_err().to_string()),
        ("line 2", 0, problem.to_owned())
    );
    let Part { place, entry, .. } = lines.read().unwrap().unwrap();
    assert_eq!(
        (&*place, entry.unwrap()),
        ("line 3", Entry::End(Counts::new()))
    );
    assert!(lines.read().unwrap().is_none());
}

#[test]
fn what_waits_is_bounded_by_the_bytes_that_were_read() {
    let place = tempfile::tempdir().unwrap();
    let clock = Arc::new(FixedClock::default());
    let embedder = Arc::new(HashingEmbedder::default());
    let engine = Engine::new(
        Arc::new(NaiveStore::new()),
        embedder,
        clock.clone(),
        SearchMode::Words,
    );
    let notes = VaultFolder::new(place.path().join("notes"), place.path().join("lock"), clock);
    for (bytes, stored) in [
        (1, [0, 0, 0]),
        (IMPORT_BATCH_BYTES / 2 + 1, [0, 1, 2]),
        (IMPORT_BATCH_BYTES / 2, [0, 0, 2]),
        (100 << 20, [0, 1, 2]),
    ] {
        let system = engine.system(&Caller::local());
        let mut bringing = Importer::new(&system, &notes, None, false, &|_| {});
        let took = [1, 2, 3].map(|number| {
            let id = MemoryId::new(format!("{bytes} {number}"));
            let entry = Ok(entry(Memory::new(Space::default(), id, "x", "fact", NOW)));
            bringing
                .take(Part {
                    place: String::new(),
                    bytes,
                    entry,
                })
                .unwrap();
            bringing.stored()
        });
        assert_eq!(took, stored, "{bytes}");
        bringing.store().unwrap();
        assert_eq!(bringing.stored(), 3);
    }
}

#[test]
fn what_is_damaged_in_a_folder_is_told_by_its_file() {
    let place = tempfile::tempdir().unwrap();
    let entries = Any(Random::new(2)).entries(4, 0);
    write_folder(place.path(), &entries);
    let files: Vec<String> = read_folder(place.path())
        .into_iter()
        .map(|(place, _)| place)
        .take(4)
        .collect();
    let text = |number: usize| fs::read(place.path().join(&files[number])).unwrap();
    let put =
        |number: usize, bytes: &[u8]| fs::write(place.path().join(&files[number]), bytes).unwrap();
    let whole = text(1);
    let second = String::from_utf8(whole.clone()).unwrap();
    for (bytes, words) in [
        (&b""[..], "no frontmatter"),
        (&whole[..40], "no frontmatter"),
        (b"\xff", "no UTF-8"),
        (
            second.replacen("filed: 2\n", "", 1).as_bytes(),
            "no frontmatter",
        ),
        (
            second.replacen("filed: 2\n", "filed: x\n", 1).as_bytes(),
            "no frontmatter",
        ),
        (
            second.replacen("weight: ", "weight: 1", 1).as_bytes(),
            "a weight is not from 0 to 1",
        ),
        (
            second.replacen("kind: ", "colour: ", 1).as_bytes(),
            "unknown field `colour`",
        ),
        (
            second.replacen("kind: ", "space: ", 1).as_bytes(),
            "`space` twice",
        ),
        (
            second.replacen("revision: ", "revision: x", 1).as_bytes(),
            "`revision` is no JSON",
        ),
    ] {
        put(1, bytes);
        let problems: Vec<_> = read_folder(place.path())
            .into_iter()
            .filter_map(|(place, entry)| Some((place, entry.err()?)))
            .collect();
        assert_eq!(problems.len(), 1, "{words}: {problems:?}");
        assert!(
            problems[0].0 == files[1] && problems[0].1.contains(words),
            "{words}: {problems:?}"
        );
    }
    fs::remove_file(place.path().join("records.jsonl")).unwrap();
    let problem = MarkdownFiles::open(place.path(), clock())
        .unwrap()
        .err()
        .unwrap();
    assert!(problem.contains("records.jsonl"), "{problem}");
}
