//! Assembly of answers from chunks as servers send them.

use serde_json::json;

use super::*;

/// Feeds event data to an answer; returns the emitted events and the final answer.
fn read(pieces: &[Value]) -> (Vec<ModelEvent>, Answer) {
    let mut answer = Answer::new("asked-for");
    let mut shown = Vec::new();
    for piece in pieces {
        match answer.take(&piece.to_string()).unwrap() {
            Step::Show(events) => shown.extend(events),
            other => panic!("{other:?}"),
        }
    }
    (shown, answer)
}

fn whole(pieces: &[Value]) -> (Vec<ModelEvent>, ModelResponse) {
    let (shown, mut answer) = read(pieces);
    match answer.take(DONE).unwrap() {
        Step::Complete(response) => (shown, response),
        other => panic!("{other:?}"),
    }
}

fn delta(delta: &Value) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "served",
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn call(name: &str) -> Value {
    delta(
        &json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": name, "arguments": "{}"}}]}),
    )
}

fn stop_of(pieces: &[Value]) -> StopReason {
    whole(pieces).1.stop_reason
}

#[test]
fn openai_text_with_usage_at_the_end_is_assembled() {
    let (shown, response) = whole(&[
        delta(&json!({"role": "assistant", "content": "", "refusal": null})),
        delta(&json!({"content": "Grü"})),
        delta(&json!({"content": "ße"})),
        finish("stop"),
        json!({"choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 7, "total_tokens": 57,
            "prompt_tokens_details": {"cached_tokens": 40, "audio_tokens": 0}}}),
    ]);
    let texts = ["Grü", "ße"].map(|text| ModelEvent::TextDelta(text.into()));
    assert_eq!(shown, texts);
    assert_eq!(response.content, [ContentBlock::text("Grüße")]);
    assert_eq!(response.stop_reason, StopReason::EndTurn);
    assert_eq!(response.model, "served");
    assert_eq!(
        response.usage,
        Usage {
            input_tokens: 10,
            output_tokens: 7,
            cache_read_input_tokens: 40,
            cache_creation_input_tokens: 0,
        }
    );
}

#[test]
fn thinking_is_emitted_once_under_each_field_name_and_unsigned() {
    for thought in [
        json!({"reasoning_content": "hm"}),
        json!({"reasoning": "hm"}),
        json!({"reasoning": "hm", "reasoning_content": "hm", "content": null}),
        json!({"reasoning": "hm", "reasoning_content": "", "content": ""}),
    ] {
        let (shown, response) = whole(&[
            delta(&thought),
            delta(&json!({"content": "yes"})),
            finish("stop"),
        ]);
        assert_eq!(
            shown,
            [
                ModelEvent::ThinkingDelta("hm".into()),
                ModelEvent::TextDelta("yes".into())
            ]
        );
        assert_eq!(
            response.content,
            [
                ContentBlock::Thinking {
                    thinking: "hm".into(),
                    signature: String::new()
                },
                ContentBlock::text("yes")
            ],
            "{thought}"
        );
    }
}

#[test]
fn a_tool_call_is_announced_and_completed() {
    let (shown, response) = whole(&[
        delta(&json!({"role": "assistant", "content": null})),
        delta(&json!({"content": "I look."})),
        delta(
            &json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
            "function": {"name": "Read", "arguments": ""}}]}),
        ),
        delta(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"file_path\":"}}]})),
        delta(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"/a\"}"}}]})),
        finish("tool_calls"),
    ]);
    assert_eq!(
        shown[1..],
        [ModelEvent::ToolUseStarted {
            id: "call_1".into(),
            name: "Read".into()
        }]
    );
    assert_eq!(response.stop_reason, StopReason::ToolUse);
    assert_eq!(
        response.content[1],
        ContentBlock::ToolUse {
            id: "call_1".into(),
            name: "Read".into(),
            input: json!({"file_path": "/a"})
        }
    );
}

