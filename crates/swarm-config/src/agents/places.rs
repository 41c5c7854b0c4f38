//! The directories that definitions are read from.

use std::path::{Path, PathBuf};

use swarm_permissions::AgentSource;

use super::plugins::{EnabledPlugins, plugins};
use crate::settings::repository_directories;

/// The machine's own.
const MANAGED: &str = "/etc/claude-code/agents";

/// A directory of definitions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) directory: PathBuf,
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
    let place = |directory: PathBuf, source| Place {
        directory,
        source,
        plugin: None,
    };
    let mut places = vec![place(managed.to_owned(), AgentSource::Managed)];
    for directory in repository_directories(cwd) {
        let claude = directory.join(".claude");
        // The config directory can be that of a repository in the home directory; its definitions are the user's all the same.
        if !is_same(&claude, root) {
            places.push(place(claude.join("agents"), AgentSource::Project));
        }
    }
    places.push(place(root.join("agents"), AgentSource::User));
    for plugin in plugins(root, enabled) {
        places.push(Place {
            plugin: Some(plugin.name),
            ..place(plugin.directory.join("agents"), AgentSource::Plugin)
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
