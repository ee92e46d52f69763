//! The contract of wipes.

use std::thread;

use loci_core::{
    AuditEntry, AuditQuery, AuditRecord, CacheEntry, CitationKind, Decision, EnrichmentStatus,
    ErrorCode, Filter, JobCounts, Memory, OwnerFilter, RecordVerb, Sweep, Tier, Timestamp,
    Visibility, Wiped,
};

use super::examples::{
    NOW, audit_entry, cache_entry, citation, decision, delete, enqueue, filter, memory, message,
    not_wiped, passage, pending_offspring, private, put, space, sweep_of_expired,
};
use super::partitions::{needs_sweep, sweep_some, version_now};
use super::reading::{ALL, add, admitted, id};
use super::writing::{commit, found, refused};
use super::{MakeStore, StoreAndTokens};

fn wipe(store: &dyn StoreAndTokens, owner: &str) -> Wiped {
    wipe_of(store, owner, None)
}

fn wipe_of(store: &dyn StoreAndTokens, owner: &str, origin: Option<&str>) -> Wiped {
    store
        .wipe(&memory("a").space, owner, origin, None, NOW)
        .expect("the data is wiped")
}

fn common(memory: Memory) -> Memory {
    Memory {
        visibility: Visibility::Common,
        ..memory
    }
}

fn shared(memory: Memory) -> Memory {
    Memory {
        visibility: Visibility::Shared,
        ..memory
    }
}

/// Stores a cache entry, a decision and an audit entry of that owner.
fn add_all_kinds(store: &dyn StoreAndTokens, owner: &str) {
    store
        .put_cache_entry(&cache_entry(owner, &format!("entry of {owner}")), 0)
        .expect("the entry is added");
    assert_eq!(store.put_decision(&decision(owner, "key"), 0), Ok(true));
    note(store, audit_entry(owner, "tool"));
}

fn note(store: &dyn StoreAndTokens, entry: AuditEntry) {
    store.append_audit(&[entry]).expect("the entry is added");
}

/// Counts the cache entries, decisions and audit entries of that owner in the default space.
fn all_kinds(store: &dyn StoreAndTokens, owner: &str) -> (usize, usize, usize) {
    let space = memory("a").space;
    let cached = store
        .cached_queries(&space, owner, Timestamp::MIN)
        .expect("the store can be read");
    let decided = store
        .decision(&space, owner, "key", Timestamp::MIN)
        .expect("the store can be read");
    let query = AuditQuery {
        user: Some(owner.to_owned()),
        space,
        limit: 100,
        ..AuditQuery::default()
    };
    let audited = store.audit(&query).expect("the store can be read");
    (cached.len(), usize::from(decided.is_some()), audited.len())
}

pub(super) fn a_wipe_removes_what_is_not_common_or_came_in_as_conversation(make: MakeStore<'_>) {
    let store = make();
    let source = message("ann", 0);
    for removed in [
        source.clone(),
        private("ann", memory("private")),
        shared(private("ann", memory("shared"))),
        Memory {
            tier: Tier::Unlisted,
            ..shared(private("ann", memory("apart")))
        },
        common(message("ann", 1)),
        Memory {
            enrichment: Some(EnrichmentStatus::Completed),
            ..common(private("ann", memory("completed")))
        },
        pending_offspring("pending", &source),
        Memory {
            expires_at: Some(NOW),
            ..private("ann", memory("expired"))
        },
        private("ann", memory("softly deleted")),
    ] {
        add(&*store, &removed);
    }
    for waiting in ["pending", "completed"] {
        commit(&*store, enqueue(waiting, NOW));
    }
    assert_eq!(
        store.soft_delete(&filter(), Some(&memory("softly deleted").id), NOW, 1),
        Ok(1)
    );
    let before = version_now(&*store);
    assert_eq!(
        wipe(&*store, "ann"),
        Wiped {
            memories: 9,
            ..Wiped::default()
        }
    );
    assert!(version_now(&*store) > before);
    assert_eq!(admitted(&*store, &filter()), Vec::<String>::new());
    let size = store.size().expect("the store can be read");
    assert_eq!((size.memories, size.passages), (0, 0));
    assert_eq!(store.job_counts(), Ok(JobCounts::default()));
    assert_eq!(store.thread_end(&source.space, "ann", "talk"), Ok(0));
    let before = version_now(&*store);
    assert_eq!(wipe(&*store, "ann"), Wiped::default());
    assert!(
        version_now(&*store) > before,
        "a wipe counts even if there is nothing to remove"
    );
    commit(&*store, put(&memory("softly deleted"), Vec::new()));
}

