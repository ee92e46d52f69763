//! The contract of sweeps.

use std::iter::repeat_with;

use loci_core::{
    AuditEntry, AuditQuery, CacheEntry, ClockJump, Decision, EnrichmentStatus, ErrorCode,
    FilingOrder, Filter, IdempotentReply, JobCounts, Memory, ModelId, Result, Sweep, SweepClock,
    Tier, Timestamp,
};

use super::examples::{
    NOW, audit_entry, cache_entry, decision, delete, embed, enqueue, filter, idempotent_reply,
    memory, not_wiped, passage, private, put, put_reply, replace, sweep_of_expired, vector,
};
use super::partitions::{needs_sweep, sweep_some, version_now, without_vector};
use super::reading::{add, admitted, findable};
use super::searching::search;
use super::writing::{commit, found, refused};
use super::{MakeStore, StoreAndTokens};

pub(super) fn a_sweep_removes_what_expired_first(make: MakeStore<'_>) {
    let store = make();
    for (id, seconds) in [("c", -1), ("b", -2), ("a", 0), ("later", 1)] {
        let written = Memory {
            expires_at: Some(NOW.plus_seconds(seconds)),
            ..memory(id)
        };
        commit(&*store, put(&written, vec![passage("word")]));
    }
    commit(&*store, put(&memory("never"), vec![passage("word")]));
    let left = || store.size().expect("the store can be read").memories;
    let sweep =
        |limit| sweep_some(&*store, &sweep_of_expired(NOW), limit).expect("the store can be swept");
    assert_eq!(sweep(0), 0);
    assert_eq!((sweep(1), left()), (1, 4));
    assert_eq!(found(&*store, &memory("b")), None);
    assert_eq!((sweep_all(&*store, &sweep_of_expired(NOW)), left()), (2, 2));
    assert_eq!(sweep(100), 0);
    assert_eq!(search(&*store, &filter(), &["word"]), ["later", "never"]);
}

/// Sweeps until nothing is left, and returns the number of steps.
pub(super) fn sweep_through(store: &dyn StoreAndTokens, sweep: &Sweep) -> Result<usize> {
    let mut steps = 0;
    loop {
        match sweep_some(store, sweep, 1_000)? {
            0 => return Ok(steps),
            some => steps += some,
        }
        assert!(steps <= 1_000, "it ends");
    }
}

/// Sweeps until nothing is left, and checks `needs_sweep` before and after.
pub(super) fn sweep_all(store: &dyn StoreAndTokens, sweep: &Sweep) -> usize {
    let needs = || needs_sweep(store, sweep).expect("the store can be read");
    let needed = needs();
    let swept = sweep_through(store, sweep).expect("the store can be swept");
    assert_eq!((needed, needs()), (swept > 0, false), "{sweep:?}");
    swept
}

/// Creates a sweep of nothing.
fn sweep_of_nothing() -> Sweep {
    sweep_of_expired(Timestamp::MIN)
}

pub(super) fn a_sweep_removes_what_was_softly_deleted_first(make: MakeStore<'_>) {
    let store = make();
    for (name, seconds) in [("c", -1), ("b", -2), ("a", 0), ("later", 1)] {
        let written = Memory {
            expires_at: Some(NOW.plus_seconds(100)),
            ..memory(name)
        };
        commit(&*store, put(&written, vec![passage("word")]));
        let moment = NOW.plus_seconds(seconds);
        assert_eq!(
            store.soft_delete(&filter(), Some(&written.id), moment, 1),
            Ok(1)
        );
    }
    commit(&*store, put(&memory("kept"), vec![passage("word")]));
    let is_free = |name: &str| {
        let is_free = store.commit(put(&memory(name), Vec::new())).is_ok();
        if is_free {
            commit(&*store, delete(&memory(name)));
        }
        is_free
    };
    let due = Sweep {
        deleted_until: NOW,
        ..sweep_of_nothing()
    };
    assert_eq!(sweep_some(&*store, &due, 1), Ok(1));
    assert_eq!(
        ["a", "b", "c", "later"].map(is_free),
        [false, true, false, false],
        "the first goes first"
    );
    assert_eq!(sweep_all(&*store, &due), 2);
    assert_eq!(
        ["a", "b", "c", "later"].map(is_free),
        [true, true, true, false]
    );
    assert_eq!(sweep_all(&*store, &due), 0);
    assert_eq!(
        sweep_all(&*store, &sweep_of_expired(NOW.plus_seconds(100))),
        1,
        "what has expired goes earlier"
    );
    assert_eq!(search(&*store, &filter(), &["word"]), ["kept"]);
    let size = store.size().expect("the store can be read");
    assert_eq!((size.memories, size.passages), (1, 1));
}

