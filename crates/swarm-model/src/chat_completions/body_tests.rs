//! Serialized requests.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use swarm_protocol::{Effort, Thinking};

use super::super::capabilities::EffortLimit;
use super::*;
use crate::message::Message;
use crate::request::SystemBlock;
use crate::stored::stored;

const CAPABILITIES: ServerCapabilities = ServerCapabilities {
    limit: TokenLimit::MaxTokens,
    counts_tokens: true,
    effort: EffortLimit::Highest,
    vision: false,
};

fn request(messages: Vec<Message>) -> ModelRequest {
    let system = |text: &str| SystemBlock {
        text: text.to_owned(),
        cache: true,
    };
    ModelRequest {
        model: "gpt-oss:20b".into(),
        system: [system("You are bob."), system(""), system("Be brief.")].into(),
        tools: Arc::new([ToolSpec {
            name: "Read".into(),
            description: "Reads.".into(),
            deferred: false,
            input_schema: json!({"type": "object", "properties": {"z": {}, "a": {}}}).into(),
        }]),
        messages: stored(messages),
        max_tokens: 100,
        thinking: Thinking::Tokens(1024),
        effort: None,
        agent: "bob".into(),
    }
}

fn body(request: &ModelRequest, capabilities: ServerCapabilities) -> Value {
    serde_json::from_slice(&request_body(request, capabilities).unwrap().joined()).unwrap()
}

fn messages(said: Vec<Message>) -> Vec<Value> {
    let body = body(&request(said), CAPABILITIES);
    body["messages"].as_array().unwrap()[1..].to_vec()
}

fn user(content: Vec<ContentBlock>) -> Message {
    Message::user(content)
}

fn call(id: &str, input: Value) -> ContentBlock {
    ContentBlock::ToolUse {
        id: id.into(),
        name: "Read".into(),
        input,
    }
}

fn result(id: &str, content: &str, is_error: bool) -> ContentBlock {
    ContentBlock::ToolResult {
        tool_use_id: id.into(),
        content: content.into(),
        is_error,
    }
}

#[test]
fn an_effort_is_sent_until_the_server_refuses_it() {
    let mut request = request(vec![Message::user_text("hello")]);
    request.effort = Some(Effort::Medium);
    assert_eq!(body(&request, CAPABILITIES)["reasoning_effort"], "medium");
    let refused = ServerCapabilities {
        effort: EffortLimit::Omitted,
        ..CAPABILITIES
    };
    assert!(body(&request, refused).get("reasoning_effort").is_none());
}

#[test]
fn a_request_has_the_format_of_the_api() {
    let whole = body(&request(vec![Message::user_text("hello")]), CAPABILITIES);
    assert_eq!(
        whole,
        json!({
            "model": "gpt-oss:20b", "max_tokens": 100, "stream": true, "stream_options": {"include_usage": true},
            "tools": [{"type": "function", "function": {"name": "Read", "description": "Reads.",
                "parameters": {"type": "object", "properties": {"z": {}, "a": {}}}}}],
            "messages": [{"role": "system", "content": "You are bob.\n\nBe brief."}, {"role": "user", "content": "hello"}],
        })
    );
}

#[test]
fn a_request_omits_what_its_server_does_not_support() {
    let asked = request(vec![Message::user_text("hello")]);
    let keys = |capabilities| {
        let body = body(&asked, capabilities);
        let keys = body.as_object().unwrap().keys();
        keys.cloned().collect::<Vec<_>>()
    };
    let completion = ServerCapabilities {
        limit: TokenLimit::MaxCompletionTokens,
        ..CAPABILITIES
    };
    assert!(keys(completion).contains(&"max_completion_tokens".to_owned()));
    let bare = ServerCapabilities {
        limit: TokenLimit::Omitted,
        counts_tokens: false,
        ..CAPABILITIES
    };
    assert_eq!(keys(bare), ["model", "stream", "tools", "messages"]);
}

