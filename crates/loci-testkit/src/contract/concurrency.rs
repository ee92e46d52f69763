//! The contract of threads that use one store at once.

use std::collections::BTreeSet;
use std::thread;

use loci_core::{
    Batch, Condition, ErrorCode, IdempotentReply, Memory, Result, SourceFile, Space, Tunnel,
};

use super::calls::{add, admitted, commit, found, search, version_now};
use super::examples::{
    NOW, delete, enqueue, fact, filed_in, filter, granted_token, idempotent_reply, memory,
    not_wiped, passage, private, put, put_fact, put_reply, put_setting, put_source_file,
    put_tunnel, replace, source_file, tally, tunnel,
};
use super::store::{MakeStore, StoreAndTokens};

const THREADS: usize = 6;
const ROUNDS: usize = 12;

/// Does the work on several threads at once, each with its number; returns the results.
fn at_once<T: Send>(work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let spawn = |number| {
            let work = &work;
            scope.spawn(move || work(number))
        };
        let threads: Vec<_> = (0..THREADS).map(spawn).collect();
        let results = threads.into_iter().map(thread::ScopedJoinHandle::join);
        results
            .map(|result| result.expect("no thread panics"))
            .collect()
    })
}

/// Returns true if it succeeded, and false for a conflict.
fn is_done(outcome: Result<()>) -> bool {
    if let Err(error) = &outcome {
        assert_eq!(error.code, ErrorCode::Conflict, "{error}");
    }
    outcome.is_ok()
}

/// Commits durably, or as what can be rebuilt.
fn write(store: &dyn StoreAndTokens, batch: Batch, is_rebuildable: bool) -> Result<()> {
    if is_rebuildable {
        store.commit_rebuildable(batch)
    } else {
        store.commit(batch)
    }
}

pub(super) fn concurrent_writers_lose_nothing(make: MakeStore<'_>) {
    let store = &*make();
    add(store, &memory("shared"));
    at_once(|writer| {
        for number in 0..ROUNDS {
            let own = memory(&format!("{writer}-{number}"));
            let is_rebuildable = [true, false, number % 2 == 0][writer % 3];
            let put = put(&own, vec![passage("word")]);
            assert_eq!(write(store, put, is_rebuildable), Ok(()));
            assert_eq!(found(store, &own), Some(own));
            loop {
                let before = found(store, &memory("shared")).expect("it is there");
                let revision = before.revision + 1;
                let after = replace(&Memory { revision, ..before }, None);
                if is_done(write(store, after, is_rebuildable)) {
                    break;
                }
            }
        }
    });
    let counted = found(store, &memory("shared")).expect("it is there");
    let all = THREADS * ROUNDS;
    assert_eq!(counted.revision, 1 + all as u64, "an update was lost");
    assert_eq!(admitted(store, &filter()).len(), 1 + all);
    assert_eq!(search(store, &filter(), &["word"]).len(), 1 + all);
}

pub(super) fn concurrent_writers_are_all_counted(make: MakeStore<'_>) {
    let store = &*make();
    at_once(|writer| {
        for number in 0..ROUNDS {
            let own = filed_in(Some("a"), "x", memory(&format!("{writer}-{number}")));
            add(store, &own);
            let revision = 2;
            let section = ["x", "y"][number % 2];
            let moved = filed_in(Some("b"), section, Memory { revision, ..own });
            commit(store, replace(&moved, None));
            if number < 2 {
                commit(store, delete(&moved));
            }
        }
    });
    let each = (THREADS * (ROUNDS / 2 - 1)) as u64;
    let expected = ["x", "y"].map(|section| tally(Some("b"), section, "fact", each));
    assert_eq!(store.count_by_location(&filter()), Ok(expected.to_vec()));
}

pub(super) fn concurrent_soft_deletions_leave_nothing_behind(make: MakeStore<'_>) {
    const LIMIT: usize = 3;
    let store = &*make();
    for number in 0..THREADS * ROUNDS {
        add(store, &memory(&number.to_string()));
    }
    let deleted = at_once(|_| {
        let mut deleted = 0;
        loop {
            let some = store.soft_delete(&filter(), None, NOW, LIMIT);
            let some = some.expect("the store can be written");
            deleted += some;
            if some < LIMIT {
                assert_eq!(store.count(&filter()), Ok(0), "no more passed");
                return deleted;
            }
        }
    });
    assert_eq!(deleted.iter().sum::<usize>(), THREADS * ROUNDS);
}

pub(super) fn concurrent_leases_share_out_the_jobs(make: MakeStore<'_>) {
    let store = &*make();
    for number in 0..THREADS * ROUNDS {
        add(store, &memory(&number.to_string()));
        commit(store, enqueue(&number.to_string(), NOW));
    }
    let leased = at_once(|worker| {
        let mut leased = Vec::new();
        loop {
            let lease = format!("worker {worker}");
            let jobs = store.lease_jobs(NOW, NOW.plus_seconds(9), &lease, 4);
            let jobs = jobs.expect("the store can be written");
            if jobs.is_empty() {
                return leased;
            }
            leased.extend(jobs);
        }
    });
    let leased = leased.concat();
    assert!(leased.iter().all(|job| job.attempts == 1));
    let memories: BTreeSet<_> = leased.iter().map(|job| &job.memory).collect();
    assert_eq!(
        (leased.len(), memories.len()),
        (THREADS * ROUNDS, THREADS * ROUNDS)
    );
}

