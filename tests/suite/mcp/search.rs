//! Tools that are deferred because there are many.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, PromptTokens, Reply, Script, Step};

use super::flow::{call, config, result, run};

use crate::scene::world_with;

/// The tools of a request by name.
fn tool<'a>(ask: &'a Ask, name: &str) -> &'a Value {
    let tools = ask.body["tools"].as_array().expect("tools");
    tools
        .iter()
        .find(|tool| tool["name"] == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn many_tools_are_deferred_found_by_a_search_and_called_without_loss_of_the_cached_prefix() {
    let query = json!({"query": "select:mcp__kit__many_7"});
    let script = Script::new().agent(
        "team-lead",
        [
            Step::says(Reply::tool("one", "ToolSearch", query)),
            call("two", "mcp__kit__echo", "hello"),
            Step::says(Reply::text("done")),
        ],
    );
    let (api, world) = world_with(script);
    let given = config(&world, "kit", "many");
    let finished = run(
        &world,
        &["--mcp-config", &given, "--mode", "bypassPermissions"],
    );
    let story = finished.story();
    assert_eq!(finished.ok().json()["result"], "done", "{story}");
    let requests = api.requests_of("team-lead");
    let first = &requests[0].ask;
    assert_eq!(tool(first, "mcp__kit__many_7")["defer_loading"], true);
    assert!(tool(first, "Read").get("defer_loading").is_none());
    let search = tool(first, "ToolSearch");
    assert!(search.get("defer_loading").is_none());
    let told = search["description"].as_str().expect("a description");
    assert!(told.contains("\nmcp__kit__many_59"), "{told}");
    let found = requests[1].ask.messages().iter().find_map(|message| {
        let blocks = message["content"].as_array()?;
        let result = blocks.iter().find(|block| block["tool_use_id"] == "one")?;
        Some(result["content"].clone())
    });
    let reference = json!([{"type": "tool_reference", "tool_name": "mcp__kit__many_7"}]);
    assert_eq!(found, Some(reference));
    assert_eq!(
        result(&api, "team-lead", "two"),
        ("echo: hello".to_owned(), false)
    );
    let rounds: Vec<_> = requests
        .iter()
        .map(|recorded| vec![recorded.ask.body.clone()])
        .collect();
    let counted = PromptTokens::of_rounds(&rounds);
    for pair in counted.windows(2) {
        let (before, after) = (pair[0][0], pair[1][0]);
        assert_eq!(after.read, before.read + before.written, "{counted:?}");
    }
    assert!(counted[0][0].total() < 15_000, "{counted:?}");
}

#[test]
fn few_tools_are_not_deferred() {
    let (api, world) =
        world_with(Script::new().agent("team-lead", [Step::says(Reply::text("done"))]));
    let given = config(&world, "kit", "well");
    run(&world, &["--mcp-config", &given]).ok();
    let first = &api.requests_of("team-lead")[0].ask;
    assert!(tool(first, "mcp__kit__echo").get("defer_loading").is_none());
    assert!(!first.tools().contains(&"ToolSearch"));
}
