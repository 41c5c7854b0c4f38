//! Images in requests. A tool result of this API cannot hold images, so they follow in a user
//! message.

use serde::Serialize;
use serde::ser::{SerializeSeq as _, Serializer};
use serde_json::{Value, json};

use super::text::{Text, is_empty};

/// Placeholder in a result whose image follows.
const BELOW: &str = "[The image is in the next user message.]";

/// Placeholder for an image if the model does not accept images.
const NO_VISION: &str = "[An image was here. This model does not read images.]";

/// The content of a user message: a string, or a list of parts if there are images.
#[derive(Debug)]
pub(super) struct UserContent<'a> {
    pub(super) text: Text<'a>,
    /// URLs, mostly `data:`.
    pub(super) images: Vec<String>,
}

impl Serialize for UserContent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.images.is_empty() {
            return self.text.serialize(serializer);
        }
        let mut parts = serializer.serialize_seq(None)?;
        if !is_empty(&self.text) {
            parts.serialize_element(&TextPart {
                kind: "text",
                text: &self.text,
            })?;
        }
        for url in &self.images {
            parts.serialize_element(&json!({"type": "image_url", "image_url": {"url": url}}))?;
        }
        parts.end()
    }
}

#[derive(Serialize)]
struct TextPart<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a Text<'a>,
}

/// Collects the images of a message and replaces them by placeholders.
#[derive(Debug)]
pub(super) struct Images {
    pub(super) vision: bool,
    /// URLs of the images of one message, in order.
    pub(super) found: Vec<String>,
}

impl Images {
    /// Converts a block that has no counterpart in this API to text. `is_result` says whether it is
    /// part of a tool result.
    pub(super) fn as_text(&mut self, value: &Value, is_result: bool) -> String {
        if let Value::String(text) = &value["text"] {
            return text.clone();
        }
        let kind = value["type"].as_str().unwrap_or("unknown");
        if kind != "image" {
            return format!(
                "[A block of the type {kind} was here. It cannot be sent to this model.]"
            );
        }
        match address(&value["source"]).filter(|_| self.vision) {
            Some(url) => {
                self.found.push(url);
                if is_result { BELOW } else { "" }.to_owned()
            }
            None => NO_VISION.to_owned(),
        }
    }
}

/// Returns the URL of an image block of the Messages API.
fn address(source: &Value) -> Option<String> {
    if source["type"] == "url" {
        return source["url"].as_str().map(str::to_owned);
    }
    let (media_type, data) = (source["media_type"].as_str()?, source["data"].as_str()?);
    Some(format!("data:{media_type};base64,{data}"))
}