pub(super) fn a_wipe_takes_the_name_off_what_is_common(make: MakeStore<'_>) {
    let store = make();
    let named = |actor: &str, memory: Memory| Memory {
        actor: Some(actor.to_owned()),
        ..memory
    };
    let anns = |name: &str| {
        let (origin, citations) = (
            "engram".to_owned(),
            vec![citation(CitationKind::File, "src/ann.rs")],
        );
        common(named(
            "Ann",
            Memory {
                origin,
                citations,
                ..private("ann", memory(name))
            },
        ))
    };
    let (fact, apart) = (
        anns("fact"),
        Memory {
            tier: Tier::Unlisted,
            ..anns("apart")
        },
    );
    let deleted = anns("softly deleted");
    let others = [
        named("ann", private("bob", memory("bobs"))),
        named("ann", memory("nobodys")),
    ];
    for kept in [&fact, &apart, &deleted].into_iter().chain(&others) {
        add(&*store, kept);
    }
    assert_eq!(
        store.soft_delete(&filter(), Some(&deleted.id), NOW, 1),
        Ok(1)
    );
    assert_eq!(wipe(&*store, "ann"), Wiped::default());
    let anns = Filter {
        owner: OwnerFilter::of(Some("ann")),
        ..filter()
    };
    assert_eq!(admitted(&*store, &anns), Vec::<String>::new());
    assert_eq!(
        admitted(&*store, &filter()),
        ["apart", "bobs", "fact", "nobodys"]
    );
    for other in &others {
        assert_eq!(
            found(&*store, other).as_ref(),
            Some(other),
            "an actor alone is no owner"
        );
    }
    for kept in [fact, apart] {
        let nameless = Memory {
            owner: None,
            actor: None,
            revision: 2,
            ..kept.clone()
        };
        assert_eq!(
            found(&*store, &kept),
            Some(nameless),
            "nothing else of it changes"
        );
        assert_eq!(
            refused(&*store, delete(&kept)).code,
            ErrorCode::Conflict,
            "its revision has risen"
        );
    }
    assert_eq!(
        refused(&*store, put(&deleted, Vec::new())).code,
        ErrorCode::Conflict,
        "it is still there"
    );
}

