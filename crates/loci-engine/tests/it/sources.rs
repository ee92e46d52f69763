//! Tests of filing source files: once, despite changes of the file and ends of the process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicUsize;

use loci_core::{
    Batch, Change, Clock, ContentHash, FileStamp, FilingOrder, SourceFile, Space, Store, Thread,
    Visibility, limits::REFERENCE_BYTES_MAX,
};
use loci_engine::{Browse, ReadSource, SOURCE_FILE, SourceCounts, SourcePart};
use loci_testkit::Random;

use super::faulty_store::FaultyStore;
use super::*;

pub const WING: &str = "project";

/// A process that mines files, over a store that a test can fail.
pub struct Mine {
    pub engine: Engine,
    pub store: Arc<FaultyStore>,
    pub clock: Arc<FixedClock>,
    pub ann: Caller,
}

impl Mine {
    pub fn new() -> Self {
        let store = FaultyStore::new(Arc::new(NaiveStore::new()));
        let clock = Arc::new(FixedClock::default());
        let embedder = Arc::new(HashingEmbedder::default());
        let engine = Engine::new(store.clone(), embedder, clock.clone(), SearchMode::Hybrid);
        Mine {
            engine,
            store,
            clock,
            ann: caller("ann", &WRITER),
        }
    }

    /// Returns a process of another machine, over the same store.
    pub fn on_machine(&self, machine: &str) -> Self {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let embedder = Arc::new(HashingEmbedder::default());
        let engine = Engine::new(store.clone(), embedder, clock.clone(), SearchMode::Hybrid);
        Mine {
            engine: engine.with_machine(machine.to_owned()),
            store,
            clock,
            ann: self.ann.clone(),
        }
    }

    pub fn known(&self, path: &str) -> Option<SourceFile> {
        self.engine
            .system(&self.ann)
            .sources()
            .source_file(Some(WING), path)
            .unwrap()
    }

    pub fn file(&self, read: ReadSource) -> Result<SourceCounts> {
        self.engine
            .system(&self.ann)
            .sources()
            .file_source(&id_of, read)
    }

    /// Returns the reading of the whole file in its present state.
    pub fn whole(&self, path: &str, parts: Texts<'_>) -> ReadSource {
        let parts = (0..)
            .zip(parts)
            .map(|(position, (content, room))| part(path, position, content, room))
            .collect();
        self.here(read(path, self.known(path), parts, true))
    }

    /// Returns the reading of a file of this machine.
    fn here(&self, mut read: ReadSource) -> ReadSource {
        self.engine
            .system(&Caller::local())
            .sources()
            .machine()
            .clone_into(&mut read.file.machine);
        for part in &mut read.parts {
            part.thread = SourceFile::thread_of(&read.file.machine, &part.thread);
        }
        read
    }

    /// Returns the reading of new messages of a transcript, after the first `counted` ones.
    pub fn further(&self, path: &str, counted: u64, messages: &[&str]) -> ReadSource {
        let parts = (counted..)
            .zip(messages)
            .map(|(position, content)| part(path, position, content, "talk"))
            .collect();
        let mut read = self.here(read(path, self.known(path), parts, false));
        read.file.parts += counted;
        read
    }

    /// Returns all memories of the wing, in the order of insertion.
    pub fn memories(&self) -> Vec<Memory> {
        let request = Browse {
            collections: CollectionFilter::Only(WING.to_owned()),
            sections: Vec::new(),
            kinds: Vec::new(),
            tiers: vec![Tier::LongTerm],
            order: FilingOrder::FirstFirst,
            offset: 0,
            limit: 1_000,
            characters_max: None,
            ..Browse::default()
        };
        let mut memories = Vec::new();
        loop {
            let offset = memories.len();
            let browsed = self
                .engine
                .system(&Caller::local())
                .listings()
                .browse(Browse {
                    offset,
                    ..request.clone()
                })
                .unwrap();
            if browsed.memories.is_empty() {
                assert_eq!(browsed.total, offset as u64);
                return memories;
            }
            memories.extend(browsed.memories);
        }
    }

    /// Returns the memories that were filed from files, sorted.
    fn filed(&self) -> Vec<Filed> {
        let mut filed: Vec<Filed> = self.memories().iter().filter_map(filed).collect();
        filed.sort();
        filed
    }

    fn ids(&self, path: &str) -> Vec<String> {
        let mut memories = self.memories();
        memories.retain(|memory| {
            memory
                .attributes
                .get(SOURCE_FILE)
                .is_some_and(|source| source == path)
        });
        memories.sort_by_key(|memory| memory.thread.as_ref().unwrap().position);
        memories
            .into_iter()
            .map(|memory| memory.id.to_string())
            .collect()
    }

    /// Lets so many commits succeed, and fails all later ones.
    pub fn fail_after(&self, commits: usize) {
        let left = AtomicUsize::new(commits);
        self.store.before(move |method| match method {
            "commit"
                if left
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                        left.checked_sub(1)
                    })
                    .is_err() =>
            {
                Err(Error::unavailable("the process has ended"))
            }
            _ => Ok(()),
        });
    }

    pub fn work_again(&self) {
        self.store.before(|_| Ok(()));
    }

    /// Counts the calls of a method.
    fn count(&self, counted: &'static str) -> Arc<AtomicUsize> {
        let count = Arc::new(AtomicUsize::new(0));
        let counter = count.clone();
        self.store.before(move |method| {
            counter.fetch_add(usize::from(method == counted), Ordering::SeqCst);
            Ok(())
        });
        count
    }
}

