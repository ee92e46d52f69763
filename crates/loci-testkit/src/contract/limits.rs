//! The contract of large records and of many, and of a sweep's limit.

use std::iter::repeat_with;

use loci_core::limits::{KEYED_ANSWERS_BYTES_MAX, KEYED_ANSWERS_MAX};
use loci_core::{
    AuditEntry, AuditQuery, AuditRecord, Batch, CacheEntry, Change, Decision, ErrorCode, Filter,
    IdempotentReply, JobCounts, Memory, MemoryId, RecordVerb, Space, Sweep, Timestamp, WipeCounts,
};

use super::calls::{
    add, admitted, commit, found, needs_sweep, refused, search, sweep_all, sweep_some,
};
use super::examples::{
    NOW, audit_entry, cache_entry, decision, delete, embed, enqueue, filter, findable,
    idempotent_reply, memory, put, put_reply, replace, space, sweep_of_expired, vector,
};
use super::store::{MakeStore, StoreAndTokens};

fn keep(store: &dyn StoreAndTokens, answer: &IdempotentReply) {
    commit(store, put_reply(answer));
}

/// Returns true if the store has that reply, expired or not.
fn has(store: &dyn StoreAndTokens, answer: &IdempotentReply) -> bool {
    let (owner, operation) = (answer.owner.as_deref(), &answer.operation);
    let kept = store.idempotent_reply(&answer.space, owner, operation, &answer.key, Timestamp::MIN);
    kept.expect("the store can be read").as_ref() == Some(answer)
}

pub(super) fn a_large_text_comes_back_as_it_was_put(make: MakeStore<'_>) {
    let store = &*make();
    let content = "0123456789abcde\u{e9}".repeat(1 << 16);
    let large = Memory {
        content: content.clone(),
        ..memory("large")
    };
    add(store, &large);
    assert_eq!(found(store, &large), Some(large));
    let answer = IdempotentReply {
        answer: content,
        ..idempotent_reply(Some("ann"), "large")
    };
    keep(store, &answer);
    assert!(has(store, &answer));
}

pub(super) fn many_large_answers_are_deleted(make: MakeStore<'_>) {
    const ENTRIES: usize = 40;
    let store = &*make();
    let mut ids = vec![MemoryId::new("missing")];
    for number in 0..ENTRIES {
        let entry = CacheEntry {
            response: "x".repeat(256 << 10),
            ..cache_entry("ann", &number.to_string())
        };
        assert_eq!(store.put_cache_entry(&entry, 0), Ok(()));
        ids.extend([entry.id.clone(), entry.id]);
    }
    assert_eq!(
        store.put_cache_entry(&cache_entry("ann", "kept"), 0),
        Ok(())
    );
    let space = Space::default();
    // An id that is there twice counts once.
    let deleted = store.delete_cache_entries(&space, "ann", &ids);
    assert_eq!(deleted, Ok(ENTRIES as u64));
    let left = store.cached_queries(&space, "ann", NOW);
    assert_eq!(left.map(|left| left.len()), Ok(1));
}

/// Adds these answers to an empty store, and returns the number that is kept.
fn number_kept(store: &dyn StoreAndTokens, answers: &[IdempotentReply]) -> usize {
    answers.iter().filter(|answer| has(store, answer)).count()
}

