//! The directories of agent definitions.

use std::path::{Path, PathBuf};

use swarm_permissions::AgentSource;

use crate::plugins::{EnabledPlugins, plugins};
use crate::settings::repository_directories;

/// The directory of managed definitions.
pub(super) const MANAGED: &str = "/etc/claude-code/agents";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct AgentDirectory {
    pub(super) directory: PathBuf,
    pub(super) source: AgentSource,
    /// The plugin that contains the directory.
    pub(super) plugin: Option<String>,
}

/// Returns all directories, strongest first; within a repository from `cwd` up to its top.
pub(super) fn agent_directories(
    managed: &Path,
    root: &Path,
    cwd: &Path,
    enabled: &EnabledPlugins,
) -> Vec<AgentDirectory> {
    let place = |directory: PathBuf, source| AgentDirectory {
        directory,
        source,
        plugin: None,
    };
    let mut places = vec![place(managed.to_owned(), AgentSource::Managed)];
    for directory in repository_directories(cwd) {
        let claude = directory.join(".claude");
        // The home directory can be a repository whose `.claude` is the config directory: its
        // definitions are the user's.
        if !is_same(&claude, root) {
            places.push(place(claude.join("agents"), AgentSource::Project));
        }
    }
    places.push(place(root.join("agents"), AgentSource::User));
    for plugin in plugins(root, enabled) {
        places.push(AgentDirectory {
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
