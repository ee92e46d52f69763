//! Tests that forgotten texts stay forgotten: against files, transcripts, lists and archives.

use loci_core::{
    Archived, Decision, DecisionStore, Record, SOURCE_FILE, SourceFile, TombstoneStore,
};
use loci_engine::{
    Discard, ForgetConditions, ForgetReport, Import, ImportOutcome, ImportReport, ReadSource,
    SourceCounts, SourcePart,
};

use super::importing_records::archive;
use super::sources::{Mine, WING};
use super::*;

const LAMP: &str = "The lamp is in the cellar, behind the boxes.";
const KEY: &str = "The key hangs on the nail.";

impl Mine {
    fn texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = self.memories().into_iter().map(|it| it.content).collect();
        texts.sort();
        texts
    }

    /// Returns the id of the first memory in sight with this text.
    fn id(&self, text: &str) -> MemoryId {
        let memories = self.memories();
        let found = memories.iter().find(|memory| memory.content == text);
        found.unwrap().id.clone()
    }

    fn forget(&self, text: &str) -> ForgetReport {
        self.engine
            .system(&self.ann)
            .memories()
            .forget_text(&self.id(text))
            .unwrap()
    }

    /// Files the messages of a transcript only of ann, from the first on.
    fn said(&self, path: &str, messages: &[&str]) -> SourceCounts {
        let read = ReadSource {
            visibility: Visibility::Private,
            ..self.further(path, 0, messages)
        };
        self.file(read).unwrap()
    }

    /// Files the sections of a file that all have in common.
    fn written(&self, path: &str, sections: &[&str]) -> SourceCounts {
        let sections: Vec<(&str, &str)> = sections.iter().map(|text| (*text, "room")).collect();
        self.file(self.whole(path, &sections)).unwrap()
    }
}

fn counts(added: u64, kept: u64, forgotten: u64) -> SourceCounts {
    SourceCounts {
        added,
        kept,
        removed: 0,
        forgotten,
    }
}

fn import(text: &str) -> Import {
    Import::new(fact(text, Visibility::Private))
}

/// Imports a list; returns how many were stored and how many stay forgotten.
fn imported(mine: &Mine, texts: &[&str], again: bool) -> (usize, usize) {
    let imports: Vec<Import> = texts.iter().map(|text| import(text)).collect();
    let mut imported = ImportOutcome::default();
    mine.engine
        .system(&mine.ann)
        .imports()
        .again(again)
        .import(&imports, &mut imported)
        .unwrap();
    (imported.stored, imported.forgotten)
}

#[test]
fn no_reading_brings_back_what_was_removed_for_good() {
    let mine = Mine::new();
    assert_eq!(mine.said("/t/a", &[LAMP, "yes"]), counts(2, 0, 0));
    assert_eq!(mine.forget(LAMP), ForgetReport::default());
    // The transcript grows, is rewritten, is copied under another name, with other line ends.
    assert_eq!(mine.said("/t/a", &[LAMP, "yes", "more"]), counts(1, 1, 1));
    assert_eq!(mine.said("/t/b", &["hello", LAMP]), counts(1, 0, 1));
    let respaced = LAMP.replace(", ", ",\r\n  ");
    assert_eq!(mine.said("/t/c", &[&respaced]), counts(0, 0, 1));
    // Everyone's projects have it neither, if ann reads them.
    assert_eq!(mine.written("/p/a.md", &[LAMP, KEY]), counts(1, 0, 1));
    assert_eq!(imported(&mine, &[LAMP, "a bee"], false), (1, 1));
    assert_eq!(mine.texts(), [KEY, "hello", "more", "yes"]);
    // A person who files it by hand is obeyed, and later readings still leave it out.
    let filed = mine
        .engine
        .system(&mine.ann)
        .memories()
        .remember(fact(LAMP, Visibility::Private));
    assert_eq!(filed.unwrap().duplicate_of, None);
    assert_eq!(mine.said("/t/d", &[LAMP]), counts(0, 0, 1));
    // It is not forgotten for others.
    let bob = caller("bob", &WRITER);
    let read = ReadSource {
        visibility: Visibility::Private,
        ..mine.further("/t/e", 0, &[LAMP])
    };
    let id_of = &|_: &SourceFile, _: &SourcePart, _: u64| MemoryId::new("of bob");
    let filed = mine.engine.system(&bob).sources().file_source(id_of, read);
    assert_eq!(filed, Ok(counts(1, 0, 0)));
}

#[test]
fn what_one_removed_of_all_no_one_brings_back() {
    let mine = Mine::new();
    mine.written("/p/a.md", &[LAMP, KEY]);
    let bob = caller("bob", &WRITER);
    let id = mine.id(LAMP);
    mine.engine.system(&bob).memories().forget(&id).unwrap();
    assert_eq!(
        mine.written("/p/a.md", &["new", LAMP, KEY]),
        counts(1, 1, 1)
    );
    assert_eq!(mine.written("/p/b.md", &[LAMP]), counts(0, 0, 1));
    // It was not ann who forgot it.
    assert_eq!(mine.said("/t/a", &[LAMP]), counts(1, 0, 0));
}

