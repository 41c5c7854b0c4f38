//! Plugins that settings enable by name: their commands, skills, hooks and MCP servers.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use swarm_permissions::HookSettings;

use super::EnabledPlugins;
use super::installed::{MANIFEST, Plugin, below, document, paths, plugins};
use crate::settings::Layer;

/// Stands for the directory of a plugin in its files.
const ROOT: &str = "${CLAUDE_PLUGIN_ROOT}";

/// The MCP servers in a file by full name, with the file; or the problem in it.
type ReadServers = Result<(String, Map<String, Value>), String>;

/// A plugin that settings enable by name.
#[derive(Debug)]
pub struct ActivePlugin {
    plugin: Plugin,
    /// Where it is enabled.
    pub(crate) layer: Layer,
}

/// Returns the plugins that settings enable by name, with the installed ones that only the repository
/// enables.
pub(crate) fn active_plugins(root: &Path, enabled: &EnabledPlugins) -> Vec<ActivePlugin> {
    let plugins = plugins(root, enabled).into_iter();
    plugins
        .filter_map(|plugin| {
            let layer = plugin.enabled_by(enabled)?;
            Some(ActivePlugin { plugin, layer })
        })
        .collect()
}

impl ActivePlugin {
    /// Returns the name, which is the prefix of the names of its parts.
    pub fn name(&self) -> &str {
        &self.plugin.name
    }

    /// Returns whether only the repository enables it.
    pub fn is_of_repository(&self) -> bool {
        self.layer == Layer::Project
    }

    /// Returns the directory: `CLAUDE_PLUGIN_ROOT` of its programs.
    pub fn directory(&self) -> &Path {
        &self.plugin.directory
    }

    /// Returns whether it is the plugin `PLUGIN@MARKETPLACE`.
    pub(crate) fn is(&self, key: &str) -> bool {
        self.plugin.key.as_deref() == Some(key)
    }

    /// Returns the directory with its `commands` or `skills`, and what its manifest adds:
    /// directories, and files of commands.
    pub fn locations(&self, part: &str) -> Vec<PathBuf> {
        let mut all = vec![self.directory().join(part)];
        all.extend(self.plugin.added(part).into_iter().flatten());
        all.dedup();
        all
    }

    /// Returns a message about each location of commands and skills in its manifest that cannot be
    /// used.
    pub(crate) fn misplaced(&self) -> Vec<String> {
        let parts = ["commands", "skills"].into_iter();
        let added = parts.flat_map(|part| self.plugin.added(part));
        added.filter_map(Result::err).collect()
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

    /// Returns its MCP servers, file by file.
    pub(crate) fn servers(&self) -> Vec<ReadServers> {
        let read = self.documents(".mcp.json", "mcpServers").into_iter();
        read.map(|read| {
            let (origin, servers) = read?;
            let Value::Object(servers) = servers else {
                return Err(format!("{origin}: no object of servers"));
            };
            let full_name = |name: String| format!("plugin:{}:{name}", self.name());
            let servers = servers.into_iter();
            let named = servers.map(|(name, server)| (full_name(name), server));
            Ok((origin, named.collect()))
        })
        .collect()
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