/// Makes one field invalid.
type Spoil = fn(&mut ReadSource);

/// The text and room of each part.
type Texts<'a> = &'a [(&'a str, &'a str)];

/// Source, position, text, room, lines, title.
type Filed = (String, u64, String, String, String, Option<String>);

fn filed(memory: &Memory) -> Option<Filed> {
    let source = memory.attributes.get(SOURCE_FILE)?.clone();
    let thread = memory.thread.clone()?;
    assert!(thread.name.starts_with(&source), "{thread:?} of {source}");
    let lines = memory.attributes["lines"].clone();
    Some((
        source,
        thread.position,
        memory.content.clone(),
        memory.location.section.clone(),
        lines,
        memory.title.clone(),
    ))
}

fn part(path: &str, position: u64, content: &str, room: &str) -> SourcePart {
    SourcePart {
        thread: path.to_owned(),
        position,
        content: content.to_owned(),
        section: room.to_owned(),
        kind: "drawer".to_owned(),
        title: None,
        attributes: BTreeMap::from([("lines".to_owned(), format!("{0}-{0}", position + 1))]),
        created_at: None,
    }
}

fn read(
    path: &str,
    before: Option<SourceFile>,
    parts: Vec<SourcePart>,
    is_whole: bool,
) -> ReadSource {
    let texts: usize = parts.iter().map(|part| part.content.len()).sum();
    let mut hash = [0; 32];
    for (index, byte) in parts
        .iter()
        .flat_map(|part| part.content.bytes())
        .enumerate()
    {
        hash[index % 32] ^= byte.rotate_left(index as u32 / 32 % 8);
    }
    let file = SourceFile {
        machine: String::new(),
        collection: Some(WING.to_owned()),
        path: path.to_owned(),
        root: "/p".to_owned(),
        format: "project".to_owned(),
        stamp: FileStamp {
            bytes: texts as u64,
            modified_nanoseconds: 0,
        },
        bytes_read: texts as u64,
        hash: ContentHash(hash),
        parts: parts.len() as u64,
        is_pending: false,
        is_whole,
    };
    ReadSource {
        file,
        before,
        moved_from: None,
        visibility: Visibility::Common,
        parts,
        has_more: false,
    }
}

#[test]
fn what_is_new_of_a_file_is_as_visible_as_was_asked() {
    let (mine, path) = (Mine::new(), "/t/a.jsonl");
    let private = |read| ReadSource {
        visibility: Visibility::Private,
        ..read
    };
    assert_eq!(
        mine.file(private(mine.further(path, 0, &["one"]))),
        Ok(counts(1, 0, 0))
    );
    let bob = caller("bob", &WRITER);
    let seen = || {
        mine.engine
            .system(&bob)
            .listings()
            .places()
            .unwrap()
            .iter()
            .map(|place| place.memories)
            .sum::<u64>()
    };
    assert_eq!(
        (seen(), mine.memories().len()),
        (0, 1),
        "another caller sees nothing of it"
    );
    assert_eq!(
        mine.file(mine.further(path, 0, &["one"])),
        Ok(counts(0, 1, 0)),
        "its owner has it"
    );
    assert_eq!(seen(), 0, "and it stays private");
    assert_eq!(
        mine.file(mine.further(path, 1, &["two"])),
        Ok(counts(1, 0, 0))
    );
    assert_eq!((seen(), mine.memories().len()), (1, 2));
}

fn id_of(file: &SourceFile, part: &SourcePart, number: u64) -> MemoryId {
    let wing = file.collection.as_deref().unwrap_or_default();
    MemoryId::new(format!(
        "{wing}|{}|{}|{}|{number}",
        part.section, part.thread, part.content
    ))
}

const fn counts(added: u64, kept: u64, removed: u64) -> SourceCounts {
    SourceCounts {
        forgotten: 0,
        added,
        kept,
        removed,
    }
}