#[test]
fn forgotten_lines_stay_out_of_a_changed_section_of_their_file() {
    let mine = Mine::new();
    let both = |first: &str| format!("# One\n{first}\n\n# Two\n{LAMP}\nPIN: 4711\n");
    mine.written("/p/a.md", &[&both("Keep this one."), KEY]);
    mine.forget(&both("Keep this one."));
    let changed = both("Keep this one, too.");
    let filed = SourceCounts {
        added: 1,
        kept: 1,
        removed: 0,
        forgotten: 1,
    };
    assert_eq!(mine.written("/p/a.md", &[&changed, KEY]), filed);
    let left = "# One\nKeep this one, too.\n\n# Two\n";
    assert_eq!(mine.texts(), [left, KEY]);
    // It is the same drawer from then on.
    let id = mine.id(left);
    let again = SourceCounts {
        added: 0,
        kept: 2,
        ..filed
    };
    assert_eq!(mine.written("/p/a.md", &[&changed, KEY]), again);
    assert_eq!(mine.id(left), id);
    // A section in which nothing is new is left out.
    let bare = format!("# Two\n{LAMP}\n");
    let whole = mine.written("/p/a.md", &[&changed, KEY, &bare]);
    assert_eq!((whole.added, whole.forgotten), (0, 2));
    // Other files have such lines, unless the whole section is the same.
    assert_eq!(mine.written("/p/b.md", &[&changed]), counts(1, 0, 0));
    // It is moved, and changed after that.
    let moved = ReadSource {
        moved_from: Some("/p/a.md".to_owned()),
        ..mine.whole("/p/c.md", &[(&changed, "room"), (KEY, "room")])
    };
    assert_eq!(mine.file(moved).unwrap().added, 0);
    mine.written("/p/c.md", &[&format!("{changed}Another line.\n"), KEY]);
    let of_moved = mine
        .texts()
        .into_iter()
        .filter(|text| text.contains("Another"));
    assert!(of_moved.clone().count() == 1 && !of_moved.clone().any(|text| text.contains(LAMP)));
    // Out of sight, and back.
    let of_file = ForgetConditions {
        source: Some("/p/b.md".to_owned()),
        ..ForgetConditions::default()
    };
    mine.engine
        .system(&mine.ann)
        .memories()
        .forget_where(&of_file)
        .unwrap();
    mine.written("/p/b.md", &[&format!("{changed}More.\n")]);
    let left = "# One\n\n# Two\nMore.\n";
    assert!(
        mine.texts().contains(&left.to_owned()),
        "{:?}",
        mine.texts()
    );
    assert!(!mine.texts().iter().any(|text| text.contains(LAMP)));
}

#[test]
fn copies_from_files_go_along_and_others_are_counted() {
    let mine = Mine::new();
    for path in ["/t/a", "/t/fork", "/t/fork of the fork"] {
        mine.said(path, &[LAMP, path]);
    }
    mine.engine
        .system(&mine.ann)
        .memories()
        .remember(fact(LAMP, Visibility::Private))
        .unwrap();
    let id = {
        let of_file = |memory: &&Memory| memory.attributes.contains_key(SOURCE_FILE);
        let memories = mine.memories();
        let mut lamps = memories.iter().filter(|memory| memory.content == LAMP);
        lamps.find(of_file).unwrap().id.clone()
    };
    let forgetting = mine.engine.system(&mine.ann).memories().forget_text(&id);
    assert_eq!(
        forgetting,
        Ok(ForgetReport {
            copies: 2,
            equal: 1
        })
    );
    assert_eq!(mine.memories().len(), 3);
    let left = listed(&mine.engine, &mine.ann);
    assert_eq!(left.iter().filter(|it| it.content == LAMP).count(), 1);
}

