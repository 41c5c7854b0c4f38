//! The user's hooks in whole teams: their input, how often they run, and the effect of their output.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, Reply};
use swarm_tests::stage::World;

use crate::scene::{
    runs_once, spawn_args, spawn_over, team_with, world, world_over, world_saying, world_with,
};

/// Every event that is a notification only.
const EVENTS: [&str; 16] = [
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "PermissionRequest",
    "SessionStart",
    "SessionEnd",
    "TeamCreated",
    "TeamDeleted",
    "TeammateSpawned",
    "TeammateDied",
];

/// The fields of every hook input.
const FIELDS: [&str; 11] = [
    "session_id",
    "transcript_path",
    "cwd",
    "permission_mode",
    "team",
    "member",
    "agent_id",
    "agent_type",
    "task",
    "parent",
    "hook_event_name",
];

/// A hook that appends its input to a file, one line per run; a line is one write, so lines are whole.
fn counting(world: &World) -> Value {
    let told = world.directory().join("out/told.jsonl");
    let line = format!("cat >> {}", told.display());
    let hooks: serde_json::Map<String, Value> = EVENTS
        .iter()
        .map(|event| {
            let hook = json!([{"hooks": [{"type": "command", "command": line}]}]);
            ((*event).to_owned(), hook)
        })
        .collect();
    json!({"hooks": hooks})
}

fn told(world: &World) -> Vec<Value> {
    let text =
        std::fs::read_to_string(world.directory().join("out/told.jsonl")).unwrap_or_default();
    // The last line may still be on its way.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}

/// How often each event occurred per member.
fn counts(told: &[Value]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for one in told {
        let who = one["member"].as_str().unwrap_or("nobody");
        let event = one["hook_event_name"].as_str().unwrap();
        *counts.entry(format!("{event} {who}")).or_default() += 1;
    }
    counts
}

fn assert_schema(told: &[Value]) {
    for one in told {
        for field in FIELDS {
            assert!(one.get(field).is_some(), "{field} is missing in {one}");
        }
    }
}

/// A team by hand with one member that makes a task, completes it and ends its turn, and is then shut down.
fn each_event_once(backend: &str) {
    let (_api, world) = world_with(|ask: &Ask| {
        if ask.result_of("t3").is_some() {
            Reply::text("done")
        } else if ask.result_of("t2").is_some() {
            let done = json!({"taskId": "1", "status": "completed", "result": "it works"});
            Reply::tool("t3", "TaskUpdate", done)
        } else if ask.result_of("t1").is_some() {
            Reply::tool(
                "t2",
                "TaskUpdate",
                json!({"taskId": "1", "status": "in_progress"}),
            )
        } else {
            let task = json!({"subject": "Parse dates", "description": "all of them"});
            Reply::tool("t1", "TaskCreate", task)
        }
    });
    let settings = counting(&world);
    world.write("root/settings.json", &settings.to_string());
    world.swarm(&["team", "create", "demo"]).ok();
    let spawn = spawn_args("bob", backend, &[]);
    let prompt = ["--prompt", "go", "--mode", "bypassPermissions"];
    world.swarm(&[&spawn[..], &prompt[..]].concat()).ok();
    world.wait_until("the idle hook", || {
        told(&world)
            .iter()
            .any(|one| one["hook_event_name"] == "TeammateIdle")
    });
    world.swarm(&["shutdown", "bob", "--force"]).ok();
    world.swarm(&["team", "delete", "demo"]).ok();
    let told = told(&world);
    assert_schema(&told);
    let expected: BTreeMap<String, usize> = [
        ("TeamCreated team-lead", 1),
        ("TeammateSpawned bob", 1),
        ("SessionStart bob", 1),
        ("UserPromptSubmit bob", 1),
        ("PreToolUse bob", 3),
        ("PostToolUse bob", 3),
        ("TaskCreated bob", 1),
        ("TaskCompleted bob", 1),
        ("Stop bob", 1),
        ("TeammateIdle bob", 1),
        ("SessionEnd bob", 1),
        ("TeamDeleted team-lead", 1),
    ]
    .map(|(name, times)| (name.to_owned(), times))
    .into();
    assert_eq!(counts(&told), expected);
    for one in &told {
        assert_eq!(one["team"], "demo", "{one}");
        if one["member"] == "bob" {
            assert_eq!(one["agent_id"], "bob@demo", "{one}");
            assert_eq!(one["parent"], "team-lead@demo", "{one}");
            assert!(one["session_id"].is_string(), "{one}");
        }
    }
    let completed = told
        .iter()
        .find(|one| one["hook_event_name"] == "TaskCompleted");
    assert_eq!(completed.unwrap()["task"], "1");
}

#[test]
fn o3_hooks_run_once_per_event_headless() {
    each_event_once("headless");
}

#[test]
fn o3_hooks_run_once_per_event_in_tmux() {
    each_event_once("tmux");
}

#[test]
fn o3_a_death_found_by_several_commands_runs_hooks_once() {
    let (_api, world) = world_saying("done");
    spawn_over(&world, "bob");
    let told_all = counting(&world);
    world.write("root/settings.json", &told_all.to_string());
    let life = world.root().join("teams/demo/swarm/members/bob/life");
    let life: Value = serde_json::from_slice(&std::fs::read(life).unwrap()).unwrap();
    let pid = i32::try_from(life["pid"].as_i64().unwrap()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                world.swarm(&["status"]).ok();
            });
        }
    });
    world.wait_until("the death", || {
        world.swarm(&["status"]).ok();
        !told(&world).is_empty()
    });
    let told = told(&world);
    assert_schema(&told);
    assert_eq!(
        counts(&told),
        BTreeMap::from([("TeammateDied bob".to_owned(), 1)])
    );
}

