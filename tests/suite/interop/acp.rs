//! A member whose agent is a program that speaks the Agent Client Protocol, in a real pane.

use swarm_tests::stage::{InsideTmux, World};

use super::programs::{ACP_AGENT, install};
use crate::scene::{wait_for_no_process, wait_for_state, world_with_team};

/// Spawns bob with the fake agent in the user's tmux.
fn spawn_bob(world: &World, inside: &InsideTmux, more: &[&str]) {
    install(world, "agent", ACP_AGENT);
    let fixed = [
        "spawn",
        "bob",
        "--runtime",
        "acp:./agent --acp",
        "--backend",
        "tmux",
    ];
    let spawned = world
        .start_with(&[&fixed, more].concat(), inside.variables())
        .wait();
    spawned.ok();
    spawned.stdout_has("bob@demo is ready");
    spawned.stdout_has("acp/agent");
}

#[test]
fn mail_questions_and_shutdown_work_as_for_every_member() {
    let world = world_with_team("demo");
    let inside = InsideTmux::start(&world, 80, 24);
    spawn_bob(&world, &inside, &["--prompt", "say something"]);
    let team = world.team("demo");
    wait_for_state(&world, "bob", "idle");
    let reports = || team.frames("team-lead", "idle_notification");
    world.wait_until("the first report", || reports().len() == 1);
    assert_eq!(reports()[0]["result"], "foreign answer");
    assert!(!team.has_unread("bob"));

    world.swarm(&["send", "bob", "clean up"]).ok();
    wait_for_state(&world, "bob", "waiting-permission");
    let question = team.requests().pop().expect("a question");
    assert_eq!(question["input"]["command"], "rm -r build");
    world.swarm(&["approve", "bob"]).ok();
    world.wait_until("the second report", || reports().len() == 2);
    assert_eq!(reports()[1]["result"], "cleaned up");

    // The pane is drawn like that of every member.
    let pane = team.member("bob").expect("bob")["tmuxPaneId"].clone();
    for words in ["foreign answer", "rm -r build", "cleaned up"] {
        inside
            .tmux()
            .wait_for_text(pane.as_str().expect("a pane"), words);
    }
    assert_eq!(team.events("turn_ended")[1]["usage"]["output_tokens"], 3);

    world.swarm(&["shutdown", "bob"]).ok();
    assert!(team.member("bob").is_none());
    world.swarm(&["team", "delete", "demo"]).ok();
    drop(inside);
    wait_for_no_process(&world);
}

