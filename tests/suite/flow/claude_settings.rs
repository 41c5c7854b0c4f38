//! Settings that people have from Claude Code.

use serde_json::json;
use swarm_tests::escapes::working_backends;
use swarm_tests::fake_api::{Ask, FakeApi, Reply};

use super::run_in_pane::RunInPane;
use crate::scene::{world, world_with};

#[test]
fn the_key_of_a_helper_is_sent_and_renewed_after_a_refusal_also_by_a_teammate() {
    let api = FakeApi::start(|ask: &Ask| match (ask.agent.as_str(), ask.number) {
        ("team-lead", 1) => Reply::refusal(401),
        ("team-lead", 2) => Reply::tool(
            "bob",
            "Agent",
            json!({"name": "bob", "description": "work", "prompt": "hello"}),
        ),
        _ => Reply::text("done"),
    });
    let world = world().with_variable("ANTHROPIC_BASE_URL", &api.base_url());
    let count = world.directory().join("count");
    let helper = format!("echo x >> {0}; echo sk-$(wc -l < {0})", count.display());
    world.write(
        "root/settings.json",
        &json!({"apiKeyHelper": helper, "model": "claude-opus-4-5"}).to_string(),
    );
    let run = [
        "run",
        "go",
        "--backend",
        "headless",
        "--mode",
        "bypassPermissions",
    ];
    world.swarm(&run).ok();
    let requests = api.requests();
    let keys: Vec<_> = requests
        .iter()
        .map(|one| {
            (
                one.ask.agent.as_str(),
                one.header("x-api-key").unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(&keys[..2], [("team-lead", "sk-1"), ("team-lead", "sk-2")]);
    assert!(keys.contains(&("bob", "sk-3")), "{keys:?}");
    assert_eq!(requests[1].header("authorization"), Some("Bearer sk-2"));
    assert_eq!(requests[0].ask.body["model"], "claude-opus-4-5");
    let doctor = world.swarm(&["doctor"]).stdout;
    assert!(doctor.contains("`apiKeyHelper` prints the key"), "{doctor}");
}

#[test]
fn an_output_style_instructs_the_lead_and_a_missing_one_is_reported() {
    let (api, world) = world_with(|_: &Ask| Reply::text("done"));
    world.write(
        "root/settings.json",
        &json!({"outputStyle": "terse"}).to_string(),
    );
    let run = ["run", "go", "--backend", "headless"];
    let missing = world.swarm(&run);
    let words = "output style `terse` not found";
    missing.ok().stderr_has(words);
    world.write(
        "root/output-styles/terse.md",
        "---\nname: Terse\n---\nAnswer in one line.\n",
    );
    world.swarm(&run).ok();
    let asked = api.requests_of("team-lead").pop().unwrap().ask;
    assert!(asked.system().contains("Answer in one line."));
}

#[test]
fn a_status_line_is_drawn_from_a_command_and_a_repositorys_needs_trust() {
    let run = RunInPane::shell("sh", |_: &Ask| Reply::text("understood"));
    let line = |text: &str| {
        // A repository's command runs in the sandbox.
        let out = run.world.directory().join("out").join(text);
        let command = format!(
            "touch {} 2> /dev/null; printf '{text} '; grep -o '\"display_name\":\"[a-z0-9-]*\"'",
            out.display()
        );
        json!({"statusLine": {"type": "command", "command": command}})
    };
    let mut theirs = line("theirs");
    let hook = json!({"type": "command", "command": "true"});
    theirs["hooks"] = json!({"Stop": [{"hooks": [hook]}]});
    let mine = line("mine").to_string();
    run.world.write("root/settings.json", &mine);
    run.world.commit_project();
    run.world
        .write("project/.claude/settings.json", &theirs.to_string());
    let answers_with = |key: &str, shown: &str| {
        run.shows("2: start without them");
        run.world.wait_until("the lead after the answer", || {
            run.press("C-u");
            run.press(key);
            run.inside.tmux().screen(&run.pane).contains(shown)
        });
        run.press("C-u");
    };
    run.swarm("lead --mode default; echo code $?");
    run.shows("2: start without them");
    run.line("hello");
    run.shows("type 1 or 2");
    answers_with("2", "mine \"display_name\":\"claude-sonnet-4-6\"");
    let screen = run.inside.tmux().screen(&run.pane);
    assert!(!screen.contains("hooks do not run"), "{screen}");
    run.press("C-d");
    run.shows("code 0");
    run.line("clear");
    run.swarm("lead --trust; echo code $?");
    run.shows("theirs \"display_name\"");
    run.press("C-d");
    run.shows("code 0");
    run.line("clear");
    run.swarm("lead --mode default; echo code $?");
    answers_with("1", "theirs \"display_name\"");
    run.press("C-d");
    run.shows("code 0");
    let trusted = run.world.swarm(&["trust", "--list", "--json"]).json();
    assert_eq!(trusted.as_array().map(Vec::len), Some(1), "{trusted}");
    let touched = |text: &str| run.world.directory().join("out").join(text).exists();
    let sandboxed = !working_backends(&run.world.program("swarm")).is_empty();
    assert_eq!((touched("mine"), touched("theirs")), (true, !sandboxed));
}
