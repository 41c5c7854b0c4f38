//! Nodes that are killed or cut off while members run on them.

use std::fs::File;

use rustix::process::{Signal, kill_process};
use serde_json::json;
use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::World;

use crate::hub_failures::{LONG, pid_of};
use crate::machines::{Machines, bob, hello_args};
use crate::nodes::{refusal, says_done};
use crate::scene::{spawn_args, wait_for_no_process, world};

/// Lets the node run bob, and waits until he is idle.
fn spawn_on_box(first: &World) {
    first.swarm(&hello_args("bob", &["--on", "box"])).ok();
    first.wait_until("bob is idle", || bob(first)["state"] == "idle");
}

#[test]
fn members_of_a_node_that_is_killed_go_on_and_the_next_one_finds_them() {
    let api = says_done();
    let Some(machines) = Machines::start(world().with_api(&api)) else {
        return;
    };
    let first = &machines.first;
    let node = machines.node(&[]);
    spawn_on_box(first);
    node.signal(Signal::KILL);
    node.wait();
    first.wait_until("the node is lost", || machines.state_of_node() == "lost");
    let another = spawn_args("carl", "headless", &["--on", "box"]);
    assert_eq!(
        refusal(first, &another, 4),
        "no node for `box` takes a member now: box (lost)"
    );
    first.swarm(&["send", "bob", "still there?"]).ok();
    api.wait_for("the message", "bob", |ask| ask.news_has("still there?"));
    let refused = refusal(first, &["kill", "bob"], 5);
    assert!(
        refused.contains("with another config directory"),
        "{refused}"
    );

    let node = machines.node(&[]);
    let found = || node.stdout().contains("1 member already runs here");
    first.wait_until("it finds bob", found);
    let killed = first.swarm(&["kill", "bob", "--json"]).json();
    assert_eq!(killed["node"], "box", "{killed}");
    node.signal(Signal::INT);
    node.wait().ok();
    machines.end();
}

#[test]
fn a_member_of_a_node_that_was_cut_off_parks_and_can_be_killed_from_elsewhere() {
    let api = says_done();
    let Some(machines) = Machines::start(world().with_api(&api)) else {
        return;
    };
    let first = &machines.first;
    let node = machines.node(&[]);
    spawn_on_box(first);
    machines.hub.signal(Signal::STOP);
    first.wait_until("the lease is lost", || {
        node.stdout().contains("joining again")
    });
    // Their last renewals were seconds apart.
    first.wait_until("bob has lost his too", || {
        let mut search = first.command("grep");
        search.args(["-rqs", "its lease was lost"]);
        let found = search.arg(machines.second.root()).status();
        found.is_ok_and(|status| status.success())
    });
    machines.hub.signal(Signal::CONT);
    // Who finds the end of the lease first, before bob says that he parks, does not terminate him.
    drop(machines.second.swarm(&["status"]));
    first.wait_until("it has joined again", || {
        node.stdout().contains("joined again")
    });
    // The first connections after its pause may be lost.
    first.wait_until("the hub answers", || {
        let listed = first.swarm(&["node", "list"]);
        listed.stdout.contains("ready")
    });
    first.wait_until("bob has parked", || !bob(first)["parkedOn"].is_null());
    assert!(
        node.stdout()
            .contains("`swarm spawn bob --on box` continues it"),
        "{}",
        node.stdout()
    );
    first.swarm(&["kill", "bob"]).ok();
    assert_eq!(machines.members(), ["team-lead"]);
    // The next one of his name has not parked when he ends.
    spawn_on_box(first);
    first.swarm(&["shutdown", "bob"]).ok();
    first.wait_until("the node reports the end", || {
        node.stdout().contains("demo: bob has stopped")
    });
    node.signal(Signal::INT);
    node.wait().ok();
    wait_for_no_process(&machines.second);
    machines.end();
}

#[test]
fn a_node_stops_what_a_frozen_member_has_started_when_its_lease_is_over() {
    let api = FakeApi::start(|ask: &Ask| {
        if ask.news_has("work for long") {
            Reply::tool("t1", "Bash", json!({"command": LONG}))
        } else {
            Reply::text("done")
        }
    });
    let Some(machines) = Machines::start(world().with_api(&api)) else {
        return;
    };
    let first = &machines.first;
    let node = machines.node(&[]);
    spawn_on_box(first);
    first.swarm(&["send", "bob", "work for long"]).ok();
    let project = machines.second.project();
    first.wait_until("the call runs", || project.join("started").exists());
    let pid = pid_of(&machines.second, "bob");
    kill_process(pid, Signal::STOP).unwrap();
    // Another machine records his death.
    first.wait_until("he is lost", || bob(first)["state"] == "dead");
    let lock = File::open(project.join("lock")).unwrap();
    first.wait_until("the call has ended", || lock.try_lock().is_ok());
    // His process continues, finds that his lease is over, and parks.
    kill_process(pid, Signal::CONT).unwrap();
    first.wait_until("bob has parked", || !bob(first)["parkedOn"].is_null());
    assert_eq!(api.requests_of("bob").len(), 2, "the turn does not go on");
    first.swarm(&["kill", "bob"]).ok();
    node.signal(Signal::INT);
    node.wait().ok();
    machines.end();
}
