//! Bytes of serialized requests.

use std::sync::Arc;

use serde_json::json;
use swarm_protocol::{Effort, Thinking};

use super::*;
use crate::message::Message;
use crate::request::{SystemBlock, ToolSpec};
use crate::stored::stored;
use serde_json::Map;

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("Does {name}."),
        deferred: false,
        input_schema: json!({"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"required":["z"]}).into(),
    }
}

fn system(text: &str, cache: bool) -> SystemBlock {
    SystemBlock {
        text: text.into(),
        cache,
    }
}

fn result(id: &str, text: &str) -> ContentBlock {
    ContentBlock::ToolResult {
        tool_use_id: id.into(),
        content: text.into(),
        is_error: false,
    }
}

fn call(id: &str, input: Value) -> ContentBlock {
    ContentBlock::ToolUse {
        id: id.into(),
        name: "Read".into(),
        input,
    }
}

fn user(content: Vec<ContentBlock>) -> Message {
    Message::user(content)
}

fn thinking() -> ContentBlock {
    ContentBlock::Thinking {
        thinking: "hm\n".into(),
        signature: "c2ln+/=".into(),
    }
}

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: "claude-x".into(),
        system: [system("You are an agent.", false), system("Rules.", true)].into(),
        tools: [tool("Read"), tool("Write")].into(),
        messages: stored(messages),
        max_tokens: 4096,
        thinking: Thinking::Off,
        effort: None,
        agent: "explorer".into(),
    }
}

fn text_of(request: &ModelRequest) -> String {
    let body = request_body(request, CacheLifetime::FiveMinutes, &LastHead::default()).unwrap();
    String::from_utf8(body.joined().to_vec()).unwrap()
}

fn json_of(request: &ModelRequest) -> Value {
    serde_json::from_str(&text_of(request)).unwrap()
}

/// A conversation of several turns with every kind of block.
fn conversation() -> Vec<Message> {
    vec![
        Message::user_text("find the bug"),
        Message::assistant(vec![
            thinking(),
            ContentBlock::text("Looking."),
            call("toolu_1", json!({"file_path":"/b","a":1})),
            call("toolu_2", json!({})),
        ]),
        user(vec![
            result("toolu_1", "fn main"),
            result("toolu_2", "no file"),
            ContentBlock::text("urgent: hurry"),
        ]),
        Message::assistant(vec![call("toolu_3", json!("{\"file_path\": \"/c"))]),
        user(vec![result("toolu_3", "not JSON")]),
        Message::assistant(vec![ContentBlock::text("Found it.")]),
        Message::user_text("thanks"),
    ]
}

fn markers(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            usize::from(fields.contains_key("cache_control"))
                + fields.values().map(markers).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(markers).sum(),
        _ => 0,
    }
}

fn without_markers(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(name, _)| *name != "cache_control")
                .map(|(name, field)| (name.clone(), without_markers(field)))
                .collect::<Map<_, _>>(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(without_markers).collect()),
        other => other.clone(),
    }
}

