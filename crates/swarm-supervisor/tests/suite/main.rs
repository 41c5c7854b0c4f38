//! Spawn, stop and cleanup on real files, with members simulated by threads and processes.
#![expect(clippy::unwrap_used, reason = "tests")]

mod recovery;
mod rollback;
mod spawn;
mod stage;
mod stop;
mod termination;

#[test]
#[ignore = "plays a member in the other tests (`--ignored`), and nothing by itself"]
fn played_member() {
    swarm_testkit::play_child();
}
