//! The contract of idempotent replies.

use std::thread;

use loci_core::limits::{KEYED_ANSWERS_BYTES_MAX, KEYED_ANSWERS_MAX, REPLY_CONTENT_BYTES_MAX};
use loci_core::{
    Batch, Change, ContentHash, ErrorCode, IdempotentReply, Memory, MemoryId, Store, Timestamp,
    Visibility, Wiped,
};

use super::examples::{
    NOW, ODD_TEXTS, change, delete, filter, forgotten, idempotent_reply, memory, not_wiped,
    passage, private, put, put_reply, replace, space, sweep_of_expired,
};
use super::partitions::{sweep_some, version_now};
use super::sweeping::sweep_all;
use super::writing::{commit, found, refused};
use super::{MakeStore, StoreAndTokens};

fn keep(store: &dyn StoreAndTokens, answer: &IdempotentReply) {
    commit(store, put_reply(answer));
}

/// Returns the reply under the same key at that time.
fn kept_at(
    store: &dyn StoreAndTokens,
    like: &IdempotentReply,
    now: Timestamp,
) -> Option<IdempotentReply> {
    let kept = store.idempotent_reply(
        &like.space,
        like.owner.as_deref(),
        &like.operation,
        &like.key,
        now,
    );
    kept.expect("the store can be read")
}

fn kept(store: &dyn StoreAndTokens, like: &IdempotentReply) -> Option<IdempotentReply> {
    kept_at(store, like, NOW)
}

/// Returns true if the store has that reply, expired or not.
fn has(store: &dyn StoreAndTokens, answer: &IdempotentReply) -> bool {
    kept_at(store, answer, Timestamp::MIN).as_ref() == Some(answer)
}

pub(super) fn a_keyed_answer_comes_back_as_it_was_kept(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(kept(&*store, &idempotent_reply(Some("ann"), "key")), None);
    let odd = ODD_TEXTS.into_iter().map(|text| IdempotentReply {
        origin: text.to_owned(),
        operation: text.to_owned(),
        answer: text.to_owned(),
        ..idempotent_reply(Some(text), text)
    });
    let hash = std::array::from_fn(|byte| 255 - byte as u8);
    let rest = [
        idempotent_reply(None, "anonymous"),
        IdempotentReply {
            request: ContentHash(hash),
            ..idempotent_reply(Some("ann"), "hash")
        },
        IdempotentReply {
            answer: "日".repeat(REPLY_CONTENT_BYTES_MAX / 3),
            ..idempotent_reply(Some("ann"), "large")
        },
        IdempotentReply {
            created_at: Timestamp::from_microseconds(-5),
            expires_at: Timestamp::from_microseconds(i64::MAX),
            ..idempotent_reply(Some("ann"), "moments")
        },
    ];
    let all: Vec<IdempotentReply> = odd.chain(rest).collect();
    for answer in &all {
        keep(&*store, answer);
    }
    for answer in &all {
        assert_eq!(kept(&*store, answer).as_ref(), Some(answer));
    }
}

