//! The contract of every store: one test function for each promise, which panics if the store
//! breaks it.
//!
//! The tests of a store invoke `loci_testkit::store_contract!(expression)`, where the expression
//! creates an empty store, or `store_contract!(setup, |place| expression)`; this defines one test
//! for each promise.

mod archives;
mod calls;
mod cases;
mod concurrency;
mod examples;
mod grants;
mod handles;
mod limits;
mod model;
mod open_items;
mod paging;
mod store;
mod texts;

pub use examples::{
    audit_entry, filter, idempotent_reply, memory, passage, put, put_reply, reader, replace,
    sweep_of_expired,
};
pub use handles::handles_of_one_store_agree;
pub use model::{Subject, agrees_with_the_naive_store, give_the_same_candidates};
pub use store::{MakeStore, Promise, StoreAndTokens};

macro_rules! promises {
    ($($module:ident: $($promise:ident),+;)+) => {
        /// All promises with their names.
        pub static PROMISES: &[(&str, Promise)] = &[$($((stringify!($promise), $module::$promise)),+),+];

        /// Defines a test of each promise for the store that the expression creates. With two
        /// expressions, the value of the first, such as a folder, lives as long as the test and is
        /// passed to the second.
        #[macro_export]
        macro_rules! store_contract {
            ($make:expr) => {
                $crate::store_contract!((), |()| $make);
            };
            ($setup:expr, |$place:pat_param| $make:expr) => {
                $($(
                    #[test]
                    fn $promise() {
                        let place = $setup;
                        $crate::contract::keep(stringify!($promise), &|| {
                            let $place = &place;
                            Box::new($make)
                        });
                    }
                )+)+
            };
        }
    };
}

promises! {
    model:
        memories_agree_with_the_naive_store,
        notes_agree_with_the_naive_store,
        graphs_agree_with_the_naive_store,
        users_agree_with_the_naive_store,
        background_work_agrees_with_the_naive_store,
        archives_agree_with_the_naive_store;
    cases:
        equal_times_are_listed_by_id,
        facts_that_differ_in_one_end_are_two,
        an_end_is_not_taken_back_beside_the_same_open_fact,
        of_facts_that_follow_each_other_one_holds,
        a_soft_deletion_is_taken_back_once,
        an_embedded_space_says_nothing_of_another,
        an_older_vector_takes_the_place_of_a_retired_one,
        what_is_made_from_a_memory_is_counted_until_both_go,
        an_answer_of_no_user_goes_with_the_right_to_read_it,
        a_wipe_takes_the_programs_from_the_changes_of_a_user,
        a_later_tombstone_takes_the_place_of_an_earlier_one,
        a_softly_deleted_successor_hides_nothing;
    concurrency:
        concurrent_writers_lose_nothing,
        concurrent_writers_are_all_counted,
        concurrent_soft_deletions_leave_nothing_behind,
        concurrent_leases_share_out_the_jobs,
        one_of_concurrent_records_is_kept,
        one_of_concurrent_renewals_is_kept,
        concurrent_changes_of_a_record_lose_nothing,
        no_write_outlives_a_wipe_that_it_overlaps;
    grants:
        a_renewed_token_takes_the_place_of_the_one_before,
        a_secret_is_of_one_grant,
        a_grant_ends_with_its_parent,
        grants_that_ended_are_removed;
    limits:
        a_large_text_comes_back_as_it_was_put,
        many_large_answers_are_deleted,
        the_oldest_of_too_many_answers_make_room,
        the_oldest_of_too_large_answers_make_room,
        answers_that_are_gone_take_no_room,
        a_large_memory_is_gone_for_all_from_its_first_part_on,
        a_sweep_removes_the_earliest_within_its_limit;
    texts:
        a_text_with_nul_is_refused;
    archives:
        an_archive_is_of_one_moment,
        an_error_ends_an_archive;
    paging:
        a_list_in_parts_shows_each_memory_once;
    open_items:
        every_memory_is_examined_once_and_again_when_it_changed,
        the_last_filed_memory_is_examined_first,
        a_removed_memory_keeps_no_older_one_from_its_examination,
        the_other_memory_of_a_lost_pair_is_examined_again,
        items_hold_for_a_revision_and_go_with_their_memories,
        items_are_those_of_memories_that_the_reader_may_read,
        items_of_another_space_stay,
        lost_pairs_of_a_memory_ask_for_one_examination;
    handles:
        every_handle_sees_what_another_wrote,
        a_secret_is_one_stores_alone;
}

/// Checks the promise with that name.
pub fn keep(name: &str, make: MakeStore<'_>) {
    let (_, promise) = PROMISES
        .iter()
        .find(|(promise, _)| *promise == name)
        .expect("the promise is in the list");
    promise(make);
}

/// Checks every promise.
pub fn run(make: MakeStore<'_>) {
    for (_, promise) in PROMISES {
        promise(make);
    }
}
