//! The folders that definitions are read from.

use std::path::{Path, PathBuf};

use swarm_policy::AgentSource;

use super::plugins::{EnabledPlugins, plugins};
use crate::settings::repository_folders;

/// The machine's own.
const MANAGED: &str = "/etc/claude-code/agents";

/// A folder of definitions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
    pub(super) source: AgentSource,
    /// The plugin that it belongs to.
    pub(super) plugin: Option<String>,
}

/// All of them, strongest first; of a repository the nearest first, up to its top.
pub(super) fn places(root: &Path, cwd: &Path, enabled: &EnabledPlugins) -> Vec<Place> {
    below(Path::new(MANAGED), root, cwd, enabled)
}

/// The same where the machine's own are in `managed`.
pub(super) fn below(
    managed: &Path,
    root: &Path,
    cwd: &Path,
    enabled: &EnabledPlugins,
) -> Vec<Place> {
    let place = |folder: PathBuf, source| Place {
        folder,
        source,
        plugin: None,
    };
    let mut places = vec![place(managed.to_owned(), AgentSource::Managed)];
    for folder in repository_folders(cwd) {
        let claude = folder.join(".claude");
        // The root folder can be that of a repository in the home folder; its definitions are the user's all the same.
        if !is_same(&claude, root) {
            places.push(place(claude.join("agents"), AgentSource::Project));
        }
    }
    places.push(place(root.join("agents"), AgentSource::User));
    for plugin in plugins(root, enabled) {
        places.push(Place {
            plugin: Some(plugin.name),
            ..place(plugin.folder.join("agents"), AgentSource::Plugin)
        });
    }
    places
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}