pub(super) fn a_live_answer_keeps_its_key(make: MakeStore<'_>) {
    let store = make();
    for (number, owner) in [Some("ann"), None].into_iter().enumerate() {
        let first = idempotent_reply(owner, "key");
        keep(&*store, &first);
        let before = first.expires_at.plus_seconds(-1);
        let second = IdempotentReply {
            answer: "second".to_owned(),
            ..first.clone()
        };
        let through_another = IdempotentReply {
            origin: "engram".to_owned(),
            ..first.clone()
        };
        for taken in [
            &first,
            &second,
            &through_another,
            &IdempotentReply {
                created_at: before,
                ..second.clone()
            },
        ] {
            let written = memory(&format!("new {number}"));
            let mut batch = put(&written, vec![passage("word")]);
            batch.changes.extend(put_reply(taken).changes);
            assert_eq!(refused(&*store, batch).code, ErrorCode::Conflict);
            assert_eq!(
                (found(&*store, &written), kept(&*store, &first)),
                (None, Some(first.clone())),
                "nothing changed"
            );
        }
    }
    let other = idempotent_reply(Some("ann"), "other key");
    let mut batch = put_reply(&other);
    batch.changes.extend(
        put_reply(&IdempotentReply {
            answer: "second".to_owned(),
            ..other.clone()
        })
        .changes,
    );
    assert_eq!(
        refused(&*store, batch).code,
        ErrorCode::Conflict,
        "the first of a batch takes it as well"
    );
    let mut batch = put_reply(&other);
    batch
        .changes
        .extend(put(&memory("first"), Vec::new()).changes);
    commit(&*store, batch.clone());
    assert_eq!(kept(&*store, &other).as_ref(), Some(&other));
    let mut late = put_reply(&idempotent_reply(Some("ann"), "late"));
    late.changes
        .extend(put(&memory("first"), Vec::new()).changes);
    assert_eq!(refused(&*store, late).code, ErrorCode::Conflict);
    assert_eq!(
        kept(&*store, &idempotent_reply(Some("ann"), "late")),
        None,
        "it goes with its batch"
    );
    let misplaced = IdempotentReply {
        space: space("other"),
        ..idempotent_reply(Some("ann"), "misplaced")
    };
    let misplaced = change(Change::PutIdempotentReply(Box::new(misplaced)));
    assert_eq!(refused(&*store, misplaced).code, ErrorCode::Internal);
}

pub(super) fn an_expired_answer_is_neither_found_nor_in_the_way(make: MakeStore<'_>) {
    let store = make();
    for owner in [Some("ann"), None] {
        let end = NOW.plus_seconds(5);
        let first = IdempotentReply {
            expires_at: end,
            ..idempotent_reply(owner, "key")
        };
        keep(&*store, &first);
        assert_eq!(
            kept_at(&*store, &first, NOW.plus_seconds(4)),
            Some(first.clone())
        );
        assert_eq!(kept_at(&*store, &first, end), None);
        let second = IdempotentReply {
            request: ContentHash([9; 32]),
            origin: "engram".to_owned(),
            answer: "second".to_owned(),
            created_at: end,
            expires_at: end.plus_seconds(5),
            ..first.clone()
        };
        let early = IdempotentReply {
            created_at: NOW.plus_seconds(4),
            ..second.clone()
        };
        assert_eq!(
            refused(&*store, put_reply(&early)).code,
            ErrorCode::Conflict
        );
        keep(&*store, &second);
        for moment in [NOW, end] {
            assert_eq!(
                kept_at(&*store, &first, moment),
                Some(second.clone()),
                "it stands in the place of the first"
            );
        }
        assert_eq!(
            refused(&*store, put_reply(&second)).code,
            ErrorCode::Conflict
        );
        let last = IdempotentReply {
            created_at: end.plus_seconds(99),
            expires_at: end.plus_seconds(100),
            ..first
        };
        keep(&*store, &last);
        assert!(has(&*store, &last));
    }
    // A reply that is expired when it is stored does not block another one either, even in its
    // batch.
    let over = IdempotentReply {
        expires_at: NOW,
        ..idempotent_reply(Some("ann"), "over")
    };
    let live = idempotent_reply(Some("ann"), "over");
    let mut batch = put_reply(&over);
    batch.changes.extend(put_reply(&live).changes);
    commit(&*store, batch);
    assert_eq!(kept(&*store, &live).as_ref(), Some(&live));
}

pub(super) fn a_keyed_answer_is_its_owners_alone(make: MakeStore<'_>) {
    let store = make();
    let anns = idempotent_reply(Some("ann"), "key");
    let all = [
        anns.clone(),
        idempotent_reply(None, "key"),
        idempotent_reply(Some(""), "key"),
        idempotent_reply(Some("anonymous"), "key"),
        idempotent_reply(Some("0"), "key"),
        idempotent_reply(Some("ANN"), "key"),
        idempotent_reply(Some("ann "), "key"),
        idempotent_reply(Some("ann"), "KEY"),
        idempotent_reply(Some("ann"), "key "),
        idempotent_reply(Some("ann"), "k\u{e9}y"),
        idempotent_reply(Some("ann"), "ke\u{301}y"),
        IdempotentReply {
            operation: "recall".to_owned(),
            ..anns.clone()
        },
        IdempotentReply {
            operation: "Append".to_owned(),
            ..anns.clone()
        },
        IdempotentReply {
            space: space("other"),
            ..anns.clone()
        },
        IdempotentReply {
            space: space("other"),
            ..idempotent_reply(None, "key")
        },
    ];
    // Different answers, so that each reply is distinguishable.
    let all: Vec<_> = (0..)
        .zip(all)
        .map(|(number, answer)| IdempotentReply {
            answer: format!("{number}"),
            ..answer
        })
        .collect();
    for (number, answer) in all.iter().enumerate() {
        assert_eq!(kept(&*store, answer), None, "{number}");
        keep(&*store, answer);
    }
    for answer in &all {
        assert_eq!(kept(&*store, answer).as_ref(), Some(answer));
    }
}

