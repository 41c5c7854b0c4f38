//! Which parts of plugins are used.

use std::path::Path;

use super::EnabledPlugins;
use super::installed::{MARKETPLACES, plugins};
use crate::settings::Layer;

/// Parts besides agents: path, key of the manifest, name.
const PARTS: [(&str, &str, &str); 4] = [
    ("commands", "commands", "commands"),
    ("skills", "skills", "skills"),
    ("hooks/hooks.json", "hooks", "hooks"),
    (".mcp.json", "mcpServers", "MCP servers"),
];

/// Parts that are not supported.
const UNSUPPORTED: [(&str, &str, &str); 5] = [
    ("output-styles", "outputStyles", "output styles"),
    (".lsp.json", "lspServers", "LSP servers"),
    ("monitors", "monitors", "monitors"),
    ("settings.json", "settings", "settings"),
    ("bin", "bin", "programs for the path"),
];

/// What is used of an enabled plugin besides its agents.
#[derive(Debug, PartialEq, Eq)]
pub struct PluginParts {
    /// Its name.
    pub name: String,
    /// Parts that are used.
    pub used: Vec<&'static str>,
    /// Parts that are not used because no settings enable the plugin by name.
    pub not_enabled: Vec<&'static str>,
    /// Parts that are not used because only the repository enables the plugin, which is not trusted.
    pub untrusted: Vec<&'static str>,
    /// Parts that are not supported.
    pub unsupported: Vec<&'static str>,
}

/// Returns the parts of each plugin that has any besides agents. Plugins that are only offered by a
/// marketplace are skipped.
pub fn plugin_parts(root: &Path, enabled: &EnabledPlugins, trusted: bool) -> Vec<PluginParts> {
    let offers = root.join("plugins").join(MARKETPLACES);
    let plugins = plugins(root, enabled)
        .into_iter()
        .filter(|plugin| enabled.user_chooses() || !plugin.directory.starts_with(&offers));
    let parts = plugins.map(|plugin| {
        let has = |(path, key, _): &&(&str, &str, &str)| {
            plugin.directory.join(path).exists() || !plugin.manifest[*key].is_null()
        };
        let present = |parts: &[(&'static str, &'static str, &'static str)]| {
            parts.iter().filter(has).map(|(.., part)| *part).collect()
        };
        let mut parts = PluginParts {
            unsupported: present(&UNSUPPORTED),
            used: Vec::new(),
            not_enabled: Vec::new(),
            untrusted: Vec::new(),
            name: plugin.name.clone(),
        };
        let layer = plugin
            .key
            .as_deref()
            .and_then(|key| enabled.enabled_by(key));
        let supported = present(&PARTS);
        match layer {
            None => parts.not_enabled = supported,
            Some(Layer::Project) if !trusted => parts.untrusted = supported,
            Some(_) => parts.used = supported,
        }
        parts
    });
    parts
        .filter(|parts| {
            let lists = [
                &parts.used,
                &parts.not_enabled,
                &parts.untrusted,
                &parts.unsupported,
            ];
            lists.iter().any(|list| !list.is_empty())
        })
        .collect()
}
