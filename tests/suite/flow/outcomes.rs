//! How a run can end.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Gate, Reply, Script, Step};
use swarm_tests::faults::others::refresh;
use swarm_tests::stage::{Running, World};

use crate::scene::{
    MODEL, kill_process_of, run_args, signal_member, wait_until_gone, world, world_with,
};

/// A lock is waited for 20 s; Ctrl-C does not wait for it.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

fn arguments<'a>(prompt: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    run_args(prompt, &[&["--mode", "bypassPermissions"], more].concat())
}

/// The one team that a run made for itself.
fn own_team(world: &World) -> String {
    let names = std::fs::read_dir(world.root().join("teams"))
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<String> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    names.remove(0)
}

/// A run with one teammate, which is in the middle of a turn and stays there until the gate opens.
fn with_busy_mate(gate: &Gate) -> (World, FakeApi, Running) {
    with_mate(Reply::text("at last").held_by(gate, 1))
}

/// A run with one teammate, whose first answer of the model is this one.
fn with_mate(stays: Reply) -> (World, FakeApi, Running) {
    let script = Script::new()
        .agent(
            "team-lead",
            [
                Step::says(Reply::tool(
                    "spawn",
                    "Agent",
                    json!({"name": "bob", "description": "work", "prompt": "work for long"}),
                )),
                Step::says(Reply::text("bob works")),
                Step::says(Reply::text("bob is no more")).once_seen("bob"),
            ],
        )
        .agent("bob", [Step::says(stays)]);
    let (api, world) = world_with(script);
    let running = world.start(&arguments("have bob work", &["--output", "json"]));
    api.wait_for("bob's turn", "bob", |_| true);
    api.wait_for("the lead's second request", "team-lead", |ask| {
        ask.number == 2
    });
    (world, api, running)
}

#[test]
fn without_a_team_the_first_named_agent_makes_one_and_rm_removes_it() {
    let script = || {
        let spawn = json!({"name": "bob", "description": "work", "prompt": "hello"});
        Script::new().agent(
            "team-lead",
            [
                Step::says(Reply::tool("spawn", "Agent", spawn)),
                Step::says(Reply::text("waiting")),
                Step::says(Reply::text("all done")),
            ],
        )
    };
    let (_api, world) = world_with(script());
    let report = world.swarm(&arguments("go", &["--output", "json"])).json();
    let team = own_team(&world);
    let digits = team.strip_prefix("session-").unwrap();
    assert!(
        digits.len() == 8 && digits.chars().all(|c| c.is_ascii_hexdigit()),
        "{team}"
    );
    assert_eq!(report["team"], team.as_str());
    world.swarm(&["team", "delete", &team, "--purge"]).ok();
    world.swarm(&arguments("go", &["--rm"])).ok();
    assert_eq!(world.swarm(&["team", "list", "--json"]).json(), json!([]));
}

#[test]
fn a_refusal_by_the_model_ends_the_run_with_its_message() {
    let (api, world) = world_with(|_: &Ask| Reply::refusal(401));
    let finished = world.swarm(&arguments("go", &[]));
    finished.assert_code(9);
    assert!(
        finished.stderr.contains("authentication_error") || finished.stderr.contains("401"),
        "{}",
        finished.story()
    );
    assert_eq!(api.requests().len(), 1, "a wrong key is not tried again");
}

#[test]
fn a_request_to_an_overloaded_model_is_retried() {
    let (api, world) = world_with(|ask: &Ask| match ask.number {
        1 => Reply::refusal(529).retry_after("0"),
        2 => Reply::text("half an ans").fails_in_stream(3, "overloaded_error"),
        3 => Reply::text("half an ans").cut_after(3),
        _ => Reply::text("a whole answer"),
    });
    let finished = world.swarm(&arguments("go", &[]));
    assert_eq!(finished.ok().stdout.trim(), "a whole answer");
    assert_eq!(api.requests().len(), 4);
}

#[test]
fn ctrl_c_shuts_the_team_down_gracefully() {
    let gate = Gate::closed();
    let (world, _api, running) = with_busy_mate(&gate);
    let team = own_team(&world);
    running.signal(Signal::INT);
    world.wait_until("bob is asked to stop", || {
        !world.team(&team).events("shutdown_requested").is_empty()
    });
    gate.open();
    let finished = running.wait();
    finished.assert_code(130);
    assert_eq!(world.processes(), []);
    assert_eq!(
        world.team(&team).events("member_stopped").len(),
        1,
        "{}",
        world.report()
    );
    assert_eq!(world.team(&team).names(), ["team-lead"]);
}

