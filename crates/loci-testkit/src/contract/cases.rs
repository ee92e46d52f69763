//! Cases that random operations meet too seldom.

use loci_core::{
    Batch, Change, ErrorCode, Expect, Fact, FactCounts, FactQuery, Filter, Memory, Page, Period,
    Space, Thread, Timestamp,
};

use super::calls::{add, admitted, commit, found, refused, search};
use super::examples::{NOW, enqueue, fact, filter, findable, memory, put_fact};
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
}