pub(super) fn the_oldest_of_too_many_answers_make_room(make: MakeStore<'_>) {
    let store = make();
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
        keep(&*store, answer);
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
        .map(|answer| Change::PutIdempotentReply(Box::new(answer.clone())))
        .collect();
    commit(
        &*store,
        Batch {
            space: many[0].space.clone(),
            changes,
        },
    );
    let number =
        |answers: &[IdempotentReply]| answers.iter().filter(|answer| has(&*store, answer)).count();
    assert_eq!(number(&many), KEYED_ANSWERS_MAX);
    let again = IdempotentReply {
        created_at: NOW.plus_seconds(5),
        ..ended
    };
    let again = IdempotentReply {
        expires_at: NOW.plus_seconds(9),
        ..again
    };
    keep(&*store, &again);
    assert_eq!(
        number(&many),
        KEYED_ANSWERS_MAX - 1,
        "one in the place of another needs no room"
    );
    // The new reply stays, even if it is the oldest; then it is the first one to be evicted.
    let [early, late] = [at("early", -1), at("late", 1)];
    keep(&*store, &early);
    assert_eq!(
        [&early, &many[2], &many[3]].map(|answer| has(&*store, answer)),
        [true, false, true]
    );
    keep(&*store, &late);
    assert_eq!(
        [&late, &early, &many[3]].map(|answer| has(&*store, answer)),
        [true, false, true]
    );
    let mut last = put_reply(&at("last", 2));
    last.changes.extend(put(&memory("new"), Vec::new()).changes);
    let mut refused_one = last.clone();
    refused_one
        .changes
        .extend(put(&memory("new"), Vec::new()).changes);
    assert_eq!(refused(&*store, refused_one).code, ErrorCode::Conflict);
    assert!(
        has(&*store, &many[3]),
        "what makes room stays if its batch is refused"
    );
    commit(&*store, last);
    assert_eq!(
        [&many[3], &recalled, &again].map(|answer| has(&*store, answer)),
        [false, true, true]
    );
    assert_eq!(
        (number(&many), number(&apart)),
        (KEYED_ANSWERS_MAX - 3, apart.len())
    );
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
    let store = make();
    let bobs = of_bytes(Some("bob"), "a", QUARTER);
    keep(&*store, &bobs);
    // Each reply with the keys that are left after it is stored.
    let rows: [(&str, usize, &[&str]); 8] = [
        ("a", QUARTER, &["a"]),
        ("b", QUARTER, &["a", "b"]),
        ("c", QUARTER, &["a", "b", "c"]),
        ("d", QUARTER, &["a", "b", "c", "d"]),
        ("e", 1, &["b", "c", "d", "e"]),
        ("f", QUARTER + QUARTER - 1, &["c", "d", "e", "f"]),
        ("g", KEYED_ANSWERS_BYTES_MAX + 1, &["g"]),
        ("h", 1, &["h"]),
    ];
    for (key, bytes, expected) in rows {
        keep(&*store, &of_bytes(None, key, bytes));
        let kept = rows
            .map(|(key, ..)| key)
            .into_iter()
            .filter(|key| kept(&*store, &idempotent_reply(None, key)).is_some());
        assert_eq!(kept.collect::<Vec<_>>(), expected, "after {key}");
    }
    assert!(has(&*store, &bobs));
}

