//! One server as `.mcp.json`, settings and definitions write it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::McpServerConfig;

/// Keys that other programs write and that change nothing here.
const WITHOUT_MEANING: [&str; 5] = [
    "autoApprove",
    "alwaysAllow",
    "description",
    "disabled",
    "timeout",
];

impl McpServerConfig {
    /// Reads `{command, args?, env?}` or `{type: "http", url, headers?}`, the form of Claude Code's `mcpServers`.
    ///
    /// # Errors
    /// What is wrong with it and what to write instead.
    pub fn from_json(entry: &Value) -> Result<Self, String> {
        let Value::Object(fields) = entry else {
            return Err("it needs `command` or `url`".to_owned());
        };
        let kind = match fields.get("type") {
            None | Some(Value::Null) => None,
            Some(Value::String(kind)) => Some(kind.as_str()),
            Some(_) => return Err("`type` is no text".to_owned()),
        };
        match (kind, fields.contains_key("url")) {
            (None | Some("stdio"), false) => {
                check(fields, &["type", "command", "args", "env"])?;
                Ok(Self::Stdio {
                    command: text(fields, "command")?,
                    args: list(fields.get("args"))?,
                    env: texts(fields, "env")?,
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
                "`type` is `sse`, a transport that MCP has given up: use `http` with the server's streamable HTTP address, \
                 which often ends in /mcp instead of /sse"
                    .to_owned(),
            ),
            (Some("http" | "streamable-http"), false) => Err("`url` is missing".to_owned()),
            (Some("stdio"), true) => {
                Err("`type` is `stdio` and it has a `url`: use `command`, or `type` http".to_owned())
            }
            (Some(other), _) => Err(format!(
                "`type` is `{}`: use stdio with `command`, or http with `url`",
                other.escape_debug()
            )),
        }
    }
}

fn check(fields: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    let mut keys = fields.keys().map(String::as_str);
    match keys.find(|key| !known.contains(key) && !WITHOUT_MEANING.contains(key)) {
        Some(key) => Err(format!("`{}` means nothing there", key.escape_debug())),
        None => Ok(()),
    }
}

fn text(fields: &Map<String, Value>, key: &str) -> Result<String, String> {
    let given = fields.get(key).and_then(Value::as_str);
    given
        .filter(|text| !text.trim().is_empty())
        .map(str::to_owned)
        .ok_or_else(|| format!("`{key}` is missing or no text"))
}

fn list(value: Option<&Value>) -> Result<Vec<String>, String> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| scalar(item).ok_or_else(|| "`args` must be a list of texts".to_owned()))
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
                let wrong = || format!("`{key}` has `{}`, which is no text", name.escape_debug());
                Ok((name.clone(), value.ok_or_else(wrong)?))
            })
            .collect(),
        Some(_) => Err(format!("`{key}` must be `NAME: value`")),
    }
}

/// Numbers and flags stand for the text that they are written as.
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
    fn both_kinds_are_read_as_claude_code_writes_them() {
        let stdio = json!({"command": "npx", "args": ["-y", 1], "env": {"A": "b", "N": 2}, "disabled": false});
        assert_eq!(
            McpServerConfig::from_json(&stdio).unwrap(),
            McpServerConfig::Stdio {
                command: "npx".into(),
                args: vec!["-y".into(), "1".into()],
                env: BTreeMap::from([("A".into(), "b".into()), ("N".into(), "2".into())]),
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
    fn what_cannot_be_used_says_why_and_what_to_write() {
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
