//! Two machines whose link is slow or whose clocks differ, and a hub without room.

use std::time::Duration;

use serde_json::json;
use swarm_hubkit::Link;
use swarm_tests::fake_api::{Ask, FakeApi, Gate, Reply};
use swarm_tests::stage::{Faketime, World};

use crate::machines::{bob, server_of};
use crate::scene::{
    calls_once, column, not_proven, spawn_args, spawn_over, wait_for_no_process, world,
};

/// A member works on the second machine, which reaches the hub at `url`. Nobody is lost.
fn everything_works(first: &World, second: &World, url: &str, api: &FakeApi) {
    let node = second.start(&["node", "join", url, "--name", "box"]);
    first.wait_until("the node has joined", || {
        let nodes = first.swarm(&["node", "list", "--json"]).json();
        column(&nodes, "state") == ["ready"]
    });
    let more = ["--mode", "default", "--prompt", "hello", "--on", "box"];
    first.swarm(&spawn_args("bob", "headless", &more)).ok();
    let asked = first.wait_for("bob asks", || {
        let requests = first.swarm(&["requests", "--json"]).json();
        Some(requests[0]["id"].as_str()?.to_owned())
    });
    second.swarm(&["approve", &asked]).ok();
    let told = api.wait_for("the result", "bob", |ask| ask.result_of("t1").is_some());
    assert!(!told.ask.result_of("t1").unwrap().1);
    assert!(second.project().join("made").exists());

    first.swarm(&["task", "create", "work"]).ok();
    second.swarm(&["task", "claim", "1", "--as", "bob"]).ok();
    let task = first.swarm(&["task", "show", "1", "--json"]).json();
    assert_eq!(task["owner"], "bob", "{task}");
    for (machine, text) in [(second, "from here"), (first, "from afar")] {
        machine.swarm(&["send", "bob", text]).ok();
        api.wait_for("the message", "bob", |ask| ask.has_seen(text));
    }
    let done = ["task", "update", "1", "--status", "completed", "--force"];
    second.swarm(&done).ok();
    first.wait_until("bob is idle", || bob(first)["state"] == "idle");

    let ended = first.swarm(&["shutdown", "bob", "--json"]).json();
    assert_eq!(ended["outcome"], "approved", "{ended}");
    let died = ["log", "--type", "member_died", "--json"];
    assert_eq!(first.swarm(&died).json(), json!([]));
    first.swarm(&["node", "drain", "box"]).ok();
    let node = node.wait();
    node.ok().stdout_has("demo: bob has stopped");
    node.stdout_lacks("joining again");
    for machine in [second, first] {
        machine.swarm(&["team", "delete", "demo", "--force"]).ok();
        wait_for_no_process(machine);
    }
}

#[test]
fn a_member_behind_a_slow_link_works_and_is_not_lost() {
    let api = calls_once("Bash", json!({"command": "touch made"}));
    let (first, second) = (world(), world().with_api(&api));
    let Some(server) = server_of(&first, None) else {
        return;
    };
    let link = Link::to(server.port());
    link.delay(Duration::from_millis(50));
    link.limit(1 << 17);
    everything_works(&first, &second, &link.url(), &api);
}

#[test]
fn machines_whose_clocks_differ_by_ten_minutes_work_together() {
    let Some(faketime) = Faketime::find() else {
        return not_proven("libfaketime is not installed");
    };
    let api = calls_once("Bash", json!({"command": "touch made"}));
    let [first, second] = ["-5m", "+5m"].map(|time| world().with_clock(&faketime, time));
    let second = second.with_api(&api);
    let Some(server) = server_of(&first, None) else {
        return;
    };
    let ahead = |machine: &World| {
        let date = machine.command("date").arg("+%s").output().unwrap();
        let date = String::from_utf8(date.stdout).unwrap();
        date.trim().parse::<i64>().unwrap()
    };
    assert!(ahead(&second) - ahead(&first) > 500);
    everything_works(&first, &second, &server.url(), &api);
}

#[test]
fn a_hub_without_room_refuses_changes_and_members_continue_when_it_has_room_again() {
    let gate = Gate::closed();
    let result = Reply::text("the result").held_by(&gate, 1);
    let api = FakeApi::start(move |ask: &Ask| {
        if ask.news_has("kept") {
            result.clone()
        } else {
            Reply::text("done")
        }
    });
    let (first, other) = (world().with_api(&api), world());
    let config = "jetstream { max_file_store: 1MB }\n";
    let Some(server) = server_of(&first, Some(config)) else {
        return;
    };
    let url = server.url();
    let told =
        |team: &str| format!("hub {url} refused a change of team `{team}`: its storage is full");
    let text = "x".repeat(60_000);
    let fill = || {
        let create = ["team", "create", "other", "--hub", &url];
        other.swarm(&create).ok();
        let refused = other.wait_for("the hub is full", || {
            let sent = other.swarm(&["task", "create", "work", "--description", &text, "--json"]);
            (sent.code != Some(0)).then(|| sent.error(7))
        });
        assert_eq!(refused["message"], told("other"), "{refused}");
        let hint = refused["hint"].as_str().unwrap();
        assert!(hint.contains("raise `max_file`"), "{hint}");
    };
    let make_room = || {
        other.swarm(&["team", "delete", "other", "--force"]).ok();
    };
    spawn_over(&first, "bob");
    first.wait_until("bob is idle", || bob(&first)["state"] == "idle");
    first.swarm(&["send", "bob", "kept"]).ok();
    api.wait_for("the message", "bob", |ask| ask.news_has("kept"));
    fill();
    gate.open();
    let send = ["send", "bob", "refused", "--json"];
    let refused = first.swarm(&send).error(7);
    assert_eq!(refused["message"], told("demo"), "{refused}");
    make_room();
    let results = || {
        let mail = first.swarm(&["inbox", "team-lead", "--json"]).json();
        let texts = column(&mail, "text").into_iter();
        texts.filter(|text| text.contains("the result")).count()
    };
    first.wait_until("the result arrives", || results() > 0);
    first.wait_until("bob is idle", || bob(&first)["state"] == "idle");

    fill();
    // His lease cannot be renewed, and its end cannot be recorded.
    first.wait_until("bob is lost", || bob(&first)["state"] == "dead");
    make_room();
    first.wait_until("bob has parked", || !bob(&first)["parkedOn"].is_null());
    spawn_over(&first, "bob");
    first.swarm(&["send", "bob", "delivered"]).ok();
    let told = api.wait_for("the message", "bob", |ask| ask.news_has("delivered"));
    assert_eq!(told.ask.times_told("kept"), 1);
    assert!(!told.ask.has_seen("refused"));
    assert_eq!(results(), 1);
    first.swarm(&["kill", "bob"]).ok();
    first.swarm(&["team", "delete", "demo", "--force"]).ok();
    wait_for_no_process(&first);
}
