//! The contract of tunnels.

use std::thread;

use loci_core::{
    Batch, Change, ErrorCode, Memory, MemoryId, Space, Store, Sweep, Tier, Timestamp, Tunnel,
    TunnelEnd,
};

use super::examples::{
    NOW, ODD_TEXTS, change, delete, end, filter, forgotten, memory, private, put, put_tunnel,
    replace, space, sweep_of_expired, tunnel,
};
use super::reading::{add, id};
use super::sweeping::sweep_all;
use super::writing::{commit, found, refused};
use super::{MakeStore, StoreAndTokens};

/// Returns all tunnels of the default space.
fn tunnels(store: &dyn StoreAndTokens) -> Vec<Tunnel> {
    store
        .tunnels(&Space::default())
        .expect("the store can be read")
}

/// Returns the memories at the ends of each tunnel of the default space.
fn named(store: &dyn StoreAndTokens) -> Vec<[Option<String>; 2]> {
    let of = |end: TunnelEnd| end.memory.map(|id| id.as_str().to_owned());
    tunnels(store)
        .into_iter()
        .map(|tunnel| [of(tunnel.source), of(tunnel.target)])
        .collect()
}

/// Creates a tunnel with these memories at its ends.
fn between(id: &str, memories: [Option<&str>; 2]) -> Tunnel {
    let [source, target] = memories.map(|memory| memory.map(MemoryId::new));
    let plain = tunnel(id);
    Tunnel {
        source: TunnelEnd {
            memory: source,
            ..plain.source
        },
        target: TunnelEnd {
            memory: target,
            ..plain.target
        },
        ..plain
    }
}

fn owned(tunnel: Tunnel, owner: Option<&str>, is_common: bool) -> Tunnel {
    Tunnel {
        owner: owner.map(str::to_owned),
        is_common,
        ..tunnel
    }
}

fn delete_tunnel(id: &str) -> Batch {
    change(Change::DeleteTunnel { id: id.to_owned() })
}

pub(super) fn a_tunnel_comes_back_as_it_was_put(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(tunnels(&*store), []);
    let odd = ODD_TEXTS.into_iter().map(|text| Tunnel {
        source: TunnelEnd {
            memory: Some(MemoryId::new(format!("odd {text}"))),
            ..end(Some(text), text)
        },
        target: end(None, text),
        label: text.to_owned(),
        ..owned(tunnel(text), Some(text), false)
    });
    let at = |seconds, tunnel: Tunnel| Tunnel {
        created_at: NOW.plus_seconds(seconds),
        ..tunnel
    };
    let moment = Timestamp::from_microseconds;
    let one_by_one = [
        at(-1, between("z", [Some("one"), Some("other")])),
        at(-2, between("y", [None, Some("one")])),
        at(1, owned(tunnel("B"), None, false)),
        at(1, owned(tunnel("a"), Some("ann"), true)),
        at(
            1,
            Tunnel {
                source: end(Some(""), ""),
                target: end(None, ""),
                ..tunnel("b")
            },
        ),
        Tunnel {
            created_at: moment(i64::MIN),
            updated_at: moment(i64::MAX),
            ..tunnel("moments")
        },
    ];
    let mut all: Vec<Tunnel> = odd.chain(one_by_one).collect();
    for id in ODD_TEXTS
        .map(|text| format!("odd {text}"))
        .iter()
        .map(String::as_str)
        .chain(["one", "other"])
    {
        add(&*store, &memory(id));
    }
    for tunnel in &all {
        commit(&*store, put_tunnel(tunnel, None));
    }
    commit(
        &*store,
        put_tunnel(
            &Tunnel {
                space: space("other"),
                ..tunnel("elsewhere")
            },
            None,
        ),
    );
    all.sort_by_key(|tunnel| (tunnel.created_at, tunnel.id.clone()));
    assert_eq!(tunnels(&*store), all);
    assert_eq!(
        store.tunnels(&space("other")).map(|tunnels| tunnels.len()),
        Ok(1)
    );
    assert_eq!(store.tunnels(&space("empty")), Ok(Vec::new()));
}

