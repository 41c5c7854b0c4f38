//! The `env` object: variables for the shell commands of agents, and for the model clients.

use std::collections::BTreeMap;

use serde_json::Value;

use super::file::File;
use crate::failure::Failure;

/// The variables of a file. Those that mark swarm's own processes are never among them.
pub(super) fn read(file: &File) -> Result<BTreeMap<String, String>, Failure> {
    let wrong = |what: String| {
        let message = format!("{}: {what}", file.name());
        Err(Failure::usage(message).with_hint("correct the file; `env` is an object of texts"))
    };
    let entries = match file.document.get("env") {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(entries)) => entries,
        Some(_) => return wrong("`env` must be an object".to_owned()),
    };
    let mut variables = BTreeMap::new();
    for (name, value) in entries {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => return wrong(format!("`env.{}` must be a text", name.escape_debug())),
        };
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return wrong(format!(
                "`env.{}` cannot be a variable",
                name.escape_debug()
            ));
        }
        if !name.starts_with("SWARM_") && name != "CLAUDE_CONFIG_DIR" {
            variables.insert(name.clone(), value);
        }
    }
    Ok(variables)
}
