//! Memories that say the same stand behind one.

use loci_core::{
    Citation, CitationKind, Delivery, Enricher, Enrichment, Relation, STANDS_BEHIND, Store,
    Visibility,
};
use loci_engine::{
    BundleRequest, CONSOLIDATE, Call, CallInfo, ChangesMeant, ConsolidationReport, Effect, Hit,
    PageRequest, Policy, StoodBehind,
};

use std::sync::Mutex;

use super::*;

const KEPT: &str = "The backup of lantern runs on Sunday in Bergen";
const REPEATED: &str = "Note: the backup of lantern runs on Sunday";
const OTHER: &str = "The backup of lantern runs on Monday in Bergen";

fn remembered(bench: &Bench, caller: &Caller, request: Remember) -> MemoryId {
    bench.clock.advance(1);
    let stored = bench.engine.system(caller).memories().remember(request);
    stored.unwrap().memory.id
}

fn stored(bench: &Bench, text: &str) -> MemoryId {
    remembered(bench, &Caller::local(), Remember::new(text, "fact"))
}

/// Runs a consolidation as a call; returns the report.
fn consolidated(bench: &Bench) -> ConsolidationReport {
    consolidated_by(bench, Caller::local())
}

fn consolidated_by(bench: &Bench, caller: Caller) -> ConsolidationReport {
    let preview = bench
        .engine
        .system(&caller)
        .consolidation()
        .consolidate(true)
        .unwrap();
    let report = called(bench, caller, |call| {
        call.consolidation().consolidate(false)
    });
    assert_eq!(preview, report, "a dry run says what is done");
    report
}