pub(super) fn a_tunnel_is_replaced_and_deleted_by_its_id(make: MakeStore<'_>) {
    let store = make();
    let full = owned(
        between("id", [Some("one"), Some("other")]),
        Some("ann"),
        false,
    );
    let plain = Tunnel {
        source: end(None, "y"),
        target: end(Some("c"), "z"),
        label: String::new(),
        created_at: NOW.plus_seconds(5),
        updated_at: NOW.plus_seconds(6),
        ..tunnel("id")
    };
    let (other, elsewhere) = (
        tunnel("ID"),
        Tunnel {
            space: space("other"),
            ..plain.clone()
        },
    );
    for written in ["one", "other"] {
        add(&*store, &memory(written));
    }
    for (put, expect) in [
        (&full, None),
        (&other, None),
        (&elsewhere, None),
        (&plain, Some(&full)),
    ] {
        commit(&*store, put_tunnel(put, expect));
    }
    assert_eq!(
        tunnels(&*store),
        [other.clone(), plain.clone()],
        "nothing of the one before is left"
    );
    commit(&*store, put_tunnel(&full, Some(&plain)));
    let mut batch = put(&memory("new"), Vec::new());
    batch.changes.extend(delete_tunnel("id").changes);
    batch
        .changes
        .extend(put_tunnel(&tunnel("new"), None).changes);
    for missing in ["unknown", "Id", "id"] {
        let mut batch = batch.clone();
        batch.changes.extend(delete_tunnel(missing).changes);
        assert_eq!(
            refused(&*store, batch).code,
            ErrorCode::Conflict,
            "{missing} is not there"
        );
        assert_eq!(tunnels(&*store), [other.clone(), full.clone()]);
        assert_eq!(found(&*store, &memory("new")), None);
    }
    commit(&*store, batch);
    assert_eq!(tunnels(&*store), [other.clone(), tunnel("new")]);
    let mut batch = put_tunnel(&plain, None);
    batch.changes.extend(
        ["id", "new"]
            .map(delete_tunnel)
            .into_iter()
            .flat_map(|batch| batch.changes),
    );
    commit(&*store, batch);
    assert_eq!(tunnels(&*store), [other]);
    assert_eq!(
        store.tunnels(&space("other")),
        Ok(vec![elsewhere]),
        "spaces are apart"
    );
}

pub(super) fn a_tunnel_that_changed_is_not_replaced(make: MakeStore<'_>) {
    let store = make();
    add(&*store, &memory("one"));
    let first = owned(between("id", [Some("one"), None]), Some("ann"), false);
    let next = Tunnel {
        label: "another label".to_owned(),
        ..first.clone()
    };
    let others = [
        Tunnel {
            id: "ID".to_owned(),
            ..first.clone()
        },
        Tunnel {
            space: space("other"),
            ..first.clone()
        },
        Tunnel {
            source: end(Some("a"), "x"),
            ..first.clone()
        },
        Tunnel {
            target: end(Some("b"), "y"),
            ..first.clone()
        },
        Tunnel {
            label: String::new(),
            ..first.clone()
        },
        owned(first.clone(), None, false),
        owned(first.clone(), Some("ann"), true),
        Tunnel {
            created_at: NOW.plus_seconds(1),
            ..first.clone()
        },
        Tunnel {
            updated_at: NOW.plus_seconds(1),
            ..first.clone()
        },
    ];
    let conflicts = |expect: Option<&Tunnel>| {
        let before = tunnels(&*store);
        let mut batch = put(&memory("new"), Vec::new());
        batch.changes.extend(put_tunnel(&next, expect).changes);
        assert_eq!(
            refused(&*store, batch).code,
            ErrorCode::Conflict,
            "{expect:?}"
        );
        assert_eq!(
            (found(&*store, &memory("new")), tunnels(&*store)),
            (None, before)
        );
    };
    conflicts(Some(&first));
    commit(&*store, put_tunnel(&first, None));
    conflicts(None);
    for other in &others {
        conflicts(Some(other));
    }
    let mut batch = put_tunnel(&next, Some(&first));
    batch
        .changes
        .extend(put_tunnel(&first, Some(&next)).changes);
    batch
        .changes
        .extend(put_tunnel(&next, Some(&first)).changes);
    commit(&*store, batch);
    conflicts(Some(&first));
    // Removing the memory changes the tunnel.
    commit(&*store, delete(&memory("one")));
    conflicts(Some(&next));
    assert_eq!(
        tunnels(&*store),
        [Tunnel {
            source: end(Some("a"), "x"),
            ..next.clone()
        }]
    );
}

