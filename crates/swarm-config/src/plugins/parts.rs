//! Which parts of plugins are used.

use std::path::Path;

use super::EnabledPlugins;
use super::installed::{Plugin, plugins};
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

/// Whether the parts of a plugin besides its agents are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PluginUse {
    /// They are used.
    Used,
    /// They are not, because the user's settings do not enable the plugin by name.
    NotEnabled,
    /// They are not, because the plugin is from no marketplace, so that no settings can enable it.
    NoMarketplace,
    /// They are not, because only the repository enables the plugin, which is not trusted.
    Untrusted,
}

/// The parts of a plugin besides its agents.
#[derive(Debug, PartialEq, Eq)]
pub struct PluginParts {
    /// Name of the plugin.
    pub name: String,
    /// Supported parts.
    pub supported: Vec<&'static str>,
    /// Whether the supported parts are used.
    pub usage: PluginUse,
    /// Parts that are not supported.
    pub unsupported: Vec<&'static str>,
}

/// Returns the parts of each plugin that has any besides agents. Plugins that a marketplace offers
/// and no settings enable by name are skipped.
pub fn plugin_parts(root: &Path, enabled: &EnabledPlugins, trusted: bool) -> Vec<PluginParts> {
    let is_named = |plugin: &Plugin| {
        let key = plugin.key.as_deref();
        key.is_some_and(|key| enabled.enabled_by(key).is_some())
    };
    let plugins = plugins(root, enabled)
        .into_iter()
        .filter(|plugin| plugin.is_installed || is_named(plugin));
    let parts = plugins.map(|plugin| PluginParts {
        supported: present(&plugin, &PARTS),
        usage: match plugin.enabled_by(enabled) {
            None if plugin.key.is_none() => PluginUse::NoMarketplace,
            None => PluginUse::NotEnabled,
            Some(Layer::Project) if !trusted => PluginUse::Untrusted,
            Some(_) => PluginUse::Used,
        },
        unsupported: present(&plugin, &UNSUPPORTED),
        name: plugin.name,
    });
    parts
        .filter(|parts| !parts.supported.is_empty() || !parts.unsupported.is_empty())
        .collect()
}

fn present(plugin: &Plugin, parts: &[(&str, &str, &'static str)]) -> Vec<&'static str> {
    let is_added = |key: &str| match key {
        "commands" | "skills" => plugin.added(key).iter().any(Result::is_ok),
        _ => !plugin.manifest[key].is_null(),
    };
    let parts = parts.iter();
    parts
        .filter(|(path, key, _)| plugin.directory.join(path).exists() || is_added(key))
        .map(|(.., name)| *name)
        .collect()
}
