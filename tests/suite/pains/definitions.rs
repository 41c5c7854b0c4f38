//! Definitions of agents: a teammate of a type is what its file says, wherever it runs.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::{InsideTmux, World};

use crate::scene::{
    MODEL, runs_once, spawn_args, team_with, wait_for_state, world_over, world_saying,
};

const REVIEWER: &str = "\
---
name: reviewer
description: Reviews: every change
tools: Read, Grep
disallowedTools: TaskCreate
model: haiku
effort: low
permissionMode: plan
maxTurns: 3
skills: style
memory: project
color: pink
initialPrompt: First look at the notes.
---
You hunt for off-by-one errors.
";

fn read_json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

fn spawn(world: &World, name: &str, more: &[&str]) -> swarm_tests::stage::Finished {
    let mut arguments = vec!["spawn", name, "--backend", "headless", "--json"];
    arguments.extend(more);
    world.swarm(&arguments)
}

#[test]
fn c2_a_teammate_follows_its_definition() {
    let (api, world) = world_saying("here");
    world.write("project/.claude/agents/reviewer.md", REVIEWER);
    world.write(
        "project/.claude/skills/style/SKILL.md",
        "---\nname: style\n---\nNo tabs.",
    );
    world.write(
        "project/.claude/agent-memory/reviewer/MEMORY.md",
        "The tests are slow.\n",
    );
    let spawned = spawn(&world, "ann", &["--agent", "Reviewer", "--prompt", "go"]).json();
    let hello = &spawned["hello"];
    assert_eq!(hello["model"], "anthropic/claude-haiku-4-5");
    assert_eq!(hello["mode"], "plan");
    let report = &hello["definition"];
    assert_eq!(report["agentType"], "reviewer");
    assert_eq!(report["modelSource"], "definition");
    assert_eq!(report["maxTurns"], 3);
    assert_eq!(report["effort"], "low");
    assert_eq!(report["skills"], json!(["style"]));
    assert_eq!(report["initialPrompt"], true);
    assert_eq!(world.team("demo").member("ann").unwrap()["color"], "pink");
    let request = api.wait_for("its first prompt", "ann", |ask| ask.news_has("go"));
    let ask = &request.ask;
    // A memory brings Write and Edit; the tools of a member are there whatever the list says.
    let tools = [
        "Read",
        "Write",
        "Edit",
        "Grep",
        "SendMessage",
        "TaskGet",
        "TaskList",
        "TaskUpdate",
    ];
    let mut offered = ask.tools();
    offered.retain(|tool| *tool != "ExitPlanMode");
    assert_eq!(offered, tools);
    let system = ask.system();
    for text in [
        "You hunt for off-by-one errors.",
        "No tabs.",
        "The tests are slow.",
        "agent-memory/reviewer",
    ] {
        assert!(system.contains(text), "{text} in {system}");
    }
    assert!(ask.news_has("First look at the notes."), "{}", ask.news());
    world.swarm(&["kill", "ann"]).ok();
}

#[test]
fn c2_a_claude_code_definition_is_used_and_spawn_reports_what_is_ignored() {
    let api = runs_once("touch made");
    let world = world_over(&api);
    world.write(
        "project/.claude/agents/creator.md",
        "---\nname: creator\ndescription: Use this agent when asked to \"create\". Examples:\n\n<example>\nContext: A user asks\nuser: \"Create one\"\n<commentary>\nThe user: asks.\n</commentary>\n</example>\n\ncolor: magenta\npermissionMode: auto\ntools: Read, Bash(echo:*)\n---\nYou create.",
    );
    let spawned = world.swarm(&[
        "spawn",
        "ann",
        "--backend",
        "headless",
        "--agent",
        "creator",
        "--prompt",
        "go",
    ]);
    for words in ["`color` is `magenta`", "`permissionMode` is `auto`"] {
        spawned.stderr_has(words);
    }
    spawned.ok();
    let second = api.wait_for("the result", "ann", |ask| ask.result_of("t1").is_some());
    let (result, is_error) = second.ask.result_of("t1").unwrap();
    assert!(
        is_error && result.contains("definition creator limits `Bash` to `Bash(echo:*)`"),
        "{result}"
    );
    let run = ["run", "go", "--model", MODEL, "--mode", "plan"];
    let spawn = [
        "spawn",
        "ann",
        "--backend",
        "headless",
        "--agent",
        "creator",
        "--replace",
    ];
    for words in [
        &spawn[..],
        &run,
        &["agents", "list"],
        &["agents", "show", "creator"],
        &["agents", "show", "creator", "--effective"],
        &["instructions", "--agent", "creator"],
    ] {
        let said = world.swarm(&[words, &["--json"]].concat());
        let warned: Vec<Value> = said.ok().stderr.lines().map(read_json).collect();
        for problem in [
            "creator.md:13: `color` is",
            "creator.md:14: `permissionMode` is",
        ] {
            let says = |line: &&Value| {
                line["warning"]["message"]
                    .as_str()
                    .unwrap()
                    .contains(problem)
            };
            assert_eq!(warned.iter().filter(says).count(), 1, "{}", said.story());
        }
    }
    world
        .swarm(&["agents", "list"])
        .stderr_has("creator.md:13: `color` is `magenta`");
    world
        .swarm(&["agents", "show", "creator", "--effective"])
        .ok()
        .stdout_has("limit:  Bash only as Bash(echo:*)");
    world.swarm(&["kill", "ann"]).ok();
}