pub(super) fn concurrent_changes_of_a_tunnel_lose_nothing(make: MakeStore<'_>) {
    const WRITERS: u8 = 4;
    const MARKS: usize = 10;
    let store = make();
    let shared: &dyn Store = &*store;
    let add_to_label = |mark: char| {
        let before = shared
            .tunnels(&Space::default())
            .expect("the store can be read")
            .pop();
        let mut after = before.clone().unwrap_or(Tunnel {
            label: String::new(),
            ..tunnel("id")
        });
        after.label.push(mark);
        match shared.commit(put_tunnel(&after, before.as_ref())) {
            Ok(()) => true,
            Err(error) => {
                assert_eq!(error.code, ErrorCode::Conflict, "{error}");
                false
            }
        }
    };
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                (0..MARKS).for_each(|_| while !add_to_label(char::from(b'a' + writer)) {});
            });
        }
    });
    let label: String = tunnels(&*store)
        .into_iter()
        .map(|tunnel| tunnel.label)
        .collect();
    for writer in 0..WRITERS {
        assert_eq!(
            label.matches(char::from(b'a' + writer)).count(),
            MARKS,
            "{label}"
        );
    }
}

pub(super) fn a_tunnel_leads_to_memories_that_are_there(make: MakeStore<'_>) {
    let store = make();
    for written in ["stays", "deleted", "swept", "softly deleted"] {
        add(&*store, &memory(written));
    }
    add(
        &*store,
        &Memory {
            space: space("other"),
            ..memory("elsewhere")
        },
    );
    commit(&*store, delete(&memory("deleted")));
    for name in ["swept", "softly deleted"] {
        let moment = NOW.plus_seconds(i64::from(name != "swept"));
        assert_eq!(
            store.soft_delete(&filter(), Some(&id(name)), moment, 1),
            Ok(1)
        );
    }
    assert_eq!(
        sweep_all(
            &*store,
            &Sweep {
                deleted_until: NOW,
                ..sweep_of_expired(Timestamp::MIN)
            }
        ),
        1
    );
    for gone in ["never there", "deleted", "swept", "elsewhere", "Stays"] {
        for memories in [[Some(gone), None], [Some("stays"), Some(gone)]] {
            let mut batch = put(&memory("new"), Vec::new());
            batch
                .changes
                .extend(put_tunnel(&between("id", memories), None).changes);
            assert_eq!(
                refused(&*store, batch).code,
                ErrorCode::Conflict,
                "{memories:?}"
            );
            assert_eq!(
                (found(&*store, &memory("new")), tunnels(&*store)),
                (None, Vec::new())
            );
        }
    }
    let there = between("id", [Some("stays"), Some("softly deleted")]);
    commit(&*store, put_tunnel(&there, None));
    // A batch sees its own earlier additions and removals.
    let [kept, lost] = ["new", "stays"].map(|name| between("id", [None, Some(name)]));
    let mut batch = put_tunnel(&kept, Some(&there));
    batch
        .changes
        .extend(put(&memory("new"), Vec::new()).changes);
    assert_eq!(
        refused(&*store, batch.clone()).code,
        ErrorCode::Conflict,
        "it comes too late"
    );
    batch.changes.rotate_left(1);
    commit(&*store, batch);
    let mut batch = delete(&memory("stays"));
    batch.changes.extend(put_tunnel(&lost, Some(&kept)).changes);
    assert_eq!(refused(&*store, batch).code, ErrorCode::Conflict);
    assert_eq!(tunnels(&*store), [kept]);
}

