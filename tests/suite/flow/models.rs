//! What agents ask of their models, and what they do when the server has too much to do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Recorded, Reply};

use crate::scene::{
    run_args, spawn_args, spawn_idle, team_with, wait_for_state, world_saying, world_with,
};

const SONNET: &str = "claude-sonnet-4-6";
const HAIKU: &str = "claude-haiku-4-5";

/// The requests for a model.
fn requests_for(api: &FakeApi, model: &str) -> Vec<Recorded> {
    let mut requests = api.requests();
    requests.retain(|request| request.ask.body["model"] == model);
    requests
}

#[test]
fn thinking_and_effort_reach_the_lead_and_its_sub_agents_and_explore_uses_the_small_model() {
    let (api, world) = world_with(|ask: &Ask| {
        if ask.body["model"] == HAIKU {
            return Reply::text("explored");
        }
        let input =
            json!({"description": "look", "prompt": "look around", "subagent_type": "Explore"});
        match ask.result_of("a1") {
            Some(_) => Reply::text("done"),
            None => Reply::tool("a1", "Agent", input),
        }
    });
    let run = run_args("go", &[]);
    let more = ["--effort", "high", "--thinking", "2000"];
    world.swarm(&[&run[..], &more].concat()).ok();
    let thinking = json!({"type": "enabled", "budget_tokens": 2000});
    let lead = requests_for(&api, SONNET);
    assert_eq!(lead.len(), 2, "{}", api.summary());
    for request in &lead {
        assert_eq!(request.ask.body["thinking"], thinking);
        assert_eq!(request.ask.body["output_config"]["effort"], "high");
    }
    let explore = requests_for(&api, HAIKU);
    assert_eq!(explore.len(), 1, "{}", api.summary());
    assert_eq!(explore[0].ask.body["thinking"], thinking);
    assert_eq!(explore[0].ask.body["output_config"], Value::Null);
}

#[test]
fn a_spawned_member_has_the_effort_of_the_flag_and_adaptive_thinking_without_one() {
    let (api, world) = world_saying("hello");
    world.write(
        "root/agents/worker.md",
        "---\nname: worker\ndescription: x\neffort: low\n---\nx",
    );
    let spawn = spawn_args("ann", "headless", &[]);
    let more = ["--agent", "worker", "--effort", "max", "--prompt", "go"];
    world.swarm(&[&spawn[..], &more].concat()).ok();
    wait_for_state(&world, "ann", "idle");
    let request = api.last_of("ann").unwrap();
    assert_eq!(request.ask.body["output_config"]["effort"], "max");
    assert_eq!(request.ask.body["thinking"], json!({"type": "adaptive"}));
    world.swarm(&["kill", "ann"]).ok();
}

#[test]
fn a_rate_limit_of_one_member_holds_for_the_others() {
    const WAIT: Duration = Duration::from_secs(2);
    let is_refused = AtomicBool::new(false);
    let (api, world) = team_with(move |ask: &Ask| {
        if ask.news_has("first errand") && !is_refused.swap(true, Ordering::SeqCst) {
            return Reply::refusal(429).retry_after(WAIT.as_secs().to_string());
        }
        Reply::text("done")
    });
    for name in ["alice", "bob"] {
        spawn_idle(&world, name);
    }
    let begun = Instant::now();
    world.swarm(&["send", "alice", "first errand"]).ok();
    wait_for_state(&world, "alice", "throttled");
    world.swarm(&["send", "bob", "second errand"]).ok();
    wait_for_state(&world, "bob", "throttled");
    let seen = |agent: &str, text: &str| {
        let requests = api.requests_of(agent);
        requests.iter().filter(|one| one.ask.news_has(text)).count()
    };
    assert_eq!(seen("bob", "second errand"), 0, "{}", api.summary());
    api.wait_for("bob's errand", "bob", |ask| ask.news_has("second errand"));
    assert!(begun.elapsed() >= WAIT, "{:?}", begun.elapsed());
    for name in ["alice", "bob"] {
        wait_for_state(&world, name, "idle");
        world.swarm(&["kill", name]).ok();
    }
    assert_eq!(seen("alice", "first errand"), 2, "one refusal, one answer");
    assert_eq!(seen("bob", "second errand"), 1, "no refusal");
    let files = std::fs::read_dir(world.root().join("swarm/backoff")).unwrap();
    assert!(files.flatten().count() >= 1);
}

#[test]
fn a_second_model_answers_while_the_first_one_is_overloaded() {
    let (api, world) = world_with(|ask: &Ask| {
        if ask.body["model"] == SONNET {
            return Reply::refusal(529);
        }
        Reply::text("answered by the second")
    });
    world.write("root/swarm.toml", "[model]\nfallback = \"haiku\"\n");
    let run = world.swarm(&run_args("go", &[]));
    let shown = run.ok();
    assert!(shown.stdout.contains("answered by the second"));
    let notice = "is overloaded; anthropic/claude-haiku-4-5 answers";
    assert!(shown.stderr.contains(notice), "{}", shown.stderr);
    assert_eq!(requests_for(&api, SONNET).len(), 3, "{}", api.summary());
    assert_eq!(requests_for(&api, HAIKU).len(), 1, "{}", api.summary());
}

#[test]
fn status_and_cost_name_the_fallback_model_until_the_turn_ends() {
    let (_api, world) = team_with(|ask: &Ask| {
        if ask.body["model"] == SONNET {
            return Reply::refusal(529);
        }
        match ask.result_of("b1") {
            Some(_) => Reply::text("done"),
            None => Reply::tool("b1", "Bash", json!({"command": "touch made"})),
        }
    });
    world.write("root/swarm.toml", "[model]\nfallback = \"haiku\"\n");
    let ask = ["--mode", "default", "--prompt", "go"];
    crate::scene::spawn_with(&world, "bob", &ask);
    wait_for_state(&world, "bob", "waiting-permission");
    let shown = |command: &str| world.swarm(&[command]).ok().stdout.clone();
    let named = "anthropic/claude-haiku-4-5 answers (fallback)";
    for command in ["status", "cost"] {
        let shown = shown(command);
        assert!(shown.contains(named), "{shown}");
    }
    world.swarm(&["approve"]).ok();
    wait_for_state(&world, "bob", "idle");
    for command in ["status", "cost"] {
        let shown = shown(command);
        assert!(!shown.contains("fallback"), "{shown}");
    }
    world.swarm(&["kill", "bob"]).ok();
}