pub(super) fn a_sweep_removes_answers_and_decisions_that_expired(make: MakeStore<'_>) {
    let store = make();
    let space = memory("a").space;
    for (name, seconds) in [("c", -1), ("b", -2), ("a", 0), ("later", 1)] {
        let expires_at = NOW.plus_seconds(seconds);
        let entry = CacheEntry {
            expires_at,
            ..cache_entry("ann", name)
        };
        store
            .put_cache_entry(&entry, 0)
            .expect("the entry is added");
        let decided = Decision {
            expires_at: Some(expires_at),
            ..decision("ann", name)
        };
        store
            .put_decision(&decided, 0)
            .expect("the decision is stored");
    }
    store
        .put_decision(&decision("ann", "never"), 0)
        .expect("the decision is stored");
    let left = || {
        let queries = store
            .cached_queries(&space, "ann", Timestamp::MIN)
            .expect("the store can be read")
            .len();
        let is_left = |key: &&str| {
            store
                .decision(&space, "ann", key, Timestamp::MIN)
                .is_ok_and(|found| found.is_some())
        };
        (
            queries,
            ["a", "b", "c", "later", "never"]
                .iter()
                .filter(|key| is_left(key))
                .count(),
        )
    };
    assert_eq!(left(), (4, 5));
    assert_eq!(sweep_all(&*store, &sweep_of_nothing()), 0);
    assert_eq!(
        sweep_all(&*store, &sweep_of_expired(NOW.plus_seconds(-2))),
        2,
        "one of each at its moment"
    );
    assert_eq!(left(), (3, 4));
    assert_eq!(sweep_all(&*store, &sweep_of_expired(NOW)), 4);
    assert_eq!(left(), (1, 2));
}

pub(super) fn a_sweep_removes_audit_entries_and_wipes_before_their_moment(make: MakeStore<'_>) {
    let store = make();
    let space = memory("a").space;
    let entries = [("c", -1), ("b", -2), ("a", 0), ("d", 1)].map(|(tool, seconds)| AuditEntry {
        at: NOW.plus_seconds(seconds),
        ..audit_entry("ann", tool)
    });
    store.append_audit(&entries).expect("the entries are added");
    let tools = || {
        let found = store
            .audit(&AuditQuery {
                limit: 10,
                ..AuditQuery::default()
            })
            .expect("the store can be read");
        found
            .into_iter()
            .map(|(_, entry)| entry.tool)
            .collect::<Vec<_>>()
    };
    let audited_before = |seconds| Sweep {
        audited_before: NOW.plus_seconds(seconds),
        ..sweep_of_nothing()
    };
    assert_eq!(sweep_some(&*store, &audited_before(1), 1), Ok(1));
    assert_eq!(tools(), ["c", "a", "d"]);
    assert_eq!(sweep_all(&*store, &audited_before(0)), 1);
    assert_eq!(tools(), ["a", "d"], "an entry of the moment itself stays");
    let since = version_now(&*store);
    for (user, origin, seconds) in [("bob", None, -1), ("bob", Some(""), -2), ("carl", None, 0)] {
        store
            .wipe(&space, user, origin, None, NOW.plus_seconds(seconds))
            .expect("the data is wiped");
        assert_eq!(
            refused(&*store, not_wiped(user, origin.unwrap_or("engram"), since)).code,
            ErrorCode::Conflict
        );
    }
    let wiped_before = |seconds| Sweep {
        wiped_before: NOW.plus_seconds(seconds),
        ..sweep_of_nothing()
    };
    assert_eq!(sweep_all(&*store, &wiped_before(-1)), 1);
    assert_eq!(
        refused(&*store, not_wiped("bob", "", since)).code,
        ErrorCode::Conflict,
        "one of the two is left"
    );
    assert_eq!(sweep_all(&*store, &wiped_before(0)), 1);
    commit(&*store, not_wiped("bob", "engram", since));
    assert_eq!(
        refused(&*store, not_wiped("carl", "engram", since)).code,
        ErrorCode::Conflict
    );
}

pub(super) fn what_is_apart_outlives_every_sweep(make: MakeStore<'_>) {
    let store = make();
    let apart = |id: &str| Memory {
        tier: Tier::Unlisted,
        ..private("ann", memory(id))
    };
    let expired = Memory {
        tier: Tier::ShortTerm,
        expires_at: Some(NOW),
        ..memory("expired")
    };
    for memory in [apart("kept"), apart("softly deleted"), expired] {
        add(&*store, &memory);
    }
    assert_eq!(
        store.soft_delete(&filter(), Some(&memory("softly deleted").id), NOW, 1),
        Ok(1)
    );
    let end = Timestamp::from_microseconds(i64::MAX);
    let everything = Sweep {
        expired_at: end,
        deleted_until: end,
        audited_before: end,
        wiped_before: end,
    };
    assert_eq!(sweep_all(&*store, &everything), 2);
    assert_eq!(found(&*store, &memory("kept")), Some(apart("kept")));
    assert_eq!(admitted(&*store, &filter()), ["kept"]);
}