#[test]
fn a_part_of_a_file_is_a_common_memory() {
    let mine = Mine::new();
    let now = mine.clock.now();
    let mut read = mine.whole(
        "/p/a.rs",
        &[("fn honey() {}", "src"), ("fn wax() {}", "src")],
    );
    read.parts[0].title = Some("honey".to_owned());
    read.parts[0].created_at = Some(now.plus_seconds(-60));
    read.parts[1].created_at = Some(now.plus_seconds(60));
    let known = read.file.clone();
    assert_eq!(
        mine.engine
            .system(&mine.ann)
            .sources()
            .preview_source(&id_of, &read),
        Ok(counts(2, 0, 0))
    );
    assert_eq!(
        (mine.memories().len(), mine.known("/p/a.rs")),
        (0, None),
        "a preview writes nothing"
    );
    assert_eq!(mine.file(read), Ok(counts(2, 0, 0)));
    let memories = mine.memories();
    let expected = Memory {
        location: Location {
            collection: Some(WING.to_owned()),
            section: "src".to_owned(),
        },
        title: Some("honey".to_owned()),
        thread: Some(Thread {
            name: "/p/a.rs".to_owned(),
            position: 0,
        }),
        attributes: BTreeMap::from([("lines", "1-1"), (SOURCE_FILE, "/p/a.rs")])
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        origin: mine.ann.origin.to_owned(),
        owner: Some("ann".to_owned()),
        provenance: words_of(SaidBy::File),
        visibility: Visibility::Common,
        ..Memory::new(
            Space::default(),
            MemoryId::new("project|src|/p/a.rs|fn honey() {}|0"),
            "fn honey() {}",
            "drawer",
            now.plus_seconds(-60),
        )
    };
    assert_eq!(memories[0], expected);
    assert_eq!(
        (memories[1].created_at, memories[1].updated_at),
        (now, now),
        "nothing is from the future"
    );
    assert_eq!(mine.known("/p/a.rs"), Some(known.clone()));
    assert_eq!(
        mine.engine
            .system(&mine.ann)
            .sources()
            .source_files(Some(WING)),
        Ok(vec![known])
    );
    // By words at once, by meaning later.
    assert_eq!(found(&mine.engine, &anonymous(), "wax")[0], memories[1].id);
    assert_eq!(mine.engine.models().pending_embeddings(), Ok(2));
    while mine.engine.background().embed_pending().unwrap() > 0 {}
    assert_eq!(mine.engine.models().pending_embeddings(), Ok(0));
}

