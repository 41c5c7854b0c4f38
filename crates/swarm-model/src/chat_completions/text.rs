//! JSON strings as they are sent: joined and measured without being parsed.

use std::borrow::Cow;

use serde_json::value::{RawValue, to_raw_value};

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
