//! A member whose agent is a program that speaks Claude Code's stream-json.

use swarm_tests::stage::World;

use super::programs::{CLAUDE_CODE, install};
use crate::scene::{wait_for_no_process, wait_for_state, world};

/// A world with the team `demo` and a fake `claude` on its path.
fn world_with_claude() -> World {
    let world = world();
    install(&world, "claude", CLAUDE_CODE);
    let path = std::env::var("PATH").expect("a path");
    let path = format!("{}:{path}", world.project().display());
    let world = world.with_variable("PATH", &path);
    world.swarm(&["team", "create", "demo"]).ok();
    world
}

#[test]
fn claude_code_answers_mail_asks_through_the_queue_and_keeps_its_session() {
    let world = world_with_claude();
    let log = world.directory().join("tmp/claude.log");
    let variable = format!("CLAUDE_LOG={}", log.display());
    let spawn = ["spawn", "carl", "--runtime", "claude", "--model", "opus"];
    let more = [
        "--backend",
        "headless",
        "--env",
        &variable,
        "--prompt",
        "hello",
    ];
    world.swarm(&[spawn, more].concat()).ok();
    let team = world.team("demo");
    let reports = || team.frames("team-lead", "idle_notification");
    world.wait_until("the first report", || reports().len() == 1);
    assert_eq!(reports()[0]["result"], "claude answer");
    assert_eq!(team.member("carl").expect("carl")["model"], "claude/opus");

    world.swarm(&["send", "carl", "clean up"]).ok();
    wait_for_state(&world, "carl", "waiting-permission");
    world.swarm(&["approve", "carl"]).ok();
    world.wait_until("the second report", || reports().len() == 2);
    assert_eq!(reports()[1]["result"], "cleaned up");
    assert_eq!(team.events("turn_ended")[1]["usage"]["output_tokens"], 2);
    world.swarm(&["mode", "carl", "plan"]).ok();
    world.swarm(&["send", "carl", "make a plan"]).ok();
    world.wait_until("the planned report", || reports().len() == 3);
    world.swarm(&["mode", "carl", "default"]).ok();
    world.swarm(&["kill", "carl"]).ok();

    let again = [
        "spawn",
        "carl",
        "--backend",
        "headless",
        "--env",
        &variable,
        "--prompt",
        "again",
    ];
    world.swarm(&again).ok();
    world.wait_until("the last report", || reports().len() == 4);
    world.swarm(&["shutdown", "carl"]).ok();
    let log = std::fs::read_to_string(&log).expect("the log");
    let modes: Vec<_> = log
        .split("\"subtype\":\"set_permission_mode\"")
        .map(|before| before.contains("\"mode\":\"plan\""))
        .collect();
    assert!(modes.contains(&true), "a changed mode reaches it: {log}");
    let starts: Vec<_> = log
        .lines()
        .filter(|line| line.starts_with("arguments:"))
        .collect();
    assert!(starts[0].contains("--model opus"), "{log}");
    assert!(
        starts[0].contains("--setting-sources user"),
        "not trusted: {log}"
    );
    let session = starts[0].split("--session-id ").nth(1).expect("a session");
    let session = session.split(' ').next().expect("a session");
    assert!(starts[1].contains(&format!("--resume {session}")), "{log}");
    wait_for_no_process(&world);
}

#[test]
fn what_claude_code_uses_is_in_the_cost_and_a_used_up_budget_holds_it() {
    let world = world_with_claude();
    let spawn = ["spawn", "carl", "--runtime", "claude", "--budget"];
    let more = ["10-tokens", "--backend", "headless", "--prompt", "hello"];
    world.swarm(&[spawn, more].concat()).ok();
    let reports = || {
        world
            .team("demo")
            .frames("team-lead", "idle_notification")
            .len()
    };
    world.wait_until("the first report", || reports() == 1);
    let cost = world.swarm(&["cost", "--by", "model", "--json"]).json();
    assert_eq!(
        cost["rows"][0]["model"], "anthropic/claude-opus-4-6",
        "{cost}"
    );
    assert_eq!(cost["total"]["usage"]["output_tokens"], 2, "{cost}");
    world.swarm(&["send", "carl", "more"]).ok();
    world.wait_until("the second report", || reports() == 2);
    world.swarm(&["send", "carl", "too much"]).ok();
    wait_for_state(&world, "carl", "over-budget");
    world
        .swarm(&["continue", "carl", "--budget", "+100-tokens"])
        .ok();
    world.wait_until("the third report", || reports() == 3);
    world.swarm(&["kill", "carl"]).ok();
}

