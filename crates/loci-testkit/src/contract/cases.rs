//! Cases that random operations meet too seldom.

use loci_core::{
    Batch, Change, ChangeMark, ErrorCode, Expect, Fact, FactCounts, FactQuery, FilingOrder, Filter,
    Forgotten, IdempotentReply, Memory, ModelId, Page, Passage, Period, Space, Superseded, Sweep,
    Thread, Timestamp, Tombstone, Version, Visibility, Work,
};

use super::calls::{add, admitted, commit, found, refused, retire_model, search, sweep_all};
use super::examples::{
    NOW, change, embed, enqueue, fact, filter, findable, idempotent_reply, memory, passage, put,
    put_fact, put_reply, replace, space, sweep_of_expired, tally, tombstone, vector,
};
use super::store::MakeStore;

pub(super) fn equal_times_are_listed_by_id(make: MakeStore<'_>) {
    let store = &*make();
    for id in ["b", "a", "c"] {
        let (name, position) = ("talk".to_owned(), 0);
        let thread = Some(Thread { name, position });
        add(
            store,
            &Memory {
                thread,
                ..memory(id)
            },
        );
    }
    let (offset, limit) = (0, 9);
    for thread in [None, Some("talk".to_owned())] {
        let filter = Filter { thread, ..filter() };
        let listed = store.list(&filter, Page { offset, limit });
        let listed = listed.expect("the store can be read").into_iter();
        let ids: Vec<String> = listed.map(|memory| memory.id.to_string()).collect();
        assert_eq!(ids, ["a", "b", "c"]);
    }
}

pub(super) fn facts_that_differ_in_one_end_are_two(make: MakeStore<'_>) {
    let store = &*make();
    let period = |first, last| {
        let (first, last) = (NOW.plus_seconds(first), NOW.plus_seconds(last));
        Some(Period { first, last })
    };
    let times = [
        (None, period(5, 9)),
        (None, period(6, 9)),
        (None, period(5, 8)),
        (period(1, 3), period(5, 9)),
        (period(2, 3), period(5, 9)),
        (period(1, 4), period(5, 9)),
    ];
    for (number, (valid_from, valid_to)) in times.into_iter().enumerate() {
        let of = |id: &str| Fact {
            valid_from,
            valid_to,
            ..fact(id, ["ann", "knows", "bob"])
        };
        commit(store, put_fact(&of(&number.to_string())));
        let again = refused(store, put_fact(&of("again")));
        assert_eq!(again.code, ErrorCode::Conflict);
    }
}

pub(super) fn an_end_is_not_taken_back_beside_the_same_open_fact(make: MakeStore<'_>) {
    let store = &*make();
    let ended = Some(Period {
        first: NOW,
        last: NOW,
    });
    let triple = ["ann", "knows", "bob"];
    let before = Fact {
        valid_to: ended,
        ..fact("before", triple)
    };
    commit(store, put_fact(&before));
    let take_back = change(Change::EndFact {
        id: before.id,
        before: ended,
        valid_to: None,
    });
    commit(store, put_fact(&fact("after", triple)));
    let refusal = refused(store, take_back.clone());
    assert_eq!(refusal.code, ErrorCode::Conflict);
    let delete = Change::DeleteFacts {
        facts: vec![("after".to_owned(), None)],
    };
    commit(store, change(delete));
    commit(store, take_back);
}

/// Also at the moment of the change, whether it is any moment or midnight.
pub(super) fn of_facts_that_follow_each_other_one_holds(make: MakeStore<'_>) {
    const DAY: i64 = 86_400_000_000;
    let at = Timestamp::from_microseconds;
    let span = |first, last| {
        Some(Period {
            first: at(first),
            last: at(last),
        })
    };
    let moment = |microseconds| span(microseconds, microseconds);
    let (noon, midnight) = (DAY / 2, DAY);
    let rows = [
        (moment(noon), moment(noon), noon),
        (moment(midnight), span(DAY, 2 * DAY - 1), midnight),
        (span(0, DAY - 1), moment(midnight), midnight),
        // As it was written before moments ended what holds until then.
        (moment(DAY - 1), moment(midnight), midnight),
        // A part of a day.
        (span(0, noon), moment(noon), noon),
    ];
    for (valid_to, valid_from, change) in rows {
        let store = &*make();
        let triple = |object| ["ann", "knows", object];
        let before = Fact {
            valid_to,
            ..fact("before", triple("bob"))
        };
        let after = Fact {
            valid_from,
            ..fact("after", triple("cid"))
        };
        commit(store, put_fact(&before));
        commit(store, put_fact(&after));
        for now in [change - 2, change - 1, change, change + 1] {
            let query = FactQuery {
                space: Space::default(),
                entity: None,
                triple: None,
                relation: None,
                as_of: moment(now),
                beyond: None,
                offset: 0,
                limit: 9,
            };
            let is_over = now >= change;
            let holding = store.facts(&query).expect("the store can be read");
            let ids: Vec<_> = holding.iter().map(|fact| fact.id.as_str()).collect();
            assert_eq!(
                ids,
                [if is_over { "after" } else { "before" }],
                "{valid_to:?} {now}"
            );
            let FactCounts { open, to_come, .. } = store
                .fact_counts(&Space::default(), at(now))
                .expect("the store can be read");
            assert_eq!(
                (open, to_come),
                if is_over { (1, 0) } else { (2, 1) },
                "{now}"
            );
        }
    }
}

