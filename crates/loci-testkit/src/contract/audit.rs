//! The contract of the audit log.

use loci_core::{AuditEntry, AuditFailure, AuditQuery, AuditRecord, ErrorCode, RecordVerb};

use super::examples::{NOW, ODD_TEXTS, audit_entry, memory, space};
use super::{MakeStore, StoreAndTokens};

fn append(store: &dyn StoreAndTokens, entries: &[AuditEntry]) {
    store.append_audit(entries).expect("the entries are added");
}

/// Returns the numbers and tools of the matching entries, after checking that the numbers rise.
fn read(store: &dyn StoreAndTokens, query: &AuditQuery) -> (Vec<u64>, Vec<String>) {
    let found = store.audit(query).expect("the store can be read");
    let (numbers, tools): (Vec<u64>, Vec<String>) = found
        .into_iter()
        .map(|(number, entry)| (number, entry.tool))
        .unzip();
    assert!(
        numbers.is_sorted_by(|left, right| left < right),
        "{numbers:?}"
    );
    (numbers, tools)
}

fn last(limit: usize) -> AuditQuery {
    AuditQuery {
        limit,
        ..AuditQuery::default()
    }
}

pub(super) fn audit_entries_come_back_in_order(make: MakeStore<'_>) {
    let store = make();
    append(&*store, &[]);
    assert_eq!(store.audit(&last(10)), Ok(Vec::new()));
    let mut entries: Vec<AuditEntry> = ErrorCode::ALL
        .into_iter()
        .enumerate()
        .map(|(number, code)| {
            let message = (number % 2 == 0).then(|| format!("{code}: naïve"));
            AuditEntry {
                failure: Some(AuditFailure { code, message }),
                ..audit_entry("ann", "store_memory")
            }
        })
        .collect();
    entries.push(AuditEntry {
        at: NOW.plus_seconds(-7),
        user: None,
        client: Some("claude-code".to_owned()),
        session: Some("7-日本".to_owned()),
        dialect: "vault".to_owned(),
        operation: "search".to_owned(),
        duration_microseconds: 1 << 40,
        query: Some("what 日本\n".to_owned()),
        results: Some(0),
        reply_tokens: Some(1 << 40),
        ..audit_entry("", "vault_search")
    });
    let (first, second) = entries.split_at(3);
    append(&*store, first);
    append(&*store, second);
    let found = store.audit(&last(100)).expect("the store can be read");
    assert_eq!(
        found
            .into_iter()
            .map(|(_, entry)| entry)
            .collect::<Vec<_>>(),
        entries
    );
}

pub(super) fn every_condition_of_an_audit_query_holds(make: MakeStore<'_>) {
    let store = make();
    let at = |seconds, entry: AuditEntry| AuditEntry {
        at: NOW.plus_seconds(seconds),
        ..entry
    };
    append(
        &*store,
        &[
            at(0, audit_entry("ann", "a")),
            at(1, audit_entry("bob", "b")),
            AuditEntry {
                client: Some("codex".to_owned()),
                ..at(2, audit_entry("ann", "b"))
            },
            AuditEntry {
                user: None,
                ..at(3, audit_entry("", "c"))
            },
            AuditEntry {
                space: space("other"),
                ..at(4, audit_entry("ann", "d"))
            },
            at(1, audit_entry("ann", "late")),
        ],
    );
    let check = |query: AuditQuery, expected: &[&str]| {
        assert_eq!(read(&*store, &query).1, expected, "{query:?}");
    };
    let user = |user: &str| Some(user.to_owned());
    check(last(10), &["a", "b", "b", "c", "late"]);
    check(
        AuditQuery {
            space: space("other"),
            ..last(10)
        },
        &["d"],
    );
    check(
        AuditQuery {
            user: user("ann"),
            ..last(10)
        },
        &["a", "b", "late"],
    );
    check(
        AuditQuery {
            user: user("carl"),
            ..last(10)
        },
        &[],
    );
    check(
        AuditQuery {
            tool: Some("b".to_owned()),
            ..last(10)
        },
        &["b", "b"],
    );
    check(
        AuditQuery {
            since: Some(NOW.plus_seconds(2)),
            ..last(10)
        },
        &["b", "c"],
    );
    for (client, expected) in [("codex", &["b"][..]), ("Codex", &[])] {
        check(
            AuditQuery {
                client: Some(client.to_owned()),
                ..last(10)
            },
            expected,
        );
    }
    let all_at_once = AuditQuery {
        space: memory("a").space,
        user: user("ann"),
        tool: Some("b".to_owned()),
        client: Some("codex".to_owned()),
        record: None,
        since: Some(NOW.plus_seconds(2)),
        after: Some(0),
        before: Some(u64::MAX),
        limit: 10,
    };
    check(all_at_once, &["b"]);
}

