//! The field `mcpServers` of a definition.

use serde_json::{Map, Value};

use super::problem::Notes;
use super::values::text;
use crate::{McpServerConfig, McpUse};

/// Parses names of the parent's servers and private servers. Invalid entries are ignored.
pub(super) fn servers(value: &Value, notes: &mut Notes) -> Vec<McpUse> {
    match value {
        Value::Null => Vec::new(),
        Value::String(line) => crate::pool::split(line).map(McpUse::Shared).collect(),
        Value::Object(own) => all(own, notes),
        Value::Array(items) => {
            let mut uses = Vec::new();
            for item in items {
                match item {
                    Value::Object(own) => uses.extend(all(own, notes)),
                    name => match text(name) {
                        Ok(name) => uses.push(McpUse::Shared(name)),
                        Err(wrong) => notes.instead(wrong, "the entry is ignored"),
                    },
                }
            }
            uses
        }
        _ => {
            let what = "must be a list of names, or of `name: {command: …}`";
            notes.instead(what, "it is ignored");
            Vec::new()
        }
    }
}

fn all(own: &Map<String, Value>, notes: &mut Notes) -> Vec<McpUse> {
    let understood = |(name, config): (&String, &Value)| match McpServerConfig::from_json(config) {
        Ok(config) => Some(McpUse::Own(name.clone(), config)),
        Err(what) => {
            let name = name.escape_debug();
            let what = format!("has an invalid server `{name}`: {what}");
            notes.instead(what, "the server is ignored");
            None
        }
    };
    own.iter().filter_map(understood).collect()
}
