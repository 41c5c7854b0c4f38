//! How many answers of a hub commands wait for, one after the other.

use std::time::Duration;

use serde_json::json;
use swarm_hubkit::Link;
use swarm_tests::stage::World;

use crate::machines::{bob, hello_args, member, server_of};
use crate::scene::{calls_once, spawn_args, spawn_over, wait_for_no_process, world};

/// A machine that has joined the team `demo` at a hub.
fn joined(machine: World, url: &str) -> World {
    let join = ["team", "join", "demo", "--hub", url];
    machine.swarm(&join).ok();
    machine
}

#[test]
fn commands_wait_for_few_answers_one_after_the_other() {
    let api = calls_once("Bash", json!({"command": "touch made"}));
    let first = world();
    let Some(server) = server_of(&first, None) else {
        return;
    };
    let link = Link::to(server.port());
    let near = joined(world().with_api(&api), &server.url());
    let far = joined(world().with_api(&api), &link.url());
    near.swarm(&hello_args("eve", &[])).ok();
    let asks = ["--mode", "default", "--prompt", "hello"];
    near.swarm(&spawn_args("bob", "headless", &asks)).ok();
    first.wait_until("eve is idle", || member(&first, "eve")["state"] == "idle");
    let asked = first.wait_for("bob asks", || {
        let requests = first.swarm(&["requests", "--json"]).json();
        Some(requests[0]["id"].as_str()?.to_owned())
    });
    first.swarm(&["task", "create", "work"]).ok();

    // Requests that are sent side by side must not be answered before all are sent.
    link.delay(Duration::from_millis(20));
    let mut too_many = Vec::new();
    let mut wait_at_most = |most: usize, words: &[&str]| {
        drop(link.count_requests());
        far.swarm(words).ok();
        let traffic = link.count_requests();
        if traffic.in_a_row > most {
            too_many.push(format!(
                "{words:?}: {} {:?}",
                traffic.in_a_row, traffic.requests
            ));
        }
    };
    wait_at_most(17, &["status"]);
    wait_at_most(15, &["send", "eve", "hello"]);
    wait_at_most(10, &["inbox", "eve"]);
    wait_at_most(7, &["task", "list"]);
    wait_at_most(17, &["task", "claim", "1", "--as", "eve"]);
    wait_at_most(11, &["requests"]);
    wait_at_most(14, &["approve", &asked]);
    wait_at_most(46, &hello_args("carl", &[]));
    far.wait_until("carl is idle", || member(&first, "carl")["state"] == "idle");
    wait_at_most(26, &["kill", "carl"]);
    wait_at_most(32, &["shutdown", "eve"]);
    near.swarm(&["kill", "bob"]).ok();
    first.swarm(&["team", "delete", "demo", "--force"]).ok();
    for machine in [&near, &far] {
        wait_for_no_process(machine);
    }
    assert!(too_many.is_empty(), "{}", too_many.join("\n"));
}

#[test]
fn a_member_is_shut_down_over_a_link_that_takes_300_ms_each_way() {
    let api = calls_once("Bash", json!({"command": "touch made"}));
    let first = world();
    let Some(server) = server_of(&first, None) else {
        return;
    };
    let link = Link::to(server.port());
    let [theirs, far] = [(); 2].map(|()| joined(world().with_api(&api), &link.url()));
    spawn_over(&theirs, "bob");
    first.wait_until("bob is idle", || bob(&first)["state"] == "idle");
    link.delay(Duration::from_millis(300));
    let ended = far.swarm(&["shutdown", "bob", "--json"]).json();
    assert_eq!(ended["outcome"], "approved", "{ended}");
    assert!(bob(&first).is_null());
    link.delay(Duration::ZERO);
    first.swarm(&["team", "delete", "demo", "--force"]).ok();
    wait_for_no_process(&theirs);
}