pub(super) fn answers_that_are_gone_take_no_room(make: MakeStore<'_>) {
    const HALF: usize = KEYED_ANSWERS_BYTES_MAX / 2;
    let store = make();
    let of = |key: &str, bytes| IdempotentReply {
        expires_at: NOW,
        ..of_bytes(Some("ann"), key, bytes)
    };
    let keep_both = |second: &str| {
        keep(&*store, &of("first", HALF));
        keep(&*store, &of(second, HALF));
        assert!(has(&*store, &of("first", HALF)), "{second} has room");
    };
    keep_both("swept");
    assert_eq!(sweep_all(&*store, &sweep_of_expired(NOW)), 2);
    keep_both("wiped");
    assert_eq!(
        store.wipe(&idempotent_reply(None, "").space, "ann", None, None, NOW),
        Ok(Wiped::default())
    );
    keep_both("replaced");
    keep(&*store, &of("replaced", 1));
    keep(&*store, &of("third", HALF - 1));
    assert!(has(&*store, &of("first", HALF)), "what is replaced is gone");
    keep(&*store, &of("replaced", 2));
    assert!(
        !has(&*store, &of("first", HALF)),
        "what replaces it takes room"
    );
}

pub(super) fn a_sweep_removes_keyed_answers_that_expired(make: MakeStore<'_>) {
    let store = make();
    let answer = |owner: Option<&str>, key: &str, seconds| IdempotentReply {
        expires_at: NOW.plus_seconds(seconds),
        ..idempotent_reply(owner, key)
    };
    let [c, b, a, later] = [("c", -1), ("b", -2), ("a", 0), ("later", 1)]
        .map(|(key, end)| answer(Some("ann"), key, end));
    let [nobodys, elsewhere] = [
        answer(None, "a", -1),
        IdempotentReply {
            space: space("other"),
            ..answer(None, "a", 0)
        },
    ];
    for written in [&c, &b, &a, &later, &nobodys, &elsewhere] {
        keep(&*store, written);
    }
    assert_eq!(
        sweep_all(&*store, &sweep_of_expired(NOW.plus_seconds(-3))),
        0
    );
    assert_eq!(sweep_some(&*store, &sweep_of_expired(NOW), 1), Ok(1));
    assert_eq!(
        [&c, &b, &a, &nobodys].map(|answer| has(&*store, answer)),
        [true, false, true, true],
        "the first goes first"
    );
    assert_eq!(sweep_all(&*store, &sweep_of_expired(NOW)), 4);
    assert_eq!(
        [&c, &a, &nobodys, &elsewhere].map(|answer| has(&*store, answer)),
        [false; 4]
    );
    assert!(has(&*store, &later));
    assert_eq!(sweep_all(&*store, &sweep_of_expired(NOW)), 0);
    keep(&*store, &a);
}

pub(super) fn a_wipe_removes_keyed_answers(make: MakeStore<'_>) {
    let store = make();
    let of = |origin: &str, owner: Option<&str>, key: &str| IdempotentReply {
        origin: origin.to_owned(),
        ..idempotent_reply(owner, key)
    };
    let anns = [
        of("vault", Some("ann"), "a"),
        of("VAULT", Some("ann"), "b"),
        of("", Some("ann"), "c"),
    ];
    let expired = IdempotentReply {
        expires_at: NOW,
        ..of("vault", Some("ann"), "expired")
    };
    let others = [
        of("vault", Some("bob"), "a"),
        of("vault", Some("ANN"), "a"),
        of("vault", None, "a"),
        of("vault", Some(""), "a"),
        IdempotentReply {
            space: space("other"),
            ..of("vault", Some("ann"), "a")
        },
    ];
    for written in anns.iter().chain([&expired]).chain(&others) {
        keep(&*store, written);
    }
    let main = &anns[0].space;
    let wipe = |origin| {
        assert_eq!(
            store.wipe(main, "ann", origin, None, NOW),
            Ok(Wiped::default()),
            "nothing is counted"
        );
    };
    let left = || {
        anns.iter()
            .map(|answer| has(&*store, answer))
            .collect::<Vec<_>>()
    };
    wipe(Some("unknown"));
    assert_eq!((left(), has(&*store, &expired)), (vec![true; 3], true));
    let since = version_now(&*store);
    wipe(Some("vault"));
    assert_eq!(
        (left(), has(&*store, &expired)),
        (vec![false, true, true], false)
    );
    wipe(Some(""));
    assert_eq!(left(), [false, true, false]);
    wipe(None);
    assert_eq!(left(), [false; 3]);
    for other in &others {
        assert!(has(&*store, other), "{other:?}");
    }
    let mut late = put_reply(&anns[0]);
    late.changes
        .extend(not_wiped("ann", "vault", since).changes);
    assert_eq!(refused(&*store, late).code, ErrorCode::Conflict);
    assert_eq!(
        left(),
        [false; 3],
        "no answer comes back with a write that was under way"
    );
    keep(&*store, &anns[0]);
}