fn called<T>(bench: &Bench, caller: Caller, run: impl FnOnce(&Call<'_>) -> Result<T>) -> T {
    let info = CallInfo::new(
        "example",
        CONSOLIDATE,
        "memory:write",
        Effect::Write,
        &[Scope::Write],
    );
    bench.clock.advance(1);
    bench.engine.call(caller, info, run).unwrap()
}

fn hits_of(bench: &Bench, caller: &Caller, query: &str, limit: usize) -> Vec<Hit> {
    let recall = Recall::new(query, limit, &|signals| signals.relevance);
    let found = bench.engine.system(caller).search().recall(&recall);
    found.unwrap().hits
}

fn found(bench: &Bench, query: &str) -> Vec<MemoryId> {
    let hits = hits_of(bench, &Caller::local(), query, 10);
    hits.into_iter().map(|hit| hit.memory.id).collect()
}

fn pair(memory: &MemoryId, representative: &MemoryId) -> StoodBehind {
    StoodBehind {
        memory: memory.clone(),
        representative: representative.clone(),
    }
}

#[test]
fn a_repeat_stands_behind_what_says_all_of_it() {
    let bench = bench();
    let [repeated, kept, other] = [REPEATED, KEPT, OTHER].map(|text| stored(&bench, text));
    let before = hits_of(&bench, &Caller::local(), "backup of lantern", 10);
    assert_eq!(before.len(), 3);

    let report = consolidated(&bench);
    assert_eq!(report.put_behind, [pair(&repeated, &kept)]);
    assert_eq!(
        (report.compared, report.behind, report.representatives),
        (3, 1, 1)
    );

    let hits = hits_of(&bench, &Caller::local(), "backup of lantern", 10);
    let shown: Vec<(&MemoryId, usize)> = hits
        .iter()
        .map(|hit| (&hit.memory.id, hit.times_said()))
        .collect();
    assert_eq!(shown.len(), 2);
    assert!(
        shown.contains(&(&kept, 2)) && shown.contains(&(&other, 1)),
        "{shown:?}"
    );
    // A word of the original finds the one that stands for it, in its place and with its score.
    let by_note = hits_of(&bench, &Caller::local(), "note", 10);
    assert_eq!(by_note[0].memory.id, kept);
    assert_eq!(by_note[0].behind, vec![repeated.clone()]);

    let system = bench.engine.system(&Caller::local());
    let original = system.memories().show(&repeated).unwrap();
    assert_eq!(original.content, REPEATED);
    assert_eq!(
        system.consolidation().representative(&original).unwrap(),
        Some(kept.clone())
    );
    let one = system.memories().show(&kept).unwrap();
    let behind = system.consolidation().behind(&one).unwrap();
    assert_eq!(
        behind.into_iter().map(|it| it.id).collect::<Vec<_>>(),
        vec![repeated.clone()]
    );
    let all = Recall {
        is_consolidated: false,
        ..Recall::new("backup of lantern", 10, &|signals| signals.relevance)
    };
    assert_eq!(system.search().recall(&all).unwrap().hits.len(), 3);

    // A further run changes nothing.
    let again = consolidated(&bench);
    assert_eq!((again.behind, again.put_behind.len()), (1, 0));
    assert_eq!(system.memories().history(&repeated).unwrap().len(), 2);
}

#[test]
fn undo_of_the_call_brings_everything_back_and_it_stays_so() {
    let bench = bench();
    let texts = [
        KEPT,
        REPEATED,
        "Fact: the backup of lantern runs on Sunday!",
    ];
    let ids = texts.map(|text| stored(&bench, text));
    let before = ids
        .clone()
        .map(|id| bench.store.get(&Space::default(), &id).unwrap().unwrap());
    assert_eq!(consolidated(&bench).put_behind.len(), 2);
    let system = bench.engine.system(&Caller::local());
    let call = system.changes().last(1).unwrap().remove(0);
    assert_eq!((&*call.note.tool, call.memories.len()), (CONSOLIDATE, 2));
    let meant = ChangesMeant {
        call: Some(call.note.call),
        ..ChangesMeant::default()
    };
    let undo = CallInfo::new(
        "example",
        "undo",
        "memory:write",
        Effect::Write,
        &[Scope::Write],
    );
    let taken = bench
        .engine
        .call(Caller::local(), undo, |call| {
            call.changes().take_back(&meant, false)
        })
        .unwrap();
    assert_eq!((taken.restored.len(), taken.stands.len()), (2, 0));
    for (id, before) in ids.iter().zip(before) {
        let after = bench.store.get(&Space::default(), id).unwrap().unwrap();
        assert_eq!(
            (after.content, after.attributes, after.tags, after.weight),
            (
                before.content,
                before.attributes,
                before.tags,
                before.weight
            )
        );
    }
    assert_eq!(found(&bench, "backup of lantern").len(), 3);
    // What a person took back is not done again, as long as the texts stay.
    let again = consolidated(&bench);
    assert_eq!((again.put_behind.len(), again.left.len()), (0, 2));
    let edited = "Fact: the backup of lantern runs on Sunday, always!";
    system.memories().update(&ids[2], edited, None).unwrap();
    system.memories().update(&ids[2], KEPT, None).unwrap();
    assert_eq!(consolidated(&bench).put_behind, [pair(&ids[2], &ids[0])]);
}

#[test]
fn nothing_stays_out_of_sight_without_its_representative() {
    let bench = bench();
    let [kept, repeated] = [KEPT, REPEATED].map(|text| stored(&bench, text));
    assert_eq!(consolidated(&bench).put_behind.len(), 1);
    assert_eq!(found(&bench, "backup"), vec![kept.clone()]);
    let system = bench.engine.system(&Caller::local());

    system.memories().forget_softly(&kept).unwrap();
    assert_eq!(found(&bench, "backup"), vec![repeated.clone()]);
    system.memories().unforget(&kept).unwrap();
    assert_eq!(found(&bench, "backup"), vec![kept.clone()]);

    let text = "The backup of lantern runs on Friday in Bergen";
    system.memories().update(&kept, text, None).unwrap();
    assert_eq!(found(&bench, "backup").len(), 2);
    let report = consolidated(&bench);
    assert_eq!(
        (report.brought_back, report.behind),
        (vec![repeated.clone()], 0)
    );

    system.memories().update(&kept, KEPT, None).unwrap();
    consolidated(&bench);
    assert_eq!(found(&bench, "backup"), vec![kept.clone()]);
    system.memories().forget(&kept).unwrap();
    assert_eq!(found(&bench, "backup"), vec![repeated.clone()]);
    assert_eq!(consolidated(&bench).brought_back, [repeated]);
}

#[test]
fn what_replaces_the_representative_stands_for_all() {
    let bench = bench();
    let old = stored(&bench, KEPT);
    let repeated = stored(&bench, REPEATED);
    let new = remembered(
        &bench,
        &Caller::local(),
        Remember {
            supersedes: Some(old.clone()),
            ..Remember::new("The backup of lantern runs on Tuesday in Oslo now", "fact")
        },
    );
    let later = stored(&bench, "The backup of lantern runs on Sunday in Bergen");
    let report = consolidated(&bench);
    assert_eq!(
        report.put_behind,
        [pair(&repeated, &old)],
        "what was said again later holds"
    );
    let mut shown = found(&bench, "backup Sunday");
    shown.sort();
    assert_eq!(shown, [new.clone(), later.clone()]);
    let system = bench.engine.system(&Caller::local());
    let one = system.memories().show(&new).unwrap();
    let behind = system.consolidation().behind(&one).unwrap();
    assert_eq!(behind.len(), 1);
    assert_eq!(behind[0].id, repeated);
    system.memories().forget(&new).unwrap();
    let shown = found(&bench, "backup Sunday");
    assert!(
        !shown.contains(&repeated) && shown.contains(&old),
        "{shown:?}"
    );
}

#[test]
fn owners_places_trust_and_directives_are_kept_apart() {
    let bench = bench();
    let [ann, bob] = ["ann", "bob"].map(|name| caller(name, &WRITER));
    let person = Caller {
        said_by: SaidBy::User,
        ..ann.clone()
    };
    let of = |request: Remember| Remember {
        collection: Some("lantern".to_owned()),
        ..request
    };
    let shared = |text: &str| Remember {
        visibility: Visibility::Shared,
        ..of(Remember::new(text, "fact"))
    };
    let private = |text: &str| of(Remember::new(text, "fact"));
    remembered(&bench, &ann, shared(KEPT));
    remembered(&bench, &bob, shared(KEPT));
    remembered(&bench, &ann, private(KEPT));
    remembered(&bench, &ann, Remember::new(KEPT, "fact"));
    let pinned = Remember {
        delivery: Delivery::Bootstrap,
        ..shared(REPEATED)
    };
    remembered(&bench, &ann, pinned);
    let citing = Remember {
        citations: vec![Citation {
            kind: CitationKind::File,
            reference: "docs/backup.md".to_owned(),
            locator: None,
            pin: None,
            excerpt: None,
        }],
        ..shared(REPEATED)
    };
    remembered(&bench, &ann, citing);
    let said = "The printer of lantern stands in Bergen";
    let said = remembered(&bench, &person, shared(said));
    let all = Caller {
        all_users: true,
        ..Caller::local()
    };
    assert_eq!(
        consolidated_by(&bench, all.clone()).put_behind,
        [],
        "the agent's is trusted less"
    );
    // The same as the person said stands behind what the person said.
    let agent = "Note: the printer of lantern stands in Bergen";
    let agent = remembered(&bench, &ann, shared(agent));
    assert_eq!(
        consolidated_by(&bench, all).put_behind,
        [pair(&agent, &said)]
    );
    // The other user sees what is shared, and what is private stands for nothing there.
    let shown = hits_of(&bench, &bob, "printer of lantern", 10);
    assert!(
        shown
            .iter()
            .any(|hit| hit.memory.id == said && hit.behind == vec![agent.clone()])
    );
    bench
        .engine
        .system(&ann)
        .memories()
        .set_shared(&said, false)
        .unwrap();
    let shown = hits_of(&bench, &bob, "printer of lantern", 10);
    assert!(shown.iter().any(|hit| hit.memory.id == agent));
}

#[test]
fn a_filter_that_leaves_the_representative_out_shows_the_original() {
    let bench = bench();
    let kept = stored(&bench, KEPT);
    let tagged = Remember {
        tags: vec!["ops".to_owned()],
        ..Remember::new(REPEATED, "fact")
    };
    let repeated = remembered(&bench, &Caller::local(), tagged);
    assert_eq!(consolidated(&bench).put_behind, [pair(&repeated, &kept)]);
    let system = bench.engine.system(&Caller::local());
    let recall = Recall {
        tags: vec!["ops".to_owned()],
        ..Recall::new("backup", 10, &|signals| signals.relevance)
    };
    let hits = system.search().recall(&recall).unwrap().hits;
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].memory.id, repeated);
}

