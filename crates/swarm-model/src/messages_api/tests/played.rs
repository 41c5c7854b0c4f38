//! Sample responses of a Messages API server, for tests.

use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::error::ModelError;
use crate::model::{ModelEvent, ModelEvents, ModelResponse};
use crate::remote::fake_server::Reply;

/// Formats one server-sent event.
pub(crate) fn event(data: &Value) -> String {
    let name = data["type"].as_str().unwrap();
    format!("event: {name}\ndata: {data}\n\n")
}

/// Returns the events of a complete text answer.
pub(crate) fn prose_answer(text: &str) -> String {
    [
        json!({"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",
            "model":"claude-x-20260101","content":[],"stop_reason":null,"usage":{"input_tokens":12,
            "cache_creation_input_tokens":3,"cache_read_input_tokens":40,"output_tokens":1}}}),
        json!({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}),
        json!({"type":"ping"}),
        json!({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":text}}),
        json!({"type":"content_block_stop","index":0}),
        json!({"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},
            "usage":{"output_tokens":9}}),
        json!({"type":"message_stop"}),
    ]
    .iter()
    .map(event)
    .collect()
}

/// Returns an error response in the API's format.
pub(crate) fn refusal(status: u16, kind: &str, message: &str) -> Reply {
    let body = json!({"type":"error","error":{"type":kind,"message":message}}).to_string();
    Reply::Whole(
        status,
        vec![("content-type", "application/json".to_owned())],
        body.into_bytes(),
    )
}

/// Reads a stream to its end and returns the complete answer.
pub(crate) async fn collect_response(mut events: ModelEvents) -> Result<ModelResponse, ModelError> {
    while let Some(event) = events.next().await {
        if let ModelEvent::Completed(response) = event? {
            return Ok(response);
        }
    }
    Err(ModelError::BadStream {
        message: "the client's stream contained no answer".into(),
        attempts: 1,
    })
}
