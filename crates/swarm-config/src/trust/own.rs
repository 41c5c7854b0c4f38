//! The items that a trusted repository can run.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use swarm_mcp::server_part;
use swarm_permissions::{HookSettings, McpServerConfig, McpUse, read_definition_file};

use crate::skills::in_directory;

/// An item that runs once its repository is trusted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RepositoryItem {
    /// `hook`, `setting`, `plugin`, `mcp server`, `definition` or `skill`.
    kind: &'static str,
    /// Its event or name.
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// The file that configures it.
    file: PathBuf,
}

impl fmt::Display for RepositoryItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)?;
        if let Some(command) = &self.command {
            write!(f, ": {command}")?;
        }
        write!(f, " ({})", self.file.display())
    }
}

/// The items of a repository that depend on trust.
#[derive(Debug, Default)]
pub struct RepositoryItems {
    /// The items that run.
    pub runs: Vec<RepositoryItem>,
    /// Invalid items, which would run without another question once corrected.
    pub wrong: Vec<String>,
}

impl RepositoryItems {
    fn wrong(&mut self, path: &Path, what: fmt::Arguments<'_>) {
        self.wrong.push(format!("{}: {what}", path.display()));
    }
}

/// Reads the items at the top of a repository.
pub fn repository_items(top: &Path) -> RepositoryItems {
    let claude = top.join(".claude");
    let mut found = RepositoryItems::default();
    for name in ["settings.json", "settings.local.json"] {
        let path = claude.join(name);
        if let Some(document) = read(&path, &mut found) {
            hooks(&document["hooks"], &path, &mut found.runs);
            programs(&document, &path, &mut found.runs);
        }
    }
    let shared = top.join(".mcp.json");
    if let Some(document) = read(&shared, &mut found) {
        if !document["mcpServers"].is_object() {
            found.wrong(
                &shared,
                format_args!("`mcpServers` is missing or not an object"),
            );
        }
        servers(&document["mcpServers"], &shared, &mut found);
    }
    definitions(&claude.join("agents"), &mut found.runs);
    skills(&claude.join("skills"), &mut found.runs);
    for one in &mut found.runs {
        if let Ok(short) = one.file.strip_prefix(top) {
            one.file = short.to_owned();
        }
    }
    found
}

/// Reads a JSON file; `None` also for an empty one.
fn read(path: &Path, found: &mut RepositoryItems) -> Option<Value> {
    use std::io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        // A directory is a placeholder of a sandbox.
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | IsADirectory) => {
            return None;
        }
        Err(error) => {
            found.wrong(path, format_args!("cannot read the file: {error}"));
            return None;
        }
    };
    if text.trim().is_empty() {
        return None;
    }
    serde_json::from_str(&text)
        .map_err(|error| found.wrong(path, format_args!("invalid JSON: {error}")))
        .ok()
}

/// Adds the commands of settings, and the plugins that they enable.
fn programs(document: &Value, path: &Path, found: &mut Vec<RepositoryItem>) {
    let commands = [
        ("apiKeyHelper", &document["apiKeyHelper"]),
        ("statusLine", &document["statusLine"]["command"]),
    ];
    let plugins = document["enabledPlugins"].as_object().into_iter().flatten();
    let plugins = plugins.filter(|(_, on)| **on == true);
    found.extend(plugins.map(|(name, _)| RepositoryItem {
        kind: "plugin",
        name: name.clone(),
        command: None,
        file: path.to_owned(),
    }));
    found.extend(commands.into_iter().filter_map(|(name, command)| {
        Some(RepositoryItem {
            kind: "setting",
            name: name.to_owned(),
            command: Some(command.as_str()?.to_owned()),
            file: path.to_owned(),
        })
    }));
}

