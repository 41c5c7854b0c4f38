//! Streams a reply as chunks of the chat completions API.

use serde_json::{Value, json};

use super::reply::{Block, Reply};
use super::stream::pieces;

/// Returns the chunks of a reply in order, each with its terminator.
pub(crate) fn frames(reply: &Reply, id: &str, model: &str, usage: &Value) -> Vec<String> {
    let piece = |choices: Value| json!({"id": id, "object": "chat.completion.chunk", "model": model, "choices": choices});
    let grow = |delta: Value| piece(json!([{"index": 0, "delta": delta, "finish_reason": null}]));
    let mut all = vec![grow(json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    let mut written = 0;
    for block in &reply.blocks {
        let deltas = deltas(block, calls);
        calls += usize::from(matches!(block, Block::ToolUse { .. }));
        written += deltas
            .iter()
            .map(|delta| delta.to_string().len())
            .sum::<usize>();
        all.extend(deltas.into_iter().map(grow));
    }
    let reason = if calls > 0 { "tool_calls" } else { "stop" };
    all.push(piece(
        json!([{"index": 0, "delta": {}, "finish_reason": reason}]),
    ));
    let mut last = piece(json!([]));
    let counted = [
        "input_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    ]
    .map(|name| usage[name].as_u64().unwrap_or(0));
    last["usage"] = json!({"prompt_tokens": counted.iter().sum::<u64>(), "completion_tokens": written / 4 + 1,
        "prompt_tokens_details": {"cached_tokens": counted[1]}});
    all.push(last);
    let all = all.iter().map(|piece| format!("data: {piece}\n\n"));
    all.chain(["data: [DONE]\n\n".to_owned()]).collect()
}

/// Returns the deltas of a block. The first one of a call has its id and name, the others only its
/// index.
fn deltas(block: &Block, call: usize) -> Vec<Value> {
    match block {
        Block::Text(text) => pieces(text)
            .map(|piece| json!({"content": piece}))
            .collect(),
        Block::Thinking { text, .. } => pieces(text)
            .map(|piece| json!({"reasoning_content": piece}))
            .collect(),
        Block::ToolUse { id, name, input } => {
            let first = json!({"index": call, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
            let input = input.to_string();
            let more = pieces(&input)
                .map(|piece| json!({"index": call, "function": {"arguments": piece}}));
            let calls = std::iter::once(first).chain(more);
            calls.map(|call| json!({"tool_calls": [call]})).collect()
        }
    }
}

/// Returns the format of an error, in a stream and as the body of an error response.
pub(crate) fn error_body(kind: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
}
