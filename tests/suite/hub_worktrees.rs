//! Work of a member on another machine comes back to the lead's repository: two worlds, each with a
//! clone and a config directory.

use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::{Running, World};

use crate::hub::free_port_of_a_server;
use crate::pains::worktrees::{commit, git};
use crate::scene::{not_proven, spawn_args, wait_for_no_process, world};

/// Returns the worktrees that a machine lists.
fn listed(machine: &World) -> Value {
    machine.swarm(&["worktree", "list", "--json"]).json()
}

/// The state of bob, as a machine sees it.
fn state(machine: &World) -> Value {
    let status = machine.swarm(&["status", "--json"]).json();
    let members = status["members"].as_array().unwrap();
    let bob = members.iter().find(|member| member["name"] == "bob");
    bob.map_or(Value::Null, |bob| bob["state"].clone())
}

/// Two machines with a team on a hub, whose server the first one runs.
pub(crate) struct Machines {
    pub(crate) first: World,
    pub(crate) second: World,
    hub: Running,
}

impl Machines {
    /// Returns `None` if no server is installed.
    pub(crate) fn with_team(api: &FakeApi) -> Option<Self> {
        let (first, second) = (world().with_api(api), world().with_api(api));
        let port = free_port_of_a_server(&second)?;
        first.write("project/song.txt", "one\ntwo\nthree\n");
        first.commit_project();
        let origin = first.project();
        git(&second, &second.project(), &["init", "-q", "-b", "main"]);
        let pull = ["pull", "-q", origin.to_str().unwrap(), "HEAD"];
        git(&second, &second.project(), &pull);
        let hub = first.start(&["hub", "start", "--port", &port.to_string()]);
        first.wait_until("the hub listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let url = format!("nats://127.0.0.1:{port}");
        let credentials = first.root().join("swarm/hub/credentials");
        let on_hub = [
            "--hub",
            &url,
            "--credentials",
            credentials.to_str().unwrap(),
        ];
        for (machine, word) in [(&first, "create"), (&second, "join")] {
            machine
                .swarm(&[&["team", word, "demo"], &on_hub[..]].concat())
                .ok();
        }
        Some(Self { first, second, hub })
    }

    /// Deletes the team, and proves that nothing is left running.
    pub(crate) fn end(self) {
        for machine in [&self.second, &self.first] {
            machine.swarm(&["team", "delete", "demo", "--force"]).ok();
        }
        wait_for_no_process(&self.second);
        self.hub.signal(Signal::INT);
        self.hub.wait();
        wait_for_no_process(&self.first);
    }
}

#[test]
fn work_of_a_member_on_another_machine_is_merged_on_the_leads() {
    let api = FakeApi::start(|ask: &Ask| {
        let completes = json!({"taskId": "1", "status": "completed", "result": "sung"});
        match ask.result_of("done") {
            None if ask.news_has("finish") => Reply::tool("done", "TaskUpdate", completes),
            _ => Reply::text("I see."),
        }
    });
    let Some(machines) = Machines::with_team(&api) else {
        return not_proven("nats-server is not installed");
    };
    let (first, second) = (&machines.first, &machines.second);
    let more = [
        "--worktree",
        "--mode",
        "bypassPermissions",
        "--prompt",
        "hello",
    ];
    second.swarm(&spawn_args("bob", "headless", &more)).ok();
    first.wait_until("bob is idle", || state(first) == "idle");
    assert_eq!(listed(first), json!([]), "there is no work yet");
    first.swarm(&["task", "create", "sing"]).ok();
    second.swarm(&["task", "claim", "1", "--as", "bob"]).ok();
    let tree = second.project().join(".claude/worktrees/bob");
    commit(second, &tree, "new.txt", "new\n");
    std::fs::write(tree.join("draft.txt"), "not yet\n").unwrap();
    first.swarm(&["send", "bob", "finish"]).ok();
    api.wait_for("the result", "bob", |ask| ask.result_of("done").is_some());
    // Completed there, it is merged here.
    assert!(!second.project().join("new.txt").exists());
    let found = listed(first);
    assert_eq!(found[0]["slug"], "bob", "{found}");
    assert_eq!(found[0]["remote"]["uncommitted"], json!(["draft.txt"]));
    assert_eq!(found[0]["state"], "in-use", "{found}");
    let text = first.swarm(&["worktree", "list"]);
    let words = "1 commit is neither merged nor pushed; uncommitted changes of draft.txt";
    text.stderr_has(words);
    first
        .swarm(&["worktree", "diff", "bob"])
        .ok()
        .stdout_has("+new");
    first
        .swarm(&["review", "bob", "--comment", "new.txt:1", "why?"])
        .ok();
    api.wait_for("the comment", "bob", |ask| ask.news_has("why?"));
    let skipped = first.swarm(&["worktree", "merge", "--all"]);
    skipped.stderr_has("skipped because they are in use: bob");
    let merged = first.swarm(&["worktree", "merge", "bob"]);
    assert!(
        merged.ok().stdout.starts_with("merged worktree-bob into "),
        "{}",
        merged.story()
    );
    let words = "with uncommitted changes that are not included: draft.txt";
    merged.stderr_has(words);
    assert!(first.project().join("new.txt").exists());

    // It is killed, or its machine is gone: what it has published is still there.
    commit(second, &tree, "more.txt", "more\n");
    first.swarm(&["send", "bob", "go on"]).ok();
    first.wait_until("the commit is published", || {
        let found = listed(first);
        found[0]["remote"]["uncommitted"] == json!([])
    });
    first.wait_until("bob is idle", || state(first) == "idle");
    second.swarm(&["kill", "bob"]).ok();
    let found = listed(first);
    assert_eq!(found[0]["state"], "work", "{found}");
    first.swarm(&["worktree", "merge", "--all"]).ok();
    assert!(first.project().join("more.txt").exists());
    assert_eq!(listed(first)[0]["state"], "clean");
    first.swarm(&["worktree", "prune"]).ok();
    assert_eq!(listed(first), json!([]));
    machines.end();
}