fn hooks(hooks: &Value, path: &Path, found: &mut Vec<RepositoryItem>) {
    let (read, _) = HookSettings::read(hooks, "");
    for (event, groups) in read.events {
        let commands = groups.into_iter().flat_map(|group| group.hooks);
        found.extend(commands.map(|hook| RepositoryItem {
            kind: "hook",
            name: event.name().to_owned(),
            command: Some(hook.action.text().to_owned()),
            file: path.to_owned(),
        }));
    }
}

fn servers(servers: &Value, path: &Path, found: &mut RepositoryItems) {
    for (name, server) in servers.as_object().into_iter().flatten() {
        if server["disabled"] == true {
            continue;
        }
        // Variables are expanded only when the server starts.
        let config = McpServerConfig::from_json(server);
        if let Err(why) = config.and_then(|_| server_part(name).map(|_| ())) {
            let name = name.escape_debug();
            found.wrong(path, format_args!("ignoring MCP server `{name}`: {why}"));
            continue;
        }
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
        found.runs.push(RepositoryItem {
            kind: "mcp server",
            name: name.clone(),
            command: command.or_else(|| server["url"].as_str().map(str::to_owned)),
            file: path.to_owned(),
        });
    }
}

/// Reads the skills that allow tool calls without approval.
fn skills(directory: &Path, found: &mut Vec<RepositoryItem>) {
    let mut skills = in_directory(directory);
    skills.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    let granting = skills
        .into_iter()
        .filter(|(skill, _)| !skill.allowed_tools.is_empty());
    found.extend(granting.map(|(skill, _)| RepositoryItem {
        kind: "skill",
        name: skill.name,
        command: Some(format!("allows {}", skill.allowed_tools.join(", "))),
        file: skill.path,
    }));
}

/// Reads the definitions with hooks or private servers, which run with agents of that type. Links
/// are not followed.
fn definitions(directory: &Path, found: &mut Vec<RepositoryItem>) {
    let mut entries: Vec<_> = std::fs::read_dir(directory)
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
            let origin = path.display().to_string();
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let Some(definition) = read_definition_file(&text, &origin).definition else {
                continue;
            };
            let mut own: Vec<String> = definition
                .hooks
                .events
                .keys()
                .map(|event| format!("hook {}", event.name()))
                .collect();
            own.extend(definition.mcp_servers.iter().filter_map(|used| match used {
                McpUse::Own(name, _) => Some(format!("mcp server {name}")),
                McpUse::Shared(_) => None,
            }));
            if own.is_empty() {
                continue;
            }
            found.push(RepositoryItem {
                kind: "definition",
                name: definition.name,
                command: Some(own.join(", ")),
                file: path,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a file that only this test sees")]
    fn wrong_in(text: &str) -> (Vec<String>, String) {
        let top = tempfile::tempdir().unwrap();
        std::fs::write(top.path().join(".mcp.json"), text).unwrap();
        let found = repository_items(top.path());
        let names = found.runs.into_iter().map(|one| one.name).collect();
        (names, found.wrong.join("\n"))
    }

    #[test]
    fn invalid_items_are_reported_before_trust() {
        let (runs, wrong) = wrong_in(r#"{"mcpServers": {"a": {"command": "x"},,}}"#);
        assert_eq!(runs, [""; 0]);
        assert!(wrong.contains(".mcp.json: invalid JSON: "), "{wrong}");
        let (runs, wrong) = wrong_in(
            r#"{"mcpServers": {"good": {"command": "x"}, "typo": {"comand": "x"},
                "old": {"type": "sse", "url": "https://x/sse"}, "off": {"disabled": true}}}"#,
        );
        assert_eq!(runs, ["good"]);
        for words in ["ignoring MCP server `typo`", "ignoring MCP server `old`"] {
            assert!(wrong.contains(words), "{words}: {wrong}");
        }
        assert!(!wrong.contains("`off`"), "{wrong}");
        assert!(wrong_in(r#"{"mcpServer": {}}"#).1.contains("`mcpServers`"));
        assert_eq!(wrong_in(""), (Vec::new(), String::new()));
    }
}
