//! A team on a hub.

use std::time::Duration;

use swarm_hubkit::has_server;
use swarm_tests::faults::hub::HubRun;

use super::setting::{SEED, programs};
use crate::scene::not_proven;

#[test]
fn nothing_is_lost_or_done_twice_while_links_are_cut_and_the_hub_and_processes_are_killed() {
    if !has_server() {
        return not_proven("nats-server is not installed");
    }
    let run = HubRun {
        writers: 3,
        messages: 15,
        pause: Duration::from_millis(100),
        racers: 4,
        effort: Duration::from_millis(200),
        cuts: 12,
        long_cuts: 0,
        hub_kills: 2,
        kills: 2,
        nodes: 0,
    };
    let report = run.run(&programs(), SEED);
    assert_eq!(report.acknowledged, 45, "{report:?}");
    assert_eq!(report.tasks, 13, "{report:?}");
}
