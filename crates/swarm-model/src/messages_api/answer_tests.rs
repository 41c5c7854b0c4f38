//! Assembly of answers from events.

use serde_json::json;

use super::*;

fn take(answer: &mut Answer, event: &Value) -> Result<Step, String> {
    answer.take(&event.to_string())
}

/// Feeds events to an answer; returns the emitted events and the complete response.
fn assemble(events: Vec<Value>) -> (Vec<ModelEvent>, ModelResponse) {
    let mut answer = Answer::new("claude-x");
    let mut shown = Vec::new();
    for event in events {
        match take(&mut answer, &event).unwrap() {
            Step::Show(events) => shown.extend(events),
            Step::Complete(response) => return (shown, response),
            Step::Refused(error) => panic!("{error:?}"),
        }
    }
    panic!("no message_stop")
}

fn start() -> Value {
    json!({"type":"message_start","message":{"model":"claude-x-1","usage":{"input_tokens":10,
        "cache_read_input_tokens":7,"cache_creation_input_tokens":5,"output_tokens":2}}})
}

fn block(index: usize, block: &Value) -> Value {
    json!({"type":"content_block_start","index":index,"content_block":block})
}

fn delta(index: usize, delta: &Value) -> Value {
    json!({"type":"content_block_delta","index":index,"delta":delta})
}

fn stop(index: usize) -> Value {
    json!({"type":"content_block_stop","index":index})
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({"type":"message_delta","delta":{"stop_reason":reason},"usage":{"output_tokens":30}}),
        json!({"type":"message_stop"}),
    ]
}

fn call_with(pieces: &[&str]) -> ContentBlock {
    let mut events = vec![
        start(),
        block(
            0,
            &json!({"type":"tool_use","id":"toolu_1","name":"Read","input":{}}),
        ),
    ];
    for piece in pieces {
        events.push(delta(
            0,
            &json!({"type":"input_json_delta","partial_json":piece}),
        ));
    }
    events.push(stop(0));
    events.extend(end("tool_use"));
    let (shown, response) = assemble(events);
    assert_eq!(
        shown,
        [ModelEvent::ToolUseStarted {
            id: "toolu_1".into(),
            name: "Read".into()
        }]
    );
    assert_eq!(response.stop_reason, StopReason::ToolUse);
    response.content.into_iter().next().unwrap()
}

#[test]
fn a_tool_call_is_parsed_when_it_is_complete() {
    let expected = |input| ContentBlock::ToolUse {
        id: "toolu_1".into(),
        name: "Read".into(),
        input,
    };
    assert_eq!(
        call_with(&["", "{\"file_pa", "th\": \"/a\\u00", "e9\"", "}"]),
        expected(json!({"file_path": "/aé"}))
    );
    assert_eq!(call_with(&[]), expected(json!({})), "empty input is valid");
    assert_eq!(call_with(&[""]), expected(json!({})));
}

#[test]
fn input_that_is_not_a_json_object_is_kept_as_raw_text() {
    for raw in [r#"{"file_path": "/a"#, "[1]", "\"text\"", "null"] {
        assert_eq!(call_with(&[raw]).broken_input(), Some(raw));
    }
}

#[test]
fn thinking_is_preserved_byte_for_byte() {
    let redacted = json!({"type":"redacted_thinking","data":"EmwKAhgB=="});
    let mut events = vec![
        start(),
        block(0, &json!({"type":"thinking","thinking":"","signature":""})),
        delta(
            0,
            &json!({"type":"thinking_delta","thinking":"Let me\n  see"}),
        ),
        delta(
            0,
            &json!({"type":"thinking_delta","thinking":" … \u{1f9e0}"}),
        ),
        delta(0, &json!({"type":"signature_delta","signature":"EqQB/+"})),
        delta(0, &json!({"type":"signature_delta","signature":"CgI="})),
        stop(0),
        block(1, &redacted),
        stop(1),
    ];
    events.extend(end("end_turn"));
    let (shown, response) = assemble(events);
    assert_eq!(
        shown,
        [
            ModelEvent::ThinkingDelta("Let me\n  see".into()),
            ModelEvent::ThinkingDelta(" … \u{1f9e0}".into())
        ]
    );
    let replayed = serde_json::to_string(&response.content).unwrap();
    let expected = format!(
        "[{},{}]",
        r#"{"type":"thinking","thinking":"Let me\n  see … 🧠","signature":"EqQB/+CgI="}"#, redacted
    );
    assert_eq!(replayed, expected);
}

#[test]
fn blocks_of_unknown_types_are_kept_with_their_streamed_content() {
    let mut events = vec![
        start(),
        block(
            0,
            &json!({"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}),
        ),
        delta(
            0,
            &json!({"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}),
        ),
        delta(0, &json!({"type":"later_delta","x":1})),
        stop(0),
        block(1, &json!({"type":"web_search_tool_result","content":[1]})),
        stop(1),
        json!({"type":"an_event_of_later","x":1}),
    ];
    events.extend(end("pause_turn"));
    let (_, response) = assemble(events);
    assert_eq!(
        serde_json::to_value(&response.content).unwrap(),
        json!([
            {"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query":"x"}},
            {"type":"web_search_tool_result","content":[1]}
        ])
    );
    assert_eq!(response.stop_reason, StopReason::PauseTurn);
}

#[test]
fn usage_is_merged_and_a_zero_does_not_reset_a_count() {
    let events = vec![
        start(),
        json!({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{
            "input_tokens":0,"cache_read_input_tokens":null,"output_tokens":33}}),
        json!({"type":"message_stop"}),
    ];
    let (_, response) = assemble(events);
    assert_eq!(
        response.usage,
        Usage {
            input_tokens: 10,
            output_tokens: 33,
            cache_read_input_tokens: 7,
            cache_creation_input_tokens: 5,
        }
    );
    assert_eq!(response.model, "claude-x-1");
    assert!(response.content.is_empty());
}

#[test]
fn missing_block_ends_and_a_missing_stop_reason_are_tolerated() {
    let (_, response) = assemble(vec![
        start(),
        block(0, &json!({"type":"text","text":"a"})),
        delta(0, &json!({"type":"text_delta","text":"b"})),
        block(
            1,
            &json!({"type":"tool_use","id":"t","name":"Read","input":{"x":1}}),
        ),
        json!({"type":"message_delta","delta":{},"usage":null}),
        json!({"type":"message_stop"}),
    ]);
    assert_eq!(response.stop_reason, StopReason::ToolUse);
    assert_eq!(
        serde_json::to_value(&response.content).unwrap(),
        json!([{"type":"text","text":"ab"},
            {"type":"tool_use","id":"t","name":"Read","input":{"x":1}}])
    );
}

#[test]
fn unexpected_events_are_reported() {
    let mut answer = Answer::new("m");
    take(&mut answer, &start()).unwrap();
    take(&mut answer, &block(0, &json!({"type":"text","text":""}))).unwrap();
    for wrong in [
        block(0, &json!({"type":"text","text":""})),
        block(1, &json!({"text":"without a type"})),
        block(1, &json!({"type":"tool_use","name":"no id"})),
        delta(7, &json!({"type":"text_delta","text":"x"})),
        stop(7),
    ] {
        take(&mut answer, &wrong).unwrap_err();
    }
    let mut other = Answer::new("m");
    take(&mut other, &block(0, &json!({"type":"text","text":""}))).unwrap();
    take(
        &mut other,
        &delta(0, &json!({"type":"signature_delta","signature":"x"})),
    )
    .unwrap_err();
    take(&mut other, &json!({"type":"message_stop"})).unwrap_err();
}
