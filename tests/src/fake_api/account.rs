//! Token counts as a prompt cache would give them, four bytes a token. What counts as cached is everything up to the
//! last cache marker, if the agent's previous request had it too, byte for byte.

use serde_json::{Map, Value, json};

/// What the cache holds for one agent: its prompt, piece by piece, up to the last marker.
#[derive(Debug, Default)]
pub(crate) struct Account {
    cached: Vec<String>,
}

impl Account {
    /// The `usage` of a request, with the answer's tokens yet to come; the cache learns its prompt.
    pub(crate) fn input_usage(&mut self, body: &Value) -> Value {
        let (pieces, marked) = pieces(body);
        let length = |pieces: &[String]| pieces.iter().map(String::len).sum::<usize>() / 4;
        let is_hit = !self.cached.is_empty() && pieces.starts_with(&self.cached);
        let read = if is_hit { self.cached.len() } else { 0 };
        let marked = marked.max(read);
        let usage = json!({
            "input_tokens": length(&pieces[marked..]),
            "cache_read_input_tokens": length(&pieces[..read]),
            "cache_creation_input_tokens": length(&pieces[read..marked]),
            "output_tokens": 1,
        });
        if marked > 0 {
            self.cached = pieces[..marked].to_vec();
        }
        usage
    }
}

/// The prompt in the order in which the API reads it (tools, system, messages), without its cache markers, and how
/// many pieces stand before and at the last marker.
fn pieces(body: &Value) -> (Vec<String>, usize) {
    let mut pieces = Vec::new();
    let mut marked = 0;
    let empty = Vec::new();
    let list = |value: &Value| value.as_array().unwrap_or(&empty).clone();
    let messages = list(&body["messages"]).into_iter().flat_map(|message| {
        let role = message["role"].clone();
        let blocks = match &message["content"] {
            Value::Array(blocks) => blocks.clone(),
            text => vec![text.clone()],
        };
        blocks.into_iter().map(move |block| (role.clone(), block))
    });
    let system = match &body["system"] {
        Value::Array(blocks) => blocks.clone(),
        text => vec![text.clone()],
    };
    let before = list(&body["tools"]).into_iter().chain(system);
    for (role, piece) in before.map(|piece| (Value::Null, piece)).chain(messages) {
        let (piece, has_marker) = without_marker(piece);
        pieces.push(format!("{role}{piece}"));
        if has_marker {
            marked = pieces.len();
        }
    }
    (pieces, marked)
}

fn without_marker(piece: Value) -> (Value, bool) {
    match piece {
        Value::Object(fields) => {
            let has_marker = fields.contains_key("cache_control");
            let rest: Map<String, Value> = fields
                .into_iter()
                .filter(|(name, _)| name != "cache_control")
                .collect();
            (Value::Object(rest), has_marker)
        }
        other => (other, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(system: &str, messages: &[(&str, bool)]) -> Value {
        let block = |text: &str, marked: bool| {
            let mut block = json!({"type": "text", "text": text});
            if marked {
                block["cache_control"] = json!({"type": "ephemeral"});
            }
            block
        };
        let messages: Vec<Value> = messages
            .iter()
            .map(|(text, marked)| json!({"role": "user", "content": [block(text, *marked)]}))
            .collect();
        json!({"system": [block(system, true)], "messages": messages})
    }

    #[test]
    fn a_prefix_that_stays_is_read_and_one_that_changes_is_written_again() {
        let mut account = Account::default();
        let first = account.input_usage(&body("you are", &[("hello there", true)]));
        assert_eq!(first["cache_read_input_tokens"], 0);
        assert_eq!(first["input_tokens"], 0);
        let written = first["cache_creation_input_tokens"].as_u64().unwrap();
        let second = account.input_usage(&body(
            "you are",
            &[("hello there", false), ("and more", true)],
        ));
        assert_eq!(second["cache_read_input_tokens"].as_u64(), Some(written));
        assert!(second["cache_creation_input_tokens"].as_u64().unwrap() > 0);
        let third = account.input_usage(&body("you were", &[("hello there", false)]));
        assert_eq!(third["cache_read_input_tokens"], 0);
    }
}