pub(super) fn the_oldest_of_too_many_answers_make_room(make: MakeStore<'_>) {
    let store = &*make();
    let at = |key: &str, seconds| IdempotentReply {
        created_at: NOW.plus_seconds(seconds),
        ..idempotent_reply(Some("ann"), key)
    };
    let apart = [
        idempotent_reply(Some("bob"), ""),
        idempotent_reply(None, ""),
        IdempotentReply {
            space: space("other"),
            ..idempotent_reply(Some("ann"), "")
        },
    ];
    for answer in &apart {
        keep(store, answer);
    }
    // At equal age, the operation decides before the key.
    let recalled = IdempotentReply {
        operation: "recall".to_owned(),
        ..at("00000", 0)
    };
    let ended = IdempotentReply {
        expires_at: NOW,
        ..at("00001", 0)
    };
    let many = (2..KEYED_ANSWERS_MAX).map(|number| at(&format!("{number:05}"), 0));
    let many: Vec<_> = [recalled.clone(), ended.clone()]
        .into_iter()
        .chain(many)
        .collect();
    let changes = many
        .iter()
        .cloned()
        .map(Box::new)
        .map(Change::PutIdempotentReply);
    let space = Space::default();
    commit(store, Batch::new(space, changes.collect()));
    assert_eq!(number_kept(store, &many), KEYED_ANSWERS_MAX);
    // One in the place of another needs no room.
    let again = IdempotentReply {
        created_at: NOW.plus_seconds(5),
        expires_at: NOW.plus_seconds(9),
        ..ended
    };
    keep(store, &again);
    assert_eq!(number_kept(store, &many), KEYED_ANSWERS_MAX - 1);
    // The new reply stays, even if it is the oldest; then it is the first one to be evicted.
    let [early, late] = [at("early", -1), at("late", 1)];
    keep(store, &early);
    let kept = [&early, &many[2], &many[3]].map(|answer| has(store, answer));
    assert_eq!(kept, [true, false, true]);
    keep(store, &late);
    let kept = [&late, &early, &many[3]].map(|answer| has(store, answer));
    assert_eq!(kept, [true, false, true]);
    // An answer that would make room stays if its batch is refused.
    let mut last = put_reply(&at("last", 2));
    last.changes.extend(put(&memory("new"), Vec::new()).changes);
    let mut twice = last.clone();
    twice
        .changes
        .extend(put(&memory("new"), Vec::new()).changes);
    assert_eq!(refused(store, twice).code, ErrorCode::Conflict);
    assert!(has(store, &many[3]));
    commit(store, last);
    let kept = [&many[3], &recalled, &again].map(|answer| has(store, answer));
    assert_eq!(kept, [false, true, true]);
    let left = (number_kept(store, &many), number_kept(store, &apart));
    assert_eq!(left, (KEYED_ANSWERS_MAX - 3, apart.len()));
}

/// Creates a reply of that many bytes with fewer characters.
fn of_bytes(owner: Option<&str>, key: &str, bytes: usize) -> IdempotentReply {
    let answer = "\u{e9}".repeat(bytes / 2) + &"e".repeat(bytes % 2);
    IdempotentReply {
        answer,
        ..idempotent_reply(owner, key)
    }
}

pub(super) fn the_oldest_of_too_large_answers_make_room(make: MakeStore<'_>) {
    const QUARTER: usize = KEYED_ANSWERS_BYTES_MAX / 4;
    let store = &*make();
    let bobs = of_bytes(Some("bob"), "a", QUARTER);
    keep(store, &bobs);
    // Each reply with the keys that are left after it is stored.
    let rows = [
        ("a", QUARTER, "a"),
        ("b", QUARTER, "ab"),
        ("c", QUARTER, "abc"),
        ("d", QUARTER, "abcd"),
        ("e", 1, "bcde"),
        ("f", QUARTER + QUARTER - 1, "cdef"),
        ("g", KEYED_ANSWERS_BYTES_MAX + 1, "g"),
        ("h", 1, "h"),
    ];
    for (key, bytes, expected) in rows {
        keep(store, &of_bytes(None, key, bytes));
        let kept = rows.iter().filter(|(key, ..)| {
            let kept = store.idempotent_reply(&Space::default(), None, "append", key, NOW);
            kept.expect("the store can be read").is_some()
        });
        assert_eq!(kept.map(|(key, ..)| *key).collect::<String>(), expected);
    }
    assert!(has(store, &bobs));
}

