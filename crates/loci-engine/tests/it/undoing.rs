//! Taking imports back.

use std::sync::atomic::AtomicUsize;

use loci_core::{
    Archived, DailyQuery, Decision, Fact, FactStore, Name, Period, Record, Store, TunnelEnd,
};
use loci_engine::{Call, CallInfo, Effect, ImportBatch, ImportReport, UndoReport};

use super::faulty_store::FaultyStore;
use super::importing_records::archive;
use super::*;

const NOW: Timestamp = Timestamp::from_microseconds(1_000_000);

fn memory(id: &str, content: &str) -> Archived {
    let memory = Memory::new(
        Space::default(),
        MemoryId::new(id),
        content,
        "fact",
        Timestamp::from_microseconds(7),
    );
    in_main(Record::Memory(Box::new(Memory {
        visibility: Visibility::Common,
        owner: Some("local".to_owned()),
        ..memory
    })))
}

fn fact(id: &str, object: &str) -> Archived {
    let name = |text: &str| Name {
        key: text.to_lowercase(),
        spelling: text.to_owned(),
    };
    in_main(Record::Fact(Box::new(Fact {
        space: Space::default(),
        id: id.to_owned(),
        subject: name("Orla"),
        predicate: name("keeps"),
        object: name(object),
        valid_from: None,
        valid_to: None,
        source: None,
        author: Some("local".to_owned()),
        created_at: NOW,
    })))
}

fn decision(key: &str, value: &str) -> Archived {
    in_main(Record::Decision(Box::new(Decision {
        space: Space::default(),
        owner: "ann".to_owned(),
        key: key.to_owned(),
        value: value.to_owned(),
        created_at: NOW,
        updated_at: NOW,
        expires_at: None,
    })))
}

fn in_main(record: Record) -> Archived {
    Archived {
        space: Space::default(),
        record,
    }
}

/// Imports these as a batch.
fn import(engine: &Engine, records: &[Archived], again: bool) -> (ImportBatch, ImportReport) {
    let system = engine.system(&Caller::local());
    let batch = system.imports().begin_batch("tea", "/tea.jsonl");
    let mut brought = ImportReport::default();
    system
        .imports()
        .again(again)
        .in_batch(Some(&batch))
        .import_records(records, &mut brought)
        .unwrap();
    system
        .imports()
        .finish_batch(&batch, brought.stored)
        .unwrap();
    (batch, brought)
}

fn undo(engine: &Engine, id: &str) -> UndoReport {
    let system = engine.system(&Caller::local());
    let preview = system.imports().undo(id, true).unwrap();
    let report = system.imports().undo(id, false).unwrap();
    assert_eq!(preview, report, "a dry run counts what is done");
    report
}

fn batches(engine: &Engine) -> usize {
    let system = engine.system(&Caller::local());
    system.imports().batches().unwrap().len()
}

#[test]
fn what_an_import_brought_goes_and_can_come_again() {
    let Bench { engine, store, .. } = bench();
    let system = engine.system(&Caller::local());
    system
        .imports()
        .import_records(
            &[memory("own", "Mine."), fact("own", "Bees")],
            &mut ImportReport::default(),
        )
        .unwrap();
    let before = archive(&*store);
    let records = [
        memory("own", "Mine."),
        memory("a", "Tea at four."),
        fact("f", "Tea"),
        fact("g", "Bees"),
        decision("d", "Green."),
    ];
    let (batch, brought) = import(&engine, &records, false);
    // The memory and the fact that are there were not brought.
    assert_eq!((brought.stored, brought.present), (3, 2));
    let listed = system.imports().batches().unwrap();
    assert_eq!(
        (&*listed[0].id, &*listed[0].from, listed[0].records),
        (batch.id(), "tea", Some(3))
    );
    let report = undo(&engine, batch.id());
    assert_eq!((report.memories, report.facts, report.decisions), (1, 1, 1));
    assert_eq!((report.changed, report.gone), (0, 0));
    assert_eq!(
        archive(&*store),
        before,
        "nothing else is left, and no tombstone"
    );
    let counts = store.fact_counts(&Space::default(), NOW).unwrap();
    assert_eq!((counts.facts, counts.entities), (1, 2));
    let gone = system.imports().undo(batch.id(), false).unwrap_err();
    assert_eq!(gone.code, ErrorCode::NotFound);
    let (_, brought) = import(&engine, &records, false);
    assert_eq!(
        (brought.stored, brought.present, brought.forgotten),
        (3, 2, 0)
    );
}

