//! Digests of calls and contents.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Returns the digest that binds an approval to one exact call:
/// the lower-case hex SHA-256 of the tool's name, one NUL byte, and the input as compact
/// JSON with sorted keys, as computed by Claude Code 2.1.329.
pub fn input_digest(tool: &str, input: &Value) -> String {
    let mut hasher = Sha256::new();
    hasher.update(tool.as_bytes());
    hasher.update([0]);
    hasher.update(sorted(input).to_string().as_bytes());
    format!("{:x}", hasher.finalize())
}

/// Returns the lower-case hex SHA-256 of a content.
pub fn content_digest(content: &[u8]) -> String {
    format!("{:x}", Sha256::digest(content))
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries = entries.into_iter().map(|(k, v)| (k.clone(), sorted(v)));
            Value::Object(entries.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