#[test]
fn a_file_that_is_read_again_changes_what_changed() {
    let mine = Mine::new();
    let path = "/p/a.md";
    let rows: [(Texts<'_>, SourceCounts, &str); 9] = [
        (
            &[("a", "x"), ("b", "x"), ("a", "x")],
            counts(3, 0, 0),
            "a0 b0 a1",
        ),
        (
            &[("a", "x"), ("b", "x"), ("a", "x")],
            counts(0, 3, 0),
            "a0 b0 a1",
        ),
        // The first of equal parts stays, in its new position.
        (
            &[("b", "x"), ("new", "x"), ("a", "x")],
            counts(1, 2, 1),
            "b0 new0 a0",
        ),
        (
            &[("a", "x"), ("a", "x"), ("a", "x")],
            counts(2, 1, 2),
            "a0 a1 a2",
        ),
        // In another room it is the same memory, with the same id.
        (&[("a", "y"), ("a", "x")], counts(0, 2, 1), "a1 a0"),
        (&[], counts(0, 0, 2), ""),
        (&[("a", "x")], counts(1, 0, 0), "a0"),
        (
            &[("a", "x"), ("b", "x"), ("c", "x")],
            counts(2, 1, 0),
            "a0 b0 c0",
        ),
        (
            &[("c", "x"), ("b", "x"), ("a", "x")],
            counts(0, 3, 0),
            "c0 b0 a0",
        ),
    ];
    for (parts, expected, ids) in rows {
        let read = mine.whole(path, parts);
        assert_eq!(
            mine.engine
                .system(&mine.ann)
                .sources()
                .preview_source(&id_of, &read),
            Ok(expected),
            "{parts:?}"
        );
        assert_eq!(mine.file(read), Ok(expected), "{parts:?}");
        let expected: Vec<Filed> = mine
            .whole(path, parts)
            .parts
            .into_iter()
            .map(as_filed)
            .collect();
        assert_eq!(mine.filed(), expected);
        let short = |id: &String| {
            let mut fields = id.split('|').skip(1);
            let (room, _, text, number) = (
                fields.next()?,
                fields.next(),
                fields.next()?,
                fields.next()?,
            );
            Some(format!(
                "{}{text}{number}",
                if room == "x" { "" } else { "y/" }
            ))
        };
        assert_eq!(
            mine.ids(path)
                .iter()
                .filter_map(short)
                .collect::<Vec<_>>()
                .join(" "),
            ids
        );
    }
    // Without changes nothing is written.
    let version = mine.store.inner.version(&Space::default()).unwrap();
    mine.file(mine.whole(path, rows[8].0)).unwrap();
    assert_eq!(
        mine.store.inner.version(&Space::default()).unwrap(),
        version
    );
}

fn as_filed(part: SourcePart) -> Filed {
    let SourcePart {
        thread,
        position,
        content,
        section,
        title,
        attributes,
        ..
    } = part;
    (
        thread,
        position,
        content,
        section,
        attributes["lines"].clone(),
        title,
    )
}

/// Terms and vectors stay if a part only moved; the title is in both.
#[test]
fn what_moved_is_not_embedded_again() {
    let mine = Mine::new();
    let path = "/p/a.md";
    mine.file(mine.whole(path, &[("a", "x"), ("b", "x")]))
        .unwrap();
    while mine.engine.background().embed_pending().unwrap() > 0 {}
    mine.file(mine.whole(path, &[("b", "x"), ("a", "x")]))
        .unwrap();
    assert_eq!(mine.engine.models().pending_embeddings(), Ok(0));
    let mut titled = mine.whole(path, &[("b", "x"), ("a", "x")]);
    titled.parts[0].title = Some("honey".to_owned());
    titled.file.stamp.modified_nanoseconds = 1;
    assert_eq!(mine.file(titled), Ok(counts(0, 2, 0)));
    assert_eq!(mine.engine.models().pending_embeddings(), Ok(1));
    assert_eq!(
        found(&mine.engine, &mine.ann, "honey")[0].as_str(),
        mine.ids(path)[0]
    );
}

#[test]
fn a_file_that_was_renamed_keeps_its_memories() {
    let mine = Mine::new();
    let texts = [("a", "x"), ("b", "x")];
    mine.file(mine.whole("/p/old.md", &texts)).unwrap();
    let (ids, before) = (mine.ids("/p/old.md"), mine.memories());
    let rename = |from: &str, to: &str, parts: &[(&str, &str)]| {
        mine.file(ReadSource {
            moved_from: Some(from.to_owned()),
            ..mine.whole(to, parts)
        })
        .unwrap()
    };
    // Into another folder, and so into another room.
    let moved = [("a", "y"), ("b", "y")];
    assert_eq!(rename("/p/old.md", "/p/new.md", &moved), counts(0, 2, 0));
    assert_eq!(mine.ids("/p/new.md"), ids);
    assert_eq!(
        mine.filed(),
        mine.whole("/p/new.md", &moved)
            .parts
            .into_iter()
            .map(as_filed)
            .collect::<Vec<_>>()
    );
    assert_eq!(
        (
            mine.known("/p/old.md"),
            mine.known("/p/new.md").map(|file| file.parts)
        ),
        (None, Some(2))
    );
    assert_eq!(mine.memories()[0].created_at, before[0].created_at);
    // A new file in the old place makes new memories, whose ids are taken: again and again.
    for round in 0..20 {
        assert_eq!(
            mine.file(mine.whole("/p/old.md", &texts)),
            Ok(counts(2, 0, 0)),
            "{round}"
        );
        assert_eq!(
            mine.file(mine.whole("/p/old.md", &texts)),
            Ok(counts(0, 2, 0))
        );
        assert_eq!(
            rename("/p/old.md", &format!("/p/{round}.md"), &texts),
            counts(0, 2, 0)
        );
    }
    let distinct: BTreeSet<MemoryId> = mine
        .memories()
        .into_iter()
        .map(|memory| memory.id)
        .collect();
    assert_eq!((distinct.len(), mine.filed().len()), (42, 42));
    // Moved and changed at once.
    assert_eq!(
        rename("/p/new.md", "/p/last.md", &[("b", "x"), ("c", "x")]),
        counts(1, 1, 1)
    );
    assert_eq!(mine.ids("/p/last.md")[0], ids[1]);
}

/// Conversations of a file move with it, even those without new messages.
#[test]
fn conversations_move_with_their_file() {
    let mine = Mine::new();
    let conversation = |path: &str, position, content: &str| SourcePart {
        thread: format!("{path}#one"),
        ..part(path, position, content, "talk")
    };
    let old = vec![
        conversation("/p/old", 0, "hello"),
        conversation("/p/old", 1, "ok"),
    ];
    mine.file(read("/p/old", None, old, false)).unwrap();
    let mut further = read("/p/new", None, vec![conversation("/p/new", 2, "ok")], false);
    further.file.parts = 3;
    further.moved_from = Some("/p/old".to_owned());
    assert_eq!(mine.file(further), Ok(counts(1, 0, 0)));
    let texts: Vec<_> = mine
        .filed()
        .into_iter()
        .map(|(path, position, text, ..)| (path, position, text))
        .collect();
    let expected = [(0, "hello"), (1, "ok"), (2, "ok")];
    assert_eq!(
        texts,
        expected.map(|(position, text)| ("/p/new".to_owned(), position, text.to_owned()))
    );
    let threads: BTreeSet<String> = mine
        .memories()
        .into_iter()
        .map(|memory| memory.thread.unwrap().name)
        .collect();
    assert_eq!(threads, BTreeSet::from(["/p/new#one".to_owned()]));
}

/// A conversation with a name of its own is the same in every export: a later one adds its new
/// messages.
#[test]
fn a_conversation_of_another_file_is_gone_on_with() {
    let mine = Mine::new();
    let export = |path: &str, texts: &[&str]| {
        let part = |(position, text): (u64, &&str)| SourcePart {
            thread: "export:one".to_owned(),
            ..part(path, position, text, "talk")
        };
        read(
            path,
            mine.known(path),
            (0..).zip(texts).map(part).collect(),
            false,
        )
    };
    assert_eq!(
        mine.file(export("/p/march", &["why?", "ok", "ok"])),
        Ok(counts(3, 0, 0))
    );
    let first = mine.memories();
    // A caller moves one to another section, where it stays.
    let refiled = Memory {
        location: Location {
            section: "kept".to_owned(),
            ..first[1].location.clone()
        },
        ..first[1].clone()
    };
    mine.store
        .inner
        .commit(Batch::new(Space::default(), vec![replaced(refiled)]))
        .unwrap();
    assert_eq!(
        mine.file(export("/p/april", &["why?", "ok", "ok", "ok"])),
        Ok(counts(1, 3, 0))
    );
    assert_eq!(
        mine.file(export("/p/march", &["why?", "ok", "ok"])),
        Ok(counts(0, 3, 0))
    );
    let found: Vec<_> = mine
        .memories()
        .into_iter()
        .map(|memory| {
            (
                memory.attributes[SOURCE_FILE].clone(),
                memory.thread.unwrap().position,
                memory.location.section,
            )
        })
        .collect();
    let expected = [
        ("/p/march", 0, "talk"),
        ("/p/march", 1, "kept"),
        ("/p/march", 2, "talk"),
        ("/p/april", 3, "talk"),
    ];
    assert_eq!(
        found,
        expected.map(|(path, position, room)| (path.to_owned(), position, room.to_owned()))
    );
    // A project's file with that conversation makes its own memory.
    let mut whole = export("/p/whole", &["why?"]);
    whole.file.is_whole = true;
    assert_eq!(mine.file(whole), Ok(counts(1, 0, 0)));
}

fn replaced(memory: Memory) -> Change {
    let expect = loci_core::Expect::Revision(memory.revision);
    Change::Put {
        memory: Box::new(memory),
        passages: None,
        expect,
    }
}

/// The state of a file is stored with its last part.
#[test]
fn a_file_that_is_filed_in_parts_is_known_at_the_end() {
    let mine = Mine::new();
    let path = "/p/export.json";
    let step = |thread: &str, texts: &[&str], has_more| {
        let part = |(position, text): (u64, &&str)| SourcePart {
            thread: thread.to_owned(),
            ..part(path, position, text, "talk")
        };
        ReadSource {
            has_more,
            ..read(path, None, (0..).zip(texts).map(part).collect(), false)
        }
    };
    assert_eq!(
        mine.file(step("one", &["a", "b"], true)),
        Ok(counts(2, 0, 0))
    );
    assert_eq!((mine.known(path), mine.memories().len()), (None, 2));
    // The process has ended. It starts again, and continues.
    assert_eq!(
        mine.file(step("one", &["a", "b"], true)),
        Ok(counts(0, 2, 0))
    );
    let mut last = step("two", &["a"], false);
    last.file.parts = 3;
    assert_eq!(mine.file(last), Ok(counts(1, 0, 0)));
    assert_eq!(
        (
            mine.known(path).map(|file| file.parts),
            mine.memories().len()
        ),
        (Some(3), 3)
    );
}

/// Memories that a caller filed by hand, and memories of other files and wings, are never touched.
#[test]
fn what_is_of_nobody_else_is_not_touched() {
    let mine = Mine::new();
    let by_hand = Remember {
        collection: Some(WING.to_owned()),
        section: Some("x".to_owned()),
        attributes: BTreeMap::from([(SOURCE_FILE.to_owned(), "/p/a.md".to_owned())]),
        ..fact("a", Visibility::Common)
    };
    let by_hand = mine
        .engine
        .system(&mine.ann)
        .memories()
        .remember(by_hand)
        .unwrap()
        .memory;
    let mut elsewhere = mine.whole("/p/a.md", &[("a", "x")]);
    elsewhere.file.collection = Some("other".to_owned());
    mine.file(elsewhere).unwrap();
    mine.file(mine.whole("/p/b.md", &[("a", "x")])).unwrap();
    let before = listed(&mine.engine, &mine.ann);
    assert_eq!(
        mine.file(mine.whole("/p/a.md", &[("a", "x")])),
        Ok(counts(1, 0, 0))
    );
    assert_eq!(
        mine.file(mine.whole("/p/a.md", &[("b", "x")])),
        Ok(counts(1, 0, 1))
    );
    let mut after = listed(&mine.engine, &mine.ann);
    after.retain(|memory| memory.content != "b");
    assert_eq!(after, before);
    assert!(after.contains(&by_hand));
}

#[test]
fn what_was_forgotten_or_deleted_stays_so() {
    let mine = Mine::new();
    let path = "/p/a.md";
    mine.file(mine.whole(path, &[("a", "x"), ("b", "x"), ("c", "x")]))
        .unwrap();
    let ids: Vec<MemoryId> = mine.ids(path).into_iter().map(MemoryId::new).collect();
    mine.engine
        .system(&mine.ann)
        .memories()
        .forget_softly(&ids[0])
        .unwrap();
    mine.engine
        .system(&mine.ann)
        .memories()
        .forget(&ids[1])
        .unwrap();
    // A soft-deleted memory is hidden, but keeps its id.
    let discarded = loci_engine::Discard {
        id: Some(ids[2].clone()),
        ..loci_engine::Discard::default()
    };
    assert_eq!(
        mine.engine.system(&mine.ann).memories().discard(&discarded),
        Ok(1)
    );
    assert_eq!(
        mine.file(mine.whole(path, &[("a", "x"), ("b", "x"), ("c", "x"), ("d", "x")])),
        Ok(SourceCounts {
            forgotten: 2,
            ..counts(1, 1, 0)
        })
    );
    let texts: Vec<String> = mine
        .filed()
        .into_iter()
        .map(|(_, _, text, ..)| text)
        .collect();
    assert_eq!(texts, ["d"]);
    assert_eq!(
        mine.file(mine.whole(path, &[("a", "x"), ("c", "x")])),
        Ok(SourceCounts {
            forgotten: 1,
            ..counts(0, 1, 1)
        })
    );
}

/// The memories are common: any reader of the file finds them, of every owner.
#[test]
fn a_file_is_read_again_by_another_user() {
    let path = "/p/a.md";
    let rows: [(Texts<'_>, SourceCounts); 3] = [
        (&[("a", "x"), ("b", "x")], counts(0, 2, 0)),
        (&[("a", "x"), ("c", "x")], counts(1, 1, 1)),
        (&[("c", "x"), ("d", "x")], counts(2, 0, 2)),
    ];
    for (parts, expected) in rows {
        for is_wiped in [false, true] {
            for other in [caller("bob", &WRITER), anonymous(), Caller::local()] {
                let mine = Mine::new();
                mine.file(mine.whole(path, &[("a", "x"), ("b", "x")]))
                    .unwrap();
                if is_wiped {
                    mine.engine.system(&mine.ann).wipe().unwrap();
                }
                let read = mine.whole(path, parts);
                assert_eq!(
                    mine.engine
                        .system(&other)
                        .sources()
                        .file_source(&id_of, read),
                    Ok(expected),
                    "{other:?}"
                );
                assert_eq!(mine.filed().len(), parts.len());
            }
        }
    }
}

#[test]
fn whoever_comes_second_is_told() {
    let mine = Mine::new();
    let read = mine.whole("/p/a.md", &[("a", "x")]);
    mine.file(read.clone()).unwrap();
    let error = mine.file(read).unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(error.message.contains("/p/a.md"), "{error}");
    // It does not stop other files.
    let late = ReadSource {
        before: None,
        ..mine.whole("/p/a.md", &[("b", "x")])
    };
    let good = |path| mine.whole(path, &[("good", "x")]);
    let mut bad = good("/p/bad.md");
    bad.parts[0].content = " ".to_owned();
    let reads = vec![good("/p/1.md"), late, good("/p/2.md"), bad, good("/p/3.md")];
    let outcomes = mine
        .engine
        .system(&mine.ann)
        .sources()
        .file_sources(&id_of, reads)
        .unwrap();
    let outcomes: Vec<_> = outcomes
        .into_iter()
        .map(|outcome| outcome.map_err(|error| error.code))
        .collect();
    let fine = Ok(counts(1, 0, 0));
    assert_eq!(
        outcomes,
        [
            fine,
            Err(ErrorCode::Conflict),
            fine,
            Err(ErrorCode::InvalidArgument),
            fine
        ]
    );
    assert_eq!(mine.filed().len(), 4);
}

#[test]
fn a_wipe_meanwhile_is_not_undone() {
    let mine = Mine::new();
    let inner = mine.store.inner.clone();
    let is_first = AtomicBool::new(true);
    mine.store.before(move |method| {
        if method == "commit" && is_first.swap(false, Ordering::SeqCst) {
            inner.wipe(
                &Space::default(),
                "ann",
                None,
                None,
                Timestamp::from_microseconds(1),
            )?;
        }
        Ok(())
    });
    assert_eq!(
        mine.file(mine.whole("/p/a.md", &[("a", "x")]))
            .unwrap_err()
            .code,
        ErrorCode::Conflict
    );
    assert_eq!((mine.memories().len(), mine.known("/p/a.md")), (0, None));
}

#[test]
fn what_is_beyond_the_limits_is_named() {
    let mine = Mine::new();
    let rows: [(Spoil, ErrorCode, &str); 9] = [
        (
            |read| read.parts[1].content = String::new(),
            ErrorCode::InvalidArgument,
            "parts.1.content",
        ),
        (
            |read| read.parts[1].content = "a\0".to_owned(),
            ErrorCode::InvalidArgument,
            "parts.1.content",
        ),
        (
            |read| read.parts[0].content = "a".repeat(limits::CONTENT_BYTES_MAX + 1),
            ErrorCode::TooLarge,
            "parts.0.content",
        ),
        (
            |read| read.parts[1].section = " ".to_owned(),
            ErrorCode::InvalidArgument,
            "parts.1.section",
        ),
        (
            |read| read.parts[1].title = Some("a\nb".to_owned()),
            ErrorCode::InvalidArgument,
            "parts.1.title",
        ),
        (
            |read| read.parts[1].kind = String::new(),
            ErrorCode::InvalidArgument,
            "parts.1.kind",
        ),
        (
            |read| {
                _ = read.parts[1]
                    .attributes
                    .insert("host".to_owned(), "h".repeat(REFERENCE_BYTES_MAX + 1));
            },
            ErrorCode::TooLarge,
            "parts.1.host",
        ),
        (
            |read| read.file.path = String::new(),
            ErrorCode::InvalidArgument,
            "path",
        ),
        (
            |read| read.file.collection = Some(" ".to_owned()),
            ErrorCode::InvalidArgument,
            "collection",
        ),
    ];
    for (spoil, code, named) in rows {
        let mut read = mine.whole("/p/a.md", &[("a", "x"), ("b", "x")]);
        spoil(&mut read);
        let previewed = mine
            .engine
            .system(&mine.ann)
            .sources()
            .preview_source(&id_of, &read)
            .unwrap_err();
        let error = mine.file(read).unwrap_err();
        assert_eq!((error.code, previewed.code), (code, code), "{error}");
        assert!(error.message.contains(&format!("`{named}`")), "{error}");
    }
    assert!(mine.memories().is_empty());
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("part {number}")).collect()
}

/// A large file is filed in several steps. If the process ends between two steps, the next reading
/// continues.
#[test]
fn a_large_file_that_was_interrupted_is_resumed() {
    let texts = numbered(700);
    let parts: Vec<(&str, &str)> = texts.iter().map(|text| (text.as_str(), "x")).collect();
    let fresh = Mine::new();
    assert_eq!(
        fresh.file(fresh.whole("/p/a.md", &parts)),
        Ok(counts(700, 0, 0))
    );
    let shifted: Vec<(&str, &str)> = [("first", "x")]
        .into_iter()
        .chain(parts[..500].iter().copied())
        .collect();
    for commits in 0..4 {
        let mine = Mine::new();
        let read = mine.whole("/p/a.md", &parts);
        mine.fail_after(commits);
        assert_eq!(
            mine.file(read.clone()).unwrap_err().code,
            ErrorCode::Unavailable
        );
        mine.work_again();
        let there = mine.memories().len();
        assert_eq!(
            (there, mine.known("/p/a.md")),
            ((commits * 256).min(700), None)
        );
        assert_eq!(
            mine.file(read),
            Ok(counts(700 - there as u64, there as u64, 0))
        );
        assert_eq!(
            (mine.filed(), mine.ids("/p/a.md")),
            (fresh.filed(), fresh.ids("/p/a.md"))
        );
        // The same, while it changes.
        let read = mine.whole("/p/a.md", &shifted);
        mine.fail_after(commits);
        mine.file(read.clone()).unwrap_err();
        mine.work_again();
        mine.file(read).unwrap();
        assert_eq!(
            mine.filed(),
            fresh
                .whole("/p/a.md", &shifted)
                .parts
                .into_iter()
                .map(as_filed)
                .collect::<Vec<_>>()
        );
    }
}

/// Small files are filed together, each with its state.
#[test]
fn a_step_is_neither_small_nor_long() {
    let mine = Mine::new();
    let texts = numbered(100);
    let parts: Vec<(&str, &str)> = texts.iter().map(|text| (text.as_str(), "x")).collect();
    let large = "word ".repeat(limits::CONTENT_BYTES_MAX / 5 - 10);
    let reads = |range: std::ops::Range<usize>| -> Vec<ReadSource> {
        range
            .map(|number| mine.whole(&format!("/p/{number}.md"), &parts))
            .collect()
    };
    let rows = [
        (reads(0..5), 3, "two files of 100 parts fit"),
        (
            vec![
                mine.whole("/p/l.md", &[(&large, "x")]),
                mine.whole("/p/m.md", &[(&large, "x")]),
            ],
            2,
            "bytes count",
        ),
        (
            vec![mine.whole("/p/n.md", &[(&large, "x"), (&large, "y"), (&large, "z")])],
            4,
            "what is known comes last",
        ),
    ];
    for (reads, expected, why) in rows {
        let commits = mine.count("commit");
        let outcomes = mine
            .engine
            .system(&mine.ann)
            .sources()
            .file_sources(&id_of, reads)
            .unwrap();
        assert!(outcomes.iter().all(Result::is_ok));
        assert_eq!(commits.load(Ordering::SeqCst), expected, "{why}");
    }
    mine.fail_after(1);
    mine.engine
        .system(&mine.ann)
        .sources()
        .file_sources(&id_of, reads(5..9))
        .unwrap_err();
    assert_eq!(mine.known("/p/6.md").map(|file| file.parts), Some(100));
    assert_eq!(
        (mine.known("/p/7.md"), mine.ids("/p/7.md").len()),
        (None, 0)
    );
}

/// New messages at the end of a transcript are filed without reading the old ones.
#[test]
fn a_transcript_that_grows_costs_by_what_is_new() {
    let mine = Mine::new();
    let path = "/p/talk.jsonl";
    let texts = numbered(600);
    let messages: Vec<&str> = texts.iter().map(String::as_str).chain(["ok"]).collect();
    mine.file(mine.further(path, 0, &messages)).unwrap();
    let read = mine.further(path, 601, &["ok", "part 3", "ok"]);
    let lists = mine.count("list");
    assert_eq!(mine.file(read.clone()), Ok(counts(3, 0, 0)));
    assert_eq!(lists.load(Ordering::SeqCst), 0);
    let contents: Vec<String> = mine
        .filed()
        .into_iter()
        .map(|(_, _, text, ..)| text)
        .collect();
    assert_eq!(contents[599..], ["part 599", "ok", "ok", "part 3", "ok"]);
    // The last reading was filed and its state not stored, and the file has grown since.
    let known = mine.known(path).unwrap();
    let forgotten = SourceFile {
        parts: 601,
        ..known.clone()
    };
    let row = Change::PutSourceFile {
        file: Box::new(forgotten),
        expect: Some(Box::new(known)),
    };
    mine.store
        .inner
        .commit(Batch::new(Space::default(), vec![row]))
        .unwrap();
    assert_eq!(
        mine.file(mine.further(path, 601, &["ok", "part 3", "ok", "ok"])),
        Ok(counts(1, 3, 0))
    );
    assert_eq!(mine.filed().len(), 605);
    // A program rewrote it and kept its end.
    assert_eq!(
        mine.file(mine.further(path, 0, &["new", "ok", "part 3"])),
        Ok(counts(1, 2, 0))
    );
    assert_eq!(mine.filed().len(), 606);
}

/// A transcript that is read in any pieces, with interruptions, is filed as if it were read once.
#[test]
fn a_transcript_is_filed_as_it_is_read() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let messages: Vec<&str> = (0..random.below(900))
            .map(|_| random.pick(&["ok", "yes", "no", "why?"]))
            .collect();
        let mine = Mine::new();
        let path = "/p/talk.jsonl";
        let mut counted = 0;
        while counted < messages.len() {
            let end = (counted + 1 + random.below(400)).min(messages.len());
            mine.fail_after(random.below(4));
            let failed = mine
                .file(mine.further(path, counted as u64, &messages[counted..end]))
                .is_err();
            mine.work_again();
            if failed {
                // It may have grown since.
                let end = (end + random.below(50)).min(messages.len());
                mine.file(mine.further(path, counted as u64, &messages[counted..end]))
                    .unwrap();
                counted = end;
            } else {
                counted = end;
            }
        }
        let texts: Vec<(u64, String)> = mine
            .filed()
            .into_iter()
            .map(|(_, position, text, ..)| (position, text))
            .collect();
        let expected: Vec<_> = (0..)
            .zip(&messages)
            .map(|(position, text)| (position, (*text).to_owned()))
            .collect();
        assert_eq!(texts, expected, "seed {seed}");
    }
}

