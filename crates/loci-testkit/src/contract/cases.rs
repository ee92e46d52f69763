//! Cases that random operations meet too seldom.

use loci_core::{ErrorCode, Fact, Filter, Memory, Page, Period, Thread};

use super::calls::{add, commit, refused};
use super::examples::{NOW, fact, filter, memory, put_fact};
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
