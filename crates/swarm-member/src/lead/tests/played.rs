//! A simulated member, for the other tests.

#[test]
#[ignore = "plays a member in the other tests (`--ignored`), and nothing by itself"]
fn played_member() {
    swarm_testkit::play_child();
}
