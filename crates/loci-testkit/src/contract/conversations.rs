//! The contract of memories of conversations: messages, the memories made from them, and accesses.

use loci_core::{
    Access, EnrichmentStatus, ErrorCode, Filter, Link, Memory, OwnerFilter, Relation, StatusCount,
    Thread, Tier, Timestamp, Touch, Visibility,
};

use super::MakeStore;
use super::examples::{
    NOW, delete, filter, memory, message, passage, pending_offspring, private, put, reader,
    replace, space, words,
};
use super::partitions::version_now;
use super::reading::{ALL, add, admitted, id};
use super::writing::{commit, found, refused};

pub(super) fn the_fields_of_conversations_come_back(make: MakeStore<'_>) {
    let store = make();
    let link = |target: &str, relation, similarity| Link {
        target: id(target),
        relation,
        similarity,
    };
    for (tier, enrichment) in [
        (Tier::ShortTerm, None),
        (Tier::LongTerm, Some(EnrichmentStatus::Pending)),
        (Tier::LongTerm, Some(EnrichmentStatus::Completed)),
        (Tier::ShortTerm, Some(EnrichmentStatus::Failed)),
    ] {
        let written = Memory {
            summary: Some("naïve 'gist' 日本\n".to_owned()),
            tier,
            thread: Some(Thread {
                name: "talk é".to_owned(),
                position: 1 << 40,
            }),
            source: Some(id("gone ü")),
            enrichment,
            links: vec![
                link("z", Relation::RelatedTo, 0.1 + 0.2),
                link("a \"quoted\"", Relation::Reinforces, -1.0),
                link("m", Relation::RelatedTo, f32::MIN_POSITIVE),
                link("z", Relation::LinksTo, 1.0),
            ],
            ..memory(&format!("{} {enrichment:?}", tier.name()))
        };
        add(&*store, &written);
        assert_eq!(found(&*store, &written), Some(written.clone()));
        let only = Filter {
            tags: words(&["never"]),
            ..filter()
        };
        assert_eq!(
            store.get_all(&only, std::slice::from_ref(&written.id)),
            Ok(Vec::new())
        );
        let listed = store.list(&filter(), ALL).expect("the store can be read");
        assert!(listed.contains(&written));
        let plain = Memory {
            revision: 2,
            content: written.content.clone(),
            ..memory(written.id.as_str())
        };
        commit(&*store, replace(&plain, None));
        assert_eq!(
            found(&*store, &plain),
            Some(plain),
            "every field can be emptied again"
        );
    }
}

pub(super) fn a_filter_knows_owner_tier_and_age(make: MakeStore<'_>) {
    let store = make();
    let at = |seconds: i64| NOW.plus_seconds(seconds);
    let aged = |seconds, memory: Memory| Memory {
        created_at: at(seconds),
        updated_at: at(9),
        ..memory
    };
    add(&*store, &aged(-2, message("ann", 0)));
    add(&*store, &aged(-1, private("ann", memory("ann-long"))));
    add(&*store, &aged(0, message("bob", 0)));
    add(
        &*store,
        &aged(
            1,
            Memory {
                owner: Some("bob".to_owned()),
                ..memory("bob-common")
            },
        ),
    );
    add(&*store, &aged(2, memory("nobodys")));
    let check = |filter: Filter, expected: &[&str]| {
        assert_eq!(admitted(&*store, &filter), expected, "{filter:?}");
    };
    let owner = |owner| Filter {
        owner: OwnerFilter::of(Some(owner)),
        ..filter()
    };
    check(
        filter(),
        &["ann-0", "ann-long", "bob-0", "bob-common", "nobodys"],
    );
    check(owner("ann"), &["ann-0", "ann-long"]);
    check(owner("bob"), &["bob-0", "bob-common"]);
    check(owner("carl"), &[]);
    check(
        Filter {
            tiers: vec![Tier::ShortTerm],
            ..filter()
        },
        &["ann-0", "bob-0"],
    );
    check(
        Filter {
            tiers: vec![Tier::LongTerm],
            ..filter()
        },
        &["ann-long", "bob-common", "nobodys"],
    );
    check(
        Filter {
            created_from: Some(at(0)),
            ..filter()
        },
        &["bob-0", "bob-common", "nobodys"],
    );
    check(
        Filter {
            created_until: Some(at(0)),
            ..filter()
        },
        &["ann-0", "ann-long", "bob-0"],
    );
    let between = Filter {
        created_from: Some(at(-1)),
        created_until: Some(at(1)),
        ..filter()
    };
    check(between.clone(), &["ann-long", "bob-0", "bob-common"]);
    check(
        Filter {
            created_from: Some(at(1)),
            created_until: Some(at(0)),
            ..filter()
        },
        &[],
    );
    check(
        Filter {
            tiers: vec![Tier::LongTerm],
            owner: OwnerFilter::of(Some("bob")),
            ..between
        },
        &["bob-common"],
    );
}

