//! The prompts of models before the first message.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, Block, FakeApi, Reply};

use crate::scene::world_with;

/// Marker in the first message of an agent, and the most tokens that its system prompt and tools may take together.
const BUDGETS: [(&str, usize); 3] = [("LEAD-GO", 12_000), ("MATE-GO", 10_000), ("SUB-GO", 8_000)];

/// Returns the system prompt of the agent whose first message has this marker. With the tools, it
/// takes at most this many tokens.
fn system_within(api: &FakeApi, marker: &str, most: usize) -> String {
    let requests = api.requests();
    let first = requests.iter().find(|request| {
        let first = request.ask.messages().first().map(Value::to_string);
        first.is_some_and(|first| first.contains(marker))
    });
    let ask = &first
        .unwrap_or_else(|| panic!("no request with {marker}"))
        .ask;
    let system = ask.system();
    // A token is counted as four bytes.
    let tokens = (system.len() + ask.body["tools"].to_string().len()) / 4;
    assert!((500..=most).contains(&tokens), "{marker}: {tokens} tokens");
    assert!(!system.contains('{'), "a placeholder in {system}");
    system
}

#[test]
fn prompts_of_a_coordinator_and_its_workers_stay_within_their_budgets() {
    let (api, world) = world_with(|ask: &Ask| {
        if !ask.has_seen("LEAD-GO") || ask.result_of("a1").is_some() {
            return Reply::text("done");
        }
        let input = json!({"description": "look", "prompt": "WORKER-GO"});
        Reply::tool("a1", "Agent", input)
    });
    world.commit_project();
    let run = [
        "run",
        "LEAD-GO",
        "--coordinator",
        "--model",
        crate::scene::MODEL,
    ];
    world.swarm(&run).ok();
    for (marker, most) in [("LEAD-GO", 12_000), ("WORKER-GO", 8_000)] {
        system_within(&api, marker, most);
    }
}

#[test]
fn prompts_and_tools_stay_within_their_budgets_and_say_where_the_agent_is() {
    let (api, world) = world_with(|ask: &Ask| {
        if !ask.has_seen("LEAD-GO") || ask.result_of("a1").is_some() {
            return Reply::text("done");
        }
        let call = |id: &str, prompt: &str, name: Option<&str>| {
            let mut input = json!({"description": "look", "prompt": prompt});
            match name {
                Some(name) => input["name"] = name.into(),
                None => input["subagent_type"] = "general-purpose".into(),
            }
            Block::tool(id, "Agent", input)
        };
        Reply::blocks([
            call("a1", "MATE-GO", Some("mate")),
            call("a2", "SUB-GO", None),
        ])
    });
    world.commit_project();
    let run = ["run", "LEAD-GO", "--model", crate::scene::MODEL];
    world
        .swarm(&[&run[..], &["--backend", "headless"]].concat())
        .ok();
    for (marker, most) in BUDGETS {
        let system = system_within(&api, marker, most);
        for part in [
            "Working directory: ",
            "Git repository: ",
            "Date: ",
            "Model: ",
            "\nBranch: main\n",
            "\nMain branch: main\n",
            "\nStatus: clean\n",
            "\nRecent commits:\n",
            "\nPlatform: linux\n",
            "\nOS version: Linux ",
        ] {
            assert!(system.contains(part), "{marker}: {system}");
        }
        assert_eq!(
            system.contains("\nTeam members: team-lead\n"),
            marker == "MATE-GO",
            "{system}"
        );
    }
}
