//! `swarm run --detach`: a run that goes on without its terminal.

use serde_json::json;
use swarm_tests::fake_api::{Ask, FakeApi, Gate, Reply};

use crate::scene::{MODEL, run_args, wait_for_no_process, world, world_with};

/// Fields of `/proc/PID/stat` after the name: the session is the fourth.
fn session_of(pid: u64) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a running process");
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_whitespace().nth(3).unwrap().parse().unwrap()
}

fn touches(ask: &Ask) -> Reply {
    match ask.result_of("t1") {
        None => Reply::tool("t1", "Bash", json!({"command": "touch made"})),
        Some(_) => Reply::text("it is made"),
    }
}

#[test]
fn a_detached_run_goes_on_in_its_own_session_and_its_questions_wait() {
    let (_api, world) = world_with(touches);
    let started = world
        .swarm(&run_args("make it", &["--detach", "--team", "demo"]))
        .ok()
        .clone();
    assert_eq!(started.stdout, "demo\n");
    for command in [
        "swarm logs --follow",
        "swarm attach",
        "swarm requests",
        "swarm shutdown team-lead",
    ] {
        let line = format!("{command} --team demo");
        started.stderr_has(&line);
    }
    let status = world.swarm(&["status", "--json"]).json();
    assert_eq!(status["state"], "led");
    let pid = status["leadProcess"]["pid"].as_u64().expect("a lead");
    assert_eq!(session_of(pid), pid, "its own session");

    let request = world.wait_for("the question", || {
        let requests = world.swarm(&["requests", "--json"]).json();
        requests.as_array()?.first().cloned()
    });
    assert!(request["deadline"].is_null(), "it waits: {request}");
    let follows = world.start(&["logs", "--follow", "--team", "demo"]);
    world.swarm(&["approve"]).ok();
    let followed = follows.wait().ok().clone();
    followed.stdout_has("touch made");
    assert_eq!(followed.stdout.matches("it is made").count(), 1);
    followed.stderr_has("team-lead has stopped");
    assert!(world.project().join("made").exists());
    wait_for_no_process(&world);
    let kept = world.swarm(&["logs"]).ok().stdout.clone();
    assert!(kept.contains("it is made"), "{kept}");
    let shown = world.swarm(&["attach", "--json"]).json();
    assert_eq!(
        (&shown["name"], &shown["command"][1]),
        (&json!("team-lead"), &json!("logs"))
    );
    let follow_up = run_args("more", &["--continue", "--output", "json"]);
    assert_eq!(world.swarm(&follow_up).json()["team"], "demo");
}

#[test]
fn a_detached_run_is_shut_down_by_name_with_its_team() {
    let (gate, held) = Gate::pair();
    let (api, world) = world_with(move |ask: &Ask| match ask.agent.as_str() {
        "team-lead" if ask.result_of("bob").is_none() => {
            let input = json!({"name": "bob", "description": "work", "prompt": "work for long"});
            Reply::tool("bob", "Agent", input)
        }
        _ => Reply::text("at last").held_by(&held, 1),
    });
    let more = ["--detach", "--mode", "bypassPermissions", "--json"];
    let run = world.swarm(&run_args("work", &more)).json();
    let team = run["team"].as_str().unwrap();
    assert!(team.starts_with("session-"), "{run}");
    let log = std::path::Path::new(run["log"].as_str().unwrap());
    assert!(log.starts_with(world.root()) && log.exists());
    api.wait_for("bob's turn", "bob", |_| true);
    world
        .swarm(&["shutdown", "team-lead", "bob"])
        .assert_code(2);
    let stopped = world.swarm(&["shutdown", "team-lead", "--json"]).json();
    assert_eq!(stopped["outcome"], "approved");
    assert_eq!(world.processes(), []);
    assert_eq!(world.team(team).names(), ["team-lead"]);
    let gone = world.swarm(&["kill", "team-lead", "--json"]).error(3);
    assert!(
        gone["message"]
            .as_str()
            .unwrap()
            .contains("no process leads")
    );
    gate.open();
}

#[test]
fn a_run_that_cannot_start_is_not_detached_and_says_why() {
    let world = world();
    let no_key = ["run", "go", "--model", MODEL, "--detach", "--json"];
    let no_key = world.swarm(&no_key).error(7).to_string();
    assert!(no_key.contains("ANTHROPIC_API_KEY"), "{no_key}");
    let api = FakeApi::start(touches);
    let world = world.with_api(&api);
    world.write(
        "root/settings.json",
        &json!({"hooks": {"UserPromptSubmit": [{"hooks": [
            {"type": "command", "command": "echo not today >&2; exit 2"}]}]}})
        .to_string(),
    );
    let withheld = world.swarm(&run_args("go", &["-d"]));
    withheld.assert_code(9);
    withheld.stderr_has("not today");
    assert_eq!(withheld.stdout, "");
    assert_eq!(world.processes(), []);
    world.swarm(&["team", "create", "taken"]).ok();
    let taken = run_args("go", &["--detach", "--team", "taken", "--json"]);
    world.swarm(&taken).error(4);
    world.swarm(&["logs", "--team", "taken"]).assert_code(3);
}
