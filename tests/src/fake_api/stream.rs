//! Streams a reply as events of the Messages API.

use serde_json::{Value, json};

use super::reply::{Block, Reply};

/// Maximum length of a delta in characters: short, so that every client has to join deltas.
const PIECE: usize = 12;

/// Returns the events of a reply in order, each with its name.
pub(crate) fn events(
    reply: &Reply,
    message_id: &str,
    model: &str,
    usage: &Value,
) -> Vec<(&'static str, Value)> {
    let mut events = vec![
        (
            "message_start",
            json!({"type": "message_start", "message": {
                "id": message_id, "type": "message", "role": "assistant", "model": model,
                "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage}}),
        ),
        ("ping", json!({"type": "ping"})),
    ];
    let mut written = 0;
    for (index, block) in reply.blocks.iter().enumerate() {
        let (start, deltas) = parts(block);
        events.push((
            "content_block_start",
            json!({"type": "content_block_start", "index": index, "content_block": start}),
        ));
        for delta in deltas {
            written += delta.to_string().len();
            events.push((
                "content_block_delta",
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        events.push((
            "content_block_stop",
            json!({"type": "content_block_stop", "index": index}),
        ));
    }
    events.push((
        "message_delta",
        json!({"type": "message_delta",
            "delta": {"stop_reason": reply.stop_reason(), "stop_sequence": null},
            "usage": {"output_tokens": written / 4 + 1}}),
    ));
    events.push(("message_stop", json!({"type": "message_stop"})));
    events
}

/// Returns the start of a block and its deltas.
fn parts(block: &Block) -> (Value, Vec<Value>) {
    match block {
        Block::Text(text) => (
            json!({"type": "text", "text": ""}),
            pieces(text)
                .map(|piece| json!({"type": "text_delta", "text": piece}))
                .collect(),
        ),
        Block::Thinking { text, signature } => {
            let thoughts =
                pieces(text).map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
            let seal = json!({"type": "signature_delta", "signature": signature});
            (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                thoughts.chain([seal]).collect(),
            )
        }
        Block::ToolUse { id, name, input } => (
            json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            pieces(&input.to_string())
                .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                .collect(),
        ),
    }
}

pub(crate) fn pieces(text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = chars
        .chunks(PIECE)
        .map(|piece| piece.iter().collect())
        .collect();
    pieces.into_iter()
}

/// Encodes one event.
pub(crate) fn frame(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// Returns the message of a simulated failure.
pub(crate) fn made_up(kind: &str) -> String {
    format!("made up by the test: {kind}")
}

/// Returns the format of an error, in a stream and as the body of an error response.
pub(crate) fn error_body(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message},
        "request_id": "req_test"})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_deltas_are_the_whole_block() {
        let input = json!({"command": "printf 'grüße %s' \"$HOME\"", "n": 1});
        let reply = Reply::blocks([
            Block::Thinking {
                text: "a long enough thought".to_owned(),
                signature: "sig".to_owned(),
            },
            Block::tool("t1", "Bash", input.clone()),
        ]);
        let events = events(&reply, "msg_1", "m", &json!({}));
        let partial: String = events
            .iter()
            .filter_map(|(_, data)| data["delta"]["partial_json"].as_str())
            .collect();
        assert_eq!(serde_json::from_str::<Value>(&partial).unwrap(), input);
        let thought: String = events
            .iter()
            .filter_map(|(_, data)| data["delta"]["thinking"].as_str())
            .collect();
        assert_eq!(thought, "a long enough thought");
        assert_eq!(events.last().unwrap().0, "message_stop");
        assert_eq!(
            events[events.len() - 2].1["delta"]["stop_reason"],
            "tool_use"
        );
    }
}
