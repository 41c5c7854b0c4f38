//! Plugins below the config directory: manually added ones and those installed by Claude Code.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::settings::Layer;

/// Claude Code's own directories next to manually added plugins.
const CACHE: &str = "cache";
const MARKETPLACES: &str = "marketplaces";

/// The path of a plugin's manifest.
const MANIFEST: &str = ".claude-plugin/plugin.json";

/// Maximum size of a manifest in bytes.
const LARGEST: u64 = 1024 * 1024;

/// An effective plugin.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plugin {
    pub(super) name: String,
    pub(super) directory: PathBuf,
}

/// The plugins that settings enable or disable, by `PLUGIN@MARKETPLACE`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct EnabledPlugins {
    named: BTreeMap<String, bool>,
    /// Whether user or machine settings name any plugin. Otherwise every installed plugin is
    /// enabled unless disabled.
    user_chooses: bool,
}

impl EnabledPlugins {
    /// Adds an entry of a file. Stronger files must be added later.
    pub fn add(&mut self, plugin: String, on: bool, layer: Layer) {
        if layer != Layer::Project {
            self.user_chooses = true;
            self.named.insert(plugin, on);
        } else if on {
            // A repository cannot enable a plugin that the user disabled.
            self.named.entry(plugin).or_insert(true);
        } else {
            self.named.insert(plugin, false);
        }
    }

    /// Returns whether a plugin is enabled.
    pub fn is_on(&self, plugin: &str) -> bool {
        self.named
            .get(plugin)
            .copied()
            .unwrap_or(!self.user_chooses)
    }

    /// Creates the user's settings.
    #[cfg(test)]
    pub fn of_user(named: &[(&str, bool)]) -> Self {
        let mut plugins = Self::default();
        for (plugin, on) in named {
            plugins.add((*plugin).to_owned(), *on, Layer::User);
        }
        plugins
    }
}

/// Returns the enabled plugins, each once: manually added ones, then the newest version of each
/// installed one, then uninstalled ones of marketplaces.
pub(super) fn plugins(root: &Path, enabled: &EnabledPlugins) -> Vec<Plugin> {
    let top = root.join("plugins");
    let mut plugins: Vec<_> = directories(&top)
        .into_iter()
        .filter(|(name, _)| name != CACHE && name != MARKETPLACES)
        .map(|(name, directory)| Plugin { name, directory })
        .collect();
    let mut seen = BTreeSet::new();
    for (key, plugin) in cached(&top.join(CACHE))
        .into_iter()
        .chain(offered(&top.join(MARKETPLACES)))
    {
        if enabled.is_on(&key) && seen.insert(key) {
            plugins.push(plugin);
        }
    }
    plugins
}

/// Returns the unsupported parts of each plugin, which are not used. Plugins that are only offered
/// by a marketplace are skipped.
pub fn unused_parts(root: &Path, enabled: &EnabledPlugins) -> Vec<(String, Vec<&'static str>)> {
    const PARTS: [(&str, &str, &str); 4] = [
        ("skills", "skills", "skills"),
        ("commands", "commands", "commands"),
        ("hooks/hooks.json", "hooks", "hooks"),
        (".mcp.json", "mcpServers", "MCP servers"),
    ];
    let of = |plugin: Plugin| {
        let manifest = manifest(&plugin.directory.join(MANIFEST)).unwrap_or_default();
        let has = |path: &str, key: &str| {
            plugin.directory.join(path).exists() || !manifest[key].is_null()
        };
        let parts = PARTS.iter().filter(|(path, key, _)| has(path, key));
        let parts: Vec<_> = parts.map(|(.., part)| *part).collect();
        (!parts.is_empty()).then_some((plugin.name, parts))
    };
    let offers = root.join("plugins").join(MARKETPLACES);
    plugins(root, enabled)
        .into_iter()
        .filter(|plugin| enabled.user_chooses || !plugin.directory.starts_with(&offers))
        .filter_map(of)
        .collect()
}

/// Reads `MARKETPLACE/PLUGIN/VERSION`, keeping the newest version of each plugin.
fn cached(cache: &Path) -> Vec<(String, Plugin)> {
    let mut found = Vec::new();
    for (market, directory) in directories(cache) {
        for (name, directory) in directories(&directory) {
            let versions = directories(&directory).into_iter();
            let newest = versions.max_by(by_version);
            if let Some((_, directory)) = newest {
                found.push((format!("{name}@{market}"), plugin(name, directory)));
            }
        }
    }
    found
}

/// Returns the plugins in the directories of marketplaces: those listed in the manifest; without
/// one the directory itself and those in its `plugins`.
fn offered(marketplaces: &Path) -> Vec<(String, Plugin)> {
    let mut found = Vec::new();
    for (market, directory) in directories(marketplaces) {
        let listed = listed(&directory).unwrap_or_else(|| {
            let mut all = directories(&directory.join("plugins"));
            all.insert(0, (market.clone(), directory.clone()));
            all
        });
        for (name, directory) in listed {
            found.push((format!("{name}@{market}"), plugin(name, directory)));
        }
    }
    found
}

/// Returns the plugins that a marketplace contains itself. If several share a directory, the first
/// wins.
fn listed(market: &Path) -> Option<Vec<(String, PathBuf)>> {
    let manifest = manifest(&market.join(".claude-plugin/marketplace.json"))?;
    let base = match manifest["metadata"]["pluginRoot"].as_str() {
        Some(base) => below(market, base)?,
        None => market.to_owned(),
    };
    let mut directories = BTreeSet::new();
    let entries = manifest["plugins"].as_array()?.iter();
    let plugins = entries.filter_map(|entry| {
        let name = entry["name"].as_str()?;
        let directory = below(&base, entry["source"].as_str()?)?;
        directories
            .insert(directory.clone())
            .then(|| (name.to_owned(), directory))
    });
    Some(plugins.collect())
}

/// Joins a relative path, which must stay within the directory.
fn below(directory: &Path, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let stays = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    path.components()
        .all(stays)
        .then(|| directory.join(path).components().collect())
}

/// Names a plugin after its manifest or, by default, its directory.
fn plugin(name: String, directory: PathBuf) -> Plugin {
    let manifest = manifest(&directory.join(MANIFEST)).unwrap_or_default();
    let own = manifest["name"].as_str().map(str::to_owned);
    Plugin {
        name: own.filter(|own| !own.is_empty()).unwrap_or(name),
        directory,
    }
}

fn manifest(path: &Path) -> Option<Value> {
    use std::io::Read as _;
    let mut text = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(LARGEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Compares version numbers in the names; other names, such as commits, by modification time.
fn by_version(one: &(String, PathBuf), other: &(String, PathBuf)) -> Ordering {
    let numbers = |name: &str| -> Option<Vec<u64>> {
        let plain = name.strip_prefix('v').unwrap_or(name);
        let plain = plain.split(['-', '+']).next()?;
        plain.split('.').map(|part| part.parse().ok()).collect()
    };
    let changed = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
    match (numbers(&one.0), numbers(&other.0)) {
        (Some(a), Some(b)) if a != b => a.cmp(&b),
        _ => changed(&one.1)
            .cmp(&changed(&other.1))
            .then_with(|| one.0.cmp(&other.0)),
    }
}

/// Returns the subdirectories sorted by name, without hidden ones.
fn directories(directory: &Path) -> Vec<(String, PathBuf)> {
    let mut found: Vec<_> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .filter(|(name, path)| !name.starts_with('.') && path.is_dir())
        .collect();
    found.sort();
    found
}
