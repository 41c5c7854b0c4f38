//! Runs whose result must match a JSON schema.

use serde_json::json;
use swarm_tests::fake_api::{Ask, Reply};

use crate::scene::{MODEL, world_with};

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}"#;

fn output(call: &str, count: &serde_json::Value) -> Reply {
    Reply::tool(call, "StructuredOutput", json!({ "count": count }))
}

#[test]
fn an_output_that_does_not_match_is_returned_with_the_errors_until_it_does() {
    let (api, world) = world_with(|ask: &Ask| {
        let has = |call| ask.result_of(call).is_some();
        if has("right") {
            Reply::text("counted")
        } else if has("wrong") {
            output("right", &json!(3))
        } else if ask.has_seen("You MUST call the StructuredOutput tool") {
            output("wrong", &json!("three"))
        } else {
            Reply::text("There are three.")
        }
    });
    world.write("project/schema.json", SCHEMA);
    let run = [
        "run",
        "count",
        "--model",
        MODEL,
        "--json-schema",
        "schema.json",
    ];
    let report = world
        .swarm(&[&run[..], &["--output", "json"]].concat())
        .json();
    assert_eq!(report["outcome"], "completed");
    assert_eq!(report["structured_output"], json!({"count": 3}));
    let last = api.requests().pop().expect("a request").ask;
    let (why, is_error) = last.result_of("wrong").expect("a result");
    assert!(is_error && why.contains("/count"), "{why}");
    let said = world.swarm(&run).ok().stdout.clone();
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(said, json!({"count": 3}));
}

#[test]
fn a_run_without_a_matching_output_fails_after_five_requests() {
    let (api, world) = world_with(|_: &Ask| Reply::text("There are three."));
    let run = ["run", "count", "--model", MODEL, "--json-schema", SCHEMA];
    let failed = world.swarm(&run);
    let said = failed.code(9).stderr;
    assert!(
        said.contains("no output that matches the JSON schema"),
        "{said}"
    );
    assert_eq!(api.requests().len(), 6);
    for schema in ["{\"type\": \"string\"}", "[1]"] {
        let run = ["run", "count", "--model", MODEL, "--json-schema", schema];
        let refused = world.swarm(&run);
        let said = refused.code(2).stderr;
        assert!(said.contains("`type` must be `object`"), "{said}");
    }
}

#[test]
fn a_coordinator_returns_an_output_and_its_workers_cannot() {
    let (api, world) = world_with(|ask: &Ask| {
        if ask.result_of("out").is_some() {
            Reply::text("done")
        } else {
            output("out", &json!(1))
        }
    });
    let run = [
        "run",
        "count",
        "--model",
        MODEL,
        "--coordinator",
        "--json-schema",
        SCHEMA,
    ];
    let report = world
        .swarm(&[&run[..], &["--output", "json"]].concat())
        .json();
    assert_eq!(report["structured_output"], json!({"count": 1}));
    let first = api.requests().swap_remove(0).ask;
    let mut tools = first.tools();
    tools.sort_unstable();
    assert_eq!(
        tools,
        ["Agent", "SendMessage", "StructuredOutput", "TaskStop"]
    );
}