pub(super) fn a_wipe_of_one_tool_set_leaves_the_others(make: MakeStore<'_>) {
    let store = make();
    let of = |origin: &str| {
        let named = |memory: Memory| Memory {
            id: id(&format!("{origin} {}", memory.id)),
            origin: origin.to_owned(),
            actor: Some("Ann".to_owned()),
            thread: None,
            ..memory
        };
        let fact = |name: &str| private("ann", memory(name));
        let enrichment = Some(EnrichmentStatus::Pending);
        [
            named(message("ann", 0)),
            named(fact("private")),
            named(shared(fact("shared"))),
            named(common(Memory {
                enrichment,
                ..fact("pending")
            })),
            named(fact("softly deleted")),
            named(common(fact("common"))),
            named(common(Memory {
                tier: Tier::Unlisted,
                ..fact("apart")
            })),
        ]
    };
    let is_deleted = |memory: &Memory| memory.id.as_str().ends_with("softly deleted");
    let origins = ["engram", "ENGRAM", "engram ", "memory-mcp", ""];
    for memory in origins.iter().flat_map(|origin| of(origin)) {
        add(&*store, &memory);
        if memory.enrichment.is_some() {
            commit(&*store, enqueue(memory.id.as_str(), NOW));
        }
        if is_deleted(&memory) {
            assert_eq!(
                store.soft_delete(&filter(), Some(&memory.id), NOW, 1),
                Ok(1)
            );
        }
    }
    add_all_kinds(&*store, "ann");
    for entry in [
        AuditEntry {
            dialect: "engram".to_owned(),
            ..audit_entry("ann", "tool")
        },
        AuditEntry {
            user: Some("bob".to_owned()),
            caller: Some("ann".to_owned()),
            ..audit_entry("ann", "tool")
        },
    ] {
        note(&*store, entry);
    }
    let rest = Wiped {
        cache_entries: 1,
        audit_entries: 1,
        decisions: 1,
        memories: 5,
    };
    assert_eq!(
        wipe_of(&*store, "ann", Some("engram")),
        rest,
        "answers and decisions go, too"
    );
    assert_eq!(
        all_kinds(&*store, "ann"),
        (0, 0, 1),
        "the call through another tool set stays noted"
    );
    let for_bob = store.audit(&AuditQuery {
        user: Some("bob".to_owned()),
        limit: 1,
        ..AuditQuery::default()
    });
    assert_eq!(
        for_bob.map(|calls| calls[0].1.caller.clone()),
        Ok(Some("ann".to_owned()))
    );
    assert_eq!(
        store.job_counts().map(|counts| counts.waiting),
        Ok(4),
        "the jobs of the others are left"
    );
    for memory in origins[1..].iter().flat_map(|origin| of(origin)) {
        if is_deleted(&memory) {
            assert_eq!(
                refused(&*store, put(&memory, Vec::new())).code,
                ErrorCode::Conflict,
                "it is still there"
            );
        } else {
            assert_eq!(found(&*store, &memory), Some(memory), "it stays as it was");
        }
    }
    let [.., fact, apart] = of("engram");
    for kept in [fact, apart] {
        let nameless = Memory {
            owner: None,
            actor: None,
            revision: 2,
            ..kept
        };
        assert_eq!(found(&*store, &nameless).as_ref(), Some(&nameless));
    }
    assert_eq!(wipe_of(&*store, "ann", Some("unknown")), Wiped::default());
    assert_eq!(wipe_of(&*store, "ann", Some("")).memories, 5);
    assert_eq!(
        wipe(&*store, "ann").memories,
        15,
        "without a tool set, all that is left goes"
    );
    assert_eq!(admitted(&*store, &filter()).len(), 2 * origins.len());
    let anns = Filter {
        owner: OwnerFilter::of(Some("ann")),
        ..filter()
    };
    assert_eq!(admitted(&*store, &anns), Vec::<String>::new());
}

pub(super) fn a_wipe_removes_answers_decisions_and_audit_entries(make: MakeStore<'_>) {
    let store = make();
    add_all_kinds(&*store, "ann");
    let expired = CacheEntry {
        expires_at: NOW,
        ..cache_entry("ann", "expired")
    };
    store
        .put_cache_entry(&expired, 0)
        .expect("the entry is added");
    let expired = Decision {
        expires_at: Some(NOW),
        ..decision("ann", "expired")
    };
    assert_eq!(store.put_decision(&expired, 0), Ok(true));
    let for_bob = AuditEntry {
        caller: Some("ann".to_owned()),
        ..audit_entry("bob", "for bob")
    };
    let entries = [audit_entry("ann", "a"), audit_entry("ann", "b"), for_bob];
    store.append_audit(&entries).expect("the entries are added");
    assert_eq!(all_kinds(&*store, "ann"), (2, 1, 3));
    assert_eq!(
        wipe(&*store, "ann"),
        Wiped {
            memories: 0,
            cache_entries: 2,
            audit_entries: 3,
            decisions: 2
        }
    );
    assert_eq!(all_kinds(&*store, "ann"), (0, 0, 0));
    let left = store
        .audit(&AuditQuery {
            limit: 100,
            ..AuditQuery::default()
        })
        .expect("the store can be read");
    let left: Vec<_> = left.into_iter().map(|(_, entry)| entry).collect();
    assert_eq!(
        left,
        [audit_entry("bob", "for bob")],
        "without the name of who called"
    );
    assert_eq!(wipe(&*store, "ann"), Wiped::default());
}

