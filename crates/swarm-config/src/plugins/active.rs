//! Plugins that settings enable by name: their commands, skills, hooks and MCP servers.

use std::path::{Path, PathBuf};

use serde_json::Value;
use swarm_permissions::HookSettings;

use super::EnabledPlugins;
use super::installed::{MANIFEST, Plugin, below, document, plugins};
use crate::settings::Layer;

/// Stands for the directory of a plugin in its files.
const ROOT: &str = "${CLAUDE_PLUGIN_ROOT}";

/// A plugin that settings enable by name.
#[derive(Debug)]
pub struct ActivePlugin {
    plugin: Plugin,
    /// Whether only the repository enables it.
    pub is_of_repository: bool,
}

/// Returns the plugins that settings enable by name, with those that only the repository enables.
pub fn active_plugins(root: &Path, enabled: &EnabledPlugins) -> Vec<ActivePlugin> {
    let plugins = plugins(root, enabled).into_iter();
    plugins
        .filter_map(|plugin| {
            let layer = enabled.enabled_by(plugin.key.as_deref()?)?;
            Some(ActivePlugin {
                plugin,
                is_of_repository: layer == Layer::Project,
            })
        })
        .collect()
}

impl ActivePlugin {
    /// Returns the name, which is the prefix of the names of its parts.
    pub fn name(&self) -> &str {
        &self.plugin.name
    }

    /// Returns the directory: `CLAUDE_PLUGIN_ROOT` of its programs.
    pub fn directory(&self) -> &Path {
        &self.plugin.directory
    }

    /// Returns the directories with its `commands` or `skills`, and those that its manifest adds.
    pub fn directories(&self, part: &str) -> Vec<PathBuf> {
        let own = self.directory().join(part);
        let added = paths(&self.plugin.manifest[part]);
        let added = added.filter_map(|path| below(self.directory(), path));
        let mut all = vec![own];
        all.extend(added.filter(|path| path.is_dir()));
        all.dedup();
        all
    }

    /// Returns its hooks, and problems in its files.
    pub(crate) fn hooks(&self) -> (HookSettings, Vec<String>) {
        let mut all = HookSettings::default();
        let mut problems = Vec::new();
        for read in self.documents("hooks/hooks.json", "hooks") {
            match read {
                Ok((origin, hooks)) => {
                    let (hooks, remarks) = HookSettings::read(&hooks, &origin);
                    all.extend(hooks.of_plugin(self.directory()));
                    problems.extend(remarks.iter().map(|what| format!("{origin}: {what}")));
                }
                Err(problem) => problems.push(problem),
            }
        }
        (all, problems)
    }

    /// Returns the objects with its MCP servers, each with its file; problems are errors.
    pub(crate) fn servers(&self) -> Vec<Result<(String, Value), String>> {
        self.documents(".mcp.json", "mcpServers")
    }

    /// Returns the objects with the name `key`: of the file at `path`, of the files that the manifest
    /// names, and of the manifest. Each comes with its file.
    fn documents(&self, path: &str, key: &str) -> Vec<Result<(String, Value), String>> {
        let named = &self.plugin.manifest[key];
        let manifest = self.directory().join(MANIFEST).display().to_string();
        let mut found = Vec::new();
        let mut seen = Vec::new();
        for named in std::iter::once(path).chain(paths(named)) {
            let Some(file) = below(self.directory(), named) else {
                let named = named.escape_debug();
                found.push(Err(format!(
                    "{manifest}: `{named}` is outside of the plugin"
                )));
                continue;
            };
            if seen.contains(&file) {
                continue;
            }
            let origin = file.display().to_string();
            match document(&file) {
                Ok(read) => found.extend(read.map(|read| Ok((origin, read)))),
                Err(why) => found.push(Err(format!("{origin}: {why}"))),
            }
            seen.push(file);
        }
        if named.is_object() {
            found.push(Ok((manifest, named.clone())));
        }
        let directory = self.directory().display().to_string();
        for (_, read) in found.iter_mut().flatten() {
            if read[key].is_object() {
                *read = read[key].take();
            }
            fill_in(read, &directory);
        }
        found
    }
}

/// Returns the paths in a value of a manifest: one, or a list.
fn paths(value: &Value) -> impl Iterator<Item = &str> {
    let list = value.as_array().into_iter().flatten();
    value
        .as_str()
        .into_iter()
        .chain(list.filter_map(Value::as_str))
}

/// Replaces the placeholder for the plugin's directory in all texts.
fn fill_in(value: &mut Value, directory: &str) {
    match value {
        Value::String(text) => *text = text.replace(ROOT, directory),
        Value::Array(items) => {
            for item in items {
                fill_in(item, directory);
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                fill_in(field, directory);
            }
        }
        _ => {}
    }
}
