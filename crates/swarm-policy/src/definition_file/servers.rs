//! `mcpServers` of a definition.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::values::{Wrong, text};
use crate::{McpServerConfig, McpUse};

/// Names of servers that the parent has, and servers of the agent's own.
pub(super) fn servers(value: &Value) -> Result<Vec<McpUse>, Wrong> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::String(line) => Ok(crate::pool::split(line).map(McpUse::Shared).collect()),
        Value::Object(own) => all(own),
        Value::Array(items) => {
            let uses: Result<Vec<_>, _> = items
                .iter()
                .map(|item| match item {
                    Value::Object(own) => all(own),
                    name => text(name).map(|name| vec![McpUse::Shared(name)]),
                })
                .collect();
            Ok(uses?.concat())
        }
        _ => Err("must be a list of names, or of `name: {command: …}`".into()),
    }
}

fn all(own: &Map<String, Value>) -> Result<Vec<McpUse>, Wrong> {
    own.iter()
        .map(|(name, config)| Ok(McpUse::Own(name.clone(), server(name, config)?)))
        .collect()
}

fn server(name: &str, config: &Value) -> Result<McpServerConfig, Wrong> {
    let wrong = |what: &str| {
        format!(
            "describes the server `{}` wrongly: {what}",
            name.escape_debug()
        )
    };
    let Value::Object(fields) = config else {
        return Err(wrong("it needs `command` or `url`"));
    };
    let kind = fields.get("type").and_then(Value::as_str);
    let known: &[&str] = match (kind, fields.contains_key("url")) {
        (None | Some("stdio"), false) => &["type", "command", "args", "env"],
        (None | Some("http" | "streamable-http"), true) => &["type", "url", "headers"],
        (Some(other), _) => {
            let what = format!(
                "`type` is `{}`: use stdio with `command`, or http with `url`",
                other.escape_debug()
            );
            return Err(wrong(&what));
        }
    };
    if let Some(key) = fields.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(wrong(&format!(
            "`{}` means nothing there",
            key.escape_debug()
        )));
    }
    let one = |key: &str| {
        fields
            .get(key)
            .and_then(Value::as_str)
            .map(str::to_owned)
            .ok_or_else(|| wrong(&format!("`{key}` is missing or no text")))
    };
    if fields.contains_key("url") {
        return Ok(McpServerConfig::Http {
            url: one("url")?,
            headers: texts(fields.get("headers")).map_err(|what| wrong(&what))?,
        });
    }
    let args = match fields.get("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(args)) => args.iter().map(text).collect::<Result<_, _>>()?,
        Some(_) => return Err(wrong("`args` must be a list")),
    };
    Ok(McpServerConfig::Stdio {
        command: one("command")?,
        args,
        env: texts(fields.get("env")).map_err(|what| wrong(&what))?,
    })
}

fn texts(value: Option<&Value>) -> Result<BTreeMap<String, String>, Wrong> {
    match value {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(fields)) => fields
            .iter()
            .map(|(name, value)| match value {
                // An empty variable is one.
                Value::String(text) => Ok((name.clone(), text.clone())),
                value => Ok((name.clone(), text(value)?)),
            })
            .collect(),
        Some(_) => Err("`env` and `headers` must be `NAME: value`".into()),
    }
}
