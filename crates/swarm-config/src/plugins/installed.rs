//! Plugins below the config directory: manually added ones and those installed by Claude Code.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::EnabledPlugins;
use crate::settings::Layer;

/// Claude Code's own directories next to manually added plugins.
const CACHE: &str = "cache";
const MARKETPLACES: &str = "marketplaces";

/// The path of a plugin's manifest.
pub(super) const MANIFEST: &str = ".claude-plugin/plugin.json";

/// Maximum size of a JSON file of a plugin in bytes.
const LARGEST: u64 = 1024 * 1024;

/// A plugin whose agents are used.
#[derive(Debug)]
pub(crate) struct Plugin {
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    /// `PLUGIN@MARKETPLACE`; `None` if it was added manually.
    pub(super) key: Option<String>,
    /// Whether it was installed, and is not only offered by a marketplace.
    pub(super) is_installed: bool,
    /// Its manifest; null if there is none.
    pub(super) manifest: Value,
}

impl Plugin {
    /// Returns where it is enabled by name, so that its programs may run. A repository can only
    /// enable installed plugins.
    pub(super) fn enabled_by(&self, enabled: &EnabledPlugins) -> Option<Layer> {
        let layer = enabled.enabled_by(self.key.as_deref()?)?;
        (layer != Layer::Project || self.is_installed).then_some(layer)
    }

    /// Returns what the manifest adds to its `commands` or `skills`: directories, and files of
    /// commands. Each entry that cannot be used is an error.
    pub(super) fn added(&self, part: &str) -> Vec<Result<PathBuf, String>> {
        let named = &self.manifest[part];
        let mut added: Vec<_> = paths(named).map(|path| self.location(part, path)).collect();
        let is_valid = match named {
            Value::Null | Value::String(_) => true,
            Value::Array(list) => list.iter().all(Value::is_string),
            _ => false,
        };
        if !is_valid {
            added.push(Err(format!("`{part}` must be a path or a list of paths")));
        }
        let manifest = self.directory.join(MANIFEST);
        let added = added.into_iter();
        added
            .map(|one| one.map_err(|why| format!("{}: {why}", manifest.display())))
            .collect()
    }

    fn location(&self, part: &str, path: &str) -> Result<PathBuf, String> {
        let named = path.escape_debug();
        let Some(found) = below(&self.directory, path) else {
            return Err(format!("`{named}` is outside of the plugin"));
        };
        let takes_files = part == "commands";
        let is_file = found.extension().is_some_and(|end| end == "md") && found.is_file();
        if found.is_dir() || (takes_files && is_file) {
            return Ok(found);
        }
        let expected = if takes_files {
            "a directory or a `.md` file"
        } else {
            "a directory"
        };
        Err(format!("ignoring `{named}` in `{part}`: not {expected}"))
    }
}

/// Returns the enabled plugins, each once: manually added ones, then the newest version of each
/// installed one, then uninstalled ones of marketplaces.
pub(crate) fn plugins(root: &Path, enabled: &EnabledPlugins) -> Vec<Plugin> {
    let top = root.join("plugins");
    let mut plugins: Vec<_> = directories(&top)
        .into_iter()
        .filter(|(name, _)| name != CACHE && name != MARKETPLACES)
        .map(|(name, directory)| Plugin {
            manifest: manifest(&directory.join(MANIFEST)).unwrap_or_default(),
            name,
            directory,
            key: None,
            is_installed: true,
        })
        .collect();
    let cache = top.join(CACHE);
    let mut seen = BTreeSet::new();
    for (key, name, directory) in cached(&cache)
        .into_iter()
        .chain(offered(&top.join(MARKETPLACES)))
    {
        if enabled.is_on(&key) && seen.insert(key.clone()) {
            let is_installed = directory.starts_with(&cache);
            plugins.push(plugin(key, name, directory, is_installed));
        }
    }
    plugins
}

/// The key, name and directory of a plugin.
type Found = (String, String, PathBuf);

/// Reads `MARKETPLACE/PLUGIN/VERSION`, keeping the newest version of each plugin.
fn cached(cache: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    for (market, directory) in directories(cache) {
        for (name, directory) in directories(&directory) {
            let versions = directories(&directory).into_iter();
            let newest = versions.max_by(by_version);
            if let Some((_, directory)) = newest {
                found.push((format!("{name}@{market}"), name, directory));
            }
        }
    }
    found
}

/// Returns the plugins in the directories of marketplaces: those listed in the manifest; without
/// one the directory itself and those in its `plugins`.
fn offered(marketplaces: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    for (market, directory) in directories(marketplaces) {
        let listed = listed(&directory).unwrap_or_else(|| {
            let mut all = directories(&directory.join("plugins"));
            all.insert(0, (market.clone(), directory.clone()));
            all
        });
        for (name, directory) in listed {
            found.push((format!("{name}@{market}"), name, directory));
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
pub(super) fn below(directory: &Path, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let stays = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    path.components()
        .all(stays)
        .then(|| directory.join(path).components().collect())
}

/// Returns the paths in a value of a manifest: one, or a list.
pub(super) fn paths(value: &Value) -> impl Iterator<Item = &str> {
    let list = value.as_array().into_iter().flatten();
    value
        .as_str()
        .into_iter()
        .chain(list.filter_map(Value::as_str))
}

/// Names a plugin after its manifest or, by default, its directory.
fn plugin(key: String, name: String, directory: PathBuf, is_installed: bool) -> Plugin {
    let manifest = manifest(&directory.join(MANIFEST)).unwrap_or_default();
    let own = manifest["name"].as_str().map(str::to_owned);
    Plugin {
        name: own.filter(|own| !own.is_empty()).unwrap_or(name),
        directory,
        key: Some(key),
        is_installed,
        manifest,
    }
}

fn manifest(path: &Path) -> Option<Value> {
    document(path).ok().flatten()
}

/// Reads a JSON file; `None` if it does not exist. The error says why it cannot be read.
pub(super) fn document(path: &Path) -> Result<Option<Value>, String> {
    use std::io::Read as _;
    let mut text = Vec::new();
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read the file: {error}")),
    };
    let read = file.take(LARGEST).read_to_end(&mut text);
    read.map_err(|error| format!("cannot read the file: {error}"))?;
    let document = serde_json::from_slice(&text);
    document
        .map(Some)
        .map_err(|error| format!("invalid JSON: {error}"))
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