/// Files that are created, changed, renamed and removed, while processes end in between: reading
/// all files again gives the result of a first reading.
#[test]
fn a_project_is_filed_as_it_is() {
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let mine = Mine::new();
        let by_hand = Remember {
            collection: Some(WING.to_owned()),
            ..fact("by hand", Visibility::Common)
        };
        let by_hand = mine
            .engine
            .system(&mine.ann)
            .memories()
            .remember(by_hand)
            .unwrap()
            .memory;
        // The files on disk.
        let mut disk: BTreeMap<String, Vec<(&str, &str)>> = BTreeMap::new();
        for _ in 0..25 {
            for _ in 0..=random.below(3) {
                change_disk(&mut disk, &mut random);
            }
            if random.chance(30) {
                mine.fail_after(random.below(3));
                _ = mine_all(&mine, &disk);
                mine.work_again();
            }
            mine_all(&mine, &disk).unwrap();
            let expected: Vec<Filed> = disk
                .iter()
                .flat_map(|(path, parts)| mine.whole(path, parts).parts)
                .map(as_filed)
                .collect();
            let gone: BTreeSet<String> = mine.filed().into_iter().map(|filed| filed.0).collect();
            let filed: Vec<Filed> = mine
                .filed()
                .into_iter()
                .filter(|filed| disk.contains_key(&filed.0))
                .collect();
            assert_eq!(filed, expected, "seed {seed}: {gone:?}");
            let version = mine.store.inner.version(&Space::default()).unwrap();
            mine_all(&mine, &disk).unwrap();
            assert_eq!(
                mine.store.inner.version(&Space::default()).unwrap(),
                version,
                "seed {seed}"
            );
        }
        assert_eq!(
            mine.engine.system(&mine.ann).memories().show(&by_hand.id),
            Ok(by_hand)
        );
    }
}