#[test]
fn a_hook_refuses_a_call_and_the_model_reads_why() {
    let api = runs_once("touch forbidden");
    let world = world_over(&api);
    let guard = "echo no touching >&2; exit 2";
    let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": guard}]}]}});
    world.write("root/settings.json", &hooks.to_string());
    spawn_over(&world, "bob");
    let told = api.wait_for("the result", "bob", |ask| ask.result_of("t1").is_some());
    let (text, failed) = told.ask.result_of("t1").unwrap();
    assert!(
        failed && text.contains("a hook refuses it. no touching"),
        "{text}"
    );
    assert!(!world.project().join("forbidden").exists());
    world.wait_until("the pane's line", || {
        let log = world.swarm(&["logs", "bob"]).stdout;
        log.contains("hook PreToolUse blocks: no touching")
    });
    world.swarm(&["kill", "bob"]).ok();
}

/// Runs a lead whose hook of an event prints this JSON. Returns the exit code, the report, stderr
/// and the number of model requests.
fn run_with_hook(
    event: &str,
    printed: &str,
    flags: &[&str],
) -> (Option<i32>, String, String, usize) {
    let (api, world) = world_with(|ask: &Ask| {
        if ask.result_of("t1").is_some() {
            Reply::text("done")
        } else {
            Reply::tool("t1", "Bash", json!({"command": "ls"}))
        }
    });
    let line = format!("echo '{printed}'");
    let hooks = json!({"hooks": {event: [{"hooks": [{"type": "command", "command": line}]}]}});
    world.write("root/settings.json", &hooks.to_string());
    let model = crate::scene::MODEL;
    let run = world.swarm(&[&["run", "go", "--model", model][..], flags].concat());
    (run.code, run.stdout, run.stderr, api.requests().len())
}

const STOP: &str = r#"{"continue": false, "stopReason": "budget is spent"}"#;

#[test]
fn a_run_that_a_hook_stops_is_not_completed() {
    for (event, asked) in [
        ("SessionStart", 0),
        ("UserPromptSubmit", 0),
        ("PostToolUse", 1),
    ] {
        let (code, stdout, stderr, requests) = run_with_hook(event, STOP, &["--output", "json"]);
        assert_eq!(code, Some(5), "{event}: {stderr}");
        let report: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(report["outcome"], "stopped_by_hook", "{event}: {report}");
        assert_eq!(report["detail"], "budget is spent", "{event}: {report}");
        assert_eq!(requests, asked, "{event}");
    }
}

#[test]
fn the_reason_of_a_hook_that_stops_a_run_is_printed() {
    let (code, _, stderr, _) = run_with_hook("SessionStart", STOP, &[]);
    assert_eq!(code, Some(5), "{stderr}");
    assert!(
        stderr.contains("swarm: a hook stopped the run: budget is spent"),
        "{stderr}"
    );
}

#[test]
fn a_quiet_run_that_a_hook_stops_prints_the_reason_and_no_empty_result() {
    let (code, stdout, stderr, _) = run_with_hook("SessionStart", STOP, &["--quiet"]);
    assert_eq!((code, stdout.as_str()), (Some(5), ""), "{stderr}");
    assert!(
        stderr.contains("swarm: a hook stopped the run: budget is spent"),
        "{stderr}"
    );
}

