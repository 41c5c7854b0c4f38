//! Processes that are killed, frozen and cut short. One round for each fault; `scripts/stress` goes on for fifty.

use std::path::Path;

use swarm_tests::faults::processes::{Fault, round};

use super::setting::{SEED, programs};

fn one(fault: Fault) {
    let links = Path::new(env!("CARGO_TARGET_TMPDIR"));
    round(&programs(), links, fault, SEED.of(&format!("{fault:?}")));
}

#[test]
fn l3_nothing_is_left_of_a_member_that_was_killed_or_frozen() {
    one(Fault::KillMember);
    one(Fault::StopMember);
}

#[test]
fn l3_nothing_is_left_of_twenty_grandchildren_in_sessions_of_their_own() {
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