pub(super) fn a_soft_deletion_is_taken_back_once(make: MakeStore<'_>) {
    let store = &*make();
    for id in ["a", "b", "c"] {
        add(store, &memory(id));
    }
    let deleted_at = NOW.plus_seconds(1);
    let id = memory("a").id;
    for (id, at) in [("a", deleted_at), ("b", NOW.plus_seconds(2))] {
        let id = memory(id).id;
        assert_eq!(store.soft_delete(&filter(), Some(&id), at, 9), Ok(1));
    }
    let page = Page {
        offset: 0,
        limit: 9,
    };
    let ids = |part, from| -> Vec<String> {
        let deleted = store.soft_deleted(&filter(), part, from, page);
        let deleted = deleted.expect("the store can be read").into_iter();
        deleted.map(|found| found.memory.id.to_string()).collect()
    };
    assert_eq!(ids(None, Timestamp::MIN), ["b", "a"]);
    assert_eq!(ids(None, NOW.plus_seconds(2)), ["b"]);
    assert_eq!(ids(Some("a"), Timestamp::MIN), ["a"]);
    let undelete = |deleted_at| {
        let change = Change::Undelete {
            id: id.clone(),
            deleted_at,
            passages: vec![findable()],
        };
        Batch::new(memory("a").space, vec![change])
    };
    let other = refused(store, undelete(NOW));
    assert_eq!(other.code, ErrorCode::Conflict, "of another deletion");
    commit(store, undelete(deleted_at));
    assert_eq!(found(store, &memory("a")), Some(memory("a")));
    assert_eq!(admitted(store, &filter()), ["a", "c"]);
    assert_eq!(search(store, &filter(), &["word"]).len(), 2);
    assert_eq!(ids(None, Timestamp::MIN), ["b"]);
    let again = refused(store, undelete(deleted_at));
    assert_eq!(again.code, ErrorCode::Conflict, "it is not deleted");
    let deleted = refused(store, enqueue("b", NOW));
    assert_eq!(deleted.code, ErrorCode::Conflict, "it is deleted still");
    // It takes changes and a job as before.
    commit(store, enqueue("a", NOW));
    let put = Change::Put {
        memory: Box::new(Memory {
            revision: memory("a").revision + 1,
            ..memory("a")
        }),
        passages: None,
        expect: Expect::Revision(memory("a").revision),
    };
    commit(store, Batch::new(memory("a").space, vec![put]));
    let sweep = Sweep {
        deleted_until: NOW.plus_seconds(2),
        ..sweep_of_expired(Timestamp::MIN)
    };
    assert_eq!(sweep_all(store, &sweep), 1);
    assert_eq!(ids(None, Timestamp::MIN), Vec::<String>::new());
}

/// Also where both have as many changes.
pub(super) fn an_embedded_space_says_nothing_of_another(make: MakeStore<'_>) {
    let store = &*make();
    let embedded = Passage {
        vector: Some(vector("model", &[1, 2, 3])),
        ..passage("word")
    };
    let elsewhere = Memory {
        space: space("elsewhere"),
        ..memory("a")
    };
    commit(store, put(&memory("a"), vec![embedded]));
    commit(store, put(&elsewhere, vec![passage("word")]));
    let model = ModelId::new("model");
    for _ in 0..2 {
        assert_eq!(
            store.partitions_with(Work::Embed(&model), None, 9),
            Ok(vec![store.partition_of(&elsewhere.space)])
        );
    }
}

pub(super) fn an_older_vector_takes_the_place_of_a_retired_one(make: MakeStore<'_>) {
    let store = &*make();
    let embedded = Passage {
        vector: Some(vector("older", &[1, 2, 3])),
        ..passage("word")
    };
    commit(store, put(&memory("a"), vec![embedded]));
    commit(
        store,
        embed(&memory("a"), vec![vector("newer", &[3, 2, 1])]),
    );
    let lack = |model: &str| -> usize {
        let partition = store.partition_of(&Space::default());
        let order = FilingOrder::FirstFirst;
        let lacking = store.without_vector(&partition, &ModelId::new(model), order, 9);
        lacking.expect("the store can be read").len()
    };
    let newer = ModelId::new("newer");
    let has_work = || {
        let partitions = store.partitions_with(Work::Embed(&newer), None, 9);
        !partitions.expect("the store can be read").is_empty()
    };
    assert_eq!((lack("older"), lack("newer"), has_work()), (0, 0, false));
    assert_eq!(retire_model(store, &newer, 9), Ok(1));
    assert_eq!((lack("older"), lack("newer"), has_work()), (0, 1, true));
}