#[test]
fn what_was_changed_since_stays_and_what_was_deleted_is_gone() {
    let Bench { engine, store, .. } = bench();
    let system = engine.system(&Caller::local());
    let ids = ["text", "tags", "place", "same", "deleted", "forgotten"];
    let mut records: Vec<Archived> = ids.iter().map(|id| memory(id, id)).collect();
    records.extend([fact("ended", "Tea"), decision("d", "Green.")]);
    let (batch, _) = import(&engine, &records, false);
    let id = MemoryId::new;
    system
        .memories()
        .update(&id("text"), "Another text.", None)
        .unwrap();
    let refile = |id: &MemoryId, change: loci_engine::Refile| {
        system.memories().refile(id, change).unwrap();
    };
    refile(
        &id("tags"),
        loci_engine::Refile {
            tags: Some(vec!["kept".to_owned()]),
            ..Default::default()
        },
    );
    refile(
        &id("place"),
        loci_engine::Refile {
            collection: Some(Some("elsewhere".to_owned())),
            ..Default::default()
        },
    );
    system.memories().forget(&id("deleted")).unwrap();
    system.memories().forget_softly(&id("forgotten")).unwrap();
    let end = Period {
        first: NOW,
        last: NOW,
    };
    let ended = loci_core::Change::EndFact {
        id: "ended".to_owned(),
        before: None,
        valid_to: Some(end),
    };
    store
        .commit(loci_core::Batch::new(Space::default(), vec![ended]))
        .unwrap();
    let report = undo(&engine, batch.id());
    assert_eq!(
        (report.memories, report.changed, report.gone),
        (2, 4, 1),
        "{report:?}"
    );
    let mut kept = report.changed_ids.clone();
    kept.sort();
    assert_eq!(kept, ["ended", "place", "tags", "text"]);
    // The person's word holds: what was forgotten or deleted does not come again.
    let (_, brought) = import(&engine, &records, false);
    assert_eq!(brought.forgotten, 2, "{brought:?}");
    assert_eq!(
        brought.stored, 2,
        "the memory and the decision that were taken back"
    );
}

#[test]
fn what_was_forgotten_before_is_forgotten_again() {
    let Bench { engine, .. } = bench();
    let system = engine.system(&Caller::local());
    let records = [memory("a", "Tea at four."), memory("b", "Cake at five.")];
    import(&engine, &records, false);
    system.memories().forget(&MemoryId::new("a")).unwrap();
    let (batch, brought) = import(&engine, &records, true);
    assert_eq!((brought.stored, brought.present), (1, 1));
    assert_eq!(undo(&engine, batch.id()).memories, 1);
    let (_, brought) = import(&engine, &records, false);
    assert_eq!((brought.stored, brought.forgotten), (0, 1));
}

#[test]
fn a_text_that_an_import_replaced_comes_back_with_its_time() {
    let Bench {
        engine,
        store,
        clock,
        ..
    } = bench();
    let system = engine.system(&Caller::local());
    import(&engine, &[memory("a", "Tea at four.")], false);
    let known = system.memories().show(&MemoryId::new("a")).unwrap();
    let batch = system.imports().begin_batch("tea", "/tea");
    let imports = system.imports().in_batch(Some(&batch));
    imports.note_updates(&[(&known, "Tea at five.")]).unwrap();
    // Cut off before the update, there is nothing to restore.
    assert_eq!(
        system.imports().undo(batch.id(), true).unwrap(),
        UndoReport::default()
    );
    clock.set(NOW.plus_seconds(60));
    system
        .memories()
        .update(&known.id, "Tea at five.", None)
        .unwrap();
    let report = undo(&engine, batch.id());
    assert_eq!((report.restored, report.changed), (1, 0));
    let now = store.get(&Space::default(), &known.id).unwrap().unwrap();
    assert_eq!(
        (&*now.content, now.updated_at),
        ("Tea at four.", known.updated_at)
    );
    assert_eq!(batches(&engine), 1);
}

#[test]
fn a_tunnel_goes_and_one_that_was_there_stays_with_its_label() {
    let Bench { engine, .. } = bench();
    let system = engine.system(&Caller::local());
    let placed = |id: &str, section: &str| {
        let Record::Memory(mut memory) = memory(id, id).record else {
            unreachable!("it is a memory")
        };
        memory.location.section = section.to_owned();
        in_main(Record::Memory(memory))
    };
    let records = [placed("a", "one"), placed("b", "two"), placed("c", "three")];
    import(&engine, &records, false);
    let end = |section: &str| TunnelEnd {
        collection: None,
        section: section.to_owned(),
        memory: None,
    };
    system
        .graph()
        .create_tunnel(end("one"), end("two"), Some("mine"))
        .unwrap();
    let batch = system.imports().begin_batch("tea", "/tea");
    let imports = system.imports().in_batch(Some(&batch));
    let bring = |from: &str, to: &str| {
        imports
            .import_tunnel(end(from), end(to), Some("theirs"))
            .unwrap()
    };
    assert!(!bring("two", "one") && bring("two", "three"));
    assert_eq!(undo(&engine, batch.id()).tunnels, 1);
    let (tunnels, _) = system
        .graph()
        .tunnels(
            None,
            loci_core::Page {
                offset: 0,
                limit: 9,
            },
        )
        .unwrap();
    let labels: Vec<&str> = tunnels.iter().map(|tunnel| &*tunnel.label).collect();
    assert_eq!(labels, ["mine"]);
}

