//! What every kind of store promises, and what only the file kind does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::assigning_clones,
    clippy::print_stdout,
    reason = "these functions are tests: they end with a panic and need not be fast; child processes print"
)]

mod calls;
mod claims;
mod deaths;
#[path = "../../../swarm-os/tests/disk/disk_steps.rs"]
mod disk_steps;
mod exchange;
mod files;
mod grants;
mod hub;
mod hub_blobs;
mod hub_failures;
mod hub_limits;
mod hub_mail;
mod hub_scene;
mod hub_security;
mod hub_teams;
mod hub_values;
mod journal;
mod kinds;
mod mail;
mod nodes;
mod notices;
mod presence;
mod rebuild;
mod requests;
mod roster;
mod sessions;
mod spawns;
mod task_graph;
mod tasks;
mod values;
mod watching;
mod world;

/// Schedules of delays, conflicts and lost acknowledgements under which each promise is tested.
const SEEDS: u64 = 6;

/// Makes a test of each promise for each kind of store.
macro_rules! contract {
    ($($subject:ident { $($promise:ident,)* })*) => {
        mod file {$(
            mod $subject {$(
                #[test]
                fn $promise() {
                    crate::$subject::$promise(&crate::kinds::files());
                }
            )*}
        )*}
        mod on_hub {$(
            mod $subject {$(
                #[test]
                fn $promise() {
                    if let Some(world) = crate::hub::hub() {
                        crate::$subject::$promise(&world);
                    }
                }
            )*}
        )*}
        mod memory {$(
            mod $subject {$(
                #[test]
                fn $promise() {
                    crate::$subject::$promise(&crate::kinds::memory());
                }
            )*}
        )*}
        mod disturbed_memory {$(
            mod $subject {$(
                #[test]
                fn $promise() {
                    for seed in 0..crate::SEEDS {
                        crate::$subject::$promise(&crate::kinds::disturbed_memory(seed));
                    }
                }
            )*}
        )*}
    };
}