pub(super) fn answers_that_are_gone_take_no_room(make: MakeStore<'_>) {
    const HALF: usize = KEYED_ANSWERS_BYTES_MAX / 2;
    let store = &*make();
    let of = |key: &str, bytes| IdempotentReply {
        expires_at: NOW,
        ..of_bytes(Some("ann"), key, bytes)
    };
    let keep_both = |second: &str| {
        keep(store, &of("first", HALF));
        keep(store, &of(second, HALF));
        assert!(has(store, &of("first", HALF)), "{second} has room");
    };
    keep_both("swept");
    assert_eq!(sweep_all(store, &sweep_of_expired(NOW)), 2);
    keep_both("wiped");
    let wiped = store.wipe(&Space::default(), "ann", None, None, NOW);
    assert_eq!(wiped, Ok(WipeCounts::default()));
    keep_both("replaced");
    keep(store, &of("replaced", 1));
    keep(store, &of("third", HALF - 1));
    assert!(has(store, &of("first", HALF)), "what is replaced is gone");
    keep(store, &of("replaced", 2));
    assert!(
        !has(store, &of("first", HALF)),
        "what replaces it takes room"
    );
}

pub(super) fn a_large_memory_is_gone_for_all_from_its_first_part_on(make: MakeStore<'_>) {
    const PASSAGES: usize = 1_000;
    let store = &*make();
    // The memory may be expired already, or only for the sweep, whose clock may be ahead.
    let filter = Filter {
        live_at: Timestamp::MIN,
        ..filter()
    };
    let large = Memory {
        expires_at: Some(NOW),
        ..memory("large")
    };
    commit(store, put(&large, vec![findable(); PASSAGES]));
    commit(store, enqueue("large", NOW));
    add(store, &memory("small"));
    assert_eq!(search(store, &filter, &["word"]), ["large", "small"]);
    let leased = store.lease_jobs(NOW, NOW.plus_seconds(1), "lease", 1);
    assert_eq!(leased.map(|jobs| jobs.len()), Ok(1));
    let mut steps = 0;
    while sweep_some(store, &sweep_of_expired(NOW), 1).expect("the store can be swept") > 0 {
        steps += 1;
        assert!(steps <= PASSAGES, "it ends");
        assert_eq!(
            (found(store, &large), admitted(store, &filter).len()),
            (None, 1)
        );
        assert_eq!(search(store, &filter, &["word"]), ["small"]);
        assert_eq!(
            store.pending_embeddings(&vector("test", &[]).model, 10),
            Ok(1)
        );
        assert_eq!(store.job_counts(), Ok(JobCounts::default()));
        let second = Memory {
            revision: 2,
            ..large.clone()
        };
        for batch in [replace(&second, None), delete(&large)] {
            assert_eq!(refused(store, batch).code, ErrorCode::Conflict);
        }
        commit(store, embed(&large, vec![vector("test", &[1]); PASSAGES]));
        assert_eq!(store.soft_delete(&filter, Some(&large.id), NOW, 1), Ok(0));
    }
    let size = store.size().expect("the store can be read");
    assert_eq!((steps > 0, size.memories, size.passages), (true, 1, 1));
    add(store, &large);
}