pub(super) fn what_is_made_from_a_memory_is_counted_until_both_go(make: MakeStore<'_>) {
    let store = &*make();
    let made = Memory {
        source: Some(memory("a").id),
        ..memory("b")
    };
    add(store, &memory("a"));
    add(store, &made);
    let hiding = Filter {
        forgotten: Forgotten::Hide,
        ..filter()
    };
    let counted = || store.count_by_location(&hiding);
    assert_eq!(counted(), Ok(vec![tally(None, "fact", "fact", 2)]));
    let id = memory("a").id;
    assert_eq!(store.soft_delete(&filter(), Some(&id), NOW, 9), Ok(1));
    assert_eq!(counted(), Ok(Vec::new()));
}

pub(super) fn an_answer_of_no_user_goes_with_the_right_to_read_it(make: MakeStore<'_>) {
    let store = &*make();
    let shared = Memory {
        owner: Some("ann".to_owned()),
        visibility: Visibility::Shared,
        ..memory("a")
    };
    add(store, &shared);
    let answer = IdempotentReply {
        memories: vec![shared.id.clone()],
        ..idempotent_reply(None, "key")
    };
    commit(store, put_reply(&answer));
    let kept = || {
        let IdempotentReply {
            space,
            operation,
            key,
            ..
        } = &answer;
        store.idempotent_reply(space, None, operation, key, NOW)
    };
    assert_eq!(kept(), Ok(Some(answer.clone())));
    let withdrawn = Memory {
        visibility: Visibility::Private,
        revision: shared.revision + 1,
        ..shared
    };
    commit(store, replace(&withdrawn, None));
    assert_eq!(kept(), Ok(None));
}

/// Of a memory that stays, because all users have it.
pub(super) fn a_wipe_takes_the_programs_from_the_changes_of_a_user(make: MakeStore<'_>) {
    let store = &*make();
    let common = Memory {
        owner: Some("ann".to_owned()),
        ..memory("a")
    };
    add(store, &common);
    let ended = |revision, by: Option<&str>, token: &str| Version {
        revision,
        change: Some(ChangeMark {
            at: NOW,
            by: by.map(str::to_owned),
            tool: "tool".to_owned(),
            program: Some("program".to_owned()),
            session: Some("session".to_owned()),
            token: Some(token.to_owned()),
            call: 1,
        }),
        ..Version::of(&common)
    };
    for version in [
        ended(1, None, "token"),
        ended(2, Some("bob"), "token"),
        // In the place of the one before.
        ended(2, Some("bob"), "other"),
    ] {
        commit(store, change(Change::PutVersion(Box::new(version))));
    }
    let wiped = store.wipe(&common.space, "ann", None, None, NOW);
    assert_eq!(wiped.map(|wiped| wiped.memories), Ok(0));
    let mut first = ended(1, None, "token");
    if let Some(change) = &mut first.change {
        (change.program, change.session, change.token) = (None, None, None);
    }
    assert_eq!(
        store.versions(&common.space, &common.id),
        Ok(vec![ended(2, Some("bob"), "other"), first])
    );
}

pub(super) fn a_later_tombstone_takes_the_place_of_an_earlier_one(make: MakeStore<'_>) {
    let store = &*make();
    let later = Tombstone {
        salt: [9; 16],
        source: Some([1; 32]),
        forgotten_at: NOW.plus_seconds(1),
        is_removed: false,
        ..tombstone("a")
    };
    for tombstone in [tombstone("a"), later.clone()] {
        commit(store, change(Change::PutTombstones(vec![tombstone])));
    }
    let kept = store.tombstones(&Space::default(), None, 9);
    assert_eq!(kept, Ok(vec![later]));
}

pub(super) fn a_softly_deleted_successor_hides_nothing(make: MakeStore<'_>) {
    let store = &*make();
    let successor = |id, seconds| Memory {
        supersedes: Some(memory("a").id),
        created_at: NOW.plus_seconds(seconds),
        ..memory(id)
    };
    let [earlier, later] = [successor("c", 1), successor("b", 2)];
    for memory in [&memory("a"), &earlier, &later] {
        add(store, memory);
    }
    let (offset, limit) = (0, 9);
    let listed = |superseded| {
        let filter = Filter {
            superseded,
            ..filter()
        };
        store.list(&filter, Page { offset, limit })
    };
    let superseded_by = |successor: &Memory| Memory {
        superseded_by: Some(successor.id.clone()),
        ..memory("a")
    };
    let successors = [later, earlier];
    assert_eq!(listed(Superseded::Hide), Ok(successors.to_vec()));
    for successor in &successors {
        let shown = listed(Superseded::Show).expect("the store can be read");
        assert_eq!(shown[0], superseded_by(successor));
        let hidden = store.soft_delete(&filter(), Some(&successor.id), NOW, 9);
        assert_eq!(hidden, Ok(1));
    }
    for superseded in [Superseded::Hide, Superseded::Show] {
        assert_eq!(listed(superseded), Ok(vec![memory("a")]));
    }
}