pub(super) fn a_large_memory_is_gone_for_all_from_its_first_part_on(make: MakeStore<'_>) {
    const PASSAGES: usize = 1_000;
    let store = make();
    // The memory may be expired already, or only for the sweep, whose clock may be ahead.
    let filter = Filter {
        live_at: Timestamp::MIN,
        ..filter()
    };
    let enrichment = Some(EnrichmentStatus::Pending);
    let large = Memory {
        expires_at: Some(NOW),
        enrichment,
        ..memory("large")
    };
    commit(&*store, put(&large, vec![findable(); PASSAGES]));
    commit(&*store, enqueue("large", NOW));
    add(&*store, &memory("small"));
    assert_eq!(search(&*store, &filter, &["word"]), ["large", "small"]);
    let leased = store
        .lease_jobs(NOW, NOW.plus_seconds(1), "lease", 1)
        .expect("the store can be written");
    assert_eq!(leased.len(), 1);
    let (mut steps, model) = (0, ModelId::new("test"));
    while sweep_some(&*store, &sweep_of_expired(NOW), 1).expect("the store can be swept") > 0 {
        steps += 1;
        assert!(steps <= PASSAGES, "it ends");
        assert_eq!(
            (found(&*store, &large), admitted(&*store, &filter).len()),
            (None, 1)
        );
        assert_eq!(search(&*store, &filter, &["word"]), ["small"]);
        assert_eq!(
            without_vector(&*store, &model, FilingOrder::FirstFirst, 10).map(|found| found.len()),
            Ok(1)
        );
        assert_eq!(store.job_counts(), Ok(JobCounts::default()));
        for batch in [
            replace(
                &Memory {
                    revision: 2,
                    ..large.clone()
                },
                None,
            ),
            delete(&large),
        ] {
            assert_eq!(refused(&*store, batch).code, ErrorCode::Conflict);
        }
        commit(&*store, embed(&large, vec![vector("test", &[1]); PASSAGES]));
        assert_eq!(store.soft_delete(&filter, Some(&large.id), NOW, 1), Ok(0));
    }
    let size = store.size().expect("the store can be read");
    assert_eq!((steps > 0, size.memories, size.passages), (true, 1, 1));
    commit(&*store, put(&large, vec![passage("word")]));
}

pub(super) fn a_sweep_keeps_to_its_limit_in_all(make: MakeStore<'_>) {
    let store = make();
    for name in ["a", "b", "c", "softly deleted"] {
        commit(
            &*store,
            put(
                &Memory {
                    expires_at: Some(NOW),
                    ..memory(name)
                },
                vec![passage("word")],
            ),
        );
        commit(&*store, enqueue(name, NOW));
    }
    let past = Filter {
        live_at: NOW.plus_seconds(-1),
        ..filter()
    };
    assert_eq!(
        store.soft_delete(&past, Some(&memory("softly deleted").id), NOW, 1),
        Ok(1)
    );
    let entry = CacheEntry {
        expires_at: NOW,
        ..cache_entry("ann", "entry")
    };
    store
        .put_cache_entry(&entry, 0)
        .expect("the entry is added");
    let decided = Decision {
        expires_at: Some(NOW),
        ..decision("ann", "key")
    };
    store
        .put_decision(&decided, 0)
        .expect("the decision is stored");
    commit(
        &*store,
        put_reply(&IdempotentReply {
            expires_at: NOW,
            ..idempotent_reply(Some("ann"), "key")
        }),
    );
    store
        .append_audit(&[audit_entry("ann", "tool")])
        .expect("the entry is added");
    store
        .wipe(&memory("a").space, "bob", None, None, NOW)
        .expect("the data is wiped");
    let later = NOW.plus_seconds(1);
    let everything = Sweep {
        expired_at: NOW,
        deleted_until: NOW,
        audited_before: later,
        wiped_before: later,
    };
    assert_eq!(sweep_some(&*store, &everything, 0), Ok(0));
    // A sweep may end before its limit.
    let sweeps =
        repeat_with(|| sweep_some(&*store, &everything, 3).expect("the store can be swept"));
    let counts: Vec<usize> = sweeps.take_while(|steps| *steps > 0).take(9).collect();
    assert!(counts.iter().all(|steps| *steps <= 3), "{counts:?}");
    assert_eq!(
        counts.iter().sum::<usize>(),
        9,
        "a memory that is due for two reasons counts once"
    );
    assert_eq!(needs_sweep(&*store, &everything), Ok(false));
    assert_eq!(store.size().expect("the store can be read").memories, 0);
    assert_eq!(
        store.job_counts(),
        Ok(JobCounts::default()),
        "a job goes with its memory"
    );
}

pub(super) fn how_far_the_clock_is_trusted_is_kept(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(store.sweep_clock(), Ok(None));
    let seen = NOW.plus_seconds(-1);
    let jump = |stood_seconds| {
        Some(ClockJump {
            seen,
            stood_seconds,
        })
    };
    for jump in [None, jump(Some(7)), jump(None), None] {
        let clock = SweepClock { trusted: NOW, jump };
        store
            .put_sweep_clock(&clock)
            .expect("the store can be written");
        assert_eq!(store.sweep_clock(), Ok(Some(clock)));
    }
    assert_eq!(
        sweep_all(&*store, &sweep_of_expired(NOW)),
        0,
        "it is nothing to sweep"
    );
    assert!(
        store
            .sweep_clock()
            .expect("the store can be read")
            .is_some()
    );
}
