//! Checks of tasks with real programs: completion is refused while one fails, and nobody can avoid them.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::World;

use crate::scene::{
    demo_run_args, spawn_with, team_with, wait_for_state, world, world_saying, world_with,
};

const BYPASS: [&str; 4] = ["--mode", "bypassPermissions", "--prompt", "hello"];

fn update(call: &str, status: &str) -> Reply {
    Reply::tool(
        call,
        "TaskUpdate",
        json!({"taskId": "1", "status": status, "result": "it is there"}),
    )
}

/// The result of a call of any agent.
fn result(api: &FakeApi, call: &str) -> (String, bool) {
    let requests = api.requests();
    let mut results = requests
        .iter()
        .filter_map(|asked| asked.ask.result_of(call));
    results
        .next()
        .unwrap_or_else(|| panic!("no result of {call}\n{}", api.summary()))
}

fn check_of(world: &World) -> Value {
    world.team("demo").task(1)["metadata"]["swarm"]["checks"][0].clone()
}

#[test]
fn a_task_is_not_completed_while_a_check_fails() {
    let (api, world) = team_with(|ask: &Ask| {
        let has = |call| ask.result_of(call).is_some();
        if !has("start") {
            update("start", "in_progress")
        } else if !has("early") {
            update("early", "completed")
        } else if !has("work") {
            Reply::tool(
                "work",
                "Bash",
                json!({"command": "echo data > out.txt; cd /"}),
            )
        } else if !has("late") {
            update("late", "completed")
        } else {
            Reply::text("done")
        }
    });
    world
        .swarm(&[
            "task",
            "create",
            "write it",
            "--check",
            "echo looking; cat out.txt",
            "--check",
            "true",
        ])
        .ok();
    spawn_with(&world, "bob", &BYPASS);
    wait_for_state(&world, "bob", "idle");
    let (refusal, is_error) = result(&api, "early");
    assert!(is_error, "{refusal}");
    let begin = "task #1 is not completed: check `echo looking; cat out.txt`, set by person, failed with exit code 1";
    assert!(refusal.starts_with(begin), "{refusal}");
    assert!(
        refusal.contains("looking\ncat: out.txt: No such file"),
        "{refusal}"
    );
    let (done, is_error) = result(&api, "late");
    assert!(!is_error, "{done}");
    let task = world.team("demo").task(1);
    assert_eq!(task["status"], "completed");
    let check = check_of(&world);
    assert_eq!(check["last"]["exitCode"], 0);
    assert_eq!(check["last"]["output"], "looking\ndata");
    let shown = world.swarm(&["task", "show", "1"]).ok().stdout.clone();
    assert!(
        shown.contains("check       `echo looking; cat out.txt` (set by person): passed in 0 s"),
        "{shown}"
    );
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn commands_run_checks_too_and_show_what_failed() {
    let (_api, world) = world_saying("hi");
    let tasks =
        r#"[{"subject": "a", "checks": ["test -f out.txt || { echo it is missing; exit 3; }"]}]"#;
    let file = world.write("tasks.json", tasks);
    let file = file.display().to_string();
    world.swarm(&["task", "create", "--file", &file]).ok();
    let complete = ["task", "update", "1", "--status", "completed", "--force"];
    let refused = world.swarm(&complete);
    assert!(refused.code(5).stderr.contains("failed with exit code 3"));
    assert_eq!(check_of(&world)["last"]["exitCode"], 3);
    let shown = world.swarm(&["task", "show", "1"]).ok().stdout.clone();
    assert!(shown.contains("\n            it is missing"), "{shown}");
    let status = world.swarm(&["status"]).ok().stdout.clone();
    assert!(status.contains("0 of 1 passed"), "{status}");
    let evidence = "check of #1: `test -f out.txt || { echo it is missing; exit 3; }` (set by person): failed with exit code 3";
    assert!(status.contains(evidence), "{status}");
    std::fs::write(world.project().join("out.txt"), "").unwrap();
    world.swarm(&complete).ok();
    assert_eq!(world.team("demo").task(1)["status"], "completed");
}

#[test]
fn an_owner_cannot_avoid_the_checks_of_its_task() {
    let shell = "swarm task update 1 --status completed --result r; swarm task create x --check true; swarm task delete 1";
    let api = FakeApi::start(move |ask: &Ask| {
        let has = |call| ask.result_of(call).is_some();
        if !has("start") {
            update("start", "in_progress")
        } else if !has("delete") {
            update("delete", "deleted")
        } else if !has("clear") {
            let input = json!({"taskId": "1", "metadata": {"swarm": null}});
            Reply::tool("clear", "TaskUpdate", input)
        } else if !has("shell") {
            Reply::tool("shell", "Bash", json!({"command": shell}))
        } else {
            Reply::text("done")
        }
    });
    // In the sandbox, the team's files are hidden from commands.
    let world = world()
        .with_api(&api)
        .with_variable("SWARM_SANDBOX_BASH", "off");
    world.swarm(&["team", "create", "demo"]).ok();
    world
        .swarm(&["task", "create", "write it", "--check", "false"])
        .ok();
    spawn_with(&world, "bob", &BYPASS);
    wait_for_state(&world, "bob", "idle-unreported");
    for (call, word) in [
        ("delete", "has checks set by person"),
        ("clear", "swarm"),
        ("shell", "failed with exit code 1"),
        ("shell", "for people only"),
        ("shell", "has checks set by person"),
    ] {
        let (text, _) = result(&api, call);
        assert!(text.contains(word), "{call}: {text}");
    }
    assert_eq!(world.team("demo").tasks().len(), 1);
    assert_eq!(world.team("demo").task(1)["status"], "in_progress");
    assert_eq!(check_of(&world)["command"], "false");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn an_agent_sets_only_checks_that_it_may_run() {
    let (api, world) = world_with(|ask: &Ask| {
        let create = |call, check| {
            let input = json!({"subject": "s", "description": "d", "checks": [check]});
            Reply::tool(call, "TaskCreate", input)
        };
        if ask.result_of("harmless").is_none() {
            create("harmless", "ls")
        } else if ask.result_of("other").is_none() {
            create("other", "touch /tmp/swarm-check")
        } else {
            Reply::text("done")
        }
    });
    let mut arguments = demo_run_args("go", &["--timeout", "20"]);
    let mode = arguments
        .iter()
        .position(|word| *word == "bypassPermissions");
    arguments[mode.unwrap()] = "dontAsk";
    drop(world.swarm(&arguments));
    let (created, is_error) = result(&api, "harmless");
    assert!(!is_error, "{created}");
    let (refused, is_error) = result(&api, "other");
    assert!(is_error, "{refused}");
    assert!(
        refused.contains("it would run `touch /tmp/swarm-check`"),
        "{refused}"
    );
    let tasks = world.team("demo").tasks();
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    assert_eq!(check_of(&world)["by"], "team-lead");
}

#[test]
fn the_lead_is_told_of_a_member_that_repeats_a_call() {
    let (_api, world) = team_with(|ask: &Ask| match ask.number {
        number @ 1..=6 => {
            let call = format!("again-{number}");
            Reply::tool(call, "Bash", json!({"command": "false"}))
        }
        _ => Reply::text("done"),
    });
    spawn_with(&world, "bob", &BYPASS);
    wait_for_state(&world, "bob", "idle");
    let mail = world.team("demo").inbox("team-lead");
    let texts = mail.iter().filter_map(|mail| mail["text"].as_str());
    let told: Vec<&str> = texts.filter(|text| text.contains("same call")).collect();
    let begin = "bob has made the same call 5 times in a row: Bash {\"command\":\"false\"}";
    assert_eq!(told.len(), 1, "{mail:?}");
    assert!(told[0].starts_with(begin), "{told:?}");
    world.swarm(&["kill", "bob"]).ok();
}