#[test]
fn a_request_has_exactly_these_bytes() {
    let mut request = request(conversation()[..3].to_vec());
    request.thinking = Thinking::Tokens(1024);
    let schema = r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"required":["z"]}"#;
    let marker = r#""cache_control":{"type":"ephemeral"}"#;
    let expected = [
        r#"{"model":"claude-x","max_tokens":4096,"stream":true,"thinking":{"type":"enabled","budget_tokens":1024},"#,
        &format!(r#""tools":[{{"name":"Read","description":"Does Read.","input_schema":{schema}}},"#),
        &format!(r#"{{"name":"Write","description":"Does Write.","input_schema":{schema}}}],"#),
        r#""system":[{"type":"text","text":"You are an agent."},"#,
        &format!(r#"{{"type":"text","text":"Rules.",{marker}}}],"#),
        &format!(r#""messages":[{{"role":"user","content":[{{"type":"text","text":"find the bug",{marker}}}]}},"#),
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm\n","signature":"c2ln+/="},"#,
        r#"{"type":"text","text":"Looking."},{"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"/b","a":1}},"#,
        r#"{"type":"tool_use","id":"toolu_2","name":"Read","input":{}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"fn main"},"#,
        &format!(r#"{{"type":"tool_result","tool_use_id":"toolu_2","content":"no file",{marker}}},"#),
        &format!(r#"{{"type":"text","text":"urgent: hurry",{marker}}}]}}]}}"#),
    ]
    .concat();
    assert_eq!(text_of(&request), expected);
}

#[test]
fn the_same_request_has_the_same_bytes_and_a_longer_one_starts_with_them() {
    let all = conversation();
    let mut shorter: Option<Value> = None;
    for length in 1..=all.len() {
        let request = request(all[..length].to_vec());
        assert_eq!(text_of(&request), text_of(&request.clone()));
        let body = without_markers(&json_of(&request));
        let bytes = |messages: &Value| messages.to_string().trim_end_matches(']').to_owned();
        if let Some(shorter) = shorter {
            assert!(bytes(&body["messages"]).starts_with(&bytes(&shorter["messages"])));
            for part in ["model", "tools", "system"] {
                assert_eq!(body[part].to_string(), shorter[part].to_string());
            }
        }
        shorter = Some(body);
    }
}

/// Returns the marked blocks as (message, block), and the number of marked system blocks and tools.
fn marked(request: &ModelRequest) -> (Vec<(usize, usize)>, usize, usize) {
    let body = json_of(request);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut blocks = Vec::new();
    for (at, message) in list(&body["messages"]).iter().enumerate() {
        for (block, value) in list(&message["content"]).iter().enumerate() {
            blocks.extend((markers(value) > 0).then_some((at, block)));
        }
    }
    (blocks, markers(&body["system"]), markers(&body["tools"]))
}

#[test]
fn each_request_marks_the_ends_of_the_previous_requests() {
    let all = conversation();
    let ends = |length: usize| marked(&request(all[..length].to_vec()));
    assert_eq!(ends(1), (vec![(0, 0)], 1, 1));
    // A message follows the results: forks of that answer would diverge there.
    assert_eq!(ends(3), (vec![(0, 0), (2, 1), (2, 2)], 1, 0));
    assert_eq!(ends(5), (vec![(0, 0), (2, 2), (4, 0)], 1, 0));
    assert_eq!(ends(7), (vec![(2, 2), (4, 0), (6, 0)], 1, 0));
}

#[test]
fn the_last_block_that_may_carry_a_marker_is_marked() {
    let image = || ContentBlock::Other(json!({"type":"image","source":{}}));
    let unmarkable = user(vec![image()]);
    let mixed = user(vec![
        ContentBlock::text("see"),
        image(),
        ContentBlock::text(""),
    ]);
    let answer = Message::assistant(vec![ContentBlock::text("ok")]);
    let messages = vec![
        Message::user_text("hi"),
        answer.clone(),
        unmarkable,
        answer,
        mixed,
    ];
    assert_eq!(marked(&request(messages)).0, [(0, 0), (4, 0)]);
}

#[test]
fn a_result_with_an_image_is_marked_like_any_other() {
    let image = json!({"type":"image","source":{}});
    let shown = json!({"type":"tool_result","tool_use_id":"toolu_1","content":[image]});
    let messages = vec![
        Message::user_text("hi"),
        Message::assistant(vec![call("toolu_1", json!({}))]),
        user(vec![ContentBlock::Other(shown)]),
    ];
    assert_eq!(marked(&request(messages)).0, [(0, 0), (2, 0)]);
}

#[test]
fn every_marker_requests_one_hour_if_configured() {
    let request = request(conversation());
    let body = request_body(&request, CacheLifetime::OneHour, &LastHead::default()).unwrap();
    let text = String::from_utf8(body.joined().to_vec()).unwrap();
    let usual = text_of(&request);
    let count = |text: &str, part: &str| text.matches(part).count();
    assert_eq!(
        count(&text, r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#),
        count(&usual, r#""cache_control":{"type":"ephemeral"}"#)
    );
    assert_eq!(text.replace(r#","ttl":"1h""#, ""), usual);
}

#[test]
fn there_are_at_most_four_markers_and_the_last_system_blocks_win() {
    let mut request = request(conversation());
    request.system = (0..4).map(|n| system(&format!("s{n}"), true)).collect();
    let body = json_of(&request);
    assert_eq!(markers(&body), 4);
    assert_eq!(markers(&body["system"][3]), 1);
    assert_eq!(markers(&body["system"]), 1);
    request.messages = request.messages[..1].into();
    assert_eq!(marked(&request), (vec![(0, 0)], 2, 1));
    request.tools = Arc::default();
    assert_eq!(marked(&request), (vec![(0, 0)], 3, 0));
    assert!(json_of(&request).get("tools").is_none());
}

#[test]
fn effort_is_sent_to_models_that_support_it() {
    let mut request = request(conversation());
    request.model = "claude-sonnet-4-6".into();
    request.effort = Some(Effort::Low);
    assert_eq!(json_of(&request)["output_config"], json!({"effort": "low"}));
    request.model = "other-vendor".into();
    assert!(json_of(&request).get("output_config").is_none());
}

#[test]
fn a_model_with_adaptive_thinking_gets_no_budget() {
    let mut request = request(conversation());
    request.model = "claude-sonnet-4-6".into();
    request.thinking = Thinking::Adaptive;
    assert_eq!(json_of(&request)["thinking"], json!({"type": "adaptive"}));
    request.thinking = Thinking::Off;
    assert!(json_of(&request).get("thinking").is_none());
}

#[test]
fn thinking_blocks_and_unknown_blocks_are_sent_unchanged_and_unmarked() {
    let other = json!({"type":"document","source":{"z":1,"a":2}});
    let messages = vec![
        user(vec![
            ContentBlock::text("look"),
            ContentBlock::Other(other.clone()),
        ]),
        Message::assistant(vec![
            thinking(),
            ContentBlock::RedactedThinking { data: "x=".into() },
        ]),
    ];
    let body = text_of(&request(messages));
    assert!(body.contains(&other.to_string()), "{body}");
    assert!(body.contains(
        r#"[{"type":"thinking","thinking":"hm\n","signature":"c2ln+/="},{"type":"redacted_thinking","data":"x="}]"#
    ));
    assert!(body.contains(r#""text":"look","cache_control""#), "{body}");
}

#[test]
fn content_that_the_server_would_refuse_is_not_sent() {
    let messages = vec![
        user(vec![ContentBlock::text(""), ContentBlock::text("hi")]),
        Message::assistant(vec![]),
        Message::assistant(vec![
            ContentBlock::Thinking {
                thinking: "of a server that signs nothing".into(),
                signature: String::new(),
            },
            ContentBlock::text(""),
        ]),
        user(vec![ContentBlock::text("go on"), ContentBlock::text("")]),
        Message::assistant(vec![call("toolu_1", json!("{\"a"))]),
    ];
    let mut request = request(messages);
    let more = request.system.iter().cloned().chain([system("", true)]);
    request.system = more.collect();
    let body = json_of(&request);
    assert_eq!(
        without_markers(&body)["messages"],
        json!([
            {"role":"user","content":[{"type":"text","text":"hi"}]},
            {"role":"user","content":[{"type":"text","text":"go on"}]},
            {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read",
                "input":{"not_a_json_object":"{\"a"}}]}
        ])
    );
    assert_eq!(body["system"].as_array().unwrap().len(), 2);
    assert_eq!(markers(&body["system"]), 1);
}

#[test]
fn deferred_tools_are_unmarked_and_references_to_missing_tools_are_removed() {
    let deferred = |name: &str| ToolSpec {
        deferred: true,
        ..tool(name)
    };
    let reference = |name: &str| json!({"type": "tool_reference", "tool_name": name});
    let found = |id: &str, content: Value| {
        ContentBlock::Other(json!({"type": "tool_result", "tool_use_id": id, "content": content}))
    };
    let mut asked = request(vec![
        Message::user_text("go"),
        Message::assistant(vec![call("a", json!({})), call("b", json!({}))]),
        user(vec![
            found("a", json!([reference("here"), reference("gone")])),
            found("b", json!([reference("gone")])),
        ]),
    ]);
    asked.tools = [tool("Read"), deferred("here")].into();
    let body = json_of(&asked);
    assert!(body["tools"][0].get("cache_control").is_some());
    assert!(body["tools"][0].get("defer_loading").is_none());
    assert!(body["tools"][1].get("cache_control").is_none());
    assert_eq!(body["tools"][1]["defer_loading"], true);
    let results = &body["messages"][2]["content"];
    assert_eq!(results[0]["content"], json!([reference("here")]));
    assert_eq!(results[1]["content"][0]["type"], "text");
}