#[test]
fn ctrl_c_stops_a_lead_whose_inbox_is_locked_by_another_program() {
    let (talks, thinks) = (Gate::closed(), Gate::closed());
    let create = json!({"team_name": "demo"});
    let (api, world) = world_with(Script::new().agent(
        "team-lead",
        [
            Step::says(Reply::tool("create", "TeamCreate", create)),
            Step::says(Reply::text("there is a team").held_by(&talks, 1)),
            Step::says(Reply::text("never").held_by(&thinks, 1)),
        ],
    ));
    let running = world.start(&arguments("create a team", &[]));
    api.wait_for("the team", "team-lead", |ask| ask.number == 2);
    world.swarm(&["send", "team-lead", "hello"]).ok();
    let inbox = world.team("demo").inbox_path("team-lead");
    let lock = inbox.with_extension("json.lock");
    world.wait_for("the lock", || std::fs::create_dir(&lock).ok());
    let _fresh = refresh(&lock);
    talks.open();
    // The message is in the transcript; now it is to be marked as read.
    api.wait_for("the message", "team-lead", |ask| ask.number == 3);
    let began = Instant::now();
    running.signal(Signal::INT);
    running.wait().assert_code(130);
    assert!(began.elapsed() < ENDS_WITHIN, "it has waited");
    assert!(world.team("demo").has_unread("team-lead"), "it is kept");
}

#[test]
fn sigterm_stops_a_teammate_that_waits_for_a_lock_of_another_program() {
    let gate = Gate::closed();
    let task = json!({"subject": "a task", "description": "for later"});
    let (world, _api, running) =
        with_mate(Reply::tool("create", "TaskCreate", task).held_by(&gate, 1));
    let team = own_team(&world);
    let lock = world.team(&team).tasks_directory().join(".lock.lock");
    world.wait_for("the lock", || std::fs::create_dir(&lock).ok());
    let fresh = refresh(&lock);
    gate.open();
    world.wait_until("bob waits for the lock", || {
        let detail = world.team(&team).state("bob")["detail"].to_string();
        detail.contains("TaskCreate")
    });
    let began = Instant::now();
    let pid = signal_member(&world, &team, "bob", Signal::TERM);
    wait_until_gone(&world, pid);
    assert!(began.elapsed() < ENDS_WITHIN, "it has waited");
    assert_eq!(world.team(&team).tasks(), [] as [Value; 0]);
    drop(fresh);
    std::fs::remove_dir(&lock).unwrap();
    // Without bob the run may end by itself before the signal.
    running.signal(Signal::INT);
    running.wait();
}

#[test]
fn a_second_ctrl_c_kills_the_team() {
    let gate = Gate::closed();
    let (world, _api, running) = with_busy_mate(&gate);
    running.signal(Signal::INT);
    world.wait_until("it has heard", || running.stderr().contains("Ctrl-C"));
    running.signal(Signal::INT);
    running.wait().assert_code(130);
    assert_eq!(world.processes(), []);
}

#[test]
fn ctrl_c_ends_a_run_whose_task_list_is_locked_by_another_program() {
    // The end of the run waits for locks up to its deadline; once killed, it does not wait.
    for (signals, ends_within) in [
        (1, Duration::from_secs(3)),
        (2, Duration::from_millis(1500)),
    ] {
        let gate = Gate::closed();
        let (world, _api, running) = with_busy_mate(&gate);
        let team = own_team(&world);
        let lock = world.team(&team).tasks_directory().join(".lock.lock");
        world.wait_for("the lock", || std::fs::create_dir(&lock).ok());
        let fresh = refresh(&lock);
        let mut began = Instant::now();
        running.signal(Signal::INT);
        if signals == 2 {
            world.wait_until("it has heard", || running.stderr().contains("Ctrl-C"));
            began = Instant::now();
            running.signal(Signal::INT);
        }
        let finished = running.wait();
        finished.assert_code(130);
        let took = began.elapsed();
        assert!(took < ends_within, "{took:?} after {signals} signals");
        assert_eq!(world.processes(), []);
        let report: Value = serde_json::from_str(&finished.stdout).unwrap();
        let why = report["unrecorded"].as_str().unwrap();
        assert!(why.contains(".lock"), "{why}");
        assert_eq!(report["members"][0]["end"], "stopped");
        drop(fresh);
        std::fs::remove_dir(&lock).unwrap();
        world.swarm(&["status", "--team", &team]).ok();
        // It has agreed, or was killed.
        let ends = ["member_stopped", "member_died"];
        let ends = ends.map(|event| world.team(&team).events(event).len());
        assert_eq!(ends.iter().sum::<usize>(), 1, "{}", world.report());
    }
}

