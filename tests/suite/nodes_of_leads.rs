//! Nodes that a lead's model and templates use, in teams that they create on a hub.

use serde_json::json;
use swarm_tests::fake_api::{FakeApi, Reply, Script, Step};
use swarm_tests::stage::MODEL;

use crate::nodes::{Machines, says_done};
use crate::scene::{run_args, world};

#[test]
fn a_model_spawns_a_teammate_remotely_in_a_team_that_its_run_creates_on_a_hub() {
    let input = json!({
        "name": "bob", "description": "sings a song", "prompt": "sing", "isolation": "remote",
    });
    let lead = [
        Step::says(Reply::tool("bob", "Agent", input)),
        Step::says(Reply::text("I wait.")),
        Step::says(Reply::text("all done")).once_seen("sung"),
    ];
    let api = FakeApi::start(
        Script::new()
            .agent("team-lead", lead)
            .agent("bob", [Step::says(Reply::text("sung"))]),
    );
    let Some(machines) = Machines::with(world().with_api(&api), world().with_api(&api)) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    first.write("project/song.txt", "one\n");
    first.commit_project();
    let node = machines.node(&["--slots", "1"]);
    let more = [
        "--mode",
        "bypassPermissions",
        "--team",
        "choir",
        "--hub",
        &machines.url,
        "--credentials",
        &machines.credentials,
    ];
    let run = first.start(&run_args("let somebody sing", &more));
    let told = api.wait_for("the call", "team-lead", |ask| {
        ask.result_of("bob").is_some()
    });
    let (text, is_error) = told.ask.result_of("bob").unwrap();
    assert!(!is_error, "{text}");
    for words in ["status: remote_launched", "node: box", "on that machine"] {
        assert!(text.contains(words), "{text}");
    }
    let asked = api.wait_for("the prompt", "bob", |ask| ask.news_has("sing"));
    assert!(asked.ask.news_has("sings a song"), "{}", asked.ask.news());
    run.wait().ok();
    assert!(second.team("choir").member_directory("bob").exists());
    first.wait_until("bob has stopped", || {
        node.stdout().contains("choir: bob has stopped")
    });
    first.swarm(&["node", "drain", "box"]).ok();
    node.wait().ok();
    machines.end();
}

#[test]
fn a_template_places_members_on_nodes() {
    let api = says_done();
    let Some(machines) = Machines::start(world().with_api(&api)) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    let node = machines.node(&[]);
    let template = format!(
        "name = \"choir\"\n[[member]]\nname = \"bob\"\nmodel = \"{MODEL}\"\nprompt = \"hello\"\non = \"box\"\n"
    );
    let template = first.write("choir.toml", &template);
    let up = [
        "team",
        "up",
        template.to_str().unwrap(),
        "--backend",
        "headless",
        "--hub",
        &machines.url,
        "--credentials",
        &machines.credentials,
    ];
    first.swarm(&up).ok();
    api.wait_for("the prompt", "bob", |ask| ask.news_has("hello"));
    assert!(second.team("choir").member_directory("bob").exists());
    first.swarm(&up).ok().stdout_has("0 members started");
    first.swarm(&["kill", "bob", "--team", "choir"]).ok();
    first.swarm(&["node", "drain", "box"]).ok();
    node.wait().ok();
    machines.end();
}