#[test]
fn a_turn_without_a_result_costs_what_its_messages_used() {
    let world = world_with_claude();
    let spawn = ["spawn", "carl", "--runtime", "claude", "--backend"];
    let more = ["headless", "--prompt", "die in the middle"];
    world.swarm(&[&spawn[..], &more].concat()).ok();
    let reports = || {
        let team = world.team("demo");
        team.frames("team-lead", "idle_notification").len()
    };
    world.wait_until("the report", || reports() == 1);
    let cost = world.swarm(&["cost", "--by", "model", "--json"]).json();
    assert_eq!(
        cost["rows"][0]["model"], "anthropic/claude-opus-4-6",
        "{cost}"
    );
    let usage = &cost["total"]["usage"];
    assert_eq!(usage["input_tokens"], 4, "{cost}");
    assert_eq!(usage["output_tokens"], 3, "{cost}");
    world.swarm(&["kill", "carl"]).ok();
}

#[test]
fn the_repository_of_the_member_decides_about_trust() {
    let world = world_with_claude();
    let trusted = world.directory().join("trusted");
    std::fs::create_dir_all(trusted.join(".git")).expect("a repository");
    world
        .swarm(&["trust", trusted.to_str().expect("a path")])
        .ok();
    let log = world.directory().join("tmp/claude.log");
    let variable = format!("CLAUDE_LOG={}", log.display());
    let spawn = |name: &str, more: &[&str]| {
        let spawn: &[&str] = &[
            "spawn",
            name,
            "--runtime",
            "claude",
            "--backend",
            "headless",
        ];
        let prompt = ["--env", &variable, "--prompt", "hello"];
        let starts =
            || std::fs::read_to_string(&log).map_or(0, |log| log.matches("arguments:").count());
        let before = starts();
        world.swarm(&[spawn, &prompt, more].concat()).ok();
        world.wait_until("the start", || starts() > before);
        world.swarm(&["kill", name]).ok();
        let log = std::fs::read_to_string(&log).expect("the log");
        let mut starts = log.lines().filter(|line| line.starts_with("arguments:"));
        starts
            .next_back()
            .expect("a start")
            .contains("--setting-sources")
    };
    let elsewhere = trusted.to_str().expect("a path");
    assert!(spawn("here", &[]), "no trust for the project");
    assert!(!spawn("there", &["--cwd", elsewhere]), "trusted");
    assert!(!spawn("once", &["--trust"]), "trusted by the command");
    let outside = world.directory().join("outside");
    std::fs::create_dir_all(outside.join(".git")).expect("a repository");
    let outside = outside.to_str().expect("a path");
    assert!(
        spawn("away", &["--trust", "--cwd", outside]),
        "another repository"
    );
}

#[test]
fn the_key_is_not_in_the_environment_of_claude_code() {
    let world = world_with_claude().with_variable("ANTHROPIC_API_KEY", "sk-secret");
    let log = world.directory().join("tmp/claude.log");
    let variable = format!("CLAUDE_LOG={}", log.display());
    let spawn = [
        "spawn",
        "carl",
        "--runtime",
        "claude",
        "--backend",
        "headless",
    ];
    let more = ["--env", &variable, "--prompt", "hello"];
    world.swarm(&[&spawn[..], &more].concat()).ok();
    wait_for_state(&world, "carl", "idle");
    let log = std::fs::read_to_string(&log).expect("the log");
    assert!(
        log.contains("key: sk-secret in the environment: \n"),
        "{log}"
    );
    let arguments = log.lines().find(|line| line.starts_with("arguments:"));
    assert!(
        !arguments.expect("arguments").contains("sk-secret"),
        "{log}"
    );
    world.swarm(&["kill", "carl"]).ok();
}

#[test]
fn an_untried_version_is_reported_and_another_program_is_refused() {
    let world = world_with_claude();
    let spawn = [
        "spawn",
        "carl",
        "--runtime",
        "claude",
        "--backend",
        "headless",
    ];
    let version = ["--env", "CLAUDE_FAKE_VERSION=9.9.9"];
    world.swarm(&[&spawn[..], &version].concat()).ok();
    world
        .swarm(&["logs", "carl"])
        .stdout_has("9.9.9 was not tried");
    world.swarm(&["kill", "carl"]).ok();
    install(&world, "claude", "echo something else");
    world.swarm(&spawn).code(9).stderr_has("is not Claude Code");
}
