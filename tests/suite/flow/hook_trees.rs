//! Worktrees that the user's hooks create and remove, without git.

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::World;

use crate::scene::{
    MODEL, calls_once, runs_once, spawn_over, team_with, wait_for_state, world_over, world_saying,
};

/// Makes `out/trees/NAME` with a file in it, and prints its path after some noise. What it is told is kept.
const CREATE: &str = r#"name=$(tee -a ../out/told | sed 's/.*"name":"\([^"]*\)".*/\1/')
    mkdir -p "../out/trees/$name" && cd "../out/trees/$name" && echo seed > seed.txt && echo noise && pwd -P"#;

/// Takes it away.
const REMOVE: &str =
    r#"rm -rf "$(tee -a ../out/told | sed 's/.*"worktree_path":"\([^"]*\)".*/\1/')""#;

fn hooks(create: &str, remove: &str) -> Value {
    let hook = |line: &str| json!([{"hooks": [{"type": "command", "command": line}]}]);
    json!({"hooks": {"WorktreeCreate": hook(create), "WorktreeRemove": hook(remove)}})
}

/// What the hooks were told: event, name or path, and for whom.
fn told(world: &World) -> Vec<(String, String, Value)> {
    let text = std::fs::read_to_string(world.directory().join("out/told")).unwrap_or_default();
    let lines = text.lines().map(|line| {
        let one: Value = serde_json::from_str(line).unwrap();
        let event = one["hook_event_name"].as_str().unwrap().to_owned();
        let what = one["name"].as_str().or(one["worktree_path"].as_str());
        (event, what.unwrap().to_owned(), one["agent_id"].clone())
    });
    lines.collect()
}

#[test]
fn hooks_create_and_remove_a_members_worktree_without_git() {
    let api = runs_once("pwd; cat seed.txt");
    let world = world_over(&api);
    let settings = hooks(CREATE, REMOVE).to_string();
    world.write("root/settings.json", &settings);
    let tree = world
        .directory()
        .canonicalize()
        .unwrap()
        .join("out/trees/bob");
    let spawn = ["spawn", "bob", "--worktree", "--backend", "headless"];
    let rest = ["--model", MODEL, "--mode", "bypassPermissions"];
    let prompt = ["--prompt", "hello", "--json"];
    let made = world.swarm(&[&spawn[..], &rest, &prompt].concat()).json();
    assert_eq!(made["worktree"]["path"], json!(tree), "{made}");
    assert_eq!(made["worktree"]["byHook"], true, "{made}");
    let asked = api.wait_for("the result", "bob", |ask| ask.result_of("t1").is_some());
    let (text, _) = asked.ask.result_of("t1").unwrap();
    assert!(
        text.contains("seed") && text.contains(&tree.display().to_string()),
        "{text}"
    );
    wait_for_state(&world, "bob", "idle");
    let listed = world.swarm(&["worktree", "list", "--json"]).json();
    assert_eq!(listed[0]["state"], "in-use", "{listed}");
    world
        .swarm(&["worktree", "remove", "bob", "--force"])
        .assert_code(5);

    // It is kept at the end, since only the user knows what it contains.
    let left = world.swarm(&["shutdown", "bob", "--json"]).json();
    assert_eq!(left["worktree"]["kept"], true, "{left}");
    world.swarm(&["worktree", "remove", "bob"]).assert_code(5);
    assert!(tree.join("seed.txt").exists());
    world.swarm(&["worktree", "merge", "bob"]).assert_code(4);
    world.swarm(&["worktree", "remove", "bob", "--force"]).ok();
    assert!(!tree.exists());
    assert_eq!(
        world.swarm(&["worktree", "list", "--json"]).json(),
        json!([])
    );
    let expected = [
        ("WorktreeCreate", "bob".to_owned()),
        ("WorktreeRemove", tree.display().to_string()),
    ]
    .map(|(event, what)| (event.to_owned(), what, json!("bob@demo")));
    assert_eq!(told(&world), expected);
}

#[test]
fn a_spawn_fails_with_the_reason_when_its_hook_creates_no_directory() {
    let (_api, world) = world_saying("done");
    for (create, why) in [
        ("echo no room >&2; exit 1", "no room"),
        ("echo never >&2; exit 2", "never"),
        ("true", "printed no path"),
        ("echo nowhere", "cannot be used"),
        ("pwd", "the project itself"),
    ] {
        let settings = hooks(create, REMOVE).to_string();
        world.write("root/settings.json", &settings);
        let spawn = ["spawn", "bob", "--worktree", "--backend", "headless"];
        let rest = ["--model", MODEL, "--prompt", "hello"];
        let failed = world.swarm(&[&spawn[..], &rest].concat());
        failed.assert_code(5);
        assert!(failed.stderr.contains(why), "{why}: {}", failed.stderr);
        assert_eq!(world.team("demo").names(), ["team-lead"], "{why}");
    }
    assert_eq!(
        world.swarm(&["worktree", "list", "--json"]).json(),
        json!([])
    );
}

