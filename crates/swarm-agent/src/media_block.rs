//! Images and documents as blocks of the Messages API.

use serde_json::{Value, json};
use swarm_tools::Picture;

pub(crate) fn image_block(picture: &Picture) -> Value {
    base64_block("image", &picture.media_type, &picture.base64)
}

/// Returns a block of a kind such as `document`, with its content in base64.
pub(crate) fn base64_block(kind: &str, media_type: &str, data: &str) -> Value {
    json!({"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}})
}