/// Of what all threads store under the same key, one is kept, and the others are refused.
pub(super) fn one_of_concurrent_records_is_kept(make: MakeStore<'_>) {
    let store = &*make();
    let space = Space::default();
    let kept = at_once(|caller| {
        let mut kept = [0; 3];
        for round in 0..ROUNDS {
            let key = round.to_string();
            let owner = [Some("ann"), None][round % 2];
            let answer = IdempotentReply {
                answer: caller.to_string(),
                ..idempotent_reply(owner, &key)
            };
            let noted = fact(&format!("{caller}-{key}"), ["ann", "counts", &key]);
            let own = memory(&key);
            let batches = [put_reply(&answer), put_fact(&noted), put(&own, Vec::new())];
            for (kept, batch) in kept.iter_mut().zip(batches) {
                *kept += usize::from(is_done(store.commit(batch)));
            }
        }
        kept
    });
    let kept = [0, 1, 2].map(|kind| kept.iter().map(|kept| kept[kind]).sum::<usize>());
    assert_eq!(kept, [ROUNDS; 3]);
    assert_eq!(
        store.fact_counts(&space, NOW).map(|counts| counts.facts),
        Ok(ROUNDS as u64)
    );
}

/// Of all that use a refresh token at once, one gets the next.
pub(super) fn one_of_concurrent_renewals_is_kept(make: MakeStore<'_>) {
    let store = &*make();
    let token = granted_token("token", 0);
    store.add_token(&token).expect("the store can be written");
    let renewed = at_once(|caller| {
        let hash = |round: usize| [u8::try_from(1 + round).expect("few rounds"); 32];
        let mut renewed = 0;
        for round in 0..ROUNDS {
            let secret = if round == 0 { [0; 32] } else { hash(round - 1) };
            let mut next = token.clone();
            next.hash = hash(round);
            next.hash[0] = u8::try_from(100 + caller).expect("few callers");
            if let Some(grant) = &mut next.grant {
                grant.secret = hash(round);
            }
            let done = store.renew_token(&secret, &next);
            renewed += usize::from(done.expect("the store can be written"));
        }
        renewed
    });
    assert_eq!(renewed.iter().sum::<usize>(), ROUNDS);
    let kept = store.tokens().expect("the store can be read");
    assert_eq!(kept.len(), 1);
}

/// A record that is replaced only if it is as it was read loses no change.
pub(super) fn concurrent_changes_of_a_record_lose_nothing(make: MakeStore<'_>) {
    let store = &*make();
    let space = Space::default();
    let read = || {
        let tunnels = store.tunnels(&space).expect("the store can be read");
        let file = store.source_file(&space, "", None, "log");
        (
            tunnels.into_iter().next(),
            file.expect("the store can be read"),
        )
    };
    let setting = || {
        let value = store.setting(&space, None, "log");
        value.expect("the store can be read")
    };
    at_once(|_| {
        for _ in 0..ROUNDS {
            loop {
                let (before, _) = read();
                let mut after = before.clone().unwrap_or(Tunnel {
                    label: String::new(),
                    ..tunnel("id")
                });
                after.label.push('x');
                if is_done(store.commit(put_tunnel(&after, before.as_ref()))) {
                    break;
                }
            }
            loop {
                let (_, before) = read();
                let parts = before.as_ref().map_or(0, |file| file.parts) + 1;
                let after = SourceFile {
                    parts,
                    ..source_file(None, "log")
                };
                if is_done(store.commit(put_source_file(&after, before.as_ref()))) {
                    break;
                }
            }
            loop {
                let before = setting();
                let after = before.clone().unwrap_or_default() + "x";
                let mut batch = put_setting(None, "log", &after);
                batch.conditions.push(Condition::SettingIs {
                    owner: None,
                    name: "log".to_owned(),
                    value: before,
                });
                if is_done(store.commit(batch)) {
                    break;
                }
            }
        }
    });
    let (tied, file) = read();
    let lengths = (
        tied.map(|tied| tied.label.len()),
        file.map(|file| file.parts as usize),
        setting().map(|value| value.len()),
    );
    let all = THREADS * ROUNDS;
    assert_eq!(lengths, (Some(all), Some(all), Some(all)));
}

pub(super) fn no_write_outlives_a_wipe_that_it_overlaps(make: MakeStore<'_>) {
    let store = &*make();
    let space = Space::default();
    let before_wipes = at_once(|writer| {
        if writer == 0 {
            let wipes = (0..5).map(|_| {
                let before = version_now(store);
                let wiped = store.wipe(&space, "ann", None, None, NOW);
                wiped.expect("the store can be written");
                before
            });
            return wipes.last();
        }
        for number in 0..ROUNDS {
            let since = version_now(store);
            let content = since.to_string();
            let own = private("ann", memory(&format!("{writer}-{number}")));
            let mut batch = put(&Memory { content, ..own }, Vec::new());
            batch.conditions = not_wiped("ann", "engram", since).conditions;
            is_done(store.commit(batch));
        }
        None
    });
    let before = before_wipes[0].expect("the first one wiped");
    for id in admitted(store, &filter()) {
        let left = found(store, &memory(&id)).expect("it is there");
        let since: u64 = left.content.parse().expect("it holds a version");
        assert!(
            since > before,
            "a write of {since} outlives a wipe of {before}"
        );
    }
}
