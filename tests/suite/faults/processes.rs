//! Processes that are killed, frozen and cut short. One round for each fault; `scripts/stress` goes on for fifty.

use swarm_tests::faults::dice::Dice;
use swarm_tests::faults::processes::{
    Activity, Fault, Letters, Termination, Whole, clocks, cut_at, delete_under_spawns, letters,
    one_name, points_of, round, takeover, twins,
};

use super::setting::{SEED, programs};

fn one(fault: Fault) {
    round(&programs(), fault, SEED.of(&format!("{fault:?}")));
}

#[test]
fn l3_nothing_is_left_of_a_member_that_was_killed_or_frozen() {
    one(Fault::KillMember);
    one(Fault::StopMember);
}

#[test]
fn l3_nothing_is_left_of_twenty_grandchildren_in_their_own_sessions() {
    one(Fault::Grandchildren);
}

#[test]
fn l3_nothing_is_left_when_the_spawning_command_was_killed() {
    one(Fault::KillSpawner);
}

#[test]
fn l3_nothing_is_left_when_the_pane_or_the_server_of_tmux_was_killed() {
    one(Fault::ClosePane);
    one(Fault::KillServer);
}

#[test]
fn l3_a_delete_that_is_killed_can_be_called_again_and_needs_no_standard_streams() {
    one(Fault::KillDelete);
    one(Fault::ClosedStreams);
}

#[test]
fn l3_nothing_is_left_of_a_team_that_is_deleted_while_its_members_start() {
    for round in 0..5 {
        delete_under_spawns(&programs(), SEED.of(&format!("delete {round}")));
    }
}

#[test]
fn s12_five_spawns_of_one_name_of_which_some_are_killed_make_one_member() {
    for round in 0..2 {
        one_name(&programs(), SEED.of(&format!("name {round}")));
    }
}

#[test]
fn l11_two_concurrent_creations_of_a_team_make_one_whichever_is_killed() {
    twins(&programs(), SEED.of("twins"), 8);
}

#[test]
fn d4_messages_to_a_lead_that_is_killed_while_reading_arrive_once_and_in_order() {
    let run = Letters {
        letters: 12,
        kills: 4,
    };
    letters(&programs(), run, SEED.of("letters"));
}

fn lose_lead(duty: Activity, blows: &[Termination]) {
    for blow in blows {
        takeover(
            &programs(),
            duty,
            *blow,
            SEED.of(&format!("{duty:?} {blow:?}")),
        );
    }
}

#[test]
fn l9_the_team_of_a_lead_that_is_killed_while_it_spawns_can_be_taken_over() {
    lose_lead(
        Activity::Spawns,
        &[Termination::Kill, Termination::KillGroup],
    );
}

#[test]
fn l9_the_team_of_a_lead_that_is_terminated_while_spawning_can_be_taken_over() {
    lose_lead(
        Activity::Spawns,
        &[
            Termination::Terminate,
            Termination::TerminateAndKill,
            Termination::CloseTerminal,
        ],
    );
}

#[test]
fn l9_requests_to_a_lead_can_be_answered_when_it_is_gone() {
    lose_lead(
        Activity::IsAsked,
        &[
            Termination::Kill,
            Termination::TerminateAndKill,
            Termination::HangUp,
            Termination::CloseTerminal,
        ],
    );
}

#[test]
fn l9_incomplete_worktrees_of_a_killed_lead_are_finished_or_removed() {
    lose_lead(
        Activity::AddsTree,
        &[Termination::Kill, Termination::KillGroup],
    );
}

#[test]
fn l9_no_work_is_lost_when_the_terminal_of_a_lead_that_adds_a_worktree_is_closed() {
    lose_lead(
        Activity::AddsTree,
        &[Termination::CloseTerminal, Termination::TerminateAndKill],
    );
}

/// How many calls of each command are tried.
const CALLS: usize = 3;

#[test]
fn s12_spawn_and_shutdown_can_be_killed_at_any_call() {
    let mut dice = Dice::new(SEED.of("commands"));
    for whole in Whole::ALL {
        let Some(points) = points_of(&programs(), whole) else {
            return;
        };
        let points = dice.sample(&points, CALLS);
        assert_eq!(
            cut_at(&programs(), whole, &points).trials,
            CALLS,
            "{whole:?}"
        );
    }
}

#[test]
fn clock_jumps_lose_nothing_and_stop_no_member() {
    clocks(&programs(), 1, SEED.of("clocks"));
}
