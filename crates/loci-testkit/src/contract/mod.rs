//! The contract of every store: one test function for each promise, which panics if the store
//! breaks it.
//!
//! The tests of a store invoke `loci_testkit::store_contract!(expression)`, where the expression
//! creates an empty store, or `store_contract!(setup, |place| expression)`; this defines one test
//! for each promise.

mod agreement;
mod archives;
mod audit;
mod cache;
mod context;
mod conversations;
mod decisions;
mod embeddings;
mod examples;
mod facts;
mod filing;
mod forgetting;
mod generator;
mod handles;
mod idempotent_replies;
mod jobs;
mod model;
mod notes;
mod ownership;
mod partitions;
mod provenance;
mod reading;
mod rebuildable;
mod searching;
mod settings;
mod soft_deletion;
mod sources;
mod sweeping;
mod tallying;
mod terms;
mod texts;
mod tokens;
mod tombstones;
mod tunnels;
mod versions;
mod wiping;
mod writing;

use loci_core::{Store, TokenStore};

pub use examples::{filter, memory, passage, put, reader, replace, sweep_of_expired};
pub use handles::handles_of_one_store_agree;
pub use model::{agrees_with_the_naive_store, give_the_same_candidates};

/// The traits that the contract tests need.
pub trait StoreAndTokens: Store + TokenStore {}

impl<S: Store + TokenStore> StoreAndTokens for S {}

/// Creates an empty store, on any thread.
pub type MakeStore<'a> = &'a (dyn Fn() -> Box<dyn StoreAndTokens> + Sync);