#[test]
fn results_follow_their_calls_before_other_messages() {
    let said = vec![
        Message::user_text("go"),
        Message::assistant(vec![
            ContentBlock::Thinking {
                thinking: "hm".into(),
                signature: "c2ln".into(),
            },
            ContentBlock::text("I look."),
            call("a", json!({"z": 1, "a": 2})),
            call("b", json!({})),
        ]),
        user(vec![
            ContentBlock::text("mail came"),
            result("a", "fine", false),
            result("b", "no such file", true),
        ]),
    ];
    assert_eq!(
        messages(said),
        [
            json!({"role": "user", "content": "go"}),
            json!({"role": "assistant", "content": "I look.", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "Read", "arguments": "{\"z\":1,\"a\":2}"}},
                {"id": "b", "type": "function", "function": {"name": "Read", "arguments": "{}"}}]}),
            json!({"role": "tool", "tool_call_id": "a", "content": "fine"}),
            json!({"role": "tool", "tool_call_id": "b", "content": "Error: no such file"}),
            json!({"role": "user", "content": "mail came"}),
        ]
    );
}

#[test]
fn broken_input_is_sent_as_json_and_an_error_is_marked_once() {
    let said = vec![
        Message::assistant(vec![call("a", json!("{\"z"))]),
        user(vec![result("a", "error: bad input", true)]),
    ];
    let wire = messages(said);
    assert_eq!(
        wire[0]["tool_calls"][0]["function"]["arguments"],
        r#"{"not_a_json_object":"{\"z"}"#
    );
    assert_eq!(wire[0]["content"], "");
    assert_eq!(wire[1]["content"], "error: bad input");
}