#[test]
fn each_finish_reason_maps_to_a_stop_reason() {
    let text = delta(&json!({"content": "x"}));
    let reason = |word| stop_of(&[text.clone(), finish(word)]);
    assert_eq!(reason("stop"), StopReason::EndTurn);
    assert_eq!(reason("tool_calls"), StopReason::EndTurn, "without calls");
    assert_eq!(reason("length"), StopReason::MaxTokens);
    assert_eq!(reason("content_filter"), StopReason::Refusal);
    assert_eq!(reason("later"), StopReason::Other("later".into()));
    assert_eq!(
        stop_of(&[call("Read"), finish("stop")]),
        StopReason::ToolUse,
        "as sent by Ollama"
    );
    assert_eq!(
        stop_of(&[call("Read"), finish("length")]),
        StopReason::MaxTokens
    );
    let refusal = delta(&json!({"content": null, "refusal": "I cannot"}));
    let (_, response) = whole(&[refusal, finish("stop")]);
    assert_eq!(
        (response.text().as_str(), response.stop_reason),
        ("I cannot", StopReason::Refusal)
    );
}

#[test]
fn a_missing_last_line_or_finish_reason_is_tolerated() {
    let (_, mut answer) = read(&[delta(&json!({"content": "x"})), finish("stop")]);
    assert_eq!(answer.end().unwrap().text(), "x");
    assert_eq!(stop_of(&[call("Read")]), StopReason::ToolUse);
    let empty = json!({"choices": [{"delta": {"content": "x"}, "finish_reason": ""}]});
    let (_, mut answer) = read(&[empty]);
    assert_eq!(answer.end(), None, "an empty reason does not count");
    let mut nothing = Answer::new("m");
    nothing.take(DONE).unwrap_err();
}

#[test]
fn an_answer_without_streaming_is_accepted() {
    let (shown, mut answer) = read(&[json!({"object": "chat.completion", "model": "served",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "complete"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4}})]);
    assert_eq!(shown, [ModelEvent::TextDelta("complete".into())]);
    let response = answer.end().unwrap();
    assert_eq!(response.text(), "complete");
    assert_eq!(response.usage.output_tokens, 4);
}

#[test]
fn unknown_fields_of_servers_are_ignored() {
    let (_, response) = whole(&[
        json!({"choices": [], "prompt_filter_results": []}),
        json!({"choices": null, "error": null, "usage": null, "timings": {"n": 1}}),
        json!({"choices": [{"index": 1, "delta": {"content": "another answer"}}]}),
        json!({"choices": [{"delta": {"content": [{"type": "text", "text": "parts"}], "tool_calls": null}}]}),
        json!({"choices": [{"index": 0, "delta": null, "finish_reason": "stop"}], "usage":
            {"prompt_tokens": 5, "prompt_tokens_details": null, "prompt_cache_hit_tokens": 9}}),
    ]);
    assert_eq!(response.text(), "parts");
    assert_eq!(
        (
            response.usage.input_tokens,
            response.usage.cache_read_input_tokens
        ),
        (0, 5),
        "cached tokens never exceed the prompt"
    );
    assert_eq!(response.model, "asked-for");
}

#[test]
fn a_stream_error_is_a_refusal_and_invalid_data_is_reported() {
    for error in [
        json!({"error": {"message": "busy", "type": "server_error", "code": 503}}),
        json!({"error": "busy"}),
        json!({"object": "error", "message": "busy", "type": "InternalServerError", "code": 500}),
    ] {
        match Answer::new("m").take(&error.to_string()).unwrap() {
            Step::Refused(refusal) => assert_eq!(refusal.message, "busy"),
            other => panic!("{other:?}"),
        }
    }
    Answer::new("m").take("{\"choices\": 7}").unwrap_err();
    Answer::new("m").take("<html>").unwrap_err();
    Answer::new("m")
        .take(&finish("error").to_string())
        .unwrap_err();
}
