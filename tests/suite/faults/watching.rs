//! Idle readers whose watch is taken from them.

use std::thread;

use swarm_tests::faults::watching::{Loss, reaches};

use super::setting::programs;

#[test]
fn a_message_reaches_an_idle_reader_even_if_its_watch_is_lost() {
    let programs = programs();
    // Side by side: some of them wait for the slow sweep.
    thread::scope(|scope| {
        for loss in Loss::ALL {
            let programs = &programs;
            scope.spawn(move || reaches(programs, loss));
        }
    });
}