fn change_disk(
    disk: &mut BTreeMap<String, Vec<(&'static str, &'static str)>>,
    random: &mut Random,
) {
    let path = format!("/p/{}", random.below(6));
    let room = random.pick(&["x", "y"]);
    let mut text = || (random.pick(&["a", "b", "c", "d"]), room);
    let (one, other) = (text(), text());
    match random.below(5) {
        0 => drop(
            disk.insert(
                path,
                (0..random.below(6))
                    .map(|_| (random.pick(&["a", "b", "c"]), room))
                    .collect(),
            ),
        ),
        1 => disk.entry(path).or_default().push(one),
        2 => {
            let parts = disk.entry(path).or_default();
            parts.insert(random.below(parts.len() + 1), one);
            parts.insert(random.below(parts.len() + 1), other);
        }
        3 => drop(disk.remove(&path)),
        _ => {
            if let Some(parts) = disk.remove(&path) {
                disk.insert(format!("/p/{}", random.below(6)), parts);
            }
        }
    }
}

/// Mines like the command line: a file with the content of a known, missing one counts as moved.
fn mine_all(mine: &Mine, disk: &BTreeMap<String, Vec<(&str, &str)>>) -> Result<()> {
    let known = mine
        .engine
        .system(&mine.ann)
        .sources()
        .source_files(Some(WING))?;
    let mut gone: Vec<SourceFile> = known
        .into_iter()
        .filter(|file| !disk.contains_key(&file.path))
        .collect();
    let mut reads = Vec::new();
    for (path, parts) in disk {
        let read = mine.whole(path, parts);
        let was = |file: &SourceFile| read.before.is_none() && file.hash == read.file.hash;
        let moved_from = gone
            .iter()
            .position(was)
            .map(|index| gone.remove(index).path);
        reads.push(ReadSource { moved_from, ..read });
    }
    for outcome in mine
        .engine
        .system(&mine.ann)
        .sources()
        .file_sources(&id_of, reads)?
    {
        outcome?;
    }
    Ok(())
}