pub(super) fn a_tunnel_loses_memories_that_are_removed(make: MakeStore<'_>) {
    let store = make();
    for written in [
        memory("deleted"),
        Memory {
            expires_at: Some(NOW),
            ..memory("expired")
        },
        memory("softly deleted"),
        private("ann", memory("wiped")),
        Memory {
            origin: "engram".to_owned(),
            ..private("ann", memory("wiped first"))
        },
        memory("stays"),
    ] {
        add(&*store, &written);
    }
    let pairs = [
        [Some("deleted"), Some("expired")],
        [Some("softly deleted"), Some("deleted")],
        [Some("wiped"), Some("stays")],
        [Some("stays"), Some("wiped first")],
        [Some("deleted"), Some("deleted")],
        [None, Some("deleted")],
    ];
    let mut all: Vec<Tunnel> = (0..)
        .zip(pairs)
        .map(|(number, memories)| between(&format!("tunnel {number}"), memories))
        .collect();
    all[1] = owned(all[1].clone(), Some("bob"), false);
    let elsewhere = Tunnel {
        space: space("other"),
        ..all[0].clone()
    };
    for name in ["deleted", "expired"] {
        add(
            &*store,
            &Memory {
                space: space("other"),
                ..memory(name)
            },
        );
    }
    for tunnel in all.iter().chain([&elsewhere]) {
        commit(&*store, put_tunnel(tunnel, None));
    }
    let mut gone: Vec<&str> = Vec::new();
    let mut check = |removed: &'static str| {
        gone.push(removed);
        let left =
            pairs.map(|pair| pair.map(|id| id.filter(|id| !gone.contains(id)).map(str::to_owned)));
        assert_eq!(named(&*store), left, "after {removed}");
    };
    commit(&*store, delete(&memory("deleted")));
    check("deleted");
    assert_eq!(sweep_all(&*store, &sweep_of_expired(NOW)), 1);
    check("expired");
    assert_eq!(
        store.soft_delete(&filter(), Some(&id("softly deleted")), NOW, 1),
        Ok(1)
    );
    assert_eq!(
        sweep_all(
            &*store,
            &Sweep {
                deleted_until: NOW,
                ..sweep_of_expired(Timestamp::MIN)
            }
        ),
        1
    );
    check("softly deleted");
    assert_eq!(
        store
            .wipe(&Space::default(), "ann", Some("engram"), None, NOW)
            .map(|wiped| wiped.memories),
        Ok(1)
    );
    check("wiped first");
    assert_eq!(
        store
            .wipe(&Space::default(), "ann", None, None, NOW)
            .map(|wiped| wiped.memories),
        Ok(1)
    );
    check("wiped");
    let memoryless = |tunnel: Tunnel| Tunnel {
        source: TunnelEnd {
            memory: None,
            ..tunnel.source
        },
        target: TunnelEnd {
            memory: None,
            ..tunnel.target
        },
        ..tunnel
    };
    assert_eq!(
        tunnels(&*store)[1],
        memoryless(all[1].clone()),
        "nothing else of it changes"
    );
    assert_eq!(
        store.tunnels(&space("other")),
        Ok(vec![elsewhere]),
        "spaces are apart"
    );
    add(&*store, &memory("deleted"));
    assert_eq!(
        named(&*store)[5],
        [None, None],
        "a new memory of that name is another one"
    );
    let before = tunnels(&*store).pop();
    let mut batch = put_tunnel(
        &between("tunnel 5", [Some("deleted"), Some("stays")]),
        before.as_ref(),
    );
    batch.changes.extend(delete(&memory("deleted")).changes);
    commit(&*store, batch);
    assert_eq!(named(&*store)[5], [None, Some("stays".to_owned())]);
}

