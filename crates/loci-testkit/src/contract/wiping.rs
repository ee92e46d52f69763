//! What a wipe promises.

use std::thread;

use loci_core::{
    AuditEntry, AuditQuery, CacheEntry, Decision, EnrichmentStatus, ErrorCode, Filter, JobCounts, Memory, Timestamp,
    Visibility, Wiped,
};

use super::examples::{
    NOW, audit_entry, cache_entry, decision, delete, enqueue, filter, memory, message, not_wiped, passage,
    pending_offspring, private, put, space,
};
use super::reading::{ALL, add, admitted};
use super::writing::{commit, found, refused};
use super::{MakeStore, StoreAndTokens};

fn wipe(store: &dyn StoreAndTokens, owner: &str) -> Wiped {
    store.wipe(&memory("a").space, owner, NOW).expect("the data is wiped")
}

fn version(store: &dyn StoreAndTokens) -> u64 {
    store.version().expect("the store can be read")
}

/// Stores a cache entry, a decision and an audit entry of that owner.
fn add_all_kinds(store: &dyn StoreAndTokens, owner: &str) {
    store.put_cache_entry(&cache_entry(owner, &format!("entry of {owner}")), 0).expect("the entry is added");
    assert_eq!(store.put_decision(&decision(owner, "key"), 0), Ok(true));
    store.append_audit(&[audit_entry(owner, "tool")]).expect("the entry is added");
}

/// How many cache entries, decisions and audit entries that owner has in the default space.
fn all_kinds(store: &dyn StoreAndTokens, owner: &str) -> (usize, usize, usize) {
    let space = memory("a").space;
    let cached = store.cached_queries(&space, owner, Timestamp::MIN).expect("the store can be read");
    let decided = store.decision(&space, owner, "key", Timestamp::MIN).expect("the store can be read");
    let query = AuditQuery { user: Some(owner.to_owned()), space: Some(space), limit: 100, ..AuditQuery::default() };
    let audited = store.audit(&query).expect("the store can be read");
    (cached.len(), usize::from(decided.is_some()), audited.len())
}

pub(super) fn a_wipe_removes_what_is_private_or_came_in_as_conversation(make: MakeStore<'_>) {
    let store = make();
    let common = |memory: Memory| Memory { visibility: Visibility::Common, ..memory };
    let source = message("ann", 0);
    for removed in [
        source.clone(),
        private("ann", memory("private")),
        common(message("ann", 1)),
        Memory { enrichment: Some(EnrichmentStatus::Completed), ..common(private("ann", memory("completed"))) },
        pending_offspring("pending", &source),
        Memory { expires_at: Some(NOW), ..private("ann", memory("expired")) },
        private("ann", memory("softly deleted")),
    ] {
        add(&*store, &removed);
    }
    for waiting in ["pending", "completed"] {
        commit(&*store, enqueue(waiting, NOW));
    }
    assert_eq!(store.soft_delete(&filter(), Some(&memory("softly deleted").id), NOW, 1), Ok(1));
    let before = version(&*store);
    assert_eq!(wipe(&*store, "ann"), Wiped { memories: 7, ..Wiped::default() });
    assert!(version(&*store) > before);
    assert_eq!(admitted(&*store, &filter()), Vec::<String>::new());
    let size = store.size().expect("the store can be read");
    assert_eq!((size.memories, size.passages), (0, 0));
    assert_eq!(store.job_counts(), Ok(JobCounts::default()));
    assert_eq!(store.thread_end(&source.space, "ann", "talk"), Ok(0));
    let before = version(&*store);
    assert_eq!(wipe(&*store, "ann"), Wiped::default());
    assert!(version(&*store) > before, "a wipe counts even if there is nothing to remove");
    commit(&*store, put(&memory("softly deleted"), Vec::new()));
}