#[test]
fn a_run_streams_its_events_also_with_the_flag_for_json() {
    let (code, stdout, stderr, _) =
        run_with_hook("Stop", STOP, &["--json", "--output", "stream-json"]);
    assert_eq!(code, Some(0), "{stderr}");
    let lines: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.len() > 1, "{stdout}");
    assert_eq!(lines[lines.len() - 1]["type"], "result");
}

#[test]
fn a_run_whose_stop_hook_stops_the_agent_is_completed_and_says_why() {
    let (code, stdout, stderr, _) = run_with_hook("Stop", STOP, &["--output", "json"]);
    assert_eq!(code, Some(0), "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["outcome"], "completed", "{report}");
    assert_eq!(report["stop_reason"], "budget is spent", "{report}");
}

#[test]
fn a_hook_keeps_a_member_at_work_and_another_takes_a_task_back() {
    let (api, world) = team_with(|ask: &Ask| {
        if ask.has_seen("write the tests too") {
            Reply::text("now with tests")
        } else {
            Reply::text("done")
        }
    });
    let once =
        "if [ ! -e ../out/kept ]; then touch ../out/kept; echo write the tests too >&2; exit 2; fi";
    let hook = |line: &str| json!([{"hooks": [{"type": "command", "command": line}]}]);
    let hooks = json!({"hooks": {"TeammateIdle": hook(once), "TaskCreated": hook("echo no more tasks >&2; exit 2")}});
    world.write("root/settings.json", &hooks.to_string());
    spawn_over(&world, "bob");
    api.wait_for("the second turn", "bob", |ask| {
        ask.has_seen("write the tests too")
    });
    let refused = world.swarm(&["task", "create", "one more"]);
    assert_eq!(refused.code, Some(5), "{}", refused.stderr);
    refused.stderr_has("no more tasks");
    let tasks = world.swarm(&["task", "list", "--json"]).json();
    assert_eq!(tasks.as_array().map(Vec::len), Some(0), "{tasks}");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn hooks_of_a_repository_run_when_it_is_trusted() {
    let (_api, world) = world_saying("done");
    world.commit_project();
    let settings = counting(&world).to_string();
    world.write("project/.claude/settings.json", &settings);
    world.swarm(&["task", "create", "before"]).ok();
    assert!(told(&world).is_empty());
    world.swarm(&["trust"]).ok();
    world.swarm(&["task", "create", "after"]).ok();
    assert_eq!(
        counts(&told(&world)),
        BTreeMap::from([("TaskCreated team-lead".to_owned(), 1)])
    );
}

#[test]
fn a_hook_withholds_a_message_and_its_sender_is_told() {
    let (api, world) = world_saying("done");
    let guard = "if grep -q 'secret is'; then echo no secrets >&2; exit 2; fi";
    let hooks = json!({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": guard}]}]}});
    world.write("root/settings.json", &hooks.to_string());
    spawn_over(&world, "bob");
    for text in ["the secret is 7", "the weather is fine"] {
        world.swarm(&["send", "bob", text]).ok();
    }
    let told = api.wait_for("the second message", "bob", |ask| {
        ask.has_seen("the weather is fine")
    });
    assert!(!told.ask.has_seen("the secret is 7"));
    let notice = world.wait_for("the notice", || {
        let mut mail = world.team("demo").inbox("team-lead");
        mail.retain(|entry| entry["text"].as_str().unwrap().contains("withheld"));
        mail.pop()
    });
    assert_eq!(notice["from"], "bob", "{notice}");
    let text = notice["text"].as_str().unwrap();
    assert!(text.contains("the secret is 7") && text.contains("no secrets"));
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn a_member_that_changes_a_hook_in_its_worktree_changes_nothing() {
    let change = "printf '#!/bin/sh\\necho changed >> \"$CLAUDE_PROJECT_DIR/../out/ran\"\\n' > guard.sh; cat guard.sh";
    let (api, world) = team_with(move |ask: &Ask| {
        if ask.result_of("t2").is_some() {
            Reply::text("done")
        } else if ask.result_of("t1").is_some() {
            Reply::tool("t2", "Bash", json!({"command": "pwd"}))
        } else {
            Reply::tool("t1", "Bash", json!({"command": change}))
        }
    });
    // The script runs in the sandbox.
    let out = world.directory().join("out");
    let settings = format!("[sandbox]\nwrite = [\"{}\"]\n", out.display());
    world.write("root/swarm.toml", &settings);
    let original = "#!/bin/sh\necho original >> \"$CLAUDE_PROJECT_DIR/../out/ran\"\n";
    let script = world.write("project/guard.sh", original);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(script, mode).unwrap();
    let hook = |line: &str| json!([{"hooks": [{"type": "command", "command": line}]}]);
    let hooks = json!({"hooks": {"PreToolUse": hook("./guard.sh"), "PostToolUse": hook("\"$CLAUDE_PROJECT_DIR\"/guard.sh")}});
    world.write("project/.claude/settings.json", &hooks.to_string());
    world.commit_project();
    world.swarm(&["trust"]).ok();
    let spawn = ["spawn", "bob", "--worktree", "--backend", "headless"];
    let rest = ["--model", crate::scene::MODEL, "--prompt", "hello"];
    let mode = ["--mode", "bypassPermissions"];
    world.swarm(&[&spawn[..], &rest, &mode].concat()).ok();
    let told = api.wait_for("the second result", "bob", |ask| {
        ask.result_of("t2").is_some()
    });
    let (text, _) = told.ask.result_of("t1").unwrap();
    assert!(text.contains("echo changed"), "{text}");
    let (text, _) = told.ask.result_of("t2").unwrap();
    assert!(text.contains(".claude/worktrees/bob"), "{text}");
    let ran = std::fs::read_to_string(world.directory().join("out/ran")).unwrap();
    assert_eq!(ran, "original\n".repeat(4));
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn o3_sub_agent_hooks_run_once_at_start_and_stop() {
    let (_api, world) = team_with(|ask: &Ask| {
        let is_sub_agent = ask.messages()[0].to_string().contains("look around");
        match ask.result_of("t1") {
            None if !is_sub_agent => {
                let input = json!({"description": "look", "prompt": "look around", "subagent_type": "general-purpose"});
                Reply::tool("t1", "Agent", input)
            }
            _ => Reply::text("done"),
        }
    });
    world.write("root/settings.json", &counting(&world).to_string());
    spawn_over(&world, "bob");
    world.wait_until("the idle hook", || {
        let idle = |one: &Value| one["hook_event_name"] == "TeammateIdle";
        told(&world).iter().any(idle)
    });
    let told = told(&world);
    assert_schema(&told);
    let of = |event: &str| -> Vec<&Value> {
        let is_it = |one: &&Value| one["hook_event_name"] == event;
        told.iter().filter(is_it).collect()
    };
    let (start, end) = (of("SubagentStart"), of("SubagentStop"));
    assert_eq!((start.len(), end.len(), of("Stop").len()), (1, 1, 1));
    for one in [start[0], end[0]] {
        assert_eq!(one["agent_type"], "general-purpose", "{one}");
        assert_eq!(one["parent"], "bob@demo", "{one}");
        assert_eq!(one["agent_id"], start[0]["agent_id"], "{one}");
        assert!(
            one["agent_id"].is_string() && one["agent_id"] != "bob@demo",
            "{one}"
        );
    }
    assert!(end[0]["agent_transcript_path"].is_string(), "{}", end[0]);
    assert_eq!(end[0]["last_assistant_message"], "done", "{}", end[0]);
    assert_eq!(of("Stop")[0]["agent_id"], "bob@demo");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn a_run_prepares_the_repository_and_its_prompt_may_start_a_skill() {
    let (api, world) = world_saying("done");
    let told_in = format!(
        "cat >> {}",
        world.directory().join("out/told.jsonl").display()
    );
    let hook = json!([{"hooks": [{"type": "command", "command": told_in}]}]);
    let hooks = json!({"hooks": {"Setup": hook, "UserPromptExpansion": hook}});
    world.write("root/settings.json", &hooks.to_string());
    let skill = "---\nname: greet\ndescription: Greets.\n---\nGreet $ARGUMENTS warmly.";
    world.write("root/skills/greet/SKILL.md", skill);
    let run = [
        "run",
        "/greet Ada",
        "--init",
        "--model",
        crate::scene::MODEL,
    ];
    world.swarm(&run).ok();
    let told = told(&world);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_schema(&told);
    assert_eq!(told[0]["hook_event_name"], "Setup");
    assert_eq!(told[0]["trigger"], "init");
    assert_eq!(told[1]["command_name"], "greet");
    assert_eq!(told[1]["command_args"], "Ada");
    let seen = &api.requests()[0].ask;
    assert!(seen.has_seen("Greet Ada warmly."), "{:?}", seen.messages());
    assert!(!seen.has_seen("/greet Ada"), "{:?}", seen.messages());
}

#[test]
fn doctor_names_what_is_wrong_with_a_skill() {
    let world = world();
    world.write("root/skills/Deploy/SKILL.md", "---\nname: Deploy\n---\nx");
    let seen = world.swarm(&["doctor"]);
    for part in [
        "Deploy/SKILL.md: `description` is missing",
        "lowercase letters",
    ] {
        seen.stdout_has(part);
    }
}
