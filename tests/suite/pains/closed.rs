//! A lead that loses its terminal or tmux server or times out: what remains, and how its team continues.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::{Running, Tmux, World};

use crate::scene::{column, demo_run_args, kill_process_of, world_with};

/// What the lead loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// The terminal in which it runs is closed.
    Terminal,
    /// The tmux server in which it runs is killed.
    Server,
    /// Its time is up.
    Time,
}

/// A lead that spawns bob and then waits for a command; bob answers.
fn brain(ask: &Ask) -> Reply {
    let input = json!({"name": "bob", "description": "work", "prompt": "keep the heron in mind"});
    match (ask.agent.as_str(), ask.result_of("spawn")) {
        ("team-lead", None) => Reply::tool("spawn", "Agent", input),
        ("team-lead", Some(_)) => Reply::tool("wait", "Bash", json!({"command": "exec sleep 600"})),
        _ => Reply::text("the heron it is"),
    }
}

enum Lead {
    Command(Running),
    InPane { tmux: Tmux, pane: String, pid: i32 },
}

impl Lead {
    fn start(world: &World, api: &FakeApi, loss: Loss) -> Self {
        if loss == Loss::Time {
            return Self::Command(world.start(&demo_run_args("go", &["--timeout", "5"])));
        }
        let tmux = world.tmux_at(&world.directory().join("sockets/lead"));
        // The server outlives the lead's pane.
        tmux.run(&["new-session", "-d", "-x", "200", "-y", "50", "cat"]);
        let address = format!("ANTHROPIC_BASE_URL={}", api.base_url());
        let (project, program) = (world.project(), world.program("swarm"));
        let new_window = ["new-window", "-d", "-P", "-F", "#{pane_id} #{pane_pid}"];
        let how = [
            "-e",
            &address,
            "-e",
            "ANTHROPIC_API_KEY=sk-test-not-a-key",
            "-c",
            project.to_str().unwrap(),
            "--",
            program.to_str().unwrap(),
        ];
        let made = tmux.run(&[&new_window[..], &how, &demo_run_args("go", &[])].concat());
        let (pane, pid) = made.split_once(' ').unwrap();
        let (pane, pid) = (pane.to_owned(), pid.parse().unwrap());
        Self::InPane { tmux, pane, pid }
    }

    /// Causes the loss and waits for the lead's end.
    fn lose(self, world: &World, loss: Loss) {
        let (tmux, pane, pid) = match self {
            Self::Command(running) => return running.wait().assert_code(6),
            Self::InPane { tmux, pane, pid } => (tmux, pane, pid),
        };
        match loss {
            Loss::Server => tmux.run(&["kill-server"]),
            _ => tmux.run(&["kill-pane", "-t", &pane]),
        };
        world.wait_until("the lead has ended", || {
            let mut living = world.processes().into_iter();
            living.all(|(living, _)| living != pid)
        });
        if loss != Loss::Server {
            tmux.end();
        }
    }
}

fn is_resumed_after(loss: Loss) {
    let (api, world) = world_with(brain);
    let lead = Lead::start(&world, &api, loss);
    let team = world.team("demo");
    api.wait_for("bob's first turn", "bob", |_| true);
    world.wait_until("the turn is over", || {
        team.events("turn_ended")
            .iter()
            .any(|event| event["member"] == "bob")
    });
    let before = team.member("bob").unwrap();
    let pid = team.hello("bob")["pid"].clone();
    lead.lose(&world, loss);
    world.wait_until("bob has parked", || team.state("bob")["state"] == "parked");
    let kept = |key: &str| {
        let now: Value = team.member("bob").unwrap_or_default();
        assert_eq!(now[key], before[key], "{loss:?}: {key}");
    };
    assert_eq!(team.names(), ["team-lead", "bob"], "{loss:?}");
    kept("sessionId");
    assert_eq!(team.hello("bob")["pid"], pid, "{loss:?}: the same process");

    // Its process is lost as well; its conversation is not.
    kill_process_of(&world, "demo", "bob");
    let resumed = world
        .swarm(&["resume", "demo", "--respawn", "--json"])
        .json();
    assert_eq!(column(&resumed["respawned"], "name"), ["bob"], "{resumed}");
    kept("sessionId");
    world.swarm(&["send", "bob", "what was it?"]).ok();
    let asked = api.wait_for("the next request", "bob", |ask| {
        ask.news_has("what was it?")
    });
    assert!(asked.ask.has_seen("keep the heron in mind"), "{loss:?}");
    assert!(
        asked.ask.own_texts().any(|text| text == "the heron it is"),
        "{loss:?}"
    );
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
    assert_eq!(world.processes(), []);
}

#[test]
fn l9_a_closed_terminal_keeps_members_and_their_conversations() {
    is_resumed_after(Loss::Terminal);
}

#[test]
fn l9_a_killed_tmux_server_keeps_members_and_their_conversations() {
    is_resumed_after(Loss::Server);
}

#[test]
fn l9_a_run_that_times_out_keeps_members_and_their_conversations() {
    is_resumed_after(Loss::Time);
}