#[test]
fn c2_an_impossible_spawn_is_refused_before_anything_is_started() {
    let (_api, world) = world_saying("here");
    world.write("project/.claude/agents/reviewer.md", REVIEWER);
    let error = spawn(&world, "ann", &["--agent", "reviwer"]).error(3);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("general-purpose, reviewer"), "{error}");
    assert_eq!(error["hint"], "did you mean `reviewer`?");
    for (more, code, why) in [
        // The definition requires plan mode, and an unknown model is not replaced by another.
        (&["--mode", "acceptEdits"][..], 5, "limits it to plan"),
        (&["--model", "no/such"], 2, "no/such"),
        // The skill is missing here; the child says so and the spawn is undone.
        (&[], 9, "names the skill `style`"),
    ] {
        let arguments = [&["--agent", "reviewer"], more].concat();
        let error = spawn(&world, "ann", &arguments).error(code);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(why), "{error}");
    }
    assert_eq!(world.team("demo").names(), ["team-lead"]);
    assert_eq!(world.processes(), []);
}

#[test]
fn c1_the_environment_decides_before_call_and_definition() {
    let api = FakeApi::start(|_: &Ask| Reply::text("here"));
    let world = world_over(&api).with_variable("CLAUDE_CODE_SUBAGENT_MODEL", MODEL);
    world.write(
        "project/.claude/agents/cheap.md",
        "---\nname: cheap\ndescription: x\nmodel: haiku\n---\nx",
    );
    let spawned = spawn(&world, "ann", &["--agent", "cheap", "--model", "opus"]).json();
    assert_eq!(spawned["hello"]["model"], MODEL);
    assert_eq!(spawned["hello"]["definition"]["modelSource"], "environment");
    assert_eq!(world.team("demo").member("ann").unwrap()["model"], MODEL);
    world.swarm(&["kill", "ann"]).ok();
}

#[test]
fn c4_a_teammate_is_offered_what_the_table_says_in_every_backend() {
    let (api, world) = world_saying("here");
    let mut offers: Vec<Vec<String>> = Vec::new();
    for (name, backend) in [("ann", "headless"), ("bob", "tmux")] {
        let arguments = spawn_args(name, backend, &["--prompt", "go"]);
        world.swarm(&arguments).ok();
        let request = api.wait_for("its first prompt", name, |ask| ask.news_has("go"));
        offers.push(request.ask.tools().into_iter().map(str::to_owned).collect());
    }
    assert_eq!(offers[0], offers[1]);
    let shown = world
        .swarm(&["agents", "show", "general-purpose", "--effective", "--json"])
        .json();
    assert_eq!(shown["as"], "teammate-process");
    let table: Vec<&Value> = shown["tools"].as_array().unwrap().iter().collect();
    for tool in &offers[0] {
        assert!(
            table.iter().any(|known| *known == tool),
            "{tool} in {table:?}"
        );
    }
    for tool in "Read Write Edit Glob Grep Bash Agent SendMessage TaskUpdate".split(' ') {
        assert!(offers[0].iter().any(|offered| offered == tool), "{tool}");
    }
    world.swarm(&["kill", "--all"]).ok();
}

/// Spawns members of a type with its own model, and looks at the model that each has on record and asks.
fn models_are_chosen(backend: &str, inside: bool) {
    let (api, world) = world_saying("here");
    world.write(
        "project/.claude/agents/cheap.md",
        "---\nname: cheap\ndescription: x\nmodel: haiku\n---\nx",
    );
    let tmux = inside.then(|| InsideTmux::start(&world, 200, 50));
    let variables = tmux.as_ref().map_or(&[][..], |tmux| tmux.variables());
    for (name, call, model, source) in [
        ("ann", &[][..], "claude-haiku-4-5", "definition"),
        ("bob", &["--model", MODEL], "claude-sonnet-4-6", "call"),
    ] {
        let spawn = ["spawn", name, "--agent", "cheap", "--backend", backend];
        let arguments = [&spawn[..], &["--prompt", "go", "--json"], call].concat();
        let spawned = world.start_with(&arguments, variables).wait().json();
        let full = format!("anthropic/{model}");
        assert_eq!(spawned["hello"]["model"], full);
        assert_eq!(spawned["hello"]["definition"]["modelSource"], source);
        assert_eq!(world.team("demo").member(name).unwrap()["model"], full);
        let request = api.wait_for("its first prompt", name, |ask| ask.news_has("go"));
        assert_eq!(request.ask.body["model"], model, "{name}");
    }
    assert_eq!(
        world.own_servers().len(),
        usize::from(backend == "tmux" && !inside)
    );
    world.swarm(&["kill", "--all"]).ok();
}

