//! Holders of locks that are stopped for long.

use std::thread;
use std::time::Duration;

use swarm_tests::faults::ground::Locking;
use swarm_tests::faults::standstill::{Lock, stand};

use super::setting::programs;

/// Older than any lock may be that is not broken.
const OLD: Duration = Duration::from_mins(1);

fn all(locking: Locking) {
    let programs = programs();
    thread::scope(|scope| {
        for lock in Lock::ALL {
            let programs = &programs;
            scope.spawn(move || stand(programs, lock, locking, Some(OLD)));
        }
    });
}

#[test]
fn d16_waiting_for_a_stopped_holder_times_out_and_its_lock_is_not_taken() {
    all(Locking::Both);
}

#[test]
fn d17_a_stopped_holder_whose_lock_directory_was_taken_meanwhile_writes_nothing() {
    all(Locking::DirectoryOnly);
}