pub(super) fn a_filter_knows_threads(make: MakeStore<'_>) {
    let store = make();
    let of = |name: &str, thread: &str, memory: Memory| {
        let thread = Some(Thread {
            name: thread.to_owned(),
            position: 0,
        });
        Memory {
            thread,
            id: id(name),
            ..memory
        }
    };
    for written in [
        message("ann", 0),
        message("bob", 1),
        of(
            "apart",
            "talk",
            Memory {
                tier: Tier::Unlisted,
                ..memory("")
            },
        ),
        of("nobodys", "talk", memory("")),
        of("upper", "TALK", memory("")),
        of("nameless", "", memory("")),
        of("odd", "it's \"a\" naïve 日本", private("ann", memory(""))),
        memory("talk"),
        Memory {
            thread: None,
            ..message("carl", 2)
        },
        of(
            "elsewhere",
            "talk",
            Memory {
                space: space("other"),
                ..memory("")
            },
        ),
    ] {
        add(&*store, &written);
    }
    let thread = |name: &str| Filter {
        thread: Some(name.to_owned()),
        ..filter()
    };
    let check = |filter: Filter, expected: &[&str]| {
        assert_eq!(admitted(&*store, &filter), expected, "{filter:?}");
    };
    check(thread("talk"), &["ann-0", "apart", "bob-1", "nobodys"]);
    check(thread("TALK"), &["upper"]);
    check(thread(""), &["nameless"]);
    check(thread("it's \"a\" naïve 日本"), &["odd"]);
    check(thread("unknown"), &[]);
    check(
        Filter {
            space: space("other"),
            ..thread("talk")
        },
        &["elsewhere"],
    );
    check(
        Filter {
            owner: OwnerFilter::of(Some("bob")),
            ..thread("talk")
        },
        &["bob-1"],
    );
    check(
        Filter {
            reader: reader(Some("bob")),
            ..thread("talk")
        },
        &["apart", "bob-1", "nobodys"],
    );
    check(
        Filter {
            tiers: vec![Tier::ShortTerm],
            ..thread("talk")
        },
        &["ann-0", "bob-1"],
    );
    let moved = of(
        "talk",
        "talk",
        Memory {
            revision: 2,
            ..memory("")
        },
    );
    commit(&*store, replace(&moved, None));
    let left = Memory {
        thread: None,
        revision: 2,
        id: id("nobodys"),
        ..memory("")
    };
    commit(&*store, replace(&left, None));
    check(thread("talk"), &["ann-0", "apart", "bob-1", "talk"]);
}