pub(super) fn a_wipe_leaves_other_users_and_spaces_alone(make: MakeStore<'_>) {
    let store = make();
    let other = space("other");
    let elsewhere = Memory {
        space: other.clone(),
        ..message("ann", 0)
    };
    let kept = [
        message("bob", 0),
        private("ANN", memory("case")),
        private("ann ", memory("blank")),
    ];
    for kept in kept.iter().chain([
        &elsewhere,
        &Memory {
            owner: None,
            ..message("nobody", 0)
        },
    ]) {
        add(&*store, kept);
    }
    add_all_kinds(&*store, "bob");
    let entry = CacheEntry {
        space: other.clone(),
        ..cache_entry("ann", "entry")
    };
    store
        .put_cache_entry(&entry, 0)
        .expect("the entry is added");
    let decided = Decision {
        space: other.clone(),
        ..decision("ann", "key")
    };
    assert_eq!(store.put_decision(&decided, 0), Ok(true));
    let entries = [
        AuditEntry {
            space: other.clone(),
            ..audit_entry("ann", "tool")
        },
        AuditEntry {
            user: None,
            ..audit_entry("", "anonymous")
        },
    ];
    store.append_audit(&entries).expect("the entries are added");
    assert_eq!(wipe(&*store, "ann"), Wiped::default());
    assert_eq!(
        admitted(&*store, &filter()),
        ["blank", "bob-0", "case", "nobody-0"]
    );
    assert_eq!(found(&*store, &kept[0]).as_ref(), Some(&kept[0]));
    assert_eq!(all_kinds(&*store, "bob"), (1, 1, 1));
    let removed = store.wipe(&other, "ann", None, None, NOW);
    assert_eq!(
        removed,
        Ok(Wiped {
            memories: 1,
            cache_entries: 1,
            audit_entries: 1,
            decisions: 1
        })
    );
    let audited = store
        .audit(&AuditQuery {
            limit: 100,
            ..AuditQuery::default()
        })
        .expect("the store can be read");
    assert_eq!(audited.len(), 2);
}

pub(super) fn a_write_begun_before_a_wipe_is_refused(make: MakeStore<'_>) {
    let store = make();
    let before = version_now(&*store);
    commit(&*store, not_wiped("ann", "engram", before));
    wipe(&*store, "ann");
    let guarded = |since| {
        let mut batch = put(&message("ann", 0), vec![passage("word")]);
        batch
            .changes
            .extend(not_wiped("ann", "engram", since).changes);
        batch
    };
    assert_eq!(refused(&*store, guarded(before)).code, ErrorCode::Conflict);
    let entry = store.put_cache_entry(&cache_entry("ann", "entry"), before);
    assert_eq!(entry.expect_err("it is refused").code, ErrorCode::Conflict);
    let decided = store.put_decision(&decision("ann", "key"), before);
    assert_eq!(
        decided.expect_err("it is refused").code,
        ErrorCode::Conflict
    );
    assert_eq!(
        (
            found(&*store, &message("ann", 0)),
            all_kinds(&*store, "ann")
        ),
        (None, (0, 0, 0))
    );
    commit(&*store, not_wiped("bob", "engram", before));
    let elsewhere = CacheEntry {
        space: space("other"),
        ..cache_entry("ann", "entry")
    };
    store
        .put_cache_entry(&elsewhere, before)
        .expect("in another space nothing was wiped");
    let after = version_now(&*store);
    commit(&*store, guarded(after));
    store
        .put_cache_entry(&cache_entry("ann", "entry"), after)
        .expect("the entry is added");
    assert_eq!(store.put_decision(&decision("ann", "key"), after), Ok(true));
    wipe(&*store, "ann");
    assert_eq!(
        refused(&*store, not_wiped("ann", "engram", after)).code,
        ErrorCode::Conflict,
        "the last wipe counts"
    );
    commit(&*store, not_wiped("ann", "engram", version_now(&*store)));
}

