//! Tests of two machines that share a store. Both see one folder of this machine; a test changes
//! what is in it before the other one looks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use loci_core::{CollectionFilter, FilingOrder, Memory, SourceFile, SourceStore, Space, Tier};
use loci_engine::{Browse, Engine, RedactionScope, SearchMode};
use loci_ingest::conversation::{self, Transcripts};
use loci_ingest::project::{self, Mining};
use loci_ingest::{Progress, Report, caller, parse_plan};
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};

struct Silent;

impl Progress for Silent {
    fn begin(&self, _length: u64) {}
    fn advance(&self, _by: u64) {}
    fn reach(&self, _position: u64) {}
}

/// Two machines with one store, and a folder that both have at the same path.
struct Shared {
    store: Arc<NaiveStore>,
    machines: [Engine; 2],
    folder: tempfile::TempDir,
}

impl Shared {
    fn new() -> Self {
        let store = Arc::new(NaiveStore::new());
        let engine = |machine: &str| {
            let engine = Engine::new(
                store.clone(),
                Arc::new(HashingEmbedder::new(8)),
                Arc::new(FixedClock::default()),
                SearchMode::Words,
            );
            let redactor = Arc::new(loci_secrets::SecretRedactor);
            engine
                .with_machine(machine.to_owned())
                .with_redactor(redactor, RedactionScope::Mined)
        };
        Shared {
            machines: ["a", "b"].map(engine),
            store,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn root(&self) -> String {
        loci_ingest::absolute(self.folder.path()).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new(&self.root()).join(name)
    }

    /// Makes these the only files of the folder.
    fn put(&self, files: &[(&str, &str)]) {
        for file in fs::read_dir(self.folder.path()).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
        for (name, text) in files {
            fs::write(self.path(name), text).unwrap();
        }
    }

    fn mine(&self, engine: &Engine) -> Report {
        let plan = parse_plan("wing = \"shop\"\n").unwrap();
        let mining = Mining {
            notes: None,
            files_again: false,
            root: &self.root(),
            plan: &plan,
            is_dry: false,
            rereads: false,
            is_verbatim: false,
        };
        project::mine(&engine.system(&caller()), &mining, &Silent).unwrap()
    }

    /// Reads a transcript for as long as a hook without time does.
    fn begin(&self, engine: &Engine, name: &str, is_verbatim: bool) {
        let transcripts = Transcripts {
            rereads: false,
            files_again: false,
            wing: "shop",
            root: &self.root(),
            is_dry: false,
            is_shared: false,
            until: Some(Instant::now()),
            is_verbatim,
        };
        let path = self.path(name);
        let told = conversation::file(
            &engine.system(&caller()),
            &transcripts,
            path.to_str().unwrap(),
        )
        .unwrap();
        assert!(told.unwrap().is_pending);
    }

    /// Returns the texts of the memories of a machine's files, sorted.
    fn texts(&self, machine: &str) -> Vec<String> {
        let browse = Browse {
            collections: CollectionFilter::Any,
            sections: Vec::new(),
            kinds: Vec::new(),
            tiers: vec![Tier::LongTerm],
            order: FilingOrder::FirstFirst,
            offset: 0,
            limit: 100,
            characters_max: None,
            ..Browse::default()
        };
        let browsed = self.machines[0].system(&caller()).listings().browse(browse);
        let of_machine = |memory: &Memory| memory.source_machine() == machine;
        let memories = browsed.unwrap().memories.into_iter().filter(of_machine);
        let mut texts: Vec<String> = memories.map(|memory| memory.content).collect();
        texts.sort();
        texts
    }

    fn pending(&self, machine: &str) -> Vec<SourceFile> {
        let pending = self.store.pending_sources(&Space::default(), machine, 9);
        pending.unwrap()
    }
}

/// Returns a transcript of two messages, of which a hook without time reads the first.
fn transcript(first: &str, last: &str) -> String {
    let said = |text: &str| {
        format!(
            "{{\"type\":\"user\",\"message\":{{\"content\":\"{text}\"}},\"sessionId\":\"s\"}}\n"
        )
    };
    let between = "x".repeat(1 << 20);
    let between = format!("{{\"type\":\"progress\",\"data\":\"{between}\"}}\n");
    said(first) + &between + &said(last)
}

#[test]
fn no_machine_passes_over_the_transcript_that_another_one_left() {
    let shared = Shared::new();
    let [first, second] = &shared.machines;
    shared.put(&[("session.jsonl", &transcript("one", "two"))]);
    shared.begin(first, "session.jsonl", false);

    // The second machine has no such file, or another one, or one that is no transcript.
    shared.put(&[]);
    assert_eq!(conversation::read_on(&second.system(&caller())), Ok(0));
    shared.put(&[("session.jsonl", "no transcript")]);
    assert_eq!(conversation::read_on(&second.system(&caller())), Ok(0));
    shared.put(&[("session.jsonl", &transcript("three", "four"))]);
    shared.begin(second, "session.jsonl", false);
    assert_eq!(conversation::read_on(&second.system(&caller())), Ok(1));
    assert_eq!(shared.pending("a").len(), 1, "the first one still waits");
    assert_eq!(shared.texts("b"), ["four", "three"]);

    shared.put(&[("session.jsonl", &transcript("one", "two"))]);
    assert_eq!(conversation::read_on(&first.system(&caller())), Ok(1));
    assert_eq!((shared.pending("a"), shared.pending("b")), (vec![], vec![]));
    assert_eq!(shared.texts("a"), ["one", "two"]);
    assert_eq!(shared.texts("b"), ["four", "three"]);
}

/// A transcript that is gone from one machine does not become one that another machine reads.
#[test]
fn a_transcript_continues_one_of_its_own_machine_alone() {
    let shared = Shared::new();
    let [first, second] = &shared.machines;
    let text = transcript("one", "two");
    shared.put(&[("session.jsonl", &text)]);
    shared.begin(first, "session.jsonl", false);
    assert_eq!(conversation::read_on(&first.system(&caller())), Ok(1));
    shared.put(&[("copy.jsonl", &text)]);
    shared.begin(second, "copy.jsonl", false);
    assert_eq!(conversation::read_on(&second.system(&caller())), Ok(1));
    assert_eq!((shared.texts("a").len(), shared.texts("b").len()), (2, 2));
    let path = shared.path("session.jsonl");
    let known = first
        .system(&caller())
        .sources()
        .sources_at(path.to_str().unwrap());
    assert_eq!(known.map(|files| files.len()), Ok(1));
}

/// The way in which a transcript is to be read on is noted for each machine.
#[test]
fn the_rest_is_redacted_as_the_machine_began_it() {
    let key = ["ghp", "_", &"9aZ3".repeat(9)].concat();
    let shared = Shared::new();
    let [first, second] = &shared.machines;
    shared.put(&[("session.jsonl", &transcript("one", &key))]);
    shared.begin(first, "session.jsonl", true);
    shared.begin(second, "session.jsonl", false);
    assert_eq!(conversation::read_on(&first.system(&caller())), Ok(1));
    assert_eq!(conversation::read_on(&second.system(&caller())), Ok(1));
    let has_key = |machine| shared.texts(machine).iter().any(|text| text.contains(&key));
    assert_eq!((has_key("a"), has_key("b")), (true, false));
}

#[test]
fn mining_a_folder_leaves_the_drawers_of_other_machines() {
    let shared = Shared::new();
    let [first, second] = &shared.machines;
    let files = [
        ("both.md", "same here and there"),
        ("first.md", "of the first"),
    ];
    shared.put(&files);
    assert_eq!(shared.mine(first).drawers.added, 2);

    shared.put(&[
        ("both.md", "same here and there"),
        ("second.md", "of the second"),
    ]);
    let report = shared.mine(second);
    assert_eq!((report.read, report.gone, report.moved), (2, 0, 0));
    assert_eq!((report.drawers.added, report.drawers.removed), (2, 0));
    assert_eq!(shared.texts("a"), ["of the first", "same here and there"]);

    // Each machine knows its own files, and removes its own drawers.
    shared.put(&[("second.md", "changed")]);
    let report = shared.mine(second);
    assert_eq!((report.gone, report.drawers.removed), (1, 1));
    shared.put(&files);
    let report = shared.mine(first);
    assert_eq!((report.gone, report.drawers.added), (0, 0));
    assert_eq!(report.drawers.kept, 2);
    assert_eq!(shared.texts("a"), ["of the first", "same here and there"]);
    let of_second = BTreeSet::from(["changed".to_owned(), "same here and there".to_owned()]);
    assert_eq!(BTreeSet::from_iter(shared.texts("b")), of_second);
}