/// Stores a changed memory, whose revision is still the one before.
fn put_anew(store: &dyn StoreAndTokens, memory: Memory) {
    let revision = memory.revision + 1;
    commit(
        store,
        replace(&Memory { revision, ..memory }, Some(vec![passage("word")])),
    );
}

pub(super) fn an_answer_goes_with_the_memories_in_it(make: MakeStore<'_>) {
    type Change = fn(&dyn StoreAndTokens, Memory);
    let of_ann = |visibility| Memory {
        visibility,
        ..private("ann", memory("a"))
    };
    let [own, shared, common] =
        [Visibility::Private, Visibility::Shared, Visibility::Common].map(of_ann);
    let nobodys = Memory {
        owner: None,
        ..common.clone()
    };
    let hide: Change = |store, _| {
        assert_eq!(
            store.soft_delete(&filter(), Some(&MemoryId::new("a")), NOW, 9),
            Ok(1)
        );
    };
    let remove: Change = |store, memory| commit(store, delete(&memory));
    let forget: Change = |store, memory| put_anew(store, forgotten(memory));
    let wipe: Change = |store, memory| {
        assert!(
            store
                .wipe(&memory.space, "ann", Some(&memory.origin), None, NOW)
                .is_ok()
        );
    };
    let expire: Change = |store, memory| {
        let expires_at = Some(NOW.plus_seconds(1));
        put_anew(
            store,
            Memory {
                expires_at,
                ..memory
            },
        );
        assert!(sweep_all(store, &sweep_of_expired(NOW.plus_seconds(1))) > 0);
    };
    let to_ann: Change = |store, memory| put_anew(store, private("ann", memory));
    let to_bob: Change = |store, memory| put_anew(store, private("bob", memory));
    let share: Change = |store, memory| {
        put_anew(
            store,
            Memory {
                visibility: Visibility::Shared,
                ..memory
            },
        );
    };
    let give_up: Change = |store, memory| {
        put_anew(
            store,
            Memory {
                owner: None,
                ..memory
            },
        );
    };
    let rewrite: Change = |store, memory| {
        let (content, expires_at) = ("new".to_owned(), Some(NOW.plus_seconds(9)));
        put_anew(
            store,
            Memory {
                content,
                expires_at,
                ..memory
            },
        );
    };
    // The memory, its change, and which of the replies of ann, bob and without an owner that
    // contain its text are removed.
    let rows = [
        ("hidden", &common, hide, [true; 3]),
        ("removed", &common, remove, [true; 3]),
        ("forgotten", &common, forget, [true; 3]),
        ("expired", &common, expire, [true; 3]),
        ("wiped", &own, wipe, [true; 3]),
        ("wiped and left", &common, wipe, [false; 3]),
        ("private", &common, to_ann, [false, true, true]),
        ("shared", &common, share, [false, true, true]),
        ("no longer shared", &shared, to_ann, [false, true, true]),
        ("shared now", &own, share, [false; 3]),
        ("owned", &nobodys, to_ann, [false, true, true]),
        ("another's", &own, to_bob, [true, false, true]),
        ("nobody's", &own, give_up, [false; 3]),
        ("rewritten", &shared, rewrite, [false; 3]),
    ];
    for (what, held, change, expected) in rows {
        let store = make();
        let elsewhere = Memory {
            space: space("other"),
            ..held.clone()
        };
        for written in [held, &memory("b"), &memory("c"), &elsewhere] {
            commit(&*store, put(written, vec![passage("word")]));
        }
        let holding = |owner, key: &str, ids: &[&str]| IdempotentReply {
            memories: ids.iter().map(|id| MemoryId::new(*id)).collect(),
            origin: "another".to_owned(),
            ..idempotent_reply(owner, key)
        };
        let owners = [Some("ann"), Some("bob"), None];
        let held_by = owners.map(|owner| holding(owner, "held", &["b", "a"]));
        let apart = [
            holding(Some("carl"), "others", &["b", "c"]),
            holding(Some("carl"), "none", &[]),
            IdempotentReply {
                space: space("other"),
                ..holding(Some("carl"), "held", &["a"])
            },
        ];
        for answer in held_by.iter().chain(&apart) {
            keep(&*store, answer);
            assert!(has(&*store, answer), "{what}: {answer:?}");
        }
        // Replaces an expired reply that contained it.
        keep(
            &*store,
            &IdempotentReply {
                expires_at: NOW,
                ..holding(Some("carl"), "replaced", &["a"])
            },
        );
        let replaced = holding(Some("carl"), "replaced", &["c"]);
        keep(&*store, &replaced);
        change(&*store, held.clone());
        assert_eq!(
            held_by.each_ref().map(|answer| !has(&*store, answer)),
            expected,
            "{what}"
        );
        assert!(
            apart
                .iter()
                .chain([&replaced])
                .all(|answer| has(&*store, answer)),
            "{what}"
        );
    }
}