#[test]
fn what_is_out_of_sight_comes_back_by_hand_alone() {
    let mine = Mine::new();
    mine.said("/t/a", &[LAMP, KEY]);
    mine.said("/t/fork", &[KEY]);
    let of_first = ForgetConditions {
        source: Some("/t/a".to_owned()),
        ..ForgetConditions::default()
    };
    let marked = mine
        .engine
        .system(&mine.ann)
        .memories()
        .forget_where(&of_first)
        .unwrap();
    assert_eq!((marked.memories, marked.equal), (2, 1));
    assert_eq!(mine.texts(), [KEY]);
    assert_eq!(mine.said("/t/b", &[LAMP, "new"]), counts(1, 0, 1));
    assert_eq!(mine.said("/t/a", &[LAMP, KEY]), counts(0, 2, 0));
    assert_eq!(mine.texts(), [KEY, "new"]);
    let marked = mine
        .engine
        .system(&mine.ann)
        .memories()
        .unforget_where(&of_first)
        .unwrap();
    assert_eq!((marked.memories, marked.equal), (2, 0));
    assert_eq!(mine.said("/t/b", &[LAMP, "new"]), counts(1, 1, 0));
    // One at a time, with its copies, as a search shows one copy.
    let (one, other) = ("/t/one", "/t/other");
    mine.said(one, &["twice"]);
    mine.said(other, &["twice"]);
    let twice = mine.id("twice");
    mine.engine
        .system(&mine.ann)
        .memories()
        .forget_softly(&twice)
        .unwrap();
    assert!(!mine.texts().contains(&"twice".to_owned()));
    mine.engine
        .system(&mine.ann)
        .memories()
        .unforget(&twice)
        .unwrap();
    assert_eq!(
        mine.texts().iter().filter(|text| *text == "twice").count(),
        2
    );
    let id = mine.id("new");
    mine.engine
        .system(&mine.ann)
        .memories()
        .forget_softly(&id)
        .unwrap();
    assert_eq!(mine.said("/t/c", &["new"]), counts(0, 0, 1));
    mine.engine
        .system(&mine.ann)
        .memories()
        .unforget(&id)
        .unwrap();
    assert_eq!(mine.said("/t/c", &["new"]), counts(1, 0, 0));
}