pub(super) fn audit_entries_come_in_pages(make: MakeStore<'_>) {
    let store = make();
    append(
        &*store,
        &["a", "b", "c", "d", "e"].map(|tool| audit_entry("ann", tool)),
    );
    append(&*store, &[audit_entry("bob", "bobs")]);
    let (numbers, tools) = read(&*store, &last(100));
    assert_eq!(tools, ["a", "b", "c", "d", "e", "bobs"]);
    let page = |after, limit| {
        let query = AuditQuery {
            user: Some("ann".to_owned()),
            after,
            limit,
            ..AuditQuery::default()
        };
        read(&*store, &query).1
    };
    assert_eq!(page(None, 2), ["d", "e"], "the last ones");
    assert_eq!(page(None, 100).len(), 5);
    assert_eq!(page(Some(0), 2), ["a", "b"], "the first ones");
    assert_eq!(page(Some(numbers[1]), 2), ["c", "d"]);
    assert_eq!(page(Some(numbers[4]), 2), Vec::<String>::new());
    assert_eq!((page(None, 0), page(Some(0), 0)), (Vec::new(), Vec::new()));
    assert_eq!(page(Some(u64::MAX), 2), Vec::<String>::new());
    let between = |after, before, limit| {
        let query = AuditQuery {
            user: Some("ann".to_owned()),
            after,
            before: Some(before),
            limit,
            ..AuditQuery::default()
        };
        read(&*store, &query).1
    };
    assert_eq!(between(None, numbers[3], 2), ["b", "c"], "the last ones");
    assert_eq!(between(None, numbers[1], 2), ["a"]);
    assert_eq!(between(None, u64::MAX, 2), ["d", "e"]);
    assert_eq!(between(Some(numbers[0]), numbers[4], 2), ["b", "c"]);
    assert_eq!(
        between(Some(numbers[0]), numbers[1], 2),
        Vec::<String>::new()
    );
    assert_eq!(between(None, 0, 2), Vec::<String>::new());
}

pub(super) fn an_audit_number_is_given_once(make: MakeStore<'_>) {
    let store = make();
    append(
        &*store,
        &[audit_entry("bob", "kept"), audit_entry("ann", "wiped")],
    );
    let (numbers, _) = read(&*store, &last(10));
    let removed = store
        .wipe(&memory("a").space, "ann", None, None, NOW.plus_seconds(-1))
        .expect("the data is wiped");
    assert_eq!(removed.audit_entries, 1);
    append(&*store, &[audit_entry("ann", "new")]);
    let follower = AuditQuery {
        after: Some(numbers[1]),
        ..last(10)
    };
    assert_eq!(
        read(&*store, &follower).1,
        ["new"],
        "who follows the log misses nothing"
    );
}

pub(super) fn each_space_has_its_audit_numbers(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(store.audited_spaces(), Ok(Vec::new()));
    let of = |name: &str, tool: &str| AuditEntry {
        space: space(name),
        ..audit_entry("ann", tool)
    };
    append(
        &*store,
        &[
            of("main", "a"),
            of("other", "b"),
            of("main", "c"),
            of("Other", "d"),
        ],
    );
    append(&*store, &[of("other", "e"), of("main", "f")]);
    let spaces = ["Other", "main", "other"].map(space).to_vec();
    assert_eq!(store.audited_spaces(), Ok(spaces));
    for (name, tools) in [
        ("Other", &["d"][..]),
        ("main", &["a", "c", "f"]),
        ("other", &["b", "e"]),
        ("nowhere", &[]),
    ] {
        let all = AuditQuery {
            space: space(name),
            ..last(10)
        };
        let (numbers, found) = read(&*store, &all);
        assert_eq!(found, tools, "{name}");
        let Some(first) = numbers.first() else {
            continue;
        };
        let follower = AuditQuery {
            after: Some(*first),
            ..all
        };
        assert_eq!(read(&*store, &follower).1, tools[1..], "{name}");
    }
    let removed = store
        .wipe(&space("Other"), "ann", None, None, NOW.plus_seconds(1))
        .expect("the data is wiped");
    assert_eq!(removed.audit_entries, 1);
    let spaces = ["main", "other"].map(space).to_vec();
    assert_eq!(store.audited_spaces(), Ok(spaces));
}

pub(super) fn an_audit_entry_names_its_records(make: MakeStore<'_>) {
    let store = make();
    let record = |(id, verb): (&str, RecordVerb)| AuditRecord {
        id: id.to_owned(),
        verb,
        is_own: id.is_empty(),
    };
    let records: Vec<AuditRecord> = ODD_TEXTS
        .into_iter()
        .zip(RecordVerb::ALL.into_iter().cycle())
        .map(record)
        .collect();
    let entry = AuditEntry {
        records,
        further_records: 7,
        ..audit_entry("ann", "many")
    };
    append(&*store, &[audit_entry("ann", "none"), entry.clone()]);
    let found = store.audit(&last(10)).expect("the store can be read");
    assert_eq!(found[1].1, entry);
    for id in ODD_TEXTS {
        let query = AuditQuery {
            record: Some(id.to_owned()),
            ..last(10)
        };
        assert_eq!(read(&*store, &query).1, ["many"], "{id:?}");
    }
    let query = AuditQuery {
        record: Some("another".to_owned()),
        ..last(10)
    };
    assert_eq!(read(&*store, &query).1, Vec::<String>::new());
}