pub(super) fn a_position_of_a_thread_is_taken_once(make: MakeStore<'_>) {
    let store = make();
    add(&*store, &message("ann", 0));
    let renamed = |name: &str, memory: Memory| Memory {
        id: id(name),
        ..memory
    };
    let second = renamed("second", message("ann", 0));
    assert_eq!(
        refused(&*store, put(&second, vec![passage("word")])).code,
        ErrorCode::Conflict
    );
    let mut batch = put(&renamed("x", message("ann", 1)), vec![passage("word")]);
    batch
        .changes
        .extend(put(&renamed("y", message("ann", 1)), vec![passage("word")]).changes);
    assert_eq!(
        refused(&*store, batch).code,
        ErrorCode::Conflict,
        "the first of a batch takes it as well"
    );
    let other_thread = Some(Thread {
        name: "another talk".to_owned(),
        position: 0,
    });
    for free in [
        renamed("other-owner", message("bob", 0)),
        Memory {
            thread: other_thread,
            ..renamed("other-thread", message("ann", 0))
        },
        Memory {
            tier: Tier::LongTerm,
            ..renamed("long-term", message("ann", 0))
        },
        Memory {
            tier: Tier::Unlisted,
            ..renamed("apart", message("ann", 0))
        },
        Memory {
            thread: None,
            ..renamed("no-thread", message("ann", 0))
        },
        Memory {
            space: space("other"),
            ..renamed("other-space", message("ann", 0))
        },
    ] {
        add(&*store, &free);
    }
    commit(
        &*store,
        replace(
            &Memory {
                revision: 2,
                ..message("ann", 0)
            },
            None,
        ),
    );
    let moved = Memory {
        revision: 2,
        id: id("no-thread"),
        ..message("ann", 0)
    };
    assert_eq!(
        refused(&*store, replace(&moved, None)).code,
        ErrorCode::Conflict
    );
    commit(
        &*store,
        delete(&Memory {
            revision: 2,
            ..message("ann", 0)
        }),
    );
    commit(&*store, replace(&moved, None));
    assert_eq!(store.soft_delete(&filter(), Some(&moved.id), NOW, 1), Ok(1));
    assert_eq!(
        refused(&*store, put(&message("ann", 0), Vec::new())).code,
        ErrorCode::Conflict
    );
}

pub(super) fn a_thread_ends_after_its_last_position(make: MakeStore<'_>) {
    let store = make();
    let end = |owner: &str| {
        store
            .thread_end(&memory("a").space, owner, "talk")
            .expect("the store can be read")
    };
    assert_eq!(end("ann"), 0);
    for position in [0, 7, 3] {
        add(&*store, &message("ann", position));
    }
    add(
        &*store,
        &Memory {
            expires_at: Some(NOW),
            ..message("bob", 2)
        },
    );
    add(
        &*store,
        &Memory {
            tier: Tier::LongTerm,
            ..message("carl", 4)
        },
    );
    add(
        &*store,
        &Memory {
            space: space("other"),
            ..message("ann", 90)
        },
    );
    let other_thread = Some(Thread {
        name: "another talk".to_owned(),
        position: 80,
    });
    add(
        &*store,
        &Memory {
            thread: other_thread,
            ..message("ann", 80)
        },
    );
    assert_eq!(
        (end("ann"), end("bob"), end("carl"), end("dora")),
        (8, 3, 5, 0)
    );
    assert_eq!(store.thread_end(&space("other"), "ann", "talk"), Ok(91));
    assert_eq!(
        store.soft_delete(&filter(), Some(&message("ann", 7).id), NOW, 1),
        Ok(1)
    );
    assert_eq!(end("ann"), 8, "a softly deleted message keeps its position");
    commit(&*store, delete(&message("ann", 3)));
    commit(&*store, delete(&message("bob", 2)));
    assert_eq!((end("ann"), end("bob")), (8, 0));
}