#[test]
fn a_reply_is_shorter_by_what_stands_behind_a_result_but_keeps_half_of_its_places() {
    let bench = bench();
    for number in 0..12 {
        stored(
            &bench,
            &format!("Recipe {number}: lantern cake with plums and cream"),
        );
    }
    stored(&bench, KEPT);
    for frame in ["Note", "Fact", "Reminder"] {
        stored(
            &bench,
            &format!("{frame}: the backup of lantern runs on Sunday"),
        );
    }
    let texts = |limit: usize| -> Vec<(usize, usize)> {
        let hits = hits_of(
            &bench,
            &Caller::local(),
            "backup of lantern on Sunday",
            limit,
        );
        hits.iter()
            .map(|hit| (hit.times_said(), hit.behind.len()))
            .collect()
    };
    assert_eq!(texts(6).len(), 6);
    let report = consolidated(&bench);
    assert_eq!(report.put_behind.len(), 3);
    assert_eq!(texts(6), [(4, 3), (1, 0), (1, 0)]);
    assert_eq!(texts(4), [(4, 3), (1, 0)]);
    // The next page has the rest, each once.
    let system = bench.engine.system(&Caller::local());
    let (mut cursor, mut seen) = (None::<String>, Vec::new());
    loop {
        let page = system
            .search()
            .page(&PageRequest {
                query: "backup of lantern on Sunday",
                with_forgotten: false,
                limit: 4,
                cursor: cursor.as_deref(),
                budget_tokens: None,
                as_of: None,
            })
            .unwrap();
        seen.extend(page.hits.into_iter().map(|hit| hit.memory.content));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 13, "{seen:?}");
    assert_eq!(
        seen.iter().filter(|text| text.contains("backup")).count(),
        1
    );
    let phases = ["backup".to_owned()];
    let request = BundleRequest {
        phases: &phases,
        budget_tokens: 2_000,
    };
    let bundle = system.context().bundle(&request).unwrap();
    let text = format!("{bundle:?}");
    assert!(
        text.contains(KEPT) && !text.contains("Note: the backup"),
        "{text}"
    );
}

