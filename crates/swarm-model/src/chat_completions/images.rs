//! Images in requests: a tool result of this API cannot hold images, so they follow in a user
//! message. Texts in requests: JSON strings, joined and measured without being parsed.

use std::borrow::Cow;

use serde::Serialize;
use serde::ser::{SerializeSeq as _, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

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

/// Separator between joined texts: two line breaks, escaped as in JSON.
const SEPARATOR: &str = r"\n\n";

/// A text in its JSON encoding, with quotes. The conversation is stored as JSON, so most texts are
/// reused without decoding.
pub(super) type Text<'a> = Cow<'a, RawValue>;

pub(super) fn is_empty(text: &RawValue) -> bool {
    inside(text).is_empty()
}

/// Returns the text between the quotes, still escaped.
pub(super) fn inside(text: &RawValue) -> &str {
    let text = text.get();
    text.get(1..text.len().saturating_sub(1))
        .unwrap_or_default()
}

pub(super) fn written<'a>(text: &str) -> Text<'a> {
    // Serializing a string cannot fail.
    Cow::Owned(to_raw_value(text).unwrap_or_default())
}

/// Wraps a string composed of valid JSON string fragments.
pub(super) fn quoted<'a>(json: String) -> Text<'a> {
    Cow::Owned(RawValue::from_string(json).unwrap_or_default())
}

pub(super) fn joined<'a>(texts: impl Iterator<Item = Text<'a>>) -> Text<'a> {
    let mut all = written("");
    for text in texts {
        append(&mut all, text);
    }
    all
}

pub(super) fn append<'a>(text: &mut Text<'a>, more: Text<'a>) {
    if is_empty(text) {
        *text = more;
    } else if !is_empty(&more) {
        *text = quoted(format!("\"{}{SEPARATOR}{}\"", inside(text), inside(&more)));
    }
}