#[test]
fn a_failed_spawn_removes_the_directory_of_its_hook() {
    let api = FakeApi::start(|_: &Ask| Reply::text("done"));
    let world = world_over(&api).with_teammate(Path::new("/bin/false"));
    world.write("root/settings.json", &hooks(CREATE, REMOVE).to_string());
    let spawn = ["spawn", "bob", "--worktree", "--backend", "headless"];
    let rest = ["--model", MODEL, "--prompt", "hello"];
    assert_ne!(world.swarm(&[&spawn[..], &rest].concat()).code, Some(0));
    let events: Vec<_> = told(&world).into_iter().map(|(event, ..)| event).collect();
    assert_eq!(events, ["WorktreeCreate", "WorktreeRemove"]);
    assert!(!world.directory().join("out/trees/bob").exists());
}

#[test]
fn hooks_create_the_directories_of_runs_sub_agents_and_agents_that_enter_a_worktree() {
    let (api, world) = team_with(|ask: &Ask| {
        if ask.agent == "bob" {
            return Reply::text("done");
        }
        if ask.messages()[0].to_string().contains("look around") {
            return match ask.result_of("p1") {
                None => Reply::tool("p1", "Bash", json!({"command": "pwd"})),
                Some((text, _)) => Reply::text(text),
            };
        }
        let calls = [
            ("t1", "Bash", json!({"command": "pwd"})),
            (
                "t2",
                "Agent",
                json!({"description": "look", "prompt": "look around", "subagent_type": "general-purpose", "isolation": "worktree"}),
            ),
        ];
        let next = calls
            .into_iter()
            .find(|(id, ..)| ask.result_of(id).is_none());
        match next {
            Some((id, tool, input)) => Reply::tool(id, tool, input),
            None => Reply::text("done"),
        }
    });
    world.write("root/settings.json", &hooks(CREATE, REMOVE).to_string());
    let run = ["run", "go", "--model", MODEL, "--mode", "bypassPermissions"];
    let ran = world.swarm(&[&run[..], &["--worktree", "mine"]].concat());
    ran.ok();
    ran.stderr_has("created by a hook");
    let last = api.requests().pop().unwrap().ask;
    let (own, _) = last.result_of("t1").unwrap();
    assert!(own.contains("out/trees/mine"), "{own}");
    let (of_agent, failed) = last.result_of("t2").unwrap();
    assert!(
        !failed && of_agent.contains("out/trees/agent-"),
        "{of_agent}"
    );
    let made: Vec<_> = told(&world)
        .into_iter()
        .filter(|(event, ..)| event == "WorktreeCreate")
        .collect();
    assert_eq!(made.len(), 2, "{made:?}");
    assert_eq!((made[0].1.as_str(), &made[0].2), ("mine", &Value::Null));
    // What hooks have made is kept until a person says otherwise.
    let listed = world.swarm(&["worktree", "list", "--json"]).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");
    spawn_over(&world, "bob");
    world.swarm(&["kill", "bob"]).ok();
    assert_eq!(told(&world).len(), 2, "who wants none gets none");
}

/// Creates a directory, starts a process outside its process group, and does not exit.
const STUCK: &str =
    "mkdir -p ../out/trees/half; setsid sleep 600 & echo begun > ../out/begun; exec sleep 600";

/// Has a command interrupted while its hook is at work, and asserts that nothing is left of either.
fn interrupt_amid_hook(world: &World, words: &[&str], signal: Signal) {
    world.write("root/settings.json", &hooks(STUCK, REMOVE).to_string());
    let begun = world.directory().join("out/begun");
    let running = world.start(words);
    world.wait_until("the hook", || begun.exists());
    running.signal(signal);
    running.wait().assert_code(130);
    assert_eq!(world.processes(), [], "{words:?}");
    let listed = world.swarm(&["worktree", "list", "--json"]).json();
    assert_eq!(listed, json!([]), "{words:?}");
    // The name is not locked, and the next member gets it.
    world.write("root/settings.json", &hooks(CREATE, REMOVE).to_string());
}

#[test]
fn an_interrupted_spawn_stops_its_hook_and_the_processes_of_the_hook() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let (_api, world) = world_saying("done");
        let spawn = ["spawn", "bob", "--worktree", "--backend", "headless"];
        let rest = ["--model", MODEL, "--prompt", "hello"];
        let words = [&spawn[..], &rest].concat();
        interrupt_amid_hook(&world, &words, signal);
        assert_eq!(world.team("demo").names(), ["team-lead"], "{signal:?}");
        world.swarm(&words).ok();
        world.swarm(&["kill", "bob"]).ok();
    }
}

#[test]
fn an_interrupted_run_stops_worktree_hooks_of_its_own_and_of_an_entered_worktree() {
    let api = calls_once("EnterWorktree", json!({"name": "inner"}));
    let run = ["run", "go", "--model", MODEL, "--mode", "bypassPermissions"];
    for more in [&["--worktree", "mine"][..], &[]] {
        let world = world_over(&api);
        let words = [&run[..], more].concat();
        interrupt_amid_hook(&world, &words, Signal::INT);
        world.swarm(&words).ok();
    }
}