#[test]
fn unsupported_blocks_are_named_or_omitted() {
    let image = json!({"type": "image", "source": {}});
    let said = vec![
        user(vec![
            ContentBlock::text("look"),
            ContentBlock::Other(image.clone()),
        ]),
        Message::assistant(vec![ContentBlock::RedactedThinking { data: "x".into() }]),
        user(vec![ContentBlock::text(""), ContentBlock::text("well?")]),
        Message::assistant(vec![call("a", json!({}))]),
        user(vec![ContentBlock::Other(
            json!({"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "seen"}, image]}),
        )]),
    ];
    let wire = messages(said);
    let stand_in = "[An image was here. This model does not read images.]";
    assert_eq!(
        wire[0],
        json!({"role": "user", "content": format!("look\n\n{stand_in}\n\nwell?")}),
        "consecutive user messages are joined"
    );
    assert_eq!(
        wire[2],
        json!({"role": "tool", "tool_call_id": "a", "content": format!("seen\n\n{stand_in}")})
    );
}

#[test]
fn a_vision_model_gets_images_after_the_results() {
    let image = |data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let said = vec![
        Message::user_text("look"),
        Message::assistant(vec![call("a", json!({})), call("b", json!({}))]),
        user(vec![
            ContentBlock::Other(
                json!({"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "seen"}, image("QQ==")]}),
            ),
            result("b", "text", false),
            ContentBlock::text("hurry"),
            ContentBlock::Other(image("Qg==")),
        ]),
    ];
    let capabilities = ServerCapabilities {
        vision: true,
        ..CAPABILITIES
    };
    let wire = &body(&request(said), capabilities)["messages"];
    let below = "seen\n\n[The image is in the next user message.]";
    assert_eq!(
        wire[3],
        json!({"role": "tool", "tool_call_id": "a", "content": below})
    );
    assert_eq!(wire[4]["role"], "tool");
    assert_eq!(
        wire[5],
        json!({"role": "user", "content": [
            {"type": "text", "text": "hurry"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,Qg=="}},
        ]})
    );
}

/// One exchange: calls with their results, and the surrounding text.
fn exchange() -> impl Strategy<Value = Vec<Message>> {
    let text = || "[a-zé ]{0,6}";
    let calls = proptest::collection::vec((any::<bool>(), text()), 0..4);
    (text(), text(), calls, text(), any::<u32>()).prop_map(|(asked, said, calls, after, seed)| {
        let id = |number: usize| format!("call_{seed}_{number}");
        let mut spoken = vec![ContentBlock::text(said)];
        let mut results = vec![ContentBlock::text(after)];
        for (number, (is_error, text)) in calls.into_iter().enumerate() {
            spoken.push(call(&id(number), json!({"text": text})));
            results.push(result(&id(number), &text, is_error));
        }
        vec![
            Message::user_text(asked),
            Message::assistant(spoken),
            user(results),
        ]
    })
}

proptest! {
    #[test]
    fn every_valid_conversation_is_valid_on_the_wire(exchanges in proptest::collection::vec(exchange(), 0..5)) {
        let said: Vec<Message> = exchanges.into_iter().flatten().collect();
        let results = said.iter().flat_map(|m| &m.content).filter(|b| matches!(b, ContentBlock::ToolResult { .. })).count();
        let wire = messages(said);
        let mut open: Vec<Value> = Vec::new();
        let mut answered = 0;
        for (at, message) in wire.iter().enumerate() {
            if message["role"] == "tool" {
                prop_assert_eq!(Some(&message["tool_call_id"]), open.first(), "results are in the order of the calls");
                open.remove(0);
                answered += 1;
                continue;
            }
            prop_assert!(open.is_empty(), "message before every call was answered: {:?}", wire);
            let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
            prop_assert!(message["content"] != "" || !calls.is_empty(), "empty message");
            prop_assert!(at == 0 || wire[at - 1]["role"] != message["role"], "same role twice in a row: {:?}", wire);
            open = calls.iter().map(|call| call["id"].clone()).collect();
            for call in calls {
                let arguments = call["function"]["arguments"].as_str().unwrap();
                prop_assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object());
            }
        }
        prop_assert!(open.is_empty());
        prop_assert_eq!(answered, results);
    }

    #[test]
    fn a_longer_conversation_starts_with_the_bytes_of_the_shorter_one(
        before in proptest::collection::vec(exchange(), 1..4), after in exchange(),
    ) {
        let said: Vec<Message> = before.into_iter().flatten().collect();
        let longer = [said.clone(), after].concat();
        let text = |said| String::from_utf8(request_body(&request(said), CAPABILITIES).unwrap().joined().to_vec()).unwrap();
        let (shorter, longer) = (text(said), text(longer));
        // The last message may grow, so its closing quotes and brackets are ignored.
        let shorter = shorter.trim_end_matches(['}', ']', '"']);
        prop_assert!(longer.starts_with(shorter), "{shorter}\n{longer}");
    }
}

#[test]
fn a_deferred_tool_is_offered_once_a_search_has_found_it_and_the_result_shows_its_schema() {
    let found = ContentBlock::Other(json!({
        "type": "tool_result", "tool_use_id": "s",
        "content": [
            {"type": "tool_reference", "tool_name": "mcp__mail__send"},
            {"type": "tool_reference", "tool_name": "gone"},
        ],
    }));
    let searched = vec![
        user(vec![ContentBlock::text("go")]),
        Message {
            role: Role::Assistant,
            content: vec![call("s", json!({"query": "mail"}))],
        },
        user(vec![found]),
    ];
    let asked = |said: Vec<Message>| {
        let mut request = request(said);
        let deferred = ["mcp__mail__send", "mcp__mail__list"].map(|name| ToolSpec {
            name: name.into(),
            description: "Mails.".into(),
            input_schema: json!({"type": "object", "properties": {"to": {}}}).into(),
            deferred: true,
        });
        request.tools = request.tools.iter().cloned().chain(deferred).collect();
        body(&request, CAPABILITIES)
    };
    let names = |body: &Value| -> Vec<String> {
        let tools = body["tools"].as_array().unwrap();
        let names = tools.iter().map(|tool| &tool["function"]["name"]);
        names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    };
    let before = asked(vec![user(vec![ContentBlock::text("go")])]);
    assert_eq!(names(&before), ["Read"]);
    let after = asked(searched);
    assert_eq!(names(&after), ["Read", "mcp__mail__send"]);
    let told = after["messages"].as_array().unwrap().last().unwrap();
    let told = told["content"].as_str().unwrap();
    assert!(told.contains(r#""parameters":{"type":"object""#), "{told}");
    assert!(
        told.contains("The tool gone is not available any more."),
        "{told}"
    );
}
