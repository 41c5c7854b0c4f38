//! Locks that were left behind, and several who want them at the same instant.

use swarm_tests::faults::duel::LockContention;
use swarm_tests::faults::ground::Locking;

use super::setting::{SEED, programs};

fn duel(locking: Locking) -> u64 {
    let duel = LockContention {
        breakers: 4,
        rounds: 5,
        lanes: 10,
        locking,
    };
    duel.run(&programs(), SEED.of("duel"))
}

#[test]
fn d16_of_several_processes_that_break_a_lock_one_gets_it() {
    assert_eq!(duel(Locking::Both), 50);
}

#[test]
fn d17_of_several_processes_that_break_a_lock_directory_one_gets_it() {
    assert_eq!(duel(Locking::DirectoryOnly), 50);
}
