//! `mcpServers` of a definition.

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
    McpServerConfig::from_json(config).map_err(|what| {
        format!(
            "describes the server `{}` wrongly: {what}",
            name.escape_debug()
        )
    })
}