pub(super) fn an_answer_that_holds_what_is_gone_is_not_kept(make: MakeStore<'_>) {
    let store = make();
    let expired = Memory {
        expires_at: Some(NOW),
        ..memory("expired")
    };
    for written in [
        &memory("there"),
        &memory("hidden"),
        &forgotten(memory("forgotten")),
        &expired,
    ] {
        commit(&*store, put(written, vec![passage("word")]));
    }
    assert_eq!(
        store.soft_delete(&filter(), Some(&MemoryId::new("hidden")), NOW, 9),
        Ok(1)
    );
    let holding = |id: &str| IdempotentReply {
        memories: ["there", id].map(MemoryId::new).into(),
        ..idempotent_reply(Some("ann"), id)
    };
    for id in ["unknown", "hidden", "forgotten", "expired"] {
        let mut batch = put_reply(&holding(id));
        batch
            .changes
            .extend(put_reply(&idempotent_reply(Some("ann"), "beside")).changes);
        commit(&*store, batch);
        assert!(!has(&*store, &holding(id)), "{id}");
        assert!(has(&*store, &idempotent_reply(Some("ann"), "beside")));
        commit(&*store, put_reply(&holding(id)));
        assert_eq!(
            store.wipe(&holding(id).space, "ann", Some("vault"), None, NOW),
            Ok(Wiped::default())
        );
    }
    keep(&*store, &holding("there"));
    assert!(has(&*store, &holding("there")));
    assert_eq!(
        refused(&*store, put_reply(&holding("there"))).code,
        ErrorCode::Conflict
    );
}

pub(super) fn one_of_concurrent_answers_is_kept(make: MakeStore<'_>) {
    const CALLERS: usize = 6;
    const ROUNDS: usize = 5;
    let store = make();
    let shared: &dyn Store = &*store;
    for (round, owner) in (0..ROUNDS).zip([Some("ann"), None].into_iter().cycle()) {
        let answer = |caller: usize| IdempotentReply {
            answer: caller.to_string(),
            ..idempotent_reply(owner, &round.to_string())
        };
        let keep = |caller: usize| match shared.commit(put_reply(&answer(caller))) {
            Ok(()) => Some(answer(caller)),
            Err(error) => {
                assert_eq!(error.code, ErrorCode::Conflict, "{error}");
                None
            }
        };
        let winners: Vec<_> = thread::scope(|scope| {
            let callers: Vec<_> = (0..CALLERS)
                .map(|caller| scope.spawn(move || keep(caller)))
                .collect();
            callers
                .into_iter()
                .filter_map(|caller| caller.join().expect("no caller panics"))
                .collect()
        });
        assert_eq!(winners.len(), 1);
        assert_eq!(kept(&*store, &answer(0)).as_ref(), winners.first());
    }
}