/// Of each kind of record that a sweep removes, adds one that is due now, and one earlier.
fn add_due(store: &dyn StoreAndTokens, seconds: i64) {
    let (at, key) = (NOW.plus_seconds(seconds), &*seconds.to_string());
    let expires_at = Some(at);
    add(
        store,
        &Memory {
            expires_at,
            ..memory(key)
        },
    );
    commit(store, enqueue(key, NOW));
    add(store, &memory(&format!("deleted {key}")));
    let deleted = MemoryId::new(format!("deleted {key}"));
    assert_eq!(store.soft_delete(&filter(), Some(&deleted), at, 1), Ok(1));
    let expires_at = at;
    let entry = CacheEntry {
        expires_at,
        ..cache_entry("ann", key)
    };
    assert_eq!(store.put_cache_entry(&entry, 0), Ok(()));
    let (owner, expires_at) = ("ann", Some(at));
    let decided = Decision {
        expires_at,
        ..decision(owner, key)
    };
    assert_eq!(store.put_decision(&decided, 0), Ok(true));
    let expires_at = at;
    keep(
        store,
        &IdempotentReply {
            expires_at,
            ..idempotent_reply(Some(owner), key)
        },
    );
    assert_eq!(
        store.append_audit(&[AuditEntry {
            at,
            records: vec![AuditRecord {
                id: key.to_owned(),
                verb: RecordVerb::Read,
                is_own: true,
            }],
            ..audit_entry(owner, key)
        }]),
        Ok(())
    );
    let wiped = store.wipe(&Space::default(), &format!("user {key}"), None, None, at);
    assert_eq!(wiped, Ok(WipeCounts::default()));
}

/// A sweep keeps to its limit over all kinds, and removes of each kind what is due first.
pub(super) fn a_sweep_removes_the_earliest_within_its_limit(make: MakeStore<'_>) {
    const KINDS: usize = 7;
    let store = &*make();
    let later = NOW.plus_seconds(1);
    let everything = Sweep {
        expired_at: NOW,
        deleted_until: NOW,
        audited_before: later,
        wiped_before: later,
        counted_before: i64::MIN,
        changed_before: Timestamp::MIN,
    };
    // Neither the order of insertion nor that of the keys.
    for seconds in [-1, -3, 1, -2] {
        add_due(store, seconds);
    }
    assert_eq!(sweep_some(store, &everything, 0), Ok(0));
    let left = || {
        let last = AuditQuery {
            limit: 9,
            ..AuditQuery::default()
        };
        let space = Space::default();
        let queries = store.cached_queries(&space, "ann", Timestamp::MIN);
        let audited = store
            .audit(&last)
            .expect("the store can be read")
            .into_iter();
        let decided = |key: &&str| store.decision(&space, "ann", key, Timestamp::MIN) != Ok(None);
        let kept = |key: &&str| {
            let kept = store.idempotent_reply(&space, Some("ann"), "append", key, Timestamp::MIN);
            kept != Ok(None)
        };
        let keys = ["-3", "-2", "-1", "1"];
        let queries = queries.expect("the store can be read").into_iter();
        let mut left: Vec<String> = queries.map(|(id, _)| format!("entry {id}")).collect();
        left.extend(audited.map(|(_, entry)| format!("call {}", entry.tool)));
        left.extend(
            keys.iter()
                .filter(|key| decided(key))
                .map(|key| format!("decision {key}")),
        );
        left.extend(
            keys.iter()
                .filter(|key| kept(key))
                .map(|key| format!("answer {key}")),
        );
        let past = Filter {
            live_at: Timestamp::MIN,
            ..filter()
        };
        left.extend(
            admitted(store, &past)
                .into_iter()
                .map(|id| format!("memory {id}")),
        );
        left
    };
    let mut steps = 0;
    let sweeps = repeat_with(|| sweep_some(store, &everything, 1).expect("the store can be swept"));
    for swept in sweeps.take_while(|swept| *swept > 0).take(100) {
        assert_eq!(swept, 1);
        steps += 1;
        let left = left();
        for kind in ["memory", "entry", "decision", "answer", "call"] {
            let has = |seconds: i64| left.contains(&format!("{kind} {seconds}"));
            let has = [-3, -2, -1, 1].map(has);
            assert!(
                has.is_sorted() && has[3],
                "what is due later went first: {left:?}"
            );
        }
    }
    assert_eq!(steps, 3 * KINDS);
    assert_eq!(needs_sweep(store, &everything), Ok(false));
    assert_eq!(store.job_counts().map(|counts| counts.waiting), Ok(1));
}