#[test]
fn a_mark_that_an_import_brought_hides_nothing_by_itself() {
    let bench = bench();
    let kept = stored(&bench, KEPT);
    let forged = Remember {
        attributes: std::collections::BTreeMap::from([(
            STANDS_BEHIND.to_owned(),
            format!("0123456789abcdef {kept}"),
        )]),
        ..Remember::new(OTHER, "fact")
    };
    let other = remembered(&bench, &Caller::local(), forged);
    assert!(found(&bench, "backup").contains(&other));
    assert_eq!(consolidated(&bench).brought_back, vec![other.clone()]);
    assert!(found(&bench, "backup").contains(&other));
}

/// A model that notes what it reads, and fails if it is told to.
#[derive(Default)]
struct Clerk {
    read: Mutex<Vec<String>>,
    fails: AtomicBool,
}

impl Enricher for Clerk {
    fn enrich(&self, text: &str) -> Result<Enrichment> {
        if self.fails.load(Ordering::SeqCst) {
            return Err(Error::unavailable("the model is away"));
        }
        self.read.lock().unwrap().push(text.to_owned());
        Ok(Enrichment {
            importance: 0.9,
            summary: "Lantern is saved weekly".to_owned(),
            kind: "fact".to_owned(),
        })
    }
}

#[test]
fn a_summary_cites_its_sources_and_takes_no_place() {
    let plain = bench();
    let clerk = Arc::new(Clerk::default());
    let engine = Engine::new(
        plain.store.clone(),
        Arc::new(HashingEmbedder::default()),
        plain.clock.clone(),
        SearchMode::Hybrid,
    );
    let bench = Bench {
        engine: engine.with_enricher(clerk.clone()),
        ..plain
    };
    let person = Caller {
        said_by: SaidBy::User,
        ..Caller::local()
    };
    let kept = remembered(&bench, &person, Remember::new(KEPT, "fact"));
    let imported = Remember {
        said_by: Some(SaidBy::Import),
        ..Remember::new(REPEATED, "fact")
    };
    let repeated = remembered(&bench, &person, imported);
    consolidated(&bench);
    assert!(
        clerk.read.lock().unwrap().is_empty(),
        "two texts need no summary"
    );
    let third = stored(&bench, "Fact: the backup of lantern runs on Sunday");
    clerk.fails.store(true, Ordering::SeqCst);
    let run = || {
        called(&bench, Caller::local(), |call| {
            call.consolidation().consolidate(false)
        })
    };
    let report = run();
    assert_eq!((report.put_behind.len(), report.summaries_failed), (1, 1));
    clerk.fails.store(false, Ordering::SeqCst);
    let report = run();
    let [summary] = &report.summaries[..] else {
        panic!("one summary: {report:?}");
    };
    let get = |id: &MemoryId| bench.store.get(&Space::default(), id).unwrap();
    let stored = get(summary).unwrap();
    let mut cited: Vec<MemoryId> = stored
        .links
        .iter()
        .filter(|link| link.relation == Relation::Summarises)
        .map(|link| link.target.clone())
        .collect();
    cited.sort();
    assert_eq!(cited, [kept.clone(), repeated.clone(), third.clone()]);
    assert_eq!(
        stored.said_by(),
        SaidBy::Import,
        "the least trust of the sources"
    );
    assert_eq!(run().summaries, [], "a further run writes no second one");
    // Its words find the representative, and it is no result.
    assert_eq!(found(&bench, "saved weekly")[0], kept);
    assert!(!found(&bench, "backup lantern saved weekly").contains(summary));
    let system = bench.engine.system(&Caller::local());
    let one = system.memories().show(&kept).unwrap();
    let behind = system.consolidation().behind(&one).unwrap();
    let behind: Vec<MemoryId> = behind.into_iter().map(|memory| memory.id).collect();
    assert_eq!(behind, [repeated.clone(), third.clone(), summary.clone()]);
    // Without its representative it is out of sight, and its sources are not.
    system.memories().forget_softly(&kept).unwrap();
    assert!(get(summary).is_none(), "it has words of what was forgotten");
    assert_eq!(found(&bench, "saved weekly backup").len(), 2);
    system.memories().unforget(&kept).unwrap();
    // It goes with a source that is deleted, or changes.
    let next = run().summaries.remove(0);
    system.memories().forget(&third).unwrap();
    assert!(get(&next).is_none());
}

