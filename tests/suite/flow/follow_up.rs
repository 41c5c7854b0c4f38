//! A prompt after a run: `swarm run --continue` and `--resume`.

use serde_json::json;
use swarm_tests::fake_api::{Ask, Gate, Reply};
use swarm_tests::stage::World;

use crate::scene::{MODEL, demo_run_args, run_args, world_with};

fn answers(ask: &Ask) -> Reply {
    if ask.news_has("make a team") {
        Reply::tool("t", "TeamCreate", json!({"team_name": "made"}))
    } else {
        Reply::text("the answer")
    }
}

fn follow_up(world: &World, prompt: &str, more: &[&str]) -> serde_json::Value {
    let more = [&["--output", "json"], more].concat();
    world.swarm(&run_args(prompt, &more)).json()
}

#[test]
fn a_follow_up_continues_the_last_run_of_the_directory_with_its_model_and_transcript() {
    let (api, world) = world_with(answers);
    world
        .swarm(&["run", "early", "--continue", "--json"])
        .error(3);
    let first = follow_up(&world, "what is it?", &[]);
    let second = follow_up(&world, "and why?", &["--continue"]);
    assert_eq!(first["session"], second["session"]);
    let asked = api.requests_of("team-lead");
    assert!(asked[1].ask.has_seen("what is it?") && asked[1].ask.news_has("and why?"));

    let session = first["session"].as_str().unwrap();
    follow_up(&world, "something else", &[]);
    follow_up(&world, "once more", &["--resume", &session[..8]]);
    let last = api.requests_of("team-lead").pop().unwrap().ask;
    assert!(last.has_seen("and why?") && !last.has_seen("something else"));
    let unknown = run_args("go", &["--resume", "ffffffff", "--json"]);
    let unknown = world.swarm(&unknown).error(3);
    assert!(unknown["hint"].as_str().unwrap().contains(&session[..8]));
}

#[test]
fn a_follow_up_keeps_model_and_mode_but_not_the_mode_without_any_limit() {
    let (_api, world) = world_with(|ask: &Ask| {
        if ask.news_has("write it") {
            Reply::tool("t", "Write", json!({"file_path": "made", "content": "x"}))
        } else {
            Reply::text("the answer")
        }
    });
    follow_up(&world, "begin", &["--mode", "acceptEdits"]);
    let next = ["run", "write it", "--continue", "--output", "json"];
    let report = world.swarm(&next).json();
    assert_eq!(report["model"], MODEL);
    assert!(world.project().join("made").exists(), "without a question");
    follow_up(
        &world,
        "again",
        &["--continue", "--mode", "bypassPermissions"],
    );
    let next = world.swarm(&["run", "and?", "--continue"]);
    let told = "to continue in it, pass `--mode bypassPermissions`";
    next.ok().stderr_has(told);
}

#[test]
fn a_follow_up_takes_the_team_of_the_run_over() {
    let (api, world) = world_with(answers);
    let first = follow_up(&world, "make a team", &[]);
    assert_eq!(first["team"], "made");
    let listed = world.swarm(&["team", "list"]);
    listed.ok().stdout_has("ended").stdout_lacks("by-hand");
    listed.stderr_has("`swarm lead --continue --team made`");
    let status = world.swarm(&["status", "--team", "made"]);
    status.ok().stdout_has("its lead session has ended");
    status.stdout_has("`swarm lead --continue --team made`");
    status.stdout_lacks("by hand");
    let shown = world.swarm(&["team", "show", "made"]);
    shown.ok().stdout_lacks("by hand");
    for more in [
        &["--continue"][..],
        &["--continue", "--team", "made"],
        &["--resume", "made"],
    ] {
        let next = follow_up(&world, "go on", more);
        assert_eq!(
            (&next["session"], &next["team"]),
            (&first["session"], &first["team"])
        );
        let last = api.requests_of("team-lead").pop().unwrap().ask;
        assert!(last.has_seen("make a team") && last.news_has("go on"));
    }
    let other = world.swarm(&["run", "go", "--continue", "--worktree", "--json"]);
    other.error(2);
}

#[test]
fn a_run_that_is_still_going_on_is_not_continued() {
    let (gate, held) = Gate::pair();
    let (api, world) = world_with(move |_: &Ask| Reply::text("done").held_by(&held, 1));
    let alone = world.start(&run_args("go", &[]));
    api.wait_for("its request", "team-lead", |_| true);
    let refused = world.swarm(&["run", "and?", "--continue", "--json"]);
    let refused = refused.error(4).to_string();
    assert!(refused.contains("is open in another process"), "{refused}");
    let led = world.start(&demo_run_args("go", &[]));
    api.wait_for("its request", "team-lead", |ask| ask.number == 2);
    let refused = world.swarm(&["run", "and?", "--resume", "demo", "--json"]);
    let refused = refused.error(4).to_string();
    assert!(refused.contains("swarm send team-lead"), "{refused}");
    gate.open();
    alone.wait().ok();
    led.wait().ok();
}