#[test]
fn ctrl_c_ends_a_run_whose_roster_is_locked_by_another_program() {
    let thinks = Gate::closed();
    let create = json!({"team_name": "demo"});
    let (api, world) = world_with(Script::new().agent(
        "team-lead",
        [
            Step::says(Reply::tool("create", "TeamCreate", create)),
            Step::says(Reply::text("never").held_by(&thinks, 1)),
        ],
    ));
    let running = world.start(&arguments("create a team", &["--output", "json"]));
    api.wait_for("the team", "team-lead", |ask| ask.number == 2);
    let lock = world.team("demo").directory().join("config.json.lock");
    world.wait_for("the lock", || std::fs::create_dir(&lock).ok());
    let fresh = refresh(&lock);
    let began = Instant::now();
    running.signal(Signal::INT);
    let finished = running.wait();
    finished.assert_code(130);
    assert!(began.elapsed() < ENDS_WITHIN, "it has waited");
    let report: Value = serde_json::from_str(&finished.stdout).unwrap();
    let why = report["unrecorded"].as_str().unwrap();
    assert!(why.contains("config.json.lock"), "{why}");
    drop(fresh);
    std::fs::remove_dir(&lock).unwrap();
    // The next command records that the lead has ended: it was not lost.
    let status = world.swarm(&["status", "--team", "demo", "--json"]).json();
    assert_eq!(status["state"], "ended");
    assert!(world.team("demo").config()["leadProcess"].is_null());
}

#[test]
fn ctrl_c_ends_a_busy_member_that_cannot_write_to_the_leads_inbox() {
    let gate = Gate::closed();
    let (world, _api, running) = with_busy_mate(&gate);
    let team = own_team(&world);
    let inbox = world.team(&team).inbox_path("team-lead");
    let lock = inbox.with_extension("json.lock");
    world.wait_for("the lock", || std::fs::create_dir(&lock).ok());
    let _fresh = refresh(&lock);
    let began = Instant::now();
    running.signal(Signal::INT);
    running.wait().assert_code(130);
    assert!(began.elapsed() < ENDS_WITHIN, "it has waited");
    assert_eq!(world.processes(), []);
    assert_eq!(world.team(&team).events("member_stopped").len(), 1);
}

#[test]
fn a_run_is_stopped_at_its_timeout() {
    let gate = Gate::closed();
    let (_api, world) = world_with({
        let gate = gate.clone();
        move |_: &Ask| Reply::text("never").held_by(&gate, 1)
    });
    world
        .swarm(&arguments("go", &["--timeout", "1"]))
        .assert_code(6);
}

#[test]
fn l6_a_lead_hears_once_of_a_teammate_that_died() {
    let gate = Gate::closed();
    let (world, api, running) = with_busy_mate(&gate);
    let team = own_team(&world);
    kill_process_of(&world, &team, "bob");
    let report = running.wait().json();
    assert_eq!(report["result"], "bob is no more");
    assert_eq!(world.team(&team).events("member_died").len(), 1);
    let lead = api.requests_of("team-lead").pop().unwrap().ask;
    let told: Vec<&Value> = lead
        .messages()
        .iter()
        .filter(|message| message["role"] == "user")
        .collect();
    let told = told
        .iter()
        .filter(|message| message.to_string().contains("teammate_id=\\\"system\\\""))
        .count();
    assert_eq!(told, 1, "{:#?}", lead.messages());
}

#[test]
fn stream_json_is_a_line_for_each_event_and_the_report_at_the_end() {
    let (_api, world) = world_with(|ask: &Ask| match ask.result_of("t1") {
        None => Reply::tool("t1", "Bash", json!({"command": "echo hello"})),
        Some(_) => Reply::text("said hello"),
    });
    let lines = world
        .swarm(&arguments("go", &["--output", "stream-json"]))
        .json_lines();
    let kinds: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["type"].as_str())
        .collect();
    assert_eq!(
        kinds.len(),
        lines.len(),
        "every line has a type: {lines:#?}"
    );
    for kind in ["tool_started", "tool_finished", "turn_ended"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["type"], &last["result"]),
        (&json!("result"), &json!("said hello"))
    );
}

#[test]
fn what_is_missing_is_named_before_anything_is_begun() {
    let world = world();
    let no_key = world
        .swarm(&["run", "go", "--model", MODEL, "--json"])
        .error(7);
    assert!(no_key.to_string().contains("ANTHROPIC_API_KEY"), "{no_key}");
    let no_openai = ["run", "go", "--model", "openai/gpt-oss:20b", "--json"];
    let no_openai = world.swarm(&no_openai).error(7).to_string();
    for variable in ["OPENAI_API_KEY", "OPENAI_BASE_URL"] {
        assert!(no_openai.contains(variable), "{no_openai}");
    }
    world.swarm(&["run", "  ", "--model", MODEL]).assert_code(2);
    world
        .swarm(&["run", "go", "--model", "nobody/nothing"])
        .assert_code(2);
    world.swarm(&["run", "go", "--model", "scripted/no-such-file.toml"]);
    assert!(
        !world.root().join("teams").exists()
            || std::fs::read_dir(world.root().join("teams"))
                .unwrap()
                .count()
                == 0
    );
}