#[test]
fn the_background_consolidates_when_it_is_due_and_one_process_does_it() {
    let plain = bench();
    let policy = Policy {
        consolidate_seconds: 3_600,
        ..Policy::default()
    };
    let engine = || {
        Engine::new(
            plain.store.clone(),
            Arc::new(HashingEmbedder::default()),
            plain.clock.clone(),
            SearchMode::Hybrid,
        )
        .with_policy(policy)
    };
    let (first, second) = (engine(), engine());
    let [kept, repeated] = [KEPT, REPEATED].map(|text| stored(&plain, text));
    assert!(
        !plain.engine.consolidate_some().unwrap(),
        "it is off by default"
    );
    assert!(first.consolidate_some().unwrap());
    assert!(
        !second.consolidate_some().unwrap(),
        "the first one has the lease"
    );
    while first.consolidate_some().unwrap() {}
    assert_eq!(found(&plain, "backup"), vec![kept.clone()]);
    let system = plain.engine.system(&Caller::local());
    let call = system.changes().last(1).unwrap().remove(0);
    assert_eq!(
        (&*call.note.tool, &call.memories[..]),
        (CONSOLIDATE, &[repeated][..])
    );
    // The next one is due an hour later.
    let again = stored(&plain, "Fact: the backup of lantern runs on Sunday");
    assert!(!second.consolidate_some().unwrap());
    plain.clock.advance(3_600);
    while second.consolidate_some().unwrap() {}
    let shown = hits_of(&plain, &Caller::local(), "backup", 10);
    assert_eq!(shown.len(), 1);
    assert!(shown[0].behind.contains(&again));
}