pub(super) fn no_write_outlives_a_wipe_that_it_overlaps(make: MakeStore<'_>) {
    const WRITERS: usize = 4;
    const MEMORIES: usize = 25;
    let store = make();
    let store: &dyn StoreAndTokens = &*store;
    let write = |id: &str| {
        let since = version_now(store);
        let mut batch = put(
            &Memory {
                content: since.to_string(),
                ..private("ann", memory(id))
            },
            Vec::new(),
        );
        batch
            .changes
            .extend(not_wiped("ann", "engram", since).changes);
        if let Err(error) = store.commit(batch) {
            assert_eq!(error.code, ErrorCode::Conflict, "{error}");
        }
    };
    let before_last = thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                (0..MEMORIES).for_each(|number| write(&format!("{writer}-{number}")));
            });
        }
        let wipes = (0..5).map(|_| {
            let before = version_now(store);
            wipe(store, "ann");
            before
        });
        wipes.last().expect("there are some")
    });
    for left in store.list(&filter(), ALL).expect("the store can be read") {
        let since: u64 = left.content.parse().expect("it holds a version");
        assert!(
            since > before_last,
            "a write that began at {since} is left by a wipe after {before_last}"
        );
    }
}

pub(super) fn a_wipe_outlives_what_is_audited_later(make: MakeStore<'_>) {
    let store = make();
    wipe(&*store, "ann");
    store
        .wipe(&memory("a").space, "ann", None, None, NOW.plus_seconds(-5))
        .expect("the data is wiped");
    let at = |seconds, entry: AuditEntry| AuditEntry {
        at: NOW.plus_seconds(seconds),
        ..entry
    };
    let entries = [
        at(-9, audit_entry("ann", "before")),
        at(-1, audit_entry("ann", "before the latest")),
        at(0, audit_entry("ann", "at the moment")),
        at(1, audit_entry("ann", "after")),
        at(-9, audit_entry("bob", "of another")),
        AuditEntry {
            user: None,
            ..at(-9, audit_entry("", "of nobody"))
        },
        AuditEntry {
            space: space("other"),
            ..at(-9, audit_entry("ann", "elsewhere"))
        },
    ];
    store.append_audit(&entries).expect("the entries are added");
    let found = store
        .audit(&AuditQuery {
            limit: 100,
            ..AuditQuery::default()
        })
        .expect("the store can be read");
    let tools: Vec<_> = found.iter().map(|(_, entry)| entry.tool.as_str()).collect();
    assert_eq!(tools, ["at the moment", "after", "of another", "of nobody"]);
    let elsewhere = store.audit(&AuditQuery {
        space: space("other"),
        limit: 100,
        ..AuditQuery::default()
    });
    assert_eq!(elsewhere.map(|found| found.len()), Ok(1));
}

