//! Parsing of a server entry in `.mcp.json`, settings and definitions.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use swarm_protocol::word_list;

use super::McpServerConfig;

/// Keys written by other programs that have no effect here.
const IGNORED_KEYS: [&str; 5] = word_list("autoApprove alwaysAllow description disabled timeout");

impl McpServerConfig {
    /// Parses `{command, args?, env?}` or `{type: "http", url, headers?}`, the format of Claude
    /// Code's `mcpServers`.
    ///
    /// # Errors
    /// What is wrong, and the correct form.
    pub fn from_json(entry: &Value) -> Result<Self, String> {
        let Value::Object(fields) = entry else {
            return Err("`command` or `url` is required".to_owned());
        };
        let kind = match fields.get("type") {
            None | Some(Value::Null) => None,
            Some(Value::String(kind)) => Some(kind.as_str()),
            Some(_) => return Err("`type` must be a string".to_owned()),
        };
        match (kind, fields.contains_key("url")) {
            (None | Some("stdio"), false) => {
                check(fields, &["type", "command", "args", "env"])?;
                Ok(Self::Stdio {
                    command: text(fields, "command")?,
                    args: list(fields.get("args"))?,
                    env: texts(fields, "env")?,
                    sandboxed: false,
                })
            }
            (None | Some("http" | "streamable-http"), true) => {
                check(fields, &["type", "url", "headers"])?;
                Ok(Self::Http {
                    url: text(fields, "url")?,
                    headers: texts(fields, "headers")?,
                })
            }
            (Some("sse"), _) => Err(
                "the transport `sse` is deprecated and not supported: use `http` with the server's streamable HTTP URL, \
                which often ends in /mcp instead of /sse"
                    .to_owned(),
            ),
            (Some("http" | "streamable-http"), false) => Err("`url` is missing".to_owned()),
            (Some("stdio"), true) => {
                Err("`type` `stdio` does not take a `url`: use `command`, or `type` `http`".to_owned())
            }
            (Some(other), _) => Err(format!(
                "unknown `type` `{}`: use stdio with `command`, or http with `url`",
                other.escape_debug()
            )),
        }
    }
}

fn check(fields: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    let mut keys = fields.keys().map(String::as_str);
    match keys.find(|key| !known.contains(key) && !IGNORED_KEYS.contains(key)) {
        Some(key) => Err(format!("unknown key `{}`", key.escape_debug())),
        None => Ok(()),
    }
}

fn text(fields: &Map<String, Value>, key: &str) -> Result<String, String> {
    let given = fields.get(key).and_then(Value::as_str);
    given
        .filter(|text| !text.trim().is_empty())
        .map(str::to_owned)
        .ok_or_else(|| format!("`{key}` is missing or not a string"))
}

fn list(value: Option<&Value>) -> Result<Vec<String>, String> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| scalar(item).ok_or_else(|| "`args` must be a list of strings".to_owned()))
            .collect(),
        Some(_) => Err("`args` must be a list".to_owned()),
    }
}

fn texts(fields: &Map<String, Value>, key: &str) -> Result<BTreeMap<String, String>, String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(texts)) => texts
            .iter()
            .map(|(name, value)| {
                let value = scalar(value);
                let wrong = || format!("`{}` in `{key}` must be a string", name.escape_debug());
                Ok((name.clone(), value.ok_or_else(wrong)?))
            })
            .collect(),
        Some(_) => Err(format!("`{key}` must be an object")),
    }
}

/// Converts strings, numbers and booleans to their text.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_kinds_are_parsed_in_the_format_of_claude_code() {
        let stdio = json!({"command": "npx", "args": ["-y", 1], "env": {"A": "b", "N": 2}, "disabled": false});
        assert_eq!(
            McpServerConfig::from_json(&stdio).unwrap(),
            McpServerConfig::Stdio {
                command: "npx".into(),
                args: vec!["-y".into(), "1".into()],
                env: BTreeMap::from([("A".into(), "b".into()), ("N".into(), "2".into())]),
                sandboxed: false,
            }
        );
        for entry in [
            json!({"type": "http", "url": "https://x/mcp", "headers": {"K": "v"}}),
            json!({"url": "https://x/mcp", "headers": {"K": "v"}}),
        ] {
            assert_eq!(
                McpServerConfig::from_json(&entry).unwrap(),
                McpServerConfig::Http {
                    url: "https://x/mcp".into(),
                    headers: BTreeMap::from([("K".into(), "v".into())]),
                }
            );
        }
    }

    #[test]
    fn an_invalid_entry_is_rejected_with_the_correct_form() {
        for (entry, word) in [
            (json!("npx"), "command"),
            (json!({}), "command"),
            (json!({"command": ""}), "command"),
            (json!({"command": "x", "args": "y"}), "args"),
            (json!({"command": "x", "env": {"A": []}}), "`A`"),
            (
                json!({"type": "sse", "url": "https://x/sse"}),
                "streamable HTTP",
            ),
            (json!({"type": "ws", "url": "wss://x"}), "http with `url`"),
            (json!({"type": "http"}), "url"),
            (json!({"type": 1}), "type"),
            (json!({"command": "x", "oauth": {}}), "oauth"),
        ] {
            let error = McpServerConfig::from_json(&entry).unwrap_err();
            assert!(error.contains(word), "{entry}: {error}");
        }
    }
}
