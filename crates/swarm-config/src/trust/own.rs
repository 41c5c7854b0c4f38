//! The items that a trusted repository can run.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};
use swarm_mcp::server_part;
use swarm_permissions::{HookSettings, McpServerConfig, McpUse, read_definition_file};

use crate::plugins::{EnabledPlugins, active_plugins};
use crate::settings::Layer;
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
    /// The file that configures it; of a plugin, its directory.
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

/// Reads the items at the top of a repository, and those of the plugins below the config directory
/// `root` that it enables.
pub fn repository_items(root: &Path, top: &Path) -> RepositoryItems {
    let claude = top.join(".claude");
    let mut found = RepositoryItems::default();
    let mut enabled = EnabledPlugins::default();
    for name in ["settings.json", "settings.local.json"] {
        let path = claude.join(name);
        if let Some(document) = read(&path, &mut found) {
            let (read, _) = HookSettings::read(&document["hooks"], &path.display().to_string());
            hooks(read, &mut found.runs);
            programs(&document, &path, &mut found.runs);
            let named = document["enabledPlugins"].as_object().into_iter().flatten();
            for (plugin, on) in named.filter_map(|(plugin, on)| Some((plugin, on.as_bool()?))) {
                enabled.add(plugin.clone(), on, Layer::Project, &claude);
            }
        }
    }
    let shared = top.join(".mcp.json");
    if let Some(document) = read(&shared, &mut found) {
        if let Some(named) = document["mcpServers"].as_object() {
            servers(named, &shared, &mut found);
        } else {
            found.wrong(
                &shared,
                format_args!("`mcpServers` is missing or not an object"),
            );
        }
    }
    definitions(&claude.join("agents"), &mut found.runs);
    skills(&claude.join("skills"), "", &mut found.runs);
    plugins(root, &enabled, &mut found);
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

/// Adds the plugins that a repository enables, and what they run.
fn plugins(root: &Path, enabled: &EnabledPlugins, found: &mut RepositoryItems) {
    let installed = active_plugins(root, enabled);
    for key in enabled.of_repository() {
        let Some(plugin) = installed.iter().find(|plugin| plugin.is(key)) else {
            let key = key.escape_debug();
            found
                .wrong
                .push(format!("`enabledPlugins`: `{key}` is not installed"));
            continue;
        };
        found.runs.push(RepositoryItem {
            kind: "plugin",
            name: key.to_owned(),
            command: None,
            file: plugin.directory().to_owned(),
        });
        let (read, problems) = plugin.hooks();
        hooks(read, &mut found.runs);
        found.wrong.extend(problems);
        for read in plugin.servers() {
            match read {
                Ok((origin, named)) => servers(&named, Path::new(&origin), found),
                Err(problem) => found.wrong.push(problem),
            }
        }
        let prefix = format!("{}:", plugin.name());
        for directory in plugin.locations("skills") {
            skills(&directory, &prefix, &mut found.runs);
        }
    }
}

/// Adds the commands of settings.
fn programs(document: &Value, path: &Path, found: &mut Vec<RepositoryItem>) {
    let commands = [
        ("apiKeyHelper", &document["apiKeyHelper"]),
        ("statusLine", &document["statusLine"]["command"]),
    ];
    found.extend(commands.into_iter().filter_map(|(name, command)| {
        Some(RepositoryItem {
            kind: "setting",
            name: name.to_owned(),
            command: Some(command.as_str()?.to_owned()),
            file: path.to_owned(),
        })
    }));
}

fn hooks(hooks: HookSettings, found: &mut Vec<RepositoryItem>) {
    for (event, groups) in hooks.events {
        for group in groups {
            found.extend(group.hooks.iter().map(|hook| RepositoryItem {
                kind: "hook",
                name: event.name().to_owned(),
                command: Some(hook.action.text().to_owned()),
                file: PathBuf::from(&group.origin),
            }));
        }
    }
}

fn servers(servers: &Map<String, Value>, path: &Path, found: &mut RepositoryItems) {
    for (name, server) in servers {
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

/// Reads the skills that allow tool calls without approval. Their names get the prefix.
fn skills(directory: &Path, prefix: &str, found: &mut Vec<RepositoryItem>) {
    let mut skills = in_directory(directory);
    skills.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    let granting = skills
        .into_iter()
        .filter(|(skill, _)| !skill.allowed_tools.is_empty());
    found.extend(granting.map(|(skill, _)| RepositoryItem {
        kind: "skill",
        name: format!("{prefix}{}", skill.name),
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
    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn wrong_in(text: &str) -> (Vec<String>, String) {
        let top = tempfile::tempdir().unwrap();
        write(&top.path().join(".mcp.json"), text);
        let found = repository_items(Path::new("/none"), top.path());
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

    #[test]
    fn programs_of_installed_plugins_are_listed_before_trust() {
        let base = tempfile::tempdir().unwrap();
        let (root, top) = (base.path().join("root"), base.path().join("repo"));
        let kit = root.join("plugins/cache/m/kit/1.0");
        let hooks = r#"{"Stop": [{"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/stop"}]}]}"#;
        write(&kit.join("hooks/hooks.json"), hooks);
        let servers = r#"{"mcpServers": {"db": {"command": "serve"}}}"#;
        write(&kit.join(".mcp.json"), servers);
        let skill = "---\nname: ship\ndescription: d\nallowed-tools: Bash(make *)\n---\nx";
        write(&kit.join("skills/ship/SKILL.md"), skill);
        let loose = root.join("plugins/marketplaces/m/plugins/loose");
        write(&loose.join("hooks/hooks.json"), hooks);
        let enabled = r#"{"enabledPlugins": {"kit@m": true, "loose@m": true, "off@m": false}}"#;
        write(&top.join(".claude/settings.json"), enabled);
        let found = repository_items(&root, &top);
        let listed: Vec<String> = found.runs.iter().map(ToString::to_string).collect();
        let kit = kit.display();
        assert_eq!(
            listed,
            [
                format!("plugin kit@m ({kit})"),
                format!("hook Stop: {kit}/stop ({kit}/hooks/hooks.json)"),
                format!("mcp server plugin:kit:db: serve ({kit}/.mcp.json)"),
                format!("skill kit:ship: allows Bash(make *) ({kit}/skills/ship/SKILL.md)"),
            ]
        );
        assert_eq!(
            found.wrong,
            ["`enabledPlugins`: `loose@m` is not installed"]
        );
    }
}
