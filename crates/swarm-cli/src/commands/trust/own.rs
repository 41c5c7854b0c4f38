//! What a repository would run.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

/// One thing that runs once its repository is trusted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(in crate::commands) struct Own {
    /// `hook`, `mcp server` or `definition`.
    kind: &'static str,
    /// Its event or name.
    name: String,
    /// The command line, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Its file.
    file: PathBuf,
}

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)?;
        if let Some(command) = &self.command {
            write!(f, ": {command}")?;
        }
        write!(f, " ({})", self.file.display())
    }
}

/// What stands at the top of a repository. Files that are not understood are passed over: whoever runs something hears
/// of them.
pub(in crate::commands) fn find(top: &Path) -> Vec<Own> {
    let claude = top.join(".claude");
    let mut found = Vec::new();
    for name in ["settings.json", "settings.local.json"] {
        let path = claude.join(name);
        if let Some(document) = read(&path) {
            hooks(&document["hooks"], &path, &mut found);
            servers(&document["mcpServers"], &path, &mut found);
        }
    }
    let shared = top.join(".mcp.json");
    if let Some(document) = read(&shared) {
        servers(&document["mcpServers"], &shared, &mut found);
    }
    definitions(&claude.join("agents"), &mut found);
    for one in &mut found {
        if let Ok(short) = one.file.strip_prefix(top) {
            one.file = short.to_owned();
        }
    }
    found
}

fn read(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

fn hooks(hooks: &Value, path: &Path, found: &mut Vec<Own>) {
    for (event, groups) in hooks.as_object().into_iter().flatten() {
        let commands = groups
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|group| group["hooks"].as_array().into_iter().flatten())
            .filter_map(|hook| hook["command"].as_str());
        found.extend(commands.map(|command| Own {
            kind: "hook",
            name: event.clone(),
            command: Some(command.to_owned()),
            file: path.to_owned(),
        }));
    }
}

fn servers(servers: &Value, path: &Path, found: &mut Vec<Own>) {
    for (name, server) in servers.as_object().into_iter().flatten() {
        let words = server["args"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let command = server["command"].as_str().map(|program| {
            std::iter::once(program)
                .chain(words)
                .collect::<Vec<_>>()
                .join(" ")
        });
        found.push(Own {
            kind: "mcp server",
            name: name.clone(),
            command: command.or_else(|| server["url"].as_str().map(str::to_owned)),
            file: path.to_owned(),
        });
    }
}

/// Definitions, whose hooks and servers run while an agent of that type does. Links are not followed.
fn definitions(folder: &Path, found: &mut Vec<Own>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_type().ok()?, entry.path())))
        .collect();
    entries.sort_by(|(_, one), (_, other)| one.cmp(other));
    for (kind, path) in entries {
        if kind.is_dir() {
            definitions(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            let name = path.file_stem().unwrap_or_default();
            found.push(Own {
                kind: "definition",
                name: name.to_string_lossy().into_owned(),
                command: None,
                file: path,
            });
        }
    }
}
