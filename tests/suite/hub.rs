//! A team on a hub, worked on by two machines: worlds with a home and a config directory each.

use std::net::{TcpListener, TcpStream};

use rustix::process::Signal;
use serde_json::json;
use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::World;

use crate::scene::{column, not_proven, spawn_args, wait_for_no_process, world};

#[test]
fn two_machines_work_on_a_team_on_a_hub() {
    let (first, second) = (world(), world());
    let Some(port) = free_port_of_a_server(&first) else {
        return not_proven("nats-server is not installed");
    };
    let credentials = first.root().join("swarm/hub/credentials");
    let credentials = credentials.to_str().unwrap();
    let api = FakeApi::start({
        let read = Reply::tool("t1", "Read", json!({"file_path": credentials}));
        move |ask: &Ask| match ask.result_of("t1") {
            None => read.clone(),
            Some(_) => Reply::text("done"),
        }
    });
    let second = second.with_api(&api);

    let hub = first.start(&["hub", "start", "--port", &port.to_string()]);
    first.wait_until("the hub listens", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let url = format!("nats://127.0.0.1:{port}");
    assert!(hub.stdout().starts_with(&url), "{}", hub.stdout());
    let taken = first.swarm(&["hub", "start", "--port", &port.to_string(), "--json"]);
    let taken = taken.error(7);
    assert_eq!(
        taken["message"],
        format!("port {port} of 127.0.0.1 is in use")
    );
    let on_hub = ["--hub", &url, "--credentials", credentials];
    let create = [&["team", "create", "demo"], &on_hub[..]].concat();
    first.swarm(&create).ok();
    let join = [&["team", "join", "demo"], &on_hub[..]].concat();
    second.swarm(&join).ok();

    first.swarm(&["task", "create", "from the first"]).ok();
    second.swarm(&["task", "create", "from the second"]).ok();
    for machine in [&first, &second] {
        let tasks = machine.swarm(&["task", "list", "--json"]).json();
        assert_eq!(
            column(&tasks, "subject"),
            ["from the first", "from the second"]
        );
    }

    let more = ["--mode", "bypassPermissions", "--prompt", "hello"];
    second.swarm(&spawn_args("bob", "headless", &more)).ok();
    let told = api.wait_for("the result", "bob", |ask| ask.result_of("t1").is_some());
    let (text, is_error) = told.ask.result_of("t1").unwrap();
    assert!(is_error && text.contains("is protected"), "{text}");
    first.wait_until("bob is idle", || state_of_bob(&first) == "idle");
    let mail = [&first, &second].map(|machine| {
        let mail = machine.swarm(&["inbox", "team-lead", "--json"]).json();
        column(&mail, "from")
    });
    assert!(
        mail.iter()
            .all(|senders| senders.iter().any(|from| from == "bob"))
    );
    first.swarm(&["send", "bob", "from afar"]).ok();
    api.wait_for("the message", "bob", |ask| ask.news_has("from afar"));

    let killed = second.swarm(&["kill", "bob", "--json"]).json();
    assert_eq!(killed["outcome"], "killed", "{killed}");
    assert_eq!(state_of_bob(&first), "absent");
    let deleted = first.swarm(&["team", "delete", "demo", "--force"]);
    deleted.ok();
    assert!(
        deleted.stderr.contains("for all machines"),
        "{}",
        deleted.story()
    );
    second.swarm(&["team", "delete", "demo", "--force"]).ok();
    for machine in [&first, &second] {
        assert!(!machine.root().join("teams/demo").exists());
    }
    wait_for_no_process(&second);
    hub.signal(Signal::INT);
    hub.wait();
    wait_for_no_process(&first);
}

/// The state of bob, as a machine sees it.
fn state_of_bob(machine: &World) -> String {
    let status = machine.swarm(&["status", "--json"]).json();
    let members = status["members"].as_array().unwrap();
    let bob = members.iter().find(|member| member["name"] == "bob");
    let state = bob.map_or("absent", |bob| bob["state"].as_str().unwrap());
    state.to_owned()
}

/// A port for a server; `None` if none is installed.
pub(crate) fn free_port_of_a_server(world: &World) -> Option<u16> {
    let look = "PATH=\"$PATH:/usr/sbin:/usr/local/sbin\" command -v nats-server";
    let found = world.command("sh").args(["-c", look]).output().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    found
        .status
        .success()
        .then(|| free.local_addr().unwrap().port())
}
