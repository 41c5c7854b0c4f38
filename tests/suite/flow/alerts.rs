//! Notifications of the person at a lead's terminal.

use serde_json::json;
use swarm_tests::fake_api::{Ask, Reply};

use super::typing::RunInPane;
use crate::scene::{kill_member, spawn_with, wait_for_state};

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
    let told = run.world.project().join("told");
    let command = "command = [\"/bin/sh\", \"-c\", 'echo \"$0\" >>told']\n";
    run.world
        .write("root/swarm.toml", &format!("[notify]\n{command}"));
    run.world.swarm(&["team", "create", "demo"]).ok();
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