pub(super) fn a_wipe_takes_the_name_off_everything_else(make: MakeStore<'_>) {
    let store = make();
    let anns = |name: &str, visibility| Memory { visibility, ..private("ann", memory(name)) };
    let (common, shared) = (anns("common", Visibility::Common), anns("shared", Visibility::Shared));
    let deleted = anns("softly deleted", Visibility::Common);
    for kept in [&common, &shared, &deleted] {
        add(&*store, kept);
    }
    assert_eq!(store.soft_delete(&filter(), Some(&deleted.id), NOW, 1), Ok(1));
    assert_eq!(wipe(&*store, "ann"), Wiped::default());
    let anns = Filter { owner: Some("ann".to_owned()), ..filter() };
    assert_eq!(admitted(&*store, &anns), Vec::<String>::new());
    assert_eq!(admitted(&*store, &filter()), ["common", "shared"]);
    for kept in [common, shared] {
        let nameless = Memory { owner: None, revision: 2, ..kept.clone() };
        assert_eq!(found(&*store, &kept), Some(nameless), "nothing else of it changes");
        assert_eq!(refused(&*store, delete(&kept)).code, ErrorCode::Conflict, "its revision has risen");
    }
    assert_eq!(refused(&*store, put(&deleted, Vec::new())).code, ErrorCode::Conflict, "it is still there");
}

pub(super) fn a_wipe_removes_answers_decisions_and_audit_entries(make: MakeStore<'_>) {
    let store = make();
    add_all_kinds(&*store, "ann");
    let expired = CacheEntry { expires_at: NOW, ..cache_entry("ann", "expired") };
    store.put_cache_entry(&expired, 0).expect("the entry is added");
    let expired = Decision { expires_at: Some(NOW), ..decision("ann", "expired") };
    assert_eq!(store.put_decision(&expired, 0), Ok(true));
    let for_bob = AuditEntry { caller: Some("ann".to_owned()), ..audit_entry("bob", "for bob") };
    let entries = [audit_entry("ann", "a"), audit_entry("ann", "b"), for_bob];
    store.append_audit(&entries).expect("the entries are added");
    assert_eq!(all_kinds(&*store, "ann"), (2, 1, 3));
    assert_eq!(wipe(&*store, "ann"), Wiped { memories: 0, cache_entries: 2, audit_entries: 3, decisions: 2 });
    assert_eq!(all_kinds(&*store, "ann"), (0, 0, 0));
    let left = store.audit(&AuditQuery { limit: 100, ..AuditQuery::default() }).expect("the store can be read");
    let left: Vec<_> = left.into_iter().map(|(_, entry)| entry).collect();
    assert_eq!(left, [audit_entry("bob", "for bob")], "without the name of who called");
    assert_eq!(wipe(&*store, "ann"), Wiped::default());
}

pub(super) fn a_wipe_leaves_other_users_and_spaces_alone(make: MakeStore<'_>) {
    let store = make();
    let other = space("other");
    let elsewhere = Memory { space: other.clone(), ..message("ann", 0) };
    let kept = [message("bob", 0), private("ANN", memory("case")), private("ann ", memory("blank"))];
    for kept in kept.iter().chain([&elsewhere, &Memory { owner: None, ..message("nobody", 0) }]) {
        add(&*store, kept);
    }
    add_all_kinds(&*store, "bob");
    let entry = CacheEntry { space: other.clone(), ..cache_entry("ann", "entry") };
    store.put_cache_entry(&entry, 0).expect("the entry is added");
    let decided = Decision { space: other.clone(), ..decision("ann", "key") };
    assert_eq!(store.put_decision(&decided, 0), Ok(true));
    let entries = [
        AuditEntry { space: other.clone(), ..audit_entry("ann", "tool") },
        AuditEntry { user: None, ..audit_entry("", "anonymous") },
    ];
    store.append_audit(&entries).expect("the entries are added");
    assert_eq!(wipe(&*store, "ann"), Wiped::default());
    assert_eq!(admitted(&*store, &filter()), ["blank", "bob-0", "case", "nobody-0"]);
    assert_eq!(found(&*store, &kept[0]).as_ref(), Some(&kept[0]));
    assert_eq!(all_kinds(&*store, "bob"), (1, 1, 1));
    let removed = store.wipe(&other, "ann", NOW);
    assert_eq!(removed, Ok(Wiped { memories: 1, cache_entries: 1, audit_entries: 1, decisions: 1 }));
    let audited = store.audit(&AuditQuery { limit: 100, ..AuditQuery::default() }).expect("the store can be read");
    assert_eq!(audited.len(), 2);
}