pub(super) fn a_tunnel_keeps_memories_that_are_there(make: MakeStore<'_>) {
    let store = make();
    let names = [
        "replaced",
        "forgotten",
        "softly deleted",
        "expired",
        "common",
        "refused",
    ];
    for name in &names[..4] {
        add(&*store, &memory(name));
    }
    let common = Memory {
        owner: Some("ann".to_owned()),
        ..memory("common")
    };
    for written in [
        &common,
        &memory("refused"),
        &Memory {
            space: space("other"),
            ..memory("replaced")
        },
    ] {
        add(&*store, written);
    }
    for name in names {
        commit(
            &*store,
            put_tunnel(&between(name, [Some(name), Some(name)]), None),
        );
    }
    let before = tunnels(&*store);
    let moved = Memory {
        kind: "rule".to_owned(),
        tier: Tier::Unlisted,
        revision: 2,
        ..memory("replaced")
    };
    for change in [
        replace(&moved, None),
        replace(
            &Memory {
                revision: 2,
                ..forgotten(memory("forgotten"))
            },
            None,
        ),
        replace(
            &Memory {
                expires_at: Some(NOW),
                revision: 2,
                ..memory("expired")
            },
            None,
        ),
        delete(&Memory {
            space: space("other"),
            ..memory("replaced")
        }),
    ] {
        commit(&*store, change);
    }
    assert_eq!(
        store.soft_delete(&filter(), Some(&id("softly deleted")), NOW, 1),
        Ok(1)
    );
    let mut batch = delete(&memory("refused"));
    batch.changes.extend(delete_tunnel("unknown").changes);
    assert_eq!(refused(&*store, batch).code, ErrorCode::Conflict);
    store
        .wipe(&Space::default(), "ann", None, None, NOW)
        .expect("the data is wiped");
    assert_eq!(tunnels(&*store), before);
    assert!(found(&*store, &common).is_some());
}

pub(super) fn a_wipe_takes_the_owner_off_tunnels(make: MakeStore<'_>) {
    let store = make();
    let of = |id: &str, owner, is_common| owned(tunnel(id), owner, is_common);
    let (anns, private_one) = (
        of("1 common", Some("ann"), true),
        of("2 private", Some("ann"), false),
    );
    let others = [
        of("3 bob", Some("bob"), false),
        of("4 bob", Some("bob"), true),
        of("5 nobody", None, false),
        of("6 nobody", None, true),
        of("7 case", Some("Ann"), false),
    ];
    let elsewhere = Tunnel {
        space: space("other"),
        ..private_one.clone()
    };
    for tunnel in [&anns, &private_one, &elsewhere].into_iter().chain(&others) {
        commit(&*store, put_tunnel(tunnel, None));
    }
    let before = tunnels(&*store);
    for origin in ["", "engram"] {
        store
            .wipe(&Space::default(), "ann", Some(origin), None, NOW)
            .expect("the data is wiped");
        assert_eq!(
            tunnels(&*store),
            before,
            "a wipe of one tool set leaves them"
        );
    }
    store
        .wipe(&Space::default(), "ann", None, None, NOW.plus_seconds(5))
        .expect("the data is wiped");
    let mut expected = vec![Tunnel {
        owner: None,
        ..anns
    }];
    expected.extend(others);
    assert_eq!(tunnels(&*store), expected);
    assert_eq!(
        store.tunnels(&space("other")),
        Ok(vec![elsewhere]),
        "spaces are apart"
    );
}