#[test]
fn every_way_to_delete_holds() {
    type Way = fn(&Mine);
    let ways: [(&str, Way); 3] = [
        ("discarded", |mine| {
            let which = Discard {
                id: Some(mine.id(LAMP)),
                ..Discard::default()
            };
            assert_eq!(
                mine.engine.system(&mine.ann).memories().discard(&which),
                Ok(1)
            );
        }),
        ("cleared", |mine| {
            let of_wing = CollectionFilter::Only(WING.to_owned());
            let cleared = mine.engine.system(&mine.ann).memories().clear(of_wing);
            assert_eq!(cleared, Ok(1));
        }),
        ("wiped", |mine| {
            assert_eq!(mine.engine.system(&mine.ann).wipe().unwrap().memories, 1);
        }),
    ];
    for (name, way) in ways {
        let mine = Mine::new();
        mine.said("/t/a", &[LAMP]);
        let before = archive(&*mine.store.inner);
        way(&mine);
        assert_eq!(mine.texts(), Vec::<String>::new(), "{name}");
        assert_eq!(mine.said("/t/b", &[LAMP]), counts(0, 0, 1), "{name}");
        assert_eq!(mine.said("/t/a", &[LAMP]), counts(0, 0, 1), "{name}");
        assert_eq!(imported(&mine, &[LAMP], false), (0, 1), "{name}");
        let mut report = ImportReport::default();
        mine.engine
            .system(&Caller::local())
            .imports()
            .import_records(&before, &mut report)
            .unwrap();
        assert_eq!(report.forgotten, 1, "{name}: {report:?}");
        assert_eq!(mine.texts(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_wipe_holds_against_older_records_and_keeps_no_name() {
    let mine = Mine::new();
    let decision = |value: &str| Decision {
        space: Space::default(),
        owner: "ann".to_owned(),
        key: "tea".to_owned(),
        value: value.to_owned(),
        created_at: mine.engine.now(),
        updated_at: mine.engine.now(),
        expires_at: None,
    };
    let store = &mine.store.inner;
    store.put_decision(&decision("green"), u64::MAX).unwrap();
    mine.said("/t/a", &[LAMP]);
    let before = archive(&**store);
    mine.engine.system(&mine.ann).wipe().unwrap();
    let left = format!("{:?}", store.tombstones(&Space::default(), None, 99));
    for word in ["ann", "lamp", "/t/a"] {
        assert!(!left.contains(word), "{left}");
    }
    let bring = |records: &[Archived], again: bool| {
        let mut report = ImportReport::default();
        mine.engine
            .system(&Caller::local())
            .imports()
            .again(again)
            .import_records(records, &mut report)
            .unwrap();
        (report.stored, report.forgotten)
    };
    let mut records = before.clone();
    records.retain(|it| !matches!(it.record, Record::SourceFile(_)));
    assert_eq!(bring(&records, false), (0, 2));
    assert_eq!(bring(&records, true), (2, 0));
    // A decision of a later time is no part of what was wiped.
    mine.engine.system(&mine.ann).wipe().unwrap();
    mine.clock.advance(5);
    let later = Archived {
        space: Space::default(),
        record: Record::Decision(Box::new(decision("black"))),
    };
    assert_eq!(bring(&[later], false), (1, 0));
}

#[test]
fn an_archive_brings_its_tombstones_along_and_what_was_filed_since() {
    let (one, other) = (Mine::new(), Mine::new());
    one.said("/t/a", &[LAMP, KEY]);
    one.forget(LAMP);
    one.engine
        .system(&one.ann)
        .memories()
        .remember(fact(LAMP, Visibility::Private))
        .unwrap();
    let all = archive(&*one.store.inner);
    let bring = |all: &[Archived]| {
        let mut report = ImportReport::default();
        other
            .engine
            .system(&Caller::local())
            .imports()
            .import_records(all, &mut report)
            .unwrap();
        (report.stored, report.present, report.forgotten)
    };
    assert_eq!(bring(&all), (all.len() as u64, 0, 0));
    assert_eq!(bring(&all), (0, all.len() as u64, 0));
    assert_eq!(other.said("/t/b", &[LAMP, KEY]), counts(1, 0, 1));
    // The other store has a key of its own, too.
    other.forget(KEY);
    assert_eq!(other.said("/t/c", &[LAMP, KEY]), counts(0, 0, 2));
    let salts = other.store.tombstone_salts(&Space::default());
    assert_eq!(salts.map(|salts| salts.len()), Ok(2));
}

#[test]
fn a_lifted_text_is_read_again() {
    let mine = Mine::new();
    let admin = Caller::local();
    mine.said("/t/a", &[LAMP, KEY]);
    mine.said("/t/fork", &[LAMP]);
    let id = mine.id(LAMP);
    mine.forget(LAMP);
    mine.forget(KEY);
    let refused = mine
        .engine
        .system(&mine.ann)
        .memories()
        .lift(&id)
        .unwrap_err();
    assert_eq!(refused.code, ErrorCode::Forbidden);
    let absent = mine
        .engine
        .system(&admin)
        .memories()
        .lift(&MemoryId::new("absent"))
        .unwrap_err();
    assert_eq!(absent.code, ErrorCode::NotFound);
    let lifted = mine.engine.system(&admin).memories().lift(&id).unwrap();
    assert_eq!((lifted.memories, lifted.files), (2, 2));
    let again = mine.known("/t/a").unwrap();
    assert_eq!((again.bytes_read, again.parts), (0, 0));
    assert_eq!(mine.said("/t/a", &[LAMP, KEY]), counts(1, 0, 1));
    // By the file, and since a time.
    let of_source = |source: &str| ForgetConditions {
        source: Some(source.to_owned()),
        ..ForgetConditions::default()
    };
    let lifted = |which: &ForgetConditions| {
        mine.engine
            .system(&admin)
            .memories()
            .lift_where(which)
            .unwrap()
            .memories
    };
    assert_eq!(lifted(&of_source("/elsewhere")), 0);
    let typed = ForgetConditions {
        sections: vec!["talk".to_owned()],
        ..of_source("/t")
    };
    assert_eq!(lifted(&typed), 0);
    let late = ForgetConditions {
        forgotten_from: Some(mine.engine.now().plus_seconds(1)),
        ..of_source("/t")
    };
    assert_eq!(lifted(&late), 0);
    assert_eq!(lifted(&of_source("/t")), 1);
    assert_eq!(mine.said("/t/a", &[LAMP, KEY]), counts(1, 1, 0));
}

#[test]
fn what_is_asked_for_again_is_filed_and_no_more_forgotten() {
    let mine = Mine::new();
    mine.said("/t/a", &[LAMP, KEY]);
    mine.forget(LAMP);
    mine.forget(KEY);
    assert_eq!(imported(&mine, &[LAMP], true), (1, 0));
    assert_eq!(imported(&mine, &[LAMP, KEY], false), (1, 1));
    let read = mine.further("/t/b", 0, &[KEY, "new"]);
    let id_of = &|_: &SourceFile, part: &SourcePart, number: u64| {
        MemoryId::new(format!("{} {number}", part.content))
    };
    assert_eq!(
        mine.engine
            .system(&mine.ann)
            .sources()
            .again(true)
            .preview_source(id_of, &read),
        Ok(counts(2, 0, 0))
    );
    let filed = mine
        .engine
        .system(&mine.ann)
        .sources()
        .again(true)
        .file_source(id_of, read);
    assert_eq!(filed, Ok(counts(2, 0, 0)));
    assert_eq!(mine.said("/t/c", &[KEY]), counts(1, 0, 0));
}

#[test]
fn nothing_is_read_for_a_memory_that_is_filed_by_hand() {
    let mine = Mine::new();
    mine.said("/t/a", &[LAMP]);
    mine.forget(LAMP);
    mine.store.before(|method| {
        assert!(!method.contains("tombstone"), "{method}");
        Ok(())
    });
    mine.engine
        .system(&mine.ann)
        .memories()
        .remember(fact(LAMP, Visibility::Common))
        .unwrap();
}