contract! {
    calls {
        no_change_waits_on_the_callers_thread,
        past_its_deadline_a_call_has_changed_nothing,
        an_interrupted_call_has_changed_nothing,
        a_call_with_a_dropped_future_is_completed_once,
        a_mark_of_a_pause_and_an_answer_wait_like_any_change,
    }
    claims {
        t2_a_blocked_task_can_neither_be_begun_nor_completed,
        t3_completing_the_last_blocker_names_what_it_unblocked_once,
        a_claim_that_finds_nothing_to_do_writes_nothing,
        t1_a_rejected_claim_names_the_owner,
        completing_anothers_task_is_a_conflict_unless_a_person_insists,
        who_is_in_charge_assigns_anew_and_fences_the_old_owner,
        claim_next_prefers_own_tasks_to_tasks_without_owner,
        t1_of_eight_that_claim_a_task_one_gets_it,
        t1_of_several_that_claim_the_next_task_each_gets_another,
        t4_a_claim_and_the_removal_of_its_actor_leave_no_task_behind,
    }
    deaths {
        the_death_of_a_terminated_process_has_its_reported_reason,
        t4_three_deaths_fail_a_task_and_no_late_owner_writes_until_it_is_released,
        a_member_that_stopped_in_order_did_not_die,
        a_member_that_a_person_stops_did_not_die,
        t4_a_late_owner_is_fenced_off,
        a_lead_that_reported_its_end_leaves_the_roster_and_a_crashed_one_stays,
        a_reservation_that_is_not_over_is_left_alone,
        requests_of_the_dead_leave_the_queue,
        mail_to_a_dead_member_waits_for_its_successor,
        l6_of_eight_reconciliations_one_reports_the_death_and_releases_the_tasks,
        an_expired_reservation_of_a_dead_spawner_is_undone,
    }
    exchange {
        a_large_value_is_complete_until_it_is_deleted,
        a_large_value_that_no_branch_names_is_removed_when_it_is_old,
        a_value_above_the_limit_or_without_a_team_is_refused,
        past_its_deadline_a_large_value_has_left_nothing,
        of_two_published_branches_the_newest_wins_and_the_other_bundle_is_gone,
        what_was_merged_stays_noted_when_a_branch_is_published_again,
    }
    grants {
        an_approval_without_the_signature_for_its_own_request_is_rejected,
        a_signature_covers_everything_that_is_granted,
        the_leads_model_grants_no_further_calls,
        each_team_has_its_own_key,
    }
    journal {
        a_follower_sees_every_event_once,
        events_are_found_by_text,
        budgets_of_different_scopes_are_kept_together,
        costs_are_read_once_in_order,
        concurrent_events_are_recorded_once_each,
        a_team_that_does_not_exist_is_not_found_and_not_created,
        a_deleted_team_is_gone_and_its_name_is_free,
    }
    mail {
        a_message_has_the_id_that_its_sender_gave_it,
        d18_prose_that_looks_like_a_frame_stays_prose,
        d3_a_message_to_an_unknown_name_is_refused_and_leaves_nothing,
        d9_of_two_readers_one_gets_each_message,
        looking_acknowledges_nothing,
        d10_beyond_the_cap_a_send_is_refused_but_a_shutdown_request_passes,
        d10_beyond_the_cap_the_programs_news_pass_up_to_twice_as_many,
        mail_is_acknowledged_by_hand_only_while_no_program_reads_it,
        d10_a_message_above_the_bound_is_refused_unless_the_program_writes_it,
        d7_a_message_supersedes_only_unread_ones_of_the_same_sender_and_key,
        d9_mail_of_two_senders_arrives_once_and_in_the_order_of_each,
        d9_mail_is_returned_until_it_is_acknowledged,
        d2_a_delivery_is_recorded_once_and_acknowledges,
        acknowledged_mail_beyond_the_limit_is_archived_oldest_first,
        mail_that_is_read_behind_unread_mail_is_kept_like_any_other,
        a_message_to_many_reaches_each_and_one_failure_does_not_affect_the_others,
        d10_the_cap_is_the_same_for_senders_that_have_sent_before,
        who_has_just_joined_gets_mail_of_those_who_have_sent_before,
        looking_while_mail_is_acknowledged_misses_none,
    }
    nodes {
        a_node_is_one_process_and_is_lost_without_it,
        the_lease_of_a_dead_process_of_this_machine_is_free,
        a_process_is_not_refused_because_of_its_own_lease,
        an_announced_order_is_seen_once_and_only_by_the_process_that_it_was_announced_to,
        of_eight_that_take_an_order_one_gets_it,
        a_withdrawn_order_is_gone_or_cancelled_by_who_carries_it_out,
        a_process_finds_open_orders_and_those_that_it_has_taken,
        only_who_carries_an_order_out_finishes_it,
        an_expired_order_is_not_taken_and_the_next_one_removes_it,
        of_eight_orders_that_spawn_one_name_one_is_placed_until_it_is_over,
        an_order_that_replaces_a_member_withdraws_one_that_nobody_has_taken,
    }
    sessions {
        a_session_is_listed_with_its_host_while_its_process_holds_it,
        frames_are_read_in_order_from_a_position_until_the_session_is_forgotten,
    }
    notices {
        what_a_change_unblocks_is_announced_once_to_its_owner_or_the_lead,
        an_assignment_is_announced_unless_the_task_waits_or_is_done,
        a_full_inbox_gets_the_news_and_an_unblocked_task_names_what_it_builds_on,
    }
    presence {
        a_report_that_is_replaced_meanwhile_is_not_missing_in_a_view,
        the_state_of_a_member_follows_from_lock_and_report,
        a_lead_by_hand_is_not_shown_as_the_process_that_led_before,
        a_lease_is_held_by_one_and_free_again_when_it_is_dropped,
        the_holder_of_a_lease_is_on_record_on_its_machine,
        a_pause_is_kept_for_its_spawn_and_a_second_one_changes_nothing,
    }
    requests {
        exactly_one_of_eight_answers_wins,
        a_request_and_its_notice_are_one_operation_that_can_be_repeated,
        a_withdrawn_request_leaves_the_queue_and_an_answered_one_does_not,
        only_the_call_that_was_shown_is_answered,
        the_journal_has_the_request_its_answer_and_who_answered,
        an_id_that_could_leave_the_directory_is_refused,
        an_unknown_request_is_not_found_and_the_open_ones_are_named,
        the_queue_is_listed_oldest_first_and_a_number_is_given_once,
    }
    roster {
        s12_of_five_spawns_of_one_name_one_gets_the_place,
        s14_of_forty_concurrent_spawns_exactly_the_successful_ones_are_members,
        a_name_is_refused_while_it_or_its_twin_is_in_use,
        the_name_of_a_dead_member_is_taken_while_another_spawns_it,
        a_removed_member_gives_its_open_tasks_back_without_an_attempt,
        the_lead_is_taken_over_only_from_the_dead,
        colours_differ_while_there_are_enough,
        a_respawn_carries_on_colour_and_conversation,
        a_removed_member_is_remembered_and_its_mail_is_kept,
        of_two_that_remove_a_member_one_reports_it,
        the_end_of_a_member_is_in_the_journal_once_it_has_left,
        beyond_the_limit_of_members_nobody_joins_but_the_dead_do_not_count,
    }
    spawns {
        a_committed_spawn_is_a_full_member,
        a_held_name_says_by_whom_and_after_the_spawners_death_for_how_long,
        an_aborted_spawn_leaves_roster_and_inbox_as_before,
        an_aborted_respawn_brings_the_dead_member_and_its_mail_back,
        a_prompt_for_a_full_inbox_undoes_the_reservation,
        of_commit_and_abort_one_wins,
    }
    tasks {
        t6_the_journal_alone_gives_the_whole_list_again,
        one_bad_task_among_many_makes_none,
        deleting_a_task_takes_its_edges_along_and_unblocks,
        metadata_is_merged_and_ours_is_not_for_sale,
        every_change_of_state_is_in_the_journal,
        a_task_with_checks_is_completed_only_by_passed_runs_of_all_of_them,
        a_long_list_is_made_in_one_call_and_waits_for_tasks_that_were_there,
        numbers_are_given_once,
    }
    watching {
        a_change_of_each_topic_is_noticed,
        the_deletion_of_the_team_is_noticed,
        of_two_readers_that_watch_one_gets_each_message,
    }
}
