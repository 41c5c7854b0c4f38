//! Project instructions: they are in the first request of every agent that gets them.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, Reply};

use crate::scene::{calls_once, world, world_with};

/// Six files and what each says.
const FILES: [(&str, &str); 6] = [
    ("root/CLAUDE.md", "SENTINEL-USER"),
    ("project/CLAUDE.md", "SENTINEL-PROJECT @docs/more.md"),
    ("project/docs/more.md", "SENTINEL-IMPORT"),
    ("project/.claude/CLAUDE.md", "SENTINEL-HIDDEN"),
    ("project/.claude/rules/a.md", "SENTINEL-RULE"),
    ("project/CLAUDE.local.md", "SENTINEL-LOCAL"),
];

const AGENTS: [&str; 5] = ["LEAD-GO", "MATE-GO", "SUB-GO", "TREE-GO", "EXPLORE-GO"];

fn agent(id: &str, input: &Value) -> swarm_tests::fake_api::Block {
    swarm_tests::fake_api::Block::tool(id, "Agent", input.clone())
}

#[test]
fn sentinels_of_all_files_are_in_the_first_request_of_every_agent() {
    let (api, world) = world_with(|ask: &Ask| {
        if !ask.has_seen("LEAD-GO") || ask.result_of("a1").is_some() {
            return Reply::text("done");
        }
        let call = |id, prompt: &str, more: Value| {
            let mut input = json!({"description": "look", "prompt": prompt});
            input
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            agent(id, &input)
        };
        Reply::blocks([
            call("a1", "MATE-GO", json!({"name": "mate"})),
            call("a2", "SUB-GO", json!({"subagent_type": "general-purpose"})),
            call(
                "a3",
                "TREE-GO",
                json!({"name": "tree", "isolation": "worktree"}),
            ),
            call("a4", "EXPLORE-GO", json!({"subagent_type": "Explore"})),
        ])
    });
    // The files below CLAUDE.local.md are committed; that one is private.
    world.write("project/.gitignore", "CLAUDE.local.md\n.claude/worktrees\n");
    for (path, text) in FILES {
        world.write(path, text);
    }
    world.commit_project();
    let run = ["run", "LEAD-GO", "--model", crate::scene::MODEL];
    let mode = ["--backend", "headless", "--mode", "bypassPermissions"];
    world.swarm(&[&run[..], &mode].concat()).ok();
    let requests = api.requests();
    for marker in AGENTS {
        let first = requests.iter().find_map(|request| {
            let first = request.ask.messages().first()?.to_string();
            first.contains(marker).then_some(first)
        });
        let first = first.unwrap_or_else(|| panic!("no request with {marker}"));
        for (path, text) in FILES {
            let sentinel = text.split(' ').next().unwrap();
            let times = first.matches(sentinel).count();
            let expected = usize::from(marker != "EXPLORE-GO");
            assert_eq!(
                times, expected,
                "{path} in the first request of {marker}: {first}"
            );
        }
        let before = first.find("system-reminder").unwrap_or_default();
        assert!(before < first.find(marker).unwrap(), "{first}");
    }
    for request in &requests {
        assert!(
            !request.ask.system().contains("SENTINEL"),
            "the system prompt stays the same"
        );
    }
}

#[test]
fn instructions_of_a_subdirectory_come_with_the_first_file_and_changes_with_the_next_turn() {
    let api = calls_once("Read", json!({"file_path": "web/a.txt"}));
    let world = crate::scene::world_over(&api);
    world.write("project/CLAUDE.md", "SENTINEL-OLD");
    world.write("project/web/AGENTS.md", "SENTINEL-WEB");
    world.write("project/web/a.txt", "text");
    world.commit_project();
    crate::scene::spawn_over(&world, "bob");
    let second = api.wait_for("the result", "bob", |ask| ask.result_of("t1").is_some());
    assert!(second.ask.has_seen("SENTINEL-WEB"));
    crate::scene::wait_for_state(&world, "bob", "idle");
    world.write("project/CLAUDE.md", "SENTINEL-NEW");
    world.swarm(&["send", "bob", "go on"]).ok();
    let third = api.wait_for("the next turn", "bob", |ask| ask.has_seen("go on"));
    assert!(third.ask.news_has("SENTINEL-NEW") && !third.ask.news_has("SENTINEL-WEB"));
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn the_list_names_each_file_with_its_size_and_doctor_warns_of_many_characters() {
    let world = world();
    for (path, text) in FILES {
        world.write(path, text);
    }
    world.write(
        "project/.claude/rules/ts.md",
        "---\npaths: '*.ts'\n---\nlimited",
    );
    world.commit_project();
    let list = world.swarm(&["instructions", "--json"]).json();
    let sizes = crate::scene::column(&list["files"], "characters");
    assert_eq!(sizes.len(), 6, "{list}");
    assert_eq!(list["files"][2]["importedBy"], list["files"][1]["path"]);
    assert_eq!(list["conditional"][0]["paths"], json!(["*.ts"]));
    let text = world.swarm(&["instructions"]).ok().stdout.clone();
    assert!(
        text.contains(".claude/rules/ts.md") && text.contains("when a file matches *.ts"),
        "{text}"
    );
    let none = world
        .swarm(&["instructions", "--agent", "Explore", "--json"])
        .json();
    assert_eq!(none["files"], json!([]));
    assert_eq!(
        world.swarm(&["instructions", "--cwd", "nowhere"]).code,
        Some(2)
    );
    assert_eq!(
        world.swarm(&["instructions", "--agent", "nobody"]).code,
        Some(3)
    );
    world.write("project/CLAUDE.md", &"x".repeat(41_000));
    let doctor = world.swarm(&["doctor", "--json"]);
    let findings: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let found = findings
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "instructions");
    assert_eq!(found.unwrap()["state"], "warning", "{findings}");
}