#[test]
fn c1_an_unusable_model_is_named_with_its_origin() {
    let (_api, world) = world_saying("here");
    world.write(
        "project/.claude/agents/local.md",
        "---\nname: local\ndescription: x\nmodel: openai/tiny\n---\nx",
    );
    let refused = world.swarm(&["spawn", "ann", "--agent", "local"]);
    assert_eq!(refused.code, Some(7), "{}", refused.stderr);
    refused.stderr_has("model openai/tiny from the definition of local: ");
    let refused = world.swarm(&["spawn", "ann", "--model", "gpt-5"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    refused.stderr_has("openai/gpt-5");
}

#[test]
fn c1_call_and_definition_choose_the_model_without_a_terminal() {
    models_are_chosen("headless", false);
}

#[test]
fn c1_call_and_definition_choose_the_model_inside_tmux() {
    models_are_chosen("tmux", true);
}

#[test]
fn c1_call_and_definition_choose_the_model_on_a_server_of_its_own() {
    models_are_chosen("tmux", false);
}

#[test]
fn c2_effort_turn_limit_and_hooks_of_a_definition_apply_to_a_teammate() {
    let (api, world) = team_with(|ask: &Ask| {
        let id = format!("t{}", ask.number);
        Reply::tool(id, "Glob", json!({"pattern": "*"}))
    });
    let ran = world.directory().join("ran");
    let hooks = json!({"PreToolUse": [{"matcher": "Glob", "hooks": [
        {"type": "command", "command": format!("echo ran >> {}", ran.display())},
    ]}]});
    world.write(
        "root/agents/worker.md",
        &format!(
            "---\nname: worker\ndescription: x\neffort: low\nmaxTurns: 2\nhooks: {hooks}\n---\nx"
        ),
    );
    let more = ["--agent", "worker", "--model", MODEL, "--prompt", "go"];
    spawn(&world, "ann", &more).ok();
    wait_for_state(&world, "ann", "idle");
    let requests = api.requests_of("ann");
    assert_eq!(requests.len(), 2, "{}", api.summary());
    for request in &requests {
        assert_eq!(request.ask.body["output_config"]["effort"], "low");
    }
    let told = std::fs::read_to_string(ran).unwrap_or_default();
    assert_eq!(told.lines().count(), 2, "{told}");
    world.swarm(&["kill", "ann"]).ok();
}

#[test]
fn p5_what_is_denied_in_the_leads_directory_is_denied_to_members_and_sub_agents_elsewhere() {
    let (api, world) = team_with(|ask: &Ask| {
        let search = |id: &str, top: &str| {
            Reply::tool(id, "Grep", json!({"pattern": "needle", "path": top}))
        };
        if ask.messages()[0].to_string().contains("errand of ann") {
            if ask.result_of("sub").is_some() {
                return Reply::text("looked");
            }
            return search("sub", "../..");
        }
        if ask.result_of("start").is_some() {
            Reply::text("done")
        } else if ask.result_of("look").is_some() {
            let input = json!({
                "description": "look", "prompt": "errand of ann", "cwd": "inner",
                "subagent_type": "general-purpose",
            });
            Reply::tool("start", "Agent", input)
        } else if ask.result_of("write").is_some() {
            search("look", "..")
        } else {
            let input = json!({"file_path": "../secret/new", "content": "x"});
            Reply::tool("write", "Write", input)
        }
    });
    let rules = json!({"permissions": {"deny": ["Edit(secret/**)", "Read(secret/**)"]}});
    world.write("root/settings.json", &rules.to_string());
    for path in ["secret/key", "sub/inner/secret/key", "sub/open.txt"] {
        world.write(&format!("project/{path}"), "needle\n");
    }
    let more = [
        "--cwd",
        "sub",
        "--mode",
        "bypassPermissions",
        "--prompt",
        "go",
    ];
    spawn(&world, "ann", &[&more[..], &["--model", MODEL]].concat()).ok();
    wait_for_state(&world, "ann", "idle");
    let requests = api.requests();
    let result = |id: &str| requests.iter().find_map(|one| one.ask.result_of(id));
    let (why, refused) = result("write").expect("a result");
    assert!(refused && why.contains("Edit(secret/**)"), "{why}");
    assert!(!world.project().join("secret/new").exists());
    let (found, _) = result("look").expect("a result");
    assert!(found.contains("open.txt"), "{found}");
    // For ann the rules start at the lead's directory and at hers, and not in between or below.
    assert_eq!(found.matches("secret/key").count(), 1, "{found}");
    assert!(found.contains("inner/secret/key"), "{found}");
    let (found, _) = result("sub").expect("a result");
    assert!(
        found.contains("open.txt") && !found.contains("secret/key"),
        "{found}"
    );
    world.swarm(&["kill", "ann"]).ok();
}
