//! Nodes that a lead's model and templates use, in teams that they create on a hub.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::json;
use swarm_tests::fake_api::{Block, FakeApi, Reply, Script, Step};
use swarm_tests::stage::{MODEL, World};

use crate::machines::Machines;
use crate::nodes::says_done;
use crate::scene::{run_args, world};

/// The arguments of a run that creates the team `choir` on the hub.
fn in_choir<'a>(machines: &'a Machines, prompt: &'a str) -> Vec<&'a str> {
    let more = ["--mode", "bypassPermissions", "--team", "choir"];
    run_args(prompt, &[more, machines.hub_options()].concat())
}

/// A machine whose teammates start only when something is written to the pipe that is returned.
fn slow_world(api: &FakeApi) -> (World, PathBuf) {
    let world = world().with_api(api);
    let (real, pipe) = (world.program("real"), world.directory().join("pipe"));
    std::fs::create_dir(&real).unwrap();
    for name in ["swarm", "swarm-teammate"] {
        std::fs::hard_link(world.program(name), real.join(name)).unwrap();
    }
    let made = world.command("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let script = format!(
        "#!/bin/sh\ncat '{}' >/dev/null\nexec '{}/swarm-teammate' \"$@\"\n",
        pipe.display(),
        real.display()
    );
    let slow = world.write("slow", &script);
    std::fs::set_permissions(&slow, PermissionsExt::from_mode(0o755)).unwrap();
    (world.with_teammate(&slow), pipe)
}

#[test]
fn a_spawn_on_a_slow_node_does_not_delay_the_next_one_of_the_same_response() {
    let calls = [("bob", "sing", Some("remote")), ("carl", "dance", None)];
    let calls = calls.map(|(name, prompt, isolation)| {
        let mut input = json!({"name": name, "description": "performs", "prompt": prompt});
        if let Some(isolation) = isolation {
            input["isolation"] = isolation.into();
        }
        Block::tool(name, "Agent", input)
    });
    let lead = [
        Step::says(Reply::blocks(calls)),
        Step::says(Reply::text("I wait.")),
        Step::says(Reply::text("all done")).once_seen("sung"),
    ];
    let says = |text: &str| [Step::says(Reply::text(text))];
    let script = Script::new()
        .agent("team-lead", lead)
        .agent("bob", says("sung"))
        .agent("carl", says("danced"));
    let api = FakeApi::start(script);
    let (second, pipe) = slow_world(&api);
    let Some(machines) = Machines::with(world().with_api(&api), second) else {
        return;
    };
    let first = &machines.first;
    let node = machines.node(&[]);
    let run = first.start(&in_choir(&machines, "let them perform"));
    api.wait_for("the second one", "carl", |ask| ask.news_has("dance"));
    first.wait_until("the node spawns bob", || {
        node.stdout().contains("spawn bob")
    });
    let lead = api.requests_of("team-lead");
    assert_eq!(lead.len(), 1, "the calls are not over");
    std::fs::write(&pipe, "go").unwrap();
    let told = api.wait_for("the results", "team-lead", |ask| {
        ask.result_of("bob").is_some()
    });
    let blocks = told.ask.messages().iter().flat_map(|message| {
        let blocks = message["content"].as_array();
        blocks.into_iter().flatten()
    });
    let results = blocks.filter(|block| block["type"] == "tool_result");
    let ids: Vec<_> = results
        .filter_map(|result| result["tool_use_id"].as_str())
        .collect();
    assert_eq!(ids, ["bob", "carl"]);
    for id in ids {
        let (text, is_error) = told.ask.result_of(id).unwrap();
        assert!(!is_error, "{text}");
    }
    run.wait().ok();
    machines.end_with_node(node);
}

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
    let run = first.start(&in_choir(&machines, "let somebody sing"));
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
    machines.end_with_node(node);
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
    let template = template.to_str().unwrap();
    let up = ["team", "up", template, "--backend", "headless"];
    let up = [&up[..], &machines.hub_options()].concat();
    first.swarm(&up).ok();
    api.wait_for("the prompt", "bob", |ask| ask.news_has("hello"));
    assert!(second.team("choir").member_directory("bob").exists());
    first.swarm(&up).ok().stdout_has("0 members started");
    first.swarm(&["kill", "bob", "--team", "choir"]).ok();
    machines.end_with_node(node);
}