#[test]
fn a_restarted_member_keeps_its_program_and_a_program_that_is_missing_is_reported() {
    let world = world_with_team("demo");
    let missing = world.swarm(&["spawn", "bob", "--runtime", "acp:gemini"]);
    missing.assert_code(7);
    let text = &missing.stderr;
    assert!(text.contains("npm install -g @google/gemini-cli"), "{text}");
    install(&world, "agent", ACP_AGENT);
    let spawn = ["spawn", "bob", "--backend", "headless"];
    let model = ["--runtime", "acp:./agent", "--model", "haiku"];
    world.swarm(&[&spawn[..], &model].concat()).assert_code(2);
    let first = ["--runtime", "acp:./agent", "--prompt", "hello"];
    world.swarm(&[&spawn[..], &first].concat()).ok();
    wait_for_state(&world, "bob", "idle");
    world.swarm(&["kill", "bob"]).ok();
    let again = world.swarm(&[&spawn[..], &["--prompt", "hello again"]].concat());
    again.ok();
    again.stdout_has("acp/agent");
    wait_for_state(&world, "bob", "idle");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn an_agent_asks_about_its_calls_and_follows_a_changed_mode() {
    let world = world_with_team("demo");
    install(&world, "agent", ACP_AGENT);
    let log = world.project().join("acp.log");
    let log_variable = format!("ACP_LOG={}", log.display());
    let spawn = ["spawn", "bob", "--runtime", "acp:./agent", "--backend"];
    let more = ["headless", "--env", &log_variable, "--prompt", "hello"];
    world.swarm(&[spawn, more].concat()).ok();
    let reports = || world.team("demo").frames("team-lead", "idle_notification");
    world.wait_until("the first report", || reports().len() == 1);
    world.swarm(&["mode", "bob", "plan"]).ok();
    world.swarm(&["send", "bob", "again"]).ok();
    world.wait_until("the second report", || reports().len() == 2);
    let log = std::fs::read_to_string(&log).expect("the log");
    let modes: Vec<_> = log.split("\"modeId\":\"").skip(1).collect();
    assert!(
        modes[0].starts_with("default"),
        "its own mode is auto: {log}"
    );
    assert!(modes[1].starts_with("plan"), "{log}");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn nobody_is_asked_about_what_git_refuses_if_swarm_runs_the_command() {
    let world = world_with_team("demo");
    world.commit_project();
    install(&world, "agent", ACP_AGENT);
    let spawn = ["spawn", "bob", "--runtime", "acp:./agent", "--backend"];
    let more = ["headless", "--prompt", "prune the objects"];
    world.swarm(&[spawn.as_slice(), &more].concat()).ok();
    let reports = || world.team("demo").frames("team-lead", "idle_notification");
    world.wait_until("the report", || reports().len() == 1);
    assert_eq!(reports()[0]["result"], "git refused");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn a_program_in_plan_mode_is_not_said_to_submit_a_plan() {
    let world = world_with_team("demo");
    install(&world, "agent", ACP_AGENT);
    let spawn = ["spawn", "bob", "--runtime", "acp:./agent", "--backend"];
    let more = ["headless", "--mode", "plan"];
    let spawned = world.swarm(&[&spawn[..], &more].concat());
    spawned
        .ok()
        .stderr_has("bob only reads until `swarm mode bob default`");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn a_program_that_speaks_another_protocol_fails_the_spawn() {
    let world = world_with_team("demo");
    install(&world, "agent", "echo 'usage: agent FILE' >&2; exit 2");
    let spawn = [
        "spawn",
        "bob",
        "--backend",
        "headless",
        "--runtime",
        "acp:./agent",
    ];
    world.swarm(&spawn).code(9).stderr_has("usage: agent FILE");
    assert_eq!(world.team("demo").names(), ["team-lead"]);
    wait_for_no_process(&world);
}

#[test]
fn a_budget_in_money_needs_a_price_of_the_program() {
    let world = world_with_team("demo");
    install(&world, "agent", ACP_AGENT);
    let spawn = ["spawn", "bob", "--runtime", "acp:./agent", "--backend"];
    let more = ["headless", "--budget", "5$"];
    world
        .swarm(&[&spawn[..], &more].concat())
        .code(2)
        .stderr_has("acp/agent has no price");
    // A budget for all members does not stop it.
    world.write("root/swarm.toml", "[budget]\nmember = \"5$\"\n");
    world.swarm(&[&spawn[..], &["headless"]].concat()).ok();
    world
        .swarm(&["logs", "bob"])
        .stdout_has("acp/agent has no price");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn a_refused_turn_is_in_the_cost() {
    let world = world_with_team("demo");
    install(&world, "agent", ACP_AGENT);
    let spawn = ["spawn", "bob", "--runtime", "acp:./agent", "--backend"];
    let more = ["headless", "--prompt", "no way"];
    world.swarm(&[&spawn[..], &more].concat()).ok();
    let reports = || {
        let team = world.team("demo");
        team.frames("team-lead", "idle_notification").len()
    };
    world.wait_until("the report", || reports() == 1);
    let cost = world.swarm(&["cost", "--json"]).json();
    assert_eq!(cost["total"]["usage"]["output_tokens"], 3, "{cost}");
    world.swarm(&["kill", "bob"]).ok();
}