#[test]
fn one_that_was_cut_off_goes_on_and_many_records_go_in_parts() {
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    let engine = Engine::new(
        store.clone(),
        Arc::new(HashingEmbedder::default()),
        Arc::new(FixedClock::new(NOW)),
        SearchMode::Words,
    );
    let records: Vec<Archived> = (0..700)
        .map(|number: u32| memory(&number.to_string(), &format!("Text {number}.")))
        .collect();
    let (batch, _) = import(&engine, &records, false);
    let fails_at = Arc::new(AtomicUsize::new(2));
    let at = fails_at.clone();
    store.before(move |method| {
        let is_cut = method == "commit" && at.fetch_sub(1, Ordering::SeqCst) == 1;
        if is_cut {
            Err(Error::unavailable("the disk is full"))
        } else {
            Ok(())
        }
    });
    let system = engine.system(&Caller::local());
    let error = system.imports().undo(batch.id(), false).unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
    let left = engine.size().unwrap().memories;
    assert!((1..700).contains(&left), "{left}");
    assert_eq!(batches(&engine), 1);
    fails_at.store(usize::MAX, Ordering::SeqCst);
    assert_eq!(
        system.imports().undo(batch.id(), false).unwrap().memories,
        left
    );
    assert_eq!((engine.size().unwrap().memories, batches(&engine)), (0, 0));
    assert!(archive(&*store.inner).is_empty());
}

#[test]
fn an_import_that_brings_nothing_is_no_batch_and_old_ones_leave_the_list() {
    let Bench { engine, store, .. } = bench();
    import(&engine, &[memory("a", "Tea.")], false);
    import(&engine, &[memory("a", "Tea.")], false);
    assert_eq!(batches(&engine), 1);
    let first = engine.system(&Caller::local()).imports().batches().unwrap()[0].clone();
    for number in 0..limits::IMPORT_BATCHES_MAX {
        import(&engine, &[memory(&number.to_string(), "Cake.")], false);
    }
    assert_eq!(batches(&engine), limits::IMPORT_BATCHES_MAX);
    let noted = format!("imports/{}/", first.id);
    let all = archive(&*store);
    let is_left = |it: &Archived| matches!(&it.record, Record::Setting { name, .. } if name.starts_with(&noted));
    assert!(!all.iter().any(is_left));
    let system = engine.system(&Caller::local());
    let error = system.imports().undo(&first.id, false).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

#[test]
fn nobody_else_takes_an_import_back() {
    let Bench { engine, .. } = bench();
    let (batch, _) = import(&engine, &[memory("a", "Tea.")], false);
    for caller in [caller("root", &[Scope::Admin]), anonymous()] {
        let refused = engine.system(&caller).imports().undo(batch.id(), false);
        assert_eq!(refused.unwrap_err().code, ErrorCode::Forbidden);
    }
}

#[test]
fn all_that_an_import_stored_is_counted_for_its_day() {
    let Bench { engine, .. } = bench();
    let mut records: Vec<Archived> = (0..250)
        .map(|number| memory(&format!("m{number}"), &format!("Text {number}.")))
        .collect();
    records.extend([fact("f", "Tea"), decision("d", "Green.")]);
    let stored = || {
        let info = CallInfo::new("loci", "import", "memory:write", Effect::Write, &[]);
        let import = |call: &Call<'_>| {
            let mut brought = ImportReport::default();
            call.imports().import_records(&records, &mut brought)
        };
        engine.call(Caller::local(), info, import).unwrap();
        let query = DailyQuery {
            from: i64::MIN,
            until: i64::MAX,
            ..DailyQuery::default()
        };
        let counts = engine.audit().daily(&query).unwrap();
        counts.iter().map(|count| count.stored).sum::<u64>()
    };
    assert_eq!(stored(), records.len() as u64);
    assert_eq!(stored(), records.len() as u64, "nothing is stored twice");
}