pub(super) fn a_write_begun_before_a_wipe_is_refused(make: MakeStore<'_>) {
    let store = make();
    let before = version(&*store);
    commit(&*store, not_wiped("ann", before));
    wipe(&*store, "ann");
    let guarded = |since| {
        let mut batch = put(&message("ann", 0), vec![passage("word")]);
        batch.changes.extend(not_wiped("ann", since).changes);
        batch
    };
    assert_eq!(refused(&*store, guarded(before)).code, ErrorCode::Conflict);
    let entry = store.put_cache_entry(&cache_entry("ann", "entry"), before);
    assert_eq!(entry.expect_err("it is refused").code, ErrorCode::Conflict);
    let decided = store.put_decision(&decision("ann", "key"), before);
    assert_eq!(decided.expect_err("it is refused").code, ErrorCode::Conflict);
    assert_eq!((found(&*store, &message("ann", 0)), all_kinds(&*store, "ann")), (None, (0, 0, 0)));
    commit(&*store, not_wiped("bob", before));
    let elsewhere = CacheEntry { space: space("other"), ..cache_entry("ann", "entry") };
    store.put_cache_entry(&elsewhere, before).expect("in another space nothing was wiped");
    let after = version(&*store);
    commit(&*store, guarded(after));
    store.put_cache_entry(&cache_entry("ann", "entry"), after).expect("the entry is added");
    assert_eq!(store.put_decision(&decision("ann", "key"), after), Ok(true));
    wipe(&*store, "ann");
    assert_eq!(refused(&*store, not_wiped("ann", after)).code, ErrorCode::Conflict, "the last wipe counts");
    commit(&*store, not_wiped("ann", version(&*store)));
}

pub(super) fn no_write_outlives_a_wipe_that_it_overlaps(make: MakeStore<'_>) {
    const WRITERS: usize = 4;
    const MEMORIES: usize = 25;
    let store = make();
    let shared: &dyn StoreAndTokens = &*store;
    let write = |id: &str| {
        let since = version(shared);
        let mut batch = put(&Memory { content: since.to_string(), ..private("ann", memory(id)) }, Vec::new());
        batch.changes.extend(not_wiped("ann", since).changes);
        if let Err(error) = shared.commit(batch) {
            assert_eq!(error.code, ErrorCode::Conflict, "{error}");
        }
    };
    let before_last = thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || (0..MEMORIES).for_each(|number| write(&format!("{writer}-{number}"))));
        }
        let wipes = (0..5).map(|_| {
            let before = version(shared);
            wipe(shared, "ann");
            before
        });
        wipes.last().expect("there are some")
    });
    for left in store.list(&filter(), ALL).expect("the store can be read") {
        let since: u64 = left.content.parse().expect("it holds a version");
        assert!(since > before_last, "a write that began at {since} is left by a wipe after {before_last}");
    }
}

pub(super) fn a_wipe_outlives_what_is_audited_later(make: MakeStore<'_>) {
    let store = make();
    wipe(&*store, "ann");
    store.wipe(&memory("a").space, "ann", NOW.plus_seconds(-5)).expect("the data is wiped");
    let at = |seconds, entry: AuditEntry| AuditEntry { at: NOW.plus_seconds(seconds), ..entry };
    let entries = [
        at(-9, audit_entry("ann", "before")),
        at(-1, audit_entry("ann", "before the latest")),
        at(0, audit_entry("ann", "at the moment")),
        at(1, audit_entry("ann", "after")),
        at(-9, audit_entry("bob", "of another")),
        AuditEntry { user: None, ..at(-9, audit_entry("", "of nobody")) },
        AuditEntry { space: space("other"), ..at(-9, audit_entry("ann", "elsewhere")) },
    ];
    store.append_audit(&entries).expect("the entries are added");
    let found = store.audit(&AuditQuery { limit: 100, ..AuditQuery::default() }).expect("the store can be read");
    let tools: Vec<_> = found.iter().map(|(_, entry)| entry.tool.as_str()).collect();
    assert_eq!(tools, ["at the moment", "after", "of another", "of nobody", "elsewhere"]);
}