pub(super) fn a_wipe_of_one_tool_set_concerns_no_other_one_later(make: MakeStore<'_>) {
    let store = make();
    let start = version_now(&*store);
    let origins = ["engram", "ENGRAM", "memory-mcp", ""];
    // Returns the tool sets through which a write that started then is refused.
    let refused_since = |since| {
        let is_refused = |origin: &&str| store.commit(not_wiped("ann", origin, since)).is_err();
        origins.into_iter().filter(is_refused).collect::<Vec<_>>()
    };
    wipe_of(&*store, "ann", Some("engram"));
    assert_eq!(refused_since(start), ["engram"]);
    let decided = store.put_decision(&decision("ann", "key"), start);
    assert_eq!(
        decided.expect_err("it is refused").code,
        ErrorCode::Conflict,
        "every wipe removes decisions"
    );
    let entry = store.put_cache_entry(&cache_entry("ann", "entry"), start);
    assert_eq!(
        entry.expect_err("it is refused").code,
        ErrorCode::Conflict,
        "every wipe removes answers"
    );
    store
        .wipe(
            &memory("a").space,
            "ann",
            Some(""),
            None,
            NOW.plus_seconds(-2),
        )
        .expect("the data is wiped");
    assert_eq!(refused_since(start), ["engram", ""]);
    let all = version_now(&*store);
    store
        .wipe(&memory("a").space, "ann", None, None, NOW.plus_seconds(-5))
        .expect("the data is wiped");
    assert_eq!(
        (refused_since(start), refused_since(all)),
        (origins.to_vec(), origins.to_vec())
    );
    let later = version_now(&*store);
    wipe_of(&*store, "ann", Some("memory-mcp"));
    assert_eq!(refused_since(later), ["memory-mcp"]);
    assert_eq!(refused_since(version_now(&*store)), Vec::<&str>::new());

    // The times of the wipes, in any order: 0, 0, -2 and -5.
    let call = |dialect: &str, seconds| AuditEntry {
        dialect: dialect.to_owned(),
        at: NOW.plus_seconds(seconds),
        ..audit_entry("ann", &format!("{dialect} {seconds}"))
    };
    for origin in origins {
        let calls = [-6, -5, -3, -2, -1, 0].map(|seconds| call(origin, seconds));
        store.append_audit(&calls).expect("the entries are added");
    }
    let found = store
        .audit(&AuditQuery {
            limit: 100,
            ..AuditQuery::default()
        })
        .expect("the store can be read");
    let tools: Vec<_> = found.iter().map(|(_, entry)| entry.tool.as_str()).collect();
    let of_other = [
        "ENGRAM -5",
        "ENGRAM -3",
        "ENGRAM -2",
        "ENGRAM -1",
        "ENGRAM 0",
    ];
    assert_eq!(
        tools,
        [
            &["engram 0"][..],
            &of_other,
            &["memory-mcp 0", " -2", " -1", " 0"]
        ]
        .concat()
    );
}

/// The pseudonym of a wiped user in the tests.
const PSEUDONYM: &str = "wiped-0123456789abcdef0123456789abcdef";

fn wipe_leaving(store: &dyn StoreAndTokens, owner: &str) -> Wiped {
    store
        .wipe(&memory("a").space, owner, None, Some(PSEUDONYM), NOW)
        .expect("the data is wiped")
}

fn record(id: &str, verb: RecordVerb, is_own: bool) -> AuditRecord {
    AuditRecord {
        id: id.to_owned(),
        verb,
        is_own,
    }
}

pub(super) fn a_wipe_leaves_a_pseudonym_on_records_that_stay(make: MakeStore<'_>) {
    let store = make();
    let actor = Some("Ann".to_owned());
    let fact = common(Memory {
        actor,
        ..private("ann", memory("fact"))
    });
    let by = |writer: &str, memory: Memory| Memory {
        updated_by: Some(writer.to_owned()),
        ..memory
    };
    let rewritten = by("ann", private("bob", memory("rewritten")));
    let of_bob = by("bob", common(private("ann", memory("of bob"))));
    let others = [
        by("carl", memory("others")),
        by(
            "ann",
            Memory {
                space: space("other"),
                ..memory("elsewhere")
            },
        ),
    ];
    let gone = by("bob", private("ann", memory("gone")));
    for added in [&fact, &rewritten, &of_bob, &gone]
        .into_iter()
        .chain(&others)
    {
        add(&*store, added);
    }
    assert_eq!(wipe_leaving(&*store, "ann").memories, 1);
    let named = Some(PSEUDONYM.to_owned());
    let expected = [
        Memory {
            owner: named.clone(),
            actor: None,
            revision: 2,
            ..fact
        },
        Memory {
            updated_by: named.clone(),
            revision: 2,
            ..rewritten
        },
        Memory {
            owner: named,
            revision: 2,
            ..of_bob
        },
    ];
    for kept in expected.iter().chain(&others) {
        assert_eq!(found(&*store, kept).as_ref(), Some(kept));
    }
    assert_eq!(found(&*store, &gone), None);
    assert_eq!(wipe(&*store, PSEUDONYM), Wiped::default());
    for kept in [&expected[0], &expected[2]] {
        let nameless = Memory {
            owner: None,
            revision: 3,
            ..kept.clone()
        };
        assert_eq!(
            found(&*store, kept),
            Some(nameless),
            "a wipe of the pseudonym takes that off"
        );
    }
}

