//! Notifications of the person at a lead's terminal.

use std::path::PathBuf;

use serde_json::json;
use swarm_tests::fake_api::{Ask, Reply};
use swarm_tests::stage::World;

use super::run_in_pane::RunInPane;
use crate::scene::{kill_member, spawn_with, wait_for_state};

/// Creates the team `demo`, and returns the file to which notifications are appended.
fn notifying(world: &World) -> PathBuf {
    let command = "command = [\"/bin/sh\", \"-c\", 'echo \"$0\" >>told']\n";
    world.write("root/swarm.toml", &format!("[notify]\n{command}"));
    world.swarm(&["team", "create", "demo"]).ok();
    world.project().join("told")
}

#[test]
fn o4_a_lead_notifies_of_a_teammate_that_asks_fails_or_dies() {
    let run = RunInPane::shell("sh", |ask: &Ask| {
        if ask.news_has("ask me") {
            Reply::tool("t1", "Bash", json!({"command": "touch made"}))
        } else if ask.news_has("fail now") {
            Reply::refusal(400)
        } else {
            Reply::text("heard")
        }
    });
    let told = notifying(&run.world);
    run.line("unset TMUX TMUX_PANE; clear");
    run.swarm("lead --team demo --mode default");
    run.shows("team-lead >");
    spawn_with(
        &run.world,
        "bob",
        &["--mode", "default", "--prompt", "hello"],
    );
    wait_for_state(&run.world, "bob", "idle");
    let tells = |what: &str| {
        run.world.wait_until(what, || {
            let told = std::fs::read_to_string(&told).unwrap_or_default();
            told.lines().filter(|line| line.starts_with(what)).count() == 1
        });
    };
    run.world.swarm(&["send", "bob", "ask me"]).ok();
    tells("bob asks: ");
    run.world.swarm(&["deny", "bob"]).ok();
    wait_for_state(&run.world, "bob", "idle");
    run.world.swarm(&["send", "bob", "fail now"]).ok();
    tells("bob: failed");
    run.shows("bob failed");
    kill_member(&run.world, "bob");
    tells("bob: dead");
    run.press("C-d");
}

#[test]
fn a_lead_in_plain_mode_prints_that_a_teammate_failed_and_notifies() {
    let run = RunInPane::shell("sh", |ask: &Ask| {
        if ask.news_has("fail now") {
            Reply::refusal(400)
        } else {
            Reply::text("heard")
        }
    });
    let told = notifying(&run.world);
    run.line("unset TMUX TMUX_PANE; clear; export TERM=dumb");
    run.swarm("lead --team demo --mode default");
    run.shows("Ctrl-C interrupts, Ctrl-D ends the session");
    spawn_with(&run.world, "bob", &["--prompt", "hello"]);
    wait_for_state(&run.world, "bob", "idle");
    // The lead reads the team after its first turn.
    run.line("are you there?");
    run.shows("heard");
    run.world.swarm(&["send", "bob", "fail now"]).ok();
    run.shows("\nbob: failed");
    run.world.wait_until("the notification", || {
        std::fs::read_to_string(&told).is_ok_and(|told| told.contains("bob: failed\n"))
    });
    run.press("C-d");
}

#[test]
fn the_name_of_the_tmux_window_is_marked_while_a_question_waits() {
    let run = RunInPane::shell("sh", |ask: &Ask| {
        if ask.news_has("make it") {
            Reply::tool("t1", "Bash", json!({"command": "touch made"}))
        } else if ask.news_has("once more") {
            Reply::tool("t2", "Bash", json!({"command": "touch more"}))
        } else {
            Reply::text("heard")
        }
    });
    // The shells of agents could type here where there is no sandbox.
    let settings = "[permissions]\nanswer_in_place = \"always\"\n";
    run.world.write("root/swarm.toml", settings);
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    let window = ["display-message", "-p", "-t", &run.pane, "#{window_name}"];
    let is_named = |name: &str| {
        run.world
            .wait_until(name, || run.inside.tmux().run(&window) == name);
    };
    is_named("swarm");
    run.line("make it");
    run.shows("team-lead asks: Bash touch made");
    is_named("▲ swarm");
    run.allows_call_that_makes("made");
    is_named("swarm");
    run.press("C-u");
    run.line("once more");
    run.shows("team-lead asks: Bash touch more");
    is_named("▲ swarm");
    // The end of the lead removes the mark too, with its options.
    run.press("C-d");
    is_named("sh");
    let options = ["show-options", "-w", "-t", &run.pane];
    let options = run.inside.tmux().run(&options);
    assert!(!options.contains("automatic-rename"), "{options}");
}