/// The test of one promise.
pub type Promise = fn(MakeStore<'_>);

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
    writing:
        what_is_put_comes_back_byte_for_byte,
        an_id_is_taken_once,
        a_lost_update_is_a_conflict,
        a_batch_happens_whole_or_not_at_all,
        changes_of_a_batch_see_the_ones_before,
        a_put_without_passages_keeps_content_and_passages,
        a_deleted_memory_is_gone,
        an_embedding_counts_for_its_revision_alone,
        the_version_grows_with_every_change,
        the_size_counts_what_is_there,
        concurrent_writers_lose_nothing;
    versions:
        former_versions_come_back_latest_first,
        a_version_is_kept_with_its_batch_or_not_at_all,
        the_oldest_versions_are_evicted,
        versions_go_with_their_memory,
        a_wipe_leaves_a_pseudonym_on_versions,
        memories_with_versions_come_in_pages;
    texts:
        a_text_with_nul_is_refused,
        an_audit_entry_with_nul_is_refused_with_those_beside_it,
        a_wipe_and_a_lease_refuse_nul;
    reading:
        an_expired_memory_leaves_lists_but_not_get,
        the_access_rule_holds_in_every_read,
        every_condition_of_a_filter_holds,
        a_successor_hides_what_it_replaces,
        superseded_by_names_the_newest_successor,
        lists_come_newest_first_in_pages,
        spaces_are_apart;
    filing:
        what_was_filed_comes_in_the_order_of_filing,
        a_changed_memory_keeps_its_turn,
        a_removed_memory_is_filed_anew,
        what_was_filed_passes_the_filter_first;
    tallying:
        tallies_come_by_place_and_kind,
        counts_follow_every_change_of_a_memory,
        counts_follow_what_removes_many_memories,
        counts_change_with_their_batch_or_not_at_all,
        what_expires_is_counted_until_then,
        what_is_apart_is_counted_for_its_tool_set,
        concurrent_writers_are_all_counted,
        a_reload_changes_no_answer;
    provenance:
        origin_actor_citations_and_attributes_come_back,
        values_of_an_attribute_are_counted_under_the_filter,
        a_title_comes_back_as_it_was_written;
    ownership:
        a_filter_knows_owners_origins_and_tiers,
        a_reader_keeps_to_what_is_shared_and_owned,
        a_successor_hides_for_those_alone_who_may_read_it,
        the_best_admitted_ones_are_found_among_many_better,
        what_is_apart_comes_to_those_alone_who_ask,
        what_is_apart_may_be_asked_of_one_tool_set;
    searching:
        words_are_scored_by_bm25_over_what_the_filter_admits,
        meaning_is_scored_by_cosine_of_the_same_model,
        both_halves_are_united_and_limited,
        ties_break_by_id_and_by_position,
        a_query_of_nothing_finds_nothing,
        every_write_is_found_by_the_next_search,
        vectors_come_back_whole_or_not_at_all,
        memories_without_a_vector_are_named;
    embeddings:
        what_waits_for_a_model_comes_in_the_order_of_filing,
        vectors_of_several_models_stand_beside_each_other,
        passages_have_their_ranges,
        new_passages_have_no_vectors_of_the_old,
        a_model_is_retired_in_steps,
        other_dimensions_of_a_model_are_seen,
        retiring_the_newer_model_leaves_the_older,
        what_is_removed_takes_the_vectors_of_all_models;
    terms:
        required_terms_are_in_the_memory,
        marks_are_named_and_score_nothing,
        the_bound_counts_every_term;
    context:
        neighbours_come_along,
        a_thread_is_one_owners_in_one_space,
        what_the_filter_leaves_out_never_comes_along,
        a_thread_is_scored_as_one_text,
        a_position_counts_once_in_its_thread,
        threads_follow_every_write;
    conversations:
        the_fields_of_conversations_come_back,
        a_filter_knows_owner_tier_and_age,
        a_filter_knows_threads,
        a_position_of_a_thread_is_taken_once,
        a_thread_ends_after_its_last_position,
        accesses_are_counted_beside_the_memory,
        a_census_counts_what_came_in_as_conversation;
    soft_deletion:
        a_softly_deleted_memory_is_in_no_read,
        a_softly_deleted_memory_keeps_its_id,
        a_softly_deleted_successor_hides_nothing,
        a_soft_deletion_keeps_to_its_filter_and_id,
        a_soft_deletion_keeps_to_its_limit,
        offspring_is_softly_deleted_too,
        concurrent_soft_deletions_leave_nothing_behind;
    forgetting:
        a_forgotten_memory_shows_to_those_alone_who_ask,
        a_forgotten_memory_is_there_for_work_on_nobodys_behalf,
        forgetting_and_bringing_back_change_the_next_search,
        a_forgotten_successor_hides_nothing,
        what_is_forgotten_never_comes_along,
        a_census_counts_nothing_that_was_forgotten,
        a_soft_deletion_leaves_what_its_filter_hides,
        what_is_forgotten_goes_with_the_rest;
    partitions:
        a_partition_has_the_work_of_its_spaces,
        work_on_a_partition_leaves_the_others;
    sweeping:
        a_sweep_removes_what_expired_first,
        a_sweep_removes_what_was_softly_deleted_first,
        a_sweep_removes_answers_and_decisions_that_expired,
        a_sweep_removes_audit_entries_and_wipes_before_their_moment,
        what_is_apart_outlives_every_sweep,
        a_large_memory_is_gone_for_all_from_its_first_part_on,
        a_sweep_keeps_to_its_limit_in_all,
        how_far_the_clock_is_trusted_is_kept;
    wiping:
        a_wipe_removes_what_is_not_common_or_came_in_as_conversation,
        a_wipe_takes_the_name_off_what_is_common,
        a_wipe_leaves_a_pseudonym_on_records_that_stay,
        a_wipe_leaves_lines_of_what_was_done_to_others,
        a_wipe_of_one_tool_set_leaves_the_others,
        a_wipe_removes_answers_decisions_and_audit_entries,
        a_wipe_leaves_other_users_and_spaces_alone,
        a_write_begun_before_a_wipe_is_refused,
        no_write_outlives_a_wipe_that_it_overlaps,
        a_wipe_outlives_what_is_audited_later,
        a_wipe_of_one_tool_set_concerns_no_other_one_later;
    jobs:
        a_job_is_leased_once_until_its_lease_runs_out,
        a_job_leased_while_the_clock_ran_ahead_is_free,
        no_lease_is_longer_than_the_limit,
        jobs_come_longest_due_first,
        a_memory_has_at_most_one_job,
        a_job_is_settled_under_its_lease_alone,
        a_job_that_is_tried_again_waits_for_its_time,
        a_released_job_waits_without_a_further_attempt,
        a_failed_job_is_parked,
        a_job_goes_with_its_memory,
        concurrent_leases_share_out_the_jobs,
        a_lease_has_one_holder,
        a_lease_taken_while_the_clock_ran_ahead_is_free;
    cache:
        the_nearest_answer_is_found,
        equally_near_answers_come_newest_first,
        an_answer_is_for_its_owner_alone_until_it_expires,
        an_answer_is_added_once,
        an_answer_to_the_same_question_replaces_the_one_before,
        answers_are_named_and_deleted,
        many_large_answers_are_deleted;
    idempotent_replies:
        a_keyed_answer_comes_back_as_it_was_kept,
        a_live_answer_keeps_its_key,
        an_expired_answer_is_neither_found_nor_in_the_way,
        a_keyed_answer_is_its_owners_alone,
        the_oldest_of_too_many_answers_make_room,
        the_oldest_of_too_large_answers_make_room,
        answers_that_are_gone_take_no_room,
        a_sweep_removes_keyed_answers_that_expired,
        a_wipe_removes_keyed_answers,
        an_answer_goes_with_the_memories_in_it,
        an_answer_that_holds_what_is_gone_is_not_kept,
        one_of_concurrent_answers_is_kept;
    notes:
        a_note_file_comes_back_as_it_was_put,
        soft_deletion_passes_over_notes,
        a_note_file_is_replaced_and_forgotten_by_its_path,
        note_files_come_in_the_order_of_paths,
        a_memory_has_the_file_that_is_not_missing,
        notes_are_the_memories_with_files_that_pass_the_filter,
        a_note_file_outlives_its_memory,
        a_file_that_is_expected_makes_a_note,
        a_note_folder_has_the_identity_noted_last,
        note_files_change_with_their_batch_or_not_at_all;
    facts:
        a_fact_comes_back_as_it_was_put,
        facts_come_in_the_order_of_their_beginnings,
        facts_are_found_by_things_and_triples,
        a_fact_holds_from_its_first_moment_to_its_last,
        a_fact_with_an_open_end_is_there_once,
        a_fact_with_the_same_beginning_and_end_is_there_once,
        one_of_concurrent_facts_is_kept,
        an_end_replaces_the_one_that_is_expected,
        names_are_spelled_as_they_came_first,
        facts_are_counted,
        facts_belong_to_nobody_in_their_space;
    tunnels:
        a_tunnel_comes_back_as_it_was_put,
        a_tunnel_is_replaced_and_deleted_by_its_id,
        a_tunnel_that_changed_is_not_replaced,
        concurrent_changes_of_a_tunnel_lose_nothing,
        a_tunnel_leads_to_memories_that_are_there,
        a_tunnel_loses_memories_that_are_removed,
        a_tunnel_keeps_memories_that_are_there,
        a_wipe_takes_the_owner_off_tunnels;
    settings:
        a_setting_is_its_owners_alone,
        a_setting_is_replaced_with_its_batch_or_not_at_all,
        a_wipe_removes_settings;
    sources:
        a_source_file_comes_back_as_it_was_put,
        what_is_known_of_a_source_file_is_expected,
        concurrent_readers_of_a_source_file_lose_nothing,
        source_files_come_in_the_order_of_paths,
        pending_sources_come_from_every_collection,
        two_machines_have_files_at_the_same_path,
        pending_sources_are_those_of_one_machine,
        a_source_file_is_forgotten_by_its_collection_and_path;
    rebuildable:
        what_is_rebuildable_is_there_at_once,
        what_is_rebuildable_happens_whole_or_not_at_all,
        concurrent_commits_of_both_kinds_lose_nothing;
    handles:
        every_handle_sees_what_another_wrote,
        a_secret_is_one_stores_alone;
    decisions:
        a_decision_is_replaced_under_its_key,
        an_expired_decision_counts_as_absent,
        a_decision_is_its_owners_alone;
    tombstones:
        a_tombstone_comes_back_as_it_was_put,
        tombstones_come_in_the_order_of_their_hashes,
        a_tombstone_is_put_and_lifted_with_its_batch_or_not_at_all,
        tombstones_outlive_wipes_and_sweeps,
        salts_are_those_of_a_space,
        memories_are_found_by_their_whole_text;
    archives:
        what_was_put_is_archived_as_it_was_put,
        an_archive_goes_space_by_space_and_kind_by_kind,
        what_is_gone_is_in_no_archive,
        an_archive_is_of_one_moment,
        an_error_ends_an_archive,
        what_is_brought_back_takes_the_place_of_nothing,
        what_is_brought_back_takes_the_place_of_what_is_gone,
        numbers_that_no_ranking_can_reckon_with_are_refused;
    audit:
        audit_entries_come_back_in_order,
        every_condition_of_an_audit_query_holds,
        audit_entries_come_in_pages,
        an_audit_entry_names_its_records,
        an_audit_number_is_given_once,
        each_space_has_its_audit_numbers;
    tokens:
        a_token_comes_back_as_it_was_added,
        a_token_is_added_once,
        a_revocation_keeps_its_first_moment;
    model:
        random_operations_agree_with_the_naive_store;
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