pub(super) fn a_wipe_leaves_lines_of_what_was_done_to_others(make: MakeStore<'_>) {
    let store = make();
    let naming = |tool: &str, records: Vec<AuditRecord>| AuditEntry {
        query: Some("words of ann".to_owned()),
        results: Some(3),
        caller: Some("admin".to_owned()),
        client: Some("codex".to_owned()),
        session: Some("session of ann".to_owned()),
        reply_tokens: Some(5),
        further_records: 2 * u64::from(!records.is_empty()),
        records,
        ..audit_entry("ann", tool)
    };
    let deleted = record("bobs", RecordVerb::Deleted, false);
    let changed = record("common", RecordVerb::Changed, false);
    let entries = [
        naming("nothing", Vec::new()),
        naming("own", vec![record("own", RecordVerb::Deleted, true)]),
        naming("read", vec![record("common", RecordVerb::Read, false)]),
        naming(
            "returned",
            vec![record("common", RecordVerb::Returned, false)],
        ),
        naming("deleted", vec![deleted.clone()]),
        naming(
            "both",
            vec![
                record("own", RecordVerb::Stored, true),
                changed.clone(),
                record("bobs", RecordVerb::Returned, false),
            ],
        ),
        AuditEntry {
            records: vec![changed.clone()],
            ..audit_entry("bob", "of bob")
        },
    ];
    store.append_audit(&entries).expect("the entries are added");
    let all = AuditQuery {
        limit: 100,
        ..AuditQuery::default()
    };
    let before = store.audit(&all).expect("the store can be read");
    assert_eq!(
        before
            .iter()
            .map(|(_, entry)| entry.clone())
            .collect::<Vec<_>>(),
        entries
    );
    let of_common = AuditQuery {
        record: Some("common".to_owned()),
        ..all.clone()
    };
    let tools = |query: &AuditQuery| -> Vec<String> {
        store
            .audit(query)
            .expect("the store can be read")
            .into_iter()
            .map(|(_, entry)| entry.tool)
            .collect()
    };
    assert_eq!(tools(&of_common), ["read", "returned", "both", "of bob"]);
    assert_eq!(
        wipe_leaving(&*store, "ann").audit_entries,
        6,
        "the lines that stay count, too"
    );
    let left = store.audit(&all).expect("the store can be read");
    let line = |tool: &str, record: AuditRecord| AuditEntry {
        records: vec![record],
        ..audit_entry(PSEUDONYM, tool)
    };
    let expected = [
        line("deleted", deleted),
        line("both", changed),
        entries[6].clone(),
    ];
    assert_eq!(
        left.iter()
            .map(|(_, entry)| entry.clone())
            .collect::<Vec<_>>(),
        expected
    );
    assert_eq!(tools(&of_common), ["both", "of bob"]);

    let sweep = Sweep {
        audited_before: NOW.plus_seconds(1),
        ..sweep_of_expired(Timestamp::MIN)
    };
    assert_eq!(needs_sweep(&*store, &sweep), Ok(true));
    while sweep_some(&*store, &sweep, 10).expect("the store can be written") > 0 {}
    assert_eq!(needs_sweep(&*store, &sweep), Ok(false));
    assert_eq!(tools(&all), ["deleted", "both"], "no sweep removes them");
    assert_eq!(wipe(&*store, PSEUDONYM).audit_entries, 2);
    assert_eq!((tools(&all), tools(&of_common)), (Vec::new(), Vec::new()));
}