pub(super) fn accesses_are_counted_beside_the_memory(make: MakeStore<'_>) {
    let store = make();
    let at = |seconds: i64| NOW.plus_seconds(seconds);
    let written = Memory {
        access: Access {
            count: 99,
            last: Some(NOW),
        },
        ..memory("a")
    };
    add(&*store, &written);
    add(&*store, &memory("b"));
    add(
        &*store,
        &Memory {
            space: space("other"),
            ..memory("a")
        },
    );
    let touch = |id_: &str, count, moment: Timestamp| Touch {
        space: written.space.clone(),
        id: id(id_),
        access: Access {
            count,
            last: Some(moment),
        },
    };
    let counts = |ids: &[&str]| {
        let ids: Vec<_> = ids.iter().map(|name| id(name)).collect();
        store
            .accesses(&written.space, &ids)
            .expect("the store can be read")
    };
    assert_eq!(
        found(&*store, &written),
        Some(memory("a")),
        "accesses are ignored on writing"
    );
    assert_eq!(counts(&["a", "b", "missing"]), [0, 0, 0]);
    let before = version_now(&*store);
    store
        .touch(&[
            touch("a", 2, at(5)),
            touch("missing", 1, at(1)),
            touch("b", 1, at(2)),
        ])
        .expect("they are counted");
    store
        .touch(&[touch("a", 1, at(3)), touch("a", 4, at(4))])
        .expect("they are counted");
    store.touch(&[]).expect("nothing is counted");
    assert_eq!(version_now(&*store), before, "counting is no change");
    assert_eq!(counts(&["b", "missing", "a", "b"]), [1, 0, 7, 1]);
    assert_eq!(store.accesses(&space("other"), &[id("a")]), Ok(vec![0]));
    let touched = Memory {
        access: Access {
            count: 7,
            last: Some(at(5)),
        },
        ..memory("a")
    };
    assert_eq!(
        found(&*store, &touched),
        Some(touched.clone()),
        "the revision stays"
    );
    assert!(
        store
            .list(&filter(), ALL)
            .expect("the store can be read")
            .contains(&touched)
    );
    let second = Memory {
        revision: 2,
        access: Access::default(),
        ..touched.clone()
    };
    commit(&*store, replace(&second, Some(vec![passage("word")])));
    assert_eq!(
        found(&*store, &second),
        Some(Memory {
            revision: 2,
            ..touched
        }),
        "a change keeps the count"
    );
    commit(&*store, delete(&second));
    add(&*store, &memory("a"));
    assert_eq!(
        (counts(&["missing", "a"]), found(&*store, &second)),
        (vec![0, 0], Some(memory("a")))
    );
}

pub(super) fn a_census_counts_what_came_in_as_conversation(make: MakeStore<'_>) {
    use EnrichmentStatus::{Completed, Failed, Pending};
    let store = make();
    let census = |owner: &str, now| {
        store
            .count_by_status(&memory("a").space, owner, now)
            .expect("the store can be read")
    };
    let row = |tier, enrichment, memories| StatusCount {
        tier,
        enrichment,
        memories,
    };
    assert_eq!(census("ann", NOW), []);
    let status = |id: &str, status| Memory {
        enrichment: Some(status),
        ..private("ann", memory(id))
    };
    for written in [
        message("ann", 0),
        Memory {
            expires_at: Some(NOW.plus_seconds(1)),
            ..message("ann", 1)
        },
        Memory {
            enrichment: Some(Completed),
            ..message("ann", 2)
        },
        status("failed", Failed),
        status("done", Completed),
        Memory {
            visibility: Visibility::Common,
            ..status("common", Completed)
        },
        pending_offspring("waits", &message("ann", 0)),
        Memory {
            expires_at: Some(NOW),
            ..status("expired", Pending)
        },
        status("deleted", Pending),
        private("ann", memory("of another dialect")),
        Memory {
            tier: Tier::Unlisted,
            ..private("ann", memory("apart"))
        },
        Memory {
            tier: Tier::Unlisted,
            ..status("apart, though done", Completed)
        },
        message("bob", 0),
        Memory {
            owner: None,
            ..status("nobodys", Pending)
        },
        Memory {
            space: space("other"),
            ..message("ann", 0)
        },
    ] {
        add(&*store, &written);
    }
    assert_eq!(
        store.soft_delete(&filter(), Some(&id("deleted")), NOW, 1),
        Ok(1)
    );
    let expected = |messages| {
        [
            row(Tier::LongTerm, Some(Pending), 1),
            row(Tier::LongTerm, Some(Completed), 2),
            row(Tier::LongTerm, Some(Failed), 1),
            row(Tier::ShortTerm, None, messages),
            row(Tier::ShortTerm, Some(Completed), 1),
        ]
    };
    assert_eq!(census("ann", NOW), expected(2));
    assert_eq!(census("ann", NOW.plus_seconds(1)), expected(1));
    assert_eq!(census("bob", NOW), [row(Tier::ShortTerm, None, 1)]);
    assert_eq!(
        store.count_by_status(&space("other"), "ann", NOW),
        Ok(vec![row(Tier::ShortTerm, None, 1)])
    );
}
